"""Benchmarks without a mouse."""

import re

from playwright.sync_api import expect

from tests.web.toys import benchmark, measured, stuck, toy, until_stuck


def is_seen(page) -> bool:
    """Whether one sees where the focus is."""
    return bool(
        page.evaluate(
            "() => { const at = document.activeElement;"
            " return at.matches(':focus-visible')"
            " && (getComputedStyle(at).outlineStyle !== 'none' || at.closest('[role=menu]')) }"
        )
    )


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


def focus(page, number: int) -> None:
    """By j and k, as the sheet of keys says."""
    card = page.locator(f"#benchmark-{number}")
    expect(card).to_be_visible()
    places = page.locator("[data-benchmark]").evaluate_all("all => all.map(one => one.id)")
    page.evaluate("() => document.activeElement.blur()")
    for _ in range(places.index(f"benchmark-{number}") + 1):
        page.keyboard.press("j")
    expect(card).to_be_focused()


def tab_to(page, wanted) -> None:
    for _ in range(30):
        page.keyboard.press("Tab")
        if wanted.evaluate("one => one === document.activeElement"):
            return
    raise AssertionError("Tab does not reach it")


def choose(page, name: str) -> None:
    """In the menu that is open: arrows until it is there, then Enter."""
    item = page.get_by_role("menuitem", name=re.compile(name))
    expect(item).to_be_visible()
    for _ in range(12):
        page.keyboard.press("ArrowDown")
        if item.evaluate("one => one === document.activeElement"):
            page.keyboard.press("Enter")
            return
    raise AssertionError(f"arrows do not reach {name}")
