"""What transforms do besides pixels: boxes, labels, randomness, refusals."""

import json
from typing import Any, NamedTuple

import numpy as np
import pytest

from modeldyno.core.errors import BadValue
from modeldyno.datasets.catalog import make_transform
from modeldyno.datasets.protocol import ReadsOutputs, Sample
from tests.datasets.transforms.samples import apply, image, transformed

# Top, left, bottom and right of two objects in an image of 100 × 200.
BOXES = np.array([[0.1, 0.2, 0.5, 0.4], [0.8, 0.9, 0.9, 1.0]])


def detection(boxes=BOXES, height=100, width=200):
    label = (boxes, ["cat", "dog"], np.array([17, 18]), "image 5", np.array([False, True]))
    return Sample((image(height, width),), label)


# ---------------------------------------------------------------- boxes


@pytest.mark.oracle("CropToBoundingBox", "boxes counted by hand")
def test_boxes_move_with_what_is_cut_out():
    parameters = {"offset_height": 20, "offset_width": 50, "target_height": 50}
    label = apply("CropToBoundingBox", detection(), target_width=100, **parameters).label
    # Rows 10–50 and columns 40–80 become 0–30 of 50 and 0–30 of 100; the dog is outside.
    np.testing.assert_allclose(label[0], [[0, 0, 0.6, 0.3]])
    assert label[1] == ["cat"]
    assert (label[2].tolist(), label[3], label[4].tolist()) == ([17], "image 5", [False])


def test_boxes_are_mirrored_with_the_image():
    for name, expected in (
        ("RandomHorizontalFlip", [[0.1, 0.6, 0.5, 0.8], [0.8, 0.0, 0.9, 0.1]]),
        ("RandomVerticalFlip", [[0.5, 0.2, 0.9, 0.4], [0.1, 0.9, 0.2, 1.0]]),
    ):
        samples = [apply(name, detection(), seed=seed) for seed in range(8)]
        flipped = [s for s in samples if (s.inputs[0] != detection().inputs[0]).any()]
        assert 0 < len(flipped) < 8
        for sample in flipped:
            np.testing.assert_allclose(sample.label[0], expected, atol=1e-12)


@pytest.mark.oracle("ResizeWithRatio", "boxes counted by hand")
def test_boxes_move_into_the_padded_square():
    sample = apply("ResizeWithRatio", detection(), min_dim=120, max_dim=200, padding="True")
    # 200 is the most: the image stays 100 × 200, with 50 rows above it.
    assert sample.inputs[0].shape == (200, 200, 3)
    assert (sample.inputs[0][50:150] == detection().inputs[0]).all()
    assert not sample.inputs[0][:50].any()
    np.testing.assert_allclose(sample.label[0][0], [0.3, 0.2, 0.5, 0.4])


def test_without_padding_boxes_stay_fractions():
    sample = apply("ResizeWithRatio", detection(), min_dim=150, max_dim=1000)
    assert sample.inputs[0].shape == (150, 300, 3)
    assert (sample.label[0] == BOXES).all()


def test_an_image_without_objects_stays_so():
    sample = Sample((image(),), (np.zeros((0, 4)), [], np.array([], int), "7"))
    label = apply("CenterCrop", sample, size=10).label
    assert label[0].shape == (0, 4)
    assert label[1:2] == ([],)


def test_the_last_object_takes_no_image_id_with_it():
    sample = Sample((image(100, 200),), (BOXES[1:], ["dog"], np.array([18]), np.array(["id 5"])))
    label = apply("CenterCrop", sample, size=10).label
    assert [len(part) for part in label] == [0, 0, 0, 1]


class Objects(NamedTuple):
    """A label with names, as readers give it."""

    boxes: Any
    names: Any
    classes: Any
    image_id: Any
    crowd: Any


def test_labels_keep_their_kind_and_only_classes_are_shifted():
    objects = Objects(BOXES, np.array(["cat", "dog"]), np.array([17, 18]), 5, np.array([False] * 2))
    sample = Sample((image(100, 200),), objects)
    shifted = apply("LabelShift", sample, label_shift=1).label
    assert isinstance(shifted, Objects)
    assert shifted.classes.tolist() == [16, 17]
    assert shifted.boxes is BOXES
    assert shifted.image_id == 5
    part = {"offset_height": 20, "offset_width": 50, "target_height": 50, "target_width": 100}
    for name, parameters in (("CropToBoundingBox", part), ("ResizeWithRatio", {"padding": True})):
        label = apply(name, sample, **parameters).label
        assert isinstance(label, Objects)
        assert label.image_id == 5
        assert len(label.boxes) == len(label.names) == len(label.classes) == len(label.crowd)


def test_a_class_is_not_taken_for_boxes():
    assert apply("CenterCrop", Sample((image(),), 3), size=10).label == 3


# ---------------------------------------------------------------- values


@pytest.mark.oracle("LabelShift", "a subtraction by hand")
@pytest.mark.parametrize(
    ("label", "expected"),
    [(5, 4), (np.int64(5), 4), (np.array([5, 1]), [4, 0]), ([5, 1], [4, 0]), ((5,), (4,))],
)
def test_label_shift_takes_the_shift_off(label, expected):
    shifted = apply("LabelShift", Sample((image(),), label), label_shift="1").label
    assert np.array_equal(shifted, expected)
    assert isinstance(shifted, type(label))


def test_a_text_cannot_be_shifted():
    with pytest.raises(BadValue, match="LabelShift cannot take 1 off a label of type str"):
        apply("LabelShift", Sample((image(),), "cat"), label_shift=1)


@pytest.mark.oracle("Normalize", "a formula in float64")
def test_one_mean_stands_for_all_channels():
    expected = (image().astype(np.float64) - 127.5) / 2
    np.testing.assert_allclose(transformed("Normalize", image(), mean="127.5", std="2"), expected)


def test_means_must_be_as_many_as_channels():
    with pytest.raises(BadValue, match="mean of Normalize has 2 values, but the last axis"):
        transformed("Normalize", image(), mean="1, 2")
    with pytest.raises(BadValue, match=r"Normalize cannot divide by \[0.0\]"):
        transformed("Normalize", image(), std="0")


def test_quantized_input_does_nothing_without_a_scale():
    values = image().astype(np.float32)
    assert transformed("QuantizedInput", values, dtype="uint8") is values
    with pytest.raises(BadValue, match="QuantizedInput cannot convert to ''"):
        transformed("QuantizedInput", values, scale=2)


def test_cast_is_of_all_inputs():
    sample = Sample((image(), np.arange(3)))
    assert [part.dtype for part in apply("Cast", sample).inputs] == [np.float32, np.float32]
    with pytest.raises(BadValue, match="Cast cannot convert to 'complex64'"):
        apply("Cast", sample, dtype="complex64")


def test_other_inputs_than_the_image_stay_as_they_are():
    size = np.array([1.0, 2.0])
    assert apply("Resize", Sample((image(), size)), size=10).inputs[1] is size


@pytest.mark.oracle("Rescale", "a division in float64")
def test_rescale_ends_at_one():
    values = transformed("Rescale", np.array([[0, 51, 255]], np.uint8))
    np.testing.assert_allclose(values, [[0, 0.2, 1]], rtol=1e-7)


# ---------------------------------------------------------------- randomness

RANDOM = ("RandomCrop", "RandomHorizontalFlip", "RandomResizedCrop", "RandomVerticalFlip")


@pytest.mark.parametrize("name", RANDOM)
def test_random_transforms_say_so_and_follow_their_generator(name):
    parameters = {"size": 9} if name.endswith("Crop") else {}
    assert make_transform(name, "", parameters).is_random
    results = [transformed(name, image(), seed=seed, **parameters).tobytes() for seed in range(20)]
    again = [transformed(name, image(), seed=seed, **parameters).tobytes() for seed in range(20)]
    assert results == again
    assert len(set(results)) > 1


def test_resize_crop_imagenet_is_random_only_where_it_is_asked_to_be():
    sizes = {"height": 9, "width": 9, "resize_side": 20}
    for framework in ("onnxrt", "tensorflow"):
        assert not make_transform("ResizeCropImagenet", framework, sizes).is_random
        assert make_transform(
            "ResizeCropImagenet", framework, {"random_crop": "True", **sizes}
        ).is_random
    flips = make_transform(
        "ResizeCropImagenet", "tensorflow", {"random_flip_left_right": "t", **sizes}
    )
    assert flips.is_random
    for parameters in (
        {"random_crop": True},
        {"random_crop": True, "random_flip_left_right": True},
    ):
        results = {
            transformed(
                "ResizeCropImagenet", image(), "tensorflow", seed, **sizes, **parameters
            ).tobytes()
            for seed in range(12)
        }
        assert len(results) > 6


@pytest.mark.oracle("RandomResizedCrop", "the limits of area and shape")
def test_parts_keep_to_the_limits_of_area_and_shape():
    """Each pixel says where it is, so that the corners show what was cut out."""
    rows, columns = np.mgrid[:64, :80].astype(np.float32)
    places = np.stack([rows, columns], axis=2)
    seen = []
    for seed in range(300):
        part = transformed(
            "RandomResizedCrop",
            places,
            seed=seed,
            size=200,
            scale="0.2, 0.5",
            interpolation="nearest",
        )
        height, width = part[-1, 0, 0] - part[0, 0, 0] + 1, part[0, -1, 1] - part[0, 0, 1] + 1
        seen.append((height * width / (64 * 80), width / height))
    areas, ratios = np.array(seen).T
    assert 0.18 < areas.min() < 0.25
    assert 0.45 < areas.max() < 0.53
    assert 0.7 < ratios.min() < 0.85
    assert 1.2 < ratios.max() < 1.4


def test_wide_parts_are_as_likely_as_high_ones():
    shapes = []
    rows, columns = np.mgrid[:200, :200].astype(np.float32)
    places = np.stack([rows, columns], axis=2)
    parameters = {"size": 400, "scale": "0.1, 0.1", "ratio": "1/4, 4", "interpolation": "nearest"}
    for seed in range(200):
        part = transformed("RandomResizedCrop", places, seed=seed, **parameters)
        shapes.append(part[0, -1, 1] - part[0, 0, 1] > part[-1, 0, 0] - part[0, 0, 0])
    assert 75 < sum(shapes) < 125


def test_a_long_image_gives_the_largest_part_that_is_allowed():
    part = transformed("RandomResizedCrop", image(10, 200), size="10, 13", scale="1, 1")
    assert (part == image(10, 200)[:, 93:106]).all()


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("name", "parameters", "what"),
    [
        ("Resize", {}, r"Resize cannot bring an image to the size \[\]"),
        ("Resize", {"size": "0, 4"}, "cannot bring an image to the size"),
        ("Resize", {"size": "4, 4, 4"}, "cannot bring an image to the size"),
        ("Resize", {"size": 4, "interpolation": "lanczos"}, "no interpolation 'lanczos'"),
        ("CropToBoundingBox", {}, "cannot bring an image to the size"),
        ("Transpose", {"perm": "0, 0, 1"}, r"cannot order axes as \[0, 0, 1\]"),
        ("Transpose", {"perm": "1, 0"}, "Transpose has 2 axes, but a sample has the shape"),
        ("ResizeWithRatio", {"min_dim": 9, "max_dim": 3}, "cannot bring sides to 9 and 3"),
        ("ResizeCropImagenet", {}, "cannot bring an image to the size"),
        ("ResizeCropImagenet", {"height": 300, "width": 9}, "out of a side of 256"),
        ("BilinearImagenet", {"central_fraction": 0}, "cannot keep 0.0 of an image"),
        ("RandomResizedCrop", {"size": 4, "ratio": "2, 1"}, "ratio of RandomResizedCrop"),
        ("AlignImageChannel", {"dim": 7}, "7 channels"),
        ("CenterCrop", {"size": 40}, "A part of 40 × 40 at -5, 2 is not inside"),
        ("RandomCrop", {"size": 40}, "is not inside an image of 31 × 45"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_refused_with_a_way_out(name, parameters, what):
    with pytest.raises(BadValue, match=what) as refused:
        transformed(name, image(), **parameters)
    assert refused.value.fix


def test_what_is_no_image_is_refused():
    with pytest.raises(BadValue, match=r"A sample of shape \[5\] is not an image"):
        transformed("Resize", np.zeros(5), size=3)


# ---------------------------------------------------------------- questions

VOCABULARY = (
    "[PAD] [UNK] [CLS] [SEP] who ? wrote it the book was written by ann ##e lee in 19 ##99 ."
)


@pytest.fixture
def squad(tmp_path):
    vocabulary = tmp_path / "vocab.txt"
    vocabulary.write_text("\n".join(VOCABULARY.split()))
    questions = tmp_path / "dev.json"
    text = "The book was written by  Anne Lee in 1999."
    long = "the book was " * 200 + "written by Anne."
    answers = [{"text": "Anne Lee"}, {"text": "Anne"}]
    asked = [
        {"id": "q1", "question": "Who wrote it?", "answers": answers},
        {"id": "q2", "question": "Who?", "answers": answers[1:]},
    ]
    paragraphs = [{"context": text, "qas": asked[:1]}, {"context": long, "qas": asked[1:]}]
    questions.write_text(json.dumps({"data": [{"paragraphs": paragraphs}]}))
    return {"label_file": str(questions), "vocab_file": str(vocabulary)}


def scores(**places):
    values = np.full(384, -9.0)
    for place, value in places.items():
        values[int(place[1:])] = value
    return values


# [CLS] who wrote it ? [SEP] the book was written by ann ##e lee in 19 ##99 . [SEP]
# 0     1   2     3  4 5     6   7    8   9       10 11  12  13  14 15 16   17
@pytest.mark.oracle("SquadV1", "tokens counted by hand")
@pytest.mark.parametrize(
    ("begin", "end", "text", "sureness"),
    [
        ({"t11": 5.0}, {"t13": 4.0}, "Anne Lee", 9.0),
        ({"t11": 5.0}, {"t12": 4.0, "t13": 3.0}, "Anne", 9.0),
        ({"t10": 5.0}, {"t13": 4.0}, "by Anne Lee", 9.0),  # two blanks become one
        ({"t15": 5.0}, {"t16": 4.0}, "1999", 9.0),
        # Neither the question, nor an end before the beginning, nor what is after the text.
        ({"t2": 9.0, "t13": 8.0, "t11": 3.0}, {"t3": 9.0, "t12": 2.0, "t30": 9.0}, "Anne", 5.0),
    ],
)
def test_the_likeliest_possible_answer_is_found(squad, begin, end, text, sureness):
    sample = Sample((np.array(1_000_000_000), scores(**begin), scores(**end)))
    answer = apply("SquadV1", sample, "tensorflow", **squad)
    assert (str(answer.inputs[0]), float(answer.inputs[1])) == (text, sureness)
    assert answer.label == {"id": "q1", "answers": ["Anne Lee", "Anne"]}


def test_a_long_text_is_read_in_parts_that_overlap(squad):
    """605 tokens, 379 at a time, a part every 128: an answer at the end is in the last part."""
    transform = make_transform("SquadV1", "tensorflow", squad)
    answers = []
    for number in range(1, 4):
        sample = Sample((np.array([1_000_000_000 + number]), scores(t350=5.0), scores(t351=5.0)))
        answers.append(str(transform.apply(sample, np.random.default_rng()).inputs[0]))
    # Place 350 is token 346 of its part, so 602, "Anne" and its ending, only of the third.
    assert answers[2] == "Anne"
    assert "Anne" not in answers[:2]
    with pytest.raises(BadValue, match="No question has the number 1000000004"):
        transform.apply(
            Sample((np.array(1_000_000_004), scores(), scores())), np.random.default_rng()
        )


def sureness_of(squad, part, begin, end):
    """10 if the answer from ``begin`` to ``end`` is possible; others are less likely."""
    sample = Sample((np.array(1_000_000_001 + part), scores(**{begin: 5.0}), scores(**{end: 5.0})))
    return float(apply("SquadV1", sample, **squad).inputs[1])


def test_an_answer_begins_only_in_the_part_that_shows_most_around_it(squad):
    """Token 300 is in all three parts: 78, 172 and 44 tokens from the nearest end of each."""
    places = ("t304", "t176", "t48")
    sureness = [sureness_of(squad, part, at, at) for part, at in enumerate(places)]
    assert sureness[1] == 10
    assert max(sureness[0], sureness[2]) < 0


def test_an_answer_has_at_most_thirty_tokens(squad):
    assert sureness_of(squad, 0, "t4", "t33") == 10
    assert sureness_of(squad, 0, "t4", "t34") < 0


def test_only_squad_reads_what_the_model_gives(squad):
    assert isinstance(make_transform("SquadV1", "", squad), ReadsOutputs)
    assert not isinstance(make_transform("LabelShift", "", {}), ReadsOutputs)


def test_files_that_are_not_of_squad_are_refused(squad, tmp_path):
    other = tmp_path / "other.json"
    other.write_text("[]")
    sample = Sample((np.array(1_000_000_000), scores(), scores()))
    for name, path in (("label_file", str(other)), ("vocab_file", str(tmp_path / "none.txt"))):
        with pytest.raises(BadValue, match="cannot be read"):
            apply("SquadV1", sample, **squad | {name: path})
