"""Where the measured session deviates from the request.

Engines have silent defaults: they compute in fewer bits, leave part of the graph to the CPU, or use
fewer threads. Outputs may hold nothing that anybody requested. Each deviation is one plain
sentence, the same everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from modeldyno.core import figures, precisions
from modeldyno.core.documents.described import Described
from modeldyno.core.models import ModelFacts, precision_of
from modeldyno.core.sessions import SessionFacts, UnusualOutput, device_kind, worst_outputs
from modeldyno.core.specs import CellSpec

About = Literal[
    "precision", "input dtype", "layout", "threads", "spinning", "device", "fallback", "output"
]

CHANNELS_LAST = "NHWC"
LAYOUTS = {
    "NCHW": "channels first",
    "NHWC": "channels last",
    "NCHWc": "channels in blocks",
}
# Roughly how many bits of a number count. Fewer than requested is a deviation.
_BITS = {"int8": 8, "bf16": 9, "fp16": 12, "tf32": 13, "fp32": 25, "fp64": 54}
# Weights that no processor multiplies as they are: each kernel widens them.
_ONLY_STORED = ("int2", "int4", "fp4")
# ONNX: by the first a model widens its weights, by the others its activations may become integers.
_WIDENING, _QUANTISING = "DequantizeLinear", ("QuantizeLinear", "MatMulNBits")
_NUMBERS = frozenset(
    ("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8")
)


@dataclass(frozen=True)
class Deviation(Described):
    """One thing that differs from the request."""

    about: About
    """What it is about."""
    text: str
    """One plain sentence."""
    fix: str = "compare it with care"
    """What to do about it."""


def find_deviations(
    spec: CellSpec, model: ModelFacts, facts: SessionFacts
) -> tuple[Deviation, ...]:
    return (
        *_device_deviations(spec, facts),
        *_fallback_deviations(facts),
        *_precision_deviations(spec, model, facts),
        *_input_type_deviations(model, facts),
        *_layout_deviations(spec, facts),
        *_thread_deviations(spec, facts),
    )


def output_deviations(
    sessions: Sequence[Sequence[UnusualOutput]],
) -> tuple[Deviation, ...]:
    """Outputs that hold NaN, infinity, or one number everywhere, in any of the sessions."""
    return tuple(
        Deviation("output", _output_text(output, count, len(sessions)), _output_fix(output))
        for output, count in worst_outputs(sessions)
    )


def fallback_share(facts: SessionFacts) -> float | None:
    """Share of nodes that did not run on the intended provider or device; None if the engine does
    not report it."""
    placement = _count_nodes_by_placement(facts)
    return None if placement is None else placement[0] / placement[1]


def describe_effective_run(facts: SessionFacts) -> str:
    """``fp32 · x float32 · channels in blocks · 2 threads · all 85 nodes on CUDA…``."""
    parts = [facts.precision or "unknown precision"]
    types = sorted(set(facts.input_dtypes.values()))
    parts += [f"{' and '.join(types)} in"] if types else []
    parts += [f"{LAYOUTS.get(facts.layout, facts.layout)} inside"] if facts.layout else []
    parts += [figures.counted(facts.threads, "thread")] if facts.threads is not None else []
    placement = _count_nodes_by_placement(facts)
    if placement is not None:
        elsewhere, nodes = placement
        count = figures.counted(nodes, "node")
        if elsewhere:
            count = f"{nodes - elsewhere} of {count}"
        elif nodes > 1:
            count = f"all {count}"
        parts.append(f"{count} on {_intended_device(facts)}")
    return " · ".join(parts)


# ---------------------------------------------------------------- one by one


def _device_deviations(spec: CellSpec, facts: SessionFacts) -> Iterator[Deviation]:
    kinds = {device_kind(device) for device in facts.device.split("+")}
    if facts.device and kinds != {device_kind(spec.device)}:
        yield Deviation("device", f"asked for {spec.device}, runs on {facts.device}")


def _fallback_deviations(facts: SessionFacts) -> Iterator[Deviation]:
    placement = _count_nodes_by_placement(facts)
    if placement is None or not placement[0]:
        return
    elsewhere, nodes = placement
    intended = _intended_device(facts)
    others = " and ".join(name for name in facts.nodes_by_provider if name and name != intended)
    yield Deviation(
        "fallback",
        f"{elsewhere} of {figures.counted(nodes, 'node')} ran on {others} instead of {intended}",
        "profile it to see which; each change of place copies data",
    )


def _count_nodes_by_placement(facts: SessionFacts) -> tuple[int, int] | None:
    """How many nodes ran elsewhere than intended, and how many there are."""
    counts = {name: count for name, count in facts.nodes_by_provider.items() if name and count}
    intended = _intended_device(facts)
    if not counts or not intended:
        return None
    at_home = facts.at_home or (intended,)
    nodes = sum(counts.values())
    return nodes - sum(counts.get(name, 0) for name in at_home), nodes


def _intended_device(facts: SessionFacts) -> str:
    """The first provider, or the device, by the name that the engine counts nodes under; empty if
    it counts by something else."""
    counts = facts.nodes_by_provider
    if facts.at_home:
        return " and ".join(name for name in facts.at_home if name in counts)
    names = ("+".join(facts.providers), *facts.providers[:1], facts.device)
    # If other providers have counts, the first one ran no node at all.
    unused = facts.providers[0] if set(facts.providers[1:]) & counts.keys() else ""
    return next((name for name in names if name in counts), unused)


def _precision_deviations(
    spec: CellSpec, model: ModelFacts, facts: SessionFacts
) -> Iterator[Deviation]:
    if facts.precision is None:
        return
    expected = spec.precision or (precision_of(model) if model.weights_by_dtype else None)
    reason = f"asked for {expected}" if spec.precision else f"the weights are {expected}"
    parts = precisions.parts(facts.precision)
    computed = [each for each in dict.fromkeys(map(precisions.arithmetic, parts)) if each in _BITS]
    if expected in _ONLY_STORED and any(part.startswith(f"{expected} weights") for part in parts):
        if "int8" in computed and _keeps_activations(model):
            yield Deviation("precision", f"{reason}, the engine quantises activations to int8")
        return
    if not computed or (expected not in _BITS and expected not in _ONLY_STORED):
        return
    fix = (
        "compare it with care"
        if spec.precision
        else "choose one with --precision if the engine offers a choice"
    )
    if expected not in computed:
        yield Deviation("precision", f"{reason}, computed in {' and '.join(computed)}", fix)
        return
    less = [each for each in computed if _BITS[each] < _BITS[expected]]
    if less:
        yield Deviation("precision", f"{reason}, partly computed in {' and '.join(less)}", fix)


def _keeps_activations(model: ModelFacts) -> bool:
    """Whether the file says that products take activations as they are."""
    operators = model.nodes_by_op
    return _WIDENING in operators and not any(w in op for op in operators for w in _QUANTISING)


def _input_type_deviations(model: ModelFacts, facts: SessionFacts) -> Iterator[Deviation]:
    for tensor in model.inputs:
        taken = facts.input_dtypes.get(tensor.name)
        if taken != tensor.dtype and taken in _NUMBERS and tensor.dtype in _NUMBERS:
            yield Deviation(
                "input dtype",
                f"input {tensor.name} is {tensor.dtype} in the model, the engine takes {taken}",
            )


def _layout_deviations(spec: CellSpec, facts: SessionFacts) -> Iterator[Deviation]:
    """Only if one was requested: an engine may arrange its tensors as it likes."""
    layout = facts.layout
    if spec.options.get("channels_last") is True and layout not in (None, CHANNELS_LAST):
        got = LAYOUTS.get(layout, layout)
        yield Deviation("layout", f"asked for channels last, computes with {got}")


def _thread_deviations(spec: CellSpec, facts: SessionFacts) -> Iterator[Deviation]:
    if facts.threads is not None and facts.threads != spec.cores:
        were = "was" if spec.cores == 1 else "were"
        yield Deviation(
            "threads",
            f"the engine computes with {figures.counted(facts.threads, 'thread')}, "
            f"{spec.cores} {were} asked for",
        )
    if None not in (spec.spinning, facts.spinning) and spec.spinning != facts.spinning:
        requested, got = ("spin", "sleep") if spec.spinning else ("sleep", "spin")
        yield Deviation("spinning", f"asked that waiting threads {requested}, but they {got}")


def _output_text(output: UnusualOutput, count: int, sessions: int) -> str:
    """``output `logits`: 12 of 1000 values are NaN, in 2 of 12 sessions``."""
    counts = {"NaN": output.nan, "infinite": output.infinite}
    parts = [
        f"{number} of {output.values} values {'is' if number == 1 else 'are'} {what}"
        for what, number in counts.items()
        if number
    ]
    what = " and ".join(parts) or "is the same value everywhere"
    some = f", in {count} of {sessions} sessions" if count < sessions else ""
    return f"output `{output.name}`{':' if parts else ''} {what}{some}"


def _output_fix(output: UnusualOutput) -> str:
    if output.is_constant:
        return "give real inputs with --data, and see whether it still is"
    return "give real inputs with --data; if that changes nothing, check the model's weights"
