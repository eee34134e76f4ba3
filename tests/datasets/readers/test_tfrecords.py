"""TFRecords and the examples in them; see test_tensorflow_records as well."""

import contextlib
import gzip
import struct
from typing import Any

import numpy as np
import pytest
from PIL import Image

from modeldyno.core.errors import DatasetUnreadable
from modeldyno.datasets.readers.crc32c import crc32c
from modeldyno.datasets.readers.image_records import COCORecord, ImageRecord, VOCRecord
from modeldyno.datasets.readers.tfrecords import Example, Record, TFRecordDataset
from tests import tf_files as tf
from tests.dataset_files import (
    encode_image,
    example,
    pixels,
    record,
    refuse,
    sample_of,
    write_records,
)


@pytest.mark.parametrize(
    ("content", "expected"),
    [  # RFC 3720, B.4
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (b"123456789", 0xE3069283),
        (b"", 0),
    ],
)
def test_crcs_are_those_of_the_standard(content, expected):
    assert crc32c(content) == expected


@pytest.mark.parametrize("length", [63, 64, 65, 1023, 1024, 1025, 2048, 300_000, 262_144])
def test_the_crc_of_long_content_is_that_of_a_byte_at_a_time(length):
    content = np.random.default_rng(length).integers(0, 256, length, np.uint8).tobytes()
    assert crc32c(content) == _by_bytes(content)


def _by_bytes(content):
    rows = []
    for byte in range(256):
        state = byte
        for _ in range(8):
            state = state >> 1 ^ (0x82F63B78 if state & 1 else 0)
        rows.append(state)
    state = 0xFFFFFFFF
    for byte in content:
        state = rows[(state ^ byte) & 0xFF] ^ state >> 8
    return state ^ 0xFFFFFFFF


def test_records_come_as_they_are_from_a_file_a_folder_or_a_pattern(tmp_path):
    write_records(tmp_path / "a.tfrecord", b"one", b"", b"\x00three\x00")
    write_records(tmp_path / "b.tfrecord", bytes(5000))
    write_records(tmp_path / "c.other", b"x")

    def contents(root):
        return [sample.inputs[0].tobytes() for sample in TFRecordDataset(root=str(root)).open()]

    first = [b"one", b"", b"\x00three\x00"]
    assert contents(tmp_path / "a.tfrecord") == first
    assert contents(tmp_path / "*.tfrecord") == [*first, bytes(5000)]
    assert contents(tmp_path) == [*first, bytes(5000), b"x"]
    sample = sample_of(TFRecordDataset(root=str(tmp_path)))
    assert (sample.inputs[0].dtype, sample.label) == (np.uint8, None)


def test_a_wrong_checksum_is_found_when_its_record_is_read(tmp_path):
    content = bytearray(b"".join(map(record, (b"first" * 50, b"second" * 50))))
    content[-10] ^= 1
    (tmp_path / "x").write_bytes(content)
    samples = TFRecordDataset(root=str(tmp_path / "x")).open()
    assert len(samples) == 2
    assert samples[0].inputs[0].tobytes() == b"first" * 50
    refuse(lambda: samples[1], "record 2 of x", "CRC-32C", error=DatasetUnreadable)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda content: content[:-1], ("record 2 of x", "cut off")),
        (lambda content: content[:25], ("record 2 of x", "cut off")),
        (lambda content: b"\x07" + content[1:], ("record 1 of x", "of its length is wrong")),
        (lambda content: b"something else entirely", ("record 1 of x", "not in the TFRecord")),
        (gzip.compress, ("x", "compressed", "gunzip")),
        (lambda content: b"", ("no samples", "no record in any file")),
        (lambda content: _too_long(), ("record 1 of x", "more than the file")),
    ],
)
def test_damaged_files_are_refused_when_they_are_opened(tmp_path, change, words):
    (tmp_path / "x").write_bytes(change(record(b"first") + record(b"second")))
    refuse(TFRecordDataset(root=str(tmp_path / "x")).open, *words, error=DatasetUnreadable)


def _too_long():
    """A record of a record's length and of the CRC that belongs to it, without its own header."""
    return record(struct.pack("<Q", 1 << 62))[12:] + b"rest of it"


def test_features_of_every_kind_are_read():
    content = example(text=[b"a", b"\xff"], whole=[-1, 0, 1 << 62], float=[0.5, -2.25], none=[])
    one = Example(Record(content, "record 1"))
    assert one.texts("text") == ["a", "�"]
    assert one.numbers("whole", "int64").tolist() == [-1, 0, 1 << 62]
    assert one.numbers("float", "float32").tolist() == [0.5, -2.25]
    assert one.numbers("none", "float32").tolist() == []
    assert "none" not in one
    assert "text" in one
    # Numbers that are not packed, as protobuf allows.
    unpacked = tf.held(3, tf.number(1, 5) + tf.number(1, -6))
    entry = tf.held(1, tf.held(1, "whole") + tf.held(2, unpacked))
    assert Example(Record(tf.held(1, entry), "r")).numbers("whole", "int64").tolist() == [5, -6]


@pytest.mark.parametrize(
    "content", [b"\x0a\xff", b"\x0b", b"\xff" * 11, b"\x08\x01", b"\x0a\x03\x0a\x05a"]
)
def test_what_is_no_example_is_refused(content):
    refuse(
        lambda: Example(Record(content, "record 7 of x")), "record 7 of x", "no tf.train.Example"
    )


@pytest.mark.parametrize("reader", [ImageRecord, COCORecord, VOCRecord])
def test_bytes_that_nobody_wrote_never_end_in_another_error(tmp_path, reader):
    random = np.random.default_rng(0)
    whole = example(image__encoded=encode_image(pixels(4, 4)), image__class__label=3)
    changed = []
    for _ in range(200):
        content = bytearray(whole)
        for place in random.integers(0, len(content), 3):
            content[place] = random.integers(0, 256)
        changed.append(bytes(content))
    path = write_records(tmp_path / "val-0-of-1", *changed)
    samples = reader(root=str(path)).open()
    for number in range(len(samples)):
        with contextlib.suppress(DatasetUnreadable):
            assert samples[number].inputs[0].dtype == np.uint8


# ---------------------------------------------------------------- images


def image_record(label, array, **features):
    return example(image__encoded=encode_image(array), image__class__label=label, **features)


def test_images_with_classes_come_from_all_parts_in_order(tmp_path):
    arrays = [pixels(4, 5, seed) for seed in range(3)]
    write_records(tmp_path / "validation-00001-of-00002", image_record(1000, arrays[2]))
    write_records(
        tmp_path / "validation-00000-of-00002",
        image_record(1, arrays[0]),
        image_record(7, arrays[1], other=[1.0]),
    )
    (tmp_path / "labels.txt").write_text("is not read")
    samples = ImageRecord(root=str(tmp_path)).open()
    assert [sample.label for sample in samples] == [1, 7, 1000]
    for sample, array in zip(samples, arrays, strict=True):
        np.testing.assert_array_equal(sample.inputs[0], array)


@pytest.mark.parametrize(
    ("features", "words"),
    [
        ({}, ("0 values of 'image/class/label'",)),
        ({"image__class__label": [1, 2]}, ("2 values",)),
        ({"image__class__label": [-1]}, ("its class is -1",)),
        ({"image__class__label": [b"cat"]}, ("must be a whole number",)),
        (
            {"image__class__label": 1, "image__encoded": b"x"},
            ("the image in record 1 of a-0-of-1",),
        ),
        ({"image__class__label": 1, "image__encoded": []}, ("0 values of 'image/encoded'",)),
    ],
)
def test_a_record_without_a_proper_label_or_image_is_named(tmp_path, features, words):
    features = {"image__encoded": encode_image(pixels(2, 2))} | features
    write_records(tmp_path / "a-0-of-1", example(**features))
    read = ImageRecord(root=str(tmp_path)).open()
    refuse(lambda: read[0], "record 1 of a-0-of-1", *words, error=DatasetUnreadable)


def test_a_folder_without_records_is_refused(tmp_path):
    refuse(ImageRecord(root=str(tmp_path)).open, "no samples", "*-*-of-*")
    refuse(VOCRecord(root=str(tmp_path)).open, "val-*")
    refuse(ImageRecord().open, "root is empty")
    refuse(ImageRecord(root=str(tmp_path / "none")).open, "There is no")


def objects_record(**changes):
    features = {
        "image__encoded": encode_image(pixels(6, 8)),
        "image__source_id": b"42",
        "image__object__bbox__xmin": [0.0, 0.5],
        "image__object__bbox__ymin": [0.25, 0.0],
        "image__object__bbox__xmax": [0.5, 1.0],
        "image__object__bbox__ymax": [1.0, 0.75],
        "image__object__class__text": [b"cat", b"dog"],
        "image__object__class__label": [17, 18],
    }
    return example(**features | changes)


@pytest.mark.parametrize("reader", [COCORecord, VOCRecord])
def test_objects_have_boxes_names_and_classes(tmp_path, reader):
    path = write_records(
        tmp_path / "val-0.record", objects_record(), objects_record(image__object__is_crowd=[0, 1])
    )
    for root in (path, tmp_path):
        samples = reader(root=str(root)).open()
        label = samples[0].label
        assert label.boxes.tolist() == [[0.25, 0, 1, 0.5], [0, 0.5, 0.75, 1]]
        assert label.boxes.dtype == np.float32
        assert label.names.tolist() == ["cat", "dog"]
        assert label.classes.tolist() == [17, 18]
        assert label.image_id == "42"
        assert [sample.label.crowd.tolist() for sample in samples] == [[False] * 2, [False, True]]


def test_an_image_without_objects_has_an_empty_label(tmp_path):
    sides: dict[str, Any] = {
        f"image__object__bbox__{side}": [] for side in ("xmin", "xmax", "ymin", "ymax")
    }
    classes: dict[str, Any] = {"image__object__class__text": [], "image__object__class__label": []}
    path = write_records(tmp_path / "x", objects_record(**sides, **classes))
    label = sample_of(COCORecord(root=str(path))).label
    assert (label.boxes.shape, label.names.shape, label.classes.shape) == ((0, 4), (0,), (0,))


@pytest.mark.parametrize(
    "changes",
    [
        {"image__object__bbox__xmax": [1.0]},
        {"image__object__class__label": [1], "image__object__class__text": []},
        {"image__object__class__label": [], "image__object__class__text": []},
        {"image__object__bbox__ymin": [b"a", b"b"]},
    ],
)
def test_objects_that_do_not_fit_together_are_refused(tmp_path, changes):
    path = write_records(tmp_path / "x", objects_record(**changes))
    refuse(lambda: sample_of(COCORecord(root=str(path))), "record 1 of x", error=DatasetUnreadable)


def test_a_class_for_each_pixel_is_the_label_of_voc(tmp_path):
    classes = np.array([[0, 1, 255], [20, 3, 0]], np.uint8)
    painted = Image.fromarray(classes)
    painted.putpalette(list(range(255, -1, -1)) * 3)  # VOC's own files have colours
    painted.save(tmp_path / "painted.png")
    key = "image__segmentation__class__encoded"
    image = encode_image(pixels(2, 3))
    write_records(
        tmp_path / "val-00000-of-00001.tfrecord",
        example(image__encoded=image, **{key: encode_image(classes)}),
        example(image__encoded=image, **{key: (tmp_path / "painted.png").read_bytes()}),
        example(image__encoded=image, **{key: encode_image(classes[:, :2])}),
    )
    samples = VOCRecord(root=str(tmp_path)).open()
    np.testing.assert_array_equal(samples[0].label, classes)
    np.testing.assert_array_equal(samples[1].label, classes)
    refuse(lambda: samples[2], "record 3", "different sizes")
