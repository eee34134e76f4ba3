"""The fair contract: engines that do other work than the first one are measured and not ranked."""

import os
import textwrap
from dataclasses import replace

import pytest

from modeldyno.core.documents.benchmarks import BenchmarkDocument
from modeldyno.core.errors import WrongOutput
from modeldyno.core.requests.measuring import BenchmarkRequest
from modeldyno.core.results import Standing
from modeldyno.core.sentences import precision_sentence, remarks
from modeldyno.core.sessions import Parity, SessionFacts, Target
from modeldyno.core.specs import QUICK, CellSpec
from modeldyno.jobs.cells import Cell
from modeldyno.jobs.contract import set_mismatches
from modeldyno.jobs.preparation import Prepared
from modeldyno.services.requests import make_benchmark_spec
from modeldyno.settings import Settings
from modeldyno.workbench import open_workbench
from tests import onnx_models
from tests.packages import install
from tests.scripts import INPUTS

pytestmark = pytest.mark.usefixtures("starts_processes")

BUDGET = replace(QUICK, seconds=1.0)
# ONNX Runtime under other names, each with a habit of its own.
ENGINES = textwrap.dedent("""
    from contextlib import contextmanager
    from dataclasses import replace
    from random import uniform

    from modeldyno.engines.catalog import EngineEntry
    from modeldyno.engines.onnxruntime import OnnxRuntime


    class Copy(OnnxRuntime):
        changes = {}
        factor = 1

        @contextmanager
        def open(self, target):
            with super().open(replace(target, engine="onnxruntime")) as session:
                yield Session(session, self)

        def examine(self, target, inputs):
            facts, outputs = OnnxRuntime().examine(target, inputs)
            return self.changed(facts), self.scaled(outputs)

        def changed(self, facts):
            return replace(facts, engine=self.name, **self.changes)

        def scaled(self, outputs):
            return {name: self.factor * value for name, value in outputs.items()}


    class Session:
        def __init__(self, session, engine):
            self._session, self._engine = session, engine
            self.bind = session.bind

        @property
        def facts(self):
            return self._engine.changed(self._session.facts)

        def run(self, inputs):
            return self._engine.scaled(self._session.run(inputs))


    class Twin(Copy):
        name = "twin"


    class Rounding(Copy):
        name = "rounding"
        changes = {"precision": "bf16"}


    class Converting(Copy):
        name = "converting"
        changes = {"input_dtypes": {"x": "float16"}}


    class Wrong(Copy):
        name = "wrong"
        factor = 2


    class Dice(Copy):
        name = "dice"

        def scaled(self, outputs):
            # So wide that no two throws come near each other.
            return {name: 10 ** uniform(-30, 30) * value for name, value in outputs.items()}


    class Lazy(Copy):
        name = "lazy"
        changes = {"contract": "hot"}


    def entry(kind):
        return EngineEntry(
            kind.name, f"engines_of_others:{kind.__name__}", "numpy", "", ("cpu",), ("onnx",)
        )


    twin, rounding, converting = map(entry, (Twin, Rounding, Converting))
    wrong, lazy, dice = map(entry, (Wrong, Lazy, Dice))
""")
NAMES = ("twin", "rounding", "converting", "wrong", "lazy", "dice")


@pytest.fixture
def bench(tmp_path, monkeypatch):
    points = "\n".join(f"{name} = engines_of_others:{name}" for name in NAMES)
    site = install(tmp_path / "site", "engines_of_others", ENGINES, points)
    monkeypatch.syspath_prepend(str(site))
    path = os.pathsep.join(filter(None, (str(site), os.environ.get("PYTHONPATH"))))
    monkeypatch.setenv("PYTHONPATH", path)
    room = open_workbench(Settings(tmp_path / "workspace"))
    model = onnx_models.saved(onnx_models.linear(), tmp_path / "m.onnx")

    def run(*engines, model=model, **said):
        spec = make_benchmark_spec(BenchmarkRequest(engines=engines, **said), model)
        return room.service.run(replace(spec, budget=BUDGET))

    return run


def test_engines_that_do_the_same_are_ranked_together(bench):
    result = bench("onnxruntime", "twin")
    assert [cell.mismatches for cell in result.cells] == [(), ()]
    assert result.cells[0].parity is None
    assert result.cells[1].parity.agrees
    assert result.cells[1].parity.max_abs_error == 0.0
    for standing in result.standings.values():
        assert standing.leader in (0, 1)


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        ("rounding", "computes in bf16, onnxruntime · 1 core · batch 1 in fp32"),
        ("converting", "takes x as float16, onnxruntime · 1 core · batch 1 as float32"),
        ("wrong", "outputs differ from those of onnxruntime · 1 core · batch 1"),
        ("lazy", "its call is hot, that of onnxruntime · 1 core · batch 1 is api"),
    ],
)
def test_a_cell_that_differs_is_measured_but_not_ranked(bench, engine, words):
    result = bench("onnxruntime", engine, "twin")
    assert [(cell.status, cell.error) for cell in result.cells] == [("done", None)] * 3
    assert [bool(cell.mismatches) for cell in result.cells] == [False, True, False]
    assert words in result.cells[1].mismatches[0]
    assert result.cells[1].measurement.latency.typical.value > 0
    assert all(1 not in standing.tied for standing in result.standings.values())
    assert all(standing.leader != 1 for standing in result.standings.values())


def test_an_engine_that_cannot_load_the_model_says_why_and_the_others_go_on(bench):
    result = bench("onnxruntime", "scripted", "twin")
    assert [cell.status for cell in result.cells] == ["done", "failed", "done"]
    assert "does not read onnx" in result.cells[1].error.title


def test_outputs_are_compared_and_cells_ranked_only_where_sizes_are_the_same(bench, tmp_path):
    model = onnx_models.saved(onnx_models.tokens(), tmp_path / "tokens.onnx")
    result = bench("onnxruntime", "twin", model=model, dims={"seq": (4, 400)})
    assert [cell.spec.dims for cell in result.cells] == [{"seq": 4}, {"seq": 400}] * 2
    assert [cell.mismatches for cell in result.cells] == [()] * 4
    assert [cell.parity and cell.parity.agrees for cell in result.cells] == [None, None, True, True]
    assert result.standings == {}
    for _, standing in result.all_standings():
        assert {*standing.tied} <= ({0, 2} if standing.leader in (0, 2) else {1, 3})
    document = BenchmarkDocument.of(result)
    assert document.best.latency is None
    assert len(document.best_by_workload) == len(result.standings_by_workload)


def test_cells_that_are_ranked_although_they_compute_differently_have_a_sentence(bench):
    """As where both precisions were requested."""
    result = replace(bench("onnxruntime", "twin"), standings={"latency": Standing(0, (0,))})
    assert precision_sentence(result) == ""
    first, second = result.cells
    mixed = "int4 weights, int8 activations"
    changed = replace(second, facts=replace(second.facts, precision=mixed))
    sentence = (
        "Ranked together, but they compute differently: "
        "1 cell in fp32, 1 cell with int4 weights, int8 activations"
    )
    ranked = replace(result, cells=(first, changed))
    assert precision_sentence(ranked) == sentence
    assert sentence in remarks(ranked)
    assert precision_sentence(replace(ranked, standings={})) == ""


def test_a_request_is_about_the_arithmetic_and_not_about_how_weights_are_stored():
    cells = [Cell(number, CellSpec(precision="fp32")) for number in (0, 1)]
    for cell, precision in zip(cells, ("int4 weights, fp32 activations", "fp32"), strict=True):
        own = prepared(0)
        cell.prepared = replace(own, facts=replace(own.facts, precision=precision))
    set_mismatches(cells)
    assert cells[0].mismatches == ()
    words = f"computes in fp32, {cells[0].name} with int4 weights, fp32 activations"
    assert cells[1].mismatches == (words,)


def test_a_single_cell_is_not_called_the_best(bench):
    assert bench("onnxruntime", "rounding").standings == {}


def test_each_batch_has_its_own_first(bench):
    result = bench("onnxruntime", "twin", batch_sizes=(1, 2))
    assert [cell.parity is None for cell in result.cells] == [True, True, False, False]
    assert [cell.mismatches for cell in result.cells] == [()] * 4


def test_random_outputs_are_not_counted_as_differences(bench):
    result = bench("onnxruntime", "dice")
    assert [(cell.status, cell.mismatches, cell.parity) for cell in result.cells] == [
        ("done", (), None)
    ] * 2


def test_nothing_is_held_against_a_cell_that_failed():
    """What it computed may be what was wrong with it."""
    first, second = (Cell(number, CellSpec(), prepared=prepared(number)) for number in (0, 1))
    set_mismatches([first, second])
    assert "outputs differ" in second.mismatches[0]
    first.error = WrongOutput("no")
    set_mismatches([first, second])
    assert second.mismatches == ()


def prepared(number):
    facts = SessionFacts("scripted", "1", "cpu", (), 1, None, {}, precision="fp32")
    target = Target("scripted", "m.json")
    parity = Parity(1.0, 1.0, agrees=False) if number else None
    against = "reference-0.npz" if number else None
    return Prepared(
        CellSpec(), target, INPUTS, 1, facts, f"reference-{number}.npz", (), parity, against
    )
