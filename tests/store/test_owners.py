"""Whose a run is, and whether they are still there."""

import subprocess
import sys
from dataclasses import replace

import pytest

from modeldyno.store.owners import Owner, _start_ticks, current_process


def owner_of(process):
    return Owner(current_process().host, process.pid, _start_ticks(process.pid))


def sleeper():
    return subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)


def test_we_are_here():
    assert not current_process().is_gone()


@pytest.mark.usefixtures("starts_processes")
def test_a_process_is_there_until_it_is_killed():
    with sleeper() as process:
        owner = owner_of(process)
        assert not owner.is_gone()
        process.kill()
        process.wait()
        assert owner.is_gone()


@pytest.mark.usefixtures("starts_processes")
def test_a_zombie_is_gone():
    with sleeper() as process:
        owner = owner_of(process)
        process.kill()
        while not owner.is_gone():  # not waited for: it stays a zombie
            pass
        assert process.returncode is None


def test_another_process_with_the_same_number_is_not_the_one():
    assert replace(current_process(), started=current_process().started - 1).is_gone()


def test_of_another_machine_nobody_here_can_tell():
    assert not Owner("elsewhere", 1, 1).is_gone()


@pytest.mark.usefixtures("starts_processes")
def test_a_system_without_start_times_is_asked_for_the_number_alone():
    with sleeper() as process:
        owner = replace(owner_of(process), started=0)
        assert not owner.is_gone()
        process.kill()
        process.wait()
        assert owner.is_gone()
