"""One browser and one server for the tests of a file; a fresh profile for each test."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect, sync_playwright

from tests.gui.browser import CHROMIUM, QUIETLY
from tests.web.desk import Server, at_desk

expect.set_options(timeout=30_000)  # the five seconds of its own are short beside other tests


@pytest.fixture(scope="module")
def browser(starts_processes):
    """Of a file, not of the session: its event loop would meet tests that have one of their own."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIETLY)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory, starts_processes):
    workspace = tmp_path_factory.mktemp("web") / "workspace"
    workspace.mkdir()
    started = Server(workspace)
    yield started
    started.stop()


@pytest.fixture
def desk(browser, server):
    with at_desk(browser, server) as found:
        yield found
