"""Examples on their way in: ``downloads/<slug>.part``, kept until it is whole, then checked.

Only what the catalogue names is fetched: there is no function here that takes an address.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from modeldyno.core.codec import Mismatch, decode, encode
from modeldyno.core.errors import DownloadFailed, StorageFailed, UserError, WrongState
from modeldyno.core.examples import Example
from modeldyno.store.file_locks import is_locked
from modeldyno.store.objects import KEPT_FREE, LARGEST, StoredObject, free_space, storing
from modeldyno.store.transfers import Broken, Reply, Stop, Transfer, Ways, heed
from modeldyno.store.web_addresses import refused

PAUSES_S = (0.5, 2.0, 5.0)  # before each further try, when something came and then no more
SAY_EVERY_S = 0.25
_LOOK_AFTER = 64 << 20  # bytes between two looks at the free space
_LOOK_EVERY_S = 0.1
_WHOLE, _PART, _WRONG_PART = 200, 206, 416

Say = Callable[[int, int | None], None]  # bytes that are here, bytes of the whole


@dataclass(frozen=True)
class _Begun:
    """What must still hold when we go on with a part."""

    url: str
    validator: str  # "" once it is whole
    total: int | None


@dataclass(frozen=True)
class _StoredDownload:
    """The model that came of a download, and of which: a new catalogue may have another."""

    url: str | None
    sha256: str | None
    stored: StoredObject


class Downloads:
    def __init__(
        self,
        folder: Path,
        ways: Ways,
        *,
        largest: int = LARGEST,
        kept_free: int = KEPT_FREE,
        free: Callable[[Path], int] = free_space,
        pauses_s: tuple[float, ...] = PAUSES_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = folder
        self._ways = ways
        self._largest = largest
        self._kept_free = kept_free
        self._free = free
        self._pauses_s = pauses_s
        self._clock = clock

    @contextmanager
    def fetching(self, example: Example, say: Say, stop: Stop) -> Iterator[Path]:
        """The whole file, checked; it goes away at the end, unless that is an error.

        Raises DownloadFailed or Cancelled, and then what has come is kept for the next time;
        DownloadRefused, and then a file that is not what it should be is deleted; StorageFailed;
        or WrongState, when somebody else is fetching it.
        """
        with self.alone(example):
            part = _Part(self._folder, example)
            self._complete(part, example, _seldom(say, self._clock), stop)
            try:
                _check(part, example, stop)
                yield part.path
            except UserError:  # the file is bad, and would be bad the next time
                part.forget()
                raise
            part.forget()

    def kept(self, example: Example) -> StoredObject | None:
        """What became of it when it was fetched before; whether that is still there is not said."""
        try:
            kept: _StoredDownload = decode(
                _StoredDownload, json.loads(self._note(example).read_text())
            )
        except (OSError, ValueError, Mismatch):
            return None
        return kept.stored if (kept.url, kept.sha256) == (example.url, example.sha256) else None

    def keep(self, example: Example, stored: StoredObject) -> None:
        with storing():
            _write(self._note(example), _StoredDownload(example.url, example.sha256, stored))

    def _note(self, example: Example) -> Path:
        return self._folder / f"{example.slug}.kept"

    @contextmanager
    def alone(self, example: Example) -> Iterator[None]:
        with storing():
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = os.open(self._folder / f"{example.slug}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _lock(lock, example)
            yield
        finally:
            os.close(lock)

    def _complete(self, part: _Part, example: Example, say: Say, stop: Stop) -> None:
        before = part.size
        for pause_s in (*self._pauses_s, None):
            try:
                while not self._go_on(part, example, say, stop):
                    part.forget()  # it is of another file than the host has now
            except Broken as broken:
                if pause_s is None or part.size == before:
                    raise _failed(example, str(broken), part.size) from broken
                before = part.size
                _wait(pause_s, stop)
            else:
                return

    def _go_on(self, part: _Part, example: Example, say: Say, stop: Stop) -> bool:
        """One request, up to its end. False: the part is good for nothing, begin again."""
        assert example.url is not None
        begun = part.begun()
        if begun is not None and begun.total == part.size:
            return True
        headers = {"User-Agent": "modeldyno"}
        if begun is not None:
            headers |= {"Range": f"bytes={part.size}-", "If-Range": begun.validator}
        with Transfer(self._ways, example.url, headers, stop) as transfer:
            reply = transfer.reply()
            if begun is not None and reply.status in (_PART, _WRONG_PART):
                if not _continues(reply, begun, part.size):
                    return False
            elif reply.status != _WHOLE:
                raise _failed(example, f"the host answers with status {reply.status}", part.size)
            self._check_size(reply, example)
            if reply.status == _WHOLE:
                part.begin(example.url, reply)
            self._take(part, transfer, reply, say)
        return True

    def _take(self, part: _Part, transfer: Transfer, reply: Reply, say: Say) -> None:
        done = looked_at = part.size
        most = self._largest if reply.total is None else reply.total
        # An archive lies here unpacked for a while, and its model is copied.
        self._check_room((3 if part.is_archive else 1) * (reply.total or 0) - done)
        say(done, reply.total)
        with part.appending() as write:
            for piece in transfer.pieces():
                done += len(piece)
                if done > most:
                    part.forget()
                    raise refused(f"it is larger than {self._largest >> 20} MiB")
                write(piece)
                say(done, reply.total)
                if done - looked_at >= _LOOK_AFTER:
                    looked_at = done
                    self._check_room(0)
        if reply.total is not None and done < reply.total:
            raise Broken("the host broke off")
        part.end(done)
        say(done, done)

    def _check_size(self, reply: Reply, example: Example) -> None:
        if not reply.has_end:
            raise refused("the host does not say where the file ends")
        if reply.total is None:
            return
        if reply.total > self._largest:
            raise refused(f"it is larger than {self._largest >> 20} MiB")
        if example.size_bytes not in (None, reply.total):
            raise refused("it does not have the size that the catalogue knows")

    def _check_room(self, more: int) -> None:
        with storing():
            free = self._free(self._folder)
        if free - more < self._kept_free:
            raise StorageFailed(
                "There is not enough room in the workspace for this download",
                why=f"{self._kept_free >> 20} MiB of the disk are left free for results",
                fix="Free some space or choose another folder with --workspace",
            )


def _continues(reply: Reply, begun: _Begun, size: int) -> bool:
    same = reply.validator in (None, begun.validator) and begun.total in (None, reply.total)
    return reply.status == _PART and reply.first == size and same


def _check(part: _Part, example: Example, stop: Stop) -> None:
    """Against what the catalogue knows of it."""
    if example.size_bytes not in (None, part.size):
        raise refused("it does not have the size that the catalogue knows; it was deleted")
    if example.sha256 not in (None, part.sha256(stop)):
        raise refused("its checksum is not the one that the catalogue knows; it was deleted")


def _lock(descriptor: int, example: Example) -> None:
    if not is_locked(descriptor):
        raise WrongState(
            f"{example.slug} is being fetched already",
            why="another process or request is at it",
            fix="Wait until it has ended, then ask again",
        )


def _failed(example: Example, why: str, kept: int) -> DownloadFailed:
    here = f"; the {kept >> 10} KiB that have come are kept" if kept else ""
    return DownloadFailed(
        f"{example.slug} could not be fetched",
        why=why,
        fix=f"Check the network and try again later{here}",
    )


def _wait(seconds: float, stop: Stop) -> None:
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        heed(stop)
        time.sleep(min(left, _LOOK_EVERY_S))


def _seldom(say: Say, clock: Callable[[], float]) -> Say:
    """Four times a second and at the end: nobody reads faster."""
    last_at = float("-inf")
    last: tuple[int, int | None] = (-1, None)

    def told(done: int, total: int | None) -> None:
        nonlocal last_at, last
        now = clock()
        is_news = (done, total) != last
        if is_news and (done == total or now - last_at >= SAY_EVERY_S):
            last_at, last = now, (done, total)
            say(done, total)

    return told


class _Part:
    """A file that is not whole, and beside it what it takes to go on with it."""

    def __init__(self, folder: Path, example: Example) -> None:
        self._url = example.url
        self.is_archive = example.is_archive
        self.path = folder / f"{example.slug}.part"
        self._about = folder / f"{example.slug}.json"

    @property
    def size(self) -> int:
        try:
            return self.path.stat().st_size
        except OSError:
            return 0

    def begun(self) -> _Begun | None:
        """None: there is nothing to go on with."""
        try:
            begun: _Begun = decode(_Begun, json.loads(self._about.read_text()))
        except (OSError, ValueError, Mismatch):
            return None
        is_ours = begun.url == self._url and self.size > 0
        return begun if is_ours and (begun.validator or begun.total == self.size) else None

    def begin(self, url: str, reply: Reply) -> None:
        """Empty, whatever was there. Without a validator nobody could go on with it."""
        self.forget()
        with storing():
            self.path.touch(mode=0o600)
            if reply.validator is not None:
                _write(self._about, _Begun(url, reply.validator, reply.total))

    def end(self, size: int) -> None:
        """It is whole, also where the host had not said how large it would be."""
        with storing():
            _write(self._about, _Begun(self._url or "", "", size))

    def forget(self) -> None:
        with storing():
            self._about.unlink(missing_ok=True)
            self.path.unlink(missing_ok=True)

    @contextmanager
    def appending(self) -> Iterator[Callable[[bytes], Any]]:
        with storing():
            file = self.path.open("ab")

        def write(piece: bytes) -> None:
            with storing():
                file.write(piece)

        try:
            yield write
        finally:
            with storing():
                file.close()

    def sha256(self, stop: Stop) -> str:
        digest = hashlib.sha256()
        with storing(), self.path.open("rb") as file:
            while piece := file.read(1 << 20):
                heed(stop)
                digest.update(piece)
        return digest.hexdigest()


def _write(path: Path, what: _Begun | _StoredDownload) -> None:
    """In one step: it is there or it is not."""
    new = path.with_name(f"{path.name}.new")
    new.write_text(json.dumps(encode(what)))
    new.replace(path)
