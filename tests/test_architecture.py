"""The shape of the program: who may load what, who may print, which names do not exist.

Layers are checked by import-linter (``make check``); here we look at what is really loaded.
"""

from __future__ import annotations

import ast
import json
import os
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import modeldyno
from modeldyno import core, engines, graphs, inputs
from modeldyno.core.codec import encode
from modeldyno.core.sessions import SessionPlan, Target
from modeldyno.core.specs import BenchmarkSpec, CellSpec, ModelSpec
from modeldyno.demo import model_path
from modeldyno.inputs.plans import InputPlan, TensorPlan
from modeldyno.store import schema
from modeldyno.store.database import open_database
from modeldyno.store.runs import RunFolders
from modeldyno.worker.messages import Examine, MeasureSession, SessionSpec

PACKAGE = Path(modeldyno.__file__).parent
SOURCES = sorted(PACKAGE.rglob("*.py"))
DATABASE = {"alembic", "psycopg", "sqlalchemy"}
HEAVY = {
    *("ai_edge_litert", "h5py", "keras", "numpy", "onnx", "onnxruntime", "openvino", "psutil"),
    *("tensorflow", "torch"),
} | DATABASE
STANDARD = sys.stdlib_module_names | {"modeldyno", "__main__"}

IN_WORKER = [
    *(
        module.name
        for package in (core, graphs, inputs)
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    ),
    *(f"modeldyno.engines.{module.name}" for module in pkgutil.iter_modules(engines.__path__)),
    "modeldyno.measure.loop",
    "modeldyno.worker.main",
    "modeldyno.worker.messages",
]
# What an engine file may import, inside its functions.
ENGINE_IMPORTS = {
    "modeldyno.engines.deepsparse": {"deepsparse", "numpy", "onnx"},
    "modeldyno.engines.inputs": {"numpy"},
    "modeldyno.engines.litert": {"ai_edge_litert", "numpy"},
    "modeldyno.engines.litert_library": {"ai_edge_litert"},
    "modeldyno.engines.litert_profiling": {"numpy"},
    "modeldyno.engines.onnx_profiling": {"numpy"},
    "modeldyno.engines.onnxruntime": {"numpy", "onnxruntime"},
    "modeldyno.engines.openvino": {"numpy", "openvino"},
    "modeldyno.engines.outputs": {"numpy"},
    "modeldyno.engines.pytorch": {"torch"},
    "modeldyno.engines.scripted": {"numpy"},
    "modeldyno.engines.tensorflow": {"numpy"},
    "modeldyno.engines.tf_conversions": {"tensorflow", "tf2onnx"},
    "modeldyno.engines.tf_loading": {"tensorflow"},
    "modeldyno.engines.tf_process": {"keras", "tensorflow"},
    "modeldyno.engines.torch_loading": {"torch"},
    "modeldyno.engines.torch_precision": {"torch"},
    "modeldyno.engines.torch_profiling": {"torch"},
    "modeldyno.engines.torch_to_onnx": {"torch"},
}

TELL_MODULES = """
import json, sys
print("\\n" + json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


def loaded_by(code: str, *options: str, **more: Any) -> set[str]:
    """The top-level modules that a fresh interpreter has loaded after running ``code``."""
    command = [sys.executable, *options, "-c", code + TELL_MODULES]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, **more)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


# ---------------------------------------------------------------- a quick start


@pytest.mark.usefixtures("starts_processes")
def test_importing_modeldyno_loads_neither_numpy_nor_an_engine():
    assert not loaded_by("import modeldyno") & HEAVY


@pytest.mark.usefixtures("starts_processes")
@pytest.mark.parametrize("arguments", [["--help"], ["bench", "--help"]])
def test_help_loads_neither_numpy_nor_an_engine(arguments):
    code = f"""
import sys
from modeldyno.cli.main import run
sys.argv = ["modeldyno", *{arguments!r}]
try:
    run()
except SystemExit as exit:
    assert not exit.code
"""
    assert not loaded_by(code) & HEAVY


@pytest.mark.usefixtures("starts_processes")
def test_commands_load_what_they_work_with_only_when_they_are_called():
    assert loaded_by(
        "import sys, modeldyno.cli.main; assert 'modeldyno.core.results' not in sys.modules"
    )


@pytest.mark.usefixtures("starts_processes")
def test_listing_engines_loads_none_of_them():
    code = "from modeldyno.engines.availability import availability; assert availability()"
    assert not loaded_by(code) & HEAVY


@pytest.mark.usefixtures("starts_processes")
def test_finding_the_examples_of_the_onnx_package_does_not_load_it(tmp_path):
    code = f"""
from pathlib import Path
from modeldyno.settings import Settings
from modeldyno.workbench import open_examples
assert open_examples(Settings(Path({str(tmp_path)!r}))).fetch("onnx-resnet50").path.is_file()
"""
    assert not loaded_by(code) & HEAVY


@pytest.mark.usefixtures("starts_processes")
def test_a_client_loads_neither_the_server_nor_what_measures():
    code = "import modeldyno; modeldyno.Client('http://127.0.0.1:9', 'token').close()"
    assert not loaded_by(code) & (HEAVY | DATABASE | {"fastapi", "uvicorn", "pydantic"})


# ---------------------------------------------------------------- what runs in a worker


@pytest.mark.usefixtures("starts_processes")
def test_worker_modules_import_the_standard_library_alone():
    """In an interpreter that has nothing else: ``-S`` leaves site-packages out."""
    imports = "\n".join(f"import {name}" for name in IN_WORKER)
    code = f"import sys; sys.path.append({str(PACKAGE.parent)!r})\n{imports}"
    assert loaded_by(code, "-I", "-S") <= STANDARD


@pytest.mark.parametrize("name", IN_WORKER)
def test_worker_modules_name_no_other_package_even_inside_functions(name):
    allowed = STANDARD | ENGINE_IMPORTS.get(name, set())
    assert imported_packages(source_of(name)) <= allowed


def test_only_engine_files_are_excused():
    files = {f"modeldyno.engines.{path.stem}" for path in (PACKAGE / "engines").glob("*.py")}
    assert ENGINE_IMPORTS.keys() <= files


def source_of(name: str) -> Path:
    path = PACKAGE.parent.joinpath(*name.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def imported_packages(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            found.add((node.module or "").partition(".")[0])
    return found


@pytest.mark.engine("onnxruntime")
def test_a_worker_that_has_measured_holds_only_its_engine(tmp_path):
    """Two real sessions' worth of commands, in a process as bare as a worker's."""
    image = TensorPlan("image", "float32", (1, 1, 8, 8))
    inputs = InputPlan((image,), batch_size=1)
    target = Target("onnxruntime", str(model_path()))
    reference = str(tmp_path / "reference.npz")
    plan = SessionPlan(iterations=5, warmup_calls=1)
    commands = [
        Examine(target, (inputs,), "api", reference),
        MeasureSession(
            SessionSpec(target, inputs, "api"), plan, padding_seed=1, reference=reference
        ),
        MeasureSession(
            SessionSpec(target, inputs, "hot"), plan, padding_seed=2, reference=reference
        ),
        MeasureSession(
            SessionSpec(target, inputs, "e2e"), plan, padding_seed=3, reference=reference
        ),
    ]
    code = f"""
import json
from modeldyno.core.codec import decode
from modeldyno.worker.main import execute_and_reply
from modeldyno.worker.messages import Command
for command in json.loads({json.dumps([encode(command) for command in commands])!r}):
    reply = execute_and_reply(decode(Command, command))
    assert reply.kind in ("examined", "session-measured"), reply
"""
    loaded = loaded_by(code, "-P", "-s", cwd=tmp_path)
    brought = loaded_by("import numpy.random, onnxruntime", "-P", "-s", cwd=tmp_path)
    assert {"numpy", "onnxruntime"} <= loaded
    assert loaded - brought <= STANDARD
    assert not loaded & {"ai_edge_litert", "onnx", "openvino", "psutil", "rich", "torch", "typer"}


@pytest.mark.usefixtures("starts_processes")
def test_the_parent_of_a_run_loads_no_engine(tmp_path):
    code = f"""
import modeldyno
modeldyno.bench({str(model_path())!r}, iterations=3, workspace={str(tmp_path)!r})
modeldyno.inspect({str(model_path())!r})
modeldyno.graph({str(model_path())!r}, workspace={str(tmp_path)!r})
"""
    assert not loaded_by(code) & ({"onnx", "onnxruntime", "openvino", "torch"} | DATABASE)


@pytest.mark.usefixtures("starts_processes")
@pytest.mark.parametrize(
    "arguments",
    [
        *(["ls"], ["show"], ["engines"], ["trust", "--list"], ["examples"]),
        *(["token"], ["report"], ["rm", "latest"]),
    ],
)
def test_the_terminal_needs_no_database(arguments, tmp_path):
    RunFolders(tmp_path / "runs").create(BenchmarkSpec(ModelSpec("m.onnx"), (CellSpec(),)))
    code = f"""
import sys
from modeldyno.cli.main import run
sys.argv = ["modeldyno", *{arguments!r}]
try:
    run()
except SystemExit:
    pass
"""
    environment = os.environ | {"MODELDYNO_WORKSPACE": str(tmp_path)}
    assert not loaded_by(code, env=environment) & DATABASE


@pytest.mark.usefixtures("starts_processes")
def test_opening_a_database_that_is_as_it_should_be_loads_no_alembic(tmp_path):
    code = f"""
from pathlib import Path
from modeldyno.store.database import open_database
open_database(Path({str(tmp_path)!r})).close()
"""
    assert loaded_by(code) & DATABASE == {"sqlalchemy"}  # a new one
    assert loaded_by(code) & DATABASE == {"sqlalchemy"}
    database = open_database(tmp_path)
    schema.migrate_to(database.engine, "0001")
    database.close()
    assert DATABASE - {"psycopg"} <= loaded_by(code)


# ---------------------------------------------------------------- habits


def test_only_the_output_module_prints():
    talking = {path.relative_to(PACKAGE).as_posix() for path in SOURCES if any(prints(path))}
    assert talking == {"cli/output.py"}


def prints(path: Path) -> Iterator[ast.Call]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "print":
            yield node


def test_the_api_opens_no_file_and_builds_no_path():
    """What a client names goes through store/roots.py, which hands back what is open already."""
    opening = {"open", "Path", "PurePath", "os.open", "os.path.join"}
    files = sorted((PACKAGE / "api").rglob("*.py"))
    assert len(files) >= 5
    assert not [path for path in files if opening & without_fastapi(path.read_text())]
    assert without_fastapi("from pathlib import Path\nPath(name).read_text()") & opening


def without_fastapi(code: str) -> set[str]:
    """What is called: FastAPI's ``Path`` is a word for a part of an address, and opens nothing."""
    return called(code) - (set() if "from pathlib import" in code else {"Path"})


def called(code: str) -> set[str]:
    return {
        ast.unparse(node.func) for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)
    }


def test_no_module_has_a_name_that_says_nothing():
    vague = {"utils", "util", "common", "helpers", "helper", "misc"}
    assert not [path for path in SOURCES if {path.stem, path.parent.name} & vague]


@pytest.mark.usefixtures("starts_processes")
def test_importing_any_module_does_nothing_visible():
    """No output, no thread, no file left open: things happen when they are asked for."""
    names = [module.name for module in pkgutil.walk_packages(modeldyno.__path__, "modeldyno.")]
    imports = "\n".join(f"import {name}" for name in names if not name.endswith("__main__"))
    code = f"{imports}\nimport threading; assert threading.active_count() == 1"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
