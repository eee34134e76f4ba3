"""What an engine did on its own account: where the session that was measured is not what was asked.

Engines have silent defaults: they compute in fewer bits, leave a part of the graph to the CPU, or
take fewer threads. Each such thing is told in one plain sentence, the same everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from modeldyno.core import figures
from modeldyno.core.documents.described import Described
from modeldyno.core.models import ModelFacts, precision_of
from modeldyno.core.sessions import SessionFacts, device_kind
from modeldyno.core.specs import CellSpec

About = Literal["precision", "input dtype", "layout", "threads", "spinning", "device", "fallback"]

CHANNELS_LAST = "NHWC"
LAYOUTS = {
    "NCHW": "channels first",
    "NHWC": "channels last",
    "NCHWc": "channels in blocks",
}
# How many bits of a number count, roughly: fewer than asked for is what nobody expects.
_BITS = {"int8": 8, "bf16": 9, "fp16": 12, "tf32": 13, "fp32": 25, "fp64": 54}
_NUMBERS = frozenset(
    ("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8")
)


@dataclass(frozen=True)
class Deviation(Described):
    """One thing that is not as it was asked for."""

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
        *_device(spec, facts),
        *_fallback(facts),
        *_precision(spec, model, facts),
        *_input_types(model, facts),
        *_layout(spec, facts),
        *_threads(spec, facts),
    )


def fallback_share(facts: SessionFacts) -> float | None:
    """Of all nodes, those that another provider or device ran than the one that was meant; None
    where the engine does not tell."""
    counted = _placed(facts)
    return None if counted is None else counted[0] / counted[1]


def ran_as(facts: SessionFacts) -> str:
    """``fp32 · x float32 · channels in blocks · 2 threads · all 85 nodes on CUDA…``."""
    parts = [facts.precision or "unknown precision"]
    types = sorted(set(facts.input_dtypes.values()))
    parts += [f"{' and '.join(types)} in"] if types else []
    parts += [f"{LAYOUTS.get(facts.layout, facts.layout)} inside"] if facts.layout else []
    parts += [figures.counted(facts.threads, "thread")] if facts.threads is not None else []
    counted = _placed(facts)
    if counted is not None:
        others, nodes = counted
        where = _meant(facts)
        if others:
            parts.append(f"{nodes - others} of {figures.counted(nodes, 'node')} on {where}")
        else:
            some = "1 node" if nodes == 1 else f"all {figures.counted(nodes, 'node')}"
            parts.append(f"{some} on {where}")
    return " · ".join(parts)


# ---------------------------------------------------------------- one by one


def _device(spec: CellSpec, facts: SessionFacts) -> Iterator[Deviation]:
    kinds = {device_kind(device) for device in facts.device.split("+")}
    if facts.device and kinds != {device_kind(spec.device)}:
        yield Deviation("device", f"asked for {spec.device}, runs on {facts.device}")


def _fallback(facts: SessionFacts) -> Iterator[Deviation]:
    counted = _placed(facts)
    if counted is None or not counted[0]:
        return
    others, nodes = counted
    meant = _meant(facts)
    where = " and ".join(name for name in facts.nodes_by_provider if name and name != meant)
    yield Deviation(
        "fallback",
        f"{others} of {figures.counted(nodes, 'node')} ran on {where} instead of {meant}",
        "profile it to see which; each change of place copies data",
    )


def _placed(facts: SessionFacts) -> tuple[int, int] | None:
    """Nodes that ran elsewhere, and all."""
    placed = {name: count for name, count in facts.nodes_by_provider.items() if name and count}
    meant = _meant(facts)
    if not placed or not meant:
        return None
    nodes = sum(placed.values())
    if facts.at_home:
        return sum(n for name, n in placed.items() if name not in facts.at_home), nodes
    return nodes - placed.get(meant, 0), nodes


def _meant(facts: SessionFacts) -> str:
    """The provider that comes first, or the device, as the engine calls it in its counts; empty
    where it counts by something else."""
    if facts.at_home:
        return " and ".join(name for name in facts.at_home if name in facts.nodes_by_provider)
    names = ("+".join(facts.providers), *facts.providers[:1], facts.device)
    return next((name for name in names if name in facts.nodes_by_provider), _unused(facts))


def _unused(facts: SessionFacts) -> str:
    """Not one node ran where it was meant to: the counts know the names of other providers."""
    known = set(facts.providers[1:]) & set(facts.nodes_by_provider)
    return facts.providers[0] if known else ""


def _precision(spec: CellSpec, model: ModelFacts, facts: SessionFacts) -> Iterator[Deviation]:
    if facts.precision is None:
        return
    own = precision_of(model) if model.weights_by_dtype else None
    wanted = spec.precision or own
    said = f"asked for {wanted}" if spec.precision else f"the model is {wanted}"
    known = [part for part in facts.precision.split("+") if part in _BITS]
    if wanted not in _BITS or not known:
        return
    fix = (
        "compare it with care"
        if spec.precision
        else "ask for one with --precision where the engine has a choice"
    )
    if wanted not in known:
        yield Deviation("precision", f"{said}, computed in {' and '.join(known)}", fix)
        return
    less = [part for part in known if _BITS[part] < _BITS[wanted]]
    if less:
        yield Deviation("precision", f"{said}, partly computed in {' and '.join(less)}", fix)


def _input_types(model: ModelFacts, facts: SessionFacts) -> Iterator[Deviation]:
    for tensor in model.inputs:
        taken = facts.input_dtypes.get(tensor.name)
        if taken != tensor.dtype and taken in _NUMBERS and tensor.dtype in _NUMBERS:
            yield Deviation(
                "input dtype",
                f"input {tensor.name} is {tensor.dtype} in the model, the engine takes {taken}",
            )


def _layout(spec: CellSpec, facts: SessionFacts) -> Iterator[Deviation]:
    """Only where one was asked for: an engine may arrange numbers inside as it likes."""
    wants = spec.options.get("channels_last") is True
    if wants and facts.layout not in (None, CHANNELS_LAST):
        assert facts.layout is not None
        got = LAYOUTS.get(facts.layout, facts.layout)
        yield Deviation("layout", f"asked for channels last, computes with {got}")


def _threads(spec: CellSpec, facts: SessionFacts) -> Iterator[Deviation]:
    if facts.threads is not None and facts.threads != spec.cores:
        were = "was" if spec.cores == 1 else "were"
        yield Deviation(
            "threads",
            f"the engine computes with {figures.counted(facts.threads, 'thread')}, "
            f"{spec.cores} {were} asked for",
        )
    if None not in (spec.spinning, facts.spinning) and spec.spinning != facts.spinning:
        wanted, got = ("spin", "sleep") if spec.spinning else ("sleep", "spin")
        yield Deviation("spinning", f"asked that waiting threads {wanted}, but they {got}")
