"""Tables on narrow terminals: no digit is ever cut."""

import io

import pytest
from rich.console import Console

from modeldyno.cli import output
from modeldyno.cli.wide_tables import column_groups, fitted_widths, folded, narrowest_width

HEAD = ("cores", "batch", "ms/batch", "floor", "items/s", "peak mem", "quality", "best")
ROWS = [
    ("1", "1", "75.09 ±0.66", "74.10 ±0.31", "10 984", "12.7 MB", "contended", ""),
    ("2", "64", "2 412.11 ±12.40", "2 399.87 ±9.04", "26 532", "112.9 MB", "noisy", "◀ best"),
]


def drawn(monkeypatch, width, head=HEAD, rows=ROWS, **options):
    screen = io.StringIO()
    console = Console(file=screen, width=width, highlight=False)
    monkeypatch.setattr(output, "console", lambda: console)
    output.table(head, rows, **options)
    return screen.getvalue().splitlines()


def test_columns_that_fit_stay_in_one_table():
    assert column_groups([5, 5, 8], keys=1, width=22) == [[0, 1, 2]]


def test_columns_that_do_not_fit_follow_behind_the_first_ones():
    assert column_groups([5, 5, 8, 8], keys=1, width=21) == [[0, 1], [0, 2], [0, 3]]
    assert column_groups([5, 5, 8, 8], keys=2, width=30) == [[0, 1, 2], [0, 1, 3]]


def test_a_column_wider_than_the_terminal_is_drawn_nevertheless():
    assert column_groups([5, 90, 4], keys=1, width=40) == [[0, 1], [0, 2]]


def test_the_widest_column_that_can_wrap_gives_way_first():
    assert fitted_widths([22, 12, 60], [22, 6, 11], width=80) == [22, 12, 42]
    assert fitted_widths([22, 40, 41], [22, 6, 11], width=60) == [22, 17, 17]
    assert fitted_widths([22, 40], [22, 30], width=40) == [22, 30]


def test_text_breaks_between_words_and_numbers_never():
    texts = ["best", "◀ highest throughput"]
    assert narrowest_width(texts, may_wrap=True) == len("throughput")
    assert narrowest_width(texts, may_wrap=False) == len("◀ highest throughput")


def test_folded_text_keeps_words_and_numbers_whole():
    assert folded("about 10\u202f984 items/s", width=8) == "about\n10\u202f984\nitems/s"
    assert folded("a b", width=1, indent="  ") == "a\n  b"


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120])
def test_every_number_is_there_at_any_width(monkeypatch, width):
    lines = drawn(monkeypatch, width, left=("quality", "best"), keys=2)
    text = "\n".join(lines)
    assert "…" not in text
    assert max(map(len, lines)) <= width
    for row in ROWS:
        assert all(cell in text for cell in row[:-1])


def test_ids_of_runs_are_whole_on_a_narrow_terminal(monkeypatch):
    head, ids = ("run", "when", "result"), ["20261119-064210-3fa9c1", "20261119-064455-90be02"]
    rows = [(run_id, "2 minutes ago", "3.61 ±0.22 ms, quiet, lowest of 4 cells") for run_id in ids]
    text = "\n".join(drawn(monkeypatch, 50, head, rows, left=head))
    assert all(run_id in text for run_id in ids)
