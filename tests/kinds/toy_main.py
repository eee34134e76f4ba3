"""The terminal's command, of an installation that has one more kind."""

import os
import sys
from pathlib import Path

from modeldyno.cli.main import run
from modeldyno.store import workbench_page
from tests.kinds import toy_core, toy_job, toy_sections


def register() -> None:
    for layer in (toy_core, toy_job, toy_sections):
        layer.register()
    if "serve" in sys.argv:  # loading what makes routes takes longer than all of another command
        from tests.kinds import toy_routes

        toy_routes.register()
    if "TOY_PAGE" in os.environ:  # the page, built with toy_page.tsx
        workbench_page.FOLDER = Path(os.environ["TOY_PAGE"])


if __name__ == "__main__":
    register()
    run()
