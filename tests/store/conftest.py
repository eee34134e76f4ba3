"""Real databases, and what the terminal leaves in a workspace."""

from __future__ import annotations

import pytest

import modeldyno
from modeldyno.demo import model_path
from tests.databases import (  # noqa: F401 - fixtures
    empty_sqlite,
    new_postgresql,
    postgresql,
    postgresql_server,
    shared_postgresql,
    sqlite,
)


@pytest.fixture(scope="session")
def terminal_runs(tmp_path_factory, starts_processes):
    """What two equal benchmarks, another one and a comparison leave in a workspace."""
    workspace = tmp_path_factory.mktemp("workspace")
    digits = str(model_path())
    for batch in (1, 1, 2):
        modeldyno.bench(digits, iterations=5, batch=batch, workspace=workspace)
    modeldyno.compare(digits, f"{digits}@batch=2", pairs=4, workspace=workspace)
    return workspace / "runs"
