"""Builds the page of the workbench into a wheel that is made of a checkout."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PageHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        # An editable install finds what `make web` leaves; an archive of sources has no `web/`.
        if version == "editable" or not (root / "web").is_dir():
            return
        subprocess.run([sys.executable, root / "scripts" / "build_web.py"], check=True)
