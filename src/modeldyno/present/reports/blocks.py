"""What every section of a report has: a verdict, the machine, tables, limits, the command."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from modeldyno.core import figures
from modeldyno.core.hosts import HostFacts, HostWeather
from modeldyno.core.results import RunResult
from modeldyno.present.markup import Markup, joined, tag


@dataclass(frozen=True)
class Section:
    """One result, in the order of the questions that people have."""

    result: RunResult
    title: str
    verdict: tuple[str, ...]
    word: str  # of a comparison: faster, slower …; else empty
    engines: tuple[str, ...]
    method: str
    table: Markup
    charts: tuple[Markup, ...]
    limits: tuple[str, ...]
    command: str


def article(section: Section) -> Markup:
    result = section.result
    charts = tag("div", *section.charts, class_="charts") if section.charts else Markup()
    measured = f"Run {result.run_id}, {result.created_at[:10]}, Modeldyno {result.tool_version}"
    return tag(
        "article",
        tag("h2", section.title),
        _verdict_line(section),
        tag("p", measured, class_="dim"),
        _with_heading(
            "Environment", _environment_block(result.host, result.weather, section.engines)
        ),
        _with_heading("Method", tag("p", section.method)),
        _with_heading("Results", section.table),
        charts,
        _with_heading("Limits", _limits_list(section.limits)),
        _with_heading("Reproduce", tag("pre", tag("code", section.command))),
        id=result.run_id,
    )


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    left: Collection[str],
    is_noisy: Callable[[int], bool] = lambda row: False,
) -> Markup:
    """Columns named in ``left`` are words; noisy rows are hatched."""
    sides = ["left" if name in left else None for name in head]
    top = [tag("th", n, class_=s, scope="col") for n, s in zip(head, sides, strict=True)]
    body = [
        tag(
            "tr",
            *(tag("td", cell, class_=side) for cell, side in zip(row, sides, strict=True)),
            class_="noisy" if is_noisy(number) else None,
        )
        for number, row in enumerate(rows)
    ]
    filled = tag("table", tag("thead", tag("tr", *top)), tag("tbody", *body))
    return tag("div", filled, class_="wide", tabindex="0", role="region", aria_label="Results")


def _with_heading(title: str, inside: Markup) -> Markup:
    return joined(tag("h3", title), inside)


def _verdict_line(section: Section) -> Markup:
    stopped = ("Stopped early.",) if section.result.interrupted else ()
    lines = [tag("p", line) for line in (*stopped, *section.verdict)]
    word = [tag("p", tag("b", section.word))] if section.word else []
    return tag("div", *word, *lines, class_=f"verdict {section.word}".strip())


def _limits_list(limits: Iterable[str]) -> Markup:
    items = [tag("li", limit) for limit in dict.fromkeys(limits)]
    return tag("ul", *items) if items else tag("p", "None was noticed.")


def _environment_block(host: HostFacts, weather: HostWeather, engines: Iterable[str]) -> Markup:
    facts = [
        *_machine_rows(host),
        ("engine", "; ".join(dict.fromkeys(engines))),
        *_weather_rows(weather),
    ]
    return tag(
        "dl",
        *(joined(tag("dt", name), tag("dd", value or figures.NOTHING)) for name, value in facts),
    )


def _machine_rows(host: HostFacts) -> list[tuple[str, str]]:
    cpus = f"{len(host.cpus_allowed)} of {figures.counted(host.cpus, 'CPU')}"
    quota = "" if host.cpu_quota is None else f", a quota of {host.cpu_quota:g}"
    threads = {True: ", two to a core", False: ", one to a core", None: ""}[host.smt]
    kind = {True: "virtual machine", False: "real machine", None: ""}[host.hypervisor]
    places = ", ".join(filter(None, (kind, host.container and f"container ({host.container})")))
    boost = {True: "on", False: "off", None: figures.NOTHING}[host.boost]
    return [
        ("processor", host.cpu_model),
        ("CPUs", f"{cpus}{quota}{threads}"),
        ("frequency", f"governor {host.governor or figures.NOTHING}, boost {boost}"),
        ("memory", figures.size(host.memory_bytes)),
        ("system", f"{host.system}, kernel {host.kernel}, {host.libc}, Python {host.python}"),
        ("machine", places),
    ]


def _weather_rows(weather: HostWeather) -> list[tuple[str, str]]:
    """What it did meanwhile; what the system does not tell is not listed."""
    shares = (
        ("CPUs busy", weather.busy),
        ("tasks waited for a CPU", weather.pressure),
        ("taken by the hypervisor", weather.steal),
    )
    parts = [f"{what} {figures.percent(share)}" for what, share in shares if share is not None]
    if weather.throttled_s:
        parts.append(f"throttled for {figures.duration(weather.throttled_s)}")
    if weather.swapped_in_bytes:
        parts.append(f"{figures.size(weather.swapped_in_bytes)} read back from swap")
    return [("meanwhile", "; ".join(parts))]
