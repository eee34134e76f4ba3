"""A graph of 5 000 nodes: from the start of the navigation to its boxes, and one group opened.

The server has read the model before, and the browser the scripts. A group is opened by a click, and
open when the frame with its boxes is painted. The page stands still for as long as its longest
task.
"""

from __future__ import annotations

import re
import statistics

from playwright.sync_api import Page

from benchmarks.page.budgets import Budgets
from benchmarks.page.desk import Desk, settled, shown

SETTLING_MS = 500
# From the click, by the page's own clock: the way from here to the browser is not part of it.
CLOCK = """() => {
  window.opened = new Promise((resolve) => {
    addEventListener("click", () => {
      const began = performance.now();
      const look = () => {
        const isThere = document.querySelector(".graph-frame")
          && document.querySelectorAll(".react-flow__node").length > 2;
        if (!isThere) requestAnimationFrame(look);
        else requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - began)));
      };
      look();
    }, { capture: true, once: true });
  });
}"""


def graphs(budgets: Budgets, desk: Desk, address: str, rounds: int) -> None:
    drawn: list[float] = []
    opened: list[float] = []
    stood: list[float] = []
    with desk.browser() as browser:
        context = browser.new_context()
        with desk.tab(context, address) as page:
            shown(page, "box")
        for _ in range(rounds):
            with desk.tab(context, address) as page:
                drawn.append(shown(page, "box"))
                settled(page)
                opened.append(open_group(page))
                stood.append(page.evaluate("() => Math.max(0, ...window.slow)"))
    for what, times, limit in (
        ("graph of 5 000 nodes, collapsed", drawn, 2000),
        ("… a group of 200 opens", opened, 500),
        ("… longest that the page stood still meanwhile", stood, 100),
    ):
        note = f"median of {rounds}, worst {max(times):.0f}"
        budgets.tell(what, statistics.median(times), limit, "ms", note=note)


def open_group(page: Page) -> float:
    page.evaluate("() => { window.slow.length = 0; }")
    page.evaluate(CLOCK)
    page.get_by_role("button", name=re.compile("^Open .*block")).first.click()
    spent = float(page.evaluate("() => window.opened"))
    page.wait_for_timeout(SETTLING_MS)
    return spent
