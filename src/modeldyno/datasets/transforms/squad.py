"""From what a model says of each token to the text of an answer (SQuAD 1.1, BERT).

Needs the package tokenizers. Long texts are read in parts that overlap; each part is a sample, and
which of them it is follows from its number, as in the files of features of Google's BERT.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from modeldyno.core.errors import BadValue, PackageMissing
from modeldyno.datasets.protocol import Sample

FIRST_NUMBER = 1_000_000_000
MOST_TOKENS = 384  # of question and part together, with three marks between them
MOST_QUESTION_TOKENS = 64
STRIDE = 128
MOST_ANSWER_TOKENS = 30
BEST = 20  # starts and ends that are tried
UNSURE = -1e30  # of a part without an answer, so that any other part's is surer

Span = tuple[int, int]


@dataclass(frozen=True)
class Part:
    """``spans`` are the places of its tokens in the text, the first of which is ``offset`` tokens
    after the beginning of the input; an answer may begin at those that ``begins``."""

    question: str
    answers: tuple[str, ...]
    text: str
    spans: tuple[Span, ...]
    offset: int
    begins: tuple[bool, ...]


@dataclass(frozen=True, kw_only=True)
class SquadV1:
    """Applied to outputs of the model: a sample's inputs are its number and, for each token, how
    likely an answer begins and ends there. It becomes the answer's text and how sure the model is,
    with ``{"id": question, "answers": […]}`` for its label."""

    label_file: str = "/path/to/dev-v1.1.json"
    vocab_file: str = "/path/to/vocab.txt"
    is_random: ClassVar[bool] = False
    reads_outputs: ClassVar[bool] = True

    def apply(self, sample: Sample, random: np.random.Generator) -> Sample:
        if len(sample.inputs) != 3:
            raise BadValue(
                f"SquadV1 cannot read {len(sample.inputs)} outputs",
                why="it needs a sample's number, and scores of where answers begin and end",
                fix="Name these three outputs of the model, in this order",
            )
        number = int(sample.inputs[0].reshape(-1)[0])
        parts = self._parts
        if not 0 <= number - FIRST_NUMBER < len(parts):
            raise BadValue(
                f"No question has the number {number}",
                why=f"{self.label_file} makes {len(parts)} parts, counted from {FIRST_NUMBER}",
                fix="Give label_file and vocab_file those that the samples were made with",
            )
        part = parts[number - FIRST_NUMBER]
        begin, end = (scores.reshape(-1).astype(np.float64) for scores in sample.inputs[1:])
        text, sureness = _best_answer(part, begin, end)
        label = {"id": part.question, "answers": list(part.answers)}
        return Sample(inputs=(np.asarray(text), np.asarray(sureness)), label=label)

    @cached_property
    def _parts(self) -> tuple[Part, ...]:
        tokenizer = _read_vocabulary(self.vocab_file)
        return tuple(_read_parts(_read_questions(self.label_file), tokenizer))


def _best_answer(part: Part, begin: np.ndarray[Any, Any], end: np.ndarray[Any, Any]) -> Any:
    """Its text and the sum of both scores; "empty", which is never right, if none is possible."""
    best, sureness = None, -np.inf
    firsts, lasts = (np.argsort(-scores, kind="stable")[:BEST].tolist() for scores in (begin, end))
    for first in firsts:
        place = first - part.offset
        if not 0 <= place < len(part.spans) or not part.begins[place]:
            continue
        for last in lasts:
            length = last - first + 1
            is_possible = 1 <= length <= MOST_ANSWER_TOKENS and place + length <= len(part.spans)
            if is_possible and begin[first] + end[last] > sureness:
                best, sureness = (place, place + length - 1), float(begin[first] + end[last])
    if best is None:
        return "empty", UNSURE
    answer = part.text[part.spans[best[0]][0] : part.spans[best[1]][1]]
    return " ".join(answer.split()), sureness


def _read_parts(questions: Sequence[Any], tokenizer: Any) -> Iterator[Part]:
    for identity, question, text, answers in questions:
        asked = tokenizer.encode(question, add_special_tokens=False).ids[:MOST_QUESTION_TOKENS]
        spans = tokenizer.encode(text, add_special_tokens=False).offsets
        windows = list(_windows(len(spans), MOST_TOKENS - len(asked) - 3))
        for window in windows:
            yield Part(
                question=identity,
                answers=answers,
                text=text,
                spans=tuple(spans[window[0] : window[1]]),
                offset=len(asked) + 2,
                begins=tuple(
                    window == max(windows, key=lambda other: _context(other, place))
                    for place in range(*window)
                ),
            )


def _windows(length: int, most: int) -> Iterator[Span]:
    start = 0
    while start < length:
        end = min(length, start + most)
        yield start, end
        if end == length:
            return
        start += min(end - start, STRIDE)


def _context(window: Span, place: int) -> float:
    """A token counts in the part that shows most of what is around it."""
    start, end = window
    if not start <= place < end:
        return -np.inf
    return min(place - start, end - 1 - place) + 0.01 * (end - start)


def _read_questions(path: str) -> list[tuple[str, str, str, tuple[str, ...]]]:
    try:
        paragraphs = [
            paragraph
            for entry in json.loads(Path(path).read_text(encoding="utf-8"))["data"]
            for paragraph in entry["paragraphs"]
        ]
        return [
            (
                str(question["id"]),
                str(question["question"]),
                str(paragraph["context"]),
                tuple(str(answer["text"]) for answer in question.get("answers", ())),
            )
            for paragraph in paragraphs
            for question in paragraph["qas"]
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadValue(
            f"{path[:200]!r} cannot be read as questions of SQuAD",
            why=str(error) or type(error).__name__,
            fix="Give label_file the path of dev-v1.1.json",
        ) from error


def _read_vocabulary(path: str) -> Any:
    try:
        from tokenizers import BertWordPieceTokenizer
    except ImportError as error:
        raise PackageMissing(
            "SquadV1 cannot cut texts into tokens",
            why="the Python package 'tokenizers' is not installed",
            fix="Run `pip install 'modeldyno[data]'`",
        ) from error
    try:
        words = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise BadValue(
            f"The vocabulary {path[:200]!r} cannot be read",
            why=str(error),
            fix="Give vocab_file the path of the model's vocab.txt, a word a line",
        ) from error
    return BertWordPieceTokenizer({word: number for number, word in enumerate(words)})
