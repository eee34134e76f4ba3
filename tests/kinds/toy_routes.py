"""From a request to the spec of a toy, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from modeldyno.api.v1.model_kinds import KINDS, PlainKind
from modeldyno.core.models import Model
from modeldyno.core.requests.checking import Range
from modeldyno.core.requests.measuring import Name, Number, Request, Start, without_defaults
from modeldyno.core.specs import ModelSpec
from tests.kinds.toy_core import ToySpec


@dataclass(frozen=True, slots=True, kw_only=True)
class ToyRequest(Request):
    rounds: Annotated[int, Range(1, 1000)] = 3
    pause_s: Annotated[float, Range(0, 10)] = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NewToyRequest(ToyRequest):
    project_id: Number
    model_id: Number
    name: Name | None = None
    start: Start = True


@dataclass(frozen=True, slots=True, kw_only=True)
class EditToyRequest(ToyRequest):
    __pydantic_config__: ClassVar[Any] = Request.__pydantic_config__ | {
        "json_schema_extra": without_defaults
    }
    name: Name | None = None


def _spec(request: ToyRequest, model: Model) -> ToySpec:
    return ToySpec(ModelSpec(model.path), request.rounds, request.pause_s)


def _settings(spec: ToySpec) -> ToyRequest:
    return ToyRequest(rounds=spec.rounds, pause_s=spec.pause_s)


def register() -> None:
    KINDS["toy"] = PlainKind(new=NewToyRequest, edit=EditToyRequest, spec=_spec, settings=_settings)
