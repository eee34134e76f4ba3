"""Is this text?"""

from __future__ import annotations

_LONGEST_CHARACTER = 4  # bytes, in UTF-8


def is_text(data: bytes) -> bool:
    """UTF-8 without control characters; the data may end inside a character."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start == 0 or error.start <= len(data) - _LONGEST_CHARACTER:
            return False
        text = data[: error.start].decode("utf-8")
    return all(c.isprintable() or c in "\t\n\r\f\ufeff" for c in text)


def decoded(text: str | bytes) -> str:
    """protobuf hands out a name that is not UTF-8 as bytes; raises UnicodeDecodeError then."""
    return text if isinstance(text, str) else text.decode("utf-8")
