"""Which inputs we try, in which order, and what we say about it."""

import pytest

from modeldyno.core.errors import BadValue, InputUnresolved
from modeldyno.core.models import IndexRange, InputSpec
from modeldyno.inputs.plans import InputPlan, TensorPlan, plan_inputs

IMAGE = InputSpec("x", "float32", ("batch", 3, 8, 8))


def spec(name, *shape, dtype="float32", rows=None):
    indices = None if rows is None else IndexRange(0, rows, f"indexes an embedding of {rows} rows")
    return InputSpec(name, dtype, shape, indices)


def integers(name, *shape, dtype="int64", rows=None):
    return spec(name, *shape, dtype=dtype, rows=rows)


def plan(*inputs, batch_size=1, dims=None, values=None, data=None):
    return plan_inputs(inputs, batch_size, dims=dims or {}, values=values or {}, data=data, seed=0)


def shapes(*inputs, **said):
    """Of the first plan."""
    return {tensor.name: tensor.shape for tensor in plan(*inputs, **said)[0].tensors}


def notes(*inputs, **said):
    return plan(*inputs, **said)[0].notes


def filled(one, **said):
    """How the first plan fills one input: the kind, and its range or value."""
    (tensor,) = plan(one, **said)[0].tensors
    detail = {"integers": (tensor.low, tensor.high), "constant": tensor.value}
    return tensor.fill, detail.get(tensor.fill)


def test_a_model_that_leaves_nothing_open_has_one_plan():
    assert plan(spec("x", 1, 3, 8, 8)) == (
        InputPlan((TensorPlan("x", "float32", (1, 3, 8, 8), batch_axis=0),), batch_size=1),
    )


def test_a_model_without_inputs_has_one_plan():
    assert plan() == (InputPlan((), batch_size=1),)


# ---------------------------------------------------------------- the batch


@pytest.mark.parametrize("leading", ["batch", "N", "unk__214", "anything", None])
def test_the_leading_open_dimension_is_the_batch(leading):
    assert plan(spec("x", leading, 4), batch_size=4)[0] == InputPlan(
        (TensorPlan("x", "float32", (4, 4), batch_axis=0),), batch_size=4
    )


def test_the_batchs_symbol_counts_wherever_it_appears():
    assert shapes(spec("x", "n", 64), spec("state", 2, "n", 128), batch_size=4) == {
        "x": (4, 64),
        "state": (2, 4, 128),
    }


def test_beside_a_named_batch_a_letter_is_not_the_batch():
    """A signal of N samples, as in the front ends of speech recognisers."""
    wave, lens = spec("waveforms", "batch_size", "N"), spec("lens", "batch_size", dtype="int64")
    assert shapes(wave, lens, batch_size=4) == {"waveforms": (4, 128), "lens": (4,)}


def test_an_unnamed_state_takes_the_batch_of_its_sequence():
    assert shapes(spec("x", None, 64), spec("state", 2, None, 128), batch_size=4) == {
        "x": (4, 64),
        "state": (2, 4, 128),
    }


def test_features_over_time_are_not_taken_for_a_state():
    assert shapes(spec("x", 1, None, 80)) == {"x": (1, 128, 80)}


def test_a_leading_sequence_is_not_the_batch():
    assert shapes(spec("x", "sequence_length", "batch", 80), batch_size=4) == {"x": (128, 4, 80)}


def test_a_fixed_batch_is_honoured_with_a_note():
    (only,) = plan(spec("x", 1, 3, 8, 8), batch_size=8)
    assert only.batch_size == 1
    assert only.notes == ("the model's batch is fixed at 1; asked 8",)
    assert plan(spec("x", 16, 4))[0].batch_size == 16


def test_a_fixed_batch_does_not_claim_that_the_usual_one_was_asked_for():
    (only,) = plan(spec("x", 16, 4))
    assert only.notes == ("the model's batch is fixed at 16",)


def test_the_batch_of_an_input_beats_that_of_a_state():
    assert plan(spec("state", 2, 1, 128), spec("x", 1, 64))[0].batch_size == 1


@pytest.mark.parametrize("shape", [(), (5,), (3, 224, 224)])
def test_without_a_batch_dimension_a_call_is_one_item(shape):
    (only,) = plan(spec("x", *shape), batch_size=8)
    assert only.batch_size == 1
    assert only.notes == ("the model has no batch dimension, so a call is one item; asked 8",)


def test_the_last_resort_is_a_batch_of_one():
    """Exports call a batch open that a reshape inside them fixes."""
    first, last = plan(spec("x", "batch", 4), batch_size=8)
    assert (first.batch_size, first.notes) == (8, ())
    assert (last.batch_size, last.notes) == (1, ("a batch of 8 did not run, so the batch is 1",))


@pytest.mark.parametrize("symbol", ["batch", "n"])
def test_a_batch_that_was_said_is_not_given_up(symbol):
    assert len(plan(spec("x", symbol, 4), dims={"batch": 8})) == 1


# ---------------------------------------------------------------- what the user says


@pytest.mark.parametrize("name", ["n", "batch", "x.0"])
def test_the_batch_has_its_own_name_and_an_alias_and_a_label(name):
    first = plan(spec("x", "n", 4), dims={name: 8})[0]
    assert (first.batch_size, first.tensors[0].shape, first.notes) == (8, (8, 4), ())


def test_said_dimensions_are_not_guessed():
    assert plan(spec("x", None, 3, None, "width"), dims={"x.2": 100, "width": 50}) == (
        InputPlan((TensorPlan("x", "float32", (1, 3, 100, 50), batch_axis=0),), batch_size=1),
    )


def test_a_symbol_that_is_said_counts_for_every_input():
    ids = integers("ids", "batch", "seq", rows=50)
    assert shapes(ids, integers("mask", "batch", "seq"), dims={"seq": 40}) == {
        "ids": (1, 40),
        "mask": (1, 40),
    }


def test_a_batch_said_twice_is_noted():
    first = plan(spec("x", "batch", 4), batch_size=2, dims={"batch": 8})[0]
    assert first.batch_size == 8
    assert first.notes == ("--dim batch=8 sets the batch; asked 2",)


def test_a_dimension_with_a_made_up_name_is_told_with_its_place():
    with pytest.raises(BadValue) as caught:
        plan(spec("ids", "s18", "s41"), dims={"seq": 8})
    assert caught.value.why == "it has: s18 (ids.0), s41 (ids.1), batch"


def test_an_unknown_dimension_lists_the_known_ones_and_guesses_what_was_meant():
    with pytest.raises(BadValue) as caught:
        plan(spec("x", "batch", "sequence"), dims={"sequense": 8})
    assert caught.value.title == "The model has no open dimension 'sequense'"
    assert caught.value.why == "it has: batch, sequence"
    assert caught.value.fix == "Did you mean --dim sequence=…"


def test_a_fixed_dimension_cannot_be_changed():
    with pytest.raises(BadValue, match="the model fixes that dimension at 224"):
        plan(spec("x", "batch", 224), dims={"x.1": 256})


def test_a_model_without_open_dimensions_says_so():
    with pytest.raises(BadValue, match="every input has a fixed shape"):
        plan(spec("x", 1, 224), dims={"seq": 256})


@pytest.mark.parametrize("dims", [{"batch": 0}, {"n": 0}, {"seq": -1}])
def test_sizes_must_be_possible(dims):
    with pytest.raises(BadValue, match="is not a size"):
        plan(spec("x", "n", "seq"), dims=dims)


def test_a_said_value_fills_the_input():
    assert plan(integers("sr"), values={"sr": 8000.0}) == (
        InputPlan(
            (TensorPlan("sr", "int64", (), "constant", value=8000, is_said=True),), batch_size=1
        ),
    )


def test_a_value_for_no_input_guesses_what_was_meant():
    with pytest.raises(BadValue) as caught:
        plan(integers("rate"), values={"rates": 1.0})
    assert caught.value.title == "The model has no input 'rates'"
    assert caught.value.fix == "Did you mean --value rate=…"


@pytest.mark.parametrize(
    ("dtype", "value"),
    [("int64", 1.5), ("uint8", 256), ("uint8", -1), ("bool", 2), ("float32", float("nan"))],
)
def test_a_value_must_fit_its_type(dtype, value):
    with pytest.raises(BadValue, match="cannot be"):
        plan(spec("x", dtype=dtype), values={"x": value})


# ---------------------------------------------------------------- guessed sizes


def sizes_tried(one, axis):
    return [p.tensors[0].shape[axis] for p in plan(one)]


def test_images_are_tried_in_common_sizes():
    tried = sizes_tried(spec("x", "batch", 3, "h", "w"), 3)
    assert tried[:6] == [224, 320, 640, 256, 48, 32]
    assert len(tried) == 10


def test_images_with_channels_last_are_images():
    assert shapes(spec("x", None, None, None, 3, dtype="uint8")) == {"x": (1, 224, 224, 3)}


def test_an_image_of_unknown_everything_is_tried_in_colour_first():
    tried = [p.tensors[0].shape for p in plan(spec("x", None, None, None, None))]
    assert tried[:2] == [(1, 3, 224, 224), (1, 1, 320, 320)]


def test_the_other_side_of_an_image_is_taken_from_the_fixed_one():
    assert shapes(spec("x", "batch", 3, 416, None)) == {"x": (1, 3, 416, 416)}


def test_signals_are_tried_in_the_sizes_that_models_insist_on():
    assert sizes_tried(spec("x", "batch", "samples"), 1) == [
        *(128, 512, 576, 256, 1024, 16000, 3000, 64, 16, 1)
    ]


def test_text_is_tried_in_sizes_that_attention_can_bear():
    ids = integers("ids", "batch", "seq", rows=50)
    assert max(sizes_tried(ids, 1)) == 1024
    assert sizes_tried(ids, 1)[0] == 128


def decoder(total):
    return (
        integers("input_ids", "batch", "sequence_length", rows=50),
        integers("attention_mask", "batch", total),
        spec("past_key_values.0.key", "batch", 12, "past_sequence_length", 64),
    )


@pytest.mark.parametrize(
    "total", ["total_sequence_length", "past_sequence_length + sequence_length"]
)
def test_a_decoder_sees_one_token_after_a_long_past_and_then_a_prompt_after_a_past(total):
    tried = [[t.shape for t in p.tensors] for p in plan(*decoder(total))[:2]]
    assert tried == [
        [(1, 1), (1, 129), (1, 12, 128, 64)],
        [(1, 128), (1, 129), (1, 12, 1, 64)],
    ]


def test_sums_follow_what_is_said():
    said = {"past_sequence_length": 7, "sequence_length": 1}
    assert shapes(*decoder("past_sequence_length + 1"), dims=said) == {
        "input_ids": (1, 1),
        "attention_mask": (1, 8),
        "past_key_values.0.key": (1, 12, 7, 64),
    }


def test_an_input_is_guessed_if_one_of_its_sizes_is_or_follows_from_a_guess():
    def guessed(**said):
        first = plan(*decoder("past_sequence_length + 1"), **said)[0]
        return {tensor.name for tensor in first.tensors if tensor.is_guessed}

    everything = {"input_ids", "attention_mask", "past_key_values.0.key"}
    assert guessed() == everything
    assert guessed(dims={"past_sequence_length": 7}) == {"input_ids"}
    assert guessed(dims={"past_sequence_length": 7, "sequence_length": 1}) == set()
    assert guessed(data="x.npz") == set()


def test_every_guess_names_the_option_that_replaces_it():
    assert notes(spec("x", "batch", 3, "height", "width"), integers("sr")) == (
        "guessed 224 for height, width, which the model leaves open; "
        "to choose: --dim height=… width=…",
        "guessed 16000 for sr; to choose: --value sr=… or --data",
    )


def test_a_ladder_is_never_long():
    inputs = (spec("x", "batch", "time", 80), integers("ids", "batch"), spec("b", dtype="bool"))
    assert len(plan(*inputs, batch_size=4)) <= 12


# ---------------------------------------------------------------- values


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (spec("x", 1, 4), ("normal", None)),
        (spec("x", 1, 4, dtype="float16"), ("normal", None)),
        (integers("ids", 1, 4, rows=30522), ("integers", (0, 30522))),
        (integers("ids", 1, 4, rows=300, dtype="uint8"), ("integers", (0, 256))),
        (integers("ids", 1, 4), ("integers", (0, 100))),
        (integers("attention_mask", 1, 4, rows=2), ("constant", 1)),
        (spec("src_key_padding_mask", 1, 4, dtype="bool"), ("constant", 0)),
        (integers("token_type_ids", 1, 4), ("constant", 0)),
        (integers("position_ids", 1, 4), ("integers", (0, 4))),
        (integers("sr"), ("constant", 16000)),
        (spec("sample_rate", 1), ("constant", 16000)),
        (integers("image", 1, 8, 8, 3, dtype="uint8"), ("integers", (0, 256))),
        (integers("image", 1, 8, 8, 3, dtype="int8"), ("integers", (-128, 128))),
        (integers("bytes", 1, 2048, dtype="int32"), ("integers", (0, 256))),
        (spec("flag", 1, dtype="bool"), ("booleans", None)),
        (spec("scale_factor", 1, 2), ("constant", 1)),
        (integers("orig_target_sizes", 1, 2), ("constant", 224)),
    ],
)
def test_values_follow_from_what_an_input_indexes_or_is_called(one, expected):
    assert filled(one) == expected


def test_lengths_are_the_length_of_the_sequence():
    first = plan(spec("audio", "batch", 80, "time"), integers("lengths", "batch"), batch_size=2)[0]
    assert first.tensors[1] == TensorPlan(
        "lengths", "int64", (2,), "constant", value=128, batch_axis=0
    )


def test_integers_of_unknown_range_get_smaller_when_refused():
    tried = [(t.fill, t.high, t.value) for p in plan(integers("ids", 1, 4)) for t in p.tensors]
    assert tried == [
        ("integers", 100, 0),
        ("integers", 2, 0),
        ("constant", 2, 1),
        ("constant", 2, 0),
    ]


# ---------------------------------------------------------------- what cannot be made


@pytest.mark.parametrize(
    ("dtype", "why"),
    [
        ("string", "string inputs are not supported yet"),
        ("sequence(float32)", "only tensors are supported yet"),
        ("bfloat16", "not supported yet"),
        ("float8_e4m3fn", "not supported yet"),
        ("int4", "not supported yet"),
        ("complex64", "not supported yet"),
    ],
)
@pytest.mark.parametrize("data", [None, "x.npz"])
def test_inputs_we_cannot_make_are_refused_by_name(dtype, why, data):
    with pytest.raises(InputUnresolved) as caught:
        plan(IMAGE, spec("text", "batch", dtype=dtype), data=data)
    assert caught.value.title == "Cannot make a value for the input 'text'"
    assert why in caught.value.why
    assert caught.value.fix


def test_an_unknown_rank_asks_for_data():
    with pytest.raises(InputUnresolved, match=r"--data FILE\.npz that has an array 'x'"):
        plan(InputSpec("x", "float32", None))


# ---------------------------------------------------------------- real data


def test_with_data_there_is_one_plan_that_says_what_the_data_decides():
    inputs = (spec("x", "batch", 3, "height", 8), InputSpec("y", "float32", None), integers("sr"))
    assert plan(*inputs, data="x.npz", values={"sr": 8000}) == (
        InputPlan(
            (
                TensorPlan("x", "float32", (1, 3, 224, 8), batch_axis=0, yields=(2,)),
                TensorPlan("y", "float32", (1,), batch_axis=0, yields=None),
                TensorPlan("sr", "int64", (), "constant", value=8000, is_said=True),
            ),
            batch_size=1,
            data="x.npz",
        ),
    )


def test_data_decides_sums_as_well():
    first = plan(*decoder("past_sequence_length + 1"), data="x.npz")[0]
    assert [tensor.yields for tensor in first.tensors] == [(1,), (1,), (2,)]
