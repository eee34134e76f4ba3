"""Load PyTorch's three kinds of files, each by its own loader only."""

from __future__ import annotations

import importlib
import inspect
import pickle
import sys
import zipfile
from collections.abc import Callable, Mapping
from typing import Any, cast

from modeldyno.core.errors import BadValue, EngineFailed, EngineUnavailable, UnsafeFormat
from modeldyno.core.models import Architecture
from modeldyno.core.sessions import Target
from modeldyno.engines.protocol import Tensors

OLDEST = (2, 10)  # 2.6 and 2.10 each closed a hole in weights_only loading
_WRAPPERS = ("state_dict", "model_state_dict", "model")  # training scripts' names for the weights

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


class LoadedModule:
    """A module, ready to be called, and how to pass named inputs to it."""

    def __init__(
        self, module: Any, arrange: Callable[[Tensors], Arguments], keeps_state: bool = False
    ) -> None:
        self.module = module
        self.arrange = arrange  # tensors by input name → arguments of the call
        self.keeps_state = keeps_state


def require_safe_version(version: str) -> None:
    numbers = version.split("+")[0].split(".")
    if tuple(int(n) for n in numbers[:2]) < OLDEST:
        raise EngineUnavailable(
            f"PyTorch {version} is too old",
            why="before 2.10, even loading weights alone could run code hidden in a file",
            fix="Run `pip install --upgrade torch`",
        )


def load(target: Target, device: Any) -> LoadedModule:
    match target.format:
        case "torchscript":
            return _load_script(target, device)
        case "torch-export":
            return _load_export(target, device)
        case "torch-checkpoint":
            return _load_checkpoint(target, device)
    raise BadValue(
        f"PyTorch does not read {target.format or 'these'} models",
        fix="Give a TorchScript file, a .pt2 or a checkpoint with --architecture",
    )


# ---------------------------------------------------------------- TorchScript


def _load_script(target: Target, device: Any) -> LoadedModule:
    import torch

    module = torch.jit.load(target.model, map_location=device).eval()
    schema = module.forward.schema
    kinds = {argument.name: str(argument.type) for argument in schema.arguments[1:]}

    def arrange(tensors: Tensors) -> Arguments:
        if tensors.keys() <= kinds.keys():
            return (), {
                name: _script_argument(kinds[name], tensor) for name, tensor in tensors.items()
            }
        pairs = zip(kinds.values(), tensors.values(), strict=False)
        return tuple(_script_argument(kind, tensor) for kind, tensor in pairs), {}

    return LoadedModule(module, arrange, keeps_state="prim::SetAttr" in str(module.inlined_graph))


def _script_argument(kind: str, tensor: Any) -> Any:
    """TorchScript takes no tensors for numbers."""
    return tensor.item() if kind in ("int", "float", "bool", "number") else tensor


# ---------------------------------------------------------------- torch.export


def _load_export(target: Target, device: Any) -> LoadedModule:
    import torch
    from torch.utils import _pytree as pytree

    require_no_machine_code(target.model)
    exported = torch.export.load(target.model)
    if device.type != "cpu":
        from torch.export.passes import move_to_device_pass

        exported = move_to_device_pass(exported, device)
    user_inputs = [
        spec.arg for spec in exported.graph_signature.input_specs if spec.kind.name == "USER_INPUT"
    ]

    def arrange(tensors: Tensors) -> Arguments:
        flat = [_export_argument(declared, tensors) for declared in user_inputs]
        arguments, keywords = pytree.tree_unflatten(flat, exported.call_spec.in_spec)
        return tuple(arguments), dict(keywords)

    return LoadedModule(exported.module(), arrange)


def require_no_machine_code(path: str) -> None:
    """torch.export.load would also load, and thereby run, the libraries of a package."""
    with zipfile.ZipFile(path) as archive:
        compiled = [name for name in archive.namelist() if "data/aotinductor/" in name]
    if compiled:
        raise UnsafeFormat(
            "The .pt2 contains machine code, so it was not loaded",
            why=f"it has {len(compiled)} compiled files, which cannot be inspected",
            fix="Save the program alone where it was made: torch.export.save(program, FILE)",
        )


def _export_argument(declared: Any, tensors: Tensors) -> Any:
    if hasattr(declared, "value"):  # fixed when it was exported
        return declared.value
    tensor = tensors[declared.name]
    return tensor if type(declared).__name__ == "TensorArgument" else tensor.item()


# ---------------------------------------------------------------- checkpoints


def _load_checkpoint(target: Target, device: Any) -> LoadedModule:
    if target.architecture is None:
        raise BadValue(
            "A checkpoint needs its architecture",
            why="it contains weights, not the model that uses them",
            fix="Name what builds it: --architecture package.module:factory, with --arg NAME=VALUE",
        )
    weights = _load_weights(target.model)
    module = _build_module(target.architecture)
    _set_weights(module, weights, target.architecture)
    module = module.to(device).eval()
    names = _parameter_names(module)

    def arrange(tensors: Tensors) -> Arguments:
        if tensors.keys() <= names:
            return (), dict(tensors)
        return tuple(tensors.values()), {}

    return LoadedModule(module, arrange)


def _load_weights(path: str) -> Mapping[str, Any]:
    """Tensors only. There is no fallback for files that weights_only refuses."""
    import torch

    try:
        loaded = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise UnsafeFormat(
            "The checkpoint contains more than weights, so it was not loaded",
            why=_first_sentence(str(error)),
            fix="Save the weights alone where it was made: torch.save(model.state_dict(), FILE)",
        ) from error
    candidate: Any
    for candidate in (loaded, *(_find_entry(loaded, name) for name in _WRAPPERS)):
        if _is_state_dict(candidate):
            weights: Mapping[str, Any] = candidate
            return weights
    raise BadValue(
        "The checkpoint contains no named weights",
        why=f"it contains {_describe_contents(loaded)}",
        fix="Save the weights alone where it was made: torch.save(model.state_dict(), FILE)",
    )


def _find_entry(loaded: Any, name: str) -> Any:
    return loaded.get(name) if isinstance(loaded, Mapping) else None


def _is_state_dict(candidate: Any) -> bool:
    import torch

    return (
        isinstance(candidate, Mapping)
        and bool(candidate)
        and all(isinstance(weight, torch.Tensor) for weight in candidate.values())
    )


def _describe_contents(loaded: Any) -> str:
    if isinstance(loaded, Mapping):
        return "a dictionary of " + ", ".join(map(repr, list(loaded)[:6]))
    return f"a {type(loaded).__name__}"


def _first_sentence(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if "WeightsUnpickler error" in line]
    # After "Please" torch explains how to switch off its guard, which we do not advise.
    return (lines or text.splitlines() or [""])[0].partition(" Please")[0][:300]


def _build_module(architecture: Architecture) -> Any:
    """The user's own code builds the model; its exceptions are passed on."""
    import torch

    factory = _import_factory(architecture)
    try:
        module = factory(**architecture.arguments)
    except TypeError as error:
        raise BadValue(
            f"{architecture.factory} does not take these arguments",
            why=str(error),
            fix=f"It takes {_describe_arguments(factory)}; give them with --arg NAME=VALUE",
        ) from error
    if not isinstance(module, torch.nn.Module):
        raise BadValue(
            f"{architecture.factory} did not return a model",
            why=f"it returned a {type(module).__name__}, not a torch.nn.Module",
            fix="Name the class or function that returns the model",
        )
    return module


def _import_factory(architecture: Architecture) -> Callable[..., Any]:
    module_name, _, attributes = architecture.factory.partition(":")
    if architecture.folder and architecture.folder not in sys.path:
        sys.path.append(architecture.folder)  # last: it must not shadow installed packages
    try:
        factory: Any = importlib.import_module(module_name)
        for name in attributes.split("."):
            factory = getattr(factory, name)
    except (ImportError, AttributeError) as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing and not f"{module_name}.".startswith(f"{missing}."):
            raise BadValue(
                f"{architecture.factory} cannot be imported",
                why=f"it needs the module {missing!r}, which is not installed here",
                fix="Install the package that has it where Modeldyno runs",
            ) from error
        raise BadValue(
            f"There is no architecture {architecture.factory!r}",
            why=str(error),
            fix="Write --architecture package.module:factory, and install the package or run from "
            "its folder",
        ) from error
    if not callable(factory):
        raise BadValue(f"{architecture.factory} cannot be called", fix="Name a class or function")
    return cast("Callable[..., Any]", factory)


def _describe_arguments(factory: Callable[..., Any]) -> str:
    try:
        return str(inspect.signature(factory))
    except (TypeError, ValueError):
        return "other arguments"


def _set_weights(module: Any, weights: Mapping[str, Any], architecture: Architecture) -> None:
    expected = module.state_dict()
    missing = [name for name in expected if name not in weights]
    unknown = [name for name in weights if name not in expected]
    reasons = [_list_names("missing from the file", missing)]
    reasons += [_list_names("unknown to the model", unknown)]
    reasons += [
        f"{name} is {list(weights[name].shape)} in the file and {list(weight.shape)} in the model"
        for name, weight in expected.items()
        if name in weights and weights[name].shape != weight.shape
    ][:3]
    if any(reasons):
        is_data_parallel = unknown and all(name.startswith("module.") for name in unknown)
        raise BadValue(
            f"The weights do not fit {architecture.factory}",
            why="; ".join(reason for reason in reasons if reason),
            fix="They were saved from a DataParallel model: save model.module.state_dict() instead"
            if is_data_parallel
            else "Check the architecture and its arguments (--arg NAME=VALUE)",
        )
    try:
        module.load_state_dict(weights, strict=True)
    except RuntimeError as error:
        raise EngineFailed(
            f"The weights do not fit {architecture.factory}", why=str(error)[:600]
        ) from error


def _list_names(problem: str, names: list[str]) -> str:
    if not names:
        return ""
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{problem}: {', '.join(names[:3])}{more}"


def _parameter_names(module: Any) -> set[str]:
    try:
        return set(inspect.signature(module.forward).parameters)
    except (TypeError, ValueError):
        return set()
