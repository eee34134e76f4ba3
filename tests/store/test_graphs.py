"""Kept graphs: a cache that is never wrong, never in the way, and never too large."""

import json
import os

import pytest

from modeldyno.core.graphs import Graph, GraphNode
from modeldyno.store import graphs as store
from modeldyno.store.graphs import Graphs


def graph(letter="a", names=1):
    nodes = tuple(GraphNode(f"n{i}", "Relu", "", f"n{i}", "", (), ()) for i in range(names))
    return Graph("onnx", letter * 64, "g", nodes, (), (), ())


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "graphs"


def test_what_was_kept_comes_back(folder):
    Graphs(folder).save(graph())
    assert Graphs(folder).load("a" * 64) == graph()
    assert Graphs(folder).load("b" * 64) is None
    assert [path.name for path in folder.iterdir()] == ["a" * 64 + ".2.json"]


def test_looking_for_a_graph_makes_no_folder(folder):
    assert Graphs(folder).load("a" * 64) is None
    assert not folder.exists()


def entry(folder):
    (path,) = folder.iterdir()
    return path


def truncate(path):
    path.write_bytes(path.read_bytes()[:-1])


def flip(path):
    data = bytearray(path.read_bytes())
    data[-10] ^= 1
    path.write_bytes(data)


def empty(path):
    path.write_bytes(b"")


def honest_checksum_of_rubbish(path):
    body = json.dumps({"version": 1}).encode()
    path.write_bytes(store._checksum(body) + b"\n" + body)


def of_another_model(path):
    Graphs(path.parent).save(graph("b"))
    path.with_name("b" * 64 + ".2.json").replace(path)


@pytest.mark.parametrize(
    "damage", [truncate, flip, empty, honest_checksum_of_rubbish, of_another_model]
)
def test_a_damaged_entry_is_no_entry_and_is_thrown_away(damage, folder):
    cache = Graphs(folder)
    cache.save(graph())
    damage(entry(folder))
    assert cache.load("a" * 64) is None
    assert list(folder.iterdir()) == []
    cache.save(graph())
    assert cache.load("a" * 64) == graph()


def test_entries_of_older_versions_are_thrown_away(folder):
    folder.mkdir()
    (folder / ("c" * 64 + ".0.json")).write_text("old")
    Graphs(folder).save(graph())
    assert [path.name[0] for path in folder.iterdir()] == ["a"]


def test_what_was_not_looked_at_for_longest_gives_way(folder):
    big = 200
    Graphs(folder).save(graph("a", big))
    size = entry(folder).stat().st_size
    cache = Graphs(folder, most_bytes=3 * size)
    for number, letter in enumerate("bc"):
        cache.save(graph(letter, big))
        os.utime(folder / f"{letter * 64}.2.json", ns=(number + 1, number + 1))
    os.utime(folder / ("a" * 64 + ".2.json"), ns=(0, 0))
    cache.load("a" * 64)  # the oldest, but it was looked at
    cache.save(graph("d", big))
    assert sorted(path.name[0] for path in folder.iterdir()) == ["a", "c", "d"]


def test_one_graph_that_is_larger_than_the_limit_is_kept_alone(folder):
    cache = Graphs(folder, most_bytes=10)
    cache.save(graph("a"))
    cache.save(graph("b"))
    assert cache.load("b" * 64) == graph("b")
    assert len(list(folder.iterdir())) == 1


def test_a_workspace_that_cannot_be_written_is_only_logged(tmp_path, caplog):
    (tmp_path / "graphs").write_text("a file, not a folder")
    cache = Graphs(tmp_path / "graphs")
    cache.save(graph())
    assert cache.load("a" * 64) is None
    assert "could not be cached" in caplog.text


@pytest.mark.parametrize("key", ["", "../" * 22, "A" * 64, "a" * 63])
def test_a_key_that_is_no_hash_names_no_file(key, folder):
    with pytest.raises(ValueError, match="not a sha256"):
        Graphs(folder).load(key)
