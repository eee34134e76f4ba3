"""``modeldyno examples``."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from modeldyno.cli import options, output

if TYPE_CHECKING:
    from modeldyno.core.examples import ExamplesDocument, FetchedDocument
    from modeldyno.services.examples import FetchedExample

app = typer.Typer(invoke_without_command=True)


@app.callback()
def examples(
    context: typer.Context,
    json: options.Json = False,
    server: options.Server = None,
    workspace: options.Workspace = None,
) -> None:
    """List models to try; `examples get NAME` brings one into the workspace.

    Examples:

        modeldyno examples

        modeldyno examples get AlexNet
    """
    if context.invoked_subcommand is not None:
        return
    from modeldyno.core.figures import size

    listed = _examples_here(workspace) if server is None else _examples_of_server(server, workspace)
    if json:
        output.document(listed)
        return
    head = ("example", "framework", "domain", "size", "runs here", "available")
    rows = [
        (
            example.slug,
            example.framework,
            example.domain,
            size(example.size_bytes),
            "yes" if example.can_run else "no",
            "yes" if example.available else f"no: {example.why_not}",
        )
        for example in listed.examples
    ]
    output.table(head, rows, left=set(head) - {"size"})
    if server is None:
        output.message(
            "next: modeldyno examples get NAME · modeldyno bench $(modeldyno examples get NAME)"
        )


def _examples_here(workspace: Path | None) -> ExamplesDocument:
    from modeldyno.core.examples import ExampleDocument, ExamplesDocument
    from modeldyno.settings import Settings
    from modeldyno.workbench import open_examples

    examples = open_examples(Settings.read(workspace)).list()
    return ExamplesDocument(examples=tuple(map(ExampleDocument.of, examples)))


def _examples_of_server(server: str, workspace: Path | None) -> ExamplesDocument:
    from modeldyno.cli.remote import connect_client

    return connect_client(server, workspace).examples.list()


@app.command("get")
def get(
    name: Annotated[str, typer.Argument(help="As `modeldyno examples` lists it.")],
    to: Annotated[
        Path | None, typer.Option("--to", help="Also copy it to this file or folder.")
    ] = None,
    allow_downloads: Annotated[
        bool, typer.Option("--allow-downloads", help="Download it if it is not here.")
    ] = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
    server: options.LocalOnly = None,
    workspace: options.Workspace = None,
) -> None:
    """Bring an example into the workspace and print where it lies.

    A download that is stopped goes on where it was when the command is repeated.
    """
    from modeldyno.cli.progress import fetching
    from modeldyno.core.errors import Cancelled
    from modeldyno.settings import Settings
    from modeldyno.workbench import open_examples

    settings = Settings.read(workspace)
    allowed = settings.allow_downloads or allow_downloads
    service = open_examples(replace(settings, allow_downloads=allowed))
    status = service.get(name)
    target = None if to is None else _copy_target(to, status.example.file_name)
    try:
        with fetching(quiet, name) as say:
            fetched = service.fetch(name, say)
    except KeyboardInterrupt as stopped:
        raise Cancelled(
            "The download was stopped", fix="Run the same command to continue"
        ) from stopped
    if target is not None:
        _copy_file(fetched.path, target)
    path = target or service.name(fetched)
    if json:
        from modeldyno.core.examples import ExampleDocument, ExamplesDocument

        example = ExampleDocument.of(service.get(name))
        output.document(
            ExamplesDocument(examples=(example,), fetched=_fetched_document(fetched, path))
        )
        return
    output.say(str(path))
    if not quiet:
        output.message(status.example.note)
        if not status.can_run:
            output.warn("no installed engine runs it", "modeldyno engines")


def _fetched_document(fetched: FetchedExample, path: Path) -> FetchedDocument:
    from modeldyno.core.examples import FetchedDocument

    return FetchedDocument(
        path=str(path),
        sha256=fetched.stored.sha256,
        size_bytes=fetched.stored.size_bytes,
        source=fetched.source,
    )


def _copy_target(to: Path, file_name: str) -> Path:
    """Checked before anything is fetched: no existing file is replaced."""
    from modeldyno.core.errors import BadValue

    path = to / file_name if to.is_dir() else to
    if path.exists():
        raise BadValue(f"{path} already exists", fix="Choose another --to, or remove it")
    return path


def _copy_file(source: Path, target: Path) -> None:
    with output.translated_write_errors(target):
        file = target.open("xb")
        try:
            with file, source.open("rb") as model:
                shutil.copyfileobj(model, file)
        except BaseException:
            target.unlink()
            raise
