"""Add engines that live in another Python, and remove them."""

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

Tell = Callable[[str], None]

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
class Added:
    environment: Environment
    version: str
    numpy: str | None


class EnvironmentService:
    def add(
        self,
        name: str,
        *,
        python: str | None = None,
        requirements: Sequence[str] = (),
        engine: str | None = None,
        accept_licence: bool = False,
        tell: Tell = lambda line: None,
    ) -> Added:
        """An engine in an existing Python, or in a new environment that pip fills.

        ``tell`` hears what is going on. It is there when this returns, or nothing of it is.
        """
        _check_request(name, python, requirements)
        chosen = _asked_for(name, requirements, engine)
        _check_licence(chosen, accept_licence)
        base = _interpreter(python) if python else sys.executable
        with _alone(), _all_or_nothing(name):
            if requirements:
                _check_age(base, _probe(base)[0])
                base = _install(environments.folder_of(name) / "venv", base, requirements, tell)
            found = self._look(name, base, requirements, chosen, accept_licence)
            tell(f"Trying {found.engine} in a worker")
            loaded = _try(found)
            environments.save(found)
        return Added(found, loaded.version, loaded.numpy)

    def remove(self, name: str) -> None:
        """Its registration, and the environment where we made it."""
        names = [one.name for one in environments.added_environments()]
        if name not in names:
            close = difflib.get_close_matches(name, names, n=1)
            raise BadValue(
                f"No engine {name!r} was added",
                why=f"added are {', '.join(names)}" if names else "none was",
                fix=f"Did you mean {close[0]!r}?" if close else "See `modeldyno engines`",
            )
        with _alone():
            environments.remove(name)
            discard_tree(environments.folder_of(name))

    def _look(
        self,
        name: str,
        python: str,
        requirements: Sequence[str],
        chosen: EngineEntry | None,
        accept_licence: bool,
    ) -> Environment:
        """What is installed in that Python decides which of our adapters drives it."""
        version, paths = _probe(python)
        _check_age(python, version)
        there = Environment(
            name=name,
            engine=chosen.name if chosen else "",
            python=python,
            python_version=".".join(map(str, version)),
            paths=paths,
            requirements=tuple(requirements),
            added_at=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        entry = chosen or _only_one(there)
        _check_licence(entry, accept_licence)
        _check_there(entry, there)
        return replace(there, engine=entry.name, licence_accepted=bool(entry.licence))


# ---------------------------------------------------------------- what was asked


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
    if name in [one.name for one in environments.added_environments()]:
        raise BadValue(
            f"The name {name!r} is taken",
            why="an engine of that name was added before",
            fix=f"Choose another name, or run `modeldyno engines remove {name}` first",
        )
    if not python and not requirements:
        raise BadValue(
            "Nothing says where the engine is",
            fix='Give --python PATH, or --pip "onnxruntime==1.20.0"',
        )
    for requirement in requirements:
        if requirement.startswith("-") or not requirement.strip():
            raise BadValue(
                f"{requirement!r} is no requirement",
                why="options of pip cannot be given here; its configuration and PIP_… hold",
                fix='Give what to install, such as --pip "onnxruntime==1.20.0"',
            )


def _asked_for(name: str, requirements: Sequence[str], engine: str | None) -> EngineEntry | None:
    """By its name, else by what is to be installed, else by what it is to be called."""
    known = catalog.adapters()
    if engine is not None:
        found = next((e for e in known if engine in (e.name, *e.aliases)), None)
        if found is None:
            raise BadValue(
                f"There is no engine {engine!r} that can live in another Python",
                why=f"those that can are {', '.join(e.name for e in known)}",
            )
        return found
    projects = {_project(requirement) for requirement in requirements}
    named = [e for e in known if projects & {e.package, *e.other_builds}]
    if len(named) == 1:
        return named[0]
    return next((e for e in named or known if e.name == name), None)


def _project(requirement: str) -> str:
    found = _PROJECT.match(requirement)
    return re.sub(r"[-_.]+", "-", found.group()).lower() if found else ""


def _check_licence(entry: EngineEntry | None, accepted: bool) -> None:
    if entry is not None and entry.licence and not accepted:
        raise BadValue(
            f"{entry.title} has a licence that you must accept first",
            why=entry.licence,
            fix="Read it, and add --accept-licence if you do",
        )


def _only_one(there: Environment) -> EngineEntry:
    found = [e for e in catalog.adapters() if _version_in(e, there) is not None]
    if len(found) == 1:
        return found[0]
    if found:
        raise BadValue(
            "Several engines are installed there",
            why=f"{', '.join(e.name for e in found)} are",
            fix=f"Say which one with --engine {found[0].name}",
        )
    packages = ", ".join(str(e.package) for e in catalog.adapters())
    raise EngineUnavailable(
        "No engine that we know is installed there",
        why=f"{there.python} has none of {packages}",
        fix='Install one there, or let us make an environment: --pip "onnxruntime==1.20.0"',
    )


def _check_there(entry: EngineEntry, there: Environment) -> None:
    version = _version_in(entry, there)
    if version is None:
        raise EngineUnavailable(
            f"{entry.title} is not installed there",
            why=f"{there.python} has no package {entry.package!r}",
            fix=f"Install it there, or let us make an environment with --pip {entry.package}",
        )
    if entry.oldest and _numbers(version) < _numbers(entry.oldest):
        raise EngineUnavailable(
            f"{entry.title} {version} is too old",
            why=f"Modeldyno works with {entry.oldest} and newer",
            fix="Install a newer one there",
        )


def _version_in(entry: EngineEntry, there: Environment) -> str | None:
    return environments.installed_version((entry.package, *entry.other_builds), there)


def _numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)[:3]]


# ---------------------------------------------------------------- the other Python


def _interpreter(said: str) -> str:
    """Its path, links as they are: an environment is known by where its python lies."""
    path = Path(said).expanduser()
    if path.is_dir():
        path = path / "bin" / "python"
    elif not path.exists() and os.sep not in said:
        path = Path(shutil.which(said) or path)
    if not path.is_file() or not os.access(path, os.X_OK):
        raise BadValue(
            f"There is no Python at {said!r}",
            why="it is a file that cannot be run" if path.is_file() else "no such file",
            fix="Give the path of an interpreter, such as ~/envs/ort/bin/python",
        )
    path = path.absolute()
    if _is_ours(path):
        raise BadValue(
            "That is the Python in which Modeldyno runs",
            why="its engines are here already",
            fix="See `modeldyno engines`",
        )
    return str(path)


def _is_ours(python: Path) -> bool:
    """By place and by file: environments are links to one interpreter, folders hold several."""
    ours = Path(sys.executable)
    return python.parent.resolve() == ours.parent.resolve() and python.resolve() == ours.resolve()


def _probe(python: str) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Its version, and where its packages lie."""
    try:
        done = subprocess.run(
            [python, "-I", "-c", _PROBE],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PROBE_LIMIT_S,
            env=_surroundings(),
        )
        told = json.loads(done.stdout)
        return tuple(map(int, told["version"])), tuple(map(str, told["paths"]))
    except (OSError, subprocess.TimeoutExpired, ValueError, KeyError, TypeError) as error:
        words = "" if isinstance(error, (OSError, subprocess.TimeoutExpired)) else done.stderr
        why = without_controls(words).strip().splitlines()
        raise BadValue(
            f"{python} is no Python that we can use",
            why=(why[-1] if why else str(error))[:300],
            fix=f"Give the path of a Python {_oldest()} or newer",
        ) from error


def _check_age(python: str, version: tuple[int, ...]) -> None:
    if version < OLDEST_PYTHON:
        raise BadValue(
            f"Python {'.'.join(map(str, version))} is too old",
            why=f"what we run beside an engine needs Python {_oldest()}; this is {python}",
            fix=f"Make an environment with Python {_oldest()} or newer",
        )


def _oldest() -> str:
    return ".".join(map(str, OLDEST_PYTHON))


def _surroundings() -> dict[str, str]:
    """Ours, without what would lead another Python to our own packages."""
    ours = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__")
    return {name: value for name, value in os.environ.items() if name not in ours}


def _install(folder: Path, base: str, requirements: Sequence[str], tell: Tell) -> str:
    """A new environment with NumPy and what was asked for; the path of its interpreter."""
    tell(f"Making an environment of {base}")
    failed = "Cannot make a Python environment"
    needs = "On Debian and Ubuntu, install python3-venv"
    _run([base, "-m", "venv", str(folder)], failed, needs, tell)
    python = str(folder / "bin" / "python")
    wanted = list(requirements)
    if "numpy" not in map(_project, requirements):
        wanted.append("numpy")
    tell(f"Installing {' '.join(wanted)}")
    pip = [python, "-I", "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    fix = "Check the names and versions, and whether the package index can be reached"
    _run([*pip, *wanted], f"pip could not install {' '.join(wanted)}", fix, tell)
    return python


def _run(command: list[str], failed: str, fix: str, tell: Tell) -> None:
    last: deque[str] = deque(maxlen=LAST_LINES)
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=_surroundings(),
    ) as process:
        try:
            for line in process.stdout or ():
                said = without_controls(line).strip()
                if said:
                    last.append(said[:300])
                    tell(said)
        except BaseException:  # we were interrupted: so is it
            process.kill()
            raise
    code = process.returncode
    if code != 0:
        raise InstallFailed(failed, why="\n".join(last) or f"exit code {code}", fix=fix)


def _try(there: Environment) -> EngineLoaded:
    """Import the engine as a measurement would: in a worker, confined."""
    with temporary_folder() as folder, closing(Stop()) as stop:
        log = folder / "log.txt"
        around = WorkerSetup(
            folder / "scratch",
            log,
            python=there.python,
            allow_exec=any(e.starts_programs for e in catalog.adapters() if e.name == there.engine),
        )
        deadline_s = time.monotonic() + LOAD_LIMIT_S
        try:
            with launched(around) as worker:
                return worker.request(LoadEngine(there.engine), EngineLoaded, deadline_s, stop)
        except (RunFailed, UserError) as error:
            words = log.read_text(errors="replace") if log.exists() else ""
            raise _does_not_work(there.engine, words, error) from error


def _does_not_work(engine: str, words: str, error: ModeldynoError) -> EngineUnavailable:
    title = f"{engine} does not work in that environment"
    if any(sign in words + error.why for sign in _FOR_NUMPY_1):
        return EngineUnavailable(
            title,
            why="it was built for NumPy 1, and NumPy 2 is there",
            fix='Install an older one beside it: --pip "numpy<2"',
        )
    return EngineUnavailable(
        title,
        why=error.why or error.title,
        fix="Import it there by hand to see the whole story",
    )


_FOR_NUMPY_1 = ("compiled using NumPy 1.x cannot be run", "_ARRAY_API not found")


# ---------------------------------------------------------------- its folder


@contextmanager
def _alone() -> Iterator[None]:
    """Nobody else adds or removes an engine meanwhile."""
    folder = environments.engines_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / ".lock").open("w")
    except OSError as error:
        raise WorkspaceUnusable(
            "Cannot write where engines are kept",
            why=f"{error.strerror}: {folder}",
            fix=f"Choose another folder with {environments.FOLDER_VARIABLE} or MODELDYNO_WORKSPACE",
        ) from error
    with lock:
        if not is_locked(lock.fileno()):
            raise BadValue(
                "Somebody else is adding or removing an engine", fix="Wait until that is done"
            )
        yield


@contextmanager
def _all_or_nothing(name: str) -> Iterator[None]:
    """What an earlier attempt left goes first; what this one leaves unfinished goes, too."""
    folder = environments.folder_of(name)
    discard_tree(folder)
    try:
        yield
    except BaseException:
        discard_tree(folder)
        raise
