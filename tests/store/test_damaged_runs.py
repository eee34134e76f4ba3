"""Run folders that hold something else than we write are unreadable, never a bug."""

import json

import pytest

from modeldyno.core.errors import BadValue
from modeldyno.core.specs import BenchmarkSpec, CellSpec, ModelSpec
from modeldyno.store.history import History
from modeldyno.store.runs import RunFolders

DEEP = "[" * 100_000
DAMAGE = {
    "spec.json": ["[]", "null", "5", DEEP, '{"kind":[]}', '{"kind":"benchmark","seed":"x"}'],
    "state.json": ["[]", "null", DEEP, '{"state":["done"]}', '{"state":"failed","failure":5}'],
    "units.jsonl": ["[]\n", "null\n", DEEP + "\n", '{"cell":[]}\n'],
}
CASES = [(name, text) for name, texts in DAMAGE.items() for text in texts]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return RunFolders(tmp_path_factory.mktemp("runs")).create(
        BenchmarkSpec(ModelSpec("m.onnx"), (CellSpec(),))
    )


@pytest.fixture
def damage(folder):
    """Writes into a file of the run; afterwards it is whole again."""
    before = {name: (folder.path / name).read_text() for name in ("spec.json", "state.json")}
    yield lambda name, text: (folder.path / name).write_text(text)
    (folder.path / "units.jsonl").unlink(missing_ok=True)
    for name, text in before.items():
        (folder.path / name).write_text(text)


@pytest.mark.parametrize(("name", "text"), CASES, ids=lambda text: text[:20])
def test_a_damaged_run_is_listed_as_unreadable(name, text, folder, damage):
    history = History(folder.path.parent)
    assert [run.run_id for run in history.recent(5)[0]] == [folder.id]  # the control
    damage(name, text)
    assert history.recent(5) == ([], [folder.id])
    with pytest.raises(BadValue, match="cannot be read"):
        history.find()


def test_a_number_that_no_machine_measures_damages_its_run_alone(folder, damage):
    spec = json.loads((folder.path / "spec.json").read_text())
    damage("spec.json", json.dumps(spec | {"timeout_s": 10**400}))
    assert History(folder.path.parent).recent(5) == ([], [folder.id])
