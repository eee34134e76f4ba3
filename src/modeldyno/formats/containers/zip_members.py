"""The members of an untrusted zip archive: nothing is unpacked, no declared size is believed."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from pathlib import Path
from typing import Any

from modeldyno.core.errors import ModelUnreadable
from modeldyno.formats.refusals import damaged_file_error

LARGEST_MEMBER = 256 << 20  # bytes of a pickle or a graph; weights are never read
_BROKEN = (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError, zlib.error)


def is_zip(head: bytes) -> bool:
    return head[:4] in (b"PK\x03\x04", b"PK\x05\x06")


def member_names(path: Path) -> list[str] | None:
    """None if the table of contents cannot be read."""
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.namelist()
    except _BROKEN:
        return None


class ModelArchive:
    """The members of a torch archive, by names without the folder that torch puts them in."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.members: dict[str, str] = {}
        for name in member_names(path) or ():
            if strip_top_folder(name) in self.members:  # readers differ on which of the two counts
                raise self._damaged_error(strip_top_folder(name), "there are two of that name")
            self.members[strip_top_folder(name)] = name

    def __contains__(self, name: str) -> bool:
        return name in self.members

    def names_under(self, prefix: str, suffix: str = "") -> list[str]:
        return [n for n in self.members if n.startswith(prefix) and n.endswith(suffix)]

    def read(self, name: str) -> bytes:
        """A member's bytes; raises ModelUnreadable if it is damaged or absurdly large."""
        try:
            with (
                zipfile.ZipFile(self._path) as archive,
                archive.open(self.members[name]) as member,
            ):
                content = member.read(LARGEST_MEMBER + 1)
        except _BROKEN as error:
            raise self._damaged_error(name, str(error)) from error
        if len(content) > LARGEST_MEMBER:
            raise self._damaged_error(name, f"it has more than {LARGEST_MEMBER >> 20} MiB")
        return content

    def json(self, name: str) -> Any:
        try:
            return json.loads(self.read(name))
        except (ValueError, RecursionError) as error:
            raise self._damaged_error(name, f"it is not JSON: {error}") from error

    def _damaged_error(self, name: str, why: str) -> ModelUnreadable:
        printable = "".join(c if c.isprintable() else "�" for c in name)[:100]
        return damaged_file_error(self._path, f"its part {printable!r} cannot be read: {why}"[:300])


def strip_top_folder(name: str) -> str:
    """``model/data.pkl`` → ``data.pkl``: torch puts everything into a single folder."""
    return name.partition("/")[2] or name


def split_pickles(archive_bytes: bytes) -> list[bytes]:
    """The pickles of an archive that is itself a member; archives inside it are ignored."""
    try:
        with zipfile.ZipFile(io.BytesIO(archive_bytes)) as archive:
            names = [name for name in archive.namelist() if name.endswith(".pkl")]
            return [archive.open(name).read(LARGEST_MEMBER) for name in names]
    except _BROKEN:
        return []
