"""The scope of a node, from the names that exporters write."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

# What torch's exporters write for a node that belongs to no module.
_NO_MODULE = "_empty_nn_module_stack_from_metadata_hook"
_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.\w+)+")
_LONGEST_READ = 4096  # characters of a hostile name


def scopes_from_name(name: str) -> tuple[str, ...]:
    """``/layer1/layer1.0/conv1/Conv`` → layer1, layer1.0, conv1; ``layer1.0.conv1`` → layer1, 0.

    A dotted name that ends in a number only counts nodes (``p2o.Conv.12``): that is no scope.
    """
    name = name[:_LONGEST_READ]
    if "/" in name:
        return tuple(part for part in name.split("/") if part.strip())[:-1]
    if _DOTTED.fullmatch(name) and not name.rpartition(".")[2].isdigit():
        return tuple(name.split("."))[:-1]
    return ()


def scopes_from_metadata(metadata: Mapping[str, str]) -> tuple[str, ...] | None:
    """From the metadata that torch.onnx's exporter adds to each node; None if absent.

    ``pkg.torch.onnx.name_scopes`` is ``['', 'layer1', 'layer1.0', 'conv2d']``: modules by their
    full path, then the node itself. ``namespace`` has the same on one line, with classes:
    ``: Net/layer1: Sequential/layer1.0: Conv2d/conv2d: aten.conv2d.default``.
    """
    scopes = metadata.get("pkg.torch.onnx.name_scopes", "")[:_LONGEST_READ]
    if scopes:
        return _innermost_module(
            [single or double for single, double in _QUOTED.findall(scopes)][:-1]
        )
    namespace = metadata.get("namespace", "")[:_LONGEST_READ]
    if namespace:
        return _innermost_module(
            [part.partition(":")[0].strip() for part in namespace.split("/")][:-1]
        )
    return None


def scopes_from_module_stack(stack: str) -> tuple[str, ...]:
    """From a torch.export node: ``L__self__,,Net;L__self__layer1,layer1,Sequential``."""
    entries = (entry.split(",") for entry in stack[:_LONGEST_READ].split(";"))
    return _innermost_module([parts[1] for parts in entries if len(parts) > 1])


def _innermost_module(paths: Sequence[str]) -> tuple[str, ...]:
    """Parts of the innermost module's path, which contains the outer ones."""
    deepest = next((path for path in reversed(paths) if path and path != _NO_MODULE), "")
    return tuple(part for part in re.split(r"[./]", deepest) if part.strip())
