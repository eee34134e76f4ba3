"""Answers that are given again, and browsers that stay signed in."""

from datetime import timedelta

import pytest
from sqlalchemy import event

from modeldyno.store.records import sign_ins
from modeldyno.store.records.repeated_requests import KeptAnswer
from modeldyno.store.records.sign_ins import SignIn, SignInRecords

ANSWER = KeptAnswer(request="a" * 64, status=201, body='{"id":1}', location="/api/v1/projects/1")


def sign_in(letter: str, until_s: float = 10.0) -> SignIn:
    return SignIn(letter * 64, "t" * 64, f"csrf-{letter}", until_s)


class Answered:
    def test_an_answer_is_found_by_its_route_and_key(self, desk):
        answers = desk.records.answers
        answers.keep("create_project", "k", ANSWER)
        assert answers.find("create_project", "k") == ANSWER
        assert answers.find("create_project", "K") is None
        assert answers.find("create_benchmark", "k") is None

    def test_an_answer_is_kept_for_a_day(self, desk):
        answers = desk.records.answers
        answers.keep("create_project", "old", ANSWER)
        desk.clock.now += timedelta(hours=23)
        answers.keep("create_project", "new", ANSWER)
        assert answers.find("create_project", "old") == ANSWER
        desk.clock.now += timedelta(hours=1)
        assert answers.find("create_project", "old") is None
        assert answers.find("create_project", "new") == ANSWER
        answers.keep("create_project", "old", ANSWER)  # its place is free again
        assert answers.find("create_project", "old") == ANSWER

    def test_an_answer_goes_with_what_it_tells_of(self, desk):
        def fail_late():
            with desk.database.writing():
                desk.project()
                desk.records.answers.keep("create_project", "k", ANSWER)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fail_late()
        assert desk.records.answers.find("create_project", "k") is None
        assert desk.records.projects.page().items == ()

    def test_sign_ins_outlive_the_server(self, database):
        SignInRecords(database, lambda: 0.0).add(sign_in("a"))
        again = SignInRecords(database, lambda: 0.0)
        assert again.find("a" * 64) == sign_in("a")
        again.remove("a" * 64)
        assert again.find("a" * 64) is None
        assert SignInRecords(database).find("a" * 64) is None

    def test_a_sign_in_is_forgotten_at_once_and_its_row_later(self, database):
        kept = SignInRecords(database, lambda: 0.0)
        kept.add(sign_in("a"))
        kept.forget("a" * 64)
        assert kept.find("a" * 64) is None
        kept.add(sign_in("b"))
        assert SignInRecords(database).find("a" * 64) is None

    def test_a_sign_in_may_be_forgotten_while_another_is_added(self, database):
        class Now(float):  # whoever compares with it meets somebody who forgets
            def __ge__(self, other: float) -> bool:
                kept.forget("a" * 64)
                return super().__ge__(other)

        kept = SignInRecords(database, lambda: Now(0.0))
        for letter in "abc":
            kept.add(sign_in(letter))
        assert [x for x in "abc" if kept.find(x * 64)] == ["b", "c"]

        def forget(*_: object) -> None:
            kept.forget("b" * 64)

        event.listen(database.engine, "after_cursor_execute", forget)
        kept.add(sign_in("d"))
        event.remove(database.engine, "after_cursor_execute", forget)
        kept.add(sign_in("e"))
        assert [x for x in "abcde" if SignInRecords(database).find(x * 64)] == ["c", "d", "e"]

    def test_sign_ins_that_are_over_or_too_many_give_way(self, database, monkeypatch):
        monkeypatch.setattr(sign_ins, "MOST_SIGN_INS", 3)
        kept = SignInRecords(database, lambda: 5.0)
        for letter, until_s in (("a", 9.0), ("b", 4.0), ("c", 8.0), ("d", 10.0), ("e", 11.0)):
            kept.add(sign_in(letter, until_s))
        for found in (kept, SignInRecords(database)):
            assert [x for x in "abcde" if found.find(x * 64)] == ["a", "d", "e"]
        kept.remove_all()
        assert not [x for x in "abcde" if SignInRecords(database).find(x * 64)]
