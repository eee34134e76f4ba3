"""The page of the workbench, as `scripts/build_web.py` built it into the package.

It is read once, on the first request, so later ones open no file.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from modeldyno.store.web_client import INDEX, Asset, make_asset

# An installation with more kinds has its own build (scripts/build_web.py --kinds).
FOLDER = Path(__file__).parents[1] / "static"
PACKED = ".gz"


@dataclass(frozen=True)
class PageFile:
    plain: Asset
    packed: bytes | None  # gzip, if that is smaller


class WorkbenchPage:
    def __init__(self) -> None:
        self._folder = FOLDER

    @property
    def is_built(self) -> bool:
        """False in a checkout without a build."""
        return INDEX in self._files

    @property
    def index(self) -> PageFile:
        return self._files[INDEX]

    def find(self, name: str) -> PageFile | None:
        return self._files.get(name)

    @cached_property
    def _files(self) -> dict[str, PageFile]:
        if not self._folder.is_dir():
            return {}
        paths = [path for path in sorted(self._folder.rglob("*")) if path.is_file()]
        bodies = {path.relative_to(self._folder).as_posix(): path.read_bytes() for path in paths}
        return {
            name: PageFile(make_asset(name, body), bodies.get(name + PACKED))
            for name, body in bodies.items()
            if not name.endswith(PACKED)
        }
