"""Parquet files, with pyarrow: a file, or a folder of them. Images may be in their cells."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass
from typing import Any

import numpy as np

from modeldyno.datasets.protocol import Sample
from modeldyno.datasets.readers.columns import Labels, choose_columns, to_array
from modeldyno.datasets.readers.files import LARGEST_SAMPLE, Folder, damaged, open_location
from modeldyno.datasets.readers.packages import require_package
from modeldyno.datasets.readers.samples import LazySamples, samples_of


@dataclass(frozen=True, kw_only=True)
class Parquet:
    """Several columns of numbers are one input, a vector; any other column is an input."""

    root: str = ""
    inputs: tuple[str, ...] = ()  # names of columns; none: all but the label
    label: str = ""  # the name of its column; none: y, labels, label or targets

    def open(self) -> LazySamples:
        folder, name = open_location(self.root, "root")
        names = fnmatch.filter(folder.files(), "*.parquet") if name is None else [name]
        groups = _Groups(folder, names)
        columns = choose_columns(groups.columns, self.inputs, self.label, ", ".join(names[:1]))
        wanted = [*columns.inputs, *([columns.label] if columns.label else [])]
        labels = Labels(lambda: groups.distinct(columns.label) if columns.label else ())

        def read(number: int) -> Sample:
            row, title = groups.row(number, wanted)
            values = [row[column] for column in columns.inputs]
            if len(values) > 1 and all(isinstance(value, int | float) for value in values):
                arrays: tuple[Any, ...] = (np.array(values, np.float32),)
            else:
                arrays = tuple(to_array(value, title) for value in values)
            label = labels.convert(row[columns.label], title) if columns.label else None
            return Sample(arrays, label)

        return samples_of(
            range(len(groups)),
            read,
            why="there is no row in any file named *.parquet",
            fix="Set root to a Parquet file, or to their folder",
        )


class _Groups:
    """Rows of several files; the group of rows that was read last stays in memory."""

    def __init__(self, folder: Folder, names: list[str]) -> None:
        self._folder, self._names = folder, names
        self._groups: list[tuple[int, int, int]] = []  # file, group within it, rows
        self._loaded: tuple[int, Any] = (-1, None)
        self.columns: list[str] = []
        for file, name in enumerate(names):
            with self._open(name) as parquet:
                columns = parquet.schema_arrow.names
                if file and columns != self.columns:
                    raise damaged(name, why=f"its columns are not those of {names[0]}")
                self.columns = columns
                for group in range(parquet.metadata.num_row_groups):
                    about = parquet.metadata.row_group(group)
                    if about.total_byte_size > LARGEST_SAMPLE:
                        raise damaged(
                            name,
                            why=f"a group of its rows has {about.total_byte_size >> 20} MiB, "
                            "and groups are read as a whole",
                            fix="Write it again with a smaller row_group_size",
                        )
                    self._groups.append((file, group, about.num_rows))

    def __len__(self) -> int:
        return sum(rows for *_, rows in self._groups)

    def row(self, number: int, columns: list[str]) -> tuple[dict[str, Any], str]:
        title, rest = f"row {number + 1}", number
        for index, (file, group, rows) in enumerate(self._groups):
            if rest < rows:
                title = f"{title} of {self._names[file]}"
                if self._loaded[0] != index:
                    self._loaded = (index, self._read(self._names[file], group, columns))
                table = self._loaded[1]
                return {name: table[name][rest].as_py() for name in columns}, title
            rest -= rows
        raise IndexError(number)

    def distinct(self, column: str) -> set[Any]:
        """Of a column of text; others say nothing about classes."""
        values: set[Any] = set()
        for file, group, _ in self._groups:
            table = self._read(self._names[file], group, [column])
            if table[column].type not in (self._arrow.string(), self._arrow.large_string()):
                return set()
            values.update(table[column].unique().to_pylist())
        return values

    def _read(self, name: str, group: int, columns: list[str]) -> Any:
        with self._open(name) as parquet:
            try:
                return parquet.read_row_group(group, columns=columns, use_threads=False)
            except (OSError, ValueError, self._arrow.ArrowException) as error:
                raise damaged(name, why=str(error)) from error

    def _open(self, name: str) -> Any:
        self._arrow = require_package("pyarrow", "Reading Parquet")
        parquet = require_package("pyarrow.parquet", "Reading Parquet")
        file = self._folder.open(name)
        try:
            return _Closing(parquet.ParquetFile(file), file)
        except (OSError, ValueError, self._arrow.ArrowException) as error:
            file.close()
            raise damaged(name, why=f"it is no Parquet file: {error}") from error


class _Closing:
    """A Parquet file that closes what it reads from."""

    def __init__(self, parquet: Any, file: Any) -> None:
        self._parquet, self._file = parquet, file

    def __enter__(self) -> Any:
        return self._parquet

    def __exit__(self, *error: object) -> None:
        self._parquet.close()
        self._file.close()
