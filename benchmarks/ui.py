"""The budgets of the web workbench, measured in Chromium against a real server.

    python3 scripts/build_web.py
    .venv/bin/python -m benchmarks.ui [--rounds 5] [--live 60] [--only graph live] [--json]

What the first page, the charts and the graph weigh; how soon something useful is to be seen; how
quick the page answers with 1 000 benchmarks in a project; a table of 10 000 rows; a graph of 5 000
nodes; what it costs to watch a run, and what the page keeps of an hour of it. Each file of
``benchmarks/page/`` says what exactly it measures. Times depend on the machine, so measure on a
quiet one. Prints each with its limit, and exits 1 when one is missed or could not be measured.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Playwright, sync_playwright

from benchmarks.page import answering, graph, live, loading, table
from benchmarks.page.budgets import Budgets
from benchmarks.page.desk import Desk, serving
from benchmarks.page.workspace import furnish
from benchmarks.server import fill

BENCHMARKS = 1000
STEPS = ("weight", "paint", "answer", "table", "graph", "live", "memory")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="times that each page is opened")
    parser.add_argument("--live", type=float, default=60.0, help="seconds of a run to watch")
    parser.add_argument("--only", nargs="+", choices=STEPS, default=STEPS, help="these alone")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    asked = parser.parse_args()
    budgets = Budgets(is_quiet=asked.json)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        measure(budgets, playwright, Path(folder), asked)
    if asked.json:
        print(budgets.as_json())
    sys.exit(not budgets.are_met)


def measure(
    budgets: Budgets, playwright: Playwright, folder: Path, asked: argparse.Namespace
) -> None:
    workspace = folder / "workspace"
    workspace.mkdir()
    fill(workspace, BENCHMARKS)
    with serving(workspace) as server:
        things = furnish(server, folder)
        budgets.begin(os.getloadavg()[0], os.cpu_count() or 1)
        desk = Desk(playwright, server)
        steps: dict[str, Callable[[], None]] = {
            "weight": lambda: loading.weights(budgets, desk, things),
            "paint": lambda: loading.paints(budgets, desk, asked.rounds),
            "answer": lambda: answering.interactions(budgets, desk, things.many),
            "table": lambda: table.tables(budgets, desk, things.large_table, asked.rounds),
            "graph": lambda: graph.graphs(budgets, desk, things.graph, asked.rounds),
            "live": lambda: live.costs(budgets, desk, things, asked.live),
            "memory": lambda: live.growth(budgets, desk, things),
        }
        for name in STEPS:
            if name in asked.only:
                budgets.step(name, steps[name])


if __name__ == "__main__":
    main()
