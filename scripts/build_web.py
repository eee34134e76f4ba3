"""build_web.py: the page of the workbench, out of `web/` into the Python package.

Does nothing when it is there already, made of the same sources. With `--kinds`, the page also shows
the kinds of runs that an installation adds (web/src/kinds/extra.ts).
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
WEB = ROOT / "web"
BUILT = ROOT / "src" / "modeldyno" / "static"
SOURCES = ("src", "public", "index.html", "package.json", "package-lock.json", "vite.config.ts")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kinds", type=Path, help="a module with EXTRA_KINDS")
    parser.add_argument("--into", type=Path, default=BUILT, help="the folder of the built page")
    options = parser.parse_args()
    build(options.into.absolute(), options.kinds and options.kinds.absolute())


def build(folder: Path, kinds: Path | None = None) -> None:
    """``folder`` holds nothing else: what was there before is removed."""
    stamp = folder / ".sources"
    fingerprint = _fingerprint(kinds)
    if stamp.is_file() and stamp.read_text() == fingerprint:
        return
    _install()
    print("Building the page ...", flush=True)
    environment = {"MODELDYNO_PAGE_KINDS": str(kinds)} if kinds else {}
    _npm("run", "--silent", "build", "--", "--outDir", str(folder), **environment)
    stamp.write_text(fingerprint)


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


def _npm(*words: str, **environment: str) -> None:
    """Says something only where it fails."""
    found = subprocess.run(
        [shutil.which("npm") or "npm", *words],
        cwd=WEB,
        env=os.environ | environment,
        text=True,
        capture_output=True,
    )
    if found.returncode:
        sys.exit(f"npm {' '.join(words)} failed:\n{found.stdout}\n{found.stderr}")


def _fingerprint(kinds: Path | None) -> str:
    found = hashlib.sha256(kinds.read_bytes() if kinds else b"")
    for name in SOURCES:
        top = WEB / name
        for path in [top] if top.is_file() else sorted(top.rglob("*")):
            if path.is_file() and not path.name.endswith((".test.ts", ".test.tsx")):
                found.update(f"{path.relative_to(WEB).as_posix()}\0".encode())
                found.update(path.read_bytes())
    return found.hexdigest()


if __name__ == "__main__":
    main()
