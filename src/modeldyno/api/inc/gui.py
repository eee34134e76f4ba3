"""The web client that came with INC Bench (``store/web_client.py``), at ``/``."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from starlette.convertors import Convertor, register_url_convertor

from modeldyno.api.access import Access
from modeldyno.api.errors import Refusal
from modeldyno.api.listening import Listening, set_cookie
from modeldyno.api.markup import element, page
from modeldyno.services.sign_ins import LIFETIME_S
from modeldyno.store.web_client import INDEX, Asset, WebClient


def router(client: WebClient, listening: Listening, access: Access) -> APIRouter:
    """Whatever no other route has, so it comes after all of them."""
    routes = APIRouter()

    @routes.get("/{name:of_client}")
    def show(
        name: str, request: Request, token: Annotated[str, Query(max_length=2000)] = ""
    ) -> Response:
        """The token in the address stays there, since that is where the client reads it; with it
        the browser gets a cookie, which its Socket.IO comes in by."""
        asset = client.find(name)
        if asset is not None:
            return _sent(asset, request)
        if not listening.needs_token:
            return _sent(client.index, request)
        if not token:
            is_first = name in ("", INDEX)
            return page("Sign in", _ASK) if is_first else _sent(client.index, request)
        return _with_cookie(request, token)

    def _with_cookie(request: Request, token: str) -> Response:
        response = _sent(client.index, request)
        if access.seen(request.scope) and access.knows(token):  # who reloads has its cookie
            return response
        found = access.sign_in(request.scope, token=token)
        if isinstance(found, Refusal):
            more = {name.decode(): value.decode() for name, value in found.headers}
            return page("Sign in", element("p", f"{found.title}.") + _ASK, found.status, more)
        is_secure = listening.scheme == "https"
        cookie = set_cookie(listening.cookie, found[0], LIFETIME_S, secure=is_secure)
        response.headers["Set-Cookie"] = cookie
        return response

    return routes


# Sends the token in the address: `/?token=…`, as the original's start message had it.
_ASK = (
    "<h1>INC Bench, on Modeldyno</h1>"
    "<p>The client needs the token in its address. <code>modeldyno token</code> prints it.</p>"
    '<form method="get" action="/">'
    '<p><label for="token">Token</label><br>'
    '<input id="token" name="token" type="password" autocomplete="off" required></p>'
    "<p><button>Open</button></p></form>"
)


class _OfClient(Convertor[str]):
    """Neither the API nor Socket.IO, whatever they have there."""

    regex = r"(?!(?:api|socket\.io)(?:/|$)).*"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("of_client", _OfClient())


def _sent(asset: Asset, request: Request) -> Response:
    headers = {"Cache-Control": "no-cache", "ETag": asset.tag}
    if request.headers.get("if-none-match") == asset.tag:
        return Response(status_code=304, headers=headers)
    return Response(asset.body, headers=headers, media_type=asset.media_type)
