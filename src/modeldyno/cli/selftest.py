"""``modeldyno selftest``."""

from __future__ import annotations

from typing import Annotated

import typer

from modeldyno.cli import options, output

FAILED = 1


def selftest(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="e.g. aa, T4; none lists them.")
    ] = None,
    short: Annotated[
        bool, typer.Option("--short", help="Fewer repetitions, wider thresholds.")
    ] = False,
    server: options.LocalOnly = None,
) -> None:
    """Does this build measure honestly on this machine? One JSON line for each test.

    Examples:

        modeldyno selftest

        modeldyno selftest coverage aa

        modeldyno selftest all
    """
    from modeldyno.selftest import catalog

    if not names:
        rows = [(entry.id, entry.name, entry.what, f"{entry.seconds} s") for entry in catalog.TESTS]
        output.table(("id", "name", "shows", "takes"), rows, left=("id", "name", "shows"))
        return
    outcomes = []
    for entry in catalog.find_tests(names):
        outcome = catalog.run(entry, short=short)
        output.say(outcome.to_json())
        outcomes.append(outcome)
    raise typer.Exit(0 if all(outcome.passed for outcome in outcomes) else FAILED)
