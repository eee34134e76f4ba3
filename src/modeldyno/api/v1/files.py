"""The folders that models may be imported from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import Field

from modeldyno.api.v1.shape import Told, problems
from modeldyno.core.client_paths import LONGEST
from modeldyno.store.named_models import SUFFIXES

if TYPE_CHECKING:
    from modeldyno.services.model_files import ModelFiles


class EntryTold(Told):
    name: str = Field(examples=["resnet50.onnx"])
    kind: Literal["folder", "file"]
    size_bytes: int = Field(examples=[102_530_333])
    is_model: bool = Field(description="By its name alone; the rest shows when it is imported.")


class FilesTold(Told):
    path: str = Field(description="The folder; empty: those to start from.", examples=["vision"])
    entries: list[EntryTold] = Field(description="Folders first, then by name.")
    is_cut: bool = Field(description="There are more than 1 000.")


def router(files: ModelFiles) -> APIRouter:
    routes = APIRouter(prefix="/files", tags=["models"])

    @routes.get("", responses=problems(404))
    def list_files(
        path: Annotated[
            str, Query(max_length=LONGEST, description="Below the allowed folders.")
        ] = "",
    ) -> FilesTold:
        """What can be imported: the allowed folders together, or what lies in one folder.

        Hidden files, links, and files with a second name are left out: they cannot be opened.
        """
        found = files.entries(path)
        entries = [
            EntryTold(
                name=entry.name,
                kind=entry.kind,
                size_bytes=entry.size_bytes,
                is_model=entry.kind == "file" and entry.name.lower().endswith(SUFFIXES),
            )
            for entry in found.entries
        ]
        return FilesTold(path=path, entries=entries, is_cut=found.is_cut)

    return routes
