"""Requests: one declaration of every setting, for all who ask."""

import inspect
from dataclasses import fields, replace
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

import modeldyno
from modeldyno.client.measuring import MeasuringCalls
from modeldyno.core.cell_axes import AXES
from modeldyno.core.codec import encode
from modeldyno.core.documents.hosts import EngineDocument
from modeldyno.core.errors import BadValue
from modeldyno.core.requests.axes import axis_fields, axis_values, combinations
from modeldyno.core.requests.checking import (
    by_field,
    by_key,
    by_option,
    hints,
    option_of,
    require_valid,
)
from modeldyno.core.requests.commands import CONFIG_KEYS, bench_command, config_of
from modeldyno.core.requests.measuring import (
    BenchmarkRequest,
    NewBenchmarkRequest,
    NewComparisonRequest,
    ProfileRequest,
    SideRequest,
    benchmark_request,
)
from modeldyno.core.requests.texts import request_of, side_with, split_side, typed_request
from modeldyno.core.specs import CellSpec
from modeldyno.engines.catalog import Entry
from modeldyno.services.requests import make_benchmark_spec
from tests.scripts import script

FULL = BenchmarkRequest(
    dims={"seq": 7},
    values={"sr": 0.5},
    inputs=("x=float32[batch,3]",),
    signature="encode",
    engines=("scripted",),
    batch_sizes=(1, 8),
    instances=(1, 2),
    streams=(1, 4),
    devices=("cpu", "cuda"),
    precisions=("fp16",),
    spinning=False,
    contract="hot",
    options={"compile": True},
    sandbox="required",
    budget=3.5,
    iterations=20,
    warmup=0,
    per_call=True,
    timeout_s=12.5,
    memory_limit_bytes=10**9,
    seed=3,
)


def of_server(request: type, **settings):
    ids = {"project_id": 1, "model_id": 1}
    return TypeAdapter(request).validate_python(ids | settings)


# ---------------------------------------------------------------- bounds


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"batch_sizes": (0,)}, "batch_sizes must be at least 1, not 0"),
        ({"batch_sizes": (10**6 + 1,)}, "batch_sizes must be at most 1000000, not 1e"),
        ({"batch_sizes": ()}, "No value for batch_sizes"),
        ({"batch_sizes": tuple(range(1, 52))}, "batch_sizes has 51 values; a server takes 50"),
        ({"batch_sizes": (True,)}, "batch_sizes has an invalid value"),
        ({"batch_sizes": ("8",)}, "batch_sizes has an invalid value"),
        ({"instances": (257,)}, "instances must be at most 256, not 257"),
        ({"streams": (1025,)}, "streams must be at most 1024, not 1025"),
        ({"devices": ("cpu\x01",)}, "A server does not accept 'cpu.x01' as devices"),
        ({"dims": {"seq": 0}}, "dims: seq must be at least 1, not 0"),
        ({"dims": {"seq": "x"}}, "dims: seq has an invalid value"),
        ({"options": {"x": None}}, "options: x has an invalid value"),
        ({"contract": "warm"}, "contract cannot be 'warm'"),
        ({"sandbox": "off"}, "A server does not accept 'off' as sandbox"),
        ({"budget": "endless"}, "budget cannot be 'endless'"),
        ({"budget": 0}, "budget must be a number of seconds above 0, not 0"),
        ({"budget": 7201}, "budget must be at most 7200, not 7201"),
        ({"iterations": 0}, "iterations must be at least 1, not 0"),
        ({"timeout_s": float("nan")}, "timeout_s must be a number of seconds above 0, not nan"),
        ({"per_call": 1}, "per_call has an invalid value"),
        ({"seed": 2**31}, "seed must be at most 2147483647, not 2"),
        ({"signature": "x" * 201}, "A server does not accept 'xxx"),
    ],
)
def test_a_body_and_a_changed_request_are_held_to_the_same_bounds(settings, complaint):
    with pytest.raises(ValidationError):
        of_server(NewBenchmarkRequest, **settings)
    with pytest.raises(BadValue, match=complaint):
        require_valid(BenchmarkRequest(**settings), by_field, on_server=True)


def test_what_a_server_accepts_passes_both_ways():
    accepted = of_server(NewBenchmarkRequest, **encode(FULL))
    assert encode(accepted).items() >= encode(FULL).items()
    require_valid(FULL, by_field, on_server=True)


@pytest.mark.parametrize(
    "settings",
    [
        {"batch_sizes": (10**9,)},
        {"batch_sizes": tuple(range(1, 60))},
        {"sandbox": "off"},
        {"timeout_s": 86400.0},
        {"signature": "x" * 1000},
    ],
)
def test_a_terminal_may_ask_for_more_than_a_server_accepts(settings):
    require_valid(BenchmarkRequest(**settings))
    with pytest.raises(BadValue):
        require_valid(BenchmarkRequest(**settings), on_server=True)


def test_whole_numbers_of_json_may_have_a_point():
    made = of_server(NewBenchmarkRequest, batch_sizes=[8.0], options={"threads": 2.0})
    assert (made.batch_sizes, made.options) == ((8,), {"threads": 2})
    assert type(made.options["threads"]) is int


def test_a_body_with_an_unknown_setting_is_refused_also_inside_a_side():
    side = {"model_id": 1, "nonsense": 1}
    with pytest.raises(ValidationError, match="nonsense"):
        of_server(NewBenchmarkRequest, nonsense=1)
    with pytest.raises(ValidationError, match="nonsense"):
        TypeAdapter(NewComparisonRequest).validate_python({"project_id": 1, "a": side, "b": side})


def test_errors_name_a_setting_as_people_typed_it():
    for naming, name in ((by_key, "batch_size"), (by_field, "batch_sizes")):
        with pytest.raises(BadValue, match=f"^{name} must be"):
            require_valid(BenchmarkRequest(batch_sizes=(0,)), naming)
    with pytest.raises(BadValue, match=r"^batch must be"):
        require_valid(BenchmarkRequest(batch_sizes=(0,)))


# ---------------------------------------------------------------- there and back


def test_a_spec_tells_the_request_that_it_came_from(tmp_path):
    request = replace(FULL, devices=("cpu",), precisions=(), streams=(1,))
    assert benchmark_request(make_benchmark_spec(request, script(tmp_path / "m.json"))) == request


def test_every_axis_is_a_field_of_requests_and_of_cells():
    assert {axis.field for axis in AXES} <= {field.name for field in fields(BenchmarkRequest)}
    assert {axis.name for axis in AXES} <= {field.name for field in fields(CellSpec)}
    assert {axis.name: axis.usual for axis in AXES} == axis_fields(CellSpec())


def test_every_axis_is_called_as_its_option_is():
    annotations = hints(BenchmarkRequest)
    for axis in AXES:
        assert axis.short == by_option(axis.field, option_of(annotations[axis.field]))


def test_what_an_axis_needs_of_an_engine_is_something_that_engines_say():
    needed = {axis.capability for axis in AXES if axis.capability}
    assert needed <= {field.name for field in fields(EngineDocument)}
    assert needed <= {field.name for field in fields(Entry)}


def test_every_axis_is_in_the_command_the_config_file_and_the_settings(tmp_path):
    spec = make_benchmark_spec(BenchmarkRequest(), script(tmp_path / "m.json"))
    for axis in AXES:
        value: Any = {"word": "x", "count": 3, "sizes": {"seq": 3}}[axis.kind]
        changed = replace(spec, cells=(replace(CellSpec(), **{axis.name: value}),))
        typed, several = ("seq=3", value) if axis.kind == "sizes" else (value, [value])
        assert f" {typed}" in bench_command(changed, "m")
        assert config_of(changed)[axis.name] == value
        assert encode(benchmark_request(changed))[axis.field] == several
        assert axis.name in CONFIG_KEYS


def test_combinations_are_nested_as_cells_are():
    values = {"cores": (1, 2), "batch_sizes": (1, 8, 1)}
    cells = [CellSpec(**fields_) for fields_ in combinations(values)]
    assert [(cell.cores, cell.batch_size) for cell in cells] == [(1, 1), (1, 8), (2, 1), (2, 8)]
    assert axis_values(cells)["batch_sizes"] == (1, 8)
    assert axis_values(cells)["engines"] == ()


# ---------------------------------------------------------------- words


def test_words_of_python_and_of_the_terminal_fill_the_same_request():
    expected = BenchmarkRequest(
        engines=("ort",), batch_sizes=(1, 8), spinning=False, timeout_s=5.0, budget="quick"
    )
    python = {"engine": "ort", "batch": [1, 8], "spin": False, "timeout": 5.0, "quick": True}
    typed = {"engine": "ort", "batch": "1, 8", "spin": "off", "timeout": 5.0, "quick": True}
    assert request_of(BenchmarkRequest, python) == expected
    assert typed_request(BenchmarkRequest, typed) == expected


def test_a_side_has_what_both_share_and_what_stands_after_its_at_sign():
    path, words = split_side("m.onnx@cores=2,spin=off,compile=on")
    common = SideRequest(batch_size=8, options={"threads": 1})
    assert path == "m.onnx"
    assert side_with(common, words) == SideRequest(
        batch_size=8, cores=2, spinning=False, options={"threads": 1, "compile": True}
    )


@pytest.mark.parametrize("function", [modeldyno.bench, vars(MeasuringCalls)["bench"].__wrapped__])
def test_help_shows_every_word(function):
    shown = inspect.signature(function).parameters
    assert {"engine", "batch", "streams", "quick", "budget", "timeout", "seed"} <= shown.keys()
    assert (shown["batch"].default, shown["device"].default) == (1, "cpu")
    assert (shown["quick"].default, shown["budget"].default) == (False, None)


def test_the_words_of_python_are_those_of_requests():
    words = inspect.signature(modeldyno.profile).parameters.keys()
    fields_ = {field.name for field in fields(ProfileRequest)}
    renamed = {"batch_size": "batch", "spinning": "spin"}
    renamed |= {"timeout_s": "timeout", "memory_limit_bytes": "memory_limit"}
    assert {renamed.get(name, name) for name in fields_} <= words


def test_a_misspelled_word_is_refused_with_the_one_that_was_meant():
    with pytest.raises(TypeError, match=r"bench\(\) has no keyword 'bacth'; did you mean 'batch'"):
        modeldyno.bench("m.onnx", bacth=8)  # type: ignore[call-arg]
