"""Decoders with a cache: recognised by their inputs, and fed as in real generation."""

from typing import Any

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

from modeldyno.core.errors import BadValue
from modeldyno.core.models import InputSpec
from modeldyno.core.sessions import DecoderCall
from modeldyno.engines.inputs import synthesise
from modeldyno.inputs.decoders import find_decoder, phases
from modeldyno.inputs.open_axes import find_open_axes
from modeldyno.inputs.plans import plan_inputs
from tests import onnx_models

CACHE = "past_key_values.0.key"


def spec(name, *shape, dtype="float32"):
    return InputSpec(name, dtype, shape)


def integers(name, *shape):
    return spec(name, *shape, dtype="int64")


NAMED = (
    integers("input_ids", "batch_size", "sequence_length"),
    integers("attention_mask", "batch_size", "past_sequence_length + 1"),
    integers("position_ids", "batch_size", "sequence_length"),
    spec(CACHE, "batch_size", 12, "past_sequence_length", 64),
)
UNNAMED = (
    integers("input_ids", None, None),
    integers("attention_mask", None, None),
    integers("position_ids", None, None),
    spec(CACHE, None, 12, None, 64),
    spec("past_key_values.0.value", None, 12, None, 64),
)
ONE_TOKEN = (
    integers("input_ids", 1, 1),
    integers("attention_mask", 1, "s7"),
    spec(CACHE, 1, 12, "s3", 64),
)
BOTH_IN_ONE = (
    integers("input_ids", "batch", "seq"),
    integers("attention_mask", "batch", "total_seq"),
    spec("past_0", 2, "batch", 12, "past_seq", 64),
)


def plan(inputs, **dims):
    return plan_inputs(tuple(inputs), 1, dims=dims, values={}, data=None, seed=0)[0]


def shapes(inputs, **dims):
    return [tensor.shape for tensor in plan(inputs, **dims).tensors]


# ---------------------------------------------------------------- recognised


@pytest.mark.parametrize(
    ("inputs", "prefill", "decode"),
    [
        (
            NAMED,
            [(1, 9), (1, 9), (1, 9), (1, 12, 0, 64)],
            [(1, 1), (1, 10), (1, 1), (1, 12, 9, 64)],
        ),
        (
            UNNAMED,
            [(1, 9), (1, 9), (1, 9), (1, 12, 0, 64), (1, 12, 0, 64)],
            [(1, 1), (1, 10), (1, 1), (1, 12, 9, 64), (1, 12, 9, 64)],
        ),
        (ONE_TOKEN, None, [(1, 1), (1, 10), (1, 12, 9, 64)]),
        (BOTH_IN_ONE, [(1, 9), (1, 9), (2, 1, 12, 0, 64)], [(1, 1), (1, 10), (2, 1, 12, 9, 64)]),
    ],
)
def test_each_phase_has_its_sizes_however_the_model_names_them(inputs, prefill, decode):
    expected = {"prefill": prefill, "decode": decode}
    wanted = [{name: 9} for name, sizes in expected.items() if sizes]
    assert phases(inputs, {"context": 9}) == (*wanted,)
    for dims in wanted:
        (phase,) = dims
        assert shapes(inputs, **dims) == expected[phase]
        call = DecoderCall(0, 9) if phase == "prefill" else DecoderCall(9, 1)
        assert plan(inputs, **dims).decoder_call == call


def test_the_usual_context_is_128_tokens_and_other_sizes_stay():
    assert phases(NAMED, {"batch": 2}) == (
        {"batch": 2, "prefill": 128},
        {"batch": 2, "decode": 128},
    )


@pytest.mark.parametrize("name", ["prefill", "decode", "sequence_length", f"{CACHE}.2"])
def test_whoever_says_what_a_call_does_gets_that_one_call(name):
    assert phases(NAMED, {name: 7}) == ({name: 7},)


@pytest.mark.parametrize(
    ("dims", "call"),
    [
        ({}, DecoderCall(past=128, tokens=1)),
        ({"past_seq": 7}, DecoderCall(past=7, tokens=1)),
        ({"seq": 1}, DecoderCall(past=128, tokens=1)),
        ({"seq": 64}, DecoderCall(past=0, tokens=64)),
        ({"past_seq": 7, "seq": 64}, DecoderCall(past=7, tokens=64)),
    ],
)
def test_a_single_call_is_a_step_unless_sizes_say_otherwise_and_its_mask_fits(dims, call):
    """As `compare` and `profile` make it."""
    first = plan_inputs(BOTH_IN_ONE, 1, dims=dims, values={}, data=None, seed=0)[0]
    assert first.decoder_call == call
    (mask,) = (tensor for tensor in first.tensors if tensor.name == "attention_mask")
    assert mask.shape == (1, call.past + call.tokens)


@pytest.mark.parametrize(
    "inputs",
    [
        NAMED[:3],  # no cache
        (spec("x", "batch", "time", 80), spec("cache", "batch", 4, "past", 64)),  # no tokens
        (integers("input_ids", "batch", "seq"), spec(CACHE, 1, 12, 16, 64)),  # nothing to choose
        (integers("input_ids", "b", "seq"), spec("past_encoder_0", "b", 12, "encoder_seq", 64)),
        (spec("image", "batch", 3, "height", "width"),),
    ],
)
def test_other_models_are_no_decoders(inputs):
    assert find_decoder(inputs, find_open_axes(inputs)) is None
    assert phases(inputs, {"context": 9}) == ({"context": 9},)
    with pytest.raises(BadValue, match="no open dimension 'prefill'"):
        plan(inputs, prefill=9)


def test_what_an_encoder_computed_is_no_past():
    inputs = (
        *NAMED,
        spec("past_key_values.0.encoder.key", "batch_size", 12, "encoder_sequence_length", 64),
    )
    assert shapes(inputs, decode=9, encoder_sequence_length=5)[-2:] == [
        (1, 12, 9, 64),
        (1, 12, 5, 64),
    ]


def test_one_call_is_not_both_phases():
    for dims in ({"prefill": 8, "decode": 8}, {"context": 8}):
        with pytest.raises(BadValue, match="either a prefill or a decoding step"):
            plan(NAMED, **dims)


# ---------------------------------------------------------------- fed


def arrays(inputs, **dims):
    return synthesise(plan(inputs, **dims)).tensors


def test_masks_are_ones_positions_go_on_after_the_past_and_the_cache_is_small():
    fed = arrays(NAMED, decode=9)
    assert fed["attention_mask"].tolist() == [[1] * 10]
    assert fed["position_ids"].tolist() == [[9]]
    assert 0 < np.abs(fed[CACHE]).max() < 10
    assert arrays(NAMED, prefill=4)["position_ids"].tolist() == [[0, 1, 2, 3]]


def test_lengths_and_the_switch_of_a_merged_decoder_follow_the_past():
    switch = spec("use_cache_branch", 1, dtype="bool")
    lengths = (
        integers("past_length"),
        integers("total_length"),
        integers("cache_position", "sequence_length"),
    )
    merged = (*NAMED, switch, *lengths)
    extra = ("use_cache_branch", "past_length", "total_length", "cache_position")
    fed = {phase: arrays(merged, **{phase: 3}) for phase in ("prefill", "decode")}
    assert [fed["prefill"][name].tolist() for name in extra] == [[False], 0, 3, [0, 1, 2]]
    assert [fed["decode"][name].tolist() for name in extra] == [[True], 3, 4, [3]]


def test_a_prefill_and_a_step_compute_what_one_longer_prefill_does():
    made = onnx_models.decoder()
    inputs = tuple(
        spec(
            each.name,
            *(dim.dim_param or dim.dim_value for dim in each.type.tensor_type.shape.dim),
            dtype="float32" if each.type.tensor_type.elem_type == onnx_models.FLOAT else "int64",
        )
        for each in made.graph.input
    )
    model: Any = ReferenceEvaluator(made)
    names = [each.name for each in made.graph.output]
    whole = arrays(inputs, prefill=9)
    expected = model.run(["logits"], whole)[0][:, -1]

    first = arrays(inputs, prefill=8) | {"input_ids": whole["input_ids"][:, :8]}
    kept = dict(zip(names, model.run(names, first), strict=True))
    cache = {
        name: kept[name.replace("past_key_values", "present")]
        for name in first
        if name.startswith("past")
    }
    step = arrays(inputs, decode=8) | {"input_ids": whole["input_ids"][:, 8:]} | cache
    assert np.allclose(model.run(["logits"], step)[0][:, -1], expected, atol=1e-5)
    wrong = step | {"position_ids": step["position_ids"] - 1}
    assert not np.allclose(model.run(["logits"], wrong)[0][:, -1], expected, atol=1e-3)
