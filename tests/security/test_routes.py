"""Every address of the real server, as its own OpenAPI document lists them, and its pages: who is
turned away there (W1–W10, W15–W20, W27). Each refusal has a control that gets in."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
from pathlib import Path

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from modeldyno.api.access import READING, TOKEN_IN_QUERY
from modeldyno.api.openapi import iterate_operations, make_example
from modeldyno.api.request_head import NAMED, surface_of
from modeldyno.api.server_address import Listening
from modeldyno.api.serving import serve
from modeldyno.core.errors import TokenUnusable
from modeldyno.settings import Settings
from tests.api.real_app import BOOM, real_server
from tests.documents.inc_bench_table import OPERATIONS

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PURGE")
SAFE = ("GET", "HEAD", "OPTIONS")
PAGES = ("/", "/docs", "/login", "/healthz", "/nothing")
SOCKET = "/socket.io/?EIO=4&transport=polling"
JSON = ("Content-Type", "application/json")
# The reference API, whose operations are all in that table (tests/documents/test_table.py).
INC = [f"/api/{path}" for path in OPERATIONS]
# A body that is looked at before any route acts: who gets that far has passed the guard.
BROKEN = b"{"


class Asked:
    """A server, asked over one connection; statuses by what was asked."""

    def __init__(self, server):
        self.server = server
        document = server.ask("GET", "/api/v1/openapi.json", server.with_token()).text
        self.document = json.loads(document)
        self.link = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        self.paths = sorted({filled(path) for path in self.document["paths"]})
        self.by_cookie = [path for path in self.paths if surface_of(path) != "named"]

    def status(self, method, path, *headers, host=None, body=None):
        sent = BROKEN if body is None and method not in SAFE else body
        kind = () if sent is None else (JSON,)
        reply = self.server.ask(method, path, (*headers, *kind), sent, host, self.link)
        return reply.status

    def wrong(self, expected, methods, *headers, paths=None, host=None):
        """Where the answer was another than expected."""
        found = {
            f"{method} {path}": self.status(method, path, *headers, host=host)
            for path in paths or self.paths
            for method in methods
        }
        assert len(found) >= len(methods)
        return {asked: status for asked, status in found.items() if status != expected}

    def gets_in(self, *headers, paths=None, methods=METHODS):
        """The control: whatever the routes think of it, the guard has nothing against it."""
        refused = (401, 403, 429, 431)
        return not [
            f"{method} {path}: {status}"
            for path in paths or self.paths
            for method in methods
            if (status := self.status(method, path, *headers)) in refused or status >= 500
        ]


def filled(path):
    path = path.replace("{run_id}", "20261115-095116-3fa9c1")
    return re.sub(r"\{\w+\}", "1", path)


@pytest.fixture(scope="module")
def asked(tmp_path_factory, starts_processes):
    with real_server(tmp_path_factory.mktemp("server"), is_patient=True) as server:
        asked = Asked(server)
        with contextlib.closing(asked.link):
            yield asked


@pytest.fixture(scope="module")
def token(asked):
    return ("Authorization", f"Bearer {asked.server.token}")


@pytest.fixture(scope="module")
def browser(asked, token):
    """The cookie of a signed-in browser, and its page's proof."""
    server = asked.server
    code = json.loads(server.ask("POST", "/api/v1/session/codes", (token,), b"").text)["code"]
    reply = server.ask("GET", f"/login?code={code}")
    cookie = ("Cookie", reply.getheader("set-cookie").partition(";")[0])
    same = ("Sec-Fetch-Site", "same-origin")
    told = json.loads(server.ask("GET", "/api/v1/session", (cookie, same)).text)
    return cookie, ("X-Modeldyno-CSRF", told["csrf"])


def test_there_are_many_addresses(asked):
    assert len(asked.paths) >= 20
    assert {"/api/v1/projects", "/api/v1/projects/1", "/api/v1/session"} <= set(asked.paths)


# ---------------------------------------------------------------- hosts and origins


def test_w1_w2_no_address_answers_to_a_foreign_host(asked, token):
    port = asked.server.port
    for host in ("evil.example", f"127.0.0.1.nip.example:{port}", f"evil.local:{port}"):
        assert asked.wrong(403, ("GET", "POST", "DELETE"), token, host=host) == {}
    for host in (f"x.internal:{port}", f"LOCALHOST.:{port}", f"127.0.0.1:{port + 1}", "127.0.0.1"):
        assert asked.wrong(403, ("GET",), token, host=host) == {}
    everywhere = (*PAGES, SOCKET)
    assert asked.wrong(403, METHODS, paths=everywhere, host="evil.example") == {}
    assert asked.wrong(403, ("GET",), token, host=()) == {}
    assert asked.gets_in(token)
    assert asked.gets_in(paths=PAGES, methods=("GET", "HEAD"))


def test_w6_w7_no_address_answers_a_foreign_page(asked, token):
    for origin in ("http://evil.example", "null"):
        assert asked.wrong(403, METHODS, token, ("Origin", origin)) == {}
        assert asked.wrong(403, METHODS, ("Origin", origin), paths=(*PAGES, SOCKET)) == {}
    port = asked.server.port
    for origin in (f"http://127.0.0.1:{port + 1}", "http://localhost", f"https://127.0.0.1:{port}"):
        assert asked.wrong(403, ("GET", "POST"), token, ("Origin", origin)) == {}
    assert asked.gets_in(token, ("Origin", asked.server.origin))


def test_w1_w8_no_web_socket_opens_for_a_foreign_page(asked):
    url = f"ws://{asked.server.host}/socket.io/?EIO=4&transport=websocket"
    for headers in (
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Host": "evil.example"},
    ):
        with pytest.raises(InvalidStatus) as refused:
            connect(url, additional_headers=headers, proxy=None)
        assert refused.value.response.status_code == 403
    with pytest.raises(InvalidStatus) as refused:
        connect(url, additional_headers={"Authorization": "Bearer x"}, proxy=None)
    assert refused.value.response.status_code == 403


# ---------------------------------------------------------------- tokens and cookies


def test_w3_w4_no_address_answers_without_the_token(asked, token):
    assert asked.wrong(401, METHODS) == {}
    for wrong in ("x", "Bearer x", "Bearer ", f"Basic {asked.server.token}"):
        assert asked.wrong(401, METHODS, ("Authorization", wrong)) == {}
    query = [f"{path}?token={asked.server.token}" for path in asked.paths]
    assert asked.wrong(401, ("GET", "POST"), paths=query) == {}
    assert asked.gets_in(token)
    assert asked.gets_in(("Authorization", asked.server.token), methods=("GET",))


def test_w4_no_cookie_changes_anything_without_its_proof(asked, browser):
    cookie, csrf = browser
    ours, same = ("Origin", asked.server.origin), ("Sec-Fetch-Site", "same-origin")
    acting = [method for method in METHODS if method not in SAFE]
    for headers in ((cookie, same), (cookie, ours), (cookie, ours, ("X-Modeldyno-CSRF", "x"))):
        assert asked.wrong(403, acting, *headers) == {}
    assert asked.wrong(403, acting, cookie, csrf) == {}  # without an origin
    assert asked.wrong(401, METHODS, cookie) == {}
    assert asked.wrong(401, METHODS, csrf, same) == {}
    not_codes = [path for path in asked.by_cookie if not path.endswith("/session/codes")]
    assert asked.gets_in(cookie, csrf, ours, paths=not_codes)


def test_no_cookie_measures_by_a_get_that_acts(asked, browser, token):
    """A page that is loaded again, or ahead of time, must not start work."""
    cookie, csrf = browser
    ours, same = ("Origin", asked.server.origin), ("Sec-Fetch-Site", "same-origin")
    acting = sorted(set(asked.paths) - set(asked.by_cookie))
    assert acting == [f"{NAMED}1"]
    for headers in ((cookie, same), (cookie, csrf, ours)):
        assert asked.wrong(401, SAFE, *headers, paths=acting) == {}
    assert asked.wrong(404, ("GET",), token, paths=acting) == {}  # the control: there is no model 1
    assert asked.wrong(405, ("HEAD",), token, paths=acting) == {}


def test_w10_no_cors_is_not_same_origin_anywhere(asked, browser):
    cookie, _ = browser
    for site in ("cross-site", "same-site"):
        said = (cookie, ("Sec-Fetch-Site", site), ("Sec-Fetch-Mode", "no-cors"))
        assert asked.wrong(403, SAFE, *said) == {}
    same = (cookie, ("Sec-Fetch-Site", "same-origin"), ("Sec-Fetch-Mode", "no-cors"))
    assert asked.gets_in(*same, methods=SAFE, paths=asked.by_cookie)


# ---------------------------------------------------------------- the reference API


def test_w1_w6_no_operation_answers_a_foreign_host_or_page(asked, token):
    assert asked.wrong(403, ("GET", "POST"), token, paths=INC, host="evil.example") == {}
    for origin in ("http://evil.example", "null", f"http://127.0.0.1:{asked.server.port + 1}"):
        assert asked.wrong(403, ("GET", "POST"), token, ("Origin", origin), paths=INC) == {}
    ours = ("Origin", asked.server.origin)
    assert asked.gets_in(token, ours, paths=INC, methods=("GET", "POST"))


def test_w3_no_operation_answers_without_the_token(asked, token):
    assert asked.wrong(403, METHODS, paths=INC) == {}
    for wrong in ("x", "Bearer x", f"Basic {asked.server.token}"):
        assert asked.wrong(403, ("GET", "POST"), ("Authorization", wrong), paths=INC) == {}
    raw = ("Authorization", asked.server.token)  # as its own clients send it
    assert asked.gets_in(raw, paths=INC, methods=("GET", "POST"))


def test_a_token_in_a_query_opens_logs_and_configurations_alone(asked):
    said = f"?token={asked.server.token}"
    files = [path + said for path in INC if path.endswith(TOKEN_IN_QUERY)]
    others = [path + said for path in INC if not path.endswith(TOKEN_IN_QUERY)]
    assert len(files) == 6
    assert asked.wrong(403, ("GET", "POST"), paths=others) == {}
    assert asked.wrong(403, ("POST",), paths=files) == {}
    assert asked.gets_in(paths=files, methods=("GET",))


def test_w4_w10_a_cookie_alone_uses_no_operation(asked, browser):
    cookie, csrf = browser
    ours, same = ("Origin", asked.server.origin), ("Sec-Fetch-Site", "same-origin")
    assert asked.wrong(403, METHODS, cookie, paths=INC) == {}
    for headers in ((cookie, same), (cookie, ours), (cookie, csrf)):
        assert asked.wrong(403, ("POST",), *headers, paths=INC) == {}
    foreign = (("Origin", "http://evil.example"), ("Sec-Fetch-Site", "cross-site"))
    for other in foreign:
        assert asked.wrong(403, ("GET", "POST"), cookie, csrf, other, paths=INC) == {}
    assert asked.gets_in(cookie, csrf, ours, paths=INC, methods=("POST",))


def test_a_cookie_reads_by_get_and_acts_by_none(asked, browser):
    cookie, csrf = browser
    reading = [f"/api/{path}" for path in OPERATIONS if path in READING]
    acting = sorted(set(INC) - set(reading))
    assert {"/api/benchmark", "/api/benchmark/execute", "/api/project/delete"} < set(acting)
    ours, same = ("Origin", asked.server.origin), ("Sec-Fetch-Site", "same-origin")
    for headers in ((cookie, same), (cookie, ours), (cookie, ours, csrf)):
        assert asked.wrong(403, ("GET", "HEAD"), *headers, paths=acting) == {}
        assert asked.gets_in(*headers, paths=reading, methods=("GET",))


def test_methods_that_nobody_knows_reach_nothing(asked, token):
    assert {asked.status("BREW", path, token) for path in (*asked.paths[:5], *PAGES)} == {400}
    assert asked.wrong(405, ("TRACE",), token) == {}


# ---------------------------------------------------------------- the door itself


def test_w15_only_loopback_listens(asked):
    process = Path("/proc") / str(asked.server.process.pid)
    held = {str(link.readlink()) for link in (process / "fd").iterdir() if link.exists()}
    lines = [
        line.split()
        for name in ("tcp", "tcp6")
        for line in (process / "net" / name).read_text().splitlines()[1:]
    ]
    ours = [at[1] for at in lines if at[3] == "0A" and f"socket:[{at[9]}]" in held]
    assert ours == [f"0100007F:{asked.server.port:04X}"]


@pytest.mark.parametrize("text", ["", "x", " " * 43, "short-token"])
def test_w17_a_server_with_a_weak_token_does_not_start(tmp_path, text):
    file = tmp_path / "token"
    file.write_text(text)
    file.chmod(0o600)
    told: list[Listening] = []
    with pytest.raises(TokenUnusable):
        serve(Settings(tmp_path), Listening(port=0), lambda _, at: told.append(at))
    assert told == []  # it never listened


# ---------------------------------------------------------------- crashes


@pytest.mark.usefixtures("starts_processes")
def test_w19_w27_a_crash_of_any_route_leaks_nothing(tmp_path):
    with real_server(tmp_path) as server:
        asked = Asked(server)
        (tmp_path / BOOM).touch()
        crashed = []
        for path, method, operation in iterate_operations(asked.document):
            if "requestBody" in operation and "application/json" not in _bodies(operation):
                continue
            body = None
            if "requestBody" in operation:
                schema = _bodies(operation)["application/json"]["schema"]
                body = json.dumps(make_example(schema, asked.document)).encode()
            said = server.with_token(JSON, ("If-Match", "*"), ("Cookie", "a=canary-cookie"))
            reply = server.ask(method.upper(), filled(path), said, body)
            if reply.status == 500:
                crashed.append(operation["operationId"])
                assert json.loads(reply.text)["code"] == "BUG"
            for secret in (server.token, "canary", "Traceback", "RuntimeError", str(tmp_path)):
                assert secret not in reply.text
            assert "real_app" not in reply.text
        for path, documented in OPERATIONS.items():
            body = json.dumps(documented.body or {}).encode()
            reply = server.ask("POST", f"/api/{path}", server.with_token(JSON), body)
            if reply.status == 500:
                crashed.append(path)
                assert reply.getheader("content-type") == "text/plain; charset=utf-8"
                assert str(tmp_path) not in reply.text  # else, this API tells paths
            for secret in (server.token, "Traceback", "RuntimeError"):
                assert secret not in reply.text
        (tmp_path / BOOM).unlink()
        assert server.ask("GET", "/api/v1/projects", server.with_token()).status == 200
        log = server.log.read_text()
    known = [one["operationId"] for _, _, one in iterate_operations(asked.document)]
    assert {"list_projects", "create_project", "delete_project", "list_events"} <= set(crashed)
    assert {"project/list", "benchmark/list", "benchmark"} <= set(crashed)
    assert len(crashed) >= len(known) * 2 // 3, sorted(set(known) - set(crashed))
    assert log.count("RuntimeError") >= len(crashed)  # the control: it was logged, with secrets
    assert server.token not in log
    assert "canary-cookie" not in log
    assert "[hidden]" in log


def _bodies(operation):
    return operation["requestBody"]["content"]
