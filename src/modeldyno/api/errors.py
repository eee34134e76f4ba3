"""What a client reads when we say no; the only place that knows HTTP codes.

``/api/v1`` gets problem documents (RFC 9457) with our code, reason and advice, ``/api`` plain text,
which its clients show as it is. A refusal from before the caller is known repeats nothing that
was sent; later refusals may name a value, as text, never in a header. Folders of this machine are
left out of all of them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

from modeldyno.core import errors
from modeldyno.core.documents.described import json_text
from modeldyno.core.documents.failures import ProblemDocument
from modeldyno.core.redaction import without_folders

# "named" is the one route of /api/v1 whose answers have a shape of their own.
Surface = Literal["v1", "named", "inc", "socket", "page"]
Headers = tuple[tuple[bytes, bytes], ...]

STATUSES: dict[type[errors.ModeldynoError], int] = {
    errors.ModeldynoError: 500,
    errors.UserError: 400,
    errors.ModelNotFound: 404,
    errors.NameAmbiguous: 409,
    errors.RunNotFound: 404,
    errors.FileNotFound: 404,
    errors.ExampleNotFound: 404,
    errors.DownloadsOff: 403,
    errors.DownloadRefused: 502,
    errors.DownloadFailed: 502,
    errors.NotFound: 404,
    errors.WrongState: 409,
    errors.BaselineNoisy: 409,
    errors.StillUsed: 409,
    errors.EditedMeanwhile: 412,
    errors.KeyReused: 422,
    errors.QueueFull: 429,
    errors.TooBusy: 429,
    errors.ModelChanged: 409,
    errors.MachineChanged: 409,
    errors.DatabaseUnusable: 503,
    errors.WorkspaceUnusable: 503,
    errors.PathRefused: 403,
    errors.UnsafeFormat: 403,
    errors.TokenUnusable: 503,
    errors.StorageFailed: 507,
}


_OF_INC = {401: 403, 409: 400, 412: 400, 422: 400}


@dataclass(frozen=True)
class Refusal:
    status: int
    code: str
    title: str
    why: str
    fix: str
    headers: Headers = ()


MALFORMED = Refusal(
    400,
    "REQUEST_MALFORMED",
    "This request cannot be understood in one way only",
    "its path is not plain, or a header that may appear once appears twice or has an invalid value",
    "Send one Host, at most one Origin and Content-Length, and a path without .. or //",
)
TOO_MANY_HEADERS = Refusal(
    431, "HEADERS_TOO_LARGE", "Too many headers", "a request may bring 100, in 32 KiB", "Send fewer"
)
HOST = Refusal(
    403,
    "HOST_REFUSED",
    "This server does not answer to that host name",
    "another web page could point its own host name at this machine",
    "Use the address that the server printed when it started, with its port",
)
ORIGIN = Refusal(
    403,
    "ORIGIN_REFUSED",
    "This request comes from another web page",
    "only the server's own pages may use it from a browser",
    "Open the address that the server printed when it started",
)
METHOD = Refusal(
    405,
    "METHOD_REFUSED",
    "This method is not served",
    "nothing here needs it",
    "Use another one",
    ((b"allow", b"GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE"),),
)
TOKEN = Refusal(
    401,
    "TOKEN_NEEDED",
    "Wrong or missing token",
    "every request needs the token of this workspace",
    "Send the header `Authorization: Bearer TOKEN`, or open the address that the server printed",
    ((b"www-authenticate", b"Bearer"),),
)
FORGERY = Refusal(
    403,
    "CSRF_NEEDED",
    "A change from a browser needs more than its cookie",
    "another page could send the cookie along",
    "Send X-Modeldyno-CSRF and JSON from the server's own page, or use the token",
)
TOO_LARGE = Refusal(
    413,
    "BODY_TOO_LARGE",
    "The request's body is too large",
    "1 MiB is enough for any request that is not an upload",
    "Send less, or upload the file",
    ((b"connection", b"close"),),
)
TOO_SLOW = Refusal(
    408,
    "BODY_TOO_SLOW",
    "The request's body did not arrive",
    "a minute is enough for any request that is not an upload, and between two parts of one",
    "Send it again",
    ((b"connection", b"close"),),
)
MEDIA_TYPE = Refusal(
    415,
    "MEDIA_TYPE_REFUSED",
    "This operation does not read that kind of body",
    "bodies are application/json, those of uploads application/octet-stream",
    "Send the header Content-Type with the one that fits",
)
VERSION_NEEDED = Refusal(
    428,
    "VERSION_NEEDED",
    "Say which version you mean to change",
    "somebody else may have changed it since you read it",
    "Send the header If-Match with the ETag that you read, or * to overwrite whatever is there",
)
STOPPING = Refusal(
    503,
    "SERVER_STOPPING",
    "The server is being stopped",
    "nothing is left to wait for this measurement, so it was cancelled",
    "Try again when it is back",
)
NO_ROOM = Refusal(
    503,
    "TOO_MANY_REQUESTS",
    "Too many requests at once",
    "only this many are served at a time, fewer from clients that are not signed in",
    "Try again in a second; requests with the token have reserved capacity",
    ((b"retry-after", b"1"),),
)
BUG = Refusal(
    500, "BUG", "Something went wrong in the server", "it is our bug", "The server's log says more"
)


def upgrading_refusal(progress: str) -> Refusal:
    return Refusal(
        503,
        "UPGRADING",
        "The database is being upgraded",
        f"an earlier version wrote it; {progress}",
        "Try again in a second: this takes a few for ten thousand runs",
        ((b"retry-after", b"1"), (b"refresh", b"1"), (b"connection", b"close")),
    )


def unreadable_json_refusal(why: str) -> Refusal:
    return Refusal(
        400,
        "BAD_JSON",
        "The request's body is not JSON that this server accepts",
        why,
        "Send other JSON",
    )


class Refused(Exception):
    """For handlers that answer with one of these."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.title)
        self.refusal = refusal


def rate_limit_refusal(retry_after_s: int) -> Refusal:
    return Refusal(
        429,
        "TOO_MANY_FAILURES",
        "Too many requests without the right token",
        "ten a minute are answered",
        "Wait a minute, then send the token",
        ((b"retry-after", str(retry_after_s).encode()),),
    )


def refusal_of(error: errors.ModeldynoError) -> Refusal:
    """One of our own errors, as a client may read it."""
    status = next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)
    title, why, fix = (without_folders(text) for text in (error.title, error.why, error.fix))
    return Refusal(status, error.code, title, why, fix)


def named_refusal(error: errors.ModeldynoError) -> Refusal:
    """The same for a client that waits for a run: that it failed is no bug of the server."""
    refusal = refusal_of(error)
    is_runs = isinstance(error, errors.RunFailed) and refusal.status == 500
    return replace(refusal, status=422) if is_runs else refusal


def validation_refusal(first: Mapping[str, Any]) -> Refusal:
    """What does not fit its description: the first thing that does not, by its name."""
    where = ".".join(str(part) for part in first["loc"][1:]) or str(first["loc"][0])
    title = f"{where[:100]}: {first['msg'][:200]}"
    return Refusal(422, "BAD_VALUE", title, "", "See /docs for what this operation takes")


def named_document(refusal: Refusal | None, devices: Mapping[str, str]) -> dict[str, Any]:
    """As clients of that route read it; ``devices`` with why each cannot be used, or nothing."""
    devices_part: dict[str, Any] = {
        "available_devices": [name for name, why in devices.items() if not why],
        "unavailable_devices": {name: why for name, why in devices.items() if why},
    }
    if refusal is None:
        return devices_part
    said = {"message": refusal.title, "code": refusal.code, "detail": refusal.why}
    return {"status": "error", **said, "fix": refusal.fix, **devices_part}


@lru_cache(maxsize=256)  # bounded: some refusals say what the client said
def body_of(refusal: Refusal, surface: Surface) -> tuple[int, Headers, bytes]:
    """Status, headers and bytes."""
    status, headers, body = refusal.status, refusal.headers, text_of(refusal).encode()
    kind = b"text/plain; charset=utf-8"
    if surface == "v1":
        kind, body = b"application/problem+json", _problem_json(refusal)
    elif surface == "named":  # before the caller is known, devices are not listed
        kind, body = b"application/json", json.dumps(named_document(refusal, {})).encode()
    elif surface == "inc":  # its clients expect no others
        status = _OF_INC.get(status, status)
        headers = () if refusal.status == 401 else headers
    length = str(len(body)).encode()
    return status, (*headers, (b"content-type", kind), (b"content-length", length)), body


def _problem_json(refusal: Refusal) -> bytes:
    document = ProblemDocument.from_fields(refusal, detail=refusal.why)
    return json_text(document, indent=None).encode()


def text_of(refusal: Refusal) -> str:
    return join_sentences(refusal.title, refusal.why, refusal.fix)


def join_sentences(*parts: str) -> str:
    """What, why and what to do. One alone stays as it is, for some clients know it by heart."""
    first, *more = [part for part in parts if part] or [""]
    return ". ".join((first.removesuffix("."), *map(_capitalise, more))) if more else first


def _capitalise(sentence: str) -> str:
    """With a capital letter, unless it begins with a name."""
    word, space, rest = sentence.partition(" ")
    return f"{word.capitalize()}{space}{rest}" if word.isalpha() and word.islower() else sentence
