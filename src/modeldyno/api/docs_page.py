"""``/docs``: the OpenAPI document for people. No script, nothing from elsewhere."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from typing import Any

from modeldyno.api.markup import html_element, prose_html
from modeldyno.api.openapi import iterate_operations, make_example

Json = dict[str, Any]


def write_docs_page(document: Json) -> str:
    """HTML: operations by tag, with what they take, what they answer, and a line for curl."""
    parts = [
        html_element("h1", f"{document['info']['title']} {document['info']['version']}"),
        f"<p>{prose_html(document['info']['description'])}</p>",
        "<p>Send the token with every request. In a shell, "
        "<code>T=$(modeldyno token)</code> has it; <code>U</code> is the server's address. For "
        'programs: <a href="/api/v1/openapi.json">openapi.json</a> (needs the token).</p>',
        "<p>Errors are sent as <code>application/problem+json</code>: what, why "
        "(<code>detail</code>), what to do (<code>fix</code>), and a <code>code</code> that stays "
        "the same.</p>",
    ]
    for tag in document["tags"]:
        parts.append(f'<h2 id="{escape(tag["name"])}">{escape(tag["name"].capitalize())}</h2>')
        parts.append(f"<p>{prose_html(tag['description'])}</p>")
        parts += [
            _operation_html(path, method, operation, document)
            for path, method, operation in iterate_operations(document)
            if tag["name"] in operation.get("tags", ())
        ]
    return "".join(parts)


def _operation_html(path: str, method: str, operation: Json, document: Json) -> str:
    return "".join(
        (
            f'<details id="{escape(operation["operationId"])}"><summary>',
            html_element("span", method.upper(), "method mono"),
            html_element("code", path),
            f' <span class="dim">{prose_html(operation["summary"])}</span></summary>',
            f"<p>{prose_html(operation.get('description', ''))}</p>",
            _parameters_html(operation.get("parameters", [])),
            _body_html(operation, document),
            _answers_html(operation["responses"], document),
            f"<pre>{escape(make_curl_command(path, method, operation, document))}</pre></details>",
        )
    )


def _parameters_html(parameters: list[Json]) -> str:
    if not parameters:
        return ""
    rows = [
        (
            html_element("code", parameter["name"]),
            escape(parameter["in"] + (", needed" if parameter.get("required") else "")),
            escape(_type_text(parameter["schema"])),
            prose_html(parameter.get("description", "")),
        )
        for parameter in parameters
    ]
    return _table_html(("parameter", "where", "what", ""), rows)


def _body_html(operation: Json, document: Json) -> str:
    if "requestBody" not in operation:
        return ""
    parts = []
    for kind, content in operation["requestBody"]["content"].items():
        parts.append(f"<p>Body: {html_element('code', kind)}</p>")
        if kind == "application/json":
            parts.append(_fields_html(content["schema"], document))
    return "".join(parts)


def _answers_html(responses: Json, document: Json) -> str:
    rows = []
    examples = []
    for status, response in responses.items():
        rows.append((html_element("code", status), prose_html(response["description"])))
        content = response.get("content", {}).get("application/json")
        if content and status.startswith("2"):
            example = json.dumps(
                make_example(content["schema"], document), indent=2, ensure_ascii=False
            )
            examples.append(f"<pre>{escape(example)}</pre>")
    return _table_html(("answer", ""), rows) + "".join(examples)


def _fields_html(schema: Json, document: Json) -> str:
    schema = _resolve_reference(schema, document)
    needed = schema.get("required", ())
    rows = [
        (
            html_element("code", name),
            escape(
                _type_text(_resolve_reference(property_schema, document))
                + (", needed" if name in needed else "")
            ),
            prose_html(property_schema.get("description", "")),
        )
        for name, property_schema in schema.get("properties", {}).items()
    ]
    return _table_html(("field", "what", ""), rows)


def _resolve_reference(schema: Json, document: Json) -> Json:
    if "$ref" not in schema:
        return schema
    target: Json = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return target


def _type_text(schema: Json) -> str:
    """``integer 1–200``, ``ascending | descending``."""
    if "enum" in schema:
        return " | ".join(str(option) for option in schema["enum"])
    if "const" in schema:
        return str(schema["const"])
    if "anyOf" in schema:
        return " or ".join(_type_text(option) for option in schema["anyOf"])
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    words = [str(schema.get("type", "anything"))]
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None or high is not None:
        words.append(f"{'' if low is None else low}–{'' if high is None else high}")
    if "maxLength" in schema:
        words.append(f"up to {schema['maxLength']} characters")
    return " ".join(words)


def _table_html(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Cells are HTML already."""
    if not rows:
        return ""
    heads = "".join(html_element("th", label) for label in head)
    lines = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><tr>{heads}</tr>{lines}</table>"


def make_curl_command(path: str, method: str, operation: Json, document: Json) -> str:
    """A line for a shell, with examples in the place of what one has to fill in."""
    needed = [
        parameter for parameter in operation.get("parameters", []) if parameter.get("required")
    ]
    for parameter in needed:
        if parameter["in"] == "path":
            example = str(make_example(parameter["schema"], document) or parameter["name"])
            path = path.replace(f"{{{parameter['name']}}}", example)
    query = "&".join(
        f"{parameter['name']}={make_example(parameter['schema'], document)}"
        for parameter in needed
        if parameter["in"] == "query"
    )
    words = ["curl", '-H "Authorization: Bearer $T"']
    if method != "get":
        words.append(f"-X {method.upper()}")
    content = operation.get("requestBody", {}).get("content", {})
    if "application/json" in content:
        body = json.dumps(make_example(content["application/json"]["schema"], document))
        words.append(f"-H 'Content-Type: application/json' -d '{_quote_for_shell(body)}'")
    elif content:
        words.append("-H 'Content-Type: application/octet-stream' --data-binary @FILE")
    words.append(f'"$U{path}{"?" + query if query else ""}"')
    return " ".join(words)


def _quote_for_shell(text: str) -> str:
    return text.replace("'", "'\\''")
