"""Documents that the terminal prints as well: their JSON Schemas, as parts of our OpenAPI.

The schemas lie in the package (``schemas/``). What a document defines for itself becomes a
component of its own: generators of clients do not look for definitions inside of others.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

_COMPONENTS = "#/components/schemas/"
_FILES = files("modeldyno") / "schemas"


def document(name: str, part: str = "") -> dict[str, Any]:
    """For ``schema`` of a response: ``document("benchmark")``; or what it defines for itself."""
    return {"$ref": _COMPONENTS + _component(name, part)}


def with_written_documents(openapi: dict[str, Any]) -> dict[str, Any]:
    """The description of all routes, with the schemas of the documents that they name."""
    from modeldyno.core.documents.catalog import DOCUMENTS

    told = json.dumps(openapi)
    known = openapi.setdefault("components", {}).setdefault("schemas", {})
    for file in sorted(_FILES.iterdir(), key=lambda file: file.name):
        name = file.name.partition(".")[0]
        if name not in DOCUMENTS and f'"{_COMPONENTS}{_component(name)}"' in told:
            known |= _parts(name)
    return openapi


@cache
def _parts(name: str) -> dict[str, Any]:
    schema = json.loads((_FILES / f"{name}.schema.json").read_text())
    parts = schema.pop("$defs", {})
    for key in ("$schema", "$id"):
        schema.pop(key)
    found = {_component(name): schema} | {_component(name, key): parts[key] for key in parts}
    return {key: _relinked(name, part) for key, part in found.items()}


def _relinked(name: str, part: Any) -> Any:
    if isinstance(part, list):
        return [_relinked(name, item) for item in part]
    if not isinstance(part, dict):
        return part
    return {
        key: _COMPONENTS + _component(name, value.removeprefix("#/$defs/"))
        if key == "$ref"
        else _relinked(name, value)
        for key, value in part.items()
    }


def _component(name: str, part: str = "") -> str:
    """``BenchmarkDocument``, ``BenchmarkDocumentSideBySide``."""
    words = (*name.split("_"), "document", *part.split("_"))
    return "".join(word.capitalize() for word in words)


# ---------------------------------------------------------------- answers that are documents


def _answer(description: str, **content: dict[str, Any]) -> dict[int | str, dict[str, Any]]:
    kinds = {kind.replace("_", "/", 1): {"schema": schema} for kind, schema in content.items()}
    return {200: {"description": description, "content": kinds}}


_RESULT = {"anyOf": [document("benchmark"), document("comparison"), document("profile")]}
_TEXT = {"type": "string"}

RESULT = _answer(
    "What came out: of a benchmark, a comparison or a profile.", application_json=_RESULT
)
RECORD = _answer(
    "The result as it is kept.",
    application_json={"type": "object", "additionalProperties": True},
)
_TEXTS = {"text_csv": _TEXT, "text_markdown": _TEXT, "text_html": _TEXT}
EXPORTED = _answer("A file to keep.", application_json=_RESULT, **_TEXTS)
REPORTED = _answer(
    "A file to keep.",
    application_json={
        "type": "object",
        "additionalProperties": False,
        "required": ["title", "results", "missing"],
        "properties": {
            "title": {"type": "string", "description": "The project's name."},
            "results": {
                "type": "array",
                "items": _RESULT,
                "description": "Of benchmarks, then comparisons, then profiles: the latest each.",
            },
            "missing": {
                "type": "array",
                "items": _TEXT,
                "description": "What ran and has no result, and why.",
            },
        },
    },
    **_TEXTS,
)
EXAMPLES = _answer("The catalogue.", application_json=document("examples"))
GRAPH = _answer("The whole graph.", application_json=document("graph"))
TABLE = _answer("One line for each row.", text_csv=_TEXT)
SAMPLES = _answer("One line for each sample.", text_csv=_TEXT)
