"""``modeldyno serve``."""

from __future__ import annotations

import gc
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from modeldyno.cli import options, output
from modeldyno.core.errors import BadValue, ModeldynoError, PackageMissing

if TYPE_CHECKING:
    from modeldyno.api.server_address import Listening
    from modeldyno.server import Server
    from modeldyno.settings import Settings
    from modeldyno.store.upgrades import Step

EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - addresses that stand for all of a machine's
_PACKAGES = ("fastapi", "uvicorn", "socketio")
_OF_CLIENTS = ("aiohttp", "requests", "websocket")


def serve(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port; the next free one if it is taken.")
    ] = 5000,
    name: Annotated[
        list[str] | None, typer.Option("--name", help="One more host name that others reach it by.")
    ] = None,
    models_root: Annotated[
        list[Path] | None,
        typer.Option("--models-root", metavar="DIR", help="A folder to import models from."),
    ] = None,
    inc_gui: Annotated[
        Path | None,
        typer.Option("--inc-gui", metavar="DIR", help="Serve the web client of INC Bench."),
    ] = None,
    no_token: Annotated[
        bool, typer.Option("--no-token", help="Let every program on this machine in.")
    ] = False,
    show_token: Annotated[bool, typer.Option("--show-token", help="Also print the token.")] = False,
    allow_downloads: Annotated[
        bool, typer.Option("--allow-downloads", help="Let clients download examples.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue jobs that an earlier server left.")
    ] = False,
    demo: Annotated[
        bool, typer.Option("--demo", help="In a new workspace, create a demo project.")
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="One JSON line on stdout once it is up.")
    ] = False,
    server: options.LocalOnly = None,
    workspace: options.Workspace = None,
) -> None:
    """Start the server: projects, models and results over HTTP, jobs one after the other.

    Ctrl-C stops it. What runs is kept and can be resumed.

    Examples:

        modeldyno serve

        modeldyno serve --models-root ~/models --port 8080
    """
    _require_packages()
    gc.disable()  # until it is up: all that is made before then stays
    _load_server()
    from modeldyno.api.server_address import Listening
    from modeldyno.settings import Settings

    settings = Settings.read(workspace)
    settings = replace(
        settings,
        models_roots=(
            *settings.models_roots,
            *(_require_folder(path, "--models-root") for path in models_root or ()),
        ),
        inc_gui=_require_folder(inc_gui, "--inc-gui") if inc_gui else None,
        allow_downloads=settings.allow_downloads or allow_downloads,
        resume=settings.resume or resume,
    )
    names = (*(name or ()), *(_list_own_names() if host in EVERYWHERE else ()))
    wanted = Listening(host, port, needs_token=not no_token, names=names)
    from modeldyno.api.serving import serve as serve_until_stopped

    announced: list[Listening] = []

    def is_up(running: Server, listening: Listening) -> None:
        gc.freeze()
        gc.enable()
        if demo:
            _make_demo(running)
        announced.append(listening)
        if json:
            output.line(_start_document(settings, listening))
        else:
            _print_welcome(running, wanted, listening, workspace, show_token)

    try:
        serve_until_stopped(settings, wanted, is_up, _print_upgrade_step)
    except KeyboardInterrupt:  # being stopped is how a server ends
        if not announced:
            raise
    output.message("Stopped. Waiting and running jobs are kept")


def _print_upgrade_step(step: Step) -> None:
    if step.number == 1:
        output.message("An earlier version wrote the database. It is upgraded; runs are kept")
    output.message(f"  {step}")


def _require_packages() -> None:
    from importlib.util import find_spec

    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        raise PackageMissing(
            "The server is not installed here",
            why=f"there is no Python package {missing[0]!r}",
            fix="Run `pip install 'modeldyno[server]'`",
        )


def _load_server() -> None:
    """Without what Socket.IO would load for clients of its own: that is a third of a start."""
    import sys
    from importlib import import_module

    hidden = [name for name in _OF_CLIENTS if name not in sys.modules]
    for name in hidden:
        sys.modules[name] = None  # type: ignore[assignment]  # as if it were not installed
    try:
        import_module("modeldyno.api.serving")
    finally:
        for name in hidden:
            del sys.modules[name]


def _require_folder(path: Path, option: str) -> Path:
    folder = path.expanduser().absolute()
    if not folder.is_dir():
        raise BadValue(f"{path} is not a folder", fix=f"Give {option} an existing folder")
    return folder


def _list_own_names() -> tuple[str, ...]:
    """Names and addresses of this machine: no page of a stranger comes under one of them."""
    import socket

    name = socket.gethostname()
    try:
        addresses = {str(info[4][0]) for info in socket.getaddrinfo(name, None)}
    except OSError:  # an unknown name
        addresses = set()
    return (name.lower(), *sorted(address.partition("%")[0] for address in addresses))


def _make_demo(server: Server) -> None:
    """A server without its demo is better than none."""
    try:
        server.demo.make_once()
    except ModeldynoError as error:
        output.warn(f"the demo project could not be made: {error}")


def _start_document(settings: Settings, listening: Listening) -> dict[str, object]:
    import os

    return {"url": listening.url, "workspace": str(settings.workspace), "pid": os.getpid()}


def _print_welcome(
    server: Server,
    wanted: Listening,
    listening: Listening,
    workspace: Path | None,
    show_token: bool,
) -> None:
    from modeldyno.core import figures
    from modeldyno.core.hosts import tool_version
    from modeldyno.workbench import open_token

    place = server.settings.workspace
    projects = figures.counted(server.records.projects.count(), "project")
    output.message(f"Modeldyno {tool_version()}   workspace {_shorten_path(place)}   {projects}")
    if wanted.port not in (0, listening.port):
        output.message(f"  Port {wanted.port} is taken; this is the next free one")
    where = f" --workspace {_shorten_path(place)}" if workspace else ""
    opens = f"{_own_command()} open{where}"
    door = f"(run `{opens}` to sign in)" if listening.needs_token else "(no token)"
    output.message(f"  Open      {listening.url}/   {door}")
    output.message(f"  API       {listening.url}/docs")
    token = open_token(server.settings).current() if show_token and listening.needs_token else ""
    if token:
        output.message(f"  Token     {token}")
    if server.settings.inc_gui is not None:
        output.message(f"  INC GUI   {_client_address(listening, token)}")
    if listening.is_loopback:
        stops = "Ctrl-C stops; running jobs are kept and can be resumed."
        output.message(f"  Listening on this machine only. {stops}")
    else:
        output.warn(
            "other machines can reach this address. Anybody with the token can run models here, "
            "and anybody on the network path can read it: there is no encryption",
            "leave --host out, or put a proxy with TLS in front",
        )
        output.message("  Ctrl-C stops; running jobs are kept and can be resumed.")


def _client_address(listening: Listening, token: str) -> str:
    """The client of INC Bench reads its token from the address."""
    if not listening.needs_token:
        return f"{listening.url}/"
    return f"{listening.url}/?token={token or 'TOKEN   (`modeldyno token` prints it)'}"


def _own_command() -> str:
    """As one would type it here: ``modeldyno``, or ``.venv/bin/modeldyno`` where that is not on
    the PATH."""
    import shutil
    import sys

    typed = Path(sys.argv[0])
    is_known = typed.name != "modeldyno" or shutil.which(typed.name) == str(typed)
    return "modeldyno" if is_known else _shorten_path(typed)


def _shorten_path(path: Path) -> str:
    """``~/.modeldyno``."""
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)
