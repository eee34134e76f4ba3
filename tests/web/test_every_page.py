"""Every page: for everybody, in both themes, on a phone and enlarged."""

from __future__ import annotations

from dataclasses import dataclass, field

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
    "comparison": ("/p/{p}/compare?comparison={c}", "B by A"),
    "profiles": ("/p/{p}/profiles", "linear.onnx"),
    "profile": ("/p/{p}/profiles/{f}", "Gemm"),
    "notes": ("/p/{p}/notes", "Notes"),
    "project settings": ("/p/{p}/settings", "Everything"),
    "queue": ("/queue", "Two batches"),
    "system": ("/system", "Hardware"),
    "settings": ("/settings", "Single-key shortcuts"),
}


@dataclass
class Seen:
    barriers: dict[str, list[str]] = field(default_factory=dict)
    too_wide: list[str] = field(default_factory=list)


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
def seen(browser, server, numbers):
    """Each page looked at in both themes: what it says, what bars people, how wide it is."""
    seen = Seen()
    with at_desk(browser, server) as desk:
        for theme in ("light", "dark"):
            desk.turn(theme)
            for name, (address, words) in PAGES.items():
                _look(desk, seen, f"{name} {theme}", address.format(**numbers), words)
    return seen


def _look(desk: Desk, seen: Seen, name: str, address: str, words: str) -> None:
    page = desk.page
    page.set_viewport_size(LAPTOP)
    desk.open(address)
    expect(page.locator("#content").get_by_text(words).first).to_be_visible()
    desk.still()
    desk.picture(f"{name} laptop")
    if found := desk.barriers():
        seen.barriers[name] = found
    for width, size in (("phone", PHONE), ("enlarged", ENLARGED)):
        page.set_viewport_size(size)
        expect(page.locator("h1").first).to_be_visible()
        if desk.is_too_wide():
            seen.too_wide.append(f"{name} {width}")
        if width == "phone":
            desk.picture(f"{name} phone")


def test_ux_27_nothing_bars_anybody_in_either_theme(seen):
    assert seen.barriers == {}


def test_ux_28_no_page_is_wider_than_a_phone_or_an_enlarged_window(seen):
    assert seen.too_wide == []


def test_ux_28_a_phone_reaches_what_matters(browser, server, numbers):
    with at_desk(browser, server, PHONE) as desk:
        page = desk.open("/p/{p}/benchmarks".format(**numbers))
        page.get_by_role("button", name="ADD BENCHMARK").click()
        expect(page.get_by_role("button", name="RUN")).to_be_visible()
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Menu", exact=True).click()
        page.get_by_role("link", name="Queue").click()
        expect(page.get_by_role("heading", name="Queue")).to_be_visible()


def test_ux_29_dark_comes_at_once_to_charts_too_and_stays(desk, numbers):
    page = desk.open("/p/{p}/compare?comparison={c}".format(**numbers))
    chart = page.get_by_role("img", name="Ratio, B by A").locator("svg text").first
    expect(chart).to_be_visible()
    light = chart.get_attribute("fill")
    page.get_by_role("button", name="Dark theme").click()
    expect(page.locator("html")).to_have_attribute("data-mantine-color-scheme", "dark")
    expect(chart).not_to_have_attribute("fill", light or "")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-mantine-color-scheme", "dark")
    expect(chart).not_to_have_attribute("fill", light or "")
