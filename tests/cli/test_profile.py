"""``modeldyno profile``: a table, a document, a file; and what other commands know of it."""

import csv
import signal

import pytest

from tests import schemas
from tests.processes import until
from tests.scripts import script
from tests.terminal import modeldyno, running

pytestmark = pytest.mark.usefixtures("starts_processes")

NODES = [
    {"node": "conv1", "op": "Conv", "us": 600},
    {"node": "=relu", "op": "Relu", "us": 50},
    {"node": "conv2", "op": "Conv", "us": 300},
]


@pytest.fixture
def room(tmp_path):
    return "--workspace", tmp_path / "workspace"


@pytest.fixture
def model(tmp_path):
    return script(tmp_path / "m.json", latency_us=1000, nodes=NODES)


def test_people_get_a_table_sorted_by_time_and_other_commands_know_it(model, room, tmp_path):
    ended = modeldyno("profile", model, "--repeats", "1", *room)
    assert ended.code == 0, ended.err
    head, conv, relu, outside, _, sentence = ended.out.splitlines()
    assert head.split() == ["operator", "nodes", "ms", "share", "in", "all", "calls"]
    assert (conv.split()[:2], conv.split()[-1]) == (["Conv", "2"], "2")
    assert relu.split()[:2] == ["Relu", "1"]
    assert outside.startswith("(outside nodes)")
    assert sentence.startswith("latency ")
    assert "3 nodes add up to" in sentence
    assert "\x1b" not in ended.out + ended.err

    file = tmp_path / "nodes.csv"
    shown = modeldyno("show", "--csv", file, *room)
    assert shown.out == ended.out
    rows = list(csv.DictReader(file.read_text().splitlines()))
    assert [row["node"] for row in rows] == ["conv1", "conv2", "'=relu", "(outside nodes)"]
    assert sum(float(row["share"]) for row in rows) == pytest.approx(1)
    listed = modeldyno("ls", "--json", *room).document
    schemas.check("runs", listed)
    assert [(run["kind"], run["headline"]) for run in listed["runs"]] == [("profile", sentence)]
    assert modeldyno("report", *room).out.startswith("### Profile of m.json\n")


def test_quick_takes_two_repeats(model, room):
    ended = modeldyno("profile", model, "--quick", "--json", *room)
    assert (ended.code, ended.document["repeats"]) == (0, 2)
    both = modeldyno("profile", model, "--quick", "--repeats", "3", *room)
    assert both.code == 2
    assert "--quick sets the repeats" in both.err


def test_programs_get_all_rows_whatever_people_see(model, room, tmp_path):
    file = tmp_path / "ops.csv"
    words = ("--repeats", "1", "--by", "node", "--top", "1", "--csv", file)
    ended = modeldyno("profile", model, *words, "--json", *room)
    assert (ended.code, ended.err) == (0, "")
    document = ended.document
    schemas.check("profile", document)
    assert [node["node"] for node in document["nodes"]] == ["conv1", "conv2", "=relu"]
    assert [op["op_type"] for op in document["operators"]] == ["Conv", "Relu"]
    whole = document["sum_ms"]["value"] + document["outside_ms"]["value"]
    latency = document["latency_ms"]["typical"]["value"]
    assert whole == pytest.approx(latency)
    assert document["coverage"] == pytest.approx(document["sum_ms"]["value"] / latency)
    assert len(file.read_text().splitlines()) == 5
    shown = modeldyno("show", "--json", *room).document
    assert shown == document


def test_people_are_told_where_a_profile_is_kept_with_its_differences_too(model, room, tmp_path):
    first = modeldyno("profile", model, "--repeats", "1", *room)
    second = modeldyno("profile", model, "--repeats", "1", "--against", "1", *room)
    runs = sorted(path.name for path in (tmp_path / "workspace" / "runs").iterdir())
    for number, ended in enumerate((first, second), 1):
        last = f"Kept as run #{number} ({runs[number - 1]}); see it again: modeldyno show {number}"
        assert (ended.code, ended.err.splitlines()[-1]) == (0, last)


def test_ctrl_c_keeps_what_is_there(tmp_path, room):
    slow = script(tmp_path / "slow.json", latency_us=50_000, nodes=NODES)
    with running("profile", slow, "--repeats", "4", "--json", *room) as process:
        until(lambda: list(tmp_path.glob("workspace/runs/*/units.jsonl")), "a repeat")
        process.send(signal.SIGINT)
        ended = process.end()
    assert (ended.code, ended.document["interrupted"]) == (130, True)
    assert 1 <= ended.document["repeats"] < 4
    whole = modeldyno("profile", "--resume", "latest", "--json", *room)
    assert (whole.code, whole.document["repeats"]) == (0, 4)
    refused = modeldyno("profile", slow, "--resume", "latest", *room)
    assert (refused.code, "takes no model and no settings" in refused.err) == (2, True)


def test_a_run_is_not_resumed_on_another_machine(tmp_path, room):
    slow = script(tmp_path / "slow.json", latency_us=50_000, nodes=NODES)
    with running(
        "profile", slow, "--repeats", "4", "--json", *room, MODELDYNO_MACHINE="lab-1"
    ) as process:
        until(lambda: list(tmp_path.glob("workspace/runs/*/units.jsonl")), "a repeat")
        process.send(signal.SIGINT)
        ended = process.end()
    assert ended.document["host"]["machine"] == "lab-1"
    words = ("profile", "--resume", "latest", "--json", *room)
    refused = modeldyno(*words, MODELDYNO_MACHINE="lab-2")
    assert (refused.code, refused.document["error"]["code"]) == (1, "MACHINE_CHANGED")
    assert refused.document["error"]["title"] == "This run began on another machine"
    whole = modeldyno(*words, MODELDYNO_MACHINE="lab-1")
    assert (whole.code, whole.document["repeats"]) == (0, 4)
    odd = modeldyno("profile", slow, *room, MODELDYNO_MACHINE="two words")
    assert (odd.code, "cannot be the name of a machine" in odd.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--repeats", "0"), "repeats must be at least 1"),
        (("--cores", "9999"), "no 9999 cores"),
        (("--csv", "/no/such/folder/x.csv"), "there is no folder"),
    ],
)
def test_what_cannot_work_is_said_at_once(words, complaint, model, room):
    ended = modeldyno("profile", model, *words, *room)
    assert ended.code == 2
    assert complaint in " ".join(ended.err.split())
