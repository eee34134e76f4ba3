"""Places: shared where nobody can tell."""

import pytest

from modeldyno.core.rankings import Ranked, placed
from modeldyno.core.results import Estimate


def side(low: float, high: float, unranked: str = "") -> Ranked:
    ratio = Estimate((low + high) / 2, low, high, 0.95, 8, "pairs")
    return Ranked(f"{low}-{high}", ratio=ratio, unranked=unranked)


@pytest.mark.parametrize(
    ("sides", "places"),
    [
        ([side(1, 1), side(0.5, 0.6), side(2, 2.1)], [2, 1, 3]),
        ([side(1, 1), side(0.9, 1.1), side(2, 2.1)], [1, 1, 3]),
        # The middle one cannot be told from either, and they can be told from each other.
        ([side(1, 1.2), side(1.1, 1.5), side(1.3, 1.6)], [1, 1, 2]),
        ([side(1, 1), side(0.5, 0.6, "computes something else")], [1, None]),
        ([side(1, 1), Ranked("broken")], [1, None]),
    ],
)
def test_who_cannot_be_told_apart_shares_a_place(sides, places):
    assert [one.place for one in placed(sides)] == places
