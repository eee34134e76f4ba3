"""JSON Schemas of documents, made from their dataclasses when somebody wants to see them: pydantic
takes a tenth of a second for all of them, which no start of the server should pay."""

from __future__ import annotations

import ast
import inspect
import json
import re
import textwrap
from collections import Counter
from itertools import pairwise
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

Json = dict[str, Any]

_COMPONENTS = "#/components/schemas/"
_REFERENCE = re.compile(rf'"{_COMPONENTS}(\w+)"')
_referred: dict[str, type[Any]] = {}


class _Generator(GenerateJsonSchema):
    """Without titles, which only repeat the names of fields; with the texts below fields of base
    classes, which pydantic does not read."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def dataclass_schema(self, schema: Any) -> Json:
        described: Json = super().dataclass_schema(schema)
        for base in schema["cls"].__mro__[1:-1]:
            for name, text in _field_texts(base).items():
                described["properties"][name].setdefault("description", text)
        return described


def _field_texts(kind: type[Any]) -> dict[str, str]:
    (parsed,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(parsed, ast.ClassDef)
    return {
        field.target.id: inspect.cleandoc(text.value.value)
        for field, text in pairwise(parsed.body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
        if isinstance(text.value.value, str)
    }


def schema_of(kind: Any, ref_template: str = "#/$defs/{model}") -> Json:
    """Of one document, with its parts in ``$defs``."""
    schema: Json = TypeAdapter(kind).json_schema(
        mode="serialization", ref_template=ref_template, schema_generator=_Generator
    )
    return schema


# ---------------------------------------------------------------- for routes


def schema_reference(kind: type[Any]) -> Json:
    """For ``schema`` of a response; the document itself is described when OpenAPI is read."""
    _referred[kind.__name__] = kind
    return {"$ref": _COMPONENTS + kind.__name__}


def page_schema(kind: type[Any], **more: Json) -> Json:
    """A page of a list of them; ``more`` are schemas of what stands beside the items."""
    cursor = {"anyOf": [{"type": "string"}, {"type": "null"}]}
    about = "The cursor of the next page; null: that was all."
    members = {
        "items": {"type": "array", "items": schema_reference(kind)},
        "next": cursor | {"description": about},
        **more,
    }
    return {"type": "object", "properties": members, "required": [*members]}


def response_schemas(
    description: str, json: Json | None, *texts: str, status: int = 200
) -> dict[int | str, Json]:
    """For ``responses`` of a route: JSON of this schema, or text of these media types."""
    content = {media_type: {"schema": {"type": "string"}} for media_type in texts}
    if json is not None:
        content["application/json"] = {"schema": json}
    return {status: {"description": description, "content": content}}


# ---------------------------------------------------------------- for OpenAPI


def add_document_schemas(openapi: Json) -> Json:
    """The description of all routes, with the documents that it refers to, and their parts."""
    components = openapi.setdefault("components", {}).setdefault("schemas", {})
    for kind in _referred.values():
        schema = schema_of(kind, _COMPONENTS + "{model}")
        components |= schema.pop("$defs", {})
        components[kind.__name__] = schema
    _inline_parts(openapi)
    return openapi


def _inline_parts(openapi: Json) -> None:
    """What only one place refers to is written there, unless it is what a route answers."""
    components = openapi["components"]["schemas"]
    uses = Counter(_REFERENCE.findall(json.dumps(openapi)))
    names = [name for name in components if uses[name] == 1 and name not in _referred]
    parts = {name: components.pop(name) for name in names}
    openapi |= _replace_references(openapi, parts)


def _replace_references(schema: Any, parts: Json) -> Any:
    if isinstance(schema, list):
        return [_replace_references(member, parts) for member in schema]
    if not isinstance(schema, dict):
        return schema
    part = parts.get(str(schema.get("$ref")).removeprefix(_COMPONENTS))
    if part is not None:
        schema = part | {name: value for name, value in schema.items() if name != "$ref"}
    return {name: _replace_references(member, parts) for name, member in schema.items()}
