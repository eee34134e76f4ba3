"""Sizes of open dimensions: one for all cells, or several that cells differ in."""

import shlex
from dataclasses import replace

import pytest

from modeldyno.core.codec import decode, encode
from modeldyno.core.errors import BadValue
from modeldyno.core.identity import fingerprint
from modeldyno.core.judgements import match_cells
from modeldyno.core.requests.axes import axis_fields, differences
from modeldyno.core.requests.checking import require_valid
from modeldyno.core.requests.commands import bench_command, config_of
from modeldyno.core.requests.measuring import (
    BenchmarkRequest,
    ProfileRequest,
    SideRequest,
    benchmark_request,
)
from modeldyno.core.requests.texts import parse_sizes, request_of
from modeldyno.core.specs import BenchmarkSpec, CellSpec, ModelSpec
from modeldyno.services.requests import make_benchmark_spec
from tests.scripts import script

SWEEP = {"seq": (64, 128), "width": (8, 16), "depth": 3}


@pytest.fixture
def spec(tmp_path):
    def made(**said):
        return make_benchmark_spec(BenchmarkRequest(**said), script(tmp_path / "m.json"))

    return made


def sizes(spec):
    return [cell.dims for cell in spec.configurations()]


# ---------------------------------------------------------------- cells


def test_every_combination_of_sizes_is_a_cell_and_what_all_share_is_said_once(spec):
    made = spec(dims=SWEEP)
    assert made.model.dims == {"depth": 3}
    assert [cell.dims for cell in made.cells] == [
        {"seq": 64, "width": 8},
        {"seq": 64, "width": 16},
        {"seq": 128, "width": 8},
        {"seq": 128, "width": 16},
    ]
    assert sizes(made)[0] == {"depth": 3, "seq": 64, "width": 8}
    assert differences(made.cells) == "2 sizes of seq × 2 sizes of width"


def test_neighbours_differ_in_their_sizes_and_names_end_with_them(spec):
    made = spec(batch_sizes=(1, 2), dims={"seq": (64, 128)})
    assert [cell.name for cell in made.configurations()] == [
        "1 core · batch 1 · seq 64",
        "1 core · batch 1 · seq 128",
        "1 core · batch 2 · seq 64",
        "1 core · batch 2 · seq 128",
    ]
    assert differences(made.cells) == "2 batch sizes × 2 sizes of seq"


def test_the_batch_is_not_named_twice(spec):
    (cell,) = spec(dims={"batch": 4, "seq": 8}).configurations()
    assert cell.name == "1 core · batch 1 · seq 8"


def test_a_list_of_one_is_one_size(spec):
    assert spec(dims={"seq": (64,)}) == spec(dims={"seq": 64})


@pytest.mark.parametrize(
    ("dims", "complaint"),
    [
        ({"seq": (64, 64)}, "seq has a size twice"),
        ({"seq": ()}, "No value for dims: seq"),
        ({"seq": (64, 0)}, "dims: seq must be at least 1, not 0"),
        ({"seq": "64"}, "dims: seq has an invalid value"),
        ({"batch": (1, 8)}, "The dimension batch takes one size"),
        ({"a": tuple(range(1, 51)), "b": tuple(range(1, 51))}, "2500 combinations of sizes"),
        ({"a": tuple(range(1, 151)), "b": (1, 2)}, "300 combinations of sizes"),
    ],
)
def test_sizes_that_cannot_be_meant_are_refused(spec, dims, complaint):
    with pytest.raises(BadValue, match=complaint):
        spec(dims=dims)


def test_sizes_and_other_axes_together_may_be_too_many(spec):
    with pytest.raises(BadValue, match="400 cells are too many"):
        spec(dims={"seq": tuple(range(1, 101))}, batch_sizes=(1, 2, 3, 4))


@pytest.mark.parametrize("kind", [SideRequest, ProfileRequest])
def test_what_measures_one_cell_takes_one_size(kind):
    require_valid(kind(dims={"seq": 64}))
    with pytest.raises(BadValue, match="dims: seq has an invalid value"):
        require_valid(kind(dims={"seq": (64, 128)}))


# ---------------------------------------------------------------- there and back


def test_a_spec_tells_the_sizes_that_were_asked_for(spec):
    made = spec(dims=SWEEP)
    assert benchmark_request(made).dims == SWEEP
    assert decode(BenchmarkSpec, encode(made)) == made


def test_the_command_and_the_config_file_say_all_sizes(spec):
    made = spec(dims=SWEEP)
    words = shlex.split(bench_command(made, "m.json"))
    said = [words[n + 1] for n, word in enumerate(words) if word == "--dim"]
    assert said == ["depth=3", "seq=64,128", "width=8,16"]
    assert parse_sizes("--dim", said) == SWEEP
    assert config_of(made)["dims"] == {"depth": 3, "seq": [64, 128], "width": [8, 16]}


def test_words_of_python_may_be_lists():
    assert request_of(BenchmarkRequest, {"dims": {"seq": [64, 128], "width": 8}}) == (
        BenchmarkRequest(dims={"seq": (64, 128), "width": 8})
    )


# ---------------------------------------------------------------- of before


def test_a_repeat_of_a_benchmark_of_before_is_the_same_benchmark(spec):
    """As they were made when cells had no sizes."""
    plain = BenchmarkSpec(ModelSpec("m.onnx"), (CellSpec(), CellSpec(cores=2, streams=2)))
    one = BenchmarkSpec(
        ModelSpec("m.onnx", {"seq": 128}), (CellSpec(engine="onnxruntime", batch_size=8),)
    )
    assert [fingerprint(each, [1]) for each in (plain, one)] == [
        "26f91ea192e6da86e34b50eaa03f49052b947edd383a00b7e8946d88e3c8a949",
        "50019027313dc01e733f5320c608a060b67915436d899c3efae1bfbf66cc9e44",
    ]
    made = [spec(dims={"seq": own}) for own in (64, 128, (64, 128), (128, 64))]
    assert len({fingerprint(each, [1]) for each in made}) == 4


def test_a_spec_of_before_has_the_sizes_of_its_model(spec):
    stored = encode(spec(dims={"seq": 64}))
    for cell in stored["cells"]:
        del cell["dims"]
    assert sizes(decode(BenchmarkSpec, stored)) == [{"seq": 64}]


# ---------------------------------------------------------------- counterparts


def test_counterparts_have_the_same_sizes():
    def axes(*dims):
        return [axis_fields(replace(CellSpec(engine="ort"), dims=own)) for own in dims]

    sweep = axes({"seq": 64}, {"seq": 128})
    assert match_cells(sweep, axes({"seq": 128}, {"seq": 64})) == [(0, 1), (1, 0)]
    assert match_cells(axes({"seq": 128}), sweep) == [(0, 1)]
    assert match_cells(axes({"seq": 256}), sweep) == []
    assert match_cells(axes({}), axes({"seq": 128})) == [(0, 0)]  # may be what it was given
    assert match_cells(axes({}), sweep) == []  # which of them?
