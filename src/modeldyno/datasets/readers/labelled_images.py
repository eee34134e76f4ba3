"""A folder of images, and a CSV file with the name and the label of each."""

from __future__ import annotations

from dataclasses import dataclass

from modeldyno.core.errors import DatasetUnreadable
from modeldyno.datasets.protocol import Sample
from modeldyno.datasets.readers.columns import Labels, choose_columns
from modeldyno.datasets.readers.csv_file import open_table
from modeldyno.datasets.readers.files import Folder, damaged, open_folder
from modeldyno.datasets.readers.images import read_image
from modeldyno.datasets.readers.samples import LazySamples, samples_of

_IMAGE_NAMES = ("image", "file_name", "filename", "file", "name", "path")


@dataclass(frozen=True, kw_only=True)
class LabelledImages:
    root: str = ""
    table: str = ""  # the CSV file, below the folder; none: the only one that is there
    image: str = ""  # the column of the images' names; none: image, file_name, file, name or path
    label: str = ""  # the column of the labels; none: y, labels, label or targets

    def open(self) -> LazySamples:
        folder = open_folder(self.root, "root")
        name = self.table or _find_table(folder)
        table = open_table(folder, name)
        usual = next((one for one in _IMAGE_NAMES if one in table.header), None)
        image = self.image or usual or table.header[0]
        columns = choose_columns(table.header, [image], self.label, name)
        if columns.label is None:
            raise damaged(name, why="it has no label", fix="Name the column of the labels: label")
        places = [table.header.index(column) for column in (image, columns.label)]
        labels = Labels(lambda: table.column(places[1]))
        names = list(table.column(places[0]))
        absent = [one for one in names if not folder.has(one)]
        if absent:
            raise damaged(
                name,
                why=f"{len(absent)} of its {len(names)} images are not in the folder, first "
                f"{absent[0]!r}",
                fix="Copy them there, or remove their lines",
            )

        def read(number: int) -> Sample:
            label = labels.convert(table.row(number)[places[1]], table.title(number))
            return Sample((read_image(folder, names[number]),), label)

        return samples_of(
            range(len(table)),
            read,
            why=f"{name} has no line after the names of its columns",
            fix="Write a line for each image: its name and its label",
        )


def _find_table(folder: Folder) -> str:
    names = [name for name in folder.files() if name.lower().endswith(".csv")]
    if len(names) != 1:
        raise DatasetUnreadable(
            "The labels are not known",
            why=f"there are {len(names)} CSV files in the folder, where one is needed",
            fix="Set table to the name of the one with the labels",
        )
    return names[0]
