"""Folders that a stranger filled: as deep, as full and as locked as they like."""

import contextlib
import itertools
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from modeldyno.worker import untrusted_folders
from modeldyno.worker.untrusted_folders import discard_tree, entries, remove_tree, temporary_folder

DEEPER_THAN_PYTHON = 1500  # its stack holds a thousand calls, and a process 1024 files


def nest(folder: Path, levels: int, name: str = "d") -> None:
    """Folders inside one another, deeper than any path can say."""
    at = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir(name, dir_fd=at)
        inner = os.open(name, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = inner
    os.close(os.open("leaf", os.O_CREAT | os.O_WRONLY, dir_fd=at))
    os.close(at)


@pytest.fixture
def tree(tmp_path):
    folder = tmp_path / "tree"
    folder.mkdir()
    yield folder
    remove_tree(folder)  # pytest could not


@pytest.mark.usefixtures("starts_processes")
def test_removing_takes_any_depth_with_a_handful_of_descriptors(tree):
    nest(tree, 2 * DEEPER_THAN_PYTHON)
    code = """
import resource, sys
from pathlib import Path
from modeldyno.worker.untrusted_folders import remove_tree
resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16))
remove_tree(Path(sys.argv[1]))
"""
    subprocess.run([sys.executable, "-c", code, str(tree)], check=True)
    assert not tree.exists()


def test_removing_takes_many_files_and_folders_beside_each_other(tree):
    for number in range(300):
        (tree / f"file{number}").write_text("x")
        (tree / f"folder{number}" / "inner").mkdir(parents=True)
        (tree / f"folder{number}" / "inner" / "file").write_text("x")
    remove_tree(tree, at_once=10)
    assert not tree.exists()


def test_links_are_removed_and_what_they_point_to_stays(tree, tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "file").write_text("keep me")
    (tree / "folder").symlink_to(mine)
    (tree / "file").symlink_to(mine / "file")
    remove_tree(tree)
    assert not tree.exists()
    (tmp_path / "link").symlink_to(mine)
    remove_tree(tmp_path / "link")
    assert not (tmp_path / "link").is_symlink()
    assert (mine / "file").read_text() == "keep me"


def test_removing_a_missing_folder_is_fine(tmp_path):
    remove_tree(tmp_path / "nothing")
    remove_tree(tmp_path / "nothing" / "at all")


def test_a_file_or_a_pipe_in_place_of_the_folder_is_removed(tmp_path):
    (tmp_path / "file").write_text("x")
    os.mkfifo(tmp_path / "pipe")
    remove_tree(tmp_path / "file")
    remove_tree(tmp_path / "pipe")
    assert list(tmp_path.iterdir()) == []


AS_NOBODY = """
import os, sys
from pathlib import Path
from modeldyno.worker.untrusted_folders import entries, remove_tree
if os.getuid() == 0:
    os.setgid(65534); os.setuid(65534)
tree = Path(sys.argv[1]) / "tree"
for name in ("none", "listed", "entered"):
    (tree / name / "inner").mkdir(parents=True)
    (tree / name / "inner" / "file").write_text("x")
(tree / "none" / "inner").chmod(0)
(tree / "none").chmod(0)
(tree / "listed").chmod(0o400)
(tree / "entered").chmod(0o100)
assert len(list(entries(tree))) == 9
(tree / "none").chmod(0)
(tree / "listed").chmod(0o400)
remove_tree(tree)
assert not tree.exists()
"""


@pytest.mark.usefixtures("starts_processes")
def test_folders_without_permissions_are_removed_by_their_owner():
    with tempfile.TemporaryDirectory() as folder:  # pytest keeps its own folders to root
        Path(folder).chmod(0o777)
        subprocess.run([sys.executable, "-c", AS_NOBODY, folder], check=True, cwd="/")


def test_what_cannot_be_removed_is_reported_and_the_rest_is_gone(tree, monkeypatch):
    for name in ("a", "b", "c"):
        (tree / name).mkdir()
        (tree / name / "file").write_text("x")
    rmdir = os.rmdir

    def refuse(name, *, dir_fd):
        if name == "b":
            raise PermissionError("busy")
        rmdir(name, dir_fd=dir_fd)

    monkeypatch.setattr(os, "rmdir", refuse)
    with pytest.raises(PermissionError):
        remove_tree(tree)
    assert sorted(path.name for path in tree.rglob("*")) == ["b"]


@pytest.mark.usefixtures("starts_processes")
def test_removal_gives_up_on_a_folder_that_keeps_being_filled(tree):
    (tree / "seen").mkdir()
    done = threading.Event()

    def fill() -> None:
        for number in itertools.count():
            if done.is_set():
                return
            with contextlib.suppress(OSError):  # the folder itself is gone
                (tree / f"new{number}").mkdir(parents=True)

    filling = threading.Thread(target=fill)
    filling.start()
    for _ in range(5):
        discard_tree(tree, limit_s=0.05)
    assert not (tree / "seen").exists()
    done.set()
    filling.join()
    remove_tree(tree)
    assert not tree.exists()


def test_a_clean_up_that_fails_is_logged_and_does_not_fail_the_work(tree, monkeypatch, caplog):
    def refuse(path, limit_s):
        raise RecursionError("maximum recursion depth exceeded")

    monkeypatch.setattr(untrusted_folders, "remove_tree", refuse)
    assert not discard_tree(tree)
    assert "left for the next sweep" in caplog.text


def test_a_temporary_folder_goes_however_deep_it_has_become():
    with temporary_folder() as folder:
        nest(folder, DEEPER_THAN_PYTHON)
    assert not folder.exists()


def test_a_deep_folder_can_be_measured_without_opening_all_of_it(tree):
    nest(tree, DEEPER_THAN_PYTHON)
    (tree / "big").write_bytes(b"x" * 100_000)
    (tree / "link").symlink_to("/")
    found = list(entries(tree))
    assert len(found) == DEEPER_THAN_PYTHON + 3
    assert sum(facts.st_blocks for facts in found) * 512 >= 100_000
