"""Downloads of examples: ``downloads/<slug>.part`` until the file is complete, then it is checked.

Only what the catalogue names is fetched: no function here takes an address.
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
from modeldyno.store.durable_files import replace_file
from modeldyno.store.file_locks import is_locked
from modeldyno.store.objects import (
    KEPT_FREE,
    LARGEST,
    StoredObject,
    free_space,
    translated_storage_errors,
)
from modeldyno.store.transfers import Broken, Network, Reply, Stop, Transfer, check_stop
from modeldyno.store.web_addresses import download_refused_error

PAUSES_S = (0.5, 2.0, 5.0)  # before each retry, if the attempt before made progress
REPORT_EVERY_S = 0.25
_CHECK_EVERY = 64 << 20  # bytes between two checks of the free space
_POLL_S = 0.1
_WHOLE, _PART, _WRONG_PART = 200, 206, 416

OnProgress = Callable[[int, int | None], None]  # bytes received, bytes of the whole file


@dataclass(frozen=True)
class _PartFacts:
    """What must still hold to resume a partial file."""

    url: str
    validator: str  # "" once it is complete
    total: int | None


@dataclass(frozen=True)
class _StoredDownload:
    """The model of an earlier download; a new catalogue may have another file."""

    url: str | None
    sha256: str | None
    stored: StoredObject


class Downloads:
    def __init__(
        self,
        folder: Path,
        network: Network,
        *,
        largest: int = LARGEST,
        kept_free: int = KEPT_FREE,
        free: Callable[[Path], int] = free_space,
        pauses_s: tuple[float, ...] = PAUSES_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = folder
        self._network = network
        self._largest = largest
        self._kept_free = kept_free
        self._free = free
        self._pauses_s = pauses_s
        self._clock = clock

    @contextmanager
    def fetched_file(self, example: Example, on_progress: OnProgress, stop: Stop) -> Iterator[Path]:
        """The complete, checked file; it is deleted at the end, unless there is an error.

        Raises DownloadFailed or Cancelled, after which a later call resumes; DownloadRefused, after
        which a wrong file is deleted; StorageFailed; or WrongState, if it is being downloaded.
        """
        with self.locked_for_one_download(example):
            part = _PartialFile(self._folder, example)
            self._download_with_retries(
                part, example, _throttle_progress(on_progress, self._clock), stop
            )
            try:
                _require_catalogue_checksum(part, example, stop)
                yield part.path
            except UserError:  # the file is wrong, and would be the next time
                part.delete()
                raise
            part.delete()

    def find_earlier_download(self, example: Example) -> StoredObject | None:
        """What an earlier download gave, which may have been deleted since."""
        try:
            kept: _StoredDownload = decode(
                _StoredDownload, json.loads(self._record_path(example).read_text())
            )
        except (OSError, ValueError, Mismatch):
            return None
        return kept.stored if (kept.url, kept.sha256) == (example.url, example.sha256) else None

    def remember_download(self, example: Example, stored: StoredObject) -> None:
        with translated_storage_errors():
            record = _StoredDownload(example.url, example.sha256, stored)
            replace_file(self._record_path(example), json.dumps(encode(record)))

    def _record_path(self, example: Example) -> Path:
        return self._folder / f"{example.slug}.kept"

    @contextmanager
    def locked_for_one_download(self, example: Example) -> Iterator[None]:
        with translated_storage_errors():
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = os.open(self._folder / f"{example.slug}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _lock(lock, example)
            yield
        finally:
            os.close(lock)

    def _download_with_retries(
        self, part: _PartialFile, example: Example, on_progress: OnProgress, stop: Stop
    ) -> None:
        before = part.size
        for pause_s in (*self._pauses_s, None):
            try:
                while not self._download_once(part, example, on_progress, stop):
                    part.delete()  # the host has another file now
            except Broken as broken:
                if pause_s is None or part.size == before:
                    raise _download_failed_error(example, str(broken), part.size) from broken
                before = part.size
                _wait(pause_s, stop)
            else:
                return

    def _download_once(
        self, part: _PartialFile, example: Example, on_progress: OnProgress, stop: Stop
    ) -> bool:
        """One request, up to its end. False: the partial file is useless, start again."""
        assert example.url is not None
        facts = part.read_facts()
        if facts is not None and facts.total == part.size:
            return True
        headers = {"User-Agent": "modeldyno"}
        if facts is not None:
            headers |= {"Range": f"bytes={part.size}-", "If-Range": facts.validator}
        with Transfer(self._network, example.url, headers, stop) as transfer:
            reply = transfer.wait_for_reply()
            if facts is not None and reply.status in (_PART, _WRONG_PART):
                if not _is_continuation(reply, facts, part.size):
                    return False
            elif reply.status != _WHOLE:
                raise _download_failed_error(
                    example, f"the host answers with status {reply.status}", part.size
                )
            self._check_size(reply, example)
            if reply.status == _WHOLE:
                part.start_empty(example.url, reply)
            self._receive(part, transfer, reply, on_progress)
        return True

    def _receive(
        self, part: _PartialFile, transfer: Transfer, reply: Reply, on_progress: OnProgress
    ) -> None:
        done = checked_at = part.size
        most = self._largest if reply.total is None else reply.total
        # An archive is unpacked here, and its model copied.
        self._check_room((3 if part.is_archive else 1) * (reply.total or 0) - done)
        on_progress(done, reply.total)
        with part.appending() as write:
            for piece in transfer.pieces():
                done += len(piece)
                if done > most:
                    part.delete()
                    raise download_refused_error(f"it is larger than {self._largest >> 20} MiB")
                write(piece)
                on_progress(done, reply.total)
                if done - checked_at >= _CHECK_EVERY:
                    checked_at = done
                    self._check_room(0)
        if reply.total is not None and done < reply.total:
            raise Broken("the host closed the connection")
        part.mark_complete(done)
        on_progress(done, done)

    def _check_size(self, reply: Reply, example: Example) -> None:
        if not reply.has_end:
            raise download_refused_error("the host does not say where the file ends")
        if reply.total is None:
            return
        if reply.total > self._largest:
            raise download_refused_error(f"it is larger than {self._largest >> 20} MiB")
        if example.size_bytes not in (None, reply.total):
            raise download_refused_error("it does not have the size that the catalogue knows")

    def _check_room(self, more: int) -> None:
        with translated_storage_errors():
            free = self._free(self._folder)
        if free - more < self._kept_free:
            raise StorageFailed(
                "There is not enough room in the workspace for this download",
                why=f"{self._kept_free >> 20} MiB of the disk are left free for results",
                fix="Free some space or choose another folder with --workspace",
            )


def _is_continuation(reply: Reply, facts: _PartFacts, size: int) -> bool:
    is_same = reply.validator in (None, facts.validator) and facts.total in (None, reply.total)
    return reply.status == _PART and reply.first == size and is_same


def _require_catalogue_checksum(part: _PartialFile, example: Example, stop: Stop) -> None:
    """Raises DownloadRefused unless size and checksum are those of the catalogue."""
    if example.size_bytes not in (None, part.size):
        raise download_refused_error(
            "it does not have the size that the catalogue knows; it was deleted"
        )
    if example.sha256 not in (None, part.compute_sha256(stop)):
        raise download_refused_error(
            "its checksum is not the one that the catalogue knows; it was deleted"
        )


def _lock(descriptor: int, example: Example) -> None:
    if not is_locked(descriptor):
        raise WrongState(
            f"{example.slug} is already being downloaded",
            why="another process or request is downloading it",
            fix="Wait until it has ended, then try again",
        )


def _download_failed_error(example: Example, why: str, kept: int) -> DownloadFailed:
    here = f"; the {kept >> 10} KiB already downloaded are kept" if kept else ""
    return DownloadFailed(
        f"{example.slug} could not be downloaded",
        why=why,
        fix=f"Check the network and try again later{here}",
    )


def _wait(seconds: float, stop: Stop) -> None:
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        check_stop(stop)
        time.sleep(min(left, _POLL_S))


def _throttle_progress(on_progress: OnProgress, clock: Callable[[], float]) -> OnProgress:
    """Reports only changes, at most four times a second and at the end."""
    last_at = float("-inf")
    last: tuple[int, int | None] = (-1, None)

    def report_sometimes(done: int, total: int | None) -> None:
        nonlocal last_at, last
        now = clock()
        is_due = done == total or now - last_at >= REPORT_EVERY_S
        if is_due and (done, total) != last:
            last_at, last = now, (done, total)
            on_progress(done, total)

    return report_sometimes


class _PartialFile:
    """A partial file, and beside it what is needed to resume it."""

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

    def read_facts(self) -> _PartFacts | None:
        """None if there is nothing to resume."""
        try:
            facts: _PartFacts = decode(_PartFacts, json.loads(self._about.read_text()))
        except (OSError, ValueError, Mismatch):
            return None
        is_ours = facts.url == self._url and self.size > 0
        return facts if is_ours and (facts.validator or facts.total == self.size) else None

    def start_empty(self, url: str, reply: Reply) -> None:
        """Start with an empty file. Without a validator it cannot be resumed."""
        self.delete()
        with translated_storage_errors():
            self.path.touch(mode=0o600)
            if reply.validator is not None:
                self._write_facts(_PartFacts(url, reply.validator, reply.total))

    def mark_complete(self, size: int) -> None:
        """Mark it as complete, even if the host did not announce its size."""
        with translated_storage_errors():
            self._write_facts(_PartFacts(self._url or "", "", size))

    def _write_facts(self, facts: _PartFacts) -> None:
        replace_file(self._about, json.dumps(encode(facts)))

    def delete(self) -> None:
        with translated_storage_errors():
            self._about.unlink(missing_ok=True)
            self.path.unlink(missing_ok=True)

    @contextmanager
    def appending(self) -> Iterator[Callable[[bytes], Any]]:
        with translated_storage_errors():
            file = self.path.open("ab")

        def write(piece: bytes) -> None:
            with translated_storage_errors():
                file.write(piece)

        try:
            yield write
        finally:
            with translated_storage_errors():
                file.close()

    def compute_sha256(self, stop: Stop) -> str:
        digest = hashlib.sha256()
        with translated_storage_errors(), self.path.open("rb") as file:
            while piece := file.read(1 << 20):
                check_stop(stop)
                digest.update(piece)
        return digest.hexdigest()
