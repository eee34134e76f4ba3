"""No command cuts a number, however narrow the terminal: every number of its document is whole."""

import re

import pytest

import modeldyno
from modeldyno.cli import doctor as doctor_command
from modeldyno.cli import output
from modeldyno.core import figures
from modeldyno.core.codec import decode
from modeldyno.core.documents.hosts import DoctorDocument
from modeldyno.core.sentences import comparison_sentence
from modeldyno.present.profile_tables import profile_rows
from modeldyno.present.tables import benchmark_rows, comparison_rows
from modeldyno.settings import Settings
from modeldyno.workbench import open_history
from tests import schemas
from tests.scripts import script

WIDTHS = [80, 100, 120]
NODES = [
    {"node": "conv1", "op": "Conv", "us": 600},
    {"node": "conv2", "op": "Conv", "us": 12345},
    {"node": "a_long_name_of_a_node/that/nobody/shortens/relu", "op": "Relu", "us": 50},
]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory, starts_processes):
    """#1 has eight cells with numbers of many digits, #2 is a comparison, #3 a profile."""
    folder = tmp_path_factory.mktemp("widths")
    slow = script(folder / "a_model_with_a_rather_long_name.json", latency_us=12345)
    quick, nodes = script(folder / "m.json"), script(folder / "nodes.json", nodes=NODES)
    workspace = folder / "workspace"
    sizes = [1, 2]
    modeldyno.bench(
        slow, batch=[1, 8], cores=sizes, instances=sizes, iterations=5, workspace=workspace
    )
    modeldyno.compare(slow, quick, pairs=2, workspace=workspace)
    modeldyno.profile(nodes, repeats=2, workspace=workspace)
    return workspace


@pytest.fixture(params=WIDTHS)
def shown(request, typed, workspace, monkeypatch):
    """What a command prints at this width; no line of its tables is wider."""

    def show(*words):
        monkeypatch.setattr(output, "PIPED_WIDTH", request.param)
        ended = typed(*words, "--workspace", workspace)
        assert ended.code == 0, ended.err
        assert max(map(len, ended.out.splitlines())) <= request.param
        assert "…" not in ended.out
        return ended.out

    return show


def stored(workspace, number):
    return open_history(Settings(workspace)).find(f"#{number}").result


def numbers_of(rows):
    parts = (part for row in rows for cell in row for part in cell.split(" "))
    return [part for part in parts if re.search(r"\d", part)]


def assert_whole(numbers, text):
    words = {word for line in text.splitlines() for word in line.split(" ")}
    assert numbers != []
    assert [number for number in numbers if number not in words] == []


def test_bench_shows_every_number_whole(shown, workspace):
    text = shown("show", "1")
    result = stored(workspace, 1)
    assert len(result.cells) == 8
    _, rows = benchmark_rows(result)
    assert_whole(numbers_of(rows), text)


def test_compare_shows_every_number_whole(shown, workspace):
    text, result = shown("show", "2"), stored(workspace, 2)
    _, rows = comparison_rows(result)
    assert_whole(numbers_of(rows), text)
    assert_whole(numbers_of([[comparison_sentence(result)]]), text)


@pytest.mark.parametrize("by", ["op", "node"])
def test_profile_shows_every_number_whole(shown, workspace, monkeypatch, by):
    from modeldyno.cli import profile

    result = stored(workspace, 3)
    monkeypatch.setattr(
        profile, "show_kept", lambda result, run, workspace: profile.show(result, profile.By(by))
    )
    _, rows = profile_rows(result, by)
    assert_whole(numbers_of(rows), shown("show", "3"))


def test_ls_shows_every_number_and_headline_whole(shown, typed, workspace):
    document = typed("ls", "--json", "--workspace", workspace).document
    schemas.check("runs", document)
    headlines = [[f"#{run['number']}", run["headline"]] for run in document["runs"]]
    assert_whole(numbers_of(headlines), shown("ls"))


@pytest.mark.parametrize("width", WIDTHS)
def test_doctor_shows_every_number_and_state_whole(typed, workspace, monkeypatch, capsys, width):
    document = typed("doctor", "--json", "--quiet", "--workspace", workspace).document
    findings = decode(DoctorDocument, document).findings
    monkeypatch.setattr(output, "PIPED_WIDTH", width)
    doctor_command._print_findings(findings, None, quiet=True)
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= width
    assert_whole(numbers_of([[finding.value] for finding in findings]), text)
    lines = [line for line in text.splitlines() if line[:1] in doctor_command.MARKS.values()]
    marks = [doctor_command.MARKS[finding.state] for finding in findings]
    assert [line[0] for line in lines] == marks


def test_a_number_with_thin_spaces_is_not_broken_in_text(monkeypatch, capsys):
    monkeypatch.setattr(output, "PIPED_WIDTH", 14)
    number = figures.spaced(1_234_567, 0)
    output.table(("result",), [(f"about {number} items/s",)], left=("result",))
    output.headline(f"about {number} items/s")
    assert capsys.readouterr().out.count(number) == 2
