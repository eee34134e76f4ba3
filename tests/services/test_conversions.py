"""Conversions that wait, and cancels that come at any time."""

import threading
from types import SimpleNamespace

import pytest

from modeldyno.core.errors import Cancelled
from modeldyno.core.ids import ConversionId, ModelId, ProjectId
from modeldyno.core.jobs import Failed
from modeldyno.core.results import Failure
from modeldyno.services.conversions import ConversionService

WAIT_S = 60


class Jobs:
    """Holds every run until it is cancelled."""

    def __init__(self):
        self.begun = threading.Event()
        self.over = threading.Event()
        self.before_submitting = lambda: None

    def submit(self, run_id, spec, record):
        self.before_submitting()
        self.over.clear()
        self._record = lambda: record(run_id, Failed(Failure.of(Cancelled("Stopped"))))
        self.begun.set()

    def cancel(self, run_id):
        if self.begun.is_set():  # what is not there cannot be cancelled
            self._record()
            self.over.set()

    def wait(self, run_id):
        assert self.over.wait(WAIT_S)


class Models:
    def require_runnable(self, model_id):
        return SimpleNamespace(
            id=model_id,
            project_id=ProjectId(1),
            name="net.onnx",
            path="net.onnx",
            sha256="0" * 64,
            facts=SimpleNamespace(format="onnx", size_bytes=0, external=()),
            format="onnx",
            boundary=None,
        )


@pytest.fixture
def jobs():
    return Jobs()


@pytest.fixture
def service(jobs):
    made = ConversionService(None, Models(), None, jobs)  # type: ignore[arg-type]  # all it needs
    yield made
    made.close()


def ended(service):
    """Tells when a conversion is over."""
    over = threading.Event()
    service.on_progress(lambda one: over.set() if one.state != "converting" else None)
    return over


@pytest.mark.engine("openvino")
def test_one_that_waits_is_cancelled_at_once_and_can_be_asked_for_anew(service, jobs):
    service.start(ModelId(1), "openvino")
    assert jobs.begun.wait(WAIT_S)
    waiting = service.start(ModelId(2), "openvino")
    assert service.cancel(waiting.id).state == "cancelled"
    again = service.start(ModelId(2), "openvino")
    assert again.id != waiting.id
    assert (service.get(waiting.id).state, again.state) == ("cancelled", "converting")


@pytest.mark.engine("openvino")
def test_one_that_is_being_stopped_is_not_given_to_who_asks_anew(service, jobs):
    first = service.start(ModelId(1), "openvino")
    assert jobs.begun.wait(WAIT_S)
    jobs.cancel = lambda run_id: None  # it takes a while
    assert service.cancel(first.id).state == "converting"
    assert service.start(ModelId(1), "openvino").id != first.id
    jobs._record()
    jobs.over.set()


@pytest.mark.engine("openvino")
def test_a_cancel_just_before_the_job_is_submitted_is_not_lost(service, jobs):
    over = ended(service)
    ids: list[ConversionId] = []
    known = threading.Event()

    def cancel():
        assert known.wait(WAIT_S)
        service.cancel(ids[0])

    jobs.before_submitting = cancel
    ids.append(service.start(ModelId(1), "openvino").id)
    known.set()
    assert over.wait(WAIT_S)
    assert service.get(ids[0]).state == "cancelled"
