"""The pages that belong to no project: the queue, the machine, the settings; and the palette."""

import re

import pytest
from playwright.sync_api import expect

from tests import scripts


@pytest.fixture(scope="module")
def project(server, tmp_path_factory):
    number = server.ask("/projects", {"name": "Patience"})["id"]
    file = scripts.script(tmp_path_factory.mktemp("models") / "long.json", latency_us=2000)
    return number, server.send_model(number, file)["id"]


def test_the_queue_says_what_has_the_cores_and_why_others_wait(desk, project, tmp_path):
    number, _ = project
    # Not even a precise model is measured in less than several sessions, each of which loads it.
    file = scripts.script(tmp_path / "slow.json", latency_us=2000, load_ms=5000)
    sent = desk.server.send_model(number, file)
    request = {"project_id": number, "model_id": sent["id"], "budget": 600.0}
    names = ["The long one", "The second", "The third"]
    jobs = [
        desk.server.ask("/benchmarks", request | {"name": name})["latest_run"]["job_id"]
        for name in names
    ]
    try:
        page = desk.open("/queue")
        running = page.get_by_role("region", name="Running")
        expect(running.get_by_role("link", name="The long one")).to_be_visible()
        expect(running.get_by_role("progressbar")).to_be_visible()
        cores = page.get_by_role("region", name="Cores")
        expect(
            cores.get_by_role("img", name=re.compile(r"Core \d+: The long one"))
        ).not_to_have_count(0)
        waiting = page.get_by_role("region", name="Waiting (2)").get_by_role("listitem")
        expect(waiting.first).to_contain_text("The second")
        expect(waiting.first).to_contain_text(f"job {jobs[0]}")
        waiting.last.get_by_role("button", name="Run next").click()
        expect(waiting.first).to_contain_text("The third")
        page.get_by_role("button", name="Cancel all").click()
        page.get_by_role("button", name="Cancel 3 jobs").click()
        over = page.get_by_role("region", name="Recently finished").get_by_role("listitem")
        expect(over.filter(has_text="Cancelled")).to_have_count(3)
        over.filter(has_text="The second").get_by_role("button", name="Resume").click()
        expect(running.get_by_role("link", name="The second")).to_be_visible()
    finally:
        for job in jobs:
            desk.server.ask(f"/jobs/{job}/cancel", {}, "POST")


def test_a_queue_is_paused_and_goes_on_from_its_page(desk, project):
    number, model = project
    page = desk.open("/queue")
    page.get_by_role("button", name="Pause queue").click()
    expect(page.get_by_role("status").get_by_text("The queue is paused")).to_be_visible()
    asked = {"project_id": number, "model_id": model, "name": "Held back", "iterations": 5}
    made = desk.server.ask("/benchmarks", asked)["id"]
    waiting = page.get_by_role("region", name="Waiting (1)")
    expect(waiting).to_contain_text("waiting for somebody to resume the queue")
    desk.server.stop()
    desk.server.start()
    desk.open("/queue")
    expect(waiting).to_contain_text("Held back")  # the pause outlives the server
    page.get_by_role("button", name="Resume queue").click()
    expect(page.get_by_role("button", name="Pause queue")).to_be_visible()
    expect(page.get_by_text("The queue is paused")).to_have_count(0)
    assert desk.server.settled(f"/benchmarks/{made}")["state"] == "done"


def test_the_machine_says_whether_it_is_fit_and_what_to_do(desk):
    page = desk.open("/system")
    engines = page.get_by_role("region", name="Engines")
    expect(engines.get_by_text("ONNX Runtime", exact=False).first).to_be_visible()
    expect(engines.get_by_text("scripted")).to_have_count(0)  # only tests have models for it
    expect(page.get_by_role("table", name="Hardware")).to_contain_text("Memory")
    page.get_by_role("button", name="Check this machine").click()
    health = page.get_by_role("region", name="Measurement health")
    expect(health.get_by_text(re.compile("^(fit|fit with care|unfit)$"))).to_be_visible(
        timeout=60_000
    )
    expect(health.get_by_text(re.compile("^Governor|governor: "))).to_be_visible()


def test_keys_can_be_turned_off(desk):
    page = desk.open("/settings")
    keys = page.get_by_role("switch", name="Single-key shortcuts")
    keys.click()
    expect(keys).not_to_be_checked()
    page.get_by_role("heading", name="Settings", exact=True).click()
    page.keyboard.press("?")
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog", name="Search")).to_be_visible()
    expect(page.get_by_role("dialog", name="Keys")).to_have_count(0)


def test_who_signs_out_is_asked_for_the_token_again(desk):
    page = desk.open("/settings")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Token")).to_be_visible()


def test_ux_26_the_palette_leads_anywhere_by_keys_alone(desk, project):
    number, _ = project
    page = desk.open("/")
    page.keyboard.press("Control+k")
    field = page.get_by_role("combobox", name=re.compile("^Search pages"))
    expect(field).to_be_focused()
    field.fill("patie")
    expect(page.get_by_role("option", selected=True)).to_contain_text("Patience")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"/p/{number}$"))
    page.keyboard.press("Control+k")
    field.fill("comp")
    expect(page.get_by_role("option", selected=True)).to_contain_text("Compare")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"/p/{number}/compare"))
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
