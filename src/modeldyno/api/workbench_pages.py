"""The workbench itself: one page that knows what to show at each of its addresses."""

from __future__ import annotations

from urllib.parse import quote

from fastapi import APIRouter, Request, Response

from modeldyno.api.access import Access
from modeldyno.api.errors import Refusal, Refused
from modeldyno.api.server_address import Listening
from modeldyno.store.workbench_page import PageFile, WorkbenchPage

# What `web/src/app/router.tsx` has.
ADDRESSES = ("/new", "/p/{rest:path}", "/queue", "/system", "/settings")
# The name of an asset changes with its content.
FOR_EVER = "public, max-age=31536000, immutable"
NO_FILE = Refusal(404, "NOT_FOUND", "There is no such file", "", "Reload the page")


def router(built: WorkbenchPage, listening: Listening, access: Access) -> APIRouter:
    routes = APIRouter()

    def page(request: Request) -> Response:
        """A browser that is not signed in has to sign in first, and comes back to this address."""
        if listening.needs_token and not access.page_sign_in(request.scope):
            wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
            headers = {"Location": f"/login?next={quote(wanted)}", "Cache-Control": "no-store"}
            return Response(status_code=303, headers=headers)
        return index_response(built, request)

    for address in ADDRESSES:
        routes.get(address)(page)

    @routes.get("/assets/{name}")
    def asset(name: str, request: Request) -> Response:
        return _file_response(built.find(f"assets/{name}"), request, FOR_EVER)

    @routes.get("/icon.svg")
    def icon(request: Request) -> Response:
        return _file_response(built.find("icon.svg"), request, "no-cache")

    return routes


def index_response(built: WorkbenchPage, request: Request) -> Response:
    return _file_response(built.index if built.is_built else None, request, "no-cache")


def _file_response(file: PageFile | None, request: Request, cache: str) -> Response:
    if file is None:
        raise Refused(NO_FILE)
    headers = {"Cache-Control": cache, "ETag": file.plain.tag, "Vary": "Accept-Encoding"}
    if request.headers.get("if-none-match") == file.plain.tag:
        return Response(status_code=304, headers=headers)
    packs = "gzip" in request.headers.get("accept-encoding", "")
    if packs and file.packed is not None:
        headers["Content-Encoding"] = "gzip"
        return Response(file.packed, headers=headers, media_type=file.plain.media_type)
    return Response(file.plain.body, headers=headers, media_type=file.plain.media_type)
