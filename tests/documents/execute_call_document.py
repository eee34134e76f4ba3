"""Read the document of the older call, "execute benchmark": a page of HTML."""

from __future__ import annotations

from html.parser import HTMLParser

from tests.documents.documented import Documented, Said
from tests.documents.inc_bench_document import parsed

NAME = "000_inc_execute_benchmark_endpoint.html"


def read(text: str) -> Documented:
    page = _Page()
    page.feed(text)
    path, *subjects = page.codes
    _, body, *data = page.blocks  # the first one describes a model, with remarks
    names = [cell for cell in page.strong if cell in ("id", "workspace_path") or "_model" in cell]
    return Documented(
        path=path.removeprefix("/api/"),
        method="POST",
        parameters=tuple((name, False) for name in names),  # the page does not say which
        body=parsed(body),
        events=tuple(Said(name, parsed(block)) for name, block in zip(subjects, data, strict=True)),
    )


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.codes: list[str] = []
        self.blocks: list[str] = []
        self.strong: list[str] = []
        self._into: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {"code": self.codes, "pre": self.blocks, "strong": self.strong}.get(tag)
        if found is not None:
            found.append("")
            self._into = found

    def handle_endtag(self, tag: str) -> None:
        if tag in ("code", "pre", "strong"):
            self._into = None

    def handle_data(self, data: str) -> None:
        if self._into is not None:
            self._into[-1] += data
