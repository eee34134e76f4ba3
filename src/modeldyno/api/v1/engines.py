"""``/api/v1/engines``."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import Field

from modeldyno.api.v1.shape import Told, problems
from modeldyno.core.redaction import without_folders, without_secrets
from modeldyno.engines.availability import Availability, availability
from modeldyno.engines.catalog import find, title_of


class EngineTold(Told):
    name: str = Field(examples=["onnxruntime"])
    title: str = Field(description="For people.", examples=["ONNX Runtime"])
    usable: bool
    version: str | None = Field(examples=["1.22.0"])
    why_not: str | None = Field(examples=[None])
    install: str = Field(description="How to get it.", examples=["pip install onnxruntime"])
    devices: list[str] = Field(
        description="Those that can be used here, as far as can be told without loading the "
        "engine.",
        examples=[["cpu"]],
    )
    unavailable_devices: dict[str, str] = Field(
        description="The others that it has, each with the reason why it cannot be used here.",
        examples=[{"coreml": "this is no Mac"}],
    )
    device_notes: dict[str, str] = Field(
        description="Of `devices`: what only a worker that loads the engine can tell.",
        examples=[{}],
    )
    formats: list[str] = Field(examples=[["onnx"]])
    has_streams: bool = Field(
        description="It can run several requests at a time: `streams` of a benchmark.",
        examples=[False],
    )
    adapter: str = Field(
        description="Which engine it is, where it goes by a name that somebody gave it.",
        examples=["onnxruntime"],
    )
    python: str | None = Field(
        description="Version of the other Python that it lives in; null: the server's own.",
        examples=[None],
    )
    origin: str = Field(
        description="How it came there: what pip installed. Empty for engines of the server's own "
        "environment.",
        examples=[""],
    )


class EnginesTold(Told):
    engines: list[EngineTold]


def router() -> APIRouter:
    routes = APIRouter(prefix="/engines", tags=["engines"])

    @routes.get("", responses=problems())
    def list_engines() -> EnginesTold:
        """Which engines can run here, and how to get the others. Looked up each time, so that what
        was just installed is there."""
        return EnginesTold(engines=[_told(engine) for engine in availability()])

    return routes


def _told(engine: Availability) -> EngineTold:
    return EngineTold(
        name=engine.name,
        title=title_of(engine.name),
        usable=engine.usable,
        version=engine.version,
        why_not=without_folders(engine.why_not) if engine.why_not else None,
        install=engine.install,
        devices=list(engine.devices),
        unavailable_devices={
            device: without_folders(why) for device, why in engine.unavailable_devices.items()
        },
        device_notes=engine.device_notes,
        formats=list(engine.formats),
        has_streams=find(engine.name).has_streams,
        adapter=engine.adapter,
        python=engine.python,
        origin=without_secrets(without_folders(engine.origin)),
    )
