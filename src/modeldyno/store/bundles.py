"""A model under a name, with its weights beside it, in a folder that holds nothing else.

    models/<sha256 of the model>/<mark>/net.onnx       the model: a hard link to its object
    models/<sha256 of the model>/<mark>/weights.bin    its weights, if they are separate files
    models/<sha256 of the model>/<mark>/net.pt.modeldyno.toml  its sidecar
    models/waiting/<model's number>/weights.bin        weights that wait until all have arrived

The mark is a hash of the model's name and the files beside it. So a folder never changes, and the
same files lead to the same folder. Weights are moved in, not linked: readers of models refuse
weights that have hard links.

Other folders in there belong to users (``store/named_models.py``), and are never touched.
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
from modeldyno.store.durable_files import sync_folder
from modeldyno.store.models import hash_file
from modeldyno.store.objects import LEFT_OVER_S, Objects, translated_storage_errors
from modeldyno.worker.untrusted_folders import discard_tree, remove_tree

_LONGEST_NAME = 100
_SHA256 = re.compile(r"[0-9a-f]{64}")
_ODD = re.compile(r"[^A-Za-z0-9._-]+")


def safe_file_name(name: str) -> str:
    """A safe file name: ASCII, visible and not long.

    >>> file_name("Größe 2.onnx")
    'Groe_2.onnx'
    """
    ascii_only = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    plain = _ODD.sub("_", ascii_only).lstrip(".-_")[-_LONGEST_NAME:].lstrip(".-_")
    return plain or "model"


class Bundles:
    def __init__(self, folder: Path, objects: Objects) -> None:
        self._folder = folder
        self._objects = objects
        self._waiting = folder / "waiting"

    def link_model_without_weights(self, name: str, sha256: str) -> Path:
        """The path of a model without other files; its object must exist."""
        target = self.path_of(name, sha256, ())
        if not target.exists():
            with self._new_folder(sha256) as folder:
                _hard_link(self._objects.path(sha256), folder / name)
                _move_into_place(folder, target.parent)
        return target

    def waiting_folder(self, owner: str) -> Path:
        """The folder for arriving weights of this owner; it may not exist yet."""
        return self._waiting / owner

    def list_arrived_weights(self, owner: str, model: str = "") -> frozenset[str]:
        """The locations of the weights that have arrived. A file with the model's name does not
        count: a killed server may have left it there."""
        top = self.waiting_folder(owner)
        locations = {path.relative_to(top).as_posix() for path in top.rglob("*") if path.is_file()}
        return frozenset(locations - {model})

    def describe_arrived_file(self, owner: str, location: str) -> ExternalFile:
        """One of the arrived files."""
        path = self.waiting_folder(owner) / location
        with translated_storage_errors():
            return ExternalFile(location, path.stat().st_size, hash_file(path))

    @contextmanager
    def linked_beside_arrived_weights(self, owner: str, name: str, sha256: str) -> Iterator[Path]:
        """The path of the model, linked beside its arrived weights for an inspection."""
        model = self.waiting_folder(owner) / name
        with translated_storage_errors():
            _hard_link(self._objects.path(sha256), model)
        try:
            yield model
        finally:
            model.unlink(missing_ok=True)

    def move_model_and_weights_into_place(
        self, owner: str, name: str, sha256: str, weights: tuple[ExternalFile, ...]
    ) -> Path:
        """The path of the model with all arrived files, which are moved there."""
        target = self.path_of(name, sha256, weights)
        gathered = self.waiting_folder(owner)
        with translated_storage_errors():
            if target.exists():  # the same files were added before
                remove_tree(gathered)
            else:
                _hard_link(self._objects.path(sha256), gathered / name)
                _move_into_place(gathered, target.parent)
        return target

    def discard_waiting(self, owner: str) -> None:
        discard_tree(self.waiting_folder(owner))

    def delete_unused(
        self, used: Collection[str], *, busy: Collection[str] = (), kept: Collection[str] = ()
    ) -> int:
        """Delete unused folders and files; returns how many.

        ``used`` are paths of models and owners of waiting weights. Nothing is touched of the
        checksums and owners in ``busy``; objects in ``kept`` stay without a folder.
        """
        folders = {str(Path(path).parent) for path in used}
        removed = 0
        for top in _list_folders_in(self._folder):
            if top.name in busy or not _SHA256.fullmatch(top.name):  # others belong to users
                continue
            for folder in _list_folders_in(top):
                if str(folder) not in folders:
                    discard_tree(folder)
                    removed += 1
            if not any(top.iterdir()):
                top.rmdir()
                if top.name not in kept:
                    self._objects.remove(top.name)
        for folder in _list_folders_in(self._waiting):
            owner = folder.name.partition(".")[0]
            if owner not in used and owner not in busy:
                discard_tree(folder)
                removed += 1
        return removed + self._delete_orphaned_objects({*busy, *kept})

    def _delete_orphaned_objects(self, needed: Collection[str]) -> int:
        """Objects without a model, left by a server that was killed in between."""
        before = time.time() - LEFT_OVER_S
        removed = 0
        for sha256, since in self._objects.all():
            if since < before and sha256 not in needed and not (self._folder / sha256).exists():
                self._objects.remove(sha256)
                removed += 1
        return removed

    def path_of(self, name: str, sha256: str, weights: tuple[ExternalFile, ...]) -> Path:
        """The path of a model with these files beside it, whether or not it exists."""
        beside = sorted((file.location, file.sha256) for file in weights)
        mark = hashlib.sha256(json.dumps([name, beside]).encode()).hexdigest()[:16]
        return self._folder / sha256 / mark / name

    @contextmanager
    def _new_folder(self, owner: str) -> Iterator[Path]:
        folder = self._waiting / f"{owner}.{secrets.token_hex(8)}"
        with translated_storage_errors():
            folder.mkdir(parents=True)
            try:
                yield folder
            finally:
                discard_tree(folder)  # unless it was renamed


def _list_folders_in(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.is_dir()] if folder.is_dir() else []


def _hard_link(source: Path, target: Path) -> None:
    target.unlink(missing_ok=True)  # left by a killed process
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise
    except OSError:  # hard links are not supported, or there are too many
        shutil.copyfile(source, target)
        target.chmod(0o444)


def _move_into_place(folder: Path, target: Path) -> None:
    """Sync a folder and rename it; delete it if the target exists already."""
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
