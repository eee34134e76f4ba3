"""Pages without scripts: text in, HTML out. Whatever is not ours is escaped."""

from __future__ import annotations

from html import escape

from fastapi import Response

_STYLE = """
:root { color-scheme: light dark; --ink: #1c2024; --paper: #fff; --soft: #f3f4f6; --line: #d9dde2;
  --link: #0b7285; --dim: #5b6470; --mark: #0b7285; --wrong: #c92a2a }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e7ea; --paper: #242424; --soft: #2e2e2e;
  --line: #424242; --link: #66cbdb; --dim: #a3adb8; --mark: #0b8aa0; --wrong: #ff8787 } }
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
input, button { font: inherit; padding: .5rem .75rem; border-radius: 8px }
input { width: 100%; color: inherit; background: var(--paper); border: 1px solid var(--line) }
button { font-weight: 600; color: #fff; background: #0b7285; border: 0; cursor: pointer }
:focus-visible { outline: 2px solid var(--mark); outline-offset: 2px }
.card { max-width: 27rem; margin: 12vh auto 0; padding: 1.5rem; border: 1px solid var(--line);
  border-radius: 8px }
.brand { display: flex; align-items: center; gap: .6rem; font-weight: 700; font-size: 1.15rem }
.card h1 { font-size: 1.35rem; margin: 1rem 0 .25rem } .card label { font-weight: 600 }
.wrong { color: var(--wrong) }
"""


def html_response(
    title: str, body: str, status: int = 200, headers: dict[str, str] | None = None
) -> Response:
    """``body`` is HTML already; ``title`` is text."""
    text = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        # Under `no-referrer`, as our headers have it, a browser sends a form with `Origin: null`,
        # which our own door refuses: nobody could sign in. Others are told nothing either way.
        '<meta name="referrer" content="same-origin">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>{body}</body></html>"
    )
    kept = {"Cache-Control": "no-store"} | (headers or {})
    return Response(text, status, kept, media_type="text/html")


def html_element(tag: str, text: str, kind: str = "") -> str:
    """Text in an element, escaped."""
    return (
        f'<{tag} class="{kind}">{escape(text)}</{tag}>'
        if kind
        else f"<{tag}>{escape(text)}</{tag}>"
    )


def prose_html(text: str) -> str:
    """Text with `code` in it, escaped."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # one mark too few: none of them means anything
        return escape(text)
    return "".join(
        html_element("code", part) if place % 2 else escape(part)
        for place, part in enumerate(parts)
    )
