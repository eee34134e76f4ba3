"""What every entry of the catalogue promises."""

import dataclasses
import inspect
import subprocess
import sys
import typing
from collections.abc import Sequence

import numpy as np
import pytest

from modeldyno.core.dictionaries import Parameter
from modeldyno.core.errors import BadValue
from modeldyno.datasets import catalog
from modeldyno.datasets.filters import FILTERS
from modeldyno.datasets.metrics import METRICS
from modeldyno.datasets.protocol import Sample
from modeldyno.datasets.readers import READERS
from modeldyno.datasets.transforms import TRANSFORMS
from modeldyno.datasets.typed_values import is_blank
from modeldyno.store.dictionaries import read_dictionaries
from scripts import write_oracles

CUSTOM = "custom"  # code of a user, which is in no catalogue
OURS = {"fidelity"}  # beyond the reference API
TABLES = {"transform": TRANSFORMS, "metric": METRICS}
ENTRIES = [
    pytest.param(noun, entry, id=f"{entry.framework}-{entry.name}")
    for noun, entries in (
        ("transform", read_dictionaries().transforms),
        ("metric", read_dictionaries().metrics),
    )
    for entry in entries
    if entry.name != CUSTOM
]


@pytest.mark.parametrize(("noun", "entry"), ENTRIES)
class TestEveryEntryOfTheDictionaries:
    def test_its_parameters_are_the_fields_of_a_frozen_class(self, noun, entry):
        cls = catalog.find_class(TABLES[noun], noun, entry.name, entry.framework)
        assert cls.__dataclass_params__.frozen
        assert all(field.kw_only for field in dataclasses.fields(cls))
        assert_fields_are(cls, entry.params)

    def test_it_keeps_the_protocol(self, noun, entry):
        cls = catalog.find_class(TABLES[noun], noun, entry.name, entry.framework)
        methods = {
            "transform": {"apply": ["sample", "random"]},
            "metric": {"judge": ["outputs", "labels"], "summarize": ["outcomes"]},
        }
        for name, parameters in methods[noun].items():
            assert [*inspect.signature(getattr(cls, name)).parameters] == ["self", *parameters]
        said = ("is_random",) if noun == "transform" else ("higher_is_better", "is_proportion")
        for name in said:
            assert isinstance(inspect.getattr_static(cls, name), bool | property)


def assert_fields_are(cls, params: tuple[Parameter, ...]):
    """Names, order and defaults; where a form is blank, whatever does."""
    fields, hints = dataclasses.fields(cls), typing.get_type_hints(cls)
    assert [field.name for field in fields] == [param.name for param in params]
    for field, param in zip(fields, params, strict=True):
        if param.params:
            assert_fields_are(hints[field.name], param.params)
        elif not is_blank(param.value):
            assert field.default == catalog._convert(hints[field.name], field.name, param.value)


def test_every_name_of_the_dictionaries_is_in_the_catalogue_and_no_other():
    dictionaries = read_dictionaries()
    for table, entries in ((TRANSFORMS, dictionaries.transforms), (METRICS, dictionaries.metrics)):
        assert set(table) - OURS == {entry.name for entry in entries} - {CUSTOM}


@pytest.mark.parametrize(
    ("kind", "table"), [("readers", READERS), ("transforms", TRANSFORMS), ("metrics", METRICS)]
)
def test_every_name_is_held_against_something_else(kind, table):
    """Mark a test with ``@pytest.mark.oracle(name, source)``."""
    assert set(write_oracles.oracles(kind)) == set(table)


def test_the_table_of_oracles_is_fresh():
    text = write_oracles.PAGE.read_text()
    assert write_oracles.page(text) == text, "run `python scripts/write_oracles.py`"


@pytest.mark.usefixtures("starts_processes")
def test_the_catalogue_loads_no_class_before_one_is_made():
    code = """
import sys
from modeldyno.datasets.catalog import make_transform
prefixes = ("modeldyno.datasets.transforms.", "modeldyno.datasets.metrics.", "numpy", "PIL")
assert not [name for name in sys.modules if name.startswith(prefixes)]
make_transform("Rescale", "", {})
assert "modeldyno.datasets.transforms.values" in sys.modules
assert "modeldyno.datasets.transforms.squad" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


# ---------------------------------------------------------------- what people write


@pytest.mark.parametrize(
    ("name", "parameters", "expected"),
    [
        ("Resize", {"size": "224, 224"}, {"size": (224, 224)}),
        ("Resize", {"size": "[224,224]"}, {"size": (224, 224)}),
        ("Resize", {"size": 224}, {"size": (224,)}),
        ("Resize", {"size": (224, 200)}, {"size": (224, 200)}),
        ("Normalize", {"mean": "0.0", "std": [1, 2, 3]}, {"mean": (0.0,), "std": (1.0, 2.0, 3.0)}),
        (
            "RandomResizedCrop",
            {"size": "9", "ratio": "3.0 / 4.0, 4.0 / 3.0"},
            {"ratio": (0.75, 4 / 3)},
        ),
        ("ResizeWithRatio", {"padding": "False"}, {"padding": False}),
        (
            "ResizeWithRatio",
            {"padding": "yes", "min_dim": "800"},
            {"padding": True, "min_dim": 800},
        ),
        ("QuantizedInput", {"dtype": "", "scale": ""}, {"dtype": "", "scale": None}),
        ("QuantizedInput", {"dtype": "int8", "scale": "0.5"}, {"scale": 0.5}),
    ],
)
def test_what_a_form_sends_becomes_values(name, parameters, expected):
    made = catalog.make_transform(name, "ONNXRT", parameters)
    assert {key: getattr(made, key) for key in expected} == expected


def test_parts_of_a_parameter_may_be_given_alone():
    mapping = {"num_detections": "0", "boxes": 1}
    made = catalog.make_metric("COCOmAPv2", "", {"output_index_mapping": mapping})
    assert dataclasses.asdict(made)["output_index_mapping"] == {  # type: ignore[call-overload]
        **{"num_detections": 0, "boxes": 1},
        **{"scores": 1, "classes": 2},
    }


@pytest.mark.parametrize("framework", ["TensorFlow", " tensorflow ", "TENSORFLOW"])
def test_the_framework_decides_where_classes_differ(framework):
    made = catalog.make_transform("Resize", framework, {"size": 9})
    assert type(made).__name__ == "TensorFlowResize"
    assert type(catalog.make_transform("Resize", "OpenVINO", {"size": 9})).__name__ == "Resize"


@pytest.mark.parametrize(
    ("make", "name", "parameters", "title", "why", "fix"),
    [
        (
            catalog.make_transform,
            "Resise",
            {},
            "There is no transform 'Resise'",
            "Resize",
            "Choose one of: AlignImageChannel",
        ),
        (
            catalog.make_metric,
            "top_k",
            {},
            "There is no metric 'top_k'",
            "topk",
            "Choose one of: Accuracy",
        ),
        (
            catalog.make_reader,
            "Imagefolder!",
            {},
            "There is no reader 'Imagefolder!'",
            "near",
            "Choose one of",
        ),
        (
            catalog.make_filter,
            "Balance",
            {},
            "There is no filter 'Balance'",
            "near",
            "LabelBalance, ",
        ),
        (
            catalog.make_metric,
            "custom",
            {},
            "There is no metric 'custom'",
            "no name is near",
            "Accuracy",
        ),
        (
            catalog.make_transform,
            "Resize",
            {"sizes": 3},
            "Resize has no parameter 'sizes'",
            "size",
            "It has: size, interpolation",
        ),
        (
            catalog.make_transform,
            "Rescale",
            {"x": 3},
            "Rescale has no parameter 'x'",
            "no name",
            "It has none",
        ),
        (
            catalog.make_transform,
            "CropResize",
            {"x": 3, "y": ""},
            "CropResize lacks y and width and height and size",
            "no value",
            "Give it: y",
        ),
        (
            catalog.make_transform,
            "Resize",
            {"size": "a"},
            'size cannot be "a"',
            "",
            "whole numbers",
        ),
        (
            catalog.make_transform,
            "Resize",
            {"size": {"a": 1}},
            "size cannot be",
            "",
            "whole numbers",
        ),
        (
            catalog.make_transform,
            "ResizeWithRatio",
            {"padding": "maybe"},
            'padding cannot be "maybe"',
            "",
            "true or false",
        ),
        (
            catalog.make_transform,
            "Cast",
            {"dtype": ["a"]},
            'dtype cannot be ["a"]',
            "expected str",
            "type",
        ),
        (
            catalog.make_metric,
            "COCOmAPv2",
            {"output_index_mapping": 3},
            "output_index_mapping cannot be 3",
            "several parts",
            "num_detections",
        ),
        (
            catalog.make_metric,
            "COCOmAPv2",
            {"output_index_mapping": {"box": 3}},
            "output_index_mapping has no parameter 'box'",
            "boxes",
            "It has",
        ),
    ],
)
def test_what_cannot_be_made_is_refused(make, name, parameters, title, why, fix):
    with pytest.raises(BadValue) as refused:
        make(name, "ONNXRT", parameters)
    assert title in refused.value.title
    assert why in refused.value.why
    assert fix in refused.value.fix


# ---------------------------------------------------------------- types that readers have


@pytest.mark.parametrize(
    ("hint", "value", "expected"),
    [
        (tuple[tuple[int, ...], ...], "[3, 4], [5]", ((3, 4), (5,))),
        (tuple[int | tuple[int, ...], ...], "[100, 3, 224]", (100, 3, 224)),
        (str | tuple[str, ...], "float32", "float32"),
        (str | tuple[str, ...], ["float32", "int64"], ("float32", "int64")),
        (tuple[str, ...], "a, b", ("a", "b")),
        (float | tuple[float, ...], "-128.0", -128.0),
        (float | tuple[float, ...], "1, 2", (1.0, 2.0)),
        (int | None, "5", 5),
        (Sequence[int] | Sequence[Sequence[int]], "[100, 3, 224]", (100, 3, 224)),
        (Sequence[int] | Sequence[Sequence[int]], "[[3, 4], [5]]", ((3, 4), (5,))),
        (Sequence[int] | Sequence[Sequence[int]], [[3, 4], [5]], ((3, 4), (5,))),
        (float | Sequence[float], "-128.0", -128.0),
        (float | Sequence[float], [1, 2], (1.0, 2.0)),
        (str | Sequence[str], "float32", "float32"),
        (str | Sequence[str], ["float32", "int64"], ("float32", "int64")),
    ],
)
def test_the_shapes_that_parameters_of_readers_have(hint, value, expected):
    assert catalog._convert(hint, "x", value) == expected


# ---------------------------------------------------------------- filters


@pytest.mark.parametrize("name", FILTERS)
def test_label_balance_takes_images_with_so_many_objects(name):
    def sample(count):
        boxes = np.zeros((count, 4))
        return Sample((np.zeros((4, 4, 3)),), (boxes, [], [1] * count, "a"))

    taken = catalog.make_filter(name, "TensorFlow", {"size": "2"})
    assert [taken.takes(sample(count)) for count in (0, 1, 2, 3)] == [False, False, True, False]
    assert catalog.make_filter(name, "", {}).takes(sample(1))
    with pytest.raises(BadValue, match="LabelBalance found a sample without boxes"):
        taken.takes(Sample((np.zeros((4, 4, 3)),), 3))
    with pytest.raises(BadValue, match="cannot take images with -1 objects"):
        catalog.make_filter(name, "", {"size": -1})
