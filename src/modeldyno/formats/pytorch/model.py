"""PyTorch's files, read without PyTorch and without unpickling anything.

TorchScript declares the shapes of its inputs only if it was traced; a checkpoint declares no inputs
at all. A ``<file>.modeldyno.toml`` can add what is missing (``formats/sidecar.py``).
"""

from __future__ import annotations

import pickletools
import re
from collections.abc import Iterable
from pathlib import Path

from modeldyno.core.models import InputSpec, ModelFacts, ModelFormat
from modeldyno.formats import sidecar
from modeldyno.formats.containers.pickle_listing import (
    Global,
    ListedTensor,
    PickleCall,
    PickleListing,
    list_pickle,
)
from modeldyno.formats.containers.zip_members import (
    ModelArchive,
    is_zip,
    member_names,
    split_pickles,
    strip_top_folder,
)
from modeldyno.formats.model_facts import count_weights, join_some, make_model_facts
from modeldyno.formats.pytorch import exported_program
from modeldyno.inputs.model_overrides import UNSTATED

_LARGEST_OLD_FILE = 64 << 20  # bytes of an old checkpoint that are walked
# Names that torch.save writes around tensors; with any other, the file has more than weights.
_PLAIN = ("torch._utils._rebuild_", "collections.OrderedDict", "torch.storage.", "torch.device")


def read_script(path: Path) -> ModelFacts:
    archive = ModelArchive(path)
    listing = _list_pickles(archive, archive.names_under("", ".pkl"))
    traced = (
        list_pickle(archive.read("traced_inputs.pkl")) if "traced_inputs.pkl" in archive else None
    )
    module = list_pickle(archive.read("data.pkl")) if "data.pkl" in archive else PickleListing()
    inputs, notes = _read_script_inputs(archive, _find_root_class(module), traced)
    # Classes under __torch__ are the file's own: torch reads them from its code/, Python does not.
    foreign = [name for name in listing.imports if not name.startswith("__torch__.")]
    facts = _make_facts(path, "torchscript", foreign, module.tensors, inputs, notes)
    return sidecar.apply_sidecar(facts)


def read_export(path: Path) -> ModelFacts:
    archive = ModelArchive(path)
    listing = _list_pickles(archive, exported_program.pickled_members(archive))
    program = exported_program.read_program(path, archive)
    compiled = archive.names_under(exported_program.COMPILED)
    notes = [f"holds {len(compiled)} compiled files, so it is never loaded"] if compiled else []
    return make_model_facts(
        path,
        "torch-export",
        "PyTorch",
        inputs=program.inputs,
        outputs=program.outputs,
        weights=program.weights_by_dtype,
        operators=program.operators,
        producer=program.producer,
        imports=tuple(listing.imports),
        notes=(*notes, *program.notes),
    )


def read_checkpoint(path: Path) -> ModelFacts:
    listing = _list_checkpoint(path)
    others = [name for name in listing.imports if not _is_torch_class(name)]
    note = (
        f"names more than tensors ({join_some(others)}): unless PyTorch knows them as harmless, it "
        "will not be loaded"
    )
    notes = (note,) if others else ()
    facts = _make_facts(path, "torch-checkpoint", listing.imports, listing.tensors, (), notes)
    return sidecar.apply_sidecar(facts)


def list_pickled_content(path: Path) -> PickleListing:
    """The listing of a bare pickle, from its first bytes."""
    with path.open("rb") as file:
        return list_pickle(file.read(_LARGEST_OLD_FILE))


# ---------------------------------------------------------------- parts


def _list_checkpoint(path: Path) -> PickleListing:
    with path.open("rb") as file:
        zipped = is_zip(file.read(4))
    if not zipped:
        return list_pickled_content(path)
    archive = ModelArchive(path)
    return _list_pickles(archive, archive.names_under("", ".pkl"))


def _list_pickles(archive: ModelArchive, names: Iterable[str]) -> PickleListing:
    """All pickles of an archive, including those in members that are archives themselves."""
    whole = PickleListing()
    for name in names:
        content = archive.read(name)
        for pickle in split_pickles(content) if is_zip(content) else [content]:
            listing = list_pickle(pickle)
            whole.imports |= listing.imports
            whole.tensors += listing.tensors
            whole.trouble = whole.trouble or listing.trouble
    return whole


def _is_torch_class(name: str) -> bool:
    return name.startswith(_PLAIN) or (name.startswith("torch.") and name.endswith("Storage"))


def _find_root_class(listing: PickleListing) -> str:
    """The class of the outermost object: ``__torch__.package.Class``."""
    match listing.root:
        case PickleCall(function=Global(name=name)):
            return name
    return ""


def _make_facts(
    path: Path,
    model_format: ModelFormat,
    imports: Iterable[str],
    tensors: Iterable[ListedTensor],
    inputs: tuple[InputSpec, ...],
    notes: tuple[str, ...],
) -> ModelFacts:
    # A tensor stored under two names counts once.
    weights = count_weights((tensor.dtype, tensor.elements) for tensor in dict.fromkeys(tensors))
    note = "parameters are counted from all stored tensors of learned types, buffers included"
    return make_model_facts(
        path,
        model_format,
        "PyTorch",
        inputs=inputs,
        outputs=(),
        weights=weights,
        imports=tuple(imports),
        notes=(note if weights else "its tensors could not be counted", *notes),
    )


# ---------------------------------------------------------------- inputs of TorchScript


# Of ``forward``'s arguments.
_SCALARS = {"int": "int64", "float": "float64", "bool": "bool"}
_OPENING, _CLOSING = "([{", ")]}"


def _read_script_inputs(
    archive: ModelArchive, root: str, traced: PickleListing | None
) -> tuple[tuple[InputSpec, ...], tuple[str, ...]]:
    """The required inputs of ``forward``, and a note about optional ones."""
    arguments = _read_forward_arguments(archive, root)
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


def _read_forward_arguments(archive: ModelArchive, root: str) -> list[tuple[str, str, bool]]:
    """The name and type of each argument of the root's forward, and whether it is optional."""
    module, _, name = root.rpartition(".")
    member = f"code/{module.replace('.', '/')}.py"
    if member not in archive:
        return []
    text = archive.read(member).decode("utf-8", "replace")
    start = re.search(rf"^class {re.escape(name)}\(", text, re.MULTILINE)
    forward = (
        re.compile(r"^\s+def forward\(", re.MULTILINE).search(text, start.end()) if start else None
    )
    return (
        [_parse_argument(part) for part in _split_arguments(text, forward.end())[1:]]
        if forward
        else []
    )


def _split_arguments(text: str, position: int) -> list[str]:
    """The arguments of a call whose bracket opens just before ``position``."""
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


def _parse_argument(text: str) -> tuple[str, str, bool]:
    name, _, rest = text.partition(":")
    kind, equals, _ = rest.partition("=")
    return name.strip(), kind.strip(), bool(equals) or kind.strip().startswith("Optional[")


# ---------------------------------------------------------------- recognition


# torch.save wrote this number first until version 1.6, and still does on request.
_OLD_MAGIC = 0x1950A86A20F9469CFC6C
_OLD_HEAD_BYTES = 64


def recognise_torch_format(path: Path, head: bytes) -> ModelFormat | None:
    """None for files that are not PyTorch's.

    An archive with the marks of several formats has the most dangerous of them.
    """
    if is_old_checkpoint(head):
        return "torch-checkpoint"
    names = member_names(path) if is_zip(head) else None
    return format_of_members(names) if names else None


def format_of_members(names: list[str]) -> ModelFormat | None:
    members = {strip_top_folder(name) for name in names} | set(names)
    if "archive_format" in members or any("serialized_exported_program" in n for n in members):
        return "torch-export"
    if members & {"constants.pkl", "bytecode.pkl"} or any(n.startswith("code/") for n in members):
        return "torchscript"
    if "data.pkl" in members:
        return "torch-checkpoint"
    return None


def is_pickle(head: bytes) -> bool:
    return head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05")


def is_old_checkpoint(head: bytes) -> bool:
    if not is_pickle(head):
        return False
    try:
        for opcode, argument, _ in pickletools.genops(head[:_OLD_HEAD_BYTES]):
            if opcode.name not in ("PROTO", "FRAME"):
                return bool(argument == _OLD_MAGIC)
    except ValueError:  # cut off, or no pickle after all
        return False
    return False
