"""PyTorch's files, read without PyTorch and without unpickling anything.

TorchScript says which inputs there are, but not their shapes, unless it was traced. A checkpoint
says neither. What they leave out may stand in ``<file>.modeldyno.toml`` (``formats/sidecar.py``).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from modeldyno.core.models import InputSpec, ModelFacts, ModelFormat
from modeldyno.formats import sidecar
from modeldyno.formats.containers.pickle_listing import (
    Call,
    Global,
    Listing,
    TensorListed,
    list_pickle,
)
from modeldyno.formats.containers.zip_members import Archive, is_zip
from modeldyno.formats.digest import sha256
from modeldyno.formats.pytorch import exported_program, torchscript

_LARGEST_OLD_FILE = 64 << 20  # bytes of an old checkpoint that are walked
_NEVER_LEARNED = ("int64", "bool")
# What torch.save writes around tensors; anything else is more than weights.
_PLAIN = ("torch._utils._rebuild_", "collections.OrderedDict", "torch.storage.", "torch.device")


def read_script(path: Path) -> ModelFacts:
    archive = Archive(path)
    listing = _listing(archive, archive.under("", ".pkl"))
    traced = (
        list_pickle(archive.read("traced_inputs.pkl")) if "traced_inputs.pkl" in archive else None
    )
    data = list_pickle(archive.read("data.pkl")) if "data.pkl" in archive else Listing()
    inputs, notes = torchscript.inputs(archive, _root_class(data), traced)
    # Classes under __torch__ are the file's own: torch reads them from its code/, Python never.
    foreign = [name for name in listing.imports if not name.startswith("__torch__.")]
    facts = _facts(path, "torchscript", foreign, data.tensors, inputs)
    facts = replace(facts, notes=(*facts.notes, *notes))
    return sidecar.applied(facts)


def read_export(path: Path) -> ModelFacts:
    archive = Archive(path)
    listing = _listing(archive, exported_program.pickled(archive))
    said = exported_program.program(path, archive)
    compiled = archive.under(exported_program.COMPILED)
    notes = [f"holds {len(compiled)} compiled files, so it is never loaded"] if compiled else []
    return ModelFacts(
        path=str(path),
        format="torch-export",
        framework="PyTorch",
        sha256=sha256(path),
        size_bytes=path.stat().st_size,
        parameters=sum(said.weights_by_dtype.values()),
        inputs=said.inputs,
        outputs=said.outputs,
        producer=said.producer,
        nodes_by_op=said.nodes_by_op,
        weights_by_dtype=said.weights_by_dtype,
        imports=tuple(listing.imports),
        notes=(*notes, *said.notes),
    )


def read_checkpoint(path: Path) -> ModelFacts:
    listing = _checkpoint_listing(path)
    facts = _facts(path, "torch-checkpoint", listing.imports, listing.tensors, ())
    odd = [name for name in listing.imports if not _is_plain(name)]
    if odd:
        more = " and more" if len(odd) > 4 else ""
        note = (
            f"names more than tensors ({', '.join(odd[:4])}{more}): unless PyTorch knows them as "
            "harmless, it will not be loaded"
        )
        facts = replace(facts, notes=(*facts.notes, note))
    return sidecar.applied(facts)


def list_file(path: Path) -> Listing:
    """What a bare pickle names, from its first bytes."""
    with path.open("rb") as file:
        return list_pickle(file.read(_LARGEST_OLD_FILE))


# ---------------------------------------------------------------- parts


def _checkpoint_listing(path: Path) -> Listing:
    with path.open("rb") as file:
        zipped = is_zip(file.read(4))
    if not zipped:
        return list_file(path)
    archive = Archive(path)
    return _listing(archive, archive.under("", ".pkl"))


def _listing(archive: Archive, names: Iterable[str]) -> Listing:
    """All pickles of an archive; a member that is a zip itself (torch.save inside) counts too."""
    whole = Listing()
    for name in names:
        for data in _pickles(archive.read(name)):
            listing = list_pickle(data)
            whole.imports |= listing.imports
            whole.tensors += listing.tensors
            whole.trouble = whole.trouble or listing.trouble
    return whole


def _pickles(data: bytes) -> list[bytes]:
    if not is_zip(data):
        return [data]
    from modeldyno.formats.containers.zip_members import pickles_of

    return pickles_of(data)


def _is_plain(name: str) -> bool:
    return name.startswith(_PLAIN) or (name.startswith("torch.") and name.endswith("Storage"))


def _root_class(listing: Listing) -> str:
    """``__torch__.package.Class`` of the object that the pickle is about."""
    match listing.root:
        case Call(function=Global(name=name)):
            return name
    return ""


def _facts(
    path: Path,
    model_format: ModelFormat,
    imports: Iterable[str],
    tensors: Iterable[TensorListed],
    inputs: tuple[InputSpec, ...],
) -> ModelFacts:
    weights = _weights(tensors)
    note = "parameters are counted from all stored tensors of learned types, buffers included"
    return ModelFacts(
        path=str(path),
        format=model_format,
        framework="PyTorch",
        sha256=sha256(path),
        size_bytes=path.stat().st_size,
        parameters=sum(weights.values()),
        inputs=inputs,
        outputs=(),
        weights_by_dtype=weights,
        imports=tuple(imports),
        notes=(note,) if weights else ("its tensors could not be counted",),
    )


def _weights(tensors: Iterable[TensorListed]) -> dict[str, int]:
    """Elements per dtype; a tensor stored under two names counts once."""
    counts: Counter[str] = Counter()
    for tensor in dict.fromkeys(tensors):
        if tensor.dtype not in _NEVER_LEARNED:
            counts[tensor.dtype] += math.prod(tensor.shape)
    return dict(counts.most_common())
