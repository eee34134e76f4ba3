"""The live line: numbers first and whole at every width, no number that says nothing."""

import io

import pytest
from rich.console import Console

from modeldyno.cli.progress import _progress_view, live
from modeldyno.core.jobs import CellProgress, Progress, SteadyShare, sensible_width

NAME = "onnxruntime · 2 cores · batch 8 · a model with a very long name.onnx"
CELLS = tuple(CellProgress(NAME, 12, "measuring", 0.00351, 0.012) for _ in range(3))


def shown(progress: Progress, width: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width)
    console.print(_progress_view(progress, width))
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue().splitlines()


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120])
def test_no_number_is_cut_at_any_width(width):
    progress = Progress(7, 16, f"checking {NAME}", 0.0035, 0.012, 12.2, cells=CELLS)
    *cells, line = shown(progress, width)
    assert all("3.51 ms  ±1.2 %  12 sessions" in cell for cell in cells)
    assert len(cells) == 3
    assert "43 %  3.50 ms  ±1.2 %  ≤ 13 s left" in line
    pairs = Progress(7, 16, "pairs", None, 0.012, 7.2, ratio=1.034)
    (line,) = shown(pairs, width)
    assert "43 %  B +3.4 %  ±1.2 %  ≤ 8 s left" in line


@pytest.mark.parametrize("remaining_s", [0.0, None])
def test_no_seconds_are_not_said_to_be_left(remaining_s):
    (line,) = shown(Progress(16, 16, "pairs", remaining_s=remaining_s), 80)
    assert line.split() == ["100", "%", "pairs"]


def test_an_unknown_plan_is_not_a_share():
    (line,) = shown(Progress(0, 0, "trying 1 core"), 80)
    assert line.strip() == "trying 1 core"


def test_a_width_beyond_the_number_itself_is_none():
    assert [sensible_width(each) for each in (None, 0.2, 1.0, 482.65)] == [None, 0.2, 1.0, None]


def test_the_share_that_is_done_stays_when_more_fits_than_was_planned():
    steady = SteadyShare()
    assert steady.planned(7, 16) == 16
    assert steady.planned(8, 34) == 18  # not 8 of 34
    assert steady.planned(20, 34) == 34
    assert steady.planned(20, 20) == 20


def test_a_notice_stays_on_the_screen_unless_it_is_quiet(capsys):
    notice = Progress(0, 4, "measuring", notice="at least 24 s in all instead of 10 s")
    for quiet in (False, True):
        with live(quiet) as listen:
            listen(notice)
    assert capsys.readouterr().err == "at least 24 s in all instead of 10 s\n"
