"""The dictionaries in the package, ``dictionaries.json``: read when first needed."""

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
def read_dictionaries(path: Path = FILE) -> Dictionaries:
    content = json.loads(path.read_text(encoding="utf-8"))
    return Dictionaries(
        dataloaders=_parse_entries(content, "dataloader"),
        transforms=_parse_entries(content, "transform"),
        metrics=_parse_entries(content, "metric"),
        presets=tuple(
            Preset(**preset | {"transforms": tuple(preset["transforms"])})
            for preset in content["presets"]
        ),
        values=content["values"],
        types={
            group: {name: about["type"] for name, about in parameters.items()}
            for group, parameters in content["parameters"].items()
        },
    )


def _parse_entries(content: Json, group: DictionaryName) -> tuple[DictionaryEntry, ...]:
    helps, about = content["help"][f"{group}s"], content["parameters"][group]
    return tuple(
        DictionaryEntry(
            id=row["id"],
            name=row["name"],
            framework=row["framework"],
            help=helps[row["name"]],
            params=tuple(_parse_parameter(about, row["name"], param) for param in row["params"]),
            domains=tuple(row["domains"]) if "domains" in row else None,
            show_dataset_location=row.get("show_dataset_location"),
        )
        for row in content[f"{group}s"]
    )


def _parse_parameter(about: Json, owner: str, record: Json) -> Parameter:
    facts = about.get(f"{owner}.{record['name']}") or about[record["name"]]
    return Parameter(
        name=record["name"],
        type=facts["type"],
        help=facts["help"],
        value=record["value"],
        label=record.get("label"),
        params=tuple(_parse_parameter(about, owner, part) for part in record.get("params", ())),
    )
