"""Why something failed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from modeldyno.core.documents.described import Described, Schema
from modeldyno.core.redaction import without_folders
from modeldyno.core.results import Failure


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureDocument(Described):
    """What went wrong, why, and what to do about it."""

    code: Annotated[str, Schema(pattern="^[A-Z][A-Z_]*$", examples=["ENGINE_CRASHED"])]
    """Stable code, listed in docs/cli.md."""
    title: str
    """What happened."""
    detail: str
    """Why; may be empty."""
    fix: str
    """What to do; may be empty."""

    @classmethod
    def of(cls, failure: Failure) -> FailureDocument:
        return cls.from_fields(failure, detail=failure.why)

    @classmethod
    def redacted(cls, failure: Failure | None) -> FailureDocument | None:
        """Without folders of this machine."""
        return cls.of_record(None if failure is None else vars(failure))

    @classmethod
    def of_record(cls, kept: dict[str, str] | None) -> FailureDocument | None:
        """From how the database keeps it; without folders of this machine."""
        if kept is None:
            return None
        return cls(
            code=kept["code"],
            title=without_folders(kept["title"]),
            detail=without_folders(kept.get("why", "")),
            fix=without_folders(kept.get("fix", "")),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorDocument(Described):
    """What every command with `--json` prints when it ends in an error and has no result to print.
    The same in words is on standard error."""

    schema: Literal["modeldyno.error/2"] = "modeldyno.error/2"
    """Name and version of this format."""
    error: FailureDocument
    exit_code: int
    """With which the command ends, listed in docs/cli.md."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemDocument(Described):
    """What went wrong with a request, why, and what to do (RFC 9457)."""

    type: str = "about:blank"
    """Always this one: `code` tells kinds apart."""
    title: str
    """What happened."""
    status: int
    """The status code of HTTP."""
    code: str
    """Stable: programs may rely on it."""
    detail: str = ""
    """Why; may be empty."""
    fix: str = ""
    """What to do about it; may be empty."""
