"""``get_possible_values``: names to choose from, as far as they fit what was chosen already."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from modeldyno.api.inc.dictionaries import entries_of, entry_shape
from modeldyno.api.inc.naming import domain_named, framework_named
from modeldyno.api.inc.operations import Operations
from modeldyno.api.inc.parameters import Parameters
from modeldyno.core.dictionaries import Entry, of_domain, of_framework
from modeldyno.core.errors import BadValue
from modeldyno.core.inc_ids import (
    BF16,
    FP32,
    INT8,
    INT8_DYNAMIC,
    INT8_STATIC,
    ONNXRT,
    PYTORCH,
    TENSORFLOW,
)
from modeldyno.store.dictionaries import dictionaries
from modeldyno.store.examples import catalogue

if TYPE_CHECKING:
    from modeldyno.api.inc.surface import Inc

Row = dict[str, Any]
Values = Callable[[Parameters], list[Row]]

_PRECISIONS = {
    TENSORFLOW: (FP32, BF16, INT8),
    ONNXRT: (INT8,),
    PYTORCH: (INT8_STATIC, INT8_DYNAMIC),
}


def operations(_: Inc) -> Operations:
    return {"get_possible_values": _possible_values}


def _possible_values(asked: Parameters) -> Row:
    param = asked.text("param")
    values = _VALUES.get(param)
    if values is None:
        raise BadValue(
            f"There are no values for {param[:100]!r}", fix="Choose one of: " + ", ".join(_VALUES)
        )
    return {param: values(asked.inside("config"))}


def _of_examples(told: str) -> Values:
    """Frameworks, domains and names of the examples that there are."""

    def values(config: Parameters) -> list[Row]:
        framework, domain = config.text("framework", ""), domain_named(config.text("domain", ""))
        wanted = framework_named(framework) if framework else None
        found = [
            {"framework": called.name, "domain": example.domain, "model": example.name}[told]
            for example in catalogue().values()
            if (called := framework_named(example.framework)) in (wanted or called,)
            and example.domain == (domain or example.domain)
        ]
        return _named(dict.fromkeys(found))

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


def _value(entry: Entry) -> Row:
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
    "framework": _of_examples("framework"),
    "domain": _of_examples("domain"),
    "model": _of_examples("model"),
    "dataloader": _entries("dataloaders"),
    "transform": _entries("transforms"),
    "objective": _explained("objective"),
    "strategy": _explained("strategy"),
    "quantization_approach": _approaches,
    "metric": _entries("metrics"),
    "precision": _precisions,
}
