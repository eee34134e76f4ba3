"""Every way in which the frozen workspace can be seen, each as one text.

What depends on the machine or the moment (versions, times of a reply, free space) is replaced by a
placeholder or reduced to its shape; everything else is compared to the letter.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import re
import signal
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from modeldyno.cli import main as command_line
from modeldyno.core import figures
from tests.api.live import Live

WIDTHS = (80, 120)
SORTS = ("created", "name", "state", "last_run", "latency", "throughput")
FORMATS = ("md", "csv", "json", "html")
# These describe the machine: only their keys and types are compared.
ABOUT_THE_MACHINE = ("/engines", "/system", "/session", "/files", "/examples")

MOMENT = re.compile(r"20\d\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)?")
MEASURES, CHANGES = "/api/v1/benchmark/{model_name}", "/api/v1/queue"
FROZEN_AT = "2026-11-18 00:20"  # what happened later is the server's own start

Surface = tuple[str, str]


# ---------------------------------------------------------------- terminal


def terminal(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Surface]:
    monkeypatch.setattr(figures, "ago", lambda _: "a while ago")
    runs = sorted(path.name for path in (workspace / "runs").iterdir())
    place = ("--workspace", str(workspace))
    for width in WIDTHS:
        yield f"ls-{width}", typed(("ls", "-n", "50", *place), workspace, monkeypatch, width)
    yield "ls-json", typed(("ls", "-n", "50", "--json", *place), workspace, monkeypatch)
    for number, run in enumerate(runs, 1):
        for width in WIDTHS:
            shown = typed(("show", run, *place), workspace, monkeypatch, width)
            yield f"show-{number:02}-{width}", shown
        as_json = typed(("show", run, "--json", *place), workspace, monkeypatch)
        yield f"show-{number:02}-json", as_json
        yield f"note-{number:02}", typed(("note", run, *place), workspace, monkeypatch)
        for form in FORMATS:
            report = ("report", run, "--format", form, *place)
            yield f"report-{number:02}-{form}", typed(report, workspace, monkeypatch)


def typed(
    arguments: tuple[str, ...],
    workspace: Path,
    monkeypatch: pytest.MonkeyPatch,
    width: int | None = None,
) -> str:
    """What the command prints and how it ends; ``width``: on a terminal of so many columns."""
    out, err = _Screen(width is not None), _Screen(width is not None)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    with monkeypatch.context() as patch:
        patch.setenv("COLUMNS", str(width or 240))
        patch.setenv("NO_COLOR", "1")
        patch.setattr(sys, "argv", ["modeldyno", *arguments])
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        code: object = 0
        try:
            command_line.run()
        except SystemExit as ending:
            code = ending.code
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
    text = out.getvalue() + (f"--- stderr\n{err.getvalue()}" if err.getvalue() else "")
    return stable(f"{text}--- exit code {code or 0}\n", workspace)


class _Screen(io.StringIO):
    def __init__(self, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


# ---------------------------------------------------------------- /api/v1


def rest(server: Live, workspace: Path, *, only_rows: bool = False) -> Iterator[Surface]:
    """Every GET of the OpenAPI document, for everything there is, and for what there is not.

    ``only_rows``: what comes from the database, and not from the folders of runs.
    """
    document = _get(server, "/api/v1/openapi.json")
    paths = {path: found for path, found in json.loads(document[1])["paths"].items()}
    for path, operations in paths.items():
        if "get" not in operations or path in (MEASURES, CHANGES):
            continue
        if only_rows and ("/runs/{run_id}/" in path or "/graph" in path):
            continue
        for filled in _filled(server, path):
            yield _rest_name(filled), _answer(server, filled, workspace)
    for noun in ("benchmarks", "comparisons", "profiles", "optimizations", "runs", "jobs"):
        for query in _queries(noun):
            filled = f"/api/v1/{noun}?{query}"
            yield _rest_name(filled), _answer(server, filled, workspace)


def _queries(noun: str) -> Iterator[str]:
    for sort in SORTS:
        yield f"sort={sort}&order=asc"
    yield "state=done&limit=2"
    yield "engine=scripted&limit=3"
    yield "text=steady"
    if noun == "benchmarks":
        yield "with_cells=true"


def _filled(server: Live, path: str) -> Iterator[str]:
    names = re.findall(r"{(\w+)}", path)
    if not names:
        yield from _with_parameters(path)
        return
    for values in _ids(server, names[0]):
        filled = path.replace(f"{{{names[0]}}}", str(values))
        for inner in ("0", "9") if "{cell}" in filled else ("",):
            yield from _with_parameters(filled.replace("{cell}", inner))


def _with_parameters(path: str) -> Iterator[str]:
    if path.endswith("/export"):
        yield from (f"{path}?format={form}" for form in FORMATS if form != "html")
    elif path.endswith("/report"):
        yield from (f"{path}?format={form}" for form in ("md", "html"))
    elif path.endswith(("/rows", "/csv")):
        yield from (f"{path}?by={by}" for by in ("op", "node"))
    elif path.endswith("/diff"):
        yield from (f"{path}?to={to}&by=op" for to in (1, 2, 99))
    elif path.endswith("/judgements"):
        yield from (f"{path}?a={a}&b={b}" for a, b in ((1, 2), (3, 4), (3, 6), (1, 99)))
    else:
        yield path


def _ids(server: Live, name: str) -> Iterable[object]:
    noun = name.removesuffix("_id")
    if name == "example":
        return ["no-such-example"]
    if name == "conversion_id":
        return [1]
    status, body, _ = _get(server, f"/api/v1/{noun}s?limit=100")
    assert status == 200, (name, body)
    unknown = "20200101-000000-000000" if noun == "run" else 999
    return [*sorted(one["id"] for one in json.loads(body)["items"]), unknown]


def _answer(server: Live, path: str, workspace: Path) -> str:
    status, body, kind = _get(server, path)
    if "json" in kind:
        said = json.loads(body)
        if any(f"/api/v1{start}" in path for start in ABOUT_THE_MACHINE):
            said = shape(said)
        body = json.dumps(said, indent=1, ensure_ascii=False)
    if "/samples" in path:  # numbers by the thousand
        body = f"{len(body.splitlines())} lines, sha256 {hashlib.sha256(body.encode()).hexdigest()}"
    return stable(f"{status} {kind}\n{body}\n", workspace)


def _get(server: Live, path: str) -> tuple[int, str, str]:
    headers = {"Authorization": f"Bearer {server.token}"}
    request = urllib.request.Request(server.url + path, headers=headers)
    try:
        with contextlib.closing(urllib.request.urlopen(request, timeout=60)) as answer:
            return answer.status, _text(answer.read()), answer.headers.get("Content-Type", "")
    except urllib.error.HTTPError as answer:
        return answer.code, _text(answer.read()), answer.headers.get("Content-Type", "")


def _text(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return f"{len(body)} bytes"


def _rest_name(path: str) -> str:
    name = re.sub(r"[^A-Za-z0-9.]+", "-", path.removeprefix("/api/v1/"))
    return f"v1-{name}".strip("-")


# ---------------------------------------------------------------- /api


def reference(server: Live, workspace: Path) -> Iterator[Surface]:
    """Operations of the reference API that only read, for each number and for none."""
    for operation in OPERATIONS_THAT_READ:
        for parameters in _numbers(operation):
            path = f"/api/{operation}?{urllib.parse.urlencode(parameters)}"
            name = re.sub(r"[^A-Za-z0-9.]+", "-", path.removeprefix("/api/")).strip("-")
            yield f"inc-{name}", _answer(server, path, workspace)


OPERATIONS_THAT_READ = (
    "project", "project/list", "model/list", "model/graph", "model/graph/highlight_pattern",
    "benchmark", "benchmark/list", "benchmark/config.yaml", "benchmark/output.log",
    "optimization", "optimization/list", "optimization/config.yaml", "optimization/output.log",
    "profiling", "profiling/list", "profiling/results/csv", "profiling/config.yaml",
    "profiling/output.log", "dataset", "dataset/list", "diagnosis/op_list", "examples/list",
    "dict/domains", "dict/domain_flavours", "dict/optimization_types", "dict/precisions",
    "dict/transforms/domain", "dict/optimization_types/precision", "jobs/queue",
)  # fmt: skip


def _numbers(operation: str) -> Iterator[Mapping[str, object]]:
    yield {}
    if operation.endswith("list") and operation != "project/list":
        yield from ({"project_id": number} for number in (1, 2, 99))
    elif operation.startswith(("dict", "jobs", "examples", "diagnosis")):
        yield {"domain": "image_recognition", "precision": "int8"}
    elif operation != "project/list":
        yield from ({"id": number} for number in (1, 2, 3, 5, 99))


# ---------------------------------------------------------------- events and config files


def events(server: Live, workspace: Path) -> Iterator[Surface]:
    yield "events", _answer(server, "/api/v1/events?after=0&limit=200", workspace)


def files(workspace: Path) -> Iterator[Surface]:
    for path in sorted((workspace / "runs").glob("*/config.yaml")):
        yield f"config-{path.parent.name}", stable(path.read_text(), workspace)


# ---------------------------------------------------------------- making texts comparable


def stable(text: str, workspace: Path) -> str:
    text = text.replace(str(workspace.parent), "FOLDER")
    text = re.sub(r"127\.0\.0\.1:\d+", "HOST", text)
    return MOMENT.sub(
        lambda match: match[0] if match[0][:16].replace("T", " ") < FROZEN_AT else "NOW", text
    )


def shape(value: Any) -> Any:
    """Its keys and types."""
    if isinstance(value, dict):
        return {name: shape(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return type(value).__name__
