"""The pixels of the variants for TensorFlow are TensorFlow's own."""

import numpy as np
import pytest

from tests.datasets.transforms.samples import image, transformed

pytestmark = [pytest.mark.engine("tensorflow"), pytest.mark.timeout(400)]

TO = [(17, 23), (62, 90), (31, 90), (7, 5), (31, 45)]


@pytest.fixture(scope="module")
def tf():
    import tensorflow

    return tensorflow


def like_tensorflow(name, array, **parameters):
    return transformed(name, array, "tensorflow", **parameters)


@pytest.mark.oracle("Resize", "tf.image.resize")
@pytest.mark.parametrize("size", TO)
@pytest.mark.parametrize(
    ("interpolation", "tolerance"), [("bilinear", 1e-4), ("nearest", 0), ("bicubic", 1e-3)]
)
def test_resize(tf, size, interpolation, tolerance):
    expected = tf.image.resize(image(), size, method=interpolation).numpy()
    resized = like_tensorflow("Resize", image(), size=list(size), interpolation=interpolation)
    np.testing.assert_allclose(resized, expected, atol=tolerance, rtol=0)
    assert interpolation == "nearest" or resized.dtype == np.float32


@pytest.mark.oracle("CropResize", "tf.image.crop_to_bounding_box, tf.image.resize")
def test_crop_resize(tf):
    part = tf.image.crop_to_bounding_box(image(), 5, 8, 20, 30)
    expected = tf.image.resize(part, (12, 50)).numpy()
    resized = like_tensorflow(
        "CropResize", image(), x="8", y="5", width="30", height="20", size="12, 50"
    )
    np.testing.assert_allclose(resized, expected, atol=1e-4, rtol=0)


@pytest.mark.oracle("CropToBoundingBox", "tf.image.crop_to_bounding_box")
def test_crop_to_bounding_box(tf):
    expected = tf.image.crop_to_bounding_box(image(), 3, 9, 20, 11).numpy()
    parameters = {"offset_height": 3, "offset_width": 9, "target_height": 20, "target_width": 11}
    assert (like_tensorflow("CropToBoundingBox", image(), **parameters) == expected).all()


@pytest.mark.oracle("CenterCrop", "tf.image.resize_with_crop_or_pad")
@pytest.mark.parametrize("size", [(20, 20), (30, 44), (31, 45)])
def test_center_crop(tf, size):
    expected = tf.image.resize_with_crop_or_pad(image(), *size).numpy()
    assert (like_tensorflow("CenterCrop", image(), size=list(size)) == expected).all()


@pytest.mark.oracle("RandomHorizontalFlip", "tf.image.flip_left_right")
@pytest.mark.oracle("RandomVerticalFlip", "tf.image.flip_up_down")
@pytest.mark.parametrize(
    ("name", "flip"),
    [("RandomHorizontalFlip", "flip_left_right"), ("RandomVerticalFlip", "flip_up_down")],
)
def test_about_half_of_the_images_are_mirrored(tf, name, flip):
    mirrored = getattr(tf.image, flip)(image()).numpy()
    results = [like_tensorflow(name, image(), seed=seed) for seed in range(200)]
    changed = [(result == mirrored).all() for result in results]
    assert 70 < sum(changed) < 130
    same = [(result == image()).all() for result in results]
    assert [not flipped for flipped in changed] == same


@pytest.mark.oracle("Normalize", "tf.nn.batch_normalization")
def test_normalize(tf):
    mean, std = [120.0, 117.0, 104.0], [58.0, 57.0, 59.0]
    expected = tf.nn.batch_normalization(
        image().astype(np.float32),
        tf.constant(mean),
        tf.constant(np.square(std).astype(np.float32)),
        offset=None,
        scale=None,
        variance_epsilon=0,
    )
    normalized = like_tensorflow("Normalize", image(), mean=str(mean), std=str(std))
    np.testing.assert_allclose(normalized, expected.numpy(), atol=1e-5)
    assert normalized.dtype == np.float32


@pytest.mark.oracle("Rescale", "tf.image.convert_image_dtype")
def test_rescale(tf):
    expected = tf.image.convert_image_dtype(image(), tf.float32).numpy()
    np.testing.assert_allclose(like_tensorflow("Rescale", image()), expected, rtol=1e-6)


@pytest.mark.oracle("Cast", "tf.cast, tf.saturate_cast")
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "uint8", "int32", "int64", "bool"])
def test_cast(tf, dtype):
    values = np.linspace(-300.7, 300.7, 60).astype(np.float32).reshape(4, 5, 3)
    cast = tf.cast if dtype in ("float16", "bool") else tf.saturate_cast
    expected = cast(values, dtype).numpy()
    result = like_tensorflow("Cast", values, dtype=dtype)
    assert result.dtype == expected.dtype
    assert (result == expected).all()


@pytest.mark.oracle("Transpose", "tf.transpose")
def test_transpose(tf):
    expected = tf.transpose(image(), (2, 0, 1)).numpy()
    assert (like_tensorflow("Transpose", image(), perm="2, 0, 1") == expected).all()


@pytest.mark.oracle("QuantizedInput", "tf.cast")
@pytest.mark.parametrize(("dtype", "shift"), [("uint8", 128), ("int8", 0)])
def test_quantized_input(tf, dtype, shift):
    values = np.linspace(-1, 0.99, 60).astype(np.float32).reshape(4, 5, 3)
    expected = tf.cast(values * 127 + shift, dtype).numpy()
    assert (like_tensorflow("QuantizedInput", values, dtype=dtype, scale="127") == expected).all()


def central_crop_and_resize(tf, array):
    part = tf.image.central_crop(tf.image.convert_image_dtype(array, tf.float32), 0.875)
    return tf.image.resize(part, (24, 20))


@pytest.mark.oracle("BilinearImagenet", "tf.image.central_crop, tf.image.resize")
def test_bilinear_imagenet(tf):
    expected = ((central_crop_and_resize(tf, image()) - 0.5) * 2 - [0.1, 0.2, 0.3]) * 0.5
    parameters = {"height": 24, "width": 20, "mean_value": "[0.1, 0.2, 0.3]", "scale": 0.5}
    result = like_tensorflow("BilinearImagenet", image(), **parameters)
    np.testing.assert_allclose(result, expected.numpy(), atol=1e-5)


@pytest.mark.oracle("ResizeCropImagenet", "tf.image.resize, tf.image.resize_with_crop_or_pad")
def test_resize_crop_imagenet(tf):
    resized = tf.image.resize(image(), (40, 58))  # 45 × 40/31 is 58.06
    part = tf.image.resize_with_crop_or_pad(resized, 36, 30)
    expected = (part - [123.68, 116.78, 103.94]) * 0.017
    parameters = {"mean_value": [123.68, 116.78, 103.94], "scale": 0.017, "resize_side": 40}
    result = like_tensorflow("ResizeCropImagenet", image(), height=36, width=30, **parameters)
    np.testing.assert_allclose(result, expected.numpy(), atol=1e-5)


@pytest.mark.oracle("ResizeWithRatio", "tf.image.resize, tf.image.resize_with_pad")
def test_resize_with_ratio(tf):
    expected = tf.image.resize(image(), (62, 90)).numpy()
    np.testing.assert_allclose(
        like_tensorflow("ResizeWithRatio", image(), min_dim=62, max_dim=200), expected, atol=1e-4
    )
    expected = tf.image.resize_with_pad(image(40, 60), 90, 90).numpy()
    padded = like_tensorflow("ResizeWithRatio", image(40, 60), min_dim=80, max_dim=90, padding=True)
    np.testing.assert_allclose(padded, expected, atol=1e-4)


@pytest.mark.oracle("DecodeImage", "tf.io.decode_jpeg, tf.io.encode_png")
def test_decode_image(tf):
    """TensorFlow's quick way to decode JPEG is up to 8 levels off; we are accurate."""
    smooth = tf.image.resize(image(6, 8), (48, 64)).numpy().astype(np.uint8)
    jpeg, png = tf.io.encode_jpeg(smooth).numpy(), tf.io.encode_png(smooth).numpy()
    expected = tf.io.decode_jpeg(jpeg, channels=3, dct_method="INTEGER_ACCURATE").numpy()
    decoded = like_tensorflow("DecodeImage", np.frombuffer(jpeg, np.uint8))
    assert np.abs(decoded.astype(int) - expected).max() <= 1
    assert (like_tensorflow("DecodeImage", np.frombuffer(png, np.uint8)) == smooth).all()


@pytest.mark.oracle("EncodeJpeg", "tf.io.encode_jpeg")
def test_encode_jpeg(tf):
    smooth = tf.image.resize(image(6, 8), (48, 64)).numpy().astype(np.uint8)
    ours, theirs = (
        tf.io.decode_jpeg(content, dct_method="INTEGER_ACCURATE").numpy().astype(int)
        for content in (
            like_tensorflow("EncodeJpeg", smooth).tobytes(),
            tf.io.encode_jpeg(smooth, quality=95).numpy(),
        )
    )
    assert np.abs(ours - theirs).max() <= 2


@pytest.mark.oracle("RandomCrop", "tf.image.crop_to_bounding_box")
def test_a_random_crop_is_a_part_of_the_image_and_every_place_occurs(tf):
    places = set()
    parts = {
        tf.image.crop_to_bounding_box(image(), top, left, 29, 44).numpy().tobytes(): (top, left)
        for top in range(3)
        for left in range(2)
    }
    for seed in range(60):
        places.add(
            parts[like_tensorflow("RandomCrop", image(), seed=seed, size="29, 44").tobytes()]
        )
    assert places == {(top, left) for top in range(3) for left in range(2)}
