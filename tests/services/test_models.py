"""Which models may run, and since when: without a worker, on a real database."""

import threading
from dataclasses import replace

import pytest

from modeldyno.core.errors import StorageFailed, UnsafeFormat, WrongState
from modeldyno.core.ids import ModelId, ProjectId
from modeldyno.core.models import Architecture, ModelFacts, NewModel
from modeldyno.core.specs import BenchmarkSpec, CellSpec, ComparisonSpec, ModelSpec, SideSpec
from modeldyno.services.graph_boundaries import pin_to_trusted_content
from modeldyno.services.graphs import GraphService
from modeldyno.services.models import ModelService
from modeldyno.settings import Settings
from modeldyno.store.database import open_database
from modeldyno.store.graphs import Graphs
from modeldyno.store.records.all import open_all_records
from modeldyno.store.trust import Trust
from modeldyno.workbench import open_workbench


@pytest.fixture
def records(tmp_path):
    found = open_all_records(open_database(tmp_path))
    yield found
    found.close()


@pytest.fixture
def trust(tmp_path):
    return Trust(tmp_path / "trust.json")


@pytest.fixture
def models(records, trust, tmp_path):
    looking = open_workbench(Settings(tmp_path)).service
    return ModelService(records, trust, GraphService(looking, Graphs(tmp_path / "graphs")))


def add(records, sha256, format="onnx", missing=()):
    facts = ModelFacts("m", format, "f", sha256, 1, 0, (), (), missing=missing)
    project = records.projects.add("p").id
    return records.models.add(
        NewModel(
            project_id=ProjectId(project),
            name="m",
            path="m",
            format=format,
            sha256=sha256,
            facts=facts,
        )
    )


def side(sha256):
    return SideSpec("s", ModelSpec("m", sha256=sha256), CellSpec())


A, B = "a" * 64, "b" * 64


def test_both_sides_of_a_comparison_need_trust(records, trust, models):
    add(records, A)
    program = add(records, B, "torchscript")
    spec = ComparisonSpec(side(A), side(B))
    with pytest.raises(UnsafeFormat):
        models.require_still_trusted(spec)
    models.trust(program.id, "mine")
    models.require_still_trusted(spec)
    assert [(entry.sha256, entry.reason) for entry in trust.all()] == [(B, "mine")]
    trust.revoke(B)  # in the terminal
    with pytest.raises(UnsafeFormat):
        models.require_still_trusted(replace(spec, a=spec.b, b=spec.a))


def test_a_content_that_nobody_knows_is_not_run(records, models):
    for sha256 in (None, A):
        with pytest.raises(WrongState):
            models.require_still_trusted(
                BenchmarkSpec(ModelSpec("m", sha256=sha256), (CellSpec(),))
            )
    add(records, A)
    models.require_still_trusted(BenchmarkSpec(ModelSpec("m", sha256=A), (CellSpec(),)))


def test_one_that_lacks_weights_does_not_keep_its_complete_twin_from_running(records, models):
    lacking, whole = add(records, A, missing=("w.bin",)), add(records, A)
    assert [models.get(one.id).state for one in (lacking, whole)] == ["incomplete", "ready"]
    with pytest.raises(WrongState, match=r"w\.bin"):
        models.require_runnable(lacking.id)
    assert models.require_runnable(whole.id) == whole
    models.require_still_trusted(BenchmarkSpec(ModelSpec("m", sha256=A), (CellSpec(),)))


def test_trust_is_in_the_content_wherever_it_is(records, models):
    one, two = add(records, A, "torch-export"), add(records, A, "torch-export")
    assert models.trust(one.id).state == "ready"
    assert models.get(two.id).state == "ready"
    assert records.models.get(two.id).trusted_at is not None
    assert models.distrust(two.id).state == "untrusted"
    assert models.get(one.id).state == "untrusted"


def weights(records, *arguments):
    """Models of one content, each built in another way."""
    found = [add(records, A, "torch-checkpoint") for _ in arguments]
    for model, given in zip(found, arguments, strict=True):
        built = Architecture("nets:build", given)
        records.models.set_facts(model.id, replace(model.facts, architecture=built))
    return [records.models.get(model.id) for model in found]


def built(model):
    """A job of it, as services pin it."""
    spec = pin_to_trusted_content(ModelSpec(model.path), model)
    return BenchmarkSpec(spec, (CellSpec(),))


def test_trust_in_weights_covers_what_builds_the_model(records, models):
    shallow, deep = weights(records, {"depth": 1}, {"depth": True})
    assert models.trust(shallow.id).state == "ready"
    assert models.get(deep.id).state == "untrusted"
    models.require_still_trusted(built(shallow))
    for refused in (
        lambda: models.require_runnable(deep.id),
        lambda: models.require_still_trusted(built(deep)),
    ):
        with pytest.raises(UnsafeFormat, match=r"trusted only with nets:build\(depth=1\)"):
            refused()
    assert models.distrust(shallow.id).state == "untrusted"


def test_a_job_that_does_not_say_what_builds_its_model_is_not_run(records, models):
    (model,) = weights(records, {"depth": 1})
    models.trust(model.id)
    with pytest.raises(WrongState, match="what builds its model"):
        models.require_still_trusted(BenchmarkSpec(ModelSpec("m", sha256=A), (CellSpec(),)))


def test_older_trust_counts_for_files_that_hold_their_graph_alone(records, trust, models):
    (checkpoint,) = weights(records, {})
    program = add(records, B, "torchscript")
    for sha256 in (A, B):
        trust.grant(sha256, "m")
    assert models.get(program.id).state == "ready"
    with pytest.raises(UnsafeFormat, match="its weights are trusted, but not the code"):
        models.require_runnable(checkpoint.id)


def test_trust_that_could_not_be_written_down_is_none(records, trust, models, monkeypatch):
    def fail(*_):
        raise StorageFailed("The disk is full")

    one = add(records, A, "torch-export")
    with monkeypatch.context() as patched:
        patched.setattr(type(records.models), "trust", fail)
        with pytest.raises(StorageFailed):
            models.trust(one.id)
        assert trust.all() == ()
    models.trust(one.id, "mine")
    with monkeypatch.context() as patched:
        patched.setattr(type(records.models), "trust", fail)
        with pytest.raises(StorageFailed):
            models.trust(one.id, "again")
        assert trust.is_trusted(A)  # as before
        patched.setattr(type(records.models), "distrust", fail)
        with pytest.raises(StorageFailed):
            models.distrust(one.id)
        assert trust.all() == ()  # the safe way round


@pytest.mark.parametrize("word", ["trust", "distrust"])
def test_others_write_while_trust_waits_for_a_terminal(records, trust, models, word):
    one = add(records, A, "torch-export")
    asking = threading.Thread(target=getattr(models, word), args=(one.id,))
    with trust._locked():
        asking.start()
        asking.join(0.2)
        records.projects.add("p")
        assert asking.is_alive()
    asking.join()


def test_what_nobody_looked_into_can_neither_run_nor_be_vouched_for(records, models):
    project = records.projects.add("p").id
    unread = records.models.add(NewModel(project_id=project, name="m", path="m"))
    assert models.get(unread.id).state == "unread"
    for refused in (models.require_runnable, models.trust, models.graph):
        with pytest.raises(WrongState):
            refused(ModelId(unread.id))
    assert models.distrust(unread.id).state == "unread"
