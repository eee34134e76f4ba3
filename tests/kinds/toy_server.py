"""A server of an installation that has one more kind."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.processes import until

ROOT = Path(__file__).parents[2]
START_S = 60


class ToyServer:
    """``modeldyno serve`` in a process of its own, of an installation that has one more kind."""

    def __init__(self, workspace: Path, database_url: str | None) -> None:
        self.workspace = workspace
        environment = {name: word for name, word in os.environ.items() if "DATABASE" not in name}
        if database_url:
            environment["MODELDYNO_DATABASE_URL"] = database_url
        self.environment = environment

    def command(self, *words: str) -> list[str]:
        return [
            sys.executable,
            "-m",
            "tests.kinds.toy_main",
            *words,
            "--workspace",
            str(self.workspace),
        ]

    def terminal(self, *words: str) -> str:
        done = subprocess.run(
            self.command(*words),
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=START_S,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self) -> None:
        models = str(self.workspace.parent / "models")
        words = ("serve", "--port", "0", "--json", "--models-root", models)
        log = self.workspace.parent / "server.log"
        with log.open("a") as errors:
            self.process = subprocess.Popen(
                self.command(*words),
                cwd=ROOT,
                env=self.environment,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, log.read_text()
        self.url = json.loads(line)["url"]
        self.token = (self.workspace / "token").read_text().strip()

    def stop(self, how: int = signal.SIGTERM) -> None:
        self.process.send_signal(how)
        self.process.wait(START_S)
        assert self.process.stdout is not None
        self.process.stdout.close()

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        said = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        said |= {name.replace("_", "-"): word for name, word in headers.items()}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/api/v1/{path}", data, said, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as reply:
                content, status, got = reply.read(), reply.status, reply.headers
        except urllib.error.HTTPError as error:
            content, status, got = error.read(), error.code, error.headers
        with contextlib.suppress(ValueError):
            return SimpleNamespace(
                status=status, headers=got, body=content, json=json.loads(content)
            )
        return SimpleNamespace(status=status, headers=got, body=content, json=None)

    def get(self, path: str) -> Any:
        return self.ask("GET", path)

    def ended(self, job_id: int) -> Any:
        until(
            lambda: self.get(f"jobs/{job_id}").json["state"] not in ("queued", "running"), "its end"
        )
        return self.get(f"jobs/{job_id}").json

    def units(self, run_id: str) -> list[dict[str, Any]]:
        file = self.workspace / "runs" / run_id / "units.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
