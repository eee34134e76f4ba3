"""MNIST and Fashion-MNIST: IDX files, compressed or not, or one .npz file as Keras stores it."""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from modeldyno.datasets.protocol import Sample
from modeldyno.datasets.readers.files import (
    LARGEST_SAMPLE,
    Folder,
    damaged,
    missing,
    open_folder,
    require_no_download,
)
from modeldyno.datasets.readers.inflated import GZIP, Inflated
from modeldyno.datasets.readers.npy import open_npz
from modeldyno.datasets.readers.samples import LazySamples, samples_of

_PLACES = ("", "raw/", "{name}/", "{name}/raw/")  # the last two as torchvision unpacks them
_CLASSES = 10
_IMAGES, _LABELS = b"\x00\x00\x08\x03", b"\x00\x00\x08\x01"  # of bytes, in 3 or 1 dimensions

ReadRow = Callable[[int], bytes]


@dataclass(frozen=True, kw_only=True)
class MNIST:
    root: str = ""
    train: bool = False
    download: bool = False

    def open(self) -> LazySamples:
        return _open("MNIST", self.root, self.train, self.download)


@dataclass(frozen=True, kw_only=True)
class FashionMNIST:
    root: str = ""
    train: bool = False
    download: bool = False

    def open(self) -> LazySamples:
        return _open("FashionMNIST", self.root, self.train, self.download)


def _open(name: str, root: str, train: bool, download: bool) -> LazySamples:
    part = "train" if train else "t10k"
    files = f"{part}-images-idx3-ubyte.gz and {part}-labels-idx1-ubyte.gz"
    require_no_download(download, name, f"Put {files} into a folder")
    folder = open_folder(root, "root")
    archive = _find(folder, name, "mnist.npz")
    if archive is not None:
        return _open_npz(folder, archive, "train" if train else "test")
    found = {}
    for what, number in (("images", 3), ("labels", 1)):
        stems = f"{part}-{what}-idx{number}-ubyte", f"{part}-{what}.idx{number}-ubyte"
        names = [_find(folder, name, stem + end) for stem in stems for end in (".gz", "")]
        found[what] = next(filter(None, names), None)
    images, labels = found["images"], found["labels"]
    if images is None or labels is None:
        raise missing(
            f"{name} is not in the folder",
            why=f"it has neither {files} nor mnist.npz",
            fix="Set root to the folder that has them",
        )
    return _open_idx(folder, images, labels)


def _find(folder: Folder, dataset: str, file: str) -> str | None:
    paths = [place.format(name=dataset) + file for place in _PLACES]
    return next((path for path in paths if folder.has(path)), None)


def _open_npz(folder: Folder, name: str, part: str) -> LazySamples:
    arrays = open_npz(folder, name)
    images, labels = arrays.get(f"x_{part}"), arrays.get(f"y_{part}")
    if images is None or labels is None:
        raise damaged(name, why=f"it has no x_{part} and y_{part}", fix="Use mnist.npz of Keras")
    is_right = images.dtype == np.uint8 and len(images.shape) == 3 and labels.dtype.kind in "iu"
    if not is_right or labels.shape != images.shape[:1]:
        raise damaged(
            name,
            why="its images must be bytes (uint8) in three dimensions, with an integer for each as "
            f"label; they are {images.dtype} {images.shape} and {labels.dtype} {labels.shape}",
        )

    def read(number: int) -> Sample:
        label = _require_class(int(labels[number]), number, name)
        return Sample((images[number][..., None],), label)

    return _samples(len(images), read)


def _open_idx(folder: Folder, images: str, labels: str) -> LazySamples:
    count, height, width, read_image = _open_idx_file(folder, images, _IMAGES)
    label_count, _, _, read_label = _open_idx_file(folder, labels, _LABELS)
    if count != label_count:
        raise damaged(
            labels,
            why=f"it has {label_count} labels for {count} images in {images}",
            fix="Use the two files that belong together",
        )

    def read(number: int) -> Sample:
        pixels = np.frombuffer(bytearray(read_image(number)), np.uint8).reshape(height, width, 1)
        label = _require_class(read_label(number)[0], number, labels)
        return Sample((pixels,), label)

    return _samples(count, read)


def _open_idx_file(folder: Folder, name: str, magic: bytes) -> tuple[int, int, int, ReadRow]:
    """How many, their height and width, and what reads one."""
    inflated = Inflated(folder, name, 0, GZIP, None) if name.endswith(".gz") else None

    def read(start: int, size: int) -> bytes:
        try:
            if inflated is not None:
                content = inflated.read(start, size)
            else:
                with folder.open(name) as file:
                    file.seek(start)
                    content = file.read(size)
        except (OSError, ValueError, zlib.error) as error:
            raise damaged(name, why=str(error)) from error
        if len(content) < size:
            raise damaged(name, why="the file was cut off")
        return content

    dimensions = magic[3]
    header = read(0, 4 + 4 * dimensions)
    if header[:4] != magic:
        raise damaged(name, why="it does not begin as an IDX file of bytes does")
    count, height, width = (*struct.unpack(f">{dimensions}I", header[4:]), 1, 1)[:3]
    size, start = height * width, len(header)
    if not 0 < size <= LARGEST_SAMPLE:
        raise damaged(name, why=f"its images are {height} × {width}")
    if inflated is None:
        with folder.open(name) as file:
            if os.fstat(file.fileno()).st_size < start + count * size:
                raise damaged(name, why="the file was cut off")
    return count, height, width, lambda number: read(start + number * size, size)


def _require_class(label: int, number: int, name: str) -> int:
    if not 0 <= label < _CLASSES:
        raise damaged(
            f"label {number + 1} of {name}",
            why=f"it is {label}, and the classes are 0 to {_CLASSES - 1}",
        )
    return label


def _samples(count: int, read: Callable[[int], Sample]) -> LazySamples:
    return samples_of(
        range(count), read, why="its files hold no images", fix="Copy or download them again"
    )
