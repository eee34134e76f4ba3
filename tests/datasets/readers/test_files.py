"""No reader follows a link out of the dataset's folder, whatever its files are named."""

import numpy as np
import pytest

from modeldyno.core.errors import DatasetUnreadable
from modeldyno.datasets.readers.arrays import Arrays
from modeldyno.datasets.readers.cifar import CIFAR10, CIFAR100
from modeldyno.datasets.readers.coco import COCONpy, COCORaw
from modeldyno.datasets.readers.files import Folder
from modeldyno.datasets.readers.image_records import COCORecord, ImageRecord, VOCRecord
from modeldyno.datasets.readers.labelled_images import LabelledImages
from modeldyno.datasets.readers.mnist import MNIST, FashionMNIST
from modeldyno.datasets.readers.parquet import Parquet
from modeldyno.datasets.readers.tfrecords import TFRecordDataset
from tests.dataset_files import refuse, write_records


@pytest.mark.parametrize(
    ("reader", "name"),
    [
        (MNIST, "mnist.npz"),
        (FashionMNIST, "t10k-images-idx3-ubyte.gz"),
        (CIFAR10, "test_batch"),
        (CIFAR100, "test.bin"),
        (ImageRecord, "a-0-of-1"),
        (COCORecord, "a.record"),
        (VOCRecord, "val-0"),
        (TFRecordDataset, "a.tfrecord"),
        (Arrays, "x.npy"),
        (Parquet, "a.parquet"),
        (COCORaw, "annotations/instances_val2017.json"),
        (COCONpy, "annotations/instances_val2017.json"),
        (LabelledImages, "labels.csv"),
    ],
)
def test_a_link_out_of_the_folder_is_refused(tmp_path, reader, name):
    (tmp_path / "secret").write_bytes(b"private")
    link = tmp_path / "root" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "secret")
    read = reader(root=str(tmp_path / "root")).open
    refuse(read, "leads out of the dataset's folder", "nothing outside", error=DatasetUnreadable)


def test_a_file_that_is_named_itself_may_be_a_link(tmp_path):
    """Caches keep files elsewhere, and whoever names one wants it."""
    (tmp_path / "cache").mkdir()
    np.save(tmp_path / "cache/0a1b.npy", np.arange(3))
    (tmp_path / "x.npy").symlink_to(tmp_path / "cache/0a1b.npy")
    assert len(Arrays(root=str(tmp_path / "x.npy")).open()) == 3
    write_records(tmp_path / "cache/records", b"one")
    (tmp_path / "a.tfrecord").symlink_to(tmp_path / "cache/records")
    assert len(TFRecordDataset(root=str(tmp_path / "a.tfrecord")).open()) == 1


@pytest.mark.parametrize(
    "name", ["../secret", "/etc/passwd", "a/../../secret", "a\0b", "x/" * 3000]
)
def test_names_that_lead_outside_or_nowhere_are_refused(tmp_path, name):
    (tmp_path / "secret").write_text("private")
    (tmp_path / "root").mkdir()
    refuse(lambda: Folder(tmp_path / "root").read_text(name), error=DatasetUnreadable)


def test_text_that_is_not_utf_8_is_refused(tmp_path):
    (tmp_path / "x.txt").write_bytes("Grüße".encode("latin-1"))
    refuse(lambda: Folder(tmp_path).read_text("x.txt"), "x.txt", "not text in UTF-8")
