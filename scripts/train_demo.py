"""Train the demo model, and write it with its test images into src/modeldyno/demo/.

`make demo-model` runs it, in a minute or so.
"""

from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

DEMO = Path(__file__).parents[1] / "src" / "modeldyno" / "demo"
SEED = 0
TEST_IMAGES = 450
EPOCHS = 60
BATCH_SIZE = 64
OPERATORS: dict[type, tuple[str, dict[str, Any]]] = {
    nn.Conv2d: ("Conv", {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}),
    nn.Linear: ("Gemm", {"transB": 1}),
    nn.ReLU: ("Relu", {}),
    nn.MaxPool2d: ("MaxPool", {"kernel_shape": [2, 2], "strides": [2, 2]}),
    nn.Flatten: ("Flatten", {}),
}

Images = NDArray[np.float32]
Labels = NDArray[np.int64]


def main() -> None:
    train_x, test_x, train_y, test_y = split_digits()
    network = train(train_x, train_y)
    with torch.no_grad():
        expected = accuracy(network(torch.from_numpy(test_x)).numpy(), test_y)

    DEMO.mkdir(parents=True, exist_ok=True)
    model, images = DEMO / "digits.onnx", DEMO / "digits_test.npz"
    onnx.save(to_onnx(network, expected), model)
    np.savez_compressed(images, image=test_x, label=test_y)

    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    (logits,) = session.run(["logits"], {"image": test_x})
    measured = accuracy(logits, test_y)
    if measured != expected:
        raise SystemExit(f"The ONNX file scores {measured:.4f}, the network {expected:.4f}")
    print(f"{measured:.2%} of {len(test_y)} test images right, in PyTorch and in ONNX Runtime")
    for file in (model, images):
        print(f"{file.name}: {file.stat().st_size / 1000:.0f} kB")


def split_digits() -> tuple[Images, Images, Labels, Labels]:
    digits = load_digits()
    images = (digits.images / 16).astype(np.float32)[:, None]
    labels = digits.target.astype(np.int64)
    train_x, test_x, train_y, test_y = train_test_split(
        images, labels, test_size=TEST_IMAGES, stratify=labels, random_state=SEED
    )
    return train_x, test_x, train_y, test_y


def train(images: Images, labels: Labels) -> Any:
    torch.manual_seed(SEED)
    torch.use_deterministic_algorithms(True)
    network = nn.Sequential(
        OrderedDict(
            conv1=nn.Conv2d(1, 32, 3, padding=1),
            relu1=nn.ReLU(),
            conv2=nn.Conv2d(32, 64, 3, padding=1),
            relu2=nn.ReLU(),
            conv3=nn.Conv2d(64, 64, 3, padding=1),
            relu3=nn.ReLU(),
            pool=nn.MaxPool2d(2),
            flatten=nn.Flatten(),
            dropout=nn.Dropout(0.5),
            dense=nn.Linear(64 * 4 * 4, 128),
            relu4=nn.ReLU(),
            logits=nn.Linear(128, 10),
        )
    )
    optimizer = torch.optim.AdamW(network.parameters(), lr=2e-3, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS)
    x, y = torch.from_numpy(images), torch.from_numpy(labels)
    for _ in range(EPOCHS):
        for chosen in torch.randperm(len(x)).split(BATCH_SIZE):
            optimizer.zero_grad()
            nn.functional.cross_entropy(network(shifted(x[chosen])), y[chosen]).backward()
            optimizer.step()
        schedule.step()
    return network.eval()


def shifted(images: torch.Tensor) -> torch.Tensor:
    """Move the whole batch by up to a pixel, as 1347 images alone are soon learnt by heart."""
    down, right = torch.randint(0, 3, (2,)).tolist()
    return nn.functional.pad(images, (1, 1, 1, 1))[..., down : down + 8, right : right + 8]


def accuracy(logits: Images, labels: Labels) -> float:
    return float((logits.argmax(axis=1) == labels).mean())


def to_onnx(network: Any, test_accuracy: float) -> onnx.ModelProto:
    """Write the graph node by node, each named after its layer: no trace of an exporter."""
    nodes, weights, value = [], [], "image"
    for name, layer in network.named_children():
        if isinstance(layer, nn.Dropout):
            continue  # does nothing after training
        operator, attributes = OPERATORS[type(layer)]
        own = [
            numpy_helper.from_array(parameter.detach().numpy(), f"{name}.{part}")
            for part, parameter in layer.named_parameters()
        ]
        inputs = [value, *(weight.name for weight in own)]
        nodes.append(helper.make_node(operator, inputs, [name], name=name, **attributes))
        weights += own
        value = name

    graph = helper.make_graph(
        nodes,
        "digits",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 1, 8, 8])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 10])],
        weights,
    )
    model = helper.make_model(
        graph,
        producer_name="modeldyno",
        ir_version=8,
        opset_imports=[helper.make_opsetid("", 17)],
        doc_string="Handwritten digits, 8x8 grey, 0 paper to 1 ink, as ten classes",
    )
    helper.set_model_props(
        model,
        {
            "made_by": "scripts/train_demo.py",
            "data": "Optical Recognition of Handwritten Digits (UCI, CC BY 4.0)",
            "test_images": str(TEST_IMAGES),
            "test_accuracy": f"{test_accuracy:.4f}",
        },
    )
    onnx.checker.check_model(model, full_check=True)
    return model


if __name__ == "__main__":
    main()
