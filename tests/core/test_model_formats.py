"""The one table of formats: what everything but the readers knows of them."""

from typing import get_args

import pytest

from modeldyno.core.dictionaries import FRAMEWORKS, framework_of
from modeldyno.core.models import FORMATS, ModelFormat, Tier, format_title, model_suffixes


def test_every_format_is_in_the_table_and_no_other():
    assert set(FORMATS) == set(get_args(ModelFormat))


@pytest.mark.parametrize("name", FORMATS)
def test_an_entry_names_a_tier_suffixes_and_a_framework_that_exist(name):
    entry = FORMATS[name]
    assert entry.tier in get_args(Tier)
    assert entry.suffixes
    assert all(suffix.startswith(".") for suffix in entry.suffixes)
    assert entry.framework in {"", *(framework.name for framework in FRAMEWORKS)}


def test_a_format_without_a_framework_of_the_reference_api_keeps_its_own_name():
    assert framework_of("litert", "LiteRT").id == 0
    assert framework_of("keras", "Keras").name == "TensorFlow"


def test_an_unknown_format_is_shown_by_its_name():
    assert format_title("onnx") == "ONNX"
    assert format_title("gguf") == "gguf"


def test_suffixes_of_several_formats_come_once_each():
    assert model_suffixes("torchscript", "torch-checkpoint") == (
        ".pt",
        ".ts",
        ".torchscript",
        ".pth",
    )
