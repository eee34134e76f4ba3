"""Rankings: one side that fails takes no other's number away."""

import pytest

from modeldyno.core.documents.comparisons import RankingDocument
from modeldyno.core.documents.described import json_value
from modeldyno.core.errors import Cancelled, EngineFailed, TimedOut
from modeldyno.core.rankings import ranking_remarks
from modeldyno.core.requests.measuring import ModelFile, PairingRequest, SideRequest
from modeldyno.core.specs import (
    BenchmarkSpec,
    Budget,
    CellSpec,
    ComparisonSpec,
    InferenceSpec,
    ModelSpec,
    SideSpec,
)
from modeldyno.services import rankings
from modeldyno.services.rankings import rank_sides
from modeldyno.settings import Settings
from modeldyno.workbench import open_workbench
from tests import schemas
from tests.scripts import fault, script

# Alone: two sessions in each of two processes.
SHORT = Budget("custom", 0.05, 2, 2, 0.01, 4, None, None)
MEMORY = 10**9


class Runs:
    """The first pair fails, at the second somebody presses Ctrl-C."""

    def __init__(self):
        self.compared = 0

    def run(self, spec, listen=None):
        if isinstance(spec, InferenceSpec):
            return  # the first side runs when it is alone
        self.compared += 1
        raise EngineFailed("It does not load") if self.compared == 1 else Cancelled("Stopped")


def test_ctrl_c_before_a_first_result_is_told_though_a_side_failed():
    sides = [SideSpec(label, ModelSpec("net.onnx"), CellSpec()) for label in "abc"]
    found = rank_sides(sides, ComparisonSpec(sides[0], sides[1]), Runs(), None)  # type: ignore[arg-type]
    assert found.interrupted
    assert [one.failure and one.failure.title for one in found.sides] == [
        None,
        "It does not load",
        None,
    ]


class Slow:
    """Two sides that never end together; the first runs once, but fails when it is measured."""

    def __init__(self):
        self.tried = []

    def run(self, spec, listen=None):
        if isinstance(spec, InferenceSpec):
            return self.tried.append(spec.model.path)
        if isinstance(spec, BenchmarkSpec):
            raise EngineFailed("It fails when measured")
        raise TimedOut("Not done in time")


def test_the_side_of_a_pair_that_timed_out_is_not_waited_for_again():
    sides = [SideSpec(label, ModelSpec(label), CellSpec()) for label in "ab"]
    runs = Slow()
    found = rank_sides(sides, ComparisonSpec(sides[0], sides[1]), runs, None)  # type: ignore[arg-type]
    assert runs.tried == ["a"]
    codes = [one.failure and one.failure.code for one in found.sides]
    assert codes == ["ENGINE_FAILED", "TIMED_OUT"]
    assert (found.reference, found.interrupted) == ("", False)


# ---------------------------------------------------------------- with the engine of tests


@pytest.fixture
def rank(tmp_path):
    """Ranks scripts by name, in the order in which they are given."""

    def of(**scripts):
        sides = [
            SideSpec(name, ModelSpec(str(script(tmp_path / f"{name}.json", **said))), CellSpec())
            for name, said in scripts.items()
        ]
        like = ComparisonSpec(
            sides[0], sides[1], processes=1, pairs=2, pair_s=0.01, memory_limit_bytes=MEMORY
        )
        runs = open_workbench(Settings(tmp_path / "workspace")).service
        found = rank_sides(sides, like, runs, None, SHORT)
        schemas.check("ranking", json_value(RankingDocument.of(found)))
        return found

    return of


BAD = {"faults": [fault("raise", call=-1)]}
OK = {"latency_us": 50}
SLOWER = {"latency_us": 500}


@pytest.mark.usefixtures("starts_processes")
@pytest.mark.parametrize(
    "scripts",
    [{"bad": BAD, "ok": OK}, {"ok": OK, "bad": BAD}, {"bad": BAD, "worse": BAD}],
    ids="-".join,
)
def test_a_side_that_is_left_alone_is_measured_alone(rank, scripts):
    found = rank(**scripts)
    assert found.reference == ("ok" if "ok" in scripts else "")
    for one in found.sides:
        if one.label == "ok":
            assert (one.place, one.alone, one.failure) == (1, True, None)
            assert found.floor_s(one) >= 50e-6
            assert "ok was measured alone: no other side could be measured" in str(found)
        else:
            assert (one.place, one.side, one.failure.code) == (None, None, "ENGINE_FAILED")
            assert one.failure.fix == "Remove the fault from the script"
            assert f"{one.label}: {one.failure.title} [ENGINE_FAILED]" in str(found)


@pytest.mark.usefixtures("starts_processes")
def test_a_decoder_that_is_left_alone_is_measured_by_its_prefill(rank):
    """A benchmark of it has two cells."""
    shapes = {
        "input_ids": ("int64", ["batch", "seq"]),
        "attention_mask": ("int64", ["batch", "total"]),
        "past_key_values.0.key": ("float32", ["batch", 2, "past", 4]),
    }
    inputs = [{"name": n, "dtype": dtype, "shape": s} for n, (dtype, s) in shapes.items()]
    found = rank(bad=BAD, decoder=OK | {"inputs": inputs})
    _, alone = found.sides
    assert (alone.place, alone.alone, alone.failure) == (1, True, None)
    assert alone.side.spec.dims == {"prefill": 128}


@pytest.mark.usefixtures("starts_processes")
def test_sides_that_fail_in_any_position_and_way_leave_the_others_ranked(rank):
    found = rank(
        crash={"faults": [fault("segfault")]},
        ok=OK,
        hungry={"faults": [fault("out-of-memory")]},
        slower=SLOWER,
        # Runs when it is tried, and ends every process that measures it.
        late={"faults": [fault("exit", call=3)]},
    )
    assert found.reference == "ok"
    assert {one.label: one.failure and one.failure.code for one in found.sides} == {
        "crash": "ENGINE_CRASHED",
        "ok": None,
        "hungry": "OUT_OF_MEMORY",
        "slower": None,
        "late": "ENGINE_CRASHED",
    }
    assert [one.place for one in found.sides] == [None, 1, None, 2, None]
    assert "ok is the reference, because crash could not be measured" in str(found)


@pytest.mark.usefixtures("starts_processes")
def test_a_side_that_cannot_run_beside_the_reference_is_measured_alone(rank):
    """It fails in the third and fourth session of a process, which has two when it is alone."""
    clash = {"faults": [fault("raise", call=-1, session=number) for number in (2, 3)]}
    found = rank(ok=OK, clash=clash, slower=SLOWER)
    assert found.reference == "ok"
    assert [one.place for one in found.sides] == [1, None, 2]
    alone = found.sides[1]
    assert (alone.alone, alone.failure, alone.ratio) == (True, None, None)
    assert found.floor_s(alone) == alone.side.floor_s
    reason = "clash has no place: it could not be measured in alternation with ok: "
    assert any(remark.startswith(reason) for remark in ranking_remarks(found))


@pytest.mark.usefixtures("starts_processes")
def test_a_first_side_with_outputs_of_its_own_is_not_the_reference(rank):
    found = rank(odd=OK | {"output": 5.0}, ok=OK, slower=SLOWER)
    assert found.reference == "ok"
    assert [one.place for one in found.sides] == [None, 1, 2]
    odd = found.sides[0]
    assert odd.unranked.startswith("its outputs differ from those of ok by ")
    assert odd.ratio.low < odd.ratio.value < odd.ratio.high
    assert "ok is the reference, because odd is not comparable with the others" in str(found)


@pytest.mark.usefixtures("starts_processes")
def test_a_file_that_nobody_can_read_does_not_keep_others_from_being_ranked(tmp_path):
    names = [tmp_path / "broken.onnx", *(tmp_path / f"{name}.json" for name in ("one", "two"))]
    names[0].write_bytes(b"not a model")
    for name in names[1:]:
        script(name)
    runs = open_workbench(Settings(tmp_path / "workspace")).service
    pairing = PairingRequest(budget="quick", pairs=2)
    models = [ModelFile(name) for name in names]
    found = rankings.rank_models(models, SideRequest(), pairing, runs, None, in_all=True)
    assert [one.failure and one.failure.code for one in found.sides] == [
        "MODEL_UNREADABLE",
        None,
        None,
    ]
    assert all(found.floor_s(one) for one in found.sides[1:])
