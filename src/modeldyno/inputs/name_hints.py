"""What the name of an input or a dimension suggests.

Names are conventions, not promises: a guess from one is tried first, noted, and dropped if the
model refuses it.
"""

from __future__ import annotations

import re

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


def words(name: str) -> tuple[str, ...]:
    """``input_IDs.2`` → input, ids, 2."""
    return tuple(word.lower() for word in _WORD.findall(name))


def _begins(name: str, *starts: str) -> bool:
    return any(word.startswith(starts) for word in words(name))


def _has(name: str, *whole: str) -> bool:
    return any(word in whole for word in words(name))


# ---------------------------------------------------------------- dimensions


def says_batch(symbol: str) -> bool:
    return symbol in ("N", "B") or _begins(symbol, "batch") or _has(symbol, "bs", "bsz")


def says_sequence(symbol: str) -> bool:
    starts = ("seq", "len", "time", "frame", "token")
    return symbol in ("T", "L") or _begins(symbol, *starts)


def says_image_side(symbol: str) -> bool:
    return _begins(symbol, "height", "width") or symbol.lower() in ("h", "w")


def says_total(symbol: str) -> bool:
    """Past and present together, in decoders."""
    return _has(symbol, "total")


def says_past(name: str) -> bool:
    """Of a dimension or an input: what a decoder remembers of earlier tokens."""
    return _begins(name, "past", "cache") or _has(name, "kv")


# ---------------------------------------------------------------- inputs


def says_tokens(name: str) -> bool:
    """What a language model reads, as numbers or as their embeddings."""
    is_read = _has(name, "ids", "tokens", "embeds")
    return is_read and not (says_position(name) or says_segment(name) or says_encoder(name))


def says_encoder(name: str) -> bool:
    """Of what an encoder computed once, which is as long as its own input."""
    return _has(name, "encoder")


def says_state(name: str) -> bool:
    """State that a recurrent network carries from call to call."""
    return _begins(name, "state", "hidden", "cell", "rnn", "lstm", "gru") or _has(
        name, "h", "c", "hx", "cx", "hn", "cn"
    )


def says_latent(name: str) -> bool:
    return _begins(name, "latent", "sample")


def says_mask(name: str) -> bool:
    return "mask" in name.lower()


def says_padding(name: str) -> bool:
    """A mask of what to leave out, which is usually all false."""
    return _begins(name, "pad")


def says_segment(name: str) -> bool:
    return "token_type" in name.lower() or _begins(name, "segment")


def says_position(name: str) -> bool:
    return _begins(name, "position") or _has(name, "pos")


def says_sample_rate(name: str) -> bool:
    lower = name.lower()
    return _has(name, "sr") or any(
        text in lower for text in ("sample_rate", "samplerate", "sampling_rate")
    )


def says_length(name: str) -> bool:
    return any(word.endswith(("len", "lens", "length", "lengths")) for word in words(name))


def says_bytes(name: str) -> bool:
    return _begins(name, "byte", "pixel", "image", "img")


def says_factor(name: str) -> bool:
    return _begins(name, "scale", "speed", "temperature", "ratio", "factor")


def says_image_size(name: str) -> bool:
    """The height and width of an image, as numbers."""
    return _has(name, "size", "sizes", "imsize") and not says_batch(name)
