"""A benchmark on its way: what the page shows of it, and how it is stopped and goes on."""

import logging
import re
from datetime import UTC, datetime

import pytest
from playwright.sync_api import expect

from tests.scripts import fault
from tests.web.toys import benchmark, stuck, toy, until_stuck

logger = logging.getLogger(__name__)

BATCHES = [1, 8, 32]


@pytest.fixture
def begun(desk, tmp_path):
    """Starts a run that will do some of its sessions and no more; cancelled when the test is over.
    The longer its budget, the more would be left to do."""
    jobs = []

    def begin(budget="default"):
        project, model = stuck(desk.server, tmp_path, tmp_path.name)
        made = benchmark(desk.server, project, model, batch_sizes=BATCHES, budget=budget)
        jobs.append(made["latest_run"]["job_id"])
        return desk.server, made

    yield begin
    for job in jobs:
        desk.server.ask(f"/jobs/{job}/cancel", {}, "POST")
        desk.server.settled(f"/jobs/{job}")


@pytest.fixture
def running(begun):
    return begun()


@pytest.fixture
def paused(desk):
    desk.server.ask("/queue/pause", {}, "POST")
    yield
    desk.server.ask("/queue/resume", {}, "POST")


def card_of(desk, made):
    desk.open(f"/p/{made['project_id']}/benchmarks")
    return desk.page.locator(f"#benchmark-{made['id']}")


def percent_done(server, job) -> str:
    """As the server counts it, when eleven sessions are there and the twelfth never ends."""
    progress = server.ask(f"/jobs/{job}")["progress"]
    assert progress["units_done"] == 11
    assert progress["units_planned"] >= 36
    return str(100 * 11 // progress["units_planned"])


def share(card) -> int:
    bar = card.get_by_role("progressbar")
    expect(bar).to_be_visible()
    return int(float(bar.get_attribute("aria-valuenow") or 0))


# What every progress bar of the page said, in order.
WATCH = """() => {
    window.percents = [];
    new MutationObserver(() => {
        const bar = document.querySelector("article [role=progressbar]");
        const now = bar && Number(bar.getAttribute("aria-valuenow"));
        if (bar && window.percents.at(-1) !== now) window.percents.push(now);
    }).observe(document.body, {subtree: true, childList: true, attributes: true});
}"""


def test_ux_10_a_running_card_moves_and_the_page_stays_usable(desk, paused, running):
    server, made = running
    card = card_of(desk, made)
    expect(card.get_by_text("Queued #1")).not_to_have_count(0)
    desk.page.evaluate(WATCH)
    server.ask("/queue/resume", {}, "POST")
    done = percent_done(server, until_stuck(server, made))
    expect(card.get_by_role("progressbar")).to_have_attribute("aria-valuenow", done)
    percents = desk.page.evaluate("() => window.percents")
    assert len(percents) >= 3, percents
    assert percents == sorted(percents)
    expect(card.get_by_text("ETA")).to_be_visible()
    expect(card.get_by_text("Live estimate")).to_be_visible()
    card.get_by_role("button", name="1 core · batch 1:").click()
    expect(card.get_by_text("measuring, 0.2")).to_contain_text("4 sessions")
    card.get_by_role("button", name="1 core · batch 8:").click()
    expect(card.get_by_text("measuring, 0.2")).to_contain_text("3 sessions")
    desk.page.get_by_label("Filter by name").fill("no such thing")
    expect(desk.page.get_by_text("No benchmark name contains")).to_be_visible()


def test_a_running_card_has_the_cells_of_the_model_and_says_why(desk, paused, tmp_path):
    inputs = [{"name": "x", "dtype": "float32", "shape": [1, 4]}]
    faults = [fault("hang", session=3)]
    project, model = toy(
        desk.server, tmp_path, "fixed", latency_us=200, faults=faults, inputs=inputs
    )
    made = benchmark(desk.server, project, model, batch_sizes=[1, 8], budget="thorough")
    card = card_of(desk, made)
    cells = card.get_by_role("button", name="1 core · batch")
    expect(cells).to_have_count(2)  # as requested
    desk.server.ask("/queue/resume", {}, "POST")
    try:
        expect(card.get_by_text("The model's batch is fixed at 1; asked 8")).to_be_visible()
        expect(cells).to_have_count(1)
        expect(cells).to_have_accessible_name(re.compile("measuring, .* 3 sessions"))
    finally:
        desk.server.ask(f"/jobs/{made['latest_run']['job_id']}/cancel", {}, "POST")
        desk.server.settled(f"/jobs/{made['latest_run']['job_id']}")


def test_ux_11_cancel_stops_at_once_keeps_what_was_measured_and_says_so(desk, begun):
    """At once: in the middle of a session that would never end, and in a small part of the time
    that was left. That it is two seconds, tests/jobs/test_supervisor.py proves on a quiet core."""
    server, made = begun("thorough")
    card = card_of(desk, made)
    job = until_stuck(server, made)
    left_s = server.ask(f"/jobs/{job}")["progress"]["remaining_s"]
    asked = datetime.now(UTC)
    card.get_by_role("button", name=f"Cancel benchmark {made['id']}").click()
    expect(card.get_by_text("2 of 3 cells are kept")).to_be_visible()
    ended = server.settled(f"/benchmarks/{made['id']}")["latest_run"]["finished_at"]
    took_s = (datetime.fromisoformat(ended) - asked).total_seconds()
    logger.info("it ended %.1f s after the click", took_s)
    assert took_s < left_s / 10, (took_s, left_s)
    assert server.ask(f"/runs/{made['latest_run']['id']}")["units_kept"] == [4, 3, 4]
    expect(card.get_by_text("Cancelled").first).to_be_visible()
    expect(card.get_by_text("partial", exact=True)).to_be_visible()
    expect(card.get_by_text("measured · n = 4 sessions").first).to_be_visible()
    card.get_by_label("Batch size", exact=True).select_option("8")
    expect(card.get_by_text("the run was stopped before this cell had")).to_be_visible()
    expect(card.get_by_role("button", name="Resume")).to_be_visible()


def test_ux_12_a_reload_shows_the_same_view_and_progress(desk, running):
    server, made = running
    done = percent_done(server, until_stuck(server, made))
    desk.open(f"/p/{made['project_id']}/benchmarks/{made['id']}?tab=cores")
    page = desk.page
    bar = page.get_by_role("progressbar", name=f"Progress of benchmark {made['id']}")
    expect(bar).to_have_attribute("aria-valuenow", done)
    page.reload()
    expect(bar).to_have_attribute("aria-valuenow", done)
    expect(page.get_by_role("tab", name="Core scaling")).to_have_attribute("aria-selected", "true")


def test_ux_13_a_server_that_was_stopped_comes_back_with_what_was_measured(desk, running):
    server, made = running
    card = card_of(desk, made)
    until_stuck(server, made)
    assert share(card) > 0
    server.stop()
    expect(desk.page.get_by_text("Reconnecting… showing data from")).to_be_visible()
    server.start()
    expect(desk.page.get_by_text("Reconnecting…")).to_be_hidden(timeout=60_000)
    expect(card.get_by_text("Interrupted: the server stopped")).to_be_visible()
    expect(card.get_by_text("2 of 3 cells are kept")).to_be_visible()
    card.get_by_role("button", name="Resume").click()
    expect(card.get_by_role("progressbar")).to_be_visible()
    expect(card.get_by_text("Interrupted")).to_have_count(0)
    kept = server.ask(f"/runs/{made['latest_run']['id']}")["units_kept"]
    assert sum(kept) >= 11  # none was lost
