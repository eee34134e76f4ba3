"""The web client that came with INC Bench, out of a folder that the owner names.

The folder is read once, when the server starts: what is asked for later is looked up among the
names that were found, so no request ever opens a file.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from modeldyno.core.errors import BadValue

INDEX = "index.html"
PLACEHOLDER = (
    b"{{ url_prefix }}"  # the original filled it in; the client reads its API's base there
)
PREFIX = b"/"
MOST_FILES = 1000
MOST_BYTES = 64 << 20
# Ours, so that they do not differ from machine to machine: browsers run no script of another type.
MEDIA_TYPES = {
    ".css": "text/css",
    ".html": "text/html",
    ".ico": "image/x-icon",
    ".js": "text/javascript",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".ttf": "font/ttf",
    ".txt": "text/plain",
    ".woff": "font/woff",
    ".woff2": "font/woff2",
}


@dataclass(frozen=True)
class Asset:
    body: bytes
    media_type: str
    tag: str  # for an ETag: the same for the same content


class WebClient:
    def __init__(self, assets: dict[str, Asset]) -> None:
        self._assets = assets

    @classmethod
    def read(cls, folder: Path) -> WebClient:
        """Raises BadValue unless that is the client's folder. Links in it are left out."""
        assets: dict[str, Asset] = {}
        room = MOST_BYTES
        for name, descriptor, size in _files(folder):
            room -= size
            if room < 0 or len(assets) >= MOST_FILES:
                raise _no_client(folder, "it holds far more than a web client")
            with os.fdopen(os.dup(descriptor), "rb") as file:
                assets[name] = asset_of(name, file.read(size))
        if INDEX not in assets or PLACEHOLDER not in assets[INDEX].body:
            raise _no_client(folder, f"its {INDEX} is missing, or is not the original's")
        index = assets[INDEX].body.replace(PLACEHOLDER, PREFIX)
        return cls(assets | {INDEX: asset_of(INDEX, index)})

    @property
    def index(self) -> Asset:
        return self._assets[INDEX]

    def find(self, name: str) -> Asset | None:
        """None: the client itself knows what to show there, and begins with its index."""
        return self._assets.get(name) if name != INDEX else None


def asset_of(name: str, body: bytes) -> Asset:
    kind = MEDIA_TYPES.get(PurePosixPath(name).suffix.lower(), "application/octet-stream")
    return Asset(body, kind, f'"{hashlib.sha256(body).hexdigest()[:32]}"')


def _files(folder: Path) -> Iterator[tuple[str, int, int]]:
    """Name below the folder, a descriptor that is good until the next one, and its size."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    for place, _, names, at in os.fwalk(folder, follow_symlinks=False):
        inner = Path(place).relative_to(folder)
        for name in sorted(names):
            try:
                descriptor = os.open(name, flags, dir_fd=at)
            except OSError:  # a link, or nothing that we may read
                continue
            try:
                status = os.fstat(descriptor)
                if stat.S_ISREG(status.st_mode):
                    yield (inner / name).as_posix(), descriptor, status.st_size
            finally:
                os.close(descriptor)


def _no_client(folder: Path, why: str) -> BadValue:
    return BadValue(
        f"{folder} does not hold the web client of INC Bench",
        why=why,
        fix="Give --inc-gui the folder neural_compressor/ux/web/static of its release 1.14",
    )
