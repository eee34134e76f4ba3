"""Files that somebody vouched for, and what that covers."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from modeldyno.core.documents.described import Described
from modeldyno.core.models import FORMATS, Architecture, ModelFacts, ModelFormat


@dataclass(frozen=True)
class Code(Described):
    """What runs beside the bytes of a model: which function builds it, and with what."""

    factory: str
    """`package.module:factory`."""
    arguments: dict[str, Any] = field(default_factory=dict)
    """Keyword arguments that it is called with."""
    sources: dict[str, str] = field(default_factory=dict)
    """The sha256 of its files by path, where they lie in the folder that was current. Installed
    packages are part of the environment, as Python itself is."""

    def __str__(self) -> str:
        """``nets:build(depth=50)``."""
        return f"{self.factory}({', '.join(f'{k}={v!r}' for k, v in self.arguments.items())})"

    def is_same(self, other: Code | None) -> bool:
        """Compares arguments as JSON does: 1, 1.0 and true differ."""
        return other is not None and _code_text(self) == _code_text(other)


@dataclass(frozen=True)
class Trusted(Described):
    """A file that somebody vouched for."""

    sha256: str
    """Of the file's content: a changed byte is another file."""
    name: str
    """The file's name when somebody vouched for it: for people, not for decisions."""
    at: str
    """When, in UTC."""
    reason: str = ""
    """Why, in their words; may be empty."""
    code: Code | None = None
    """Of weights: what builds the model around them; null where nothing does. Another factory,
    argument or source is not trusted."""


def _code_text(code: Code) -> str:
    return json.dumps(asdict(code), sort_keys=True)


def architecture_of(facts: ModelFacts) -> Architecture | None:
    """The code that builds the model; only checkpoints need any."""
    return facts.architecture if facts.format == "torch-checkpoint" else None


def needs_trust(model_format: ModelFormat) -> bool:
    return FORMATS[model_format].tier != "data"


def warning(facts: ModelFacts) -> str:
    """What running this file can do; empty for data."""
    match facts.format:
        case "torchscript":
            return "TorchScript is a program: measuring it runs what is in the file"
        case "torch-export":
            return "a .pt2 file can hold code: loading it can run what is in the file"
        case "torch-checkpoint":
            built = facts.architecture
            code = Code(built.factory, built.arguments) if built else "its architecture"
            return f"runs the Python code of {code}"
        case _:
            return ""
