"""Events over Socket.IO, from a real server to real clients: each once, in order, from any number
on; and nobody hears them who may not."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import UTC, datetime
from http.client import HTTPConnection
from typing import Any

import pytest
import socketio
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect as open_websocket

from modeldyno.api.events import MESSAGE_BYTES, MOST_STRANGERS, Patience
from modeldyno.client.io import make_ordered_client
from modeldyno.store.records.events import add_events
from tests.api.live import live
from tests.api.node import following, needs_node

SOON_S = 30.0  # for what comes at once on a machine that has time


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with live(tmp_path_factory.mktemp("events") / "workspace") as found:
        yield found


@contextmanager
def listening(server, wish=None, **said):
    """A python-socketio client that is connected and, with a wish, has subscribed."""
    client = make_ordered_client(socketio)(reconnection=False, handle_sigint=False)
    said = {"auth": {"token": server.token}, "namespace": "/v1", "wait_timeout": SOON_S} | said
    client.connect(server.url, **said)
    try:
        if wish is not None:
            assert client.call("subscribe", wish, timeout=SOON_S)["ok"]
        yield client
    finally:
        client.disconnect()


def at_rest(client):
    """The stock client says no farewell while its last request is unanswered: it just goes."""
    eventually(lambda: not client.client.eio.queue.unfinished_tasks)
    time.sleep(0.05)  # it marks a request as done a moment before it waits for the next one


def heard(client, count):
    """The next events that have numbers."""
    found: list[dict[str, Any]] = []
    while len(found) < count:
        name, message = client.receive(timeout=SOON_S)
        assert name == "event"
        if message["number"] is not None:
            found.append(message)
    return found


def happen(server, project_id, count, text=""):
    """So many events at once."""
    with server.server.records.database.writing() as connection:
        told = [(project_id, {"id": project_id, "text": text})] * count
        add_events(connection, "project.changed", told, datetime.now(UTC))


def last_number(server):
    return server.server.records.events.last_number()


# ---------------------------------------------------------------- what is heard


@pytest.mark.parametrize("transports", [["websocket"], ["polling"], None])
def test_what_happens_is_heard_with_its_number(server, transports):
    with listening(server, {"project_id": None}, transports=transports) as client:
        made = server.project()
        (message,) = heard(client, 1)
    assert message | {"at": ""} == {
        "number": last_number(server),
        "kind": "project.created",
        "project_id": made.id,
        "at": "",
        "data": {"id": made.id},
    }
    assert datetime.fromisoformat(message["at"]).tzinfo == UTC


def test_a_room_hears_its_project_alone(server):
    mine, other = server.project(), server.project()
    with listening(server, {"project_id": mine.id}) as client:
        happen(server, other.id, 1)
        happen(server, mine.id, 1)
        (message,) = heard(client, 1)
        assert message["project_id"] == mine.id
        assert client.call("subscribe", {"project_id": other.id})["ok"]
        happen(server, other.id, 1)
        assert heard(client, 1)[0]["project_id"] == other.id
        assert client.call("unsubscribe", {"project_id": other.id})["ok"]
        happen(server, other.id, 1)
        happen(server, mine.id, 1)
        assert heard(client, 1)[0]["project_id"] == mine.id


def test_who_subscribes_to_nothing_hears_nothing(server):
    with listening(server) as client, listening(server, {"project_id": None}) as control:
        server.project()
        heard(control, 1)
        assert client.call("ping")["last"] == last_number(server)
        assert client.input_buffer == []


def test_subscribing_twice_tells_nothing_twice(server):
    project = server.project()
    with listening(server, {"project_id": project.id}) as client:
        for wish in (project.id, None, project.id, None):
            assert client.call("subscribe", {"project_id": wish})["ok"]
        happen(server, project.id, 3)
        server.project()
        numbers = [message["number"] for message in heard(client, 4)]
    assert numbers == sorted(set(numbers))


# ---------------------------------------------------------------- from any number on


@pytest.mark.parametrize("by", ["subscribe", "auth"])
def test_what_was_missed_comes_first(server, by):
    project = server.project()
    before = last_number(server)
    happen(server, project.id, 5)
    auth = {"token": server.token} | ({"after": before} if by == "auth" else {})
    with listening(server, auth=auth) as client:
        wish = {"project_id": project.id} | ({"after": before} if by == "subscribe" else {})
        told = client.call("subscribe", wish)
        assert told == {"ok": True, "last": before + 5, "is_complete": True}
        happen(server, project.id, 5)
        numbers = [message["number"] for message in heard(client, 10)]
    assert numbers == [*range(before + 1, before + 11)]


def test_nothing_is_lost_or_doubled_between_what_was_missed_and_what_is_new(server):
    """Clients come while events happen, at every moment of catching up."""
    project, other = server.project(), server.project()
    before, rounds = last_number(server), 40

    def write():
        for number in range(rounds):
            happen(server, project.id, 1 + number * 7 % 23)
            happen(server, other.id, 1)
        happen(server, project.id, 1, "end")

    async def follow(wish):
        async with socketio.AsyncSimpleClient(reconnection=False, handle_sigint=False) as client:
            auth = {"token": server.token}
            await client.connect(server.url, auth=auth, namespace="/v1", wait_timeout=SOON_S)
            await client.call("subscribe", wish | {"after": before}, timeout=SOON_S)
            found, text = [], ""
            while text != "end":
                _, message = await client.receive(timeout=SOON_S)
                found.append(message["number"])
                text = message["data"]["text"]
            return found

    async def all_of_them():
        writer = threading.Thread(target=write)
        writer.start()
        tasks = []
        for _ in range(6):
            for wish in (project.id, None):
                tasks.append(asyncio.create_task(follow({"project_id": wish})))
            await asyncio.sleep(0.02)
        found = await asyncio.gather(*tasks)
        writer.join()
        return found

    found = asyncio.run(all_of_them())
    for wish, numbers in zip((project.id, None) * 6, found, strict=True):
        rows = server.server.records.events.since(before, 100_000, wish).events
        assert numbers == [row.number for row in rows]


def test_many_at_once_do_not_lose_a_listener(server):
    """More than may wait for one client: the rest comes from the database."""
    project = server.project()
    with listening(server, {"project_id": project.id}) as client:
        before = last_number(server)
        happen(server, project.id, 3000)
        numbers = [message["number"] for message in heard(client, 3000)]
    assert numbers == [*range(before + 1, before + 3001)]


def test_who_was_away_for_too_long_is_told_so(tmp_path):
    with live(tmp_path / "w") as server:
        project = server.project()
        happen(server, project.id, 20)
        server.server.records.events.forget(5)
        with listening(server) as client:
            told = client.call("subscribe", {"project_id": None, "after": 3})
            assert told == {"ok": True, "last": 21, "is_complete": False}
            happen(server, project.id, 1)
            assert heard(client, 1)[0]["number"] == 22  # from now on, and nothing with holes
            kept = client.call("subscribe", {"project_id": None, "after": 16})
            assert kept["is_complete"]
            assert [m["number"] for m in heard(client, 6)] == [*range(17, 23)]
            # A number that never was: of another workspace, or of a database that was put back.
            assert not client.call("subscribe", {"project_id": None, "after": 99})["is_complete"]


# ---------------------------------------------------------------- a job, to its end


@pytest.fixture(scope="module")
def model(server, tmp_path_factory):
    return server.model(tmp_path_factory.mktemp("model"), latency_us=500)


@pytest.mark.usefixtures("starts_processes")
def test_python_follows_a_job_to_its_end_through_a_cut(server, model):
    before = last_number(server)
    job = server.start(model, seconds=1.0)
    messages: list[dict[str, Any]] = []
    last, cuts = before, 0
    while not is_end(messages, job):
        with listening(server, {"project_id": None, "after": last}) as client:
            while not is_end(messages, job):
                try:
                    _, message = client.receive(timeout=0.5)
                except socketio.exceptions.TimeoutError:
                    if not client.connected:
                        break
                    continue
                except socketio.exceptions.SocketIOError:
                    break
                messages.append(message)
                last = message["number"] or last
                if message["kind"] == "job.progress" and not cuts:
                    cuts += 1
                    server.cut()
    assert cuts == 1
    expect_whole_story(messages, before, job)


@pytest.mark.usefixtures("starts_processes")
@needs_node
@pytest.mark.parametrize("transport", ["websocket", "polling"])
def test_node_follows_a_job_to_its_end_through_cuts(server, model, transport):
    """Between two requests for news there is nothing to cut: who polls is cut more often."""
    said: list[dict[str, Any]] = []
    cuts, job = 2 if transport == "websocket" else 6, None
    with following(server.url, server.token, transport) as node:
        for line in node:
            said.append(line)
            if job is None:
                job = server.start(model, seconds=1.0)
            elif line["what"] == "event" and line["data"] != {"id": job.id} and cuts:
                cuts -= 1
                server.cut()
    whats = [line["what"] for line in said]
    assert whats[-1] == "end"
    assert whats.count("subscribed") >= 2
    events = [line for line in said if line["what"] == "event"]
    expect_whole_story(events, said[0]["last"], job)


def is_end(messages, job):
    ends = ("done", "failed", "cancelled", "interrupted")
    return any(
        message["kind"] == "run.changed"
        and message["data"]["run_id"] == job.run_id
        and message["data"]["state"] in ends
        for message in messages[-1:]
    )


def expect_whole_story(messages, before, job):
    numbers = [message["number"] for message in messages if message["number"] is not None]
    assert numbers == [*range(before + 1, numbers[-1] + 1)]
    states = [
        message["data"]["state"]
        for message in messages
        if message["kind"].startswith("run.") and message["data"]["run_id"] == job.run_id
    ]
    assert states == ["queued", "running", "done"]
    # Of progress there may be none: it is not kept, and a job can end while a line is cut.
    told = [message["data"] for message in messages if message["kind"] == "job.progress"]
    names = {(standing["id"], standing["headline"]) for standing in told}
    assert names <= {(job.id, "m.json")}  # and not where it lies


# ---------------------------------------------------------------- who may not


@pytest.mark.parametrize("token", ["", "wrong", "x" * 43, 7, None])
def test_a_wrong_token_is_refused_before_anything_is_heard(server, token):
    client = socketio.SimpleClient(reconnection=False, handle_sigint=False)
    with pytest.raises(socketio.exceptions.ConnectionError, match="failed to connect"):
        client.connect(server.url, auth={"token": token}, namespace="/v1", wait_timeout=SOON_S)
    with raw(server, auth={"token": token}) as (_, answer):
        assert json.loads(answer.removeprefix("44/v1,"))["data"]["code"] == "TOKEN_NEEDED"
    with listening(server, {"project_id": None}):  # the same with the right one
        pass


@pytest.mark.usefixtures("starts_processes")
@needs_node
def test_node_is_told_why_it_is_refused(server):
    with following(server.url, "wrong", "websocket") as node:
        (said,) = list(node)
    assert (said["what"], said["data"]["code"]) == ("refused", "TOKEN_NEEDED")


@contextmanager
def line(server, **more):
    """Engine.IO by hand: a web socket that has said nothing yet."""
    place = server.url.replace("http", "ws") + "/socket.io/?EIO=4&transport=websocket"
    with open_websocket(place, open_timeout=SOON_S, compression=None, **more) as link:
        assert link.recv(SOON_S)[0] == "0"
        yield link


@contextmanager
def raw(server, namespace="/v1", auth=None, **more):
    """The same, as far as the answer to the namespace."""
    with line(server, **more) as link:
        link.send(f"40{namespace + ',' if namespace != '/' else ''}{json.dumps(auth or {})}")
        yield link, link.recv(SOON_S)


@pytest.mark.parametrize(
    ("namespace", "is_in"), [("/v1", True), ("/", True), ("/admin", False), ("/v1x", False)]
)
def test_only_the_namespaces_that_there_are_take_connections(server, namespace, is_in):
    with raw(server, namespace, {"token": server.token}) as (_, answer):
        assert answer.startswith("40" if is_in else "44")


def test_a_page_of_somebody_else_gets_no_line(server):
    auth = {"token": server.token}
    with pytest.raises(InvalidStatus, match="403"), raw(server, auth=auth, origin="http://evil.x"):
        pass
    with raw(server, auth=auth, origin=server.url) as (_, answer):
        assert answer.startswith("40")


def is_hung_up(link):
    try:
        while True:
            link.recv(SOON_S)
    except ConnectionClosed:
        return True


HOSTILE: dict[str, list[str | bytes]] = {
    "long": ["42/v1," + json.dumps(["ping", "x" * MESSAGE_BYTES])],
    "bytes": [b"\x00" * 10],
    "attachments": ['451-/v1,["subscribe",{"_placeholder":true,"num":0}]'] * 200,
    "rubbish": ["", "9", "4", "42/v1,[", "42/v1,{}", "42/v1,[1]", "43/v1,1[]", "41/v1,", b""],
    "flood": [f'42/v1,{number}["ping"]' for number in range(500)],
    "depth": ["42/v1," + "[" * 30_000] * 100,
    "pongs": ["3"] * 500,
    "names": ["40/v1,{}", "40/,{}"] * 100,
}


@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_hostile_client_is_hung_up_on_and_others_are_not(server, hostile):
    with (
        listening(server, {"project_id": None}) as control,
        raw(server, auth={"token": server.token}) as (link, answer),
    ):
        assert answer.startswith("40")
        with suppress(ConnectionClosed):
            for frame in HOSTILE[hostile]:
                link.send(frame)
        assert is_hung_up(link)
        server.project()
        heard(control, 1)


def is_sent_away(link):
    """By the check of its token, not because it answers no ping: those come much later."""
    try:
        while link.recv(SOON_S) != "2":
            pass
    except ConnectionClosed:
        return True
    return False


FORGED = '{"asgi.scope":{"modeldyno.caller":{"by":"token","under":"","sign_in":null}}}'
# As after "42" and the namespace. python-socketio calls handlers of these names by itself, too.
RESERVED = {
    "connect": f'["connect",{FORGED}]',
    "connect, acknowledged": f'7["connect",{FORGED}]',
    "connect, with a token": f'["connect",{FORGED},{{"token":"x"}}]',
    "connect, without arguments": '["connect"]',
    "disconnect": '["disconnect"]',
    "disconnect, acknowledged": '7["disconnect","bye"]',
    "connect_error": '["connect_error",{}]',
    "any": '["*","ping",{}]',
    "no name": '[["connect"]]',
}


@pytest.mark.parametrize("namespace", ["/v1", "/"])
@pytest.mark.parametrize("attack", RESERVED)
def test_an_event_with_a_reserved_name_does_not_keep_a_connection_past_its_token(
    server, namespace, attack
):
    auth = {"token": server.token}
    prefix = f"{namespace}," if namespace != "/" else ""
    with (
        raw(server, namespace, auth) as (attacker, _),
        raw(server, "/v1", auth) as (listener, _),
        raw(server, "/", auth) as (old_client, _),
    ):
        attacker.send(f"42{prefix}{RESERVED[attack]}")
        attacker.send(f"45{prefix}{RESERVED[attack]}")
        attacker.send(f"451-{prefix}{RESERVED[attack]}")
        listener.send('42/v1,1["ping"]')
        assert listener.recv(SOON_S).startswith('43/v1,1[{"ok":true')
        server.token_file.rotate()
        assert is_sent_away(listener)
        assert is_sent_away(old_client)
        assert is_sent_away(attacker)


def test_an_event_with_a_reserved_name_changes_nothing_for_its_sender(server):
    with raw(server, auth={"token": server.token}) as (link, _):
        for packet in RESERVED.values():
            link.send(f"42/v1,{packet}")
        link.send('42/v1,1["subscribe",{"project_id":null}]')
        assert link.recv(SOON_S).startswith('43/v1,1[{"ok":true')
        server.project()
        assert '"project.created"' in link.recv(SOON_S)


@pytest.mark.parametrize(
    ("word", "said", "code"),
    [
        ("shout", {}, "UNKNOWN_MESSAGE"),
        ("event", {}, "UNKNOWN_MESSAGE"),
        ("subscribe", {"project_id": "1"}, "BAD_VALUE"),
        ("subscribe", {"project_id": 0}, "BAD_VALUE"),
        ("subscribe", {"project_id": 1, "room": "x"}, "BAD_VALUE"),
        ("subscribe", {"after": -1}, "BAD_VALUE"),
        ("subscribe", {"after": 1.5}, "BAD_VALUE"),
        ("subscribe", {"after": True}, "BAD_VALUE"),
        ("subscribe", [1], "BAD_VALUE"),
        ("unsubscribe", {"after": 1}, "BAD_VALUE"),
    ],
)
def test_what_is_not_in_the_vocabulary_is_refused(server, word, said, code):
    with listening(server) as client:
        assert client.call(word, said)["code"] == code
        assert client.call("subscribe", {"project_id": None})["ok"]


def test_too_many_wishes_end_the_connection(server):
    with listening(server) as client:
        for _ in range(40):
            client.emit("ping")
        name, said = client.receive(timeout=SOON_S)
        assert (name, said["code"]) == ("goodbye", "TOO_MANY_MESSAGES")
        eventually(lambda: not client.connected)


def test_a_new_token_ends_the_connections_of_the_old(tmp_path):
    with live(tmp_path / "w") as server, listening(server, {"project_id": None}) as client:
        server.project()
        heard(client, 1)
        server.token_file.rotate()
        name, said = client.receive(timeout=SOON_S)
        assert (name, said["code"]) == ("goodbye", "TOKEN_NEEDED")
        eventually(lambda: not client.connected)
        with listening(server, {"project_id": None, "after": 0}) as again:  # the new one
            assert heard(again, 1)[0]["number"] == 1


def test_who_does_not_say_who_it_is_does_not_hold_a_line(tmp_path):
    quick = Patience(recheck_s=0.05, introduce_s=0.2)
    with (
        live(tmp_path / "w", quick) as server,
        line(server) as stranger,
        listening(server, {"project_id": None}) as known,
    ):
        assert is_hung_up(stranger)
        server.project()
        heard(known, 1)


def handshake(server, **headers):
    """By polling: status and body, without a word on who it is."""
    with closing(HTTPConnection(server.url.partition("//")[2], timeout=SOON_S)) as connection:
        connection.request("GET", "/socket.io/?EIO=4&transport=polling", headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read()


def test_strangers_hold_so_many_lines_and_no_more(tmp_path):
    patient = Patience(recheck_s=0.05, introduce_s=SOON_S)
    with live(tmp_path / "w", patient) as server, ExitStack() as links:
        known = links.enter_context(listening(server, {"project_id": None}))
        for _ in range(MOST_STRANGERS - 1):
            assert handshake(server)[0] == 200
        one = links.enter_context(line(server))
        status, said = handshake(server)
        assert (status, b"unauthenticated clients" in said) == (429, True), said
        with pytest.raises(InvalidStatus), line(server):
            pass
        server.project()
        heard(known, 1)
        one.send(f"40/v1,{json.dumps({'token': server.token})}")
        assert one.recv(SOON_S).startswith("40")
        assert [handshake(server)[0] for _ in range(2)] == [200, 429]  # it made room for one
        with line(server, additional_headers={"Authorization": f"Bearer {server.token}"}):
            pass  # who says it at once is no stranger


def test_strangers_who_were_dropped_make_room(tmp_path):
    with live(tmp_path / "w", Patience(recheck_s=0.05, introduce_s=0.2)) as server:
        for _ in range(MOST_STRANGERS * 2):  # where there is time, most of them are refused
            handshake(server)
        eventually(lambda: handshake(server)[0] == 200)
        with listening(server, {"project_id": None}):
            pass


def test_who_leaves_is_forgotten(tmp_path, caplog):
    caplog.set_level("INFO", "modeldyno.api.events")
    with live(tmp_path / "w", Patience(recheck_s=0.05, stuck_s=2.0)) as server:
        for transports in (["websocket"], ["polling"], None):
            with listening(server, {"project_id": None}, transports=transports) as client:
                at_rest(client)
        with listening(server, {"project_id": None}) as control:
            happen(server, server.project().id, 20)
            heard(control, 21)
            time.sleep(2.5)  # longer than anybody may be stuck: nothing must happen
    assert "sent away" not in caplog.text


def tasks_of(server, name):
    """What the server's loop is at, of the coroutines of that name."""
    found = (task.get_coro() for task in asyncio.all_tasks(server.loops[0]))
    return [one for one in found if getattr(one, "__name__", "") == name]


def test_who_leaves_while_it_is_answered_leaves_nothing_behind(tmp_path, monkeypatch):
    with live(tmp_path / "w") as server:
        events = server.server.records.events
        asked, may_answer = threading.Event(), threading.Event()
        since = events.since

        def slowly(after, most, *more):
            if most == 1:
                asked.set()
                assert may_answer.wait(SOON_S)
            return since(after, most, *more)

        happen(server, server.project().id, 2000)  # more than may wait for one client
        monkeypatch.setattr(events, "since", slowly)
        with listening(server) as client:
            client.emit("subscribe", {"project_id": None, "after": 0})
            assert asked.wait(SOON_S)
        eventually(lambda: not tasks_of(server, "_send"))
        may_answer.set()
        time.sleep(0.2)  # for what it might have begun
        assert not tasks_of(server, "_read_on")
        with listening(server, {"project_id": None, "after": 0}) as client:  # the control
            assert heard(client, 2001)[-1]["number"] == 2001


def test_who_cannot_be_told_what_it_missed_is_sent_away_and_not_left_deaf(tmp_path, monkeypatch):
    with live(tmp_path / "w") as server:
        events = server.server.records.events
        since = events.since

        def fail(after, most, *more):
            if most > 1:
                raise ValueError("a bug of ours")
            return since(after, most, *more)

        with monkeypatch.context() as patched, listening(server) as client:
            patched.setattr(events, "since", fail)
            assert client.call("subscribe", {"project_id": None, "after": 0})["ok"]
            name, said = client.receive(timeout=SOON_S)
            assert (name, said["code"]) == ("goodbye", "TRY_AGAIN")
            eventually(lambda: not client.connected)
        server.project()
        with listening(server, {"project_id": None, "after": 0}) as client:
            heard(client, 1)


def eventually(is_so):
    end = time.monotonic() + SOON_S
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.02)


# ---------------------------------------------------------------- who does not keep up


@pytest.mark.slow
def test_slow_readers_are_sent_away_and_the_others_hear_everything(tmp_path, caplog):
    """Most of 50 clients never read: those hear from where to resume, and nobody waits."""
    caplog.set_level("INFO", "modeldyno.api.events")
    quick = Patience(recheck_s=0.05, stuck_s=2.0)
    with live(tmp_path / "w", quick, send_buffer=16 << 10) as server, ExitStack() as links:
        project = server.project()
        slow = [links.enter_context(unread(server, project.id)) for _ in range(40)]
        rounds, at_once, text = 20, 40, "x" * 2000  # more than may wait for one client

        async def follow():
            async with socketio.AsyncSimpleClient(handle_sigint=False) as client:
                auth = {"token": server.token}
                await client.connect(
                    server.url, auth=auth, namespace="/v1", wait_timeout=SOON_S,
                    transports=["websocket"],
                )  # fmt: skip
                await client.call("subscribe", {"project_id": project.id}, timeout=SOON_S)
                return [
                    (await client.receive(timeout=SOON_S))[1]["number"]
                    for _ in range(rounds * at_once)
                ]

        async def write():
            await asyncio.sleep(0.5)
            for _ in range(rounds):
                await asyncio.to_thread(happen, server, project.id, at_once, text)

        async def all_of_them():
            *found, _ = await asyncio.gather(*(follow() for _ in range(10)), write())
            return found

        wanted = [*range(2, rounds * at_once + 2)]
        assert asyncio.run(all_of_them()) == [wanted] * 10
        eventually(lambda: caplog.text.count("was sent away") == len(slow))
        for link in slow:
            numbers, goodbye = rest_of(link)
            assert numbers == wanted[: len(numbers)]
            assert len(numbers) < len(wanted)
            assert (goodbye["code"], goodbye["after"]) == ("TOO_SLOW", 1 + len(numbers))
            assert goodbye["fix"] == f"Reconnect and resume from event {1 + len(numbers)}"


@contextmanager
def unread(server, project_id):
    """A client that subscribes, and reads nothing after that: the system holds little for it."""
    plain = socket.socket()
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    plain.connect(("127.0.0.1", int(server.url.rpartition(":")[2])))
    auth = {"token": server.token}
    with raw(server, auth=auth, sock=plain, max_queue=1, ping_interval=None, close_timeout=0.1) as (
        link,
        _,
    ):
        link.send(f'42/v1,1["subscribe",{{"project_id":{project_id}}}]')
        assert link.recv(SOON_S).startswith("43/v1,1[")
        yield link


def rest_of(link):
    numbers, goodbye = [], None
    try:
        while True:
            text = link.recv(SOON_S)
            if text.startswith("42/v1,"):
                name, said = json.loads(text[6:])
                if name == "event":
                    numbers.append(said["number"])
                else:
                    goodbye = said
    except ConnectionClosed:
        return numbers, goodbye
