"""Recognise the format of a file by its content, never by its name."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path
from typing import Any

from modeldyno.core.errors import ModelNotFound, ModelUnreadable, UserError
from modeldyno.core.models import ModelFormat
from modeldyno.core.names import find_similar_names
from modeldyno.formats import refusals
from modeldyno.formats.containers.zip_members import is_zip, member_names
from modeldyno.formats.file_reading import is_text
from modeldyno.formats.litert.flatbuffer_file import is_litert
from modeldyno.formats.onnx.recognition import Outline, damaged_model_error, read_outline
from modeldyno.formats.pytorch.model import is_pickle, list_pickled_content, recognise_torch_format
from modeldyno.formats.refusals import FileRefusal, printable_name
from modeldyno.formats.tensorflow.recognition import recognise_tensorflow_format
from modeldyno.graphs.protobuf import Field, NotProtobuf, Wire

SCRIPTED = "scripted/1"
_HEAD_BYTES = 4096
_LARGEST_SCRIPT = 16 << 20
_XML = re.compile(r"<\?xml|<[A-Za-z]")
_FIRST_ELEMENT = re.compile(r"<([A-Za-z][\w.-]*)")  # after what XML allows before it
_JSON = re.compile(r"\{\s*[\"}]|\[\s*[\[\]{\"\d-]")  # an .ini file begins with [ as well


def recognise(path: Path) -> ModelFormat:
    """The file's format; raises ModelNotFound, ModelUnreadable or UnsafeFormat for all others."""
    size = _require_content(path)
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
            outline = read_outline(file, size)
    except OSError as error:
        raise _cannot_open_error(path, error) from error
    if outline.is_complete:
        return "onnx"
    if _is_scripted(path, head, size):
        return "scripted"
    if is_text(head) and _is_openvino(_decode_head(head)):
        return "openvino-ir"
    if (model_format := recognise_tensorflow_format(path, head, outline)) is not None:
        return model_format
    if is_litert(head):
        return "litert"
    if (model_format := recognise_torch_format(path, head)) is not None:
        return model_format
    raise _unreadable_error(path, head, size, outline)


# ---------------------------------------------------------------- the file itself


def _require_content(path: Path) -> int:
    """Bytes of the file, which must be regular and not empty."""
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError, ValueError) as error:
        raise _not_found_error(path) from error
    except OSError as error:
        raise _cannot_open_error(path, error) from error
    if stat.S_ISDIR(status.st_mode):
        raise _folder_error(path)
    if not stat.S_ISREG(status.st_mode):  # opening a pipe would wait forever
        raise refusals.NOT_A_FILE.to_error(path)
    if status.st_size == 0:
        raise refusals.EMPTY.to_error(path)
    return status.st_size


def _not_found_error(path: Path) -> ModelNotFound:
    if path.is_symlink():
        why, fix = f"it is a link to {path.readlink()}, which does not exist", "Repair the link"
    elif close := find_similar_names(path.name, _list_files_in(path.parent), most=3):
        why, fix = "", "Did you mean " + " or ".join(str(path.with_name(name)) for name in close)
    else:
        why, fix = "", "Check the path"
    return ModelNotFound(f'No model or file named "{path}"', why=why, fix=fix)


def _list_files_in(folder: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in folder.iterdir() if entry.is_file())
    except (OSError, ValueError):
        return []


def _cannot_open_error(path: Path, error: OSError) -> ModelUnreadable:
    return ModelUnreadable(
        f"{printable_name(path)} cannot be opened",
        why=(error.strerror or str(error)).lower(),
        fix="Check the file's permissions",
    )


def _folder_error(path: Path) -> UserError:
    names = _list_files_in(path)
    if "saved_model.pb" in names:
        return refusals.SAVED_MODEL_FOLDER.to_error(path)
    if "saved_model.pbtxt" in names:
        return refusals.SAVED_MODEL_TEXT.to_error(path)
    models = [name for name in names if name.endswith(".onnx")]
    if not models:
        return refusals.FOLDER.to_error(path)
    choice = " or ".join(str(path / name) for name in models[:3])
    return FileRefusal(
        "a folder", f"Give the ONNX file itself: {choice}", why="a model is one file"
    ).to_error(path)


# ---------------------------------------------------------------- everything else


def _unreadable_error(path: Path, head: bytes, size: int, outline: Outline) -> UserError:
    if is_pickle(head):
        return refusals.pickle_error(path, list(list_pickled_content(path).imports))
    if is_zip(head):
        return _zip_error(path)
    for offset, magic, refusal in refusals.BY_MAGIC:
        if head[offset : offset + len(magic)] == magic:
            return refusal.to_error(path)
    if _is_safetensors(head, size):
        return refusals.SAFETENSORS.to_error(path)
    if is_text(head):
        return _choose_text_refusal(head).to_error(path)
    if outline.looks_like_onnx:
        return damaged_model_error(path, size, outline)
    if not head.strip(b"\0"):
        return refusals.ZEROS.to_error(path)
    return _choose_protobuf_refusal(outline).to_error(path)


def _zip_error(path: Path) -> UserError:
    names = member_names(path)
    if names is None:
        why = "its table of contents, which is at the end, is missing or damaged_model"
        fix = "Copy or download it again"
        return FileRefusal("a truncated or damaged zip archive", fix, why=why).to_error(path)
    return _choose_zip_refusal(names).to_error(path)


def _choose_zip_refusal(names: list[str]) -> FileRefusal:
    if names and all(name.endswith(".npy") for name in names):
        return refusals.NPZ
    models = [name for name in names if name.endswith(".onnx") and name.isprintable()]
    if models:
        return FileRefusal("a zip archive, not a model", f"Unpack it, and give {models[0]} inside")
    return refusals.archive_refusal("a zip")


def _is_safetensors(head: bytes, size: int) -> bool:
    header_bytes = int.from_bytes(head[:8], "little")
    return head[8:9] == b"{" and 2 <= header_bytes <= min(size, 100 << 20)


def _is_openvino(text: str) -> bool:
    first = _FIRST_ELEMENT.search(text) if text.lstrip().startswith("<") else None
    return first is not None and first.group(1) == "net"


def _decode_head(head: bytes) -> str:
    return head.decode("utf-8", "replace").lstrip("\ufeff")


def _choose_text_refusal(head: bytes) -> FileRefusal:
    text = _decode_head(head).lstrip()
    start = text[:200].lower()
    if text.startswith("version https://git-lfs"):
        return refusals.LFS_POINTER
    if start.startswith(("<!doctype html", "<html", "<head", "<body")):
        return refusals.WEB_PAGE
    if _XML.match(text):
        return refusals.XML
    if _JSON.match(text):
        return refusals.JSON
    return refusals.ONNX_TEXT if text.startswith("ir_version") else refusals.TEXT


def _is_scripted(path: Path, head: bytes, size: int) -> bool:
    if not head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") or size > _LARGEST_SCRIPT:
        return False
    try:
        script: Any = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return False
    return isinstance(script, dict) and script.get("modeldyno") == SCRIPTED


def _choose_protobuf_refusal(outline: Outline) -> FileRefusal:
    if isinstance(outline.problem, NotProtobuf):
        return refusals.UNKNOWN
    match outline.fields.get(1), outline.fields.get(2):
        case Field(wire=Wire.VARINT), Field(wire=Wire.VARINT) if outline.problem is None:
            return refusals.ONNX_TENSOR
    return refusals.UNKNOWN if outline.problem else refusals.OTHER_PROTOBUF
