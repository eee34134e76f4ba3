"""Which engines exist, and which are installed. Imports an engine only in ``load``."""

from __future__ import annotations

import contextlib
import difflib
import functools
import importlib
import importlib.metadata
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from modeldyno.core.codec import Mismatch, decode, encode
from modeldyno.core.errors import EngineUnavailable, EngineUnknown
from modeldyno.core.sessions import Target
from modeldyno.engines import environments
from modeldyno.engines.environments import DamagedEnvironment, Environment, installed_version
from modeldyno.engines.protocol import Engine

ENTRY_POINTS = "modeldyno.engines"
_BROKEN = "broken:"  # instead of a factory: why there is none


@dataclass(frozen=True)
class EngineEntry:
    """Where to import an engine from and what it needs, known without importing it."""

    name: str
    factory: str  # "package.module:Class"
    package: str | None  # the distribution it needs; None: nothing
    install: str
    devices: tuple[str, ...]
    formats: tuple[str, ...]
    aliases: tuple[str, ...] = ()
    options: tuple[str, ...] = ()  # names it takes with --option NAME=VALUE
    compiling_options: tuple[str, ...] = ()  # of those, what makes it start a compiler
    other_builds: tuple[str, ...] = ()  # distributions that bring the same package
    title: str = ""  # as its makers write it; empty: the name
    color: int | None = None  # its place among the colours of charts; None: the first free one
    has_streams: bool = False  # it can run several requests at the same time
    # Its threads and options are fixed per process: changing them needs another process.
    for_life: bool = False
    environment: Environment | None = None  # the other Python it is installed in; None: this one
    oldest: str = ""  # the first version that has everything we use
    licence: str = ""  # terms that users must accept first, in a sentence
    newest_opset: int | None = None  # of ONNX files; newer files are converted down
    newest_ir: int | None = None
    for_tests: bool = False  # people do not need to see it in a list
    starts_programs: bool = False  # merely importing it starts programs; a sandbox must allow that

    @property
    def adapter(self) -> str:
        """The name of our engine class that drives it."""
        return self.environment.engine if self.environment else self.name


Entry = EngineEntry  # plug-ins may still import it by this name


BUILT_IN = (
    EngineEntry(
        name="onnxruntime",
        factory="modeldyno.engines.onnxruntime:OnnxRuntime",
        package="onnxruntime",
        install="pip install onnxruntime",
        devices=("cpu", "cuda", "tensorrt", "coreml"),
        formats=("onnx",),
        aliases=("ort",),
        other_builds=("onnxruntime-gpu",),
        title="ONNX Runtime",
        color=0,
    ),
    EngineEntry(
        name="pytorch",
        factory="modeldyno.engines.pytorch:PyTorch",
        package="torch",
        install="pip install 'modeldyno[torch]'",
        devices=("cpu", "cuda", "mps"),
        formats=("torchscript", "torch-export", "torch-checkpoint"),
        aliases=("torch",),
        options=("compile", "channels_last", "tf32"),
        compiling_options=("compile",),
        title="PyTorch",
        color=2,
        oldest="2.10.0",
    ),
    EngineEntry(
        name="tensorflow",
        factory="modeldyno.engines.tensorflow:TensorFlow",
        package="tensorflow-cpu",
        install="pip install 'modeldyno[tensorflow]'",
        devices=("cpu",),
        formats=("tf-graph", "saved-model", "keras"),
        aliases=("tf",),
        options=("onednn", "outputs"),
        other_builds=("tensorflow", "tf-nightly-cpu", "tf-nightly"),
        title="TensorFlow",
        color=3,
        for_life=True,
    ),
    EngineEntry(
        name="litert",
        factory="modeldyno.engines.litert:LiteRt",
        package="ai-edge-litert",
        install="pip install 'modeldyno[litert]'",
        devices=("cpu",),
        formats=("litert",),
        aliases=("tflite",),
        options=("xnnpack",),
        title="LiteRT",
        color=4,
    ),
    EngineEntry(
        name="openvino",
        factory="modeldyno.engines.openvino:OpenVino",
        package="openvino",
        install="pip install 'modeldyno[openvino]'",
        devices=("cpu", "gpu", "npu"),
        formats=("onnx", "openvino-ir", "litert", "tf-graph", "saved-model"),
        aliases=("ov",),
        has_streams=True,
        title="OpenVINO",
        color=1,
    ),
    EngineEntry(
        name="scripted",
        factory="modeldyno.engines.scripted:Scripted",
        package=None,
        install="built in",
        devices=("cpu",),
        formats=("scripted",),
        for_tests=True,
    ),
)


# Discontinued engines: listed only after the user has added them (`modeldyno engines add`).
LEGACY = (
    EngineEntry(
        name="deepsparse",
        factory="modeldyno.engines.deepsparse:DeepSparse",
        package="deepsparse",
        install='modeldyno engines add deepsparse --pip "deepsparse==1.8.0"',
        devices=("cpu",),
        formats=("onnx",),
        title="DeepSparse",
        color=5,
        oldest="1.8.0",
        licence="its community licence allows evaluation in development and testing only: no "
        "production, no service for others, no redistribution",
        newest_opset=19,
        newest_ir=9,
        starts_programs=True,
    ),
)


def entries() -> tuple[EngineEntry, ...]:
    """Built-in engines, those that installed packages announce under ``modeldyno.engines``, and
    those that the user added in another Python.

    A package's entry point names an ``EngineEntry``, so listing engines imports none of them. A
    plug-in cannot take over a built-in name; an engine that the user added can have the name of
    one that is not installed here.
    """
    known = dict(_local_entries())
    for environment in environments.added_environments():
        known[environment.name] = _entry_of_environment(environment)
    return tuple(known.values())


def _local_entries() -> Mapping[str, EngineEntry]:
    return _cached_local_entries(BUILT_IN, _package_folder_times())


def _package_folder_times() -> tuple[tuple[str, int], ...]:
    """When each folder of ``sys.path`` last changed: a cheap key for the cache of entry points."""
    folder_times = []
    for folder in sys.path:
        with contextlib.suppress(OSError):
            folder_times.append((folder, Path(folder).stat().st_mtime_ns))
    return tuple(folder_times)


@functools.lru_cache(maxsize=1)
def _cached_local_entries(
    built_in: tuple[EngineEntry, ...], _: tuple[tuple[str, int], ...]
) -> Mapping[str, EngineEntry]:
    known = {entry.name: entry for entry in built_in}
    known |= {entry.name: entry for entry in LEGACY if is_usable(entry)}
    for point in importlib.metadata.entry_points(group=ENTRY_POINTS):
        entry = _load_entry_point(point)
        known.setdefault(entry.name, entry)
    return known


def find_local(name: str) -> EngineEntry | None:
    """The engine of that name or alias in this very Python, installed or not."""
    known = _local_entries().values()
    return next((entry for entry in known if name in (entry.name, *entry.aliases)), None)


def adapters() -> tuple[EngineEntry, ...]:
    """Entries that can drive an engine in another Python; its packages decide which one does."""
    return tuple(entry for entry in (*BUILT_IN, *LEGACY) if entry.package is not None)


def _entry_of_environment(environment: Environment | DamagedEnvironment) -> EngineEntry:
    name = environment.name
    removal = f"modeldyno engines remove {name}"
    if isinstance(environment, DamagedEnvironment):
        return _broken_entry(name, f"its entry is damaged: {environment.why}", removal)
    adapter = next((entry for entry in adapters() if entry.name == environment.engine), None)
    if adapter is None:
        why = f"this version of Modeldyno has no engine {environment.engine!r}"
        return _broken_entry(name, why, removal)
    has_own_name = name == adapter.name
    return replace(
        adapter,
        name=name,
        aliases=adapter.aliases if has_own_name else (),
        title=adapter.title if has_own_name else f"{adapter.title} ({name})",
        color=adapter.color if has_own_name else None,
        install=f"{removal}, and add it again",
        environment=environment,
    )


def _load_entry_point(point: importlib.metadata.EntryPoint) -> EngineEntry:
    why = "it does not name an EngineEntry"
    try:
        entry = point.load()
        if isinstance(entry, EngineEntry):
            decode(EngineEntry, encode(entry))
            return entry
    except Mismatch as error:
        why = f"its EngineEntry is wrong: {error}"
    # A faulty plug-in must neither raise here nor end the process.
    except (Exception, SystemExit) as error:  # noqa: BLE001
        why = f"{type(error).__name__}: {error}"
    why = f"its entry point cannot be loaded: {why}"
    return _broken_entry(point.name, why, f"repair the package behind {point.value}")


def _broken_entry(name: str, why: str, install: str) -> EngineEntry:
    return EngineEntry(name, f"{_BROKEN}{why}", None, install, devices=(), formats=())


def version_of(entry: EngineEntry) -> tuple[str | None, str | None]:
    """The version of its package, or why there is none."""
    if entry.factory.startswith(_BROKEN):
        return None, entry.factory.removeprefix(_BROKEN)
    environment = entry.environment
    if environment is not None and not Path(environment.python).is_file():
        return None, f"its Python no longer exists: {environment.python}"
    version = installed_version((entry.package or "modeldyno", *entry.other_builds), environment)
    if version is not None or entry.package is None:  # None: Modeldyno runs from source
        return version, None
    where = "not installed" if environment is None else "no longer in its environment"
    return None, f"the Python package {entry.package!r} is {where}"


def find(name: str) -> EngineEntry:
    """The entry of that name or alias."""
    known = entries()
    for entry in known:
        if name == entry.name or name in entry.aliases:
            return entry
    legacy = next((entry for entry in LEGACY if name == entry.name), None)
    if legacy is not None:
        raise EngineUnavailable(
            f"Engine {name!r} has not been added",
            why=f"{legacy.title} is discontinued and needs a separate Python environment",
            fix=f"Run `{legacy.install}`",
        )
    names = [name for entry in known for name in (entry.name, *entry.aliases)]
    close = difflib.get_close_matches(name, names, n=1)
    raise EngineUnknown(
        f"There is no engine named {name!r}",
        why=f"known engines: {', '.join(entry.name for entry in known)}",
        fix=f"Did you mean {close[0]!r}?" if close else "See `modeldyno engines`",
    )


def is_usable(entry: EngineEntry) -> bool:
    return version_of(entry)[1] is None


def title_of(name: str) -> str:
    """``ONNX Runtime``; the name itself if the engine has no title."""
    return next((entry.title for entry in entries() if entry.name == name), "") or name


def require_usable(name: str) -> EngineEntry:
    """The entry of that name; raises EngineUnavailable if its package is not installed."""
    entry = find(name)
    _, why_not = version_of(entry)
    if why_not is not None:
        raise EngineUnavailable(
            f"Cannot use engine {entry.name!r}",
            why=why_not,
            fix=f"Run `{entry.install}` or pick another engine (see `modeldyno engines`)",
        )
    return entry


def starts_programs(engine: str, options: Mapping[str, object]) -> bool:
    """Whether the engine starts other programs, with these options: a sandbox must allow that."""
    return any(
        (entry.starts_programs and entry.name == engine)
        or any(options.get(name) for name in entry.compiling_options)
        for entry in entries()
    )


def process_settings(entry: EngineEntry, target: Target) -> str:
    """What a process is committed to once the target was opened in it; empty: nothing."""
    if not entry.for_life:
        return ""
    return f"{entry.adapter} {target.threads} {sorted(target.options.items())}"


def for_format(model_format: str) -> EngineEntry:
    """The first usable engine that reads a format; raises EngineUnavailable if there is none."""
    readers = [entry for entry in entries() if model_format in entry.formats]
    for entry in readers:
        if is_usable(entry):
            return entry
    raise EngineUnavailable(
        f"No engine here can run {model_format} models",
        why=f"{readers[0].name} can, but it is not installed" if readers else "",
        fix=f"Run `{readers[0].install}`" if readers else "See `modeldyno engines`",
    )


def load(name: str) -> Engine:
    """Import and create the engine; only a worker does this."""
    module, _, attribute = require_usable(name).factory.partition(":")
    engine: Engine = getattr(importlib.import_module(module), attribute)()
    return engine
