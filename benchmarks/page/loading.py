"""What pages weigh, and how soon the first one tells something.

Cold is the first visit of a new browser. Warm is a visit after two others in the same browser, each
in a tab of its own, whose process runs already. Useful is the first project's name, not the heading
above a place where projects will be.
"""

from __future__ import annotations

import statistics

from benchmarks.page.budgets import Budgets
from benchmarks.page.desk import Desk, settled, shown
from benchmarks.page.workspace import Things

SCRIPTS = """() => performance.getEntriesByType("resource")
  .filter((one) => one.name.endsWith(".js"))
  .map((one) => [one.name, one.encodedBodySize])"""
VISITS_BEFORE = 2  # the browser compiles at the second what it keeps for the third


def weights(budgets: Budgets, desk: Desk, things: Things) -> None:
    def scripts(path: str, wait_for: str) -> dict[str, int]:
        with desk.browser() as browser, desk.tab(browser.new_context(), path) as page:
            page.wait_for_selector(wait_for)
            settled(page)
            return dict(page.evaluate(SCRIPTS))

    first = scripts("/", "article")
    budgets.tell("JS of the first page, packed", sum(first.values()) / 1e3, 250, "kB")
    for name, path, wait_for, limit in (
        ("charts", f"/p/{things.project}/compare", "figure svg", 350),
        ("graph", things.graph, ".react-flow__node", 250),
    ):
        more = {key: size for key, size in scripts(path, wait_for).items() if key not in first}
        budgets.tell(f"JS that {name} add, packed", sum(more.values()) / 1e3, limit, "kB")


def paints(budgets: Budgets, desk: Desk, rounds: int) -> None:
    cold: list[float] = []
    warm: list[float] = []
    for _ in range(rounds):
        with desk.profile() as context:
            for times in (cold, *([] for _ in range(VISITS_BEFORE - 1)), warm):
                with desk.tab(context, "/") as page:
                    times.append(shown(page, "card"))
                    settled(page)
    for name, times, limit in (("cold", cold, 1000), ("warm", warm, 400)):
        note = f"median of {rounds}, worst {max(times):.0f}"
        budgets.tell(
            f"first useful paint, {name}", statistics.median(times), limit, "ms", note=note
        )
