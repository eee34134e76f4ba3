"""``make long`` runs each study, whatever becomes of those before it."""

import sys

import pytest

from scripts import run_studies


@pytest.mark.usefixtures("starts_processes")
def test_a_study_that_fails_is_named_and_the_next_one_runs(monkeypatch, capfd):
    python = (sys.executable, "-c")
    studies = {"bad": (*python, "exit(3)"), "good": (*python, "print('seen')")}
    monkeypatch.setattr(run_studies, "STUDIES", studies)
    assert run_studies.main([]) == 1
    out = capfd.readouterr().out
    assert "bad FAILED (exit code 3) in " in out
    assert out.index("seen") < out.index("good passed in ")
    assert out.endswith("Studies that failed: bad\n")


def test_an_unknown_study_is_refused_with_the_names_of_those_there_are(capsys):
    assert run_studies.main(["kill"]) == 2
    assert "There is no study 'kill'; there are: selftest, kills-sqlite" in capsys.readouterr().out
