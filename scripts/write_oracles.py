"""write_oracles.py [--check]: what tests hold readers, transforms and metrics against, as the table
of docs/datasets.md.

``--check`` writes nothing, and fails when the table is not what it would write.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "datasets.md"
TESTS = ROOT / "tests" / "datasets"
KINDS = ("readers", "transforms", "metrics")
BEGIN = "<!-- Written by scripts/write_oracles.py from the tests. -->\n"
END = "<!-- End of what it wrote. -->\n"


def oracles(kind: str) -> dict[str, list[str]]:
    """By name: what the tests of that kind are marked with."""
    sources: dict[str, list[str]] = defaultdict(list)
    for file in sorted((TESTS / kind).glob("test_*.py")):
        for name, source in _marks(ast.parse(file.read_text())):
            if source not in sources[name]:
                sources[name].append(source)
    return dict(sorted(sources.items(), key=lambda entry: entry[0].lower()))


def _marks(module: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.oracle":
            name, source = (ast.literal_eval(argument) for argument in node.args)
            yield name, source


def table() -> str:
    lines = ["| | name | compared with |", "|---|---|---|"]
    for kind in KINDS:
        for name, sources in oracles(kind).items():
            lines.append(f"| {kind.removesuffix('s')} | `{name}` | {'; '.join(sources)} |")
    return "\n".join(lines) + "\n"


def page(text: str) -> str:
    head, _, rest = text.partition(BEGIN)
    return head + BEGIN + table() + END + rest.partition(END)[2]


def main(only_check: bool) -> None:
    text = PAGE.read_text()
    if page(text) == text:
        return
    if only_check:
        sys.exit(f"stale: {PAGE.name}; run `python scripts/write_oracles.py`")
    PAGE.write_text(page(text))


if __name__ == "__main__":
    main("--check" in sys.argv[1:])
