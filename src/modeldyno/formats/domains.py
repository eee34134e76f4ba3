"""What a model is for, inferred from its names, operators and shapes.

The rules are INC Bench's, with two differences: only names of outputs make a model a detector, not
those of any node (else "classifier" would match), and convolutions mean image recognition only if
an input could be an image.
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

_DETECTOR_WORDS = re.compile(r"(?<![a-z])ssd(?=lite|$|[^a-z])|yolo", re.IGNORECASE)
_TEXT_INPUTS = frozenset(
    """
    input_ids input_mask segment_ids attention_mask token_type_ids decoder_input_ids
    input_word_ids input_type_ids
    """.split()  # noqa: SIM905 - one name per line would fill the page
)
_BOX_OUTPUTS = ("box", "bbox", "detection")
_DETECTION_OPERATORS = ("nonmaxsuppression", "efficientnms", "batchednms", "nms")
_CONVOLUTION = re.compile(r"(qlinear|fused|nhwc|_)?conv(olution|[_\d]|$|transpose|integer)")
_IMAGE_CHANNELS = (1, 3, 4)
# The side of an image if the model leaves it dynamic.
_IMAGE_SIDE = {IMAGE_RECOGNITION: 224, OBJECT_DETECTION: 300}


@dataclass(frozen=True)
class Purpose:
    domain: Numbered
    flavour: Numbered
    shape: str  # of the inputs, without the batch: "3,224,224", or "[128],[128]" of several
    is_exact: bool  # the model fixes that shape; otherwise it is a guess, or empty


def find_detector_words(names: Iterable[str]) -> tuple[str, ...]:
    """Words in node names that hint at the kind of detector; the worker sees every name."""
    return tuple(sorted({word.lower() for name in names for word in _DETECTOR_WORDS.findall(name)}))


def guess_purpose(facts: ModelFacts) -> Purpose:
    domain = _guess_domain(facts)
    flavour = _guess_flavour(facts) if domain is OBJECT_DETECTION else NO_FLAVOUR
    shape, is_exact = _dummy_shape(facts.inputs, domain)
    return Purpose(domain, flavour, shape, is_exact)


def _guess_domain(facts: ModelFacts) -> Numbered:
    if any(_base_name(spec.name) in _TEXT_INPUTS for spec in facts.inputs):
        return LANGUAGE_PROCESSING
    if _is_detector(facts):
        return OBJECT_DETECTION
    convolves = any(_CONVOLUTION.match(_operator_name(op)) for op in facts.nodes_by_op)
    if convolves and any(spec.shape is None or len(spec.shape) == 4 for spec in facts.inputs):
        return IMAGE_RECOGNITION
    return NONE


def _is_detector(facts: ModelFacts) -> bool:
    if any(_operator_name(op).startswith(_DETECTION_OPERATORS) for op in facts.nodes_by_op):
        return True
    outputs = [_base_name(spec.name) for spec in facts.outputs]
    if any(name.startswith(_BOX_OUTPUTS) for name in outputs) or "yolo" in facts.telling:
        return True
    return all(any(name.startswith(start) for name in outputs) for start in ("score", "class"))


def _guess_flavour(facts: ModelFacts) -> Numbered:
    for word, flavour in (("ssd", SSD), ("yolo", YOLO)):
        if word in facts.telling:
            return flavour
    return NO_FLAVOUR


def _base_name(name: str) -> str:
    """``scope/Boxes:0`` → ``boxes``."""
    return name.partition(":")[0].rpartition("/")[2].lower()


def _operator_name(op: str) -> str:
    """``com.microsoft.FusedConv`` → ``fusedconv``, ``aten.conv2d`` → ``conv2d``."""
    return op.removesuffix(".default").rpartition(".")[2].lower()


# ---------------------------------------------------------------- shape


def _dummy_shape(inputs: tuple[InputSpec, ...], domain: Numbered) -> tuple[str, bool]:
    shapes = [_dummy_item_shape(spec, domain) for spec in inputs]
    if not shapes or any(shape is None or not shape[0] for shape in shapes):
        return "", False
    known = [shape for shape in shapes if shape is not None]
    texts = [",".join(map(str, sizes)) for sizes, _ in known]
    is_exact = all(exact for _, exact in known)
    return (texts[0] if len(texts) == 1 else ",".join(f"[{text}]" for text in texts)), is_exact


def _dummy_item_shape(spec: InputSpec, domain: Numbered) -> tuple[tuple[int, ...], bool] | None:
    """The shape without the batch, and whether it is exact; None if it cannot be guessed."""
    if spec.shape is None or says_state(spec.name) or says_past(spec.name):
        return None
    first, sizes = spec.shape[:1], spec.shape[1:]
    if any(isinstance(dim, str) and says_sequence(dim) for dim in first):  # not a batch
        return None
    if all(isinstance(size, int) and size > 0 for size in sizes):
        return tuple(size for size in sizes if isinstance(size, int)), True
    side = _IMAGE_SIDE.get(domain)
    if side is None or len(sizes) != 3:
        return None
    is_last = sizes[2] in _IMAGE_CHANNELS and sizes[0] not in _IMAGE_CHANNELS
    usual = (side, side, 3) if is_last else (3, side, side)
    return tuple(
        size if isinstance(size, int) and size > 0 else guess
        for size, guess in zip(sizes, usual, strict=True)
    ), False
