"""What is to be measured, as it is shown and as it is changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request

from modeldyno.core.codec import encode
from modeldyno.core.documents.comparisons import PairingDocument
from modeldyno.core.documents.described import field_names
from modeldyno.core.errors import BadValue
from modeldyno.core.names import name_of_file
from modeldyno.core.requests.checking import by_field, require_valid
from modeldyno.core.requests.measuring import (
    benchmark_request,
    comparison_request,
    profile_request,
)
from modeldyno.core.specs import BenchmarkSpec, ComparisonSpec, ProfileSpec, SideSpec

R = TypeVar("R")


async def _read_sent_fields(request: Request) -> frozenset[str]:
    if not await request.body():  # FastAPI refuses it, after it has called us
        return frozenset()
    body = await request.json()
    return frozenset(body) if isinstance(body, dict) else frozenset()


# The fields that a body has: those of a change that are not sent stay as they are.
Sent = Annotated[frozenset[str], Depends(_read_sent_fields)]


def apply_change(before: R, change: object, sent: frozenset[str], kind: str) -> R | None:
    """The request of before with what was sent; None if that was no setting.

    Raises BadValue for settings of the terminal that a server does not accept.
    """
    names = sent & {field.name for field in fields(before)}  # type: ignore[arg-type]
    if not names:
        return None
    after = replace(before, **{name: getattr(change, name) for name in names})  # type: ignore[type-var]
    require_acceptable(after, kind)
    return after


def require_acceptable(request: object, kind: str) -> None:
    try:
        require_valid(request, by_field, on_server=True)
    except BadValue as error:
        raise BadValue(
            f"The {kind} cannot stay as it is: {error.title}",
            why="it was requested in the terminal, and the server accepts less",
            fix="Send that setting as well",
        ) from error


# ---------------------------------------------------------------- shown


def settings_of(spec: BenchmarkSpec) -> dict[str, Any]:
    """Those of the terminal may be beyond what a server accepts."""
    document: dict[str, Any] = encode(benchmark_request(spec))
    return document


def profiling_of(spec: ProfileSpec) -> dict[str, Any]:
    document: dict[str, Any] = encode(profile_request(spec))
    return document


def pairing_of(spec: ComparisonSpec) -> dict[str, Any]:
    """A PairingDocument."""
    document = encode(comparison_request(spec)) | {"budget_s": spec.seconds}
    sides = {"a": _side_settings(spec.a, document["a"]), "b": _side_settings(spec.b, document["b"])}
    return {name: document[name] for name in field_names(PairingDocument)} | sides


# By the kind of the spec: the field of a run that has its settings, and what they are.
SETTINGS: dict[str, tuple[str, Callable[[Any], dict[str, Any]]]] = {
    "benchmark": ("settings", settings_of),
    "comparison": ("pairing", pairing_of),
    "profile": ("profiling", profiling_of),
}


def _side_settings(side: SideSpec, document: dict[str, Any]) -> dict[str, Any]:
    inputs = {name: document[name] for name in ("dims", "values", "inputs", "signature")}
    return inputs | {"label": name_of_file(side.label)} | document
