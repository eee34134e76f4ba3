"""Lists, page by page: what a client may ask for, and what comes back.

    class ListProjectsRequest(ListRequest):
        sort: Literal["created", "name"] = "created"

    @routes.get("", **gives(page_schema(Project)), openapi_extra=parameters(ListProjectsRequest))
    def list_projects(
        request: Annotated[ListProjectsRequest, listed(ListProjectsRequest)],
    ) -> Response: ...

Each list says by which words it is sorted, and adds the conditions it knows (``OfProject``,
``OfRuns``): what it does not know, it refuses.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_origin

from fastapi import Depends, Request
from fastapi.exceptions import RequestValidationError
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    create_model,
)
from starlette.datastructures import QueryParams

from modeldyno.api.v1.shape import MOST_ID
from modeldyno.core.cell_axes import AXES, SIZES, CellAxis
from modeldyno.core.runs import ListQuery, State

MOST = 200


def _parse_moment(said: object) -> object:
    """Numbers are no moments here, one needs its zone, and the ends of time are not in all."""
    if not isinstance(said, str) or not re.match(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d", said):
        raise ValueError("a moment is written like 2026-11-15T09:00:00Z")
    try:
        moment = datetime.fromisoformat(said.replace("t", "T").replace("z", "Z"))
        in_utc = moment.astimezone(UTC)
    except (OverflowError, ValueError) as error:
        raise ValueError("there is no such time") from error
    if moment.tzinfo is None:
        raise ValueError("a moment needs its zone: 2026-11-15T09:00:00Z")
    return in_utc


_Moment = Annotated[datetime | None, BeforeValidator(_parse_moment)]


class ListRequest(BaseModel):
    """Conditions are joined by "and"."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: Annotated[str, Field(max_length=200, description="A part of the name.")] = ""
    since: Annotated[_Moment, Field(description="Created then or later.")] = None
    until: Annotated[_Moment, Field(description="Created before.")] = None
    sort: str = "created"
    order: Literal["ascending", "descending"] = "descending"
    limit: Annotated[int, Field(ge=1, le=MOST)] = 20
    cursor: Annotated[
        str | None, Field(max_length=1000, description="`next` of the page before.")
    ] = None

    def wanted(self) -> ListQuery:
        return self.wanted_without()

    def wanted_without(self, *names: str) -> ListQuery:
        """``names`` decide how lines are presented, not which lines are listed."""
        said = {name: value for name, value in self if name not in names}
        return ListQuery(descending=said.pop("order") == "descending", **said)


def require_one_of(*words: str) -> Any:
    """Like ``Literal``, of words that are only known at run time."""

    def require(word: str) -> str:
        if word not in words:
            raise ValueError(f"Choose one of: {', '.join(words)}")
        return word

    return Annotated[str, AfterValidator(require), Field(json_schema_extra={"enum": [*words]})]


class OfProject(BaseModel):
    project_id: Annotated[int | None, Field(ge=1, le=MOST_ID)] = None


class OfRuns(OfProject):
    engine: Annotated[str | None, Field(max_length=50)] = None
    state: State | None = None


# The size of one dimension, ``seq=128``: a name without comma, space and equals sign.
_SIZE = r"^[!-+\--<>-~]+=[1-9][0-9]{0,8}$"


def _require_size(text: str) -> str:
    if not re.fullmatch(_SIZE, text):
        raise ValueError(f"Cannot read {text!r}: write one dimension and its size, seq=128")
    return text


def _axis_filter(axis: CellAxis) -> Any:
    """What a value of it may be."""
    if axis.kind == "word":
        return Annotated[str | None, Field(max_length=50)]
    if axis.kind == "count":
        return Annotated[int | None, Field(ge=1, le=MOST_ID)]
    shape = Field(max_length=100, json_schema_extra={"pattern": _SIZE})
    return Annotated[str, shape, AfterValidator(_require_size)] | None


# Runs have engines, too.
CELL_FILTERS = tuple(axis.name for axis in AXES if axis.name not in OfRuns.model_fields)


class _OfCells(BaseModel):
    def cell(self) -> dict[str, Any]:
        """What a cell must have, by the name of the axis."""
        wanted = {name: getattr(self, name) for name in CELL_FILTERS}
        wanted = {name: value for name, value in wanted.items() if value}
        for axis in SIZES:
            if axis.name in wanted:
                dimension, _, size = wanted[axis.name].partition("=")
                wanted[axis.name] = {dimension: int(size)}
        return wanted


if TYPE_CHECKING:
    OfCells = _OfCells
else:
    OfCells = create_model(
        "OfCells",
        __base__=_OfCells,
        **{axis.name: (_axis_filter(axis), None) for axis in AXES if axis.name in CELL_FILTERS},
    )


def listed(shape: type[ListRequest]) -> Any:
    return queried(shape)


def queried(shape: type[BaseModel]) -> Any:
    """Like ``Query()``, but much faster: lists are requested often. ``query_parameters`` tells
    OpenAPI what may stand in the query; only lists may be there twice. Without ``async`` it would
    take a thread."""
    fields = shape.model_fields.items()
    repeatable = [name for name, field in fields if get_origin(field.annotation) is list]

    @lru_cache(maxsize=64)  # the same few lists are requested again and again
    def parse(query: bytes) -> BaseModel:
        said = QueryParams(query)
        several = {name: said.getlist(name) for name in repeatable if name in said}
        try:
            if len(said.multi_items()) > len(said) + sum(len(s) - 1 for s in several.values()):
                raise _validation_error({"loc": (), "msg": "something was said twice"})
            return shape.model_validate(dict(said) | several)
        except ValidationError as error:
            raise _validation_error(*error.errors()) from error

    async def read(request: Request) -> BaseModel:
        return parse(request.scope["query_string"])

    return Depends(read)


def _validation_error(*errors: Any) -> RequestValidationError:
    return RequestValidationError([{**error, "loc": ("query", *error["loc"])} for error in errors])


def query_parameters(shape: type[BaseModel]) -> dict[str, Any]:
    """For ``openapi_extra=`` of what is ``queried``."""
    described = shape.model_json_schema()
    needed = described.get("required", ())
    return {
        "parameters": [
            {"name": name, "in": "query", "required": name in needed, "schema": schema}
            for name, schema in described["properties"].items()
        ]
    }
