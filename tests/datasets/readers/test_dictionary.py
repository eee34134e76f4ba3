"""Every dataset that the dictionaries list can be read, by the same parameters and defaults."""

import dataclasses
import importlib
from pathlib import Path

import pytest

from modeldyno.datasets import readers
from modeldyno.datasets.readers import PATHS, READERS
from modeldyno.datasets.typed_values import convert_value
from modeldyno.services.datasets import CUSTOM
from modeldyno.store.dictionaries import read_dictionaries

ENTRIES = [entry for entry in read_dictionaries().dataloaders if entry.name != CUSTOM]
OURS = {"npz", "csv", "jsonl", "parquet", "labelled_images", "digits"}


def load(name):
    module, _, attribute = READERS[name].partition(":")
    return getattr(importlib.import_module(module), attribute)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.framework}-{entry.name}")
def test_a_reader_has_the_parameters_of_its_dictionary_with_their_defaults(entry):
    expected = {
        param.name: convert_value(param.type, param.name, param.value)
        for param in entry.params
        if param.type not in ("numbers", "shapes")
    } | {param.name: param.value for param in entry.params if param.type in ("numbers", "shapes")}
    reader = load(entry.name)()
    values = {field.name: getattr(reader, field.name) for field in dataclasses.fields(reader)}
    values = {
        name: list(value) if isinstance(value, tuple) else value for name, value in values.items()
    }
    assert values == expected
    assert {name: type(value) for name, value in values.items()} == {
        name: type(value) for name, value in expected.items()
    }


def test_every_name_of_the_dictionary_and_ours_is_in_the_table():
    assert {entry.name for entry in ENTRIES} | OURS == set(READERS)


@pytest.mark.parametrize("name", READERS)
def test_readers_are_frozen_and_take_their_parameters_by_name_only(name):
    reader = load(name)
    assert reader.__dataclass_params__.frozen
    assert all(field.kw_only for field in dataclasses.fields(reader))
    assert callable(reader.open)


def test_paths_are_the_parameters_that_name_a_place():
    names = {field.name for name in READERS for field in dataclasses.fields(load(name))}
    assert names >= PATHS
    places = ("root", "path", "file", "list")
    alike = {name for name in names if any(place in name for place in places)}
    assert alike | {"data_dir"} == PATHS


def test_a_reader_is_imported_when_it_is_used():
    places = {place.partition(":")[0] for place in READERS.values()}
    assert not any(f"import {place}" in Path(readers.__file__).read_text() for place in places)
