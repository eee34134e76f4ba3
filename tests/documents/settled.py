"""Where the documents say two things, or one that cannot be: what goes, and who settled it.

A row is an operation (or event), a place in its answer, what is right there, and why. Nothing else
may differ. A key that is missing is ``likeness.ABSENT``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from tests.documents.likeness import Settled

Right = Callable[[Any], bool]


@dataclass(frozen=True)
class Row:
    of: str  # an operation's path, or an event's name; * stands for anything
    at: str  # [n] of lists is left out
    right: Right
    why: str


def text(told: Any) -> bool:
    return isinstance(told, str)


def whole(told: Any) -> bool:
    return isinstance(told, int) and not isinstance(told, bool)


def number(told: Any) -> bool:
    return isinstance(told, (int, float)) and not isinstance(told, bool)


def names(told: Any) -> bool:
    return isinstance(told, list) and all(map(text, told))


def parameters(told: Any) -> bool:
    return isinstance(told, list) and all({"name", "help", "value"} <= set(one) for one in told)


def attributes(told: Any) -> bool:
    wanted = {"name", "attribute_type", "value"}
    return isinstance(told, list) and all(
        wanted == set(one) and all(map(text, one.values())) for one in told
    )


def anything(_: Any) -> bool:
    return True


def or_nothing(right: Right) -> Right:
    return lambda told: told is None or right(told)


OWN_TEXT = "decision 4: names and defaults are the dictionaries', help texts are ours"
NOT_YET = "issue 5: what no version of ours executes yet ends with an honest failure"

ROWS = (
    Row("*", "*.size", number, "the document writes 98 and 98.0 for the same model"),
    Row("*", "*.help", or_nothing(text), OWN_TEXT),
    Row("dict/*", "*.params", parameters, "some have none, which the examples do not show"),
    Row("model/graph", "nodes.attributes", attributes, "some nodes have none"),
    Row("*", "*input_nodes", names, "the document has text once and a list elsewhere"),
    Row("*", "*output_nodes", names, "the document has text once and a list elsewhere"),
    Row("project", "notes", or_nothing(text), "the walk has written some"),
    Row("optimization/edit", "tuning_details.exit_policy.timeout", whole,
        'the document answers "60" for 60; the type that was sent comes back'),
    Row("*optimization*", "*exit_policy.timeout", whole, "contracts §7: the type that was sent"),
    Row("optimization*", "*tuning_details.tuning_history", anything, NOT_YET),
    Row("optimization*", "*config_path", or_nothing(text), NOT_YET),
    Row("optimization*", "*log_path", or_nothing(text), NOT_YET),
    Row("optimization*", "*execution_command", or_nothing(text), NOT_YET),
    Row("optimization*", "*duration", or_nothing(whole), NOT_YET),
    Row("optimization/list", "*optimized_model", or_nothing(anything), NOT_YET),
    Row("optimization*", "*_benchmark_id", or_nothing(whole), "pinned, or not"),
    Row("benchmark_finish", "result.duration", anything,
        "contracts §7: the recorded original has none there"),
    Row("dataset", "transforms", anything, "decision 6: the union of keys; {} or null when none"),
    Row("dataset", "metric", anything, "decision 6: the union of keys; {} or null when none"),
    Row("*", "*dataset.transforms", anything, "decision 6: the union of keys"),
    Row("*", "*dataset.metric", anything, "decision 6: the union of keys"),
)  # fmt: skip


def settled(of: str) -> Settled:
    rows = [row for row in ROWS if fnmatchcase(of, row.of)]

    def look(at: str) -> Right | None:
        plain = re.sub(r"\[\d+\]", "", at)
        return next((row.right for row in rows if fnmatchcase(plain, row.at)), None)

    return look
