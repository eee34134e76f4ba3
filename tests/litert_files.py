"""LiteRT files written by hand: tests of the format need no LiteRT."""

import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import flatbuffers

FULLY_CONNECTED, GATHER, CUSTOM, IF, RELU = 9, 36, 32, 118, 19
FULLY_CONNECTED_OPTIONS, IF_OPTIONS = 8, 92
FLOAT32, INT32, INT8 = 0, 2, 9


@dataclass
class Table:
    """Fields by their number: numbers as (letter, value), texts, bytes, lists, other tables."""

    fields: dict[int, Any] = field(default_factory=dict)


def _built(builder: flatbuffers.Builder, value: Any, known: dict[int, int]) -> int:
    """Where it lies; what it points to is written before, and one thing only once."""
    if id(value) not in known:
        known[id(value)] = _new(builder, value, known)
    return known[id(value)]


def _new(builder: flatbuffers.Builder, value: Any, known: dict[int, int]) -> int:
    match value:
        case Table(fields):
            held = {
                number: one if isinstance(one, tuple) else _built(builder, one, known)
                for number, one in fields.items()
            }
            builder.StartObject(max(fields, default=-1) + 1)
            for number, one in held.items():
                _put(builder, number, one)
            return int(builder.EndObject())
        case str():
            return int(builder.CreateString(value))
        case bytes():
            return int(builder.CreateByteVector(value))
        case [Table(), *_]:
            return _vector(builder, [_built(builder, one, known) for one in value], "offset")
        case [float(), *_]:
            return _vector(builder, value, "Float32")
        case list():
            return _vector(builder, value, "Int32")
    raise TypeError(value)


def _vector(builder: flatbuffers.Builder, items: list[Any], kind: str) -> int:
    builder.StartVector(4, len(items), 4)
    put = (
        builder.PrependUOffsetTRelative if kind == "offset" else getattr(builder, "Prepend" + kind)
    )
    for one in reversed(items):
        put(one)
    return int(builder.EndVector())


def _put(builder: flatbuffers.Builder, number: int, value: Any) -> None:
    if isinstance(value, tuple):
        getattr(builder, f"Prepend{value[0]}Slot")(number, value[1], None)
    else:
        builder.PrependUOffsetTRelativeSlot(number, value, 0)


def written(model: Table) -> bytes:
    builder = flatbuffers.Builder(1024)
    builder.Finish(_built(builder, model, {}), file_identifier=b"TFL3")
    return bytes(builder.Output())


# ---------------------------------------------------------------- parts of a model


def operator_code(number: int, custom: str = "") -> Table:
    fields: dict[int, Any] = {0: ("Int8", min(number, 127)), 3: ("Int32", number)}
    return Table(fields | ({1: custom} if custom else {}))


def tensor(
    name: str,
    shape: list[int],
    buffer: int = 0,
    dtype: int = FLOAT32,
    open_shape: list[int] | None = None,
    scale: float | None = None,
) -> Table:
    fields: dict[int, Any] = {0: shape, 1: ("Int8", dtype), 2: ("Uint32", buffer), 3: name}
    if open_shape:
        fields[7] = open_shape
    if scale is not None:
        fields[4] = Table({2: [scale]})
    return Table(fields)


def operator(
    code: int,
    inputs: list[int],
    outputs: list[int],
    options: Table | None = None,
    options_type: int = 0,
) -> Table:
    fields: dict[int, Any] = {0: ("Uint32", code), 1: inputs, 2: outputs}
    if options is not None:
        fields |= {3: ("Uint8", options_type), 4: options}
    return Table(fields)


def graph(tensors: list[Table], inputs: list[int], outputs: list[int], operators: list[Table],
          name: str = "main") -> Table:  # fmt: skip
    fields: dict[int, Any] = {0: tensors, 1: inputs, 2: outputs, 4: name}
    return Table(fields | ({3: operators} if operators else {}))


def signature(inputs: dict[str, int], outputs: dict[str, int], key: str = "serving_default",
              subgraph: int = 0) -> Table:  # fmt: skip
    maps = [
        [Table({0: name, 1: ("Uint32", number)}) for name, number in said.items()]
        for said in (inputs, outputs)
    ]
    return Table({0: maps[0], 1: maps[1], 2: key, 4: ("Uint32", subgraph)})


def model(
    codes: list[Table],
    graphs: list[Table],
    buffers: list[bytes],
    signatures: list[Table] | None = None,
    version: int = 3,
) -> Table:
    fields: dict[int, Any] = {
        0: ("Uint32", version),
        1: codes,
        2: graphs,
        3: "written by hand",
        4: [Table(), *(Table({0: data}) for data in buffers)],
    }
    return Table(fields | ({7: signatures} if signatures else {}))


WEIGHTS = struct.pack("<12f", *(0.1 * number for number in range(12)))


def linear(code: int = FULLY_CONNECTED, weights: bytes = WEIGHTS, version: int = 3,
           operators: list[Table] | None = None) -> Table:  # fmt: skip
    """y = x · w, with x of four features: 12 parameters."""
    activation = Table({0: ("Int8", 1)})  # RELU
    tensors = [
        tensor("serving_default_x:0", [1, 4], open_shape=[-1, 4]),
        tensor("net/dense/MatMul", [3, 4], 1),
        tensor("net/dense/Relu;net/dense/MatMul", [1, 3], open_shape=[-1, 3]),
    ]
    dense = [operator(0, [0, 1, -1], [2], activation, FULLY_CONNECTED_OPTIONS)]
    return model(
        [operator_code(code, "Odd" if code == CUSTOM else "")],
        [graph(tensors, [0], [2], operators or dense)],
        [weights],
        [signature({"x": 0}, {"y": 2})],
        version,
    )


def pictures() -> Table:
    """Pictures of 4 × 4 in 2 channels: convolutions of 3 × 3 (the second is depthwise), the largest
    of each 2 × 2, and their mean."""
    strides = {1: ("Int32", 1), 2: ("Int32", 1)}
    halves = {1: ("Int32", 2), 2: ("Int32", 2), 3: ("Int32", 2), 4: ("Int32", 2)}
    tensors = [
        tensor("x", [1, 4, 4, 2], open_shape=[-1, 4, 4, 2]),
        tensor("filters", [3, 3, 3, 2], 1),
        tensor("bias", [3], 3),
        tensor("conv", [1, 4, 4, 3], open_shape=[-1, 4, 4, 3]),
        tensor("each", [1, 3, 3, 3], 2),
        tensor("depthwise", [1, 4, 4, 3], open_shape=[-1, 4, 4, 3]),
        tensor("pool", [1, 2, 2, 3], open_shape=[-1, 2, 2, 3]),
        tensor("sides", [2], 4, INT32),
        tensor("y", [1, 3], open_shape=[-1, 3]),
    ]
    operators = [
        operator(0, [0, 1, 2], [3], Table(strides), 1),
        operator(1, [3, 4, 2], [5], Table(strides | {3: ("Int32", 1)}), 2),
        operator(2, [5], [6], Table(halves), 5),
        operator(3, [6, 7], [8], Table({0: ("Bool", False)}), 27),
    ]
    weights = [struct.pack(f"<{count}f", *[0.5] * count) for count in (54, 27, 3)]
    return model(
        [operator_code(number) for number in (3, 4, 17, 40)],
        [graph(tensors, [0], [8], operators)],
        [*weights, struct.pack("<2i", 1, 2)],
    )


def saved(path: Path, made: Table | None = None) -> Path:
    path.write_bytes(written(made or linear()))
    return path


def variable() -> Table:
    """y = x, by way of a variable: the operator that assigns it has no output."""
    resource = 13
    tensors = [tensor("x", [1, 4]), tensor("handle", [], 0, resource), tensor("y", [1, 4])]
    operators = [
        operator(0, [], [1], Table({1: "v"}), 111),
        operator(1, [1, 0], [], Table(), 113),
        operator(2, [1], [2], Table(), 112),
    ]
    codes = [operator_code(number) for number in (142, 144, 143)]
    return model(codes, [graph(tensors, [0], [2], operators)], [])


def filled() -> Table:
    """As many ones as the input says: the size of the output is known only after a call."""
    tensors = [tensor("n", [1], 0, INT32), tensor("one", [], 1), tensor("y", [1], 0, 0, [-1])]
    return model(
        [operator_code(94)],
        [graph(tensors, [0], [2], [operator(0, [0, 1], [2])])],
        [struct.pack("<f", 1)],
    )
