"""``modeldyno bench``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from modeldyno.cli import options, output
from modeldyno.core.errors import BadValue, Cancelled, ModeldynoError
from modeldyno.core.names import name_of_file

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from modeldyno.cli.kinds import Again
    from modeldyno.core.ids import RunId
    from modeldyno.core.jobs import JobMessage
    from modeldyno.core.requests.measuring import BenchmarkRequest, ModelFile
    from modeldyno.core.results import BenchmarkResult, CellResult
    from modeldyno.core.specs import BenchmarkSpec, CellSpec

    Listener = Callable[[JobMessage], None] | None

FAILED, NOISY, TIMED_OUT, INTERRUPTED, OUT_OF_MEMORY = 1, 7, 124, 130, 137
_OWN_CODES = {"TIMED_OUT": TIMED_OUT, "OUT_OF_MEMORY": OUT_OF_MEMORY}


@dataclass(frozen=True)
class Task:
    """A benchmark to be run, here or elsewhere."""

    model: str
    run: Callable[[Listener], Any]
    plan: Callable[[Sequence[CellSpec]], str] | None = None  # shown once its cells are known


@options.with_count_options
def bench(
    context: typer.Context,
    models: Annotated[
        list[str] | None, typer.Argument(metavar="MODEL...", help="Model files.")
    ] = None,
    engine: options.Engine = None,
    device: options.Devices = "cpu",
    precision: options.Precisions = None,
    contract: options.Contract = "api",
    spin: options.Spin = None,
    dim: options.Dim = None,
    value: options.Value = None,
    data: options.Data = None,
    input_: options.Input = None,
    architecture: options.ArchitectureName = None,
    arg: options.Argument = None,
    signature: options.Signature = "",
    option: options.EngineOption = None,
    quick: options.Quick = False,
    thorough: options.Thorough = False,
    budget: options.BudgetSeconds = None,
    iterations: Annotated[
        int | None, typer.Option(help="Exactly this many calls, in one session.")
    ] = None,
    warmup: Annotated[
        int | None,
        typer.Option(help="Exactly this many warm-up calls.", show_default="to a plateau"),
    ] = None,
    per_call: Annotated[
        bool, typer.Option("--per-call", help="Time each call separately (for tail latencies).")
    ] = False,
    timeout: options.Timeout = 600.0,
    memory_limit: options.MemoryLimit = None,
    no_sandbox: options.NoSandbox = False,
    require_sandbox: options.RequireSandbox = False,
    seed: options.Seed = 0,
    raw: Annotated[Path | None, typer.Option(help="Also write every sample to a CSV file.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Also write the table to a CSV file.")] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Take model and settings from a YAML file.")
    ] = None,
    resume: Annotated[
        str | None, typer.Option(metavar="RUN", help="Continue a run that was stopped.")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit 7 if a cell is not quiet.")
    ] = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    server: options.Server = None,
    workspace: options.Workspace = None,
) -> None:
    r"""Measure models: latency, throughput, memory, and how sure we are.

    Examples:

        modeldyno bench model.onnx

        modeldyno bench model.onnx --batch 1,8 --cores 1,2

        modeldyno bench model.onnx --instances 1,2 --engine onnxruntime,pytorch

        modeldyno bench model.onnx --dim seq=256 --json

        modeldyno bench weights.pth --architecture nets:build --input x=float32\[1,3,224,224]

        modeldyno bench --config config.yaml
    """
    from modeldyno.cli.remote import run_label
    from modeldyno.core.requests.measuring import BenchmarkRequest
    from modeldyno.core.requests.texts import file_of, typed_request
    from modeldyno.services import requests

    for file in (raw, csv):
        requests.check_folder(file)
    place = _Here(workspace) if server is None else _There(server, workspace)
    if resume is not None or config is not None:
        given = (*options.typed_settings(context), resume and config)
        requests.require_no_settings(given, "--resume" if resume else "--config")
    if resume is not None:
        tasks = [place.make_resume_task(resume)]
    elif config is not None:
        from modeldyno.services.configs import read_benchmark_config

        tasks = [place.make_task(*read_benchmark_config(config))]
    else:
        files, sizes = split_models(models or [], dim)
        words = options.typed_words(context, sizes)
        request = typed_request(BenchmarkRequest, words)
        tasks = [place.make_task(request, file_of(file, words)) for file in files]
    label = partial(run_label, server, workspace)
    results, error = measure(tasks, label, quiet=quiet, as_json=json, verbose=verbose)
    if raw is not None:
        for number, result in enumerate(results):
            place.export_raw(result.run_id, _numbered_path(raw, number))
    if csv is not None:
        from modeldyno.core.documents.benchmarks import benchmarks_csv

        with output.translated_write_errors(csv):
            csv.write_text(benchmarks_csv(results))
    if error is not None:
        raise error
    if context.params["batch"] != "1":  # said, not left to us
        for result in results:
            require_batches(result)
    raise typer.Exit(exit_code_of(results, strict))


def split_models(words: list[str], dims: list[str] | None) -> tuple[list[str], list[str]]:
    """``--dim batch=8 seq=128``: what looks like a size and is no file continues the option.

    ``m.onnx@cores=2`` is a side of a comparison.
    """
    sizes = list(dims or [])
    files: list[str] = []
    for word in words:
        continues = dims and "=" in word and "@" not in word and not Path(word).exists()
        (sizes if continues else files).append(word)
    if not files:
        raise typer.BadParameter("no model file given")
    return files, sizes


class _Here:
    """On this machine."""

    def __init__(self, workspace: Path | None) -> None:
        from modeldyno.settings import Settings
        from modeldyno.workbench import open_history, open_workbench

        settings = Settings.read(workspace)
        self._room = open_workbench(settings)
        self._history = open_history(settings)

    def make_task(self, request: BenchmarkRequest, model: ModelFile) -> Task:
        from modeldyno.services.requests import make_benchmark_spec

        spec = make_benchmark_spec(request, model)
        return make_task(spec, partial(self._room.service.run, spec))

    def make_resume_task(self, word: str) -> Task:
        from modeldyno.services.requests import require_resumable

        run_id = self._history.find(word).run_id
        spec = require_resumable(self._room.runs.spec(run_id))
        return make_task(spec, partial(self._room.service.resume, run_id))

    def export_raw(self, run_id: RunId, path: Path) -> None:
        self._room.runs.export_raw(run_id, path)


class _There:
    """On a server."""

    def __init__(self, server: str, workspace: Path | None) -> None:
        from modeldyno.cli.remote import connect_client

        self._client = connect_client(server, workspace)

    def make_task(self, request: BenchmarkRequest, model: ModelFile) -> Task:
        from modeldyno.cli import remote

        remote.refuse_files(model, request.sandbox)
        which = str(remote.require_local_file(str(model.path)))
        bench = partial(self._client.bench, which, request, project=remote.PROJECT)
        return Task(
            str(model.path),
            lambda listen: bench(listen=listen, upload=remote.make_upload_listener(listen)),
        )

    def make_resume_task(self, word: str) -> Task:
        from modeldyno.cli import remote

        return Task(word, partial(remote.resume_run, self._client, word))

    def export_raw(self, run_id: RunId, path: Path) -> None:
        self._client.runs.samples(run_id, path)


def make_task(spec: BenchmarkSpec, run: Callable[[Listener], Any]) -> Task:
    return Task(spec.model.path, run, partial(plan_line, spec))


def measure(
    tasks: Sequence[Task],
    label: Callable[[RunId], str],
    *,
    quiet: bool,
    as_json: bool,
    verbose: bool = False,
) -> tuple[list[BenchmarkResult], ModeldynoError | None]:
    """Run benchmarks one after the other and show each as it ends; Ctrl-C ends the row.

    A model that cannot be measured does not spoil the others: its error is handed back.
    """
    from modeldyno.cli.progress import live
    from modeldyno.core.results import Failure

    results: list[BenchmarkResult] = []
    errors: list[tuple[str, Failure]] = []
    failed: ModeldynoError | None = None
    for task in tasks:
        try:
            with live(quiet) as listen:
                if task.plan is not None and not (quiet or as_json):
                    listen = _with_plan(listen, task.plan)
                result = task.run(listen)
        except ModeldynoError as error:
            if failed is not None:
                output.print_error(failed)
            failed = error
            errors.append((task.model, Failure.of(error)))
            if isinstance(error, Cancelled):
                break
            continue
        results.append(result)
        if not as_json:
            show(result, label(result.run_id), quiet, verbose)
        if result.interrupted:
            break
    if as_json and results:
        from modeldyno.core.documents.benchmarks import BenchmarkDocument

        output.document(BenchmarkDocument.of(*results, errors=errors))
    return results, failed


def _with_plan(
    listen: Callable[[JobMessage], None], plan: Callable[[Sequence[CellSpec]], str]
) -> Callable[[JobMessage], None]:
    """Shows the plan when the model has been read; a model may have other cells than requested."""
    from modeldyno.core.jobs import Cells

    def hear(message: JobMessage) -> None:
        if isinstance(message, Cells) and (line := plan(message.cells)):
            output.message(line)
        listen(message)

    return hear


def plan_line(spec: BenchmarkSpec, cells: Sequence[CellSpec]) -> str:
    """``model.onnx: 4 cells (2 core counts × 2 batch sizes) on up to 2 cores, about 40 s``; empty
    for a single cell in the usual time."""
    from modeldyno.core.requests.axes import differences

    count = len(cells)
    if count == 1 and spec.budget.name != "quick":
        return ""
    what = "1 cell" if count == 1 else f"{count} cells ({differences(cells)})"
    from modeldyno.measure.cpus import allowed_cpus

    wanted = max(cell.cores * cell.instances for cell in cells)
    most = min(wanted, len(allowed_cpus()))
    cores = "1 core" if most == 1 else f"up to {most} cores"
    cores += f" (oversubscribed: {wanted} threads)" if wanted > most else ""
    if spec.iterations is not None:
        return f"{name_of_file(spec.model.path)}: {what} on {cores}, {spec.iterations} calls each"
    from modeldyno.jobs.rounds import expected_s

    seconds = expected_s(spec, cells)
    return f"{name_of_file(spec.model.path)}: {what} on {cores}, about {seconds:g} s"


def show(result: BenchmarkResult, run: str, quiet: bool, verbose: bool = False) -> None:
    """``run`` is its number, ``#12``."""
    from modeldyno.core import figures
    from modeldyno.core.models import format_title
    from modeldyno.core.sentences import (
        precision_sentence,
        side_by_side_lines,
        unranked_sentence,
    )
    from modeldyno.present.advice import advise
    from modeldyno.present.tables import (
        WORDS,
        benchmark_rows,
        interval_legend,
        rate_legend,
        shape_text,
    )

    model = result.model
    if not quiet:
        inputs = ", ".join(f"{t.name} {t.dtype}{shape_text(t.shape)}" for t in model.inputs)
        kind = format_title(model.format)
        opset = f" opset {model.opsets['']}" if "" in model.opsets else ""
        output.remark(
            f"{name_of_file(model.path)}  {figures.size(model.size_bytes)}  {kind}{opset}  "
            f"{figures.spaced(model.parameters, 0)} parameters  {inputs}"
        )
        for line in _settings_that_ran(result):
            output.remark(line)
        for note in _make_notes(result):
            output.remark(f"  note: {note}")
        output.message()
    head, rows = benchmark_rows(result)
    figures_from = next(n for n, name in enumerate(head) if name.endswith("/batch"))
    output.table(head, rows, left=WORDS, keys=figures_from)
    for line in side_by_side_lines(result):
        output.headline(line, style="")
    for cell in result.cells:
        if cell.error is not None and cell.error.code != "CANCELLED":
            output.print_failure(cell.name, cell.error)
    if not quiet:
        if unranked := unranked_sentence(result):
            output.remark(unranked)
        if differing := precision_sentence(result):
            output.remark(differing)
        for advice in advise(result, each_cell=verbose):
            output.warn(str(advice), advice.help)
        output.message()
        if legend := interval_legend(result):
            output.remark(legend)
        if rate := rate_legend(result):
            output.remark(rate)
        resume = "modeldyno bench --resume" if result.interrupted else ""
        output.kept(run, result.run_id, resume)


def show_kept(result: BenchmarkResult, run: str, workspace: Path | None) -> None:
    show(result, run, quiet=False)


def rerun(again: Again) -> int:
    spec: Any = again.spec
    task = Task(again.name, again.run) if spec is None else make_task(spec, again.run)
    results, error = measure([task], again.label, quiet=again.quiet, as_json=again.as_json)
    if error is not None:
        raise error
    return exit_code_of(results, again.strict)


def _settings_that_ran(result: BenchmarkResult) -> list[str]:
    """A line for each way in which cells ran; those that differ in threads alone share one."""
    from modeldyno.core.deviations import describe_effective_run

    threads: dict[str, set[int]] = {}
    for cell in result.cells:
        facts = cell.facts
        if facts is None:
            continue
        parts = [facts.engine_title, str(facts.other_python or ""), facts.device]
        parts.append(describe_effective_run(replace(facts, threads=None)))
        if cell.sandbox and cell.sandbox.level != "full":
            parts.append(f"sandbox {cell.sandbox}")
        counts = threads.setdefault(" · ".join(filter(None, parts)), set())
        counts |= {facts.threads} if facts.threads is not None else set()
    return [f"{text}{_threads_text(sorted(counts))}" for text, counts in threads.items()]


def _threads_text(counts: Sequence[int]) -> str:
    if not counts:
        return ""
    return f" · {', '.join(map(str, counts))} thread{'' if counts == [1] else 's'}"


def _make_notes(result: BenchmarkResult) -> list[str]:
    """Each once; a note that is not about all cells names those it is about."""
    about: dict[str, list[CellResult]] = {}
    for cell in result.cells:
        for note in cell.notes:
            about.setdefault(note, []).append(cell)
    return [
        note
        if len(cells) == len(result.cells)
        else f"{note} ({'; '.join(cell.name for cell in cells)})"
        for note, cells in about.items()
    ]


def require_batches(result: BenchmarkResult) -> None:
    """A requested batch size has to be measured: a number of another is no answer to a script.

    Raises BadValue; what the model could do is measured, shown and kept nevertheless.
    """
    failed = {cell.spec.batch_size for cell in result.cells if cell.error is not None}
    met = failed | {cell.batch_size for cell in result.cells}
    unmet = sorted({cell.batch_size for cell in result.spec.cells} - met)
    if not unmet:
        return
    notes = dict.fromkeys(note for cell in result.cells for note in cell.notes)
    why = [note for note in notes if any(note.endswith(f"asked {size}") for size in unmet)]
    sizes = ", ".join(map(str, unmet))
    raise BadValue(
        f"{name_of_file(result.model.path)} was not measured with a batch of {sizes}",
        why="; ".join(why or notes),
        fix="Leave --batch out, or export the model with an open batch dimension",
    )


def exit_code_of(results: Sequence[BenchmarkResult], strict: bool) -> int:
    """The exit code of what was measured."""
    cells = [cell for result in results for cell in result.cells]
    if any(result.interrupted for result in results):
        return INTERRUPTED
    failed = {_OWN_CODES.get(c.error.code, FAILED) for c in cells if c.error is not None}
    if failed:
        return failed.pop() if len(failed) == 1 else FAILED
    noisy = any(c.measurement is None or c.measurement.noise != "quiet" for c in cells)
    return NOISY if strict and noisy else 0


def _numbered_path(path: Path, number: int) -> Path:
    return path if number == 0 else path.with_stem(f"{path.stem}-{number + 1}")
