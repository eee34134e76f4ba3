"""Projects with scripted models: latencies to order, and runs that stop where a test wants them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.scripts import fault, script
from tests.web.desk import Server, until


def toy(server: Server, folder: Path, name: str, **said: Any) -> tuple[int, int]:
    """A project with one model: both numbers."""
    project = server.ask("/projects", {"name": name})["id"]
    model = server.send_model(project, script(folder / f"{name}.json", **said))["id"]
    return project, model


def stuck(server: Server, folder: Path, name: str) -> tuple[int, int]:
    """Of batches 1, 8 and 32, the second hangs in its fourth session: until then, much is done, and
    after that nothing happens, however slow or quick the machine is."""
    return toy(server, folder, name, latency_us=200, faults=[fault("hang", session=3, batch=8)])


def benchmark(server: Server, project: int, model: int, **settings: Any) -> dict[str, Any]:
    asked = {"project_id": project, "model_id": model, "engines": ["scripted"]} | settings
    made: dict[str, Any] = server.ask("/benchmarks", asked)
    return made


def measured(server: Server, project: int, model: int, **settings: Any) -> dict[str, Any]:
    made = benchmark(server, project, model, **settings)
    found: dict[str, Any] = server.settled(f"/benchmarks/{made['id']}")
    assert found["state"] == "done", found["latest_run"]
    return found


def until_stuck(server: Server, made: dict[str, Any]) -> int:
    """The job, once nothing more happens in it."""
    job: int = made["latest_run"]["job_id"]

    def sessions() -> bool:
        progress = server.ask(f"/jobs/{job}")["progress"] or {"cells": []}
        return [cell["sessions"] for cell in progress["cells"]] == [4, 3, 4]

    until(sessions, 240.0)
    return job
