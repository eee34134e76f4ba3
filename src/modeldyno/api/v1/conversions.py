"""The same network in another format, made in the background and checked against its source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Response
from pydantic import Field

from modeldyno.api.v1.shape import Asked, Id, Told, answer, problems
from modeldyno.api.v1.summaries import FailurePart, failure_of
from modeldyno.core.conversions import Check, Goal
from modeldyno.core.ids import ConversionId, ModelId
from modeldyno.engines.conversions import Possibility
from modeldyno.services.conversions import Conversion, ConversionState

if TYPE_CHECKING:
    from modeldyno.services.conversions import ConversionService


class ConversionAsked(Asked):
    to: Goal


class ConversionTold(Told):
    id: int = Field(examples=[1])
    project_id: int = Field(examples=[1])
    model_id: int = Field(description="What it is made of.", examples=[1])
    to: Goal
    state: ConversionState
    doing: str = Field(description="The step it is at.", examples=["converting"])
    steps_done: int
    steps_planned: int = Field(description="0 as long as it has not begun.")
    made_id: int | None = Field(description="The new model, in the same project.")
    checks: list[Check] = Field(description="One for each input on which both were run.")
    notes: list[str]
    failure: FailurePart | None = Field(description="Why nothing came of it, and what to do.")


class ConversionsTold(Told):
    possible: list[Possibility] = Field(description="Every format, whether it can be or not.")
    conversions: list[ConversionTold] = Field(
        description="Of this model, oldest first, as far as this server remembers."
    )


def router(conversions: ConversionService) -> APIRouter:
    routes = APIRouter(tags=["models"])

    @routes.get(
        "/models/{model_id}/conversions",
        response_model=ConversionsTold,
        responses=problems(404, 409),
    )
    def list_conversions(model_id: Id) -> Response:
        """What the model can be converted to, why not to the rest, and what was tried."""
        number = ModelId(model_id)
        tried = [_conversion(one) for one in conversions.of(number)]
        return answer({"possible": conversions.possible(number), "conversions": tried})

    @routes.post(
        "/models/{model_id}/conversions",
        status_code=202,
        response_model=ConversionTold,
        responses=problems(404, 409, 413),
    )
    def convert_model(model_id: Id, asked: ConversionAsked) -> Response:
        """In the background, by a worker with all the walls around it, on a core of its own. Source
        and result are run on the same inputs, and what computes something else is not kept. The
        events `conversion.progress` and `model.created` tell of it. Asked again while it is under
        way, nothing more happens."""
        made = conversions.start(ModelId(model_id), asked.to)
        return answer(_conversion(made), 202, location=f"/api/v1/conversions/{made.id}")

    @routes.get(
        "/conversions/{conversion_id}", response_model=ConversionTold, responses=problems(404)
    )
    def get_conversion(conversion_id: Id) -> Response:
        """How far it is, or what became of it."""
        return answer(_conversion(conversions.get(ConversionId(conversion_id))))

    @routes.post(
        "/conversions/{conversion_id}/cancel",
        response_model=ConversionTold,
        responses=problems(404),
    )
    def cancel_conversion(conversion_id: Id) -> Response:
        """It ends within two seconds, and nothing is kept. What is over stays as it is."""
        return answer(_conversion(conversions.cancel(ConversionId(conversion_id))))

    return routes


def _conversion(one: Conversion) -> dict[str, Any]:
    return {
        **vars(one),
        "failure": failure_of(vars(one.failure) if one.failure else None),
    }
