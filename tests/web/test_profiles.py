"""Profiles: added by two clicks, drawn, told as a table, compared, and led to the graph."""

import json
import re

import pytest
from onnx import helper
from playwright.sync_api import expect

from tests.onnx_models import FLOAT, model, saved, value, weight
from tests.web.desk import PHONE, at_desk

WIDTHS = (8, 64, 128)


def mixed():
    """Three products of different sizes with something cheap between: nothing fuses them."""
    nodes, weights, last, width = [], [], "x", 16
    for number, wide in enumerate(WIDTHS):
        weights.append(weight(f"w{number}", width, wide))
        product = [last, f"w{number}"], [f"p{number}"]
        nodes.append(helper.make_node("MatMul", *product, name=f"block{number}/MatMul_{number}"))
        squashed = [f"p{number}"], [f"t{number}"]
        nodes.append(helper.make_node("Tanh", *squashed, name=f"block{number}/Tanh_{number}"))
        last, width = f"t{number}", wide
    ends = [value("x", FLOAT, ["batch", 16])], [value(last, FLOAT, ["batch", width])]
    return model(nodes, *ends, weights)


@pytest.fixture(scope="module")
def made(server, tmp_path_factory):
    """Two profiles of one model: small batches, then large ones."""
    project = server.ask("/projects", {"name": "Profiles"})["id"]
    file = saved(mixed(), tmp_path_factory.mktemp("models") / "mixed.onnx")
    number = server.send_model(project, file)["id"]
    asked = {"project_id": project, "model_id": number, "cores": 1, "repeats": 4}
    ids = [
        server.ask("/profiles", asked | {"batch_size": size, "name": f"batch of {size}"})["id"]
        for size in (1, 256)
    ]
    for id_ in ids:
        assert server.settled(f"/profiles/{id_}")["state"] == "done"
    return project, ids


def document(server, profile):
    run = server.ask(f"/profiles/{profile}")["agreement"]["run_id"]
    return server.ask(f"/runs/{run}/result")


def first_column(table):
    return table.locator("tbody td:first-child").all_inner_texts()


def test_a_profile_is_two_clicks_away_and_says_how_far_it_is(desk, server, tmp_path):
    project = server.ask("/projects", {"name": "Empty"})["id"]
    server.send_model(project, saved(mixed(), tmp_path / "mixed.onnx"))
    page = desk.open(f"/p/{project}/profiles")
    expect(page.get_by_text("No profile yet")).to_be_visible()
    page.get_by_role("button", name="ADD PROFILE").click()
    page.get_by_role("button", name="RUN").click()
    expect(page).to_have_url(re.compile(r"/profiles/\d+$"))
    expect(page.get_by_text("Time by operator")).to_be_visible(timeout=240_000)
    expect(page.get_by_text("A call without the profiler")).to_be_visible()


def test_bars_treemap_and_table_tell_the_numbers_of_the_api(desk, server, made):
    project, (profile, _) = made
    told = document(server, profile)
    page = desk.open(f"/p/{project}/profiles/{profile}")
    figure = page.locator("figure")
    expect(figure.locator("svg text", has_text="MatMul").first).to_be_visible()
    figure.get_by_role("button", name="View as table").click()
    cells = figure.locator("tbody tr").first.locator("td").all_inner_texts()
    slowest = told["operators"][0]
    assert cells[0] == slowest["op_type"]
    assert float(cells[2]) == pytest.approx(slowest["total_ms"]["value"])
    ends = [slowest["total_ms"]["low"], slowest["total_ms"]["high"]]
    assert [float(cell) for cell in cells[3:5]] == pytest.approx(ends)
    page.get_by_text("Treemap", exact=True).click()
    # On a busy machine a light operator has no time, and so no area.
    for row in told["operators"][:2]:
        if row["total_ms"]["value"] is not None:
            expect(figure.locator("svg text", has_text=row["op_type"]).first).to_be_visible()
    page.get_by_text("Table", exact=True).click()
    page.get_by_label("Group by").select_option("node")
    table = page.get_by_role("table", name="Time by node")
    expect(table).to_be_visible()
    assert first_column(table) == [row["node"] for row in told["nodes"]]
    expect(page).to_have_url(re.compile(r"by=node.*view=table|view=table.*by=node"))
    limits = page.get_by_role("region", name="What limits the time")
    expect(limits).to_contain_text("peaks are not known: run modeldyno doctor --peaks")
    expect(limits.get_by_role("button", name="Copy the command")).to_be_visible()
    expect(table.get_by_role("columnheader", name="GFLOP/s")).to_be_visible()
    expect(table.get_by_role("columnheader", name="Limit")).to_have_count(0)
    with page.expect_download() as waiting:
        page.get_by_role("button", name="JSON").click()
    assert json.loads(waiting.value.path().read_text()) == told
    with page.expect_download() as waiting:
        page.get_by_role("link", name="CSV").click()
    assert waiting.value.path().read_text().startswith("node,op_type")


def test_ux_20_a_profile_diff_is_sorted_by_change_and_leads_to_the_graph(desk, server, made):
    project, (small, large) = made
    a, b = (
        {row["node"]: row["total_ms"]["value"] for row in document(server, number)["nodes"]}
        for number in (small, large)
    )
    sides = {name: (a.get(name, 0), b.get(name, 0)) for name in {*a, *b}}
    # A time that is not known has no change, and stands last.
    changes = {name: 0 if None in side else side[1] - side[0] for name, side in sides.items()}
    page = desk.open(f"/p/{project}/profiles/{small}?by=node")
    page.get_by_label("Diff with").select_option(str(large))
    expect(page.get_by_text("Batch size: 1 in A, 256 in B")).to_be_visible()
    figure = page.locator("figure")
    figure.get_by_role("button", name="View as table").click()
    table = figure.get_by_role("table")
    expect(table).to_be_visible()
    names = first_column(table)
    assert [abs(changes[name]) for name in names] == sorted(
        map(abs, changes.values()), reverse=True
    )
    figure.get_by_role("button", name="View as table").click()
    figure.locator("svg text", has_text="block2/MatMul_2").first.click()
    expect(page).to_have_url(re.compile(r"/graph\?"))
    node = page.locator('.graph-box[data-box="node:block2/MatMul_2"]')
    expect(node).to_have_attribute("data-selected", "true")
    expect(page.get_by_role("region", name="Details")).to_contain_text("of a call")
    expect(node).to_contain_text(re.compile("[mµ]s"))


def test_profiles_have_no_barriers_in_either_theme_and_fit_a_phone(browser, server, desk, made):
    project, (small, large) = made
    places = [f"/p/{project}/profiles", f"/p/{project}/profiles/{small}?diff={large}"]
    for place in places:
        page = desk.open(place)
        for theme in ("light", "dark"):
            desk.turn(theme)
            expect(page.get_by_text("batch of 1").first).to_be_visible()
            assert desk.barriers() == []
    with at_desk(browser, server, PHONE) as phone:
        for number, place in enumerate([*places, f"/p/{project}/profiles/{small}"]):
            phone.open(place)
            phone.still()
            assert not phone.is_too_wide()
            phone.picture(f"profiles-phone-{number}")
