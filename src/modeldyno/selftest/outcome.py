"""What a self-test found: one line of JSON that anybody can check."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Observed = Mapping[str, Any]


@dataclass(frozen=True)
class Outcome:
    """A test with its negative control: the method known to be wrong must be seen to fail.

    The test says what it measured; the catalog adds which test that was and how long it took.
    """

    passed: bool
    observed: Observed
    threshold: Observed
    control: Observed
    seed: int
    notes: tuple[str, ...] = ()
    id: str = ""
    name: str = ""
    seconds: float = 0.0
    retried: bool = False

    def to_json(self) -> str:
        fields = {
            "id": self.id,
            "name": self.name,
            "pass": self.passed,
            "observed": dict(self.observed),
            "threshold": dict(self.threshold),
            "control": dict(self.control),
            "seed": self.seed,
            "seconds": round(self.seconds, 3),
            "retried": self.retried,
            "notes": list(self.notes),
        }
        return json.dumps(fields, allow_nan=False)
