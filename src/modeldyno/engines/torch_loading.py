"""Load PyTorch's three kinds of files, each by its own loader and never by another."""

from __future__ import annotations

import importlib
import inspect
import pickle
import sys
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

from modeldyno.core.errors import BadValue, EngineFailed, EngineUnavailable, UnsafeFormat
from modeldyno.core.models import Architecture
from modeldyno.core.sessions import Target
from modeldyno.engines.protocol import Tensors

OLDEST = (2, 10)  # two holes in weights_only loading were closed in 2.6 and 2.10
_WRAPPERS = ("state_dict", "model_state_dict", "model")  # what training scripts call the weights

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


class Loaded:
    """A module, ready to be called, and how to hand it named inputs."""

    def __init__(
        self, module: Any, arrange: Callable[[Tensors], Arguments], keeps_state: bool = False
    ) -> None:
        self.module = module
        self.arrange = arrange  # tensors by input name → arguments of the call
        self.keeps_state = keeps_state


def refuse_old(version: str) -> None:
    numbers = version.split("+")[0].split(".")
    if tuple(int(n) for n in numbers[:2]) < OLDEST:
        raise EngineUnavailable(
            f"PyTorch {version} is too old",
            why="before 2.10, even loading weights alone could run code hidden in a file",
            fix="Run `pip install --upgrade torch`",
        )


def load(target: Target, device: Any) -> Loaded:
    match target.format:
        case "torchscript":
            return _script(target, device)
        case "torch-export":
            return _export(target, device)
        case "torch-checkpoint":
            return _checkpoint(target, device)
    raise BadValue(
        f"PyTorch does not read {target.format or 'these'} models",
        fix="Give a TorchScript file, a .pt2 or a checkpoint with --architecture",
    )


# ---------------------------------------------------------------- TorchScript


def _script(target: Target, device: Any) -> Loaded:
    import torch

    module = torch.jit.load(target.model, map_location=device).eval()
    schema = module.forward.schema
    kinds = {argument.name: str(argument.type) for argument in schema.arguments[1:]}

    def arrange(tensors: Tensors) -> Arguments:
        if tensors.keys() <= kinds.keys():
            return (), {name: _as(kinds[name], value) for name, value in tensors.items()}
        pairs = zip(kinds.values(), tensors.values(), strict=False)
        return tuple(_as(kind, value) for kind, value in pairs), {}

    return Loaded(module, arrange, keeps_state="prim::SetAttr" in str(module.inlined_graph))


def _as(kind: str, value: Any) -> Any:
    """TorchScript tells numbers and tensors apart."""
    return value.item() if kind in ("int", "float", "bool", "number") else value


# ---------------------------------------------------------------- torch.export


def _export(target: Target, device: Any) -> Loaded:
    import torch
    from torch.utils import _pytree as pytree

    refuse_machine_code(target.model)
    exported = torch.export.load(target.model)
    if device.type != "cpu":
        from torch.export.passes import move_to_device_pass

        exported = move_to_device_pass(exported, device)
    given = [
        spec.arg for spec in exported.graph_signature.input_specs if spec.kind.name == "USER_INPUT"
    ]

    def arrange(tensors: Tensors) -> Arguments:
        flat = [_flat(argument, tensors) for argument in given]
        arguments, keywords = pytree.tree_unflatten(flat, exported.call_spec.in_spec)
        return tuple(arguments), dict(keywords)

    return Loaded(exported.module(), arrange)


def refuse_machine_code(path: str) -> None:
    """torch.export.load also loads the libraries of a package, and with that runs them."""
    with zipfile.ZipFile(path) as archive:
        compiled = [name for name in archive.namelist() if "data/aotinductor/" in name]
    if compiled:
        raise UnsafeFormat(
            "The .pt2 holds machine code, so it was not loaded",
            why=f"it brings {len(compiled)} compiled files, and nobody can see what those do",
            fix="Save the program alone where it was made: torch.export.save(program, FILE)",
        )


def _flat(argument: Any, tensors: Tensors) -> Any:
    if hasattr(argument, "value"):  # fixed when it was exported
        return argument.value
    value = tensors[argument.name]
    return value if type(argument).__name__ == "TensorArgument" else value.item()


# ---------------------------------------------------------------- checkpoints


def _checkpoint(target: Target, device: Any) -> Loaded:
    if target.architecture is None:
        raise BadValue(
            "A checkpoint needs its architecture",
            why="it holds weights, not the model that uses them",
            fix="Say what builds it: --architecture package.module:factory, with --arg NAME=VALUE",
        )
    weights = _weights(target.model)
    module = _built(target.architecture)
    _fill(module, weights, target.architecture)
    module = module.to(device).eval()
    names = _parameter_names(module)

    def arrange(tensors: Tensors) -> Arguments:
        if tensors.keys() <= names:
            return (), dict(tensors)
        return tuple(tensors.values()), {}

    return Loaded(module, arrange)


def _weights(path: str) -> Mapping[str, Any]:
    """Tensors only. What weights_only refuses is refused: there is no second way to load it."""
    import torch

    try:
        loaded = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise UnsafeFormat(
            "The checkpoint holds more than weights, so it was not loaded",
            why=_first_sentence(str(error)),
            fix="Save the weights alone where it was made: torch.save(model.state_dict(), FILE)",
        ) from error
    candidate: Any
    for candidate in (loaded, *(_inner(loaded, name) for name in _WRAPPERS)):
        if _is_state_dict(candidate):
            weights: Mapping[str, Any] = candidate
            return weights
    raise BadValue(
        "The checkpoint holds no weights by name",
        why=f"it holds {_contents(loaded)}",
        fix="Save the weights alone where it was made: torch.save(model.state_dict(), FILE)",
    )


def _inner(loaded: Any, name: str) -> Any:
    return loaded.get(name) if isinstance(loaded, Mapping) else None


def _is_state_dict(value: Any) -> bool:
    import torch

    return (
        isinstance(value, Mapping)
        and bool(value)
        and all(isinstance(item, torch.Tensor) for item in value.values())
    )


def _contents(loaded: Any) -> str:
    if isinstance(loaded, Mapping):
        return "a dictionary of " + ", ".join(map(repr, list(loaded)[:6]))
    return f"a {type(loaded).__name__}"


def _first_sentence(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if "WeightsUnpickler error" in line]
    # What follows "Please" tells how to loosen torch's guard: not our advice.
    return (lines or text.splitlines() or [""])[0].partition(" Please")[0][:300]


def _built(architecture: Architecture) -> Any:
    """The user's own code makes the model; what it raises is told as it is."""
    import torch

    factory = _factory(architecture)
    try:
        module = factory(**architecture.arguments)
    except TypeError as error:
        raise BadValue(
            f"{architecture.factory} does not take these arguments",
            why=str(error),
            fix=f"It takes {_signature(factory)}; give them with --arg NAME=VALUE",
        ) from error
    if not isinstance(module, torch.nn.Module):
        raise BadValue(
            f"{architecture.factory} made no model",
            why=f"it returned a {type(module).__name__}, not a torch.nn.Module",
            fix="Name the class or function that returns the model",
        )
    return module


def _factory(architecture: Architecture) -> Callable[..., Any]:
    module_name, _, attributes = architecture.factory.partition(":")
    if architecture.folder and architecture.folder not in sys.path:
        sys.path.append(architecture.folder)  # last: it must not stand in for what is installed
    try:
        found: Any = importlib.import_module(module_name)
        for name in attributes.split("."):
            found = getattr(found, name)
    except (ImportError, AttributeError) as error:
        raise BadValue(
            f"There is no architecture {architecture.factory!r}",
            why=str(error),
            fix="Write --architecture package.module:factory, and install the package or run from "
            "its folder",
        ) from error
    if not callable(found):
        raise BadValue(f"{architecture.factory} cannot be called", fix="Name a class or function")
    made: Callable[..., Any] = found
    return made


def _signature(factory: Callable[..., Any]) -> str:
    try:
        return str(inspect.signature(factory))
    except (TypeError, ValueError):
        return "other arguments"


def _fill(module: Any, weights: Mapping[str, Any], architecture: Architecture) -> None:
    expected = module.state_dict()
    missing = [name for name in expected if name not in weights]
    unknown = [name for name in weights if name not in expected]
    reasons = [_some("missing from the file", missing), _some("unknown to the model", unknown)]
    reasons += [
        f"{name} is {list(weights[name].shape)} in the file and {list(value.shape)} in the model"
        for name, value in expected.items()
        if name in weights and weights[name].shape != value.shape
    ][:3]
    if any(reasons):
        prefixed = unknown and all(name.startswith("module.") for name in unknown)
        raise BadValue(
            f"The weights do not fit {architecture.factory}",
            why="; ".join(reason for reason in reasons if reason),
            fix="They were saved from a DataParallel model: save model.module.state_dict() instead"
            if prefixed
            else "Check the architecture and its arguments (--arg NAME=VALUE)",
        )
    try:
        module.load_state_dict(weights, strict=True)
    except RuntimeError as error:
        raise EngineFailed(
            f"The weights do not fit {architecture.factory}", why=str(error)[:600]
        ) from error


def _some(what: str, names: list[str]) -> str:
    if not names:
        return ""
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{what}: {', '.join(names[:3])}{more}"


def _parameter_names(module: Any) -> set[str]:
    try:
        return set(inspect.signature(module.forward).parameters)
    except (TypeError, ValueError):
        return set()
