"""``modeldyno compare 12 15``: stored runs are judged from their results."""

import json

import pytest

import modeldyno
from tests import schemas
from tests.scripts import script


@pytest.fixture(scope="module")
def workspace(tmp_path_factory, starts_processes):
    """#1 takes 3 ms, #2 takes 1 ms, both known to ±1 %; #3 has one session, #4 is a comparison."""
    folder = tmp_path_factory.mktemp("stored")
    model, workspace = script(folder / "m.json"), folder / "workspace"
    for latency_s in (0.003, 0.001):
        run = modeldyno.bench(model, batch=[1, 2], iterations=5, workspace=workspace)
        rewrite(workspace, run.run_id, latency_s)
    modeldyno.bench(model, batch=[1, 2], iterations=5, workspace=workspace)
    modeldyno.compare(model, model, pairs=2, workspace=workspace)
    return workspace


def rewrite(workspace, run_id, latency_s, noise="quiet", reasons=("Calm.",)):
    """The numbers of a quiet machine, whatever this one does."""
    path = workspace / "runs" / run_id / "result.json"
    result = json.loads(path.read_text())
    sure = {"level": 0.95, "n": 8, "units": "sessions", "value": latency_s}
    sure |= {"low": latency_s * 0.99, "high": latency_s * 1.01}
    for cell in result["cells"]:
        cell["measurement"]["latency"] |= {"floor": sure, "typical": sure}
        cell["measurement"] |= {"noise": noise, "reasons": list(reasons)}
    path.write_text(json.dumps(result))


@pytest.fixture
def compare(typed, workspace):
    return lambda *words: typed("compare", *words, "--workspace", workspace)


def test_two_stored_runs_are_judged_cell_by_cell(compare):
    ended = compare("1", "#2")
    head, *rows, _, sentence, drift = ended.out.splitlines()
    assert ended.code == 0
    assert head.split() == ["cell", "A", "floor", "ms", "B", "floor", "ms", "B/A", "verdict"]
    assert [row.split()[-1] for row in rows] == ["faster", "faster"]
    assert all(" 3.000 ±0.030  1.000 ±0.010  0.333 (0.3" in row for row in rows)
    assert sentence == "Of 2 cells: B is faster in 2."
    assert drift.startswith("From stored runs, not measured in alternation: drift between them is")
    assert "A is run #1, m.json\nB is run #2, m.json" in ended.err


def test_that_drift_is_not_removed_is_said_quietly_too(compare):
    ended = compare("1", "2", "--quiet")
    assert (ended.code, ended.err) == (0, "")
    assert "drift between them is not removed" in ended.out


def test_a_run_against_itself_did_not_drift(compare):
    ended = compare("1", "1")
    assert "drift" not in ended.out
    assert ended.out.splitlines()[-1] == "Of 2 cells: no clear difference in 2."


def test_the_document_is_that_of_the_server(compare):
    document = compare("1", "2", "--json").document
    schemas.check("judgement", document)
    assert [document[side]["name"] for side in "ab"] == ["#1", "#2"]
    assert {cell["basis"] for cell in document["cells"]} == {"separate runs"}


def test_the_margin_is_what_was_said(compare):
    verdicts = [
        {cell["verdict"] for cell in compare("1", "2", "--json", *more).document["cells"]}
        for more in ((), ("--margin", "80%"))
    ]
    assert verdicts == [{"faster"}, {"different-but-small"}]


def test_why_cells_are_not_comparable_is_said_once_with_their_names(compare):
    ended = compare("2", "3")
    reasons = [line for line in ended.err.splitlines() if line.startswith("! ")]
    assert reasons == [
        "! B rests on too few sessions to know how far they differ "
        "(1 core · batch 1; 1 core · batch 2)"
    ]
    assert ended.out.splitlines()[-1] == "Of 2 cells: not comparable in 2."


@pytest.mark.parametrize(
    ("words", "code", "what"),
    [
        (("1", "4"), 2, "Run #4 has no cells to judge"),
        (("1", "9"), 4, "There is no run #9 in this workspace"),
        (("1",), 2, "Two stored runs are judged at a time; 1 given"),
        (("1", "2", "3"), 2, "Two stored runs are judged at a time; 3 given"),
        (("1", "m.onnx"), 2, "Cannot compare run 1 with something that is not a run"),
        (("1", "2", "--cores", "2"), 2, "Stored runs cannot be judged with --cores"),
        (("1", "2", "--fail-if-slower", "5%"), 2, "cannot be judged with --fail-if-slower"),
    ],
)
def test_what_cannot_be_judged_says_why(compare, words, code, what):
    ended = compare(*words)
    assert (ended.code, ended.out) == (code, "")
    assert what in ended.err


def test_a_file_that_is_called_like_a_run_is_the_file(compare, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "1").write_text("no model")
    ended = compare("1", "2")
    assert (ended.code, ended.out) == (2, "")
    assert "Cannot compare run 2 with something that is not a run" in ended.err
