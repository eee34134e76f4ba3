"""``modeldyno trust``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from modeldyno.cli import options, output

if TYPE_CHECKING:
    from modeldyno.cli.remote import ServerTrust
    from modeldyno.core.trust import Trusted
    from modeldyno.services.trust import TrustGrant, TrustService

_MEANING = {
    "data": "it is data and needed no trust",
    "program": "the server may run the program in it",
    "code": "the server may run the code in it",
}


def trust(
    file: Annotated[
        str | None, typer.Argument(metavar="FILE", help="Model file; with --revoke also a sha256.")
    ] = None,
    architecture: options.ArchitectureName = None,
    arg: options.Argument = None,
    reason: Annotated[str, typer.Option(help="The reason, kept with the date.")] = "",
    revoke: Annotated[bool, typer.Option("--revoke", help="Stop trusting it.")] = False,
    list_all: Annotated[bool, typer.Option("--list", help="Show what is trusted.")] = False,
    json: options.Json = False,
    server: options.Server = None,
    workspace: options.Workspace = None,
) -> None:
    """Vouch for a model file that can run code, by its content: a changed byte ends it.

    Of weights, trust covers what builds the model, too: the factory and its arguments, as the
    .modeldyno.toml beside the file says, or as you do. In your own terminal, naming a file is trust
    enough; a server asks for this.

    Examples:

        modeldyno trust model.pt

        modeldyno trust weights.pt --architecture nets:build --arg depth=50
    """
    from modeldyno.settings import Settings
    from modeldyno.workbench import open_workbench

    service: TrustService | ServerTrust
    if server is None:
        service = open_workbench(Settings.read(workspace)).trust
    else:
        from modeldyno.cli.remote import ServerTrust, connect_client

        service = ServerTrust(connect_client(server, workspace))
    if list_all or file is None:
        if file is None and not list_all:
            raise typer.BadParameter("give a FILE, or --list")
        _print_entries(service.all(), json)
    elif revoke:
        sha256 = service.revoke(file)
        if json:
            from modeldyno.core.documents.models import TrustDocument

            output.document(TrustDocument(revoked=sha256))
        else:
            output.say(f"no longer trusted: {sha256}")
    else:
        from modeldyno.core.requests.texts import parse_arguments

        arguments = parse_arguments("--arg", arg or [])
        _print_granted(service.grant(file, reason, architecture, arguments), json)


def _print_granted(granted: TrustGrant, as_json: bool) -> None:
    entry = granted.entry
    if as_json:
        from modeldyno.core.documents.models import TrustDocument

        output.document(TrustDocument(trusted=(entry,), tier=granted.tier, can_run=granted.can_run))
        return
    output.say(f"trusted: {entry.name}  {entry.sha256}")
    if entry.code is not None:
        output.say(f"built by: {entry.code}")
        for path, sha256 in entry.code.sources.items():
            output.say(f"source: {path}  {sha256}")
    if granted.lacks_code:
        output.warn(
            "these are weights, and the code that builds the model was not named: that is not "
            "covered",
            "give --architecture and --arg, or write them into the .modeldyno.toml beside it",
        )
    elif granted.can_run:
        output.message(_MEANING[granted.tier])
    else:
        output.warn(
            "it is a bare pickle, and no engine here runs those, trusted or not",
            "export the model to ONNX, or save its state_dict with torch.save",
        )


def _print_entries(entries: tuple[Trusted, ...], as_json: bool) -> None:
    if as_json:
        from modeldyno.core.documents.models import TrustDocument

        output.document(TrustDocument(trusted=entries))
        return
    head = ("file", "since", "reason", "built by", "sha256")
    rows = [(e.name, e.at, e.reason, str(e.code or ""), e.sha256) for e in entries]
    output.table(head, rows, left=head)
