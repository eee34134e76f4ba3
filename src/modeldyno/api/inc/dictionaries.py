"""``dict/…``: what forms offer, with the numbers that clients know; and ``get_possible_values``:
names that fit what has been chosen already."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from modeldyno.api.inc.examples import example_row, offered_examples
from modeldyno.api.inc.naming import TYPES, find_domain, find_framework
from modeldyno.api.inc.operations import Operation, Operations
from modeldyno.api.inc.parameters import Parameters
from modeldyno.api.inc.shapes import Json
from modeldyno.core.dictionaries import (
    BF16,
    DOMAINS,
    FLAVOURS,
    FP32,
    INT8,
    INT8_DYNAMIC,
    INT8_STATIC,
    ONNXRT,
    OPTIMIZATION_TYPES,
    PRECISIONS,
    PYTORCH,
    TENSORFLOW,
    DictionaryEntry,
    Numbered,
    Parameter,
    of_domain,
    of_framework,
)
from modeldyno.core.errors import BadValue
from modeldyno.core.optimization_settings import types_for
from modeldyno.store.dictionaries import read_dictionaries

if TYPE_CHECKING:
    from modeldyno.services.examples import ExampleService

Values = Callable[[Parameters], list[Json]]

_PRECISIONS = {
    TENSORFLOW: (FP32, BF16, INT8),
    ONNXRT: (INT8,),
    PYTORCH: (INT8_STATIC, INT8_DYNAMIC),
}


def operations(examples: ExampleService) -> Operations:
    values_of = _VALUES | {
        column: _example_values(examples, column) for column in ("framework", "domain", "model")
    }

    def possible_values(parameters: Parameters) -> Json:
        name = parameters.text("param")
        if name not in values_of:
            raise BadValue(
                f"There are no values for {name[:100]!r}",
                fix="Choose one of: " + ", ".join(values_of),
            )
        return {name: values_of[name](parameters.nested("config"))}

    by_name: dict[str, Operation] = {
        "dict/domains": _operation_with_ids("domains", DOMAINS),
        "dict/domain_flavours": _operation_with_ids("domain_flavours", FLAVOURS),
        "dict/optimization_types": _operation_with_ids("optimization_types", OPTIMIZATION_TYPES),
        "dict/optimization_types/precision": _types_of_precision,
        "dict/precisions": _operation_with_ids("precisions", PRECISIONS),
        "dict/transforms/domain": _transforms_of_domain,
        "get_possible_values": possible_values,
    }
    for name in ("dataloaders", "transforms", "metrics"):
        by_name |= {
            f"dict/{name}": _operation_for_all(name),
            f"dict/{name}/framework": _operation_by_framework(name),
        }
    return by_name


# ---------------------------------------------------------------- dict/…


def _operation_with_ids(name: str, among: Sequence[Numbered]) -> Operation:
    return lambda _: {name: [numbered.as_json for numbered in among]}


def _types_of_precision(parameters: Parameters) -> Json:
    """No type supports an unknown precision."""
    supported = [TYPES[type] for type in types_for(parameters.text("precision").strip().lower())]
    rows = [type.as_json | {"is_supported": type in supported} for type in OPTIMIZATION_TYPES]
    return {"optimization_types": rows}


def _transforms_of_domain(parameters: Parameters) -> Json:
    domain = find_domain(parameters.text("domain"))
    return {"transforms": _entry_rows(_filter_by_domain(read_dictionaries().transforms, domain))}


def _operation_for_all(name: str) -> Operation:
    return lambda _: {name: _entry_rows(_entries(name))}


def _operation_by_framework(name: str) -> Operation:
    return lambda parameters: {name: _entry_rows(_framework_entries(name, parameters))}


def _entries(name: str) -> tuple[DictionaryEntry, ...]:
    """``dataloaders``, ``transforms`` or ``metrics``."""
    entries: tuple[DictionaryEntry, ...] = getattr(read_dictionaries(), name)
    return entries


def _framework_entries(name: str, parameters: Parameters) -> Iterable[DictionaryEntry]:
    return of_framework(_entries(name), find_framework(parameters.text("framework")).name)


def _filter_by_domain(entries: Iterable[DictionaryEntry], domain: str) -> Iterable[DictionaryEntry]:
    """All of them if no domain is given."""
    return of_domain(entries, domain) if domain else entries


def _entry_rows(entries: Iterable[DictionaryEntry]) -> list[Json]:
    return [_entry_row(entry) for entry in entries]


def _entry_row(entry: DictionaryEntry) -> Json:
    row: Json = {"id": entry.id, "name": entry.name, "help": entry.help}
    if entry.show_dataset_location is not None:
        row["show_dataset_location"] = entry.show_dataset_location
    row["params"] = [_parameter_row(param) for param in entry.params]
    row["framework"] = find_framework(entry.framework).as_json
    if entry.domains is not None:
        row["domains"] = [*entry.domains]
    return row


def _parameter_row(param: Parameter) -> Json:
    row: Json = {"name": param.name, "help": param.help, "value": param.value}
    if param.label is not None:
        row["label"] = param.label
    if param.params:
        row["params"] = [_parameter_row(part) for part in param.params]
    return row


# ---------------------------------------------------------------- get_possible_values


def _example_values(examples: ExampleService, column: str) -> Values:
    """Frameworks, domains or names of the examples, as ``examples/list`` has them."""

    def values(config: Parameters) -> list[Json]:
        framework, domain = config.text("framework", ""), find_domain(config.text("domain", ""))
        chosen = {"framework": find_framework(framework).name} if framework else {}
        chosen |= {"domain": domain} if domain else {}
        rows = [example_row(example) for example in offered_examples(examples)]
        return _names_to_values(
            dict.fromkeys(row[column] for row in rows if chosen.items() <= row.items())
        )

    return values


def _explained_values(name: str) -> Values:
    return lambda _: [
        {"name": value, "help": help} for value, help in read_dictionaries().values[name].items()
    ]


def _approach_values(config: Parameters) -> list[Json]:
    both = _explained_values("quantization_approach")(config)
    is_static_only = find_framework(config.text("framework")) == TENSORFLOW
    return both[:1] if is_static_only else both


def _precision_values(config: Parameters) -> list[Json]:
    framework = find_framework(config.text("framework"))
    return _names_to_values(precision.name for precision in _PRECISIONS.get(framework, ()))


def _entry_values(name: str) -> Values:
    def values(config: Parameters) -> list[Json]:
        entries = _framework_entries(name, config)
        return [
            _entry_to_value(entry)
            for entry in _filter_by_domain(entries, find_domain(config.text("domain", "")))
        ]

    return values


def _entry_to_value(entry: DictionaryEntry) -> Json:
    """Without numbers: these are names."""
    row = {key: value for key, value in _entry_row(entry).items() if key not in ("id", "framework")}
    if not entry.params:
        del row["params"]
        row["value"] = None
    return row


def _names_to_values(names: Iterable[str]) -> list[Json]:
    return [{"name": name, "help": ""} for name in names]


_VALUES: dict[str, Values] = {
    "dataloader": _entry_values("dataloaders"),
    "transform": _entry_values("transforms"),
    "objective": _explained_values("objective"),
    "strategy": _explained_values("strategy"),
    "quantization_approach": _approach_values,
    "metric": _entry_values("metrics"),
    "precision": _precision_values,
}
