"""The command that would measure the same in a terminal; what is as usual is left out.

The memory limit is left out as well: it follows from the machine.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Sequence
from typing import Any

from modeldyno.core.models import InputSpec
from modeldyno.core.specs import (
    DEFAULT,
    QUICK,
    THOROUGH,
    BenchmarkSpec,
    CellSpec,
    ComparisonSpec,
    ModelSpec,
    ProfileSpec,
    SideSpec,
)
from modeldyno.core.swept import axes_of

_USUAL_CELL = CellSpec()
_USUAL = BenchmarkSpec(ModelSpec(""), ())
_USUAL_PROFILE = ProfileSpec(ModelSpec(""))
_USUAL_WARMUP = 10  # calls, of a benchmark with exact iterations


def bench_command(spec: BenchmarkSpec, model: str) -> str:
    """``modeldyno bench m.onnx --batch 1,8 --cores 2``; ``model`` is how people know the file."""
    axes, cell = axes_of(spec.cells), spec.cells[0]
    words = ["modeldyno", "bench", model]
    words += _listed("--engine", axes.engines)
    words += _listed("--batch", axes.batch_sizes, (1,))
    words += _listed("--cores", axes.cores, (1,))
    words += _listed("--instances", axes.instances, (1,))
    words += _listed("--streams", axes.streams, (1,))
    words += _listed("--device", axes.devices, ("cpu",))
    words += _listed("--precision", axes.precisions)
    words += _given("--signature", spec.model.signature, "")
    words += _call_words(cell) + _input_words(spec.model) + _budget_words(spec)
    words += _given("--iterations", spec.iterations, None)
    usual_warmup = None if spec.iterations is None else _USUAL_WARMUP
    words += _given("--warmup", spec.warmup_calls, usual_warmup)
    words += ["--per-call"] if spec.per_call else []
    words += _given("--timeout", spec.timeout_s, _USUAL.timeout_s)
    words += _given("--seed", spec.seed, _USUAL.seed)
    return shlex.join(words)


def config_command(path: str) -> str:
    """``modeldyno bench --config FILE``."""
    return shlex.join(["modeldyno", "bench", "--config", path])


def config_of(spec: BenchmarkSpec) -> dict[str, Any]:
    """What ``bench --config`` reads: the same settings, by the names of the public JSON."""
    axes, cell, model = axes_of(spec.cells), spec.cells[0], spec.model
    known = model.architecture
    usual_budget = spec.iterations is not None or spec.budget.name in ("default", "custom")
    said: dict[str, Any] = {
        "model": model.path,
        "engine": _one_or_many(axes.engines),
        "batch_size": _one_or_many(axes.batch_sizes),
        "cores": _one_or_many(axes.cores),
        "instances": _one_or_many(axes.instances),
        "streams": _one_or_many(axes.streams) if axes.streams != (1,) else None,
        "device": _one_or_many(axes.devices),
        "precision": _one_or_many(axes.precisions),
        "iterations": spec.iterations,
        "warmup": spec.warmup_calls,
        "budget": None if usual_budget else spec.budget.name,
        "seconds": spec.budget.seconds if spec.budget.name == "custom" else None,
        "per_call": spec.per_call or None,
        "contract": _unusual(cell.contract, _USUAL_CELL.contract),
        "spinning": cell.spinning,
        "options": dict(cell.options) or None,
        "sandbox": _unusual(cell.sandbox, _USUAL_CELL.sandbox),
        "dims": dict(model.dims) or None,
        "values": dict(model.values) or None,
        "data": model.data,
        "inputs": [input_text(one) for one in model.inputs] or None,
        "architecture": known.factory if known else None,
        "arguments": (known and dict(known.arguments)) or None,
        "architecture_folder": known.folder if known else None,
        "signature": model.signature or None,
        "timeout": _unusual(spec.timeout_s, _USUAL.timeout_s),
        "seed": _unusual(spec.seed, _USUAL.seed),
    }
    return {name: value for name, value in said.items() if value is not None}


def compare_command(spec: ComparisonSpec, a: str, b: str) -> str:
    """``modeldyno compare old.onnx new.onnx@cores=2``."""
    words = ["modeldyno", "compare", _side(a, spec.a), _side(b, spec.b)]
    words += ["--margin", f"{spec.margin * 100:g}%"] if spec.margin != 0.02 else []
    if spec.fail_if_slower is not None:
        words += ["--fail-if-slower", f"{spec.fail_if_slower * 100:g}%"]
    words += _input_words(spec.a.model)
    for name, budget in (("--quick", QUICK), ("--thorough", THOROUGH)):
        if spec.seconds == budget.seconds:
            words.append(name)
    if spec.seconds not in (QUICK.seconds, THOROUGH.seconds, DEFAULT.seconds):
        words += ["--budget", f"{spec.seconds:g}"]
    words += ["--adaptive"] if spec.adaptive else []
    words += _given("--timeout", spec.timeout_s, _USUAL.timeout_s)
    words += _given("--seed", spec.seed, _USUAL.seed)
    return shlex.join(words)


def profile_command(spec: ProfileSpec, model: str) -> str:
    """``modeldyno profile m.onnx --cores 2``."""
    cell = spec.cell
    words = ["modeldyno", "profile", model]
    words += _given("--engine", cell.engine or None, None)
    words += _given("--batch", cell.batch_size, 1)
    words += _given("--cores", cell.cores, 1)
    words += _given("--device", cell.device, "cpu")
    words += _given("--precision", cell.precision, None)
    words += _given("--signature", spec.model.signature, "")
    words += _call_words(cell, _USUAL_PROFILE.cell.contract) + _input_words(spec.model)
    words += _given("--repeats", spec.repeats, _USUAL_PROFILE.repeats)
    words += _given("--timeout", spec.timeout_s, _USUAL_PROFILE.timeout_s)
    words += _given("--seed", spec.seed, _USUAL_PROFILE.seed)
    return shlex.join(words)


def input_text(spec: InputSpec) -> str:
    """``x=float32[1,3,224,224]``, as ``--input`` reads it."""
    sizes = ",".join("?" if dim is None else str(dim) for dim in spec.shape or ())
    return f"{spec.name}={spec.dtype}[{sizes}]"


def _side(name: str, side: SideSpec) -> str:
    cell = side.cell
    said: dict[str, Any] = {
        "signature": side.model.signature or None,
        "engine": cell.engine or None,
        "batch": cell.batch_size if cell.batch_size != 1 else None,
        "cores": cell.cores if cell.cores != 1 else None,
        "streams": cell.streams if cell.streams != 1 else None,
        "device": cell.device if cell.device != "cpu" else None,
        "precision": cell.precision,
        "spin": None if cell.spinning is None else _switch(cell.spinning),
        "contract": cell.contract if cell.contract != _USUAL_CELL.contract else None,
        "sandbox": cell.sandbox if cell.sandbox != "on" else None,
    }
    said |= {key: _value(value) for key, value in cell.options.items()}
    options = ",".join(f"{key}={value}" for key, value in said.items() if value is not None)
    return f"{name}@{options}" if options else name


def _call_words(cell: CellSpec, usual: str = _USUAL_CELL.contract) -> list[str]:
    words = _given("--contract", cell.contract, usual)
    if cell.spinning is not None:
        words += ["--spin", _switch(cell.spinning)]
    for name, value in cell.options.items():
        words += ["--option", f"{name}={_value(value)}"]
    match cell.sandbox:
        case "required":
            words.append("--require-sandbox")
        case "off":
            words.append("--no-sandbox")
        case "on":
            pass
    return words


def _input_words(model: ModelSpec) -> list[str]:
    words: list[str] = []
    for option, pairs in (("--dim", model.dims), ("--value", model.values)):
        for name, value in pairs.items():
            words += [option, f"{name}={value}"]
    for spec in model.inputs:
        words += ["--input", input_text(spec)]
    if model.architecture is not None:
        words += ["--architecture", model.architecture.factory]
        for name, value in model.architecture.arguments.items():
            words += ["--arg", f"{name}={_value(value)}"]
    return words


def _budget_words(spec: BenchmarkSpec) -> list[str]:
    match spec.budget.name:
        case "default":
            return []
        case "custom":
            return ["--budget", f"{spec.budget.seconds:g}"]
        case name:
            return [f"--{name}"]


def _listed(option: str, values: Sequence[object], usual: Iterable[object] = ()) -> list[str]:
    if tuple(values) == tuple(usual):
        return []
    return [option, ",".join(str(value) for value in values)]


def _one_or_many(values: Sequence[Any]) -> Any:
    """Null when nothing was said."""
    return [*values] if len(values) > 1 else values[0] if values else None


def _unusual(value: object, usual: object) -> Any:
    return None if value == usual else value


def _given(option: str, value: object, usual: object) -> list[str]:
    if value is None or value == usual:
        return []
    return [option, f"{value:g}" if isinstance(value, float) else str(value)]


def _value(value: object) -> str:
    if isinstance(value, bool):
        return _switch(value)
    return value if isinstance(value, str) else json.dumps(value)


def _switch(is_on: bool) -> str:
    return "on" if is_on else "off"
