"""How quick a page with a thousand benchmarks answers: typing, menus, dialogs, lists, themes.

Each waits until the one before is over: what is measured is the answer to one, not a queue of them.
"""

from __future__ import annotations

import statistics

from playwright.sync_api import Page, expect

from benchmarks.page.budgets import Budgets
from benchmarks.page.desk import PATIENCE_MS, Desk, settled

SETTLING_MS = 500  # the browser tells of an interaction some frames later


def interactions(budgets: Budgets, desk: Desk, project: int) -> None:
    expect.set_options(timeout=PATIENCE_MS)
    with (
        desk.browser() as browser,
        desk.tab(browser.new_context(), f"/p/{project}/benchmarks") as page,
    ):
        page.wait_for_selector("[role=region] tbody tr td")
        settled(page)
        for act in (filter_by_name, show_more, search, choose, add, turn_theme):
            act(page)
            settled(page)
        page.wait_for_timeout(SETTLING_MS)
        answers = sorted(page.evaluate("() => Object.values(window.answers)"))
    # Those below 16 ms are not told by the browser, so this is a bound from above.
    p75 = statistics.quantiles(answers, n=4)[2] if len(answers) > 1 else sum(answers)
    note = f"{len(answers)} of 16 ms or more, worst {max(answers, default=0):.0f}"
    budgets.tell("interaction to next paint, p75", p75, 200, "ms", note=note)


def filter_by_name(page: Page) -> None:
    for word in ("run 1", "run 77", "run 9"):
        field = page.get_by_placeholder("Filter by name")
        field.click()
        page.keyboard.type(word, delay=40)
        page.wait_for_url("**text=*")
        settled(page)
        field.click()
        page.keyboard.press("Control+a")
        page.keyboard.press("Delete")
        page.wait_for_function("() => !location.search.includes('text=')")
        settled(page)


def show_more(page: Page) -> None:
    for _ in range(3):
        page.get_by_role("button", name="Show more").last.click()
        settled(page)


def search(page: Page) -> None:
    for _ in range(4):
        page.get_by_role("button", name="Search").click()
        # It is loaded when first asked for: keys pressed before would not reach it.
        box = page.get_by_placeholder("Search").or_(page.locator("[role=dialog] input")).first
        expect(box).to_be_focused()
        page.keyboard.type("queue", delay=40)
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)


def choose(page: Page) -> None:
    for number in range(4):
        page.get_by_role("checkbox").nth(number).click()
    page.get_by_role("button", name="Clear").click()


def add(page: Page) -> None:
    for _ in range(2):
        page.get_by_role("button", name="ADD BENCHMARK").click()
        expect(page.get_by_role("button", name="RUN", exact=True)).to_be_visible()
        page.get_by_role("button", name="CANCEL").click()
        expect(page.get_by_role("dialog")).to_have_count(0)


def turn_theme(page: Page) -> None:
    for name in ("Dark theme", "Light theme") * 3:
        page.get_by_role("button", name=name).click()
