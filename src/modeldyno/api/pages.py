"""The few pages of the server itself: where it is, how to come in, what it offers to programs."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import parse_qs

from fastapi import APIRouter, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from modeldyno.api import docs_page
from modeldyno.api.access import Access
from modeldyno.api.errors import MEDIA_TYPE, Refusal, Refused
from modeldyno.api.markup import html_element, html_response, prose_html
from modeldyno.api.server_address import Listening, cookie_header, safe_landing_path
from modeldyno.api.workbench_pages import index_response
from modeldyno.services.sign_ins import LIFETIME_S
from modeldyno.store.workbench_page import WorkbenchPage

if TYPE_CHECKING:
    from modeldyno.store.records.projects import ProjectRecords

_FORM = "application/x-www-form-urlencoded"
_Short = Annotated[str, Query(max_length=2000)]


def router(
    projects: ProjectRecords,
    listening: Listening,
    access: Access,
    describe: Callable[[], dict[str, Any]],
    workbench: WorkbenchPage,
    *,
    has_home: bool,
) -> APIRouter:
    routes = APIRouter()
    written: list[str] = []

    @routes.get("/healthz")
    async def healthz() -> dict[str, str]:
        return {"status": "ok"}

    def home(request: Request) -> Response:
        if not listening.needs_token or access.page_sign_in(request.scope):
            if workbench.is_built:
                return index_response(workbench, request)
            count = projects.count()
            standing = f"{count} project{'' if count == 1 else 's'} so far. {_NOT_BUILT}"
            return html_response("Modeldyno", _home_page(standing))
        return html_response("Modeldyno", _sign_in_page("", "You are not signed in."))

    if has_home:
        routes.get("/")(home)

    @routes.get("/docs")
    def docs() -> Response:
        if not written:
            written.append(docs_page.write_docs_page(describe()))
        return html_response("The API of Modeldyno", written[0])

    @routes.get("/login")
    def login(
        request: Request, code: _Short = "", token: _Short = "", next: _Short = "/"
    ) -> Response:
        """By the one-time code or the token in the address; with neither, a form that asks for the
        token. Where it leads to has neither, and no answer of ours tells an address to others."""
        if not listening.needs_token:
            return _redirect(safe_landing_path(next))
        if not code and not token:
            return html_response("Sign in", _sign_in_page(next))
        return come_in(request, next, code, token)

    @routes.post("/login")
    async def login_by_token(request: Request) -> Response:
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
            raise Refused(MEDIA_TYPE)
        sent = _parse_form(await request.body())
        if not listening.needs_token:
            return _redirect(safe_landing_path(sent["next"]))
        # In a thread: it writes to the database.
        return await run_in_threadpool(come_in, request, sent["next"], "", sent["token"].strip())

    def come_in(request: Request, next: str, code: str = "", token: str = "") -> Response:
        signed_in = access.sign_in(request.scope, code, token)
        if isinstance(signed_in, Refusal):
            more = {name.decode(): value.decode() for name, value in signed_in.headers}
            text = f"{signed_in.title}: {signed_in.fix}." if signed_in.status == 429 else _WRONG
            return html_response("Sign in", _sign_in_page(next, wrong=text), signed_in.status, more)
        cookie = cookie_header(
            listening.cookie, signed_in[0], LIFETIME_S, secure=listening.scheme == "https"
        )
        return _redirect(safe_landing_path(next), cookie)

    return routes


_NOT_BUILT = "The workbench's page is not built here: `make web` in the checkout does that."
_WRONG = (
    "That did not work. A code works once, for a minute: run `modeldyno open` again. "
    "Or give the token, which `modeldyno token` prints."
)
# The mark of `web/public/icon.svg`, drawn in place: these pages load nothing.
_BRAND = (
    '<div class="brand"><svg viewBox="0 0 32 32" width="26" height="26" aria-hidden="true">'
    '<rect width="32" height="32" rx="8" fill="#0b7285"/><path d="M6 22a10 10 0 0 1 20 0" '
    'fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round"/><path d="M16 22l5-8" '
    'stroke="#ffd43b" stroke-width="3" stroke-linecap="round"/><circle cx="16" cy="22" r="2.5" '
    'fill="#fff"/></svg>Modeldyno</div>'
)


def _home_page(standing: str) -> str:
    return (
        "<h1>Modeldyno</h1>"
        "<p>Measures neural-network models across inference engines, and says how sure the numbers "
        "are. This is its server; programs and terminals talk to it.</p>"
        f"<p>{prose_html(standing)}</p>"
        '<p><a href="/docs">What it offers to programs</a></p>'
    )


def _sign_in_page(next: str, standing: str = "", wrong: str = "") -> str:
    """One field, and the way that needs none."""
    alert = f'<p class="wrong" role="alert">{prose_html(wrong)}</p>' if wrong else ""
    return (
        f'<main class="card">{_BRAND}<h1>Sign in</h1>'
        f"{html_element('p', standing, 'dim') if standing else ''}{alert}"
        '<form method="post" action="/login">'
        '<p><label for="token">Token</label><br>'
        '<input id="token" name="token" type="password" autocomplete="off" required autofocus></p>'
        f'<input type="hidden" name="next" value="{escape(safe_landing_path(next))}">'
        "<p><button>Sign in</button></p></form>"
        '<p class="dim">Paste the token from the terminal: <code>modeldyno token</code> prints it. '
        "Or run <code>modeldyno open</code>, which signs you in without copying.</p>"
        '<p><a href="/docs">What the server offers to programs</a></p></main>'
    )


def _redirect(where: str, cookie: str = "") -> Response:
    headers = {"Location": where, "Cache-Control": "no-store"}
    return Response(status_code=303, headers=headers | ({"Set-Cookie": cookie} if cookie else {}))


def _parse_form(body: bytes) -> dict[str, str]:
    """What a form sent, each once; what cannot be read counts as nothing."""
    try:
        sent = parse_qs(body.decode(), max_num_fields=10)
    except ValueError:
        sent = {}
    return {name: sent.get(name, [""])[0] for name in ("token", "next")}
