"""Names that the user may have meant. No guess is better than a far-fetched one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher
from pathlib import PurePath

SAME_SUFFIX = 0.7  # how alike stems must be, 0 to 1: glyph and glyphs are, nope and text are not
OTHER_SUFFIX = 0.9  # the suffix does not count towards it: all models end in .onnx


def near_misses(name: str, names: Iterable[str], most: int = 1) -> list[str]:
    """Names that differ from ``name`` by what looks like a typo, the closest first."""
    likeness = {candidate: _likeness(name, candidate) for candidate in names}
    close = [candidate for candidate, alike in likeness.items() if alike > 0]
    return sorted(close, key=lambda candidate: (-likeness[candidate], candidate))[:most]


def _likeness(name: str, candidate: str) -> float:
    """How alike the stems are; 0 if not alike enough."""
    wanted, other = PurePath(name.lower()), PurePath(candidate.lower())
    alike = SequenceMatcher(None, wanted.stem, other.stem).ratio()
    same = wanted.suffix == other.suffix
    return alike + same if alike >= (SAME_SUFFIX if same else OTHER_SUFFIX) else 0.0
