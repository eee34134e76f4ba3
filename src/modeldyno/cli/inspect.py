"""``modeldyno inspect``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from modeldyno.cli import options, output
from modeldyno.core.errors import BadValue
from modeldyno.core.names import name_of_file

if TYPE_CHECKING:
    from modeldyno.core.documents.models import ModelDocument
    from modeldyno.core.models import Making


def inspect(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Model file.")],
    graph: Annotated[bool, typer.Option("--graph", help="Show its nodes, in groups.")] = False,
    depth: Annotated[
        int | None, typer.Option(help="Levels of groups to show, with --graph.", min=1)
    ] = None,
    signature: options.Signature = "",
    timeout: Annotated[float, typer.Option(help="Seconds allowed for reading it.")] = 60.0,
    json: options.Json = False,
    server: options.Server = None,
    workspace: options.Workspace = None,
) -> None:
    """What is in a model file: inputs, outputs, operators, parameters. Nothing of it is run.

    Examples:

        modeldyno inspect model.onnx

        modeldyno inspect model.onnx --json
    """
    if server is not None:
        from modeldyno.cli.remote import refuse_options

        refuse_options(graph=graph, depth=depth, signature=signature)
        document = _inspect_on_server(model, server, workspace)
    elif graph:
        _inspect_graph(model, signature, depth, timeout, json, workspace)
        return
    else:
        if depth is not None:
            raise BadValue(
                "--depth works only with --graph", fix="Add --graph, or leave --depth out"
            )
        from modeldyno.core.documents.models import ModelDocument
        from modeldyno.python_api import inspect as read

        document = ModelDocument.of(read(model, signature=signature, timeout=timeout))
    if json:
        output.document(document)
    else:
        _print_facts(document)


def _inspect_on_server(file: str, server: str, workspace: Path | None) -> ModelDocument:
    from modeldyno.cli.remote import connect_client, find_or_upload_model

    facts = find_or_upload_model(connect_client(server, workspace), file).facts
    assert facts is not None  # the server has read it
    return facts


def _inspect_graph(
    model: str,
    signature: str,
    depth: int | None,
    timeout: float,
    as_json: bool,
    workspace: Path | None,
) -> None:
    from modeldyno.python_api import graph as read

    graph = read(model, signature=signature, timeout=timeout, workspace=workspace)
    if as_json:
        from modeldyno.core.documents.graphs import GraphDocument

        output.document(GraphDocument.of(graph))
    else:
        from modeldyno.graphs import tree

        for line in tree.text_lines(graph, depth or tree.DEPTH):
            output.say(line)


_TIERS = {
    "data": "",
    "program": "runs a program: only if you trust the file",
    "code": "can run Python code: only if you trust the file",
}


def _print_facts(facts: ModelDocument) -> None:
    from modeldyno.core import figures
    from modeldyno.core.models import format_title
    from modeldyno.present.tables import model_rows

    versions = ", ".join(f"{name or 'ai.onnx'} {number}" for name, number in facts.opsets.items())
    weights = ", ".join(
        f"{dtype} {figures.spaced(count, 0)}" for dtype, count in facts.weights_by_dtype.items()
    )
    title = format_title(facts.format)
    lines = {
        "file": name_of_file(facts.path),
        "format": f"{title}, IR {facts.ir_version}" if facts.ir_version else title,
        "made by": facts.producer,
        "opsets": versions,
        "size": f"{figures.size(facts.size_bytes)} ({facts.size_bytes} bytes)",
        "parameters": f"{figures.spaced(facts.parameters, 0)} ({weights})" if weights else "0",
        "sha256": facts.sha256,
        "external": ", ".join(file.location for file in facts.external),
        "loading it": _TIERS[facts.tier],
        "imports": ", ".join(facts.imports),
        "built by": facts.architecture.factory if facts.architecture else "",
        "converted": _making_text(facts.made) if facts.made else "",
    }
    for name, text in lines.items():
        if text:
            output.say(f"{name:<11} {text}")
    output.say("")
    head, rows = model_rows(facts)
    if rows:
        output.table(head, rows, left=head)
        output.say("")
    _print_signatures(facts)
    if not facts.nodes_by_op:
        _print_notes(facts)
        return
    common = sorted(facts.nodes_by_op.items(), key=lambda item: (-item[1], item[0]))
    output.say(
        f"{figures.counted(facts.nodes, 'node')}: "
        + ", ".join(f"{op} {count}" for op, count in common)
    )
    _print_notes(facts)


def _making_text(made: Making) -> str:
    from modeldyno.core.models import format_title

    tools = ", ".join(f"{name} {version}" for name, version in made.versions.items())
    source = f"{made.source} ({format_title(made.source_format)})"
    return (
        f"from {source} by {made.tool} ({tools}) on {made.at[:10]}; "
        f"on {made.checks} inputs it differed by at most {made.max_rel_error:.2g} of the largest "
        "value"
    )


def _print_signatures(facts: ModelDocument) -> None:
    """Of several, with what each takes and gives."""
    from modeldyno.present.tables import shape_text

    if len(facts.signatures) < 2:
        return
    output.say("signatures, of which --signature chooses one:")
    for signature in facts.signatures:
        taken, given = (
            ", ".join(f"{t.name} {t.dtype}{shape_text(t.shape)}" for t in side) or "nothing"
            for side in (signature.inputs, signature.outputs)
        )
        chosen = " (taken)" if signature.name == facts.signature else ""
        output.say(f"  {signature.name}{chosen}: {taken} → {given}")
    output.say("")


def _print_notes(facts: ModelDocument) -> None:
    for note in facts.notes:
        output.say(f"note: {note}")
