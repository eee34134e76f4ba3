"""Results as Markdown, to paste where others read: the table, and all it takes to judge it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from modeldyno.core import figures
from modeldyno.core.hosts import HostFacts
from modeldyno.core.names import shown_name
from modeldyno.core.requests.commands import bench_command, compare_command, profile_command
from modeldyno.core.results import (
    BenchmarkResult,
    CellResult,
    ComparisonResult,
    ProfileResult,
    RunResult,
)
from modeldyno.core.roofline import PeaksOf, Roof, no_peaks
from modeldyno.core.sentences import (
    comparison_limits,
    comparison_sentence,
    gate_sentence,
    profile_sentence,
    remarks,
)
from modeldyno.core.specs import BenchmarkSpec
from modeldyno.core.visible import shell_word, visible
from modeldyno.present.profile_tables import LEFT, known_roof, profile_rows, roof_lines
from modeldyno.present.tables import WORDS, benchmark_rows, comparison_rows, interval_legend

_MARKS = re.compile(r"([\\`*_{}\[\]<>#|~&!])")


def benchmark_markdown(result: BenchmarkResult) -> str:
    name = shown_name(result.model.path)
    head, rows = benchmark_rows(result)
    lines = [f"### {plain(name)}", "", f"{_settings(result)}.", ""]
    lines += [*_table(head, rows, left=WORDS), ""]
    lines += [f"- {plain(remark)}" for remark in (*remarks(result), *result.deviations())]
    lines += [""] if lines[-1] else []
    lines += [interval_legend(result), ""]
    lines += _origin(result, result.host, bench_command(result.spec, name))
    return "\n".join(lines)


def comparison_markdown(result: ComparisonResult) -> str:
    a, b = (shown_name(side.model.path) for side in (result.a, result.b))
    head, rows = comparison_rows(result)
    stopped = "stopped before its end; " if result.interrupted else ""
    lines = [f"### {plain(a)} against {plain(b)}", ""]
    lines += [f"**{stopped}{result.verdict}**: {plain(comparison_sentence(result))}", ""]
    lines += [*_table(head, rows, left=("", "model", "engine", "precision")), ""]
    if result.gate is not None and result.spec.fail_if_slower is not None:
        lines += [f"**{gate_sentence(result.gate, result.spec.fail_if_slower)}**", ""]
    lines += [f"- {plain(limit)}" for limit in comparison_limits(result)]
    lines += [""] if lines[-1] else []
    processes = figures.counted(result.processes, "process")
    lines += [
        f"{result.pairs} pairs of sessions in {processes}, {result.statistic}, "
        f"{result.ratio.level:.0%} interval, "
        f"machine {result.noise}. The ratio is from pairs; the levels are for orientation.",
        "",
    ]
    lines += _origin(result, result.host, compare_command(result.spec, a, b))
    return "\n".join(lines)


def profile_markdown(result: ProfileResult, peaks_of: PeaksOf = no_peaks) -> str:
    name, facts = shown_name(result.model.path), result.facts
    roof = known_roof(result, peaks_of)
    head, rows = profile_rows(result, roof=roof)
    stopped = "stopped before its end; " if result.interrupted else ""
    precision = f", {facts.precision}" if facts.precision else ""
    cores = figures.counted(result.spec.cell.cores, "core")
    engine = f"{facts.engine_title} on {facts.device}{precision}; {cores}"
    lines = [
        f"### Profile of {plain(name)}",
        "",
        f"{plain(engine)}, batch {result.batch_size}.",
        "",
    ]
    lines += [*_table(head, rows, left=LEFT), ""]
    lines += [f"**{stopped}{plain(profile_sentence(result))}**", ""]
    lines += [f"- {plain(note)}" for note in _said(result, roof)]
    lines += [""] if lines[-1] else []
    lines += _origin(result, result.host, profile_command(result.spec, name))
    return "\n".join(lines)


def _said(result: ProfileResult, roof: Roof | None) -> tuple[str, ...]:
    said = (*result.warnings, *result.deviations(), *result.notes)
    return (*said, *roof_lines(result, roof))


def markdown_of(result: RunResult, peaks_of: PeaksOf = no_peaks) -> str:
    text = SECTIONS[result.spec.kind](result, peaks_of)
    if not result.artifacts:
        return text
    lines = [f"- {plain(artifact.text)}" for artifact in result.artifacts]
    return "\n".join([text, "Files:", "", *lines, ""])


# By the kind of the spec: how its result is written.
SECTIONS: dict[str, Callable[[Any, PeaksOf], str]] = {
    "benchmark": lambda result, _: benchmark_markdown(result),
    "comparison": lambda result, _: comparison_markdown(result),
    "profile": profile_markdown,
}


def plain(text: str) -> str:
    """Text that is text, whatever is in it: no markup, no line of its own."""
    return _MARKS.sub(r"\\\1", visible(" ".join(text.split())))


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], left: Iterable[str]) -> list[str]:
    to_left = set(left)
    lines = [[plain(name) for name in head]]
    lines.append([":--" if name in to_left else "--:" for name in head])
    lines += [[plain(cell) for cell in row] for row in rows]
    return [f"| {' | '.join(line)} |" for line in lines]


def _settings(result: BenchmarkResult) -> str:
    """``onnxruntime 1.22.0 on cpu, fp32; 1 core, default budget of 10 s``."""
    engines = dict.fromkeys(_engine(cell) for cell in result.cells)
    cores = sorted({cell.spec.cores for cell in result.cells})
    count = f"{', '.join(map(str, cores))} {'core' if cores == [1] else 'cores'}"
    return f"{plain('; '.join(engines))}; {count}, {_effort(result.spec)}"


def _engine(cell: CellResult) -> str:
    if cell.facts is None:
        return f"{cell.spec.engine or 'no engine'} on {cell.spec.device}"
    facts = cell.facts
    precision = f", {facts.precision}" if facts.precision else ""
    return f"{facts.engine_title} on {facts.device}{precision}"


def _effort(spec: BenchmarkSpec) -> str:
    if spec.iterations is not None:
        return f"{figures.counted(spec.iterations, 'call')} each"
    return f"{spec.budget.name} budget of {spec.budget.seconds:g} s"


def _origin(result: RunResult, host: HostFacts, command: str) -> list[str]:
    cpus = figures.counted(len(host.cpus_allowed), "CPU")
    virtual = ", virtual" if host.hypervisor else ""
    memory = figures.size(host.memory_bytes)
    machine = f"{plain(host.cpu_model)}, {cpus}{virtual}, {memory}, {plain(host.system)}"
    return [
        f"Measured on {machine}, with Modeldyno {result.tool_version}, "
        f"{result.created_at[:10]}, run {result.run_id}.",
        "",
        *_code(command),
        "",
    ]


def _code(command: str) -> list[str]:
    """A name in it may hold line ends, and backticks: the fence has more."""
    if visible(command) != command:
        command = " ".join(map(shell_word, shlex.split(command)))
    longest = max((len(run) for run in re.findall("`+", command)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}sh", command, fence]
