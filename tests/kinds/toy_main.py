"""The terminal's command, of an installation that has one more kind."""

import os
from pathlib import Path

from modeldyno.cli.main import run
from modeldyno.store import workbench_page
from tests.kinds import toy_core, toy_job, toy_routes, toy_sections


def register() -> None:
    for layer in (toy_core, toy_job, toy_sections, toy_routes):
        layer.register()
    if "TOY_PAGE" in os.environ:  # the page, built with toy_page.tsx
        workbench_page.FOLDER = Path(os.environ["TOY_PAGE"])


if __name__ == "__main__":
    register()
    run()
