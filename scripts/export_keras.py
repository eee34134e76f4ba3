"""Make small TensorFlow and Keras models for the tests: building one takes longer than running it.

They land in .cache/models/tensorflow/; what is there already is not made again.
"""

import os
import shutil
from contextlib import chdir
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

CACHE = Path(__file__).parents[1] / ".cache" / "models"
TARGET = CACHE / "tensorflow"


def main() -> None:
    wanted = sha256(Path(__file__).read_bytes()).hexdigest()
    stamp = TARGET / ".made"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    print("Making small TensorFlow models ...", flush=True)
    CACHE.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=CACHE) as folder:
        made = Path(folder) / "models"
        made.mkdir()
        write_models(made)
        (made / stamp.name).write_text(wanted)
        shutil.rmtree(TARGET, ignore_errors=True)
        made.rename(TARGET)  # all or nothing


def write_models(folder: Path) -> None:
    os.environ |= {"KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "2"}
    import keras

    keras.utils.set_random_seed(0)
    x = keras.Input((4,), name="x")
    net = keras.Model(x, keras.layers.Dense(3, activation="relu", name="y")(x), name="net")
    net.save(folder / "net.keras")
    save(net, folder / "net")
    (folder / "net.pb").write_bytes(frozen(net))
    save_two_ways(folder / "two")
    pictures = keras.Input((16, 16, 3), name="picture")
    inner = keras.layers.Conv2D(8, 3, activation="relu", name="conv")(pictures)
    inner = keras.layers.GlobalAveragePooling2D(name="pool")(inner)
    outputs = keras.layers.Dense(10, activation="softmax", name="classes")(inner)
    small = keras.Model(pictures, outputs, name="small")
    (folder / "small.pb").write_bytes(frozen(small, "classes"))
    small.export(folder / "small", verbose=False)
    with TemporaryDirectory() as elsewhere, chdir(elsewhere):  # it runs when it is made, too
        evil = keras.Sequential([keras.Input((4,)), keras.layers.Lambda(_marking)])
    evil.save(folder / "lambda.keras")


# Code in a model: whoever runs it finds a file.
_marking = lambda x: (open("marker", "w").write("was here"), x)[1]  # noqa: E731, SIM115, PTH123


def save(model: Any, folder: Path) -> None:
    """A SavedModel whose output is called y."""
    import keras
    import tensorflow as tf

    spec = tf.TensorSpec((None, 4), tf.float32, name="x")
    archive = keras.export.ExportArchive()
    archive.track(model)
    archive.add_endpoint("serve", lambda x: {"y": model(x, training=False)}, [spec])
    archive.write_out(folder, verbose=False)


def save_two_ways(folder: Path) -> None:
    """A SavedModel of two signatures, with its variables in two files."""
    import tensorflow as tf

    holder = tf.Module()
    holder.w = tf.Variable(tf.reshape(tf.range(12, dtype=tf.float32), (4, 3)), name="w")
    holder.b = tf.Variable(tf.ones(3), name="b")
    x = tf.TensorSpec((None, 4), tf.float32, name="x")
    z = tf.TensorSpec((None, 3), tf.float32, name="z")
    usual = tf.function(lambda x: {"y": x @ holder.w}).get_concrete_function(x)
    shift = tf.function(lambda z: {"shifted": z + holder.b}).get_concrete_function(z)
    split = tf.train.experimental.MaxShardSizePolicy(max_shard_size=50)
    tf.saved_model.save(
        holder,
        folder,
        signatures={"serving_default": usual, "shift": shift},
        options=tf.saved_model.SaveOptions(experimental_sharding_callback=split),
    )


def frozen(model: Any, output: str = "y") -> bytes:
    """A GraphDef with weights as constants."""
    import tensorflow as tf
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    (taken,) = model.inputs
    spec = tf.TensorSpec(taken.shape, taken.dtype, name=taken.name)
    function = tf.function(lambda x: tf.identity(model(x, training=False), name=output))
    graph = convert_variables_to_constants_v2(function.get_concrete_function(spec)).graph
    made = graph.as_graph_def()
    for node in list(made.node):  # a function's result has a name of its own
        if node.op == "Identity" and node.name.startswith("Identity"):
            made.node.remove(node)
    data: bytes = made.SerializeToString()
    return data


if __name__ == "__main__":
    main()
