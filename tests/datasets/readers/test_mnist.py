"""MNIST in each of its forms, and files that do not belong together."""

import gzip
import struct
import tracemalloc

import numpy as np
import pytest

from modeldyno.core.errors import BadValue, DatasetUnreadable
from modeldyno.datasets.readers.mnist import MNIST, FashionMNIST
from tests.dataset_files import refuse

IMAGES = np.random.default_rng(0).integers(0, 256, (30, 28, 28), np.uint8)
LABELS = np.arange(30, dtype=np.uint8) % 10


def idx(array):
    """As yann.lecun.com/exdb/mnist describes it."""
    return (
        bytes((0, 0, 8, array.ndim))
        + struct.pack(f">{array.ndim}I", *array.shape)
        + array.tobytes()
    )


def write_idx(folder, images=IMAGES, labels=LABELS, part="t10k", end=".gz", join="-"):
    folder.mkdir(parents=True, exist_ok=True)
    pack = gzip.compress if end else bytes
    (folder / f"{part}-images{join}idx3-ubyte{end}").write_bytes(pack(idx(images)))
    (folder / f"{part}-labels{join}idx1-ubyte{end}").write_bytes(pack(idx(labels)))


def require_all(samples, images=IMAGES, labels=LABELS):
    assert len(samples) == len(images)
    for number in [*range(len(images)), 0, len(images) - 1]:  # forwards, and back
        np.testing.assert_array_equal(samples[number].inputs[0], images[number][..., None])
        assert samples[number].label == labels[number]
    assert type(samples[0].label) is int
    with pytest.raises(IndexError):
        samples[len(images)]


@pytest.mark.parametrize("end", [".gz", ""])
@pytest.mark.parametrize("join", ["-", "."])
@pytest.mark.parametrize("place", ["", "raw", "{name}/raw"])
@pytest.mark.parametrize("reader", [MNIST, FashionMNIST])
@pytest.mark.oracle("MNIST", "IDX files by hand")
@pytest.mark.oracle("FashionMNIST", "IDX files by hand")
def test_idx_files_compressed_or_not(tmp_path, reader, place, join, end):
    write_idx(tmp_path / place.format(name=reader.__name__), end=end, join=join)
    require_all(reader(root=str(tmp_path)).open())


def test_the_part_for_training_is_another_file(tmp_path):
    write_idx(tmp_path)
    write_idx(tmp_path, IMAGES[:7], LABELS[:7], "train")
    require_all(MNIST(root=str(tmp_path), train=True).open(), IMAGES[:7])
    require_all(MNIST(root=str(tmp_path)).open())


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.oracle("MNIST", "arrays that numpy.savez wrote")
def test_the_archive_of_keras(tmp_path, save):
    save(
        tmp_path / "mnist.npz",
        x_train=IMAGES[:5],
        y_train=LABELS[:5],
        x_test=IMAGES,
        y_test=LABELS,
    )
    require_all(MNIST(root=str(tmp_path)).open())
    require_all(MNIST(root=str(tmp_path), train=True).open(), IMAGES[:5])


def test_nothing_is_downloaded(tmp_path):
    reader = MNIST(root=str(tmp_path), download=True)
    refuse(
        reader.open, "cannot be downloaded", "never fetches", "download to false", error=BadValue
    )
    refuse(MNIST(root=str(tmp_path)).open, "not in the folder", "t10k-images-idx3-ubyte.gz")


def test_a_label_out_of_range_is_named(tmp_path):
    labels = LABELS.copy()
    labels[4] = 10
    write_idx(tmp_path, labels=labels)
    samples = MNIST(root=str(tmp_path)).open()
    assert samples[3].label == 3
    refuse(lambda: samples[4], "label 5 of t10k-labels", "it is 10", error=DatasetUnreadable)


@pytest.mark.parametrize("end", [".gz", ""])
def test_files_that_are_cut_off_or_of_another_kind_are_refused(tmp_path, end):
    write_idx(tmp_path, end=end)
    path = tmp_path / f"t10k-images-idx3-ubyte{end}"
    whole = path.read_bytes()

    def read_all():
        for number in range(30):
            MNIST(root=str(tmp_path)).open()[number]

    read_all()
    for content in (whole[: len(whole) // 2], whole[:3], b"", b"<html>not found</html>"):
        path.write_bytes(content)
        refuse(read_all, path.name, error=DatasetUnreadable)
    path.write_bytes(gzip.compress(idx(LABELS)) if end else idx(LABELS))
    refuse(read_all, path.name, "IDX", error=DatasetUnreadable)


def test_labels_for_other_images_are_refused(tmp_path):
    write_idx(tmp_path, labels=LABELS[:-1])
    refuse(MNIST(root=str(tmp_path)).open, "29 labels for 30 images")
    write_idx(tmp_path, IMAGES[:0], LABELS[:0])
    refuse(MNIST(root=str(tmp_path)).open, "no samples")


def test_archives_of_the_wrong_type_are_refused(tmp_path):
    def save(**arrays):
        np.savez(tmp_path / "mnist.npz", **arrays)
        return MNIST(root=str(tmp_path)).open

    refuse(save(x_test=IMAGES.astype("float32"), y_test=LABELS), "bytes (uint8)", "float32")
    refuse(save(x_test=IMAGES, y_test=LABELS[:-1]), "(29,)")
    refuse(save(x_test=IMAGES, y_test=LABELS.astype(object)), "Python objects")
    refuse(save(x=IMAGES), "no x_test and y_test")


def test_a_bomb_in_a_compressed_file_costs_no_memory(tmp_path):
    """60 MB of zeros behind a header that says 30 images are neither needed nor read."""
    write_idx(tmp_path)
    (tmp_path / "t10k-images-idx3-ubyte.gz").write_bytes(
        gzip.compress(idx(IMAGES) + bytes(60 << 20))
    )
    samples = MNIST(root=str(tmp_path)).open()
    tracemalloc.start()
    require_all(samples)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 << 20
