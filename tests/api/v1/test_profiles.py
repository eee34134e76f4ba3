"""Profiles, over real HTTP and through real workers."""

import csv
import io
from dataclasses import dataclass, replace
from typing import Literal, get_args

import pytest

from modeldyno.core.codec import decode
from modeldyno.core.documents.hosts import Peak, Peaks
from modeldyno.core.documents.profiles import (
    ProfileDetailsDocument,
    ProfileDiffDocument,
    ProfileSummary,
    RoofDocument,
    TimeDocument,
)
from modeldyno.core.documents.reports import RunDetailsDocument, RunSummary
from modeldyno.core.ids import ProfileId, ProjectId
from modeldyno.core.results import Noise, ProfileResult
from modeldyno.measure import host
from modeldyno.services.profiles import OP_COLUMNS
from modeldyno.store import peaks
from tests import schemas
from tests.api.v1.shapes import Page, fits, problem


@dataclass
class Rows(Page[TimeDocument]):
    run_id: str
    by: Literal["node", "op"]
    roof: RoofDocument


NODES = [
    {"node": "/layer/conv1", "op": "Conv", "us": 600,
     "in": [[1, 8, 16, 16], [16, 8, 3, 3]], "out": [[1, 16, 16, 16]]},
    {"node": "=relu", "op": "Relu", "us": 50},
    {"node": "/layer/conv2", "op": "Conv", "us": 300},
]  # fmt: skip
ELSEWHERE = "0123456789abcdef"  # the fingerprint of another machine


@pytest.fixture
def asked(served, project):
    model = served.model(project, "net.json", latency_us=1000, nodes=NODES)
    return {"project_id": project, "model_id": model, "repeats": 1}


@pytest.fixture
def profiled(served, asked):
    made = served.post("profiles", asked).json
    job = served.ended(made["latest_run"]["job_id"])
    assert (job["state"], job["kind"]) == ("done", "profile"), job
    return made["id"]


def test_a_profile_tells_where_the_time_goes_by_operator_and_by_node(served, asked):
    made = served.post("profiles", asked)
    told = fits(made, ProfileDetailsDocument, 201)
    assert made.headers["Location"] == f"/api/v1/profiles/{told['id']}"
    assert (told["name"], told["model_name"]) == ("net.json", "net.json")
    assert told["command"] == "modeldyno profile net.json --repeats 1"
    assert (told["agreement"], told["settings"]["contract"]) == (None, "hot")
    job = served.ended(told["latest_run"]["job_id"])
    assert job["state"] == "done"

    shown = fits(served.get(f"profiles/{told['id']}"), ProfileDetailsDocument)
    agreement = shown["agreement"]
    assert (agreement["run_id"], agreement["nodes"]) == (job["run_id"], 3)
    whole = agreement["sum_ms"]["value"] + agreement["outside_ms"]["value"]
    assert whole == pytest.approx(agreement["latency_ms"]["value"])
    typical = shown["summary"]["latency_ms"]["typical"]
    assert typical["value"] == agreement["latency_ms"]["value"] >= 1.0
    assert shown["summary"]["engine"] == "scripted"
    result = served.get(f"runs/{job['run_id']}/result").json
    assert result["noise"] in get_args(Noise)
    (line,) = served.get(f"profiles?project_id={told['project_id']}").json["items"]
    for summary in (shown["summary"], line["summary"]):
        assert (summary["noise"], summary["noise_reasons"]) == (
            result["noise"],
            result["noise_reasons"],
        )

    by_op = fits(served.get(f"profiles/{told['id']}/rows"), Rows)
    assert (by_op["by"], by_op["run_id"], by_op["next"]) == ("op", job["run_id"], None)
    assert [(r["op_type"], r["node"], r["nodes"], r["calls"]) for r in by_op["items"]] == [
        ("Conv", None, 2, 2),
        ("Relu", None, 1, 1),
    ]
    by_node = fits(served.get(f"profiles/{told['id']}/rows?by=node"), Rows)["items"]
    assert [row["node"] for row in by_node] == ["/layer/conv1", "/layer/conv2", "=relu"]
    assert sum(row["total_ms"]["value"] for row in by_node) == pytest.approx(
        agreement["sum_ms"]["value"]
    )


def test_a_time_that_is_not_known_is_null_with_its_reason_everywhere(served, project):
    """Recording the second node takes two thousand times as long as the node."""
    nodes = [{"node": "conv", "op": "Conv", "us": 999}, {"node": "relu", "op": "Relu", "us": 1}]
    model = served.model(project, "n.json", latency_us=1000, nodes=nodes, profiler_us=2000)
    made = served.post("profiles", {"project_id": project, "model_id": model, "repeats": 1}).json
    run = served.ended(made["latest_run"]["job_id"])["run_id"]
    result = served.get(f"runs/{run}/result").json
    for by, of_run in (("node", result["nodes"]), ("op", result["operators"])):
        rows = served.get(f"profiles/{made['id']}/rows?by={by}").json["items"]
        for row in (of_run[1], rows[1]):
            assert row["op_type"] == "Relu"
            assert (row["total_ms"]["value"], row["share"], row["cpu_ms"]) == (None, None, None)
            assert row["unknown"].startswith("recording it costs about ")
            assert row["work"]["bound_reason"] == f"its time is not known: {row['unknown']}"
        sheet = served.get(f"profiles/{made['id']}/csv?by={by}").text
        (line,) = (line for line in csv.DictReader(io.StringIO(sheet)) if line["op_type"] == "Relu")
        assert (line["total_ms"], line["share"], line["unknown"]) == ("", "", rows[1]["unknown"])
    report = served.get(f"runs/{run}/export?format=md").text
    assert "Relu: no time, recording it costs about " in report.replace("\\", "")


def test_rows_come_page_by_page_and_in_other_orders(served, profiled):
    path = f"profiles/{profiled}/rows?by=node&limit=2"
    first = served.get(path).json
    second = served.get(f"{path}&cursor={first['next']}").json
    assert [row["node"] for row in first["items"] + second["items"]] == [
        "/layer/conv1",
        "/layer/conv2",
        "=relu",
    ]
    assert second["next"] is None
    assert served.get(f"{path}&cursor=99").json["items"] == []
    in_graph = served.get(f"profiles/{profiled}/rows?by=node&sort=graph").json["items"]
    assert [row["node"] for row in in_graph] == [node["node"] for node in NODES]
    problem(served.get(f"{path}&cursor=-1"), 422, "BAD_VALUE")
    problem(served.get(f"profiles/{profiled}/rows?by=colour"), 422, "BAD_VALUE")


def test_the_table_for_a_spreadsheet_runs_nothing_there(served, profiled):
    answer = served.get(f"profiles/{profiled}/csv?by=node")
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert "attachment" in answer.headers["Content-Disposition"]
    head, *rows = csv.reader(io.StringIO(answer.text))
    assert head[:2] == ["node", "op_type"]
    assert [row[0] for row in rows] == [
        "/layer/conv1",
        "/layer/conv2",
        "'=relu",
        "(outside nodes)",
    ]
    run = served.get(f"profiles/{profiled}").json["latest_run"]["id"]
    assert "'=relu" in served.get(f"runs/{run}/export?format=csv").text


def test_rows_for_the_reference_api_are_whole_microseconds_that_add_up(served, profiled):
    profiles = served.server.profiles
    rows = profiles.op_rows(ProfileId(profiled))
    assert [(row.op_type, row.op_run, row.op_defined) for row in rows] == [
        ("Conv", 2, 2),
        ("Relu", 1, 1),
    ]
    agreement = served.get(f"profiles/{profiled}").json["agreement"]
    assert sum(row.total_us for row in rows) == round(agreement["sum_ms"]["value"] * 1e3)
    assert all(row.total_us == row.cpu_us + row.accelerator_us for row in rows)
    text = profiles.op_csv(ProfileId(profiled))
    first, second, *_ = text.split("\r\n")
    assert first == ",".join(OP_COLUMNS)
    assert second.startswith("Conv,")
    assert text.count("\r\n") == text.count("\n") == 3


def test_the_run_of_a_profile_is_a_run_like_others(served, profiled):
    (run,) = fits(served.get(f"profiles/{profiled}/runs"), Page[RunSummary])["items"]
    assert (run["kind"], run["of_id"], run["state"]) == ("profile", profiled, "done")
    details = fits(served.get(f"runs/{run['id']}"), RunDetailsDocument)
    assert (details["settings"], details["pairing"], details["units_kept"]) == (None, None, [1])
    assert details["profiling"]["repeats"] == 1
    document = served.get(f"runs/{run['id']}/result").json
    schemas.check("profile", document)
    assert document["model"]["path"] == "net.json"
    assert document["nodes"][0]["node"] == "/layer/conv1"  # no folder of ours
    result = decode(ProfileResult, served.get(f"runs/{run['id']}/record").json)
    assert result.rows[0].node == "/layer/conv1"
    assert served.get(f"runs/{run['id']}/export?format=md").text.startswith("### Profile of net")
    assert {line[0] for line in served.get(f"runs/{run['id']}/samples").text.splitlines()[1:]}
    again = served.post(f"profiles/{profiled}/runs")
    assert (again.status, again.json["kind"]) == (202, "profile")
    served.ended(again.json["id"])
    assert len(served.get(f"profiles/{profiled}/runs").json["items"]) == 2


def test_settings_change_before_the_first_run_and_what_is_not_sent_stays(served, asked):
    made = served.post("profiles", asked | {"start": False, "repeats": 2}).json
    assert made["state"] == "draft"
    path = f"profiles/{made['id']}"
    told = fits(served.patch(path, {"batch_size": 4, "name": "Four"}), ProfileDetailsDocument)
    assert (told["name"], told["settings"]) == ("Four", made["settings"] | {"batch_size": 4})
    assert told["summary"]["batch_size"] == 4
    problem(served.patch(path, {"cores": 100_000}), 400, "BAD_VALUE")
    job = served.post(f"{path}/runs").json["id"]
    served.post(f"jobs/{job}/cancel")
    served.ended(job)
    problem(served.patch(path, {"batch_size": 2}), 409, "WRONG_STATE")
    assert served.patch(path, {"name": "Still"}).json["name"] == "Still"


def test_what_was_not_run_has_no_rows_and_says_so(served, asked):
    made = served.post("profiles", asked | {"start": False}).json["id"]
    for what in ("rows", "csv"):
        told = problem(served.get(f"profiles/{made}/{what}"), 404, "NOT_FOUND")
        assert told["fix"] == "Run it"
    for what in ("", "/rows", "/csv", "/runs"):
        problem(served.get(f"profiles/999{what}"), 404, "NOT_FOUND")


def test_a_profile_is_listed_and_deleted_with_its_rows(served, asked, profiled):
    mine = f"profiles?project_id={asked['project_id']}"
    listed = fits(served.get(f"{mine}&sort=latency"), Page[ProfileSummary])["items"]
    assert [row["id"] for row in listed] == [profiled]
    assert served.get(f"{mine}&engine=other").json["items"] == []
    assert served.delete(f"profiles/{profiled}").status == 204
    problem(served.get(f"profiles/{profiled}"), 404, "NOT_FOUND")


def test_what_is_running_is_neither_started_twice_nor_deleted(served, asked, project):
    slow = served.model(project, "slow.json", latency_us=200_000, nodes=NODES)
    made = served.post("profiles", asked | {"model_id": slow, "repeats": 50}).json
    path = f"profiles/{made['id']}"
    problem(served.post(f"{path}/runs"), 409, "WRONG_STATE")
    problem(served.delete(path), 409, "WRONG_STATE")
    job = made["latest_run"]["job_id"]
    served.until(job, lambda now: (now["progress"] or {}).get("units_done"))
    served.post(f"jobs/{job}/cancel")
    ended = served.ended(job)
    assert ended["state"] == "cancelled"
    assert "repeat" in ended["reason"]
    assert served.get(path).json["agreement"]["nodes"] == 3  # what was measured is shown
    assert served.delete(path).status == 204


def test_asking_twice_with_one_key_makes_one_profile(served, asked):
    one, two = (
        served.post("profiles", asked | {"start": False}, idempotency_key="once") for _ in range(2)
    )
    assert one.json["id"] == two.json["id"]


def test_a_service_takes_as_little_as_a_number_of_threads(served, asked):
    project, model = ProjectId(asked["project_id"]), asked["model_id"]
    made, job = served.server.profiles.create(project, model, "Mine", None, 1)
    assert (made.spec.cell.cores, made.spec.cell.contract, job) == (1, "hot", None)
    edited = served.server.profiles.edit(made.id, threads=1, name="Yours")
    assert (edited.name, edited.spec) == ("Yours", made.spec)


# ---------------------------------------------------------------- what limits a node


def test_rows_say_what_limits_them_once_the_peaks_of_their_machine_are_known(served, profiled):
    path = f"profiles/{profiled}/rows?by=node"
    run_id = served.get(f"profiles/{profiled}").json["latest_run"]["id"]
    here = host.facts()
    kept = served.workspace / "runs" / run_id / "result.json"
    kept.write_text(kept.read_text().replace(here.fingerprint, ELSEWHERE))  # a colleague's run
    before = fits(served.get(path), Rows)
    conv, other, _ = before["items"]
    assert conv["work"]["flop"] == 2 * 16 * 16 * 16 * 8 * 9
    assert (conv["work"]["bound"], other["work"]["flop"]) == (None, None)
    assert "doctor --peaks" in before["roof"]["text"]
    reached = conv["work"]["gflop_per_s"] * 1e9
    one = (Peak(1, reached, 1e12, "quiet"),)
    found = Peaks(here.fingerprint, "now", "onnxruntime", "", "", one)
    peaks.save(served.workspace, found)
    try:
        assert served.get(path).json == before  # those of this machine say nothing of another one
        peaks.save(served.workspace, replace(found, fingerprint=ELSEWHERE))
        after = fits(served.get(path), Rows)
        document = served.get(f"runs/{run_id}/result").json
    finally:
        (served.workspace / "peaks.json").unlink()
    assert after["items"][0]["work"]["bound"] == "compute"
    assert "100 % of the peak" in after["items"][0]["work"]["bound_reason"]
    assert after["items"][1]["work"]["bound_reason"] == "its work is not known"
    schemas.check("profile", document)
    assert document["nodes"][0]["work"]["bound"] == "compute"


# ---------------------------------------------------------------- two side by side


def test_two_profiles_are_aligned_node_by_node(served, asked, profiled):
    nodes = [*NODES[:1], {"node": "new", "op": "Softmax", "us": 400}]
    model = served.model(asked["project_id"], "net2.json", latency_us=1000, nodes=nodes)
    made = served.post("profiles", asked | {"model_id": model}).json
    assert served.ended(made["latest_run"]["job_id"])["state"] == "done"
    answer = served.get(f"profiles/{profiled}/diff?to={made['id']}")
    told = fits(answer, ProfileDiffDocument)
    schemas.check("profile-diff", told)
    standings = {change["name"]: change["standing"] for change in told["changes"]}
    assert standings == {
        "/layer/conv1": "kept",
        "new": "appeared",
        "/layer/conv2": "vanished",
        "=relu": "vanished",
    }
    by_op = served.get(f"profiles/{profiled}/diff?to={made['id']}&by=op").json
    assert {c["name"]: c["standing"] for c in by_op["changes"]}["Conv"] == "kept"
    draft = served.post("profiles", asked | {"start": False}).json["id"]
    problem(served.get(f"profiles/{profiled}/diff?to={draft}"), 404, "NOT_FOUND")
