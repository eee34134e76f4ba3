"""Texts that measure the same again when they are pasted: terminal, curl, Python.

The token is never in them: ``MODELDYNO_TOKEN`` is, so that it stays out of histories and chats.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_SET = 'export MODELDYNO_TOKEN="${MODELDYNO_TOKEN:-$(modeldyno token)}"'
_ASK = 'curl -sS --fail-with-body -H "Authorization: Bearer $MODELDYNO_TOKEN"'


@dataclass(frozen=True)
class Reproduction:
    terminal: str  # fetches the model, and measures it
    curl: str
    python: str


def reproduction(
    url: str, project_id: int, model_id: int, name: str, settings: Mapping[str, Any], command: str
) -> Reproduction:
    """``url`` is the server's, ``settings`` those that differ from the usual, ``command`` what a
    terminal measures with when the file lies where it is typed."""
    return Reproduction(
        terminal=_terminal_commands(url, model_id, command),
        curl=_curl_command(
            url, {"project_id": project_id, "model_id": model_id, "name": name, **settings}
        ),
        python=_python_code(url, project_id, model_id, name, settings),
    )


def _terminal_commands(url: str, model_id: int, command: str) -> str:
    file = shlex.split(command)[2]
    fetch = f"{_ASK} -o {shlex.quote(file)} {url}/api/v1/models/{model_id}/file"
    return f"{_SET}\n{fetch}\n{command}\n"


def _curl_command(url: str, body: Mapping[str, Any]) -> str:
    said = shlex.quote(json.dumps(body, ensure_ascii=False))
    return (
        f"{_SET}\n{_ASK} -H 'Content-Type: application/json' \\\n  -d {said} \\\n"
        f"  {url}/api/v1/benchmarks\n"
    )


def _python_code(
    url: str, project_id: int, model_id: int, name: str, settings: Mapping[str, Any]
) -> str:
    words = [f"{project_id}, {model_id}", f"name={name!r}"]
    words += [f"{key}={value!r}" for key, value in settings.items()]
    return f"""import modeldyno

with modeldyno.Client({url!r}) as client:  # takes the token from MODELDYNO_TOKEN
    benchmark = client.benchmarks.create({", ".join(words)})
    for job in client.jobs.follow(benchmark.latest_run.job_id):
        print(job.state, job.progress)
    print(client.runs.export(job.run_id, "md"))
"""
