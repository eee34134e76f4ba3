"""``Idempotency-Key``: a request that is sent twice creates one thing, and is answered twice.

    @routes.post("", **gives(Project, 409, status=201))
    @once(records)
    def create_project(request: NewProjectRequest) -> Response: ...

The handler runs inside one transaction together with the keeping of its answer, so that no crash
leaves the one without the other. For that it must be quick: other writers wait. One that is not,
``@once(records, prepares=True)``, first does what does no harm when it is done twice, and returns a
function; that is what runs inside the transaction, and its value is the answer.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable
from functools import partial, wraps
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from fastapi import Header, Request, Response
from pydantic import BaseModel

from modeldyno.api.v1.shape import json_response
from modeldyno.core.codec import encode
from modeldyno.core.errors import KeyReused
from modeldyno.store.records.repeated_requests import KeptAnswer

if TYPE_CHECKING:
    from modeldyno.store.records.all import Records

Handler = TypeVar("Handler", bound=Callable[..., Any])

REPLAYED = "Idempotency-Replayed"
_Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        pattern=r"^[!-~]+$",
        description="Any text of your own, new for each thing you want to create. The same request "
        "under the same key is answered as before, for 24 hours, and creates nothing.",
        examples=["8e03978e-40d5-43dd-bc93-6894a57f9324"],
    ),
]


def once(records: Records, *, prepares: bool = False) -> Callable[[Handler], Handler]:
    """For handlers that create something."""

    def decorate(handler: Handler) -> Handler:
        signature = inspect.signature(handler, eval_str=True)
        key = inspect.Parameter("idempotency_key", _KEYWORD, default=None, annotation=_Key)
        keyed = _Keyed(records, handler, prepares)

        @wraps(handler)
        def answer(idempotency_key: str | None, **values: Any) -> Response:
            if idempotency_key is None:
                return keyed.make_maker(values)()
            return keyed.answer(idempotency_key, values)

        # FastAPI reads this: the handler's own parameters, and ours.
        parameters = [p.replace(kind=_KEYWORD) for p in signature.parameters.values()]
        answer.__signature__ = signature.replace(parameters=[*parameters, key])  # type: ignore[attr-defined]
        return answer  # type: ignore[return-value]  # called by name, as FastAPI does

    return decorate


_KEYWORD = inspect.Parameter.KEYWORD_ONLY


class _Keyed:
    def __init__(self, records: Records, handler: Callable[..., Any], prepares: bool) -> None:
        self._records = records
        self._handler = handler
        self._prepares = prepares
        self._route = handler.__name__  # the operation's id in the OpenAPI document

    def answer(self, key: str, values: dict[str, Any]) -> Response:
        request = _fingerprint(values)
        kept = self._find_kept_answer(
            key, request
        )  # before anything slow, and without waiting for writers
        if kept is None:
            make = self.make_maker(values)
            with self._records.database.writing():
                kept = self._find_kept_answer(key, request)  # somebody may have been quicker
                if kept is None:
                    return _resend(self._make_and_keep(key, request, make))
        return _resend(kept, {REPLAYED: "true"})

    def make_maker(self, values: dict[str, Any]) -> Callable[[], Response]:
        """What is to run inside the transaction."""
        if self._prepares:
            prepared: Callable[[], Response] = self._handler(**values)
            return prepared
        return partial(self._handler, **values)

    def _find_kept_answer(self, key: str, request: str) -> KeptAnswer | None:
        kept = self._records.answers.find(self._route, key)
        if kept is not None and kept.request != request:
            raise KeyReused(
                "This Idempotency-Key was used before with another request",
                why="a key stands for one request, for 24 hours",
                fix="Choose a new key for everything you create",
            )
        return kept

    def _make_and_keep(self, key: str, request: str, make: Callable[[], Response]) -> KeptAnswer:
        made = make()
        body, location = bytes(made.body).decode(), made.headers.get("location")
        answer = KeptAnswer(request=request, status=made.status_code, body=body, location=location)
        self._records.answers.keep(self._route, key, answer)
        return answer


def _resend(kept: KeptAnswer, headers: dict[str, str] | None = None) -> Response:
    location = {"location": kept.location} if kept.location else {}
    return json_response(kept.body.encode(), kept.status, **location, **(headers or {}))


def _fingerprint(values: dict[str, Any]) -> str:
    """Of the request, however it was written: blanks, order and defaults make no difference."""
    plain = {
        name: value.model_dump(mode="json") if isinstance(value, BaseModel) else encode(value)
        for name, value in values.items()
        if not isinstance(value, Request)
    }
    text = json.dumps(plain, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
