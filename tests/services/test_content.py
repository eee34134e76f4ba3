"""What a server submits names all files by checksum, and needs no path of its disk."""

from dataclasses import replace
from pathlib import Path

import onnx
import pytest

from modeldyno.core.identity import fingerprint
from modeldyno.core.specs import BenchmarkSpec, CellSpec, ModelSpec
from modeldyno.formats.sidecar import SUFFIX, making_to_toml
from modeldyno.jobs.local import LocalJobs
from modeldyno.settings import Settings
from modeldyno.store.bundles import Bundles
from modeldyno.store.content import StoredContent
from modeldyno.store.models import hash_file
from modeldyno.store.objects import Objects
from tests.contracts.content_contract import MAKING, run
from tests.onnx_models import linear
from tests.queue_room import QueueRoom

CELL = CellSpec("onnxruntime")


@pytest.fixture
def room(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    onnx.save(
        linear(), root / "net.onnx", save_as_external_data=True, location="w.bin", size_threshold=0
    )
    (root / ("net.onnx" + SUFFIX)).write_text(making_to_toml(MAKING))
    room = QueueRoom(tmp_path, Settings(tmp_path / "workspace", models_roots=(root,)))
    with room.opened():
        yield room


@pytest.mark.usefixtures("starts_processes")
def test_what_the_queue_runs_lists_every_file_by_checksum(room, tmp_path):
    server = room.server
    project = server.records.projects.add("p").id
    model = server.model_files.prepare_from(project, str(tmp_path / "root/net.onnx")).add()
    benchmark, job = server.benchmarks.create(
        project,
        model.id,
        "b",
        lambda path: BenchmarkSpec(ModelSpec(path), (CELL,), iterations=5),
        start=True,
    )
    room.until_state(job.id, "done")
    spec = server.folders.spec(job.run_id)
    files = spec.model.files
    assert [file.location for file in files] == ["net.onnx", "w.bin", "net.onnx" + SUFFIX]
    folder = Path(model.path).parent
    for file in files:
        path = folder / file.location
        assert (file.sha256, file.size_bytes) == (hash_file(path), path.stat().st_size)

    # A spec of an earlier version, without the list, is the same benchmark and gets one.
    old = replace(spec, model=replace(spec.model, files=()))
    assert fingerprint(old, [model.id]) == fingerprint(spec, [model.id])
    again = server.benchmarks.start(benchmark.id)
    room.until_state(again.id, "done")
    assert server.folders.spec(again.run_id) == spec

    # Where no path is valid, the workspace's content is all that it takes.
    objects = Objects(tmp_path / "workspace" / "objects")
    content = StoredContent(objects, Bundles(tmp_path / "workspace" / "models", objects))
    moved = replace(spec, model=replace(spec.model, path="/not/here/net.onnx"))
    result = run(LocalJobs(content=content), moved)
    assert result.cells[0].status == "done"
    assert result.model == replace(model.facts, path="/not/here/net.onnx")
