"""A CSV file: a line of names, then a line for each sample."""

from __future__ import annotations

import csv
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

import numpy as np

from modeldyno.datasets.protocol import Sample
from modeldyno.datasets.readers.columns import Labels, choose_columns
from modeldyno.datasets.readers.files import Folder, damaged, open_file
from modeldyno.datasets.readers.samples import LazySamples, samples_of

_DELIMITERS = ",;\t"
_LONGEST_LINE = 1 << 24  # bytes


@dataclass(frozen=True, kw_only=True)
class CsvFile:
    """Columns of numbers are one input, a vector; each column of text is an input of its own."""

    root: str = ""
    inputs: tuple[str, ...] = ()  # names of columns; none: all but the label
    label: str = ""  # the name of its column; none: y, labels, label or targets

    def open(self) -> LazySamples:
        folder, name = open_file(self.root, "root")
        table = open_table(folder, name)
        columns = choose_columns(table.header, self.inputs, self.label, name)
        places = [table.header.index(column) for column in columns.inputs]
        label_place = None if columns.label is None else table.header.index(columns.label)
        labels = Labels(lambda: () if label_place is None else table.column(label_place))
        are_text = bool(table) and not _are_numbers([table.row(0)[place] for place in places])

        def read(number: int) -> Sample:
            row, title = table.row(number), table.title(number)
            values = [row[place] for place in places]
            if are_text:
                arrays = tuple(np.array(value) for value in values)
            elif _are_numbers(values):
                arrays = (np.array([float(value) for value in values], np.float32),)
            else:
                raise damaged(
                    title,
                    why="a value in it is no number, as those of the first row are",
                    fix="Correct it, or choose other inputs",
                )
            label = None if label_place is None else labels.convert(row[label_place], title)
            return Sample(arrays, label)

        return samples_of(
            range(len(table)),
            read,
            why=f"{name} has no line after the names of its columns",
            fix="Write a line for each sample",
        )


def _are_numbers(values: Sequence[str]) -> bool:
    try:
        return all(float(value) is not None for value in values)
    except ValueError:
        return False


@dataclass(frozen=True)
class Table:
    folder: Folder
    name: str
    header: list[str]
    delimiter: str
    places: array[int] = field(default_factory=lambda: array("Q"))  # where each row begins

    def __len__(self) -> int:
        return len(self.places)

    def title(self, number: int) -> str:
        return f"row {number + 1} of {self.name}"

    def row(self, number: int) -> list[str]:
        with self.folder.open(self.name) as file:
            file.seek(self.places[number])
            return next(iter(_Rows(file, self)))

    def column(self, place: int) -> Iterator[str]:
        with self.folder.open(self.name) as file:
            file.seek(self.places[0] if self.places else 0)
            yield from (row[place] for row in _Rows(file, self) if self.places and row)


class _Rows:
    """Rows from where the file is; ``place`` is where the next one begins."""

    def __init__(self, file: BinaryIO, table: Table) -> None:
        self._file, self._table = file, table
        self.place = file.tell()

    def __iter__(self) -> Iterator[list[str]]:
        reader = csv.reader(self._lines(), delimiter=self._table.delimiter)
        try:
            yield from reader
        except (csv.Error, UnicodeDecodeError) as error:
            raise damaged(
                f"line {reader.line_num + 1} of {self._table.name}", why=f"it is no CSV: {error}"
            ) from error

    def _lines(self) -> Iterator[str]:
        while line := self._file.readline(_LONGEST_LINE):
            encoding = "utf-8" if self.place else "utf-8-sig"
            self.place += len(line)
            yield line.decode(encoding)


def open_table(folder: Folder, name: str) -> Table:
    """Finds the rows; raises DatasetUnreadable for the first with too many or too few values."""
    with folder.open(name) as file:
        first = file.readline(_LONGEST_LINE).decode("utf-8-sig", "replace")
        file.seek(0)
        table = Table(folder, name, [], max(_DELIMITERS, key=first.count))
        rows = _Rows(file, table)
        for row in rows:
            table.header.extend(row)
            break
        place = rows.place
    if len(set(table.header)) < len(table.header) or _has_number(table.header):
        raise damaged(
            name,
            why="its first line does not name each column once",
            fix="Add a line of names before the first sample: x1,x2,label",
        )
    with folder.open(name) as file:
        file.seek(place)
        rows = _Rows(file, table)
        for row in rows:
            if row and len(row) != len(table.header):
                raise damaged(
                    table.title(len(table)),
                    why=f"it has {len(row)} values for {len(table.header)} columns",
                    fix="Correct it; put quotes around text with commas",
                )
            if row:
                table.places.append(place)
            place = rows.place
    return table


def _has_number(header: list[str]) -> bool:
    return any(_are_numbers([name]) for name in header)
