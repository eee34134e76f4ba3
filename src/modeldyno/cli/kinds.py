"""How the terminal shows what a kind of run came to, and runs it again: one entry for each kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from modeldyno.cli import output

if TYPE_CHECKING:
    from modeldyno.core.ids import RunId
    from modeldyno.core.specs import RunSpec

INTERRUPTED = 130


@dataclass(frozen=True)
class Again:
    """A run to be made once more; ``spec`` is None of one on a server."""

    name: str
    run: Callable[..., Any]  # takes a listener, gives the result
    spec: RunSpec | None
    as_json: bool
    quiet: bool
    strict: bool  # what is not quiet has an exit code of its own
    workspace: Path | None
    label: Callable[[RunId], str]  # the number of a run: #12


@dataclass(frozen=True)
class TerminalKind:
    """Functions, as ``module:name``: a command loads no more than its own kind."""

    show: str = "modeldyno.cli.kinds:show_plainly"  # of a result, its number and the workspace
    rerun: str = "modeldyno.cli.kinds:rerun_plainly"  # of an Again, to its exit code


KINDS: dict[str, TerminalKind] = {
    "benchmark": TerminalKind("modeldyno.cli.bench:show_kept", "modeldyno.cli.bench:rerun"),
    "comparison": TerminalKind("modeldyno.cli.compare:show_kept", "modeldyno.cli.compare:rerun"),
    "profile": TerminalKind("modeldyno.cli.profile:show_kept", "modeldyno.cli.profile:rerun"),
}
_PLAIN = TerminalKind()


def show(kind: str, result: Any, run: str, workspace: Path | None) -> None:
    """``run`` is its number, ``#12``."""
    _load(KINDS.get(kind, _PLAIN).show)(result, run, workspace)


def rerun(kind: str, again: Again) -> int:
    code: int = _load(KINDS.get(kind, _PLAIN).rerun)(again)
    return code


def show_plainly(result: Any, run: str, workspace: Path | None) -> None:
    output.headline(result.headline())


def rerun_plainly(again: Again) -> int:
    from modeldyno.cli.progress import live

    with live(again.quiet) as listen:
        result = again.run(listen)
    if again.as_json:
        output.document(result.document())
    else:
        show_plainly(result, again.label(result.run_id), again.workspace)
    return INTERRUPTED if result.interrupted else 0


def _load(name: str) -> Callable[..., Any]:
    module, _, function = name.partition(":")
    command: Callable[..., Any] = getattr(import_module(module), function)
    return command
