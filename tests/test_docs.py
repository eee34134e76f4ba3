"""The documentation says what is there, and what it shows really runs."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from jsonschema import Draft202012Validator
from onnx import TensorProto, helper, numpy_helper, save

from modeldyno.cli import bench, compare, main
from modeldyno.core import errors
from modeldyno.core.documents.cells import CellDocument
from modeldyno.demo import model_path
from modeldyno.engines.catalog import BUILT_IN
from modeldyno.present.document_catalog import DOCUMENTS
from modeldyno.selftest import catalog as selftests
from scripts.write_schemas import texts
from tests.packages import python_path
from tests.terminal import serving

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
SCHEMAS = ROOT / "src" / "modeldyno" / "schemas"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
SOURCES = sorted((ROOT / "src").rglob("*.py"))
GROUP: Any = typer.main.get_command(main.app)


def all_commands(group: Any, above: str = "") -> dict[str, Any]:
    """By what one types: ``examples``, ``examples get``."""
    found: dict[str, Any] = {}
    for name, command in group.commands.items():
        found[above + name] = command
        if hasattr(command, "commands"):
            found |= all_commands(command, f"{above}{name} ")
    return found


COMMANDS = all_commands(GROUP)
DIGITS = str(model_path())


@cache
def text_of(name: str) -> str:
    return (ROOT / name).read_text()


def section(page: str, title: str) -> str:
    """From a heading to the next one of its rank or above."""
    found = re.search(rf"^(#+) {re.escape(title)}\n(.*?)(?=^\1 |\Z)", page, re.M | re.S)
    assert found, f"no section {title!r}"
    return found[2]


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.M | re.S)


def rows(table: str) -> list[list[str]]:
    """Cells of a Markdown table's lines, without its head."""
    lines = [line for line in table.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[2:]]


def mentions(text: str, option: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text) is not None


# ---------------------------------------------------------------- the command line


@pytest.mark.usefixtures("starts_processes")
@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_stands_in_the_section_of_its_command(command):
    text = section(text_of("docs/cli.md"), command.partition(" ")[0])
    # Hidden ones are those that are refused; "On a server" says where.
    known = [p for p in COMMANDS[command].params if not getattr(p, "hidden", False)]
    named = [name for parameter in known for name in parameter.opts]
    options = [name for name in named if name.startswith("--") and name != "--help"]
    assert [name for name in options if not mentions(text, name)] == []


def test_short_and_general_options_are_documented():
    page = text_of("docs/cli.md")
    general = typer.main.get_command(main.app).params
    parameters = [*general, *(p for command in COMMANDS.values() for p in command.params)]
    options = {name for parameter in parameters for name in parameter.opts if name[0] == "-"}
    options |= {"-h", "--help"}
    assert sorted(name for name in options if not mentions(page, name)) == []


def test_options_that_are_documented_exist():
    known = {name for command in COMMANDS.values() for p in command.params for name in p.opts}
    known |= {name for p in typer.main.get_command(main.app).params for name in p.opts}
    known |= {"--help"}
    ours = {name for page in PAGES for name in re.findall(r"(?<!\S)`(--[a-z-]+)", page.read_text())}
    assert ours <= known


def test_every_error_code_is_documented_with_its_exit_code():
    table = rows(section(text_of("docs/cli.md"), "Error codes"))
    documented = {row[0].strip("`"): row[1] for row in table}
    expected = {
        code: str(main.exit_code(kind("x")))
        for code, kind in errors.error_classes().items()
        if kind is not errors.ModeldynoError
    }
    assert documented == expected | {"ERROR": "", "BUG": str(main.BUG)}


def test_every_exit_code_is_documented():
    ours = {0, main.BUG, main.INTERRUPTED, *main.EXIT_CODES.values()}
    ours |= {bench.FAILED, bench.NOISY, bench.TIMED_OUT, bench.INTERRUPTED, bench.OUT_OF_MEMORY}
    ours |= {compare.SLOWER, compare.INCONCLUSIVE, compare.INTERRUPTED}
    table = rows(section(text_of("docs/cli.md"), "Exit codes"))
    assert {int(code) for row in table for code in re.findall(r"\d+", row[0])} == ours


def test_every_variable_we_read_is_documented():
    documented = text_of("docs/cli.md") + text_of("docs/architecture.md")
    patterns = (
        r'environ(?:ment)?(?:\.get\(|\[)"([A-Z_]+)"',
        r'"([A-Z_]+)" (?:not )?in os\.environ',
        r'getenv\("([A-Z_]+)"',
        r"\b(MODELDYNO_[A-Z]+)\b",
    )
    code = "\n".join(path.read_text() for path in SOURCES)
    ours = {name for pattern in patterns for name in re.findall(pattern, code)}
    ours |= set(re.findall(r"^([A-Z_]+) \?=", text_of("Makefile"), re.M))
    assert {"MODELDYNO_WORKSPACE", "NO_COLOR", "PYTHON"} <= ours
    assert sorted(name for name in ours if not mentions(documented, name)) == []


def test_every_self_test_is_documented():
    table = rows(section(text_of("docs/measuring.md"), "Self-tests"))
    assert [(row[0], row[1]) for row in table] == [
        (entry.id, f"`{entry.name}`") for entry in selftests.TESTS
    ]


# ---------------------------------------------------------------- pages


def test_every_defect_on_its_page_has_a_test_that_bears_its_number():
    tests = "".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    tested = set(re.findall(r"^def (test_(?:defect|s|endpoint_defect)_\d\d)_", tests, re.M))
    told = {
        f"{title}_{row[0]}"
        for title, body in re.findall(
            r"^## .*?`(test_\w+)_NN`\n(.*?)(?=^## |\Z)", text_of("docs/defects.md"), re.M | re.S
        )
        for row in rows(body)
    }
    assert told == tested
    assert len(told) == 22 + 9 + 20


def test_links_lead_somewhere():
    assert [*broken_links()] == []


def broken_links() -> Iterator[str]:
    for page in PAGES:
        prose = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
        for target in re.findall(r"\]\(([^)\s]+)\)", prose):
            if target.startswith("https://"):
                continue
            name, _, anchor = target.partition("#")
            file = page.parent / name if name else page
            if not file.exists() or (anchor and anchor not in anchors(file)):
                yield f"{page.name}: {target}"


def anchors(page: Path) -> set[str]:
    """As GitHub makes them: lower case, no punctuation, hyphens for spaces."""
    heads = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def test_what_comments_point_to_is_there():
    heads = [head.lower() for head in re.findall(r"^#+ (.*)$", text_of("docs/measuring.md"), re.M)]
    for path in SOURCES:
        code = path.read_text()
        for hint in re.findall(r"docs/measuring\.md(?:, | \()([^).]*[a-z][^).]*)\)", code):
            wanted = " ".join(hint.split()).lower()
            assert any(wanted in head for head in heads), f"{path}: {hint}"
        for name in re.findall(r"docs/([\w/.-]*[\w/])", code):
            assert [*DOCS.glob(f"{name.rstrip('/')}*")], f"{path}: docs/{name}"


def test_files_named_for_contributors_exist():
    tops = ("src/modeldyno", ".")
    for page in ("CONTRIBUTING.md", "docs/architecture.md"):
        names = re.findall(r"`([a-z][\w./-]*/[\w./-]*\.(?:py|tsx?|md|toml))`", text_of(page))
        missing = [name for name in names if not any((ROOT / top / name).is_file() for top in tops)]
        assert not missing, f"{page}: {missing}"


def test_pages_name_no_folder_of_somebodys_machine():
    for page in PAGES:
        assert not re.search(r"(?<![\w.~])/(?:home|root|tmp|work|Users)/", page.read_text()), page


def test_decisions_say_context_choice_and_price():
    for page in sorted((DOCS / "decisions").glob("*.md")):
        number = page.name.partition("-")[0]
        assert page.read_text().startswith(f"# {number} ")
        heads = re.findall(r"^## (.*)$", page.read_text(), re.M)
        assert heads == ["Context", "Choice", "Price"], page


def test_python_on_every_page_is_python():
    for page in PAGES:
        for code in blocks(page.read_text(), "python"):
            ast.parse(code)


# ---------------------------------------------------------------- what is shown really runs


def run(*arguments: str, home: Path, **more: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "modeldyno", *arguments]
    environment = surroundings(home) | more.pop("env", {})
    return subprocess.run(
        command, env=environment, cwd=home, capture_output=True, text=True, timeout=100, **more
    )


def surroundings(home: Path) -> dict[str, str]:
    ours = {k: v for k, v in os.environ.items() if not k.startswith("MODELDYNO_")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{ours['PATH']}"
    return ours | {"HOME": str(home), "PATH": path}


def document(*arguments: str, home: Path, code: int = 0, **more: Any) -> dict[str, Any]:
    done = run(*arguments, "--json", home=home, **more)
    assert done.returncode == code, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def readme_commands() -> list[str]:
    """The lines one would paste, shortened: as many commands, less time."""
    shown = [block for block in blocks(text_of("README.md"), "sh") if "curl" not in block]
    lines = "\n".join(shown).splitlines()
    return [quickened(line) for line in lines if not line.startswith(("make", ". .venv"))]


def quickened(line: str) -> str:
    if not shutil.which("jq"):
        line = re.sub(r"\| jq .*", "", line)
    if found := re.match(r"modeldyno (bench|compare|demo) (?!.*--(quick|help))", line):
        short = " --budget 0.5" if found[1] == "bench" else " --quick"
        line = line.partition("   #")[0] + short
    # A wide gate decides at once: an inconclusive one would measure again for longer.
    line = line.replace("--fail-if-slower 5%", "--fail-if-slower 50%")
    return re.sub(r"^(modeldyno selftest \w+)", r"\1 --short", line)


@pytest.mark.slow
@pytest.mark.timeout(330)  # it waits for cores whenever others measure on them
def test_the_commands_of_the_readme_run_in_order(tmp_path):
    """On a busy machine the gate may say that it cannot tell: that is no failure of ours."""
    (tmp_path / "src").symlink_to(ROOT / "src")
    commands = readme_commands()
    script = "set -o pipefail\n" + "\n".join(f"{line}\necho exit=$?" for line in commands)
    done = subprocess.run(
        ["bash", "-c", script],
        env=surroundings(tmp_path),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    codes = [int(code) for code in re.findall(r"^exit=(\d+)$", done.stdout, re.M)]
    wrong = {
        line: code
        for line, code in zip(commands, codes, strict=True)
        if code not in ((0, compare.INCONCLUSIVE) if "--fail-if-slower" in line else (0,))
    }
    assert wrong == {}, done.stderr
    assert len([line for line in commands if line.startswith("modeldyno ")]) >= 8


@pytest.mark.slow
def test_the_curl_lines_of_the_readme_find_what_make_run_measured(tmp_path):
    """Verbatim, but for the port, which somebody else may have here."""
    assert "\t@exec .venv/bin/modeldyno serve --demo $(SERVE_ARGS)\n" in text_of("Makefile")
    (block,) = [block for block in blocks(text_of("README.md"), "sh") if "curl" in block]
    (tmp_path / ".venv").symlink_to(sys.prefix)
    home = surroundings(tmp_path)
    with serving(tmp_path / ".modeldyno", "--demo", **home) as server:
        lines = block.replace("http://127.0.0.1:5000", server.url)
        deadline = time.monotonic() + 60
        while True:
            done = subprocess.run(
                ["bash", "-ec", lines.replace("curl -s ", "\necho; curl -sf ")],
                env=home,
                cwd=tmp_path,
                capture_output=True,
                text=True,
                timeout=60,
            )
            assert done.returncode == 0, done.stderr
            projects, benchmarks = map(json.loads, done.stdout.split("\n")[1:])
            if benchmarks["items"]:
                break
            assert time.monotonic() < deadline, server.stop().err
            time.sleep(2)
    assert [project["name"] for project in projects["items"]] == ["Demo"]
    (found,) = benchmarks["items"]
    assert (found["state"], found["model_name"]) == ("done", "digits.onnx")
    assert found["summary"]["latency_ms"]["typical"]["value"] > 0


@pytest.mark.usefixtures("starts_processes")
def test_the_example_engine_works(tmp_path):
    page = text_of("docs/adding-an-engine.md")
    files = dict(re.findall(r"^`([\w./]+)`:\n\n```\w+\n(.*?)^```$", page, re.M | re.S))
    assert sorted(Path(name).name for name in files) == [
        "__init__.py",
        "engine.py",
        "pyproject.toml",
    ]
    packages = install(tmp_path / "packages", files)
    more = {"home": tmp_path, "env": {"PYTHONPATH": str(packages)}}
    known = {e["name"]: e for e in document("engines", **more)["engines"]}
    assert known["reference"]["usable"]
    found = document("bench", DIGITS, "--engine", "ref", "--iterations", "3", **more)
    (cell,) = found["cells"]
    assert (cell["engine"], cell["status"], cell["samples"]) == ("reference", "done", 3)
    refused = run("bench", DIGITS, "-e", "ref", "--contract", "hot", "--iterations", "3", **more)
    assert refused.returncode != 0
    assert "no hot call" in refused.stderr


def install(folder: Path, files: dict[str, str]) -> Path:
    """What ``pip install`` would leave, without a build: the package and its entry points."""
    project = tomllib.loads(files["pyproject.toml"])["project"]
    told = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    told.mkdir(parents=True)
    points = project["entry-points"]["modeldyno.engines"]
    lines = [f"{name} = {where}" for name, where in points.items()]
    (told / "entry_points.txt").write_text("[modeldyno.engines]\n" + "\n".join(lines))
    metadata = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (told / "METADATA").write_text(metadata)
    for name, text in files.items():
        if name.startswith("src/"):
            path = folder / name.removeprefix("src/")
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
    return folder


# ---------------------------------------------------------------- JSON and its schemas


@cache
def schema(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((SCHEMAS / f"{name}.schema.json").read_text())
    return found


def check(name: str, found: dict[str, Any]) -> None:
    wrong = Draft202012Validator(schema(name)).iter_errors(found)
    assert [f"{error.json_path}: {error.message}" for error in wrong] == []


def objects(part: Any) -> Iterator[dict[str, Any]]:
    """Every sub-schema that describes an object with known keys."""
    if isinstance(part, dict):
        if "properties" in part:
            yield part
        for value in part.values():
            yield from objects(value)
    elif isinstance(part, list):
        for value in part:
            yield from objects(value)


NAMES = (
    *("benchmark", "comparison", "conversion", "distribution", "doctor", "engines", "error"),
    *("examples", "graph-view", "graph", "jobs", "judgement", "model", "note", "profile-diff"),
    *("profile", "prune", "ranking", "reindex", "removed", "report", "runs", "trust", "usage"),
)
# Only inputs that index something have the first, converted models the second, SavedModels the
# others.
OPTIONAL = {"indices", "made", "signature", "signatures"}


def test_there_is_a_schema_for_every_document():
    assert sorted(path.name for path in SCHEMAS.iterdir()) == [
        f"{name}.schema.json" for name in NAMES
    ]
    assert [schema(name)["properties"]["schema"]["const"] for name in NAMES] == [
        "modeldyno.benchmark/2",
        "modeldyno.comparison/2",
        "modeldyno.conversion/2",
        "modeldyno.distribution/1",
        "modeldyno.doctor/2",
        "modeldyno.engines/1",
        "modeldyno.error/2",
        "modeldyno.examples/1",
        "modeldyno.graph-view/1",
        "modeldyno.graph/1",
        "modeldyno.jobs/1",
        "modeldyno.judgement/1",
        "modeldyno.model/2",
        "modeldyno.note/1",
        "modeldyno.profile-diff/2",
        "modeldyno.profile/2",
        "modeldyno.prune/1",
        "modeldyno.ranking/2",
        "modeldyno.reindex/1",
        "modeldyno.removed/1",
        "modeldyno.report/1",
        "modeldyno.runs/2",
        "modeldyno.trust/1",
        "modeldyno.usage/1",
    ]


def test_schemas_are_generated_from_the_documents():
    assert [file.name for file, text in texts().items() if file.read_text() != text] == []


@pytest.mark.parametrize("name", NAMES)
def test_schemas_are_strict_and_explain_every_key(name):
    Draft202012Validator.check_schema(schema(name))
    assert schema(name)["$id"] == f"{name}.schema.json"
    for part in objects(schema(name)):
        assert part["additionalProperties"] is False
        optional = set() if name in DOCUMENTS else OPTIONAL
        assert set(part["required"]) == part["properties"].keys() - optional
        for key, told in part["properties"].items():
            assert "description" in told or "$ref" in told, key


def parts_of(name: str) -> dict[str, Any]:
    parts: dict[str, Any] = schema(name).get("$defs", {})
    return parts


def test_schemas_agree_about_what_they_share():
    for key in {part for name in DOCUMENTS for part in parts_of(name)}:
        shared = [parts[key] for parts in map(parts_of, DOCUMENTS) if key in parts]
        assert all(part == shared[0] for part in shared), key
    model = schema("benchmark")["$defs"]["ModelDocument"]["properties"]
    assert schema("model")["properties"] == model


def test_a_cell_has_the_keys_that_others_rely_on():
    cell = """engine effective device precision batch_size cores instances
        status error notes latency_ms throughput_per_s cpu_ms load_ms first_inference_ms
        peak_memory_bytes energy_j_per_item samples sessions warmup_calls calls_per_sample
        overhead_share call_contract stop_reason contention noise parity"""
    latency = "floor typical mean stdev min p90 p95 p99"
    effective = "engine_version providers"
    model = "path format framework sha256 size_bytes parameters inputs outputs"
    known = schema("benchmark")["$defs"]
    assert set(cell.split()) <= set(known["CellDocument"]["required"])
    assert set(latency.split()) <= set(known["LatencyDocument"]["required"])
    assert set(effective.split()) <= set(known["EffectiveDocument"]["required"])
    assert set(model.split()) <= set(known["ModelDocument"]["required"])
    assert {"value", "low", "high", "level", "of", "n"} <= set(known["Figure"]["required"])
    assert {"schema", "model", "host", "cells"} <= set(schema("benchmark")["required"])
    wanted = {"verdict", "ratio", "a", "b", "pairs", "statistic"}
    assert wanted <= set(schema("comparison")["required"])


def test_schema_and_serializer_know_the_same_keys():
    known = schema("benchmark")["$defs"]["CellDocument"]["required"]
    assert [field.name for field in fields(CellDocument)] == known


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


@pytest.mark.usefixtures("starts_processes")
def test_bench_prints_what_its_schema_says(home):
    found = document("bench", DIGITS, "--quick", home=home)
    check("benchmark", found)
    (cell,) = found["cells"]
    assert cell["status"] == "done"
    # A busy machine may leave time for fewer sessions than an interval over them needs.
    enough = cell["sessions"] >= 4
    assert cell["latency_ms"]["typical"]["of"] == ("sessions" if enough else "samples")


@pytest.mark.usefixtures("starts_processes")
def test_raw_samples_can_be_read_as_the_architecture_page_says(home):
    """The page's own lines, on the run that the test before this one kept, or a short one."""
    if not (home / ".modeldyno").exists():
        run("bench", DIGITS, "--iterations", "3", home=home)
    (code,) = blocks(text_of("docs/architecture.md"), "python")
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=surroundings(home), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"([\d.]+ ns floor\n)+", done.stdout)


@pytest.mark.usefixtures("starts_processes")
def test_a_document_of_several_models_and_of_failures_fits_too(tmp_path):
    crashing = {"modeldyno": "scripted/1", "faults": [{"call": -1, "do": "segfault"}]}
    (tmp_path / "crash.json").write_text(json.dumps(crashing))
    words = ("bench", DIGITS, "crash.json", "--iterations", "20", "--batch", "1,2")
    found = document(*words, home=tmp_path, code=1)
    check("benchmark", found)
    assert [cell["status"] for cell in found["cells"]] == ["done", "done", "failed", "failed"]
    assert len(found["models"]) == len(found["runs"]) == 2
    assert found["cells"][0]["latency_ms"]["p99"]["value"] is None
    assert found["cells"][2]["latency_ms"] is None
    assert found["cells"][2]["error"]["code"] == "ENGINE_CRASHED"


@pytest.mark.usefixtures("starts_processes")
def test_an_interrupted_document_fits_too(tmp_path):
    command = [sys.executable, "-m", "modeldyno", "bench", DIGITS, "--budget", "60", "--json"]
    process = subprocess.Popen(
        command, env=surroundings(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        wait_for_units(tmp_path, 5)
        process.send_signal(signal.SIGINT)
        told, complaint = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == main.INTERRUPTED, complaint
    found = json.loads(told)
    check("benchmark", found)
    assert found["interrupted"] is True
    (cell,) = found["cells"]
    assert (cell["status"], cell["stop_reason"]) == ("partial", "aborted")
    assert cell["error"]["code"] == "CANCELLED"


def wait_for_units(home: Path, count: int) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        kept = [*home.glob(".modeldyno/runs/*/units.jsonl")]
        if kept and kept[0].read_bytes().count(b"\n") >= count:
            return
        time.sleep(0.02)
    raise AssertionError(f"no {count} units were kept within 30 s")


@pytest.mark.usefixtures("starts_processes")
def test_compare_prints_what_its_schema_says(tmp_path):
    sides = (f"{DIGITS}@batch=1", f"{DIGITS}@batch=2")
    found = document("compare", *sides, "--quick", home=tmp_path)
    check("comparison", found)
    assert found["ratio"]["low"] <= found["ratio"]["value"] <= found["ratio"]["high"]


@pytest.mark.usefixtures("starts_processes")
def test_inspect_prints_what_its_schema_says(tmp_path):
    table = numpy_helper.from_array(np.ones((7, 2), np.float32), "table")
    ids = helper.make_tensor_value_info("ids", TensorProto.INT64, ["batch", None])
    rows_of = helper.make_tensor_value_info("rows", TensorProto.FLOAT, None)
    node = helper.make_node("Gather", ["table", "ids"], ["rows"])
    graph = helper.make_graph([node], "g", [ids], [rows_of], [table])
    save(helper.make_model(graph, ir_version=8), tmp_path / "embedding.onnx")
    found = document("inspect", "embedding.onnx", home=tmp_path)
    check("model", found)
    assert found["inputs"][0]["indices"]["high"] == 7


@pytest.mark.usefixtures("starts_processes")
def test_engines_print_what_their_schema_says(tmp_path):
    broken = tmp_path / "broken-1.dist-info"
    broken.mkdir()
    (broken / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    (broken / "entry_points.txt").write_text("[modeldyno.engines]\nbroken = nowhere:ENTRY\n")
    found = document("engines", home=tmp_path, env={"PYTHONPATH": python_path(tmp_path)})
    check("engines", found)
    states = {engine["name"]: engine["usable"] for engine in found["engines"]}
    here = dict.fromkeys((entry.name for entry in BUILT_IN), True)
    assert states == here | {"broken": False}
