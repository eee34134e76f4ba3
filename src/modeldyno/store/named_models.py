"""Model files that users put into the workspace, to be measured by name.

    models/exported/tenn_eeg.onnx
    models/trained/best_model.pt                  with best_model.pt.modeldyno.toml beside it
    models/quantized/bert/model.onnx              asked for as bert/model.onnx

Folders are read each time. A name may lack its suffix; it never leads out of these folders, nor
through a link.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

from modeldyno.core.errors import FileNotFound, PathRefused
from modeldyno.core.models import FORMATS, model_suffixes
from modeldyno.core.names import find_similar_names, names_in
from modeldyno.store.roots import Roots

TOP = "models"
FOLDERS = ("exported", "trained", "quantized")
# Without that of scripts: configurations beside a model end in .json, too.
SUFFIXES = model_suffixes(*(name for name in FORMATS if name != "scripted"))


class NamedModels:
    """``roots`` opens the paths that ``find`` gives, relative to the workspace's ``models``."""

    def __init__(self, workspace: Path) -> None:
        self._top = workspace / TOP
        self.roots = Roots([self._top])

    def create_folders(self) -> tuple[Path, ...]:
        """Create the folders, so users see where to put files; clients may import from them."""
        folders = tuple(self._top / name for name in FOLDERS)
        for folder in folders:
            folder.mkdir(parents=True, exist_ok=True)
        return folders

    def find(self, name: str) -> tuple[str, ...]:
        """Paths of the files with this name; if there are none, of those with it and a suffix.

        ``models/exported/net.onnx`` names the folder; ``net.onnx`` and ``net`` mean all three.
        Raises PathRefused for a path that is not plain, or that leads through a link.
        """
        names = names_in(name)
        if names[0] == TOP:
            names = names[1:]
            if len(names) < 2 or names[0] not in FOLDERS:
                return ()
        folders: Iterable[str] = FOLDERS
        if len(names) > 1 and names[0] in FOLDERS:
            folders, names = names[:1], names[1:]
        paths = ["/".join((folder, *names)) for folder in folders]
        return self._filter_existing(paths) or self._filter_existing(
            path + suffix for path in paths for suffix in SUFFIXES
        )

    def sha256(self, path: str) -> str:
        with (
            self.roots.open_model(path) as file,
            os.fdopen(os.dup(file.descriptor), "rb") as reading,
        ):
            return hashlib.file_digest(reading, "sha256").hexdigest()

    def suggest_similar_names(self, name: str) -> list[str]:
        """Similar names, which may be meant."""
        return find_similar_names(name.rpartition("/")[2], self._list_model_names())

    def _list_model_names(self) -> Iterable[str]:
        for folder in FOLDERS:
            try:
                entries = self.roots.entries(folder).entries
            except (FileNotFound, PathRefused):
                continue
            yield from (entry.name for entry in entries if entry.name.endswith(SUFFIXES))

    def _filter_existing(self, paths: Iterable[str]) -> tuple[str, ...]:
        existing: list[str] = []
        refused: PathRefused | None = None
        for path in paths:
            try:
                with self.roots.open_model(path):
                    existing.append(path)
            except FileNotFound:
                continue
            except PathRefused as error:  # another folder may have one that is allowed
                refused = error
        if refused is not None and not existing:
            raise refused
        return tuple(existing)
