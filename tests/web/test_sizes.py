"""Sizes of open dimensions, as an axis of a benchmark: in the form, the list, the result."""

import pytest
from playwright.sync_api import expect

from tests import onnx_models


@pytest.fixture(scope="module")
def project(server, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    file = onnx_models.saved(onnx_models.tokens(), folder / "tokens.onnx")
    number = server.ask("/projects", {"name": "sizes"})["id"]
    server.send_model(number, file)
    return number


def test_sizes_are_chosen_planned_measured_and_shown(desk, project):
    page = desk.open(f"/p/{project}/benchmarks?add=true")
    dialog = page.get_by_role("dialog", name="Create benchmark")
    plan = dialog.get_by_role("status", name="Plan")
    dialog.get_by_label("Enable multiple core counts").uncheck()
    field = dialog.get_by_label("Sizes of seq", exact=True)
    for size in ("16", "abc", "64"):
        field.fill(size)
        field.press("Enter")
    expect(dialog.get_by_text("“abc” is not a whole number")).to_have_count(0)  # mended since
    expect(plan).to_contain_text("1 core count × 1 batch size × 2 sizes of seq = 2 cells")
    expect(plan).to_contain_text("--dim seq=16,64")
    dialog.get_by_role("button", name="More:").click()
    dialog.get_by_text("Quick, 2 s").click()
    expect(plan).to_contain_text("--quick")
    desk.picture("sizes-form")
    dialog.get_by_role("button", name="RUN", exact=True).click()
    expect(page.locator("article").first).to_be_focused()
    made = desk.server.ask(f"/benchmarks?project_id={project}")["items"][0]
    found = desk.server.settled(f"/benchmarks/{made['id']}")
    assert [cell["dims"] for cell in found["cells"]] == [{"seq": 16}, {"seq": 64}]

    page = desk.open(f"/p/{project}/benchmarks/{made['id']}")
    expect(page.get_by_text("seq 16, 64").first).to_be_visible()
    expect(page.get_by_text("Scaling in seq at 1 core · batch 1").first).to_be_visible()
    variants = page.get_by_role("combobox", name="Engine")
    desk.still()
    desk.picture("sizes-result")
    variants.select_option(label="ONNX Runtime · seq 64")
    expect(page.get_by_text("1 core · batch 1 · seq 64").first).to_be_visible()
    assert desk.barriers() == []

    page = desk.open(f"/p/{project}/benchmarks?layout=table")
    expect(page.get_by_role("cell", name="seq 16, 64")).to_be_visible()
    desk.picture("sizes-table")

    page = desk.open(f"/p/{project}/benchmarks?add=true&from={made['id']}")
    again = page.get_by_role("dialog", name="Create benchmark").get_by_role("status", name="Plan")
    expect(again).to_contain_text("--dim seq=16,64")


def test_a_comparison_takes_each_size_of_both_in_turns(desk, project):
    page = desk.open(f"/p/{project}/benchmarks?add=true")
    dialog = page.get_by_role("dialog", name="Create benchmark")
    dialog.get_by_label("Enable multiple core counts").uncheck()
    field = dialog.get_by_label("Sizes of seq", exact=True)
    field.fill("16,64")
    field.press("Enter")
    dialog.get_by_label("Enable comparison").check()
    plan = dialog.get_by_role("status", name="Plan")
    expect(plan).to_contain_text("2 sizes of seq")
    expect(plan).to_contain_text("--dim seq=64")
    commands = plan.locator("code").inner_text().splitlines()
    assert sum("modeldyno compare" in line for line in commands) == 2
