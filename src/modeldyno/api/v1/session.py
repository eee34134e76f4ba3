"""``/api/v1/session``: who asks, and how a browser comes in and leaves.

(A browser's session, as everybody else uses the word; elsewhere here it is one loaded engine.)
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

from fastapi import APIRouter, Request, Response
from pydantic import Field

from modeldyno.api.access import CALLER, Access
from modeldyno.api.errors import Refusal, Refused
from modeldyno.api.listening import Listening, set_cookie
from modeldyno.api.v1.shape import Moment, Told, problems
from modeldyno.services.sign_ins import CODE_LIFETIME_S


class SessionTold(Told):
    by: Literal["token", "cookie", "open door"] = Field(
        description="What let you in; the door is open for a server started with `--no-token`."
    )
    csrf: str | None = Field(
        None,
        description="For a cookie: what changes must send as `X-Modeldyno-CSRF`.",
        examples=["Yk3…"],
    )
    until: Moment | None = Field(None, description="For a cookie: when it ends.")


class CodeTold(Told):
    code: str = Field(examples=["q0Xv…"])
    path: str = Field(
        description="What a browser opens to be signed in.", examples=["/login?code=q0Xv…"]
    )
    lifetime_s: float = Field(description="It works once, and for this long.", examples=[60])


def router(listening: Listening, access: Access) -> APIRouter:
    routes = APIRouter(prefix="/session", tags=["session"])

    @routes.get("", responses=problems())
    def get_session(request: Request) -> SessionTold:
        """Who you are to the server; for the server's own page, also its proof against forgery."""
        caller = request.scope[CALLER]
        if caller.sign_in is None:
            return SessionTold(by=caller.by, csrf=None, until=None)
        until = datetime.fromtimestamp(caller.sign_in.until_s, UTC)
        return SessionTold(by=caller.by, csrf=caller.sign_in.csrf, until=until)

    @routes.delete("", status_code=204, responses=problems())
    def sign_out(request: Request, response: Response) -> None:
        """Ends the cookie that this request came with. A token is no session: it stays good."""
        access.sign_out(request.scope[CALLER])
        response.headers["Set-Cookie"] = set_cookie(listening.cookie, "", 0)

    @routes.post("/codes", status_code=201, responses=problems())
    def create_code(request: Request) -> CodeTold:
        """A one-time code, which may stand in an address where the token must not.

        Needs the token in a header.
        """
        code = access.new_code(request.scope[CALLER])
        if isinstance(code, Refusal):
            raise Refused(code)
        return CodeTold(code=code, path=f"/login?code={code}", lifetime_s=CODE_LIFETIME_S)

    return routes
