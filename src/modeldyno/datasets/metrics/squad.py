"""How well answers to questions match those that people gave (SQuAD 1.1)."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from modeldyno.core.errors import BadValue
from modeldyno.datasets.metrics.classes import Array, require_labels
from modeldyno.datasets.metrics.texts import text_of, texts_of
from modeldyno.datasets.metrics.tokens import f1_of_pieces

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


@dataclass(frozen=True, kw_only=True)
class SquadF1:
    """The first output is the answer's text, a second how sure the model is of it. A label is the
    right answers, or ``{"id": question, "answers": […]}``: of several answers to a question, from
    parts of a long text, the surest counts. Figures are from 0 to 1."""

    higher_is_better: ClassVar[bool] = True
    is_proportion: ClassVar[bool] = False

    def judge(self, outputs: Sequence[Array], labels: Sequence[Any]) -> list[list[Any]]:
        require_labels(labels)
        sureness = outputs[1].reshape(len(labels)) if len(outputs) > 1 else np.zeros(len(labels))
        return [
            _judge(text_of(answer), label, float(sure))
            for answer, label, sure in zip(outputs[0], labels, sureness, strict=True)
        ]

    def merge(self, outcomes: Sequence[Sequence[Any]]) -> list[Sequence[Any]]:
        surest: dict[Any, Sequence[Any]] = {}
        for number, outcome in enumerate(outcomes):
            question = number if outcome[0] is None else str(outcome[0])
            if question not in surest or outcome[1] > surest[question][1]:
                surest[question] = outcome
        return [[None, *outcome[1:]] for outcome in surest.values()]

    def summarize(self, outcomes: Sequence[Sequence[Any]]) -> Mapping[str, float]:
        answers = self.merge(outcomes)
        return {
            "f1": float(np.mean([outcome[2] for outcome in answers])),
            "exact_match": float(np.mean([outcome[3] for outcome in answers])),
        }


def _judge(answer: str, label: Any, sureness: float) -> list[Any]:
    question = label.get("id") if isinstance(label, Mapping) else None
    right = texts_of(label.get("answers") if isinstance(label, Mapping) else label)
    if not right:
        raise BadValue(
            "A question has no right answer to compare with",
            why="SQuAD 1.1 has one or several for each question",
            fix="Use a file of SQuAD 1.1",
        )
    said = normalize(answer)
    f1 = max(f1_of_pieces(said.split(), normalize(text).split()) for text in right)
    return [question, sureness, f1, int(said in map(normalize, right))]


def normalize(text: str) -> str:
    """Without capitals, punctuation, articles and needless blanks."""
    plain = _ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION))
    return " ".join(plain.split())
