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
    name = title or _page_title(sections)
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
        parts.append(_overview_block(sections, missing))
    body = tag(
        "body",
        HATCH,
        tag("main", *parts, *(article(section) for section in sections), *_files_block(artifacts)),
    )
    return f"<!doctype html>{tag('html', head, body, lang='en')}\n"


def _files_block(artifacts: Sequence[Artifact]) -> list[Markup]:
    if not artifacts:
        return []
    return [tag("h2", "Files"), tag("ul", *(tag("li", artifact.text) for artifact in artifacts))]


def _page_title(sections: Sequence[Section]) -> str:
    if len(sections) == 1:
        return sections[0].title
    return figures.counted(len(sections), "result")


def _overview_block(sections: Sequence[Section], missing: Sequence[str]) -> Markup:
    lines = [
        tag(
            "li",
            tag("a", section.title, href=f"#{section.result.run_id}"),
            ": ",
            _verdict_line(section),
        )
        for section in sections
    ]
    drawn = [tag("ul", *lines)] if lines else [tag("p", "Nothing has been measured yet.")]
    compared = [pair for section in sections if (pair := section.result.compared())]
    if len(compared) > 1:
        summary = (
            "B against A, in the order of the list; sides whose intervals overlap are not ranked."
        )
        drawn.append(
            ratio_chart(
                "Comparisons.", summary, [summary_ratio(comparison) for comparison in compared]
            )
        )
    if missing:
        drawn.append(tag("h3", "Without a result"))
        drawn.append(tag("ul", *(tag("li", line) for line in missing)))
    return joined(*drawn)


def _verdict_line(section: Section) -> Markup:
    words = "; ".join(section.verdict)
    if not section.word:
        return joined(words)
    return tag("span", tag("b", section.word), f": {words}", class_=section.word)


# ---------------------------------------------------------------- style

_LIGHT = """--ink: #1c2024; --paper: #fff; --soft: #f3f4f6; --line: #d9dde2; --dim: #5b6470;
  --good: #006b4c; --bad: #b03a00; --hue0: #0072b2; --hue1: #d55e00; --hue2: #009e73;
  --hue3: #b35a8c; --hue4: #8a6d00; --hue5: #2f8fc4; --hue6: #000; --hue7: #7a7a7a"""
_DARK = """--ink: #e4e7ea; --paper: #14171a; --soft: #1d2125; --line: #343a40; --dim: #9aa4af;
  --good: #3ecf9b; --bad: #ff9a5c; --hue0: #56b4e9; --hue1: #f08a3c; --hue2: #2ec49a;
  --hue3: #e39ac6; --hue4: #f0e442; --hue5: #8fd0f5; --hue6: #fff; --hue7: #a8a8a8"""
_HUES = "\n".join(f".hue{n} {{ --hue: var(--hue{n}) }}" for n in range(8))

STYLE = f"""
:root {{ color-scheme: light; {_LIGHT} }}
@media screen and (prefers-color-scheme: dark) {{ :root {{ color-scheme: dark; {_DARK} }} }}
* {{ box-sizing: border-box }}
body {{ font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 74rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; overflow-wrap: anywhere }}
h1 {{ font-size: 1.7rem; margin: 0 }}
h2 {{ margin: 3rem 0 .5rem; border-bottom: 1px solid var(--line) }}
h3 {{ font-size: 1rem; margin: 1.5rem 0 .4rem }}
a {{ color: var(--hue0) }}
.dim {{ color: var(--dim) }}
.verdict {{ border-left: 4px solid var(--dim); background: var(--soft); padding: .6rem 1rem;
  font-size: 1.1rem }}
.verdict p {{ margin: .1rem 0 }}
.verdict.faster {{ border-color: var(--good) }} .verdict.slower {{ border-color: var(--bad) }}
.faster b {{ color: var(--good) }} .slower b {{ color: var(--bad) }}
.wide {{ overflow-x: auto }}
table {{ border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums }}
th, td {{ text-align: right; padding: .3rem .7rem; border-bottom: 1px solid var(--line);
  white-space: nowrap }}
th {{ color: var(--dim); font-weight: 600 }}
th.left, td.left {{ text-align: left; white-space: normal }}
th, td, h1, h2, li, dd, p, text {{ unicode-bidi: isolate }}
tr.noisy {{
  background: repeating-linear-gradient(135deg, transparent 0 6px, var(--soft) 6px 12px) }}
dl {{ display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1.25rem; margin: 0;
  font-size: .9rem }}
dt {{ color: var(--dim) }} dd {{ margin: 0 }}
pre {{ background: var(--soft); padding: .75rem; border-radius: 6px; white-space: pre-wrap;
  font: .875rem/1.5 ui-monospace, monospace }}
.charts {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr));
  gap: 1.5rem; margin-top: 1.25rem }}
figure {{ margin: 0; max-width: 44rem }} figcaption {{ font-size: .875rem; margin-bottom: .3rem }}
svg {{ display: block; width: 100%; height: auto; font: 12px system-ui, sans-serif }}
svg.defs {{ position: absolute; width: 0; height: 0 }}
text {{ fill: var(--ink) }} text.dim {{ fill: var(--dim) }} text.small {{ font-size: 11px }}
text.end {{ text-anchor: end }} text.middle {{ text-anchor: middle }}
.grid {{ stroke: var(--line) }} .axis {{ stroke: var(--dim) }}
.one {{ stroke: var(--ink); stroke-width: 1.5 }}
.band {{ fill: var(--dim); opacity: .18 }}
.curve, .ideal {{ fill: none; stroke: var(--hue, var(--dim)); stroke-width: 1.5 }}
.ideal {{ stroke-dasharray: 2 5; opacity: .8 }}
.dash1 {{ stroke-dasharray: 8 3 }} .dash2 {{ stroke-dasharray: 3 3 }}
.dash3 {{ stroke-dasharray: 8 3 2 3 }}
.interval {{ stroke: var(--hue); stroke-width: 1.5 }}
.mark {{ stroke: var(--hue); stroke-width: 1.5 }} .mark.sure {{ fill: var(--hue) }}
.noisy {{ fill: url(#hatch) }} .paper {{ fill: var(--paper) }}
.hatching {{ stroke: var(--ink); stroke-width: 1.4 }}
.bar {{ fill: var(--hue) }} .whisker {{ stroke: var(--ink); stroke-width: 1.2 }}
.bar.rest {{ fill: var(--dim); opacity: .5 }}
{_HUES}
@media print {{
  body {{ font-size: 10pt; max-width: none; padding: 0 }} table {{ font-size: 7.5pt }}
  th, td {{ padding: .2rem .35rem }} .wide {{ overflow: visible }}
  figure, tr, dl, pre, .verdict {{ break-inside: avoid }} h2, h3 {{ break-after: avoid }}
  article + article {{ break-before: page }}
  * {{ print-color-adjust: exact; -webkit-print-color-adjust: exact }}
}}
"""
