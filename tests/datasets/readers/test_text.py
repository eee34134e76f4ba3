"""Tokens, the tasks of GLUE, and SQuAD; held against the package tokenizers."""

import json
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from modeldyno.core.errors import BadValue, DatasetUnreadable
from modeldyno.datasets.readers.glue import GLUE
from modeldyno.datasets.readers.squad import Bert
from modeldyno.datasets.readers.tokens import open_tokenizer
from tests.dataset_files import example, refuse, sample_of, write_records

WORDS = "the cat sat on a mat it was not fat who is what where un believ able eiffel tower paris"
VOCABULARY = [
    *("[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS.split(), "##s", "##able", "##er", "##un"),
    *(letter for letter in "abcdefghijklmnopqrstuvwxyzABCÄß0123456789.,;:!?'\"-()$^`中國é"),
    *(f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyzé0123456789"),
]
LETTERS = (
    "abcdefgh ABC ÄÖéñß\u0301\u200b\t\n\r\x00\ufffd\xa0\u2028\u3000中國,.!?¿–$^'٣İΣǅ☃😀\x7f\x85"
)


@pytest.fixture
def vocabulary(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n", encoding="utf-8")
    return folder


def package_tokenizer(lower=True):
    ids = {token: number for number, token in enumerate(VOCABULARY)}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lower)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return tokenizer


def random_texts(count, seed=0):
    random = np.random.default_rng(seed)
    for _ in range(count):
        words = random.choice(WORDS.split(), random.integers(0, 9)).tolist()
        letters = "".join(random.choice([*LETTERS], random.integers(0, 25)))
        yield " ".join([*words, letters, "believable", "cats", "a" * 101])


@pytest.mark.parametrize("lower", [True, False])
def test_plain_wordpiece_is_that_of_the_package(vocabulary, lower):
    ours, theirs = open_tokenizer(str(vocabulary), "x", lower=lower), package_tokenizer(lower)
    for text in random_texts(300):
        expected = theirs.encode(text, add_special_tokens=False).ids
        assert ours.encode(text) == expected, repr(text)


@pytest.mark.parametrize("most", [4, 5, 8, 13, 30])
def test_pairs_are_cut_off_as_the_package_does(vocabulary, most):
    ours, theirs = open_tokenizer(str(vocabulary), "x", lower=True), package_tokenizer()
    theirs.enable_truncation(most)
    for first in range(0, 16, 3):
        for second in range(0, 16, 2):
            texts = "cat " * first, "mat " * second
            pair, expected = ours.encode_pair(*texts, most), theirs.encode(*texts)
            assert (pair.ids, pair.types) == (expected.ids, expected.type_ids), (first, second)
        alone, expected = (
            ours.encode_pair("cat " * first, None, most),
            theirs.encode("cat " * first),
        )
        assert (alone.ids, alone.types) == (expected.ids, expected.type_ids)


def test_a_file_of_the_package_is_preferred(vocabulary):
    """Whether letters become small is the parameter's, as in the reference."""
    package_tokenizer().save(str(vocabulary / "tokenizer.json"))
    (vocabulary / "vocab.txt").write_text("not read")
    for lower in (True, False):
        ours = open_tokenizer(str(vocabulary), "x", lower=lower)
        expected = package_tokenizer(lower).encode("A Cats", "B")
        assert ours.encode_pair("A Cats", "B", 20).ids == expected.ids
        assert ours.specials == (2, 3, 0)
    (vocabulary / "tokenizer.json").write_text("{")
    refuse(
        lambda: open_tokenizer(str(vocabulary), "x", lower=True), "tokenizer.json", "no tokenizer"
    )


def test_no_tokenizer_is_fetched(vocabulary, tmp_path):
    def reader(path):
        return GLUE(data_dir=str(tmp_path), model_name_or_path=path).open

    refuse(
        GLUE(data_dir=str(tmp_path)).open,
        "bert-base-uncased",
        "none is ever fetched",
        error=BadValue,
    )
    (vocabulary / "vocab.txt").write_text("a\nb\n")
    refuse(reader(str(vocabulary)), "vocab.txt", "has no [UNK]")
    (vocabulary / "vocab.txt").unlink()
    refuse(reader(str(vocabulary)), "neither tokenizer.json nor vocab.txt", error=BadValue)
    refuse(reader(""), "model_name_or_path is empty", error=BadValue)


# ---------------------------------------------------------------- GLUE

FIRST, SECOND = "The cat sat", "it was not fat"
LINES = {  # a header, if the task has one, and two lines with their labels
    "mrpc": ["Quality\tid\tid\ta\tb", f"1\t1\t2\t{FIRST}\t{SECOND}", f"0\t1\t2\t{SECOND}\t{FIRST}"],
    "qqp": ["h", f"1\t2\t3\t{FIRST}\t{SECOND}\t1", f"1\t2\t3\t{SECOND}\t{FIRST}\t0"],
    "qnli": ["h", f"1\t{FIRST}\t{SECOND}\tnot_entailment", f"2\t{SECOND}\t{FIRST}\tentailment"],
    "rte": ["h", f"1\t{FIRST}\t{SECOND}\tnot_entailment", f"2\t{SECOND}\t{FIRST}\tentailment"],
    "wnli": ["h", f"1\t{FIRST}\t{SECOND}\t1", f"2\t{SECOND}\t{FIRST}\t0"],
    "sts-b": ["h", *(f"{x * 7}{FIRST}\t{SECOND}\t{y}" for x, y in (("n\t", 1.0), ("n\t", "3.25")))],
    "cola": [f"gj04\t1\t\t{FIRST}", f"gj04\t0\t*\t{SECOND}"],
    "sst-2": ["sentence\tlabel", f"{FIRST}\t1", f"{SECOND}\t0"],
    "mnli": [
        "h",
        *(f"{'n' + chr(9)}" * 8 + f"{FIRST}\t{SECOND}\t{y}" for y in ("entailment", "neutral")),
    ],
}


def write_task(folder, task, lines=None):
    file = "dev_matched.tsv" if task == "mnli" else "dev.tsv"
    (folder / file).write_text("\n".join(lines or LINES[task]) + "\n", encoding="utf-8")


@pytest.mark.parametrize("task", LINES)
@pytest.mark.oracle("GLUE", "tokenizers")
def test_tasks_have_their_columns_and_classes(vocabulary, tmp_path, task):
    write_task(tmp_path, task)
    reader = GLUE(
        data_dir=str(tmp_path),
        model_name_or_path=str(vocabulary),
        task=task.upper(),
        max_seq_length=16,
    )
    samples = reader.open()
    assert len(samples) == 2
    expected = {"sts-b": [1.0, 3.25], "mnli": [1, 2]}.get(task, [1, 0])
    assert [sample.label for sample in samples] == expected
    pair = () if task in ("cola", "sst-2") else (SECOND,)
    encoding = package_tokenizer().encode(FIRST, *pair)
    length = len(encoding.ids)
    ids, mask, types = samples[0].inputs
    assert {value.dtype.name for value in (ids, mask, types)} == {"int64"}
    assert ids.tolist() == encoding.ids + [0] * (16 - length)
    assert mask.tolist() == [1] * length + [0] * (16 - length)
    assert types.tolist() == encoding.type_ids + [0] * (16 - length)


def test_models_take_what_they_were_trained_with(vocabulary, tmp_path):
    write_task(tmp_path, "mnli")

    def read(number=0, **other):
        folders: dict[str, Any] = {"data_dir": str(tmp_path), "model_name_or_path": str(vocabulary)}
        return sample_of(GLUE(task="mnli", **folders, **other), number)

    assert len(read(model_type="distilbert").inputs) == 2
    assert [read(n, model_type="roberta").label for n in (0, 1)] == [2, 1]
    assert [read(n, model_type="bert").label for n in (0, 1)] == [1, 2]
    lengths = {value.shape for value in read(dynamic_length=True).inputs}
    assert lengths == {(len(package_tokenizer().encode(FIRST, SECOND).ids),)}
    assert {value.shape for value in read().inputs} == {(128,)}


def test_lines_without_a_proper_label_are_named(vocabulary, tmp_path):
    folders: dict[str, Any] = {"data_dir": str(tmp_path), "model_name_or_path": str(vocabulary)}
    reader = GLUE(**folders)
    for line, words in (
        ("2\t1\t2\ta\tb", "one of 0, 1, not '2'"),
        ("\t1\t2\ta\tb", "one of 0, 1, not ''"),
        ("1\t1\t2\ta", "4 columns"),
    ):
        write_task(tmp_path, "mrpc", [*LINES["mrpc"], line])
        samples = reader.open()
        assert samples[1].label == 0
        refuse(
            lambda samples=samples: samples[2], "line 4 of dev.tsv", words, error=DatasetUnreadable
        )
    write_task(tmp_path, "sts-b", ["h", "n\t" * 7 + "a\tb\tnan"])
    refuse(lambda: sample_of(GLUE(task="sts-b", **folders)), "line 2 of dev.tsv", "a number")
    write_task(tmp_path, "mrpc", ["h"])
    refuse(reader.open, "no samples", "dev.tsv")
    refuse(GLUE(task="mrcp", **folders).open, "mrpc, qqp", error=BadValue)
    refuse(GLUE(model_type="gpt", **folders).open, "distilbert", error=BadValue)
    refuse(GLUE(max_seq_length=3, **folders).open, "too small", error=BadValue)


# ---------------------------------------------------------------- SQuAD

CONTEXT = "The Eiffel Tower is in Paris; " + "it was not fat. " * 200 + "Who sat on a mat? A cat!"


def question(number, text, *answers):
    places = [{"text": answer, "answer_start": CONTEXT.index(answer)} for answer in answers]
    return {"id": f"q{number}", "question": text, "answers": places}


def write_questions(path, *questions, version="1.1"):
    paragraph = {"context": CONTEXT, "qas": [*questions]}
    path.write_text(
        json.dumps({"version": version, "data": [{"title": "t", "paragraphs": [paragraph]}]})
    )
    return str(path)


@pytest.fixture
def squad(vocabulary, tmp_path):
    questions = (
        question(1, "Where is the Eiffel Tower?", "Paris", "in Paris"),
        question(2, "who " * 100, "A cat"),
    )
    return Bert(root=str(vocabulary), label_file=write_questions(tmp_path / "dev.json", *questions))


@pytest.mark.oracle("bert", "tokenizers")
def test_windows_hold_the_question_and_a_part_of_the_text(squad):
    samples = [*squad.open()]
    tokens = package_tokenizer().encode(CONTEXT, add_special_tokens=False).ids
    asked = package_tokenizer().encode("Where is the Eiffel Tower?", add_special_tokens=False).ids
    room = 384 - len(asked) - 3
    starts = [start for start in range(0, len(tokens), 128)]
    starts = starts[: next(n for n, start in enumerate(starts) if start + room >= len(tokens)) + 1]
    first = [sample for sample in samples if sample.label["id"] == "q1"]
    assert len(first) == len(starts) > 2
    for sample, start in zip(first, starts, strict=True):
        ids, mask, segments = (value.tolist() for value in sample.inputs)
        part = tokens[start : start + room]
        expected = [2, *asked, 3, *part, 3]
        rest = 384 - len(expected)
        assert ids == expected + [0] * rest
        assert mask == [1] * len(expected) + [0] * rest
        assert segments == [0] * (len(asked) + 2) + [1] * (len(part) + 1) + [0] * rest
        assert sample.label["answers"] == ["Paris", "in Paris"]
    second = samples[-1]
    assert second.inputs[2].tolist().index(1) == 66  # of a long question 64 tokens are kept
    assert second.label == {"id": "q2", "answers": ["A cat"]}


def test_prepared_records_are_the_inputs(squad, vocabulary):
    names = ("input_ids", "input_mask", "segment_ids")
    samples = [*squad.open()]
    contents = []
    for sample in samples:
        ids, mask, segments = (value.tolist() for value in sample.inputs)
        ids[1] = 77  # another tokenizer may name a token differently
        contents.append(example(**dict(zip(names, (ids, mask, segments), strict=True))))
    path = write_records(vocabulary / "eval.tf_record", *contents)
    for root in (vocabulary, path):
        read = Bert(root=str(root), label_file=squad.label_file).open()
        assert read[1].inputs[0][1] == 77
        assert read[1].label == samples[1].label
    write_records(path, *contents[:-1])
    refuse(squad.open, "eval.tf_record", "windows", error=DatasetUnreadable)
    write_records(path, *reversed(contents))
    read = squad.open()
    refuse(lambda: read[0], "record 1 of eval.tf_record", "not where", error=DatasetUnreadable)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "not in the format of SQuAD"),
        ("[]", "not in the format of SQuAD"),
        ('{"version": "1.1"}', "no 'data'"),
        ('{"version": "v2.0", "data": []}', "version v2.0"),
        ('{"version": "1.1", "data": []}', "no questions"),
    ],
)
def test_other_files_of_questions_are_refused(squad, tmp_path, content, words):
    (tmp_path / "dev.json").write_text(content)
    refuse(squad.open, words, error=DatasetUnreadable)


def test_what_has_no_answer_or_no_tokenizer_is_refused(squad, tmp_path, vocabulary):
    write_questions(tmp_path / "dev.json", question(1, "who"))
    refuse(squad.open, "question q1 of dev.json", "no answer")
    refuse(Bert(root=str(vocabulary)).open, "/path/to/dev-v1.1.json", error=BadValue)
    refuse(Bert(root=str(tmp_path), label_file=squad.label_file, task="classifier").open, "squad")
    write_questions(tmp_path / "dev.json", question(1, "who", "A cat"))
    refuse(Bert(root=str(tmp_path), label_file=squad.label_file).open, "neither tokenizer.json")
