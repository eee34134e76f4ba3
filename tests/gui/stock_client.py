"""The web client of INC Bench, as somebody uses it who knows where to click."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Locator, expect

from tests.gui.browser import Tab

# Of release 1.14: opening the details of an ONNX benchmark throws, whatever the server sends.
KNOWN = "reading 'forEach'"
# Spinners aside, which move without end.
_NOTHING_MOVES = """() => document.getAnimations().every(moving =>
    moving.playState !== "running" || moving.effect.getComputedTiming().iterations === Infinity)"""


class StockClient:
    def __init__(self, tab: Tab, url: str) -> None:
        self._tab = tab
        self.page = tab.page
        self.page.goto(url)
        self.page.locator("#create-new-project-menu-btn").wait_for()

    @property
    def dialog(self) -> Locator:
        return self.page.locator("mat-dialog-container")

    @property
    def snack_bar(self) -> Locator:
        return self.page.locator("snack-bar-container")

    @property
    def row(self) -> Locator:
        """The first row below the head of the table."""
        return self.page.locator("table tr").nth(1)

    def surprises(self) -> list[str]:
        """What went wrong but for the one thing that we know."""
        unknown = [said for said in self._tab.complaints if KNOWN not in said]
        return [*unknown, *self._tab.refusals]

    def create_project(self, name: str, model: Path) -> None:
        """Through the wizard, to the page of the new project."""
        self._begin_project(name)
        self.dialog.locator("#custom-radio label").click()
        self._next(self.dialog.locator("input[formcontrolname=modelLocation]"))
        self.dialog.locator("input[formcontrolname=modelLocation]").fill(str(model))
        # Domain, nodes and shape come by an event.
        expect(self.dialog.locator("input[formcontrolname=shape]")).not_to_have_value("")
        self._tab.picture("wizard")
        self.dialog.locator("#finish-adv-btn").click()
        self.page.wait_for_url("**/project/*")

    def ask_for_example(self, name: str) -> None:
        """The first of its list, which has those of TensorFlow only."""
        self._begin_project(name)
        self.dialog.locator("#predefined-radio label").click()
        self._next(self.dialog.locator("#finish-basic-btn"))
        self.dialog.locator("#finish-basic-btn").click()

    def open(self, tab: str) -> None:
        self.page.get_by_text(tab, exact=True).first.click()
        self.page.wait_for_load_state("networkidle")
        self._settled()

    def add_benchmark(self) -> None:
        """Of ten iterations on one core."""
        self.page.get_by_role("button", name="Add new benchmark").click()
        self._next(self.dialog.locator("mat-radio-button:visible").first)
        self.dialog.get_by_text("performance").first.click()
        self._next(self._select("modelId"))
        self._choose(self._select("modelId"))
        self._next(self._select("datasetId"))
        self._choose(self._select("datasetId"))
        self._next(self.dialog.locator("input[formcontrolname=batchSize]"))
        # What it proposes there is half an instance on two cores, which it then refuses.
        self.dialog.locator("input[formcontrolname=numOfInstance]").fill("1")
        self.dialog.locator("input[formcontrolname=coresPerInstance]").fill("1")
        self.dialog.locator("mat-checkbox").click()  # no longer all samples
        self.dialog.locator("input[formcontrolname=iterations]").fill("10")
        self._tab.picture("benchmark-form")
        self._finish()

    def add_profiling(self) -> None:
        self.page.get_by_role("button", name="Add new profiling").click()
        self._next(self._select("model_id"))
        self._choose(self._select("model_id"))
        self._next(self._select("dataset_id"))
        self._choose(self._select("dataset_id"))
        self._next(self.dialog.locator("input[formcontrolname=num_threads]"))
        self._finish()

    def add_optimization(self) -> None:
        self.page.get_by_role("button", name="Add new optimization").click()
        self._next(self._select("datasetId"))
        self._choose(self._select("datasetId"))
        self._finish()

    def run(self) -> None:
        """The first row; until the client says that it has ended."""
        self.row.get_by_role("button", name="Run").click()
        self.snack_bar.wait_for()

    def icon(self, name: str) -> Locator:
        """A picture in the first row: which one tells its status."""
        return self.row.locator(f'img[src$="{name}"]')

    # ------------------------------------------------------------ inside

    def _begin_project(self, name: str) -> None:
        self.page.locator("#create-new-project-menu-btn").click()
        self._settled()
        self.dialog.locator("#project_name").fill(name)
        self._next(self.dialog.locator("#predefined-radio"))

    def _select(self, name: str) -> Locator:
        return self.dialog.locator(f"mat-select[formcontrolname={name}]")

    def _choose(self, select: Locator) -> None:
        """The first that there is."""
        select.click()
        options = self.page.locator("mat-option")
        options.first.click()
        options.first.wait_for(state="detached")

    def _finish(self) -> None:
        self.dialog.locator("#finish-adv-btn").click()
        self.dialog.wait_for(state="detached")

    def _next(self, awaited: Locator) -> None:
        """To the step that has this. The client loses a step that begins while another moves."""
        self._settled()
        self.dialog.locator("button:visible", has_text="Next").first.click()
        awaited.wait_for()
        self._settled()

    def _settled(self) -> None:
        self.page.wait_for_timeout(100)  # what follows from the last click begins to move
        self.page.wait_for_function(_NOTHING_MOVES)
