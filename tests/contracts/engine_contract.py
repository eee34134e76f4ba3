"""What every engine must do. A test class inherits this and provides ``engine`` and ``target``.

The engine runs here in the test's own process: workers are tested elsewhere.
"""

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

from modeldyno.core.errors import BadValue
from modeldyno.core.sessions import CallContract, SessionFacts, Target
from modeldyno.engines.catalog import find
from modeldyno.engines.outputs import compare
from modeldyno.engines.protocol import Engine, Profiles, Tensors

CONTRACTS = get_args(CallContract)


class EngineContract:
    """``target`` has one float32 input ``x`` of shape [batch, 4]."""

    engine: Engine
    precision = "fp32"

    @pytest.fixture
    def target(self, tmp_path) -> Target:
        raise NotImplementedError

    def inputs(self, batch: int = 2) -> Tensors:
        values = np.random.default_rng(0).standard_normal((batch, 4), dtype=np.float32)
        return {"x": values}

    def test_it_is_in_the_catalogue_under_its_own_name(self):
        entry = find(self.engine.name)
        assert entry.name == self.engine.name
        assert entry.formats == self.engine.capabilities.formats
        assert entry.devices == self.engine.capabilities.devices

    def test_it_knows_its_version(self):
        assert self.engine.version()
        assert self.engine.version() == self.engine.version()

    def test_the_facts_are_read_back_from_the_session(self, target):
        with self.engine.open(target) as session:
            facts = session.facts
        assert isinstance(facts, SessionFacts)
        assert (facts.engine, facts.engine_version) == (self.engine.name, self.engine.version())
        assert facts.device in self.engine.capabilities.devices
        assert facts.providers
        assert facts.threads == 1

    @pytest.mark.parametrize("requested", [True, False])
    def test_threads_spin_as_they_are_told_or_it_is_refused(self, requested, target):
        """Silently another way is the one answer that is wrong."""
        options = replace(target, threads=2, spinning=requested)
        try:
            with self.engine.open(options) as session:
                spinning = session.facts.spinning
        except BadValue as error:
            spinning = requested if "threads spin cannot be set" in error.title else None
        assert spinning is requested

    def test_running_gives_outputs_by_name_and_leaves_the_inputs_alone(self, target):
        inputs = self.inputs()
        before = {name: value.copy() for name, value in inputs.items()}
        with self.engine.open(target) as session:
            outputs = session.run(inputs)
        assert list(outputs) == ["y"]
        assert outputs["y"].shape[0] == 2
        assert compare(before, inputs).max_abs_error == 0

    def test_running_twice_gives_the_same(self, target):
        with self.engine.open(target) as session:
            first, second = (session.run(self.inputs()) for _ in range(2))
        assert compare(first, second).max_abs_error == 0

    def test_two_sessions_give_the_same(self, target):
        with self.engine.open(target) as one, self.engine.open(target) as other:
            assert compare(one.run(self.inputs()), other.run(self.inputs())).agrees

    @pytest.mark.parametrize("contract", CONTRACTS)
    def test_every_contract_can_be_called_again_and_again(self, contract, target):
        with self.engine.open(target) as session:
            call = session.bind(self.inputs(), contract)
            for _ in range(3):
                call()
            after = session.run(self.inputs())
        with self.engine.open(target) as fresh:
            assert compare(fresh.run(self.inputs()), after).agrees

    @pytest.mark.parametrize("batch", [1, 3])
    def test_the_batch_is_as_large_as_the_inputs_say(self, batch, target):
        with self.engine.open(target) as session:
            assert session.run(self.inputs(batch))["y"].shape[0] == batch

    def test_examining_tells_the_precision_and_the_same_outputs_as_running(
        self, target, tmp_path, monkeypatch
    ):
        monkeypatch.chdir(tmp_path)  # as in a worker: engines may write where they are
        facts, outputs = self.engine.examine(target, self.inputs())
        with self.engine.open(target) as session:
            assert compare(session.run(self.inputs()), outputs).agrees
        assert facts.precision == self.precision

    def test_its_profiler_tells_of_the_calls_that_count_and_of_no_others(
        self, target, tmp_path, monkeypatch
    ):
        monkeypatch.chdir(tmp_path)
        engine = self.engine
        if not isinstance(engine, Profiles):
            pytest.skip("it has no profiler")
        with engine.open(target) as session, engine.profiled(target, session) as profiled:
            plain, watched = session.bind(self.inputs(), "api"), profiled.bind(self.inputs(), "api")
            watched()  # before anybody counts
            for _ in range(2):
                plain()
                with profiled.recording():
                    watched()
                    watched()
            trace = profiled.trace([False, True, False, True])
            outputs = session.run(self.inputs())
        assert trace.calls == 2
        assert trace.nodes
        assert trace.outer >= 2
        for node in trace.nodes:
            assert node.node
            assert node.op_type
            assert node.self_ns >= 0
            assert node.events >= 1
        with engine.open(target) as fresh:
            assert compare(fresh.run(self.inputs()), outputs).agrees
