"""``modeldyno serve``."""

from __future__ import annotations

from typing import Annotated

import typer

from modeldyno.cli import options, output


def serve(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; the next free one if it is taken.")] = 5000,
    no_token: Annotated[
        bool, typer.Option("--no-token", help="Let every program of this machine in.")
    ] = False,
    workspace: options.Workspace = None,
) -> None:
    """Start the server."""
    from modeldyno.api.listening import Listening
    from modeldyno.api.serving import serve as serve_until_stopped
    from modeldyno.settings import Settings

    def tell(listening: Listening) -> None:
        output.tell(f"Listening at {listening.url}")

    listening = Listening(host, port, needs_token=not no_token)
    serve_until_stopped(Settings.read(workspace), listening, tell)
