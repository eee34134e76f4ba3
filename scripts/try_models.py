"""What the commands say of model files: a Markdown row for each, as in docs/tried-models.md.

.venv/bin/python scripts/try_models.py one.onnx two.tflite > table.md
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

COMMANDS = {
    "inspect": ("inspect",),
    "bench": ("bench", "--quick"),
    "compare": ("compare", "--engine", "all", "--quick"),
    "profile": ("profile", "--quick"),
}
HEAD = ("model", "format", "size", *COMMANDS)


def run(command: tuple[str, ...], model: Path) -> dict[str, Any]:
    """Its document, or that of its error."""
    words = [str(Path(sys.executable).with_name("modeldyno")), *command, str(model), "--json"]
    ended = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    document: dict[str, Any] = json.loads(ended.stdout)
    return document


def duration(milliseconds: float | None) -> str:
    if milliseconds is None:
        return "–"
    return f"{milliseconds:.3g} ms" if milliseconds >= 0.1 else f"{milliseconds * 1000:.3g} µs"


def failure(error: dict[str, Any]) -> str:
    return f"{error['code']}: {error['title']}; {error['detail']}".replace("|", "\\|")[:240]


def describe(name: str, document: dict[str, Any]) -> str:
    if "error" in document:
        return failure(document["error"])
    match name:
        case "inspect":
            return f"{document['parameters']} parameters"
        case "bench":
            return ", ".join(map(describe_cell, document["cells"]))
        case "compare":
            return ", ".join(map(describe_side, document["sides"]))
        case _:
            (top, *_), floor = document["operators"], document["latency_ms"]["floor"]["value"]
            return f"{duration(floor)}, most in {top['op_type']}"


def describe_cell(cell: dict[str, Any]) -> str:
    if cell["error"]:
        return failure(cell["error"])
    floor = duration(cell["latency_ms"]["floor"]["value"])
    sizes = [f"{name} {size}" for name, size in cell["dims"].items()]
    words = [floor, cell["precision"] or "unknown precision", *sizes]
    return " ".join([*words, f"~{cell['shape']}" if cell["guessed"] else ""]).strip()


def describe_side(side: dict[str, Any]) -> str:
    engine = side["engine"] or side["label"].rpartition("=")[2]
    if side["error"]:
        return f"{engine} {failure(side['error'])}"
    return f"{engine} {duration(side['floor_ms'])}" + (" (no place)" if side["unranked"] else "")


def row(model: Path) -> str:
    documents = {name: run(command, model) for name, command in COMMANDS.items()}
    inspected = documents["inspect"]
    size = f"{model.stat().st_size / 1e6:.2f} MB"
    cells = (f"`{model.name}`", inspected.get("format", "–"), size)
    described = [describe(name, document) for name, document in documents.items()]
    return f"| {' | '.join((*cells, *described))} |"


if __name__ == "__main__":
    print(f"| {' | '.join(HEAD)} |", "|" + "---|" * len(HEAD), sep="\n", flush=True)
    for path in map(Path, sys.argv[1:]):
        print(row(path), flush=True)
