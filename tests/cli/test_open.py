"""``modeldyno open``: a browser is signed in, without ever seeing the token."""

import urllib.parse
from contextlib import closing
from http.client import HTTPConnection

import pytest

from tests.terminal import modeldyno, serving


@pytest.fixture(scope="module")
def served(tmp_path_factory, starts_processes):
    workspace = tmp_path_factory.mktemp("open") / "workspace"
    with serving(workspace) as server:
        yield workspace, server


def visit(address):
    parts = urllib.parse.urlsplit(address)
    with closing(HTTPConnection(parts.netloc, timeout=60)) as connection:
        connection.request("GET", f"{parts.path}?{parts.query}")
        reply = connection.getresponse()
        reply.read()
        return reply


def test_the_printed_address_signs_a_browser_in_once(typed, served):
    workspace, server = served
    ended = typed("open", "--print", "--workspace", workspace)
    address = ended.out.strip()
    assert address.startswith(f"{server.url}/login?code=")
    assert server.token not in ended.out + ended.err
    first, second = visit(address), visit(address)
    assert first.status == 303
    assert "HttpOnly" in first.headers["Set-Cookie"]
    assert second.status != 303
    assert "Set-Cookie" not in second.headers


def test_it_opens_the_browser_that_there_is(served, tmp_path):
    workspace, server = served
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {tmp_path}/visited\n')
    browser.chmod(0o755)
    ended = modeldyno("open", "--workspace", workspace, BROWSER=str(browser))
    assert (ended.code, ended.out) == (0, ""), ended.err
    assert (tmp_path / "visited").read_text().startswith(f"{server.url}/login?code=")


def test_without_a_server_it_says_how_to_start_one(typed, tmp_path):
    ended = typed("open", "--workspace", tmp_path)
    assert ended.code == 3
    assert "modeldyno serve" in ended.err
