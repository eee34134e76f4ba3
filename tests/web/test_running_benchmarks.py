"""A benchmark on its way: what the page shows of it, and how it is stopped and goes on."""

import pytest
from playwright.sync_api import expect

from tests.web.toys import benchmark, stuck, until_stuck

BATCHES = [1, 8, 32]


@pytest.fixture
def running(desk, tmp_path):
    """A run that will do some of its sessions and no more; cancelled when the test is over."""
    project, model = stuck(desk.server, tmp_path, tmp_path.name)
    made = benchmark(desk.server, project, model, batch_sizes=BATCHES)
    yield desk.server, made
    job = made["latest_run"]["job_id"]
    desk.server.ask(f"/jobs/{job}/cancel", {}, "POST")
    desk.server.settled(f"/jobs/{job}")


def card_of(desk, made):
    desk.open(f"/p/{made['project_id']}/benchmarks")
    return desk.page.locator(f"#benchmark-{made['id']}")


def share(card) -> int:
    bar = card.get_by_role("progressbar")
    expect(bar).to_be_visible()
    return int(float(bar.get_attribute("aria-valuenow") or 0))


def test_ux_10_a_running_card_moves_and_the_page_stays_usable(desk, running):
    server, made = running
    card = card_of(desk, made)
    until_stuck(server, made)
    expect(card.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "30")  # 11 of 36
    expect(card.get_by_text("ETA")).to_be_visible()
    expect(card.get_by_text("Live estimate")).to_be_visible()
    card.get_by_role("button", name="1 core · batch 1:").click()
    expect(card.get_by_text("measuring, 0.2")).to_contain_text("4 sessions")
    card.get_by_role("button", name="1 core · batch 8:").click()
    expect(card.get_by_text("measuring, 0.2")).to_contain_text("3 sessions")
    desk.page.get_by_label("Filter by name").fill("no such thing")
    expect(desk.page.get_by_text("No benchmark is called like")).to_be_visible()


def test_ux_11_cancel_keeps_what_was_measured_and_says_so(desk, running):
    server, made = running
    card = card_of(desk, made)
    until_stuck(server, made)
    card.get_by_role("button", name=f"Cancel benchmark {made['id']}").click()
    expect(card.get_by_text("2 of 3 cells are kept")).to_be_visible()
    expect(card.get_by_text("Cancelled").first).to_be_visible()
    expect(card.get_by_text("partial", exact=True)).to_be_visible()
    expect(card.get_by_text("measured · n = 4 sessions").first).to_be_visible()
    card.get_by_label("Batch size", exact=True).select_option("8")
    expect(card.get_by_text("it was stopped before this cell had sessions")).to_be_visible()
    expect(card.get_by_role("button", name="Resume")).to_be_visible()


def test_ux_12_a_reload_shows_the_same_view_and_progress(desk, running):
    server, made = running
    until_stuck(server, made)
    desk.open(f"/p/{made['project_id']}/benchmarks/{made['id']}?tab=cores")
    page = desk.page
    bar = page.get_by_role("progressbar", name=f"Progress of benchmark {made['id']}")
    expect(bar).to_have_attribute("aria-valuenow", "30")
    page.reload()
    expect(bar).to_have_attribute("aria-valuenow", "30")
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
