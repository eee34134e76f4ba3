"""The page that compares: a verdict in a sentence, and nothing ranked that is not apart."""

import re

import pytest
from playwright.sync_api import expect

from tests import onnx_models, scripts
from tests.web.desk import PHONE
from tests.web.keys import focus, is_seen, tab_to
from tests.web.numbers import settle

EXACTLY = {"iterations": 5, "warmup": 1}


@pytest.fixture(scope="module")
def measured(server, tmp_path_factory):
    """A project: the same four numbers fed to two engines, and once with another kind of call."""
    files = tmp_path_factory.mktemp("models")
    project = server.ask("/projects", {"name": "Two engines"})["id"]
    linear = onnx_models.saved(onnx_models.linear(), files / "linear.onnx")
    scripted = scripts.script(files / "scripted.json", latency_us=300)
    models = [server.send_model(project, file)["id"] for file in (linear, scripted)]
    asked = [{"model_id": model} for model in models]
    asked.append({"model_id": models[0], "contract": "hot", "name": "another call"})
    made = [server.ask("/benchmarks", {"project_id": project} | EXACTLY | one) for one in asked]
    runs = []
    for one in made:
        done = server.settled(f"/benchmarks/{one['id']}")
        assert done["state"] == "done", done
        runs.append(done["latest_run"]["id"])
    settle(server, runs[0], 0.003)
    settle(server, runs[1], 0.001)
    return project, [one["id"] for one in made], runs


def test_ux_16_two_engines_get_a_sentence_and_a_tab_each(desk, measured):
    project, (onnx, scripted, _), _ = measured
    page = desk.open(f"/p/{project}/compare?a={onnx}&b={scripted}")
    verdict = page.get_by_role("region", name="Verdict")
    expect(verdict).to_contain_text(
        re.compile(r"B is 3\.00× faster than A \(2\.9\d–3\.0\d, 95 %\)")
    )
    expect(verdict).to_contain_text("n = ")
    expect(verdict).not_to_contain_text("not ranked")
    tabs = page.get_by_role("tablist", name="Engines")
    expect(tabs.get_by_role("tab", name="ONNX RUNTIME")).to_be_visible()
    tabs.get_by_role("tab", name="SCRIPTED").click()
    expect(page).to_have_url(re.compile("tab=scripted"))
    chart = page.get_by_role("figure").first
    chart.get_by_role("button", name="View as table").click()
    numbers = page.get_by_role("table", name="ms per item")
    expect(numbers.get_by_text("B · scripted.json · scripted")).to_be_visible()
    expect(numbers.get_by_text("ONNX Runtime")).to_have_count(0)


def test_series_go_by_what_tells_them_apart_and_can_be_put_away(desk, measured):
    project, (onnx, scripted, _), _ = measured
    page = desk.open(f"/p/{project}/compare?a={onnx}&b={scripted}")
    chart = page.get_by_role("figure").filter(has_text="ms per item").first
    expect(chart.locator("figcaption")).to_have_text("ms per item · fp32 · 1 core · batch 1")
    entries = chart.get_by_role("list", name="Legend").get_by_role("button")
    names = ["A · linear.onnx · ONNX Runtime", "B · scripted.json · scripted"]
    expect(entries).to_have_text(names)
    page.set_viewport_size(PHONE)
    for entry in entries.all():  # whole, however narrow
        expect(entry).to_be_visible()
        assert entry.evaluate("one => one.scrollWidth <= one.clientWidth")
    marks = chart.locator("[role=img] svg path")
    both = marks.count()
    entries.first.press("Enter")
    expect(entries.first).to_have_attribute("aria-pressed", "false")
    expect(marks).not_to_have_count(both)


@pytest.fixture(scope="module")
def engines(server, tmp_path_factory):
    """A project with one small model, measured in two real engines; figures as they came."""
    project = server.ask("/projects", {"name": "Real engines"})["id"]
    folder = tmp_path_factory.mktemp("real")
    file = onnx_models.saved(onnx_models.linear(), folder / "linear.onnx")
    asked = {"project_id": project, "model_id": server.send_model(project, file)["id"]}
    made = [
        server.ask("/benchmarks", asked | {"engines": [engine], "budget": "quick"})["id"]
        for engine in ("onnxruntime", "openvino")
    ]
    for one in made:
        done = server.settled(f"/benchmarks/{one}")
        assert done["state"] == "done", done
    return project, made


@pytest.mark.engine("openvino")
def test_ux_16_17_two_real_engines_are_judged_by_what_they_measured(desk, engines):
    project, (a, b) = engines
    told = desk.server.ask(f"/judgements?a={a}&b={b}")
    page = desk.open(f"/p/{project}/compare?a={a}&b={b}")
    verdict = page.get_by_role("region", name="Verdict")
    ratio = told["cells"][0]["ratio"]
    if ratio is None:  # a machine so busy that one of them had too few sessions
        expect(page.get_by_text("These two cannot be compared")).to_be_visible()
        expect(page.get_by_text("too few sessions")).not_to_have_count(0)
    else:
        expect(verdict).to_contain_text(told["sentence"])
        is_ranked = told["cells"][0]["faster"] is not None
        assert not (is_ranked and ratio["low"] <= 1 <= ratio["high"])
        expect(verdict.get_by_text("not ranked")).to_have_count(0 if is_ranked else 1)
    tabs = page.get_by_role("tablist", name="Engines")
    expect(tabs.get_by_role("tab", name="ONNX RUNTIME")).to_be_visible()
    expect(tabs.get_by_role("tab", name="OPENVINO")).to_be_visible()
    differing = [one for one in told["settings"] + told["environment"] if one["differs"]]
    rows = page.get_by_role("table", name="Settings of A and B").locator("tbody tr")
    expect(rows).to_have_count(len(differing))
    engine = rows.filter(has_text=re.compile("^engine"))
    expect(engine.first).to_contain_text(re.compile("onnxruntime.*openvino"))


def test_ux_16_26_two_are_compared_without_a_mouse(desk, measured):
    project, (onnx, scripted, _), _ = measured
    page = desk.open(f"/p/{project}/benchmarks")
    for number in (onnx, scripted):
        focus(page, number)
        page.keyboard.press("x")
    expect(page.get_by_text("Selected 2")).to_be_visible()
    page.keyboard.press("c")
    expect(page).to_have_url(re.compile(f"/p/{project}/compare"))
    verdict = page.get_by_role("region", name="Verdict")
    expect(verdict).to_contain_text("3.00× faster than")
    swap = page.get_by_role("button", name="Swap A and B")
    before = verdict.inner_text()
    tab_to(page, swap)
    assert is_seen(page)
    page.keyboard.press("Enter")
    expect(verdict).not_to_have_text(before)
    engines = page.get_by_role("tablist", name="Engines")
    tab_to(page, engines.get_by_role("tab", selected=True))
    page.keyboard.press("ArrowRight")
    assert is_seen(page)
    expect(page).to_have_url(re.compile("tab="))
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name=re.compile("^Search pages")).fill("queue")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/queue$"))


def test_the_table_of_a_chart_has_the_numbers_of_the_api(desk, measured):
    project, (onnx, scripted, _), _ = measured
    told = desk.server.ask(f"/judgements?a={onnx}&b={scripted}")["cells"][0]["ratio"]
    page = desk.open(f"/p/{project}/compare?a={onnx}&b={scripted}")
    chart = page.get_by_role("figure").filter(has_text="Ratio of B to A")
    chart.get_by_role("button", name="View as table").click()
    cells = chart.get_by_role("table").get_by_role("cell")
    expect(cells).to_have_count(6)
    shown = cells.all_inner_texts()
    assert [float(text) for text in shown[1:4]] == [told["value"], told["low"], told["high"]]


def test_ux_16_an_unclear_difference_says_so_and_ranks_nobody(desk, measured):
    project, (onnx, scripted, _), runs = measured
    settle(desk.server, runs[1], 0.0028, spread=0.2)
    try:
        page = desk.open(f"/p/{project}/compare?a={onnx}&b={scripted}")
        verdict = page.get_by_role("region", name="Verdict")
        expect(verdict).to_contain_text("No clear difference between A and B")
        expect(verdict).to_contain_text("not ranked")
        expect(page.get_by_role("img", name="Ratio of B to A")).to_have_attribute(
            "aria-label", re.compile("no clear difference")
        )
    finally:
        settle(desk.server, runs[1], 0.001)


def test_what_cannot_be_compared_gets_no_ratio(desk, measured):
    project, (_, scripted, other), _ = measured
    page = desk.open(f"/p/{project}/compare?a={scripted}&b={other}")
    expect(page.get_by_text("These two cannot be compared")).to_be_visible()
    expect(page.get_by_text("one call means 'api' in A and 'hot' in B")).to_be_visible()
    expect(page.get_by_text("Ratio of B to A")).to_have_count(0)


def test_ux_17_equal_settings_are_hidden_and_those_that_differ_counted(desk, measured):
    project, (onnx, scripted, _), _ = measured
    told = desk.server.ask(f"/judgements?a={onnx}&b={scripted}")
    settings = told["settings"] + told["environment"]
    differing = [one["name"] for one in settings if one["differs"]]
    page = desk.open(f"/p/{project}/compare?a={onnx}&b={scripted}")
    expect(
        page.get_by_role(
            "heading", name=f"What differs ({len(differing)} of {len(settings)} settings)"
        )
    ).to_be_visible()
    rows = page.get_by_role("table", name="Settings of A and B").locator("tbody tr")
    expect(rows).to_have_count(len(differing))
    page.get_by_role("switch", name="Diff only").click()
    expect(rows).to_have_count(len(settings))


def test_a_limit_marks_the_sweet_spot_and_stays_in_the_address(desk, measured):
    project, (onnx, scripted, _), _ = measured
    page = desk.open(f"/p/{project}/compare?a={onnx}&b={scripted}")
    page.get_by_label("Longest acceptable time per batch (ms)").fill("10000")
    expect(page.get_by_text("within 10")).not_to_have_count(0)
    expect(page).to_have_url(re.compile("limit=10000"))


def test_without_a_choice_the_two_newest_are_chosen_and_can_be_swapped(desk, measured):
    project, (_, scripted, other), _ = measured
    page = desk.open(f"/p/{project}/compare")
    a, b = (
        page.get_by_role("combobox", name="A", exact=True),
        page.get_by_role("combobox", name="B", exact=True),
    )
    expect(a).to_have_value(re.compile(f"#{scripted}$"))
    expect(b).to_have_value(re.compile(f"#{other}$"))
    page.get_by_role("button", name="Swap A and B").click()
    expect(a).to_have_value(re.compile(f"#{other}$"))


def test_a_pair_is_measured_in_alternation_from_here(desk, measured):
    project, (onnx, scripted, _), _ = measured
    page = desk.open(f"/p/{project}/compare?a={onnx}&b={scripted}")
    page.get_by_role("button", name="Measure in alternation").click()
    expect(page).to_have_url(re.compile(r"comparison=\d+"))
    progress = page.get_by_role("region", name="Verdict")
    progress.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("button", name="Resume")).to_be_visible()


def test_with_nothing_measured_the_page_says_what_to_do(desk):
    project = desk.server.ask("/projects", {"name": "Empty"})["id"]
    page = desk.open(f"/p/{project}/compare")
    expect(page.get_by_text("Nothing to compare yet")).to_be_visible()
    expect(page.get_by_role("link", name="ADD BENCHMARK")).to_be_visible()
