"""Which of PyTorch's file formats a file has, judged by its content."""

from __future__ import annotations

import pickletools
from pathlib import Path

from modeldyno.core.models import ModelFormat
from modeldyno.formats.containers.zip_members import inside, is_zip, member_names

# torch.save wrote this number before everything else until 1.6, and still does when asked to.
_OLD_MAGIC = 0x1950A86A20F9469CFC6C
_OLD_HEAD_BYTES = 64


def torch_format(path: Path, head: bytes) -> ModelFormat | None:
    """None for files that are not PyTorch's.

    The most dangerous reading wins: an archive with the marks of several formats has the one that
    can do the most harm.
    """
    if is_old_checkpoint(head):
        return "torch-checkpoint"
    names = member_names(path) if is_zip(head) else None
    return format_of_members(names) if names else None


def format_of_members(names: list[str]) -> ModelFormat | None:
    members = {inside(name) for name in names} | set(names)
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
    except ValueError:  # cut off in the middle, or no pickle after all
        return False
    return False
