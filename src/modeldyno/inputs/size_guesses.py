"""Guesses for the size of an axis that a model leaves open, best first."""

from __future__ import annotations

from modeldyno.core.models import Dim, InputSpec
from modeldyno.inputs.name_hints import says_image_side, says_latent, says_past, says_sequence

# Exact sizes that models insist on are among them: 576 of a voice detector,
# 3000 of Whisper, 77 of CLIP. The large ones come late: attention over 16000 takes gigabytes.
IMAGE = (224, 320, 640, 256, 48, 32, 512, 299, 28, 64)
FEATURE_MAP = (64, 32, 16, 128, 8, 1)
CHANNELS = (3, 1)
FRAMES = (16, 8, 32, 1)
SIGNAL = (128, 512, 576, 256, 1024, 16000, 3000, 64, 16, 1)
TOKENS = (128, 64, 77, 32, 16, 256, 512, 1024, 8, 1)
# With a past, either a prompt after one remembered token or one token after a long past.
TOKENS_AFTER_PAST = (128, 1, 64, 16)
PAST = (1, 128, 1, 16)


def guesses(spec: InputSpec, position: int, has_past: bool) -> tuple[int, ...]:
    shape = spec.shape or ()
    symbol = shape[position] if isinstance(shape[position], str) else ""
    assert isinstance(symbol, str)
    if says_past(symbol) or (says_past(spec.name) and not says_sequence(symbol)):
        return PAST
    if says_image_side(symbol):
        return _image_side(spec, shape)
    if len(shape) == 4 and not says_sequence(symbol):
        return _of_image(spec, position)
    if len(shape) == 5:
        return FRAMES if position < 3 else FEATURE_MAP
    if has_past:
        return TOKENS_AFTER_PAST
    return SIGNAL if spec.dtype.startswith("float") else TOKENS


def _of_image(spec: InputSpec, position: int) -> tuple[int, ...]:
    """[batch, channels, height, width], or the channels last."""
    shape = spec.shape or ()
    colours = (1, 3, 4)
    if shape[1] in colours or (shape[3] in colours and position in (1, 2)):
        return _image_side(spec, shape)
    if not any(isinstance(dim, int) for dim in shape[1:]):
        return CHANNELS if position == 1 else IMAGE
    return FEATURE_MAP


def _image_side(spec: InputSpec, shape: tuple[Dim, ...]) -> tuple[int, ...]:
    """Like the other side, where that is fixed and no text line's height."""
    if says_latent(spec.name):
        return FEATURE_MAP
    fixed = [d for d in shape[1:] if isinstance(d, int) and d >= 64]
    return (*fixed[:1], *IMAGE)
