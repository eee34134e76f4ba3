"""Five changes that must never go unnoticed: make each in a copy of the sources, and run its tests.

    .venv/bin/python -m tests.recording.mutations

Prints a line for each; exits with 1 when one of them was not caught. A rewrite moves the lines that
are changed here, and has to move these changes with them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Mutation:
    name: str
    file: str  # below src/modeldyno
    before: str
    after: str
    tests: tuple[str, ...]


MUTATIONS = (
    Mutation(
        "paths of this machine are not redacted",
        "core/redaction.py",
        "    if field in _NOT_PLACES:\n",
        "    if True:\n",
        ("tests/core/test_path_redaction.py",),
    ),
    Mutation(
        "a message is published before it is stored",
        "services/runs.py",
        "            store(run_id, message, ending)  # before publishing: a listener may read it\n"
        "            if listen is not None:\n"
        "                listen(message)",
        "            if listen is not None:\n"
        "                listen(message)\n"
        "            store(run_id, message, ending)",
        (
            "tests/services/test_runs.py",
            "tests/jobs/test_profile.py",
            "tests/jobs/test_benchmark.py",
        ),
    ),
    Mutation(
        "the floor is shown as the typical latency",
        "core/documents/figures.py",
        "            typical=Figure.of_estimate(latency.typical, 1e3),\n",
        "            typical=Figure.of_estimate(latency.floor, 1e3),\n",
        ("tests/recording/test_recording.py::test_terminal",),
    ),
    Mutation(
        "the copy of a model is not checked",
        "store/models.py",
        "        if hash_file(copy) != sha256:\n",
        "        if False:\n",
        ("tests/store/test_models.py",),
    ),
    Mutation(
        "PostgreSQL has several writers at a time",
        "store/database.py",
        "SELECT pg_advisory_xact_lock(",
        "SELECT abs(",
        ("tests/store/test_postgresql.py",),
    ),
)


def main() -> int:
    missed = [mutation.name for mutation in MUTATIONS if not is_caught(mutation)]
    return 1 if missed else 0


def is_caught(mutation: Mutation) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        sources = Path(folder) / "src"
        shutil.copytree(ROOT / "src", sources, symlinks=True)
        file = sources / "modeldyno" / mutation.file
        text = file.read_text()
        assert text.count(mutation.before) == 1, f"{mutation.file} has changed"
        file.write_text(text.replace(mutation.before, mutation.after))
        ended = subprocess.run(
            [
                sys.executable,
                "-m",
                "pytest",
                "-q",
                "-n0",
                "-x",
                f"--basetemp={folder}/tests",
                *mutation.tests,
            ],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(sources)},
            capture_output=True,
            text=True,
            check=False,
        )
    closing_line = ended.stdout.strip().splitlines()[-1]
    caught = ended.returncode == 1
    print(f"{'caught' if caught else 'MISSED'}: {mutation.name} ({closing_line})")  # noqa: T201
    return caught


if __name__ == "__main__":
    sys.exit(main())
