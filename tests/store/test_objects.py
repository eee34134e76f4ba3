"""Files by content: whole or not there, the same bytes, read-only, within limits."""

import hashlib
import os
import stat
import time

import pytest

from modeldyno.core.errors import BadValue, FileNotFound, StorageFailed
from modeldyno.store.objects import Objects, StoredObject

DATA = bytes(range(256)) * 1000
SHA = hashlib.sha256(DATA).hexdigest()


@pytest.fixture
def objects(tmp_path):
    return Objects(tmp_path / "objects", kept_free=0)


@pytest.fixture
def source(tmp_path):
    (tmp_path / "net.onnx").write_bytes(DATA)
    descriptor = os.open(tmp_path / "net.onnx", os.O_RDONLY)
    yield descriptor
    os.close(descriptor)


def files(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def content(objects, sha256):
    with os.fdopen(objects.open(sha256), "rb") as file:
        return file.read()


def test_a_file_is_kept_under_its_checksum_and_read_only(objects, source, tmp_path):
    assert objects.add(source) == StoredObject(SHA, len(DATA))
    path = tmp_path / "objects" / SHA[:2] / SHA[2:4] / SHA
    assert path.read_bytes() == DATA
    assert stat.S_IMODE(path.stat().st_mode) == 0o444
    assert content(objects, SHA) == DATA
    assert files(tmp_path / "objects") == [SHA]


def test_the_descriptor_counts_not_the_name(objects, source, tmp_path):
    os.read(source, 100)  # nor where somebody read to
    (tmp_path / "net.onnx").rename(tmp_path / "moved")
    (tmp_path / "net.onnx").write_bytes(b"swapped")
    assert objects.add(source).sha256 == SHA


def test_the_same_file_twice_is_kept_once(objects, source, tmp_path):
    assert objects.add(source) == objects.add(source)
    assert files(tmp_path / "objects") == [SHA]


def test_pieces_become_the_same_file(objects):
    with objects.receiving() as incoming:
        for start in range(0, len(DATA), 777):
            incoming.write(DATA[start : start + 777])
        assert incoming.store() == StoredObject(SHA, len(DATA))
    assert content(objects, SHA) == DATA


def test_what_is_not_finished_leaves_nothing(objects, tmp_path):
    with objects.receiving() as incoming:
        incoming.write(DATA)
    assert files(tmp_path / "objects") == []


def test_what_is_too_large_is_refused_before_and_while_it_comes(tmp_path, source):
    small = Objects(tmp_path / "objects", largest=1000, kept_free=0)
    with pytest.raises(BadValue, match="too large"):
        small.add(source)
    with pytest.raises(BadValue, match="too large"), small.receiving(announced=1001):
        pass
    with small.receiving(announced=1) as incoming:
        incoming.write(b"x" * 1000)
        with pytest.raises(BadValue, match="too large"):
            incoming.write(b"x")
    assert files(tmp_path / "objects") == []


def test_a_file_that_grows_while_it_is_copied_is_refused(tmp_path):
    with (tmp_path / "growing").open("wb+") as file:
        small = Objects(tmp_path / "objects", largest=1000, kept_free=0)
        with small.receiving() as incoming:
            file.write(b"x" * 5000)
            file.flush()
            with pytest.raises(BadValue, match="too large"):
                incoming.copy(file.fileno())


def test_some_of_the_disk_stays_free(tmp_path, source):
    free = iter([10_000_000, 10_000_000, 999])
    tight = Objects(tmp_path / "objects", kept_free=1000, free=lambda folder: next(free))
    tight.add(source)
    with tight.receiving() as incoming, pytest.raises(StorageFailed, match="not enough room"):
        incoming.write(b"x" * (64 << 20))
    free = iter([len(DATA) + 999])
    with pytest.raises(StorageFailed, match="not enough room"):
        tight.add(source)
    assert files(tmp_path / "objects") == [SHA]


def test_a_folder_that_cannot_be_written_says_so(tmp_path, source):
    (tmp_path / "objects").write_text("in the way")
    with pytest.raises(StorageFailed):
        Objects(tmp_path / "objects", kept_free=0).add(source)


def test_what_is_not_there_is_not_found(objects):
    with pytest.raises(FileNotFound):
        objects.open("0" * 64)


def test_left_overs_are_swept_and_nothing_else(objects, source, tmp_path):
    objects.add(source)
    old, new = (tmp_path / "objects" / "incoming" / name for name in ("old", "new"))
    old.write_bytes(b"x")
    new.write_bytes(b"x")
    os.utime(old, (time.time() - 4000,) * 2)
    assert objects.sweep() == 1
    assert files(tmp_path / "objects") == sorted([SHA, "new"])
