"""The whole file: what was found, in a line each, then every result by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from modeldyno.core import figures
from modeldyno.core.results import (
    RunResult,
)
from modeldyno.core.roofline import PeaksOf, no_peaks
from modeldyno.core.runs import Artifact
from modeldyno.present.charts.frame import HATCH
from modeldyno.present.charts.ratios import ratio_chart
from modeldyno.present.markup import Markup, joined, tag
from modeldyno.present.reports.benchmarks import benchmark_section
from modeldyno.present.reports.blocks import Section, article
from modeldyno.present.reports.comparisons import comparison_section, summary_ratio
from modeldyno.present.reports.profiles import profile_section
from modeldyno.present.reports.style import STYLE

# Even if a word of others slipped through: nothing runs and nothing is fetched.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


# By the kind of the spec: the section of its result.
SECTIONS: dict[str, Callable[[Any, PeaksOf], Section]] = {
    "benchmark": lambda result, _: benchmark_section(result),
    "comparison": lambda result, _: comparison_section(result),
    "profile": profile_section,
}


def html_report(
    results: Sequence[RunResult],
    title: str = "",
    missing: Sequence[str] = (),
    peaks_of: PeaksOf = no_peaks,
) -> str:
    """``missing`` says what has no result, and why."""
    artifacts = [artifact for result in results for artifact in result.artifacts]
    sections = [SECTIONS[result.spec.kind](result, peaks_of) for result in results]
    name = title or _title(sections)
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name_="color-scheme", content="light dark"),
        tag("title", f"{name} – Modeldyno"),
        tag("style", Markup(STYLE)),
    )
    is_one = len(sections) == 1 and not title  # its section has its name
    parts = [tag("h1", "Modeldyno report" if is_one else name)]
    if len(sections) != 1 or missing:
        parts.append(_overview(sections, missing))
    body = tag(
        "body", HATCH, tag("main", *parts, *(article(one) for one in sections), *_files(artifacts))
    )
    return f"<!doctype html>{tag('html', head, body, lang='en')}\n"


def _files(artifacts: Sequence[Artifact]) -> list[Markup]:
    if not artifacts:
        return []
    return [tag("h2", "Files"), tag("ul", *(tag("li", artifact.text) for artifact in artifacts))]


def _title(sections: Sequence[Section]) -> str:
    if len(sections) == 1:
        return sections[0].title
    return figures.counted(len(sections), "result")


def _overview(sections: Sequence[Section], missing: Sequence[str]) -> Markup:
    lines = [
        tag("li", tag("a", section.title, href=f"#{section.result.run_id}"), ": ", _found(section))
        for section in sections
    ]
    drawn = [tag("ul", *lines)] if lines else [tag("p", "Nothing has been measured yet.")]
    compared = [pair for section in sections if (pair := section.result.compared())]
    if len(compared) > 1:
        summary = "B against A, in the order of the list; intervals that overlap rank nobody."
        drawn.append(ratio_chart("Comparisons.", summary, [summary_ratio(one) for one in compared]))
    if missing:
        drawn.append(tag("h3", "Without a result"))
        drawn.append(tag("ul", *(tag("li", line) for line in missing)))
    return joined(*drawn)


def _found(section: Section) -> Markup:
    words = "; ".join(section.verdict)
    if not section.word:
        return joined(words)
    return tag("span", tag("b", section.word), f": {words}", class_=section.word)
