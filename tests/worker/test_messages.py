"""Frames on the worker's pipes: what goes in comes out, and nothing else is taken for a message."""

import json
import os
import subprocess
import sys
import threading
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modeldyno.core.errors import WorkerGarbled
from modeldyno.core.graphs import MOST_NODES
from modeldyno.core.models import InputSpec, ModelFacts, TensorSpec
from modeldyno.core.sessions import (
    Calibration,
    Memory,
    Pair,
    PairPlan,
    Parity,
    Samples,
    Session,
    SessionFacts,
    SessionPlan,
    Target,
    WarmUp,
)
from modeldyno.inputs.plans import InputPlan, TensorPlan
from modeldyno.measure.loop import MOST_SAMPLES
from modeldyno.worker.messages import (
    HEADER,
    LONGEST_MESSAGE,
    Command,
    CommandFailed,
    Examine,
    Examined,
    GraphRead,
    Inspect,
    Inspected,
    MeasurePair,
    MeasureSession,
    MessageLimits,
    PairMeasured,
    Reply,
    SessionMeasured,
    SessionSpec,
    WindowMeasured,
    frame_length,
    pack,
    read_exactly,
    reply_limits,
    unpack,
    write_all,
)

TARGET = Target("onnxruntime", "/models/ä.onnx", cpus=(0, 1), threads=2, options={"level": 3})
PLAN = InputPlan(
    (TensorPlan("x", "float32", (1, 4)), TensorPlan("sr", "int64", (), "constant", value=16000)),
    batch_size=1,
    notes=("guessed 16000 for sr",),
)
SAMPLES = Samples((50_000, 51_000), (), 10, 110_000, 109_000, 120_000, 1)
FACTS = SessionFacts("scripted", "1", "cpu", ("script",), 1, None, {"x": "float"}, "fp32")
SESSION = Session(
    load_s=0.25,
    first_call_s=0.001,
    calibration=Calibration(5e-6, 10, 2e-7),
    warmup=WarmUp(25, 0.01, steady=True),
    samples=SAMPLES,
    facts=FACTS,
    memory=Memory(10, 20, 30),
    parity=Parity(0.0, 0.0, agrees=True),
)
MODEL = ModelFacts(
    path="/models/ä.onnx",
    format="onnx",
    framework="onnx",
    sha256="0" * 64,
    size_bytes=47,
    parameters=15,
    inputs=(InputSpec("x", "float32", ("batch", None, 4)),),
    outputs=(TensorSpec("y", "float32", None),),
    opsets={"": 17},
)
SIDE = SessionSpec(TARGET, PLAN, "hot")
COMMANDS = (
    Inspect("/models/ä.onnx"),
    Examine(TARGET, (PLAN, PLAN), "e2e", "/scratch/reference.npz"),
    MeasureSession(
        SessionSpec(TARGET, PLAN, "api"), SessionPlan(iterations=5), 7, "/scratch/reference.npz"
    ),
    MeasurePair(SIDE, SIDE, PairPlan(calibrations=(Calibration(1.0, 1, 0.0),) * 2), 7),
)
REPLIES = (
    Inspected(MODEL),
    Examined(FACTS, 2, 1, ("a note",), ("x[1, 4]: no",)),
    SessionMeasured(SESSION),
    PairMeasured(Pair(SESSION, replace(SESSION, memory=None), None)),
    CommandFailed("ENGINE_FAILED", "It failed", "because", "try again"),
)


def sentence(message: object) -> str:
    return type(message).__name__


@pytest.mark.parametrize("command", COMMANDS, ids=sentence)
def test_every_command_survives_the_trip(command):
    assert unpack(Command, pack(command)[HEADER.size :]) == command


@pytest.mark.parametrize("reply", REPLIES, ids=sentence)
def test_every_reply_survives_the_trip(reply):
    assert unpack(Reply, pack(reply)[HEADER.size :]) == reply


def test_a_frame_begins_with_the_length_of_its_body():
    frame = pack(Inspect("m.onnx"))
    body = b'{"path":"m.onnx","without_weights":false,"signature":"","kind":"inspect"}'
    assert frame == b"\x00\x00\x00\x49" + body
    assert frame_length(frame[: HEADER.size]) == len(frame) - HEADER.size


def test_the_longest_message_is_accepted_and_one_byte_more_is_not():
    assert frame_length(HEADER.pack(LONGEST_MESSAGE)) == LONGEST_MESSAGE
    with pytest.raises(WorkerGarbled, match=f"announced {LONGEST_MESSAGE + 1} bytes"):
        frame_length(HEADER.pack(LONGEST_MESSAGE + 1))


def test_a_full_session_fits_into_a_message():
    busy = replace(SAMPLES, wall_ns=(9_999_999_999,) * 200_000, cpu_ns=(9_999_999_999,) * 200_000)
    assert len(pack(SessionMeasured(replace(SESSION, samples=busy)))) < LONGEST_MESSAGE


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff\xfe",
        b"hello",
        b"null",
        b"[]",
        b"{}",
        b'{"kind":"done"}',
        b'{"kind":["failed"]}',
        b'{"kind":"failed"}',
        b'{"kind":"failed","code":1,"title":"t","why":"","fix":""}',
        b'{"kind":"failed","code":"C","title":"t","why":"","fix":"","extra":1}',
        b"[" * 100_000,
        b"9" * 10_000,
    ],
)
def test_bytes_that_are_not_a_message_are_refused(body):
    with pytest.raises(WorkerGarbled, match="not a message"):
        unpack(Reply, body)


@given(st.binary(max_size=200))
def test_no_bytes_at_all_do_more_than_that(body):
    with pytest.raises(WorkerGarbled):
        unpack(Reply, body)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@given(st.sampled_from(REPLIES), st.data())
def test_a_reply_with_one_field_changed_is_a_reply_or_garbage(reply, data):
    document = json.loads(pack(reply)[HEADER.size :])
    field = data.draw(st.sampled_from(sorted(document)))
    document[field] = data.draw(JSON)
    try:
        found = unpack(Reply, json.dumps(document).encode())
    except WorkerGarbled:
        return
    assert isinstance(found, type(reply))


def test_nan_and_infinity_are_not_sent():
    with pytest.raises(ValueError, match="JSON compliant"):
        pack(SessionMeasured(replace(SESSION, load_s=float("nan"))))


# ---------------------------------------------------------------- pipes


@pytest.fixture
def pipe():
    reader, writer = os.pipe()
    ends = {"reader": reader, "writer": writer}
    yield ends
    for descriptor in ends.values():
        os.close(descriptor)


def test_a_message_longer_than_the_pipe_arrives_whole(pipe):
    data = bytes(range(256)) * 4096
    writing = threading.Thread(target=write_all, args=(pipe["writer"], data))
    writing.start()
    assert read_exactly(pipe["reader"], len(data)) == data
    writing.join()


def test_reading_takes_no_byte_of_the_next_message(pipe):
    os.write(pipe["writer"], b"onetwo")
    assert read_exactly(pipe["reader"], 3) == b"one"
    assert read_exactly(pipe["reader"], 3) == b"two"


def test_a_pipe_that_closes_in_the_middle_of_a_message_has_none(pipe):
    os.write(pipe["writer"], b"half")
    os.close(pipe.pop("writer"))
    assert read_exactly(pipe["reader"], 8) is None


# ---------------------------------------------------------------- hostile replies

NUMBERS = ("1" + "0" * 400, "-" + "9" * 20, "1e999", "-1e999", "NaN", "Infinity", "-Infinity")
ODD = JSON.map(json.dumps) | st.sampled_from(
    [
        *(*NUMBERS, "9" * 5000, "[" * 40 + "]" * 40, '{"a":' * 900 + "1" + "}" * 900),
        *('"\\ud800"', '"\\u0000"', '{"kind":{}}', '{"kind":[]}', '{"a":1,"a":2}', "[[]]", "-0"),
    ]
)


def places(value, found=()):
    """Where in a document something stands."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in inner:
        yield (*found, key)
        if isinstance(item, (dict, list)):
            yield from places(item, (*found, key))


@given(st.sampled_from(REPLIES), ODD, st.data())
def test_whatever_stands_anywhere_in_a_reply_only_garbage_or_a_reply_comes_out(reply, odd, data):
    document = json.loads(pack(reply)[HEADER.size :])
    *way, last = data.draw(st.sampled_from(list(places(document))))
    holder = document
    for step in way:
        holder = holder[step]
    holder[last] = "@@"
    body = json.dumps(document).replace('"@@"', odd).encode()
    try:
        found = unpack(Reply, body)
    except WorkerGarbled:
        return
    pack(found)  # what is taken can be kept


@pytest.mark.parametrize("number", NUMBERS)
def test_a_number_that_no_machine_measures_is_garbage(number):
    body = pack(SessionMeasured(replace(SESSION, load_s=4.25)))[HEADER.size :]
    with pytest.raises(WorkerGarbled):
        unpack(Reply, body.replace(b"4.25", number.encode()))


@pytest.mark.parametrize(("number", "is_taken"), [((1 << 63) - 1, True), (1 << 63, False)])
def test_a_sample_fits_into_a_file_of_samples(number, is_taken):
    samples = replace(SAMPLES, wall_ns=(number, 2))
    body = pack(SessionMeasured(replace(SESSION, samples=samples)))[HEADER.size :]
    if is_taken:
        assert unpack(Reply, body).session.samples == samples
    else:
        with pytest.raises(WorkerGarbled):
            unpack(Reply, body)


@pytest.mark.parametrize("item", [b"{}", b"[]", b"0", b'""', b'{"a":1}'])
def test_values_are_counted_before_they_are_built(item):
    few = MessageLimits(values=100, integer=None)
    body = b'{"kind":"failed","code":[' + b",".join([item] * 100) + b"]}"
    with pytest.raises(WorkerGarbled, match="values"):
        unpack(Reply, body, few)


def test_the_largest_window_is_within_the_limits():
    samples = replace(SAMPLES, wall_ns=(99,) * MOST_SAMPLES, cpu_ns=(99,) * MOST_SAMPLES)
    body = pack(WindowMeasured(samples))[HEADER.size :]
    assert unpack(Reply, body, reply_limits(WindowMeasured)).samples == samples


def test_the_largest_graph_is_within_the_limits():
    """A chain of convolutions with every attribute, weights and biases; a hundredth of those that
    are shown, within a hundredth of the limit."""
    attributes = [
        *(["dilations", "ints", [1, 1], 2], ["group", "int", 1, None]),
        *(["kernel_shape", "ints", [3, 3], 2], ["pads", "ints", [1, 1, 1, 1], 4]),
        ["strides", "ints", [1, 1], 2],
    ]
    node = [
        "conv_100000",
        "Conv",
        "",
        "/layer/conv_100000",
        "/layer",
        [1, 2, 3],
        [4],
        attributes,
        [],
    ]
    tensor = ["weights", "weights", "initializer", "float32", 7]
    count, limits = MOST_NODES // 100, reply_limits(GraphRead)
    rows = {"tensors": [tensor] * (3 * count), "nodes": [node] * count}
    body = json.dumps({"kind": "graph-read", "rows": rows}, separators=(",", ":")).encode()
    found = unpack(Reply, body, replace(limits, values=limits.values // 100))
    assert found.rows == rows


_COST = """
import resource, sys
from modeldyno.core.errors import WorkerGarbled
from modeldyno.worker.messages import Reply, reply_limits, GraphRead, unpack
body = b'{"kind":"graph-read","rows":{"a":[' + b"{}," * 20_000_000 + b"{}]}}"
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    unpack(Reply, body, reply_limits(GraphRead))
except WorkerGarbled:
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10)
"""


@pytest.mark.usefixtures("starts_processes")
def test_a_long_reply_of_nothing_costs_no_memory():
    """60 MB of empty objects would take 1.4 GB, and Python keeps what it has had."""
    ran = subprocess.run([sys.executable, "-c", _COST], capture_output=True, check=True)
    assert int(ran.stdout) < 64  # MiB
