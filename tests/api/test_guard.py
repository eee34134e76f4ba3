"""The guard, without a server: who is refused, how, and what passes unchanged."""

import asyncio
import json
import re
from typing import Any

import pytest

from modeldyno.api import errors, guard
from modeldyno.api.server_address import Listening
from modeldyno.core.errors import BadValue, TokenUnusable
from modeldyno.core.redaction import without_folders
from tests.api.asking import BEARER, ORIGIN, TOKEN, Door

NOTHING: Any = None
EVIL = ("Origin", "http://evil.example")


def test_strangers_leave_room_for_those_who_are_known():
    door = Door(limits=guard.Limits(known=2, strangers=1, polling=1))
    cookie, _ = door.cookie()
    page, known = ("GET", "/"), ("GET", "/api/v1/x", BEARER)
    poll = ("GET", "/socket.io/")
    replies = door.ask_during(page, page, known, ("GET", "/", cookie), poll)
    assert [reply.status for reply in replies] == [200, 503, 200, 200, 200]
    assert [reply.status for reply in door.ask_during(known, known, page)] == [200, 200, 200]
    assert [reply.status for reply in door.ask_during(poll, poll, page)] == [200, 503, 200]
    assert [reply.status for reply in (door.ask(*page), door.ask(*known))] == [200, 200]


def test_who_finds_no_room_is_told_so_in_our_words():
    door = Door(limits=guard.Limits(known=1))
    known = ("GET", "/api/v1/x", BEARER)
    _, refused = door.ask_during(known, known)
    assert refused.status == 503
    assert json.loads(refused.body)["code"] == "TOO_MANY_REQUESTS"
    assert refused.header("content-type") == "application/problem+json"
    assert refused.header("retry-after") == "1"
    assert {name.decode(): refused.header(name.decode()) for name, _ in guard.ALWAYS} == {
        name.decode(): value.decode() for name, value in guard.ALWAYS
    }


def test_a_good_request_reaches_the_application_and_says_who_asks():
    door = Door()
    assert door.ask("GET", "/api/v1/projects", BEARER).status == 200
    assert door.inner.caller.by == "token"


def test_pages_need_no_token_and_have_no_caller():
    door = Door()
    assert door.ask("GET", "/").status == 200
    assert door.inner.caller is None


@pytest.mark.parametrize("path", ["/api/v1/x", "/api/v1", "/api/v1/benchmarks"])
def test_our_api_refuses_with_a_problem_document(path):
    reply = Door().ask("GET", path)
    assert (reply.status, reply.header("content-type")) == (401, "application/problem+json")
    assert reply.header("www-authenticate") == "Bearer"
    found = json.loads(reply.body)
    assert (found["status"], found["code"]) == (401, "TOKEN_NEEDED")
    assert all(found[key] for key in ("title", "detail", "fix"))


def test_the_call_by_name_refuses_in_a_shape_of_its_own():
    reply = Door().ask("GET", "/api/v1/benchmark/net")
    assert (reply.status, reply.header("content-type")) == (401, "application/json")
    found = json.loads(reply.body)
    assert (found["status"], found["code"]) == ("error", "TOKEN_NEEDED")
    assert all(found[key] for key in ("message", "detail", "fix"))


@pytest.mark.parametrize("path", ["/api/project/list", "/api", "/api/v1x", "/api/unknown"])
def test_the_other_api_refuses_with_plain_text_and_403(path):
    reply = Door().ask("POST", path)
    assert (reply.status, reply.header("content-type")) == (403, "text/plain; charset=utf-8")
    assert b"token" in reply.body


@pytest.mark.parametrize("surface", ["v1", "named", "inc", "socket", "page"])
def test_every_refusal_fits_every_surface(surface):
    told = [r for r in vars(errors).values() if isinstance(r, errors.Refusal)]
    assert len(told) >= 9
    for refusal in [*told, errors.rate_limit_refusal(3)]:
        status, headers, body = errors.body_of(refusal, surface)
        assert dict(headers)[b"content-length"] == str(len(body)).encode()
        assert status == refusal.status or (surface, status) == ("inc", 403)


@pytest.mark.parametrize("raw", [TOKEN, f"Bearer {TOKEN}", f"bearer {TOKEN}", f"Bearer  {TOKEN} "])
def test_a_token_comes_raw_or_as_bearer(raw):
    assert Door().ask("GET", "/api/v1/x", ("Authorization", raw)).status == 200


def test_a_new_kind_of_connection_does_not_slip_through():
    with pytest.raises(ValueError, match="no rule"):
        asyncio.run(Door().guard({"type": "telnet"}, NOTHING, NOTHING))


def test_lifespan_passes():
    seen = []

    async def app(scope, receive, send):
        seen.append(scope)

    asyncio.run(guard.Guard(app, NOTHING, NOTHING)({"type": "lifespan"}, NOTHING, NOTHING))
    assert seen == [{"type": "lifespan"}]


# ---------------------------------------------------------------- what is ambiguous


@pytest.mark.parametrize("name", ["Host", "Origin", "Content-Length", "Authorization", "Cookie"])
def test_two_of_a_header_that_may_come_once_are_refused(name):
    value = {"Host": "127.0.0.1:5000", "Origin": ORIGIN, "Content-Length": "0"}.get(name, "x")
    assert Door().ask("GET", "/", (name, value)).status == 200
    door = Door()
    assert door.ask("GET", "/", (name, value), (name, value)).status == 400
    assert door.inner.scopes == []


@pytest.mark.parametrize(
    "path",
    ["/api//v1", "//evil", "/a/../b", "/a/./b", "/..", "/a\\b", "/a\0", "/a\n", "x", "*", ""],
)
def test_a_path_that_is_not_plain_is_refused(path):
    assert Door().ask("GET", path, BEARER).status == 400


@pytest.mark.parametrize("length", ["-1", "+1", "1_0", "", "9" * 16, "0x1", " 1"])
def test_a_length_that_is_no_number_is_refused(length):
    assert Door().ask("POST", "/api/v1/x", BEARER, ("Content-Length", length)).status == 400


def test_a_length_beside_chunks_is_refused():
    both = (("Content-Length", "1"), ("Transfer-Encoding", "chunked"))
    assert Door().ask("POST", "/api/v1/x", BEARER, *both).status == 400


def test_r1_a_flood_of_headers_is_refused():
    some = [(f"x-{number}", "y") for number in range(101)]
    assert Door().ask("GET", "/", *some[:90]).status == 200
    assert Door().ask("GET", "/", *some).status == 431
    assert Door().ask("GET", "/", ("x-long", "y" * 40_000)).status == 431


@pytest.mark.parametrize("method", ["TRACE", "CONNECT"])
def test_methods_that_reflect_or_tunnel_are_refused(method):
    assert Door().ask(method, "/").status == 405


def test_a_web_socket_elsewhere_than_at_socket_io_is_refused():
    assert Door().ask(path="/socket.io/", kind="websocket").status == 101
    assert Door().ask(path="/", kind="websocket").closed == 1008
    assert Door().ask(path="/api/v1/x", kind="websocket").closed == 1008


def test_a_link_from_elsewhere_opens_a_page_and_nothing_else():
    link = [
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Mode", "navigate"),
        ("Sec-Fetch-Dest", "document"),
    ]
    door = Door()
    assert door.ask("GET", "/", *link).status == 200
    assert door.ask("POST", "/", *link).status == 403
    assert door.ask("GET", "/api/v1/x", BEARER, *link).status == 403
    assert door.ask("GET", "/", *link[:2]).status == 403
    assert door.ask("GET", "/", link[0], link[2]).status == 403
    assert door.ask("GET", "/", ("Sec-Fetch-Site", "else"), *link[1:]).status == 403
    assert door.ask(path="/socket.io/", kind="websocket").status == 101
    assert door.ask("GET", "/socket.io/", *link, kind="websocket").closed == 1008


def test_when_the_token_cannot_be_used_nobody_gets_in(caplog):
    door = Door()

    def broken():
        raise TokenUnusable("The token cannot be used", why="others can read it")

    door.sign_ins._token = broken
    for headers in ((), (BEARER,)):
        assert door.ask("GET", "/api/v1/x", *headers).status == 503
    assert door.ask("GET", "/socket.io/", BEARER, kind="websocket").closed == 1008
    assert "cannot be used" in caplog.text


# ---------------------------------------------------------------- what the application sees


FORWARDED = [
    "Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Anything",
    "X-Real-IP", "X-Original-URL", "X-Rewrite-URL", "X-HTTP-Method-Override",
]  # fmt: skip


@pytest.mark.parametrize("name", FORWARDED)
def test_forwarded_headers_are_dropped_unless_a_proxy_is_trusted(name):
    for trusts, expected in ((False, []), (True, [b"evil.example"])):
        door = Door(trusts_proxy=trusts)
        assert door.ask("GET", "/", (name, "evil.example"), ("x-other", "1")).status == 200
        seen = door.inner.scopes[-1]["headers"]
        assert [value for key, value in seen if key == name.lower().encode()] == expected
        assert (b"x-other", b"1") in seen


def test_r4_many_ranges_are_no_range():
    door = Door()
    door.ask("GET", "/", ("Range", "bytes=0-1,2-3"))
    assert b"range" not in dict(door.inner.scopes[-1]["headers"])
    door.ask("GET", "/", ("Range", "bytes=0-1"))
    assert b"range" in dict(door.inner.scopes[-1]["headers"])


# ---------------------------------------------------------------- what the client sees


def test_every_answer_has_the_security_headers_once_and_none_for_other_origins():
    door = Door()
    door.inner.headers = (
        (b"Access-Control-Allow-Origin", b"*"),
        (b"access-control-allow-credentials", b"true"),
        (b"Content-Security-Policy", b"default-src *"),
        (b"server", b"uvicorn"),
        (b"cache-control", b"public"),
        (b"x-kept", b"1"),
    )
    replies = [
        door.ask("GET", "/"),
        door.ask("GET", "/api/v1/x", BEARER),
        door.ask("GET", "/api/x", BEARER),
        door.ask("GET", "/api/v1/x"),
        door.ask("OPTIONS", "/api/v1/x", ("Origin", ORIGIN)),
        door.ask("GET", "/", EVIL),
        door.ask("GET", "/a/../b"),
    ]
    for reply in replies:
        names = {key.decode().lower() for key, _ in reply.headers}
        assert not [name for name in names if name.startswith("access-control")]
        assert "server" not in names
        assert "'none'" in reply.header("content-security-policy")
        assert reply.header("x-content-type-options") == "nosniff"
        assert reply.header("referrer-policy") == "no-referrer"
        assert reply.header("cross-origin-opener-policy") == "same-origin"
        assert reply.header("cross-origin-resource-policy") == "same-origin"
    assert [r.header("x-kept") for r in replies] == ["1", "1", "1", None, None, None, None]
    assert [r.header("cache-control") for r in replies[:4]] == ["public"] + 3 * ["no-store"]


def test_w22_nothing_the_api_sends_can_act_as_a_page():
    door = Door()
    data = door.ask("GET", "/api/v1/x", BEARER).header("content-security-policy")
    assert data.startswith("default-src 'none';")
    assert "form-action 'none'" in data
    assert "-src" not in data.partition(";")[2]  # nothing is allowed back in
    page = door.ask("GET", "/").header("content-security-policy")
    assert "script-src 'self';" in page


def test_w27_a_crash_tells_the_client_nothing(caplog):
    door = Door()
    door.inner.error = RuntimeError("/home/ann/secret.py broke")
    for path in ("/api/v1/x", "/api/x", "/"):
        reply = door.ask("GET", path, BEARER)
        assert reply.status == 500
        assert b"ann" not in reply.body
    assert "secret.py broke" in caplog.text  # the control: the log has it


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Cannot read /home/ann/models/net.onnx", "Cannot read net.onnx"),
        ("in '/tmp/x/y.bin', line 3", "in 'y.bin', line 3"),
        (r"C:\Users\ann\net.onnx is gone", "net.onnx is gone"),
        ("~/.modeldyno/token is open", "token is open"),
        ("read and/or write at 5 MB/s", "read and/or write at 5 MB/s"),
        ("see https://example.org/a/b", "see https://example.org/a/b"),
        ("see http://127.0.0.1:5000/api/v1/x", "see http://127.0.0.1:5000/api/v1/x"),
        ("failed:/home/ann/models/net.onnx", "failed:net.onnx"),
        ("file:///home/ann/net.onnx is gone", "net.onnx is gone"),
        ("open file://box/home/ann/net.onnx", "open net.onnx"),
        ("sqlite:////home/ann/data.db", "data.db"),
        ("//home//ann//net.onnx", "net.onnx"),
        (r"\\box\share\net.onnx", "net.onnx"),
        ("~ann/models/net.onnx", "net.onnx"),
        ("in /home/ann smith/models/x, line 3", "in x, line 3"),
        (r"C:\Users\Ann B. Smith\net.onnx", "net.onnx"),
        ("/data (old)/net.bin", "net.bin"),
        ("/home/o'brien/net.bin", "net.bin"),
        ("No such file: '/srv/my models/old ones/net.bin'", "No such file: 'net.bin'"),
        ("'/a/b' and '/c/d'", "'b' and 'd'"),
        ('ran "/usr/bin/x --to /home/ann/y"', 'ran "x --to y"'),
        ("/home/ann/net.onnx reads 5 MB/s and/or less", "net.onnx reads 5 MB/s and/or less"),
        ("from /home/ann/a to /home/ann/b", "from a to b"),
        ("GET /api, or n/a: see docs/api.md", "GET /api, or n/a: see docs/api.md"),
        ("12:30/13:00 (a/b) 'a/b' x:y/z", "12:30/13:00 (a/b) 'a/b' x:y/z"),
    ],
)
def test_w27_folders_of_this_machine_are_left_out(text, shown):
    assert without_folders(text) == shown


@pytest.mark.parametrize("root", ["/home/canary", "/srv/canary/b", "/Users/canary lee", "/canary"])
@pytest.mark.parametrize(
    "before", ["", " ", ":", ": ", "=", "'", '"', "(", "[", "<", ",", "|", "\n", "file://", "file:"]
)
def test_w27_no_folder_is_shown_whatever_stands_before_it(before, root):
    shown = without_folders(f"{before and 'text'}{before}{root}/models/net.onnx")
    assert "canary" not in shown
    assert shown.endswith("net.onnx")


def test_w27_long_text_is_looked_through_at_once():
    for part in ("/a ", "a-", "/home/a ", "'/a ", "/", "(", "a:", "/a(b)", "file:"):
        without_folders(part * 50_000)


# ---------------------------------------------------------------- bodies


def test_a_body_above_its_limit_is_refused_by_what_it_says():
    door = Door()
    assert door.ask("POST", "/api/v1/x", BEARER, ("Content-Length", str(1 << 20))).status == 200
    assert (
        door.ask("POST", "/api/v1/x", BEARER, ("Content-Length", str((1 << 20) + 1))).status == 413
    )
    assert len(door.inner.scopes) == 1


def test_r1_a_body_above_its_limit_is_refused_by_what_it_is():
    door = Door()
    assert door.ask("POST", "/api/v1/x", BEARER, pieces=[b"x" * 1024] * 1024).status == 200
    door.inner.body = b""
    reply = door.ask("POST", "/api/v1/x", BEARER, pieces=[b"x" * 1024] * 1025)
    assert reply.status == 413
    assert len(door.inner.body) <= 1 << 20
    door.inner.error = RuntimeError("my client is gone")  # as frameworks say it
    assert door.ask("POST", "/api/v1/x", BEARER, pieces=[b"x" * 1024] * 1025).status == 413


def test_uploads_may_be_large_and_only_at_their_place():
    door = Door(uploads=re.compile("POST /api/v1/uploads/[a-z]+"))
    large = ("Content-Length", str(1 << 30))
    assert door.ask("POST", "/api/v1/uploads/x", BEARER, large).status == 200
    assert door.ask("POST", "/api/v1/uploads", BEARER, large).status == 413
    assert door.ask("PUT", "/api/v1/uploads/x", BEARER, large).status == 413
    too_large = ("Content-Length", str((8 << 30) + 1))
    assert door.ask("POST", "/api/v1/uploads/x", BEARER, too_large).status == 413


def drip(door, path, pieces, apart_s):
    """Send a body in pieces, each some time after the one before; the last never comes."""
    waiting = list(pieces)

    async def receive():
        await asyncio.sleep(apart_s if waiting else 3600)
        return {"type": "http.request", "body": waiting.pop(), "more_body": True}

    said = []

    async def send(message):
        said.append(message)

    headers = [(b"host", b"127.0.0.1:5000"), (b"authorization", f"Bearer {TOKEN}".encode())]
    scope = {"type": "http", "method": "POST", "path": path, "query_string": b""}
    scope |= {"headers": headers, "client": ("127.0.0.1", 4321)}
    asyncio.run(door.guard(scope, receive, send))
    return said[0]["status"], len(waiting)


def test_a_body_that_does_not_come_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(guard, "PATIENCE_S", 0.2)
    door = Door(uploads=re.compile("POST /api/v1/uploads"))
    assert drip(door, "/api/v1/x", [b"x"] * 5, 0.0) == (408, 0)
    assert drip(door, "/api/v1/x", [b"x"] * 1000, 0.01)[0] == 408  # slowly is not enough


def test_an_upload_may_take_its_time_while_it_goes_on(monkeypatch):
    monkeypatch.setattr(guard, "PATIENCE_S", 0.2)
    door = Door(uploads=re.compile("POST /api/v1/uploads"))
    assert drip(door, "/api/v1/uploads", [b"x"] * 40, 0.01) == (408, 0)
    assert door.inner.body == b"x" * 40  # all of it, in more time than one may pause


# ---------------------------------------------------------------- where it listens


def test_w15_without_a_token_only_loopback_will_do():
    for address in ("127.0.0.1", "localhost", "::1", "127.0.0.2"):
        Listening(address, needs_token=False)
    for address in ("0.0.0.0", "::", "192.168.1.2", "dyno.example", "", "127.0.0.1.evil.example"):
        Listening(address)
        with pytest.raises(BadValue, match="needs its token"):
            Listening(address, needs_token=False)


def test_hosts_have_the_port_unless_it_is_the_usual_one():
    assert Listening(port=5000).hosts == {b"localhost:5000", b"127.0.0.1:5000", b"[::1]:5000"}
    assert b"localhost" in Listening(port=80).hosts
    lan = Listening("192.168.1.2", 5000, scheme="https")
    assert lan.hosts == {b"192.168.1.2:5000"}
    assert lan.origins == {b"https://192.168.1.2:5000"}
    everywhere = Listening("0.0.0.0", 5000, names=("dyno.example",))
    assert b"dyno.example:5000" in everywhere.hosts
    assert b"0.0.0.0:5000" not in everywhere.hosts


def test_without_a_token_the_host_names_are_the_door():
    door = Door(Listening(needs_token=False))
    assert door.ask("POST", "/api/v1/x").status == 200
    assert door.ask("POST", "/api/v1/x", ("Host", "evil.example:5000")).status == 403
    assert door.ask("POST", "/api/v1/x", EVIL).status == 403
    assert door.ask("POST", "/api/v1/x", ("Sec-Fetch-Site", "same-site")).status == 403
