"""A configuration file in words that ``requests`` understands: strict, so that no typing mistake
is measured."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from modeldyno.core.errors import BadValue
from modeldyno.core.specs import DEFAULT, QUICK, THOROUGH, BenchmarkSpec, Budget
from modeldyno.services import requests
from modeldyno.services.requests import CellOptions, InputOptions
from modeldyno.store.configs import read_config

_BUDGETS: dict[str, Budget] = {"quick": QUICK, "default": DEFAULT, "thorough": THOROUGH}
KEYS = (
    *("model", "engine", "batch_size", "cores", "instances", "device", "precision"),
    "streams",
    *("iterations", "warmup", "budget", "seconds", "per_call", "contract", "spinning", "options"),
    *("sandbox", "dims", "values", "data", "inputs", "architecture", "arguments"),
    *("architecture_folder", "signature", "timeout", "memory_limit", "seed"),
)


@dataclass(frozen=True)
class Configured:
    """What a file asks for."""

    model: str
    cells: CellOptions
    inputs: InputOptions
    more: Mapping[str, Any] = field(default_factory=dict)
    architecture_folder: str | None = None

    def settled(self, spec: BenchmarkSpec) -> BenchmarkSpec:
        """With the folder in which the architecture was found the first time."""
        known = spec.model.architecture
        if known is None or self.architecture_folder is None:
            return spec
        known = replace(known, folder=self.architecture_folder)
        return replace(spec, model=replace(spec.model, architecture=known))


def configured(path: Path) -> Configured:
    """Raises BadValue, which names the key. Paths in the file are relative to its folder."""
    said = _Said(read_config(path))
    said.expect_known()
    if "model" not in said.values:
        raise BadValue(f"{path} names no model", fix="Add a line such as `model: resnet50.onnx`")
    cells = CellOptions(
        engine=said.texts("engine"),
        batch=said.wholes("batch_size") or [1],
        cores=said.wholes("cores") or [1],
        instances=said.wholes("instances") or [1],
        streams=said.wholes("streams") or [1],
        device=said.texts("device") or ["cpu"],
        precision=said.texts("precision"),
        spin=said.one("spinning", bool),
        contract=said.one("contract", str) or "api",
        options=requests.known_options(said.mapping("options", bool, int, float, str)),
        sandbox=said.one("sandbox", str) or "on",
    )
    data = said.one("data", str)
    inputs = InputOptions(
        dims=said.mapping("dims", int),
        values=said.mapping("values", int, float),
        data=None if data is None else _beside(path, data),
        inputs=said.texts("inputs"),
        architecture=said.one("architecture", str),
        arguments=said.mapping("arguments", bool, int, float, str, list, dict),
        signature=said.one("signature", str) or "",
    )
    folder = said.one("architecture_folder", str)
    return Configured(
        model=_beside(path, said.one("model", str) or ""),
        cells=cells,
        inputs=inputs,
        more=_more(said),
        architecture_folder=None if folder is None else _beside(path, folder),
    )


def _more(said: _Said) -> dict[str, Any]:
    limit = said.one("memory_limit", int, str)
    return {
        "budget": _budget(said),
        "iterations": said.one("iterations", int),
        "warmup": said.one("warmup", int),
        "per_call": said.one("per_call", bool) or False,
        "timeout_s": float(said.one("timeout", int, float) or 600.0),
        "memory_limit_bytes": (
            None if limit is None else requests.parse_bytes("memory_limit", str(limit))
        ),
        "seed": said.one("seed", int) or 0,
    }


def _budget(said: _Said) -> Budget:
    name, seconds = said.one("budget", str), said.one("seconds", int, float)
    if name is not None and seconds is not None:
        raise BadValue("budget and seconds contradict each other", fix="Give one of them")
    if name is not None and name not in _BUDGETS:
        raise BadValue(f"There is no budget {name!r}", fix=f"Use one of {', '.join(_BUDGETS)}")
    return _BUDGETS[name] if name else requests.choose_budget(seconds=seconds)


def _beside(path: Path, name: str) -> str:
    return str(path.parent / Path(name).expanduser())


class _Said:
    """Keys and values of a file."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = {key: value for key, value in values.items() if value is not None}

    def expect_known(self) -> None:
        for key in self.values:
            if key not in KEYS:
                close = difflib.get_close_matches(key, KEYS, n=1)
                raise BadValue(
                    f"There is no setting {key[:100]!r}",
                    why=f"settings are {', '.join(KEYS)}",
                    fix=f"Did you mean {close[0]}?" if close else "See docs/cli.md",
                )

    def one(self, key: str, *kinds: type) -> Any:
        """None when it was not said."""
        value = self.values.get(key)
        if value is not None and not _is_of(value, kinds):
            raise _wrong(key, kinds)
        return value

    def texts(self, key: str) -> list[str]:
        return self._many(key, str)

    def wholes(self, key: str) -> list[int]:
        return self._many(key, int)

    def mapping(self, key: str, *kinds: type) -> dict[str, Any]:
        value = self.values.get(key, {})
        if not isinstance(value, dict):
            raise BadValue(f"{key} takes names and values")
        for name, inner in value.items():
            if not isinstance(name, str) or not _is_of(inner, kinds):
                raise _wrong(f"{key}: {str(name)[:100]}", kinds)
        return value

    def _many(self, key: str, kind: type) -> list[Any]:
        value = self.values.get(key, [])
        values = value if isinstance(value, list) else [value]
        if not all(_is_of(inner, (kind,)) for inner in values):
            raise _wrong(key, (kind,))
        return values


def _is_of(value: object, kinds: tuple[type, ...]) -> bool:
    return isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))


def _wrong(key: str, kinds: tuple[type, ...]) -> BadValue:
    words = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}
    said = " or ".join(dict.fromkeys(words.get(kind, "a list") for kind in kinds))
    return BadValue(f"{key} has no value that we take", why=f"it takes {said}")
