"""Arrays of NumPy: which is what, a sample at a time, and nothing pickled."""

import io
import tracemalloc
import zipfile

import numpy as np
import pytest
from sklearn.datasets import load_digits

from modeldyno.core.errors import BadValue, DatasetUnreadable
from modeldyno.datasets.readers.arrays import Arrays
from modeldyno.datasets.readers.digits import Digits
from modeldyno.demo import model_path
from tests.dataset_files import refuse, sample_of

X = np.random.default_rng(0).standard_normal((20, 3, 4)).astype(np.float32)
Y = np.arange(20) % 7


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("name", ["x", "inputs", "data", "images", "whatever"])
@pytest.mark.parametrize("label", ["y", "labels", "label", "targets"])
def test_usual_names_say_which_array_is_what(tmp_path, save, name, label):
    save(tmp_path / "d.npz", **{label: Y, name: X})
    samples = Arrays(root=str(tmp_path / "d.npz")).open()
    assert len(samples) == 20
    for number in [*range(20), 0, 19, 7]:
        np.testing.assert_array_equal(samples[number].inputs[0], X[number])
        assert samples[number].inputs[0].dtype == np.float32
        assert samples[number].label == Y[number]
    assert type(samples[0].label) is int
    samples[0].inputs[0][:] = 0  # transforms may write into it


def test_names_of_inputs_are_in_the_order_of_the_model(tmp_path):
    np.savez(tmp_path / "d.npz", ids=Y, mask=X, answer=Y + 1, other=Y)
    reader = Arrays(root=str(tmp_path / "d.npz"), inputs=("mask", "ids"), label="answer")
    sample = reader.open()[3]
    np.testing.assert_array_equal(sample.inputs[0], X[3])
    assert (sample.inputs[1].item(), sample.label) == (3, 4)
    refuse(Arrays(root=str(tmp_path / "d.npz")).open, "not clear", "ids, mask, answer, other")
    refuse(Arrays(root=str(tmp_path / "d.npz"), inputs=("nix",)).open, "has no 'nix'", "ids, mask")
    refuse(Arrays(root=str(tmp_path / "d.npz"), label="nix").open, "has no 'nix'")


def test_arrays_in_files_of_their_own(tmp_path):
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", Y)
    assert sample_of(Arrays(root=str(tmp_path)), 5).label == 5
    alone = sample_of(Arrays(root=str(tmp_path / "x.npy")), 5)
    np.testing.assert_array_equal(alone.inputs[0], X[5])
    assert alone.label is None
    assert sample_of(Arrays(root=str(tmp_path / "x.npy"), label="y"), 6).label == 6


@pytest.mark.oracle("npz", "numpy.load")
def test_the_test_images_of_the_demo_are_a_dataset():
    path = model_path().with_name("digits_test.npz")
    samples = Arrays(root=str(path)).open()
    with np.load(path) as arrays:
        images, labels = arrays["image"], arrays["label"]
    assert [sample.label for sample in samples] == labels.tolist()
    np.testing.assert_array_equal(np.stack([sample.inputs[0] for sample in samples]), images)


@pytest.mark.parametrize(
    "values",
    [
        X.astype(np.float64),
        X > 0,
        np.arange(20, dtype=">i4"),
        np.array(["text"] * 19 + ["längeres"]),
        np.asfortranarray(X),
        X[:, :0],
    ],
)
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.oracle("npz", "arrays that numpy wrote")
def test_values_of_every_plain_type_are_as_numpy_loads_them(tmp_path, save, values):
    save(tmp_path / "d.npz", x=values)
    np.save(tmp_path / "d.npy", values)
    for name in ("d.npz", "d.npy"):
        samples = Arrays(root=str(tmp_path / name)).open()
        for number in (0, 19):
            np.testing.assert_array_equal(samples[number].inputs[0], values[number])
            assert samples[number].inputs[0].dtype == values.dtype


def test_labels_may_be_arrays(tmp_path):
    np.savez(tmp_path / "d.npz", x=X, y=np.eye(20))
    assert (
        sample_of(Arrays(root=str(tmp_path / "d.npz")), 2).label.tolist() == np.eye(20)[2].tolist()
    )


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (np.array([{}, 1], dtype=object), ("Python objects", "hidden")),
        (np.array([1j]), ("complex128", "astype")),
        (np.array(["2020-01-01"], dtype="datetime64[D]"), ("datetime64",)),
        (np.array([(1, 2.0)], dtype=[("a", int), ("b", float)]), ("named", "a model takes")),
        (np.float32(3), ("single value", "dimension for the samples")),
        (X[:0], ("no samples",)),
    ],
)
def test_what_no_model_takes_is_refused(tmp_path, values, words):
    np.savez(tmp_path / "d.npz", x=values)
    np.save(tmp_path / "d.npy", values)
    for name in ("d.npz", "d.npy"):
        text = str(refuse(Arrays(root=str(tmp_path / name)).open, error=DatasetUnreadable))
        assert any(word in text for word in words)


def test_inputs_and_labels_must_be_as_many(tmp_path):
    np.savez(tmp_path / "d.npz", x=X, y=Y[:-1])
    refuse(Arrays(root=str(tmp_path / "d.npz")).open, "y.npy in d.npz", "it has 19 samples", "20")


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_damaged_archives_are_refused(tmp_path, save):
    path = tmp_path / "d.npz"
    save(path, x=np.random.default_rng(0).random((4000, 30)))
    whole = path.read_bytes()

    def read_all():
        return list(Arrays(root=str(path)).open())

    assert len(read_all()) == 4000
    for content in (whole[: len(whole) // 2], b"", b"PK", b"no archive", whole[:-30]):
        path.write_bytes(content)
        refuse(read_all, "d.npz", error=DatasetUnreadable)
    if save is np.savez_compressed:
        path.write_bytes(whole[:5000] + bytes(50) + whole[5050:])
        refuse(read_all, "x.npy in d.npz", error=DatasetUnreadable)
        refuse(read_all, "x.npy in d.npz", error=DatasetUnreadable)


def test_a_cut_off_array_is_refused(tmp_path):
    np.save(tmp_path / "d.npy", X)
    content = (tmp_path / "d.npy").read_bytes()
    (tmp_path / "d.npy").write_bytes(content[:-1])
    refuse(Arrays(root=str(tmp_path / "d.npy")).open, "d.npy", "cut off")
    for shape in (b"(1<<60,4) ", b"(20, 3, 4 ", b"(20, -3, 4", b"(20, 3, x)", b'(20, "3",)'):
        (tmp_path / "d.npy").write_bytes(content.replace(b"(20, 3, 4)", shape))
        refuse(Arrays(root=str(tmp_path / "d.npy")).open, "d.npy", "no .npy file")
    (tmp_path / "d.npy").write_bytes(content.replace(b"(20, 3, 4)", b"(-2,-3, 4)"))
    refuse(Arrays(root=str(tmp_path / "d.npy")).open, "d.npy", "below 0")


def test_a_header_that_wants_all_memory_is_refused(tmp_path):
    header = np.lib.format.header_data_from_array_1_0(X) | {"shape": (1, 1 << 50)}
    np.lib.format.write_array_header_1_0(file := io.BytesIO(), header)
    with zipfile.ZipFile(tmp_path / "d.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", file.getvalue() + bytes(1000))
    refuse(Arrays(root=str(tmp_path / "d.npz")).open, "d.npz", "cut off")


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_memory_stays_bounded(tmp_path, save):
    """64 MB of samples of 64 kB each."""
    save(tmp_path / "d.npz", x=np.zeros((1000, 16_000), np.float32))
    samples = Arrays(root=str(tmp_path / "d.npz")).open()
    tracemalloc.start()
    for sample in samples:
        assert not sample.inputs[0].any()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 << 20


def test_places_that_are_not_there(tmp_path):
    refuse(Arrays().open, "root is empty", error=BadValue)
    refuse(Arrays(root=str(tmp_path / "x.npz")).open, "There is no", error=BadValue)
    refuse(Arrays(root=str(tmp_path)).open, "has no inputs", error=DatasetUnreadable)


@pytest.mark.oracle("digits", "sklearn.datasets.load_digits")
def test_digits_are_those_of_scikit_learn():
    digits = load_digits()
    samples = Digits().open()
    assert [sample.label for sample in samples] == digits.target.tolist()
    pixels = np.stack([sample.inputs[0] for sample in samples])
    assert (pixels.shape, pixels.dtype.name) == ((1797, 8, 8, 1), "uint8")
    np.testing.assert_array_equal(pixels.reshape(1797, 64), digits.data)
