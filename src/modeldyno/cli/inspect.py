"""``modeldyno inspect``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from modeldyno.cli import options, output

if TYPE_CHECKING:
    from modeldyno.core.models import ModelFacts


def inspect(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Model file.")],
    timeout: Annotated[float, typer.Option(help="Seconds to read it.")] = 60.0,
    json: options.Json = False,
) -> None:
    """What is in a model file: inputs, outputs, operators, parameters. Nothing of it is run."""
    from modeldyno.python_api import inspect as read

    facts = read(model, timeout=timeout)
    if json:
        from modeldyno.core.public import MODEL_SCHEMA, model_json

        output.document({"schema": MODEL_SCHEMA} | model_json(facts))
    else:
        _show(facts)


_TIERS = {
    "data": "",
    "program": "runs a program: only if you trust the file",
    "code": "can run Python code: only if you trust the file",
}


def _show(facts: ModelFacts) -> None:
    from modeldyno.core import figures
    from modeldyno.core.tables import model_rows
    from modeldyno.core.trust import TIERS

    versions = ", ".join(f"{name or 'ai.onnx'} {number}" for name, number in facts.opsets.items())
    weights = ", ".join(
        f"{dtype} {figures.spaced(count, 0)}" for dtype, count in facts.weights_by_dtype.items()
    )
    lines = {
        "file": Path(facts.path).name,
        "format": f"{facts.format}, IR {facts.ir_version}" if facts.ir_version else facts.format,
        "made by": facts.producer,
        "opsets": versions,
        "size": f"{figures.size(facts.size_bytes)} ({facts.size_bytes} bytes)",
        "parameters": f"{figures.spaced(facts.parameters, 0)} ({weights})" if weights else "0",
        "sha256": facts.sha256,
        "external": ", ".join(file.location for file in facts.external),
        "loading it": _TIERS[TIERS[facts.format]],
        "imports": ", ".join(facts.imports),
        "built by": facts.architecture.factory if facts.architecture else "",
    }
    for name, text in lines.items():
        if text:
            output.say(f"{name:<11} {text}")
    output.say("")
    head, rows = model_rows(facts)
    if rows:
        output.table(head, rows, left=head)
        output.say("")
    if not facts.nodes_by_op:
        _show_notes(facts)
        return
    common = sorted(facts.nodes_by_op.items(), key=lambda item: (-item[1], item[0]))
    output.say(
        f"{figures.counted(facts.nodes, 'node')}: "
        + ", ".join(f"{op} {count}" for op, count in common)
    )
    _show_notes(facts)


def _show_notes(facts: ModelFacts) -> None:
    for note in facts.notes:
        output.say(f"note: {note}")
