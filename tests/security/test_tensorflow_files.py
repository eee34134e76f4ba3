"""Hostile TensorFlow and Keras files (M4, M5, M10, M11): refused when they are read, confined when
they are run all the same.

Each has its positive control: a plain process that runs the same file without us lets it do its
harm.
"""

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from modeldyno.core.errors import EngineFailed
from modeldyno.worker.launch import Stop, WorkerSetup, launched
from modeldyno.worker.messages import Examine, Examined
from tests import tf_files as tf
from tests.scripts import INPUTS, target
from tests.terminal import modeldyno

pytestmark = [pytest.mark.engine("tensorflow"), pytest.mark.slow, pytest.mark.timeout(400)]
LAMBDA = Path(__file__).parents[2] / ".cache/models/tensorflow/lambda.keras"
WITHOUT_US = """
import sys
import numpy as np
import tensorflow as tf
v1 = tf.compat.v1
x = np.ones((1, 4), "float32")
graph, saved, keras_file = sys.argv[1:]
with v1.Session(graph=tf.Graph()) as session:
    definition = v1.GraphDef.FromString(open(graph, "rb").read())
    tf.graph_util.import_graph_def(definition, name="")
    print("read", session.run("y:0", {"x:0": x})[0][0])
with v1.Session(graph=tf.Graph()) as session:
    v1.saved_model.loader.load(session, ["serve"], saved)
    print("read", session.run("y:0", {"x:0": x})[0][0])
import keras
keras.saving.load_model(keras_file, safe_mode=False)(x)
"""


def graph(secret, written):
    """y = x + the length of a file, after another one was written."""
    return tf.graph_def(
        tf.placeholder("x", -1, 4),
        tf.word("secret", str(secret)),
        tf.word("written", str(written)),
        tf.node("spy", "ReadFile", "secret"),
        tf.node("leave", "WriteFile", "written", "spy"),
        tf.node("length", "StringLength", "spy", "^leave"),
        tf.node("number", "Cast", "length", SrcT=tf.dtype(tf.INT32), DstT=tf.dtype(tf.FLOAT)),
        tf.node("y", "AddV2", "x", "number", T=tf.dtype(tf.FLOAT)),
    )


@pytest.fixture
def hostile(tmp_path):
    (tmp_path / "secret").write_text("thirteen long")
    models = tmp_path / "models"
    models.mkdir()
    content = graph(tmp_path / "secret", tmp_path / "written")
    (models / "spy.pb").write_bytes(content)
    usual = tf.signature({"x": tf.info("x:0", -1, 4)}, {"y": tf.info("y:0", -1, 4)})
    (models / "saved").mkdir()
    saved = tf.saved_model(content, {"serving_default": usual})
    (models / "saved/saved_model.pb").write_bytes(saved)
    shutil.copy(LAMBDA, models / "lambda.keras")
    return models


def ended_without_us(models, cwd):
    files = [models / "spy.pb", models / "saved", models / "lambda.keras"]
    return subprocess.run(
        [sys.executable, "-c", WITHOUT_US, *map(str, files)],
        capture_output=True,
        check=True,
        cwd=cwd,
        text=True,
    )


def test_the_files_do_their_harm_without_us(hostile, tmp_path):
    """The control of all that follow."""
    (away := tmp_path / "away").mkdir()
    ended = ended_without_us(hostile, away)
    assert ended.stdout.splitlines() == ["read 14.0", "read 14.0"]
    assert (tmp_path / "written").read_text() == "thirteen long"
    assert (away / "marker").read_text() == "was here"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("spy.pb", "ReadFile, WriteFile"),
        ("saved", "ReadFile, WriteFile"),
        ("lambda.keras", "Lambda"),
    ],
)
def test_none_of_them_is_read_or_measured(hostile, tmp_path, name, words):
    for command in ("inspect", "bench", "profile"):
        ended = modeldyno(command, hostile / name, "--json", "--workspace", tmp_path / "room")
        assert (ended.code, ended.error_code) == (8, "UNSAFE_FORMAT")
        assert words in ended.err
    assert not (tmp_path / "written").exists()
    assert not list(tmp_path.rglob("marker"))


def test_a_worker_that_runs_one_all_the_same_reads_and_writes_nothing(hostile, tmp_path):
    """The list of operators is a convenience, the sandbox is the wall."""
    around = WorkerSetup(tmp_path / "scratch", tmp_path / "log", readable=(hostile,))
    asked = target(hostile / "spy.pb", "tensorflow", format="tf-graph")
    command = Examine(asked, (INPUTS,), "api", str(tmp_path / "scratch/reference.npz"))
    stop = Stop()
    try:
        with (
            launched(around) as worker,
            pytest.raises(EngineFailed, match="could not load or run") as caught,
        ):
            worker.request(command, Examined, time.monotonic() + 300, stop)
    finally:
        stop.close()
    assert "ermission denied" in caught.value.why
    assert str(tmp_path / "secret") in caught.value.why
    assert not (tmp_path / "written").exists()


def test_safe_mode_is_on_when_a_worker_loads_a_keras_file(hostile, tmp_path):
    around = WorkerSetup(tmp_path / "scratch", tmp_path / "log", readable=(hostile,))
    asked = target(hostile / "lambda.keras", "tensorflow", format="keras")
    command = Examine(asked, (INPUTS,), "api", str(tmp_path / "scratch/reference.npz"))
    stop = Stop()
    try:
        with launched(around) as worker, pytest.raises(EngineFailed, match="Keras could not load"):
            worker.request(command, Examined, time.monotonic() + 300, stop)
    finally:
        stop.close()
    assert not list(tmp_path.rglob("marker"))
