"""TorchScript: its inputs, from the text of ``forward`` and the traced example."""

from __future__ import annotations

import re

from modeldyno.core.models import InputSpec
from modeldyno.core.stated import UNSTATED
from modeldyno.formats.containers.pickle_listing import PickleListing
from modeldyno.formats.containers.zip_members import ModelArchive

_SCALARS = {"int": "int64", "float": "float64", "bool": "bool"}
_OPENING, _CLOSING = "([{", ")]}"


def inputs(
    archive: ModelArchive, root: str, traced: PickleListing | None
) -> tuple[tuple[InputSpec, ...], tuple[str, ...]]:
    """The required inputs of ``forward``, and a note on its optional ones."""
    arguments = _arguments(archive, root)
    required = [(name, kind) for name, kind, has_default in arguments if not has_default]
    spare = [name for name, _, has_default in arguments if has_default]
    notes = (f"optional inputs that are left out: {', '.join(spare)}",) if spare else ()
    tensors = [name for name, kind in required if kind == "Tensor"]
    shapes = dict(zip(tensors, traced.tensors, strict=False)) if traced else {}
    if traced is not None and len(traced.tensors) != len(tensors):
        shapes = {}
    specs = []
    for name, kind in required:
        if name in shapes:
            specs.append(InputSpec(name, shapes[name].dtype, shapes[name].shape))
        elif kind in _SCALARS:
            specs.append(InputSpec(name, _SCALARS[kind], ()))
        else:
            specs.append(InputSpec(name, UNSTATED if kind == "Tensor" else f"({kind})", None))
    return tuple(specs), notes


def _arguments(archive: ModelArchive, root: str) -> list[tuple[str, str, bool]]:
    """Name, type and whether it is optional, of every argument of the root's forward."""
    module, _, name = root.rpartition(".")
    member = f"code/{module.replace('.', '/')}.py"
    if member not in archive:
        return []
    text = archive.read(member).decode("utf-8", "replace")
    start = re.search(rf"^class {re.escape(name)}\(", text, re.MULTILINE)
    forward = (
        re.compile(r"^\s+def forward\(", re.MULTILINE).search(text, start.end()) if start else None
    )
    return [_argument(part) for part in _split(text, forward.end())[1:]] if forward else []


def _split(text: str, position: int) -> list[str]:
    """The arguments of a call whose bracket opened just before ``position``."""
    depth, parts, current = 0, [], ""
    for character in text[position:]:
        if character in _CLOSING and depth == 0:
            break
        depth += (character in _OPENING) - (character in _CLOSING)
        if character == "," and depth == 0:
            parts.append(current)
            current = ""
        else:
            current += character
    return [part.strip() for part in (*parts, current) if part.strip()]


def _argument(text: str) -> tuple[str, str, bool]:
    name, _, rest = text.partition(":")
    kind, equals, _ = rest.partition("=")
    return name.strip(), kind.strip(), bool(equals) or kind.strip().startswith("Optional[")
