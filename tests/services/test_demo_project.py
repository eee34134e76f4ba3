"""The demo project: made once, and never again."""

import pytest

from modeldyno.settings import Settings
from modeldyno.workbench import open_server


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
        assert (counts["model"], counts["benchmark"], counts["comparison"]) == (1, 1, 1)
        assert (benchmark.state, benchmark.model_name) == ("queued", "digits.onnx")
        assert len(server.benchmarks.get(benchmark.id).spec.cells) >= 2
    finally:
        server.close()


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
        server.close()
