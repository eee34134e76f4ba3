"""One-time codes, sign-ins, and how they end."""

import pytest

from modeldyno.services import sign_ins
from modeldyno.services.failed_attempts import FailedAttempts
from modeldyno.services.sign_ins import SignIns, SignInsInMemory


class Clock:
    now_s = 0.0

    def __call__(self):
        return self.now_s


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def token():
    return ["t" * 43]


@pytest.fixture
def store():
    return SignInsInMemory()


@pytest.fixture
def known(token, store, clock):
    return SignIns(lambda: token[0], store, clock)


def test_the_token_is_known_and_nothing_else_is(known):
    assert known.hash_if_current("t" * 43)
    for other in ("", " ", "t" * 42, "t" * 44, "T" * 43, "ü", "\udc80"):
        assert known.hash_if_current(other) is None


def test_a_code_is_good_once(known):
    code = known.new_code()
    assert known.sign_in_with_code(code) is not None
    assert known.sign_in_with_code(code) is None
    assert known.sign_in_with_code("") is None


def test_a_code_is_good_for_a_minute(known, clock):
    early, late = known.new_code(), known.new_code()
    clock.now_s = 59.9
    assert known.sign_in_with_code(early) is not None
    clock.now_s = 60.0
    assert known.sign_in_with_code(late) is None


def test_a_code_dies_with_its_token(known, token):
    code = known.new_code()
    token[0] = "n" * 43
    assert known.sign_in_with_code(code) is None


def test_a_sign_in_is_found_by_its_secret_until_it_ends(known, clock):
    secret, made = known.sign_in_with_code(known.new_code())
    assert known.find(secret) == made
    assert known.find(made.id) is None  # what the store holds opens nothing
    for other in (None, "", "x", secret + "x"):
        assert known.find(other) is None
    clock.now_s = sign_ins.LIFETIME_S
    assert known.find(secret) is None


def test_a_sign_in_can_be_revoked_alone_or_with_all_others(known):
    (first, made), (second, _), (third, _) = (
        known.sign_in_with_code(known.new_code()) for _ in range(3)
    )
    assert known.is_valid(made)
    known.revoke(made.id)
    assert known.find(first) is None
    assert not known.is_valid(made)
    assert known.find(second) is not None
    code = known.new_code()
    known.revoke_all()
    assert known.find(second) is known.find(third) is None
    assert known.sign_in_with_code(code) is None


def test_w18_a_new_token_ends_all_sign_ins_for_good(known, token):
    secret, _ = known.sign_in_with_code(known.new_code())
    token[0] = "n" * 43
    assert known.find(secret) is None
    token[0] = "t" * 43
    assert known.find(secret) is None


def test_the_token_in_the_page_address_signs_in(known):
    assert known.sign_in_with_token("t" * 43) is not None
    assert known.sign_in_with_token("x") is None


def test_codes_and_sign_ins_are_bounded(known, monkeypatch):
    monkeypatch.setattr(sign_ins, "MOST_CODES", 3)
    monkeypatch.setattr(sign_ins, "MOST_SIGN_INS", 2)
    codes = [known.new_code() for _ in range(4)]
    assert known.sign_in_with_code(codes[0]) is None
    secrets = [known.sign_in_with_code(code)[0] for code in codes[1:]]
    assert [known.find(secret) is None for secret in secrets] == [True, False, False]


def test_failures_are_counted_by_client_and_forgotten_after_a_minute(clock):
    counted = FailedAttempts(clock)
    assert [counted.count_and_delay_s("a") for _ in range(10)] == [0] * 10
    assert counted.count_and_delay_s("a") == 60
    assert counted.count_and_delay_s("b") == 0
    clock.now_s = 59.5
    assert counted.count_and_delay_s("a") == 1
    clock.now_s = 60.0
    assert counted.count_and_delay_s("a") == 0


def test_failures_of_many_clients_do_not_fill_the_memory(clock):
    counted = FailedAttempts(clock, max_clients=5)
    for number in range(100):
        counted.count_and_delay_s(str(number))
    assert len(counted._times) == 5
