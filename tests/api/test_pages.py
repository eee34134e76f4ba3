"""The server's own pages in a real server: coming in, staying in, leaving, reading."""

from __future__ import annotations

import json
import re
import socket
from contextlib import closing
from html import unescape
from html.parser import HTMLParser
from http.client import HTTPConnection
from urllib.parse import quote

import pytest

from modeldyno.api import connections
from modeldyno.store.tokens import TokenFile
from tests.api.real_app import real_server
from tests.api.v1.server import serving

FORM = ("Content-Type", "application/x-www-form-urlencoded")
SAME = ("Sec-Fetch-Site", "same-origin")


@pytest.fixture(scope="module")
def server(tmp_path_factory, starts_processes):
    with real_server(tmp_path_factory.mktemp("server")) as found:
        yield found


@pytest.fixture
def fresh(tmp_path, starts_processes):
    """For tests that fail often, or change the token."""
    with real_server(tmp_path) as found:
        yield found


def new_code(server):
    made = server.ask("POST", "/api/v1/session/codes", server.with_token(), b"")
    assert made.status == 201
    told = json.loads(made.text)
    assert told["path"] == f"/login?code={told['code']}"
    return told["code"]


def cookie_of(reply):
    return ("Cookie", reply.getheader("set-cookie").partition(";")[0])


def come_in(server):
    """A browser's cookie, and what its page sends along with changes."""
    reply = server.ask("GET", f"/login?code={new_code(server)}")
    cookie = cookie_of(reply)
    told = json.loads(server.ask("GET", "/api/v1/session", (cookie, SAME)).text)
    assert told["by"] == "cookie"
    return cookie, ("X-Modeldyno-CSRF", told["csrf"])


# ---------------------------------------------------------------- the workbench


def test_every_address_of_the_workbench_is_its_page_for_who_is_signed_in(server):
    cookie, _ = come_in(server)
    for address in ("/", "/new", "/p/1", "/p/1/benchmarks/2?tab=raw", "/queue", "/system"):
        reply = server.ask("GET", address, (cookie,))
        assert (reply.status, 'id="root"' in reply.text) == (200, True), address
        assert reply.getheader("cache-control") == "no-cache"


def test_who_is_not_signed_in_is_asked_and_comes_back_to_the_same_address(server):
    reply = server.ask("GET", "/p/1/compare?a=1&b=2")
    assert reply.status == 303
    assert reply.getheader("location") == "/login?next=/p/1/compare%3Fa%3D1%26b%3D2"


def test_files_of_the_workbench_are_kept_for_ever_and_come_packed(server):
    page = server.ask("GET", "/", (come_in(server)[0],)).text
    names = re.findall(r'src="(/assets/[^"]+\.js)"', page)
    assert names
    for name in names:
        plain = server.ask("GET", name)
        assert plain.status == 200
        assert plain.getheader("content-type").startswith("text/javascript")
        assert "immutable" in plain.getheader("cache-control")
        again = server.ask("GET", name, (("If-None-Match", plain.getheader("etag")),))
        assert again.status == 304
    assert server.ask("GET", "/assets/nothing.js").status == 404
    assert server.ask("GET", "/assets/..%2f..%2fworkbench.py").status in (400, 404)


# ---------------------------------------------------------------- coming in


def test_a_code_opens_the_page_and_leaves_a_cookie(server):
    reply = server.ask("GET", f"/login?code={new_code(server)}&next=/docs")
    told = reply.getheader("set-cookie")
    assert (reply.status, reply.getheader("location")) == (303, "/docs")
    assert told.startswith(f"modeldyno-{server.port}=")
    assert "Path=/; Max-Age=604800; HttpOnly; SameSite=Strict" in told
    assert "You are not signed in" in server.ask("GET", "/").text
    assert 'id="root"' in server.ask("GET", "/", (cookie_of(reply),)).text


def test_a_code_works_once_and_its_head_does_not_use_it_up(server):
    code = new_code(server)
    assert server.ask("HEAD", f"/login?code={code}").status == 405
    assert server.ask("GET", f"/login?code={code}").status == 303
    again = server.ask("GET", f"/login?code={code}")
    assert (again.status, again.getheader("set-cookie")) == (401, None)


def test_the_token_in_the_address_opens_the_page_and_does_not_stay_there(server):
    reply = server.ask("GET", f"/login?token={quote(server.token)}&next=/docs")
    assert (reply.status, reply.getheader("location")) == (303, "/docs")
    assert reply.getheader("referrer-policy") == "no-referrer"
    assert reply.getheader("cache-control") == "no-store"
    assert server.token not in str(reply.getheaders()) + reply.text
    assert 'id="root"' in server.ask("GET", "/", (cookie_of(reply),)).text
    for wrong in ("x", server.token[:-1]):
        refused = server.ask("GET", f"/login?token={wrong}")
        assert (refused.status, refused.getheader("set-cookie")) == (401, None)
        assert wrong == "x" or wrong not in refused.text
    assert server.ask("GET", f"/?token={quote(server.token)}").getheader("set-cookie") is None


def test_the_token_in_the_form_opens_the_page(server):
    page = server.ask("GET", "/login?next=/docs").text
    assert 'name="next" value="/docs"' in page
    sent = f"token={quote(server.token)}&next=/docs".encode()
    reply = server.ask("POST", "/login", (FORM, ("Origin", server.origin), SAME), sent)
    assert (reply.status, reply.getheader("location")) == (303, "/docs")
    assert 'id="root"' in server.ask("GET", "/", (cookie_of(reply),)).text


def test_wrong_and_missing_are_answered_alike_and_not_for_ever(fresh):
    wrong = [fresh.ask("POST", "/login", (FORM,), b"token=x"), fresh.ask("GET", "/login?code=x")]
    wrong += [fresh.ask("POST", "/login", (FORM,), sent) for sent in (b"", b"token=", b"%ff=%ff")]
    assert {(reply.status, reply.text, reply.getheader("set-cookie")) for reply in wrong} == {
        (401, wrong[0].text, None)
    }
    more = [fresh.ask("POST", "/login", (FORM,), b"token=x") for _ in range(6)]
    assert [reply.status for reply in more] == [401] * 5 + [429]
    assert int(more[-1].getheader("retry-after")) >= 1
    right = f"token={fresh.token}".encode()
    assert fresh.ask("POST", "/login", (FORM,), right).status == 303  # nobody is locked out


def test_the_form_is_read_as_a_form_only(server):
    sent = json.dumps({"token": server.token}).encode()
    for kind in ((), (("Content-Type", "application/json"),), (("Content-Type", "text/plain"),)):
        assert server.ask("POST", "/login", kind, sent).status == 415
    many = b"&".join(b"a=1" for _ in range(100))
    assert server.ask("POST", "/login", (FORM,), many).status == 401
    evil = (FORM, ("Origin", "http://evil.example"))
    assert server.ask("POST", "/login", evil, f"token={server.token}".encode()).status == 403


@pytest.mark.parametrize(
    "wanted", ["//evil.example", "/\\evil", "/%5cevil", "https://evil.example"]
)
def test_w20_signing_in_leads_to_our_pages_only(server, wanted):
    reply = server.ask("GET", f"/login?code={new_code(server)}&next={quote(wanted)}")
    assert reply.getheader("location") == "/"
    sent = f"token={server.token}&next={quote(wanted)}".encode()
    assert server.ask("POST", "/login", (FORM,), sent).getheader("location") == "/"
    good = server.ask("GET", f"/login?code={new_code(server)}&next=/docs")
    assert good.getheader("location") == "/docs"  # the control


# ---------------------------------------------------------------- staying in, and leaving


@pytest.mark.usefixtures("starts_processes")
def test_a_restart_signs_nobody_out_and_a_new_token_everybody(tmp_path):
    with real_server(tmp_path) as server:
        cookie, csrf = come_in(server)
        port = server.port
    with real_server(tmp_path, port=port) as server:
        assert server.ask("GET", "/api/v1/projects", (cookie, SAME)).status == 200
        ours = (cookie, csrf, ("Origin", server.origin), ("Content-Type", "application/json"))
        assert server.ask("POST", "/api/v1/projects", ours, b'{"name": "x"}').status == 201
        server.token = TokenFile(tmp_path / "token").rotate()
        assert server.ask("GET", "/api/v1/projects", (cookie, SAME)).status == 401
        assert "You are not signed in" in server.ask("GET", "/", (cookie,)).text


def test_signing_out_ends_the_cookie_and_no_other(server):
    (cookie, csrf), (other, _) = come_in(server), come_in(server)
    ours = (cookie, csrf, ("Origin", server.origin))
    assert server.ask("DELETE", "/api/v1/session", (cookie, SAME)).status == 403  # without proof
    gone = server.ask("DELETE", "/api/v1/session", ours)
    assert gone.status == 204
    assert "Max-Age=0" in gone.getheader("set-cookie")
    assert server.ask("GET", "/api/v1/session", (cookie, SAME)).status == 401
    assert server.ask("GET", "/api/v1/session", (other, SAME)).status == 200
    assert server.ask("DELETE", "/api/v1/session", server.with_token()).status == 204
    assert server.ask("GET", "/api/v1/session", server.with_token()).status == 200


def test_a_cookie_cannot_make_codes_to_last_for_ever(server):
    cookie, csrf = come_in(server)
    ours = (cookie, csrf, ("Origin", server.origin))
    assert server.ask("POST", "/api/v1/session/codes", ours, b"").status == 401
    assert new_code(server)


def test_the_session_tells_who_asks(server):
    told = json.loads(server.ask("GET", "/api/v1/session", server.with_token()).text)
    assert told == {"by": "token", "csrf": None, "until": None}


# ---------------------------------------------------------------- reading


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []
        self.links = []

    def handle_starttag(self, tag, attrs):
        self.found.append(tag)
        self.links += [value for name, value in attrs if name in ("href", "src", "action")]
        assert not [name for name, _ in attrs if name.startswith("on")]


@pytest.mark.parametrize("path", ["/", "/login", "/docs"])
def test_pages_run_no_script_and_load_nothing_from_elsewhere(server, path):
    reply = server.ask("GET", path)
    tags = Tags()
    tags.feed(reply.text)
    assert not {"script", "iframe", "img", "link", "object"} & set(tags.found)
    assert all(link.startswith("/") and not link.startswith("//") for link in tags.links)
    assert "default-src 'self'" in reply.getheader("content-security-policy")
    assert "http://" not in re.sub(r"<pre>.*?</pre>", "", reply.text, flags=re.S)


def test_the_docs_show_every_operation_with_a_line_to_paste(server):
    page = server.ask("GET", "/docs").text
    told = json.loads(server.ask("GET", "/api/v1/openapi.json", server.with_token()).text)
    ids = [op["operationId"] for methods in told["paths"].values() for op in methods.values()]
    assert [name for name in ids if f'<details id="{name}">' not in page] == []
    assert page.count("curl -H &quot;Authorization: Bearer $T&quot;") == len(ids)
    assert server.token not in page


def test_the_docs_show_code_as_code_and_values_that_could_be(server):
    page = server.ask("GET", "/docs").text
    assert "`" not in re.sub(r"<pre>.*?</pre>", "", page, flags=re.S)
    assert "<code>If-Match</code>" in page
    shown = [unescape(one) for one in re.findall(r"<pre>(\{.*?)</pre>", page, flags=re.S)]
    assert len(shown) > 20
    for name in ("cores", "batch_size", "instances", "batch_sizes"):
        values = re.findall(rf'"{name}": (\d+|\[[^]]*\])', "".join(shown))
        assert values
        assert not [value for value in values if re.search(r"\b0\b", value)], name


def test_health_needs_no_token(server):
    reply = server.ask("GET", "/healthz")
    assert (reply.status, json.loads(reply.text)) == (200, {"status": "ok"})


# ---------------------------------------------------------------- patience


def test_a_request_that_does_not_come_is_not_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(connections, "HEADERS_WITHIN_S", 1.0)
    with serving(tmp_path, http=connections.ImpatientHttp) as served:
        at = ("127.0.0.1", served.port)
        with socket.create_connection(at, 30) as silent, socket.create_connection(at, 30) as slow:
            slow.sendall(b"GET /healthz HTTP/1.1\r\nHost: x")
            assert silent.recv(1) == slow.recv(1) == b""  # closed by the server
        with closing(HTTPConnection(*at, timeout=30)) as good:  # the control
            for _ in range(2):
                good.request("GET", "/healthz")
                answer = good.getresponse()
                assert (answer.status, answer.read()[:1]) == (200, b"{")
            good.sock.sendall(b"GET /healthz")
            assert good.sock.recv(1) == b""
