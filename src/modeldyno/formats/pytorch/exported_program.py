"""``torch.export`` programs: a zip whose graph is plain JSON, so reading it needs no PyTorch."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from modeldyno.core.errors import ModelUnreadable
from modeldyno.core.models import Dim, InputSpec, TensorSpec
from modeldyno.formats.containers.zip_members import ModelArchive
from modeldyno.formats.refusals import printable_name

# torch._export.serde.schema.ScalarType
DTYPES = {
    **{1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "float16", 7: "float32"},
    **{8: "float64", 12: "bool", 13: "bfloat16", 28: "uint16", 34: "uint32", 35: "uint64"},
}
_SYMBOL = re.compile(r"(?:Symbol\(')?([A-Za-z_]\w*)(?:'.*\))?")
_NUMBERS = {"as_int": "int64", "as_sym_int": "int64", "as_sym_float": "float64"}
_RAW = ("weight_", "tensor_")  # others are objects
COMPILED = "data/aotinductor/"
# What reading a document with an unknown layout may raise.
LAYOUT_ERRORS = (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError)


@dataclass(frozen=True)
class Program:
    """What an exported program declares about itself."""

    inputs: tuple[InputSpec, ...]
    outputs: tuple[TensorSpec, ...]
    operators: tuple[str, ...]  # one for each node
    weights_by_dtype: dict[str, int]
    producer: str
    notes: tuple[str, ...]


def read_program(path: Path, archive: ModelArchive) -> Program:
    """Raises ModelUnreadable for an archive without a graph that we can read."""
    document = read_program_json(path, archive)
    try:
        return _parse_program(document, archive)
    except LAYOUT_ERRORS as error:
        raise unknown_layout_error(path, error) from error


def read_program_json(path: Path, archive: ModelArchive) -> Any:
    """The program's JSON; raises ModelUnreadable if there is none."""
    graphs = archive.names_under("models/", ".json") or archive.names_under(
        "serialized_exported_program", ""
    )
    if not graphs:
        raise ModelUnreadable(
            f"{printable_name(path)} is a compiled PyTorch package without a graph",
            why="it holds machine code for one kind of machine, and no program to measure",
            fix="Give the .pt2 that torch.export.save wrote",
        )
    return archive.json(graphs[0])


def unknown_layout_error(path: Path, error: Exception) -> ModelUnreadable:
    return ModelUnreadable(
        f"The graph of {printable_name(path)} cannot be read",
        why=f"it is not laid out as torch.export of version 2.10 or newer does: {error!r}"[:300],
        fix="Export the model again with a newer PyTorch",
    )


def _parse_program(document: Any, archive: ModelArchive) -> Program:
    module = document["graph_module"]
    values = module["graph"]["tensor_values"]
    signature = module["signature"]
    weights, pickled = _count_weights(archive)
    return Program(
        inputs=_read_inputs(signature["input_specs"], values),
        outputs=_read_outputs(signature["output_specs"], values),
        operators=tuple(op_name(node["target"]) for node in module["graph"]["nodes"]),
        weights_by_dtype=weights,
        producer=f"torch {document.get('torch_version', '')}".strip(),
        notes=(f"{pickled} of its tensors are pickled",) if pickled else (),
    )


def pickled_members(archive: ModelArchive) -> list[str]:
    """Members that loading might unpickle: all that are not declared as raw numbers.

    Their names do not tell: a pickled weight is called ``weight_0`` like any other.
    """
    raw: set[str] = set()
    loose: set[str] = set()
    for folder in ("data/weights/", "data/constants/"):
        for name in archive.names_under(folder, "_config.json"):
            for kind, members in _iterate_payloads(archive.json(name), folder):
                (raw if kind == "raw" else loose).update(members)
    data = [
        n for n in archive.names_under("data/") if not n.endswith(".json") and n not in raw - loose
    ]
    others = [n for n in archive.members if n.endswith((".pt", ".pkl")) and n not in data]
    return [*(n for n in data if not n.startswith(COMPILED)), *others]


def _iterate_payloads(document: Any, folder: str) -> Iterator[tuple[str, list[str]]]:
    entries = document.get("config") if isinstance(document, dict) else None
    for entry in entries.values() if isinstance(entries, dict) else ():
        name = entry.get("path_name") if isinstance(entry, dict) else None
        if isinstance(name, str):
            is_raw = entry.get("use_pickle") is False and name.startswith(_RAW)
            yield ("raw" if is_raw else "pickled"), [folder + name]


def op_name(target: str) -> str:
    """``torch.ops.aten.conv2d.default`` → ``aten.conv2d``."""
    return str(target).removeprefix("torch.ops.").removesuffix(".default")


def _read_inputs(specs: Any, values: Any) -> tuple[InputSpec, ...]:
    inputs = []
    for spec in specs:
        argument = spec.get("user_input", {}).get("arg", {})
        if "as_tensor" in argument:
            name = argument["as_tensor"]["name"]
            inputs.append(InputSpec(name, dtype_of(values[name]), shape_of(values[name])))
        elif kinds := argument.keys() & _NUMBERS.keys():
            kind = kinds.pop()
            name = argument[kind].get("as_name") or argument[kind]["name"]
            inputs.append(InputSpec(name, _NUMBERS[kind], ()))
    return tuple(inputs)


def _read_outputs(specs: Any, values: Any) -> tuple[TensorSpec, ...]:
    names = [spec["user_output"]["arg"].get("as_tensor") for spec in specs if "user_output" in spec]
    tensors = [name["name"] for name in names if name]
    return tuple(TensorSpec(n, dtype_of(values[n]), shape_of(values[n])) for n in tensors)


def dtype_of(meta: Any) -> str:
    return DTYPES.get(meta["dtype"], f"type {meta['dtype']}")


def shape_of(meta: Any) -> tuple[Dim, ...]:
    return tuple(_read_dim(size) for size in meta["sizes"])


def _read_dim(size: Any) -> Dim:
    if "as_int" in size:
        return int(size["as_int"])
    symbol = _SYMBOL.fullmatch(size["as_expr"]["expr_str"])
    return symbol.group(1) if symbol else None


def _count_weights(archive: ModelArchive) -> tuple[dict[str, int], int]:
    """Parameters by dtype, and the number of pickled tensors."""
    counts: Counter[str] = Counter()
    pickled = 0
    for name in archive.names_under("data/weights/", "_config.json"):
        for entry in archive.json(name)["config"].values():
            pickled += bool(entry.get("use_pickle"))
            if entry["is_param"]:
                sizes = [int(size["as_int"]) for size in entry["tensor_meta"]["sizes"]]
                counts[dtype_of(entry["tensor_meta"])] += math.prod(sizes)
    return dict(counts.most_common()), pickled
