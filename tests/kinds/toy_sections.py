"""A toy as Markdown, and as a section of an HTML report."""

from __future__ import annotations

from typing import Any

from modeldyno.present import markdown
from modeldyno.present.reports import page
from modeldyno.present.reports.blocks import Section, table
from tests.kinds.toy_core import ToyResult


def _markdown(result: ToyResult, _: Any) -> str:
    return f"### A toy\n\n{result.headline()}\n"


def _section(result: ToyResult, _: Any) -> Section:
    rows = [(str(number), str(eyes)) for number, eyes in enumerate(result.eyes)]
    return Section(
        result=result,
        title="A toy",
        verdict=(result.headline(),),
        word="",
        engines=(),
        method="A die.",
        table=table(("round", "eyes"), rows, left=()),
        charts=(),
        limits=(),
        command=result.spec.command(["m.json"]),
    )


def register() -> None:
    markdown.SECTIONS["toy"] = _markdown
    page.SECTIONS["toy"] = _section
