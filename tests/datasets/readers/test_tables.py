"""CSV, JSONL and Parquet: numbers, text and images in columns."""

import csv
import json
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from modeldyno.core.errors import BadValue, DatasetUnreadable
from modeldyno.datasets.readers.csv_file import CsvFile
from modeldyno.datasets.readers.json_lines import JsonLines
from modeldyno.datasets.readers.parquet import Parquet
from tests.dataset_files import encode_image, pixels, refuse, sample_of

NUMBERS = np.random.default_rng(0).standard_normal((50, 3)).astype(np.float32)
TEXTS = ["plain", 'with "quotes", and commas', "two\nlines", "Ünïcode ✓", "  spaces  "]


def write_csv(path, header, rows, delimiter=","):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerows([header, *rows])
    return path


# ---------------------------------------------------------------- CSV


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.oracle("csv", "numpy.genfromtxt")
def test_columns_of_numbers_are_one_vector(tmp_path, delimiter):
    rows = [[*map(repr, row.tolist()), n % 3] for n, row in enumerate(NUMBERS)]
    path = write_csv(tmp_path / "d.csv", ["a", "b", "c", "label"], rows, delimiter)
    samples = CsvFile(root=str(path)).open()
    expected = np.genfromtxt(path, delimiter=delimiter, names=True)
    assert len(samples) == 50
    for sample, row in zip(samples, expected, strict=True):
        np.testing.assert_array_equal(sample.inputs[0], np.array(list(row)[:3], np.float32))
        assert sample.label == row["label"]
    np.testing.assert_array_equal(samples[7].inputs[0], NUMBERS[7])
    chosen = sample_of(CsvFile(root=str(path), inputs=("c", "a"), label="b"), 4)
    np.testing.assert_array_equal(chosen.inputs[0], NUMBERS[4, [2, 0]])
    assert chosen.label == pytest.approx(float(NUMBERS[4, 1]))


def test_columns_of_text_are_inputs_of_their_own(tmp_path):
    rows = [[text, text[::-1], name] for text, name in zip(TEXTS, "babab", strict=True)]
    path = write_csv(tmp_path / "d.csv", ["one", "two", "y"], rows)
    samples = CsvFile(root=str(path)).open()
    assert [[value.item() for value in sample.inputs] for sample in samples] == [
        [text, text[::-1]] for text in TEXTS
    ]
    assert [sample.label for sample in samples] == [1, 0, 1, 0, 1]  # a is 0, b is 1


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["3", "-1"], [3, -1]),
        (["0.5", "2"], [0.5, 2]),
        (["10", "9x"], [0, 1]),
        (["zebra", "ape"], [1, 0]),
    ],
)
def test_labels_are_numbers_or_classes_in_alphabetical_order(tmp_path, labels, expected):
    path = write_csv(tmp_path / "d.csv", ["x", "label"], [[1, label] for label in labels])
    read = [sample.label for sample in CsvFile(root=str(path)).open()]
    assert read == expected
    assert list(map(type, read)) == list(map(type, expected))


def test_marks_and_line_ends_of_windows_are_no_part_of_a_name(tmp_path):
    (tmp_path / "d.csv").write_bytes(b"\xef\xbb\xbfa,label\r\n1.5,2\r\n\r\n2.5,3\r\n")
    samples = CsvFile(root=str(tmp_path / "d.csv"), inputs=("a",)).open()
    assert [(sample.inputs[0].tolist(), sample.label) for sample in samples] == [
        ([1.5], 2),
        ([2.5], 3),
    ]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a,label\n1\n", ("row 1 of d.csv", "1 values for 2 columns")),
        ("a,label\n1,2\n1,2,3\n", ("row 2 of d.csv", "3 values")),
        ("1,2\n3,4\n", ("d.csv", "first line does not name")),
        ("a,a\n3,4\n", ("d.csv", "first line does not name")),
        ("a,label\n", ("no samples", "no line after")),
        ("", ("d.csv", "has no inputs")),
        ("label\n1\n", ("d.csv", "has no inputs")),
        ("a,label\n" + "x" * 200_000 + ",1\n", ("d.csv", "no CSV")),
    ],
)
def test_tables_without_order_are_refused(tmp_path, content, words):
    (tmp_path / "d.csv").write_text(content)
    refuse(CsvFile(root=str(tmp_path / "d.csv")).open, *words, error=DatasetUnreadable)


def test_a_missing_label_or_a_value_that_is_no_number_is_named(tmp_path):
    path = write_csv(tmp_path / "d.csv", ["a", "label"], [[1, 2], [3, ""], ["x", 3], ["", 4]])
    samples = CsvFile(root=str(path)).open()
    assert samples[0].label == 2
    refuse(lambda: samples[1], "row 2 of d.csv", "label is missing", error=DatasetUnreadable)
    refuse(lambda: samples[2], "row 3 of d.csv", "no number")
    refuse(lambda: samples[3], "row 4 of d.csv", "no number")
    (tmp_path / "d.csv").write_bytes(b"a,label\n1,2\n\xff,3\n")
    refuse(CsvFile(root=str(path)).open, "d.csv", "no CSV", error=DatasetUnreadable)
    refuse(CsvFile(root=str(tmp_path)).open, "root must be a file", error=BadValue)


def test_a_long_table_costs_little_memory(tmp_path):
    """20 MB of text; eight bytes a row are kept."""
    path = write_csv(
        tmp_path / "d.csv", ["text", "label"], (["x" * 1000, n % 2] for n in range(20_000))
    )
    tracemalloc.start()
    samples = CsvFile(root=str(path)).open()
    assert samples[19_999].label == 1
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 << 20


# ---------------------------------------------------------------- JSONL


def write_jsonl(path, *rows):
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\n\n", encoding="utf-8")
    return path


@pytest.mark.oracle("jsonl", "values that json wrote")
def test_an_object_on_each_line_is_a_sample(tmp_path):
    rows = [{"label": n % 2, "text": text} for n, text in enumerate(TEXTS)]
    samples = JsonLines(root=str(write_jsonl(tmp_path / "d.jsonl", *rows))).open()
    assert [sample.inputs[0].item() for sample in samples] == TEXTS
    assert [sample.label for sample in samples] == [0, 1, 0, 1, 0]
    rows = [{"ids": [1, 2, n], "mask": [[0.5], [1]], "answer": "ba"[n]} for n in range(2)]
    path = write_jsonl(tmp_path / "d.jsonl", *rows)
    samples = JsonLines(root=str(path), label="answer", inputs=("mask", "ids")).open()
    mask, ids = samples[1].inputs
    assert (mask.dtype, mask.tolist(), ids.dtype, ids.tolist()) == (
        "float32",
        [[0.5], [1]],
        "int64",
        [1, 2, 1],
    )
    assert [sample.label for sample in samples] == [1, 0]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"text": "x"}, "label is missing"),
        ({"text": "x", "label": None}, "label is missing"),
        ({"text": "x", "label": " "}, "label is missing"),
        ({"text": "x", "label": float("nan")}, "label is missing"),
        ({"text": "x", "label": {}}, "label is missing"),
        ({"label": 1}, "an input is missing"),
        ({"text": {"a": 1}, "label": 1}, "an input is missing"),
        ({"text": [], "label": 1}, "an input is missing"),
        ({"text": [[1], [1, 2]], "label": 1}, "differ in length"),
        ({"text": ["a", None], "label": 1}, "an input is missing"),
    ],
)
def test_samples_that_lack_something_are_named(tmp_path, row, words):
    path = write_jsonl(tmp_path / "d.jsonl", {"text": "fine", "label": 1}, row)
    samples = JsonLines(root=str(path)).open()
    assert samples[0].label == 1
    refuse(lambda: samples[1], "sample 2 of d.jsonl", words, error=DatasetUnreadable)


@pytest.mark.parametrize("line", ["{", "[1]", '"text"', "[" * 100_000])
def test_lines_that_are_no_objects_are_named(tmp_path, line):
    (tmp_path / "d.jsonl").write_text('{"text": "a", "label": 1}\n' + line)
    refuse(JsonLines(root=str(tmp_path / "d.jsonl")).open, "sample 2 of d.jsonl", "its line is no")
    (tmp_path / "d.jsonl").write_text("\n")
    refuse(JsonLines(root=str(tmp_path / "d.jsonl")).open, "no samples", "d.jsonl is empty")


# ---------------------------------------------------------------- Parquet


@pytest.mark.oracle("parquet", "columns that pyarrow wrote")
def test_rows_of_all_groups_and_files_are_samples(tmp_path):
    columns = {"a": NUMBERS[:, 0], "b": NUMBERS[:, 1], "label": np.arange(50) % 4}
    table = pa.table(columns)
    pq.write_table(table.slice(0, 30), tmp_path / "0.parquet", row_group_size=7)
    pq.write_table(table.slice(30), tmp_path / "1.parquet")
    samples = Parquet(root=str(tmp_path)).open()
    assert len(samples) == 50
    for number in [*range(50), 3, 49]:
        np.testing.assert_array_equal(samples[number].inputs[0], NUMBERS[number, :2])
        assert samples[number].label == number % 4
    with pytest.raises(IndexError):
        samples[50]
    alone = Parquet(root=str(tmp_path / "0.parquet"), inputs=("b",)).open()
    assert (len(alone), alone[29].inputs[0].item()) == (30, NUMBERS[29, 1])


def test_text_lists_and_images_are_inputs(tmp_path):
    images = [pixels(4, 5, seed) for seed in range(3)]
    encoded = [encode_image(array) for array in images]
    table = pa.table(
        {
            "image": [{"bytes": one, "path": "1.png"} for one in encoded],
            "plain": pa.array(encoded, pa.binary()),
            "text": TEXTS[:3],
            "list": [[1, 2], [3, 4], [5, 6]],
            "label": ["dog", "cat", "dog"],
        }
    )
    pq.write_table(table, tmp_path / "d.parquet", row_group_size=2)
    samples = Parquet(root=str(tmp_path / "d.parquet")).open()
    for number, sample in enumerate(samples):
        np.testing.assert_array_equal(sample.inputs[0], images[number])
        np.testing.assert_array_equal(sample.inputs[1], images[number])
        assert sample.inputs[2].item() == TEXTS[number]
        assert sample.inputs[3].tolist() == [2 * number + 1, 2 * number + 2]
    assert [sample.label for sample in samples] == [1, 0, 1]


def test_damaged_parquet_is_refused(tmp_path):
    path = tmp_path / "d.parquet"
    table = pa.table({"x": [b"no image", b"x"], "label": pa.array([1, None], pa.int64())})
    pq.write_table(table, path, compression="none")
    samples = Parquet(root=str(path)).open()
    refuse(lambda: samples[0], "the image in row 1 of d.parquet", error=DatasetUnreadable)
    whole = path.read_bytes()
    for content in (whole[:-5], b"", b"PAR1", b"no parquet at all"):
        path.write_bytes(content)
        refuse(
            Parquet(root=str(path)).open, "d.parquet", "no Parquet file", error=DatasetUnreadable
        )
    pq.write_table(pa.table({"x": [1], "label": pa.array([None], pa.int64())}), path)
    refuse(lambda: sample_of(Parquet(root=str(path))), "row 1 of d.parquet", "label is missing")
    pq.write_table(pa.table({"x": pa.array([], pa.int64())}), path)
    refuse(Parquet(root=str(path)).open, "no samples")
    pq.write_table(pa.table({"other": [1]}), tmp_path / "e.parquet")
    refuse(Parquet(root=str(tmp_path)).open, "e.parquet", "columns are not those of d.parquet")
