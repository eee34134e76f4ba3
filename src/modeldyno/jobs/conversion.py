"""Convert a model in a worker, run both on the same inputs, and keep what computes the same.

The converter runs the model's own code in the sandbox, and can write to its scratch folder only.
What it leaves there is copied by name, without following links, and read by a fresh worker.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from modeldyno.core.conversions import GOALS, Check, ConversionResult
from modeldyno.core.errors import (
    BadValue,
    EngineFailed,
    InputUnresolved,
    ModelUnreadable,
    StorageFailed,
    WrongOutput,
)
from modeldyno.core.jobs import Progress, Started
from modeldyno.core.models import Making, ModelFacts
from modeldyno.core.sessions import Parity, Target
from modeldyno.core.specs import CellSpec, ConversionSpec, ModelSpec
from modeldyno.core.trust import warning
from modeldyno.engines import conversions
from modeldyno.engines.conversions import Route
from modeldyno.formats import sidecar
from modeldyno.inputs.matching import MatchedModel, match_models, plan_matching_inputs
from modeldyno.inputs.model_overrides import refuse_needless_overrides, require_complete
from modeldyno.inputs.name_hints import says_mask
from modeldyno.inputs.open_axes import find_open_axes
from modeldyno.inputs.plans import InputPlan, TensorPlan, plan_inputs
from modeldyno.jobs.inspection import inspect
from modeldyno.jobs.preparation import engine_of, shapes_of, target_of
from modeldyno.jobs.protocol import Context
from modeldyno.jobs.scratch_files import copy_out
from modeldyno.store.models import copy_bytes
from modeldyno.worker.launch import Worker, launched
from modeldyno.worker.messages import Convert, Converted, Examine, Examined

BATCH = 3  # items of the last input, if the batch is open
STEPS = ("reading the model", "running it", "converting", "reading the result", "checking")
# The check proves little unless another input changes the outputs by many times the error.
CONCLUSIVE = 10.0


@dataclass(frozen=True)
class _Run:
    """The source on one input."""

    plan: InputPlan
    batch_size: int
    reference: str  # the file of its outputs
    engine: str
    notes: tuple[str, ...]
    change: Parity | None = None  # from the outputs for the input before


def run_conversion(spec: ConversionSpec, context: Context) -> ConversionResult:
    require_free(Path(spec.output), spec.to)
    begin = time.monotonic()

    def wait(why: str) -> None:
        context.send(Progress(0, len(STEPS), why))

    # A core of its own, so that it does not disturb measurements on the others.
    with context.leases.take(1, context.stop, wait) as lease:
        deadline = begin + lease.waited_s + spec.timeout_s
        conversion = _Conversion(spec, context, lease.cpus, deadline)
        source, ran, route, converted = conversion.convert()
        made = _copy_result(context, route)
        model, engine, parities = conversion.check(source, ran, made)
    checks = tuple(
        Check(run.batch_size, parity.max_abs_error, parity.max_rel_error)
        for run, parity in zip(ran, parities, strict=True)
    )
    making = Making(
        source=_source_name(source),
        source_sha256=source.sha256,
        source_format=source.format,
        tool=converted.tool,
        versions=converted.versions,
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        checks=len(checks),
        max_rel_error=max(check.max_rel_error for check in checks),
    )
    kept = _write_files(model, made, Path(spec.output), making)
    notes = (
        warning(source),
        *converted.notes,
        *_weakness_note(ran, parities),
        *_omission_note(parities),
    )
    return ConversionResult(
        source=source,
        model=kept,
        to=spec.to,
        checks=checks,
        source_engine=ran[0].engine,
        engine=engine,
        seconds=time.monotonic() - begin - lease.waited_s,
        notes=tuple(dict.fromkeys(note for note in notes if note)),
    )


def require_free(output: Path, to: str) -> None:
    """A conversion never overwrites a file."""
    weights = (output.with_suffix(".bin"),) if to == "openvino" else ()
    for path in (output, *weights, _sidecar_path(output)):
        if path.exists() or path.is_symlink():
            raise BadValue(
                f'"{path.name}" already exists',
                why="a conversion never replaces a file",
                fix="Choose another name with --output, or remove that file",
            )


class _Conversion:
    """The steps of one conversion, and what they share."""

    def __init__(
        self, spec: ConversionSpec, context: Context, cpus: tuple[int, ...], deadline_s: float
    ) -> None:
        self._spec = spec
        self._context = context
        self._cpus = cpus
        self._deadline_s = deadline_s

    def convert(self) -> tuple[ModelFacts, list[_Run], Route, Converted]:
        """Run the source on its inputs, then convert it, in one process."""
        spec, context = self._spec, self._context
        with self._worker(spec.model) as worker:
            self._report_step(0)
            source = inspect(worker, spec.model, context, self._seconds_left())
            refuse_needless_overrides(spec.model, source)
            require_complete(source)
            route = conversions.find_route(source.format, spec.to)
            title = f"{_source_name(source)} to {GOALS[spec.to]}"
            context.send(Started(title, len(STEPS), source.sha256))
            copy = context.copy_privately(spec.model, source, "source")
            target = self._make_target(source, copy)
            self._report_step(1)
            ran = list(self._run_source(worker, source, target))
            self._report_step(2)
            example = ran[-1].plan
            command = Convert(
                target=replace(target, shapes=shapes_of(example)),
                to=spec.to,
                inputs=source.inputs,
                outputs=source.outputs,
                example=example,
                folder=str(context.folder.scratch / "made"),
            )
            converted = worker.request(command, Converted, self._deadline_s, context.stop)
        return source, ran, route, converted

    def check(
        self, source: ModelFacts, ran: Sequence[_Run], made: Path
    ) -> tuple[ModelFacts, str, list[Parity]]:
        """Read the result and run it on the same inputs; raises WrongOutput."""
        spec, context = self._spec, self._context
        model = ModelSpec(str(made), dims=spec.model.dims, values=spec.model.values)
        with self._worker(model) as worker:
            self._report_step(3)
            try:
                facts = inspect(worker, model, context, self._seconds_left())
            except ModelUnreadable as error:
                raise EngineFailed(
                    "The converter wrote a file that is not a model",
                    why=str(error),
                    fix="Nothing was kept. The converter is at fault: try another version of it",
                ) from error
            self._report_step(4)
            target = self._make_target(facts, made)
            _, party = match_models(spec.model, source, model, facts)
            engine, parities = "", []
            for number, run in enumerate(ran):
                examined = self._run_converted(worker, target, party, run, number)
                engine = _engine_title(examined)
                parities.append(_require_same(examined.parity, run))
        return facts, engine, parities

    def _run_source(self, worker: Worker, source: ModelFacts, target: Target) -> Iterator[_Run]:
        """Two inputs of one item, and one of several items if the batch is open."""
        first = self._run_on(worker, target, self._plan_inputs(source, 1, 0), "source-0")
        yield first
        ladder = self._plan_inputs(source, 1, 1)
        if not _has_varied_mask(ladder[0]):
            raise InputUnresolved(
                "The conversion could not be checked",
                why="all inputs are fixed, so there is only one to try",
                fix="Leave out --value for at least one input",
            )
        second = self._run_on(worker, target, ladder, "source-1", first.reference)
        if second.change is None:
            raise WrongOutput(
                "The model gives different outputs each time, so no conversion can be checked",
                why="two runs with the same input differ: it draws random numbers "
                "(dropout that is still on, noise, sampling)",
                fix="Switch that off where the model is made (model.eval()), and save it again",
            )
        yield second
        if any(axis.is_batch for axis in find_open_axes(source.inputs)):
            several = self._run_on(worker, target, self._plan_inputs(source, BATCH, 2), "source-2")
            if several.batch_size == BATCH:
                yield several

    def _run_on(
        self,
        worker: Worker,
        target: Target,
        ladder: tuple[InputPlan, ...],
        name: str,
        against: str | None = None,
    ) -> _Run:
        reference = str(self._context.folder.scratch / f"{name}.npz")
        command = Examine(target, ladder, "api", reference, against)
        examined = worker.request(command, Examined, self._deadline_s, self._context.stop)
        if not examined.can_compare:
            outputs = ", ".join(f"{tensor.name} ({tensor.dtype})" for tensor in examined.outputs)
            raise WrongOutput(
                "The conversion could not be checked",
                why=f"the model gives no numbers and no text that could be compared: {outputs}",
                fix="Convert it where it was made, or measure it as it is",
            )
        return _Run(
            plan=ladder[examined.rung],
            batch_size=examined.batch_size,
            reference=reference,
            engine=_engine_title(examined),
            notes=(*examined.facts.notes, *examined.notes),
            change=examined.parity,
        )

    def _run_converted(
        self, worker: Worker, target: Target, party: MatchedModel, run: _Run, number: int
    ) -> Examined:
        ladder = plan_matching_inputs(party, run.batch_size, run.plan, run.plan.seed)
        reference = str(self._context.folder.scratch / f"made-{number}.npz")
        command = Examine(target, ladder[:1], "api", reference, run.reference)
        try:
            return worker.request(command, Examined, self._deadline_s, self._context.stop)
        except (EngineFailed, InputUnresolved) as error:
            items = "one item" if run.batch_size == 1 else f"a batch of {run.batch_size}"
            raise WrongOutput(
                f"The converted model does not run on {items}, so it was not kept",
                why=error.why or error.title,
                fix="The source does. Convert it where it was made, or measure it as it is",
            ) from error

    def _plan_inputs(
        self, source: ModelFacts, batch_size: int, number: int
    ) -> tuple[InputPlan, ...]:
        model = self._spec.model
        plans = plan_inputs(
            source.inputs,
            batch_size,
            dims=model.dims,
            values=model.values,
            data=None,
            seed=self._spec.seed + number,
        )
        if number == 0:
            return plans
        # A mask of all ones would hide that a converter has dropped it.
        masked = replace(plans[0], tensors=tuple(map(_with_varied_mask, plans[0].tensors)))
        return tuple(dict.fromkeys((masked, *plans)))

    def _make_target(self, facts: ModelFacts, copy: Path) -> Target:
        cell = CellSpec()
        return replace(target_of(engine_of(cell, facts), cell, facts, copy), cpus=self._cpus)

    @contextmanager
    def _worker(self, model: ModelSpec) -> Iterator[Worker]:
        setup = self._context.worker_setup(self._spec, models=(model,), inspecting=True)
        with launched(setup) as worker:
            yield worker

    def _seconds_left(self) -> float:
        return max(0.0, self._deadline_s - time.monotonic())

    def _report_step(self, step: int) -> None:
        self._context.send(Progress(step, len(STEPS), STEPS[step]))


# ---------------------------------------------------------------- inputs


def _with_varied_mask(tensor: TensorPlan) -> TensorPlan:
    if tensor.fill != "constant" or tensor.is_said or not says_mask(tensor.name):
        return tensor
    return replace(tensor, fill="integers", low=0, high=2)


def _has_varied_mask(plan: InputPlan) -> bool:
    return any(tensor.fill != "constant" for tensor in plan.tensors)


# ---------------------------------------------------------------- judging


def _require_same(parity: Parity | None, run: _Run) -> Parity:
    if parity is None:
        raise WrongOutput(
            "The converted model gives different outputs each time, so it was not kept",
            why="it draws random numbers, and the model it was made of does not",
            fix="Switch dropout and noise off where the model is made, and save it again",
        )
    if not parity.agrees:
        raise WrongOutput(
            "The converted model computes something else, so it was not kept",
            why=f"its outputs differ by up to {parity.max_abs_error:.2g}, or "
            f"{parity.max_rel_error:.2g} of the largest value, on the input with seed "
            f"{run.plan.seed} and batch {run.batch_size}",
            fix="Convert it where it was made, and compare there; or measure it as it is",
        )
    return parity


def _weakness_note(ran: Sequence[_Run], parities: Sequence[Parity]) -> tuple[str, ...]:
    change = ran[1].change
    worst = max(parity.max_rel_error for parity in parities)
    if change is None or worst * CONCLUSIVE < change.max_rel_error:
        return ()
    if change.max_rel_error == 0:
        return ("the check says little: another input does not change the outputs at all",)
    return (
        f"the check says little: another input changes the outputs by only "
        f"{change.max_rel_error:.2g} of the largest value, about as much as the conversion does",
    )


def _omission_note(parities: Sequence[Parity]) -> tuple[str, ...]:
    names = sorted({name for parity in parities for name in parity.left_out})
    return (f"not compared, since only one of the two has it: {', '.join(names)}",) if names else ()


def _source_name(source: ModelFacts) -> str:
    """A SavedModel goes by the name of its folder."""
    path = Path(source.path)
    return path.parent.name if source.format == "saved-model" else path.name


def _engine_title(examined: Examined) -> str:
    return f"{examined.facts.engine} {examined.facts.engine_version}"


# ---------------------------------------------------------------- files


def _copy_result(context: Context, route: Route) -> Path:
    """Copy what the worker left to where it cannot reach it."""
    folder = context.folder.model / "made"
    folder.mkdir(parents=True)
    for name in route.names:
        copy_out(context.folder.scratch, ("made", name), folder / name)
    return folder / route.names[0]


def _write_files(model: ModelFacts, made: Path, output: Path, making: Making) -> ModelFacts:
    """All files or none. The model comes last: where it is, the rest is too."""
    files = [(made, output)]
    files += [(made.parent / file.location, output.with_suffix(".bin")) for file in model.external]
    written: list[Path] = []  # by us: files that others put there meanwhile stay
    try:
        with _sidecar_path(output).open("x", encoding="utf-8") as writing:
            written.append(_sidecar_path(output))
            writing.write(sidecar.making_to_toml(making))
        for source, target in reversed(files):
            with source.open("rb") as reading, target.open("xb") as copying:
                written.append(target)
                copy_bytes(reading.fileno(), copying.fileno())
    except BaseException as error:
        for path in written:
            path.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise StorageFailed(
                f"The converted model could not be written to {output.parent}",
                why=error.strerror or str(error),
                fix="Free some space, or name another place with --output",
            ) from error
        raise
    external = tuple(
        replace(file, location=output.with_suffix(".bin").name) for file in model.external
    )
    return replace(model, path=str(output), external=external, made=making)


def _sidecar_path(output: Path) -> Path:
    return Path(str(output) + sidecar.SUFFIX)
