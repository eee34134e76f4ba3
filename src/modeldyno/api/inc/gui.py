"""The web client that came with INC Bench (``store/web_client.py``), at ``/``."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from starlette.convertors import register_url_convertor

from modeldyno.api.access import Access
from modeldyno.api.errors import Refusal
from modeldyno.api.inc.operations import OutsidePaths
from modeldyno.api.markup import html_element, html_response
from modeldyno.api.server_address import Listening, cookie_header
from modeldyno.services.sign_ins import LIFETIME_S
from modeldyno.store.web_client import INDEX, Asset, WebClient


def router(client: WebClient, listening: Listening, access: Access) -> APIRouter:
    """Takes any path that no other route has, so it must come last."""
    routes = APIRouter()

    @routes.get("/{name:of_client}")
    def show(
        name: str, request: Request, token: Annotated[str, Query(max_length=2000)] = ""
    ) -> Response:
        """The token stays in the address, where the client reads it; in exchange the browser also
        gets a cookie, which Socket.IO connects with."""
        asset = client.find(name)
        if asset is not None:
            return _asset_response(asset, request)
        if not listening.needs_token:
            return _asset_response(client.index, request)
        if not token:
            is_first = name in ("", INDEX)
            return (
                html_response("Sign in", _SIGN_IN_FORM)
                if is_first
                else _asset_response(client.index, request)
            )
        return _with_cookie(request, token)

    def _with_cookie(request: Request, token: str) -> Response:
        response = _asset_response(client.index, request)
        if access.page_sign_in(request.scope) and access.is_current_token(token):  # reloaded
            return response
        sign_in = access.sign_in(request.scope, token=token)
        if isinstance(sign_in, Refusal):
            headers = {name.decode(): value.decode() for name, value in sign_in.headers}
            body = html_element("p", f"{sign_in.title}.") + _SIGN_IN_FORM
            return html_response("Sign in", body, sign_in.status, headers)
        is_secure = listening.scheme == "https"
        cookie = cookie_header(listening.cookie, sign_in[0], LIFETIME_S, secure=is_secure)
        response.headers["Set-Cookie"] = cookie
        return response

    return routes


# Submits to `/?token=…`, the address in the original's start message.
_SIGN_IN_FORM = (
    "<h1>INC Bench, on Modeldyno</h1>"
    "<p>The client needs the token in its address. <code>modeldyno token</code> prints it.</p>"
    '<form method="get" action="/">'
    '<p><label for="token">Token</label><br>'
    '<input id="token" name="token" type="password" autocomplete="off" required></p>'
    "<p><button>Open</button></p></form>"
)


# Neither the API nor Socket.IO, whatever they have there.
register_url_convertor("of_client", OutsidePaths("api", "socket.io"))


def _asset_response(asset: Asset, request: Request) -> Response:
    headers = {"Cache-Control": "no-cache", "ETag": asset.tag}
    if request.headers.get("if-none-match") == asset.tag:
        return Response(status_code=304, headers=headers)
    return Response(asset.body, headers=headers, media_type=asset.media_type)
