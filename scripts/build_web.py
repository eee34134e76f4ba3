"""build_web.py: the page of the workbench, out of `web/` into the Python package.

Does nothing when it is there already, made of the same sources.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
WEB = ROOT / "web"
BUILT = ROOT / "src" / "modeldyno" / "static"
STAMP = BUILT / ".sources"
SOURCES = ("src", "public", "index.html", "package.json", "package-lock.json", "vite.config.ts")


def main() -> None:
    made_of = _fingerprint()
    if STAMP.is_file() and STAMP.read_text() == made_of:
        return
    _install()
    print("Building the page ...", flush=True)
    _npm("run", "--silent", "build")
    STAMP.write_text(made_of)


def _install() -> None:
    """What the page is built with, unless it is there already."""
    if shutil.which("npm") is None:
        sys.exit(
            "The page of the workbench is built with Node, and there is none here. Install Node 20 "
            "or newer with npm, then try again.\nThe terminal tool needs no page: "
            ".venv/bin/modeldyno --help"
        )
    lock = WEB / "package-lock.json"
    installed = WEB / "node_modules" / ".modeldyno-lock"
    key = hashlib.sha256(lock.read_bytes()).hexdigest()
    if installed.is_file() and installed.read_text() == key:
        return
    print("Installing what the page is built with ...", flush=True)
    _npm("ci", "--silent", "--no-audit", "--no-fund")
    installed.write_text(key)


def _npm(*words: str) -> None:
    """Says something only where it fails."""
    found = subprocess.run(
        [shutil.which("npm") or "npm", *words], cwd=WEB, text=True, capture_output=True
    )
    if found.returncode:
        sys.exit(f"npm {' '.join(words)} failed:\n{found.stdout}\n{found.stderr}")


def _fingerprint() -> str:
    found = hashlib.sha256()
    for name in SOURCES:
        top = WEB / name
        for path in [top] if top.is_file() else sorted(top.rglob("*")):
            if path.is_file() and not path.name.endswith((".test.ts", ".test.tsx")):
                found.update(f"{path.relative_to(WEB).as_posix()}\0".encode())
                found.update(path.read_bytes())
    return found.hexdigest()


if __name__ == "__main__":
    main()
