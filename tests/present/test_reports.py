"""The HTML report: verdict first, nothing from strangers but text, and no rank without a reason."""

import csv
import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

import modeldyno
from modeldyno.core import figures
from modeldyno.core.documents.benchmarks import benchmarks_csv
from modeldyno.core.documents.hosts import Peak, Peaks
from modeldyno.core.exports import csv_with_artifacts
from modeldyno.core.profiles import make_slices
from modeldyno.core.results import Estimate, Standing
from modeldyno.core.runs import Artifact
from modeldyno.demo import model_path
from modeldyno.present.markdown import markdown_of
from modeldyno.present.reports.page import html_report
from tests.scripts import script

EVIL = '<script src="//evil.example/x.js">alert(1)</script><img src=x onerror=alert(1)>\x00'


class Read(HTMLParser):
    """Elements with their attributes, and the text between them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def measured(tmp_path_factory, starts_processes):
    """A benchmark and a comparison of the scripted engine, really run."""
    folder = tmp_path_factory.mktemp("reports")
    a, b = script(folder / "a.json", latency_us=100), script(folder / "b.json", latency_us=300)
    bench = modeldyno.bench(a, batch=[1, 2, 4], iterations=8, workspace=folder / "workspace")
    return bench, modeldyno.compare(a, b, pairs=2, workspace=folder / "workspace")


def cell_of(result, number, **said):
    """A cell with figures that tests choose; the rest stays as it was measured."""
    cell = result.cells[0]
    value = said.pop("typical_s", 1e-3)
    width = said.pop("half", 0.01 * value)
    typical = Estimate(value, value - width, value + width, 0.95, 8, "sessions")
    measurement = cell.measurement
    latency = replace(measurement.latency, typical=typical, **said.pop("latency", {}))
    cores = said.pop("cores", 1)
    changed = {"noise": "quiet", "reasons": (), "sessions": 8} | said
    return replace(
        cell,
        spec=replace(cell.spec, cores=cores, batch_size=number),
        batch_size=number,
        measurement=replace(measurement, latency=latency, **changed),
    )


def of(result, *cells, **said):
    return replace(result, cells=cells, **{"standings": {}} | said)


def test_a_report_answers_in_the_order_in_which_people_ask(measured):
    page = Read(html_report([measured[0]])).text
    places = [
        page.index(word)
        for word in ("Not ranked", "Environment", "Method", "Results", "Limits", "Reproduce")
    ]
    assert places == sorted(places)
    assert "modeldyno bench a.json --batch 1,2,4 --iterations 8" in page
    assert measured[0].host.cpu_model in page


def test_nothing_runs_and_nothing_is_fetched_whatever_a_model_is_called(measured):
    bench, compared = measured
    cells = tuple(replace(cell, notes=(EVIL,)) for cell in bench.cells)
    evil = replace(bench, model=replace(bench.model, path=EVIL), cells=cells)
    side = replace(compared.a, model=replace(compared.a.model, path=EVIL))
    page = html_report([evil, replace(compared, a=side, notes=(EVIL,))], EVIL, [EVIL])
    found = Read(page)
    refused = {"script", "img", "iframe", "object", "embed", "link", "form", "foreignobject"}
    assert not {tag for tag, _ in found.tags} & refused
    links = [value for _, said in found.tags for key, value in said.items() if key in LINKS]
    assert links
    assert all(value and value.startswith("#") for value in links)
    assert not [key for _, said in found.tags for key in said if key.startswith("on")]
    assert "url(" not in page.replace("url(#hatch)", "")
    assert "@import" not in page
    assert "\x00" not in page
    assert "alert(1)</script>" in found.text  # told as it is, as text


LINKS = ("href", "src", "xlink:href", "action", "srcset", "data")


def test_noisy_cells_are_hatched_and_say_so(measured):
    cells = (cell_of(measured[0], 1), cell_of(measured[0], 2, noise="noisy", reasons=("Fans.",)))
    page = html_report([of(measured[0], *cells)])
    assert [said.get("class") for tag, said in Read(page).tags if tag == "tr"] == [
        None, None, "noisy",
    ]  # fmt: skip
    assert page.count('class="mark hue0 noisy"') == 2  # one point, in both charts of batches
    assert "noisy. Fans." in Read(page).text


def test_a_winner_is_named_and_a_tie_is_told_as_a_tie(measured):
    cells = [cell_of(measured[0], n, typical_s=n * 1e-3, half=1e-5) for n in (1, 2)]
    won = of(measured[0], *cells, standings={"latency": Standing(0, (0,))})
    assert "Lowest latency: 1 core · batch 1, 1.000 ±0.010 ms for a batch of 1" in text_of(won)
    tied = of(measured[0], *cells, standings={"latency": Standing(0, (0, 1))})
    found = text_of(tied)
    assert "Lowest latency: a tie, these cannot be told apart: 1 core · batch 1; 1 core" in found
    assert "Lowest latency: 1 core · batch 1, " not in found


def text_of(result) -> str:
    return Read(html_report([result])).text


def test_core_scaling_ranks_nobody_whose_intervals_overlap(measured):
    def swept(second_s, half, **said):
        cells = (
            cell_of(measured[0], 1, cores=1, typical_s=1e-3, half=1e-5),
            cell_of(measured[0], 1, cores=2, typical_s=second_s, half=half, **said),
        )
        return html_report([of(measured[0], *cells)])

    clear = swept(0.6e-3, 1e-5)
    assert "2 cores take 0.60 times as long as 1 core" in clear
    assert ">83%<" in clear
    assert "2 cores and 1 core cannot be told apart" in swept(0.9e-3, 2e-4)
    unusable = swept(0.6e-3, 1e-5, noise="unusable")
    assert "Too noisy to say what more cores do" in unusable
    assert ">83%<" not in unusable


def test_a_tail_that_the_samples_cannot_tell_is_a_dash_and_says_what_it_takes(measured):
    cell = measured[0].cells[0]
    tail = replace(cell.measurement.latency.p99, value=None, samples_needed=368)
    found = html_report([of(measured[0], cell_of(measured[0], 1, latency={"p99": tail}))])
    head, row = re.findall(r"<tr>(.*?)</tr>", found)
    place = re.findall(r"<th[^>]*>(.*?)</th>", head).index("p99")
    assert re.findall(r"<td[^>]*>(.*?)</td>", row)[place] == figures.NOTHING
    assert "p99 takes 368 samples, there are 8" in Read(found).text


def test_no_number_has_more_digits_than_four_or_than_its_interval_bears():
    assert figures.with_interval(0.6501234, 0.0000012, most=4) == "0.6501 ±0.0001"
    assert figures.with_interval(0.6501234, 0.0083, most=4) == "0.6501 ±0.0083"
    assert figures.with_interval(0.65, 0.083, most=4) == "0.650 ±0.083"
    assert figures.with_interval(12345.6, 0.2, most=4) == "12\u202f346 ±1"


def test_the_spread_within_sessions_is_nowhere_shown_as_an_interval():
    over = Estimate(0.001, 0.0009, 0.0011, 0.95, 8, "sessions")
    assert figures.estimate(over, 1e-3) == "1.00 ±0.10"
    assert figures.estimate(replace(over, units="samples"), 1e-3) == "1.00"


def test_a_comparison_shows_its_verdict_ratio_and_doubts(measured):
    page = html_report([replace(measured[1], verdict="slower")])
    assert 'class="verdict slower"' in page
    assert "The interval rests on 2 pairs" in page
    assert page.count('class="band"') == 2
    assert "modeldyno compare a.json b.json" in page


@pytest.mark.engine("onnxruntime")
def test_operators_are_charted_and_ranked_only_where_intervals_part(tmp_path):
    measured = modeldyno.profile(model_path(), repeats=3, workspace=tmp_path / "workspace")
    # On a busy machine some times are unknown; what the report says of those is another test's.
    known_rows = tuple(replace(row, unknown="") for row in measured.rows)
    result = replace(measured, rows=known_rows, unknown_by_op={})
    most = make_slices(result, "op")[0].op_type
    names = dict.fromkeys(row.op_type for row in result.rows)
    apart = {op: (0.0, 1e-9) for op in names} | {most: (1.0, 1.1)}
    found = html_report([replace(result, ci95_s_by_op=apart)])
    assert f"{most} takes the most" in found
    assert all(f"<title>{op}: " in found for op in names)
    alike = replace(result, ci95_s_by_op=dict.fromkeys(names, (0.0, 1.0)))
    assert "These take the most, and cannot be told apart" in html_report([alike])
    assert "limit" not in columns(html_report([alike]))  # nothing is known of this machine
    peaks = Peaks(
        result.host.fingerprint, "", "onnxruntime", "", "", (Peak(1, 1e11, 1e10, "quiet"),)
    )
    known = {peaks.fingerprint: peaks}.get
    assert columns(html_report([alike], peaks_of=known))[-3:] == ["GFLOP/s", "GB/s", "limit"]
    said = "peaks of 1 core: 100 GFLOP/s in fp32, 10.0 GB/s, as onnxruntime reached them"
    assert said in html_report([alike], peaks_of=known)
    assert said in markdown_of(alike, known)
    assert "GB/s" not in markdown_of(alike)


def columns(page):
    return re.findall("<th[^>]*>([^<]*)</th>", page)


def test_several_results_begin_with_a_line_each_and_tell_what_is_missing(measured):
    bench, compared = measured
    again = replace(compared, run_id="20261115-095116-3fa9c1")
    page = html_report([bench, compared, again], "Edge box", ["benchmark 7: it failed"])
    assert page.index("time of B / time of A") < page.index("<article")
    found = Read(page)
    anchors = [said["href"] for tag, said in found.tags if tag == "a"]
    assert anchors == [f"#{said['id']}" for tag, said in found.tags if tag == "article"]
    assert found.text.startswith("Edge box – Modeldyno")
    assert "Without a result benchmark 7: it failed" in found.text


def test_nothing_measured_is_a_report_too():
    assert "Nothing has been measured yet." in html_report([], "Empty")


def test_files_that_runs_left_are_in_every_export(measured):
    bench, compared = measured
    trace = Artifact("trace.json", "0" * 64, 7)
    left = replace(bench, artifacts=(trace,))
    said = f"trace.json 7 {trace.sha256}"
    rows = [*csv.DictReader(io.StringIO(left.to_csv()))]
    assert {row["artifacts"] for row in rows} == {said}
    both = benchmarks_csv([left, bench], with_runs=True)
    assert {row["artifacts"] for row in csv.DictReader(io.StringIO(both))} == {said, ""}
    assert "artifacts" not in bench.to_csv()
    table = csv_with_artifacts(compared.to_csv(), (trace,))
    row, bare = (next(csv.DictReader(io.StringIO(text))) for text in (table, compared.to_csv()))
    assert row == bare | {"artifacts": said}
    for result in (left, replace(compared, artifacts=(trace,))):
        document = json.loads(result.to_json())
        assert document["artifacts"] == [
            {"name": "trace.json", "sha256": trace.sha256, "size_bytes": 7}
        ]
        assert trace.sha256 in markdown_of(result)
        assert trace.sha256 in html_report([result])
