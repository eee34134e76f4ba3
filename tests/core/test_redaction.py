"""Secrets stay out of logs, and untrusted text does not command terminals."""

import logging

import pytest

from modeldyno.core.redaction import RedactingFormatter, without_controls, without_secrets

CANARY = "canary-3f9c1e77d0"


@pytest.mark.parametrize(
    "text",
    [
        f"Authorization: Bearer {CANARY}",
        f"authorization: {CANARY}",
        f"{{'authorization': 'Bearer {CANARY}'}}",
        f"(b'authorization', b'{CANARY}')",
        f'"Cookie": "a=b; modeldyno-5000={CANARY}"',
        f"Set-Cookie: modeldyno-5000={CANARY}; Path=/",
        f"x-modeldyno-csrf={CANARY}",
        f"GET /?id=1&token={CANARY}&x=2 HTTP/1.1",
        f"GET /sign-in?code={CANARY}",
        f"next=%2F%3Ftoken%3D{CANARY}",
        f"sent bearer {CANARY} along",
        f"https://ann:{CANARY}@example.org/x",
        f"postgresql+psycopg://{CANARY}@host/db",
    ],
)
def test_a_secret_is_known_by_what_stands_before_it(text):
    assert CANARY in text
    shown = without_secrets(text)
    assert CANARY not in shown
    assert "[hidden]" in shown


def test_a_secret_is_known_by_its_value():
    assert without_secrets(f"it was {CANARY}!", [CANARY]) == "it was [hidden]!"
    assert without_secrets("an ordinary sentence", ["an", ""]) == "an ordinary sentence"


@pytest.mark.parametrize(
    "text",
    [
        "run 3: started on onnxruntime",
        "the exit code is 3",
        "see https://example.org/a?b=c",
        "mail ann@example.org",
        "tokens per second: 12",
    ],
)
def test_ordinary_text_stays(text):
    assert without_secrets(text, [CANARY]) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07x", "x"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9b31mred", "red"),
        ("a\x1bc\x1b(Bb", "ab"),
        ("\x1bPq#0\x1b\\x", "x"),
        ("50 %\r100 %", "50 %100 %"),
        ("a\b\b\x00\x7fb", "ab"),
        ("evil\u202egnp.exe", "evilgnp.exe"),
        ("a\tb\nc\r\nd", "a\tb\nc\nd"),
        ("µ × – ’ 模型 🚗", "µ × – ’ 模型 🚗"),
        ("cut \x1b[", "cut "),
    ],
)
def test_nothing_commands_a_terminal(text, shown):
    assert without_controls(text) == shown


def formatted(message, *arguments, error=None):
    record = logging.LogRecord("x", logging.ERROR, "x.py", 1, message, arguments, error)
    return RedactingFormatter("%(levelname)s %(message)s", lambda: [CANARY]).format(record)


def test_arguments_and_tracebacks_pass_the_formatter():
    try:
        int(f"bad {CANARY}")
    except ValueError as error:
        text = formatted("asked with %s", CANARY, error=(ValueError, error, error.__traceback__))
    assert "ValueError: invalid literal for int() with base 10: 'bad [hidden]'" in text
    assert CANARY not in text


def test_a_colour_inside_a_secret_does_not_save_it():
    assert CANARY[:6] not in formatted(f"{CANARY[:5]}\x1b[0m{CANARY[5:]}")


def test_no_text_forges_a_line_of_the_log():
    text = formatted("name: %s", "x\nERROR all is lost")
    assert [line for line in text.splitlines() if line.startswith("ERROR")] == ["ERROR name: x"]
