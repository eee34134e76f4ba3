"""Wrong usage and Ctrl-C, which typer turns into exit codes by itself, as documents for scripts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from typer.core import TyperGroup

from modeldyno.cli import output
from modeldyno.core.errors import BadValue, Cancelled
from modeldyno.core.visible import shell_word, visible_lines

WRONG_USAGE, INTERRUPTED = 2, 130  # as typer has them


class Commands(TyperGroup):
    """All commands."""

    def make_context(self, *words: Any, **more: Any) -> Any:
        with _errors_as_document():
            return super().make_context(*words, **more)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """A file in the place of a command is meant to be measured."""
        name = args[0] if args else ""
        if name and self.get_command(ctx, name) is None and Path(name).is_file():
            raise BadValue(
                f"There is no command {name!r}, but there is such a file",
                fix=f"To measure it: modeldyno bench {shell_word(name)}",
            )
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        with _errors_as_document():
            return super().invoke(ctx)


@contextmanager
def _errors_as_document() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        stopped = Cancelled("Stopped before there was a result")
        output.error_document(stopped, INTERRUPTED)
        raise
    except Exception as error:
        # Only usage errors have a message of this kind. Their class is typer's, or click's in
        # older versions of typer, which is why it is not named here.
        if hasattr(error, "format_message"):
            message = error.format_message()
            wrong = BadValue(message, fix="See `modeldyno --help`, or --help of the command")
            output.error_document(wrong, WRONG_USAGE)
            # Typer prints it itself, and a word of the command may be a stranger's file name.
            lines = visible_lines(message)
            error.format_message = lambda: lines
        raise
