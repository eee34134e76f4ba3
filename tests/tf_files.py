"""Files of TensorFlow and Keras, written byte by byte: without TensorFlow, and of any content."""

import io
import json
import struct
import zipfile
from pathlib import Path
from typing import Any

FLOAT, INT32, STRING, RESOURCE = 1, 3, 7, 20


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*found, value))


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def held(field: int, data: bytes | str) -> bytes:
    data = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(data)) + data


def entry(name: str, value: bytes) -> bytes:
    return held(1, name) + held(2, value)


def shape(*sizes: int) -> bytes:
    return b"".join(held(2, number(1, size)) for size in sizes)


# ---------------------------------------------------------------- attributes


def dtype(kind: int) -> bytes:
    return number(6, kind)


def sizes(*values: int) -> bytes:
    return held(7, shape(*values))


def tensor(*values: float, kind: int = FLOAT, dims: tuple[int, ...] | None = None) -> bytes:
    letter = "f" if kind == FLOAT else "i"
    dims = (len(values),) if dims is None else dims
    content = struct.pack(f"<{len(values)}{letter}", *values)
    return held(8, number(1, kind) + held(2, shape(*dims)) + held(4, content))


def text(value: str) -> bytes:
    return held(2, value)


def function(name: str) -> bytes:
    return held(10, held(1, name))


# ---------------------------------------------------------------- graphs


def node(name: str, op: str, *inputs: str, **attributes: bytes) -> bytes:
    parts = [held(1, name), held(2, op), *(held(3, one) for one in inputs)]
    return b"".join((*parts, *(held(5, entry(k, v)) for k, v in attributes.items())))


def placeholder(name: str, *dims: int, kind: int = FLOAT) -> bytes:
    return node(name, "Placeholder", dtype=dtype(kind), shape=sizes(*dims))


def constant(name: str, *values: float, dims: tuple[int, ...] | None = None, kind: int = FLOAT):
    return node(name, "Const", dtype=dtype(kind), value=tensor(*values, kind=kind, dims=dims))


def word(name: str, value: str) -> bytes:
    """A constant of one string."""
    held_value = number(1, STRING) + held(2, b"") + held(8, value)
    return node(name, "Const", dtype=dtype(STRING), value=held(8, held_value))


def function_def(name: str, arguments, results: dict[str, str], *nodes: bytes) -> bytes:
    signature = held(1, name)
    signature += b"".join(held(2, held(1, one)) for one in arguments)
    signature += b"".join(held(3, held(1, one)) for one in results)
    body = b"".join(held(3, one) for one in nodes)
    return (
        held(1, signature)
        + body
        + b"".join(held(4, held(1, k) + held(2, v)) for k, v in results.items())
    )


def graph_def(*nodes: bytes, functions: tuple[bytes, ...] = ()) -> bytes:
    library = held(2, b"".join(held(1, one) for one in functions)) if functions else b""
    return b"".join(held(1, one) for one in nodes) + library + held(4, number(1, 2474))


def linear() -> bytes:
    """y = x · w + b, x of 3, y of 2."""
    return graph_def(
        placeholder("x", -1, 3),
        constant("w", *range(6), dims=(3, 2)),
        constant("b", 1, 2),
        node("product", "MatMul", "x", "w", T=dtype(FLOAT)),
        node("y", "BiasAdd", "product", "b", T=dtype(FLOAT)),
    )


# ---------------------------------------------------------------- SavedModels


def info(name: str, *dims: int, kind: int = FLOAT) -> bytes:
    return held(1, name) + number(2, kind) + held(3, shape(*dims))


def signature(inputs: dict[str, bytes], outputs: dict[str, bytes]) -> bytes:
    parts = [held(1, entry(k, v)) for k, v in inputs.items()]
    return b"".join((*parts, *(held(2, entry(k, v)) for k, v in outputs.items())))


def saved_model(
    graph: bytes,
    signatures: dict[str, bytes],
    tags: tuple[str, ...] = ("serve",),
    assets: tuple[str, ...] = (),
) -> bytes:
    about = b"".join(held(4, tag) for tag in tags) + held(5, "2.21.0")
    meta = held(1, about) + held(2, graph)
    meta += b"".join(held(5, entry(k, v)) for k, v in signatures.items())
    meta += b"".join(held(6, held(2, name)) for name in assets)
    return number(1, 1) + held(2, meta)


def calling(*, variable: bool = True) -> bytes:
    """As TensorFlow 2 writes it: the outermost graph calls a function that calls another one."""
    inner = function_def(
        "inner",
        ("x", "table"),
        {"out": "sum:z:0"},
        node("read", "ReadVariableOp", "table", dtype=dtype(FLOAT)),
        node("layer/product", "MatMul", "x", "read:value:0", T=dtype(FLOAT)),
        node("sum", "AddV2", "layer/product:product:0", "layer/product:product:0", T=dtype(FLOAT)),
    )
    outer = function_def(
        "outer",
        ("given", "resource"),
        {"result": "call:output:0"},
        node("call", "StatefulPartitionedCall", "given", "resource", f=function("inner")),
    )
    held_by = node("table", "VarHandleOp", dtype=dtype(FLOAT), shape=sizes(3, 2))
    graph = graph_def(
        placeholder("serving_x", -1, 3),
        held_by,
        node("Call", "StatefulPartitionedCall", "serving_x", "table", f=function("outer")),
        node("save", "SaveV2", "table"),
        functions=(inner, outer),
    )
    usual = signature({"x": info("serving_x:0", -1, 3)}, {"y": info("Call:0", -1, 2)})
    return saved_model(graph, {"serving_default": usual, "__saved_model_init_op": b""})


def two_ways() -> bytes:
    """A SavedModel without variables that can be called in two ways: y = x · w, and shifted = z + b
    with doubled = z + z."""
    graph = graph_def(
        placeholder("x", -1, 4),
        constant("w", *range(12), dims=(4, 3)),
        node("y", "MatMul", "x", "w", T=dtype(FLOAT)),
        placeholder("z", -1, 2),
        constant("b", 1, 2),
        node("sum", "AddV2", "z", "b", T=dtype(FLOAT)),
        node("twice", "AddV2", "z", "z", T=dtype(FLOAT)),
    )
    usual = signature({"x": info("x:0", -1, 4)}, {"y": info("y:0", -1, 3)})
    ends = {"shifted": info("sum:0", -1, 2), "doubled": info("twice:0", -1, 2)}
    shift = signature({"z": info("z:0", -1, 2)}, ends)
    return saved_model(graph, {"serving_default": usual, "shift": shift})


def index(shards: int = 1) -> bytes:
    """How the index of a checkpoint begins."""
    header = number(1, shards)
    return b"\0\0" + bytes([len(header)]) + header + bytes(48)


def saved_folder(folder: Path, content: bytes, shards: int = 1) -> Path:
    (folder / "variables").mkdir(parents=True)
    (folder / "saved_model.pb").write_bytes(content)
    (folder / "variables/variables.index").write_bytes(index(shards))
    for one in range(shards):
        place = folder / f"variables/variables.data-{one:05}-of-{shards:05}"
        place.write_bytes(bytes(24))
    return folder


# ---------------------------------------------------------------- Keras


def layer(kind: str, name: str, module: str = "keras.layers", **settings) -> dict[str, Any]:
    said = {"name": name, "dtype": "float32", **settings}
    return {
        "module": module,
        "class_name": kind,
        "config": said,
        "registered_name": None,
        "name": name,
    }


def sequential(*layers: dict[str, Any]) -> dict[str, Any]:
    return {
        "module": "keras",
        "class_name": "Sequential",
        "config": {"name": "net", "layers": list(layers)},
        "registered_name": None,
    }


def keras_file(path: Path, config: Any, weights: bytes | None = None) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("metadata.json", json.dumps({"keras_version": "3.15.1"}))
        archive.writestr("config.json", json.dumps(config))
        archive.writestr("model.weights.h5", hdf5() if weights is None else weights)
    return path


def hdf5(**arrays) -> bytes:
    import h5py
    import numpy as np

    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        for name, values in (
            arrays or {"layers/dense/vars/0": np.zeros((3, 2), "float32")}
        ).items():
            file[name] = values
        file["optimizer/vars/0"] = np.zeros(1000, "float32")
    return buffer.getvalue()
