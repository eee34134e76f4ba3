"""The real command in a real process, as a terminal or a script would start it."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from modeldyno.server_file import running_server
from tests import schemas

PATIENCE_S = 110.0


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.out)

    @property
    def error_code(self) -> str:
        """Of the error document on stdout, which says the same as stderr and the exit code."""
        document = self.document
        schemas.check("error", document)
        error = document["error"]
        assert document["exit_code"] == self.code
        told = f"error[{error['code']}]: " if error["code"] == "BUG" else error["title"]
        assert "".join(told.split()) in "".join(self.err.replace("│", "").split())
        return str(error["code"])


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "modeldyno", *map(str, arguments)]


def modeldyno(
    *arguments: object, cwd: Path | None = None, keep: bool = True, **environment: str
) -> Ended:
    """Run it to its end; ``keep=False`` starts from an empty environment."""
    ended = subprocess.run(
        command(*arguments),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=cwd,
        env=(dict(os.environ) if keep else {}) | environment,
        timeout=PATIENCE_S,
        check=False,
    )
    return Ended(ended.returncode, ended.stdout, ended.stderr)


class Running:
    """The command while it runs."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.pid = process.pid

    def send(self, number: int) -> None:
        self._process.send_signal(number)

    @property
    def is_over(self) -> bool:
        return self._process.poll() is not None

    def error_line(self) -> str:
        """The next one; waits for it."""
        assert self._process.stderr is not None
        return self._process.stderr.readline()

    def end(self) -> Ended:
        out, err = self._process.communicate(timeout=PATIENCE_S)
        return Ended(self._process.returncode, out, err)


@contextmanager
def running(*arguments: object, **environment: str) -> Iterator[Running]:
    with subprocess.Popen(
        command(*arguments),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=dict(os.environ) | environment,
    ) as process:
        try:
            yield Running(process)
        finally:
            process.kill()


def on_a_terminal(*arguments: object, **environment: str) -> tuple[int, str]:
    """Run it with stdout and stderr on a pseudo-terminal; what that showed, codes and all."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command(*arguments),
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env=dict(os.environ) | {"TERM": "xterm-256color", "COLUMNS": "160"} | environment,
    )
    os.close(theirs)
    shown = bytearray()
    with suppress(OSError):  # how a pseudo-terminal ends
        while part := os.read(ours, 4096):
            shown += part
    os.close(ours)
    return process.wait(PATIENCE_S), shown.decode()


class Served(Running):
    """``modeldyno serve``, which answers."""

    def __init__(self, process: subprocess.Popen[str], workspace: Path, log: Path) -> None:
        super().__init__(process)
        self._log = log
        self.url = self._announced(workspace)
        with suppress(urllib.error.HTTPError):
            self.ask("/projects")  # once it answers, it has said what it has to say
        key = workspace / "token"
        self.token = key.read_text().strip() if key.exists() else ""

    def _announced(self, workspace: Path) -> str:
        deadline = time.monotonic() + PATIENCE_S
        while (found := running_server(workspace)) is None:
            assert not self.is_over, self._log.read_text()
            assert time.monotonic() < deadline
            time.sleep(0.02)
        return found.url

    def get(self, path: str) -> Any:
        """What ``/api/v1`` answers to who has the token."""
        return self.ask(path, Authorization=f"Bearer {self.token}")

    def ask(self, path: str, **headers: str) -> Any:
        asked = urllib.request.Request(f"{self.url}/api/v1{path}", headers=headers)
        with urllib.request.urlopen(asked, timeout=PATIENCE_S) as answer:
            return json.load(answer)

    def stop(self, number: int = signal.SIGTERM) -> Ended:
        """Ask it to end; what it said until then."""
        self.send(number)
        out, _ = self._process.communicate(timeout=PATIENCE_S)
        return Ended(self._process.returncode, out, self._log.read_text())


@contextmanager
def serving(workspace: Path, *arguments: object, **environment: str) -> Iterator[Served]:
    """On a port of its own; killed at the end, unless somebody stopped it before."""
    log = workspace.parent / f"{workspace.name}-server.txt"
    port = () if "--port" in arguments else ("--port", 0)
    with (
        log.open("w") as errors,
        subprocess.Popen(
            command("serve", *port, "--workspace", workspace, *arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=dict(os.environ) | environment,
            text=True,
        ) as process,
    ):
        try:
            yield Served(process, workspace, log)
        finally:
            process.kill()
