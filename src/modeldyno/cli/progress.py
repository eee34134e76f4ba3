"""A live line on stderr while something is measured; nothing at all when that is no terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from modeldyno.core.figures import duration, percent
from modeldyno.core.jobs import JobMessage, Progress
from modeldyno.core.sentences import change

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

Listener = Callable[[JobMessage], None]


@contextmanager
def live(quiet: bool, first: str = "Reading the model") -> Iterator[Listener | None]:
    if quiet or not sys.stderr.isatty():
        yield None
        return
    with _bar() as bar:
        task = bar.add_task(first, total=None, detail="")

        def listen(message: JobMessage) -> None:
            if isinstance(message, Progress):
                bar.update(
                    task,
                    description=message.doing,
                    completed=message.units_done,
                    total=message.units_planned or None,
                    detail=_detail(message),
                )
                bar.refresh()

        yield listen


def _bar() -> Bar:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    # Redrawn only when a unit is done: a timer thread would run inside somebody's measurement.
    return Bar(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TextColumn("{task.fields[detail]}", markup=False),
        console=Console(stderr=True, highlight=False),
        auto_refresh=False,
        transient=True,
    )


def _detail(message: Progress) -> str:
    parts = []
    if message.ratio is not None:
        parts.append(f"B {change(message.ratio)}")
    if message.estimate_s is not None:
        parts.append(duration(message.estimate_s))
    if message.relative_half_width is not None:
        parts.append(f"±{percent(message.relative_half_width)}")
    if message.remaining_s is not None:
        parts.append(f"≤ {message.remaining_s:.0f} s left")
    return "  ".join(parts)
