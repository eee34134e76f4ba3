"""The members of an untrusted zip or tar archive, one after the other.

Python's own ``extractall`` has been tricked into writing outside its folder more than once. Here an
archive is a list of plain files with plain names; if it has anything else, all of it is refused.
"""

from __future__ import annotations

import gzip
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import BinaryIO, cast

from modeldyno.core.errors import ArchiveRefused

MOST_MEMBERS = 10_000
PIECE = 1 << 20
_LARGEST_DIRECTORY = 8 << 20  # bytes; 10 000 members with long names need a few
_LARGEST_EXTENSION = 64 << 10  # of a tar member's long name
_BROKEN = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, struct.error, EOFError,
    OSError, ValueError, NotImplementedError, RuntimeError, OverflowError, KeyError,
)  # fmt: skip


@dataclass(frozen=True)
class Member:
    name: str
    size_bytes: int  # as declared
    packed_bytes: int | None  # in the archive; None if unknown for a single member
    pieces: Iterator[bytes] | None  # None for a folder


def members(file: BinaryIO) -> Iterator[Member]:
    """Recognises the format by content; each member must be read before the next.

    Raises ArchiveRefused.
    """
    with _translated_damage():
        for member in _iterate_members(file):
            pieces = (
                None if member.pieces is None else _translate_damage_while_reading(member.pieces)
            )
            yield replace(member, pieces=pieces)


def _translate_damage_while_reading(pieces: Iterator[bytes]) -> Iterator[bytes]:
    with _translated_damage():
        yield from pieces


@contextmanager
def _translated_damage() -> Iterator[None]:
    try:
        yield
    except _BROKEN as error:
        raise archive_refused_error(
            "it is damaged: " + (str(error) or type(error).__name__)[:200]
        ) from error


def archive_refused_error(why: str) -> ArchiveRefused:
    return ArchiveRefused(
        "The archive cannot be unpacked", why=why, fix="Pack only plain files, as zip or tar.gz"
    )


def _iterate_members(file: BinaryIO) -> Iterator[Member]:
    head = file.read(512)
    file.seek(0)
    if head.startswith(b"PK\x03\x04"):
        return _zip_entries(file)
    if head.startswith(b"\x1f\x8b"):
        return _tar_entries(cast(BinaryIO, gzip.GzipFile(fileobj=file)))
    if head[257:262] == b"ustar":
        return _tar_entries(file)
    raise archive_refused_error("it is neither zip nor tar nor tar.gz")


# ---------------------------------------------------------------- zip


def _zip_entries(file: BinaryIO) -> Iterator[Member]:
    _require_small_directory(file)
    with zipfile.ZipFile(file) as archive:
        entries = sorted(archive.infolist(), key=lambda listed: listed.header_offset)
        if len(entries) > MOST_MEMBERS:
            raise archive_refused_error(f"it has more than {MOST_MEMBERS} members")
        end = 0
        for listed in entries:
            end = _locate_zip_content(file, listed, end)
            name, packed = listed.orig_filename, listed.compress_size
            if listed.is_dir():
                yield Member(name.removesuffix("/"), 0, packed, None)
                continue
            with archive.open(listed) as member:
                yield Member(name, listed.file_size, packed, _read_pieces(member.read))


def _require_small_directory(file: BinaryIO) -> None:
    """zipfile reads the whole table of contents at once, so its declared size is checked first."""
    size = file.seek(0, 2)
    start = max(0, size - 65_557)
    file.seek(start)
    tail = file.read()
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) - at < 22:
        raise archive_refused_error("it has no table of contents")
    stated = struct.unpack_from("<I", tail, at + 12)[0]
    locator = tail[max(0, at - 20) : at]
    if locator.startswith(b"PK\x06\x07"):
        file.seek(struct.unpack_from("<Q", locator, 8)[0])
        record = file.read(56)
        stated = struct.unpack_from("<Q", record, 40)[0]
    if stated > _LARGEST_DIRECTORY:
        raise archive_refused_error("its table of contents is too large")


def _locate_zip_content(file: BinaryIO, listed: zipfile.ZipInfo, end: int) -> int:
    """Where the member ends. The table of contents and the member's own header must agree."""
    if not listed.filename:
        raise archive_refused_error("a member has no name")
    kind = stat.S_IFMT(listed.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR) or (kind == stat.S_IFDIR) > listed.is_dir():
        raise archive_refused_error("a member is a link or a device")
    if listed.flag_bits & 0x1:
        raise archive_refused_error("a member is encrypted")
    if listed.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise archive_refused_error("a member is packed in a way that we do not read")
    if listed.is_dir() and listed.file_size:
        raise archive_refused_error("a folder has content")
    if listed.header_offset < end or (end == 0 and listed.header_offset != 0):
        raise archive_refused_error("members overlap, or something stands before them")
    file.seek(listed.header_offset)
    header = file.read(30)
    fields = struct.unpack("<4s2xHH4xIIIHH", header)
    signature, (flags, method, crc, packed, size, names, extra) = fields[0], map(int, fields[1:])
    name = file.read(names)
    encoding = "utf-8" if flags & 0x800 else "cp437"
    listed_as = (listed.flag_bits, listed.compress_type, listed.orig_filename)
    if signature != b"PK\x03\x04" or (flags, method, name.decode(encoding)) != listed_as:
        raise archive_refused_error("its table of contents and its members disagree")
    has_sizes_behind = bool(flags & 0x8)  # the member
    sizes = ((crc, listed.CRC), (packed, listed.compress_size), (size, listed.file_size))
    for stated, expected in sizes:
        if stated != expected and stated != 0xFFFFFFFF and not (has_sizes_behind and stated == 0):
            raise archive_refused_error("its table of contents and its members disagree")
    return listed.header_offset + 30 + names + extra + listed.compress_size


# ---------------------------------------------------------------- tar


def _tar_entries(stream: BinaryIO) -> Iterator[Member]:
    """Header by header: ``tarfile`` itself would follow whatever an extended header asks for."""
    for _ in range(MOST_MEMBERS + 1):
        header = _read_tar_header(stream)
        if header is None:
            return
        pieces = None if header.isdir() else _read_pieces_up_to(stream, header.size)
        yield Member(header.name, header.size, None, pieces)
        if pieces is not None and any(True for _ in pieces):
            raise archive_refused_error("a member was not read to its end")
        _read_exactly(stream, -header.size % tarfile.BLOCKSIZE)
    raise archive_refused_error(f"it has more than {MOST_MEMBERS} members")


def _read_tar_header(stream: BinaryIO) -> tarfile.TarInfo | None:
    """The next member, with the long name that may precede it; None at the end."""
    stated: dict[str, str] = {}
    for _ in range(4):  # a global, an extended and a long name, then the member
        block = stream.read(tarfile.BLOCKSIZE)
        if len(block) == tarfile.BLOCKSIZE and not block.strip(b"\0") and not stated:
            return None
        if len(block) < tarfile.BLOCKSIZE:
            raise archive_refused_error("it ends before its end")
        member = tarfile.TarInfo.frombuf(block, "utf-8", "strict")
        if member.size < 0:
            raise archive_refused_error("a member has a negative size")
        match member.type:
            case tarfile.GNUTYPE_LONGNAME:
                stated["path"] = _read_extension(stream, member.size).rstrip(b"\0").decode()
            case tarfile.XHDTYPE | tarfile.XGLTYPE:
                stated |= _parse_extension_records(_read_extension(stream, member.size))
            case tarfile.REGTYPE | tarfile.AREGTYPE | tarfile.DIRTYPE:
                return _apply_extension(member, stated)
            case _:
                raise archive_refused_error("a member is a link, a device or sparse")
    raise archive_refused_error("a member has too many headers")


def _apply_extension(member: tarfile.TarInfo, stated: dict[str, str]) -> tarfile.TarInfo:
    if any(key.startswith("GNU.sparse") or key == "linkpath" for key in stated):
        raise archive_refused_error("a member is a link, a device or sparse")
    member.name = stated.get("path", member.name)
    if member.isdir():
        member.name = member.name.rstrip("/")
        if member.size or "size" in stated:
            raise archive_refused_error("a folder has content")
    elif member.name.endswith("/"):
        raise archive_refused_error("a file is named like a folder")
    if "size" in stated:
        if not stated["size"].isdecimal():
            raise archive_refused_error("a member has no sensible size")
        member.size = int(stated["size"])
    return member


def _read_extension(stream: BinaryIO, size: int) -> bytes:
    if size > _LARGEST_EXTENSION:
        raise archive_refused_error("a member's name is too long")
    content = _read_exactly(stream, size)
    _read_exactly(stream, -size % tarfile.BLOCKSIZE)
    return content


def _parse_extension_records(content: bytes) -> dict[str, str]:
    """``13 path=a/b\\n`` and so on: each line begins with its length."""
    records: dict[str, str] = {}
    while content.strip(b"\0"):
        length = int(content.partition(b" ")[0])
        record, content = content[:length], content[length:]
        key, separator, value = record.partition(b" ")[2].partition(b"=")
        if length < 5 or not separator or not value.endswith(b"\n"):
            raise archive_refused_error("a member's extended header is damaged")
        records[key.decode()] = value[:-1].decode()
    return records


# ---------------------------------------------------------------- reading


def _read_pieces(read: Callable[[int], bytes]) -> Iterator[bytes]:
    while piece := read(PIECE):
        yield piece


def _read_pieces_up_to(stream: BinaryIO, size: int) -> Iterator[bytes]:
    while size:
        piece = _read_exactly(stream, min(PIECE, size))
        size -= len(piece)
        yield piece


def _read_exactly(stream: BinaryIO, size: int) -> bytes:
    content = stream.read(size)
    if len(content) != size:
        raise archive_refused_error("it ends in the middle of a member")
    return content
