"""The web surface of a real server: tokens, sign-ins, sockets, errors (W3–W20, W27)."""

import ast
import json
import re
import socket as sockets
import time
from pathlib import Path

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

import modeldyno
from modeldyno.store.tokens import TokenFile
from tests.api.guarded_app import METHODS
from tests.api.serving import serving

SOURCES = sorted(Path(modeldyno.__file__).parent.rglob("*.py"))


@pytest.fixture(scope="module")
def served(tmp_path_factory, starts_processes):
    with serving(tmp_path_factory.mktemp("served")) as found:
        yield found


@pytest.fixture
def fresh(tmp_path, starts_processes):
    """A server of one's own: for tests that fail often, or change the token."""
    with serving(tmp_path) as found:
        yield found


def sign_in(server):
    """As a browser does it: the header for our page and its cookie, or the refusal."""
    code = json.loads(server.ask("POST", "/api/v1/codes", server.with_token(), b"").text)["code"]
    reply = server.ask("GET", f"/sign-in?code={code}")
    cookie = reply.getheader("set-cookie").partition(";")[0]
    return code, reply, ("Cookie", cookie), ("X-Modeldyno-CSRF", reply.getheader("x-csrf"))


# ---------------------------------------------------------------- without a token


@pytest.mark.parametrize(
    "path", ["/api/v1/projects", "/api/v1/boom", "/api/project/list", "/api/x"]
)
def test_w3_w4_every_method_needs_the_token(fresh, path):
    refused = 401 if path.startswith("/api/v1") else 403
    wrong = (("Authorization", "x"),)
    found = [fresh.ask(m, path, said, b"").status for m in METHODS for said in ((), wrong)]
    assert found == [refused] * 10 + [429] * 6
    with_token = {fresh.ask(method, path, fresh.with_token(), b"").status for method in METHODS}
    assert with_token == {500 if "boom" in path else 200}


@pytest.mark.parametrize("agent", ["Mozilla/5.0", "curl/8", "python-requests", "", None])
def test_w5_the_user_agent_decides_nothing(served, agent):
    said = () if agent is None else (("User-Agent", agent),)
    evil = (("Origin", "http://evil.example"),)
    assert served.ask("GET", "/api/v1/x", served.with_token(*said)).status == 200
    assert served.ask("GET", "/api/v1/x", served.with_token(*said, *evil)).status == 403
    naming = [path.name for path in SOURCES if "user-agent" in path.read_text().lower()]
    assert naming == ["transport.py", "downloads.py"]  # which send one to others, and read nobody's


def test_the_eleventh_failure_in_a_minute_is_429(fresh):
    found = [fresh.ask("GET", "/api/v1/x").status for _ in range(12)]
    assert found == [401] * 10 + [429] * 2
    assert fresh.ask("GET", "/api/v1/x", fresh.with_token()).status == 200


def test_w10_no_cors_is_not_same_origin(served):
    _, _, cookie, _ = sign_in(served)
    for site in ("cross-site", "same-site", "none"):
        said = (cookie, ("Sec-Fetch-Site", site), ("Sec-Fetch-Mode", "no-cors"))
        assert served.ask("GET", "/api/v1/x", said).status in (401, 403)
    same = (cookie, ("Sec-Fetch-Site", "same-origin"), ("Sec-Fetch-Mode", "no-cors"))
    assert served.ask("GET", "/api/v1/x", same).status == 200


def test_a_link_from_elsewhere_opens_a_page_and_nothing_else(served):
    link = (
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Mode", "navigate"),
        ("Sec-Fetch-Dest", "document"),
    )
    assert served.ask("GET", "/", link).status == 200
    assert served.ask("POST", "/", link, b"").status == 403
    assert served.ask("GET", "/api/project/list", served.with_token(*link)).status == 403
    framed = (*link[:2], ("Sec-Fetch-Dest", "iframe"))
    assert served.ask("GET", "/", framed).status == 403


def test_w15_only_loopback_listens(served):
    """As the kernel lists it: the address of the server's port is 127.0.0.1, and no other is."""
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    lines += Path("/proc/net/tcp6").read_text().splitlines()[1:]
    port = f"{served.port:04X}"
    listening = [line.split()[1] for line in lines if line.split()[3] == "0A"]
    assert [at for at in listening if at.endswith(f":{port}")] == [f"0100007F:{port}"]
    with sockets.create_server(("0.0.0.0", 0)) as everywhere:  # the control: we would have seen it
        at = f"00000000:{everywhere.getsockname()[1]:04X}"
        assert at in Path("/proc/net/tcp").read_text()


# ---------------------------------------------------------------- secrets are compared in one way


def compared_by_equality(code):
    """Comparisons with == or != whose sides are named like a secret."""
    secret = re.compile(r"\b(token|secret|csrf|code|password|digest)s?\b(?!\.)", re.IGNORECASE)
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq | ast.NotEq):
            sides = [ast.unparse(side) for side in (node.left, *node.comparators)]
            if any(secret.search(side) for side in sides) and not any("'" in s for s in sides):
                yield ast.unparse(node)


def test_w16_secrets_are_compared_in_constant_time():
    ours = [p for p in SOURCES if p.parent.name in ("api",) or p.stem in ("sign_ins", "tokens")]
    assert len(ours) >= 7
    assert [found for path in ours for found in compared_by_equality(path.read_text())] == []
    assert list(compared_by_equality("given == self.token")) == ["given == self.token"]
    assert "compare_digest" in next(p for p in ours if p.match("services/sign_ins.py")).read_text()


# ---------------------------------------------------------------- signing in


def test_a_code_works_once_and_becomes_a_cookie(served):
    code, reply, cookie, csrf = sign_in(served)
    told = reply.getheader("set-cookie")
    assert (reply.status, reply.getheader("location")) == (303, "/")
    assert told.startswith(f"modeldyno-{served.port}=")
    assert "HttpOnly; SameSite=Strict" in told
    assert served.ask("GET", f"/sign-in?code={code}").status == 401
    ours = (cookie, csrf, ("Origin", served.origin), ("Content-Type", "application/json"))
    assert served.ask("POST", "/api/v1/x", ours, b"{}").status == 200
    assert served.ask("POST", "/api/v1/x", ours[:1] + ours[2:], b"{}").status == 403


@pytest.mark.parametrize("wanted", ["//evil.example", "/%5c%5cevil.example", "%2f%2fevil.example"])
def test_w20_signing_in_redirects_to_our_pages_only(served, wanted):
    def landed(wanted):
        made = served.ask("POST", "/api/v1/codes", served.with_token(), b"")
        code = json.loads(made.text)["code"]
        return served.ask("GET", f"/sign-in?code={code}&next={wanted}").getheader("location")

    assert landed(wanted) == "/"
    assert landed("/runs") == "/runs"


def test_w18_rotating_the_token_ends_cookies_and_the_old_token(fresh):
    _, _, cookie, _ = sign_in(fresh)
    same = ("Sec-Fetch-Site", "same-origin")
    assert fresh.ask("GET", "/api/v1/x", (cookie, same)).status == 200
    old = fresh.with_token()
    fresh.token = TokenFile(fresh.log.parent / "token").rotate()  # by another process, as it were
    assert fresh.ask("GET", "/api/v1/x", (cookie, same)).status == 401
    assert fresh.ask("GET", "/api/v1/x", old).status == 401
    assert fresh.ask("GET", "/api/v1/x", fresh.with_token()).status == 200


def test_w17_a_server_whose_token_became_weak_lets_nobody_in(fresh):
    file = fresh.log.parent / "token"
    for text in ("", "\n", " " * 43, "x"):
        file.write_text(text)
        for said in ("", "x", " " * 43):
            assert fresh.ask("GET", "/api/v1/x", (("Authorization", said),)).status == 503
    file.unlink()
    fresh.token = TokenFile(file).current()
    assert fresh.ask("GET", "/api/v1/x", fresh.with_token()).status == 200


# ---------------------------------------------------------------- sockets


def follow(server, headers, auth, seconds):
    """Connect as Socket.IO does; the events that arrive in this time, or the refusal."""
    url = f"ws://{server.host}/socket.io/?EIO=4&transport=websocket"
    with connect(url, additional_headers=headers, compression=None, proxy=None) as socket:
        assert str(socket.recv()).startswith("0{")
        if auth is not ...:
            socket.send("40" + (json.dumps(auth) if auth is not None else ""))
        heard, end = [], time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            try:
                heard.append(socket.recv(timeout=left))
            except TimeoutError:
                break
    return heard


def ticks(heard):
    return [text for text in heard if text.startswith("42") and "tick" in text]


@pytest.mark.parametrize("auth", [..., None, {}, {"token": ""}, {"token": "x"}, {"token": None}])
def test_w8_w9_a_socket_without_the_token_hears_nothing(served, auth):
    heard = follow(served, {}, auth, 1)
    assert ticks(heard) == []
    assert not [text for text in heard if text.startswith('40{"sid"')]
    if auth is not ...:
        assert heard[0].startswith("44")


def test_w8_w9_a_socket_with_the_token_hears_everything(served):
    assert len(ticks(follow(served, {}, {"token": served.token}, 1))) > 5
    bearer = {"Authorization": f"Bearer {served.token}"}
    assert len(ticks(follow(served, bearer, None, 1))) > 5


def test_a_socket_of_our_page_needs_its_cookie_only(served):
    _, _, (_, cookie), _ = sign_in(served)
    assert len(ticks(follow(served, {"Cookie": cookie, "Origin": served.origin}, None, 1))) > 5
    assert ticks(follow(served, {"Cookie": cookie}, None, 0.5)) == []


def test_w9_a_socket_with_a_wrong_token_is_refused_at_the_door(served):
    with pytest.raises(InvalidStatus) as refused:
        follow(served, {"Authorization": "Bearer x"}, None, 1)
    assert refused.value.response.status_code == 403


# ---------------------------------------------------------------- errors and floods


def test_w19_w27_a_crash_leaks_neither_token_nor_folder(fresh):
    for path in ("/api/v1/boom", "/api/boom"):
        reply = fresh.ask("GET", path, fresh.with_token(("Cookie", "a=canary-cookie")))
        assert reply.status == 500
        for secret in (
            fresh.token,
            "canary-cookie",
            "guarded_app",
            "Traceback",
            str(fresh.log.parent),
        ):
            assert secret not in reply.text
    log = fresh.log.read_text()
    assert "RuntimeError" in log  # the control: it was logged, with its traceback
    assert "guarded_app" in log
    assert "[hidden]" in log
    assert fresh.token not in log
    assert "canary-cookie" not in log


def test_defect_20_w19_the_token_is_nowhere_but_in_its_file(fresh):
    """However it was sent: right and wrong places, pages and sockets, good requests and bad."""
    query = f"?id=1&token={fresh.token}"
    _, _, (_, cookie), _ = sign_in(fresh)
    answers = [
        fresh.ask("GET", f"/{query}"),
        fresh.ask("GET", f"/api/benchmark/output.log{query}"),
        fresh.ask("GET", f"/api/v1/boom{query}", fresh.with_token(("Cookie", cookie))),
        fresh.ask("GET", f"/api/v1/{fresh.token}", fresh.with_token()),
        fresh.ask("GET", f"/api//x{query}", fresh.with_token()),
        fresh.ask("GET", "/", fresh.with_token(), host="evil.example"),
        fresh.ask("POST", "/api/boom", fresh.with_token(), fresh.token.encode()),
    ]
    assert [answer.status for answer in answers] == [200, 200, 500, 200, 400, 403, 500]
    follow(fresh, {}, {"token": fresh.token}, 0.2)
    follow(fresh, {}, {"token": fresh.token[:-1]}, 0.2)
    process = Path("/proc") / str(fresh.process.pid)
    places = [fresh.log.read_bytes(), (process / "cmdline").read_bytes()]
    places.append((process / "environ").read_bytes())
    echoed = answers[1].text + answers[3].text  # the application repeats what it was sent
    places += [a.text.encode() for a in answers if a.text not in echoed]
    secrets = (fresh.token.encode(), cookie.partition("=")[2].encode())
    assert [secret for secret in secrets for place in places if secret in place] == []
    assert secrets[0] in (fresh.log.parent / "token").read_bytes()  # the control
    assert places[0].count(b"[hidden]") >= 2


def test_r1_a_body_of_tiny_chunks_ends_at_the_limit(served):
    with sockets.create_connection(("127.0.0.1", served.port), timeout=60) as link:
        head = f"POST /api/v1/size HTTP/1.1\r\nHost: {served.host}\r\n"
        head += f"Authorization: {served.token}\r\nTransfer-Encoding: chunked\r\n\r\n"
        link.sendall(head.encode())
        try:
            for _ in range(300):
                link.sendall(b"1\r\nx\r\n" * 10_000)
        except OSError:
            pass  # closed on us, as it should be
        assert b" 413 " in link.recv(4096).partition(b"\r\n")[0]
    small = served.ask("POST", "/api/v1/size", served.with_token(), b"x" * 1000)
    assert json.loads(small.text) == {"size": 1000}


def test_r1_a_flood_of_headers_is_refused_and_the_server_lives(served):
    some = tuple((f"x-{number}", "y") for number in range(300))
    assert served.ask("GET", "/", some).status in (400, 431)
    assert served.ask("GET", "/").status == 200
