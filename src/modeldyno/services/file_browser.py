"""What a file browser shows: the folders that clients may use, and the way down to them."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from modeldyno.core.errors import BadValue, FileNotFound, PathRefused
from modeldyno.store.named_models import SUFFIXES
from modeldyno.store.roots import Roots

FILTERS = ("", "models", "datasets", "directories")


@dataclass(frozen=True)
class BrowserEntry:
    path: str  # absolute
    is_folder: bool
    is_model: bool  # by its name alone: to look into each would take long


@dataclass(frozen=True)
class BrowserFolder:
    path: str
    entries: tuple[BrowserEntry, ...]  # folders first, then by name


class FileBrowser:
    """Of anything above an allowed folder, only what leads down to one is shown."""

    def __init__(self, roots: Roots) -> None:
        self._roots = roots

    @property
    def first_folder(self) -> str:
        """Where a browser of files begins."""
        return self._roots.names[0]

    def list_folder(self, path: str, kind: str = "") -> BrowserFolder:
        """``kind`` is one of FILTERS. Without a path: the allowed folders themselves.

        Raises PathRefused, FileNotFound, and BadValue when it is a file.
        """
        if not path:
            return BrowserFolder("", _folder_entries(self._roots.names))
        place = path.rstrip("/") or "/"
        ways = self._list_ways_below(place)
        if ways:
            return BrowserFolder(place, _folder_entries(ways))
        try:
            listed = self._roots.entries(place).entries
        except PathRefused:
            self._require_folder(place)
            raise
        top = self._roots.absolute_path(place)
        entries = (
            BrowserEntry(
                f"{top}/{entry.name}",
                entry.kind == "folder",
                entry.kind == "file" and entry.name.lower().endswith(SUFFIXES),
            )
            for entry in listed
        )
        return BrowserFolder(top, tuple(entry for entry in entries if _is_wanted(entry, kind)))

    def _list_ways_below(self, place: str) -> list[str]:
        """What leads from a folder above allowed ones down to them."""
        above = "/" if place == "/" else f"{place}/"
        if any(place == name or place.startswith(f"{name}/") for name in self._roots.names):
            return []  # allowed itself: all of it is shown
        below = [name[len(above) :] for name in self._roots.names if name.startswith(above)]
        return [above + rest.partition("/")[0] for rest in below]

    def _require_folder(self, path: str) -> None:
        with suppress(PathRefused, FileNotFound), self._roots.open(path):
            raise BadValue("This is a file, not a directory", fix="Ask for the folder it lies in")


def _folder_entries(places: Iterable[str]) -> tuple[BrowserEntry, ...]:
    return tuple(BrowserEntry(place, True, False) for place in dict.fromkeys(places))


def _is_wanted(entry: BrowserEntry, kind: str) -> bool:
    match kind:
        case "models":
            return entry.is_folder or entry.is_model
        case "directories":
            return entry.is_folder
        case _:
            return True
