"""Options that several commands share."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from modeldyno.core.cell_axes import COUNTS, CellAxis
from modeldyno.core.errors import BadValue

if TYPE_CHECKING:
    from collections.abc import Iterator

Engine = Annotated[
    str | None,
    typer.Option(
        "--engine", "-e", help="Engine, e.g. onnxruntime (ort).", show_default="automatic"
    ),
]
Devices = Annotated[str, typer.Option("--device", help="Devices: cpu,cuda,cuda:1,mps.")]
Precisions = Annotated[
    str | None,
    typer.Option(help="Precisions: fp32,bf16,fp16.", show_default="as the model has it"),
]
Contract = Annotated[
    str,
    typer.Option(
        help="What a call is: hot (bound buffers), api (the ordinary call), e2e (with conversion)."
    ),
]
Spin = Annotated[
    str | None,
    typer.Option(help="Thread pool spinning: on or off.", show_default="the engine's own"),
]
Dim = Annotated[
    list[str] | None,
    typer.Option("--dim", help="Size of a symbolic dimension: --dim batch=8 seq=128."),
]
Value = Annotated[
    list[str] | None, typer.Option("--value", help="Value of an input: --value sr=16000.")
]
Data = Annotated[Path | None, typer.Option("--data", help="Real inputs: an .npz by input name.")]
Input = Annotated[
    list[str] | None,
    typer.Option(
        "--input",
        help="What a TorchScript file or checkpoint takes: --input x=float32\\[batch,3,224,224].",
    ),
]
ArchitectureName = Annotated[
    str | None,
    typer.Option(
        "--architecture", help="What builds a checkpoint's model: package.module:factory."
    ),
]
Argument = Annotated[
    list[str] | None,
    typer.Option("--arg", help="Keyword argument of the architecture: --arg depth=50."),
]
Signature = Annotated[
    str,
    typer.Option(
        "--signature", help="Which signature of a SavedModel.", show_default="serving_default"
    ),
]
EngineOption = Annotated[
    list[str] | None, typer.Option("--option", help="Option of the engine: --option compile=on.")
]
Quick = Annotated[bool, typer.Option("--quick", help="2 s instead of 10: rough.")]
Thorough = Annotated[bool, typer.Option("--thorough", help="60 s instead of 10: precise.")]
BudgetSeconds = Annotated[
    float | None,
    typer.Option(
        "--budget", help="Seconds per cell (bench) or in all (compare).", show_default="10"
    ),
]
Timeout = Annotated[float, typer.Option(help="Seconds after which a cell fails, load included.")]
MemoryLimit = Annotated[
    str | None,
    typer.Option(help="Maximum memory of a worker: 4G.", show_default="90 % of the machine's"),
]
NoSandbox = Annotated[
    bool, typer.Option("--no-sandbox", help="Let the model reach your files and network.")
]
RequireSandbox = Annotated[
    bool, typer.Option("--require-sandbox", help="Fail if the system cannot confine it fully.")
]
Seed = Annotated[int, typer.Option(help="Seed of inputs, orders and memory padding.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no notes.")]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Notes on each cell, not only the worst.")
]
Workspace = Annotated[
    Path | None, typer.Option(help="Where runs are kept.", show_default="~/.modeldyno")
]
Server = Annotated[
    str | None,
    typer.Option(
        "--server",
        metavar="URL",
        envvar="MODELDYNO_SERVER",
        show_envvar=False,
        help="Work on this server instead.",
        show_default="here",
    ),
]


def _refuse_server(url: str | None) -> None:
    if url is not None:
        raise BadValue(
            "This command works only on this machine",
            why="it measures or serves here, not on another server",
            fix="Leave --server out, or run it on that machine",
        )


LocalOnly = Annotated[str | None, typer.Option("--server", hidden=True, callback=_refuse_server)]


def with_count_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command with an option for each axis that is a count, behind --engine; their values are
    in ``context.params`` alone."""
    own = inspect.signature(command, eval_str=True)

    @functools.wraps(command)
    def counting(**given: Any) -> None:
        command(**{name: given[name] for name in own.parameters})

    parameters = [*own.parameters.values()]
    behind = [*own.parameters].index("engine") + 1
    parameters[behind:behind] = [_count_option(axis) for axis in COUNTS]
    counting.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    return counting


def _count_option(axis: CellAxis) -> inspect.Parameter:
    names = [f"--{axis.short}", *([f"-{axis.letter}"] if axis.letter else [])]
    annotation = Annotated[str, typer.Option(*names, help=axis.help)]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(axis.short, kind, default=str(axis.usual), annotation=annotation)


# ---------------------------------------------------------------- as requests

_NO_SETTINGS = (
    *("resume", "config", "against", "raw", "csv", "strict", "by", "top", "json", "quiet"),
    *("server", "workspace"),
)


def typed_words(context: typer.Context, sizes: Collection[str] | None = None) -> dict[str, Any]:
    """What was typed, by the words that requests are filled from; ``sizes`` instead of --dim."""
    from modeldyno.core.requests import texts

    given = dict(context.params)
    dims = list(given.get("dim") or ()) if sizes is None else [*sizes]
    values = texts.parse_pairs("--value", given.get("value") or [])
    given["dims"] = texts.parse_sizes("--dim", dims)
    given["values"] = {name: texts.parse_number(name, text) for name, text in values.items()}
    given["inputs"] = given.get("input_") or ()
    given["options"] = texts.parse_options(given.get("option") or ())
    given["arguments"] = texts.parse_arguments("--arg", given.get("arg") or ())
    given["sandbox"] = _choose_sandbox(given.get("no_sandbox"), given.get("require_sandbox"))
    if given.get("memory_limit"):
        given["memory_limit"] = texts.parse_bytes("--memory-limit", given["memory_limit"])
    if given.get("margin"):
        given["margin"] = texts.parse_share("--margin", given["margin"])
    return given


def typed_settings(context: typer.Context) -> Iterator[str]:
    """Names of settings that were typed, rather than left as they are."""
    for name in context.params:
        source = context.get_parameter_source(name)
        if name not in _NO_SETTINGS and source is not None and source.name == "COMMANDLINE":
            yield name


def _choose_sandbox(is_off: bool | None, is_required: bool | None) -> str:
    if is_off and is_required:
        raise BadValue(
            "--no-sandbox and --require-sandbox contradict each other", fix="Use only one of them"
        )
    return "off" if is_off else "required" if is_required else "on"
