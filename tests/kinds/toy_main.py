"""The terminal's command, of an installation that has one more kind."""

from modeldyno.cli.main import run
from tests.kinds import toy_core, toy_job, toy_routes, toy_sections


def register() -> None:
    for layer in (toy_core, toy_job, toy_sections, toy_routes):
        layer.register()


if __name__ == "__main__":
    register()
    run()
