"""Model files that people put into the workspace, to be measured by their names.

    models/exported/tenn_eeg.onnx
    models/trained/best_model.pt                  with best_model.pt.modeldyno.toml beside it
    models/quantized/bert/model.onnx              asked for as bert/model.onnx

Looked at anew each time. A name is whole, or whole but for the suffix; it never leads out of these
folders, nor over a link.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

from modeldyno.core.client_paths import names_in
from modeldyno.core.errors import FileNotFound, PathRefused
from modeldyno.formats.near_misses import near_misses
from modeldyno.store.roots import Roots

TOP = "models"
FOLDERS = ("exported", "trained", "quantized")
SUFFIXES = (".onnx", ".pt", ".pth", ".pt2", ".ts", ".torchscript", ".keras", ".pb")


class NamedModels:
    """``roots`` opens what ``find`` found; paths are relative to the workspace's ``models``."""

    def __init__(self, workspace: Path) -> None:
        self._top = workspace / TOP
        self.roots = Roots([self._top])

    def make_folders(self) -> tuple[Path, ...]:
        """So that people see where to put files; clients may import from them, as from any folder
        that the owner of the server names."""
        folders = tuple(self._top / name for name in FOLDERS)
        for folder in folders:
            folder.mkdir(parents=True, exist_ok=True)
        return folders

    def find(self, said: str) -> tuple[str, ...]:
        """Paths of files that are called so; where none is, of those that are but for a suffix.

        ``models/exported/net.onnx`` says which folder; ``net.onnx`` and ``net`` mean all three.
        Raises PathRefused for a path that is not plain, or that leads over a link.
        """
        names = names_in(said)
        if names[0] == TOP:
            names = names[1:]
            if len(names) < 2 or names[0] not in FOLDERS:
                return ()
        folders: Iterable[str] = FOLDERS
        if len(names) > 1 and names[0] in FOLDERS:
            folders, names = names[:1], names[1:]
        places = ["/".join((folder, *names)) for folder in folders]
        return self._there(places) or self._there(
            [place + suffix for place in places for suffix in SUFFIXES]
        )

    def sha256(self, path: str) -> str:
        with self.roots.model(path) as file, os.fdopen(os.dup(file.descriptor), "rb") as reading:
            return hashlib.file_digest(reading, "sha256").hexdigest()

    def like(self, said: str) -> list[str]:
        """Names that somebody may have meant."""
        return near_misses(said.rpartition("/")[2], self._names())

    def _names(self) -> Iterable[str]:
        for folder in FOLDERS:
            try:
                entries = self.roots.entries(folder).entries
            except (FileNotFound, PathRefused):
                continue
            yield from (entry.name for entry in entries if entry.name.endswith(SUFFIXES))

    def _there(self, places: Iterable[str]) -> tuple[str, ...]:
        found: list[str] = []
        refused: PathRefused | None = None
        for place in places:
            try:
                with self.roots.model(place):
                    found.append(place)
            except FileNotFound:
                continue
            except PathRefused as error:  # another folder may hold one that is fine
                refused = error
        if refused is not None and not found:
            raise refused
        return tuple(found)
