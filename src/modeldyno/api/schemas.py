"""JSON Schemas of documents, made from their dataclasses when somebody wants to see them: pydantic
takes a tenth of a second for all of them, which no start of the server should pay."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

Json = dict[str, Any]

_COMPONENTS = "#/components/schemas/"
_REFERENCE = re.compile(rf'"{_COMPONENTS}(\w+)"')


class _Untitled(GenerateJsonSchema):
    """Without titles, which only repeat the names of fields."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def schema_of(kind: type[Any], ref_template: str = "#/$defs/{model}") -> Json:
    """Of one document, with its parts in ``$defs``."""
    schema: Json = TypeAdapter(kind).json_schema(
        mode="serialization", ref_template=ref_template, schema_generator=_Untitled
    )
    return schema


def reference(kind: type[Any]) -> Json:
    """For ``schema`` of a response."""
    return {"$ref": _COMPONENTS + kind.__name__}


def answers(description: str, json: Json | None, *texts: str) -> dict[int | str, Json]:
    """For ``responses`` of a route: JSON of this schema, or text of these media types."""
    content = {media_type: {"schema": {"type": "string"}} for media_type in texts}
    if json is not None:
        content["application/json"] = {"schema": json}
    return {200: {"description": description, "content": content}}


def with_documents(openapi: Json) -> Json:
    """The description of all routes, with the documents that it refers to, and their parts."""
    components = openapi.setdefault("components", {}).setdefault("schemas", {})
    text = json.dumps(openapi)
    while text:
        added = {
            name: _components()[name]
            for name in sorted(set(_REFERENCE.findall(text)))
            if name not in components and name in _components()
        }
        components |= added
        text = json.dumps(added) if added else ""
    return openapi


@cache
def _components() -> dict[str, Json]:
    """All documents and their parts, by the names of their classes."""
    from modeldyno.core.documents.catalog import DOCUMENTS, PARTS

    components: dict[str, Json] = {}
    for kind in (*DOCUMENTS.values(), *PARTS):
        schema = schema_of(kind, _COMPONENTS + "{model}")
        components |= schema.pop("$defs", {})
        components[kind.__name__] = schema
    return components
