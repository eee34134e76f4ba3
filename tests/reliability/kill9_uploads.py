"""Kill a server again and again while models are sent to it and deleted, and look at what is left.

    python -m tests.reliability.kill9_uploads --n 20 --seed 1

After each kill, with the next server: every model that was answered for is there, whole, under its
checksum; no row lacks its file; no file lacks its row, but for what is still young. Prints one line
of JSON; exits with 1 when anything is wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import http.client
import json
import os
import random
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from modeldyno.store.database import open_database
from modeldyno.store.records.all import open_all_records
from tests.api.real_app import real_server
from tests.api.serving import Served
from tests.api.v1.test_models import in_two_parts

FILE = ("Content-Type", "application/octet-stream")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--n", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    with TemporaryDirectory() as folder:
        found = killed(Path(folder), asked.n, asked.seed)
    sys.stdout.write(json.dumps(found) + "\n")
    return 1 if found["wrong"] else 0


def killed(workspace: Path, times: int, seed: int) -> dict[str, Any]:
    """What was answered for, and what was wrong afterwards."""
    chance = random.Random(seed)
    wrong: list[str] = []
    answered: dict[int, str] = {}
    gone: set[int] = set()
    for number in range(times):
        with (
            contextlib.suppress(ConnectionError, http.client.HTTPException, OSError),
            real_server(workspace, is_patient=True) as served,
        ):
            killer = threading.Timer(chance.uniform(0.05, 3.0), served.process.kill)
            if number % 2:
                killer.start()
            for made, sha256 in _busy(served, chance, number):
                if killer.ident is None:  # in the other rounds there is something to lose first
                    killer.start()
                if sha256 is None:
                    gone.add(made)
                else:
                    answered[made] = sha256
        wrong += _trouble(workspace, answered, gone)
    with real_server(workspace, is_patient=True) as served:
        served.ask("DELETE", "/api/v1/models/999999", served.with_token())
        time.sleep(1.0)  # it sweeps as it starts
        wrong += _left_over(workspace)
    kept = len(answered.keys() - gone)
    return {"kills": times, "seed": seed, "answered": len(answered), "kept": kept, "wrong": wrong}


def _busy(served: Served, chance: random.Random, turn: int) -> Iterator[tuple[int, str | None]]:
    """Models that were answered for, and those that somebody asked to delete (None)."""
    for count in range(1000):
        if chance.random() < 0.3:
            data, parts = in_two_parts("w.bin", "w.bin")
            number = _send(served, data, f"{turn}.onnx")
            path = f"/api/v1/models/{number}/files/w.bin"
            served.ask("PUT", path, served.with_token(FILE), parts["w.bin"])
        else:
            said = {"modeldyno": "scripted/1", "latency_us": 1, "turn": turn, "n": count}
            data = json.dumps(said).encode() + b" " * chance.randrange(3 << 20)
            number = _send(served, data, "net.json")
        yield number, hashlib.sha256(data).hexdigest()
        if chance.random() < 0.4:
            yield number, None  # from here on it may be gone
            served.ask("DELETE", f"/api/v1/models/{number}", served.with_token())


def _send(served: Served, data: bytes, name: str) -> int:
    path = f"/api/v1/projects/1/models?name={name}"
    reply = served.ask("POST", path, served.with_token(FILE), data)
    number: int = json.loads(reply.text)["id"]
    return number


def _trouble(workspace: Path, answered: dict[int, str], gone: set[int]) -> list[str]:
    database = open_database(workspace)
    try:
        places = open_all_records(database).models.places()
    finally:
        database.close()
    lost = [f"model {n} is lost" for n in answered.keys() - gone - places.keys()]
    for number, path in places.items():
        if not Path(path).is_file():
            lost.append(f"model {number} has no file")
        elif number in answered and _sha256(Path(path)) != answered[number]:
            lost.append(f"model {number} has another content")
    return lost


def _left_over(workspace: Path) -> list[str]:
    database = open_database(workspace)
    try:
        places = open_all_records(database).models.places()
    finally:
        database.close()
    used = {Path(path).parent for path in places.values()}
    folders = [p for p in (workspace / "models").glob("*/*") if p.parent.name != "waiting"]
    waiting = [*(workspace / "models" / "waiting").glob("*")]
    odd = [p for p in waiting if not p.name.isdigit() or int(p.name) not in places]
    return [f"left over: {p.relative_to(workspace)}" for p in ({*folders} - used) | {*odd}]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    sys.exit(main())
