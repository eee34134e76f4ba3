"""``config.yaml``: a benchmark as ``modeldyno bench --config`` reads it.

Runs of a server have one in their folder, so they can be repeated in a terminal.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from modeldyno.core.errors import BadValue
from modeldyno.core.specs import RunSpec
from modeldyno.formats.file_reading import read_small

if TYPE_CHECKING:
    from yaml import MappingNode, SafeLoader

NAME = "config.yaml"
MOST_BYTES = 64 << 10


def to_config_text(spec: RunSpec) -> str:
    """Empty for a spec that cannot be written as a configuration."""
    config = spec.config()
    if config is None:
        return ""
    import yaml

    heading, values = config
    return heading + yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=100)


def write_config(folder: Path, spec: RunSpec) -> None:
    if text := to_config_text(spec):
        (folder / NAME).write_text(text)


def read_config(path: Path) -> dict[str, Any]:
    """The keys and values of a file, unchecked; raises BadValue if it is not such a file."""
    try:
        content = read_small(path, MOST_BYTES)
    except OSError as error:
        raise BadValue(f"Cannot read {path}", why=error.strerror or str(error)) from error
    values = _parse_yaml(path, content)
    if not isinstance(values, dict) or not all(isinstance(key, str) for key in values):
        raise BadValue(
            f"{path} is not a configuration",
            why="it does not hold names and values",
            fix="Write lines such as `model: resnet50.onnx` and `batch_size: 8`",
        )
    return values


def _parse_yaml(path: Path, content: bytes) -> object:
    import yaml

    try:
        return cast("object", _strict_loader_class()(content).get_single_data())
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        why = getattr(error, "problem", None) or "it cannot be read as YAML"
        raise BadValue(f"{path} cannot be read{where}", why=why) from error


def _strict_loader_class() -> type[SafeLoader]:
    import yaml

    class Strict(yaml.SafeLoader):
        """Refuses a key that is there twice."""

        def construct_mapping(self, node: MappingNode, deep: bool = False) -> dict[Any, Any]:
            keys = set()
            for key, _ in node.value:
                if key.value in keys:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"{key.value!r} is there twice", key.start_mark
                    )
                keys.add(str(key.value))
            return super().construct_mapping(node, deep)

    return Strict
