"""A live view on stderr while something is measured; without a terminal only of long waits."""

from __future__ import annotations

import contextlib
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
LONG_WAIT_S = 1.0


@contextmanager
def live(quiet: bool, first: str = "Reading the model") -> Iterator[Listener]:
    """Even with progress off, a wait for cores that others use is reported."""
    if quiet or not sys.stderr.isatty():
        with contextlib.closing(LongWaits()) as waits:
            yield waits.hear
        return
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True, highlight=False)
    # Redrawn only when a unit is done: a timer thread would run inside somebody's measurement.
    with Live(
        _progress_view(None, first), console=console, auto_refresh=False, transient=True
    ) as screen:
        screen.refresh()

        def listen(message: JobMessage) -> None:
            if isinstance(message, Progress):
                screen.update(_progress_view(message), refresh=True)

        yield listen


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


def _progress_view(progress: Progress | None, first: str = "") -> RenderableType:
    from rich.console import Group

    if progress is None:
        return output.styled(first)
    if len(progress.cells) < 2:
        return _progress_line(progress)
    return Group(_cells_grid(progress.cells), _progress_line(progress))


def _progress_line(progress: Progress) -> RenderableType:
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    line = Table.grid(padding=(0, 1))
    bar = ProgressBar(progress.units_planned or 1, progress.units_done, width=_BAR_WIDTH)
    count = f"{progress.units_done}/{progress.units_planned or '?'}"
    line.add_row(output.styled(progress.doing), bar, count, output.styled(_detail_text(progress)))
    return line


def _cells_grid(cells: tuple[CellProgress, ...]) -> RenderableType:
    from rich.table import Table

    grid = Table.grid(padding=(0, 2))
    for cell in cells:
        grid.add_row(
            _STATES[cell.state],
            output.styled(cell.name),
            counted(cell.sessions, "session"),
            output.styled(_estimate_text(cell.estimate_s, cell.relative_half_width)),
        )
    return grid


def _estimate_text(seconds: float | None, half_width: float | None) -> str:
    parts = [] if seconds is None else [duration(seconds)]
    if half_width is not None:
        parts.append(f"±{percent(half_width)}")
    return "  ".join(parts)


def _detail_text(progress: Progress) -> str:
    parts = []
    if progress.ratio is not None:
        parts.append(f"B {change(progress.ratio)}")
    parts.append(_estimate_text(progress.estimate_s, progress.relative_half_width))
    if progress.remaining_s is not None:
        parts.append(f"≤ {progress.remaining_s:.0f} s left")
    return "  ".join(part for part in parts if part)
