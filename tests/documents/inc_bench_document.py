"""Read the document of INC Bench's API: Markdown, with JSON that people wrote."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from tests.documents.documented import Documented, Said

NAME = "001_inc_bench_api.md"

_HEADING = re.compile(r"#{3,5} (.+)")
_LABEL = re.compile(r"\*\*(.+?)\*\*(.*)")
_FENCE = re.compile(r" *```(\w*)")
_ELIDED = re.compile(r"\s*\.+\s*")  # a line of dots: the author left something out


def read(text: str) -> list[Documented]:
    """Each operation as often as it is documented, in the order of the document."""
    sections = [_Section("")]
    for line in text.splitlines():
        heading = _HEADING.fullmatch(line.rstrip())
        if heading and not sections[-1].is_in_code:
            sections.append(_Section(heading[1]))
        else:
            sections[-1].take(line)
    return [section.documented() for section in sections if "Path" in section.labels]


@dataclass
class _Section:
    title: str
    labels: dict[str, str] = field(default_factory=dict)
    blocks: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    markup: list[str] = field(default_factory=list)
    is_in_code: bool = False
    _label: str = ""

    def take(self, line: str) -> None:
        if _FENCE.match(line):
            self.is_in_code = not self.is_in_code
            if self.is_in_code:
                self.blocks[self._label].append("")
        elif self.is_in_code:
            self.blocks[self._label][-1] += line + "\n"
        elif label := _LABEL.match(line):
            self._label = label[1].rstrip(":")
            self.labels[self._label] = label[2].strip(" :").removesuffix("<br>").strip(" `")
        else:
            self.markup.append(line)

    def documented(self) -> Documented:
        body, *unlabelled = self.blocks["Example body"] or [""]
        answer = [*self.blocks["Example response"], *unlabelled][0]
        requests = self.blocks["Example request"]
        table = _Table()
        table.feed("\n".join(self.markup))
        spoken = [*self.blocks["Responses over WebSockets"], *self.blocks["Tuning history"]]
        return Documented(
            path=self.labels["Path"].removeprefix("api/"),
            method=self.labels["Method"],
            parameters=table.parameters(),
            body=parsed(body) if body else None,
            query=requests[0].strip().partition("?")[2] if requests else "",
            answer=parsed(answer) if answer.strip()[:1] in ("{", "[") else answer,
            events=tuple(map(_event, spoken)),
        )


def _event(block: str) -> Said:
    """The document wraps some of them, and not others; the server wraps all."""
    name, payload = parsed(block)
    if "status" in payload and "data" in payload:
        return Said(name, payload["data"], payload["status"])
    return Said(name, payload)


def parsed(text: str) -> Any:
    """JSON with commas too many, lines of dots, and ``<kind of value>`` in place of values."""
    text = "\n".join(line for line in text.splitlines() if not _ELIDED.fullmatch(line))
    text = re.sub(r":\s*<float>", ": 0.5", text)
    text = re.sub(r":\s*<[^>\"]*>", ": 0", text)
    text = re.sub(r",(\s*[}\]])", r"\1", text)
    found, _ = json.JSONDecoder().raw_decode(text.strip())  # one example goes on after its end
    return found


class _Table(HTMLParser):
    """Parameters, whose names may span rows: what is inside ``model`` is ``model.path``."""

    def __init__(self) -> None:
        super().__init__()
        self._rows: list[list[dict[str, Any]]] = []
        self._is_name = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = dict(attrs)
        if tag == "tr":
            self._rows.append([])
        elif tag == "td":
            self._rows[-1].append({"rows": int(said.get("rowspan") or 1), "text": "", "name": ""})
        self._is_name = tag == "b"

    def handle_endtag(self, tag: str) -> None:
        self._is_name = False

    def handle_data(self, data: str) -> None:
        if self._rows and self._rows[-1]:
            self._rows[-1][-1]["name" if self._is_name else "text"] += data.strip()

    def parameters(self) -> tuple[tuple[str, bool], ...]:
        found: list[tuple[str, bool]] = []
        above: list[tuple[str, int]] = []  # names that later rows are inside of, and how many
        for row in filter(None, self._rows):
            names = [cell for cell in row if cell["name"]]
            path = [*(name for name, _ in above), *(cell["name"] for cell in names)]
            above = [(name, left - 1) for name, left in above if left > 1]
            above += [(c["name"], c["rows"] - 1) for c in names if c["rows"] > 1]
            found.append((".".join(path), row[-1]["text"] == "☑"))
        return tuple(found)
