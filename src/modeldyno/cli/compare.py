"""``modeldyno compare``."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from modeldyno.cli import options, output
from modeldyno.cli.bench import NOISY, split_models
from modeldyno.core.errors import BadValue

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from modeldyno.cli.kinds import Again
    from modeldyno.core.ids import RunId
    from modeldyno.core.jobs import JobMessage
    from modeldyno.core.requests.measuring import ModelFile, PairingRequest, SideRequest
    from modeldyno.core.results import ComparisonResult
    from modeldyno.core.sessions import Parity

    Run = Callable[[Callable[[JobMessage], None] | None], Any]

FAILED, SLOWER, INCONCLUSIVE, INTERRUPTED = 1, 5, 9, 130
ALL = "all"  # engines that are here and read the model
EXTENSION = 4  # times the budget, once, when a gate cannot tell


def compare(
    context: typer.Context,
    sides: Annotated[
        list[str],
        typer.Argument(
            metavar="A B...",
            help="Model files, with options: m.onnx@cores=2; or stored runs: 12 15.",
        ),
    ],
    engine: options.Engine = None,
    batch: Annotated[int, typer.Option("--batch", "-b", help="Batch size of both sides.")] = 1,
    cores: Annotated[int, typer.Option("--cores", "-c", help="Cores of both sides.")] = 1,
    contract: options.Contract = "api",
    spin: options.Spin = None,
    dim: options.Dim = None,
    value: options.Value = None,
    data: options.Data = None,
    input_: options.Input = None,
    architecture: options.ArchitectureName = None,
    arg: options.Argument = None,
    option: options.EngineOption = None,
    margin: Annotated[str, typer.Option(help="Differences below this do not matter.")] = "2%",
    fail_if_slower: Annotated[
        str | None, typer.Option(help="Exit 5 when B is slower than A by more than this: 5%.")
    ] = None,
    quick: options.Quick = False,
    thorough: options.Thorough = False,
    budget: options.BudgetSeconds = None,
    adaptive: Annotated[
        bool, typer.Option("--adaptive", help="Stop at 8, 16 or 32 pairs if that decides.")
    ] = False,
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
    """Is B slower than A? Both are measured in alternation; "inconclusive" is an answer too.

    Two benchmarks that are stored already are judged from their results: compare 12 15.

    Examples:

        modeldyno compare old.onnx new.onnx --fail-if-slower 5%

        modeldyno compare m.onnx@cores=1 m.onnx@cores=2

        modeldyno compare m.onnx m.tflite --engine all

        modeldyno compare 12 15
    """
    from modeldyno.cli import stored_runs
    from modeldyno.cli.remote import run_label
    from modeldyno.core.requests.measuring import PairingRequest, SideRequest
    from modeldyno.core.requests.texts import file_of, parse_share, typed_request

    if stored_runs.are_named(sides):
        stored_runs.present(*stored_runs.judged(sides, context, server, workspace), json, quiet)
        return
    files, sizes = split_models(sides, dim)
    is_ranking = engine == ALL or len(files) > 2
    if len(files) < 2 and not is_ranking:
        raise typer.BadParameter(
            "a comparison has two sides, A and B; 1 given. "
            "Give another one, or --engine all: in each engine that can run it"
        )
    words = options.typed_words(context, sizes)
    common = typed_request(SideRequest, words, engine=None if engine == ALL else engine)
    pairing = typed_request(PairingRequest, words)
    allowed = parse_share("--fail-if-slower", fail_if_slower) if fail_if_slower else None
    requested = ([file_of(file, words) for file in files], common, pairing)
    if is_ranking:
        refuse_of_several(fail_if_slower, server)
        raise typer.Exit(_rank(*requested, engine == ALL, workspace, json, quiet))
    place = _prepare_here if server is None else partial(_prepare_on_server, server)
    result = _measure(place(*requested, allowed, workspace), quiet)
    present(result, partial(run_label, server, workspace), json, quiet)
    raise typer.Exit(exit_code_of(result, quiet or json))


def refuse_of_several(fail_if_slower: str | None, server: str | None) -> None:
    named = {"--fail-if-slower": fail_if_slower, "--server": server}
    for option in (name for name, said in named.items() if said is not None):
        raise BadValue(
            f"{option} takes only two sides",
            why="more than two are ranked, each against the first, on this machine",
            fix="Compare two of them",
        )


def _rank(
    models: list[ModelFile],
    common: SideRequest,
    pairing: PairingRequest,
    in_all: bool,
    workspace: Path | None,
    as_json: bool,
    quiet: bool,
) -> int:
    from modeldyno.cli import ranking
    from modeldyno.cli.progress import live
    from modeldyno.cli.remote import run_label
    from modeldyno.core.ids import RunId
    from modeldyno.services import rankings
    from modeldyno.settings import Settings
    from modeldyno.workbench import open_workbench

    service = open_workbench(Settings.read(workspace)).service
    with live(quiet or as_json) as listen:
        ranked = rankings.rank_models(models, common, pairing, service, listen, in_all=in_all)
    ranking.present(ranked, as_json, quiet)
    runs = dict.fromkeys(RunId(side.run_id) for side in ranked.sides if side.run_id)
    if runs and not (as_json or quiet):
        labels = ", ".join(run_label(None, workspace, run_id) for run_id in runs)
        output.message(f"Kept as runs {labels}; see one again: modeldyno show NUMBER")
    if ranked.interrupted:
        return INTERRUPTED
    return FAILED if any(side.failure for side in ranked.sides) else 0


def _prepare_here(
    models: list[ModelFile],
    common: SideRequest,
    pairing: PairingRequest,
    allowed: float | None,
    workspace: Path | None,
) -> Callable[[int], Run]:
    from modeldyno.services.requests import make_comparison_spec
    from modeldyno.settings import Settings
    from modeldyno.workbench import open_workbench

    a, b = models
    spec = replace(make_comparison_spec(a, b, common, pairing), fail_if_slower=allowed)
    service = open_workbench(Settings.read(workspace)).service

    def run_for(times: int) -> Run:
        return partial(service.run, replace(spec, seconds=times * spec.seconds))

    return run_for


def _prepare_on_server(
    server: str,
    models: list[ModelFile],
    common: SideRequest,
    pairing: PairingRequest,
    allowed: float | None,
    workspace: Path | None,
) -> Callable[[int], Run]:
    from modeldyno.cli import remote
    from modeldyno.core.requests.measuring import budget_of

    client = remote.connect_client(server, workspace)
    remote.refuse_files(models[0], common.sandbox)
    a, b = (str(model.path) for model in models)

    def run_for(times: int) -> Run:
        seconds = times * budget_of(pairing.budget).seconds
        longer = pairing if times == 1 else replace(pairing, budget=seconds)
        compare = partial(client.compare, a, b, common, longer, project=remote.PROJECT)

        def run(listen: Callable[[JobMessage], None] | None) -> ComparisonResult:
            """A server knows nothing of gates: what it measured is judged here."""
            result = compare(listen=listen, upload=remote.make_upload_listener(listen))
            return replace(result, spec=replace(result.spec, fail_if_slower=allowed))

        return run

    return run_for


def _measure(run_for: Callable[[int], Run], quiet: bool) -> ComparisonResult:
    """Measure; when a gate cannot tell, once more with four times the time."""
    result = run_with_progress(run_for(1), quiet)
    if result.interrupted or result.gate != "inconclusive":
        return result
    if not quiet:
        seconds = EXTENSION * result.spec.seconds
        output.message(f"Cannot tell yet; measuring again for {seconds:g} s")
    return run_with_progress(run_for(EXTENSION), quiet)


def run_with_progress(run: Run, quiet: bool) -> ComparisonResult:
    """Run it, with its progress on the terminal."""
    from modeldyno.cli.progress import live

    with live(quiet) as listen:
        result: ComparisonResult = run(listen)
    return result


def show_kept(result: ComparisonResult, run: str, workspace: Path | None) -> None:
    show(result, quiet=False)
    output.kept(run, result.run_id)


def rerun(again: Again) -> int:
    result = run_with_progress(again.run, again.quiet)
    present(result, again.label, again.as_json, again.quiet)
    code = exit_code_of(result, again.quiet or again.as_json)
    if code == 0 and again.strict and result.noise != "quiet":
        output.message(f"The machine was {result.noise}")
        return NOISY
    return code


def present(
    result: ComparisonResult, label: Callable[[RunId], str], as_json: bool, quiet: bool
) -> None:
    """``label`` gives the number of a run, ``#12``."""
    if as_json:
        from modeldyno.core.documents.comparisons import ComparisonDocument

        output.document(ComparisonDocument.of(result))
        return
    show(result, quiet)
    if not quiet:
        output.kept(label(result.run_id), result.run_id)


def show(result: ComparisonResult, quiet: bool) -> None:
    from modeldyno.core.figures import counted
    from modeldyno.core.sentences import (
        FEW_PAIRS,
        OTHER_DISTRIBUTION,
        STATISTICS,
        comparison_sentence,
    )
    from modeldyno.present.tables import comparison_rows

    head, rows = comparison_rows(result)
    output.table(head, rows, left=("", "model", "engine", "precision"))
    output.say("")
    stopped = "stopped early; " if result.interrupted else ""
    output.headline(f"{stopped}{result.verdict}: {comparison_sentence(result)}")
    if quiet:
        return
    output.remark(
        f"{result.pairs} pairs of sessions in {counted(result.processes, 'process')}, "
        f"compared by {STATISTICS[result.statistic]} ({result.statistic}), "
        f"{result.ratio.level:.0%} interval over pairs; machine {result.noise}. "
        "The ratio is from pairs; the levels above are for orientation."
    )
    if result.pairs < FEW_PAIRS:
        output.warn(
            f"the interval rests on {result.pairs} pairs", "measure more with a larger --budget"
        )
    if {str(side.sandbox) for side in (result.a, result.b)} != {"full"}:
        output.message(f"sandbox: A {result.a.sandbox}, B {result.b.sandbox}")
    for text in result.deviations():
        output.warn(text, "compare with caution")
    for note in result.notes:
        output.remark(f"note: {note}")
    if result.distribution_changed:
        output.warn(
            f"the {OTHER_DISTRIBUTION}",
            "measure both with `modeldyno bench --per-call`",
        )
    _show_parity(result.parity)
    if result.pairs_needed:
        seconds = result.spec.seconds * result.pairs_needed / result.pairs
        output.warn(
            f"about {result.pairs_needed} pairs would decide it", f"use --budget {seconds:.0f}"
        )


def _show_parity(parity: Parity | None) -> None:
    """Whether both compute the same matters more than which of them is faster."""
    if parity is None:
        output.message(
            "outputs: not compared, for the two models have none of the same size in common"
        )
        return
    alone = (
        f"; {', '.join(parity.left_out)} left out, which one side has" if parity.left_out else ""
    )
    far = f"{parity.max_abs_error:.2g}, or {parity.max_rel_error:.2g} of the largest value"
    if parity.agrees:
        output.message(f"outputs agree: they differ by at most {far}{alone}")
    else:
        output.warn(
            f"outputs differ by up to {far}{alone}",
            "check that both compute the same thing, from the same inputs",
        )


def exit_code_of(result: ComparisonResult, quiet: bool) -> int:
    """The exit code, which is the gate's where there is one."""
    outcome, allowed = result.gate, result.spec.fail_if_slower
    if result.interrupted:
        return INTERRUPTED
    if outcome is None or allowed is None:
        return 0
    from modeldyno.core.figures import percent

    if not quiet:
        words = {
            "pass": f"OK: at most {percent(allowed)} slower",
            "fail": f"FAILED: more than {percent(allowed)} slower",
            "inconclusive": "INCONCLUSIVE: neither passed nor failed; use a larger --budget",
        }
        output.message(words[outcome])
    return {"pass": 0, "fail": SLOWER, "inconclusive": INCONCLUSIVE}[outcome]
