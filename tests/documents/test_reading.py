"""That documents are read rightly, and that what differs is seen: on documents of ours."""

import pytest

from tests.documents import execute_call_document, inc_bench_document
from tests.documents.documented import Said
from tests.documents.likeness import differences
from tests.documents.settled import settled

PAGE = """
# A document
### Nouns
#### Make a noun
**Path**: `api/noun/make`<br>
**Method**: `POST`<br>
**Returns**: its id

**Parameters description:**
<table><thead><tr><th colspan=2>Parameter</th><th>Required</th></tr></thead>
<tr><td colspan=2><b>name</b></td><td>Its name</td><td align="center">&#x2611;</td></tr>
<tr><td rowspan=2><b>of</b></td><td><b>kind</b></td><td></td><td>&#x2611;</td></tr>
<tr><td><b>size</b></td><td>Its <code>size</code></td><td align="center">&#x2610;</td></tr>
<tr><td colspan=2><b>last</b></td><td></td><td>&#x2610;</td></tr>
</table>

**Example body**:
```json
{
    "name": "a",
    "of": {
        .
        .
    },
}
```

**Example response**:
```json
{
    "id": 1,
    "took": <time in micro seconds>
}
    "and": "rubbish"
```
**Responses over WebSockets**:
```json
["noun_start", {"status": "success", "data": {"id": 1}}]
```
```json
["noun_finish", {"id": 1}]
```

#### List nouns
**Path**: `api/noun/list`<br>
**Method**: `GET`

**Example body**:
```json
{"of": 1}
```

```json
{"nouns": [{
    ...
}]}
```
"""


def test_operations_are_read_as_people_wrote_them():
    make, listed = inc_bench_document.read(PAGE)
    assert (make.path, make.method, make.body) == ("noun/make", "POST", {"name": "a", "of": {}})
    assert make.parameters == (
        ("name", True),
        ("of.kind", True),
        ("of.size", False),
        ("last", False),
    )
    assert make.required == ["name", "of.kind"]
    assert make.answer == {"id": 1, "took": 0}
    assert make.events == (Said("noun_start", {"id": 1}), Said("noun_finish", {"id": 1}))
    assert (listed.path, listed.body) == ("noun/list", {"of": 1})


def test_a_page_of_html_is_read_too():
    page = """<p><strong>Path</strong>: <code><span>/api/call</span></code></p>
    <td><strong>id</strong></td><td><strong>input_model</strong></td>
    <pre>{"a": 1, // a remark}</pre><pre><span>{</span>&quot;id&quot;: 1<span>}</span></pre>
    <li><strong>Subject</strong>: <code>call_start</code></li><pre>{"x": &lt;float&gt;}</pre>"""
    found = execute_call_document.read(page)
    assert (found.path, found.method, found.body) == ("call", "POST", {"id": 1})
    assert dict(found.parameters) == {"id": False, "input_model": False}
    assert found.events == (Said("call_start", {"x": 0.5}),)


def nothing_is_settled(_):
    return None


@pytest.mark.parametrize(
    ("documented", "told"),
    [
        ({"a": 1}, {"a": 2, "more": None}),
        ({"a": 1.5}, {"a": 2}),
        ({"a": [1]}, {"a": [2, 3]}),
        ({"a": []}, {"a": ["whatever"]}),
        ({"a": None, "b": True}, {"a": None, "b": False}),
        ([{"a": int}, {"b": str}], [{"b": "x"}, {"a": 1}]),
        ({"last_run_at": None}, {"last_run_at": "None"}),
        ({"a": {"created_at": "Mon"}}, {"a": {"created_at": "2026-11-15 20:00:00"}}),
    ],
)
def test_what_is_alike_has_no_differences(documented, told):
    assert differences(documented, told, nothing_is_settled) == []


@pytest.mark.parametrize(
    ("documented", "told", "where"),
    [
        ({"a": 1}, {}, "a: is missing"),
        ({"a": {"b": 1}}, {"a": {"c": 1}}, "a.b: is missing"),
        ({"a": 1}, {"a": "1"}, "a: '1', not a whole number"),
        ({"a": 1}, {"a": 1.5}, "a: 1.5, not a whole number"),
        ({"a": 1}, {"a": True}, "a: True, not a whole number"),
        ({"a": True}, {"a": 1}, "a: 1, not a bool"),
        ({"a": "x"}, {"a": None}, "a: None, not a str"),
        ({"a": None}, {"a": "x"}, "a: 'x', not null"),
        ({"a": [1]}, {"a": []}, "a: the list is empty"),
        ({"a": [1]}, {"a": [1, "x"]}, "a[1]: 'x', not a whole number"),
        ({"a": {}}, {"a": []}, "a: [], not an object"),
        ({"created_at": "Mon"}, {"created_at": "Tue, 04 Jan 2022"}, "created_at: "),
        ({"created_at": "Mon"}, {"created_at": None}, "created_at: None is no moment"),
    ],
)
def test_what_differs_is_said_with_its_place(documented, told, where):
    (found,) = differences(documented, told, nothing_is_settled)
    assert found.startswith(where)


def test_what_is_settled_goes_before_the_document():
    of = settled("benchmark")
    assert differences({"model": {"input_nodes": "x"}}, {"model": {"input_nodes": ["x"]}}, of) == []
    assert differences({"model": {"input_nodes": "x"}}, {"model": {"input_nodes": 1}}, of) != []
    assert differences({"model": {"input_nodes": "x"}}, {"model": {}}, of) != []
    after = settled("benchmark_finish")
    assert differences({"result": {"duration": None}}, {"result": {}}, after) == []
