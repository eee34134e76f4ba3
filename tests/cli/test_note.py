"""``modeldyno note``: words on what a run belongs to."""

import pytest

import modeldyno
from modeldyno.core.notes import Subject
from modeldyno.settings import Settings
from modeldyno.workbench import open_records
from tests import schemas
from tests.scripts import script


@pytest.fixture(scope="module")
def workspace(tmp_path_factory, starts_processes):
    """The same benchmark, run twice."""
    folder = tmp_path_factory.mktemp("noted")
    model = script(folder / "m.json")
    for _ in range(2):
        modeldyno.bench(model, iterations=5, workspace=folder / "workspace")
    return folder / "workspace"


def test_a_note_is_written_on_the_benchmark_so_all_its_runs_have_it(typed, workspace):
    first, second = sorted(path.name for path in (workspace / "runs").iterdir())
    before = typed("note", "latest", "--workspace", workspace)
    assert (before.code, before.out) == (0, "")
    assert "no note" in before.err
    assert typed("note", second, "with the new driver", "--workspace", workspace).code == 0
    assert typed("note", first, "--workspace", workspace).out == "with the new driver\n"
    ended = typed("note", "benchmark/1", "--json", "--workspace", workspace)
    schemas.check("note", ended.document)
    assert (ended.document["text"], ended.document["version"]) == ("with the new driver", 1)
    records = open_records(Settings(workspace))
    assert records.notes.get(Subject("benchmark", 1)).text == "with the new driver"
    records.close()
    assert typed("note", "benchmark/1", "", "--workspace", workspace).code == 0
    assert typed("note", "benchmark/1", "--workspace", workspace).out == ""


@pytest.mark.parametrize(
    ("about", "code", "kind"),
    [
        ("benchmark/99", 4, "NOT_FOUND"),
        ("nowhere", 4, "RUN_NOT_FOUND"),
        ("table/1", 2, "BAD_VALUE"),
        ("benchmark/x", 2, "BAD_VALUE"),
        ("benchmark/99999999999999999999", 2, "BAD_VALUE"),
    ],
)
def test_what_is_not_there_is_named(typed, workspace, about, code, kind):
    ended = typed("note", about, "--json", "--workspace", workspace)
    assert (ended.code, ended.error_code) == (code, kind)
