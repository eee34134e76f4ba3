"""Recognise the format of a file by its content, never by its name."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path
from typing import Any

from modeldyno.core.errors import ModelNotFound, ModelUnreadable, UserError
from modeldyno.core.models import ModelFormat
from modeldyno.formats import refusals
from modeldyno.formats.containers.protobuf import Field, NotProtobuf, Wire
from modeldyno.formats.containers.zip_members import is_zip, member_names
from modeldyno.formats.file_reading import is_text
from modeldyno.formats.litert.flatbuffer_file import is_litert
from modeldyno.formats.near_misses import near_misses
from modeldyno.formats.onnx.recognition import Outline, damaged_model, outline_of
from modeldyno.formats.pytorch.model import is_pickle, list_file, torch_format
from modeldyno.formats.refusals import FileRefusal, printable_name
from modeldyno.formats.tensorflow.recognition import tf_format

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
            outline = outline_of(file, size)
    except OSError as error:
        raise _cannot_open(path, error) from error
    if outline.is_complete:
        return "onnx"
    if _is_scripted(path, head, size):
        return "scripted"
    if is_text(head) and _is_openvino(_decoded(head)):
        return "openvino-ir"
    if (model_format := tf_format(path, head, outline)) is not None:
        return model_format
    if is_litert(head):
        return "litert"
    if (model_format := torch_format(path, head)) is not None:
        return model_format
    raise _unreadable(path, head, size, outline)


# ---------------------------------------------------------------- the file itself


def _require_content(path: Path) -> int:
    """Bytes of the file, which must be regular and not empty."""
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError, ValueError) as error:
        raise _not_found(path) from error
    except OSError as error:
        raise _cannot_open(path, error) from error
    if stat.S_ISDIR(status.st_mode):
        raise _folder_error(path)
    if not stat.S_ISREG(status.st_mode):  # opening a pipe would wait forever
        raise refusals.NOT_A_FILE.of(path)
    if status.st_size == 0:
        raise refusals.EMPTY.of(path)
    return status.st_size


def _not_found(path: Path) -> ModelNotFound:
    if path.is_symlink():
        why, fix = f"it is a link to {path.readlink()}, which does not exist", "Repair the link"
    elif close := near_misses(path.name, _files_in(path.parent), most=3):
        why, fix = "", "Did you mean " + " or ".join(str(path.with_name(name)) for name in close)
    else:
        why, fix = "", "Check the path"
    return ModelNotFound(f'No model or file named "{path}"', why=why, fix=fix)


def _files_in(folder: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in folder.iterdir() if entry.is_file())
    except (OSError, ValueError):
        return []


def _cannot_open(path: Path, error: OSError) -> ModelUnreadable:
    return ModelUnreadable(
        f"{printable_name(path)} cannot be opened",
        why=(error.strerror or str(error)).lower(),
        fix="Check the file's permissions",
    )


def _folder_error(path: Path) -> UserError:
    names = _files_in(path)
    if "saved_model.pb" in names:
        return refusals.SAVED_MODEL_FOLDER.of(path)
    if "saved_model.pbtxt" in names:
        return refusals.SAVED_MODEL_TEXT.of(path)
    models = [name for name in names if name.endswith(".onnx")]
    if not models:
        return refusals.FOLDER.of(path)
    choice = " or ".join(str(path / name) for name in models[:3])
    return FileRefusal(
        "a folder", f"Give the ONNX file itself: {choice}", why="a model is one file"
    ).of(path)


# ---------------------------------------------------------------- everything else


def _unreadable(path: Path, head: bytes, size: int, outline: Outline) -> UserError:
    if is_pickle(head):
        return refusals.pickle(path, list(list_file(path).imports))
    if is_zip(head):
        return _damaged_or_foreign_zip(path)
    for offset, magic, refusal in refusals.BY_MAGIC:
        if head[offset : offset + len(magic)] == magic:
            return refusal.of(path)
    if _is_safetensors(head, size):
        return refusals.SAFETENSORS.of(path)
    if is_text(head):
        return _text_refusal(head).of(path)
    if outline.looks_like_onnx:
        return damaged_model(path, size, outline)
    if not head.strip(b"\0"):
        return refusals.ZEROS.of(path)
    return _protobuf_refusal(outline).of(path)


def _damaged_or_foreign_zip(path: Path) -> UserError:
    names = member_names(path)
    if names is None:
        why = "its table of contents, which is at the end, is missing or damaged_model"
        fix = "Copy or download it again"
        return FileRefusal("a truncated or damaged zip archive", fix, why=why).of(path)
    return _zip_refusal(names).of(path)


def _zip_refusal(names: list[str]) -> FileRefusal:
    if names and all(name.endswith(".npy") for name in names):
        return refusals.NPZ
    models = [name for name in names if name.endswith(".onnx") and name.isprintable()]
    if models:
        return FileRefusal("a zip archive, not a model", f"Unpack it, and give {models[0]} inside")
    return refusals.archive("a zip")


def _is_safetensors(head: bytes, size: int) -> bool:
    header_bytes = int.from_bytes(head[:8], "little")
    return head[8:9] == b"{" and 2 <= header_bytes <= min(size, 100 << 20)


def _is_openvino(text: str) -> bool:
    first = _FIRST_ELEMENT.search(text) if text.lstrip().startswith("<") else None
    return first is not None and first.group(1) == "net"


def _decoded(head: bytes) -> str:
    return head.decode("utf-8", "replace").lstrip("\ufeff")


def _text_refusal(head: bytes) -> FileRefusal:
    text = _decoded(head).lstrip()
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


def _protobuf_refusal(outline: Outline) -> FileRefusal:
    if isinstance(outline.problem, NotProtobuf):
        return refusals.UNKNOWN
    match outline.fields.get(1), outline.fields.get(2):
        case Field(wire=Wire.VARINT), Field(wire=Wire.VARINT) if outline.problem is None:
            return refusals.ONNX_TENSOR
    return refusals.UNKNOWN if outline.problem else refusals.OTHER_PROTOBUF
