"""The workspace's token: made once, private from the start, and refused when it is not."""

import os
import secrets
import stat
import threading

import pytest

from modeldyno.core.errors import TokenUnusable
from modeldyno.store.tokens import TokenFile


@pytest.fixture
def path(tmp_path):
    return tmp_path / "workspace" / "token"


def test_the_first_use_makes_a_token_of_256_bits_that_only_we_can_read(path):
    token = TokenFile(path).current()
    assert len(token) == 43
    assert path.read_text() == token + "\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in path.parent.iterdir()] == ["token"]


def test_a_token_never_looks_like_an_option(path, monkeypatch):
    drawn = iter(["-" + "a" * 42, "b" * 43])
    monkeypatch.setattr(secrets, "token_urlsafe", lambda count: next(drawn))
    assert TokenFile(path).current() == "b" * 43


def test_the_token_stays_and_every_workspace_has_its_own(path, tmp_path):
    assert TokenFile(path).current() == TokenFile(path).current()
    assert TokenFile(tmp_path / "other").current() != TokenFile(path).current()


def test_defect_20_the_token_is_private_from_the_start_under_any_umask(path):
    before = os.umask(0)
    try:
        TokenFile(path).current()
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_those_who_start_together_share_one_token(path):
    tokens = []
    threads = [
        threading.Thread(target=lambda: tokens.append(TokenFile(path).current())) for _ in range(16)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(tokens) == 16
    assert len(set(tokens)) == 1


def test_a_rotated_token_is_another_and_everybody_sees_it(path):
    server = TokenFile(path)
    old = server.current()
    new = TokenFile(path).rotate()
    assert new != old
    assert server.current() == new
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "text", ["", "\n", " " * 43, "x", "x" * 42, "x" * 300, "ü" * 43, "x" * 43 + "\nx"]
)
def test_w17_what_is_no_token_is_refused(path, text):
    token = TokenFile(path)
    good = token.current()
    path.write_text(text)
    for reader in (token, TokenFile(path)):
        with pytest.raises(TokenUnusable):
            reader.current()
    path.write_text(good)
    assert token.current() == good


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o620, 0o602, 0o644])
def test_a_token_that_others_can_read_or_write_is_refused(path, mode):
    token = TokenFile(path)
    token.current()
    path.chmod(mode)
    with pytest.raises(TokenUnusable, match="other users"):
        token.current()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_token_of_somebody_else_is_refused(path):
    token = TokenFile(path)
    token.current()
    os.chown(path, 12345, -1)
    with pytest.raises(TokenUnusable, match="another user"):
        token.current()


def test_a_link_or_a_pipe_is_no_token(path, tmp_path):
    real = TokenFile(tmp_path / "real").current()
    path.parent.mkdir()
    path.symlink_to(tmp_path / "real")
    with pytest.raises(TokenUnusable):
        TokenFile(path).current()
    path.unlink()
    os.mkfifo(path, 0o600)
    with pytest.raises(TokenUnusable, match="not a plain file"):
        TokenFile(path).current()
    assert TokenFile(tmp_path / "real").current() == real


def test_an_error_names_no_folder(path):
    TokenFile(path).current()
    path.chmod(0o644)
    with pytest.raises(TokenUnusable) as raised:
        TokenFile(path).current()
    assert str(path.parent) not in str(raised.value)
