"""``/api/v1/engines``."""

from __future__ import annotations

from dataclasses import replace

from fastapi import APIRouter, Response

from modeldyno.api.v1.shape import answer, gives
from modeldyno.core.documents.hosts import EngineDocument, EnginesDocument
from modeldyno.core.redaction import without_folders, without_secrets
from modeldyno.engines.availability import availability


def router() -> APIRouter:
    routes = APIRouter(prefix="/engines", tags=["engines"])

    @routes.get("", **gives(EnginesDocument))
    def list_engines() -> Response:
        """Which engines can run here, and how to get the others. Looked up each time, so that what
        was just installed is there."""
        return answer(EnginesDocument(engines=tuple(map(_redact_engine, availability()))))

    return routes


def _redact_engine(engine: EngineDocument) -> EngineDocument:
    return replace(
        engine,
        why_not=without_folders(engine.why_not) if engine.why_not else None,
        unavailable_devices={
            device: without_folders(why) for device, why in engine.unavailable_devices.items()
        },
        origin=without_secrets(without_folders(engine.origin)),
    )
