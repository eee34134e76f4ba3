"""The real command in a real process, as a terminal or a script would start it."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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

    def end(self) -> Ended:
        out, err = self._process.communicate(timeout=PATIENCE_S)
        return Ended(self._process.returncode, out, err)


@contextmanager
def running(*arguments: object) -> Iterator[Running]:
    with subprocess.Popen(
        command(*arguments),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
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
