"""A model's graph: read once in a worker, then out of the workspace."""

import hashlib

import pytest

from modeldyno.core.errors import GraphUnavailable, ModelChanged, ModelNotFound
from modeldyno.core.specs import GraphSpec, ModelSpec
from modeldyno.formats.onnx.graph import read_graph
from modeldyno.services.graphs import GraphService
from modeldyno.store.graphs import Graphs
from tests import onnx_models
from tests.scripts import script


class Reads:
    """Stands for the runs: reads here, and counts."""

    def __init__(self):
        self.specs = []

    def run(self, spec, listen=None):
        self.specs.append(spec)
        from pathlib import Path

        return read_graph(Path(spec.model.path))


@pytest.fixture
def reads():
    return Reads()


@pytest.fixture
def service(reads, tmp_path):
    return GraphService(reads, Graphs(tmp_path / "graphs"))


@pytest.fixture
def model(tmp_path):
    return onnx_models.saved(onnx_models.linear(), tmp_path / "m.onnx")


def spec(path, **more):
    return GraphSpec(ModelSpec(str(path), **more))


def test_a_second_look_starts_no_worker(service, reads, model):
    first = service.graph(spec(model))
    assert service.graph(spec(model)) == first
    assert len(reads.specs) == 1


def test_the_worker_is_held_to_the_hash_of_the_file(service, reads, model):
    service.graph(spec(model))
    assert reads.specs[0].model.sha256 == hashlib.sha256(model.read_bytes()).hexdigest()


def test_the_same_content_elsewhere_is_the_same_graph(service, reads, model):
    service.graph(spec(model))
    service.graph(spec(model.rename(model.with_name("other.onnx"))))
    assert len(reads.specs) == 1


def test_a_changed_file_is_another_model(service, reads, model):
    service.graph(spec(model))
    onnx_models.saved(onnx_models.embedding(), model)
    assert [node.op for node in service.graph(spec(model)).nodes] == ["Gather"]
    assert len(reads.specs) == 2


def test_a_hash_that_is_known_is_not_computed_again(service, reads, model):
    graph = service.graph(spec(model))
    gone = spec(model.with_name("gone.onnx"), sha256=graph.sha256)
    assert service.graph(gone) == graph
    assert len(reads.specs) == 1


def test_a_damaged_entry_is_read_again(service, reads, model, tmp_path):
    first = service.graph(spec(model))
    (entry,) = (tmp_path / "graphs").iterdir()
    entry.write_bytes(entry.read_bytes()[:-3])
    later = GraphService(reads, Graphs(tmp_path / "graphs"))
    assert later.graph(spec(model)) == first
    assert len(reads.specs) == 2


def test_another_process_finds_it_in_the_workspace(service, reads, model, tmp_path):
    first = service.graph(spec(model))
    assert GraphService(reads, Graphs(tmp_path / "graphs")).graph(spec(model)) == first
    assert len(reads.specs) == 1


def test_the_same_process_gets_the_very_same_graph_while_it_is_remembered(reads, model, tmp_path):
    service = GraphService(reads, Graphs(tmp_path / "graphs"), max_cached_nodes=2)
    paths = [onnx_models.saved(onnx_models.embedding(n), tmp_path / f"{n}.onnx") for n in (3, 4)]
    service.graph(spec(model))
    first = service.graph(spec(model))  # one node, out of the workspace
    assert service.graph(spec(model)) is first
    for path in (*paths, *paths):  # two more push it out
        service.graph(spec(path))
    assert service.graph(spec(model)) is not first
    assert len(reads.specs) == 3


# ---------------------------------------------------------------- with real workers


@pytest.fixture
def bench(tmp_path):
    from modeldyno.settings import Settings
    from modeldyno.workbench import open_workbench

    return open_workbench(Settings(tmp_path / "workspace"))


@pytest.mark.usefixtures("starts_processes")
def test_a_real_worker_reads_what_we_would_and_leaves_no_run(bench, model, tmp_path):
    assert bench.graphs.graph(spec(model)) == read_graph(model)
    assert [path.name for path in (tmp_path / "workspace").iterdir()] == ["graphs"]


@pytest.mark.usefixtures("starts_processes")
def test_what_is_wrong_with_a_file_is_told_and_not_kept(bench, tmp_path):
    with pytest.raises(GraphUnavailable):
        bench.graphs.graph(spec(script(tmp_path / "m.json")))
    with pytest.raises(ModelNotFound):
        bench.graphs.graph(spec(tmp_path / "gone.onnx"))
    assert not (tmp_path / "workspace" / "graphs").exists()


@pytest.mark.usefixtures("starts_processes")
def test_a_file_that_is_not_what_was_promised_is_refused(bench, model):
    with pytest.raises(ModelChanged):
        bench.graphs.graph(spec(model, sha256="0" * 64))
