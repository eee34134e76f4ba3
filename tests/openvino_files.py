"""OpenVINO IR written by hand: tests of the format need no OpenVINO."""

import struct
from pathlib import Path

PORT = '<port id="{0}" precision="FP32"{1}>{2}</port>'


def port(number: int, *dims: int, names: str = "") -> str:
    said = f' names="{names}"' if names else ""
    return PORT.format(number, said, "".join(f"<dim>{size}</dim>" for size in dims))


def layer(
    number: int,
    name: str,
    kind: str,
    data: str,
    inputs: str = "",
    outputs: str = "",
    more: str = "",
) -> str:
    takes = f"<input>{inputs}</input>" if inputs else ""
    makes = f"<output>{outputs}</output>" if outputs else ""
    return (
        f'<layer id="{number}" name="{name}" type="{kind}" version="opset1">'
        f"<data {data}/>{takes}{makes}{more}</layer>"
    )


def edge(source: int, out: int, target: int, into: int) -> str:
    ends = f'from-layer="{source}" from-port="{out}" to-layer="{target}" to-port="{into}"'
    return f"<edge {ends}/>"


LAYERS = [
    layer(0, "x", "Parameter", 'shape="?,4" element_type="f32"', "", port(0, -1, 4, names="x")),
    layer(
        *(1, "w", "Const", 'element_type="f32" shape="4, 3" offset="0" size="48"'),
        outputs=port(0, 4, 3),
    ),
    layer(
        *(2, "net/dense/MatMul", "MatMul", 'transpose_a="false" transpose_b="false"'),
        port(0, -1, 4) + port(1, 4, 3),
        port(2, -1, 3, names="y"),
    ),
    layer(3, "y/sink_port_0", "Result", "", port(0, -1, 3)),
]  # fmt: skip
EDGES = [edge(0, 0, 2, 0), edge(1, 0, 2, 1), edge(2, 2, 3, 0)]


def linear(layers: list[str] = LAYERS, version: int = 11, before: str = "") -> str:
    """y = x · w, with x of four features: 12 parameters."""
    return (
        f'<?xml version="1.0"?>\n{before}<net name="linear" version="{version}">'
        f"<layers>{''.join(layers)}</layers><edges>{''.join(EDGES)}</edges>"
        '<rt_info><Runtime_version value="2026.4.1-22982-e213"/></rt_info></net>'
    )


def saved(path: Path, text: str | None = None, weights: bytes | None = None) -> Path:
    path.write_text(text or linear())
    path.with_suffix(".bin").write_bytes(weights or struct.pack("<12f", *range(12)))
    return path
