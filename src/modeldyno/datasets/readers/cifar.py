"""CIFAR-10 and CIFAR-100: binary files, or the batches that are Python pickles.

These pickles are read by a machine that knows arrays of bytes and nothing else.
"""

from __future__ import annotations

import io
import os
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from modeldyno.core.errors import DatasetUnreadable
from modeldyno.core.visible import visible
from modeldyno.datasets.protocol import Sample
from modeldyno.datasets.readers.files import (
    Folder,
    damaged,
    missing,
    open_folder,
    require_no_download,
)
from modeldyno.datasets.readers.samples import LazySamples, samples_of

Array = np.ndarray[Any, Any]

_SHAPE = (3, 32, 32)  # channels first, in both kinds of files
_PIXELS = 3 * 32 * 32
_LONGEST_PICKLE = 1 << 28  # bytes; the longest of CIFAR has 154 MB


@dataclass(frozen=True)
class _Kind:
    name: str
    folders: tuple[str, ...]  # that its archives unpack to
    test: tuple[str, ...]
    train: tuple[str, ...]
    binary_suffix: str
    label_bytes: int  # of which the last is the class
    labels: str  # their key in a pickle
    classes: int


_CIFAR10 = _Kind(
    "CIFAR10",
    ("cifar-10-batches-bin", "cifar-10-batches-py"),
    ("test_batch",),
    tuple(f"data_batch_{number}" for number in range(1, 6)),
    ".bin",
    1,
    "labels",
    10,
)
_CIFAR100 = _Kind(
    "CIFAR100", ("cifar-100-binary", "cifar-100-python"), ("test",), ("train",), ".bin", 2,
    "fine_labels", 100,
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class CIFAR10:
    root: str = ""
    train: bool = False
    download: bool = False

    def open(self) -> LazySamples:
        return _open(_CIFAR10, self.root, self.train, self.download)


@dataclass(frozen=True, kw_only=True)
class CIFAR100:
    """Labels are the 100 classes, not their 20 groups."""

    root: str = ""
    train: bool = False
    download: bool = False

    def open(self) -> LazySamples:
        return _open(_CIFAR100, self.root, self.train, self.download)


@dataclass(frozen=True)
class _Batches:
    """The entries of several batches one after the other: (batch, number within)."""

    sizes: Sequence[int]

    def __len__(self) -> int:
        return sum(self.sizes)

    def __getitem__(self, number: int) -> tuple[int, int]:
        number = range(len(self))[number]
        for batch, size in enumerate(self.sizes):
            if number < size:
                return batch, number
            number -= size
        raise IndexError(number)


def _open(kind: _Kind, root: str, train: bool, download: bool) -> LazySamples:
    stems = kind.train if train else kind.test
    binary = [stem + kind.binary_suffix for stem in stems]
    require_no_download(download, kind.name, f"Unpack its binary version ({', '.join(binary)})")
    top = open_folder(root, "root")
    for names, open_batches in ((binary, _open_binary), (stems, _open_pickles)):
        for place in ("", *kind.folders):
            paths = [f"{place}/{name}" if place else name for name in names]
            if all(map(top.has, paths)):
                return open_batches(kind, top, paths)
    raise missing(
        f"{kind.name} is not in the folder",
        why=f"it has neither {', '.join(binary)} nor {', '.join(stems)}",
        fix="Set root to the folder that has them",
    )


def _open_binary(kind: _Kind, folder: Folder, paths: list[str]) -> LazySamples:
    record = kind.label_bytes + _PIXELS
    sizes = []
    for path in paths:
        with folder.open(path) as file:
            size = os.fstat(file.fileno()).st_size
        if size % record:
            raise damaged(path, why=f"its {size} bytes are not records of {record}: it was cut off")
        sizes.append(size // record)

    def read(entry: tuple[int, int]) -> Sample:
        batch, number = entry
        with folder.open(paths[batch]) as file:
            file.seek(number * record)
            content = file.read(record)
        if len(content) < record:
            raise damaged(paths[batch], why="the file was cut off")
        label = _require_class(kind, content[kind.label_bytes - 1], number, paths[batch])
        return Sample((_to_image(np.frombuffer(content, np.uint8)[kind.label_bytes :]),), label)

    return _samples(_Batches(sizes), read)


def _open_pickles(kind: _Kind, folder: Folder, paths: list[str]) -> LazySamples:
    """One batch after the other is loaded to count its images, which is all that it is made of."""
    batches = [_unpickle_batch(kind, folder, path) for path in paths]

    def read(entry: tuple[int, int]) -> Sample:
        batch, number = entry
        pixels, labels = batches[batch]
        label = _require_class(kind, labels[number], number, paths[batch])
        return Sample((_to_image(pixels[number]),), label)

    return _samples(_Batches([len(pixels) for pixels, _ in batches]), read)


def _samples(entries: _Batches, read: Callable[[Any], Sample]) -> LazySamples:
    return samples_of(
        entries, read, why="its files hold no images", fix="Copy or download them again"
    )


def _to_image(pixels: Array) -> Array:
    return np.ascontiguousarray(pixels.reshape(_SHAPE).transpose(1, 2, 0))


def _require_class(kind: _Kind, label: int, number: int, path: str) -> int:
    if not 0 <= label < kind.classes:
        raise damaged(
            f"image {number + 1} of {path}",
            why=f"its class is {label}, and {kind.name} has 0 to {kind.classes - 1}",
        )
    return label


# ---------------------------------------------------------------- pickles


def _unpickle_batch(kind: _Kind, folder: Folder, path: str) -> tuple[Array, list[int]]:
    with folder.open(path) as file:
        content = file.read(_LONGEST_PICKLE + 1)
    if len(content) > _LONGEST_PICKLE:
        raise damaged(path, why=f"it has more than {_LONGEST_PICKLE >> 20} MiB")
    try:
        batch = _ArrayUnpickler(content).load()
    except _Forbidden as error:
        raise DatasetUnreadable(
            f"{path} is no batch of {kind.name}",
            why=f"loading it would run {visible(str(error))[:200]}; nothing of it was run",
            fix=f"Do not load it with anything else; get {kind.name} from its makers, "
            "best as binary files",
        ) from error
    # A damaged pickle can raise whatever the calls in it raise.
    except Exception as error:
        raise damaged(path, why=f"it is a damaged pickle: {visible(str(error))[:200]}") from error
    values = {_to_text(key): value for key, value in _items(batch)}
    pixels, labels = values.get("data"), values.get(kind.labels)
    array = pixels.array if isinstance(pixels, _Array) else None
    if array is None or array.ndim != 2 or array.shape[1] != _PIXELS:
        raise damaged(path, why=f"its data must be bytes (uint8) in rows of {_PIXELS}")
    if not isinstance(labels, list) or not all(type(label) is int for label in labels):
        raise damaged(path, why=f"it has no list of numbers named {kind.labels}")
    if len(labels) != len(array):
        raise damaged(path, why=f"it has {len(labels)} labels for {len(array)} images")
    return array, labels


def _items(batch: Any) -> Any:
    return batch.items() if type(batch) is dict else ()


def _to_text(key: Any) -> str:
    return key.decode("latin-1") if isinstance(key, bytes) else str(key)


class _Forbidden(Exception):
    """A name that a batch has no need of."""


class _ArrayUnpickler(pickle.Unpickler):
    """Whatever a pickle calls is ours: not even NumPy sees anything of it."""

    def __init__(self, content: bytes) -> None:
        # Python 2 wrote these files; what was text there may be bytes.
        super().__init__(io.BytesIO(content), encoding="bytes")

    def find_class(self, module: str, name: str) -> Any:
        make = _ALLOWED.get((module, name))
        if make is None:
            raise _Forbidden(f"{module}.{name}")
        return _Stub(make)

    def persistent_load(self, key: Any) -> Any:
        raise _Forbidden(f"persistent object {key!r}")


class _Stub:
    """Stands for a function; a pickle can call it, and change nothing else in this process."""

    __slots__ = ("_make",)

    def __init__(self, make: Callable[..., Any]) -> None:
        self._make = make

    def __call__(self, *arguments: Any) -> Any:
        return self._make(*arguments)


@dataclass
class _Type:
    name: str

    def __setstate__(self, state: Any) -> None:
        """Byte order and the like: one byte has none."""


@dataclass
class _Array:
    array: Array | None = field(default=None)

    def __setstate__(self, state: Any) -> None:
        _, shape, dtype, is_fortran, content = state
        self.array = _make_array(content, dtype, shape, "F" if is_fortran else "C").array


def _make_array(content: Any, dtype: Any, shape: Any, order: Any) -> _Array:
    if isinstance(content, str):
        content = content.encode("latin-1")
    if not isinstance(content, bytes | bytearray) or not isinstance(dtype, _Type):
        raise TypeError("an array whose content is no bytes")
    if dtype.name not in ("u1", "uint8", "|u1"):
        raise TypeError(f"an array of {dtype.name}, not of bytes (uint8)")
    return _Array(np.frombuffer(content, np.uint8).reshape(shape, order=_to_text(order)))  # type: ignore[call-overload]


def _make_type(name: Any, *flags: Any) -> _Type:
    return _Type(_to_text(name))


def _encode(text: Any, encoding: Any) -> bytes:
    if not isinstance(text, str) or _to_text(encoding) not in ("latin1", "latin-1"):
        raise TypeError("an encoding that NumPy does not use")
    return text.encode("latin-1")


def _refuse_call(*arguments: Any) -> Any:
    raise TypeError("a call of numpy.ndarray")


_ALLOWED: dict[tuple[str, str], Callable[..., Any]] = {
    ("_codecs", "encode"): _encode,
    ("numpy", "dtype"): _make_type,
    ("numpy", "ndarray"): _refuse_call,  # named as the type to rebuild, never called
    **{
        (f"numpy.{core}.multiarray", "_reconstruct"): lambda *arguments: _Array()
        for core in ("core", "_core")
    },
    **{(f"numpy.{core}.numeric", "_frombuffer"): _make_array for core in ("core", "_core")},
}
