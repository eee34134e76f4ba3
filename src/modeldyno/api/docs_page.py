"""``/docs``: the OpenAPI document for people. No script, nothing from elsewhere."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from typing import Any

from modeldyno.api.markup import element, prose
from modeldyno.api.openapi import example_of, operations

Json = dict[str, Any]


def write(document: Json) -> str:
    """HTML: operations by tag, with what they take, what they answer, and a line for curl."""
    parts = [
        element("h1", f"{document['info']['title']} {document['info']['version']}"),
        f"<p>{prose(document['info']['description'])}</p>",
        "<p>Send the token with every request. In a shell, "
        "<code>T=$(modeldyno token)</code> has it; <code>U</code> is the server's address. For "
        'programs: <a href="/api/v1/openapi.json">openapi.json</a> (needs the token).</p>',
        "<p>Errors are sent as <code>application/problem+json</code>: what, why "
        "(<code>detail</code>), what to do (<code>fix</code>), and a <code>code</code> that stays "
        "the same.</p>",
    ]
    for tag in document["tags"]:
        parts.append(f'<h2 id="{escape(tag["name"])}">{escape(tag["name"].capitalize())}</h2>')
        parts.append(f"<p>{prose(tag['description'])}</p>")
        parts += [
            _operation(path, method, operation, document)
            for path, method, operation in operations(document)
            if tag["name"] in operation.get("tags", ())
        ]
    return "".join(parts)


def _operation(path: str, method: str, operation: Json, document: Json) -> str:
    return "".join(
        (
            f'<details id="{escape(operation["operationId"])}"><summary>',
            element("span", method.upper(), "method mono"),
            element("code", path),
            f' <span class="dim">{prose(operation["summary"])}</span></summary>',
            f"<p>{prose(operation.get('description', ''))}</p>",
            _parameters(operation.get("parameters", [])),
            _body(operation, document),
            _answers(operation["responses"], document),
            f"<pre>{escape(curl(path, method, operation, document))}</pre></details>",
        )
    )


def _parameters(parameters: list[Json]) -> str:
    if not parameters:
        return ""
    rows = [
        (
            element("code", parameter["name"]),
            escape(parameter["in"] + (", needed" if parameter.get("required") else "")),
            escape(_kind(parameter["schema"])),
            prose(parameter.get("description", "")),
        )
        for parameter in parameters
    ]
    return _table(("parameter", "where", "what", ""), rows)


def _body(operation: Json, document: Json) -> str:
    if "requestBody" not in operation:
        return ""
    parts = []
    for kind, content in operation["requestBody"]["content"].items():
        parts.append(f"<p>Body: {element('code', kind)}</p>")
        if kind == "application/json":
            parts.append(_fields(content["schema"], document))
    return "".join(parts)


def _answers(responses: Json, document: Json) -> str:
    rows = []
    examples = []
    for status, response in responses.items():
        rows.append((element("code", status), prose(response["description"])))
        content = response.get("content", {}).get("application/json")
        if content and status.startswith("2"):
            example = json.dumps(
                example_of(content["schema"], document), indent=2, ensure_ascii=False
            )
            examples.append(f"<pre>{escape(example)}</pre>")
    return _table(("answer", ""), rows) + "".join(examples)


def _fields(schema: Json, document: Json) -> str:
    schema = _resolved(schema, document)
    needed = schema.get("required", ())
    rows = [
        (
            element("code", name),
            escape(
                _kind(_resolved(property_schema, document)) + (", needed" if name in needed else "")
            ),
            prose(property_schema.get("description", "")),
        )
        for name, property_schema in schema.get("properties", {}).items()
    ]
    return _table(("field", "what", ""), rows)


def _resolved(schema: Json, document: Json) -> Json:
    if "$ref" not in schema:
        return schema
    target: Json = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return target


def _kind(schema: Json) -> str:
    """``integer 1–200``, ``ascending | descending``."""
    if "enum" in schema:
        return " | ".join(str(option) for option in schema["enum"])
    if "const" in schema:
        return str(schema["const"])
    if "anyOf" in schema:
        return " or ".join(_kind(option) for option in schema["anyOf"])
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    words = [str(schema.get("type", "anything"))]
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None or high is not None:
        words.append(f"{'' if low is None else low}–{'' if high is None else high}")
    if "maxLength" in schema:
        words.append(f"up to {schema['maxLength']} characters")
    return " ".join(words)


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Cells are HTML already."""
    if not rows:
        return ""
    heads = "".join(element("th", label) for label in head)
    lines = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><tr>{heads}</tr>{lines}</table>"


def curl(path: str, method: str, operation: Json, document: Json) -> str:
    """A line for a shell, with examples in the place of what one has to fill in."""
    needed = [
        parameter for parameter in operation.get("parameters", []) if parameter.get("required")
    ]
    for parameter in needed:
        if parameter["in"] == "path":
            example = str(example_of(parameter["schema"], document) or parameter["name"])
            path = path.replace(f"{{{parameter['name']}}}", example)
    query = "&".join(
        f"{parameter['name']}={example_of(parameter['schema'], document)}"
        for parameter in needed
        if parameter["in"] == "query"
    )
    words = ["curl", '-H "Authorization: Bearer $T"']
    if method != "get":
        words.append(f"-X {method.upper()}")
    content = operation.get("requestBody", {}).get("content", {})
    if "application/json" in content:
        body = json.dumps(example_of(content["application/json"]["schema"], document))
        words.append(f"-H 'Content-Type: application/json' -d '{_quoted(body)}'")
    elif content:
        words.append("-H 'Content-Type: application/octet-stream' --data-binary @FILE")
    words.append(f'"$U{path}{"?" + query if query else ""}"')
    return " ".join(words)


def _quoted(text: str) -> str:
    return text.replace("'", "'\\''")
