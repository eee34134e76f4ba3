"""Tokens, cookies, and what each of them is enough for."""

import pytest

from modeldyno.api import errors
from modeldyno.api.access import READING
from modeldyno.api.server_address import Listening, cookie_header, safe_landing_path
from tests.api.asking import BEARER, ORIGIN, TOKEN, Door

SAME = ("Sec-Fetch-Site", "same-origin")
HERE = ("Origin", ORIGIN)
JSON = ("Content-Type", "application/json")


def status(door, *arguments, **more):
    return door.ask(*arguments, **more).status


@pytest.fixture
def door():
    return Door()


@pytest.mark.parametrize("token", ["", " ", "x", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "Bearer"])
def test_w17_a_token_that_is_not_quite_right_is_refused(door, token):
    for raw in (token, f"Bearer {token}"):
        assert status(door, "GET", "/api/v1/x", ("Authorization", raw)) == 401


def test_wrong_and_missing_get_the_same_answer(door):
    missing = door.ask("GET", "/api/v1/x")
    wrong = door.ask("GET", "/api/v1/x", ("Authorization", "Bearer nonsense"))
    assert (missing.status, missing.headers, missing.body) == (
        wrong.status,
        wrong.headers,
        wrong.body,
    )


def test_ten_failures_a_minute_are_answered_then_429(door):
    for number in range(10):
        headers = (("Authorization", "x"),) if number % 2 else ()
        assert status(door, "GET", "/api/v1/x", *headers) == 401
    reply = door.ask("GET", "/api/v1/x")
    assert (reply.status, reply.header("retry-after")) == (429, "60")
    assert status(door, "GET", "/api/x") == 429
    assert status(door, "GET", "/api/v1/x", BEARER) == 200  # the owner is not locked out
    door.clock.now_s += 61
    assert status(door, "GET", "/api/v1/x") == 401


def test_a_query_token_opens_logs_and_configurations_alone(door):
    query = f"id=1&autorefresh=3&token={TOKEN}"
    for path in ("/api/benchmark/output.log", "/api/optimization/config.yaml"):
        assert status(door, "GET", path, query=query) == 200
        assert status(door, "GET", path, query="token=wrong") == 403
        assert status(door, "GET", path, query=f"{query}&token={TOKEN}") == 403
        assert status(door, "POST", path, query=query) == 403
    for path in ("/api/project/list", "/api/benchmark/output.log/x", "/api/xoutput.log"):
        assert status(door, "GET", path, query=query) == 403
    assert status(door, "GET", "/api/v1/runs/1/output.log", query=query) == 401


# ---------------------------------------------------------------- cookies


def test_a_cookie_reads_for_our_own_page(door):
    cookie, csrf = door.cookie()
    assert status(door, "GET", "/api/v1/x", cookie, SAME) == 200
    assert door.inner.caller.by == "cookie"
    assert status(door, "GET", "/api/v1/x", cookie, HERE) == 200
    assert status(door, "GET", "/api/v1/x", cookie, csrf) == 200


@pytest.mark.parametrize("site", [None, "none", "cross-site", "same-site", "Same-Origin", ""])
def test_w10_a_cookie_alone_counts_nothing(door, site):
    cookie, _ = door.cookie()
    said = () if site is None else (("Sec-Fetch-Site", site),)
    for mode in ((), (("Sec-Fetch-Mode", "no-cors"),), (("Sec-Fetch-Mode", "same-origin"),)):
        assert status(door, "GET", "/api/v1/x", cookie, *said, *mode) in (401, 403)
    assert status(door, "GET", "/api/v1/x", cookie, SAME) == 200


def test_a_cookie_does_not_count_for_the_same_server_under_another_name(door):
    cookie, _ = door.cookie()
    assert status(door, "GET", "/api/v1/x", cookie, ("Origin", "http://localhost:5000")) == 401


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "BREW"])
def test_w4_a_change_by_cookie_needs_proof_and_origin(door, method):
    cookie, csrf = door.cookie()
    enough = (cookie, csrf, HERE, JSON)
    assert status(door, method, "/api/v1/x", *enough) == 200
    assert status(door, method, "/api/x", *enough) == 200
    for missing in (csrf, HERE):
        rest = [header for header in enough if header != missing]
        assert status(door, method, "/api/v1/x", *rest, SAME) == 403
    other = ("X-Modeldyno-CSRF", "1")
    assert status(door, method, "/api/v1/x", cookie, other, HERE, JSON) == 403


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_w4_a_form_changes_nothing_by_cookie(door, kind):
    cookie, csrf = door.cookie()
    sent = (cookie, csrf, HERE, ("Content-Length", "2"))
    assert status(door, "POST", "/api/v1/x", *sent, ("Content-Type", kind)) == 403
    assert status(door, "POST", "/api/v1/x", *sent, JSON) == 200


def test_a_get_that_acts_needs_the_header(door):
    cookie, csrf = door.cookie()
    for path in (
        "/api/v1/benchmark/net",
        "/api/benchmark/execute",
        "/api/project/delete",
        "/api/x",
    ):
        assert status(door, "GET", path, cookie, SAME, csrf, HERE) in (401, 403)
        assert status(door, "GET", path, BEARER) == 200
    assert status(door, "GET", "/api/project/list", cookie, SAME) == 200
    assert status(door, "GET", "/api/v1/benchmarks", cookie, SAME) == 200


def test_operations_that_act_are_not_listed_as_reading():
    acting = {"add", "edit", "delete", "execute", "create", "note", "generate_optimization"}
    acting |= {"boundary_nodes", "pin_accuracy_benchmark", "pin_performance_benchmark"}
    assert not [name for name in READING if name.rpartition("/")[2] in acting]
    assert "benchmark" not in READING  # starts work when it is given a model
    assert len(READING) > 35


def test_two_cookies_of_our_name_are_none(door):
    (_, good), _ = door.cookie()
    assert status(door, "GET", "/api/v1/x", ("Cookie", f"a=b; {good}"), SAME) == 200
    twice = ("Cookie", f"{good}; modeldyno-5000=neighbour")
    assert status(door, "GET", "/api/v1/x", twice, SAME) == 401
    other_port = ("Cookie", good.replace("5000", "5001"))
    assert status(door, "GET", "/api/v1/x", other_port, SAME) == 401


def test_a_wrong_header_is_not_saved_by_a_cookie(door):
    cookie, _ = door.cookie()
    assert status(door, "GET", "/api/v1/x", cookie, SAME, ("Authorization", "x")) == 401


def test_w18_a_new_token_ends_every_sign_in(door):
    cookie, _ = door.cookie()
    assert status(door, "GET", "/api/v1/x", cookie, SAME) == 200
    door.token = "n" * 43
    assert status(door, "GET", "/api/v1/x", cookie, SAME) == 401
    assert status(door, "GET", "/api/v1/x", BEARER) == 401
    door.token = TOKEN  # not even when the old one comes back
    assert status(door, "GET", "/api/v1/x", cookie, SAME) == 401


def test_the_cookie_is_for_this_server_alone():
    told = cookie_header("modeldyno-5000", "secret", 60)
    assert told == "modeldyno-5000=secret; Path=/; Max-Age=60; HttpOnly; SameSite=Strict"
    assert cookie_header("n", "s", 60, secure=True).endswith("; Secure")
    assert "Max-Age=0" in cookie_header("n", "", 60)


# ---------------------------------------------------------------- Socket.IO


def test_w8_a_socket_needs_the_token_at_the_latest_when_it_connects(door):
    assert status(door, path="/socket.io/", kind="websocket") == 101
    assert door.inner.caller is None
    scope = door.inner.scopes[-1]
    for auth in (None, {}, {"token": None}, {"token": ""}, {"token": "x"}, TOKEN, [TOKEN]):
        assert door.access.identify_socket_client(scope, auth) is None
    assert door.access.identify_socket_client(scope, {"token": TOKEN}).by == "token"
    assert door.access.identify_socket_client({}, {}) is None
    for _ in range(3):
        door.access.identify_socket_client(scope, None)
    assert status(door, "GET", "/api/v1/x") == 429  # those counted, too


def test_w18_a_connection_that_lasts_ends_with_the_token(door):
    cookie, _ = door.cookie()
    door.ask("GET", "/socket.io/", BEARER, kind="websocket")
    door.ask("GET", "/socket.io/", cookie, HERE, kind="websocket")
    callers = [door.access.identify_socket_client(scope, None) for scope in door.inner.scopes]
    callers.append(door.access.identify_socket_client({}, {"token": TOKEN}))
    assert [door.access.is_still_allowed(caller) for caller in callers] == [True] * 3
    door.token = "n" * 43
    assert [door.access.is_still_allowed(caller) for caller in callers] == [False] * 3
    door.token = TOKEN
    door.sign_ins.revoke_all()
    assert [door.access.is_still_allowed(caller) for caller in callers] == [True, False, True]


def test_signing_in_is_limited_like_everything_else(door):
    scope = {"client": ("127.0.0.1", 1)}
    assert door.access.sign_in(scope, code=door.sign_ins.new_code())[1].csrf
    assert door.access.sign_in(scope, token=TOKEN)[1].csrf
    wrong = [("", ""), ("x", ""), ("", "x"), ("x", TOKEN)] * 3
    found = [door.access.sign_in(scope, code, token) for code, token in wrong]
    assert found == [errors.TOKEN] * 10 + [errors.rate_limit_refusal(60)] * 2
    open_door = Door(Listening(needs_token=False))
    assert open_door.access.sign_in(scope, token=TOKEN) == errors.TOKEN


def test_w9_a_socket_with_a_wrong_token_is_not_even_opened(door):
    wrong = ("Authorization", "Bearer x")
    assert door.ask("GET", "/socket.io/", wrong, kind="websocket").closed == 1008
    assert door.ask("GET", "/socket.io/", wrong).status == 401
    assert door.ask("GET", "/socket.io/", BEARER, kind="websocket").status == 101
    assert door.access.identify_socket_client(door.inner.scopes[-1], None)


def test_a_cookie_opens_a_socket_for_our_own_page(door):
    cookie, _ = door.cookie()
    assert door.ask("GET", "/socket.io/", cookie, HERE, kind="websocket").status == 101
    assert door.access.identify_socket_client(door.inner.scopes[-1], None)
    assert door.ask("GET", "/socket.io/", cookie, kind="websocket").status == 101
    assert door.access.identify_socket_client(door.inner.scopes[-1], None) is None


# ---------------------------------------------------------------- where one lands


@pytest.mark.parametrize("wanted", ["/", "/projects/1", "/runs?id=1&tab=log", "/a#b"])
def test_one_lands_on_the_page_one_wanted(wanted):
    assert safe_landing_path(wanted) == wanted


@pytest.mark.parametrize(
    "wanted",
    [
        "//evil.example", "\\\\evil.example", "/\\evil.example", "https://evil.example", "evil",
        "/%5cevil.example", "/%2fevil.example", "javascript:alert(1)", "/\tevil",
        "/a\r\nSet-Cookie: b",
        "", " /", "/ /evil", "/@evil.example", "/a%5C", "///evil.example", "/‮evil",
    ],
)  # fmt: skip
def test_w20_one_never_lands_elsewhere(wanted):
    assert safe_landing_path(wanted) == "/"
