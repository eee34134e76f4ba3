"""The page shows a kind of runs that only tests/kinds knows, from that kind's one file."""

import pytest
from playwright.sync_api import expect

from scripts.build_web import build
from tests.kinds.toy_server import ROOT, ToyServer
from tests.scripts import script
from tests.web.desk import LAPTOP, Desk

BUILT = ROOT / ".cache" / "toy_page"


@pytest.fixture(scope="module")
def toys(tmp_path_factory):
    build(BUILT, ROOT / "tests" / "kinds" / "toy_page.tsx")
    folder = tmp_path_factory.mktemp("toys")
    for name in ("models", "workspace"):
        (folder / name).mkdir()
    script(folder / "models" / "m.json")
    server = ToyServer(folder / "workspace", None)
    server.environment["TOY_PAGE"] = str(BUILT)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def desk(browser, toys):
    context = browser.new_context(viewport=LAPTOP)
    desk = Desk(context.new_page(), toys)
    desk.page.goto(toys.url + toys.ask("POST", "session/codes", {}).json["path"])
    desk.page.locator("h1").first.wait_for()
    yield desk
    context.close()
    assert desk.complaints == []
    assert desk.foreign == []


def test_a_kind_of_an_installation_is_opened_from_its_project(desk, toys):
    project = toys.ask("POST", "projects", {"name": "Toys"}).json["id"]
    model = toys.ask("POST", f"projects/{project}/models/import", {"path": "m.json"}).json["id"]
    ids = {"project_id": project, "model_id": model}
    toy = toys.ask("POST", "toys", ids | {"name": "A die", "rounds": 4}).json
    toys.ended(toy["latest_run"]["job_id"])
    page = desk.page
    page.goto(f"{toys.url}/queue")
    expect(page.get_by_text("Toy in Toys")).to_be_visible()
    page.goto(f"{toys.url}/p/{project}")
    page.get_by_role("region", name="Activity").get_by_role("link", name="A die").click()
    expect(page).to_have_url(f"{toys.url}/p/{project}/toy/{toy['id']}")
    expect(page.get_by_role("heading", name="A die", level=1)).to_be_visible()
    eyes = page.get_by_role("region", name="Eyes")
    expect(eyes.get_by_role("img", name="10 eyes in 4 rounds")).to_be_visible()
    desk.still()
    desk.picture("kind-light")
    assert desk.barriers() == []
    eyes.get_by_role("button", name="View as table").click()
    expect(eyes.get_by_role("row")).to_have_text(["roundeyes", "01", "12", "23", "34"])
    desk.turn("dark")
    desk.picture("kind-dark")


def test_a_kind_that_the_page_has_no_section_for_is_not_at_an_address(desk, toys):
    desk.page.goto(f"{toys.url}/p/1/marble/1")
    expect(desk.page.get_by_text("There is nothing at this address")).to_be_visible()
