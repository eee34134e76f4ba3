"""A model under a name, with its weights beside it, in a folder that holds nothing else.

    models/<sha256 of the model>/<mark>/net.onnx       the model: a second name of its object
    models/<sha256 of the model>/<mark>/weights.bin    its weights, if they are files of their own
    models/<sha256 of the model>/<mark>/net.pt.modeldyno.toml  what somebody wrote about it
    models/waiting/<model's number>/weights.bin        weights that wait for others to arrive

The mark stands for the model's name and for what lies beside it, so a folder never changes once it
is there, and whoever brings the same files again gets the same folder. Weights are moved in rather
than linked: readers of models refuse weights that have a second name.

Other folders in there are people's own (``store/named_models.py``), and never touched.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
import time
import unicodedata
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from modeldyno.core.models import ExternalFile
from modeldyno.store.models import hash_file
from modeldyno.store.objects import LEFT_OVER_S, Objects, storing, sync_folder
from modeldyno.worker.untrusted_folders import discard_tree, remove_tree

_LONGEST_NAME = 100
_SHA256 = re.compile(r"[0-9a-f]{64}")
_ODD = re.compile(r"[^A-Za-z0-9._-]+")


def file_name(said: str) -> str:
    """What a file may be called that somebody calls ``said``: plain, visible and not long.

    >>> file_name("Größe 2.onnx")
    'Groe_2.onnx'
    """
    ascii_only = unicodedata.normalize("NFKD", said).encode("ascii", "ignore").decode()
    plain = _ODD.sub("_", ascii_only).lstrip(".-_")[-_LONGEST_NAME:].lstrip(".-_")
    return plain or "model"


class Bundles:
    def __init__(self, folder: Path, objects: Objects) -> None:
        self._folder = folder
        self._objects = objects
        self._waiting = folder / "waiting"

    def alone(self, name: str, sha256: str) -> Path:
        """A model without weights beside it, where it can be read; its object must be there."""
        target = self.place(name, sha256, ())
        if not target.exists():
            with self._new_folder(sha256) as folder:
                _name_again(self._objects.path(sha256), folder / name)
                _settle(folder, target.parent)
        return target

    def waiting(self, owner: str) -> Path:
        """Where weights of this owner gather. It may not be there yet."""
        return self._waiting / owner

    def gathered(self, owner: str, model: str = "") -> frozenset[str]:
        """The locations of the weights that have arrived. A file of the model's own name is none:
        a server that was killed may have left it among them."""
        top = self.waiting(owner)
        found = {path.relative_to(top).as_posix() for path in top.rglob("*") if path.is_file()}
        return frozenset(found - {model})

    def describe(self, owner: str, location: str) -> ExternalFile:
        """One of the gathered."""
        path = self.waiting(owner) / location
        with storing():
            return ExternalFile(location, path.stat().st_size, hash_file(path))

    @contextmanager
    def joined(self, owner: str, name: str, sha256: str) -> Iterator[Path]:
        """The model among its gathered weights, for a look."""
        model = self.waiting(owner) / name
        with storing():
            _name_again(self._objects.path(sha256), model)
        try:
            yield model
        finally:
            model.unlink(missing_ok=True)

    def whole(self, owner: str, name: str, sha256: str, weights: tuple[ExternalFile, ...]) -> Path:
        """The model with all that has gathered, which waits no longer."""
        target = self.place(name, sha256, weights)
        gathered = self.waiting(owner)
        with storing():
            if target.exists():  # somebody else brought the same files
                remove_tree(gathered)
            else:
                _name_again(self._objects.path(sha256), gathered / name)
                _settle(gathered, target.parent)
        return target

    def forget(self, owner: str) -> None:
        discard_tree(self.waiting(owner))

    def sweep(
        self, used: Collection[str], *, busy: Collection[str] = (), kept: Collection[str] = ()
    ) -> int:
        """Removes what nobody uses: how many folders and files.

        ``used`` are paths of models and owners of waiting weights; of the checksums and owners in
        ``busy``, nothing is touched, for somebody is at work on them; objects that are ``kept``
        stay without a folder.
        """
        folders = {str(Path(path).parent) for path in used}
        removed = 0
        for top in _inside(self._folder):
            if top.name in busy or not _SHA256.fullmatch(top.name):  # the others are not ours
                continue
            for folder in _inside(top):
                if str(folder) not in folders:
                    discard_tree(folder)
                    removed += 1
            if not any(top.iterdir()):
                top.rmdir()
                if top.name not in kept:
                    self._objects.remove(top.name)
        for folder in _inside(self._waiting):
            owner = folder.name.partition(".")[0]
            if owner not in used and owner not in busy:
                discard_tree(folder)
                removed += 1
        return removed + self._sweep_objects({*busy, *kept})

    def _sweep_objects(self, needed: Collection[str]) -> int:
        """Those that became no model: the server was killed in between."""
        before = time.time() - LEFT_OVER_S
        removed = 0
        for sha256, since in self._objects.all():
            if since < before and sha256 not in needed and not (self._folder / sha256).exists():
                self._objects.remove(sha256)
                removed += 1
        return removed

    def place(self, name: str, sha256: str, weights: tuple[ExternalFile, ...]) -> Path:
        """Where a model with these files beside it is, or would be."""
        beside = sorted((file.location, file.sha256) for file in weights)
        mark = hashlib.sha256(json.dumps([name, beside]).encode()).hexdigest()[:16]
        return self._folder / sha256 / mark / name

    @contextmanager
    def _new_folder(self, owner: str) -> Iterator[Path]:
        folder = self._waiting / f"{owner}.{secrets.token_hex(8)}"
        with storing():
            folder.mkdir(parents=True)
            try:
                yield folder
            finally:
                discard_tree(folder)  # gone already when all went well


def _inside(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.is_dir()] if folder.is_dir() else []


def _name_again(source: Path, target: Path) -> None:
    target.unlink(missing_ok=True)  # left by somebody who was killed
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise
    except OSError:  # a file system without hard links, or with too many of this one
        shutil.copyfile(source, target)
        target.chmod(0o444)


def _settle(folder: Path, target: Path) -> None:
    """Give a folder its name, safely on the disk; nothing happens when another was quicker."""
    for inner in (folder, *(path for path in folder.rglob("*") if path.is_dir())):
        sync_folder(inner)
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        folder.rename(target)
    except OSError:
        if not target.is_dir():
            raise
        remove_tree(folder)
    sync_folder(target.parent)
    sync_folder(target.parent.parent)
