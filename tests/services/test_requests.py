"""From what people type to complete specs."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from modeldyno.core.errors import BadValue, EngineUnknown, ModelNotFound
from modeldyno.core.requests.checking import require_valid
from modeldyno.core.requests.measuring import (
    BenchmarkRequest,
    ModelFile,
    PairingRequest,
    SideRequest,
    budget_of,
)
from modeldyno.core.requests.texts import (
    choose_budget,
    parse_bytes,
    parse_number,
    parse_pairs,
    parse_share,
    parse_sizes,
    parse_switch,
    split_side,
    typed_request,
)
from modeldyno.core.specs import (
    DEFAULT,
    QUICK,
    THOROUGH,
    BenchmarkSpec,
    CellSpec,
    ComparisonSpec,
    InspectionSpec,
    ModelSpec,
    SideSpec,
)
from modeldyno.services import requests
from modeldyno.services.requests import (
    make_benchmark_spec,
    make_cell_specs,
    make_comparison_spec,
    make_inspection_spec,
    model_path,
)

ALL = len(os.sched_getaffinity(0))
LIMIT = 10**9


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(b"")
    return path


def bench(model, **settings):
    return make_benchmark_spec(BenchmarkRequest(memory_limit_bytes=LIMIT, **settings), model)


def compare(a, b, **settings):
    pairing = PairingRequest(memory_limit_bytes=LIMIT, **settings)
    return make_comparison_spec(a, b, SideRequest(), pairing)


# ---------------------------------------------------------------- benchmarks


def test_a_model_alone_is_one_cell_with_the_default_budget(model):
    assert bench(model) == BenchmarkSpec(
        ModelSpec(str(model)), (CellSpec(),), DEFAULT, memory_limit_bytes=LIMIT
    )


def test_without_a_limit_a_worker_may_use_nine_tenths_of_the_machine(model):
    spec = make_benchmark_spec(BenchmarkRequest(), model)
    assert spec.memory_limit_bytes == requests.default_memory_limit() > 0


def test_several_values_make_a_cell_of_each_combination_and_none_twice(model):
    request = BenchmarkRequest(
        engines=("ort", "onnxruntime"), batch_sizes=(1, 8, 1), cores=(1, ALL)
    )
    cores = dict.fromkeys((1, ALL))
    assert make_cell_specs(request) == tuple(
        CellSpec("onnxruntime", batch, count) for count in cores for batch in (1, 8)
    )


def test_exact_iterations_are_one_session_of_one_process_after_ten_warmup_calls(model):
    spec = bench(model, iterations=7)
    assert (spec.iterations, spec.warmup_calls) == (7, 10)
    assert spec.budget == replace(DEFAULT, processes=1, sessions_per_process=1)


def test_an_exact_warmup_is_kept_also_when_it_is_none(model):
    assert bench(model, iterations=7, warmup=0).warmup_calls == 0
    assert bench(model, warmup=3).warmup_calls == 3
    assert bench(model).warmup_calls is None


def test_real_data_is_found_and_its_whole_path_kept(model, tmp_path):
    data = tmp_path / "x.npz"
    data.write_bytes(b"")
    file = ModelFile(model, data=data)
    assert bench(file, dims={"seq": 8}, values={"sr": 16000}).model == ModelSpec(
        str(model), {"seq": 8}, {"sr": 16000}, str(data)
    )


def test_missing_data_is_told_before_anything_starts(model):
    with pytest.raises(ModelNotFound, match=r'No data file named "x\.npz"'):
        bench(ModelFile(model, data="x.npz"))


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        ({"batch_sizes": (0,)}, "batch must be at least 1, not 0"),
        ({"batch_sizes": (-1,)}, "batch must be at least 1, not -1"),
        ({"batch_sizes": (2**63,)}, "batch must be at most 1000000000, not 9.2"),
        ({"batch_sizes": (10**999,)}, "batch must be at most 1000000000, not a num"),
        ({"instances": (2**63,)}, "instances must be at most 256, not 9.2"),
        ({"cores": (2**63,)}, "This machine has no 92"),
        ({"batch_sizes": ()}, "No value for batch"),
        ({"cores": (0,)}, "cores must be at least 1, not 0"),
        ({"cores": (ALL + 1,)}, f"This machine has no {ALL + 1} cores to offer"),
        ({"batch_sizes": tuple(range(1, 202))}, "201 cells are too many"),
        ({"contract": "warm"}, "contract cannot be 'warm'"),
        ({"dims": {"seq": 0}}, "dims: seq must be at least 1, not 0"),
        ({"iterations": 0}, "iterations must be at least 1, not 0"),
        ({"iterations": 1_000_001}, "iterations must be at most 1000000, not 1e\\+06"),
        ({"warmup": -1}, "warmup must be at least 0, not -1"),
        ({"timeout_s": 0}, "timeout must be a number of seconds above 0, not 0"),
        ({"timeout_s": float("nan")}, "timeout must be a number of seconds above 0, not nan"),
        ({"timeout_s": float("inf")}, "timeout must be a number of seconds above 0, not inf"),
        ({"seed": -1}, "seed must be at least 0, not -1"),
    ],
)
def test_a_value_that_cannot_work_is_told_at_once(said, complaint, model):
    with pytest.raises(BadValue, match=complaint):
        bench(model, **said)


def test_an_engine_that_does_not_exist_is_answered_with_one_that_does(model):
    with pytest.raises(EngineUnknown, match="Did you mean 'onnxruntime'"):
        bench(model, engines=("onxruntime",))


# ---------------------------------------------------------------- budgets


def test_budgets_have_names_and_may_have_other_lengths():
    assert budget_of(choose_budget()) == DEFAULT
    assert budget_of(choose_budget(quick=True)) == QUICK
    assert budget_of(choose_budget(thorough=True)) == THOROUGH
    assert budget_of(choose_budget(seconds=3)) == replace(DEFAULT, name="custom", seconds=3.0)


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf")])
def test_a_budget_is_some_time(seconds):
    with pytest.raises(BadValue, match="budget must be a number of seconds above 0"):
        require_valid(BenchmarkRequest(budget=choose_budget(seconds=seconds)))


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"quick": True, "thorough": True}, "--quick and --thorough"),
        ({"quick": True, "seconds": 3}, "--quick and --budget"),
        ({"thorough": True, "seconds": 3}, "--thorough and --budget"),
    ],
)
def test_budgets_contradict_each_other(said, words):
    with pytest.raises(BadValue, match=f"{words} contradict each other"):
        choose_budget(**said)


# ---------------------------------------------------------------- comparisons


def test_two_models_are_compared_cell_against_cell(model):
    side = SideSpec(str(model), ModelSpec(str(model)), CellSpec())
    assert compare(model, model) == ComparisonSpec(side, side, memory_limit_bytes=LIMIT)


def test_a_side_may_carry_options_of_its_own(model):
    text = f"{model}@engine=ort,batch=8,spin=off,contract=api,signature=encode"
    spec = compare(model, text)
    assert spec.a.model.signature == ""
    assert spec.b == SideSpec(
        text,
        ModelSpec(str(model), signature="encode"),
        CellSpec("onnxruntime", batch_size=8, spinning=False),
    )


def test_a_file_with_an_at_sign_in_its_name_is_a_file(tmp_path):
    odd = tmp_path / "m@cores=2.onnx"
    odd.write_bytes(b"")
    assert split_side(odd) == (str(odd), {})
    assert split_side(f"{odd}@batch=2") == (str(odd), {"batch": "2"})


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ("core=2", "Did you mean cores=…"),
        ("cores", "Cannot read 'cores'"),
        ("nonsense=1", "Write NAME=VALUE after the @"),
    ],
)
def test_an_option_of_a_side_that_nobody_knows_is_told(options, complaint, model):
    with pytest.raises(BadValue) as caught:
        split_side(f"{model}@{options}", engine_options=["compile"])
    assert complaint in f"{caught.value}?"


@pytest.mark.parametrize(
    ("side", "complaint"),
    [
        ("batch=x", "batch must be a whole number, not 'x'"),
        ("batch=0", "batch must be at least 1, not 0"),
        ("spin=maybe", "spin is on or off, not 'maybe'"),
        ("contract=hot", "The two sides have different call contracts"),
    ],
)
def test_a_side_that_cannot_work_is_told(side, complaint, model):
    with pytest.raises(BadValue, match=complaint):
        compare(model, f"{model}@{side}")


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        ({"margin": 0.0}, "margin must be above 0 and below 1, not 0"),
        ({"margin": 1.0}, "margin must be above 0 and below 1, not 1"),
        ({"margin": float("nan")}, "margin must be above 0 and below 1, not nan"),
        ({"pairs": 1}, "pairs must be at least 2, not 1"),
        ({"timeout_s": -1}, "timeout must be a number of seconds above 0, not -1"),
        ({"seed": -1}, "seed must be at least 0, not -1"),
    ],
)
def test_a_comparison_that_cannot_work_is_told(said, complaint, model):
    with pytest.raises(BadValue, match=complaint):
        compare(model, model, **said)


# ---------------------------------------------------------------- inspections


def test_looking_into_a_model_needs_only_its_path(model):
    limit = requests.default_memory_limit()
    assert make_inspection_spec(model) == InspectionSpec(ModelSpec(str(model)), 60.0, limit)


@pytest.mark.parametrize("timeout", [0, -1, float("nan")])
def test_looking_takes_some_time(timeout, model):
    with pytest.raises(BadValue):
        make_inspection_spec(model, timeout)


# ---------------------------------------------------------------- paths


def test_a_relative_path_becomes_a_whole_one(model, monkeypatch):
    monkeypatch.chdir(model.parent)
    assert model_path("m.onnx") == model


def test_a_missing_file_is_answered_with_one_that_is_close(model):
    with pytest.raises(ModelNotFound) as caught:
        model_path(model.with_name("m.onx"))
    assert caught.value.fix == f"Did you mean {model}?"


def test_a_missing_file_without_a_neighbour_is_told_plainly(tmp_path):
    with pytest.raises(ModelNotFound) as caught:
        model_path(tmp_path / "m.onnx")
    assert caught.value.fix == "Give the path of a model file"


@pytest.mark.parametrize("name", ["x" * 5000, "~no-such-user-here/m.onnx", "/dev/null/m.onnx"])
def test_a_path_that_the_system_refuses_is_only_not_found(name):
    with pytest.raises(ModelNotFound):
        model_path(name)


FORBIDDEN = """
import os, sys
sys.path.insert(0, {source!r})
from modeldyno.core.errors import ModelNotFound
from modeldyno.services.requests import model_path
if os.getuid() == 0:
    os.setuid(65534)
try:
    model_path({path!r})
except ModelNotFound as error:
    print(error.title, error.why, sep="|")
"""


@pytest.mark.usefixtures("starts_processes")
def test_a_folder_that_we_may_not_enter_is_told_so(tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o000)
    source = os.fspath(requests.__file__).partition("modeldyno/services")[0]
    code = FORBIDDEN.format(source=source, path=str(closed / "m.onnx"))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f'Cannot look for "{closed}/m.onnx"|Permission denied\n'


# ---------------------------------------------------------------- values


def test_lists_of_numbers():
    assert typed_request(BenchmarkRequest, {"batch": "1, 8,32"}).batch_sizes == (1, 8, 32)
    assert typed_request(BenchmarkRequest, {"batch": "1,,2"}).batch_sizes == (1, 2)


@pytest.mark.parametrize("text", ["abc", "1.5", "1;2"])
def test_what_is_no_whole_number(text):
    with pytest.raises(BadValue, match="must be a whole number"):
        typed_request(BenchmarkRequest, {"batch": text})


def test_shares():
    assert parse_share("--margin", "5%") == 0.05
    assert parse_share("--margin", "0.05") == 0.05
    assert parse_share("--margin", "150%") == 1.5


@pytest.mark.parametrize("text", ["", "%", "abc", "nan", "inf", "inf%", "5", "1"])
def test_what_is_no_share_or_could_be_meant_in_two_ways(text):
    with pytest.raises(BadValue, match=r"must be a share such as 5% or 0\.05"):
        parse_share("--fail-if-slower", text)


def test_sizes_in_memory():
    sizes = {text: parse_bytes("--memory-limit", text) for text in ("4G", "500mb", "1.5k", "7")}
    assert sizes == {"4G": 4 * 10**9, "500mb": 5 * 10**8, "1.5k": 1500, "7": 7}


@pytest.mark.parametrize("text", ["", "G", "abc", "1e400", "nan", "0", "-1G"])
def test_what_is_no_size_in_memory(text):
    with pytest.raises(BadValue):
        parse_bytes("--memory-limit", text)


def test_names_and_values():
    expected = {"batch": "8", "seq": "128"}
    assert parse_pairs("--dim", ["batch=8", "seq=128"]) == expected
    assert parse_pairs("--dim", ["batch=8,seq=128"]) == expected
    assert parse_pairs("--dim", ["batch=8 seq=128"]) == expected
    assert parse_pairs("--dim", ["past + 1=3".replace(" ", "")]) == {"past+1": "3"}


@pytest.mark.parametrize("text", ["batch", "=8", "batch="])
def test_what_is_no_name_and_value(text):
    with pytest.raises(BadValue, match="Cannot read"):
        parse_pairs("--dim", [text])


@pytest.mark.parametrize(
    ("texts", "sizes"),
    [
        (["batch=8", "seq=128"], {"batch": 8, "seq": 128}),
        (["batch=8,seq=128"], {"batch": 8, "seq": 128}),
        (["seq=64,128", "h=224"], {"seq": (64, 128), "h": 224}),
        (["seq=64,128,h=224,256 w=3"], {"seq": (64, 128), "h": (224, 256), "w": 3}),
        (["seq=64, 128"], {"seq": (64, 128)}),
        (["past+1=3"], {"past+1": 3}),
    ],
)
def test_a_name_may_have_several_sizes(texts, sizes):
    assert parse_sizes("--dim", texts) == sizes


@pytest.mark.parametrize(
    ("texts", "complaint"),
    [
        (["64"], "Cannot read '64' after --dim"),
        (["=8"], "Cannot read '=8'"),
        (["seq="], "Cannot read 'seq='"),
        (["seq=64,x"], "--dim seq must be a whole number, not 'x'"),
        (["seq=64", "seq=128"], "--dim seq is given twice"),
        (["seq=64,seq=128"], "--dim seq is given twice"),
    ],
)
def test_what_are_no_sizes(texts, complaint):
    with pytest.raises(BadValue, match=complaint):
        parse_sizes("--dim", texts)


def test_numbers_stay_whole_where_they_are():
    assert [repr(parse_number("sr", text)) for text in ("16000", "-1", "0.5", "1e3")] == [
        "16000",
        "-1",
        "0.5",
        "1000.0",
    ]
    with pytest.raises(BadValue, match="sr must be a number, not 'loud'"):
        parse_number("sr", "loud")


def test_switches():
    assert (parse_switch("spin", "on"), parse_switch("spin", "off")) == (True, False)
    with pytest.raises(BadValue):
        parse_switch("spin", "true")
