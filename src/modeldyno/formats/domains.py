"""What a model is for, as far as its names, operators and shapes tell.

The rules are those of INC Bench, with two differences: a model is called a detector for the names
of its outputs and not of any node in it ("classifier" is none), and one with convolutions is about
images only if an input could be one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from modeldyno.core.dictionaries import (
    IMAGE_RECOGNITION,
    LANGUAGE_PROCESSING,
    NO_FLAVOUR,
    NONE,
    OBJECT_DETECTION,
    SSD,
    YOLO,
    Numbered,
)
from modeldyno.core.models import InputSpec, ModelFacts
from modeldyno.inputs.name_hints import says_past, says_sequence, says_state

_TELLING = re.compile(r"(?<![a-z])ssd(?=lite|$|[^a-z])|yolo", re.IGNORECASE)
_TEXT_INPUTS = frozenset(
    """
    input_ids input_mask segment_ids attention_mask token_type_ids decoder_input_ids
    input_word_ids input_type_ids
    """.split()  # noqa: SIM905 - a name to a line would fill the page
)
_BOXES = ("box", "bbox", "detection")
_DETECTS = ("nonmaxsuppression", "efficientnms", "batchednms", "nms")
_CONVOLVES = re.compile(r"(qlinear|fused|nhwc|_)?conv(olution|[_\d]|$|transpose|integer)")
_CHANNELS = (1, 3, 4)
_SIDE = {
    IMAGE_RECOGNITION: 224,
    OBJECT_DETECTION: 300,
}  # of a picture, when the model leaves it open


@dataclass(frozen=True)
class Purpose:
    domain: Numbered
    flavour: Numbered
    shape: str  # of the inputs, without the batch: "3,224,224", or "[128],[128]" of several
    is_exact: bool  # the model fixes that shape; else it is a guess, or empty


def telling_words(names: Iterable[str]) -> tuple[str, ...]:
    """What names of nodes say about a detector's kind: for the worker, which has all of them."""
    return tuple(sorted({one.lower() for name in names for one in _TELLING.findall(name)}))


def purpose_of(facts: ModelFacts) -> Purpose:
    domain = _domain(facts)
    flavour = _flavour(facts) if domain is OBJECT_DETECTION else NO_FLAVOUR
    shape, is_exact = _shape(facts.inputs, domain)
    return Purpose(domain, flavour, shape, is_exact)


def _domain(facts: ModelFacts) -> Numbered:
    if any(_plain(one.name) in _TEXT_INPUTS for one in facts.inputs):
        return LANGUAGE_PROCESSING
    if _detects(facts):
        return OBJECT_DETECTION
    convolves = any(_CONVOLVES.match(_short(op)) for op in facts.nodes_by_op)
    if convolves and any(one.shape is None or len(one.shape) == 4 for one in facts.inputs):
        return IMAGE_RECOGNITION
    return NONE


def _detects(facts: ModelFacts) -> bool:
    if any(_short(op).startswith(_DETECTS) for op in facts.nodes_by_op):
        return True
    outputs = [_plain(one.name) for one in facts.outputs]
    has = {start: any(one.startswith(start) for one in outputs) for start in ("score", "class")}
    return (
        any(one.startswith(_BOXES) for one in outputs)
        or all(has.values())
        or "yolo" in facts.telling
    )


def _flavour(facts: ModelFacts) -> Numbered:
    for word, flavour in (("ssd", SSD), ("yolo", YOLO)):
        if word in facts.telling:
            return flavour
    return NO_FLAVOUR


def _plain(name: str) -> str:
    """TensorFlow's exporters leave their ``:0``."""
    return name.partition(":")[0].rpartition("/")[2].lower()


def _short(op: str) -> str:
    """``com.microsoft.FusedConv`` → ``fusedconv``, ``aten.conv2d`` → ``conv2d``."""
    return op.removesuffix(".default").rpartition(".")[2].lower()


# ---------------------------------------------------------------- shape


def _shape(inputs: tuple[InputSpec, ...], domain: Numbered) -> tuple[str, bool]:
    shapes = [_filled(one, domain) for one in inputs]
    if not shapes or any(shape is None or not shape[0] for shape in shapes):
        return "", False
    known = [shape for shape in shapes if shape is not None]
    texts = [",".join(map(str, sizes)) for sizes, _ in known]
    is_exact = all(exact for _, exact in known)
    return (texts[0] if len(texts) == 1 else ",".join(f"[{one}]" for one in texts)), is_exact


def _filled(one: InputSpec, domain: Numbered) -> tuple[tuple[int, ...], bool] | None:
    """Without the batch, and whether nothing of it is a guess; None when there is no guess."""
    if one.shape is None or says_state(one.name) or says_past(one.name):
        return None
    first, sizes = one.shape[:1], one.shape[1:]
    if any(isinstance(dim, str) and says_sequence(dim) for dim in first):  # that is no batch
        return None
    if all(isinstance(size, int) and size > 0 for size in sizes):
        return tuple(size for size in sizes if isinstance(size, int)), True
    side = _SIDE.get(domain)
    if side is None or len(sizes) != 3:
        return None
    is_last = sizes[2] in _CHANNELS and sizes[0] not in _CHANNELS
    usual = (side, side, 3) if is_last else (3, side, side)
    return tuple(
        size if isinstance(size, int) and size > 0 else guess
        for size, guess in zip(sizes, usual, strict=True)
    ), False
