"""A JSONL file: an object on each line, such as {"text": "Fine!", "label": 1}."""

from __future__ import annotations

import json
from array import array
from dataclasses import dataclass
from typing import Any

from modeldyno.datasets.protocol import Sample
from modeldyno.datasets.readers.columns import Columns, Labels, choose_columns, to_array
from modeldyno.datasets.readers.files import damaged, open_file
from modeldyno.datasets.readers.samples import LazySamples, samples_of

_LONGEST_LINE = 1 << 26  # bytes


@dataclass(frozen=True, kw_only=True)
class JsonLines:
    root: str = ""
    inputs: tuple[str, ...] = ()  # keys; none: all but the label
    label: str = ""  # its key; none: y, labels, label or targets

    def open(self) -> LazySamples:
        folder, name = open_file(self.root, "root")
        places = array("Q")
        columns: Columns | None = None
        texts: set[str] = set()
        with folder.open(name) as file:
            place = 0
            while line := file.readline(_LONGEST_LINE):
                if line.strip():
                    content = _parse(line, len(places), name)
                    if columns is None:
                        columns = choose_columns(list(content), self.inputs, self.label, name)
                    label = content.get(columns.label) if columns.label else None
                    if isinstance(label, str):
                        texts.add(label)
                    places.append(place)
                place += len(line)
        labels = Labels(lambda: texts)

        def read(number: int) -> Sample:
            assert columns is not None
            title = _title(number, name)
            with folder.open(name) as file:
                file.seek(places[number])
                content = _parse(file.readline(_LONGEST_LINE), number, name)
            arrays = tuple(to_array(content.get(key), title) for key in columns.inputs)
            if columns.label is None:
                return Sample(arrays)
            return Sample(arrays, labels.convert(content.get(columns.label), title))

        return samples_of(
            range(len(places)),
            read,
            why=f"{name} is empty",
            fix='Write a line for each sample: {"text": "Fine!", "label": 1}',
        )


def _title(number: int, name: str) -> str:
    return f"sample {number + 1} of {name}"


def _parse(line: bytes, number: int, name: str) -> dict[str, Any]:
    try:
        content = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise damaged(_title(number, name), why=f"its line is no JSON: {error}") from error
    if not isinstance(content, dict):
        raise damaged(_title(number, name), why="its line is no object with names: {…}")
    return content
