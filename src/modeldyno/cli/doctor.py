"""``modeldyno doctor``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from modeldyno.cli import options, output

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from modeldyno.core.documents.hosts import Finding, Peaks

UNFIT = 7
MARKS = {"ok": "✓", "warning": "!", "problem": "✗", "unknown": "?"}
_STYLES = {"fit": "bold green", "fit with care": "bold yellow", "unfit": "bold red"}


def doctor(
    peaks: Annotated[
        bool, typer.Option("--peaks", help="Also measure GFLOP/s and GB/s; half a minute.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit 7 if the machine is unfit.")
    ] = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
    server: options.Server = None,
    workspace: options.Workspace = None,
) -> None:
    """Is this machine fit to measure? What disturbs numbers here, and how to mend it.

    Examples:

        modeldyno doctor

        modeldyno doctor --peaks --json
    """
    if server is not None:
        raise typer.Exit(_examine_server(server, workspace, peaks, strict, json, quiet))
    from modeldyno.cli.progress import live
    from modeldyno.settings import Settings
    from modeldyno.workbench import open_doctor

    service = open_doctor(Settings.read(workspace))
    with live(quiet, "Checking the machine") as listen:
        checkup = service.examine(peaks, listen)
    if json:
        from modeldyno.core.documents.hosts import DoctorDocument

        output.document(DoctorDocument.of(checkup))
    else:
        _print_findings(checkup.findings, checkup.peaks, quiet)
    raise typer.Exit(UNFIT if strict and checkup.fitness == "unfit" else 0)


def _examine_server(
    server: str, workspace: Path | None, peaks: bool, strict: bool, as_json: bool, quiet: bool
) -> int:
    """The server's machine."""
    from modeldyno.cli import remote

    remote.refuse_options(peaks=peaks)
    document = remote.connect_client(server, workspace).system.doctor()
    if as_json:
        output.document(document)
    else:
        _print_findings(document.findings, None, quiet)
    return UNFIT if strict and document.verdict == "unfit" else 0


def _print_findings(findings: Sequence[Finding], peaks: Peaks | None, quiet: bool) -> None:
    from modeldyno.core.documents.hosts import NONE, fitness, verdict_sentence

    head = ("", "check", "found")
    rows = [(MARKS[finding.state], finding.name, finding.value) for finding in findings]
    output.table(head, rows, left=head)
    for finding in [] if quiet else findings:
        if finding.effect != NONE and finding.state != "ok":
            fix = "" if finding.fix == NONE else finding.fix
            output.warn(f"{finding.name}: {finding.effect}", fix)
    if peaks is not None:
        _print_peaks(peaks)
    output.say("")
    output.headline(verdict_sentence(findings), _STYLES[fitness(findings)])


def _print_peaks(peaks: Peaks) -> None:
    from modeldyno.core.figures import plain

    rows = [
        (str(p.cores), plain(p.flops_per_s / 1e9), plain(p.bytes_per_s / 1e9), p.noise)
        for p in peaks.peaks
    ]
    output.say("")
    output.table(("cores", "GFLOP/s", "GB/s", "quality"), rows, left=("quality",))
    output.message(
        f"Best of many calls with {peaks.engine} at {peaks.created_at}; unless quiet, more may be "
        f"possible. {peaks.work}; {peaks.traffic}"
    )
