"""The OpenAPI document: what FastAPI derives from the routes, and what holds for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from fastapi import APIRouter, Response
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic_core import to_json

from modeldyno.api.schemas import schema_reference
from modeldyno.api.v1.shape import WORDS
from modeldyno.core.documents.failures import ProblemDocument
from modeldyno.core.hosts import tool_version

Json = dict[str, Any]

PROBLEM = "application/problem+json"
DESCRIPTION = """Measure models, keep the numbers, compare them. Lengths of time are in milliseconds
(`_ms`) or seconds (`_s`), moments in UTC (ISO 8601)."""
SCHEMES: Json = {
    "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "The workspace's token: `modeldyno token` prints it.",
    },
}
TAGS = {
    "projects": "What belongs together.",
    "models": "Model files: stored by content, inspected, trusted.",
    "examples": "Models to begin with.",
    "files": "Folders of the server that models may be imported from.",
    "datasets": "Where samples come from, and what is done to them.",
    "benchmarks": "What to measure: a model, and the cells to measure it in. Keeps all its runs.",
    "benchmark by name": "Measure a model by its name in one call; it has its own response format.",
    "comparisons": "Two sides, measured in alternation: which is faster, and how sure that is.",
    "optimizations": "Requests for better models, and the benchmarks that represent them.",
    "profiles": "Where a model spends its time, by node and by operator.",
    "runs": "One execution of a benchmark or comparison: its result, samples and log.",
    "jobs": "Runs that wait or execute.",
    "notes": "What people wrote about things.",
    "events": "What changed.",
    "engines": "What can run models here.",
    "system": "The machine, the workspace, the queue.",
    "session": "Who is signed in, and how a browser signs in.",
}
_ALWAYS = (400, 401, 403, 429, 503)
_WITH_BODY = (408, 413, 415)
_METHODS = ("get", "put", "post", "patch", "delete")


def router(address: str, describe: Callable[[], Json]) -> APIRouter:
    routes = APIRouter()

    @routes.get(address)
    def openapi() -> Response:
        return Response(to_json(describe()), media_type="application/json")

    return routes


def openapi_document(routes: Sequence[APIRoute]) -> Json:
    from modeldyno.api.v1.events import message_schemas

    openapi: Json = get_openapi(
        title="Modeldyno", version=tool_version(), description=DESCRIPTION, routes=routes
    )
    schemas = openapi["components"]["schemas"]
    problem = {PROBLEM: {"schema": schema_reference(ProblemDocument)}}
    for foreign in ("HTTPValidationError", "ValidationError"):
        schemas.pop(foreign, None)
    schemas.update(message_schemas())
    openapi["components"]["securitySchemes"] = SCHEMES
    openapi["security"] = [{name: []} for name in SCHEMES]
    used = {tag for _, _, entry in iterate_operations(openapi) for tag in entry.get("tags", ())}
    openapi["tags"] = [{"name": name, "description": TAGS.get(name, "")} for name in sorted(used)]
    for _, _, operation in iterate_operations(openapi):
        _add_problem_responses(operation, problem)
    _forbid_additional_fields(schemas)
    return openapi


def _forbid_additional_fields(part: Any) -> None:
    """Where keys must fit a pattern, others are refused: FastAPI does not say that part."""
    if isinstance(part, list):
        for child in part:
            _forbid_additional_fields(child)
    elif isinstance(part, dict):
        if "patternProperties" in part:
            part.setdefault("additionalProperties", False)
        for child in part.values():
            _forbid_additional_fields(child)


def iterate_operations(document: Json) -> Iterator[tuple[str, str, Json]]:
    """Address, method in lower case, and the operation."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if method in _METHODS:
                yield path, method, operation


def _add_problem_responses(operation: Json, problem: Json) -> None:
    operation["summary"] = operation["operationId"].replace("_", " ").capitalize()
    parameters = operation.get("parameters", [])
    for parameter in parameters:
        _simplify_parameter(parameter)
    has_body = "requestBody" in operation
    for status in (*_ALWAYS, *(_WITH_BODY if has_body else ())):
        operation["responses"].setdefault(str(status), {"description": WORDS[status]})
    if not has_body and not parameters:
        operation["responses"].pop("422", None)
    for status, response in operation["responses"].items():
        if "#/components/schemas/RefusedByNameDocument" in str(response):  # in words of its own
            continue
        if status.isdigit() and int(status) >= 400:
            response["content"] = problem
        elif status in ("201", "202"):
            _describe_headers(response, parameters)
    operation["responses"] = dict(sorted(operation["responses"].items()))


def _simplify_parameter(parameter: Json) -> None:
    """A parameter that may be left out is not one that may be null: no address can say that."""
    schema = parameter["schema"]
    choices = [choice for choice in schema.pop("anyOf", ()) if choice != {"type": "null"}]
    if len(choices) == 1:
        schema.update(choices[0])
    elif choices:
        schema["anyOf"] = choices
    schema.pop("title", None)
    if schema.get("default", ...) is None:
        del schema["default"]
    if "description" in schema:
        parameter["description"] = schema.pop("description")
    name = parameter["name"]
    if name == "If-Match":  # without it there is an answer of its own (428)
        parameter["required"] = True
    if parameter["in"] == "path" and name.endswith("_id"):
        parameter.setdefault("description", f"The id of the {name.removesuffix('_id')}.")


def _describe_headers(response: Json, parameters: list[Json]) -> None:
    from modeldyno.api.v1.idempotency import REPLAYED

    text = {"schema": {"type": "string"}}
    headers = response.setdefault("headers", {})
    headers["Location"] = {**text, "description": "Where the new thing is."}
    if any(parameter["name"] == "Idempotency-Key" for parameter in parameters):
        headers[REPLAYED] = {
            "schema": {"type": "string", "enum": ["true"]},
            "description": "Sent if this response is a repeat.",
        }


# What a field of this name holds, where its description has no example: a word means the same
# in every document of ours.
_USUAL: Json = {
    "batch_size": 1, "benchmark_id": 1, "budget_s": 30.0, "cores": 1, "cpu_model": "AMD EPYC 7763",
    "cpus": 8, "device": "cpu", "domain": "", "done_bytes": 1_048_576, "dtype": "float32",
    "engine": "onnxruntime", "fingerprint": "3fa9c1d2b0e4f567", "framework": "onnx", "id": "Conv_0",
    "instances": 1, "job_id": 1, "kernel": "6.8.0", "libc": "glibc 2.39", "margin": 0.02,
    "max_ms": 6.2, "memory_bytes": 16_000_000_000, "min_ms": 5.8, "model": "resnet50.onnx",
    "name": "conv1", "nodes": 12, "op_type": "Conv", "parameters": 25_557_032,
    "path": "resnet50.onnx", "precision": "fp32", "processes": 3, "producer": "pytorch 2.6",
    "python": "3.11.9", "run_id": "20261115-095116-3fa9c1", "samples": 1000, "scope": "encoder",
    "seconds": 30.0, "sessions": 12, "session_s": 1.0,
    "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "size_bytes": 102_146_502, "source": "Conv_0", "system": "Linux", "target": "Relu_1",
    "threads": 1, "timeout_s": 600.0, "tool_version": "0.1.0",
}  # fmt: skip
_LISTS: Json = {
    "cores": [1, 2], "cpus_allowed": [0, 1], "instances": [1], "input_shapes": [[3, 224, 224]],
    "instruction_sets": ["avx2"], "precisions": ["fp32"], "runs": ["20261115-095116-3fa9c1"],
}  # fmt: skip


def make_example(schema: Json, document: Json, name: str = "") -> Any:
    """A value that fits: from the examples where there are some, else what a field of that name
    usually holds, else the plainest there is."""
    if "$ref" in schema:
        called = schema["$ref"].rpartition("/")[2]
        return make_example(document["components"]["schemas"][called], document, name)
    for keyword in ("examples", "enum"):
        if schema.get(keyword):
            return schema[keyword][0]
    for keyword in ("example", "const", "default"):
        if keyword in schema:
            return schema[keyword]
    for keyword in ("anyOf", "oneOf", "allOf"):
        if schema.get(keyword):
            is_optional = {"type": "null"} in schema[keyword]
            return None if is_optional else make_example(schema[keyword][0], document, name)
    match schema.get("type"):
        case "object":
            needed = schema.get("required", ())
            return {
                field: make_example(inner, document, field)
                for field, inner in schema.get("properties", {}).items()
                if field in needed or inner.keys() & {"examples", "default"}
            }
        case "array" if name in _LISTS:
            return _LISTS[name]
        case "array":
            inner = make_example(schema.get("items", {}), document)
            return [] if inner in ("", 0) and not schema.get("minItems") else [inner]
        case "string":
            is_moment = schema.get("format") == "date-time" or name.endswith("_at")
            usual = _USUAL.get(name, "")
            return "2026-11-15T09:00:00Z" if is_moment else usual if isinstance(usual, str) else ""
        case "integer" | "number":
            usual = _USUAL.get(name)
            plainest = schema.get("minimum", 0)
            return usual if isinstance(usual, int | float) else plainest
        case "boolean":
            return False
        case _:
            return None
