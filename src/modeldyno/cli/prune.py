"""``modeldyno prune``."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from modeldyno.cli import options, output
from modeldyno.core.errors import BadValue

if TYPE_CHECKING:
    from modeldyno.core.documents.runs import PruneDocument

_AGE = re.compile(r"([0-9]{1,5})([hdw])")
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_WORDS = {
    "runs": "runs with their results, for good",
    "samples": "timings of finished runs; their results stay",
    "caches": "what is written again when needed, and what ended processes left",
}


def prune(
    runs_older_than: Annotated[
        str | None,
        typer.Option(metavar="AGE", help="Runs that began longer ago: 12h, 30d or 8w."),
    ] = None,
    samples: Annotated[
        bool, typer.Option("--samples", help="Every timing of finished runs; results stay.")
    ] = False,
    caches: Annotated[
        bool, typer.Option("--caches", help="What is written again when it is needed.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: options.Json = False,
    server: options.LocalOnly = None,
    workspace: options.Workspace = None,
) -> None:
    """Free space in the workspace: old runs, raw samples, caches.

    At a terminal it asks first. Runs that wait or are being measured, projects and model files
    stay.

    Examples:

        modeldyno prune --runs-older-than 30d --dry-run

        modeldyno prune --samples --caches
    """
    from modeldyno.core.figures import size
    from modeldyno.services.space import PruneRequest
    from modeldyno.settings import Settings
    from modeldyno.workbench import open_space

    if runs_older_than is None and not samples and not caches:
        raise BadValue(
            "Nothing was named to remove",
            fix="Give --runs-older-than 30d, --samples or --caches; see `modeldyno du`",
        )
    age = None if runs_older_than is None else _age(runs_older_than)
    service = open_space(Settings.read(workspace))
    prunable = service.prunable(PruneRequest(age, samples, caches))
    document = prunable.document
    has_any = any(part.count for part in document.parts)
    if not json:
        _show(document)
    if has_any and not dry_run:
        if not yes and not output.ask_yes_or_no(f"Remove {size(document.size_bytes)} for good?"):
            output.message("Nothing was removed")
            raise typer.Exit(1)
        document = service.prune(prunable)
    if json:
        output.document(document)
    elif not has_any:
        output.message("There is nothing to remove")
    elif dry_run:
        output.message(f"{size(document.size_bytes)} would be freed; nothing was removed")
    else:
        output.message(f"Freed {size(document.size_bytes)}")


def _age(text: str) -> timedelta:
    match = _AGE.fullmatch(text)
    if match is None:
        raise BadValue(
            f"--runs-older-than must be an age such as 12h, 30d or 8w, not {text!r}",
        )
    return int(match[1]) * _UNITS[match[2]]


def _show(document: PruneDocument) -> None:
    from modeldyno.core.figures import size

    rows = [
        (part.name, str(part.count), size(part.size_bytes), _WORDS[part.name])
        for part in document.parts
    ]
    output.table(("part", "count", "size", "what"), rows, left=("part", "what"))
