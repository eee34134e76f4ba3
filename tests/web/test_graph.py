"""The graph of a model: closed groups, search, details, keys, a table for who prefers it."""

import pytest
from onnx import helper
from playwright.sync_api import expect

from tests.onnx_models import FLOAT, model, saved, value, weight
from tests.web.desk import PHONE, at_desk

STAGES, DEPTH = 4, 70
LONG = "a_name_that_is_longer_than_any_box_would_like_it_to_be"


def stages():
    """Four groups of seventy nodes, one after the other, and a node with a very long name."""
    nodes, last = [], "x"
    for stage in range(STAGES):
        for place in range(DEPTH):
            op = ("MatMul", "Tanh", "Add")[place % 3]
            inputs = {"MatMul": [last, "w"], "Tanh": [last], "Add": [last, f"out{stage}_0"]}[op]
            made = f"out{stage}_{place}"
            name = f"net/stage{stage}/{op}_{place}"
            nodes.append(helper.make_node(op, inputs, [made], name=name))
            last = made
    nodes.append(helper.make_node("Tanh", [last], ["y"], name=LONG))
    ends = [value("x", FLOAT, ["batch", 8])], [value("y", FLOAT, ["batch", 8])]
    return model(nodes, *ends, [weight("w", 8, 8)])


@pytest.fixture(scope="module")
def address(server, tmp_path_factory):
    project = server.ask("/projects", {"name": "Graphs"})["id"]
    file = saved(stages(), tmp_path_factory.mktemp("models") / "stages.onnx")
    number = server.send_model(project, file)["id"]
    return f"/p/{project}/models/{number}/graph"


def box(page, id_):
    return page.locator(f'.graph-box[data-box="{id_}"]')


def middle(found):
    rect = found.bounding_box()
    assert rect
    return rect["x"] + rect["width"] / 2, rect["y"] + rect["height"] / 2


def clipped(page):
    """Words that reach beyond their box."""
    return page.evaluate(
        """() => [...document.querySelectorAll('.graph-box, .graph-head')].flatMap(box => {
          const outer = box.getBoundingClientRect();
          return [...box.querySelectorAll('.graph-title, .graph-name')].filter(words => {
            const range = document.createRange();
            range.selectNodeContents(words);
            const inner = range.getBoundingClientRect();
            return inner.left < outer.left - 1 || inner.right > outer.right + 1
              || inner.top < outer.top - 1 || inner.bottom > outer.bottom + 1;
          }).map(words => words.textContent)
        })"""
    )


def test_ux_21_a_graph_opens_collapsed_search_finds_a_node_and_expanding_keeps_its_place(
    desk, address
):
    page = desk.open(address)
    closed = box(page, "group:net/stage3")
    expect(closed).to_be_visible()
    expect(page.get_by_text("281 nodes · 7 shown")).to_be_visible()
    assert clipped(page) == []

    before = middle(closed.get_by_role("button"))
    closed.get_by_role("button", name="Open stage3").click()
    minus = page.get_by_role("button", name="Close stage3")
    expect(minus).to_be_visible()
    assert middle(minus) == pytest.approx(before, abs=2)
    assert clipped(page) == []

    search = page.get_by_role("textbox", name="Search nodes")
    search.fill("/stage2.*_29$/")
    expect(page.get_by_role("option")).to_have_count(1)
    search.press("Enter")
    found = box(page, "node:net/stage2/Add_29")
    expect(found).to_have_attribute("data-selected", "true")
    expect(found).to_be_in_viewport()
    details = page.get_by_role("region", name="Details")
    expect(details).to_contain_text("net/stage2/Add_29")
    expect(details).to_contain_text("float32 [batch, 8]")
    where = page.get_by_role("navigation", name="Location")
    expect(where).to_contain_text("stage2")

    page.reload()  # the address is the view
    expect(found).to_have_attribute("data-selected", "true")
    assert "stage3" in page.url

    page.goto(page.url.partition("?")[0] + f"?node={LONG}")
    expect(box(page, f"node:{LONG}")).to_be_in_viewport()
    assert clipped(page) == []


def test_keys_walk_along_edges_and_open_and_close_groups(desk, address):
    page = desk.open(f"{address}?expand=/")
    canvas = page.get_by_role("application", name="Graph of stages.onnx")
    canvas.focus()
    page.keyboard.press("ArrowDown")
    expect(box(page, "input:x")).to_have_attribute("data-selected", "true")
    page.keyboard.press("ArrowDown")
    expect(box(page, "group:net")).to_have_attribute("data-selected", "true")
    page.keyboard.press("Enter")
    expect(box(page, "group:net/stage0")).to_be_visible()
    page.keyboard.press("Backspace")
    expect(box(page, "group:net")).to_be_visible()
    page.keyboard.press("/")
    expect(page.get_by_role("textbox", name="Search nodes")).to_be_focused()


def test_everything_opens_closes_and_is_a_table_too(desk, address):
    page = desk.open(address)
    page.get_by_role("button", name="Expand all").click()
    expect(page.get_by_text("281 nodes · 283 shown")).to_be_visible()
    page.get_by_role("button", name="Collapse all").click()
    expect(page.get_by_text("281 nodes · 4 shown")).to_be_visible()
    page.get_by_text("Table", exact=True).click()
    table = page.get_by_role("table", name="Nodes of the graph")
    expect(table).to_have_attribute("aria-rowcount", "282")
    table.get_by_role("button", name="Operator").click()
    expect(table.locator("tbody tr[aria-rowindex='2']")).to_contain_text("Add")
    table.get_by_text("net/stage0/Add_2", exact=True).click()
    expect(box(page, "node:net/stage0/Add_2")).to_have_attribute("data-selected", "true")


def test_a_graph_can_be_taken_away_as_a_picture_of_all_of_it(desk, address, tmp_path):
    page = desk.open(f"{address}?expand=*")
    expect(page.get_by_text("281 nodes · 283 shown")).to_be_visible()

    def saved_as(kind):
        page.get_by_role("button", name="Save").click()
        with page.expect_download() as waiting:
            page.get_by_role("menuitem", name=kind).click()
        waiting.value.save_as(tmp_path / kind)
        return (tmp_path / kind).read_bytes()

    drawn = saved_as("SVG").decode()
    assert drawn.count("<text") > 2 * 281  # an operator and a name each
    assert "Add_29" in drawn
    assert "<script" not in drawn
    assert saved_as("PNG").startswith(b"\x89PNG")


def test_a_graph_has_no_barriers_in_either_theme_and_fits_a_phone(browser, server, desk, address):
    page = desk.open(f"{address}?expand=net/stage1&node=net/stage1/Add_2")
    for theme in ("light", "dark"):
        desk.turn(theme)
        expect(box(page, "node:net/stage1/Add_2")).to_be_visible()
        assert desk.barriers() == []
        desk.picture(f"graph-{theme}")
    with at_desk(browser, server, PHONE) as phone:
        phone.open(address)
        expect(box(phone.page, "group:net/stage3")).to_be_attached()
        assert not phone.is_too_wide()
        phone.picture("graph-phone")
