"""What TensorFlow writes and reads is what our readers read."""

import numpy as np
import pytest

from modeldyno.datasets.readers.image_records import COCORecord, ImageRecord, VOCRecord
from modeldyno.datasets.readers.tfrecords import TFRecordDataset
from tests.dataset_files import encode_image, pixels

pytestmark = [pytest.mark.engine("tensorflow"), pytest.mark.slow, pytest.mark.timeout(400)]


@pytest.fixture(scope="module")
def tf():
    import tensorflow

    return tensorflow


def feature(tf, value):
    value = value if isinstance(value, list) else [value]
    if isinstance(value[0], bytes):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=value))
    if isinstance(value[0], float):
        return tf.train.Feature(float_list=tf.train.FloatList(value=value))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=value))


def write(tf, path, *examples):
    with tf.io.TFRecordWriter(str(path)) as writer:
        for features in examples:
            features = {key: feature(tf, value) for key, value in features.items()}
            message = tf.train.Example(features=tf.train.Features(feature=features))
            writer.write(message.SerializeToString())


@pytest.mark.oracle("TFRecordDataset", "tf.data.TFRecordDataset")
def test_raw_records(tf, tmp_path):
    contents = [bytes(range(256)) * length for length in (0, 1, 5, 500)]
    path = tmp_path / "x.tfrecord"
    with tf.io.TFRecordWriter(str(path)) as writer:
        for content in contents:
            writer.write(content)
    samples = TFRecordDataset(root=str(path)).open()
    assert [sample.inputs[0].tobytes() for sample in samples] == contents
    assert contents == [record.numpy() for record in tf.data.TFRecordDataset(str(path))]


@pytest.mark.parametrize("format", ["JPEG", "PNG"])
@pytest.mark.oracle("ImageRecord", "tf.io.parse_single_example, tf.io.decode_image")
def test_images_with_classes(tf, tmp_path, format):
    smooth = np.linspace(0, 255, 32 * 48 * 3).astype(np.uint8).reshape(32, 48, 3)
    images = [encode_image(array, format) for array in (smooth, pixels(17, 23))]
    path = tmp_path / "validation-00000-of-00001"
    write(
        tf,
        path,
        *({"image/encoded": image, "image/class/label": n + 1} for n, image in enumerate(images)),
    )
    keys = {
        "image/encoded": tf.io.FixedLenFeature([], tf.string),
        "image/class/label": tf.io.FixedLenFeature([], tf.int64),
    }
    samples = ImageRecord(root=str(tmp_path)).open()
    assert len(samples) == 2
    for ours, theirs in zip(samples, tf.data.TFRecordDataset(str(path)), strict=True):
        parsed = tf.io.parse_single_example(theirs, keys)
        decoded = tf.io.decode_image(parsed["image/encoded"], channels=3).numpy()
        assert ours.label == parsed["image/class/label"].numpy()
        # Both decode JPEG with libjpeg-turbo, of different versions and settings.
        difference = np.abs(ours.inputs[0].astype(int) - decoded)
        assert difference.max() == 0 if format == "PNG" else difference.mean() < 3


@pytest.mark.parametrize("reader", [COCORecord, VOCRecord])
@pytest.mark.oracle("COCORecord", "tf.io.parse_single_example")
def test_objects(tf, tmp_path, reader):
    sides = {
        side: np.random.default_rng(1).random(3).tolist()
        for side in ("ymin", "xmin", "ymax", "xmax")
    }
    path = tmp_path / "val-00000-of-00001"
    write(
        tf,
        path,
        {
            "image/encoded": encode_image(pixels(9, 9)),
            "image/source_id": b"139",
            "image/object/class/text": [b"cat", "Ünïcode".encode(), b"dog"],
            "image/object/class/label": [17, -5, 1 << 40],
            **{f"image/object/bbox/{side}": values for side, values in sides.items()},
        },
    )
    label = reader(root=str(tmp_path)).open()[0].label
    record = next(iter(tf.data.TFRecordDataset(str(path))))
    keys = {f"image/object/bbox/{side}": tf.io.VarLenFeature(tf.float32) for side in sides}
    keys |= {"image/object/class/label": tf.io.VarLenFeature(tf.int64)}
    keys |= {"image/object/class/text": tf.io.VarLenFeature(tf.string)}
    parsed = tf.io.parse_single_example(record, keys)
    boxes = [parsed[f"image/object/bbox/{side}"].values.numpy() for side in sides]
    np.testing.assert_array_equal(label.boxes, np.stack(boxes, 1))
    assert label.classes.tolist() == parsed["image/object/class/label"].values.numpy().tolist()
    texts = parsed["image/object/class/text"].values.numpy()
    assert label.names.tolist() == [text.decode() for text in texts]
    assert label.image_id == "139"


@pytest.mark.oracle("VOCRecord", "tf.io.decode_png")
def test_a_class_for_each_pixel(tf, tmp_path):
    classes = np.random.default_rng(0).integers(0, 21, (12, 15), np.uint8)
    encoded = tf.io.encode_png(classes[..., None]).numpy()
    image = {"image/encoded": encode_image(pixels(12, 15))}
    write(tf, tmp_path / "val-0", image | {"image/segmentation/class/encoded": encoded})
    label = VOCRecord(root=str(tmp_path)).open()[0].label
    np.testing.assert_array_equal(label, tf.io.decode_png(encoded, channels=1).numpy()[..., 0])
