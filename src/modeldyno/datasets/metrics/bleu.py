"""Pieces of text that a translation shares with a good one. Needs the package sacrebleu."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from modeldyno.core.errors import BadValue, PackageMissing
from modeldyno.datasets.metrics.classes import Array, require_labels
from modeldyno.datasets.metrics.texts import text_of, texts_of

_LENGTHS = 2  # of an outcome: the answer's and the right one's, before the counts of pieces


@dataclass(frozen=True, kw_only=True)
class BLEU:
    """Of the whole corpus, from 0 to 100, with sacrebleu's tokens (13a). An outcome counts what a
    sentence adds; sentences have no score of their own that could be averaged."""

    higher_is_better: ClassVar[bool] = True
    is_proportion: ClassVar[bool] = False

    def judge(self, outputs: Sequence[Array], labels: Sequence[Any]) -> list[list[int]]:
        require_labels(labels)
        bleu = _sacrebleu()
        outcomes = []
        for answer, label in zip(outputs[0], labels, strict=True):
            right = texts_of(label)
            if not right:
                raise BadValue(
                    "A sentence has no translation to compare with",
                    fix="Give each sample at least one good translation as its label",
                )
            score = bleu.corpus_score([text_of(answer)], [[text] for text in right])
            lengths = [int(score.sys_len), int(score.ref_len)]
            outcomes.append([*lengths, *map(int, score.counts), *map(int, score.totals)])
        return outcomes

    def summarize(self, outcomes: Sequence[Sequence[int]]) -> Mapping[str, float]:
        sums = np.asarray(outcomes, dtype=np.int64).sum(axis=0).tolist()
        answer_length, right_length = sums[:_LENGTHS]
        counts, totals = np.split(np.asarray(sums[_LENGTHS:]), 2)
        score = _sacrebleu().compute_bleu(
            correct=counts.tolist(),
            total=totals.tolist(),
            sys_len=answer_length,
            ref_len=right_length,
        )
        return {"BLEU": float(score.score)}


def _sacrebleu() -> Any:
    try:
        from sacrebleu.metrics.bleu import BLEU as Bleu
    except ImportError as error:
        raise PackageMissing(
            "BLEU cannot be computed",
            why="the Python package 'sacrebleu' is not installed",
            fix="Run `pip install 'modeldyno[data]'`",
        ) from error
    return Bleu()
