"""The HTML report in a real browser: from a disk, light, dark, small and on paper."""

import pytest

import modeldyno
from modeldyno.present.reports.page import html_report
from tests.gui.browser import opened
from tests.scripts import script

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
COLOURS = "() => { const s = getComputedStyle(document.body); return [s.backgroundColor, s.color] }"
FITS = "() => document.documentElement.scrollWidth <= innerWidth"


@pytest.fixture
def report(tmp_path, starts_processes):
    a, b = script(tmp_path / "a.json", latency_us=100), script(tmp_path / "<b>&b.json")
    bench = modeldyno.bench(a, batch=[1, 2, 4], iterations=8, workspace=tmp_path / "workspace")
    compared = modeldyno.compare(a, b, pairs=2, workspace=tmp_path / "workspace")
    path = tmp_path / "report.html"
    path.write_text(html_report([bench, compared]), encoding="utf-8")
    return path


def test_a_report_opens_from_a_disk_and_asks_for_nothing(report):
    with opened("report") as tab:
        page, asked = tab.page, []
        page.on("request", lambda request: asked.append(request.url))
        page.emulate_media(color_scheme="light")
        page.goto(report.as_uri())
        light = page.evaluate(COLOURS)
        tab.picture("light")
        page.emulate_media(color_scheme="dark")
        dark = page.evaluate(COLOURS)
        tab.picture("dark")
        assert light == ["rgb(255, 255, 255)", "rgb(28, 32, 36)"]
        assert dark == ["rgb(20, 23, 26)", "rgb(228, 231, 234)"]
        assert page.locator("h2").all_inner_texts() == ["a.json", "a.json against <b>&b.json"]
        boxes = [chart.bounding_box() for chart in page.locator("figure svg").all()]
        assert len(boxes) == 3  # batches, twice, and the ratio
        assert all(box and box["width"] > 200 and box["height"] > 100 for box in boxes)
        assert page.evaluate(FITS)
        page.set_viewport_size({"width": 390, "height": 800})
        assert page.evaluate(FITS)
        assert page.pdf().startswith(b"%PDF")
        assert (asked, tab.complaints) == ([report.as_uri()], [])
