"""``config.yaml``: a benchmark as ``modeldyno bench --config`` reads it.

A run of a server has one in its folder, so that whoever sees the result can repeat it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from modeldyno.core.commands import config_of
from modeldyno.core.errors import BadValue
from modeldyno.core.specs import BenchmarkSpec, OptimizationSpec, RunSpec
from modeldyno.core.tuning_config import tuning_config
from modeldyno.formats.small_files import read_small

if TYPE_CHECKING:
    from yaml import MappingNode, SafeLoader

NAME = "config.yaml"
# INC Bench has a file of the same name, whose readers may look for a section that ours has not.
_HEADING = """\
# Repeat this with `modeldyno bench --config`. INC Bench wrote an `evaluation:` section instead:
# its warmup, iteration, cores_per_instance and num_of_instance are warmup, iterations, cores and
# instances here.
"""
MOST_BYTES = 64 << 10


def config_text(spec: BenchmarkSpec | OptimizationSpec) -> str:
    if isinstance(spec, BenchmarkSpec):
        return _HEADING + _yaml(config_of(spec))
    return _yaml(tuning_config(spec))


def _yaml(values: dict[str, Any]) -> str:
    import yaml

    return yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=100)


def write_config(folder: Path, spec: RunSpec) -> None:
    """Benchmarks and quantizations have one."""
    if isinstance(spec, BenchmarkSpec) or (
        isinstance(spec, OptimizationSpec) and spec.type == "quantization"
    ):
        (folder / NAME).write_text(config_text(spec))


def read_config(path: Path) -> dict[str, Any]:
    """The keys and values of a file, not looked at yet; raises BadValue."""
    try:
        content = read_small(path, MOST_BYTES)
    except OSError as error:
        raise BadValue(f"Cannot read {path}", why=error.strerror or str(error)) from error
    found = _parsed(path, content)
    if not isinstance(found, dict) or not all(isinstance(key, str) for key in found):
        raise BadValue(
            f"{path} is no configuration",
            why="it does not hold names and values",
            fix="Write lines such as `model: resnet50.onnx` and `batch_size: 8`",
        )
    return found


def _parsed(path: Path, content: bytes) -> object:
    import yaml

    try:
        return cast("object", _loader()(content).get_single_data())
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        why = getattr(error, "problem", None) or "it cannot be read as YAML"
        raise BadValue(f"{path} cannot be read{where}", why=why) from error


def _loader() -> type[SafeLoader]:
    import yaml

    class Strict(yaml.SafeLoader):
        """A key that comes twice is a mistake, not a change of mind."""

        def construct_mapping(self, node: MappingNode, deep: bool = False) -> dict[Any, Any]:
            seen = set()
            for key, _ in node.value:
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"{key.value!r} is there twice", key.start_mark
                    )
                seen.add(str(key.value))
            return super().construct_mapping(node, deep)

    return Strict
