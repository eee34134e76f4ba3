"""A configuration file as a request: strict, so that no typing mistake is measured."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

from modeldyno.core.errors import BadValue
from modeldyno.core.requests.checking import by_key, require_valid
from modeldyno.core.requests.commands import CONFIG_KEYS
from modeldyno.core.requests.measuring import BenchmarkRequest, ModelFile
from modeldyno.core.requests.texts import fill_request, parse_bytes
from modeldyno.store.configs import read_config


def read_benchmark_config(path: Path) -> tuple[BenchmarkRequest, ModelFile]:
    """Raises BadValue, which names the key. Paths in the file are relative to its folder."""
    values = {key: value for key, value in read_config(path).items() if value is not None}
    _require_known(values)
    if "model" not in values:
        raise BadValue(f"{path} names no model", fix="Add a line such as `model: resnet50.onnx`")
    if "memory_limit" in values:
        values["memory_limit"] = parse_bytes("memory_limit", str(values["memory_limit"]))
    if "seconds" in values:
        values["budget"] = _seconds(values)
    request = fill_request(BenchmarkRequest, values, naming=by_key)
    model = fill_request(ModelFile, values, naming=by_key)
    for part in (request, model):
        require_valid(part, by_key)
    return request, _resolve_paths_beside(path, model)


def _require_known(values: dict[str, Any]) -> None:
    for key in values:
        if key not in CONFIG_KEYS:
            close = difflib.get_close_matches(key, CONFIG_KEYS, n=1)
            raise BadValue(
                f"There is no setting {key[:100]!r}",
                why=f"settings are {', '.join(CONFIG_KEYS)}",
                fix=f"Did you mean {close[0]}?" if close else "See docs/cli.md",
            )


def _seconds(values: dict[str, Any]) -> float:
    if "budget" in values:
        raise BadValue("budget and seconds contradict each other", fix="Use only one of them")
    seconds: float = values["seconds"]
    if isinstance(seconds, bool | str):
        raise BadValue("seconds has an invalid value", why="it takes a number")
    return seconds


def _resolve_paths_beside(path: Path, model: ModelFile) -> ModelFile:
    def absolute_path(name: str | Path) -> str:
        return str(path.parent / Path(name).expanduser())

    return ModelFile(
        absolute_path(model.path),
        data=None if model.data is None else absolute_path(model.data),
        architecture=model.architecture,
        arguments=model.arguments,
        architecture_folder=model.architecture_folder and absolute_path(model.architecture_folder),
    )
