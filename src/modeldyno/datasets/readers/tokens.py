"""Text to tokens, with a tokenizer that is on this machine: ``tokenizer.json`` by the package
tokenizers, or the plain WordPiece of BERT from ``vocab.txt``. None is ever fetched."""

from __future__ import annotations

import functools
import json
import os
import unicodedata
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from modeldyno.core.errors import BadValue
from modeldyno.core.visible import visible
from modeldyno.datasets.readers.files import Folder, damaged, open_location
from modeldyno.datasets.readers.packages import require_package

_FILE, _VOCABULARY = "tokenizer.json", "vocab.txt"
_LONGEST_WORD = 100  # characters; BERT knows no longer ones
_CHINESE = (
    *((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F)),
    *((0x2B740, 0x2B81F), (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)),
)


class Pair(NamedTuple):
    ids: list[int]
    types: list[int]  # 0 for the first text, 1 for the second


class Specials(NamedTuple):
    first: int
    separator: int
    padding: int


class Tokenizer(Protocol):
    specials: Specials

    def encode(self, text: str) -> list[int]:
        """Without tokens of its own at the ends."""
        ...

    def encode_pair(self, first: str, second: str | None, most: int) -> Pair:
        """With these; the longer text is cut off to have ``most`` tokens in all."""
        ...


def open_tokenizer(path: str, parameter: str, *, lower: bool) -> Tokenizer:
    """``path`` is its folder or its file; raises BadValue for the name of one elsewhere."""
    if path and not os.path.exists(path):  # noqa: PTH110  # may hold what no path can
        raise BadValue(
            f'There is no tokenizer at "{visible(path)}"',
            why="tokenizers are read from this machine only; none is ever fetched by its name",
            fix=f"Save the model's {_FILE} or {_VOCABULARY} in a folder, and set {parameter} to it",
        )
    folder, name = open_location(path, parameter)
    return tokenizer_of(folder, name, lower=lower)


def tokenizer_of(folder: Folder, name: str | None = None, *, lower: bool) -> Tokenizer:
    names = [name] if name is not None else [_FILE, _VOCABULARY]
    found = next((one for one in names if folder.has(one)), None)
    if found is None:
        raise BadValue(
            f"There is no tokenizer in {visible(folder.path.name)}",
            why=f"it has neither {_FILE} nor {_VOCABULARY}",
            fix="Copy one of them there; save_pretrained(FOLDER) of Hugging Face writes the first",
        )
    text = folder.read_text(found)
    if found.endswith(".json"):
        return _FromFile(text, found, lower)
    return WordPiece(text.splitlines(), found, lower)


class _FromFile:
    def __init__(self, text: str, name: str, lower: bool) -> None:
        package = require_package("tokenizers", f"Reading {_FILE}")
        try:
            json.loads(text)  # says where it is damaged
            self._tokenizer = package.Tokenizer.from_str(text)
        except Exception as error:  # the package raises nothing narrower
            raise damaged(name, why=f"it is no tokenizer: {error}") from error
        self._tokenizer.no_padding()
        normalizer = self._tokenizer.normalizer
        if isinstance(normalizer, package.normalizers.BertNormalizer):
            normalizer.lowercase = lower
        self.specials = Specials(
            self._id("[CLS]", "<s>"), self._id("[SEP]", "</s>"), self._id("[PAD]", "<pad>")
        )

    def encode(self, text: str) -> list[int]:
        self._tokenizer.no_truncation()
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def encode_pair(self, first: str, second: str | None, most: int) -> Pair:
        self._tokenizer.enable_truncation(most)
        encoding: Any = self._tokenizer.encode(first, second)
        return Pair(encoding.ids, encoding.type_ids)

    def _id(self, *names: str) -> int:
        ids = [self._tokenizer.token_to_id(name) for name in names]
        return next((one for one in ids if one is not None), 0)


class WordPiece:
    """As BERT was trained with; tests hold it against the package tokenizers."""

    def __init__(self, vocabulary: list[str], name: str, lower: bool) -> None:
        self._ids = {token: number for number, token in enumerate(vocabulary)}
        self._lower = lower
        absent = [one for one in ("[UNK]", "[CLS]", "[SEP]", "[PAD]") if one not in self._ids]
        if absent:
            raise damaged(
                name,
                why=f"it is no vocabulary of BERT: it has no {absent[0]}",
                fix=f"Use the {_FILE} of the model",
            )
        self._unknown = self._ids["[UNK]"]
        self.specials = Specials(self._ids["[CLS]"], self._ids["[SEP]"], self._ids["[PAD]"])
        self._split = functools.lru_cache(maxsize=50_000)(self._split_word)

    def encode(self, text: str) -> list[int]:
        return [number for word in self._words(text) for number in self._split(word)]

    def encode_pair(self, first: str, second: str | None, most: int) -> Pair:
        head, between, _ = self.specials
        left = self.encode(first)
        if second is None:
            ids = [head, *left[: max(most - 2, 0)], between]
            return Pair(ids, [0] * len(ids))
        right = self.encode(second)
        keep_left, keep_right = _lengths(len(left), len(right), max(most - 3, 0))
        start = [head, *left[:keep_left], between]
        rest = [*right[:keep_right], between]
        return Pair(start + rest, [0] * len(start) + [1] * len(rest))

    def _words(self, text: str) -> Iterator[str]:
        """And single punctuation marks."""
        word = ""
        for letter in self._letters(text):
            is_mark = _is_punctuation(letter)
            if (letter == " " or is_mark) and word:
                yield word
                word = ""
            if is_mark:
                yield letter
            elif letter != " ":
                word += letter
        if word:
            yield word

    def _letters(self, text: str) -> Iterator[str]:
        for letter in text:
            category = unicodedata.category(letter)
            if letter in "\t\n\r" or (letter.isspace() and category[0] == "Z"):
                yield " "
            elif category[0] == "C" or letter == "\ufffd":
                continue
            elif any(low <= ord(letter) <= high for low, high in _CHINESE):
                yield from (" ", letter, " ")
            elif self._lower:
                for part in unicodedata.normalize("NFD", letter):
                    if unicodedata.category(part) != "Mn":
                        yield from part.lower()
            else:
                yield letter

    def _split_word(self, word: str) -> list[int]:
        """The longest pieces of the vocabulary, from the left."""
        pieces, start = [], 0
        while start < len(word) and len(word) <= _LONGEST_WORD:
            prefix = "##" if start else ""
            ends = range(len(word), start, -1)
            end = next((one for one in ends if prefix + word[start:one] in self._ids), None)
            if end is None:
                break
            pieces.append(self._ids[prefix + word[start:end]])
            start = end
        return pieces if start == len(word) else [self._unknown]


def _lengths(first: int, second: int, most: int) -> tuple[int, int]:
    """What is kept of two texts, as the package tokenizers cuts the longer one."""
    short, long = sorted((first, second))
    if short + long > most:
        long = max(short, most - short) if short <= most else short
        if short + long > most:
            short, long = most // 2, most - most // 2
    return (short, long) if first <= second else (long, short)


def _is_punctuation(letter: str) -> bool:
    if letter.isascii():
        return letter.isprintable() and not letter.isalnum() and letter != " "
    return unicodedata.category(letter)[0] == "P"
