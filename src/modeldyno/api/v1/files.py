"""The folders that models may be imported from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query, Response

from modeldyno.api.v1.shape import answer, gives
from modeldyno.core.documents.hosts import FolderDocument, FolderEntryDocument
from modeldyno.core.names import LONGEST_PATH
from modeldyno.store.named_models import SUFFIXES

if TYPE_CHECKING:
    from modeldyno.services.model_files import ModelFiles


def router(files: ModelFiles) -> APIRouter:
    routes = APIRouter(prefix="/files", tags=["models"])

    @routes.get("", **gives(FolderDocument, 404))
    def list_files(
        path: Annotated[
            str, Query(max_length=LONGEST_PATH, description="Below the allowed folders.")
        ] = "",
    ) -> Response:
        """What can be imported: the allowed folders together, or what lies in one folder.

        Hidden files, links, and files with a second name are left out: they cannot be opened.
        """
        folder = files.entries(path)
        entries = tuple(
            FolderEntryDocument.from_fields(
                entry, is_model=entry.kind == "file" and entry.name.lower().endswith(SUFFIXES)
            )
            for entry in folder.entries
        )
        return answer(FolderDocument(path=path, entries=entries, is_cut=folder.is_cut))

    return routes
