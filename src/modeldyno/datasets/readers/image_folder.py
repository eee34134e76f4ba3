"""A folder for each class, with its images: ``root/cat/1.jpg``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from modeldyno.datasets.protocol import Sample
from modeldyno.datasets.readers.files import Folder, open_folder
from modeldyno.datasets.readers.images import is_image, read_image
from modeldyno.datasets.readers.samples import LazySamples, samples_of


@dataclass(frozen=True, kw_only=True)
class ImageFolder:
    """The class is the number of its folder in alphabetical order, from 0; files beside these
    folders are no classes. Images may be in folders of their own within."""

    root: str = ""

    def open(self) -> LazySamples:
        folder = open_folder(self.root, "root")
        images = [
            (name, number)
            for number, category in enumerate(folder.folders())
            for name in _images_below(folder, category)
        ]

        def read(entry: tuple[str, int]) -> Sample:
            name, label = entry
            return Sample((read_image(folder, name),), label)

        return samples_of(
            images,
            read,
            why="there are no folders with images in it",
            fix="Put the images of each class into a folder of its own: root/cat/1.jpg",
        )


def _images_below(folder: Folder, name: str) -> Iterator[str]:
    pending = [name]
    while pending:
        name = pending.pop()
        inside = folder.subfolder(name)
        yield from (f"{name}/{file}" for file in inside.files() if is_image(file))
        # A link to a folder could lead around in a circle; the classes themselves may be links.
        pending += (
            f"{name}/{one}"
            for one in reversed(inside.folders())
            if not (inside.path / one).is_symlink()
        )
