"""Every disaster we could think of, through the real command.

Each one must say what happened, exit with its own code, keep what was measured, show it, and leave
no process behind.
"""

import os
import pickle
import resource
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from modeldyno.core.jobs import Unit
from modeldyno.core.sessions import Session
from modeldyno.store.runs import RunFolder, RunFolders
from tests import onnx_models
from tests.processes import living, until
from tests.scripts import fault, script
from tests.terminal import PATIENCE_S, Ended, Running, command, modeldyno, running

pytestmark = pytest.mark.slow

# Before the disaster, one more than numbers need; --thorough takes so many in one process.
GOOD_SESSIONS = 5


class Room:
    """A workspace for one run, and a look into what it kept."""

    def __init__(self, folder: Path) -> None:
        self.models = folder
        self.workspace = folder / "workspace"

    def arguments(self, *models: object, **options: object) -> list[object]:
        said = [word for name, value in options.items() for word in _option(name, value)]
        return ["bench", *models, "--json", "--workspace", self.workspace, *said]

    def bench(self, *models: object, **options: object) -> Ended:
        return modeldyno(*self.arguments(*models, **options))

    @contextmanager
    def benching(self, *models: object, **options: object) -> Iterator[Running]:
        with running(*self.arguments(*models, **options)) as process:
            yield process

    @property
    def folder(self) -> RunFolder:
        (path,) = (self.workspace / "runs").iterdir()
        return RunFolder(path)

    @property
    def units(self) -> list[Unit]:
        folder = self.folder
        return list(RunFolders(folder.path.parent).units(folder.id))

    @property
    def samples(self) -> list[tuple[int, ...]]:
        """Of every session that was kept."""
        measured = [unit.measured for unit in self.units]
        return [session.samples.wall_ns for session in measured if isinstance(session, Session)]

    def has_kept(self, count: int) -> bool:
        files = list(self.workspace.glob("runs/*/units.jsonl"))
        return bool(files) and files[0].read_bytes().count(b"\n") >= count

    def has_no_run(self) -> bool:
        """Nothing was measured and nothing said: no folder and no process is left."""
        return not list(self.workspace.glob("runs/*")) and not living(self.workspace)

    def is_tidy(self) -> bool:
        """No process, no private copy and no scratch file is left."""
        left = [path for path in (self.folder.scratch, self.folder.model) if path.exists()]
        return not left and not living(self.workspace)


def _option(name: str, value: object) -> list[object]:
    flag = f"--{name.replace('_', '-')}"
    return [flag] if value is True else [flag, value]


@pytest.fixture
def room(tmp_path):
    return Room(tmp_path)


def one_cell(ended: Ended) -> dict[str, Any]:
    (cell,) = ended.document["cells"]
    return dict(cell)


def after_good_sessions(do: str) -> dict[str, Any]:
    return fault(do, call=3, session=GOOD_SESSIONS)


# ---------------------------------------------------------------- an engine misbehaves


@pytest.mark.parametrize(
    ("do", "options", "exit_code", "code", "title"),
    [
        ("segfault", {}, 1, "ENGINE_CRASHED", "The engine crashed (SIGSEGV)"),
        ("abort", {}, 1, "ENGINE_CRASHED", "The engine crashed (SIGABRT)"),
        ("exit", {}, 1, "ENGINE_CRASHED", "The engine ended the worker (exit code 3)"),
        ("raise", {}, 1, "ENGINE_FAILED", "The script says this call fails"),
        ("hang", {"timeout": 8}, 124, "TIMED_OUT", "The time limit passed"),
        (
            "out-of-memory",
            {"memory_limit": "700M"},
            137,
            "OUT_OF_MEMORY",
            "The model needs more memory than it may use",
        ),
        ("garble", {}, 1, "WORKER_GARBLED", "The worker sent something that is not a message"),
        ("hang-up", {}, 1, "WORKER_GARBLED", "The worker closed its pipe and went on running"),
    ],
)
def test_an_engine_that_fails_late_has_its_earlier_sessions_kept_and_shown(
    room, do, options, exit_code, code, title
):
    model = script(room.models / "m.json", faults=[after_good_sessions(do)])
    ended = room.bench(model, thorough=True, **options)
    cell = one_cell(ended)
    assert (ended.code, cell["status"], cell["error"]["code"], cell["error"]["title"]) == (
        exit_code,
        "failed",
        code,
        title,
    )
    assert (cell["sessions"], cell["stop_reason"]) == (GOOD_SESSIONS, "aborted")
    assert cell["latency_ms"]["typical"]["value"] >= 0.05
    assert [(unit.cell, unit.process) for unit in room.units] == [(0, 0)] * GOOD_SESSIONS
    assert room.folder.state() == "failed"
    assert room.is_tidy()


@pytest.mark.parametrize(
    ("do", "options", "exit_code", "code"),
    [
        ("segfault", {}, 1, "ENGINE_CRASHED"),
        ("hang", {"timeout": 3}, 124, "TIMED_OUT"),
        ("out-of-memory", {"memory_limit": "700M"}, 137, "OUT_OF_MEMORY"),
        ("raise", {}, 1, "ENGINE_FAILED"),
    ],
)
def test_an_engine_that_fails_on_loading_has_no_numbers_and_a_reason(
    room, do, options, exit_code, code
):
    model = script(room.models / "m.json", faults=[fault(do, call=-1)])
    ended = room.bench(model, **options)
    cell = one_cell(ended)
    assert (ended.code, cell["status"], cell["error"]["code"]) == (exit_code, "failed", code)
    assert (cell["latency_ms"], cell["sessions"], cell["samples"]) == (None, 0, 0)
    assert (room.units, room.folder.state()) == ([], "failed")
    assert room.is_tidy()


def test_what_an_engine_says_on_stdout_is_in_the_log_and_not_in_the_result(room):
    model = script(room.models / "m.json", faults=[fault("chatter", call=n) for n in (-1, 0, 9)])
    ended = room.bench(model, iterations=20, warmup=2)
    assert (ended.code, one_cell(ended)["samples"]) == (0, 20)
    assert b"engine says hello on stdout" in room.folder.log.read_bytes()
    assert "hello" not in ended.err


def test_a_crash_of_one_cell_is_no_business_of_the_others(room):
    model = script(room.models / "m.json", faults=[fault("segfault", batch=2)])
    ended = room.bench(model, batch="1,2,4", iterations=20)
    assert ended.code == 1
    assert [(c["batch_size"], c["status"], c["samples"]) for c in ended.document["cells"]] == [
        (1, "done", 20),
        (2, "failed", 0),
        (4, "done", 20),
    ]
    assert sorted(unit.cell for unit in room.units) == [0, 2]
    assert room.folder.state() == "done"
    assert room.is_tidy()


def test_sessions_that_disagree_about_the_result_have_no_latency(room):
    model = script(room.models / "m.json", output=[1.5**power for power in range(97)])
    ended = room.bench(model, quick=True)
    cell = one_cell(ended)
    assert (ended.code, cell["error"]["code"], cell["latency_ms"]) == (1, "WRONG_OUTPUT", None)
    assert cell["error"]["title"] == "Two sessions of this cell computed different results"
    assert room.is_tidy()


def test_an_engine_that_starts_processes_leaves_none(room):
    model = script(room.models / "m.json", faults=[fault("start-helper", call=-1)])
    assert room.bench(model, iterations=5, no_sandbox=True).code == 0
    until(room.is_tidy, "the helpers' end")


def test_a_confined_engine_starts_no_processes(room):
    model = script(room.models / "m.json", faults=[fault("start-helper", call=-1)])
    error = one_cell(room.bench(model, iterations=5))["error"]
    assert (error["code"], "Operation not permitted" in error["detail"]) == ("ENGINE_FAILED", True)
    assert room.is_tidy()


# ---------------------------------------------------------------- a model misbehaves


def endless_loop():
    """An ONNX Loop whose condition stays true."""
    value, node = onnx_models.value, helper.make_node
    body = helper.make_graph(
        [node("Identity", ["on"], ["still_on"]), node("Add", ["v", "v"], ["w"])],
        "body",
        [value("i", TensorProto.INT64), value("on", TensorProto.BOOL), value("v", shape=None)],
        [value("still_on", TensorProto.BOOL), value("w", shape=None)],
    )
    return onnx_models.model(
        [node("Loop", ["", "true", "x"], ["y"], body=body)],
        [value("x", shape=[1, 4])],
        [value("y", shape=[1, 4])],
        [helper.make_tensor("true", TensorProto.BOOL, [], [True])],
    )


def memory_bomb():
    """A few hundred bytes that ask for a terabyte."""
    node, value = helper.make_node, onnx_models.value
    return onnx_models.model(
        [
            node("Shape", ["x"], ["two"]),
            node("Mul", ["two", "large"], ["huge"]),
            node("ConstantOfShape", ["huge"], ["sea"]),
            node("ReduceSum", ["sea"], ["drop"], keepdims=0),
            node("Add", ["x", "drop"], ["y"]),
        ],
        [value("x", shape=["batch", 4])],
        [value("y", shape=["batch", 4])],
        [helper.make_tensor("large", TensorProto.INT64, [2], [1 << 20, 1 << 16])],
    )


def test_an_endless_loop_in_a_model_is_stopped(room):
    model = onnx_models.saved(endless_loop(), room.models / "loop.onnx")
    ended = room.bench(model, timeout=5)
    assert (ended.code, one_cell(ended)["error"]["code"]) == (124, "TIMED_OUT")
    assert (room.units, room.folder.state()) == ([], "failed")
    assert room.is_tidy()


def test_a_model_that_asks_for_a_terabyte_fails_alone(room):
    model = onnx_models.saved(memory_bomb(), room.models / "bomb.onnx")
    ended = room.bench(model)
    assert (ended.code, one_cell(ended)["error"]["code"]) == (137, "OUT_OF_MEMORY")
    assert (room.units, room.folder.state()) == ([], "failed")
    assert room.is_tidy()


def test_a_truncated_model_is_called_so(room):
    whole = onnx_models.linear().SerializeToString()
    (room.models / "m.onnx").write_bytes(whole[: len(whole) // 2])
    ended = room.bench(room.models / "m.onnx")
    assert (ended.code, ended.error_code) == (2, "MODEL_UNREADABLE")
    assert ended.err.startswith("error[MODEL_UNREADABLE]: m.onnx is ")
    assert room.has_no_run()


class Boom:
    def __reduce__(self):
        return os.mkdir, ("the-pickle-was-loaded",)


def test_a_pickle_is_refused_and_never_loaded(room):
    (room.models / "net.pt").write_bytes(pickle.dumps(Boom()))
    ended = room.bench(room.models / "net.pt")
    assert (ended.code, ended.error_code) == (8, "UNSAFE_FORMAT")
    assert ended.err.startswith("error[UNSAFE_FORMAT]: net.pt is a Python pickle.")
    assert not list(room.models.rglob("the-pickle-was-loaded"))
    assert room.has_no_run()


def test_a_missing_model_is_answered_with_one_that_is_there(room):
    there = onnx_models.saved(onnx_models.linear(), room.models / "glyphs.onnx")
    ended = room.bench(room.models / "glyph.onnx")
    assert (ended.code, ended.error_code) == (4, "MODEL_NOT_FOUND")
    assert ended.err.splitlines() == [
        f'error[MODEL_NOT_FOUND]: No model file named "{room.models}/glyph.onnx"',
        f"  help: Did you mean {there}?",
    ]
    assert not room.workspace.exists()


# ---------------------------------------------------------------- files change meanwhile


def test_a_model_deleted_while_it_is_measured_is_measured_to_the_end(room):
    model = onnx_models.saved(onnx_models.linear(), room.models / "m.onnx")
    with room.benching(model, budget=4) as process:
        until(lambda: room.has_kept(1), "a first session")
        model.unlink()
        ended = process.end()
    cell = one_cell(ended)
    assert (ended.code, cell["status"], cell["error"]) == (0, "done", None)
    assert len(room.units) == cell["sessions"] > 1
    assert room.is_tidy()


def test_a_model_replaced_while_it_is_measured_is_measured_as_it_was(room):
    model = script(room.models / "m.json")
    with room.benching(model, budget=3) as process:
        until(lambda: room.has_kept(1), "a first session")
        script(model, faults=[fault("segfault")])
        ended = process.end()
    assert (ended.code, one_cell(ended)["status"]) == (0, "done")


def test_an_engine_that_writes_to_its_model_cannot_reach_the_original(room):
    model = script(room.models / "m.json", faults=[fault("rewrite", call=3)])
    before = model.read_bytes()
    ended = room.bench(model, quick=True, no_sandbox=True)
    cell = one_cell(ended)
    assert model.read_bytes() == before
    assert (ended.code, cell["status"], cell["error"]["code"]) == (1, "failed", "MODEL_CHANGED")
    assert cell["error"]["detail"] == (
        "the engine wrote to its private copy; the original is untouched"
    )
    assert len(room.units) == cell["sessions"] > 0
    assert room.is_tidy()


def test_a_confined_engine_cannot_write_to_its_model(room):
    model = script(room.models / "m.json", faults=[fault("rewrite", call=3)])
    error = one_cell(room.bench(model, quick=True))["error"]
    assert (error["code"], "Operation not permitted" in error["detail"]) == ("ENGINE_FAILED", True)
    assert room.is_tidy()


def test_data_deleted_while_it_is_used_costs_only_the_rest(room):
    model = onnx_models.saved(onnx_models.linear(), room.models / "m.onnx")
    data = room.models / "x.npz"
    np.savez(data, x=np.ones((1, 4), dtype=np.float32))
    with room.benching(model, data=data, thorough=True) as process:
        until(lambda: room.has_kept(GOOD_SESSIONS), "some sessions")
        data.unlink()
        ended = process.end()
    cell = one_cell(ended)
    assert (ended.code, cell["status"], cell["error"]["code"]) == (1, "failed", "MODEL_INPUT")
    assert cell["error"]["title"] == f'No data file named "{data}"'
    assert len(room.units) == cell["sessions"] >= GOOD_SESSIONS


# ---------------------------------------------------------------- the disk is full


def stored_less_than_measured(room: Room, ended: Ended) -> None:
    cell = one_cell(ended)
    assert (ended.code, cell["status"], cell["error"]["code"]) == (1, "failed", "STORAGE_FAILED")
    assert cell["error"]["title"] == "The result could not be written"
    assert cell["latency_ms"]["typical"]["value"] >= 0.05
    assert len(room.units) == cell["sessions"] >= 4
    assert all(room.samples)
    assert room.folder.state() == "failed"
    assert not list(room.folder.path.glob("*.new"))
    assert room.is_tidy()


@pytest.mark.alone  # on a busy machine there would be less to write
def test_a_full_disk_ends_the_run_with_what_was_written_before(room):
    room.workspace.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=192k", "tmpfs", room.workspace]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("needs the right to mount a small disk")
    try:
        ended = room.bench(script(room.models / "m.json", latency_us=110), thorough=True)
        assert one_cell(ended)["error"]["detail"] == "No space left on device"
        stored_less_than_measured(room, ended)
    finally:
        subprocess.run(["umount", room.workspace], check=True)


@pytest.mark.alone  # on a busy machine there would be less to write
def test_a_file_that_may_not_grow_ends_the_run_with_what_was_written_before(room):
    # Four sessions of 37 kB at most fit; twelve, with half as much on a busy machine, do not.
    model = script(room.models / "m.json", latency_us=110)
    arguments = room.arguments(model, thorough=True)
    done = subprocess.run(
        command(*arguments),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (155_000, 155_000)),
    )
    ended = Ended(done.returncode, done.stdout, done.stderr)
    assert one_cell(ended)["error"]["detail"] == "File too large"
    stored_less_than_measured(room, ended)


def test_a_model_larger_than_the_disk_is_told_before_anything_is_measured(room):
    room.workspace.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", room.workspace]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("needs the right to mount a small disk")
    try:
        ended = room.bench(script(room.models / "m.json", padding="x" * 200_000))
        assert (ended.code, ended.error_code) == (1, "STORAGE_FAILED")
        assert ended.err.splitlines()[:2] == [
            "error[STORAGE_FAILED]: There is no room for a private copy of the model",
            "  why: No space left on device",
        ]
        assert room.has_no_run()
    finally:
        subprocess.run(["umount", room.workspace], check=True)


def test_an_output_that_cannot_be_written_is_no_bug_and_the_run_is_kept(room):
    model = script(room.models / "m.json")
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            command(*room.arguments(model, iterations=5)),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ended.returncode == 1
    assert ended.stderr.splitlines() == [
        "error[STORAGE_FAILED]: The output could not be written",
        "  why: No space left on device",
        "  help: Free some space; what was measured is kept in the workspace",
    ]
    assert (len(room.units), room.folder.state()) == (1, "done")


def test_a_workspace_that_is_a_file_is_told_so(room):
    room.workspace.write_text("")
    ended = room.bench(script(room.models / "m.json"))
    assert (ended.code, ended.error_code) == (2, "WORKSPACE_UNUSABLE")
    assert ended.err.startswith("error[WORKSPACE_UNUSABLE]: Cannot write to the workspace")


# ---------------------------------------------------------------- somebody stops us


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_ux_30_a_stopped_run_shows_what_it_has(room, number):
    model = script(room.models / "m.json")
    with room.benching(model, thorough=True) as process:
        until(lambda: room.has_kept(GOOD_SESSIONS), "some sessions")
        process.send(number)
        ended = process.end()
    document, cell = ended.document, one_cell(ended)
    assert (ended.code, document["interrupted"], cell["status"]) == (130, True, "partial")
    assert cell["error"]["code"] == "CANCELLED"
    assert cell["latency_ms"]["typical"]["value"] >= 0.05
    assert len(room.units) == cell["sessions"] >= GOOD_SESSIONS
    assert room.folder.state() == "cancelled"
    assert room.is_tidy()


def test_a_cell_with_too_few_sessions_has_no_numbers_when_stopped(room):
    model = script(room.models / "m.json", faults=[fault("hang", session=2)])
    with room.benching(model, thorough=True) as process:
        until(lambda: room.has_kept(2), "two sessions")
        process.send(signal.SIGINT)
        ended = process.end()
    cell = one_cell(ended)
    assert (ended.code, cell["status"], cell["latency_ms"]) == (130, "failed", None)
    assert (len(room.units), cell["error"]["code"]) == (2, "CANCELLED")
    assert room.is_tidy()


def test_cells_that_were_finished_stay_finished_when_the_next_is_stopped(room):
    """The second cell in the order of measurement, which seed 0 makes the order of the options."""
    model = script(room.models / "m.json", faults=[fault("hang", batch=2)])
    with room.benching(model, batch="1,2", iterations=20, seed=0) as process:
        until(lambda: room.has_kept(1), "the first cell")
        process.send(signal.SIGINT)
        ended = process.end()
    assert ended.code == 130
    assert [(c["batch_size"], c["status"]) for c in ended.document["cells"]] == [
        (1, "done"),
        (2, "failed"),
    ]
    assert room.folder.state() == "cancelled"
    assert room.is_tidy()


def test_ctrl_c_while_a_model_loads_stops_it(room):
    model = script(room.models / "m.json", load_ms=3_600_000)
    with room.benching(model) as process:
        until(lambda: list(room.workspace.glob("runs/*/model/m.json")), "loading to begin")
        process.send(signal.SIGINT)
        ended = process.end()
    assert (ended.code, ended.error_code) == (130, "CANCELLED")
    assert ended.err.startswith("error[CANCELLED]: Stopped on request")
    assert room.has_no_run()


def test_ctrl_c_before_the_first_session_leaves_no_table_of_dashes(room):
    model = script(room.models / "m.json", faults=[fault("hang", session=0)])
    with room.benching(model) as process:
        until(lambda: list(room.workspace.glob("runs/*/model.json")), "measuring to begin")
        process.send(signal.SIGINT)
        ended = process.end()
    assert (ended.code, ended.error_code) == (130, "CANCELLED")
    assert room.has_no_run()


def test_a_second_ctrl_c_in_haste_loses_nothing(room):
    """``timeout`` and some CI runners send two at once."""
    model = script(room.models / "m.json", faults=[after_good_sessions("hang")])
    with room.benching(model, thorough=True) as process:
        until(lambda: room.has_kept(GOOD_SESSIONS), "some sessions")
        process.send(signal.SIGINT)
        process.send(signal.SIGINT)
        ended = process.end()
    assert (ended.code, ended.document["interrupted"]) == (130, True)
    assert one_cell(ended)["sessions"] == len(room.units) == GOOD_SESSIONS
    assert room.folder.state() == "cancelled"
    assert room.is_tidy()


def test_a_killed_run_leaves_no_worker_and_its_units_whole(room):
    model = script(room.models / "m.json", faults=[after_good_sessions("hang")])
    with room.benching(model, thorough=True) as process:
        until(lambda: room.has_kept(GOOD_SESSIONS), "some sessions")
        process.send(signal.SIGKILL)
        ended = process.end()
    assert (ended.code, ended.out) == (-signal.SIGKILL, "")
    until(lambda: not living(room.workspace), "the worker's end")
    assert [unit.process for unit in room.units] == [0] * GOOD_SESSIONS
    assert all(room.samples)
    assert room.folder.state() == "interrupted"


def test_a_killed_run_can_be_resumed(room):
    model = script(room.models / "m.json")
    with room.benching(model, budget=3) as process:
        until(lambda: room.has_kept(1), "a session")
        assert room.folder.state() == "running"
        process.send(signal.SIGKILL)
        process.end()
    kept = len(room.units)
    ended = room.bench(resume=room.folder.id)
    assert (ended.code, one_cell(ended)["status"]) == (0, "done")
    assert one_cell(ended)["sessions"] >= kept
    assert (room.folder.state(), room.is_tidy()) == ("done", True)


def test_a_stopped_row_of_models_shows_those_that_were_measured(room):
    first = script(room.models / "first.json")
    second = script(room.models / "second.json", load_ms=3_600_000)
    with room.benching(first, second, iterations=5) as process:
        until(lambda: list(room.workspace.glob("runs/*/model/second.json")), "the second model")
        process.send(signal.SIGINT)
        ended = process.end()
    assert ended.code == 130
    assert [(cell["model"], cell["status"]) for cell in ended.document["cells"]] == [
        (str(first), "done")
    ]
    assert not living(room.workspace)


def test_a_model_that_cannot_be_read_does_not_spoil_the_others(room):
    models = [script(room.models / f"{name}.json") for name in ("first", "second", "third")]
    shutil.copy("/dev/null", models[1])
    ended = room.bench(*models, iterations=5)
    assert ended.code == 2
    assert [cell["model"] for cell in ended.document["cells"]] == [str(models[0]), str(models[2])]
    assert ended.err.startswith("error[MODEL_UNREADABLE]: second.json is empty")
