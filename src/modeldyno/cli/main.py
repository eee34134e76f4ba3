"""``modeldyno``: commands, and the only place that knows exit codes."""

from __future__ import annotations

import errno
import signal
import sys
from typing import Annotated, NoReturn

import typer

from modeldyno.cli import (
    bench,
    compare,
    convert,
    demo,
    doctor,
    du,
    engines,
    examples,
    inspect,
    jobs,
    ls,
    note,
    output,
    profile,
    prune,
    reindex,
    remote,
    report,
    rerun,
    rm,
    selftest,
    serve,
    show,
    token,
    trust,
)
from modeldyno.cli import open as open_
from modeldyno.cli.usage import Commands
from modeldyno.core import errors

EXIT_CODES: dict[type[errors.ModeldynoError], int] = {
    errors.UserError: 2,
    errors.ServerUnreachable: 3,
    errors.NotSignedIn: 3,
    errors.ModelNotFound: 4,
    errors.RunNotFound: 4,
    errors.FileNotFound: 4,
    errors.NotFound: 4,
    errors.ExampleNotFound: 4,
    errors.DownloadRefused: 8,
    errors.UnsafeFormat: 8,
    errors.RunFailed: 1,
    errors.TimedOut: 124,
    errors.OutOfMemory: 137,
    errors.Cancelled: 130,
}
BUG = 70
INTERRUPTED = 130

EPILOG = "Results are kept in the workspace: ~/.modeldyno, MODELDYNO_WORKSPACE or --workspace."

app = typer.Typer(
    name="modeldyno",
    cls=Commands,
    help="Put your model on the dyno: numbers you can trust, even on a noisy machine.",
    epilog=EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("bench")(bench.bench)
app.command("compare")(compare.compare)
app.command("profile")(profile.profile)
app.command("ls")(ls.ls)
app.command("show")(show.show)
app.command("report")(report.report)
app.command("rerun")(rerun.rerun)
app.command("rm")(rm.rm)
app.command("note")(note.note)
app.command("du")(du.du)
app.command("prune")(prune.prune)
app.command("reindex")(reindex.reindex)
app.command("inspect")(inspect.inspect)
app.command("convert")(convert.convert)
app.command("trust")(trust.trust)
app.add_typer(examples.app, name="examples")
app.add_typer(engines.app, name="engines")
app.command("doctor")(doctor.doctor)
app.command("selftest")(selftest.selftest)
app.command("demo")(demo.demo)
app.command("serve")(serve.serve)
app.command("open")(open_.open_)
app.command("token")(token.token)
app.add_typer(jobs.app, name="jobs")


@app.callback(invoke_without_command=True)
def modeldyno(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        from modeldyno.core.hosts import tool_version

        output.say(f"modeldyno {tool_version()}")
        raise typer.Exit


def run() -> None:
    """The command's entry point: every way to end has its exit code."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    output.clean_log()
    output.owe_document("--json" in sys.argv)
    try:
        app()
    except errors.ModeldynoError as error:
        output.print_error(error)
        output.error_document(error, exit_code(error))
        sys.exit(exit_code(error))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:  # `| head` closed our output: there is no reader left
        sys.stderr.close()
        sys.exit(0)
    except Exception as error:  # noqa: BLE001 - the outermost frame: this one is our bug
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            _give_up_output(error)
        output.print_bug(error)
        bug = errors.ModeldynoError(f"{type(error).__name__}: {error}", fix="Please report it")
        output.error_document(bug, BUG, "BUG")
        sys.exit(BUG)
    finally:
        remote.hang_up()


def _give_up_output(error: OSError) -> NoReturn:
    """``> result.json`` on a full disk."""
    output.discard_further_stdout()
    trouble = errors.StorageFailed(
        "The output could not be written",
        why=error.strerror or "",
        fix="Free some space; what was measured is kept in the workspace",
    )
    output.print_error(trouble)
    sys.exit(exit_code(trouble))


def exit_code(error: errors.ModeldynoError) -> int:
    return next(EXIT_CODES[kind] for kind in type(error).__mro__ if kind in EXIT_CODES)


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt
