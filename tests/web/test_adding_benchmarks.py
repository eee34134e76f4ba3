"""The dialog behind ADD BENCHMARK."""

import re

import pytest
from playwright.sync_api import expect

from tests import onnx_models
from tests.web.toys import toy


@pytest.fixture(scope="module")
def project(server, tmp_path_factory):
    return toy(server, tmp_path_factory.mktemp("toys"), "quick", latency_us=100)


@pytest.fixture
def dialog(desk, project):
    """Open, and it knows its plan."""
    desk.open(f"/p/{project[0]}/benchmarks?add=true")
    found = desk.page.get_by_role("dialog", name="Create benchmark")
    expect(found.get_by_role("status", name="Plan")).to_contain_text("cells")
    return found


def test_ux_06_two_clicks_add_a_benchmark_and_its_card_has_the_focus(desk, project):
    page = desk.open(f"/p/{project[0]}/benchmarks")
    page.get_by_role("button", name="ADD BENCHMARK").click()
    page.get_by_role("button", name="RUN", exact=True).click()
    card = page.locator("article").first
    expect(card).to_be_focused()
    expect(page.get_by_role("dialog")).to_have_count(0)
    made = desk.server.ask(f"/benchmarks?project_id={project[0]}")["items"][0]
    expect(card).to_have_id(f"benchmark-{made['id']}")
    page.get_by_role("button", name="Undo").click()  # of the message that tells of it
    assert desk.server.settled(f"/benchmarks/{made['id']}")["state"] == "cancelled"


def test_ux_07_the_plan_follows_the_fields_and_has_the_terminals_command(dialog):
    plan = dialog.get_by_role("status", name="Plan")
    cores = dialog.get_by_label("Enable multiple core counts")
    cores.uncheck()
    expect(plan).to_contain_text("= 1 cell")
    expect(plan).to_contain_text("uses 1 core")
    expect(plan).to_contain_text("about 10 s")
    dialog.get_by_label("Batch sizes", exact=True).fill("1,8,32")
    expect(plan).to_contain_text("1 core count × 3 batch sizes = 3 cells")
    expect(plan).to_contain_text("about 30 s")
    expect(plan).to_contain_text("modeldyno bench quick.json --engine scripted --batch 1,8,32")
    dialog.get_by_role("button", name="More:").click()
    dialog.get_by_text("Quick, 2 s").click()
    expect(plan).to_contain_text("about 6 s")
    expect(plan).to_contain_text("--quick")


def test_ux_08_several_are_pasted_and_what_cannot_be_is_refused_beside_the_field(desk, dialog):
    page = desk.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    dialog.get_by_label("Enable multiple batch sizes").check()
    field = dialog.get_by_label("Batch sizes", exact=True)
    chips = field.locator("xpath=ancestor::*[contains(@class,'TagsInput-root')]")
    page.evaluate("() => navigator.clipboard.writeText('1,8,32')")
    field.press("ControlOrMeta+v")
    expect(chips.locator(".mantine-Pill-label")).to_have_text(["1", "8", "32"])
    for word, reason in [
        ("0", "0 is too few"),
        ("-1", "-1 is too few"),
        ("abc", "“abc” is not a whole number"),
    ]:
        field.fill(word)
        field.press("Enter")
        expect(dialog.get_by_text(reason)).to_be_visible()
        expect(chips.locator(".mantine-Pill-label")).to_have_text(["1", "8", "32"])
    cores = dialog.get_by_label("Core counts", exact=True)
    cores.fill("9999")
    cores.press("Enter")
    expect(dialog.get_by_text("9999 is more than the")).to_be_visible()


def test_ux_09_an_engine_that_cannot_says_why_to_mouse_and_keyboard(desk, dialog):
    reason = "It does not read Script"
    engine = dialog.get_by_role("combobox", name="Inference engine")
    chosen = engine.input_value()
    option = desk.page.get_by_role("option", name="ONNX Runtime")
    engine.click()
    option.hover()
    expect(option).to_be_disabled()
    expect(option.get_by_text(reason)).to_be_in_viewport(ratio=1)
    option.click(force=True)  # it is refused, and the list stays to be read
    expect(option.get_by_text(reason)).to_be_visible()
    engine.press("Escape")
    expect(option).to_be_hidden()
    expect(dialog).to_be_visible()  # Escape closed the list, not the form

    # The pointer still rests where the list opens: it must not take the place of the arrow keys.
    engine.focus()
    engine.press("ArrowDown")
    expect(option).to_be_visible()
    for _ in range(desk.page.get_by_role("option").count()):
        if engine.get_attribute("aria-activedescendant") == option.get_attribute("id"):
            break
        engine.press("ArrowDown")
    expect(engine).to_have_attribute("aria-activedescendant", option.get_attribute("id") or "none")
    expect(option).to_have_attribute("data-combobox-selected", "true")  # one sees where one is
    expect(option.get_by_text(reason)).to_be_in_viewport(ratio=1)
    engine.press("Enter")
    expect(option.get_by_text(reason)).to_be_visible()
    engine.press("Escape")
    expect(engine).to_have_value(chosen)


@pytest.mark.engine("openvino")
def test_streams_are_asked_of_an_engine_that_has_them(desk, tmp_path):
    server = desk.server
    number = server.ask("/projects", {"name": "streams"})["id"]
    server.send_model(number, onnx_models.saved(onnx_models.linear(), tmp_path / "linear.onnx"))
    page = desk.open(f"/p/{number}/benchmarks?add=true")
    dialog = page.get_by_role("dialog", name="Create benchmark")
    plan = dialog.get_by_role("status", name="Plan")
    streams = dialog.get_by_label("Streams", exact=True)
    engine = dialog.get_by_role("combobox", name="Inference engine")

    def choose(name):
        engine.click()
        page.get_by_role("option", name=name).click()
        expect(engine).to_have_value(re.compile(name))

    choose("OpenVINO")
    streams.fill("1,2")
    expect(plan).to_contain_text("2 stream counts")
    expect(plan).to_contain_text("--streams 1,2")
    expect(dialog.get_by_role("button", name="RUN", exact=True)).to_be_in_viewport(ratio=1)
    choose("ONNX Runtime")
    expect(streams).to_have_count(0)
    expect(plan).not_to_contain_text("stream")


def test_a_draft_survives_closing(desk, dialog, project):
    dialog.get_by_label("Batch sizes", exact=True).fill("7")
    expect(dialog.get_by_role("status", name="Plan")).to_contain_text("--batch 7")
    dialog.get_by_role("button", name="CANCEL").click()
    expect(dialog).to_have_count(0)
    desk.page.get_by_role("button", name="ADD BENCHMARK").click()
    expect(dialog.get_by_label("Batch sizes", exact=True)).to_have_value("7")
    dialog.get_by_role("button", name="Start over").click()
    expect(dialog.get_by_label("Batch sizes", exact=True)).to_have_value("1")


def test_a_comparison_is_both_sides_and_each_cell_in_alternation(desk, dialog, project):
    server, number = desk.server, project[0]
    dialog.get_by_label("Enable comparison").check()
    expect(dialog.get_by_role("combobox", name="Comparing to")).to_be_visible()
    dialog.get_by_label("Enable multiple core counts").uncheck()
    expect(dialog.get_by_role("status", name="Plan")).to_contain_text("2 sides = 2 cells")
    dialog.get_by_role("button", name="RUN", exact=True).click()
    expect(desk.page.get_by_text("Selected 2")).to_be_visible()
    compare = desk.page.get_by_role("link", name="Compare", exact=True)
    newest = [row["id"] for row in server.ask(f"/benchmarks?project_id={number}")["items"][:2]]
    expect(compare).to_have_attribute(
        "href", f"/p/{number}/compare?a={min(newest)}&b={max(newest)}"
    )
    assert len(server.ask(f"/comparisons?project_id={number}")["items"]) == 1
    for job in server.ask(f"/jobs?project_id={number}")["items"]:
        server.ask(f"/jobs/{job['id']}/cancel", {}, "POST")
