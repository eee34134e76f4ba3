"""Fetch the web client of INC Bench, which a test drives in a real browser, into .cache/inc-gui/.

It comes out of a wheel on the package index, whose checksum is known here; it is no part of this
repository. What is there already is not fetched again.
"""

import hashlib
import shutil
import zipfile
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from scripts.fetch_test_models import CACHE, SAFE_NAME, pip

REQUIREMENT = "neural-compressor-full==1.14.2"
SHA256 = "01485aef032c46cbf53c7726d38021b6e07afc36126e0320958810ed374c4cd4"
INSIDE = PurePosixPath("neural_compressor/ux/web/static")
TARGET = CACHE / "inc-gui"
STAMP = ".fetched"


def main() -> None:
    stamp = TARGET / STAMP
    if stamp.exists() and stamp.read_text() == SHA256:
        return
    print(f"Fetching the web client of {REQUIREMENT} ...", flush=True)
    CACHE.mkdir(exist_ok=True)
    with TemporaryDirectory(dir=CACHE) as folder:
        pip("download", "--dest", folder, REQUIREMENT)
        (wheel,) = Path(folder).glob("*.whl")
        if hashlib.sha256(wheel.read_bytes()).hexdigest() != SHA256:
            raise SystemExit(f"{wheel.name} is not the file that we know: its checksum differs")
        made = Path(folder) / "client"
        extract(wheel, made)
        (made / STAMP).write_text(SHA256)
        shutil.rmtree(TARGET, ignore_errors=True)
        made.rename(TARGET)  # all or nothing: an interrupted fetch leaves no half set


def extract(wheel: Path, target: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            path = PurePosixPath(member.filename)
            if member.is_dir() or not path.is_relative_to(INSIDE):
                continue
            parts = path.relative_to(INSIDE).parts
            if not all(SAFE_NAME.fullmatch(part) for part in parts):
                raise SystemExit(f"{wheel.name} holds an odd name: {member.filename!r}")
            place = target.joinpath(*parts)
            place.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(member) as source, place.open("wb") as copy:
                shutil.copyfileobj(source, copy)
    if not (target / "index.html").exists():
        raise SystemExit(f"{wheel.name} holds no web client")


if __name__ == "__main__":
    main()
