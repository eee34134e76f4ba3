"""Results as Markdown: the table, and all it takes to judge it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from modeldyno.core import figures
from modeldyno.core.documents.reports import Report
from modeldyno.core.hosts import HostFacts
from modeldyno.core.names import shown_name
from modeldyno.core.requests.commands import bench_command, compare_command, profile_command
from modeldyno.core.results import (
    BenchmarkResult,
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
    quality_remarks,
    remarks,
)
from modeldyno.core.specs import BenchmarkSpec
from modeldyno.core.visible import shell_word, visible
from modeldyno.present.advice import advise
from modeldyno.present.profile_tables import LEFT, known_roof, profile_rows, roof_lines
from modeldyno.present.tables import (
    WORDS,
    benchmark_rows,
    comparison_rows,
    engine_text,
    interval_legend,
)

_MARKS = re.compile(r"([\\`*_{}\[\]<>#|~&!])")


def benchmark_markdown(benchmark: BenchmarkResult) -> str:
    name = shown_name(benchmark.model.path)
    head, rows = benchmark_rows(benchmark)
    lines = [f"### {plain(name)}", "", f"{_settings_line(benchmark)}.", ""]
    lines += [*_table_lines(head, rows, left=WORDS), ""]
    doubts = map(str, advise(benchmark))
    lines += [f"- {plain(remark)}" for remark in dict.fromkeys((*remarks(benchmark), *doubts))]
    lines += [""] if lines[-1] else []
    if legend := interval_legend(benchmark):
        lines += [legend, ""]
    lines += _origin_lines(benchmark, benchmark.host, bench_command(benchmark.spec, name))
    return "\n".join(lines)


def comparison_markdown(comparison: ComparisonResult) -> str:
    a, b = (shown_name(side.model.path) for side in (comparison.a, comparison.b))
    head, rows = comparison_rows(comparison)
    stopped = "stopped early; " if comparison.interrupted else ""
    lines = [f"### {plain(a)} against {plain(b)}", ""]
    lines += [f"**{stopped}{comparison.verdict}**: {plain(comparison_sentence(comparison))}", ""]
    lines += [*_table_lines(head, rows, left=("", "model", "engine", "precision")), ""]
    if comparison.gate is not None and comparison.spec.fail_if_slower is not None:
        lines += [f"**{gate_sentence(comparison.gate, comparison.spec.fail_if_slower)}**", ""]
    lines += [f"- {plain(limit)}" for limit in comparison_limits(comparison)]
    lines += [""] if lines[-1] else []
    processes = figures.counted(comparison.processes, "process")
    lines += [
        f"{comparison.pairs} pairs of sessions in {processes}, {comparison.statistic}, "
        f"{comparison.ratio.level:.0%} interval over pairs, "
        f"machine {comparison.noise}. The ratio is from pairs; the levels are for orientation.",
        "",
    ]
    lines += _origin_lines(comparison, comparison.host, compare_command(comparison.spec, a, b))
    return "\n".join(lines)


def profile_markdown(profile: ProfileResult, peaks_of: PeaksOf = no_peaks) -> str:
    name, facts = shown_name(profile.model.path), profile.facts
    roof = known_roof(profile, peaks_of)
    head, rows = profile_rows(profile, roof=roof)
    stopped = "stopped early; " if profile.interrupted else ""
    precision = f", {facts.precision}" if facts.precision else ""
    cores = figures.counted(profile.spec.cell.cores, "core")
    engine = f"{facts.engine_title} on {facts.device}{precision}; {cores}"
    lines = [
        f"### Profile of {plain(name)}",
        "",
        f"{plain(engine)}, batch {profile.batch_size}.",
        "",
    ]
    lines += [*_table_lines(head, rows, left=LEFT), ""]
    lines += [f"**{stopped}{plain(profile_sentence(profile))}**", ""]
    lines += [f"- {plain(note)}" for note in _make_notes(profile, roof)]
    lines += [""] if lines[-1] else []
    lines += _origin_lines(profile, profile.host, profile_command(profile.spec, name))
    return "\n".join(lines)


def _make_notes(profile: ProfileResult, roof: Roof | None) -> tuple[str, ...]:
    warnings = (*quality_remarks(profile), *profile.warnings)
    notes = (*warnings, *profile.deviations(), *profile.notes)
    return (*notes, *roof_lines(profile, roof))


def markdown_of(result: RunResult, peaks_of: PeaksOf = no_peaks) -> str:
    text = SECTIONS[result.spec.kind](result, peaks_of)
    if not result.artifacts:
        return text
    lines = [f"- {plain(artifact.text)}" for artifact in result.artifacts]
    return "\n".join([text, "Files:", "", *lines, ""])


# By the kind of the spec.
SECTIONS: dict[str, Callable[[Any, PeaksOf], str]] = {
    "benchmark": lambda result, _: benchmark_markdown(result),
    "comparison": lambda result, _: comparison_markdown(result),
    "profile": profile_markdown,
}


def report_markdown(report: Report, peaks_of: PeaksOf = no_peaks) -> str:
    sections = [markdown_of(result, peaks_of) for result in report.results]
    parts = [f"## {plain(report.title)}\n", *sections]
    if report.missing:
        lines = [f"- {plain(line)}" for line in report.missing]
        parts.append("\n".join(["### Without a result", "", *lines, ""]))
    return "\n".join(parts)


def plain(text: str) -> str:
    """Escaped, on one line, whatever it contains."""
    return _MARKS.sub(r"\\\1", visible(" ".join(text.split())))


def _table_lines(
    head: Sequence[str], rows: Iterable[Sequence[str]], left: Iterable[str]
) -> list[str]:
    to_left = set(left)
    lines = [[plain(name) for name in head]]
    lines.append([":--" if name in to_left else "--:" for name in head])
    lines += [[plain(cell) for cell in row] for row in rows]
    return [f"| {' | '.join(line)} |" for line in lines]


def _settings_line(benchmark: BenchmarkResult) -> str:
    """``onnxruntime 1.22.0 on cpu, fp32; 1 core, default budget of 10 s``."""
    engines = dict.fromkeys(engine_text(cell) for cell in benchmark.cells)
    cores = sorted({cell.spec.cores for cell in benchmark.cells})
    count = f"{', '.join(map(str, cores))} {'core' if cores == [1] else 'cores'}"
    return f"{plain('; '.join(engines))}; {count}, {_effort_text(benchmark.spec)}"


def _effort_text(spec: BenchmarkSpec) -> str:
    if spec.iterations is not None:
        return f"{figures.counted(spec.iterations, 'call')} each"
    return f"{spec.budget.name} budget of {spec.budget.seconds:g} s"


def _origin_lines(result: RunResult, host: HostFacts, command: str) -> list[str]:
    cpus = figures.counted(len(host.cpus_allowed), "CPU")
    virtual = ", virtual" if host.hypervisor else ""
    memory = figures.size(host.memory_bytes)
    machine = f"{plain(host.cpu_model)}, {cpus}{virtual}, {memory}, {plain(host.system)}"
    return [
        f"Measured on {machine}, with Modeldyno {result.tool_version}, "
        f"{result.created_at[:10]}, run {result.run_id}.",
        "",
        *_code_lines(command),
        "",
    ]


def _code_lines(command: str) -> list[str]:
    """Names may contain line ends and backticks; the fence has more of those."""
    if visible(command) != command:
        command = " ".join(map(shell_word, shlex.split(command)))
    longest = max((len(run) for run in re.findall("`+", command)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}sh", command, fence]
