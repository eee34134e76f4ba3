"""Benchmarks without a mouse."""

from playwright.sync_api import expect

from tests.web.keys import choose, focus, is_seen, tab_to
from tests.web.toys import benchmark, measured, stuck, toy, until_stuck


def test_ux_26_add_run_again_and_remove_by_keyboard(desk, tmp_path):
    server = desk.server
    project, model = toy(server, tmp_path, "keys", latency_us=100)
    first = measured(server, project, model, budget=0.3)
    page = desk.open(f"/p/{project}/benchmarks")
    expect(page.locator("article")).to_have_count(1)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)

    page.keyboard.press("b")
    expect(page.get_by_role("status", name="Plan")).to_contain_text("cell")
    page.keyboard.press("Control+Enter")
    card = page.locator("article").first
    expect(page.locator("article")).to_have_count(2)
    expect(card).to_be_focused()
    made = server.ask(f"/benchmarks?project_id={project}")["items"][0]

    page.keyboard.press(".")
    choose(page, "Cancel and keep partial")
    assert server.settled(f"/benchmarks/{made['id']}")["state"] == "cancelled"

    page.keyboard.press("Escape")
    focus(page, first["id"])
    page.keyboard.press(".")
    choose(page, "Re-run Benchmark")
    expect(page.get_by_text(f"re-run of #{first['id']}")).to_be_visible()
    expect(page.locator("article").first).to_be_focused()
    again = server.ask(f"/benchmarks?project_id={project}")["items"][0]
    server.settled(f"/benchmarks/{again['id']}")

    focus(page, again["id"])
    page.keyboard.press("x")
    expect(page.get_by_text("Selected 1")).to_be_visible()
    page.keyboard.press(".")
    choose(page, "Remove")
    expect(page.locator(f"#benchmark-{again['id']}")).to_have_count(0)
    expect(page.get_by_role("button", name="Undo").last).to_be_visible()


def test_ux_26_a_run_is_cancelled_by_keyboard(desk, tmp_path):
    project, model = stuck(desk.server, tmp_path, "halt")
    made = benchmark(desk.server, project, model, batch_sizes=[1, 8, 32])
    until_stuck(desk.server, made)
    page = desk.open(f"/p/{project}/benchmarks")
    stop = page.get_by_role("button", name=f"Cancel benchmark {made['id']}")
    expect(stop).to_be_visible()
    focus(page, made["id"])
    tab_to(page, stop)
    assert is_seen(page)
    page.keyboard.press("Enter")
    expect(page.get_by_text("2 of 3 cells are kept")).to_be_visible()
