"""``modeldyno engines``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from modeldyno.cli import options, output

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from modeldyno.core.documents.hosts import EngineDocument


app = typer.Typer(invoke_without_command=True)


@app.callback()
def engines(
    context: typer.Context,
    json: options.Json = False,
    server: options.Server = None,
    workspace: options.Workspace = None,
) -> None:
    """Which engines can run here, and how to get the others.

    `engines add` brings one that lives in another Python, such as a second version.

    Examples:

        modeldyno engines

        modeldyno engines add ort120 --pip "onnxruntime==1.20.0"
    """
    if context.invoked_subcommand is not None:
        return
    from modeldyno.engines.availability import availability

    known = availability() if server is None else _engines_of_server(server, workspace)
    if json:
        _print_document(known)
    else:
        _print_engines(known)


@app.command("add")
def add(
    name: Annotated[str, typer.Argument(help="What to call it: --engine NAME.")],
    python: Annotated[
        str | None,
        typer.Option(
            "--python",
            metavar="PATH",
            help="A Python that has the engine; with --pip, the Python for the new environment.",
        ),
    ] = None,
    pip: Annotated[
        list[str] | None,
        typer.Option(
            "--pip",
            metavar="REQUIREMENT",
            help="Create an environment and install this, with NumPy; may be repeated.",
        ),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            "--engine",
            "-e",
            help="Which engine to use, if several are installed.",
            show_default="what is found there",
        ),
    ] = None,
    accept_licence: Annotated[
        bool,
        typer.Option("--accept-licence", help="You have read and accept the engine's licence."),
    ] = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
    server: options.LocalOnly = None,
) -> None:
    """Add an engine that lives in another Python: a second version, or one whose needs conflict.

    Examples:

        modeldyno engines add ort120 --pip "onnxruntime==1.20.0"

        modeldyno engines add nightly --python ~/envs/nightly/bin/python
    """
    from modeldyno.cli.progress import doing
    from modeldyno.services.environments import add_engine

    with doing(quiet) as report:
        added = add_engine(
            name,
            python=python,
            requirements=pip or (),
            engine=engine,
            accept_licence=accept_licence,
            report=report,
        )
    if json:
        from modeldyno.engines.availability import availability

        _print_document([known for known in availability() if known.name == name])
        return
    there = added.environment
    versions = f"Python {there.python_version}, NumPy {added.numpy}"
    output.say(f"{name}: {there.engine} {added.version} ({versions})")
    if not quiet:
        output.message(f"next: modeldyno bench MODEL --engine {name}")


@app.command("remove")
def remove(
    name: Annotated[str, typer.Argument(help="As `modeldyno engines` lists it.")],
    json: options.Json = False,
    server: options.LocalOnly = None,
) -> None:
    """Forget an engine that was added; an environment that was made for it goes, too.

    Examples:

        modeldyno engines remove ort120
    """
    from modeldyno.engines.availability import availability
    from modeldyno.services.environments import remove_engine

    remove_engine(name)
    if json:
        _print_document(availability())
    else:
        output.say(f"removed: {name}")


def _print_document(known: Sequence[EngineDocument]) -> None:
    from modeldyno.core.documents.hosts import EnginesDocument

    output.document(EnginesDocument(engines=tuple(known)))


def _print_engines(known: Sequence[EngineDocument]) -> None:
    from modeldyno.engines.catalog import BUILT_IN

    of_tests = {entry.name for entry in BUILT_IN if entry.for_tests}
    known = [engine for engine in known if engine.name not in of_tests]
    head = ("engine", "usable", "version", "devices", "formats", "install")
    rows = [
        (
            engine.name,
            "yes" if engine.usable else f"no: {engine.why_not}",
            engine.version or "–",
            ", ".join(engine.devices) or "–",
            ", ".join(engine.formats),
            "" if engine.usable else engine.install,
        )
        for engine in known
    ]
    output.table(head, rows, left=head)
    elsewhere = [
        (engine.name, engine.adapter, engine.python, engine.origin)
        for engine in known
        if engine.python is not None
    ]
    if elsewhere:
        output.say("")
        titles = ("added", "is", "in Python", "from")
        output.table(titles, elsewhere, left=titles)
    remarks = [remark for engine in known if engine.usable for remark in _list_remarks(engine)]
    if remarks:
        output.say("")
        titles = ("engine", "device", "here", "why")
        output.table(titles, remarks, left=titles)


def _list_remarks(engine: EngineDocument) -> Iterator[tuple[str, str, str, str]]:
    """What is to be said of its devices; those of which the same is to be said, together."""
    for here, reasons in (("?", engine.device_notes), ("no", engine.unavailable_devices)):
        for why in dict.fromkeys(reasons.values()):
            named = [device for device, text in reasons.items() if text == why]
            yield engine.name, ", ".join(named), here, why


def _engines_of_server(server: str, workspace: Path | None) -> Sequence[EngineDocument]:
    from modeldyno.cli.remote import connect_client

    return connect_client(server, workspace).engines.list().engines
