"""The OpenAPI document: whole, and the same for every operation."""

from __future__ import annotations

import json
import re

import pytest
from jsonschema import Draft202012Validator
from starlette.routing import compile_path

from modeldyno.api import errors
from modeldyno.api.openapi import TAGS, iterate_operations, make_example
from modeldyno.api.request_head import NAMED
from modeldyno.core.hosts import tool_version
from tests.api.serving import ROOT
from tests.api.v1.server import serving

ALWAYS = {"400", "401", "403", "429", "503"}
OWN_SHAPE = {"application/json": {"schema": {"$ref": "#/components/schemas/RefusedByNameDocument"}}}


@pytest.fixture(scope="module")
def document(tmp_path_factory, starts_processes):
    with serving(tmp_path_factory.mktemp("served")) as served:
        return served.get("/api/v1/openapi.json").json


def each(document):
    return list(iterate_operations(document))


def test_it_says_what_it_describes_and_how_to_come_in(document):
    assert document["info"]["version"] == tool_version()
    assert document["openapi"].startswith("3.1")
    assert document["security"] == [{"token": []}]
    assert document["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    assert len(each(document)) >= 25


def test_no_address_with_a_parameter_fits_two_routes(document):
    """They are built in any order, so which comes first must not matter."""
    patterns = {
        (path, method): compile_path(path)[0] for path, method, _ in each(document) if "{" in path
    }
    for (path, method), _ in patterns.items():
        address = re.sub(r"{.*?}", "1", path)
        fitting = {
            other for (other, its), p in patterns.items() if its == method if p.match(address)
        }
        assert fitting == {path}


def test_every_operation_has_a_name_a_summary_words_and_a_known_tag(document):
    ids = [one["operationId"] for _, _, one in each(document)]
    assert len(set(ids)) == len(ids)
    for path, method, one in each(document):
        where = f"{method} {path}"
        assert one["operationId"].isidentifier(), where
        assert one["summary"], where
        assert one.get("description"), f"{where}: write a docstring"
        assert len(one["tags"]) == 1, where
        assert set(one["tags"]) <= TAGS.keys(), where


def test_every_operation_tells_what_may_go_wrong_as_a_problem(document):
    problem = {"schema": {"$ref": "#/components/schemas/ProblemDocument"}}
    for path, method, one in each(document):
        wrong = {status: told for status, told in one["responses"].items() if status >= "400"}
        assert wrong.keys() >= ALWAYS, (method, path)
        expected = OWN_SHAPE if path.startswith(NAMED) else {"application/problem+json": problem}
        assert all(told["content"] == expected for told in wrong.values()), path
        if "requestBody" in one:
            assert wrong.keys() >= {"408", "413", "415"}, (method, path)
        if "{" in path:
            assert "404" in wrong, (method, path)


def test_what_is_created_is_told_where_it_is_and_may_be_asked_for_twice(document):
    for path, method, one in each(document):
        if "201" not in one["responses"] or one["tags"] == ["session"]:
            continue
        assert "Location" in one["responses"]["201"]["headers"], (method, path)
        if "application/octet-stream" in one.get("requestBody", {}).get("content", {}):
            continue  # what is uploaded is known by its content
        names = [parameter["name"] for parameter in one["parameters"]]
        assert "Idempotency-Key" in names, (method, path)


def test_parameters_are_bounded_and_none_is_null(document):
    for path, method, one in each(document):
        for told in one.get("parameters", []):
            where = f"{method} {path}: {told['name']}"
            assert "null" not in json.dumps(told["schema"]), where
            for schema in told["schema"].get("anyOf", [told["schema"]]):
                kind = schema.get("type")
                if kind == "string":
                    assert schema.keys() & {"maxLength", "enum", "pattern", "format", "const"}, (
                        where
                    )
                elif kind == "integer":
                    assert {"minimum", "maximum"} <= schema.keys(), where
                elif kind == "array":
                    assert "maxItems" in schema, where
                else:
                    assert kind == "boolean", where


def test_every_text_number_and_list_of_a_body_is_bounded(document):
    bodies = dict(requests(document))
    assert len(bodies) >= 20
    for name, schema in bodies.items():
        assert schema["additionalProperties"] is False, name
        for field, told in schema["properties"].items():
            assert list(unbounded(told)) == [], f"{name}.{field}"


def requests(document):
    """Every JSON body that an operation takes, and the parts of those that have a name."""
    schemas = document["components"]["schemas"]
    pending = [
        (one["operationId"], one["requestBody"]["content"]["application/json"]["schema"])
        for _, _, one in each(document)
        if "application/json" in one.get("requestBody", {}).get("content", {})
    ]
    seen = set()
    while pending:
        name, schema = pending.pop()
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            schema = schemas[name]
        if name in seen or name == "JsonValue":  # whatever JSON may hold, bounded by bodies.py
            continue
        seen.add(name)
        if "properties" in schema:
            yield name, schema
        references = re.findall(r'"(#/components/schemas/\w+)"', json.dumps(schema))
        pending += [("", {"$ref": reference}) for reference in references]


def unbounded(schema):
    kind = schema.get("type")
    if kind == "string" and not schema.keys() & {"maxLength", "enum", "const", "pattern"}:
        yield schema
    if kind in ("integer", "number") and not (
        schema.keys() & {"minimum", "exclusiveMinimum"}
        and schema.keys() & {"maximum", "exclusiveMaximum"}
    ):
        yield schema
    if kind == "array" and "maxItems" not in schema:
        yield schema
    for part in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from unbounded(part)
    for part in schema.get("properties", {}).values():
        yield from unbounded(part)
    if "items" in schema:
        yield from unbounded(schema["items"])


def test_examples_fit_their_schemas(document):
    """The whole of each body, as the curl lines of /docs send it."""
    bodies = 0
    for path, method, one in each(document):
        content = one.get("requestBody", {}).get("content", {}).get("application/json")
        if content is None:
            continue
        bodies += 1
        schema = {**content["schema"], "components": document["components"]}
        wrong = Draft202012Validator(schema).iter_errors(make_example(content["schema"], document))
        assert [f"{e.json_path}: {e.message}" for e in wrong] == [], (method, path)
    assert bodies >= 5
    schemas = document["components"]["schemas"]
    for name, schema in schemas.items():
        for field, told in schema.get("properties", {}).items():
            for example in told.get("examples", ()):
                whole = {**told, "components": document["components"]}
                assert Draft202012Validator(whole).is_valid(example), f"{name}.{field}: {example}"


def test_no_operation_takes_an_address(document):
    """P22: the server fetches nothing that a client names."""
    names = {
        parameter["name"] for _, _, one in each(document) for parameter in one.get("parameters", ())
    }
    names |= {field for _, schema in requests(document) for field in schema["properties"]}
    assert not [name for name in names if "url" in name.lower() or "uri" in name.lower()]


def test_every_refusal_of_the_door_is_documented():
    refusals = [one for one in vars(errors).values() if isinstance(one, errors.Refusal)]
    codes = {
        one.code
        for one in (*refusals, errors.rate_limit_refusal(1), errors.unreadable_json_refusal(""))
    }
    page = (ROOT / "docs" / "api.md").read_text()
    assert len(codes) >= 12
    assert sorted(code for code in codes if f"`{code}`" not in page) == []
