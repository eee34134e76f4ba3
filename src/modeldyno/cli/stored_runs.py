"""``modeldyno compare 12 15``: two measured benchmarks, judged from their results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from modeldyno.cli import options, output
from modeldyno.core.errors import BadValue
from modeldyno.core.ids import began_at, number_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import typer

    from modeldyno.core.judgements import BenchmarkJudgement
    from modeldyno.measure.judgements import MeasuredSide

_TAKEN = {"sides", "margin"}  # of what `compare` can be given
DRIFT = (
    "From stored runs, not measured in alternation: drift between them is not removed. "
    "Compare the model files to measure both in turns."
)


def are_named(words: Sequence[str]) -> bool:
    """Whether runs are named rather than files; raises BadValue if both are."""
    runs = [word for word in words if _is_run(word)]
    if runs and len(runs) < len(words):
        raise BadValue(
            f"Cannot compare run {runs[0]} with something that is not a run",
            why="stored runs are judged from their results, files are measured",
            fix="Give two runs, or two model files",
        )
    return bool(runs)


def _is_run(word: str) -> bool:
    """A number or a whole id; a file of that name comes first."""
    is_name = number_in(word) is not None or began_at(word) is not None
    return is_name and not Path(word).exists()


def judged(
    words: Sequence[str], context: typer.Context, server: str | None, workspace: Path | None
) -> tuple[MeasuredSide, MeasuredSide, BenchmarkJudgement]:
    from modeldyno.core.requests.texts import parse_share
    from modeldyno.measure.judgements import judge

    settings = [name for name in options.typed_settings(context) if name not in _TAKEN]
    if len(words) != 2 or settings:
        named = f"--{settings[0].rstrip('_').replace('_', '-')}" if settings else ""
        raise BadValue(
            f"Stored runs cannot be judged with {named}"
            if settings
            else f"Two stored runs are judged at a time; {len(words)} given",
            why="their results are final" if settings else "",
            fix="Leave it out, or give the model files to measure them in turns"
            if settings
            else "Give two runs: `modeldyno compare 12 15`",
        )
    a, b = (_measured(word, server, workspace) for word in words)
    return a, b, judge(a, b, margin=parse_share("--margin", context.params["margin"]))


def _measured(word: str, server: str | None, workspace: Path | None) -> MeasuredSide:
    from modeldyno.cli.remote import kept_runs
    from modeldyno.core.judgements import JudgedSide
    from modeldyno.core.names import name_of_file
    from modeldyno.core.results import BenchmarkResult
    from modeldyno.measure.judgements import MeasuredSide

    kept = kept_runs(server, workspace).find(word)
    result = kept.result
    if not isinstance(result, BenchmarkResult):
        why = f"it is {kept.state}" if kept.kind == "benchmark" else f"it is a {kept.kind}"
        fix = "Give the runs of two benchmarks; `modeldyno ls` lists them"
        raise BadValue(f"Run #{kept.number} has no cells to judge", why=why, fix=fix)
    name = name_of_file(result.model.path)
    return MeasuredSide(
        JudgedSide(benchmark_id=None, name=f"#{kept.number}", run_id=kept.run_id, model_name=name),
        result,
    )


def present(
    a: MeasuredSide, b: MeasuredSide, judgement: BenchmarkJudgement, as_json: bool, quiet: bool
) -> None:
    if as_json:
        from modeldyno.core.documents.benchmarks import JudgementDocument

        output.document(JudgementDocument.of(judgement))
        return
    from modeldyno.present.tables import judgement_rows

    if judgement.cells:
        head, rows = judgement_rows(judgement, a.result, b.result)
        output.table(head, rows, left=("cell", "verdict"))
        output.say("")
    output.headline(judgement.sentence)
    if any(cell.basis == "separate runs" for cell in judgement.cells):
        output.headline(DRIFT, style="")
    if not quiet:
        _remarks(judgement)


def _remarks(judgement: BenchmarkJudgement) -> None:
    from modeldyno.measure.judgements import APART

    for side, name in ((judgement.a, "A"), (judgement.b, "B")):
        output.message(f"{name} is run {side.name}, {side.model_name}")
    cells_by_reason: dict[str, list[str]] = {}
    for cell in judgement.cells:
        if reason := cell.why.removesuffix(APART).removesuffix("; "):
            cells_by_reason.setdefault(reason, []).append(cell.b.name)
    for reason, cells in cells_by_reason.items():
        output.warn(f"{reason} ({_named(cells)})" if len(judgement.cells) > 1 else reason)
    for name, count in (("A", len(judgement.unmatched_a)), ("B", len(judgement.unmatched_b))):
        if count:
            output.message(f"only in {name}: {count} of its cells")
    for setting in (*judgement.settings, *judgement.environment):
        if setting.differs:
            output.message(
                f"not the same: {setting.name}, {setting.a or '-'} and {setting.b or '-'}"
            )


def _named(cells: Iterable[str]) -> str:
    return "; ".join(cells)
