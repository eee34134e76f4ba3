"""``modeldyno token``."""

from __future__ import annotations

from typing import Annotated

import typer

from modeldyno.cli import options, output


def token(
    rotate: Annotated[
        bool, typer.Option("--rotate", help="Create a new one; the old one stops working.")
    ] = False,
    server: options.LocalOnly = None,
    workspace: options.Workspace = None,
) -> None:
    """Print the workspace's token, which clients of its server need.

    Examples:

        curl -H "Authorization: Bearer $(modeldyno token)" http://127.0.0.1:5000/api/v1/projects

        modeldyno token --rotate
    """
    from modeldyno.settings import Settings
    from modeldyno.workbench import open_token

    file = open_token(Settings.read(workspace))
    output.say(file.rotate() if rotate else file.current())
    if rotate:
        output.message("All programs and browsers have to sign in again")
