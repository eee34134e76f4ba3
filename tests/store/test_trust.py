"""Trust is by content, kept in one step, and damaged lists vouch for nothing."""

import json
import threading
from dataclasses import replace

import pytest

from modeldyno.core.errors import WorkspaceUnusable
from modeldyno.core.trust import Code
from modeldyno.store.trust import Trust

A, B = "a" * 64, "b" * 64


@pytest.fixture
def trust(tmp_path):
    return Trust(tmp_path / "workspace" / "trust.json")


def test_nothing_is_trusted_at_first(trust):
    assert not trust.is_trusted(A)
    assert trust.all() == ()


def test_a_word_is_kept_with_its_reason_and_date(trust, tmp_path):
    entry = trust.grant(A, "net.pt2", "I made it")
    assert trust.all() == (entry,)
    assert (entry.name, entry.reason) == ("net.pt2", "I made it")
    assert Trust(tmp_path / "workspace" / "trust.json").is_trusted(A)
    assert not trust.is_trusted(B)


def test_the_newest_word_counts(trust):
    trust.grant(A, "old.pt2")
    newest = trust.grant(A, "new.pt2")
    assert trust.all() == (newest,)


def test_a_word_can_be_taken_back(trust):
    trust.grant(A, "net.pt2")
    trust.grant(B, "other.pt2")
    assert trust.revoke(A)
    assert not trust.is_trusted(A)
    assert trust.is_trusted(B)
    assert not trust.revoke(A)


@pytest.mark.parametrize("text", ["", "{", "[1]", json.dumps([{"sha256": A}])])
def test_a_damaged_list_vouches_for_nothing_and_is_not_overwritten(text, trust, tmp_path):
    trust.grant(A, "net.pt2")
    (tmp_path / "workspace" / "trust.json").write_text(text)
    with pytest.raises(WorkspaceUnusable):
        trust.is_trusted(A)
    with pytest.raises(WorkspaceUnusable):
        trust.grant(B, "other.pt2")
    assert (tmp_path / "workspace" / "trust.json").read_text() == text


def test_two_who_vouch_at_once_are_both_heard(trust):
    threads = [
        threading.Thread(target=trust.grant, args=(f"{number:064x}", "n")) for number in range(16)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(trust.all()) == 16


def test_trust_with_code_is_for_exactly_that_code(trust):
    code = Code("nets:build", {"depth": 1}, {"/nets.py": B})
    entry = trust.grant(A, "net.pt", code=code)
    assert trust.all() == (entry,)
    assert trust.is_trusted(A, replace(code))
    assert not trust.is_trusted(A)
    for other in (
        replace(code, factory="nets:make"),
        replace(code, arguments={"depth": 1.0}),
        replace(code, arguments={"depth": True}),
        replace(code, arguments={}),
        replace(code, sources={"/nets.py": A}),
        replace(code, sources={}),
    ):
        assert not trust.is_trusted(A, other)


def test_the_same_weights_may_be_trusted_with_several_codes_and_are_revoked_with_all(trust):
    codes = [Code("nets:build", {"depth": depth}) for depth in (1, 2)]
    for code in (*codes, None, codes[0]):
        trust.grant(A, "net.pt", code=code)
    assert len(trust.all()) == 3
    assert trust.revoke(A)
    assert trust.all() == ()


def test_a_list_of_an_older_version_is_read(trust, tmp_path):
    trust.grant(B, "other.pt2")
    old = [{"sha256": A, "name": "net.pt2", "at": "2026-01-01T00:00:00+00:00", "reason": ""}]
    (tmp_path / "workspace" / "trust.json").write_text(json.dumps(old))
    assert trust.is_trusted(A)
    assert not trust.is_trusted(A, Code("nets:build"))
