"""run_studies.py [NAME...]: what needs minutes of real time, one after the other; none means all.

Each prints what it saw, most of them as a line of JSON; a failure does not keep the others from
running. The tests have a short form of each, with a seed of its own.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
MODULE = (sys.executable, "-m")
STUDIES = {
    "selftest": (*MODULE, "modeldyno", "selftest", "all"),
    "kills-sqlite": (*MODULE, "tests.reliability.kill9", "--n", "100", "--seed", "1"),
    "kills-postgresql": (
        *(*MODULE, "tests.reliability.kill9"),
        *("--n", "100", "--seed", "1", "--db", "postgres"),
    ),
    "kills-uploads": (*MODULE, "tests.reliability.kill9_uploads", "--n", "20", "--seed", "1"),
    "api-cases": (*MODULE, "tests.reliability.api_cases", "--cases", "5000", "--seed", "1"),
    "mutations": (*MODULE, "tests.recording.mutations"),
}


def main(names: Sequence[str]) -> int:
    if unknown := [name for name in names if name not in STUDIES]:
        print(f"There is no study {unknown[0]!r}; there are: {', '.join(STUDIES)}")
        return 2
    failed = [name for name in names or STUDIES if not _passed(name)]
    print(f"Studies that failed: {', '.join(failed) or 'none'}")
    return 1 if failed else 0


def _passed(name: str) -> bool:
    print(f"{name}:", flush=True)
    began = time.monotonic()
    code = subprocess.run(STUDIES[name], cwd=ROOT, check=False).returncode
    word = "passed" if code == 0 else f"FAILED (exit code {code})"
    print(f"{name} {word} in {time.monotonic() - began:.0f} s", flush=True)
    return code == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
