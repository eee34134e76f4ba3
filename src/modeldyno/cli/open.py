"""``modeldyno open``."""

from __future__ import annotations

from typing import Annotated

import typer

from modeldyno.cli import options, output


def open_(
    print_: Annotated[
        bool, typer.Option("--print", help="Print the address instead of opening it.")
    ] = False,
    server: options.Server = None,
    workspace: options.Workspace = None,
) -> None:
    """Sign a browser in to the server: with a code that works once, and for a minute.

    Examples:

        modeldyno open
    """
    from modeldyno.cli.remote import connect_client

    client = connect_client(server, workspace)
    address = f"{client.url}{client.session.code()}"
    if not print_ and _open_in_browser(address):
        output.message(f"Opened {client.url} in the browser")
        return
    output.say(address)
    output.message("Open it within a minute; it works once")


def _open_in_browser(address: str) -> bool:
    """Whether there was a browser to show it; what it prints is not ours to show."""
    import webbrowser

    try:
        return webbrowser.open(address)
    except webbrowser.Error:
        return False
