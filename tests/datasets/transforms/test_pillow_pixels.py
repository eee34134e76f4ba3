"""The pixels of the variants for ONNX Runtime and PyTorch are Pillow's."""

from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from modeldyno.core.errors import BadValue
from tests.datasets.transforms.samples import image, transformed

METHODS = {
    "bilinear": Image.Resampling.BILINEAR,
    "nearest": Image.Resampling.NEAREST,
    "bicubic": Image.Resampling.BICUBIC,
}


@pytest.mark.oracle("Resize", "PIL.Image.resize")
@pytest.mark.parametrize("interpolation", METHODS)
@pytest.mark.parametrize("framework", ["onnxrt", "PyTorch", ""])
def test_resize(interpolation, framework):
    expected = np.asarray(Image.fromarray(image()).resize((23, 17), METHODS[interpolation]))
    resized = transformed("Resize", image(), framework, size="17, 23", interpolation=interpolation)
    assert resized.dtype == np.uint8
    assert (resized == expected).all()


def test_one_number_is_both_sides():
    assert transformed("Resize", image(), size=20).shape == (20, 20, 3)


def test_numbers_that_are_no_bytes_are_resized_as_such():
    values = image().astype(np.float32) / 7
    bands = [Image.fromarray(values[:, :, band]) for band in range(3)]
    expected = [np.asarray(band.resize((23, 17), METHODS["bilinear"])) for band in bands]
    resized = transformed("Resize", values, size=[17, 23])
    assert (resized == np.stack(expected, axis=2)).all()


def test_a_fourth_channel_does_not_make_others_transparent():
    four = np.concatenate([image(), np.zeros((31, 45, 1), np.uint8)], axis=2)
    resized = transformed("Resize", four, size=[17, 23])
    assert (resized[:, :, :3] == transformed("Resize", image(), size=[17, 23])).all()


def test_grey_images_stay_without_channels():
    assert transformed("Resize", image(channels=0), size=[17, 23]).shape == (17, 23)
    assert transformed("Resize", image(channels=0), "tensorflow", size=[17, 23]).shape == (17, 23)


@pytest.mark.oracle("CropResize", "PIL.Image.resize with a box")
def test_crop_resize():
    part = Image.fromarray(image()).crop((8, 5, 38, 25))
    expected = np.asarray(part.resize((50, 12), METHODS["bilinear"]))
    resized = transformed("CropResize", image(), x=8, y=5, width=30, height=20, size=[12, 50])
    assert (resized == expected).all()


@pytest.mark.oracle("ResizeCropImagenet", "PIL.Image.resize, PIL.Image.crop")
def test_resize_crop_imagenet_has_channels_first_and_divides_by_255():
    resized = Image.fromarray(image()).resize((58, 40), METHODS["bilinear"])
    part = np.asarray(resized.crop((14, 2, 44, 38)), dtype=np.float64) / 255
    expected = (part - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
    result = transformed(
        "ResizeCropImagenet",
        image(),
        height=36,
        width=30,
        resize_side=40,
        mean_value="[0.485, 0.456, 0.406]",
    )
    np.testing.assert_allclose(result, expected.transpose(2, 0, 1), atol=1e-5)
    assert result.dtype == np.float32


def test_a_grey_photograph_gets_three_channels():
    result = transformed("ResizeCropImagenet", image(channels=0), height=9, width=9, resize_side=9)
    assert result.shape == (3, 9, 9)


@pytest.mark.oracle("BilinearImagenet", "PIL.Image.resize")
def test_bilinear_imagenet():
    part = image()[1:30, 2:43].astype(np.float32) / 255  # int(31/16), int(45/16) off each side
    bands = [Image.fromarray(part[:, :, band]) for band in range(3)]
    resized = np.stack(
        [np.asarray(band.resize((20, 24), METHODS["bilinear"])) for band in bands], axis=2
    )
    result = transformed("BilinearImagenet", image(), height=24, width=20)
    np.testing.assert_allclose(result, (resized - 0.5) * 2, atol=1e-6)


@pytest.mark.oracle("AlignImageChannel", "PIL.Image.convert")
def test_align_image_channel():
    grey, colour = image(channels=0), image()
    four = np.concatenate([colour, image(channels=1)], axis=2)
    assert (
        transformed("AlignImageChannel", grey) == np.asarray(Image.fromarray(grey).convert("RGB"))
    ).all()
    assert (transformed("AlignImageChannel", grey[:, :, None]) == np.stack([grey] * 3, 2)).all()
    assert (transformed("AlignImageChannel", four, dim="3") == colour).all()
    assert (
        transformed("AlignImageChannel", colour, dim=1)[:, :, 0]
        == np.asarray(Image.fromarray(colour).convert("L"))
    ).all()
    assert transformed("AlignImageChannel", grey, dim=1).shape == (31, 45, 1)
    assert transformed("AlignImageChannel", colour) is not None
    with pytest.raises(BadValue, match="An image of 2 channels cannot be brought to 3"):
        transformed("AlignImageChannel", image(channels=2))


def test_grey_of_numbers_is_luma():
    values = image().astype(np.float32)
    expected = np.asarray(Image.fromarray(image()).convert("L"), dtype=np.float32)
    assert np.abs(transformed("AlignImageChannel", values, dim=1)[:, :, 0] - expected).max() <= 0.51


@pytest.mark.oracle("ToArray", "numpy.asarray of a PIL.Image")
def test_to_array_leaves_arrays_alone():
    assert (transformed("ToArray", image()) == np.asarray(Image.fromarray(image()))).all()


@pytest.mark.oracle("ParseDecodeImagenet", "the same image")
def test_parse_decode_imagenet_leaves_pixels_alone():
    assert (transformed("ParseDecodeImagenet", image(), "tensorflow") == image()).all()


def encoded(array, format, **options):
    file = BytesIO()
    Image.fromarray(array).save(file, format, **options)
    return np.frombuffer(file.getvalue(), dtype=np.uint8)


@pytest.mark.oracle("DecodeImage", "PIL.Image.open")
@pytest.mark.parametrize("format", ["JPEG", "PNG", "BMP"])
def test_decode_image(format):
    content = encoded(image(), format)
    expected = np.asarray(Image.open(BytesIO(content.tobytes())))
    assert (transformed("DecodeImage", content) == expected).all()


def test_grey_files_are_decoded_to_three_channels():
    assert transformed("DecodeImage", encoded(image(channels=0), "JPEG")).shape == (31, 45, 3)


def test_pixels_are_not_decoded_again():
    assert transformed("DecodeImage", image()) is not None
    assert (transformed("DecodeImage", image()) == image()).all()


@pytest.mark.parametrize(
    "content",
    [
        encoded(image(), "JPEG")[:900],
        encoded(image(), "PNG")[:700],
        np.zeros(40, np.uint8),
        image()[0, 0, :0],
    ],
    ids=["half a JPEG", "half a PNG", "no image", "nothing"],
)
def test_damaged_images_are_refused(content):
    with pytest.raises(BadValue, match="cannot be decoded as an image"):
        transformed("DecodeImage", content)


@pytest.mark.parametrize(("side", "what"), [(9_000, "9000 × 9000 pixels"), (60_000, "cannot be")])
def test_images_that_would_fill_the_memory_are_refused(side, what):
    """The header says how large it is; that it is so is never found out."""
    content = bytearray(encoded(image(8, 8), "PNG").tobytes())
    content[16:24] = side.to_bytes(4, "big") * 2
    import zlib

    content[29:33] = zlib.crc32(bytes(content[12:29])).to_bytes(4, "big")
    with pytest.raises(BadValue, match=what):
        transformed("DecodeImage", np.frombuffer(bytes(content), np.uint8))


@pytest.mark.oracle("EncodeJpeg", "PIL.Image.open")
def test_encoded_images_decode_to_nearly_the_same():
    smooth = np.asarray(Image.fromarray(image(6, 8)).resize((64, 48), METHODS["bicubic"]))
    for array in (smooth, smooth[:, :, :1]):
        content = transformed("EncodeJpeg", array).tobytes()
        decoded = np.asarray(Image.open(BytesIO(content)).convert("RGB")).astype(int)
        assert np.abs(decoded - array).mean() < 4
    with pytest.raises(BadValue, match="EncodeJpeg cannot encode float32"):
        transformed("EncodeJpeg", smooth.astype(np.float32))
