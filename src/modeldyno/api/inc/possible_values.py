"""``get_possible_values``: names to choose from, as far as they fit what was chosen already."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from modeldyno.api.inc.dictionaries import entries_of, entry_shape
from modeldyno.api.inc.examples import example_row, offered
from modeldyno.api.inc.naming import domain_named, framework_named
from modeldyno.api.inc.operations import Operations
from modeldyno.api.inc.parameters import Parameters
from modeldyno.core.dictionaries import (
    BF16,
    FP32,
    INT8,
    INT8_DYNAMIC,
    INT8_STATIC,
    ONNXRT,
    PYTORCH,
    TENSORFLOW,
    DictionaryEntry,
    of_domain,
    of_framework,
)
from modeldyno.core.errors import BadValue
from modeldyno.store.dictionaries import dictionaries

if TYPE_CHECKING:
    from modeldyno.services.examples import ExampleService

Row = dict[str, Any]
Values = Callable[[Parameters], list[Row]]

_PRECISIONS = {
    TENSORFLOW: (FP32, BF16, INT8),
    ONNXRT: (INT8,),
    PYTORCH: (INT8_STATIC, INT8_DYNAMIC),
}


def operations(examples: ExampleService) -> Operations:
    known = _VALUES | {
        told: _of_examples(examples, told) for told in ("framework", "domain", "model")
    }

    def possible_values(asked: Parameters) -> Row:
        param = asked.text("param")
        values = known.get(param)
        if values is None:
            raise BadValue(
                f"There are no values for {param[:100]!r}",
                fix="Choose one of: " + ", ".join(known),
            )
        return {param: values(asked.inside("config"))}

    return {"get_possible_values": possible_values}


def _of_examples(examples: ExampleService, told: str) -> Values:
    """Frameworks, domains and names of the examples, as ``examples/list`` has them."""

    def values(config: Parameters) -> list[Row]:
        framework, domain = config.text("framework", ""), domain_named(config.text("domain", ""))
        wanted = {"framework": framework_named(framework).name} if framework else {}
        wanted |= {"domain": domain} if domain else {}
        rows = [example_row(example) for example in offered(examples)]
        return _named(dict.fromkeys(row[told] for row in rows if wanted.items() <= row.items()))

    return values


def _explained(name: str) -> Values:
    return lambda _: [
        {"name": value, "help": help} for value, help in dictionaries().values[name].items()
    ]


def _approaches(config: Parameters) -> list[Row]:
    both = _explained("quantization_approach")(config)
    is_static_only = framework_named(config.text("framework")) == TENSORFLOW
    return both[:1] if is_static_only else both


def _precisions(config: Parameters) -> list[Row]:
    framework = framework_named(config.text("framework"))
    return _named(precision.name for precision in _PRECISIONS.get(framework, ()))


def _entries(name: str) -> Values:
    def values(config: Parameters) -> list[Row]:
        framework = framework_named(config.text("framework"))
        found = of_framework(entries_of(name), framework.name)
        domain = domain_named(config.text("domain", ""))
        return [_value(entry) for entry in (of_domain(found, domain) if domain else found)]

    return values


def _value(entry: DictionaryEntry) -> Row:
    """Without numbers: these are names."""
    row = {key: value for key, value in entry_shape(entry).items() if key not in _NUMBERS}
    if not entry.params:
        del row["params"]
        row["value"] = None
    return row


def _named(names: Iterable[str]) -> list[Row]:
    return [{"name": name, "help": ""} for name in names]


_NUMBERS = ("id", "framework")
_VALUES: dict[str, Values] = {
    "dataloader": _entries("dataloaders"),
    "transform": _entries("transforms"),
    "objective": _explained("objective"),
    "strategy": _explained("strategy"),
    "quantization_approach": _approaches,
    "metric": _entries("metrics"),
    "precision": _precisions,
}
