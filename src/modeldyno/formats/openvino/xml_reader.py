"""The XML of an OpenVINO IR, read without document types and entities, and within bounds.

net ─ layers ─ layer (id, name, type) ─ data, input ─ port ─ dim, output ─ port, body ─ layers …
    └ edges ─ edge (from-layer, from-port, to-layer, to-port)
"""

from __future__ import annotations

import re
import xml.parsers.expat as expat
from dataclasses import dataclass, field
from pathlib import Path

from modeldyno.core.errors import ModelUnreadable, UnsafeFormat
from modeldyno.core.models import Dim
from modeldyno.formats.refusals import damaged_file_error, printable_name

LARGEST_XML = 128 << 20  # bytes; a language model of 7 billion parameters has 5 MB
MOST_LAYERS = 1_000_000  # in all bodies together
DEEPEST = 200  # elements inside elements
HIGHEST_RANK = 64
OLDEST, NEWEST = 10, 11  # versions of the format that OpenVINO reads
_CHUNK = 1 << 20
_WHOLE = re.compile(r"-?[0-9]{1,18}")
_BODY = "body"  # body, then_body, else_body

Place = tuple[str, str]  # a layer's id and one of its ports


@dataclass
class Port:
    id: str
    dtype: str  # numpy's name
    names: tuple[str, ...]
    dims: list[Dim] = field(default_factory=list)


@dataclass
class Layer:
    id: str
    name: str
    type: str
    opset: str
    data: dict[str, str] = field(default_factory=dict)
    inputs: list[Port] = field(default_factory=list)
    outputs: list[Port] = field(default_factory=list)
    bodies: list[Net] = field(default_factory=list)


@dataclass
class Net:
    name: str
    version: str = ""
    layers: list[Layer] = field(default_factory=list)
    sources: dict[Place, Place] = field(default_factory=dict)  # input port → the output it takes
    producer: str = ""


DTYPES = {
    **{"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16"},
    **{f"{sign}{bits}": f"{word}{bits}" for sign, word in (("i", "int"), ("u", "uint"))
       for bits in (4, 8, 16, 32, 64)},
    **{"boolean": "bool", "string": "string", "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2"},
}  # fmt: skip
# Ports use older names: FP32, I64.
_PORT_PRECISIONS = {"fp64": "f64", "fp32": "f32", "fp16": "f16", "bool": "boolean"}


def dtype_of(precision: str) -> str:
    """``f32`` and ``FP32`` → ``float32``; unknown types keep their name."""
    short = _PORT_PRECISIONS.get(precision.lower(), precision.lower())
    return DTYPES.get(short, short[:40])


def parse(path: Path) -> Net:
    """Raises ModelUnreadable for a file that is not IR or too large, UnsafeFormat for one that
    declares a document type."""
    size = path.stat().st_size
    if size > LARGEST_XML:
        raise ModelUnreadable(
            f"{printable_name(path)} is too large for an OpenVINO model",
            why=f"it has {size} bytes; graphs of up to {LARGEST_XML >> 20} MiB are read",
            fix="Weights belong in the .bin file beside it: convert the model again",
        )
    reader = _XmlReader(path)
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                reader.parser.Parse(chunk, False)
        reader.parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise _damaged_error(path, str(error)) from error
    if reader.root is None:
        raise _damaged_error(path, "it has no net")
    _require_version(path, reader.root)
    return reader.root


def _damaged_error(path: Path, why: str) -> ModelUnreadable:
    fix = "Copy, download or convert it again"
    return damaged_file_error(path, why, "a damaged OpenVINO model", fix)


def _require_version(path: Path, net: Net) -> None:
    if net.version.isascii() and net.version.isdecimal() and int(net.version[:9]) < OLDEST:
        raise ModelUnreadable(
            f"{printable_name(path)} is an OpenVINO model of version {int(net.version[:9])}",
            why=f"OpenVINO has read versions {OLDEST} and {NEWEST} since 2024, and no older ones",
            fix="Convert the original model again, with `ovc MODEL`",
        )


class _XmlReader:
    """Builds a net from the parser's events."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._tags: list[str] = []
        self._nets: list[Net] = []
        self._layers: list[Layer] = []  # the open ones: one for each body
        self._port: Port | None = None
        self._text: list[str] | None = None
        self._count = 0
        self.root: Net | None = None
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters
        # Only a document type can declare entities; no converter writes one.
        self.parser.StartDoctypeDeclHandler = self._refuse_doctype

    def _refuse_doctype(self, *_: object) -> None:
        raise UnsafeFormat(
            f"{printable_name(self._path)} declares a document type",
            why="that can make a small file huge, or name files to be read; OpenVINO writes none",
            fix="Convert the original model again, with `ovc MODEL`",
        )

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if len(self._tags) >= DEEPEST:
            raise _damaged_error(self._path, f"its elements are nested more than {DEEPEST} deep")
        around = self._tags[-1] if self._tags else ""
        self._tags.append(tag)
        match tag:
            case "net" if not around:
                self.root = Net(attributes.get("name", ""), attributes.get("version", ""))
                self._nets.append(self.root)
            case "layer" if around == "layers" and self._nets:
                self._add_layer(attributes)
            case "data" if around == "layer" and self._layers:
                self._layers[-1].data = attributes
            case "port" if around in ("input", "output") and self._layers:
                self._add_port(around, attributes)
            case "dim" if around == "port" and self._port is not None:
                self._text = []
            case "edge" if around == "edges" and self._nets:
                target, source = (
                    (attributes.get(f"{end}-layer", ""), attributes.get(f"{end}-port", ""))
                    for end in ("to", "from")
                )
                self._nets[-1].sources[target] = source
            case "Runtime_version" if around == "rt_info" and self.root is not None:
                self.root.producer = attributes.get("value", "")
            case _ if around == "layer" and tag.endswith(_BODY) and self._layers:
                self._nets.append(Net(tag))
                self._layers[-1].bodies.append(self._nets[-1])

    def _add_layer(self, attributes: dict[str, str]) -> None:
        self._count += 1
        if self._count > MOST_LAYERS:
            raise _damaged_error(self._path, f"it has more than {MOST_LAYERS} layers")
        layer = Layer(
            attributes.get("id", ""),
            attributes.get("name", ""),
            attributes.get("type", ""),
            attributes.get("version", ""),
        )
        if "output_names" in attributes:  # of a result
            layer.data = {"output_names": attributes["output_names"]}
        self._nets[-1].layers.append(layer)
        self._layers.append(layer)

    def _add_port(self, way: str, attributes: dict[str, str]) -> None:
        names = tuple(name for name in attributes.get("names", "").split(",") if name)
        self._port = Port(
            attributes.get("id", ""), dtype_of(attributes.get("precision", "")), names
        )
        layer = self._layers[-1]
        (layer.inputs if way == "input" else layer.outputs).append(self._port)

    def _characters(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)

    def _end(self, tag: str) -> None:
        self._tags.pop()
        around = self._tags[-1] if self._tags else ""
        match tag:
            case "dim" if self._text is not None and self._port is not None:
                self._port.dims.append(self._parse_dim("".join(self._text)))
                self._text = None
                if len(self._port.dims) > HIGHEST_RANK:
                    raise _damaged_error(
                        self._path, f"a tensor has more than {HIGHEST_RANK} dimensions"
                    )
            case "port":
                self._port = None
            case "layer" if around == "layers" and self._layers:
                self._layers.pop()
            case _ if around == "layer" and tag.endswith(_BODY) and len(self._nets) > 1:
                self._nets.pop()

    def _parse_dim(self, text: str) -> Dim:
        size = text.strip()
        if not _WHOLE.fullmatch(size):
            return None  # "1..8": any of these
        return int(size) if int(size) >= 0 else None


def shape_of(text: str) -> tuple[Dim, ...] | None:
    """From a layer's data, ``?,3,224,224``; None if even the rank is unknown."""
    if text.strip() == "...":
        return None
    sizes = [size.strip() for size in text.split(",")] if text.strip() else []
    return tuple(int(size) if _WHOLE.fullmatch(size) and int(size) >= 0 else None for size in sizes)


def byte_count(layer: Layer, attribute: str) -> int | None:
    """From a layer's data; None if absent or not a number."""
    text = layer.data.get(attribute, "")
    return int(text) if _WHOLE.fullmatch(text) and int(text) >= 0 else None
