"""Add and remove engines of other Python environments."""

from __future__ import annotations

import difflib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from modeldyno.core.errors import (
    BadValue,
    EngineUnavailable,
    InstallFailed,
    ModeldynoError,
    RunFailed,
    UserError,
    WorkspaceUnusable,
)
from modeldyno.core.redaction import without_controls
from modeldyno.engines import catalog, environments
from modeldyno.engines.catalog import EngineEntry
from modeldyno.engines.environments import OLDEST_PYTHON, Environment
from modeldyno.store.file_locks import is_locked
from modeldyno.worker.launch import Stop, WorkerSetup, launched
from modeldyno.worker.messages import EngineLoaded, LoadEngine
from modeldyno.worker.untrusted_folders import discard_tree, temporary_folder

Report = Callable[[str], None]

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")
_PROJECT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
LAST_LINES = 8  # of pip, when it fails
PROBE_LIMIT_S = 60.0
LOAD_LIMIT_S = 300.0  # TensorFlow on a busy machine
# Written for any Python, so that an old one can say how old it is.
_PROBE = """
import json, os, sys
print(json.dumps({
    "version": list(sys.version_info[:3]),
    "paths": [path for path in sys.path if os.path.isdir(path)],
}))
"""


@dataclass(frozen=True)
class AddedEngine:
    environment: Environment
    version: str
    numpy: str | None


def add_engine(
    name: str,
    *,
    python: str | None = None,
    requirements: Sequence[str] = (),
    engine: str | None = None,
    accept_licence: bool = False,
    report: Report = lambda line: None,
) -> AddedEngine:
    """An engine in an existing Python, or in a new environment with ``requirements`` from pip.

    ``report`` gets a line for each step. If this raises, nothing is left behind.
    """
    _check_request(name, python, requirements)
    chosen = _requested_adapter(name, requirements, engine)
    _check_licence(chosen, accept_licence)
    base = _resolve_interpreter(python) if python else sys.executable
    with _locked(), _clean_folder(name):
        if requirements:
            _check_age(base, _read_python_version(base)[0])
            base = _install(environments.folder_of(name) / "venv", base, requirements, report)
        environment = _inspect_environment(name, base, requirements, chosen, accept_licence)
        report(f"Trying {environment.engine} in a worker")
        loaded = _load_engine_in(environment)
        environments.save(environment)
    return AddedEngine(environment, loaded.version, loaded.numpy)


def remove_engine(name: str) -> None:
    """Its registration, and its environment if we made it."""
    names = [added.name for added in environments.added_environments()]
    if name not in names:
        close = difflib.get_close_matches(name, names, n=1)
        raise BadValue(
            f"No engine {name!r} was added",
            why=f"those added are {', '.join(names)}" if names else "none was",
            fix=f"Did you mean {close[0]!r}?" if close else "See `modeldyno engines`",
        )
    with _locked():
        environments.remove(name)
        discard_tree(environments.folder_of(name))


# ---------------------------------------------------------------- the request


def _check_request(name: str, python: str | None, requirements: Sequence[str]) -> None:
    if not _NAME.fullmatch(name):
        raise BadValue(
            f"An engine cannot be called {name[:60]!r}",
            why="names are lower-case letters, digits, dots, dashes and underscores, up to 40",
            fix="Choose another name, such as ort120",
        )
    here = catalog.find_local(name)
    if here is not None and (here.name != name or catalog.is_usable(here)):
        raise BadValue(
            f"The name {name!r} is taken",
            why=f"it is {here.title or here.name} in Modeldyno's own environment",
            fix="Choose another name, such as " + f"{here.name}-2",
        )
    if name in [added.name for added in environments.added_environments()]:
        raise BadValue(
            f"The name {name!r} is taken",
            why="an engine of that name was added before",
            fix=f"Choose another name, or run `modeldyno engines remove {name}` first",
        )
    if not python and not requirements:
        raise BadValue(
            "The place of the engine is missing",
            fix='Give --python PATH, or --pip "onnxruntime==1.20.0"',
        )
    for requirement in requirements:
        if requirement.startswith("-") or not requirement.strip():
            raise BadValue(
                f"{requirement!r} is not a requirement",
                why="options of pip cannot be given here; use its configuration or PIP_…",
                fix='Give what to install, such as --pip "onnxruntime==1.20.0"',
            )


def _requested_adapter(
    name: str, requirements: Sequence[str], engine: str | None
) -> EngineEntry | None:
    """By ``engine``, else by what is to be installed, else by its future name."""
    adapters = catalog.adapters()
    if engine is not None:
        for entry in adapters:
            if engine in (entry.name, *entry.aliases):
                return entry
        raise BadValue(
            f"There is no engine {engine!r} that can run in another Python",
            why=f"engines that can: {', '.join(entry.name for entry in adapters)}",
        )
    projects = {_package_name(requirement) for requirement in requirements}
    matches = [entry for entry in adapters if projects & {entry.package, *entry.other_builds}]
    if len(matches) == 1:
        return matches[0]
    return next((entry for entry in matches or adapters if entry.name == name), None)


def _package_name(requirement: str) -> str:
    match = _PROJECT.match(requirement)
    return re.sub(r"[-_.]+", "-", match.group()).lower() if match else ""


def _check_licence(entry: EngineEntry | None, accepted: bool) -> None:
    if entry is not None and entry.licence and not accepted:
        raise BadValue(
            f"{entry.title} has a licence that you must accept first",
            why=entry.licence,
            fix="Read it, and add --accept-licence if you do",
        )


def _find_only_engine(environment: Environment) -> EngineEntry:
    installed = [
        entry for entry in catalog.adapters() if _read_installed_version(entry, environment)
    ]
    if len(installed) == 1:
        return installed[0]
    if installed:
        raise BadValue(
            "Several engines are installed there",
            why=f"{', '.join(entry.name for entry in installed)} are",
            fix=f"Choose one with --engine {installed[0].name}",
        )
    packages = ", ".join(str(entry.package) for entry in catalog.adapters())
    raise EngineUnavailable(
        "No known engine is installed there",
        why=f"{environment.python} has none of {packages}",
        fix='Install one there, or let us make an environment: --pip "onnxruntime==1.20.0"',
    )


def _check_installed(entry: EngineEntry, environment: Environment) -> None:
    version = _read_installed_version(entry, environment)
    if version is None:
        raise EngineUnavailable(
            f"{entry.title} is not installed there",
            why=f"{environment.python} has no package {entry.package!r}",
            fix=f"Install it there, or let us make an environment with --pip {entry.package}",
        )
    if entry.oldest and _version_to_numbers(version) < _version_to_numbers(entry.oldest):
        raise EngineUnavailable(
            f"{entry.title} {version} is too old",
            why=f"Modeldyno works with {entry.oldest} and newer",
            fix="Install a newer one there",
        )


def _read_installed_version(entry: EngineEntry, environment: Environment) -> str | None:
    return environments.installed_version((entry.package, *entry.other_builds), environment)


def _version_to_numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)[:3]]


def _inspect_environment(
    name: str,
    python: str,
    requirements: Sequence[str],
    chosen: EngineEntry | None,
    accept_licence: bool,
) -> Environment:
    """What is installed in that Python decides which of our adapters drives it."""
    version, paths = _read_python_version(python)
    _check_age(python, version)
    environment = Environment(
        name=name,
        engine=chosen.name if chosen else "",
        python=python,
        python_version=".".join(map(str, version)),
        paths=paths,
        requirements=tuple(requirements),
        added_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    entry = chosen or _find_only_engine(environment)
    _check_licence(entry, accept_licence)
    _check_installed(entry, environment)
    return replace(environment, engine=entry.name, licence_accepted=bool(entry.licence))


# ---------------------------------------------------------------- the other Python


def _resolve_interpreter(given: str) -> str:
    """Its path, with links unresolved: Python finds its environment by them."""
    path = Path(given).expanduser()
    if path.is_dir():
        path = path / "bin" / "python"
    elif not path.exists() and os.sep not in given:
        path = Path(shutil.which(given) or path)
    if not path.is_file() or not os.access(path, os.X_OK):
        raise BadValue(
            f"There is no Python at {given!r}",
            why="the file cannot be run" if path.is_file() else "no such file",
            fix="Give the path of an interpreter, such as ~/envs/ort/bin/python",
        )
    path = path.absolute()
    if _is_ours(path):
        raise BadValue(
            "That is the Python in which Modeldyno runs",
            why="its engines are already available",
            fix="See `modeldyno engines`",
        )
    return str(path)


def _is_ours(python: Path) -> bool:
    """By folder and by file: environments link to one interpreter, and a folder has several."""
    ours = Path(sys.executable)
    return python.parent.resolve() == ours.parent.resolve() and python.resolve() == ours.resolve()


def _read_python_version(python: str) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Its version, and where its packages lie."""
    try:
        process = subprocess.run(
            [python, "-I", "-c", _PROBE],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PROBE_LIMIT_S,
            env=_environment_variables(),
        )
        answer = json.loads(process.stdout)
        return tuple(map(int, answer["version"])), tuple(map(str, answer["paths"]))
    except (OSError, subprocess.TimeoutExpired, ValueError, KeyError, TypeError) as error:
        has_ended = not isinstance(error, (OSError, subprocess.TimeoutExpired))
        why = without_controls(process.stderr if has_ended else "").strip().splitlines()
        raise BadValue(
            f"{python} is not a usable Python",
            why=(why[-1] if why else str(error))[:300],
            fix=f"Give the path of a Python {_oldest_python()} or newer",
        ) from error


def _check_age(python: str, version: tuple[int, ...]) -> None:
    if version < OLDEST_PYTHON:
        raise BadValue(
            f"Python {'.'.join(map(str, version))} is too old",
            why=f"what we run beside an engine needs Python {_oldest_python()}; this is {python}",
            fix=f"Make an environment with Python {_oldest_python()} or newer",
        )


def _oldest_python() -> str:
    return ".".join(map(str, OLDEST_PYTHON))


def _environment_variables() -> dict[str, str]:
    """Our environment variables, without those that lead to our own packages."""
    ours = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__")
    return {name: value for name, value in os.environ.items() if name not in ours}


def _install(folder: Path, base: str, requirements: Sequence[str], report: Report) -> str:
    """Makes an environment with NumPy and the requirements; returns its interpreter."""
    report(f"Making an environment of {base}")
    failed = "Cannot make a Python environment"
    needs = "On Debian and Ubuntu, install python3-venv"
    _run([base, "-m", "venv", str(folder)], failed, needs, report)
    python = str(folder / "bin" / "python")
    packages = list(requirements)
    if "numpy" not in map(_package_name, requirements):
        packages.append("numpy")
    report(f"Installing {' '.join(packages)}")
    pip = [python, "-I", "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    fix = "Check the names and versions, and whether the package index can be reached"
    _run([*pip, *packages], f"pip could not install {' '.join(packages)}", fix, report)
    return python


def _run(command: list[str], failed: str, fix: str, report: Report) -> None:
    last: deque[str] = deque(maxlen=LAST_LINES)
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=_environment_variables(),
    ) as process:
        try:
            for line in process.stdout or ():
                if text := without_controls(line).strip():
                    last.append(text[:300])
                    report(text)
        except BaseException:  # Ctrl-C
            process.kill()
            raise
    code = process.returncode
    if code != 0:
        raise InstallFailed(failed, why="\n".join(last) or f"exit code {code}", fix=fix)


def _load_engine_in(environment: Environment) -> EngineLoaded:
    """Import the engine as a measurement would: in a worker with its sandbox."""
    with temporary_folder() as folder, closing(Stop()) as stop:
        log = folder / "log.txt"
        setup = WorkerSetup(
            folder / "scratch",
            log,
            python=environment.python,
            allow_exec=any(
                entry.starts_programs
                for entry in catalog.adapters()
                if entry.name == environment.engine
            ),
        )
        deadline_s = time.monotonic() + LOAD_LIMIT_S
        try:
            with launched(setup) as worker:
                return worker.request(
                    LoadEngine(environment.engine), EngineLoaded, deadline_s, stop
                )
        except (RunFailed, UserError) as error:
            output = log.read_text(errors="replace") if log.exists() else ""
            raise _engine_failure(environment.engine, output, error) from error


def _engine_failure(engine: str, output: str, error: ModeldynoError) -> EngineUnavailable:
    title = f"{engine} does not work in that environment"
    if any(sign in output + error.why for sign in _BUILT_FOR_NUMPY_1):
        return EngineUnavailable(
            title,
            why="it was built for NumPy 1, and NumPy 2 is installed",
            fix='Install an older one with it: --pip "numpy<2"',
        )
    return EngineUnavailable(
        title,
        why=error.why or error.title,
        fix="Import it there by hand to see the full error",
    )


_BUILT_FOR_NUMPY_1 = ("compiled using NumPy 1.x cannot be run", "_ARRAY_API not found")


# ---------------------------------------------------------------- the folder


@contextmanager
def _locked() -> Iterator[None]:
    """Keeps other processes from adding or removing engines."""
    folder = environments.engines_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / ".lock").open("w")
    except OSError as error:
        raise WorkspaceUnusable(
            "Cannot write to the folder of engines",
            why=f"{error.strerror}: {folder}",
            fix=f"Choose another folder with {environments.FOLDER_VARIABLE} or MODELDYNO_WORKSPACE",
        ) from error
    with lock:
        if not is_locked(lock.fileno()):
            raise BadValue(
                "Another process is adding or removing an engine", fix="Wait until that is done"
            )
        yield


@contextmanager
def _clean_folder(name: str) -> Iterator[None]:
    """Removes what an earlier attempt left, and what this one leaves if it fails."""
    folder = environments.folder_of(name)
    discard_tree(folder)
    try:
        yield
    except BaseException:
        discard_tree(folder)
        raise
