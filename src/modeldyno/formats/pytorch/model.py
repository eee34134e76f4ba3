"""PyTorch's files, read without PyTorch and without unpickling anything.

TorchScript declares its inputs, but not their shapes, unless it was traced. A checkpoint declares
neither. A ``<file>.modeldyno.toml`` can add what is missing (``formats/sidecar.py``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from modeldyno.core.models import InputSpec, ModelFacts, ModelFormat
from modeldyno.formats import sidecar
from modeldyno.formats.containers.pickle_listing import (
    Call,
    Global,
    ListedTensor,
    PickleListing,
    list_pickle,
)
from modeldyno.formats.containers.zip_members import ModelArchive, is_zip, pickles_of
from modeldyno.formats.model_facts import and_more, count_weights, model_facts
from modeldyno.formats.pytorch import exported_program, torchscript

_LARGEST_OLD_FILE = 64 << 20  # bytes of an old checkpoint that are walked
# What torch.save writes around tensors; anything else is more than weights.
_PLAIN = ("torch._utils._rebuild_", "collections.OrderedDict", "torch.storage.", "torch.device")


def read_script(path: Path) -> ModelFacts:
    archive = ModelArchive(path)
    listing = _listing(archive, archive.under("", ".pkl"))
    traced = (
        list_pickle(archive.read("traced_inputs.pkl")) if "traced_inputs.pkl" in archive else None
    )
    data = list_pickle(archive.read("data.pkl")) if "data.pkl" in archive else PickleListing()
    inputs, notes = torchscript.inputs(archive, _root_class(data), traced)
    # Classes under __torch__ are the file's own: torch reads them from its code/, Python never.
    foreign = [name for name in listing.imports if not name.startswith("__torch__.")]
    facts = _facts(path, "torchscript", foreign, data.tensors, inputs)
    facts = replace(facts, notes=(*facts.notes, *notes))
    return sidecar.applied(facts)


def read_export(path: Path) -> ModelFacts:
    archive = ModelArchive(path)
    listing = _listing(archive, exported_program.pickled(archive))
    program = exported_program.read_program(path, archive)
    compiled = archive.under(exported_program.COMPILED)
    notes = [f"holds {len(compiled)} compiled files, so it is never loaded"] if compiled else []
    return model_facts(
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
    listing = _checkpoint_listing(path)
    facts = _facts(path, "torch-checkpoint", listing.imports, listing.tensors, ())
    odd = [name for name in listing.imports if not _is_plain(name)]
    if odd:
        note = (
            f"names more than tensors ({and_more(odd)}): unless PyTorch knows them as harmless, it "
            "will not be loaded"
        )
        facts = replace(facts, notes=(*facts.notes, note))
    return sidecar.applied(facts)


def list_file(path: Path) -> PickleListing:
    """The imports of a bare pickle, from its first bytes."""
    with path.open("rb") as file:
        return list_pickle(file.read(_LARGEST_OLD_FILE))


# ---------------------------------------------------------------- parts


def _checkpoint_listing(path: Path) -> PickleListing:
    with path.open("rb") as file:
        zipped = is_zip(file.read(4))
    if not zipped:
        return list_file(path)
    archive = ModelArchive(path)
    return _listing(archive, archive.under("", ".pkl"))


def _listing(archive: ModelArchive, names: Iterable[str]) -> PickleListing:
    """Of all pickles in an archive, even those in a member that is a zip itself (torch.save)."""
    whole = PickleListing()
    for name in names:
        data = archive.read(name)
        for pickle in pickles_of(data) if is_zip(data) else [data]:
            listing = list_pickle(pickle)
            whole.imports |= listing.imports
            whole.tensors += listing.tensors
            whole.trouble = whole.trouble or listing.trouble
    return whole


def _is_plain(name: str) -> bool:
    return name.startswith(_PLAIN) or (name.startswith("torch.") and name.endswith("Storage"))


def _root_class(listing: PickleListing) -> str:
    """``__torch__.package.Class`` of the outermost object."""
    match listing.root:
        case Call(function=Global(name=name)):
            return name
    return ""


def _facts(
    path: Path,
    model_format: ModelFormat,
    imports: Iterable[str],
    tensors: Iterable[ListedTensor],
    inputs: tuple[InputSpec, ...],
) -> ModelFacts:
    # A tensor stored under two names counts once.
    weights = count_weights((tensor.dtype, tensor.elements) for tensor in dict.fromkeys(tensors))
    note = "parameters are counted from all stored tensors of learned types, buffers included"
    return model_facts(
        path,
        model_format,
        "PyTorch",
        inputs=inputs,
        outputs=(),
        weights=weights,
        imports=tuple(imports),
        notes=(note,) if weights else ("its tensors could not be counted",),
    )
