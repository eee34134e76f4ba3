"""A cache of graphs in the workspace, by the content of their models."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import json
import logging
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from modeldyno.core.codec import Mismatch
from modeldyno.core.graphs import LARGEST_BYTES, Graph
from modeldyno.graphs.rows import ROWS_VERSION, from_rows, to_rows

logger = logging.getLogger(__name__)

MOST_BYTES = 256 << 20  # of all kept graphs together; a graph of 4 000 nodes has about one MiB
_SHA256 = re.compile(r"[0-9a-f]{64}")
_UNFINISHED = ".new"


class Graphs:
    """``graphs/<sha256>.<version>.json``: a line with the checksum of what follows, then the rows.

    Only a cache: what is damaged, outdated or cannot be written is read again from the model, and
    only logged.
    """

    def __init__(self, folder: Path, most_bytes: int = MOST_BYTES) -> None:
        self._folder = folder
        self._most_bytes = most_bytes

    def load(self, sha256: str) -> Graph | None:
        """The graph of the model with this content; None if it is not in the cache."""
        path = self._path(sha256)
        try:
            with path.open("rb") as file:
                checksum = file.readline(65)
                body = file.read(2 * LARGEST_BYTES)
        except OSError:
            return None
        with _without_garbage_collection():
            graph = _graph_from_body(checksum, body)
        if graph is None or graph.sha256 != sha256:
            logger.warning("the cached graph %s is damaged and will be read again", path.name)
            with contextlib.suppress(OSError):
                path.unlink()
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # what was used last is removed last
        return graph

    def save(self, graph: Graph) -> None:
        """In one step: readers see a whole entry or none."""
        body = json.dumps(to_rows(graph), separators=(",", ":"), allow_nan=False).encode()
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._write(self._path(graph.sha256), body)
            self._delete_least_recently_used()
        except OSError as error:
            logger.warning("a graph could not be cached: %s", error.strerror)

    def _write(self, path: Path, body: bytes) -> None:
        number, name = tempfile.mkstemp(_UNFINISHED, dir=self._folder)
        try:
            with os.fdopen(number, "wb") as file:
                file.write(_checksum(body) + b"\n" + body)
            Path(name).replace(path)
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise

    def _delete_least_recently_used(self) -> None:
        """Remove the least recently used entries, and those of older versions."""
        current = f".{ROWS_VERSION}.json"
        entries = [(path, path.stat()) for path in self._folder.iterdir()]
        entries.sort(key=lambda entry: (entry[0].name.endswith(current), entry[1].st_mtime_ns))
        total = sum(status.st_size for _, status in entries)
        for path, status in entries[:-1]:  # the newest stays, whatever its size
            if total <= self._most_bytes and path.name.endswith((current, _UNFINISHED)):
                continue
            path.unlink(missing_ok=True)
            total -= status.st_size

    def _path(self, sha256: str) -> Path:
        if not _SHA256.fullmatch(sha256):
            raise ValueError(f"not a sha256: {sha256[:80]!r}")
        return self._folder / f"{sha256}.{ROWS_VERSION}.json"


@contextlib.contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """There are thousands of new objects and no garbage: a search for it would double the time."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _checksum(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode()


def _graph_from_body(checksum: bytes, body: bytes) -> Graph | None:
    if checksum != _checksum(body) + b"\n":
        return None
    try:
        return from_rows(json.loads(body))
    except (ValueError, Mismatch, RecursionError):
        return None
