"""``/api/v1/session``: who asks, and how a browser comes in and leaves.

(A browser's session, as everybody else uses the word; elsewhere here it is one loaded engine.)
"""

from __future__ import annotations

from datetime import UTC, datetime

from fastapi import APIRouter, Request, Response

from modeldyno.api.access import CALLER, Access
from modeldyno.api.errors import Refusal, Refused
from modeldyno.api.server_address import Listening, cookie_header
from modeldyno.api.v1.shape import answer, gives, gives_nothing
from modeldyno.core.documents.hosts import SessionDocument, SignInCodeDocument
from modeldyno.services.sign_ins import CODE_LIFETIME_S


def router(listening: Listening, access: Access) -> APIRouter:
    routes = APIRouter(prefix="/session", tags=["session"])

    @routes.get("", **gives(SessionDocument))
    def get_session(request: Request) -> Response:
        """Who you are to the server; for the server's own page, also its proof against forgery."""
        caller = request.scope[CALLER]
        if caller.sign_in is None:
            return answer(SessionDocument(by=caller.by))
        until = datetime.fromtimestamp(caller.sign_in.until_s, UTC)
        return answer(SessionDocument(by=caller.by, csrf=caller.sign_in.csrf, until=until))

    @routes.delete("", **gives_nothing())
    def sign_out(request: Request, response: Response) -> None:
        """Ends the cookie that this request came with. A token is no session: it stays good."""
        access.sign_out(request.scope[CALLER])
        response.headers["Set-Cookie"] = cookie_header(listening.cookie, "", 0)

    @routes.post("/codes", **gives(SignInCodeDocument, status=201))
    def create_code(request: Request) -> Response:
        """A one-time code, which may stand in an address where the token must not.

        Needs the token in a header.
        """
        code = access.new_code(request.scope[CALLER])
        if isinstance(code, Refusal):
            raise Refused(code)
        path = f"/login?code={code}"
        document = SignInCodeDocument(code=code, path=path, lifetime_s=CODE_LIFETIME_S)
        return answer(document, 201)

    return routes
