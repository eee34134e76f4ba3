"""The same network in another format, made in the background and checked against its source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter, Response

from modeldyno.api.v1.shape import Id, RequestBody, answer, gives
from modeldyno.core.conversions import Goal
from modeldyno.core.documents.conversions import ConversionJobDocument, ConversionsDocument
from modeldyno.core.documents.failures import FailureDocument
from modeldyno.core.ids import ConversionId, ModelId
from modeldyno.services.conversions import Conversion

if TYPE_CHECKING:
    from modeldyno.services.conversions import ConversionService


class NewConversionRequest(RequestBody):
    to: Goal


def router(conversions: ConversionService) -> APIRouter:
    routes = APIRouter(tags=["models"])

    @routes.get("/models/{model_id}/conversions", **gives(ConversionsDocument, 404, 409))
    def list_conversions(model_id: Id) -> Response:
        """What the model can be converted to, why not to the rest, and what was tried."""
        number = ModelId(model_id)
        tried = tuple(map(_make_document, conversions.of(number)))
        possible = conversions.possible(number)
        return answer(ConversionsDocument(possible=possible, conversions=tried))

    @routes.post(
        "/models/{model_id}/conversions",
        **gives(ConversionJobDocument, 404, 409, 413, status=202),
    )
    def convert_model(model_id: Id, request: NewConversionRequest) -> Response:
        """In the background, by a worker with all the walls around it, on a core of its own. Source
        and result are run on the same inputs, and what computes something else is not kept. The
        events `conversion.progress` and `model.created` tell of it. Asked again while it is under
        way, nothing more happens."""
        made = conversions.start(ModelId(model_id), request.to)
        return answer(_make_document(made), 202, location=f"/api/v1/conversions/{made.id}")

    @routes.get("/conversions/{conversion_id}", **gives(ConversionJobDocument, 404))
    def get_document(conversion_id: Id) -> Response:
        """How far it is, or what became of it."""
        return answer(_make_document(conversions.get(ConversionId(conversion_id))))

    @routes.post("/conversions/{conversion_id}/cancel", **gives(ConversionJobDocument, 404))
    def cancel_document(conversion_id: Id) -> Response:
        """It ends within two seconds, and nothing is kept. What is over stays as it is."""
        return answer(_make_document(conversions.cancel(ConversionId(conversion_id))))

    return routes


def _make_document(conversion: Conversion) -> ConversionJobDocument:
    failure = FailureDocument.redacted(conversion.failure)
    return ConversionJobDocument.from_fields(conversion, failure=failure)
