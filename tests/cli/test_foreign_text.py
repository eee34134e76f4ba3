"""Names and failures of strangers on a terminal: shown, never obeyed, and no line of ours."""

import io
import re
import subprocess
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

from modeldyno.cli import output, progress
from modeldyno.core.errors import BadValue, EngineFailed
from modeldyno.core.jobs import CellProgress, Progress
from modeldyno.core.results import Failure
from tests import onnx_models
from tests.terminal import modeldyno, on_a_terminal

# Title, clear screen, reverse colours, one-byte CSI, direction marks, DEL, and a forged error.
EVIL = (
    "\x1b]0;PWNED\x07\x1b[2J\x1b[35;7mX\u009b31m\u202eevil\u2066\x7f\u2028\r\n"
    "error[FORGED]: all is lost\nhelp: run this\n"
)
# What our own progress and colours need: styles, the cursor up, a cleared line, the cursor hidden.
OURS = re.compile(r"\x1b\[(?:[0-9;]*m|[0-9]*[AK]|\?25[lh])")


def evil_model():
    made = onnx_models.model(
        [
            helper.make_node(
                "Gemm",
                [f"{EVIL}x", f"{EVIL}w", f"{EVIL}b"],
                [f"{EVIL}y"],
                name=f"/{EVIL}/node",
                doc_string=EVIL,
            )
        ],
        [onnx_models.value(f"{EVIL}x", onnx_models.FLOAT, [f"{EVIL}batch", 4])],
        [onnx_models.value(f"{EVIL}y", onnx_models.FLOAT, [f"{EVIL}batch", 3])],
        [onnx_models.weight(f"{EVIL}w", 4, 3), onnx_models.weight(f"{EVIL}b", 3)],
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(f"{EVIL}d", 1)],
    )
    made.producer_name = made.producer_version = made.domain = made.doc_string = EVIL
    made.graph.name = made.graph.doc_string = EVIL
    return made


def check(shown: str) -> None:
    """No byte of a foreign escape arrived, and no line was forged."""
    assert "\x1b[35;7m" not in shown
    left = OURS.sub("", shown.replace("\r\n", "\n"))
    assert {c for c in left if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")} <= set("\n\r\t")
    starts = [line.rpartition("\r")[2] for line in left.split("\n")]
    assert not [line for line in starts if line.startswith(("error[FORGED]", "help: run"))]


@pytest.fixture(scope="module")
def evil(tmp_path_factory):
    """A model all of whose names are hostile, in a file of such a name, measured once."""
    folder = tmp_path_factory.mktemp("evil")
    file = onnx_models.saved(evil_model(), folder / f"{EVIL}.onnx")
    workspace = str(folder / "workspace")
    code, shown = on_a_terminal("bench", file, "--iterations", 3, MODELDYNO_WORKSPACE=workspace)
    assert code == 0, shown
    return file, workspace, shown


@pytest.mark.usefixtures("starts_processes")
def test_measuring_a_hostile_model_commands_no_terminal(evil):
    assert r"\x1b]0;PWNED\x07" in evil[2]
    check(evil[2])


@pytest.mark.usefixtures("starts_processes")
@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("inspect", "FILE"), 0),
        (("inspect", "FILE", "--graph"), 0),
        (("profile", "FILE", "--repeats", 1, "--by", "node"), 0),
        (("compare", "FILE", "FILE", "--budget", 0.1, "-q"), 0),
        (("bench", "FILE", "--batch", "FILE"), 2),
        (("bench", "FILE.gone"), 4),
        (("bench", "--FILE"), 2),
        (("FILE",), 2),
    ],
    ids=lambda words: " ".join(map(str, words)) if isinstance(words, tuple) else "",
)
def test_a_hostile_model_in_a_hostile_file_commands_no_terminal(words, code, evil):
    file, workspace, _ = evil
    typed = [str(word).replace("FILE", str(file)) for word in words]
    # Wide enough for the name to stand in one line of a table.
    ended, shown = on_a_terminal(*typed, MODELDYNO_WORKSPACE=workspace, COLUMNS="240")
    assert ended == code, shown
    assert "all is lost" in re.sub(r"[│\s]+", " ", OURS.sub("", shown))
    check(shown)


@pytest.mark.usefixtures("starts_processes")
def test_a_list_of_runs_and_a_shown_run_command_no_terminal(evil):
    for words in (("ls",), ("show",)):
        code, shown = on_a_terminal(*words, MODELDYNO_WORKSPACE=evil[1])
        assert code == 0, shown
        assert r"\u202eevil" in shown
        check(shown)


@pytest.mark.usefixtures("starts_processes")
@pytest.mark.parametrize("form", ["md", "csv"])
def test_a_report_on_a_terminal_is_cleaned(form, evil):
    code, shown = on_a_terminal("report", "--format", form, MODELDYNO_WORKSPACE=evil[1])
    assert code == 0, shown
    check(shown)


@pytest.mark.usefixtures("starts_processes")
def test_a_report_in_a_file_is_exact_and_markdown_is_clean_everywhere(evil):
    html, csv, md = (
        modeldyno("report", "--format", form, MODELDYNO_WORKSPACE=evil[1]).out
        for form in ("html", "csv", "md")
    )
    assert "\u202e" in html
    assert "\u202e" in csv
    check(md)
    assert r"$'\x1b]0;PWNED\x07" in md  # a command that still measures this file


@pytest.mark.usefixtures("starts_processes")
def test_harmless_names_of_any_language_are_unchanged(tmp_path):
    made = onnx_models.linear(batch="größe")
    made.producer_name = "漢字 🚗 é"
    file = onnx_models.saved(made, tmp_path / "modèle-漢字-👩‍👩‍👧.onnx")
    _, shown = on_a_terminal("inspect", file)
    assert "modèle-漢字-👩‍👩‍👧.onnx" in shown
    assert "漢字 🚗 é" in shown
    assert "größe" in shown


@pytest.mark.usefixtures("starts_processes")
def test_a_name_that_is_no_text_can_be_reported(tmp_path):
    file = onnx_models.saved(onnx_models.linear(), tmp_path / "\udcff.onnx")
    workspace = str(tmp_path / "workspace")
    modeldyno("bench", file, "--iterations", 3, "-q", MODELDYNO_WORKSPACE=workspace)
    ended = modeldyno("report", "--output", tmp_path / "r.md", MODELDYNO_WORKSPACE=workspace)
    assert ended.code == 0, ended.err
    assert r"$'\xff.onnx'" in (tmp_path / "r.md").read_text("utf-8")


# ---------------------------------------------------------------- every way to print

FOREIGN = st.text(max_size=5) | st.sampled_from([EVIL, "\x1b[35;7m", "a\nerror[FORGED]: b"])


class Screen(io.StringIO):
    """A terminal of this process."""

    def isatty(self) -> bool:
        return True


def printed(print_it) -> str:
    before = sys.stdout, sys.stderr
    sys.stdout = sys.stderr = screen = Screen()
    try:
        print_it()
    finally:
        sys.stdout, sys.stderr = before
    return screen.getvalue()


def bug(text: str) -> None:
    output.print_bug(RuntimeError(text))


def shown_live(text: str) -> None:
    cell = CellProgress(text, 1, "measuring", 0.1, 0.1)
    with progress.live(quiet=False, first=text) as listen:
        assert listen is not None
        listen(Progress(1, 2, text, cells=(cell, cell)))
    with progress.doing(quiet=False) as tell:
        tell(text)
    with progress.fetching(quiet=False, name=text) as fetched:
        fetched(1, 2)


WAYS = {
    "say": output.say,
    "message": output.message,
    "headline": output.headline,
    "warn": lambda text: output.warn(text, text),
    "table": lambda text: output.table((text, "b"), [(text, text)], left=(text,)),
    "complain": lambda text: output.print_error(EngineFailed(text, why=text, fix=text)),
    "fault": lambda text: output.print_failure(
        text, Failure.of(BadValue(text, why=text, fix=text))
    ),
    "confess": bug,
    "document": lambda text: output.document({text: text}),
    "line": lambda text: output.line({text: text}),
    "live": shown_live,
}


@pytest.mark.parametrize("way", WAYS)
@given(text=FOREIGN)
def test_whatever_is_printed_commands_nothing(way, text):
    check(printed(lambda: WAYS[way](text)))


@pytest.mark.parametrize("way", ["export", "log"])
def test_texts_of_several_lines_keep_them_and_nothing_else(way):
    shown = printed(lambda: getattr(output, way)(f"one\n{EVIL}"))
    assert shown.startswith("one\n\\x1b]0;PWNED\\x07")
    assert "\x1b" not in shown


def test_reasons_of_several_lines_stay_readable_and_indented():
    error = EngineFailed("It failed", why="first\n\nsecond\nerror[FORGED]: x", fix="try")
    assert printed(lambda: output.print_failure("cell", Failure.of(error))).splitlines() == [
        "x cell: error[ENGINE_FAILED] It failed",
        "  why: first",
        "       second",
        "       error[FORGED]: x",
        "  help: try",
    ]


def test_rich_markup_in_a_name_is_text():
    assert "[red]x[/red]" in printed(lambda: output.table(("[red]x[/red]",), [("[bold]y",)]))


@pytest.mark.usefixtures("starts_processes")
def test_a_warning_in_the_log_is_cleaned_where_nobody_set_up_logging():
    script = (
        "import logging; from modeldyno.cli import output; output.clean_log();"
        f"logging.getLogger('modeldyno.x').warning('name %s', {EVIL!r})"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stderr.startswith(r"name \x1b]0;PWNED\x07")
    check(ran.stderr)
