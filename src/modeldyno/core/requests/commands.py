"""How to repeat a run, from the request of its spec: the terminal command and the config file.
Defaults are left out, and so is the memory limit, which follows from the machine.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable
from typing import Any

from modeldyno.core.cell_axes import AXES
from modeldyno.core.requests.checking import by_key, by_option, hints, option_of
from modeldyno.core.requests.measuring import (
    USUAL_WARMUP,
    BenchmarkRequest,
    PairingRequest,
    ProfileRequest,
    SideRequest,
    benchmark_request,
    comparison_request,
    profile_request,
    side_request,
)
from modeldyno.core.specs import BenchmarkSpec, ComparisonSpec, ModelSpec, ProfileSpec, SideSpec

# The order of options that are no axes; axes come first, in the order of the request.
_OF_A_CALL = ("signature", "contract", "spinning", "options", "sandbox")
_OF_INPUTS = ("dims", "values", "inputs")
_OF_A_RUN = ("iterations", "warmup", "per_call", "adaptive", "repeats", "timeout_s", "seed")
_REPEATED = {"dims": "dim", "values": "value", "options": "option", "inputs": "input"}
_ALWAYS = ("batch_size", "cores", "instances", "device")  # a config file shows what can be changed

# INC Bench has a file of the same name; its readers may look for a section that ours lacks.
CONFIG_HEADING = """\
# Repeat this with `modeldyno bench --config`. INC Bench wrote an `evaluation:` section instead:
# its warmup, iteration, cores_per_instance and num_of_instance are warmup, iterations, cores and
# instances here.
"""

_AXES = tuple(
    name
    for name in hints(BenchmarkRequest)
    if name in {axis.field for axis in AXES if axis.kind != "sizes"}
)  # fmt: skip
CONFIG_KEYS = (
    "model",
    *(by_key(name, option_of(hints(BenchmarkRequest)[name])) for name in _AXES),
    *("iterations", "warmup", "budget", "seconds", "per_call", "contract", "spinning", "options"),
    *("sandbox", "dims", "values", "data", "inputs", "architecture", "arguments"),
    *("architecture_folder", "signature", "timeout", "memory_limit", "seed"),
)
RepeatableRequest = BenchmarkRequest | SideRequest | PairingRequest | ProfileRequest


def bench_command(spec: BenchmarkSpec, model: str) -> str:
    """``modeldyno bench m.onnx --batch 1,8 --cores 2``; ``model`` is the name of the file."""
    return _command("bench", model, benchmark_request(spec), spec.model)


def profile_command(spec: ProfileSpec, model: str) -> str:
    """``modeldyno profile m.onnx --cores 2``."""
    return _command("profile", model, profile_request(spec), spec.model)


def compare_command(spec: ComparisonSpec, a: str, b: str) -> str:
    """``modeldyno compare old.onnx new.onnx@cores=2``."""
    request = comparison_request(spec)
    words = ["modeldyno", "compare", _side_text(a, spec.a), _side_text(b, spec.b)]
    if (margin := _share_text(request.margin)) != _share_text(PairingRequest().margin):
        words += ["--margin", margin]
    if spec.fail_if_slower is not None:
        words += ["--fail-if-slower", _share_text(spec.fail_if_slower)]
    words += _options_of(request.a, _OF_INPUTS) + _architecture_options(spec.a.model)
    return shlex.join([*words, *_budget_options(request.budget), *_options_of(request, _OF_A_RUN)])


def config_command(path: str) -> str:
    """``modeldyno bench --config FILE``."""
    return shlex.join(["modeldyno", "bench", "--config", path])


def config_of(spec: BenchmarkSpec) -> dict[str, Any]:
    """What ``bench --config`` reads: the settings, by the names of the public JSON."""
    request, usual = benchmark_request(spec), BenchmarkRequest()
    architecture = spec.model.architecture
    values: dict[str, Any] = {
        "model": spec.model.path,
        "data": spec.model.data,
        "architecture": architecture.factory if architecture else None,
        "arguments": (architecture and dict(architecture.arguments)) or None,
        "architecture_folder": architecture.folder if architecture else None,
    }
    for name, annotation in hints(BenchmarkRequest).items():
        key, setting = by_key(name, option_of(annotation)), getattr(request, name)
        if setting != getattr(usual, name) or key in _ALWAYS:
            values[key] = _one_or_many(setting) if name in _AXES else _to_list(setting)
    values.pop("memory_limit", None)
    budget = values.pop("budget", None)
    if not isinstance(budget, str):
        values["seconds"] = budget
    elif spec.iterations is None:
        values["budget"] = budget
    return {key: values[key] for key in CONFIG_KEYS if values.get(key) is not None}


# ---------------------------------------------------------------- words


def _command(
    name: str, model: str, request: BenchmarkRequest | ProfileRequest, file: ModelSpec
) -> str:
    words = ["modeldyno", name, model, *_options_of(request, _axis_options(request))]
    words += (
        _options_of(request, _OF_A_CALL)
        + _options_of(request, _OF_INPUTS)
        + _architecture_options(file)
    )
    words += _budget_options(getattr(request, "budget", "default"))
    return shlex.join(words + _options_of(request, _OF_A_RUN))


def _axis_options(request: RepeatableRequest) -> list[str]:
    names = {name for a in AXES if a.kind != "sizes" for name in (a.field, a.name)}
    return [name for name in hints(type(request)) if name in names]


def _options_of(request: RepeatableRequest, names: Iterable[str]) -> list[str]:
    """The fields with these names that the request has and that are not defaults."""
    annotations, words = hints(type(request)), []
    for name in names:
        if name not in annotations or getattr(request, name) == _usual_value(request, name):
            continue
        option = _REPEATED.get(name) or by_option(name, option_of(annotations[name]))
        words += _option_words(f"--{option.replace('_', '-')}", getattr(request, name), name)
    return words


def _usual_value(request: RepeatableRequest, name: str) -> Any:
    if name == "warmup" and getattr(request, "iterations", None) is not None:
        return USUAL_WARMUP
    like = PairingRequest if isinstance(request, PairingRequest) else type(request)
    return getattr(like(), name)


def _option_words(option: str, setting: Any, name: str) -> list[str]:
    match setting:
        case "required" | "off" if name == "sandbox":
            return ["--require-sandbox" if setting == "required" else "--no-sandbox"]
        case None:
            return []
        case True if name != "spinning":
            return [option]
        case dict():
            return [
                word
                for key in setting
                for word in (option, f"{key}={_setting_texts(setting[key])}")
            ]
        case tuple() if name in _REPEATED:
            return [word for each in setting for word in (option, each)]
        case tuple():
            return [option, ",".join(map(str, setting))]
        case float():
            return [option, f"{setting:g}"]
        case _:
            return [option, _setting_text(setting)]


def _architecture_options(model: ModelSpec) -> list[str]:
    if model.architecture is None:
        return []
    words = ["--architecture", model.architecture.factory]
    for name, argument in model.architecture.arguments.items():
        words += ["--arg", f"{name}={_setting_text(argument)}"]
    return words


def _budget_options(budget: str | float) -> list[str]:
    if budget == "default":
        return []
    return [f"--{budget}"] if isinstance(budget, str) else ["--budget", f"{budget:g}"]


def _side_text(name: str, side: SideSpec) -> str:
    request, usual = side_request(side), SideRequest()
    words = {
        by_option(field, option_of(annotation)): _setting_text(getattr(request, field))
        for field, annotation in hints(SideRequest).items()
        if field not in _REPEATED and getattr(request, field) != getattr(usual, field)
    }
    words |= {key: _setting_text(option) for key, option in request.options.items()}
    options = ",".join(f"{key}={word}" for key, word in words.items())
    return f"{name}@{options}" if options else name


def _share_text(share: float) -> str:
    return f"{share * 100:g}%"


def _setting_text(setting: object) -> str:
    if isinstance(setting, bool):
        return "on" if setting else "off"
    return setting if isinstance(setting, str) else json.dumps(setting)


def _setting_texts(setting: object) -> str:
    return (
        ",".join(map(_setting_text, setting))
        if isinstance(setting, tuple)
        else _setting_text(setting)
    )


def _one_or_many(values: tuple[Any, ...]) -> Any:
    """None if nothing was chosen."""
    return [*values] if len(values) > 1 else values[0] if values else None


def _to_list(setting: Any) -> Any:
    """With lists in place of tuples."""
    if isinstance(setting, dict):
        return {name: _to_list(own) for name, own in setting.items()}
    return [*setting] if isinstance(setting, tuple) else setting
