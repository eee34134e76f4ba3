"""What a dataset can be made of: readers, transforms and metrics, with their parameters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

# choice: a whole number, or the list of those that one may choose from; "": it has parts
Type = Literal["text", "whole", "number", "wholes", "numbers", "shapes", "truth", "choice", ""]


@dataclass(frozen=True)
class Parameter:
    name: str
    type: Type
    help: str
    value: Any  # what a form begins with
    label: str | None = None
    params: tuple[Parameter, ...] = ()


@dataclass(frozen=True)
class Entry:
    """One line of a dictionary; its number is known to clients."""

    id: int
    name: str
    framework: str
    help: str
    params: tuple[Parameter, ...]
    domains: tuple[str, ...] | None = None  # of a transform; empty: it fits all
    show_dataset_location: bool | None = None  # of a reader: whether it wants to know where


@dataclass(frozen=True)
class Preset:
    """What to begin with for models of a domain; without a reader there is nothing to fill in."""

    framework: str
    domain: str
    flavour: str
    dataloader: dict[str, Any] | None
    transforms: tuple[dict[str, Any], ...]
    metric: str
    metric_param: Any


Group = Literal["dataloader", "transform", "metric"]


@dataclass(frozen=True)
class Dictionaries:
    dataloaders: tuple[Entry, ...]
    transforms: tuple[Entry, ...]
    metrics: tuple[Entry, ...]
    presets: tuple[Preset, ...]
    values: dict[str, dict[str, str]]  # strategies and the like: names, and what they mean
    types: dict[Group, dict[str, Type]]  # of parameters, by name or by ``transform.name``

    def type_of(self, group: Group, owner: str, name: str) -> Type | None:
        """None: there is no such parameter."""
        types = self.types[group]
        return types.get(f"{owner}.{name}") or types.get(name)

    def preset(self, framework: str, domain: str, flavour: str) -> Preset | None:
        """A flavour that has none of its own gets that of its domain."""
        presets = {
            preset.flavour: preset
            for preset in self.presets
            if (preset.framework, preset.domain) == (framework, domain)
        }
        return presets.get(flavour) or presets.get("")


def of_framework(entries: Iterable[Entry], framework: str) -> tuple[Entry, ...]:
    return tuple(entry for entry in entries if entry.framework == framework)


def of_domain(entries: Iterable[Entry], domain: str) -> tuple[Entry, ...]:
    """Those that fit it, and those that fit all."""
    return tuple(entry for entry in entries if not entry.domains or domain in entry.domains)


def names(entries: Iterable[Entry]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(entry.name for entry in entries))
