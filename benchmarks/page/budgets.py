"""Figures and their limits, told as they are found."""

from __future__ import annotations

import json
import os
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass, field


@dataclass(frozen=True)
class Figure:
    what: str
    value: float | None  # None: it could not be measured
    limit: float
    unit: str
    at_least: bool = False
    note: str = ""

    @property
    def is_met(self) -> bool:
        if self.value is None:
            return False
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    def __str__(self) -> str:
        value = "–" if self.value is None else f"{self.value:.1f}"
        sign = "≥" if self.at_least else "≤"
        word = "met" if self.is_met else "MISSED"
        note = f"  ({self.note})" if self.note else ""
        return f"{self.what:<50} {value:>8} {self.unit:<8} {sign} {self.limit:<5g} {word:<6}{note}"


@dataclass
class Budgets:
    is_quiet: bool = False
    load: float = 0.0
    cpus: int = 1
    figures: list[Figure] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)

    def begin(self, load: float, cpus: int) -> None:
        self.load, self.cpus = load, cpus
        self._say(f"load {load:.1f} on {cpus} CPUs at the beginning")

    def tell(
        self,
        what: str,
        value: float,
        limit: float,
        unit: str,
        *,
        at_least: bool = False,
        note: str = "",
    ) -> None:
        figure = Figure(what, value, limit, unit, at_least, note)
        self.figures.append(figure)
        self._say(str(figure))

    def step(self, name: str, measure: Callable[[], None]) -> None:
        """One that fails is a budget that is not met; the others are measured all the same."""
        try:
            measure()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told
            self.failures[name] = f"{type(error).__name__}: {error}"
            self._say(f"{name}: NOT MEASURED\n{traceback.format_exc(limit=-4)}")

    @property
    def are_met(self) -> bool:
        return not self.failures and all(figure.is_met for figure in self.figures)

    def as_json(self) -> str:
        told = {
            "load_before": self.load,
            "load_after": os.getloadavg()[0],
            "cpus": self.cpus,
            "figures": [asdict(one) | {"is_met": one.is_met} for one in self.figures],
            "not_measured": self.failures,
        }
        return json.dumps(told, indent=2, ensure_ascii=False)

    def _say(self, text: str) -> None:
        if not self.is_quiet:
            print(text, flush=True)
