"""The demo project: made once, and never again."""

import pytest

from modeldyno.server import open_server
from modeldyno.settings import Settings

pytestmark = pytest.mark.usefixtures("starts_processes")


@pytest.fixture
def settings(tmp_path):
    return Settings(tmp_path)


def names(server):
    return [project.name for project in server.records.projects.page().items]


def test_a_new_workspace_gets_a_model_and_benchmarks_that_wait_to_be_run(settings):
    server = open_server(settings)
    try:
        project = server.demo.make_once()
        assert project is not None
        assert names(server) == ["Demo"]
        counts = server.records.projects.counts(project.id)
        (benchmark,) = server.records.benchmarks.page().items
        made = ("model", "comparison", "benchmark", "profile")
        assert [counts[kind] for kind in made] == [1, 1, 1, 1]
        assert (benchmark.state, benchmark.model_name) == ("queued", "digits.onnx")
        cells = server.benchmarks.get(benchmark.id).spec.cells
        assert {cell.engine for cell in cells} == {"onnxruntime", "openvino"}
        assert len({(cell.engine, cell.batch_size, cell.cores) for cell in cells}) >= 4
    finally:
        server.lifetime.close()


def test_the_verdict_between_two_engines_comes_first(settings):
    server = open_server(settings)
    try:
        server.demo.make_once()
        kinds = [job.kind for job in server.records.jobs.waiting()]
        assert kinds == ["comparison", "benchmark", "profile"]
        (comparison,) = server.records.comparisons.page().items
        spec = server.comparisons.get(comparison.id).spec
        assert (spec.a.cell.engine, spec.b.cell.engine) == ("onnxruntime", "openvino")
        assert comparison.name == "ONNX Runtime or OpenVINO"
    finally:
        server.lifetime.close()


def test_who_asks_for_it_gets_the_one_there_is_or_a_new_one(settings):
    server = open_server(settings)
    try:
        first = server.demo.make_once()
        assert first is not None
        assert server.demo.prepare()() == first
        for job in server.records.jobs.waiting():
            server.jobs.cancel(job.id)
        server.records.projects.delete(first.id, cascade=True)
        again = server.demo.prepare()()
        assert again.id != first.id
        assert server.demo.prepare()() == again
        assert names(server) == ["Demo"]
    finally:
        server.lifetime.close()


def test_it_is_made_once_and_stays_away_once_deleted(settings):
    server = open_server(settings)
    try:
        project = server.demo.make_once()
        assert project is not None
        assert server.demo.make_once() is None
        for job in server.records.jobs.waiting():
            server.jobs.cancel(job.id)
        server.records.projects.delete(project.id, cascade=True)
        assert server.demo.make_once() is None
        assert names(server) == []
    finally:
        server.lifetime.close()
