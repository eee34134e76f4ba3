"""A table of 10 000 rows: from the start of the navigation to its first row, and how it scrolls.

The server has read the model before, and the browser the scripts.
"""

from __future__ import annotations

import statistics

from benchmarks.page.budgets import Budgets
from benchmarks.page.desk import Desk, settled, shown

SCROLLED_S = 3
FRAMES = """(seconds) => new Promise((resolve) => {
  const box = document.querySelector("[role=region][tabindex]");
  const began = performance.now();
  let frames = 0;
  const step = () => {
    frames += 1;
    box.scrollTop += 60;
    const spent = (performance.now() - began) / 1000;
    if (spent < seconds) requestAnimationFrame(step);
    else resolve(frames / spent);
  };
  requestAnimationFrame(step);
})"""


def tables(budgets: Budgets, desk: Desk, address: str, rounds: int) -> None:
    times: list[float] = []
    frames: list[float] = []
    with desk.browser() as browser:
        context = browser.new_context()
        with desk.tab(context, address) as page:
            shown(page, "row")
        for _ in range(rounds):
            with desk.tab(context, address) as page:
                times.append(shown(page, "row"))
                settled(page)
                frames.append(page.evaluate(FRAMES, SCROLLED_S))
    note = f"median of {rounds}, worst {max(times):.0f}"
    budgets.tell("table of 10 000 rows opens", statistics.median(times), 1000, "ms", note=note)
    note = f"median of {rounds}, worst {min(frames):.0f}"
    budgets.tell(
        "… and scrolls", statistics.median(frames), 50, "frames/s", at_least=True, note=note
    )
