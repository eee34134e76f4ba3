"""``modeldyno convert``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from modeldyno.cli import options, output

if TYPE_CHECKING:
    from modeldyno.core.conversions import ConversionResult


def convert(
    context: typer.Context,
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Model file.")],
    to: Annotated[str, typer.Option("--to", help="Format to convert to: onnx, openvino, litert.")],
    output_: Annotated[
        Path | None,
        typer.Option("--output", help="The file to write.", show_default="beside MODEL"),
    ] = None,
    dim: options.Dim = None,
    value: options.Value = None,
    input_: options.Input = None,
    architecture: options.ArchitectureName = None,
    arg: options.Argument = None,
    signature: options.Signature = "",
    timeout: Annotated[float, typer.Option(help="Seconds after which it fails.")] = 600.0,
    memory_limit: options.MemoryLimit = None,
    seed: options.Seed = 0,
    json: options.Json = False,
    quiet: options.Quiet = False,
    server: options.LocalOnly = None,
    workspace: options.Workspace = None,
) -> None:
    r"""The same network in another format, kept only when both compute the same.

    Examples:

        modeldyno convert net.pt2 --to onnx

        modeldyno convert net.onnx --to openvino --output ir/net.xml

        modeldyno convert net.pth --to onnx --architecture nets:build --input x=float32\[batch,8]
    """
    from modeldyno.cli.progress import live
    from modeldyno.core.conversions import ConversionResult
    from modeldyno.core.requests.measuring import ConversionRequest
    from modeldyno.core.requests.texts import file_of, typed_request
    from modeldyno.services import requests
    from modeldyno.settings import Settings
    from modeldyno.workbench import open_workbench

    words = options.typed_words(context)
    request = typed_request(ConversionRequest, words)
    spec = requests.make_conversion_spec(request, file_of(model, words), output_)
    service = open_workbench(Settings.read(workspace)).service
    with live(quiet or json) as listen:
        result = service.run(spec, listen)
    assert isinstance(result, ConversionResult)
    if json:
        from modeldyno.core.documents.conversions import ConversionDocument

        output.document(ConversionDocument.of(result))
    else:
        show(result, quiet)


def show(result: ConversionResult, quiet: bool) -> None:
    from modeldyno.core import figures
    from modeldyno.core.conversions import GOALS
    from modeldyno.core.models import format_title

    made = result.model.made
    assert made is not None
    tools = ", ".join(f"{name} {version}" for name, version in made.versions.items())
    output.say(f"made       {result.model.path}")
    output.say(f"           {GOALS[result.to]}, {figures.size(result.model.size_bytes)}")
    output.say(f"from       {made.source} ({format_title(made.source_format)})")
    output.say(f"with       {made.tool} ({tools})")
    if quiet:
        return
    output.say(f"checked    {result.source_engine} against {result.engine}, on the same inputs:")
    output.say("")
    rows = [
        (
            str(number),
            str(check.batch_size),
            f"{check.max_abs_error:.2g}",
            f"{check.max_rel_error:.2g}",
        )
        for number, check in enumerate(result.checks, 1)
    ]
    output.table(("input", "batch", "largest error", "of the largest value"), rows)
    for note in result.notes:
        output.message(f"note: {note}")
    output.message(f"took {figures.duration(result.seconds)}")
