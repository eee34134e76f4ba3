"""What the name of an input or a dimension suggests.

Names are conventions, not promises: a guess from one is tried first, noted, and dropped if the
model refuses it.
"""

from __future__ import annotations

import re

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


def split_words(name: str) -> tuple[str, ...]:
    """``input_IDs.2`` → input, ids, 2."""
    return tuple(word.lower() for word in _WORD.findall(name))


def _has_word_that_begins(name: str, *starts: str) -> bool:
    return any(word.startswith(starts) for word in split_words(name))


def _has_word(name: str, *whole: str) -> bool:
    return any(word in whole for word in split_words(name))


# ---------------------------------------------------------------- dimensions


def says_batch(symbol: str) -> bool:
    return (
        symbol in ("N", "B")
        or _has_word_that_begins(symbol, "batch")
        or _has_word(symbol, "bs", "bsz")
    )


def says_sequence(symbol: str) -> bool:
    starts = ("seq", "len", "time", "frame", "token")
    return symbol in ("T", "L") or _has_word_that_begins(symbol, *starts)


def says_image_side(symbol: str) -> bool:
    return _has_word_that_begins(symbol, "height", "width") or symbol.lower() in ("h", "w")


def says_total(symbol: str) -> bool:
    """Past and present together, in decoders."""
    return _has_word(symbol, "total")


def says_past(name: str) -> bool:
    """Of a dimension or an input: what a decoder remembers of earlier tokens."""
    return _has_word_that_begins(name, "past", "cache") or _has_word(name, "kv")


# ---------------------------------------------------------------- inputs


def says_tokens(name: str) -> bool:
    """What a language model reads, as numbers or as their embeddings."""
    is_read = _has_word(name, "ids", "tokens", "embeds")
    return is_read and not (says_position(name) or says_segment(name) or says_encoder(name))


def says_encoder(name: str) -> bool:
    """Of what an encoder computed once, which is as long as its own input."""
    return _has_word(name, "encoder")


def says_state(name: str) -> bool:
    """State that a recurrent network carries from call to call."""
    return _has_word_that_begins(
        name, "state", "hidden", "cell", "rnn", "lstm", "gru"
    ) or _has_word(name, "h", "c", "hx", "cx", "hn", "cn")


def says_latent(name: str) -> bool:
    return _has_word_that_begins(name, "latent", "sample")


def says_mask(name: str) -> bool:
    return "mask" in name.lower()


def says_padding(name: str) -> bool:
    """A mask of what to leave out, which is usually all false."""
    return _has_word_that_begins(name, "pad")


def says_segment(name: str) -> bool:
    return "token_type" in name.lower() or _has_word_that_begins(name, "segment")


def says_position(name: str) -> bool:
    return _has_word_that_begins(name, "position") or _has_word(name, "pos")


def says_sample_rate(name: str) -> bool:
    lower = name.lower()
    return _has_word(name, "sr") or any(
        text in lower for text in ("sample_rate", "samplerate", "sampling_rate")
    )


def says_length(name: str) -> bool:
    return any(word.endswith(("len", "lens", "length", "lengths")) for word in split_words(name))


def says_bytes(name: str) -> bool:
    return _has_word_that_begins(name, "byte", "pixel", "image", "img")


def says_factor(name: str) -> bool:
    return _has_word_that_begins(name, "scale", "speed", "temperature", "ratio", "factor")


def says_image_size(name: str) -> bool:
    """The height and width of an image, as numbers."""
    return _has_word(name, "size", "sizes", "imsize") and not says_batch(name)
