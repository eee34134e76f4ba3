"""SQuAD 1.1: questions, and the text that has their answers, in windows of tokens for BERT."""

from __future__ import annotations

import fnmatch
import functools
import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from modeldyno.core.errors import BadValue
from modeldyno.core.visible import visible
from modeldyno.datasets.protocol import Sample
from modeldyno.datasets.readers.files import Folder, damaged, open_file, open_location
from modeldyno.datasets.readers.samples import LazySamples, samples_of
from modeldyno.datasets.readers.tfrecords import Example, Records, find_records
from modeldyno.datasets.readers.tokens import Tokenizer, tokenizer_of

# What BERT's own evaluation uses, and what records are usually made with.
_LENGTH, _STRIDE, _LONGEST_QUESTION = 384, 128, 64
_SPECIALS = 3  # [CLS] question [SEP] text [SEP]


@dataclass(frozen=True)
class _Question:
    id: str
    text: str
    answers: tuple[str, ...]
    context: str


@dataclass(frozen=True)
class _Window:
    number: int
    question: _Question
    start: int  # in the tokens of the context


@dataclass(frozen=True, kw_only=True)
class Bert:
    """``root`` is the folder of the model's tokenizer.json or vocab.txt. If TFRecords of prepared
    windows are there as well, inputs are theirs; they must belong to the questions of
    ``label_file``. Inputs are token ids, mask and segments in int64; a label is the id of the
    question, which its windows share, and the right answers."""

    root: str = ""
    label_file: str = "/path/to/dev-v1.1.json"
    task: str = "squad"
    model_type: str = "bert"

    def open(self) -> LazySamples:
        for parameter, value, only in (
            ("task", self.task, "squad"),
            ("model_type", self.model_type, "bert"),
        ):
            if value != only:
                raise BadValue(f"{parameter} cannot be {visible(value)!r}", fix=f"Set it to {only}")
        folder, name = open_location(self.root, "root")
        questions = _parse_questions(*open_file(self.label_file, "label_file"))
        names = folder.files() if name is None else [name]
        patterns = ("*record*", "*.tfrecord")
        names = [one for one in names if any(fnmatch.fnmatch(one, each) for each in patterns)]
        records = find_records(folder, names) if names else None
        length = len(Example(records[0]).numbers("input_ids", "int64")) if records else _LENGTH
        windows = _Windows(tokenizer_of(folder, lower=True), length, records)
        entries = windows.find(questions)
        if records is not None and len(records) != len(entries):
            raise damaged(
                names[0],
                why=f"it has {len(records)} windows of {length} tokens, and the questions of "
                f"label_file make {len(entries)}",
                fix="Make the records of that file, with a stride of 128, or remove them",
            )
        return samples_of(
            entries, windows.read, why="label_file has no questions", fix="Use dev-v1.1.json"
        )


class _Windows:
    def __init__(self, tokenizer: Tokenizer, length: int, records: Records | None) -> None:
        self._tokenizer, self._length, self._records = tokenizer, length, records
        # Questions about one text follow each other.
        self._encode = functools.lru_cache(maxsize=16)(tokenizer.encode)

    def find(self, questions: list[_Question]) -> list[_Window]:
        entries: list[_Window] = []
        for question in questions:
            room = self._room(question)
            tokens, start = len(self._encode(question.context)), 0
            while True:
                entries.append(_Window(len(entries), question, start))
                if start + room >= tokens:
                    break
                start += min(room, _STRIDE)
        return entries

    def read(self, window: _Window) -> Sample:
        question = window.question
        first, separator, _ = self._tokenizer.specials
        head = [first, *self._ids(question), separator]
        part = slice(window.start, window.start + self._room(question))
        rest = [*self._encode(question.context)[part], separator]
        length = len(head) + len(rest)
        inputs = self._fill(head + rest, [1] * length, [0] * len(head) + [1] * len(rest))
        if self._records is not None:
            inputs = self._read_record(self._records, window.number, inputs)
        return Sample(inputs, {"id": question.id, "answers": list(question.answers)})

    def _fill(self, *columns: list[int]) -> tuple[np.ndarray[Any, Any], ...]:
        padding = (self._tokenizer.specials.padding, 0, 0)
        return tuple(
            np.array(values + [fill] * (self._length - len(values)), np.int64)
            for values, fill in zip(columns, padding, strict=True)
        )

    def _read_record(
        self, records: Records, number: int, expected: tuple[np.ndarray[Any, Any], ...]
    ) -> tuple[np.ndarray[Any, Any], ...]:
        record = records[number]
        example = Example(record)
        keys = ("input_ids", "input_mask", "segment_ids")
        inputs = tuple(example.numbers(key, "int64") for key in keys)
        if not all(map(np.array_equal, inputs[1:], expected[1:])):
            raise damaged(
                record.name,
                why="its tokens are not where those of the question in label_file are",
                fix="Make them of that file with the tokenizer in the folder, or remove them",
            )
        return inputs

    def _ids(self, question: _Question) -> list[int]:
        return self._tokenizer.encode(question.text)[:_LONGEST_QUESTION]

    def _room(self, question: _Question) -> int:
        return max(self._length - len(self._ids(question)) - _SPECIALS, 1)


def _parse_questions(folder: Folder, name: str) -> list[_Question]:
    try:
        content = json.loads(folder.read_text(name))
        version = content["version"]
        questions = [
            _Question(
                str(question["id"]),
                str(question["question"]),
                tuple(str(answer["text"]) for answer in question["answers"]),
                str(paragraph["context"]),
            )
            for article in content["data"]
            for paragraph in article["paragraphs"]
            for question in paragraph["qas"]
        ]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        why = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        raise damaged(name, why=f"it is not in the format of SQuAD: {why}") from error
    if version != "1.1":
        raise damaged(
            name,
            why=f"it is of version {visible(str(version))}, whose questions may have no answer",
            fix="Use dev-v1.1.json",
        )
    without = next((question.id for question in questions if not question.answers), None)
    if without is not None:
        raise damaged(f"question {without} of {name}", why="it has no answer")
    return questions
