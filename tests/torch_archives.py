"""PyTorch's files made by hand, without PyTorch: honest ones and hostile ones."""

import json
import os
import pickle
import struct
import zipfile
from pathlib import Path
from typing import Any

OLD_MAGIC = 0x1950A86A20F9469CFC6C


class Payload:
    """Writes a marker file when it is unpickled; that is all the harm it does."""

    def __init__(self, marker: Path) -> None:
        self._marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self._marker),)


def payload(marker: Path, protocol: int = 2) -> bytes:
    return pickle.dumps({"weight": Payload(marker)}, protocol)


def archive_of(path: Path, members: dict[str, bytes | str], folder: str = "net/") -> Path:
    with zipfile.ZipFile(path, "w") as file:
        for name, data in members.items():
            file.writestr(folder + name, data)
    return path


# ---------------------------------------------------------------- pickles of tensors


def tensor_pickle(*tensors: tuple[str, str, tuple[int, ...]]) -> bytes:
    """A state dict as torch.save writes it: name, storage class, shape."""
    out = bytearray(b"\x80\x02}(")
    for number, (name, storage, shape) in enumerate(tensors):
        out += _text(name) + b"ctorch._utils\n_rebuild_tensor_v2\n("
        out += b"(" + _text("storage") + b"ctorch\n" + storage.encode() + b"\n"
        out += _text(str(number)) + _text("cpu") + b"K\x08tQ"
        out += b"K\x00" + _numbers(shape) + _numbers((1,) * len(shape)) + b"\x89"
        out += b"ccollections\nOrderedDict\n)RtR"
    return bytes(out + b"u.")


def _text(text: str) -> bytes:
    data = text.encode()
    return b"X" + struct.pack("<I", len(data)) + data


def _numbers(values: tuple[int, ...]) -> bytes:
    return b"(" + b"".join(b"J" + struct.pack("<i", value) for value in values) + b"t"


# ---------------------------------------------------------------- whole files


def checkpoint(path: Path, data: bytes) -> Path:
    return archive_of(path, {"data.pkl": data, "version": "3\n", "data/0": b"\0" * 32})


def old_checkpoint(path: Path, data: bytes) -> Path:
    parts = [pickle.dumps(OLD_MAGIC, 2), pickle.dumps(1001, 2), pickle.dumps({}, 2), data]
    path.write_bytes(b"".join(parts) + pickle.dumps([], 2) + b"\x08\0\0\0" + b"\0" * 32)
    return path


def torchscript(path: Path, forward: str, **extra: bytes) -> Path:
    """``forward`` is its signature after self, as in ``x: Tensor, sr: int``."""
    code = (
        f"class Net(Module):\n  def forward(self: __torch__.nets.Net,\n    {forward}) -> Tensor:\n"
    )
    members: dict[str, bytes | str] = {
        "data.pkl": b"\x80\x02c__torch__.nets\nNet\n)\x81}b.",
        "code/__torch__/nets.py": code + "    return x\n",
        "constants.pkl": b"\x80\x02).",
    }
    return archive_of(
        path, members | {name.replace("_pkl", ".pkl"): d for name, d in extra.items()}
    )


def export(path: Path, **members: bytes) -> Path:
    """A torch.export archive with one float input.

    More members are named with ``__`` for a slash and ``_dot_`` for a dot.
    """
    graph = {
        "graph_module": {
            "graph": {
                "nodes": [{"target": "torch.ops.aten.relu.default"}],
                "tensor_values": {
                    "x": {"dtype": 7, "sizes": [_symbol("s0"), {"as_int": 3}]},
                    "y": {"dtype": 7, "sizes": [_symbol("s0"), {"as_int": 3}]},
                },
            },
            "signature": {
                "input_specs": [
                    {"parameter": {"arg": {"name": "p_w"}}},
                    {"user_input": {"arg": {"as_tensor": {"name": "x"}}}},
                ],
                "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "y"}}}}],
            },
        },
        "torch_version": "2.13.0",
    }
    weight = {
        "is_param": True,
        "use_pickle": False,
        "tensor_meta": {"dtype": 7, "sizes": [{"as_int": 3}, {"as_int": 5}]},
    }
    named = {name.replace("__", "/").replace("_dot_", "."): d for name, d in members.items()}
    return archive_of(
        path,
        {
            "archive_format": "pt2",
            "models/model.json": json.dumps(graph),
            "data/weights/model_weights_config.json": json.dumps({"config": {"w": weight}}),
            **named,
        },
    )


def _symbol(name: str) -> dict[str, Any]:
    return {"as_expr": {"expr_str": f"Symbol('{name}', positive=True, integer=True)"}}
