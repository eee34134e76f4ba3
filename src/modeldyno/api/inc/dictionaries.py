"""``dict/…``: what forms offer, with the numbers that clients know."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from modeldyno.api.inc.naming import TYPES, domain_named, framework_named
from modeldyno.api.inc.operations import Operation, Operations
from modeldyno.api.inc.parameters import Parameters
from modeldyno.core.dictionaries import (
    DOMAINS,
    FLAVOURS,
    OPTIMIZATION_TYPES,
    PRECISIONS,
    DictionaryEntry,
    Numbered,
    Parameter,
    of_domain,
    of_framework,
)
from modeldyno.core.tuning import types_for
from modeldyno.store.dictionaries import dictionaries

Row = dict[str, Any]


def operations() -> Operations:
    found: dict[str, Operation] = {
        "dict/domains": _numbered("domains", DOMAINS),
        "dict/domain_flavours": _numbered("domain_flavours", FLAVOURS),
        "dict/optimization_types": _numbered("optimization_types", OPTIMIZATION_TYPES),
        "dict/optimization_types/precision": _types_of_precision,
        "dict/precisions": _numbered("precisions", PRECISIONS),
        "dict/transforms/domain": _transforms_of_domain,
    }
    for name in ("dataloaders", "transforms", "metrics"):
        found |= {f"dict/{name}": _all(name), f"dict/{name}/framework": _of_framework(name)}
    return found


def entries_of(name: str) -> tuple[DictionaryEntry, ...]:
    """``dataloaders``, ``transforms`` or ``metrics``."""
    found: tuple[DictionaryEntry, ...] = getattr(dictionaries(), name)
    return found


def _numbered(name: str, among: Sequence[Numbered]) -> Operation:
    return lambda _: {name: [one.told for one in among]}


def _types_of_precision(asked: Parameters) -> Row:
    """A precision that nobody knows is one that nothing supports."""
    supported = [TYPES[type] for type in types_for(asked.text("precision").strip().lower())]
    rows = [one.told | {"is_supported": one in supported} for one in OPTIMIZATION_TYPES]
    return {"optimization_types": rows}


def _transforms_of_domain(asked: Parameters) -> Row:
    domain = domain_named(asked.text("domain"))
    found = dictionaries().transforms
    return {"transforms": _rows(of_domain(found, domain) if domain else found)}


def _all(name: str) -> Operation:
    return lambda _: {name: _rows(entries_of(name))}


def _of_framework(name: str) -> Operation:
    def found(asked: Parameters) -> Row:
        framework = framework_named(asked.text("framework"))
        return {name: _rows(of_framework(entries_of(name), framework.name))}

    return found


def _rows(entries: Iterable[DictionaryEntry]) -> list[Row]:
    return [entry_shape(entry) for entry in entries]


def entry_shape(entry: DictionaryEntry) -> Row:
    row: Row = {"id": entry.id, "name": entry.name, "help": entry.help}
    if entry.show_dataset_location is not None:
        row["show_dataset_location"] = entry.show_dataset_location
    row["params"] = [_param(param) for param in entry.params]
    row["framework"] = framework_named(entry.framework).told
    if entry.domains is not None:
        row["domains"] = [*entry.domains]
    return row


def _param(param: Parameter) -> Row:
    row: Row = {"name": param.name, "help": param.help, "value": param.value}
    if param.label is not None:
        row["label"] = param.label
    if param.params:
        row["params"] = [_param(part) for part in param.params]
    return row
