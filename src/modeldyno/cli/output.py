"""The only code that prints: data on stdout, everything else on stderr.

Every text passes ``visible`` on its way out, and gets its colours afterwards: whatever a model, a
file name or a failure holds, it commands no terminal and forges no line. A text is one line;
several are said one by one.
"""

from __future__ import annotations

import logging
import os
import sys
import textwrap
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from modeldyno.cli.wide_tables import column_groups, fitted_widths, folded, narrowest_width
from modeldyno.core.documents.described import json_text
from modeldyno.core.errors import ModeldynoError, StorageFailed
from modeldyno.core.visible import visible, visible_lines

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from modeldyno.core.results import Failure

PIPED_WIDTH = 240  # nobody wraps a pipe


def say(text: str) -> None:
    """A line of data."""
    print(visible(text))


def export(text: str) -> None:
    """The text of a file: exact where a program or a file takes it, visible on a terminal."""
    print(visible_lines(text) if sys.stdout.isatty() else text)


def log(text: str) -> None:
    """A stretch of a log, at once."""
    print(visible_lines(text), end="", flush=True)


def message(text: str = "") -> None:
    """A line about what is going on."""
    print(visible(text), file=sys.stderr)


def kept(run: str, run_id: str, resume: str = "") -> None:
    """Where a result is kept, and what to type for it; ``run`` is its number, ``#12``, and
    ``resume`` the command that resumes it, without the run."""
    number = run.removeprefix("#")
    message(f"Kept as run {run} ({run_id}); see it again: modeldyno show {number}")
    if resume:
        message(f"next: {resume} {number}")


def remark(text: str) -> None:
    """A message in whole words at a terminal; not for commands, which are copied."""
    if sys.stderr.isatty():
        indent = " " * (len(text) - len(text.lstrip()) + 2)
        for part in folded(visible(text), console(stderr=True).width, indent).splitlines():
            print(part, file=sys.stderr)
    else:
        message(text)


def document(value: Any) -> None:
    """One JSON document on stdout."""
    _stdout.has_document = True
    print(_json_text(value, indent=2), flush=True)


def _json_text(value: Any, indent: int | None = None) -> str:
    """In ASCII; ``json`` escapes all controls but one."""
    return json_text(value, indent).replace("\x7f", "\\u007f")


@dataclass
class _Stdout:
    """What stdout owes to a script, which reads one document and no more."""

    owes_document: bool = False
    has_document: bool = False


_stdout = _Stdout()


def owe_document(owed: bool) -> None:
    """From here on: with ``--json``, an error is a document too."""
    _stdout.owes_document, _stdout.has_document = owed, False


def error_document(error: ModeldynoError, exit_code: int, code: str | None = None) -> None:
    """The error as JSON, when a script waits for a document and has none."""
    if not _stdout.owes_document or _stdout.has_document:
        return
    from modeldyno.core.documents.failures import ErrorDocument, FailureDocument

    failure = FailureDocument(
        code=code or error.code, title=error.title, detail=error.why, fix=error.fix
    )
    document(ErrorDocument(error=failure, exit_code=exit_code))


def line(value: dict[str, Any]) -> None:
    """One JSON line on stdout."""
    _stdout.has_document = True
    print(_json_text(value), flush=True)


def table(
    head: Sequence[str], rows: Iterable[Sequence[str]], left: Iterable[str] = (), keys: int = 1
) -> None:
    """A table on stdout; columns named in ``left`` are text, the others numbers.

    Nothing is cut: text wraps between words, and columns that do not fit follow in another table
    that begins with the first ``keys`` columns again.
    """
    from rich.table import Table
    from rich.text import Text

    terminal, words = console(), set(left)
    lines = [[visible(cell) for cell in row] for row in rows]
    columns = [[visible(name), *(line[n] for line in lines)] for n, name in enumerate(head)]
    natural = [narrowest_width(column, may_wrap=False) for column in columns]
    narrowest = [narrowest_width(column, head[n] in words) for n, column in enumerate(columns)]
    for place, group in enumerate(column_groups(narrowest, keys, terminal.width)):
        widths = fitted_widths(
            [natural[n] for n in group], [narrowest[n] for n in group], terminal.width
        )
        drawn = Table(box=None, pad_edge=False, header_style="dim")
        for number, width in zip(group, widths, strict=True):
            justify: Literal["left", "right"] = "left" if head[number] in words else "right"
            drawn.add_column(styled(head[number]), justify=justify, width=width)
        for line in lines:
            drawn.add_row(
                *(
                    Text(folded(line[n], width), _STYLES.get(line[n], ""))
                    for n, width in zip(group, widths, strict=True)
                )
            )
        if place:
            terminal.print()
        terminal.print(drawn)


def styled(text: str, style: str = "") -> Text:
    """What rich is given to show: its own markup in a text is text, too."""
    from rich.text import Text

    return Text(visible(text), style=style)


def _in_words(text: str, screen: Console, style: str) -> Text:
    """Folded where no number is cut."""
    from rich.text import Text

    return Text(folded(visible(text), screen.width), style)


_STYLES = {"quiet": "green", "noisy": "yellow", "contended": "yellow", "unusable": "red strike",
           "failed": "red", "partial": "yellow", "stopped": "yellow", "out of memory": "red",
           "✓": "green", "!": "yellow", "✗": "red", "?": "dim"}  # fmt: skip


def headline(text: str, style: str = "bold") -> None:
    """An emphasised line of data."""
    screen = console()
    screen.print(_in_words(text, screen, style))


def warn(text: str, help_text: str = "") -> None:
    """``! something`` with its ``help:`` line, on stderr."""
    screen = console(stderr=True)
    is_piped = not sys.stderr.isatty()
    text = "! " + text
    screen.print(
        styled(text, "yellow") if is_piped else _in_words(text, screen, "yellow"),
        soft_wrap=is_piped,
    )
    if help_text:
        message(f"  help: {help_text}")


def print_error(error: ModeldynoError) -> None:
    """``error[CODE]: what`` with why and what to do."""
    colour, plain = ("\033[31m", "\033[0m") if uses_colour() else ("", "")
    code = visible(error.code)
    print(f"{colour}error[{code}]{plain}: {visible(error.title)}", file=sys.stderr)
    _print_why_and_fix(error.why, error.fix)


def print_failure(where: str, failure: Failure) -> None:
    """A failed cell, in the words of an error."""
    message(f"x {where}: error[{failure.code}] {failure.title}")
    _print_why_and_fix(failure.why, failure.fix)


def _print_why_and_fix(why: str, fix: str) -> None:
    """Engines explain in several lines; indented, none of them passes for one of ours."""
    for name, text in (("why", why), ("help", fix)):
        first, *more = [line for line in text.splitlines() if line.strip()] or [""]
        if first:
            message(f"  {name}: {first}")
        for line in more:
            message(f"       {line}")


def print_bug(error: Exception) -> None:
    """Our own bug: the traceback, indented so that no message in it passes for a line of ours."""
    trace = "".join(traceback.format_exception(error))
    print(textwrap.indent(visible_lines(trace), "  "), end="", file=sys.stderr)
    message("error[BUG]: this is a bug in Modeldyno, not in your model; results so far are kept")


@contextmanager
def translated_write_errors(path: Path) -> Iterator[None]:
    """A file that cannot be written is no bug of ours."""
    try:
        yield
    except OSError as error:
        raise StorageFailed(f"Cannot write {path}", why=error.strerror or str(error)) from error


def ask_yes_or_no(question: str) -> bool:
    """Ask the person at the terminal; a script is not asked, since it has said what it wants."""
    if not sys.stdin.isatty():
        return True
    print(f"{visible(question)} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def clean_log() -> None:
    """Without logging set up, Python prints warnings to stderr: those pass through here as well."""
    from modeldyno.core.redaction import RedactingFormatter

    if logging.lastResort is not None:
        logging.lastResort.setFormatter(RedactingFormatter())


def discard_further_stdout() -> None:
    """Nothing more can be written to stdout; do not stumble over its buffer at the exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def uses_colour() -> bool:
    return sys.stderr.isatty() and "NO_COLOR" not in os.environ


def console(stderr: bool = False) -> Console:
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else PIPED_WIDTH
    return Console(stderr=stderr, width=width, highlight=False, soft_wrap=False)
