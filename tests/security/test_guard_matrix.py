"""G4: Host × Origin × method × path × transport, on a real server; the bare one is the control.

What is right is said here once more, apart from the guard's own code.
"""

import contextlib
import http.client
import itertools
import socket as sockets

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.api.serving import serving

# P stands for the server's port, Q for another one.
HOSTS = {
    "127.0.0.1:P": True,
    "localhost:P": True,
    "[::1]:P": True,
    "evil.example": False,
    "evil.example:P": False,
    "127.0.0.1.nip.example:P": False,
    "evil.local:P": False,
    "x.internal:P": False,
    "LOCALHOST:P": False,
    "localhost.:P": False,
    "localhost:Q": False,
    "127.0.0.1": False,
    "127.0.0.1:P@evil.example": False,
    "0.0.0.0:P": False,
}
ORIGINS = {
    None: True,
    "http://127.0.0.1:P": True,
    "http://localhost:P": True,
    "null": False,
    "http://localhost:Q": False,
    "https://127.0.0.1:P": False,
    "http://evil.example": False,
    "http://127.0.0.1:P.evil.example": False,
}
METHODS = ["GET", "POST", "PUT", "DELETE", "OPTIONS", "PURGE"]
PATHS = [
    "/",
    "/healthz",
    "/api/v1/projects",
    "/api/project/list",
    "/socket.io/?EIO=4&transport=polling",
]


def written(text, port):
    return text and text.replace("P", str(port), 1).replace("Q", str(port + 1))


def combinations(methods, paths):
    return itertools.product(HOSTS.items(), ORIGINS.items(), methods, paths)


@pytest.fixture(scope="module", params=["h11", "httptools"])
def served(request, tmp_path_factory, starts_processes):
    with serving(tmp_path_factory.mktemp("guarded"), request.param) as found:
        yield found


@pytest.fixture(scope="module")
def bare(tmp_path_factory, starts_processes):
    with serving(tmp_path_factory.mktemp("bare"), mode="bare") as found:
        yield found


def statuses(server, methods, paths):
    """Of every combination, with the right token: who asks from where must decide alone."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port)) as link:
        for (host, good_host), (origin, good_origin), method, path in combinations(methods, paths):
            headers = server.with_token()
            if origin:
                headers += (("Origin", written(origin, server.port)),)
            reply = server.ask(
                method, path, headers, host=written(host, server.port), connection=link
            )
            yield (host, origin, method, path), good_host and good_origin, reply


def served_as(method, path):
    """To somebody who may: pages know GET alone, Socket.IO wants a connection for the rest."""
    if path.startswith("/api/"):
        return {200}
    if method == "GET":
        return {200}
    return {200, 400, 405} if "socket.io" in path else {405}


def test_w1_w2_w4_w6_w7_no_combination_gets_the_wrong_answer(served):
    wrong, count = [], 0
    for asked, is_good, reply in statuses(served, METHODS, PATHS):
        count += 1
        right = reply.status in (served_as(*asked[2:]) if is_good else {403})
        if not right or any(name.startswith("access-control") for name, _ in _lower(reply)):
            wrong.append((asked, reply.status))
    assert wrong == []
    assert count >= 3000


def test_w1_without_the_guard_strangers_are_served(bare):
    """The control: the same application, and rebinding works on both of its halves."""
    paths = ["/api/v1/projects", "/socket.io/?EIO=4&transport=polling"]
    found = [reply.status for _, is_good, reply in statuses(bare, ["GET"], paths) if not is_good]
    assert len(found) > 200
    assert set(found) == {200}


def _lower(reply):
    return [(name.lower(), value) for name, value in reply.getheaders()]


def knocks(server, host, origin):
    """The status of a real WebSocket handshake that says it is for ``host`` and from ``origin``."""
    url = f"ws://{host or server.host}/socket.io/?EIO=4&transport=websocket"
    try:
        with connect(
            url,
            sock=sockets.create_connection(("127.0.0.1", server.port)),
            origin=origin,
            additional_headers={"Authorization": f"Bearer {server.token}"},
            compression=None,
            proxy=None,
        ) as socket:
            assert str(socket.recv()).startswith("0{")
            return 101
    except InvalidStatus as error:
        return error.response.status_code


# The client's own address bar refuses to send these.
SENDABLE = [host for host in HOSTS if "@" not in host]


def test_w1_w2_w6_w7_no_web_socket_gets_the_wrong_answer(served):
    wrong, count = [], 0
    for host, (origin, good_origin) in itertools.product(SENDABLE, ORIGINS.items()):
        # This client leaves out the usual port only, and writes hosts in lower case.
        status = knocks(served, written(host, served.port), written(origin, served.port))
        is_good = HOSTS[host] or host == "LOCALHOST:P"
        count += 1
        if status != (101 if is_good and good_origin else 403):
            wrong.append((host, origin, status))
    assert wrong == []
    assert count >= 100


def test_w1_without_the_guard_strangers_get_a_web_socket(bare):
    assert knocks(bare, "evil.example", "http://evil.example") == 101


# ---------------------------------------------------------------- ambiguous requests


TWICE = ["Host", "Origin", "Content-Length", "Authorization"]


@pytest.mark.parametrize("name", TWICE)
@pytest.mark.parametrize("path", ["/api/v1/projects", "/socket.io/?EIO=4&transport=polling"])
def test_w2_two_of_a_header_are_refused(served, name, path):
    values = {
        "Host": ("evil.example", served.host),
        "Origin": (served.origin, "http://evil.example"),
        "Content-Length": ("0", "1"),
        "Authorization": (f"Bearer {served.token}", "Bearer x"),
    }[name]
    headers = [pair for pair in served.with_token() if pair[0] != name]
    for both in (values, values[::-1]):
        host = both if name == "Host" else None
        more = [] if name == "Host" else [(name, value) for value in both]
        assert served.ask("GET", path, (*headers, *more), host=host).status in (400, 403)
    assert served.ask("GET", path, served.with_token()).status == 200


def test_w2_a_request_without_host_is_refused(served):
    assert served.ask("GET", "/", host=()).status in (400, 403)


@pytest.mark.parametrize("name", ["X-Forwarded-Host", "Forwarded", "X-Forwarded-For", "X-Real-IP"])
def test_forwarded_headers_change_nothing(served, name):
    lie = (name, f"host={served.host}" if name == "Forwarded" else served.host)
    assert served.ask("GET", "/", (lie,), host="evil.example").status == 403
    reply = served.ask("GET", "/api/v1/echo", served.with_token(lie))
    assert reply.status == 200
    assert name.lower() not in reply.text
