"""What a client does, told once for both of its kinds: steps in, answers back.

An operation is a generator. It yields steps (ask this, listen, wait) and gets their answers, and
does no I/O itself; ``sync.py`` and ``asynchronous.py`` take the steps. So each call of the API is
written down once, and ``Client`` and ``AsyncClient`` cannot differ.
"""

from __future__ import annotations

import functools
import json
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import (
    Any,
    Concatenate,
    Generic,
    ParamSpec,
    TypeVar,
    overload,
)

from modeldyno.core.errors import ServerFailed

P = ParamSpec("P")
T = TypeVar("T")

Sent = Callable[[int, int], None]  # bytes so far, of how many


@dataclass(frozen=True)
class Upload:
    """A file as the body of a request; ``tell`` hears how much of it went out."""

    path: Path
    tell: Sent | None = None


@dataclass(frozen=True)
class Ask:
    """A request to ``/api/v1``."""

    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)  # None: left out
    body: Any = None  # sent as JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    upload: Upload | None = None
    into: Path | None = None  # where the answer's body goes
    comes_to_the_same: bool = False  # however often it is asked

    @property
    def may_repeat(self) -> bool:
        """Whether to ask again after a connection broke: when that can do nothing twice."""
        has_key = "Idempotency-Key" in self.headers
        return self.method in ("GET", "PATCH") or has_key or self.comes_to_the_same


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]  # by their lower-case names
    body: bytes

    @property
    def json(self) -> Any:
        try:
            return json.loads(self.body)
        except ValueError as error:
            raise ServerFailed(
                "The server's answer cannot be read",
                why="it is no JSON; a proxy may have answered instead",
                fix="Check that the address is that of a Modeldyno server",
            ) from error

    @property
    def text(self) -> str:
        return self.body.decode(errors="replace")


@dataclass(frozen=True)
class Listen:
    """Hear events after ``after`` (None: from now on); answered with what the server says to it."""

    project_id: int | None
    after: int | None


@dataclass(frozen=True)
class Receive:
    """The next message, as its name and what it says; None when none came in time."""

    within_s: float


@dataclass(frozen=True)
class Sleep:
    seconds: float


@dataclass(frozen=True)
class Work:
    """Do this, which takes its time on this machine: an event loop is not to wait for it."""

    do: Callable[[], Any]


@dataclass(frozen=True)
class Say(Generic[T]):
    """Hand this to whoever iterates."""

    value: T


class Cut(Exception):
    """The line for events broke, or could not be had."""


Step = Ask | Listen | Receive | Sleep | Work
Steps = Generator[Any, Any, T]  # of Step; in the end, what came out
Stream = Generator[Any, Any, None]  # of Step and Say


class Sync:
    """Of operations that take their time."""


class Async:
    """Of operations to be awaited."""


Mode = TypeVar("Mode")  # one of the two


class Resource(Generic[Mode]):
    """Operations on one noun of a server."""

    def __init__(self, run: Callable[[Steps[Any]], Any], iterate: Callable[[Stream], Any]) -> None:
        self._run = run
        self._iterate = iterate


class operation(Generic[P, T]):
    """Makes a method of a generator of steps."""

    def __init__(self, steps: Callable[Concatenate[Any, P], Steps[T]]) -> None:
        self._steps = steps
        functools.update_wrapper(self, steps)  # type: ignore[arg-type]  # for help()

    def of(self, instance: Any, *args: P.args, **more: P.kwargs) -> Steps[T]:
        """The steps themselves: for an operation that another one is a part of."""
        return self._steps(instance, *args, **more)

    @overload
    def __get__(self, instance: None, owner: type) -> operation[P, T]: ...
    @overload
    def __get__(self, instance: Resource[Sync], owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(
        self, instance: Resource[Async], owner: type
    ) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self

        @functools.wraps(self._steps)
        def method(*args: Any, **more: Any) -> Any:
            return instance._run(self._steps(instance, *args, **more))

        return method


class stream(Generic[P, T]):
    """The same for what is iterated over; ``T`` is what ``Say`` holds."""

    def __init__(
        self, steps: Callable[Concatenate[Any, P], Generator[Step | Say[T], Any, None]]
    ) -> None:
        self._steps = steps
        functools.update_wrapper(self, steps)  # type: ignore[arg-type]  # for help()

    def of(self, instance: Any, *args: P.args, **more: P.kwargs) -> Stream:
        return self._steps(instance, *args, **more)

    @overload
    def __get__(self, instance: None, owner: type) -> stream[P, T]: ...
    @overload
    def __get__(self, instance: Resource[Sync], owner: type) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(self, instance: Resource[Async], owner: type) -> Callable[P, AsyncIterator[T]]: ...
    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self

        @functools.wraps(self._steps)
        def method(*args: Any, **more: Any) -> Any:
            return instance._iterate(self._steps(instance, *args, **more))

        return method


# ---------------------------------------------------------------- requests


def get(path: str, **query: Any) -> Ask:
    return Ask("GET", path, query)


def post(path: str, body: Any = None, **query: Any) -> Ask:
    """Something comes into being: once, even when the answer was lost and we ask again."""
    return Ask("POST", path, query, body, {"Idempotency-Key": uuid.uuid4().hex})


def order(path: str, comes_to_the_same: bool = True) -> Ask:
    """A POST that creates nothing."""
    return Ask("POST", path, comes_to_the_same=comes_to_the_same)


def patch(path: str, body: Any) -> Ask:
    return Ask("PATCH", path, body=body)


def put(path: str, body: Any = None, **headers: str) -> Ask:
    said = {name.replace("_", "-"): value for name, value in headers.items()}
    return Ask("PUT", path, body=body, headers=said)


def delete(path: str, **query: Any) -> Ask:
    return Ask("DELETE", path, query)


def pages(path: str, most: int = 200, **query: Any) -> Generator[Any, Any, None]:
    """Everything in a list, page by page, as it is asked for; says JSON values."""
    cursor = None
    while True:
        answer = yield get(path, limit=most, cursor=cursor, **query)
        for item in answer.json["items"]:
            yield Say(item)
        cursor = answer.json.get("next")
        if cursor is None:
            return


def first(stream: Stream, is_it: Callable[[Any], bool]) -> Steps[Any]:
    """The first value like that, or None; asks for no page beyond it."""
    answer = None
    while True:
        try:
            step = stream.send(answer)
        except StopIteration:
            return None
        answer = None
        if not isinstance(step, Say):
            answer = yield step
        elif is_it(step.value):
            return step.value


def each(stream: Stream, read: Callable[[Any], T]) -> Generator[Any, Any, None]:
    """The same with each value read."""
    answer = None
    while True:
        try:
            step = stream.send(answer)
        except StopIteration:
            return
        answer = yield Say(read(step.value)) if isinstance(step, Say) else step
