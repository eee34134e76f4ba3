"""The tasks of GLUE: sentences or pairs of them in TSV files, as tokens."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from modeldyno.core.errors import BadValue
from modeldyno.core.visible import visible
from modeldyno.datasets.protocol import Sample
from modeldyno.datasets.readers.files import damaged, open_folder
from modeldyno.datasets.readers.samples import LazySamples, samples_of
from modeldyno.datasets.readers.tokens import open_tokenizer


@dataclass(frozen=True)
class _Task:
    """Columns are numbered from 0, or from -1 at the end."""

    first: int
    second: int | None
    label: int
    classes: tuple[str, ...]  # none: the label is a number
    file: str = "dev.tsv"
    has_header: bool = True


_ENTAILMENT = ("entailment", "not_entailment")
_TRUTH = ("0", "1")
_TASKS = {
    "mrpc": _Task(3, 4, 0, _TRUTH),
    "qqp": _Task(3, 4, 5, _TRUTH),
    "qnli": _Task(1, 2, -1, _ENTAILMENT),
    "rte": _Task(1, 2, -1, _ENTAILMENT),
    "wnli": _Task(1, 2, -1, _TRUTH),
    "sts-b": _Task(7, 8, -1, ()),
    "cola": _Task(3, None, 1, _TRUTH, has_header=False),
    "mnli": _Task(8, 9, -1, ("contradiction", "entailment", "neutral"), "dev_matched.tsv"),
    "sst-2": _Task(0, None, 1, _TRUTH),
}
# RoBERTa was trained with two classes of MNLI exchanged.
_MNLI_OF_ROBERTA = ("contradiction", "neutral", "entailment")
_WITH_TYPES = ("bert", "mobilebert")
_MODELS = (*_WITH_TYPES, "distilbert", "roberta")


@dataclass(frozen=True, kw_only=True)
class GLUE:
    """Inputs are token ids, attention mask and, of BERT and MobileBERT, token types, in int64."""

    data_dir: str = ""
    model_name_or_path: str = "bert-base-uncased"
    max_seq_length: int = 128
    do_lower_case: bool = True
    task: str = "mrpc"
    model_type: str = "bert"
    dynamic_length: bool = False

    def open(self) -> LazySamples:
        name, model = self.task.lower(), self.model_type.lower()
        _require_choice("task", name, tuple(_TASKS))
        _require_choice("model_type", model, _MODELS)
        if self.max_seq_length < 4:
            raise BadValue("max_seq_length is too small for any text", fix="Choose 128, or so")
        task = _TASKS[name]
        is_exchanged = name == "mnli" and model == "roberta"
        classes = _MNLI_OF_ROBERTA if is_exchanged else task.classes
        folder = open_folder(self.data_dir, "data_dir")
        path, parameter = self.model_name_or_path, "model_name_or_path"
        tokenizer = open_tokenizer(path, parameter, lower=self.do_lower_case)
        lines = folder.read_text(task.file).split("\n")
        numbered = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]

        def read(entry: tuple[int, str]) -> Sample:
            number, line = entry
            title = f"line {number} of {task.file}"
            cells = line.rstrip("\r").split("\t")
            if len(cells) <= max(task.first, task.second or 0, task.label):
                raise damaged(title, why=f"it has {len(cells)} columns, too few for {name}")
            second = None if task.second is None else cells[task.second]
            pair = tokenizer.encode_pair(cells[task.first], second, self.max_seq_length)
            filled = 0 if self.dynamic_length else self.max_seq_length - len(pair.ids)
            columns = [
                (pair.ids, tokenizer.specials.padding),
                ([1] * len(pair.ids), 0),
                *([(pair.types, 0)] if model in _WITH_TYPES else []),
            ]
            arrays = tuple(np.array(ids + [fill] * filled, np.int64) for ids, fill in columns)
            return Sample(arrays, _parse_label(cells[task.label], classes, title))

        return samples_of(
            numbered[1:] if task.has_header else numbered,
            read,
            why=f"{task.file} has no line after the names of its columns",
            fix="Download the task again",
        )


def _parse_label(text: str, classes: tuple[str, ...], title: str) -> int | float:
    if text in classes:
        return classes.index(text)
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if classes or not math.isfinite(number):
        wanted = f"one of {', '.join(classes)}" if classes else "a number"
        raise damaged(
            title,
            why=f"its label must be {wanted}, not {visible(text)[:50]!r}",
            fix="Use the part of the task that has labels (dev), or correct the line",
        )
    return number


def _require_choice(parameter: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise BadValue(
            f"{parameter} cannot be {visible(value)!r}", fix=f"Choose one of: {', '.join(choices)}"
        )
