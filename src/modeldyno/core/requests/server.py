"""Requests as a server takes them: of its models, and put in its queue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from modeldyno.core.requests.bounds import Doc, Range, Text
from modeldyno.core.requests.measuring import (
    BenchmarkRequest,
    PairingRequest,
    ProfileRequest,
    Request,
    SideRequest,
    without_defaults,
)

MOST_ID = 2**31 - 1
# One line of text with something to see in it.
NAME = r"^[^\u0000-\u001f\u007f]*[^\s\u0000-\u001f\u007f][^\u0000-\u001f\u007f]*$"

Reference = Annotated[int, Range(1, MOST_ID)]
Number = Annotated[Reference, Doc("", 1)]
Name = Annotated[str, Text(200, NAME)]
NameOrModels = Annotated[Name | None, Doc("Null: the model's.", "On the edge box")]
_EDIT = Request.__pydantic_config__ | {"json_schema_extra": without_defaults}
Start = Annotated[bool, Doc("Put it in the queue at once.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanBenchmarkRequest(BenchmarkRequest):
    model_id: Number


@dataclass(frozen=True, slots=True, kw_only=True)
class NewBenchmarkRequest(PlanBenchmarkRequest):
    project_id: Number
    name: NameOrModels = None
    dataset_id: Reference | None = None
    start: Start = True


@dataclass(frozen=True, slots=True, kw_only=True)
class EditBenchmarkRequest(BenchmarkRequest):
    """What is not sent stays."""

    __pydantic_config__: ClassVar[Any] = _EDIT
    name: Annotated[Name | None, Doc("", "On the edge box")] = None
    dataset_id: Reference | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSideRequest(SideRequest):
    """One side of a comparison."""

    model_id: Number


@dataclass(frozen=True, slots=True, kw_only=True)
class NewComparisonRequest(PairingRequest):
    project_id: Number
    a: ModelSideRequest
    b: ModelSideRequest
    name: Annotated[Name | None, Doc("Null: made of the models' names.", "Before and after")] = None
    start: Start = True


@dataclass(frozen=True, slots=True, kw_only=True)
class EditComparisonRequest(PairingRequest):
    """What is not sent stays; a side that is sent is that side, whole."""

    __pydantic_config__: ClassVar[Any] = _EDIT
    name: Annotated[Name | None, Doc("", "Before and after")] = None
    a: ModelSideRequest | None = None
    b: ModelSideRequest | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewProfileRequest(ProfileRequest):
    project_id: Number
    model_id: Number
    name: NameOrModels = None
    dataset_id: Reference | None = None
    start: Start = True


@dataclass(frozen=True, slots=True, kw_only=True)
class EditProfileRequest(ProfileRequest):
    """What is not sent stays."""

    __pydantic_config__: ClassVar[Any] = _EDIT
    name: Annotated[Name | None, Doc("", "On the edge box")] = None
    dataset_id: Reference | None = None
