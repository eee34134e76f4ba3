"""Folders of images: what counts as a sample, and images that are damaged, huge or elsewhere."""

import os
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from modeldyno.core.errors import BadValue, DatasetUnreadable
from modeldyno.datasets.readers import images
from modeldyno.datasets.readers.image_folder import ImageFolder
from modeldyno.datasets.readers.image_list import ImagenetRaw
from modeldyno.datasets.readers.labelled_images import LabelledImages
from modeldyno.datasets.readers.style_transfer import StyleTransfer
from tests.dataset_files import encode_image, pixels, refuse, sample_of, save_image


@pytest.mark.oracle("ImageFolder", "pixels that Pillow wrote")
def test_folders_are_classes_in_alphabetical_order_and_files_beside_them_are_not(tmp_path):
    cat = save_image(tmp_path / "cat/1.png", pixels(4, 5))
    save_image(tmp_path / "dog/b.png", pixels(3, 3, 1))
    first_dog = save_image(tmp_path / "dog/a.bmp", pixels(3, 3, 2))
    nested = save_image(tmp_path / "dog/young/c.png", pixels(2, 2, 3))
    (tmp_path / "README.txt").write_text("not a class")
    (tmp_path / "aardvark.png").write_bytes(b"not a class either")
    (tmp_path / "dog/Thumbs.db").write_text("no image")
    (tmp_path / ".hidden").mkdir()
    samples = ImageFolder(root=str(tmp_path)).open()
    assert [sample.label for sample in samples] == [0, 1, 1, 1]
    for number, array in enumerate([cat, first_dog]):
        np.testing.assert_array_equal(samples[number].inputs[0], array)
    np.testing.assert_array_equal(samples[3].inputs[0], nested)


@pytest.mark.parametrize("mode", ["L", "RGBA", "P", "CMYK", "1", "LA"])
def test_every_image_has_three_channels_of_bytes(tmp_path, mode):
    image = Image.fromarray(pixels(6, 7)).convert(mode)
    (tmp_path / "a").mkdir()
    image.save(tmp_path / "a/x.tiff" if mode == "CMYK" else tmp_path / "a/x.png")
    array = sample_of(ImageFolder(root=str(tmp_path))).inputs[0]
    assert (array.shape, array.dtype) == ((6, 7, 3), np.uint8)
    np.testing.assert_array_equal(array, np.array(image.convert("RGB")))
    array[0, 0] = 0  # transforms may write into it


def test_opening_decodes_nothing(tmp_path, monkeypatch):
    save_image(tmp_path / "a/1.png", pixels(2, 2))
    monkeypatch.setattr(images, "_decode", None)
    assert len(ImageFolder(root=str(tmp_path)).open()) == 1


@pytest.mark.oracle("ImagenetRaw", "Pillow")
def test_a_list_names_images_and_their_classes(tmp_path):
    save_image(tmp_path / "images/a b.jpg", pixels(8, 8), quality=95)
    save_image(tmp_path / "images/2.png", pixels(4, 4))
    (tmp_path / "images/val.txt").write_text("a b.jpg 65\n\n2.png\t970\n")
    samples = ImagenetRaw(data_path=str(tmp_path / "images")).open()
    assert [sample.label for sample in samples] == [65, 970]
    with Image.open(tmp_path / "images/a b.jpg") as image:
        np.testing.assert_array_equal(samples[0].inputs[0], np.array(image))
    (tmp_path / "list").write_text("2.png 3")
    reader = ImagenetRaw(data_path=str(tmp_path / "images"), image_list=str(tmp_path / "list"))
    assert [sample.label for sample in reader.open()] == [3]


def test_a_line_without_a_label_is_named(tmp_path):
    save_image(tmp_path / "1.png", pixels(2, 2))
    for line in ("1.png", "1.png -1", "1.png cat"):
        (tmp_path / "val.txt").write_text(f"1.png 5\n{line}\n")
        refuse(ImagenetRaw(data_path=str(tmp_path)).open, "line 2 of val.txt", "a whole number")
    (tmp_path / "val.txt").write_text("1.png 5\n2.png 5\n")
    refuse(ImagenetRaw(data_path=str(tmp_path)).open, "1 of its 2 images are not there", "2.png")
    (tmp_path / "val.txt").write_text("\n")
    refuse(ImagenetRaw(data_path=str(tmp_path)).open, "no samples")


@pytest.mark.oracle("labelled_images", "pixels that Pillow wrote")
def test_images_with_labels_in_a_table(tmp_path):
    arrays = [save_image(tmp_path / f"{n}.png", pixels(3, 3, n)) for n in range(3)]
    (tmp_path / "any.csv").write_text("label,file\ndog,2.png\ncat,0.png\ndog,1.png\n")
    samples = LabelledImages(root=str(tmp_path)).open()
    assert [sample.label for sample in samples] == [1, 0, 1]
    for number, array in enumerate((arrays[2], arrays[0], arrays[1])):
        np.testing.assert_array_equal(samples[number].inputs[0], array)
    (tmp_path / "any.csv").write_text("file,label\n9.png,1\n")
    refuse(LabelledImages(root=str(tmp_path)).open, "not in the folder", "9.png")
    (tmp_path / "any.csv").write_text("file,label\n0.png,\n")
    refuse(
        lambda: sample_of(LabelledImages(root=str(tmp_path))), "row 1 of any.csv", "label is miss"
    )
    (tmp_path / "other.csv").write_text("file,label\n0.png,1\n")
    refuse(LabelledImages(root=str(tmp_path)).open, "there are 2 CSV files")
    assert len(LabelledImages(root=str(tmp_path), table="other.csv").open()) == 1


@pytest.mark.oracle("style_transfer", "pixels that Pillow wrote")
def test_pairs_of_content_and_style_are_between_0_and_1(tmp_path):
    content = save_image(tmp_path / "c/1.png", pixels(10, 20))
    style = np.zeros((10, 10, 3), np.uint8)
    style[1:-1, 1:-1] = 255  # what is cut off at each side is black
    save_image(tmp_path / "s/1.png", style)
    save_image(tmp_path / "s/2.png", style)
    reader = StyleTransfer(
        content_path=str(tmp_path / "c"),
        style_path=str(tmp_path / "s"),
        resize_shape=(10, 20),
        image_format="png",
    )
    samples = reader.open()
    assert len(samples) == 2
    first, second = samples[1].inputs
    np.testing.assert_allclose(first, content / 255, atol=1e-6)
    assert (second.shape, second.dtype) == ((10, 20, 3), np.float32)
    assert second.min() == 1
    assert samples[1].label == 0
    refuse(
        StyleTransfer(content_path=str(tmp_path / "c"), style_path=str(tmp_path / "s")).open, "jpg"
    )
    refuse(StyleTransfer(crop_ratio=0.5).open, "nothing is left")


# ---------------------------------------------------------------- damaged, hostile


def reading(folder, name, content):
    (folder / "a").mkdir(exist_ok=True)
    (folder / "a" / name).write_bytes(content)
    return lambda: sample_of(ImageFolder(root=str(folder)))


@pytest.mark.parametrize("format", ["JPEG", "PNG", "BMP", "TIFF", "WEBP", "GIF", "PPM"])
def test_a_truncated_image_is_named(tmp_path, format):
    content = encode_image(pixels(64, 64), format)
    reading(tmp_path, "whole.png", content)()
    cut = reading(tmp_path, "whole.png", content[: len(content) * 2 // 3])
    refuse(cut, "a/whole.png", "damaged or incomplete", error=DatasetUnreadable)


@pytest.mark.parametrize(
    "content", [b"", b"<html>", b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9"]
)
def test_what_is_no_image_is_not_opened_by_other_means(tmp_path, content):
    """PostScript would be run by another program."""
    refuse(reading(tmp_path, "x.jpg", content), "a/x.jpg", "not a JPEG", error=DatasetUnreadable)


def bomb(width, height):
    """A PNG of a few bytes that says it is large."""

    def chunk(name, content):
        crc = zlib.crc32(name + content)
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", crc)

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = zlib.compress(bytes(10_000))
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize("size", [9_000, 12_000, 100_000])
def test_a_decompression_bomb_is_refused_before_it_is_decoded(tmp_path, size):
    refuse(
        reading(tmp_path, "x.png", bomb(size, size)),
        "a/x.png",
        "80 million",
        error=DatasetUnreadable,
    )


def test_images_of_16_bits_are_refused(tmp_path):
    Image.fromarray(np.full((4, 4), 40_000, np.uint16)).save(tmp_path / "deep.png")
    content = (tmp_path / "deep.png").read_bytes()
    refuse(reading(tmp_path, "x.png", content), "a/x.png", "more than 8 bits")


def test_nothing_outside_the_root_is_read(tmp_path):
    save_image(tmp_path / "secret/private.png", pixels(2, 2))
    root = tmp_path / "root"
    save_image(root / "a/1.png", pixels(2, 2))
    link = root / "a/2.png"
    link.symlink_to(tmp_path / "secret/private.png")
    refuse(ImageFolder(root=str(root)).open, "leads out of the dataset's folder", "2.png")
    link.unlink()
    (root / "b").symlink_to(tmp_path / "secret")
    refuse(ImageFolder(root=str(root)).open, "leads out of the dataset's folder")
    (root / "b").unlink()
    (root / "val.txt").write_text("../secret/private.png 0\n")
    refuse(ImagenetRaw(data_path=str(root)).open, "leads out of the dataset's folder")
    (root / "val.txt").write_text(f"{tmp_path}/secret/private.png 0\n")
    refuse(ImagenetRaw(data_path=str(root)).open, "leads out of the dataset's folder")


def test_links_within_the_root_and_a_root_that_is_a_link_are_followed(tmp_path):
    array = save_image(tmp_path / "data/a/1.png", pixels(2, 2))
    (tmp_path / "data/a/2.png").symlink_to("1.png")
    (tmp_path / "data/b").symlink_to("a")
    (tmp_path / "link").symlink_to(tmp_path / "data")
    samples = ImageFolder(root=str(tmp_path / "link")).open()
    assert [sample.label for sample in samples] == [0, 0, 1, 1]
    np.testing.assert_array_equal(samples[3].inputs[0], array)


def test_a_link_that_is_exchanged_after_opening_is_refused(tmp_path):
    save_image(tmp_path / "secret.png", pixels(2, 2))
    save_image(tmp_path / "root/a/1.png", pixels(2, 2))
    samples = ImageFolder(root=str(tmp_path / "root")).open()
    (tmp_path / "root/a/1.png").unlink()
    (tmp_path / "root/a/1.png").symlink_to(tmp_path / "secret.png")
    refuse(lambda: samples[0], "leads out of the dataset's folder")


def test_a_pipe_or_a_file_that_is_gone_does_not_block(tmp_path):
    (tmp_path / "a").mkdir()
    os.mkfifo(tmp_path / "a/1.png")
    samples = ImageFolder(root=str(tmp_path)).open()
    refuse(lambda: samples[0], "a/1.png", "not a regular file")
    (tmp_path / "a/1.png").unlink()
    refuse(lambda: samples[0], "a/1.png", "No such file")


def test_an_empty_dataset_and_wrong_paths_are_refused(tmp_path):
    refuse(ImageFolder(root=str(tmp_path)).open, "no samples", error=DatasetUnreadable)
    refuse(ImageFolder().open, "root is empty", error=BadValue)
    refuse(ImageFolder(root=str(tmp_path / "none")).open, "must be a folder", error=BadValue)
    refuse(ImageFolder(root="a\0b").open, "root is no path", error=BadValue)
