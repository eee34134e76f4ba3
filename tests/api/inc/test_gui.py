"""``serve --inc-gui``: a web client at ``/``, and nothing else of the disk."""

import os
import urllib.request

import pytest
import socketio

from tests.api.live import live
from tests.api.v1.server import serving
from tests.terminal import modeldyno

INDEX = '<base href="/"><div id="url_prefix">{{ url_prefix }}</div>'


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    tmp_path = tmp_path_factory.mktemp("gui")
    made = tmp_path / "static"
    (made / "assets").mkdir(parents=True)
    (made / "index.html").write_text(INDEX)
    (made / "main.js").write_text("1")
    (made / "assets" / "a.svg").write_text("<svg/>")
    (made / "assets" / "b.odd").write_text("?")
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    (made / "link.txt").symlink_to(secret)
    (made / "outside").symlink_to(tmp_path)
    os.mkfifo(made / "pipe")
    return made


@pytest.fixture(scope="module")
def served(tmp_path_factory, folder, starts_processes):
    with serving(tmp_path_factory.mktemp("w"), inc_gui=folder) as server:
        yield server


def test_a_client_route_is_its_index_with_the_base_of_the_api_filled_in(served):
    for path in ("/project/1", "/project/1/benchmarks", "/no/such/file.js"):
        answer = served.get(path)
        assert (answer.status, answer.text) == (200, INDEX.replace("{{ url_prefix }}", "/"))
        assert answer.headers["content-type"].startswith("text/html")


def test_files_have_the_types_that_browsers_need_and_are_sent_once(served):
    kinds = {
        "/main.js": "text/javascript; charset=utf-8",
        "/assets/a.svg": "image/svg+xml",
        "/assets/b.odd": "application/octet-stream",
    }
    for path, kind in kinds.items():
        answer = served.get(path)
        assert (answer.status, answer.headers["content-type"]) == (200, kind)
        assert answer.headers["x-content-type-options"] == "nosniff"
        policy = answer.headers["content-security-policy"]
        assert "script-src 'self';" in policy
        assert "base-uri 'self'" in policy  # its page has a <base>
        again = served.get(path, if_none_match=answer.headers["etag"])
        assert (again.status, again.body) == (304, b"")


def test_what_a_link_or_a_pipe_leads_to_is_not_served_nor_a_list_of_files(served):
    index = served.get("/project/1").text
    for path in ("/link.txt", "/outside/secret.txt", "/pipe", "/assets", "/assets/"):
        assert served.get(path).text == index
    for path in ("/assets/../main.js", "/..%2fsecret.txt", "//secret.txt", "/assets/%2e%2e/x"):
        answer = served.get(path)
        assert "secret" not in answer.text.replace("/secret.txt", "")
        assert answer.status == 400 or answer.text == index
    assert served.get("/assets/a.svg").text == "<svg/>"  # the control


def test_the_token_in_the_address_stays_there_and_gives_a_cookie(served):
    answer = served.ask("GET", f"/?token={served.token}", authorization="")
    assert (answer.status, answer.text) == (200, INDEX.replace("{{ url_prefix }}", "/"))
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly; SameSite=Strict" in cookie
    assert served.get("/api/project/list", authorization=served.token).status == 200
    again = served.get(f"/?token={served.token}", cookie=cookie.partition(";")[0])
    assert (again.status, again.headers["set-cookie"]) == (200, None)


def test_a_wrong_token_and_none_are_asked_for_the_right_one(served):
    for path, status in (("/?token=wrong", 401), ("/", 200), ("/index.html", 200)):
        answer = served.get(path)
        assert (answer.status, answer.headers["set-cookie"]) == (status, None)
        assert 'name="token"' in answer.text
        assert "url_prefix" not in answer.text


@pytest.mark.slow
def test_the_cookie_lets_socket_io_in_as_the_page_of_this_server(tmp_path, folder):
    with live(tmp_path / "w", inc_gui=folder) as server:
        with urllib.request.urlopen(f"{server.url}/?token={server.token}") as answer:
            cookie = answer.headers["set-cookie"].partition(";")[0]
        ours = {"Cookie": cookie, "Origin": server.url}
        other, evil = ours | {"Cookie": "modeldyno-1=x"}, ours | {"Origin": "http://evil.test"}
        with socketio.SimpleClient() as client:
            client.connect(server.url, headers=ours, transports=["polling"])
        with socketio.SimpleClient() as client, pytest.raises(socketio.exceptions.ConnectionError):
            client.connect(server.url, headers=other, transports=["polling"])
        with socketio.SimpleClient() as client, pytest.raises(socketio.exceptions.ConnectionError):
            client.connect(server.url, headers=evil, transports=["polling"])


def test_our_own_pages_and_both_apis_stay_where_they_are(served):
    assert served.get("/healthz").json == {"status": "ok"}
    assert "API" in served.get("/docs").text
    assert 'action="/login"' in served.get("/login").text
    assert served.get("/api/no/such").text == "Unable to find no/such"
    assert served.get("/api/v1/no/such").headers["content-type"] == "application/problem+json"
    assert served.get("/socket.io/?EIO=4&transport=polling").text.startswith("0{")
    assert served.post("/project/1", {}).status == 405
    assert served.ask("OPTIONS", "/project/1").headers["allow"] == "GET, HEAD, OPTIONS"


def test_without_a_token_the_plain_address_is_the_client(tmp_path, folder):
    with (
        live(tmp_path / "w", needs_token=False, inc_gui=folder) as server,
        urllib.request.urlopen(server.url) as answer,
    ):
        assert answer.read().decode() == INDEX.replace("{{ url_prefix }}", "/")
        assert answer.headers["set-cookie"] is None


@pytest.mark.usefixtures("starts_processes")
@pytest.mark.parametrize("name", ["nowhere", "static/assets"])
def test_a_folder_that_is_no_client_is_refused_before_the_server_starts(tmp_path, folder, name):
    started = modeldyno(
        "serve", "--json", "--port", 0, "--workspace", tmp_path / "w",
        "--inc-gui", folder.parent / name,
    )  # fmt: skip
    assert (started.code, started.error_code) == (2, "BAD_VALUE")
    assert "--inc-gui" in started.err
