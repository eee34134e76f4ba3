"""A live view on stderr while something is measured; without a terminal only of long waits."""

from __future__ import annotations

import contextlib
import math
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from modeldyno.cli import output
from modeldyno.core.figures import counted, duration, percent, size
from modeldyno.core.jobs import CellProgress, JobMessage, Progress
from modeldyno.core.sentences import change

if TYPE_CHECKING:
    from rich.console import RenderableType

Listener = Callable[[JobMessage], None]

_STATES = {"measuring": "◑", "done": "✓", "failed": "✕"}
_BAR_WIDTH = 30
_WIDE_ENOUGH = 90  # columns, for a bar as well
LONG_WAIT_S = 1.0


@contextmanager
def live(quiet: bool, first: str = "Reading the model") -> Iterator[Listener]:
    """Even with progress off, a wait for cores that others use is reported."""
    if quiet or not sys.stderr.isatty():
        with contextlib.closing(LongWaits()) as waits:

            def hear(message: JobMessage) -> None:
                waits.hear(message)
                if not quiet:
                    _show_notice(message)

            yield hear
        return
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True, highlight=False)
    # Redrawn only when a unit is done: a timer thread would run inside somebody's measurement.
    with Live(output.styled(first), console=console, auto_refresh=False, transient=True) as screen:
        screen.refresh()

        def listen(message: JobMessage) -> None:
            _show_notice(message)
            if isinstance(message, Progress):
                screen.update(_progress_view(message, console.width), refresh=True)

        yield listen


def _show_notice(message: JobMessage) -> None:
    if isinstance(message, Progress) and message.notice:
        output.message(message.notice)


class LongWaits:
    """Reports a wait once it lasts; short ones are not worth a line."""

    def __init__(
        self, long_s: float = LONG_WAIT_S, report: Callable[[str], None] = output.message
    ) -> None:
        self._long_s = long_s
        self._report = report
        self._timer: threading.Timer | None = None

    def hear(self, message: JobMessage) -> None:
        if not isinstance(message, Progress):
            return
        self.close()
        if message.is_waiting:
            self._timer = threading.Timer(self._long_s, self._report, (message.doing,))
            self._timer.daemon = True
            self._timer.start()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


@contextmanager
def fetching(quiet: bool, name: str) -> Iterator[Callable[[int, int | None], None]]:
    """Takes bytes that are here, and bytes of the whole where that is known."""
    if quiet or not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True, highlight=False)
    first = output.styled(f"Fetching {name}")
    with Live(first, console=console, auto_refresh=False, transient=True) as screen:
        yield lambda done, total: screen.update(_fetched_line(name, done, total), refresh=True)


@contextmanager
def doing(quiet: bool) -> Iterator[Callable[[str], None]]:
    """Takes lines about what is going on, and shows the latest."""
    if quiet or not sys.stderr.isatty():
        yield lambda line: None
        return
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True, highlight=False)
    with Live(output.styled(""), console=console, auto_refresh=False, transient=True) as screen:
        yield lambda line: screen.update(_fit_on_one_row(line), refresh=True)


def _fit_on_one_row(line: str) -> RenderableType:
    text = output.styled(line)
    text.overflow, text.no_wrap = "ellipsis", True
    return text


def _fetched_line(name: str, done: int, total: int | None) -> RenderableType:
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    line = Table.grid(padding=(0, 1))
    bar = ProgressBar(total, done, width=_BAR_WIDTH)
    whole = "" if total is None else f" of {size(total)}"
    line.add_row(output.styled(f"Fetching {name}"), bar, f"{size(done)}{whole}")
    return line


def _progress_view(progress: Progress, width: int) -> RenderableType:
    from rich.console import Group

    if len(progress.cells) < 2:
        return _progress_line(progress, width)
    return Group(_cells_grid(progress.cells), _progress_line(progress, width))


def _progress_line(progress: Progress, width: int) -> RenderableType:
    """Numbers come first and are never cut; names come last and may be."""
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    line = Table.grid(padding=(0, 2))
    cells: list[RenderableType] = [
        output.styled(_detail_text(progress)),
        _fit_on_one_row(progress.doing),
    ]
    if width >= _WIDE_ENOUGH:
        bar = ProgressBar(progress.units_planned or 1, progress.units_done, width=_BAR_WIDTH)
        cells.insert(0, bar)
    for _ in cells[:-1]:
        line.add_column(no_wrap=True)
    line.add_row(*cells)
    return line


def _cells_grid(cells: tuple[CellProgress, ...]) -> RenderableType:
    from rich.table import Table

    grid = Table.grid(padding=(0, 2))
    for _ in range(3):
        grid.add_column(no_wrap=True)
    for cell in cells:
        grid.add_row(
            _STATES[cell.state],
            output.styled(_estimate_text(cell.estimate_s, cell.relative_half_width)),
            counted(cell.sessions, "session"),
            _fit_on_one_row(cell.name),
        )
    return grid


def _estimate_text(seconds: float | None, half_width: float | None) -> str:
    parts = [] if seconds is None else [duration(seconds)]
    if half_width is not None:
        parts.append(f"±{percent(half_width)}")
    return "  ".join(parts)


def _detail_text(progress: Progress) -> str:
    parts = []
    if progress.units_planned:
        parts.append(f"{int(100 * progress.units_done / progress.units_planned)} %")
    if progress.ratio is not None:
        parts.append(f"B {change(progress.ratio)}")
    parts.append(_estimate_text(progress.estimate_s, progress.relative_half_width))
    if progress.remaining_s:
        parts.append(f"≤ {math.ceil(progress.remaining_s)} s left")
    return "  ".join(part for part in parts if part)
