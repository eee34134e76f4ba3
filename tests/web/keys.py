"""The workbench without a mouse."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect


def is_seen(page: Page) -> bool:
    """Whether one sees where the focus is."""
    return bool(
        page.evaluate(
            "() => { const at = document.activeElement;"
            " return at.matches(':focus-visible')"
            " && (getComputedStyle(at).outlineStyle !== 'none' || at.closest('[role=menu]')) }"
        )
    )


def focus(page: Page, number: int) -> None:
    """By j and k, as the sheet of keys says."""
    card = page.locator(f"#benchmark-{number}")
    expect(card).to_be_visible()
    places = page.locator("[data-benchmark]").evaluate_all("all => all.map(one => one.id)")
    page.evaluate("() => document.activeElement.blur()")
    for _ in range(places.index(f"benchmark-{number}") + 1):
        page.keyboard.press("j")
    expect(card).to_be_focused()


def tab_to(page: Page, wanted: Locator) -> None:
    for _ in range(30):
        page.keyboard.press("Tab")
        if wanted.evaluate("one => one === document.activeElement"):
            return
    raise AssertionError("Tab does not reach it")


def choose(page: Page, name: str) -> None:
    """In the menu that is open: arrows until it is there, then Enter."""
    item = page.get_by_role("menuitem", name=re.compile(name))
    expect(item).to_be_visible()
    for _ in range(12):
        page.keyboard.press("ArrowDown")
        if item.evaluate("one => one === document.activeElement"):
            page.keyboard.press("Enter")
            return
    raise AssertionError(f"arrows do not reach {name}")
