"""Notes: ``…/{id}/note`` of whatever people write about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Header, Path, Response
from pydantic import Field

from modeldyno.api.errors import VERSION_NEEDED, Refused
from modeldyno.api.v1.shape import MOST_ID, RequestBody, answer, gives
from modeldyno.core.notes import Note, NoteDocument, Subject, SubjectKind, subject_kinds

if TYPE_CHECKING:
    from modeldyno.store.records.notes import NoteRecords

LONGEST = 100_000

IfMatch = Annotated[
    str | None,
    Header(
        alias="If-Match",
        pattern=r'^(\*|"[0-9]{1,9}")$',
        description="The ETag of the version you have read, or `*` to overwrite whatever is there. "
        "Without it, nothing is changed (428).",
        examples=['"3"'],
    ),
]


class NoteRequest(RequestBody):
    text: Annotated[str, Field(max_length=LONGEST)] = Field(
        description="Markdown, if you like; it is kept as it is.",
        examples=["Measured on the box under the desk, fans at full speed."],
    )


def router(notes: NoteRecords) -> APIRouter:
    routes = APIRouter(tags=["notes"])
    for kind in subject_kinds():
        _add_routes(routes, notes, kind)
    return routes


def _add_routes(routes: APIRouter, notes: NoteRecords, kind: SubjectKind) -> None:
    path = f"/{kind}s/{{{kind}_id}}/note"
    number = Path(alias=f"{kind}_id", ge=1, le=MOST_ID)

    @routes.get(
        path,
        name=f"get_{kind}_note",
        **gives(NoteDocument, 404),
    )
    def read(id: int = number) -> Response:
        """What people wrote about it; empty, of version 0, when nobody did. `ETag` is the version,
        for `If-Match`."""
        return _note_response(notes.get(Subject(kind, id)))

    @routes.put(
        path,
        name=f"write_{kind}_note",
        **gives(NoteDocument, 404, 412, 413, 428),
    )
    def write(request: NoteRequest, if_match: IfMatch = None, id: int = number) -> Response:
        """Replaces the note, unless somebody else changed it since you read it."""
        if if_match is None:
            raise Refused(VERSION_NEEDED)
        version = None if if_match == "*" else int(if_match.strip('"'))
        return _note_response(notes.write(Subject(kind, id), request.text, version))


def _note_response(note: Note) -> Response:
    return answer(NoteDocument.of(note), ETag=f'"{note.version}"')
