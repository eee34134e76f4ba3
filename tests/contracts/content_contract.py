"""What every ``Content`` does, so that a job runs where no path of its spec is valid.

A test class inherits this and provides ``elsewhere``: a place to run jobs that gets what specs list
from ``shelf``, and from nowhere else.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import onnx
import pytest

from modeldyno.core.errors import ModelChanged, ModelNotFound
from modeldyno.core.ids import new_run_id
from modeldyno.core.jobs import Result
from modeldyno.core.models import Making, ModelFacts
from modeldyno.core.specs import (
    BenchmarkSpec,
    CellSpec,
    ComparisonSpec,
    ConversionSpec,
    GraphSpec,
    InferenceSpec,
    InspectionSpec,
    ModelSpec,
    ProfileSpec,
    RunSpec,
    SideSpec,
)
from modeldyno.formats import sidecar
from modeldyno.jobs.local import LocalJobs
from modeldyno.jobs.protocol import Jobs
from modeldyno.jobs.recording import Ending, note_ending
from modeldyno.store.content import describe_file, list_files_in_spec
from tests.onnx_models import linear

CELL = CellSpec("onnxruntime")
# Of documents: what does not depend on when and how fast something was measured.
NOT_MEASURED = {
    *("schema", "seed", "budget", "model", "models", "settings", "host", "errors"),
    *("name", "label", "engine", "status", "error", "batch_size", "precision", "call_contract"),
    *("input_shapes", "effective", "mismatches", "parity", "parity_to", "node", "op_type"),
}
MAKING = Making("net.pt", "1" * 64, "torch-export", "torch.onnx", {"torch": "2.9"}, "now", 3, 1e-6)


class Shelf:
    """Content by checksum, as streams; each is counted."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._folder.mkdir()
        self.fetched: list[str] = []

    def take(self, folder: Path) -> None:
        """All files below a folder, which is gone afterwards."""
        for path in folder.rglob("*"):
            if path.is_file():
                path.rename(self.path(hashlib.sha256(path.read_bytes()).hexdigest()))
        shutil.rmtree(folder)

    def path(self, sha256: str) -> Path:
        return self._folder / sha256

    def fetch(self, sha256: str) -> BinaryIO:
        self.fetched.append(sha256)
        return BytesIO(self.path(sha256).read_bytes())


def run(jobs: Jobs, spec: RunSpec) -> Result:
    ending = Ending()
    run_id = new_run_id()
    jobs.submit(run_id, spec, lambda _, message: note_ending(message, ending))
    jobs.wait(run_id)
    return ending.result_or_raise()


def unmeasured(document: Any) -> Any:
    """What two runs of one spec agree on."""
    if isinstance(document, list):
        parts = [unmeasured(each) for each in document if isinstance(each, dict)]
        return sorted(filter(None, parts), key=json.dumps)  # nodes are sorted by their times
    inside = {
        name: value if name in NOT_MEASURED else unmeasured(value)
        for name, value in document.items()
        if name in NOT_MEASURED or (isinstance(value, (dict, list)) and name != "memory_bytes")
    }
    return {name: value for name, value in inside.items() if name in NOT_MEASURED or value}


class ContentContract:
    @pytest.fixture
    def shelf(self, tmp_path: Path) -> Shelf:
        return Shelf(tmp_path / "shelf")

    @pytest.fixture
    def elsewhere(self, shelf: Shelf) -> Jobs:
        raise NotImplementedError

    @pytest.fixture
    def here(self) -> Jobs:
        return LocalJobs()

    @pytest.fixture
    def model(self, here: Jobs, tmp_path: Path) -> Callable[..., ModelSpec]:
        """``model("a", bias=2.0, external=True)``: in a folder of its own, as a spec that lists
        its files."""

        def make(
            name: str, bias: float = 1.0, external: bool = False, making: Making | None = None
        ) -> ModelSpec:
            made = linear()
            values = np.full(3, bias, dtype="float32")
            made.graph.initializer[1].CopyFrom(onnx.numpy_helper.from_array(values, "b"))
            path = tmp_path / name / "net.onnx"
            path.parent.mkdir()
            beside: dict[str, Any] = {"location": "w.bin", "size_threshold": 0}
            onnx.save(made, path, save_as_external_data=external, **beside if external else {})
            if making is not None:
                Path(str(path) + sidecar.SUFFIX).write_text(sidecar.making_to_toml(making))
            facts = run(here, InspectionSpec(ModelSpec(str(path))))
            assert isinstance(facts, ModelFacts)
            return list_files_in_spec(ModelSpec(str(path)), facts)

        return make

    @pytest.fixture
    def both(
        self, here: Jobs, elsewhere: Jobs, shelf: Shelf
    ) -> Callable[[RunSpec], tuple[Result, Result]]:
        """What comes of a spec where its files are, and elsewhere, when they are gone."""

        def run_both(spec: RunSpec) -> tuple[Result, Result]:
            local = run(here, spec)
            for folder in {Path(model.path).parent for model in spec.models()}:
                shelf.take(folder)
            return local, run(elsewhere, spec)

        return run_both

    # ------------------------------------------------------------ the same, elsewhere

    @pytest.mark.parametrize("external", [False, True])
    def test_an_inspection_says_the_same(self, external, model, both):
        here, there = both(InspectionSpec(model("m", external=external, making=MAKING)))
        assert there == here
        assert there.made == MAKING
        assert bool(there.external) is external

    @pytest.mark.parametrize("external", [False, True])
    def test_a_benchmark_gives_the_same_document(self, external, model, both):
        spec = BenchmarkSpec(model("m", external=external), (CELL,), iterations=5)
        here, there = both(spec)
        assert there.spec == here.spec == spec
        assert there.model == here.model
        assert [cell.status for cell in there.cells] == ["done"]
        self.expect_same_document(here, there)

    def test_a_comparison_of_models_with_the_same_name_gives_the_same_document(self, model, both):
        old, new = model("old"), model("new", bias=2.0, external=True)
        sides = SideSpec("old", old, CELL), SideSpec("new", new, CELL)
        here, there = both(ComparisonSpec(*sides, pairs=4, processes=2, pair_s=0.01))
        assert there.spec == here.spec
        assert there.a.model != there.b.model
        assert (there.parity, there.pairs) == (here.parity, here.pairs)
        assert not there.parity.agrees
        self.expect_same_document(here, there)

    def test_contents_at_one_path_are_two_models(self, model, elsewhere, shelf, tmp_path):
        """Of an old and a new version, say, which lay at the same place one after the other."""
        old, new = model("old"), model("new", bias=2.0)
        for name in ("old", "new"):
            shelf.take(tmp_path / name)
        sides = SideSpec("old", old, CELL), SideSpec("new", replace(new, path=old.path), CELL)
        there = run(elsewhere, ComparisonSpec(*sides, pairs=4, processes=2, pair_s=0.01))
        assert [side.model.sha256 for side in (there.a, there.b)] == [old.sha256, new.sha256]
        assert not there.parity.agrees

    def test_a_profile_gives_the_same_document(self, model, both):
        spec = ProfileSpec(model("m", external=True), repeats=2, repeat_s=0.01)
        here, there = both(spec)
        assert there.spec == here.spec == spec
        assert {row.node for row in there.rows} == {row.node for row in here.rows}
        self.expect_same_document(here, there)

    def test_a_graph_and_an_inference_are_the_same(self, model, both, elsewhere):
        spec = model("m", external=True)
        here, there = both(GraphSpec(spec))
        assert there == here
        inference = run(elsewhere, InferenceSpec(spec, CELL))
        assert [output.name for output in inference.outputs] == ["y"]

    def test_a_conversion_reads_the_same_source(self, model, here, elsewhere, shelf, tmp_path):
        spec = ConversionSpec(model("m", external=True), "openvino", str(tmp_path / "here.xml"))
        local = run(here, spec)
        shelf.take(tmp_path / "m")
        there = run(elsewhere, replace(spec, output=str(tmp_path / "there.xml")))
        assert there.source == local.source
        assert there.checks == local.checks

    def test_a_file_of_inputs_comes_along(self, model, both, tmp_path):
        spec = model("m")
        data = Path(spec.path).with_name("inputs.npz")
        np.savez(data, x=np.full((1, 4), 3, dtype="float32"))
        spec = replace(spec, data=str(data), data_file=describe_file(data))
        here, there = both(BenchmarkSpec(spec, (CELL,), iterations=5))
        assert [cell.status for cell in there.cells] == ["done"]
        assert there.spec.model.data == str(data)
        self.expect_same_document(here, there)

    # ------------------------------------------------------------ content

    def test_what_came_once_is_there_for_the_next_job(self, model, both, elsewhere, shelf):
        spec = BenchmarkSpec(model("m", external=True), (CELL,), iterations=5)
        both(spec)
        listed = sorted(file.sha256 for file in spec.model.files)
        assert sorted(shelf.fetched) == listed
        run(elsewhere, spec)
        run(elsewhere, GraphSpec(spec.model))
        assert sorted(shelf.fetched) == listed

    @pytest.mark.parametrize("number", [0, 1])
    def test_a_missing_file_fails_the_job_and_nothing_else(
        self, number, model, elsewhere, shelf, tmp_path
    ):
        spec = BenchmarkSpec(model("m", external=True), (CELL,), iterations=5)
        shelf.take(tmp_path / "m")
        lost = spec.model.files[number]
        shelf.path(lost.sha256).rename(tmp_path / "found again")
        with pytest.raises(ModelNotFound) as caught:
            run(elsewhere, spec)
        assert caught.value.title == f"{lost.location} could not be downloaded"
        assert lost.sha256[:12] in caught.value.why
        assert caught.value.fix
        (tmp_path / "found again").rename(shelf.path(lost.sha256))
        assert run(elsewhere, spec).cells[0].status == "done"

    @pytest.mark.parametrize("number", [0, 1])
    def test_other_bytes_than_were_listed_are_not_kept(
        self, number, model, elsewhere, shelf, tmp_path
    ):
        spec = BenchmarkSpec(model("m", external=True), (CELL,), iterations=5)
        shelf.take(tmp_path / "m")
        changed = shelf.path(spec.model.files[number].sha256)
        bytes_before = changed.read_bytes()
        changed.write_bytes(bytes_before[:-1] + b"!")
        with pytest.raises(ModelChanged, match="has changed") as caught:
            run(elsewhere, spec)
        assert changed.name[:12] in caught.value.why
        assert caught.value.fix
        changed.write_bytes(bytes_before)
        assert run(elsewhere, spec).cells[0].status == "done"

    def test_a_spec_without_a_list_names_a_file_where_the_job_runs(self, model, elsewhere, shelf):
        """As those of earlier versions do."""
        spec = replace(model("m"), files=(), data_file=None)
        assert run(elsewhere, BenchmarkSpec(spec, (CELL,), iterations=5)).cells[0].status == "done"
        Path(spec.path).rename(spec.path + ".gone")
        with pytest.raises(ModelNotFound):
            run(elsewhere, BenchmarkSpec(spec, (CELL,), iterations=5))
        assert shelf.fetched == []

    def expect_same_document(self, here: Any, there: Any) -> None:
        first, second = (unmeasured(json.loads(result.to_json())) for result in (here, there))
        assert second == first, (second, first)
