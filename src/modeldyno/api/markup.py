"""Pages without scripts: text in, HTML out. Whatever is not ours is escaped."""

from __future__ import annotations

from html import escape

from fastapi import Response

_STYLE = """
:root { color-scheme: light dark; --ink: #1c2024; --paper: #fff; --soft: #f3f4f6; --line: #d9dde2;
  --link: #0b62c4; --dim: #5b6470 }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e7ea; --paper: #14171a; --soft: #1d2125;
  --line: #343a40; --link: #6db3ff; --dim: #9aa4af } }
* { box-sizing: border-box }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 64rem; margin: 0 auto; padding: 2rem 1.25rem 4rem }
a { color: var(--link) }
h1 { font-size: 1.7rem } h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line) }
code, pre, .mono { font: .875rem/1.5 ui-monospace, monospace }
pre { background: var(--soft); padding: .75rem; overflow-x: auto; border-radius: 6px }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; vertical-align: top; padding: .3rem .75rem .3rem 0;
  border-bottom: 1px solid var(--line) }
th { font-weight: 600; color: var(--dim) }
details { border: 1px solid var(--line); border-radius: 6px; margin: .5rem 0; padding: 0 .75rem }
summary { cursor: pointer; padding: .5rem 0 } details[open] { padding-bottom: .75rem }
.method { display: inline-block; min-width: 4.5rem; font-weight: 700 }
.dim { color: var(--dim) }
input, button { font: inherit; padding: .4rem .6rem } input { width: 100%; max-width: 34rem }
"""


def page(
    title: str, body: str, status: int = 200, headers: dict[str, str] | None = None
) -> Response:
    """``body`` is HTML already; ``title`` is text."""
    text = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>{body}</body></html>"
    )
    kept = {"Cache-Control": "no-store"} | (headers or {})
    return Response(text, status, kept, media_type="text/html")


def element(tag: str, text: str, kind: str = "") -> str:
    """Text in an element, escaped."""
    return (
        f'<{tag} class="{kind}">{escape(text)}</{tag}>'
        if kind
        else f"<{tag}>{escape(text)}</{tag}>"
    )


def prose(text: str) -> str:
    """Text with `code` in it, escaped."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # one mark too few: none of them means anything
        return escape(text)
    return "".join(
        element("code", part) if place % 2 else escape(part) for place, part in enumerate(parts)
    )
