"""``modeldyno compare``: a verdict, and a gate for pipelines."""

import re
import signal

import pytest

from tests import onnx_models, schemas
from tests.processes import living, until
from tests.scripts import fault, script
from tests.terminal import modeldyno, running


@pytest.fixture
def compare(tmp_path, starts_processes):
    return lambda *words: modeldyno("compare", *words, "--workspace", tmp_path / "workspace")


@pytest.fixture
def fast(tmp_path):
    return script(tmp_path / "fast.json", latency_us=100)


@pytest.fixture
def slow(tmp_path):
    return script(tmp_path / "slow.json", latency_us=150)


def test_a_slower_model_is_told_and_is_no_failure_by_itself(compare, fast, slow):
    ended = compare(fast, slow, "--quick", "--json")
    document = ended.document
    schemas.check("comparison", document)
    assert (ended.code, ended.err, document["verdict"]) == (0, "", "slower")
    assert document["ratio"]["value"] == pytest.approx(1.5, rel=0.1)
    assert document["ratio"]["low"] <= document["ratio"]["value"] <= document["ratio"]["high"]
    assert document["pairs"] >= 2
    assert document["statistic"] == "wall p10"
    assert [document[side]["label"] for side in "ab"] == [str(fast), str(slow)]


def test_a_gate_lets_the_faster_one_pass(compare, fast, slow):
    ended = compare(slow, fast, "--quick", "--fail-if-slower", "5%", "--json")
    assert (ended.code, ended.document["verdict"]) == (0, "faster")


def test_a_gate_stops_the_slower_one_and_the_document_is_still_there(compare, fast, slow):
    ended = compare(fast, slow, "--quick", "--fail-if-slower", "5%", "--json")
    assert (ended.code, ended.document["verdict"]) == (5, "slower")


def test_a_gate_may_be_wide(compare, fast, slow):
    assert compare(fast, slow, "--quick", "--fail-if-slower", "80%", "--json").code == 0


def test_a_gate_is_in_every_report_and_in_the_command_that_repeats_it(
    compare, typed, fast, tmp_path
):
    other = script(tmp_path / "other.json", latency_us=300, output=5.0)
    ended = compare(fast, other, "--budget", "1", "--fail-if-slower", "5%", "--json")
    schemas.check("comparison", ended.document)
    assert ended.document["gate"] == {"fail_if_slower": 0.05, "outcome": "fail"}
    workspace = ("--workspace", tmp_path / "workspace")
    markdown = typed("report", *workspace).out
    assert "**Gate failed: B is more than 5 % slower than A**" in markdown
    assert "- Outputs differ by up to " in markdown
    assert ", wall p10, 95% interval" in markdown
    command = "modeldyno compare fast.json other.json --fail-if-slower 5% --budget 1"
    assert command in markdown
    page = typed("report", "--format", "html", *workspace).out
    assert "Gate failed: B is more than 5 % slower than A" in page
    assert command in page
    assert typed("rerun", "latest", "--quiet", *workspace).code == 5


def test_people_get_a_table_and_a_sentence(compare, fast, slow, tmp_path):
    ended = compare(fast, slow, "--quick")
    (run,) = (tmp_path / "workspace" / "runs").iterdir()
    assert ended.err.endswith(f"Kept as run #1 ({run.name}); see it again: modeldyno show 1\n")
    head, a, b, _, sentence = ended.out.splitlines()
    assert head.split()[:3] == ["model", "engine", "precision"]
    assert (a.split()[:2], b.split()[:2]) == (["A", "fast.json"], ["B", "slow.json"])
    assert sentence.startswith("slower: B is ")
    assert "\x1b" not in ended.out + ended.err


def test_people_are_told_how_far_the_outputs_differ(compare, fast, tmp_path):
    ended = compare(fast, script(tmp_path / "same.json", latency_us=100), "--quick")
    assert "outputs agree: they differ by at most 0, or 0 of the largest value" in ended.err
    ended = compare(fast, script(tmp_path / "other.json", output=2.0, latency_us=100), "--quick")
    assert "! outputs differ by up to " in ended.err


def test_sides_may_have_options_of_their_own(compare, tmp_path):
    model = onnx_models.saved(onnx_models.embedding(), tmp_path / "m.onnx")
    words = (f"{model}@batch=1", f"{model}@batch=4", "--dim", "sequence=9", "--quick", "--json")
    ended = compare(*words)
    assert ended.code == 0
    assert [ended.document[side]["batch_size"] for side in "ab"] == [1, 4]


def test_a_side_that_crashes_fails_the_comparison(compare, fast, tmp_path):
    bad = script(tmp_path / "bad.json", faults=[fault("segfault")])
    ended = compare(fast, bad, "--quick", "--json")
    assert (ended.code, ended.error_code) == (1, "ENGINE_CRASHED")
    assert ended.err.startswith("error[ENGINE_CRASHED]: The engine crashed (SIGSEGV)")


@pytest.mark.usefixtures("starts_processes")
def test_ctrl_c_shows_the_verdict_so_far(fast, slow, tmp_path):
    workspace = tmp_path / "workspace"
    words = ("compare", fast, slow, "--budget", 60, "--json", "--workspace", workspace)

    def pairs() -> int:
        return sum(file.read_bytes().count(b"\n") for file in workspace.glob("runs/*/units.jsonl"))

    with running(*words) as process:
        until(lambda: pairs() >= 4, "some pairs")
        process.send(signal.SIGINT)
        ended = process.end()
    schemas.check("comparison", ended.document)
    assert (ended.code, ended.document["interrupted"]) == (130, True)
    assert ended.document["pairs"] == pairs()
    assert living(workspace) == []


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--margin", "0"), 2),
        (("--margin", "abc"), 2),
        (("--fail-if-slower", "abc"), 2),
        (("--fail-if-slower", "5"), 2),
        (("--fail-if-slower", "nan"), 2),
        (("--batch", "0"), 2),
        (("--batch", "abc"), 2),
        (("--cores", "-1"), 2),
        (("--budget", "0"), 2),
        (("--timeout", "0"), 2),
        (("--seed", "-1"), 2),
        (("third.json",), 4),
    ],
    ids=str,
)
def test_a_bad_value_is_wrong_usage(words, code, typed, fast, slow, tmp_path):
    ended = typed("compare", fast, slow, *words, "--workspace", tmp_path / "workspace")
    assert (ended.code, ended.out) == (code, "")
    assert not (tmp_path / "workspace").exists()


def test_one_side_is_none(typed, fast):
    assert typed("compare", fast).code == 2


def test_a_missing_side_is_answered_with_one_that_is_there(typed, fast):
    ended = typed("compare", fast, fast.with_name("fest.json"))
    assert ended.code == 4
    assert f"Did you mean {fast}?" in ended.err


def test_an_unknown_option_of_a_side_is_answered_with_one_that_exists(typed, fast):
    ended = typed("compare", fast, f"{fast}@core=2")
    assert ended.code == 2
    assert "Did you mean cores=…?" in ended.err


def test_several_are_ranked_against_the_first_and_one_that_fails_spoils_none(
    compare, tmp_path, fast
):
    slower = script(tmp_path / "slower.json", latency_us=1000)
    broken = script(tmp_path / "broken.json", faults=[fault("segfault")])
    ended = compare(broken, slower, fast, broken, "--quick", "--json")
    document = ended.document
    schemas.check("ranking", document)
    assert (ended.code, document["reference"]) == (1, str(slower))
    found = {one["label"]: one for one in document["sides"]}
    assert list(found) == [str(broken), str(slower), str(fast)]
    assert found[str(broken)]["error"]["code"] == "ENGINE_CRASHED"
    assert [found[str(one)]["place"] for one in (fast, slower, broken)] == [1, 2, None]
    assert found[str(fast)]["max_rel_error"] == 0


def test_every_engine_that_reads_a_model_is_a_side(compare, tmp_path):
    model = onnx_models.saved(onnx_models.linear(), tmp_path / "m.onnx")
    ended = compare(model, "--engine", "all", "--quick")
    assert ended.code == 0, ended.err
    engines = {line.split()[2] for line in ended.out.splitlines()[1:]}
    assert {"onnxruntime", "openvino"} <= engines
    assert "cannot be told apart" in ended.err
    assert "note:" not in ended.err
    kept = re.findall(r"^Kept as runs (#\d+(?:, #\d+)*); see one again: ", ended.err, re.MULTILINE)
    runs = [*(tmp_path / "workspace" / "runs").iterdir()]
    assert [each.split(", ") for each in kept] == [[f"#{1 + n}" for n in range(len(runs))]]
    assert compare(model, "--engine", "all", "--fail-if-slower", "5%").code == 2


def test_a_ranking_says_what_was_guessed(compare, tmp_path):
    model = onnx_models.saved(onnx_models.tokens(), tmp_path / "m.onnx")
    guess = "guessed 128 for seq, which the model leaves open; to choose: --dim seq=…"
    ended = compare(model, "--engine", "all", "--quick")
    assert " ".join(ended.err.split()).count(f"note: {guess}") == 1
    sides = compare(model, "--engine", "all", "--quick", "--json").document["sides"]
    assert {note for side in sides for note in side["notes"]} == {guess}


@pytest.mark.parametrize(
    "made",
    [
        onnx_models.tree_ensemble,
        onnx_models.spectrum,
        onnx_models.loop,
        onnx_models.sequence_output,
        onnx_models.optional_output,
    ],
    ids=lambda made: made.__name__,
)
def test_models_that_not_every_engine_runs_have_numbers_and_reasons(compare, tmp_path, made):
    """OpenVINO runs some of these, depending on its version."""
    model = onnx_models.saved(made(), tmp_path / "m.onnx")
    ended = compare(model, "--engine", "all", "--budget", "0.5", "--json")
    schemas.check("ranking", ended.document)
    by_engine = {one["label"].rpartition("=")[2]: one for one in ended.document["sides"]}
    assert {"onnxruntime", "openvino"} <= set(by_engine)
    assert by_engine["onnxruntime"]["floor_ms"] > 0
    assert ended.document["reference"] == f"{model}@engine=onnxruntime"
    failed = [one for one in by_engine.values() if one["floor_ms"] is None]
    assert all(one["error"]["detail"] and one["error"]["fix"] for one in failed)
    assert ended.code == (1 if failed else 0)
