"""No test gets lost: each that was recorded is there, or ``moved_tests.txt`` says where it went.

.venv/bin/python -m tests.recording.test_names     # write the list anew, with new tests
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1]
RECORDED = Path(__file__).with_name("tests.txt")
MOVED = Path(__file__).with_name("moved_tests.txt")  # lines "old -> new"; "old -> " with a reason


def test_every_recorded_test_is_there():
    present = sorted(names())
    recorded = RECORDED.read_text().split()
    assert recorded
    moved = moved_tests()
    lost = [name for name in recorded if name not in {*present, *moved}]
    assert not lost, f"{len(lost)} tests are gone; {MOVED.name} must say where: {lost[:10]}"
    nowhere = [new for new in moved.values() if "::" in new and new not in present]
    assert not nowhere


def names() -> Iterator[str]:
    for file in TESTS.rglob("*.py"):
        yield from _names(ast.parse(file.read_bytes()).body, str(file.relative_to(TESTS)))


def _names(body: list[ast.stmt], prefix: str) -> Iterator[str]:
    for node in body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                if name.startswith("test_"):
                    yield f"{prefix}::{name}"
            case ast.ClassDef():
                yield from _names(node.body, f"{prefix}::{node.name}")


def moved_tests() -> dict[str, str]:
    lines = MOVED.read_text().splitlines() if MOVED.exists() else []
    pairs = (line.partition(" -> ") for line in lines if line and not line.startswith("#"))
    return {old: new for old, _, new in pairs}


if __name__ == "__main__":
    RECORDED.write_text("".join(f"{name}\n" for name in sorted(names())))
