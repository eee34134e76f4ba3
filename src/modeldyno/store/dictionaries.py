"""The dictionaries that come with the package, ``dictionaries.json``: read when first needed."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from modeldyno.core.dictionaries import (
    Dictionaries,
    DictionaryEntry,
    DictionaryName,
    Parameter,
    Preset,
)

FILE = Path(__file__).with_name("dictionaries.json")

Json = dict[str, Any]


@cache
def dictionaries(path: Path = FILE) -> Dictionaries:
    told = json.loads(path.read_text(encoding="utf-8"))
    return Dictionaries(
        dataloaders=_entries(told, "dataloader"),
        transforms=_entries(told, "transform"),
        metrics=_entries(told, "metric"),
        presets=tuple(
            Preset(**preset | {"transforms": tuple(preset["transforms"])})
            for preset in told["presets"]
        ),
        values=told["values"],
        types={
            group: {name: about["type"] for name, about in known.items()}
            for group, known in told["parameters"].items()
        },
    )


def _entries(told: Json, group: DictionaryName) -> tuple[DictionaryEntry, ...]:
    helps, about = told["help"][f"{group}s"], told["parameters"][group]
    return tuple(
        DictionaryEntry(
            id=row["id"],
            name=row["name"],
            framework=row["framework"],
            help=helps[row["name"]],
            params=tuple(_parameter(about, row["name"], param) for param in row["params"]),
            domains=tuple(row["domains"]) if "domains" in row else None,
            show_dataset_location=row.get("show_dataset_location"),
        )
        for row in told[f"{group}s"]
    )


def _parameter(about: Json, owner: str, told: Json) -> Parameter:
    known = about.get(f"{owner}.{told['name']}") or about[told["name"]]
    return Parameter(
        name=told["name"],
        type=known["type"],
        help=known["help"],
        value=told["value"],
        label=told.get("label"),
        params=tuple(_parameter(about, owner, part) for part in told.get("params", ())),
    )
