"""Runs and what came out of them, over real HTTP."""

import csv
import io
import json

import pytest

from modeldyno.core.codec import decode, encode
from modeldyno.core.documents.reports import RunDetailsDocument, RunSummary
from modeldyno.core.ids import RunId
from modeldyno.core.results import BenchmarkResult
from modeldyno.store.owners import current_process
from tests import schemas
from tests.api.v1.shapes import Page, fits, problem

NAME = '=HYPERLINK("http://evil.example","|net|")'  # a formula, a cell's end, markup
SLUG = "hyperlink-http-evil-example-net"  # of it, in names of files


@pytest.fixture(scope="module")
def run(served):
    """Of a model with a name that a spreadsheet would run."""
    project = served.project("Runs")
    model = served.model(project, NAME, faults=[{"do": "chatter", "call": 0}])
    made = served.benchmark(project, model, batch_sizes=[1, 2])
    assert served.ended(made["latest_run"]["job_id"])["state"] == "done"
    return made["latest_run"]["id"]


def attached(answer, name, kind):
    assert answer.headers["Content-Disposition"] == f'attachment; filename="{name}"'
    assert answer.headers["Content-Type"] == kind
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    return answer.text


def test_a_run_tells_how_it_went_and_what_was_asked(served, run):
    told = fits(served.get(f"runs/{run}"), RunDetailsDocument)
    assert (told["state"], told["failure"], told["pairing"]) == ("done", None, None)
    assert (told["units_kept"], told["has_result"]) == ([1, 1], True)
    assert told["settings"]["batch_sizes"] == [1, 2]
    assert [cell["status"] for cell in told["cells"]] == ["done", "done"]
    assert told["created_at"] <= told["started_at"] <= told["finished_at"]
    assert served.get(f"jobs/{told['job_id']}").json["run_id"] == run


def test_runs_are_listed_newest_first_and_sought_by_id(served, run):
    every = fits(served.get("runs"), Page[RunSummary])["items"]
    assert [one["created_at"] for one in every] == sorted(
        (one["created_at"] for one in every), reverse=True
    )
    found = fits(served.get(f"runs?text={run}"), Page[RunSummary])["items"]
    assert [one["id"] for one in found] == [run]


def test_a_run_has_the_number_of_the_workspace_everywhere(served, run):
    numbered = (served.workspace / "runs.numbers").read_text().split()
    number = numbered.index(run) + 1
    shown = served.get(f"runs/{run}").json
    assert shown["number"] == number
    benchmark = served.get(f"benchmarks/{shown['of_id']}").json
    assert benchmark["latest_run"]["number"] == number
    mine = served.get(f"benchmarks/{shown['of_id']}/runs").json["items"]
    assert [one["number"] for one in mine] == [number]
    found = fits(served.get(f"runs?text=%23{number}"), Page[RunSummary])["items"]
    assert [(one["id"], one["number"]) for one in found] == [(run, number)]
    assert served.get("runs?text=%2399999").json["items"] == []


def test_the_result_is_the_document_of_the_terminal(served, run):
    document = served.get(f"runs/{run}/result").json
    schemas.check("benchmark", document)
    assert document["model"]["path"] == NAME
    assert [cell["model"] for cell in document["cells"]] == [NAME, NAME]


def test_the_record_becomes_the_result_again(served, run):
    result = decode(BenchmarkResult, served.get(f"runs/{run}/record").json)
    assert result.run_id == run
    assert result.spec.model.path == NAME
    assert json.loads(result.to_json()) == served.get(f"runs/{run}/result").json


def test_w26_no_cell_of_a_table_is_a_formula(served, run):
    answer = served.get(f"runs/{run}/export?format=csv")
    text = attached(answer, f"{SLUG}-{run}.csv", "text/csv; charset=utf-8")
    rows = [*csv.reader(io.StringIO(text))]
    assert [row[0] for row in rows] == ["model", f"'{NAME}", f"'{NAME}"]
    assert not [cell for row in rows for cell in row if cell[:1] in "=+-@\t\r" and cell]
    # The control: without the quote it would be one.
    assert rows[1][0][1:2] == "="


def test_markdown_is_a_table_whatever_the_model_is_called(served, run):
    answer = served.get(f"runs/{run}/export?format=md")
    text = attached(answer, f"{SLUG}-{run}.md", "text/markdown; charset=utf-8")
    head, line, *cells = [row for row in text.splitlines() if row.startswith("| ")]
    assert len(cells) == 2
    assert head.count(" | ") == line.count(" | ") == cells[0].count(" | ")
    assert text.startswith('### =HYPERLINK("http://evil.example","\\|net\\|")\n')
    assert "±" not in cells[0]  # one session
    assert run in text
    assert "modeldyno bench '=HYPERLINK" in text


def test_json_is_exported_as_a_file(served, run):
    text = attached(served.get(f"runs/{run}/export"), f"{SLUG}-{run}.json", "application/json")
    schemas.check("benchmark", json.loads(text))
    problem(served.get(f"runs/{run}/export?format=exe"), 422, "BAD_VALUE")


def test_a_report_is_one_page_without_scripts(served, run):
    answer = served.get(f"runs/{run}/export?format=html")
    text = attached(answer, f"{SLUG}-{run}.html", "text/html; charset=utf-8")
    assert text.startswith("<!doctype html>")
    assert "<script" not in text
    assert "<h2>=HYPERLINK(&quot;http://evil.example&quot;" in text
    assert "Batch scaling" in text
    assert f'<article id="{run}">' in text


def test_every_sample_is_there(served, run):
    answer = served.get(f"runs/{run}/samples")
    text = attached(answer, f"{run}-samples.csv", "text/csv; charset=utf-8")
    head, *rows = csv.reader(io.StringIO(text))
    assert head == ["cell", "process", "session", "sample", "calls", "wall_ns", "cpu_ns"]
    assert [row[0] for row in rows] == ["0"] * 20 + ["1"] * 20
    assert all(int(row[5]) >= 50_000 for row in rows)


def test_a_log_comes_in_stretches_and_commands_no_terminal(served, run):
    whole = served.get(f"runs/{run}/log")
    assert whole.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert "hello engine says hello on stdout\n" in whole.text
    assert "\0" not in whole.text
    size = int(whole.headers["X-Next-Offset"])
    nothing = served.get(f"runs/{run}/log?offset={size}")
    assert (nothing.text, nothing.headers["X-Next-Offset"]) == ("", str(size))

    log = served.server.history.folder(RunId(run)).log
    with log.open("a") as file:
        file.write(f"\x1b]0;owned\x07red\x1b[31m in {served.workspace}/runs/x/scratch/a.py\nlast\n")
    more = served.get(f"runs/{run}/log?offset={size}")
    assert more.text == "red in a.py\nlast\n"  # that no folder is told, `served` checks as well
    some = served.get(f"runs/{run}/log?offset={size}&limit={log.stat().st_size - size - 2}")
    assert some.text == "red in a.py\n"  # whole lines
    rest = served.get(f"runs/{run}/log?offset={some.headers['X-Next-Offset']}")
    assert rest.text == "last\n"
    problem(served.get(f"runs/{run}/log?limit=0"), 422, "BAD_VALUE")
    beyond = served.get(f"runs/{run}/log?offset={2**53}")
    assert (beyond.status, beyond.text, beyond.headers["X-Next-Offset"]) == (200, "", str(2**53))


def test_a_run_without_result_says_why(served, project):
    model = served.model(project, inputs=[{"name": "x", "dtype": "float32", "shape": [2, 4]}])
    made = served.benchmark(project, model, dims={"nonsense": 3})
    run = made["latest_run"]["id"]
    assert served.ended(made["latest_run"]["job_id"])["state"] == "failed"
    told = fits(served.get(f"runs/{run}"), RunDetailsDocument)
    assert (told["has_result"], told["failure"]["code"]) == (False, "BAD_VALUE")
    assert told["failure"]["fix"]
    for what in ("result", "record", "export?format=md"):
        found = problem(served.get(f"runs/{run}/{what}"), 404, "NOT_FOUND")
        assert found["detail"].startswith(told["failure"]["title"])


def test_one_run_is_deleted_and_the_one_before_shows(served, project):
    made = served.benchmark(project)
    first = served.ended(made["latest_run"]["job_id"])
    second = served.ended(served.post(f"benchmarks/{made['id']}/runs").json["id"])
    assert served.delete(f"runs/{second['run_id']}").status == 204
    problem(served.get(f"runs/{second['run_id']}"), 404, "NOT_FOUND")
    shown = served.get(f"benchmarks/{made['id']}").json
    assert shown["latest_run"]["id"] == first["run_id"]


def test_what_somebody_goes_on_with_in_a_terminal_is_not_deleted(served, project):
    made = served.benchmark(project)
    run = served.ended(made["latest_run"]["job_id"])["run_id"]
    state = served.server.folders.folder(run).path / "state.json"
    done = state.read_text()
    told = {"state": "running", "failure": None, "owner": encode(current_process())}
    state.write_text(json.dumps(told))
    paths = (f"runs/{run}", f"benchmarks/{made['id']}", f"projects/{project}?cascade=true")
    for path in paths:
        found = problem(served.delete(path), 409, "WRONG_STATE")
        assert "it is being measured" in found["detail"]
    assert served.get(f"runs/{run}").status == 200
    state.write_text(done)
    for path in paths:
        assert served.delete(path).status == 204


@pytest.mark.parametrize(
    "name", ["20200101-000000-abcdef", "..%2f..%2ftoken", "nonsense", "20200101-000000-abcdef%00"]
)
def test_what_is_no_run_is_not_found(served, name):
    for what in ("", "/result", "/record", "/export", "/samples", "/log"):
        assert served.get(f"runs/{name}{what}").status in (400, 404, 422)
