"""``<file>.modeldyno.toml`` beside a model declares what the file itself cannot.

architecture = "package.module:factory"

[arguments]
depth = 50

[[inputs]]
name = "x"
dtype = "float32"
shape = ["batch", 3, 224, 224]

If we converted the model, we write ``[made]``: what it was converted from, and by which tool
(``core.models.Making``).
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

from modeldyno.core.codec import Mismatch, decode, encode
from modeldyno.core.errors import ModelUnreadable
from modeldyno.core.models import Architecture, InputSpec, Making, ModelFacts
from modeldyno.formats.file_reading import read_small

SUFFIX = ".modeldyno.toml"
LONGEST = 64 << 10  # bytes
_KEYS = ("architecture", "arguments", "inputs", "made")


def apply_sidecar(facts: ModelFacts) -> ModelFacts:
    """The facts, with those that the sidecar adds if there is one."""
    path = Path(facts.path + SUFFIX)
    table = _read_table(path)
    if table is None or not table.keys() - {"made"}:
        return facts
    return _apply_table(facts, path, table)


def add_making_note(facts: ModelFacts) -> ModelFacts:
    """The facts, with the origin of a converted model if its sidecar names it."""
    path = Path(facts.path + SUFFIX)
    table = _read_table(path)
    if table is None or "made" not in table:
        return facts
    try:
        made: Making = decode(Making, table["made"])
    except Mismatch as error:
        raise _wrong_sidecar_error(path, f"[made]: {error}") from error
    return replace(facts, made=made)


def making_to_toml(made: Making) -> str:
    """The sidecar of a converted model."""
    fields = encode(made)
    versions = fields.pop("versions")
    lines = [f"{name} = {_as_toml(value)}" for name, value in fields.items()]
    lines += ["", "[made.versions]"]
    lines += [f"{_as_toml(name)} = {_as_toml(value)}" for name, value in versions.items()]
    return "\n".join(("[made]", *lines, ""))


def _as_toml(value: str | float) -> str:
    """A text or number, as JSON writes it except for surrogates and one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _read_table(path: Path) -> dict[str, Any] | None:
    try:
        return tomllib.loads(read_small(path, LONGEST).decode())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ModelUnreadable(
            f"{path.name} cannot be read",
            why=error.strerror or str(error),
            fix="Write it as a plain text file, or remove it",
        ) from error
    except (ValueError, RecursionError) as error:
        raise _wrong_sidecar_error(path, str(error)) from error


def _apply_table(facts: ModelFacts, path: Path, table: dict[str, Any]) -> ModelFacts:
    odd = [key for key in table if key not in _KEYS]
    if odd:
        raise _wrong_sidecar_error(path, f"it has {odd[0]!r}; known are {', '.join(_KEYS)}")
    try:
        inputs: tuple[InputSpec, ...] = decode(tuple[InputSpec, ...], table.get("inputs", []))
        factory: str | None = decode(str | None, table.get("architecture"))
        arguments: dict[str, Any] = decode(dict[str, Any], table.get("arguments", {}))
    except Mismatch as error:
        raise _wrong_sidecar_error(path, str(error)) from error
    if not _is_plain_value(arguments):
        raise _wrong_sidecar_error(
            path, "arguments may be numbers, texts, booleans, lists and tables"
        )
    if factory is None and arguments:
        raise _wrong_sidecar_error(path, "it has arguments, but no architecture that takes them")
    return replace(
        facts,
        inputs=inputs or facts.inputs,
        architecture=Architecture(factory, arguments) if factory else facts.architecture,
        notes=(*facts.notes, f"{path.name} was read"),
    )


def _is_plain_value(value: Any) -> bool:
    """Whether it can be sent to a worker: TOML's dates cannot."""
    if isinstance(value, dict):
        return all(_is_plain_value(item) for item in value.values())
    if isinstance(value, list):
        return all(_is_plain_value(item) for item in value)
    return isinstance(value, (str, int, float, bool))


def _wrong_sidecar_error(path: Path, why: str) -> ModelUnreadable:
    return ModelUnreadable(
        f"{path.name} cannot be used",
        why=why[:300],
        fix='Write architecture = "package.module:factory", [arguments] and [[inputs]] with name, '
        "dtype and shape",
    )
