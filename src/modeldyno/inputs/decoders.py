"""Decoders with a cache: where their past lies, and the sizes of the two phases of generation.

A prompt takes one call without a past, the prefill. Then each call takes one token after all that
came before: a decoding step. ``--dim prefill=128`` and ``--dim decode=128`` stand for the sizes of
one phase, however the model names its dimensions; ``--dim context=128`` for both, as two cells.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from modeldyno.core.errors import BadValue
from modeldyno.core.models import InputSpec
from modeldyno.core.sessions import DecoderCall
from modeldyno.inputs.name_hints import (
    says_encoder,
    says_mask,
    says_past,
    says_position,
    says_segment,
    says_tokens,
)
from modeldyno.inputs.open_axes import OpenAxis, Place, chosen_size, find_open_axes

PREFILL, DECODE, CONTEXT = "prefill", "decode", "context"
CONTEXT_TOKENS = 128  # unless the user chooses another length


@dataclass(frozen=True)
class Decoder:
    past: tuple[OpenAxis, ...]  # of the cache
    tokens: tuple[OpenAxis, ...]  # empty: the model fixes how many it takes
    totals: tuple[OpenAxis, ...]  # of masks: the past and the new tokens together
    fixed_tokens: int | None

    @property
    def phases(self) -> tuple[str, ...]:
        return (PREFILL, DECODE) if self.tokens else (DECODE,)

    def sizes(self, phase: str, context: int) -> dict[str, int]:
        """Of its open axes, by name."""
        past = 0 if phase == PREFILL else context
        return self.sizes_of_call(past, self.fixed_tokens or (context if phase == PREFILL else 1))

    def sizes_of_call(self, past: int, tokens: int) -> dict[str, int]:
        return {
            **{axis.name: past for axis in self.past},
            **{axis.name: tokens for axis in self.tokens},
            **{axis.name: past + tokens for axis in self.totals},
        }

    def call(self, sizes: Mapping[Place, int]) -> DecoderCall:
        """What a call with these sizes does."""
        tokens = self.fixed_tokens or sizes[self.tokens[0].places[0]]
        return DecoderCall(past=sizes[self.past[0].places[0]], tokens=tokens)


def find_decoder(inputs: tuple[InputSpec, ...], axes: tuple[OpenAxis, ...]) -> Decoder | None:
    """By the names and shapes of its inputs; None for any other model."""
    cache = {spec.name for spec in inputs if _is_cache(spec)}
    text = [spec for spec in inputs if spec.name not in cache and _is_text(spec)]
    open_sizes = [axis for axis in axes if not axis.is_batch]
    past = tuple(a for a in open_sizes if any(name in cache for name, _ in a.places))
    if not text or not past:
        return None
    beside = [spec for spec in inputs if spec.shape and spec.name not in cache]
    ordered = [s for s in beside if says_position(s.name) or says_segment(s.name)]
    masks = [spec for spec in beside if says_mask(spec.name) and not says_encoder(spec.name)]
    tokens = _among(
        open_sizes,
        {(spec.name, 1) for spec in text}
        | {(spec.name, len(spec.shape or ()) - 1) for spec in ordered}
        | {(spec.name, 2) for spec in masks if len(spec.shape or ()) == 4},
    )
    totals = _among(open_sizes, {(spec.name, len(spec.shape or ()) - 1) for spec in masks})
    assert text[0].shape is not None
    size = text[0].shape[1]
    fixed = size if isinstance(size, int) else None
    tokens = () if fixed else tuple(axis for axis in tokens if axis not in past)
    if not (fixed or tokens):
        return None
    totals = tuple(axis for axis in totals if axis not in (*past, *tokens))
    return Decoder(past, tokens, totals, fixed)


def _is_cache(spec: InputSpec) -> bool:
    """[batch, heads, past, features], or with both kinds of values in one tensor."""
    return says_past(spec.name) and not says_encoder(spec.name) and len(spec.shape or ()) > 2


def _is_text(spec: InputSpec) -> bool:
    """[batch, tokens], or embeddings of them."""
    return says_tokens(spec.name) and len(spec.shape or ()) in (2, 3)


def _among(axes: Iterable[OpenAxis], places: set[Place]) -> tuple[OpenAxis, ...]:
    return tuple(axis for axis in axes if places & {*axis.places})


# ---------------------------------------------------------------- sizes by phase


def phases(inputs: tuple[InputSpec, ...], dims: Mapping[str, int]) -> tuple[dict[str, int], ...]:
    """The sizes of the cells that a request with ``dims`` stands for: of a decoder one for each
    phase, unless they already say what a call does."""
    axes = find_open_axes(inputs)
    decoder = find_decoder(inputs, axes)
    if decoder is None:
        return (dict(dims),)
    saying = {PREFILL, DECODE, *_names((*decoder.past, *decoder.tokens))}
    if dims.keys() & saying:
        return (dict(dims),)
    is_own = CONTEXT in _names(axes)
    context = CONTEXT_TOKENS if is_own else dims.get(CONTEXT, CONTEXT_TOKENS)
    others = {name: size for name, size in dims.items() if name != CONTEXT or is_own}
    return tuple(others | {phase: context} for phase in decoder.phases)


def phase_note(sizes: Iterable[Mapping[str, int]]) -> str:
    """What was made of one requested cell."""
    words = {PREFILL: "as prefill of {} tokens", DECODE: "as one step after {} tokens"}
    parts = [text.format(s[name]) for s in sizes for name, text in words.items() if name in s]
    return f"a decoder with a cache: measured {' and '.join(parts)}; to choose: --dim {CONTEXT}=…"


def with_sizes_of_phase(dims: Mapping[str, int], inputs: tuple[InputSpec, ...]) -> dict[str, int]:
    """``dims`` with the sizes of a phase instead of its name. Raises BadValue for both phases at
    once."""
    axes = find_open_axes(inputs)
    decoder, own = find_decoder(inputs, axes), _names(axes)
    if decoder is None:
        return dict(dims)
    words = {PREFILL, DECODE, CONTEXT} - own
    said = [name for name in (PREFILL, DECODE) if name in words & dims.keys()]
    if len(said) > 1 or (not said and CONTEXT in words & dims.keys()):
        raise BadValue(
            "One call is either a prefill or a decoding step",
            why="the sizes stand for both",
            fix=f"Say --dim {PREFILL}=… or --dim {DECODE}=…; `bench` also takes --dim {CONTEXT}=…",
        )
    others = {name: size for name, size in dims.items() if name not in words}
    return others | (decoder.sizes(said[0], dims[said[0]]) if said else {})


def guess_decoding_step(
    axes: tuple[OpenAxis, ...], inputs: tuple[InputSpec, ...], dims: Mapping[str, int]
) -> tuple[OpenAxis, ...]:
    """``axes`` of a decoder whose first guess is a step after the past in ``dims``, or a prefill of
    the tokens in it: of a past and tokens that are guessed alike, a call would be neither."""
    decoder = find_decoder(inputs, axes)
    if decoder is None:
        return axes
    past, tokens = (_first_size(some, dims) for some in (decoder.past, decoder.tokens))
    if past is None:
        past = CONTEXT_TOKENS if tokens in (None, 1) else 0
    tokens = decoder.fixed_tokens or tokens or 1
    sizes = decoder.sizes_of_call(past, tokens)
    return tuple(
        replace(axis, sizes=(sizes[axis.name], *axis.sizes))
        if axis.name in sizes and axis.is_guessed
        else axis
        for axis in axes
    )


def _first_size(axes: Iterable[OpenAxis], dims: Mapping[str, int]) -> int | None:
    chosen = (chosen_size(axis, dims) for axis in axes)
    return next((size for size in chosen if size is not None), None)


def _names(axes: Iterable[OpenAxis]) -> set[str]:
    return {name for axis in axes for name in (axis.name, *axis.labels)}
