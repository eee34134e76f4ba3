"""Generated requests against the real server: no 5xx, and no answer that OpenAPI does not tell of.

    python -m tests.reliability.api_cases --cases 5000 --seed 1

Runs rounds of schemathesis, each with the next seed, until there were that many cases. Prints one
line of JSON, and what failed before it.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.api.real_app import real_server
from tests.api.serving import ROOT, Served

HERE = Path(__file__).parent
PATIENCE_S = 90.0
PHASES = "examples,coverage,fuzzing,stateful"
# Two seconds each and nothing to vary; and a measurement each, unless it is refused as others are.
SLOW = ("examine_system", "benchmark_by_name", "create_demo", "try_model")


def openapi_document(served: Served) -> Path:
    """Fetched once: under load it takes the server longer than schemathesis waits for it."""
    path = served.log.with_name("openapi.json")
    if not path.exists():
        link = http.client.HTTPConnection("127.0.0.1", served.port, timeout=PATIENCE_S)
        target = "/api/v1/openapi.json"
        reply = served.ask("GET", target, served.with_token(), connection=link)
        link.close()
        assert reply.status == 200, reply.text
        path.write_text(reply.text)
    return path


def one_round(
    served: Served, seed: int, examples: int, phases: str = PHASES, without: Sequence[str] = SLOW
) -> tuple[int, bool, str]:
    """How many cases there were, whether all went well, and what schemathesis said."""
    left_out = [word for name in without for word in ("--exclude-operation-id", name)]
    done = subprocess.run(
        [
            str(Path(sys.executable).with_name("st")),
            *("--config-file", str(HERE / "api_cases.toml")),
            *("run", str(openapi_document(served)), "--origin", served.origin),
            *("--header", f"Authorization: Bearer {served.token}"),
            *("--checks", "all", "--seed", str(seed), "--max-examples", str(examples)),
            *("--phases", phases, "--continue-on-failure", "--warnings", "off"),
            *("--generation-database", "none"),
            *("--no-color", *left_out),
        ],
        env=os.environ | {"SCHEMATHESIS_HOOKS": "tests.reliability.api_hooks"},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    found = re.search(r"(\d+) generated", done.stdout)
    return int(found[1]) if found else 0, done.returncode == 0, done.stdout + done.stderr


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--examples", type=int, default=50, help="for each operation and round")
    asked = parser.parse_args()
    begin, cases, rounds, good = time.monotonic(), 0, 0, True
    with TemporaryDirectory() as folder, real_server(Path(folder), is_patient=True) as served:
        while cases < asked.cases and good:
            seed = asked.seed + rounds
            more, good, said = one_round(served, seed, asked.examples)
            cases, rounds = cases + more, rounds + 1
            if not good:
                sys.stdout.write(said)
            sys.stderr.write(f"seed {seed}: {more} cases\n")
        errors = served.log.read_text().count("Traceback")
    told = {"cases": cases, "rounds": rounds, "seed": asked.seed, "tracebacks": errors}
    told |= {"ok": good and not errors, "seconds": round(time.monotonic() - begin)}
    sys.stdout.write(json.dumps(told) + "\n")
    return 0 if told["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
