"""The web client of INC Bench in a real browser, on our server: as it came, nothing changed."""

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import expect

from modeldyno.demo import model_path
from tests.gui.browser import PATIENCE_MS, opened
from tests.gui.stock_client import KNOWN, StockClient
from tests.terminal import serving

CLIENT = Path(__file__).parents[2] / ".cache" / "inc-gui"  # scripts/fetch_inc_gui.py
DONE, FAILED = "010a-passed-completed-solid.svg", "009a-close-solid.svg"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture
def models(tmp_path):
    folder = tmp_path / "models"
    folder.mkdir()
    shutil.copy(model_path(), folder / "digits.onnx")
    return folder


def make_and_measure(tab, client, models):
    """A project of a real model, a benchmark that runs to its end, and a look at every tab."""
    client.create_project("Digits", models / "digits.onnx")
    expect(client.page.get_by_text("My projects")).to_be_visible()
    client.open("Benchmarks")
    client.add_benchmark()
    expect(client.row).to_contain_text("Benchmark1")
    client.run()
    expect(client.snack_bar).to_contain_text("The process of benchmarks is finished")
    expect(client.icon(DONE)).to_be_visible()
    tab.picture("benchmark-done")
    client.open("Datasets")
    expect(client.row).to_contain_text("dummy")
    client.row.click()
    expect(client.page.get_by_text("dummy_v2").first).to_be_visible()
    tab.picture("datasets")
    client.open("Diagnosis")  # where it draws the graph of a model
    for node in ("conv1", "Input node"):
        expect(client.page.get_by_text(node).first).to_be_visible()
    tab.picture("graph")
    client.open("Profiling")
    expect(client.page.get_by_role("button", name="Add new profiling")).to_be_visible()
    tab.picture("profiling")
    client.open("Optimizations")
    expect(client.page.get_by_role("button", name="Add new optimization")).to_be_visible()
    tab.picture("optimizations")
    assert client.surprises() == []


def test_the_stock_client_works_with_the_token_in_its_address(tmp_path, models):
    arguments = ("--inc-gui", CLIENT, "--models-root", models)
    with serving(tmp_path / "w", *arguments) as server, opened("stock-gui-token") as tab:
        client = StockClient(tab, f"{server.url}/?token={server.token}")
        tab.picture("home")
        make_and_measure(tab, client, models)
        assert f"token={server.token}" in client.page.url

        client.add_optimization()
        client.run()  # ends as an error, since this version cannot do it: and says so
        expect(client.icon(FAILED)).to_be_visible()
        tab.picture("optimization-failed")

        client.open("Profiling")
        client.add_profiling()
        client.run()
        expect(client.icon(DONE)).to_be_visible()
        client.row.click()
        expect(client.page.get_by_text("Total execution time comparison")).to_be_visible()
        tab.picture("profiling-done")

        client.page.reload()  # below /project/: its scripts are found all the same
        expect(client.row).to_contain_text("Profiling1")
        client.ask_for_example("Inception")  # of TensorFlow, from the web: it says why not
        expect(client.page.get_by_text("downloads are switched off")).to_be_visible()
        tab.picture("example-refused")
        assert client.surprises() == []


def test_the_stock_client_works_without_a_token(tmp_path, models):
    arguments = ("--inc-gui", CLIENT, "--models-root", models, "--no-token")
    with serving(tmp_path / "w", *arguments) as server, opened("stock-gui-open") as tab:
        client = StockClient(tab, server.url)
        make_and_measure(tab, client, models)
        client.open("Benchmarks")
        expect(client.row).to_contain_text("Benchmark1")
        client.row.locator("td").first.click()
        expect(client.page.get_by_text("Results", exact=True)).to_be_visible()
        tab.picture("details")
        assert [said for said in tab.complaints if KNOWN in said]  # the control: we would see it
        assert client.surprises() == []
