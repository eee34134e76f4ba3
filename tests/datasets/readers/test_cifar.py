"""CIFAR in its binary form and as pickles, which can build arrays of bytes and do nothing else."""

import builtins
import contextlib
import os
import pickle

import numpy as np
import pytest

from modeldyno.core.errors import BadValue, DatasetUnreadable
from modeldyno.datasets.readers.cifar import CIFAR10, CIFAR100
from tests.dataset_files import refuse, sample_of

PIXELS = np.random.default_rng(0).integers(0, 256, (6, 3072), np.uint8)
LABELS = [3, 0, 9, 1, 5, 2]


def image(number):
    """Row by row, red then green then blue, as its makers describe it."""
    red, green, blue = PIXELS[number].reshape(3, 1024)
    return np.stack([red, green, blue], -1).reshape(32, 32, 3)


def write_binary(path, labels=LABELS, extra=()):
    rows = zip(labels, PIXELS, strict=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(bytes((*extra, label)) + row.tobytes() for label, row in rows))


def write_pickle(path, protocol=2, **changes):
    content = {"data": PIXELS, "labels": LABELS, "batch_label": "testing"} | changes
    path.write_bytes(pickle.dumps(content, protocol))


def require_all(samples):
    assert [sample.label for sample in samples] == LABELS
    for number, sample in enumerate(samples):
        np.testing.assert_array_equal(sample.inputs[0], image(number))
        assert sample.inputs[0].flags.c_contiguous


@pytest.mark.parametrize("place", ["", "cifar-10-batches-bin"])
@pytest.mark.oracle("CIFAR10", "binary files by hand")
def test_binary_files_are_preferred(tmp_path, place):
    write_binary(tmp_path / place / "test_batch.bin")
    (tmp_path / "test_batch").write_bytes(b"never read")
    require_all(CIFAR10(root=str(tmp_path)).open())


def test_training_reads_five_batches_in_order(tmp_path):
    for batch in range(1, 6):
        write_binary(tmp_path / f"data_batch_{batch}.bin", [batch] * 6)
    samples = CIFAR10(root=str(tmp_path), train=True).open()
    assert [sample.label for sample in samples] == [n for n in range(1, 6) for _ in range(6)]
    np.testing.assert_array_equal(samples[29].inputs[0], image(5))


@pytest.mark.oracle("CIFAR100", "binary files by hand; arrays that pickle wrote")
def test_the_second_label_of_cifar_100_is_the_class(tmp_path):
    write_binary(tmp_path / "test.bin", extra=(17,))
    require_all(CIFAR100(root=str(tmp_path)).open())
    (tmp_path / "test.bin").unlink()
    write_pickle(tmp_path / "test", fine_labels=LABELS, labels=[], coarse_labels=[0] * 6)
    require_all(CIFAR100(root=str(tmp_path)).open())


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
@pytest.mark.oracle("CIFAR10", "arrays that pickle wrote")
def test_pickles_of_every_protocol(tmp_path, protocol):
    write_pickle(tmp_path / "test_batch", protocol)
    require_all(CIFAR10(root=str(tmp_path)).open())
    write_pickle(tmp_path / "test_batch", protocol, data=np.asfortranarray(PIXELS))
    require_all(CIFAR10(root=str(tmp_path)).open())


def test_pickles_of_python_2(tmp_path):
    """Their keys and the arrays' bytes are text of Python 2, and NumPy has its old names."""
    array = (
        b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntS'b'\ntR(I1\n(I6\nI3072\nt"
        b"cnumpy\ndtype\n(S'u1'\nI0\nI1\ntR(I3\nS'|'\nNNNI-1\nI-1\nI0\ntbI00\nT"
        + len(PIXELS.tobytes()).to_bytes(4, "little")
        + PIXELS.tobytes()
        + b"tb"
    )
    labels = b"(" + b"".join(b"I%d\n" % label for label in LABELS) + b"l"
    content = b"\x80\x02}(U\x04data" + array + b"U\x06labels" + labels + b"u."
    assert pickle.loads(content, encoding="bytes")[b"labels"] == LABELS  # the control
    (tmp_path / "test_batch").write_bytes(content)
    require_all(CIFAR10(root=str(tmp_path)).open())


# ---------------------------------------------------------------- hostile


class Calls:
    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
@pytest.mark.parametrize(
    ("function", "argument", "name"),
    [
        (os.mkdir, "{marker}", "posix.mkdir"),
        (builtins.eval, "__import__('os').mkdir('{marker}')", "eval"),
    ],
)
def test_nothing_in_a_pickle_runs(tmp_path, protocol, function, argument, name):
    marker = tmp_path / "marker"
    payload = Calls(function, argument.format(marker=marker))
    write_pickle(tmp_path / "test_batch", protocol, more=payload)
    text = str(
        refuse(CIFAR10(root=str(tmp_path)).open, "nothing of it was run", error=DatasetUnreadable)
    )
    assert name in text
    assert not marker.exists()
    pickle.loads((tmp_path / "test_batch").read_bytes())  # the control: it would have run
    assert marker.exists()


@pytest.mark.parametrize(
    "payload",
    [
        Calls(np.ndarray, (1 << 60,)),  # memory without end
        Calls(np.frombuffer, b"1"),
        Calls(np.load, "/etc/passwd"),
        Calls(getattr, "text", "format"),
        Calls(np.dtype, "O"),
    ],
)
def test_not_even_numpy_is_called(tmp_path, payload):
    write_pickle(tmp_path / "test_batch", data=payload)
    refuse(CIFAR10(root=str(tmp_path)).open, "test_batch", error=DatasetUnreadable)


def test_arrays_of_objects_or_floats_are_no_pixels(tmp_path):
    for data in (PIXELS.astype("float32"), PIXELS.astype(object), PIXELS[:, :-1], PIXELS[0], [1]):
        write_pickle(tmp_path / "test_batch", data=data)
        refuse(CIFAR10(root=str(tmp_path)).open, "test_batch", error=DatasetUnreadable)


def test_a_pickle_changes_nothing_in_this_process(tmp_path):
    """An attribute set on what it may name would be there for the next file."""
    content = b"\x80\x02cnumpy\nndarray\n}U\x05extraK\x01sb."
    (tmp_path / "test_batch").write_bytes(content)
    refuse(CIFAR10(root=str(tmp_path)).open, "test_batch")
    content = b"\x80\x02cnumpy\ndtype\nN}U\x05_makeK\x01s\x86b."
    (tmp_path / "test_batch").write_bytes(content)
    refuse(CIFAR10(root=str(tmp_path)).open, "test_batch")
    write_pickle(tmp_path / "test_batch")
    require_all(CIFAR10(root=str(tmp_path)).open())


def test_changed_bytes_of_a_pickle_never_end_in_another_error(tmp_path):
    random = np.random.default_rng(1)
    write_pickle(tmp_path / "test_batch", data=PIXELS[:1], labels=[3])
    whole = (tmp_path / "test_batch").read_bytes()
    places = [n for n, byte in enumerate(whole) if not 200 < n < len(whole) - 100]
    for _ in range(300):
        content = bytearray(whole)
        for place in random.choice(places, 2):
            content[place] = random.integers(0, 256)
        (tmp_path / "test_batch").write_bytes(content)
        with contextlib.suppress(DatasetUnreadable):
            assert sample_of(CIFAR10(root=str(tmp_path))).inputs[0].shape == (32, 32, 3)


# ---------------------------------------------------------------- damaged


def test_a_label_out_of_range_is_named(tmp_path):
    write_binary(tmp_path / "test_batch.bin", [3, 10, 0, 0, 0, 0])
    samples = CIFAR10(root=str(tmp_path)).open()
    refuse(
        lambda: samples[1], "image 2 of test_batch.bin", "its class is 10, and CIFAR10 has 0 to 9"
    )
    (tmp_path / "test_batch.bin").unlink()
    write_pickle(tmp_path / "test_batch", labels=[-1, *LABELS[1:]])
    refuse(lambda: sample_of(CIFAR10(root=str(tmp_path))), "its class is -1")


def test_files_that_are_cut_off_or_incomplete_are_refused(tmp_path):
    write_binary(tmp_path / "test_batch.bin")
    content = (tmp_path / "test_batch.bin").read_bytes()
    (tmp_path / "test_batch.bin").write_bytes(content[:-1])
    refuse(CIFAR10(root=str(tmp_path)).open, "test_batch.bin", "cut off")
    (tmp_path / "test_batch.bin").write_bytes(b"")
    refuse(CIFAR10(root=str(tmp_path)).open, "no samples")
    (tmp_path / "test_batch.bin").unlink()
    refuse(CIFAR10(root=str(tmp_path)).open, "not in the folder", "test_batch.bin")
    for changes, words in (
        ({"labels": LABELS[:-1]}, "5 labels for 6 images"),
        ({"labels": None}, "no list of numbers named labels"),
        ({"labels": ["3"] * 6}, "no list of numbers named labels"),
    ):
        write_pickle(tmp_path / "test_batch", **changes)
        refuse(CIFAR10(root=str(tmp_path)).open, "test_batch", words)
    reader = CIFAR100(root=str(tmp_path), download=True)
    refuse(reader.open, "CIFAR100 cannot be downloaded", error=BadValue)
