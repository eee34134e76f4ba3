"""The precision in which PyTorch really computes, observed on the operators as they run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from modeldyno.engines.session_checks import join_by_frequency

_NAMES = {
    "float32": "fp32",
    "float16": "fp16",
    "bfloat16": "bf16",
    "float64": "fp64",
    **dict.fromkeys(("int8", "uint8", "qint8", "quint8"), "int8"),
}
_MULTIPLIES = (
    *("mm", "bmm", "addmm", "baddbmm", "addbmm", "matmul"),
    *("linear", "einsum", "mv", "addmv"),
)
_CONVOLVES = ("conv", "cudnn_conv", "mkldnn_conv", "slow_conv", "thnn_conv")
_OTHERS = ("scaled_dot_product", "lstm", "gru", "rnn", "mkldnn_linear", "mkldnn_rnn")


class Observation:
    """Precisions of the computing operators, and the number of operators on each device."""

    def __init__(self, tf32: tuple[bool, bool]) -> None:
        self._tf32 = tf32  # of matrix products, of convolutions
        self.precisions: Counter[str] = Counter()
        self.devices: Counter[str] = Counter()

    def add(self, operator: str, operands: Iterable[Any], outputs: Iterable[Any]) -> None:
        for output in list(outputs)[:1]:
            self.devices[str(output.device)] += 1
        kind = _arithmetic_kind(operator)
        if kind is None:
            return
        for operand in operands:
            name = _NAMES.get(str(operand.dtype).removeprefix("torch."))
            if name is not None:
                self.precisions[self._effective_precision(name, kind, operand.device.type)] += 1
                return

    def _effective_precision(self, name: str, kind: str, device: str) -> str:
        rounded = self._tf32[kind == "convolution"]
        return "tf32" if name == "fp32" and device == "cuda" and rounded else name


def _arithmetic_kind(operator: str) -> str | None:
    """``aten::_scaled_dot_product_attention`` → product; None for operators that only move data."""
    name = operator.partition("::")[2].lstrip("_")
    if name.startswith(_CONVOLVES):
        return "convolution"
    if name in _MULTIPLIES or name.startswith(_OTHERS):
        return "product"
    return None


def observe(call: Any, tf32: tuple[bool, bool]) -> Observation:
    """Run a call once and observe every operator it dispatches."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    observation = Observation(tf32)

    def tensors(tree: Any) -> list[Any]:
        return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]

    class OperatorObserver(TorchDispatchMode):  # type: ignore[misc]  # torch has no types here
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            outputs = func(*args, **(kwargs or {}))
            observation.add(func._schema.name, tensors((args, kwargs)), tensors(outputs))
            return outputs

    with OperatorObserver():
        call()
    return observation


def precision_of_parameters(parameters: Iterable[Any]) -> str | None:
    """The type of the weights, for models without computing operators."""
    counts: Counter[str] = Counter()
    for parameter in parameters:
        name = _NAMES.get(str(parameter.dtype).removeprefix("torch."))
        if name is not None:
            counts[name] += parameter.numel()
    return join_by_frequency(counts)
