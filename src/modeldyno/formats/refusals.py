"""Errors for files that we do not read: what they are, and how to get a model from them.

They must be true of this version, which reads ONNX, OpenVINO IR, LiteRT, and the files of PyTorch,
TensorFlow and Keras.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from modeldyno.core.errors import ModelUnreadable, UnsafeFormat, UserError

_ONLY_ONNX = (
    "this version of Modeldyno reads models of ONNX, OpenVINO, LiteRT, PyTorch, TensorFlow and "
    "Keras only"
)
_EXPORT_TORCH = (
    "Export it to ONNX where it was made: "
    'torch.onnx.export(model, (x,), "{stem}.onnx", dynamo=True)'
)
_UNPACK = "Unpack it, and give the model file inside"


@dataclass(frozen=True)
class FileRefusal:
    """``what`` completes "<name> is …"; ``fix`` may use {name} and {stem}."""

    what: str
    fix: str
    why: str = _ONLY_ONNX
    unsafe: bool = False

    def to_error(self, path: Path) -> UserError:
        name = printable_name(path)
        kind = UnsafeFormat if self.unsafe else ModelUnreadable
        stem = name.rpartition(".")[0] or name
        return kind(
            f"{name} is {self.what}",
            why=self.why,
            fix=self.fix.replace("{name}", name).replace("{stem}", stem),
        )


def printable_name(path: Path) -> str:
    """The file's name, safe to print in a terminal."""
    return "".join(c if c.isprintable() else "�" for c in path.name) or str(path)


def damaged_file_error(
    path: Path, why: str, what: str = "damaged", fix: str = "Copy, download or export it again"
) -> ModelUnreadable:
    return ModelUnreadable(f"{printable_name(path)} is {what}", why=why, fix=fix)


def archive_refusal(a_kind: str) -> FileRefusal:
    return FileRefusal(f"{a_kind} archive, not a model", _UNPACK)


EMPTY = FileRefusal(
    "empty",
    "Copy or download it again",
    why="it has no bytes: a copy, download or export stopped before it began",
)
ZEROS = FileRefusal(
    "not a model: its first bytes are all zero",
    "Copy or download it again",
    why="an interrupted download or copy that had reserved its space looks like this",
)
NOT_A_FILE = FileRefusal(
    "neither a file nor a folder",
    "Write the model to a file first, and give that file",
    why="a model is read more than once, so it cannot come from a pipe or a device",
)
FOLDER = FileRefusal("a folder", "Give the ONNX file itself", why="a model is one file")
SAVED_MODEL_FOLDER = FileRefusal(
    "the folder of a TensorFlow SavedModel",
    "Give the file in it: {name}/saved_model.pb",
    why="a model is one file, with its weights beside it",
)
SAVED_MODEL_TEXT = FileRefusal(
    "a TensorFlow SavedModel written as text",
    "Save it as usual: tf.saved_model.save(tf.saved_model.load(FOLDER), NEW_FOLDER)",
    why="this version of Modeldyno reads saved_model.pb, not saved_model.pbtxt",
)


def pickle_error(path: Path, imports: list[str]) -> UserError:
    """For a bare pickle; the reason lists what it would import. Nothing in it was run."""
    names = ", ".join(imports[:8]) + (f" and {len(imports) - 8} more" if len(imports) > 8 else "")
    return FileRefusal(
        "a Python pickle. Loading it can run any code inside it",
        _EXPORT_TORCH,
        why=(f"it would import {names}; " if imports else "")
        + "no engine here runs a bare pickle, trusted or not",
        unsafe=True,
    ).to_error(path)


HDF5 = FileRefusal(
    "an HDF5 file (older Keras models and weights are kept in these)",
    "If it is a whole Keras model that you trust, save it anew where it was made: "
    'keras.models.load_model("{name}").save("{stem}.keras")',
    why="Keras runs code that such a file holds, and its safe mode does not look at it; so none is "
    "loaded here",
    unsafe=True,
)
NPZ = FileRefusal(
    "a NumPy archive: arrays, not a model",
    "Use an ONNX model; these arrays can be its inputs with --data {name}",
)
NPY = FileRefusal("a NumPy array, not a model", "Give an ONNX model")
ORT_FORMAT = FileRefusal(
    "a model in ONNX Runtime's own ORT format, which is not supported",
    "Give the .onnx file it was made from",
)
GGUF = FileRefusal(
    "a GGUF file, made for llama.cpp",
    "Export the original model to ONNX, for example with "
    "`optimum-cli export onnx --model NAME FOLDER`",
)
SAFETENSORS = FileRefusal(
    "a safetensors file: weights without the graph that uses them",
    "Load the weights into their model and export that: "
    'torch.onnx.export(model, (x,), "{stem}.onnx", dynamo=True)',
)
ONNX_TENSOR = FileRefusal(
    "one tensor in ONNX's format, not a model",
    "Name the model instead; files like this one are kept beside it to test it",
    why="it holds dimensions, a type and values, but no graph",
)
OTHER_PROTOBUF = FileRefusal(
    "protobuf, but not an ONNX model",
    "If it comes from another framework, export it to ONNX there",
    why="an ONNX model has an IR version and a graph; this file lacks one of them",
)
ELF = FileRefusal(
    "a program or shared library (ELF), not a model",
    "Give the model file; compiled models cannot be measured",
)

WEB_PAGE = FileRefusal(
    "a web page (HTML), not a model",
    "Download the file itself: on GitHub use the “Raw” link, on Hugging Face the address with "
    "/resolve/ instead of /blob/",
    why="the download got a page about the model, or a login page",
)
LFS_POINTER = FileRefusal(
    "a Git LFS pointer: a few lines of text in place of the model",
    "Run `git lfs pull` in the repository it comes from",
    why="the repository was cloned without Git LFS",
)
ONNX_TEXT = FileRefusal(
    "an ONNX model written as text",
    'Convert it: python -c "import onnx; '
    "onnx.save(onnx.load('{name}', format='textproto'), '{stem}.onnx')\"",
    why="this version of Modeldyno reads ONNX in its binary form only",
)
JSON = FileRefusal("a JSON file, not a model", "Give the ONNX file it describes")
XML = FileRefusal("an XML file, not a model", "Give an ONNX file")
TEXT = FileRefusal("a text file, not a model", "Give an ONNX file")

UNKNOWN = FileRefusal(
    "not a model in any format we know",
    "Export the model to ONNX where it was made, or copy the file again if it should be ONNX",
    why="its content matches no format that we know; its name does not count",
)

# Where a format writes its name into the file.
BY_MAGIC: tuple[tuple[int, bytes, FileRefusal], ...] = (
    (0, b"\x89HDF\r\n\x1a\n", HDF5),
    (4, b"ORTM", ORT_FORMAT),
    (0, b"GGUF", GGUF),
    (0, b"\x93NUMPY", NPY),
    (0, b"\x7fELF", ELF),
    (0, b"\x1f\x8b", archive_refusal("a gzip")),
    (257, b"ustar", archive_refusal("a tar")),
    (0, b"7z\xbc\xaf\x27\x1c", archive_refusal("a 7z")),
    (0, b"\xfd7zXZ\x00", archive_refusal("an xz")),
    (0, b"\x28\xb5\x2f\xfd", archive_refusal("a zstd")),
    (0, b"BZh", archive_refusal("a bzip2")),
    (0, b"Rar!\x1a\x07", archive_refusal("a rar")),
)
