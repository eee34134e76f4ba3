"""``modeldyno profile``."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from modeldyno.cli import options, output

if TYPE_CHECKING:
    from collections.abc import Callable

    from modeldyno.cli.kinds import Again
    from modeldyno.core.documents.hosts import Peaks
    from modeldyno.core.ids import RunId
    from modeldyno.core.jobs import JobMessage
    from modeldyno.core.requests.measuring import ModelFile, ProfileRequest
    from modeldyno.core.results import ProfileResult
    from modeldyno.core.roofline import PeaksOf

    Run = Callable[[Callable[[JobMessage], None] | None], Any]
    Label = Callable[[RunId], str]  # the number of a run, #12

INTERRUPTED = 130
TOP = 20
QUICK_REPEATS = 2


class By(StrEnum):
    op = "op"
    node = "node"


def profile(
    context: typer.Context,
    model: Annotated[
        str | None, typer.Argument(metavar="MODEL", help="A model file.", show_default=False)
    ] = None,
    engine: options.Engine = None,
    batch: Annotated[int, typer.Option("--batch", "-b", help="Batch size.")] = 1,
    cores: Annotated[
        int, typer.Option("--cores", "-c", help="Cores, and threads of the engine.")
    ] = 1,
    device: Annotated[
        str, typer.Option("--device", help="Device: cpu, cuda, cuda:1, mps.")
    ] = "cpu",
    precision: Annotated[
        str | None,
        typer.Option(help="Precision: fp32, bf16, fp16.", show_default="as the model has it"),
    ] = None,
    contract: options.Contract = "hot",
    spin: options.Spin = None,
    dim: options.Dim = None,
    value: options.Value = None,
    data: options.Data = None,
    input_: options.Input = None,
    architecture: options.ArchitectureName = None,
    arg: options.Argument = None,
    signature: options.Signature = "",
    option: options.EngineOption = None,
    repeats: Annotated[
        int, typer.Option(help="Fresh sessions, each with and without the profiler.")
    ] = 5,
    quick: Annotated[
        bool, typer.Option("--quick", help=f"{QUICK_REPEATS} repeats instead of 5: rough.")
    ] = False,
    by: Annotated[By, typer.Option("--by", help="One row for each node, or operator.")] = By.op,
    top: Annotated[
        int, typer.Option("--top", help="Rows to show, the slowest first; 0: all.")
    ] = TOP,
    csv: Annotated[Path | None, typer.Option(help="Also write all rows to a CSV file.")] = None,
    against: Annotated[
        str | None,
        typer.Option(metavar="RUN", help="Show what changes from that profile to this one."),
    ] = None,
    resume: Annotated[
        str | None, typer.Option(metavar="RUN", help="Continue a run that was stopped.")
    ] = None,
    timeout: options.Timeout = 600.0,
    memory_limit: options.MemoryLimit = None,
    no_sandbox: options.NoSandbox = False,
    require_sandbox: options.RequireSandbox = False,
    seed: options.Seed = 0,
    json: options.Json = False,
    quiet: options.Quiet = False,
    server: options.Server = None,
    workspace: options.Workspace = None,
) -> None:
    """Where does the time go? By operator or by node, as the engine's own profiler sees it.

    Examples:

        modeldyno profile m.onnx

        modeldyno profile m.onnx --cores 2 --by node --top 10 --csv nodes.csv

        modeldyno profile m.onnx --engine openvino --by node --against 3fa9c1
    """
    from modeldyno.cli.bench import split_models
    from modeldyno.cli.remote import run_label
    from modeldyno.core.requests.measuring import ProfileRequest
    from modeldyno.core.requests.texts import file_of, typed_request
    from modeldyno.services import requests

    requests.check_folder(csv)
    if quick and "repeats" in options.typed_settings(context):
        raise typer.BadParameter("--quick sets the repeats: leave it out, or --repeats")
    before = kept_profile(against, server, workspace) if against else None
    label = partial(run_label, server, workspace)
    if resume is not None:
        requests.require_no_settings(options.typed_settings(context))
        result = run_with_progress(_prepare_resume(resume, server, workspace), quiet)
        _print_and_exit(result, label, json, quiet, by, top, csv, workspace, before)
    files, sizes = split_models([model] if model else [], dim)
    if len(files) != 1:
        raise typer.BadParameter(f"a profile is of one model; {len(files)} given")
    words = options.typed_words(context, sizes)
    if quick:
        words["repeats"] = QUICK_REPEATS
    request, file = typed_request(ProfileRequest, words), file_of(files[0], words)
    place = _prepare_here if server is None else partial(_prepare_on_server, server)
    _print_and_exit(
        run_with_progress(place(request, file, workspace), quiet),
        label,
        json,
        quiet,
        by,
        top,
        csv,
        workspace,
        before,
    )


def _print_and_exit(
    result: ProfileResult,
    label: Label,
    as_json: bool,
    quiet: bool,
    by: By,
    top: int,
    csv: Path | None,
    workspace: Path | None,
    before: ProfileResult | None,
) -> NoReturn:
    if before is not None and not result.interrupted:
        if csv is not None:
            _write_csv(result, by, csv)
        present_diff(before, result, as_json, by, top)
        if not (quiet or as_json):
            output.kept(label(result.run_id), result.run_id)
        raise typer.Exit(0)
    present(result, label, as_json, quiet, by, top, csv, known_peaks(result, workspace))
    raise typer.Exit(INTERRUPTED if result.interrupted else 0)


def _prepare_resume(word: str, server: str | None, workspace: Path | None) -> Run:
    if server is not None:
        from modeldyno.cli import remote

        return partial(remote.resume_run, remote.connect_client(server, workspace), word)
    from modeldyno.core.errors import BadValue
    from modeldyno.settings import Settings
    from modeldyno.workbench import open_history, open_workbench

    settings = Settings.read(workspace)
    kept = open_history(settings).find(word)
    if kept.kind != "profile":
        raise BadValue(f"Run {kept.run_id} is a {kept.kind}", fix="Resume it as one")
    return partial(open_workbench(settings).service.resume, kept.run_id)


def _prepare_here(request: ProfileRequest, model: ModelFile, workspace: Path | None) -> Run:
    from modeldyno.services.requests import make_profile_spec
    from modeldyno.settings import Settings
    from modeldyno.workbench import open_workbench

    spec = make_profile_spec(request, model)
    return partial(open_workbench(Settings.read(workspace)).service.run, spec)


def _prepare_on_server(
    server: str, request: ProfileRequest, model: ModelFile, workspace: Path | None
) -> Run:
    from modeldyno.cli import remote

    client = remote.connect_client(server, workspace)
    remote.refuse_files(model, request.sandbox)
    measure = partial(client.profile, str(model.path), request, project=remote.PROJECT)
    return lambda listen: measure(listen=listen, upload=remote.make_upload_listener(listen))


def run_with_progress(run: Run, quiet: bool) -> ProfileResult:
    """Run it, with its progress on the terminal."""
    from modeldyno.cli.progress import live

    with live(quiet) as listen:
        result: ProfileResult = run(listen)
    return result


def show_kept(result: ProfileResult, run: str, workspace: Path | None) -> None:
    show(result, peaks=known_peaks(result, workspace))
    _show_where_kept(result, run)


def rerun(again: Again) -> int:
    result = run_with_progress(again.run, again.quiet)
    peaks = known_peaks(result, again.workspace)
    present(result, again.label, again.as_json, again.quiet, peaks=peaks)
    return INTERRUPTED if result.interrupted else 0


def present(
    result: ProfileResult,
    label: Label,
    as_json: bool,
    quiet: bool,
    by: By = By.op,
    top: int = TOP,
    csv: Path | None = None,
    peaks: Peaks | None = None,
) -> None:
    if csv is not None:
        _write_csv(result, by, csv)
    if as_json:
        from modeldyno.core.documents.profiles import ProfileDocument

        output.document(ProfileDocument.of(result, peaks))
        return
    show(result, by, top, quiet, peaks)
    if not quiet:
        _show_where_kept(result, label(result.run_id))


def _show_where_kept(result: ProfileResult, run: str) -> None:
    resume = "modeldyno profile --resume" if result.interrupted else ""
    output.kept(run, result.run_id, resume)


def _write_csv(result: ProfileResult, by: By, csv: Path) -> None:
    from modeldyno.present.profile_tables import profile_csv

    with output.translated_write_errors(csv):
        profile_csv(result, by.value, csv)


def kept_profile(word: str, server: str | None, workspace: Path | None) -> ProfileResult:
    """The result of a run; raises BadValue where it is no profile, or has none."""
    from modeldyno.cli.remote import kept_runs
    from modeldyno.core.errors import BadValue
    from modeldyno.core.results import ProfileResult

    kept = kept_runs(server, workspace).find(word)
    if not isinstance(kept.result, ProfileResult):
        why = f"it is {kept.state}" if kept.kind == "profile" else f"it is a {kept.kind}"
        fix = "Name the run of a profile; `modeldyno ls` lists them"
        raise BadValue(f"Run {kept.run_id} has no profile", why=why, fix=fix)
    return kept.result


def present_diff(
    a: ProfileResult, b: ProfileResult, as_json: bool, by: By = By.op, top: int = TOP
) -> None:
    from modeldyno.core.profile_diffs import (
        compare_profiles,
        conditions_warning,
        diff_sentence,
        side_name,
    )
    from modeldyno.present.profile_tables import DIFF_LEFT, diff_rows

    changes = compare_profiles(a, b, by.value)
    if as_json:
        from modeldyno.core.documents.profiles import ProfileDiffDocument

        output.document(ProfileDiffDocument.of(changes))
        return
    head, rows = diff_rows(changes, top or None)
    output.table(head, rows, left=DIFF_LEFT)
    output.say("")
    output.headline(diff_sentence(changes))
    if warning := conditions_warning(changes):
        output.warn(warning)
    for letter, side in (("A", a), ("B", b)):
        quality = f", {side.noise}" if side.noise else ""
        output.remark(f"{letter} is {side_name(side)}{quality}")
    output.remark("± is half the 95 % interval over the repeats of each profile")


def known_peaks(result: ProfileResult, workspace: Path | None) -> Peaks | None:
    """Of the machine that it was measured on, where they are in this workspace."""
    return peaks_in(workspace)(result.host.fingerprint)


def peaks_in(workspace: Path | None) -> PeaksOf:
    from modeldyno.settings import Settings
    from modeldyno.store import peaks

    return partial(peaks.load, Settings.read(workspace).workspace)


def show(
    result: ProfileResult,
    by: By = By.op,
    top: int = TOP,
    quiet: bool = False,
    peaks: Peaks | None = None,
) -> None:
    from modeldyno.core.deviations import describe_effective_run
    from modeldyno.core.figures import counted
    from modeldyno.core.roofline import find_roof
    from modeldyno.core.sentences import profile_sentence, quality_remarks
    from modeldyno.present.profile_tables import LEFT, limit_lines, profile_rows, unknown_lines

    roof = find_roof(peaks, result.spec.cell.cores, result.facts.device)
    head, rows = profile_rows(result, by.value, top or None, roof)
    output.table(head, rows, left=LEFT)
    output.say("")
    stopped = "stopped early; " if result.interrupted else ""
    output.headline(f"{stopped}{profile_sentence(result)}")
    for warning in (*quality_remarks(result), *result.warnings, *result.deviations()):
        output.warn(warning)
    if quiet:
        return
    for line in unknown_lines(result, by.value):
        output.message(line)
    facts = result.facts
    output.remark(
        f"{facts.engine_title} on {facts.device}, {result.spec.cell.name}; "
        f"{describe_effective_run(facts)}; "
        f"{counted(result.repeats, 'repeat')}, {counted(result.calls, 'profiled call')}; "
        f"{result.profiled_s / result.latency_s:.2f} × the latency under the profiler"
    )
    output.remark(f"limits: {roof.text}")
    for line in limit_lines(result, by.value, roof):
        output.remark(f"  {line}")
    if str(result.sandbox) != "full":
        output.remark(f"sandbox: {result.sandbox}")
    for note in result.notes:
        output.remark(f"note: {note}")
