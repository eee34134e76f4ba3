"""The web client of INC Bench, from a folder that the owner names.

The folder is read once, when the server starts, so no request opens a file.
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
# The original server replaced it; the client reads the base of its API there.
PLACEHOLDER = b"{{ url_prefix }}"
PREFIX = b"/"
MOST_FILES = 1000
MOST_BYTES = 64 << 20
# Not from the system, which may differ: browsers run only scripts of the right type.
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
    tag: str  # for an ETag: equal for equal content


class WebClient:
    def __init__(self, assets: dict[str, Asset]) -> None:
        self._assets = assets

    @classmethod
    def read(cls, folder: Path) -> WebClient:
        """Raises BadValue unless it is the client's folder. Links are left out."""
        assets: dict[str, Asset] = {}
        room = MOST_BYTES
        for name, descriptor, size in _walk_files(folder):
            room -= size
            if room < 0 or len(assets) >= MOST_FILES:
                raise _no_client_error(folder, "it holds far more than a web client")
            with os.fdopen(os.dup(descriptor), "rb") as file:
                assets[name] = make_asset(name, file.read(size))
        if INDEX not in assets or PLACEHOLDER not in assets[INDEX].body:
            raise _no_client_error(folder, f"its {INDEX} is missing, or is not the original's")
        index = assets[INDEX].body.replace(PLACEHOLDER, PREFIX)
        return cls(assets | {INDEX: make_asset(INDEX, index)})

    @property
    def index(self) -> Asset:
        return self._assets[INDEX]

    def find(self, name: str) -> Asset | None:
        """None for other paths, which the client shows itself, starting with its index."""
        return self._assets.get(name) if name != INDEX else None


def make_asset(name: str, body: bytes) -> Asset:
    kind = MEDIA_TYPES.get(PurePosixPath(name).suffix.lower(), "application/octet-stream")
    return Asset(body, kind, f'"{hashlib.sha256(body).hexdigest()[:32]}"')


def _walk_files(folder: Path) -> Iterator[tuple[str, int, int]]:
    """The relative name, a descriptor that is valid until the next one, and the size of each."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    for place, _, names, at in os.fwalk(folder, follow_symlinks=False):
        inner = Path(place).relative_to(folder)
        for name in sorted(names):
            try:
                descriptor = os.open(name, flags, dir_fd=at)
            except OSError:  # a link, or not readable
                continue
            try:
                status = os.fstat(descriptor)
                if stat.S_ISREG(status.st_mode):
                    yield (inner / name).as_posix(), descriptor, status.st_size
            finally:
                os.close(descriptor)


def _no_client_error(folder: Path, why: str) -> BadValue:
    return BadValue(
        f"{folder} does not hold the web client of INC Bench",
        why=why,
        fix="Give --inc-gui the folder neural_compressor/ux/web/static of its release 1.14",
    )
