"""A folder of images, and a list with a line for each: its name and its class."""

from __future__ import annotations

from dataclasses import dataclass

from modeldyno.core.visible import visible
from modeldyno.datasets.protocol import Sample
from modeldyno.datasets.readers.files import Folder, damaged, open_file, open_folder
from modeldyno.datasets.readers.images import read_image
from modeldyno.datasets.readers.samples import LazySamples, samples_of

DEFAULT_LIST = "val.txt"


@dataclass(frozen=True, kw_only=True)
class ImagenetRaw:
    """Without ``image_list`` it is ``val.txt`` of the folder."""

    data_path: str = ""
    image_list: str = ""

    def open(self) -> LazySamples:
        images = open_folder(self.data_path, "data_path")
        if self.image_list:
            folder, name = open_file(self.image_list, "image_list")
        else:
            folder, name = images, DEFAULT_LIST
        entries = _parse_list(folder.read_text(name), name)
        _require_images(images, name, [image for image, _ in entries])

        def read(entry: tuple[str, int]) -> Sample:
            image, label = entry
            return Sample((read_image(images, image),), label)

        return samples_of(
            entries,
            read,
            why=f"{name} has no line with a name and a class",
            fix="Write a line for each image: ILSVRC2012_val_00000001.JPEG 65",
        )


def _parse_list(text: str, name: str) -> list[tuple[str, int]]:
    entries = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        *image, label = line.rsplit(None, 1)  # a name may have spaces
        if not image or not label.isdecimal():
            raise damaged(
                f"line {number} of {name}",
                why="it does not end in a class, a whole number from 0",
                fix="Write the name of the image, a space, and its class",
            )
        entries.append((image[0].strip(), int(label)))
    return entries


def _require_images(folder: Folder, list_name: str, names: list[str]) -> None:
    absent = [name for name in names if not folder.has(name)]
    if absent:
        raise damaged(
            list_name,
            why=f"{len(absent)} of its {len(names)} images are not there, first "
            + visible(absent[0]),
            fix="Copy them into the folder, or remove their lines",
        )
