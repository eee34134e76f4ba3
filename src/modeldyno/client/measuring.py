"""``client.bench``, ``compare`` and ``profile``: as those of ``modeldyno``, on a server."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from modeldyno.client.following import follow_job
from modeldyno.client.reading import read
from modeldyno.client.resources import ModelCalls, ProjectCalls, result_of
from modeldyno.client.steps import (
    Say,
    Sent,
    Sleep,
    Steps,
    Work,
    first,
    get,
    operation,
    order,
    pages,
    post,
)
from modeldyno.client.values import JobSeen, ModelSeen, RunSeen
from modeldyno.core.errors import (
    BadValue,
    Cancelled,
    ModelNotFound,
    RunFailed,
    error_classes,
)
from modeldyno.core.jobs import JobMessage, Started
from modeldyno.core.results import BenchmarkResult, ComparisonResult, MeasuringResult, ProfileResult
from modeldyno.core.sessions import OptionValue

PROJECT = "Python"  # where results go when nobody says where
Ints = int | Sequence[int]
Names = str | Sequence[str]
Listener = Callable[[JobMessage], None]
Which = str | Path | int | ModelSeen  # a file here, or a model of the server

_SIDE: dict[str, tuple[str, Callable[[str], Any]]] = {
    "engine": ("engine", str),
    "batch": ("batch_size", int),
    "cores": ("cores", int),
    "streams": ("streams", int),
    "device": ("device", str),
    "precision": ("precision", str),
    "contract": ("contract", str),
    "sandbox": ("sandbox", str),
    "signature": ("signature", str),
    "spin": ("spinning", lambda text: {"on": True, "off": False}[text]),
}
_MODEL, _PROJECT = ModelCalls(), ProjectCalls()


class MeasuringCalls:
    @operation
    def bench(
        self,
        model: Which,
        *,
        project: str | int = PROJECT,
        name: str | None = None,
        engine: Names | None = None,
        batch: Ints = 1,
        cores: Ints = 1,
        instances: Ints = 1,
        streams: Ints = 1,
        device: Names = "cpu",
        precision: Names | None = None,
        contract: str = "api",
        spin: bool | None = None,
        dims: Mapping[str, int] | None = None,
        values: Mapping[str, float] | None = None,
        inputs: Sequence[str] = (),
        signature: str = "",
        options: Mapping[str, OptionValue] | None = None,
        quick: bool = False,
        thorough: bool = False,
        budget: float | None = None,
        iterations: int | None = None,
        warmup: int | None = None,
        per_call: bool = False,
        timeout: float = 600.0,
        memory_limit: int | None = None,
        sandbox: str = "on",
        seed: int = 0,
        listen: Listener | None = None,
        upload: Sent | None = None,
    ) -> Steps[BenchmarkResult]:
        """Measure a model on the server; ``modeldyno.bench`` says what the words mean.

        ``model`` is a file of this machine, which is uploaded unless the project has its content,
        or the number of a model of the server. ``upload`` hears of bytes sent. Ctrl-C cancels the
        job and returns what was measured until then.
        """
        place = yield from _project(project)
        known = yield from _model(place, model, upload)
        body = {
            "project_id": place,
            "model_id": known,
            "name": name,
            "engines": _names(engine),
            "batch_sizes": _ints(batch),
            "cores": _ints(cores),
            "instances": _ints(instances),
            "streams": _ints(streams),
            "devices": _names(device),
            "precisions": _names(precision),
            "spinning": spin,
            "contract": contract,
            "dims": dict(dims or {}),
            "values": dict(values or {}),
            "inputs": list(inputs),
            "signature": signature or None,
            "options": dict(options or {}),
            "sandbox": _sandbox(sandbox),
            "budget": _budget(quick, thorough, budget),
            "iterations": iterations,
            "warmup": warmup,
            "per_call": per_call,
            "timeout_s": timeout,
            "memory_limit_bytes": memory_limit,
            "seed": seed,
        }
        result = yield from _measured("/benchmarks", body, listen)
        assert isinstance(result, BenchmarkResult)
        return result

    @operation
    def compare(
        self,
        a: Which,
        b: Which,
        *,
        project: str | int = PROJECT,
        name: str | None = None,
        engine: str | None = None,
        batch: int = 1,
        cores: int = 1,
        device: str = "cpu",
        contract: str = "api",
        spin: bool | None = None,
        dims: Mapping[str, int] | None = None,
        values: Mapping[str, float] | None = None,
        inputs: Sequence[str] = (),
        options: Mapping[str, OptionValue] | None = None,
        margin: float = 0.02,
        quick: bool = False,
        thorough: bool = False,
        budget: float | None = None,
        pairs: int | None = None,
        adaptive: bool = False,
        timeout: float = 600.0,
        memory_limit: int | None = None,
        sandbox: str = "on",
        seed: int = 0,
        listen: Listener | None = None,
        upload: Sent | None = None,
    ) -> Steps[ComparisonResult]:
        """Is B slower than A? Sides may carry options: ``"m.onnx@cores=2"``."""
        place = yield from _project(project)
        usual = {
            "engine": engine,
            "batch_size": batch,
            "cores": cores,
            "device": device,
            "contract": contract,
            "spinning": spin,
            "dims": dict(dims or {}),
            "values": dict(values or {}),
            "inputs": list(inputs),
            "options": dict(options or {}),
            "sandbox": _sandbox(sandbox),
        }
        sides = []
        for side in (a, b):
            which, said = _split(side)
            model_id = yield from _model(place, which, upload)
            merged = usual | said | {"options": usual["options"] | said.get("options", {})}
            sides.append({"model_id": model_id, **merged})
        body = {
            "project_id": place,
            "name": name,
            "a": sides[0],
            "b": sides[1],
            "margin": margin,
            "budget": _budget(quick, thorough, budget),
            "pairs": pairs,
            "adaptive": adaptive,
            "timeout_s": timeout,
            "memory_limit_bytes": memory_limit,
            "seed": seed,
        }
        result = yield from _measured("/comparisons", body, listen)
        assert isinstance(result, ComparisonResult)
        return result

    @operation
    def profile(
        self,
        model: Which,
        *,
        project: str | int = PROJECT,
        name: str | None = None,
        engine: str | None = None,
        batch: int = 1,
        cores: int = 1,
        device: str = "cpu",
        precision: str | None = None,
        contract: str = "hot",
        spin: bool | None = None,
        dims: Mapping[str, int] | None = None,
        values: Mapping[str, float] | None = None,
        inputs: Sequence[str] = (),
        signature: str = "",
        options: Mapping[str, OptionValue] | None = None,
        repeats: int = 5,
        timeout: float = 600.0,
        memory_limit: int | None = None,
        sandbox: str = "on",
        seed: int = 0,
        listen: Listener | None = None,
        upload: Sent | None = None,
    ) -> Steps[ProfileResult]:
        """Where a model spends its time, on the server; as ``modeldyno.profile``."""
        place = yield from _project(project)
        body = {
            "project_id": place,
            "model_id": (yield from _model(place, model, upload)),
            "name": name,
            "engine": engine,
            "batch_size": batch,
            "cores": cores,
            "device": device,
            "precision": precision,
            "spinning": spin,
            "contract": contract,
            "dims": dict(dims or {}),
            "values": dict(values or {}),
            "inputs": list(inputs),
            "signature": signature or None,
            "options": dict(options or {}),
            "sandbox": _sandbox(sandbox),
            "repeats": repeats,
            "timeout_s": timeout,
            "memory_limit_bytes": memory_limit,
            "seed": seed,
        }
        result = yield from _measured("/profiles", body, listen)
        assert isinstance(result, ProfileResult)
        return result


# ---------------------------------------------------------------- to the end


def _measured(path: str, body: dict[str, Any], listen: Listener | None) -> Steps[MeasuringResult]:
    said = {key: value for key, value in body.items() if value is not None}
    made = (yield post(path, said | {"start": True})).json
    latest = made["latest_run"]
    yield from _to_the_end(latest["job_id"], listen)
    return (yield from _outcome(latest["id"], latest["job_id"]))


def _to_the_end(job_id: int, listen: Listener | None) -> Steps[None]:
    following = follow_job(job_id)
    has_begun = False
    try:
        step = next(following)
        while True:
            if isinstance(step, Say):
                has_begun = _tell(step.value, listen, has_begun)
                step = next(following)
                continue
            try:
                answer = yield step
            except Exception as error:  # noqa: BLE001 - following knows what to do about it
                step = following.throw(error)
            else:
                step = following.send(answer)
    except StopIteration:
        return
    except (KeyboardInterrupt, asyncio.CancelledError) as stop:
        # Not through `following`: whatever it was doing, the job is what matters now.
        yield order(f"/jobs/{job_id}/cancel")
        if isinstance(stop, asyncio.CancelledError):
            raise
        while not read(JobSeen, (yield get(f"/jobs/{job_id}")).json).is_over:
            yield Sleep(0.1)


def _tell(job: JobSeen, listen: Listener | None, has_begun: bool) -> bool:
    standing = job.progress
    if listen is None or standing is None:
        return has_begun
    if not has_begun:
        listen(Started(standing.headline, standing.units_planned))
    if standing.doing or standing.units_done:
        listen(standing.progress())
    return True


def _outcome(run_id: str, job_id: int) -> Steps[MeasuringResult]:
    run = read(RunSeen, (yield get(f"/runs/{run_id}")).json)
    if run.has_result:
        return (yield from result_of(run_id))
    if run.failure is not None:
        kind = error_classes().get(run.failure.code, RunFailed)
        raise kind(run.failure.title, why=run.failure.detail, fix=run.failure.fix)
    raise Cancelled(
        f"Run {run_id} is {run.state}, without a result",
        why="it was stopped before there was enough for one",
        fix=f"Go on with it: resume job {job_id}",
    )


# ---------------------------------------------------------------- what to measure


def _project(which: str | int) -> Steps[int]:
    if isinstance(which, int):
        return which
    found = yield from ProjectCalls.find.of(_PROJECT, which, create=True)
    assert found is not None
    return found.id


def _model(project_id: int, which: Which, tell: Sent | None) -> Steps[int]:
    if isinstance(which, ModelSeen):
        return which.id
    if isinstance(which, int):
        return which
    file = Path(which).expanduser()
    if not file.is_file():
        raise ModelNotFound(
            f'No model file named "{which}"',
            fix="Give the path of a model file, or the number of a model of the server",
        )
    sha256 = yield Work(lambda: _sha256(file))

    known = yield from first(
        pages("/models", project_id=project_id), lambda told: read(ModelSeen, told).keeps(sha256)
    )
    if known is not None:
        return int(known["id"])
    made = yield from ModelCalls.upload.of(_MODEL, project_id, file, tell=tell)
    return made.id


def _sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _split(side: Which) -> tuple[Which, dict[str, Any]]:
    """``m.onnx@cores=2,batch=8`` → the model and its options; a file may have an @ in its name."""
    if not isinstance(side, (str, Path)) or "@" not in str(side) or Path(side).exists():
        return side, {}
    path, _, words = str(side).rpartition("@")
    said: dict[str, Any] = {"options": {}}
    for word in filter(None, words.split(",")):
        key, equals, value = word.partition("=")
        field, parse = _SIDE.get(key, ("", str))
        try:
            if field and equals:
                said[field] = parse(value)
                continue
        except (ValueError, KeyError):
            equals = ""
        if not equals:
            raise BadValue(
                f"Cannot read {word!r} in {str(side)!r}", fix="Write NAME=VALUE after the @"
            )
        said["options"][key] = {"on": True, "off": False}.get(value, value)
    return path, said


def _budget(quick: bool, thorough: bool, seconds: float | None) -> str | float:
    if quick + thorough + (seconds is not None) > 1:
        raise BadValue("quick, thorough and budget contradict each other", fix="Give one of them")
    return "quick" if quick else "thorough" if thorough else seconds or "default"


def _sandbox(said: str) -> str:
    if said == "off":
        raise BadValue(
            "A server runs nothing without a sandbox",
            why="whoever may measure there could run any program",
            fix="Measure on your own machine for that",
        )
    return said


def _ints(value: Ints) -> list[int]:
    return [value] if isinstance(value, int) else [*value]


def _names(said: Names | None) -> list[str]:
    return [said] if isinstance(said, str) else [*(said or ())]
