"""Listing the folders that clients may use, and several of them together."""

import os

import pytest

from modeldyno.core.errors import FileNotFound, PathRefused
from modeldyno.store import roots as module
from modeldyno.store.roots import FolderEntry, Roots


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / "b.onnx").write_bytes(b"bb")
    (root / "a.onnx").write_bytes(b"a")
    return root


def test_folders_come_first_then_files_by_name(folder):
    listing = Roots([folder]).entries(str(folder))
    assert listing.entries == (
        FolderEntry("sub", "folder", 0),
        FolderEntry("a.onnx", "file", 1),
        FolderEntry("b.onnx", "file", 2),
    )
    assert not listing.is_cut


def test_p14_what_could_not_be_opened_is_not_listed(folder, tmp_path):
    before = Roots([folder]).entries(f"{folder}/")
    (folder / ".hidden").write_bytes(b"x")
    (folder / ".git").mkdir()
    (folder / "link").symlink_to("a.onnx")
    (folder / "dirlink").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe")
    (tmp_path / "elsewhere").write_bytes(b"x")
    os.link(tmp_path / "elsewhere", folder / "hard")
    (folder / "back\\slash").write_bytes(b"x")
    with open(os.fsencode(folder) + b"/\xff", "wb"):  # noqa: PTH123 - a name that is no text
        pass
    assert Roots([folder]).entries(str(folder)) == before


def test_a_long_list_is_cut_and_says_so(folder, monkeypatch):
    monkeypatch.setattr(module, "MOST_ENTRIES", 2)
    listing = Roots([folder]).entries(str(folder))
    assert [entry.name for entry in listing.entries] == ["sub", "a.onnx"]
    assert listing.is_cut


def test_only_folders_below_a_root_are_listed(folder, tmp_path):
    roots = Roots([folder])
    assert roots.entries("sub").entries == ()
    for path in (str(tmp_path), "/", "..", "sub/..", "a.onnx", ""):
        with pytest.raises(PathRefused):
            roots.entries(path)
    with pytest.raises(FileNotFound):
        roots.entries("missing")


def test_several_folders_are_asked_in_their_order(folder, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.onnx").write_bytes(b"other")
    (other / "c.onnx").write_bytes(b"c")
    roots = Roots([folder, other])
    assert roots.names == (str(folder), str(other))
    for path, size in (("a.onnx", 1), ("c.onnx", 1), (str(other / "a.onnx"), 5)):
        with roots.open(path) as file:
            assert file.size_bytes == size


def test_a_root_may_be_reached_by_a_link_and_may_be_missing(folder, tmp_path):
    (tmp_path / "alias").symlink_to(folder)
    with Roots([tmp_path / "gone", tmp_path / "alias"]).open("a.onnx") as file:
        assert file.size_bytes == 1
    with Roots([tmp_path / "alias"]).open(str(tmp_path / "alias" / "a.onnx")) as file:
        assert file.size_bytes == 1


def test_no_folders_no_files():
    with pytest.raises(FileNotFound):
        Roots([]).entries("x")


def write(folder, path, names, content=b"new"):
    roots = Roots([folder])
    with roots.folder(path) as (descriptor, _):
        roots.write(descriptor, names, content)


def test_what_is_written_makes_its_folders_and_replaces_what_was_there(folder):
    for content in (b"first", b"second"):
        write(folder, str(folder), ("a", "b", "c.txt"), content)
        assert (folder / "a/b/c.txt").read_bytes() == content
    assert [file.name for file in (folder / "a/b").iterdir()] == ["c.txt"]


def test_nothing_is_written_through_a_link(folder, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept.txt").write_bytes(b"kept")
    (folder / "link").symlink_to(outside)
    with pytest.raises(PathRefused):
        write(folder, str(folder), ("link", "x.txt"))
    with pytest.raises(PathRefused):
        write(folder, str(folder / "link"), ("x.txt",))
    with pytest.raises(PathRefused):
        write(folder, str(outside), ("x.txt",))
    # A link, or a second name, where the file is to be: it is replaced, what it led to stays.
    (folder / "soft.txt").symlink_to(outside / "kept.txt")
    (folder / "hard.txt").hardlink_to(outside / "kept.txt")
    for name in ("soft.txt", "hard.txt"):
        write(folder, str(folder), (name,))
        assert (folder / name).read_bytes() == b"new"
    assert [file.name for file in outside.iterdir()] == ["kept.txt"]
    assert (outside / "kept.txt").read_bytes() == b"kept"
