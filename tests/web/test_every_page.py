"""Every page: for everybody, in both themes, on a phone and enlarged."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import ViewportSize, expect

from tests import onnx_models
from tests.web.desk import LAPTOP, PHONE, Desk, at_desk

# What 1366 × 768 leaves at 200 %.
ENLARGED = ViewportSize(width=683, height=384)
PAGES = {
    "home": ("/", "Everything"),
    "new": ("/new", "New project"),
    "overview": ("/p/{p}", "Activity"),
    "models": ("/p/{p}/models", "linear.onnx"),
    "model": ("/p/{p}/models/{m}", "linear.onnx"),
    "graph": ("/p/{p}/models/{m}/graph", "Gemm"),
    "benchmarks": ("/p/{p}/benchmarks", "Two batches"),
    "benchmark": ("/p/{p}/benchmarks/{b}", "Two batches"),
    "compare": ("/p/{p}/compare?a={b}:0&b={b}:1", "What differs"),
    "comparison": ("/p/{p}/compare?comparison={c}", "B to A"),
    "profiles": ("/p/{p}/profiles", "linear.onnx"),
    "profile": ("/p/{p}/profiles/{f}", "Gemm"),
    "notes": ("/p/{p}/notes", "Notes"),
    "project settings": ("/p/{p}/settings", "Everything"),
    "queue": ("/queue", "Two batches"),
    "system": ("/system", "Hardware"),
    "settings": ("/settings", "Single-key shortcuts"),
}


@pytest.fixture(scope="module")
def numbers(server, tmp_path_factory):
    """A project with one of everything."""
    ask = server.ask
    project = ask("/projects", {"name": "Everything"})["id"]
    file = onnx_models.saved(
        onnx_models.linear(), tmp_path_factory.mktemp("models") / "linear.onnx"
    )
    model = server.send_model(project, file)["id"]
    of = {"project_id": project, "model_id": model}
    exactly = {"iterations": 20, "warmup": 1}
    benchmark = ask("/benchmarks", of | exactly | {"name": "Two batches", "batch_sizes": [1, 8]})
    sides = {"a": {"model_id": model}, "b": {"model_id": model, "batch_size": 8}}
    comparison = ask("/comparisons", {"project_id": project, "pairs": 4} | sides)
    profile = ask("/profiles", of | {"repeats": 1})
    found = {"p": project, "m": model, "b": benchmark["id"]}
    found |= {"c": comparison["id"], "f": profile["id"]}
    for path in (
        f"/benchmarks/{found['b']}",
        f"/comparisons/{found['c']}",
        f"/profiles/{found['f']}",
    ):
        ended = server.settled(path)
        assert ended["state"] == "done", ended["latest_run"]["failure"]
    return found


@pytest.fixture(scope="module")
def tab(browser, server):
    """One tab for all pages: signing in anew for each would only take time."""
    with at_desk(browser, server) as found:
        yield found


@pytest.mark.parametrize("name", PAGES)
def test_ux_27_and_28_every_page_is_for_everybody_in_both_themes_and_any_width(tab, numbers, name):
    address, words = PAGES[name]
    tab.page.set_viewport_size(LAPTOP)
    tab.open(address.format(**numbers))
    expect(tab.page.locator("#content").get_by_text(words).first).to_be_visible()
    assert looked_at(tab, f"{name} light") == ([], [])
    tab.page.get_by_role("button", name="Dark theme").click()
    expect(tab.page.locator("html")).to_have_attribute("data-mantine-color-scheme", "dark")
    try:
        assert looked_at(tab, f"{name} dark") == ([], [])
    finally:
        tab.page.get_by_role("button", name="Light theme").click()


def looked_at(tab: Desk, name: str) -> tuple[list[str], list[str]]:
    """What bars people, and the widths at which it must be scrolled sideways; pictures are kept."""
    tab.still()
    tab.picture(f"{name} laptop")
    barriers, too_wide = tab.barriers(), []
    for width, size in (("enlarged", ENLARGED), ("phone", PHONE)):
        tab.page.set_viewport_size(size)
        tab.still()
        if tab.is_too_wide():
            too_wide.append(width)
        open_tab = tab.page.get_by_role("tablist", name="Pages of this project").get_by_role(
            "tab", selected=True
        )
        if open_tab.count():  # a window that became narrow still shows where one is
            expect(open_tab).to_be_in_viewport(ratio=0.95)
    tab.picture(f"{name} phone")
    tab.page.set_viewport_size(LAPTOP)
    return barriers, too_wide


def test_ux_28_a_phone_reaches_what_matters(browser, server, numbers):
    with at_desk(browser, server, PHONE) as desk:
        page = desk.open("/p/{p}/benchmarks".format(**numbers))
        page.get_by_role("button", name="ADD BENCHMARK").click()
        expect(page.get_by_role("button", name="RUN")).to_be_visible()
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Menu", exact=True).click()
        page.get_by_role("link", name="Queue").click()
        expect(page.get_by_role("heading", name="Queue", exact=True)).to_be_visible()


# Of every chart: what its words are coloured with, and what they stand on.
INKS = """() => [...document.querySelectorAll("figure")].map((figure) => ({
    name: figure.querySelector("figcaption").textContent,
    ground: getComputedStyle(figure).backgroundColor,
    inks: [...new Set([...figure.querySelectorAll("svg text")].map(
        (text) => getComputedStyle(text).fill))],
}))"""
WITH_CHARTS = (
    "/p/{p}",
    "/p/{p}/benchmarks/{b}?tab=batches",
    "/p/{p}/benchmarks/{b}?tab=raw",
    "/p/{p}/compare?a={b}:0&b={b}:1",
    "/p/{p}/compare?comparison={c}",
)


def test_ux_29_dark_comes_at_once_to_every_chart_and_stays(desk, numbers):
    page = desk.page
    for address in WITH_CHARTS:
        desk.open(address.format(**numbers))
        light = inks(desk)
        page.get_by_role("button", name="Dark theme").click()
        expect(page.locator("html")).to_have_attribute("data-mantine-color-scheme", "dark")
        dark = inks(desk)  # of the same page: nothing was loaded anew
        for before, after in zip(light, dark, strict=True):
            assert not set(before["inks"]) & set(after["inks"]), (before, after)
            assert before["ground"] != after["ground"]
            for chart in (before, after):
                assert min(contrast(ink, chart["ground"]) for ink in chart["inks"]) >= 4.5, chart
        page.reload()
        expect(page.locator("html")).to_have_attribute("data-mantine-color-scheme", "dark")
        assert inks(desk) == dark
        page.get_by_role("button", name="Light theme").click()


def inks(desk: Desk) -> list[dict[str, Any]]:
    """Once every chart is drawn."""
    drawn = desk.page.locator("figure").filter(has=desk.page.locator("[role=img] svg text"))
    expect(drawn.first).to_be_visible()
    desk.still()
    expect(desk.page.locator("figure")).to_have_count(drawn.count())
    found: list[dict[str, Any]] = desk.page.evaluate(INKS)
    return found


def contrast(one: str, other: str) -> float:
    """As WCAG 2 reckons it."""
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
