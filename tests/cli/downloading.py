"""``modeldyno`` in a process of its own, whose examples lie on a server of the tests.

python -m tests.cli.downloading PORT WORDS…
"""

import sys

from modeldyno import workbench
from modeldyno.cli.main import run
from modeldyno.services.examples import ExampleService
from modeldyno.settings import Settings
from modeldyno.store.downloads import Downloads
from modeldyno.store.objects import Objects
from tests.model_server import example, network


def open_examples(settings: Settings) -> ExampleService:
    return ExampleService(
        {"net": example(), "other": example(slug="other", sha256="0" * 64)},
        Objects(settings.workspace / "objects", kept_free=0),
        Downloads(settings.workspace / "downloads", network(PORT), kept_free=0, pauses_s=()),
        allow_downloads=settings.allow_downloads,
    )


if __name__ == "__main__":
    PORT = int(sys.argv.pop(1))
    # No setting may let people fetch from this machine, so there is none to use here either.
    workbench.open_examples = open_examples
    run()
