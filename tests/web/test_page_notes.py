"""Notes in the page: saved by themselves, and never lost."""

import pytest
from playwright.sync_api import expect


@pytest.fixture
def project(server):
    return server.ask("/projects", {"name": "Notes"})["id"]


def test_ux_22_a_note_saves_itself_survives_and_stays_text(desk, project):
    page = desk.open(f"/p/{project}/notes")
    page.get_by_role("button", name="Write a note").click()
    page.get_by_label("Note", exact=True).fill(
        "# Plan\n\n- [x] measure\n- **decide**\n\n<script>window.stolen = 1</script>"
    )
    expect(page.get_by_text("Saved ")).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="Plan")).to_be_visible()
    expect(page.locator("strong", has_text="decide")).to_be_visible()
    expect(page.get_by_text("<script>window.stolen = 1</script>")).to_be_visible()
    assert page.evaluate("() => window.stolen") is None


def test_ux_22_two_who_write_at_once_lose_nothing(desk, server, project):
    first = desk.open(f"/p/{project}/notes")
    second = first.context.new_page()
    second.goto(first.url)
    held = []
    second.route(
        "**/note", lambda route: held.append(route) if is_change(route) else route.continue_()
    )
    for page in (first, second):
        page.get_by_role("button", name="Write a note").click()
    second.get_by_label("Note", exact=True).fill("From the second tab")
    expect(second.get_by_text("Saving…")).to_be_visible()
    first.get_by_label("Note", exact=True).fill("From the first tab")
    expect(first.get_by_text("Saved ")).to_be_visible()
    for route in held:
        route.continue_()
    second.unroute_all(behavior="ignoreErrors")
    conflict = second.get_by_role("alert")
    expect(conflict).to_contain_text("changed elsewhere")
    expect(conflict.get_by_role("region", name="Theirs")).to_contain_text("From the first tab")
    expect(conflict.get_by_role("region", name="Yours")).to_contain_text("From the second tab")
    second.get_by_role("button", name="Keep both").click()
    expect(second.get_by_text("Saved ")).to_be_visible()
    text = server.ask(f"/projects/{project}/note")["text"]
    assert "From the first tab" in text
    assert "From the second tab" in text
    expect(first.get_by_label("Note", exact=True)).to_have_value(text)  # who wrote nothing follows


def is_change(route):
    return route.request.method == "PUT"
