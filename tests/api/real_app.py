"""The real server, in a process of its own, with a few things in its database.

    python -m tests.api.real_app WORKSPACE {patient|strict} PORT [URL]

Prints its port. A patient one answers any number of requests without a token, and gives no example
the time to be built, for which TensorFlow needs seconds (tests/api/inc/test_tensorflow.py does).
While there is a file ``boom`` in the workspace, everything that reads or writes the database fails
in a way that no code foresees, with secrets in its words.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from modeldyno.core.benchmarks import NewBenchmark, NewComparison
from modeldyno.core.datasets import NewDataset
from modeldyno.core.models import NewModel
from modeldyno.core.specs import BenchmarkSpec, CellSpec, ComparisonSpec, ModelSpec, SideSpec
from modeldyno.formats import scripted
from modeldyno.services import failed_attempts, keras_models
from modeldyno.settings import Settings
from modeldyno.workbench import open_records
from tests.api.serving import ROOT, Served
from tests.scripts import script

BOOM = "boom"


def main() -> None:
    from modeldyno.api.server_address import Listening
    from modeldyno.api.serving import serve
    from modeldyno.server import Server

    workspace = Path(sys.argv[1])

    def tell(_: Server, listening: Listening) -> None:
        sys.stdout.write(f"{listening.port}\n")
        sys.stdout.flush()
        _booby_trap(workspace)

    settings = Settings(workspace, database_url=sys.argv[4] if len(sys.argv) > 4 else None)
    if sys.argv[2] == "patient":
        failed_attempts.ALLOWED = 1 << 30
        keras_models.LONGEST_S = 0.0
    fill(settings)
    serve(settings, Listening(port=int(sys.argv[3])), tell)


def fill(settings: Settings) -> None:
    """One of each thing, if there is nothing yet: ids that exist are 1."""
    records = open_records(settings)
    if not records.projects.count():
        project = records.projects.add("First").id
        folder = settings.workspace / "scripts"
        folder.mkdir(exist_ok=True)
        path = script(folder / "m.json", latency_us=100)
        facts = scripted.read(path)
        new = NewModel(
            project_id=project,
            name="m",
            path=str(path),
            format=facts.format,
            sha256=facts.sha256,
            size_bytes=facts.size_bytes,
            framework=facts.framework,
            facts=facts,
        )
        model = records.models.add(new).id
        records.datasets.add(NewDataset(project_id=project, name="d", kind="dummy_v2"))
        spec = ModelSpec(str(path), sha256=facts.sha256)
        cell = CellSpec(engine="scripted")
        asked = BenchmarkSpec(spec, (cell,), iterations=5)
        records.benchmarks.add(
            NewBenchmark(project_id=project, model_id=model, name="b", spec=asked)
        )
        sides = ComparisonSpec(SideSpec("a", spec, cell), SideSpec("b", spec, cell))
        records.comparisons.add(
            NewComparison(
                project_id=project, a_model_id=model, b_model_id=model, name="c", spec=sides
            )
        )
    records.close()


def _booby_trap(workspace: Path) -> None:
    from modeldyno.store.database import Database

    flag, token = workspace / BOOM, workspace / "token"

    def trapped(method: Any) -> Any:
        @contextmanager
        def go(self: Database) -> Iterator[Any]:
            if flag.exists():
                raise RuntimeError(f"{token.read_text()} in {flag}")
            with method(self) as connection:
                yield connection

        return go

    Database.reading = trapped(Database.reading)  # type: ignore[method-assign]
    Database.writing = trapped(Database.writing)  # type: ignore[method-assign]


@contextmanager
def real_server(
    workspace: Path, url: str | None = None, is_patient: bool = False, port: int = 0
) -> Iterator[Served]:
    mode, rest = "patient" if is_patient else "strict", (str(port), *((url,) if url else ()))
    workspace.mkdir(parents=True, exist_ok=True)
    log = workspace / "log.txt"
    with log.open("a") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.api.real_app", str(workspace), mode, *rest],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    assert process.stdout
    try:
        port = int(process.stdout.readline() or 0)
        assert port, log.read_text()
        served = Served(port, "", log, process)
        served.ask("GET", "/healthz")  # the listener queues us until the server is there
        from modeldyno.store.tokens import TokenFile

        served.token = TokenFile(workspace / "token").current()
        yield served
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


if __name__ == "__main__":
    main()
