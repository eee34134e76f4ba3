"""Foreign text is shown as text: nothing in it commands a terminal or forges a line."""

import logging
import subprocess
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modeldyno.core.redaction import RedactingFormatter
from modeldyno.core.visible import shell_word, visible, visible_lines

HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
JOINERS = "\u200c\u200d"
# Plain text, and much more of what is hidden than chance would give.
FOREIGN = st.lists(
    st.text(max_size=4)
    | st.sampled_from(["\x1b]0;t\x07", "\x1b[2J", "\x9b31m", "\u202e", "\x85", "\n", "\r\n"])
    | st.characters(categories=("Cc", "Cf", "Cs", "Zl", "Zp")),
    max_size=6,
).map("".join)


def hidden_in(text: str) -> set[str]:
    return {c for c in text if unicodedata.category(c) in HIDDEN and c not in JOINERS}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("a\u009b31mb", r"a\x9b31mb"),
        ("evil\u202egnp.exe", r"evil\u202egnp.exe"),
        ("one\ntwo\r\tthree", r"one\ntwo\r\tthree"),
        ("one\u2028two\x85", r"one\u2028two\x85"),
        ("name\udcff", r"name\udcff"),
        ("tag\U000e0041", r"tag\U000e0041"),
        ("in\u200dvisible", r"in\u200dvisible"),
        ("\x7f\xad\ufeff", r"\x7f\xad\ufeff"),
    ],
)
def test_hidden_characters_are_shown(text, shown):
    assert visible(text) == shown


@pytest.mark.parametrize(
    "text", ["é ñ ü", "漢字 かな 한글", "🚗 👩‍👩‍👧 ❤️‍🔥", "می‌خواهم", "a\u00a0b 1\u202f000 µ × –", ""]
)
def test_ordinary_text_of_any_language_is_unchanged(text):
    assert visible(text) == text


@given(FOREIGN)
def test_no_text_keeps_a_hidden_character(text):
    assert not hidden_in(visible(text))
    assert len(visible(text).splitlines()) <= 1
    assert hidden_in(visible_lines(text)) <= {"\n", "\t"}
    visible(text).encode()  # any output takes it


@given(FOREIGN)
def test_a_log_record_is_one_record_and_holds_no_control_character(text):
    record = logging.LogRecord("x", logging.ERROR, "x.py", 1, "name: %s", (text,), None)
    line = RedactingFormatter("%(levelname)s %(message)s").format(record)
    assert hidden_in(line) <= {"\n", "\t"}
    first, *more = line.splitlines()
    assert first.startswith("ERROR name: ")
    assert all(other.startswith("    ") for other in more)


def test_a_sequence_without_an_end_hides_nothing_of_a_record():
    record = logging.LogRecord(
        "x", logging.ERROR, "x.py", 1, "%s was refused by %s", ("\x1b]0;", "the guard"), None
    )
    assert RedactingFormatter().format(record) == r"\x1b]0; was refused by the guard"


@pytest.mark.usefixtures("starts_processes")
@pytest.mark.parametrize(
    "name", ["plain.onnx", "it's\n\x1b[2J\\ one", "\u202e\U000e0041\x9b", "byte \udcff", "`$x`\r"]
)
def test_a_command_with_a_hidden_character_is_one_line_and_means_the_same(name):
    word = shell_word(name)
    assert not hidden_in(word)
    ran = subprocess.run(
        ["bash", "-c", f"printf %s {word}"],
        capture_output=True,
        check=True,
        env={"LC_ALL": "C.UTF-8"},
    )
    assert ran.stdout == name.encode("utf-8", "surrogateescape")
