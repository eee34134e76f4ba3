"""Who sends a request, and whether they may do what it asks for.

The token in a header is always enough. A cookie is sent by browsers on their own, so it counts only
when the browser, or our page, says that our page asked; and to change something, our page must
prove it. In a query the token works for two kinds of file, which open in tabs of their own, and at
``/login``, which gives a cookie for it.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import parse_qs

from modeldyno.api.errors import FORGERY, TOKEN, Refusal, rate_limit_refusal
from modeldyno.api.request_head import Head
from modeldyno.services.failed_attempts import FailedAttempts
from modeldyno.services.sign_ins import SignIns
from modeldyno.store.records.sign_ins import SignIn

SAFE_METHODS = frozenset(("GET", "HEAD", "OPTIONS"))
# A form can send none of these across origins without asking us first.
BODY_TYPES = (b"application/json", b"application/octet-stream")
TOKEN_IN_QUERY = ("/output.log", "/config.yaml")

# Of `/api`, where every operation answers GET: those that change nothing. What is not here acts.
# `benchmark` is missing on purpose: with an input model it starts work.
READING = frozenset(
    """
    project project/list model/list model/graph model/graph/highlight_pattern model/download
    dataset dataset/list dataset/predefined
    optimization optimization/list optimization/config.yaml optimization/output.log
    benchmark/list benchmark/config.yaml benchmark/output.log
    profiling profiling/list profiling/config.yaml profiling/output.log profiling/results/csv
    diagnosis/op_list diagnosis/op_details diagnosis/histogram diagnosis/model_wise_params
    dict/domains dict/domain_flavours dict/optimization_types dict/optimization_types/precision
    dict/precisions dict/dataloaders dict/dataloaders/framework dict/transforms
    dict/transforms/framework dict/transforms/domain dict/metrics dict/metrics/framework
    examples/list list_model_zoo get_possible_values get_default_path filesystem system_info
    jobs/queue
    """.split()  # noqa: SIM905 - a name to a line would fill the page
)

CALLER = "modeldyno.caller"  # where the application finds the caller, in its scope


@dataclass(frozen=True)
class Caller:
    by: Literal["token", "cookie", "open door"]
    under: str = ""  # the hash of the token that let it in
    sign_in: SignIn | None = None


OPEN_DOOR = Caller("open door")


class Access:
    """``sign_ins`` is None for ``--no-token``: then the host names are the door."""

    def __init__(self, sign_ins: SignIns | None, cookie: str, failures: FailedAttempts) -> None:
        self._sign_ins = sign_ins
        self._cookie = cookie.encode()
        self._failures = failures

    def admit(self, head: Head) -> Caller | Refusal | None:
        """None: an anonymous caller, where that is allowed."""
        if self._sign_ins is None:
            return OPEN_DOOR
        if head.surface == "page":
            return None
        token = token_of(head)
        if token is not None:
            return self._caller_by_token(token) or self._count_failure(head.client)
        sign_in = self._sign_ins.find(cookie_of(head, self._cookie))
        if sign_in is not None and is_our_page(head, sign_in):
            return _check_cookie_is_enough(head, sign_in)
        # Socket.IO clients may also send the token after the handshake: see
        # `identify_socket_client`.
        if head.surface == "socket":
            return None
        return self._caller_by_token("") or self._count_failure(
            head.client
        )  # as long as a wrong one takes

    def identify_socket_client(self, scope: Mapping[str, Any], auth: object) -> Caller | None:
        """Who a Socket.IO client is: known since the handshake, or by the token it sends now.

        None: refuse it, before it hears anything.
        """
        known: Caller | None = scope.get(CALLER)
        if known is not None:
            return known
        token = auth.get("token") if isinstance(auth, dict) else None
        caller = self._caller_by_token(token) if isinstance(token, str) else None
        if caller is None:
            self._count_failure(_client_address(scope))
        return caller

    def is_still_allowed(self, caller: Caller) -> bool:
        """Whether that is still true: for connections that last. A new token ends all of them."""
        if self._sign_ins is None or caller.by == "open door":
            return self._sign_ins is None
        if caller.sign_in is not None:
            return self._sign_ins.is_valid(caller.sign_in)
        return self._sign_ins.is_current(caller.under)

    def sign_in(
        self, scope: Mapping[str, Any], code: str = "", token: str = ""
    ) -> tuple[str, SignIn] | Refusal:
        """A cookie's value for a one-time code, or for the token, as ``/login`` got it."""
        if self._sign_ins is None:
            return TOKEN
        granted = (
            self._sign_ins.sign_in_with_code(code)
            if code
            else self._sign_ins.sign_in_with_token(token)
        )
        return granted or self._count_failure(_client_address(scope))

    def is_current_token(self, token: str) -> bool:
        return self._sign_ins is not None and self._caller_by_token(token) is not None

    def page_sign_in(self, scope: Mapping[str, Any]) -> SignIn | None:
        """Whose browser opens one of our pages: those may greet, and show what is no secret."""
        if self._sign_ins is None:
            return None
        headers = [value for name, value in scope["headers"] if name == b"cookie"]
        return self._sign_ins.find(_cookie_named(headers[0], self._cookie)) if headers else None

    def new_code(self, caller: Caller | None) -> str | Refusal:
        """For whoever has the token: a cookie must not make itself last."""
        if self._sign_ins is None or caller is None or caller.by != "token":
            return TOKEN
        return self._sign_ins.new_code()

    def sign_out(self, caller: Caller | None) -> None:
        if self._sign_ins is not None and caller is not None and caller.sign_in is not None:
            self._sign_ins.revoke(caller.sign_in.id)

    def _caller_by_token(self, token: str) -> Caller | None:
        assert self._sign_ins is not None
        under = self._sign_ins.hash_if_current(token)
        return Caller("token", under) if under else None

    def _count_failure(self, client: str) -> Refusal:
        """The same for a wrong token and for none. The right one still gets in: 256 bits are not
        guessed, and a neighbour who sends rubbish must not lock the owner out."""
        wait_s = self._failures.count_and_delay_s(client)
        return rate_limit_refusal(wait_s) if wait_s else TOKEN


def _client_address(scope: Mapping[str, Any]) -> str:
    client = scope.get("client")
    return client[0] if client else ""


def token_of(head: Head) -> str | None:
    """As ``Authorization: TOKEN``, ``Authorization: Bearer TOKEN``, or in the query of a log."""
    header = head.once.get(b"authorization")
    if header is not None:
        text = header.decode("latin-1").strip()
        return text[7:].strip() if text[:7].lower() == "bearer " else text
    if head.surface == "inc" and head.method == "GET" and head.path.endswith(TOKEN_IN_QUERY):
        said = parse_qs(head.query.decode("latin-1")).get("token", ())
        return said[0] if len(said) == 1 else None
    return None


def cookie_of(head: Head, name: bytes) -> str | None:
    """None also when there are two: cookies know no ports, and one may be a neighbour's."""
    return _cookie_named(head.once.get(b"cookie", b""), name)


def _cookie_named(cookies: bytes, name: bytes) -> str | None:
    pairs = [pair.strip().partition(b"=") for pair in cookies.split(b";")]
    ours = [value for key, _, value in pairs if key == name]
    return ours[0].decode("latin-1") if len(ours) == 1 else None


def is_our_page(head: Head, sign_in: SignIn) -> bool:
    """Browsers send neither Origin nor Sec-Fetch-Site with a GET over plain http to another
    machine; a header that only our page can know is as good."""
    if head.once.get(b"sec-fetch-site") == b"same-origin" or _has_proof(head, sign_in):
        return True
    origin = head.once.get(b"origin")
    return origin is not None and origin.partition(b"://")[2] == head.once[b"host"]


def has_side_effects(head: Head) -> bool:
    """Whether a GET would start or change something."""
    if head.surface == "inc":
        return head.path.removeprefix("/api/") not in READING
    return head.surface == "named"  # measures, and answers with the result


def _check_cookie_is_enough(head: Head, sign_in: SignIn) -> Caller | Refusal:
    caller = Caller("cookie", sign_in.under, sign_in)
    if head.surface == "socket":  # says nothing by itself, and was shown to be our page
        return caller
    if head.method in SAFE_METHODS:
        return TOKEN if has_side_effects(head) else caller
    has_body = bool(head.body_bytes) or b"transfer-encoding" in head.once
    kind = head.once.get(b"content-type", b"").partition(b";")[0].strip().lower()
    is_ours = b"origin" in head.once and _has_proof(head, sign_in)
    return caller if is_ours and (not has_body or kind in BODY_TYPES) else FORGERY


def _has_proof(head: Head, sign_in: SignIn) -> bool:
    said = head.once.get(b"x-modeldyno-csrf", b"")
    return hmac.compare_digest(said, sign_in.csrf.encode())
