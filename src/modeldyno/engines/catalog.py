"""Which engines there are, and which are installed. Imports none until asked."""

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
from modeldyno.engines.environments import Damaged, Environment
from modeldyno.engines.protocol import Engine

ENTRY_POINTS = "modeldyno.engines"


@dataclass(frozen=True)
class Entry:
    """Where an engine lives and what it needs, known without importing it."""

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
    title: str = ""  # as its makers write it; empty: as its name
    has_streams: bool = False  # it can run several requests at the same time
    # Its threads and options hold for a whole process: other ones need another process.
    for_life: bool = False
    environment: Environment | None = None  # the other Python that it lives in; None: this one
    oldest: str = ""  # the first version that has all we use
    licence: str = ""  # what its users must accept first, in a sentence
    newest_opset: int | None = None  # of ONNX files; newer ones are converted for it
    newest_ir: int | None = None
    starts_programs: bool = False  # merely by being imported; a sandbox must allow that

    @property
    def adapter(self) -> str:
        """Which of ours drives it."""
        return self.environment.engine if self.environment else self.name


BUILT_IN = (
    Entry(
        name="onnxruntime",
        factory="modeldyno.engines.onnxruntime:OnnxRuntime",
        package="onnxruntime",
        install="pip install onnxruntime",
        devices=("cpu", "cuda", "tensorrt", "coreml"),
        formats=("onnx",),
        aliases=("ort",),
        other_builds=("onnxruntime-gpu",),
        title="ONNX Runtime",
    ),
    Entry(
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
        oldest="2.10.0",
    ),
    Entry(
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
        for_life=True,
    ),
    Entry(
        name="litert",
        factory="modeldyno.engines.litert:LiteRt",
        package="ai-edge-litert",
        install="pip install 'modeldyno[litert]'",
        devices=("cpu",),
        formats=("litert",),
        aliases=("tflite",),
        options=("xnnpack",),
        title="LiteRT",
    ),
    Entry(
        name="openvino",
        factory="modeldyno.engines.openvino:OpenVino",
        package="openvino",
        install="pip install 'modeldyno[openvino]'",
        devices=("cpu", "gpu", "npu"),
        formats=("onnx", "openvino-ir", "litert", "tf-graph", "saved-model"),
        aliases=("ov",),
        has_streams=True,
        title="OpenVINO",
    ),
    Entry(
        name="scripted",
        factory="modeldyno.engines.scripted:Scripted",
        package=None,
        install="built in",
        devices=("cpu",),
        formats=("scripted",),
    ),
)


# No longer made: known once somebody has added them (`modeldyno engines add`).
LEGACY = (
    Entry(
        name="deepsparse",
        factory="modeldyno.engines.deepsparse:DeepSparse",
        package="deepsparse",
        install='modeldyno engines add deepsparse --pip "deepsparse==1.8.0"',
        devices=("cpu",),
        formats=("onnx",),
        title="DeepSparse",
        oldest="1.8.0",
        licence="its community licence allows evaluation in development and testing only: no "
        "production, no service for others, no redistribution",
        newest_opset=19,
        newest_ir=9,
        starts_programs=True,
    ),
)


def entries() -> tuple[Entry, ...]:
    """Built-in engines, those that installed packages announce under ``modeldyno.engines``, and
    those that the user added in another Python.

    A package's entry point names an ``Entry``, so that listing engines loads none of them; a
    built-in name cannot be taken over. What the user added can have the name of one that is not
    installed here.
    """
    known = dict(_here())
    for told in environments.added():
        known[told.name] = _elsewhere(told)
    return tuple(known.values())


def _here() -> Mapping[str, Entry]:
    return _installed(BUILT_IN, _last_changes())


def _last_changes() -> tuple[tuple[str, int], ...]:
    """Of the folders that packages are installed into: looking through them takes far longer."""
    found = []
    for folder in sys.path:
        with contextlib.suppress(OSError):
            found.append((folder, Path(folder).stat().st_mtime_ns))
    return tuple(found)


@functools.lru_cache(maxsize=1)
def _installed(ours: tuple[Entry, ...], _: tuple[tuple[str, int], ...]) -> Mapping[str, Entry]:
    known = {entry.name: entry for entry in ours}
    known |= {entry.name: entry for entry in LEGACY if is_usable(entry)}
    for point in importlib.metadata.entry_points(group=ENTRY_POINTS):
        entry = _announced(point)
        known.setdefault(entry.name, entry)
    return known


def here(name: str) -> Entry | None:
    """The engine of that name or alias in this very Python, installed or not."""
    known = _here().values()
    return next((entry for entry in known if name in (entry.name, *entry.aliases)), None)


def adapters() -> tuple[Entry, ...]:
    """All that can drive an engine in another Python: its packages decide which one does."""
    return tuple(entry for entry in (*BUILT_IN, *LEGACY) if entry.package is not None)


def _elsewhere(told: Environment | Damaged) -> Entry:
    mend = f"modeldyno engines remove {told.name}"
    if isinstance(told, Damaged):
        return Entry(told.name, f"broken:its entry is damaged: {told.why}", None, mend, (), ())
    base = next((entry for entry in adapters() if entry.name == told.engine), None)
    if base is None:
        why = f"broken:this version of Modeldyno knows no engine {told.engine!r}"
        return Entry(told.name, why, None, mend, (), ())
    is_its_own = told.name == base.name
    return replace(
        base,
        name=told.name,
        aliases=base.aliases if is_its_own else (),
        title=base.title if is_its_own else f"{base.title} ({told.name})",
        install=f"{mend}, and add it again",
        environment=told,
    )


def _announced(point: importlib.metadata.EntryPoint) -> Entry:
    try:
        entry = point.load()
    # Somebody else's package must not break ours, nor end us.
    except (Exception, SystemExit) as error:  # noqa: BLE001
        return _broken(point, f"{type(error).__name__}: {error}")
    if not isinstance(entry, Entry):
        return _broken(point, "it does not name an Entry")
    try:
        decode(Entry, encode(entry))
    except Mismatch as error:
        return _broken(point, f"its Entry is wrong: {error}")
    return entry


def _broken(point: importlib.metadata.EntryPoint, why: str) -> Entry:
    return Entry(
        point.name,
        f"broken:its entry point cannot be loaded: {why}",
        None,
        f"repair the package behind {point.value}",
        (),
        (),
    )


def version_of(entry: Entry) -> tuple[str | None, str | None]:
    """The version of its package, or why there is none."""
    if entry.factory.startswith("broken:"):
        return None, entry.factory.removeprefix("broken:")
    if entry.environment is not None:
        return _version_there(entry, entry.environment)
    for package in (entry.package or "modeldyno", *entry.other_builds):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            return importlib.metadata.version(package), None
    if entry.package is None:  # run from source, without being installed
        return None, None
    return None, f"the Python package {entry.package!r} is not installed"


def _version_there(entry: Entry, environment: Environment) -> tuple[str | None, str | None]:
    if not Path(environment.python).is_file():
        return None, f"its Python is no longer there: {environment.python}"
    for package in (entry.package or "", *entry.other_builds):
        if (version := environment.version(package)) is not None:
            return version, None
    return None, f"the Python package {entry.package!r} is no longer in its environment"


def find(name: str) -> Entry:
    """The entry of that name or alias."""
    known = entries()
    for entry in known:
        if name == entry.name or name in entry.aliases:
            return entry
    legacy = next((entry for entry in LEGACY if name == entry.name), None)
    if legacy is not None:
        raise EngineUnavailable(
            f"Engine {name!r} has not been added",
            why=f"{legacy.title} is no longer made, and needs a Python environment of its own",
            fix=f"Run `{legacy.install}`",
        )
    names = [word for entry in known for word in (entry.name, *entry.aliases)]
    close = difflib.get_close_matches(name, names, n=1)
    raise EngineUnknown(
        f"There is no engine named {name!r}",
        why=f"known engines: {', '.join(entry.name for entry in known)}",
        fix=f"Did you mean {close[0]!r}?" if close else "See `modeldyno engines`",
    )


def is_usable(entry: Entry) -> bool:
    return version_of(entry)[1] is None


def title_of(name: str) -> str:
    """``ONNX Runtime``; the name itself where nobody said more."""
    return next((entry.title for entry in entries() if entry.name == name), "") or name


def usable(name: str) -> Entry:
    """The entry of that name, if its package is here."""
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
    """Whether this engine, or any with these options, starts others: a sandbox must allow that."""
    return any(
        (entry.starts_programs and entry.name == engine)
        or any(options.get(name) for name in entry.compiling_options)
        for entry in entries()
    )


def life_of(entry: Entry, target: Target) -> str:
    """What a process takes on for good once the target was opened in it; empty: nothing."""
    if not entry.for_life:
        return ""
    return f"{entry.adapter} {target.threads} {sorted(target.options.items())}"


def for_format(model_format: str) -> Entry:
    """The first usable engine that reads a format."""
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
    """Import and make the engine; only a worker does this."""
    module, _, attribute = usable(name).factory.partition(":")
    engine: Engine = getattr(importlib.import_module(module), attribute)()
    return engine
