"""The parts of benchmarks/peers.py that measure nothing, and one short walk through the rest."""

import json
import subprocess
import sys

import pytest

from benchmarks import peer_claims, peers
from benchmarks.peers import Round, Row, Spread, Turn
from modeldyno.measure.cpus import allowed_cpus

PRINTED = """\
[Step 11/11] Dumping statistics report
[ INFO ] Count:            283 iterations
[ INFO ] Latency:
[ INFO ]    Median:        {median}
[ INFO ]    Average:       6.93 ms
[ INFO ]    Min:           6.08 ms
[ INFO ] Throughput:   141.18 FPS
"""
ROW = Row("loop, mean", "mean", "mean", "run")


def turn(number, claim, warned=False, beside=1.0):
    return Turn(number, "MLP", "mean", {"mean": claim}, warned, "", {"run": beside}, load=1.0)


def rounds(*turns, floor=1.0):
    return [Round(one.round, [one], {"MLP": {"run": floor}}) for one in turns]


@pytest.mark.parametrize(
    ("median", "seconds"), [("6.53 ms", 6.53e-3), ("3.00 us", 3e-6), ("1.25 s", 1.25)]
)
def test_the_median_of_benchmark_app_is_read_with_its_unit(median, seconds):
    latency, per_s = peer_claims.benchmark_app_figures(PRINTED.format(median=median))
    assert latency == pytest.approx(seconds)
    assert per_s == 141.18


def test_what_benchmark_app_does_not_print_is_not_made_up():
    with pytest.raises(ValueError, match="no median"):
        peer_claims.benchmark_app_figures("[ ERROR ] no such device")


def test_ratios_are_summed_up_with_how_often_they_are_off():
    assert peers.spread([0.9, 1.0, 1.04, 1.2, 1.0]) == Spread(1.0, 0.9, 1.2, off=2, n=5)


def test_floors_are_taken_over_all_slices_together():
    slow, fast = [2.0] * 80, [1.0] * 20
    assert peers.pooled([{"run": slow}, {"run": fast}]) == {"run": 1.0}


def test_a_claim_is_held_against_the_floor_of_its_own_round():
    found = rounds(turn(1, 2.0, beside=2.0), turn(2, 6.0, warned=True, beside=6.0), floor=2.0)
    summary = peers.summarise(ROW, "MLP", found)
    assert summary
    assert summary["over_floor"] == {
        "median": 2.0,
        "lowest": 1.0,
        "highest": 3.0,
        "off": 1,
        "n": 2,
    }
    assert summary["over_floor_beside"]["off"] == 0
    assert summary["off_without_warning"] == 0
    assert summary["highest_over_lowest_claim"] == 3.0


def test_a_tool_that_claims_nothing_has_no_row():
    assert peers.summaries(rounds(turn(1, 1.0)))["MLP"] == [
        peers.summarise(row, "MLP", rounds(turn(1, 1.0))) for row in peers.ROWS if row == ROW
    ]


def test_tables_and_lines_hold_every_row_and_turn():
    found = rounds(turn(1, 8e-6), turn(2, 9e-6), floor=8e-6)
    text = "\n".join(peers.text_lines({"cpus": 2}, found))
    assert "| MLP | loop, mean | 8.5 µs | 1.062 (1.000–1.125) | 1 of 2 | 1 | 1.12 |" in text
    assert "| ONNX Runtime, session.run | 8 µs (8 µs–8 µs) |" in text
    lines = [json.loads(line) for one in found for line in peers.turn_lines(one)]
    lines += map(json.loads, peers.summary_lines({"cpus": 2}, found))
    assert [line["kind"] for line in lines] == ["turn", "turn", "machine", "row"]


def test_every_row_has_a_tool_and_a_floor():
    assert {row.tool for row in peers.ROWS} == set(peers.ENGINES)
    assert {row.floor for row in peers.ROWS} <= set(peers.FLOORS)
    floors = {f"{engine} floors" for engine in peers.ENGINES.values()}
    assert set(peers.ENGINES) | floors == set(peer_claims.TOOLS)


def test_what_is_missing_comes_with_what_installs_it():
    of_openvino = ("benchmark_app", "benchmark_app floor", "modeldyno openvino")
    assert peers.missing(peers.ENGINES, installed=lambda package: None) == {
        "torch": "pip install -c constraints.txt '.[torch]'",
        **dict.fromkeys(of_openvino, "pip install -c constraints.txt '.[openvino]'"),
    }


def test_two_tools_of_one_engine_are_held_against_each_other_by_their_own_clocks():
    turns = [
        Turn(1, "MLP", tool, {"floor": claim}, False, "", {clock: beside}, load=1.0)
        for tool, claim, clock, beside in (
            ("modeldyno openvino", 8e-6, "infer", 8e-6),
            ("benchmark_app floor", 4e-6, "latency", 4e-6),
        )
    ]
    *_, row = peers.face_to_face([Round(1, turns, {"MLP": {}})])
    assert row == "| MLP | 8 µs | 4 µs | 2.000 (over 3%) | 1.000 |"


def test_tools_can_be_chosen_and_must_be_known():
    assert peers.chosen(["a", "b"], None) == ["a", "b"]
    assert peers.chosen(["a", "b"], " b ") == ["b"]
    with pytest.raises(SystemExit, match="no 'c' here"):
        peers.chosen(["a", "b"], "a,c")


def test_models_are_there_and_every_tool_gets_the_same_inputs(tmp_path):
    found = {model.name: peer_claims.load(model.inputs) for model in peers.models(tmp_path)}
    shapes = {name: [value.shape for value in feed.values()] for name, feed in found.items()}
    image = (1, 3, 224, 224)
    assert shapes == {
        "MLP": [(1, 16)],
        "digits": [(1, 1, 8, 8)],
        "SqueezeNet": [image],
        "ResNet-50": [image],
    }


@pytest.mark.usefixtures("starts_processes")
@pytest.mark.parametrize("tool", ["onnxruntime floors", "mean"])
def test_a_turn_of_what_is_always_installed_measures_something(tool, tmp_path):
    model = peers.models(tmp_path)[0]
    words = [tool, model.path, model.inputs, 0.01, max(allowed_cpus())]
    command = [sys.executable, *map(str, (peers.CLAIMS, *words))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    seconds = found["claims"].values() if "claims" in found else peers.pooled([found]).values()
    assert all(value > 0 for value in seconds)
