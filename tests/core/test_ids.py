"""Ids of runs: what is begun later is listed later, also within one second."""

from datetime import UTC, datetime, timedelta

from modeldyno.core.ids import new_run_id, run_id


def test_ids_sort_by_the_moment_they_were_made():
    began = datetime(2026, 11, 15, 9, 51, 16, tzinfo=UTC)
    moments = [began + timedelta(microseconds=250 * at) for at in range(4000)]
    made = [new_run_id(moment) for moment in moments]
    assert made == sorted(made)
    assert made[0].startswith("20261115-095116-000")
    assert made[-1].startswith("20261115-095116-ffe")


def test_two_of_one_moment_differ_and_are_ids():
    moment = datetime(2026, 11, 15, tzinfo=UTC)
    made = {new_run_id(moment) for _ in range(20)}
    assert len(made) > 10
    assert {run_id(one) for one in made} == made
