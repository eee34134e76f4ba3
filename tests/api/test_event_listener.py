"""What waits for one client: bounded, in order, progress first to go."""

import json

import pytest

from modeldyno.api import event_listener as limits
from modeldyno.api.access import OPEN_DOOR
from modeldyno.api.event_listener import Allowance, Listener, pack
from tests.api.asking import Clock


def event(number, project_id=1, text=""):
    data = {"id": 1, "text": text}
    return pack({"number": number, "kind": "x", "project_id": project_id, "at": "", "data": data})


def progress(job_id, done=0):
    message = {"number": None, "kind": "job.progress", "project_id": 1, "data": {"done": done}}
    return pack(message, about=job_id)


def listening(*rooms, clock=None):
    made = Listener("sid", "line", OPEN_DOOR, clock=clock or Clock())
    for room in rooms:
        made.enter(room, 0)
    return made


def numbers(listener):
    return [packed.number for packed in listener.take(10_000)]


def test_a_message_goes_out_as_socket_io_wants_it():
    text = event(7).text
    assert text.startswith('2/v1,["event",{"number":7,')
    assert json.loads(text.removeprefix("2/v1,"))[1]["kind"] == "x"


def test_an_event_is_told_once_and_in_its_room():
    it = listening(1)
    assert all(it.send(event(number)) for number in (1, 2, 2, 1, 3))
    assert it.send(event(4, project_id=2))
    assert numbers(it) == [1, 2, 3]


def test_who_hears_everything_hears_every_project_once():
    it = listening(None)
    for number, project_id in ((1, 1), (2, 2), (3, None), (3, None)):
        it.send(event(number, project_id))
    assert numbers(it) == [1, 2, 3]


def test_the_last_word_about_a_job_wins():
    it = listening(1)
    for done in range(5):
        it.send(progress(1, done))
    it.send(progress(2))
    assert [json.loads(p.text[5:])[1]["data"]["done"] for p in it.take(9)] == [4, 0]


def test_a_slow_client_loses_progress_first():
    it = listening(1)
    for number in range(1, limits.ROOM_FOR_PROGRESS):
        it.send(event(number))
    it.send(progress(1))
    it.send(progress(2))  # the queue is too long for it by now
    assert numbers(it) == [*range(1, limits.ROOM_FOR_PROGRESS), None]


def test_progress_makes_room_for_events():
    it = listening(1)
    it.send(progress(1))
    for number in range(1, limits.MOST_MESSAGES + 1):
        assert it.send(event(number))
    assert numbers(it) == [*range(1, limits.MOST_MESSAGES + 1)]


@pytest.mark.parametrize("text", ["", "x" * 10_000])
def test_what_waits_is_bounded_in_number_and_in_bytes(text):
    it = listening(1)
    number = 1
    while it.send(event(number, text=text)):
        number += 1
    assert it.waiting <= limits.MOST_MESSAGES
    assert it.waiting_bytes <= limits.MOST_BYTES
    assert it.heard == 0
    assert it.rooms[1] == number - 1  # the one that did not fit is not counted as told


def test_the_number_to_resume_from_is_that_of_the_last_one_taken():
    it = listening(1)
    for number in range(1, 6):
        it.send(event(number))
    it.take(2)
    assert it.heard == 2
    it.take(9)
    assert it.heard == 5


def test_a_room_that_still_catches_up_holds_the_number_back():
    it = listening(1)
    it.caught_up[2] = 3
    it.send(event(9))
    it.take(1)
    assert it.heard == 3


def test_stuck_is_who_takes_nothing_of_what_waits():
    clock = Clock()
    it = listening(1, clock=clock)
    assert it.stuck_since is None
    it.send(event(1))
    it.send(event(2))
    began = clock.now_s
    clock.now_s += 5
    assert it.stuck_since == began
    it.take(1)
    assert it.stuck_since == clock.now_s
    it.take(1)
    assert it.stuck_since is None


def test_an_allowance_is_spent_and_grows_again():
    clock = Clock()
    allowance = Allowance(2.0, 3, clock)
    assert [allowance.try_to_spend() for _ in range(4)] == [True, True, True, False]
    clock.now_s += 0.5
    assert [allowance.try_to_spend() for _ in range(2)] == [True, False]
