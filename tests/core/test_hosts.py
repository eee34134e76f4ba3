"""Whether two numbers come from one machine."""

import pytest

from modeldyno.core.errors import BadValue
from modeldyno.core.hosts import are_machines_different, machine_name

OS, OTHER_OS = "os-0123456789abcdef", "os-fedcba9876543210"
BOARD, OTHER_BOARD = "board-0123456789abcdef", "board-fedcba9876543210"


@pytest.mark.parametrize(
    ("a", "b", "different"),
    [
        (OS, OS, False),
        (OS, OTHER_OS, True),
        (f"{OS} {BOARD}", OS, False),  # measured by root, and by somebody else
        (f"{OS} {BOARD}", f"{OTHER_OS} {BOARD}", False),  # a container, and what it runs on
        (f"{OS} {BOARD}", f"{OS} {OTHER_BOARD}", True),  # two systems of one image
        (OS, BOARD, False),  # nothing that both are known by
        ("lab-1", "lab-1", False),
        ("lab-1", "lab-2", True),
        ("lab-1", f"{OS} {BOARD}", True),
        (None, "lab-1", False),
        (OS, None, False),
        (None, None, False),
    ],
)
def test_machines_are_different_only_where_that_is_known(a, b, different):
    assert are_machines_different(a, b) is different
    assert are_machines_different(b, a) is different


def test_a_machine_is_named_in_one_plain_word():
    assert machine_name("lab-2.example_3") == "lab-2.example_3"
    for name in ("", "two words", "-x", "a" * 65, "lab\n2", "ä"):
        with pytest.raises(BadValue, match="cannot be the name of a machine"):
            machine_name(name)
