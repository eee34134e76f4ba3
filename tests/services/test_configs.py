"""``bench --config``: what a file says is what is measured, or it is refused with its reason."""

from dataclasses import replace
from pathlib import Path

import pytest

from modeldyno.core.errors import BadValue
from modeldyno.core.models import Architecture
from modeldyno.core.requests.commands import CONFIG_KEYS
from modeldyno.core.requests.measuring import BenchmarkRequest, ModelFile
from modeldyno.services.configs import read_benchmark_config
from modeldyno.services.requests import make_benchmark_spec
from modeldyno.store.configs import MOST_BYTES, NAME, write_config
from tests.scripts import script
from tests.terminal import modeldyno


@pytest.fixture
def model(tmp_path):
    return script(tmp_path / "m.json")


def read(path):
    return make_benchmark_spec(*read_benchmark_config(path))


def written(tmp_path, text):
    file = tmp_path / "c.yaml"
    file.write_text(text)
    return file


@pytest.mark.parametrize(
    "request_",
    [
        BenchmarkRequest(),
        BenchmarkRequest(
            engines=("scripted",),
            batch_sizes=(1, 8),
            instances=(1, 2),
            dims={"seq": (7, 9), "width": 3},
            values={"sr": 16000, "x: #": 0.5},
            iterations=20,
            warmup=0,
            seed=3,
            timeout_s=12.5,
        ),
        BenchmarkRequest(
            spinning=False,
            contract="hot",
            options={"compile": True},
            sandbox="required",
            inputs=("x=float32[batch,3]",),
            budget="quick",
            per_call=True,
        ),
        BenchmarkRequest(budget=3.5),
    ],
)
def test_a_spec_that_is_written_is_read_as_the_same(model, tmp_path, request_):
    spec = make_benchmark_spec(request_, model)
    write_config(tmp_path, spec)
    assert read(tmp_path / NAME) == spec


def test_an_architecture_is_found_where_it_was_found_the_first_time(model, tmp_path):
    file = ModelFile(model, architecture="nets:build", arguments={"depth": 3, "layers": [2, 2]})
    spec = make_benchmark_spec(BenchmarkRequest(), file)
    known = Architecture("nets:build", {"depth": 3, "layers": [2, 2]}, "/somewhere/else")
    spec = replace(spec, model=replace(spec.model, architecture=known))
    write_config(tmp_path, spec)
    assert read(tmp_path / NAME) == spec


def test_paths_are_relative_to_the_file(model, tmp_path):
    assert read(written(tmp_path, "model: m.json")).model.path == str(model)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("model: m.json\nbatchsize: 8", "Did you mean batch_size?"),
        ("model: m.json\ncores: 1\ncores: 2", "'cores' is there twice"),
        ("model: m.json\nbatch_size: eight", "batch_size has an invalid value"),
        ("model: m.json\nbatch_size: [1, [2]]", "batch_size has an invalid value"),
        ("model: m.json\nbatch_size: true", "batch_size has an invalid value"),
        ("model: m.json\nbatch_size: 0", "batch_size must be at least 1"),
        ("model: m.json\nbudget: quick\nseconds: 3", "contradict each other"),
        ("model: m.json\nbudget: long", "budget cannot be 'long'"),
        ("model: m.json\ndims: 3", "dims takes names and values"),
        ("model: m.json\ndims: {seq: x}", "dims: seq has an invalid value"),
        ("model: m.json\noptions: {fast: true}", "No engine has an option 'fast'"),
        ("model: !!python/object/apply:os.system [id]", "cannot be read"),
        ("cores: 1", "names no model"),
        ("- model", "is not a configuration"),
        ("1: 2", "is not a configuration"),
        ("", "is not a configuration"),
        ("model: [", "cannot be read"),
        ("model: " + "[" * 2_000, "cannot be read"),
        ("model: \x00", "cannot be read"),
        ("#" * (MOST_BYTES + 1), "is too long"),
    ],
)
def test_what_is_wrong_is_refused_by_its_name(model, tmp_path, text, said):
    with pytest.raises(BadValue) as caught:
        read(written(tmp_path, text))
    assert said in str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(BadValue, match="No such file"):
        read_benchmark_config(tmp_path / "nothing.yaml")


@pytest.mark.usefixtures("starts_processes")
def test_a_file_says_all(model, tmp_path):
    ended = modeldyno("bench", model, "--config", written(tmp_path, "model: m.json"))
    assert ended.code == 2
    assert "--config takes no model and no settings" in ended.err


def test_every_setting_is_documented():
    text = (Path(__file__).parents[2] / "docs/cli.md").read_text()
    section = text.partition("### Configuration files")[2].partition("\n## ")[0]
    assert [key for key in CONFIG_KEYS if key not in section] == []
