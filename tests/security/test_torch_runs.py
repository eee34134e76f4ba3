"""Running hostile PyTorch files (M1-M3, M35-M39): refused without trust, confined with it.

Each payload has its positive control: a plain process that loads the same file without us, or the
same command without the sandbox, lets it do its harm.
"""

# PyTorch's types are skipped (pyproject.toml), so they are unknown here.
# mypy: disable-error-code="misc, name-defined"

import json
import pickle
import shutil
import socket
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

import modeldyno
from modeldyno.core.errors import ModelChanged, UnsafeFormat
from modeldyno.core.requests.measuring import BenchmarkRequest, ModelFile
from modeldyno.core.results import BenchmarkResult
from modeldyno.services import requests
from modeldyno.settings import Settings
from modeldyno.workbench import open_workbench
from tests import torch_archives as made
from tests.terminal import Ended
from tests.terminal import modeldyno as command

pytestmark = [
    pytest.mark.engine("pytorch"),
    pytest.mark.slow,
    # TorchScript is on its way out, and its files are still everywhere.
    pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning"),
]

LOAD_ALL = """
import contextlib, sys, torch
for path in sys.argv[1:]:
    with contextlib.suppress(Exception):
        (torch.export.load if path.endswith(".pt2") else load)(path)
"""
UNSAFE_LOAD = "from functools import partial\nimport torch\n" + (
    "load = partial(torch.load, weights_only=False)\n"
)


def load_without_us(*paths: Path) -> None:
    """What a careless script does, in a process of its own; errors come too late anyway."""
    code = UNSAFE_LOAD + LOAD_ALL
    subprocess.run([sys.executable, "-c", code, *map(str, paths)], capture_output=True, check=True)


def bench(path: Path, *more: object, **environment: str) -> Ended:
    room = path.parent / "room"
    said = ("bench", path, "--iterations", 2, "--workspace", room, *more)
    return command(*said, cwd=None, keep=True, **environment)


def trusting(path: Path, *code: object) -> Ended:
    ended = command("trust", path, *code, "--workspace", path.parent / "room")
    assert ended.code == 0, ended.err
    return ended


# ---------------------------------------------------------------- .pt2


class Net(torch.nn.Module):
    """A weight and a constant, so that an export of it has all kinds of members."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(3, 2)
        self.shift = torch.ones(2)

    def forward(self, x):
        return self.inner(x) + self.shift


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    path = tmp_path_factory.mktemp("honest") / "net.pt2"
    torch.export.save(torch.export.export(Net(), (torch.ones(1, 3),)), path)
    return path


Change = Callable[[dict[str, bytes], bytes], None]


def _in_sample_inputs(members, data):
    members["data/sample_inputs/model.pt"] = data


def _in_weights(members, data):
    _declare(members, "weights", "inner.weight", "weight_0", data)


def _in_constants(members, data):
    _declare(members, "constants", "shift", "tensor_0", data)


def _in_opaque_object(members, data):
    _declare(members, "constants", "shift", "opaque_obj_0", data)


def _in_custom_object(members, data):
    _declare(members, "constants", "shift", "custom_obj_0", data)


def _declare(members, kind, entry, member, data):
    table = f"data/{kind}/model_{kind}_config.json"
    document = json.loads(members[table])
    document["config"][entry] |= {"path_name": member, "use_pickle": True}
    members[table] = json.dumps(document).encode()
    members[f"data/{kind}/{member}"] = data


def changed(honest: Path, target: Path, change: Change, data: bytes) -> Path:
    with zipfile.ZipFile(honest) as file:
        members = {name.partition("/")[2]: file.read(name) for name in file.namelist()}
    change(members, data)
    return made.archive_of(target, {**members})


FIRING: dict[str, Change] = {
    "M35 sample inputs": _in_sample_inputs,
    "M36 weights": _in_weights,
    "M37 constants": _in_constants,
    "M39 opaque object": _in_opaque_object,
}
M38 = "M38 custom object"


@dataclass(frozen=True)
class Hostile:
    path: Path  # in a folder of its own
    marker: Path  # what its payload makes


@pytest.fixture(scope="module")
def hostile(honest, tmp_path_factory):
    """Every file with a payload, by name."""
    found: dict[str, Hostile] = {}

    def place(name: str, file: str) -> Hostile:
        folder = tmp_path_factory.mktemp("hostile")
        return found.setdefault(name, Hostile(folder / file, folder / "marker"))

    for name, change in {**FIRING, M38: _in_custom_object}.items():
        one = place(name, "net.pt2")
        changed(honest, one.path, change, made.payload(one.marker))
    for name, save in CHECKPOINTS.items():
        one = place(name, "weights.pt")
        save(one.path, one.marker)
    return found


@pytest.fixture(scope="module")
def fired(hostile):
    """The control of them all: whose payload runs where they are loaded without us."""
    load_without_us(*(one.path for one in hostile.values()))
    found = {name for name, one in hostile.items() if one.marker.is_dir()}
    for name in found:
        hostile[name].marker.rmdir()
    return found


@pytest.mark.parametrize("name", FIRING)
def test_an_export_with_a_payload_needs_trust_and_then_meets_the_sandbox(name, hostile, fired):
    path, marker = hostile[name].path, hostile[name].marker
    assert name in fired

    refused = bench(path, MODELDYNO_REQUIRE_TRUST="1")
    assert (refused.code, marker.exists()) == (8, False)
    assert "modeldyno trust net.pt2" in refused.err

    trusting(path)
    confined = bench(path, MODELDYNO_REQUIRE_TRUST="1")
    assert (confined.code, marker.exists()) == (1, False)

    assert bench(path, "--no-sandbox").code == 1  # the control: it fails, and it is too late
    assert marker.is_dir()


def test_m38_a_custom_object_is_read_by_a_loader_that_knows_no_python(hostile, fired):
    """The one member whose payload does not fire: torch reads it in C++."""
    path = hostile[M38].path
    assert any("mkdir" in name for name in modeldyno.inspect(path).imports)
    assert bench(path, MODELDYNO_REQUIRE_TRUST="1").code == 8
    assert bench(path, "--no-sandbox").code == 1
    assert M38 not in fired
    assert not hostile[M38].marker.exists()


def test_the_honest_export_runs_once_it_is_trusted(honest, tmp_path):
    """The control of the refusals: nothing but trust was missing."""
    path = Path(shutil.copy(honest, tmp_path / "net.pt2"))
    assert bench(path, MODELDYNO_REQUIRE_TRUST="1").code == 8
    assert bench(path).code == 0
    trusting(path)
    ended = bench(path, MODELDYNO_REQUIRE_TRUST="1")
    assert ended.code == 0, ended.err
    with zipfile.ZipFile(path, "a") as file:
        file.writestr("net/extra/note", "one more member")
    assert bench(path, MODELDYNO_REQUIRE_TRUST="1").code == 8  # other bytes, no trust


def test_a_comparison_wants_trust_in_both_sides(honest, tmp_path):
    path = Path(shutil.copy(honest, tmp_path / "net.pt2"))
    other = tmp_path / "other.pt2"
    torch.export.save(torch.export.export(Net(), (torch.ones(1, 3),)), other)
    trusting(path)
    said = ("compare", path, other, "--quick", "--workspace", tmp_path / "room")
    refused = command(*said, MODELDYNO_REQUIRE_TRUST="1")
    assert refused.code == 8
    assert "other.pt2" in refused.err
    trusting(other)
    assert command(*said, MODELDYNO_REQUIRE_TRUST="1").code == 0


def test_a_file_swapped_after_it_was_looked_at_is_not_run(honest, tmp_path):
    path = Path(shutil.copy(honest, tmp_path / "net.pt2"))
    room = open_workbench(Settings(tmp_path / "room", require_trust=True))
    room.trust.grant(path)
    spec = requests.make_benchmark_spec(BenchmarkRequest(iterations=2), path)
    pinned = room.service._require_trusted(spec)  # type: ignore[attr-defined]  # the moment in between
    marker = tmp_path / "marker"
    changed(honest, path, _in_sample_inputs, made.payload(marker))
    with pytest.raises(ModelChanged):
        open_workbench(Settings(tmp_path / "room")).service.run(pinned)
    assert not marker.exists()


# ---------------------------------------------------------------- machine code


CONSTRUCTOR = """
#include <sys/stat.h>
__attribute__((constructor)) static void harm(void) { mkdir("%s", 0755); }
"""


def _compiled(honest: Path, target: Path, library: bytes) -> Path:
    def add(members: dict[str, bytes], data: bytes) -> None:
        members["data/aotinductor/model/net.wrapper.so"] = data
        about = json.dumps({"AOTI_DEVICE_KEY": "cpu"}).encode()
        members["data/aotinductor/model/net.wrapper_metadata.json"] = about

    return changed(honest, target, add, library)


def test_a_compiled_library_in_an_export_is_never_loaded(honest, tmp_path):
    path = _compiled(honest, tmp_path / "net.pt2", b"\x7fELF")
    assert "holds 2 compiled files, so it is never loaded" in modeldyno.inspect(path).notes
    trusting(path)
    refused = bench(path, "--no-sandbox")
    assert refused.code == 8
    assert "machine code" in refused.err


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler to make the payload with")
def test_without_us_a_compiled_library_does_run(honest, tmp_path):
    """The control: torch.export.load runs what a library does when it is loaded."""
    marker, source, library = (tmp_path / name for name in ("marker", "harm.c", "harm.so"))
    source.write_text(CONSTRUCTOR % marker)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    path = _compiled(honest, tmp_path / "net.pt2", library.read_bytes())
    assert bench(path, "--no-sandbox").code == 8
    assert not marker.exists()
    load_without_us(path)
    assert marker.is_dir()


# ---------------------------------------------------------------- checkpoints


IDENTITY = ("--architecture", "torch.nn:Identity", "--input", "x=float32[1,3]")


def _new(path: Path, marker: Path) -> None:
    torch.save({"weight": made.Payload(marker)}, path)


def _old(path: Path, marker: Path) -> None:
    torch.save({"weight": made.Payload(marker)}, path, _use_new_zipfile_serialization=False)


def _tar(path: Path, marker: Path) -> None:
    (path.parent / "storages").write_bytes(made.payload(marker))
    with tarfile.open(path, "w") as file:
        for name in ("storages", "tensors", "pickle"):
            file.add(path.parent / "storages", name)


CHECKPOINTS = {"zip": _new, "before 1.6": _old, "tar": _tar}


@pytest.mark.parametrize("name", ["zip", "before 1.6"])
def test_m1_m3_a_checkpoint_that_is_refused_is_never_loaded_a_second_way(name, hostile, fired):
    path = hostile[name].path
    trusting(path)
    for walls in ((), ("--no-sandbox",)):
        refused = bench(path, *IDENTITY, *walls)
        assert refused.code == 8
        assert "more than weights" in refused.err
    assert not hostile[name].marker.exists()
    assert name in fired


def test_m1_the_tar_format_of_old_is_not_run(hostile, fired):
    assert bench(hostile["tar"].path, *IDENTITY, "--no-sandbox").code == 2
    assert not hostile["tar"].marker.exists()
    assert "tar" in fired


def test_an_architecture_is_code_that_needs_trust_with_its_weights(tmp_path):
    path = tmp_path / "weights.pt"
    torch.save(torch.nn.Linear(3, 2).state_dict(), path)
    linear = ("--architecture", "torch.nn:Linear", "--arg", "in_features=3", "--arg")
    code, takes = (*linear, "out_features=2"), ("--input", "input=float32[1,3]")
    refused = bench(path, *code, *takes, MODELDYNO_REQUIRE_TRUST="1")
    assert refused.code == 8
    assert f"modeldyno trust weights.pt {' '.join(code)}" in refused.err
    assert "the code that builds the model was not named" in trusting(path).err
    assert bench(path, *code, *takes, MODELDYNO_REQUIRE_TRUST="1").code == 8
    assert "torch.nn:Linear(in_features=3, out_features=2)" in trusting(path, *code).out
    assert bench(path, *code, *takes, MODELDYNO_REQUIRE_TRUST="1").code == 0


SIDECAR = """architecture = "{factory}"

[arguments]
{arguments}

[[inputs]]
name = "input"
dtype = "float32"
shape = [1, 3]
"""


def beside(path: Path, factory: str, /, **arguments: object) -> None:
    lines = "\n".join(f"{name} = {json.dumps(value)}" for name, value in arguments.items())
    text = SIDECAR.format(factory=factory, arguments=lines)
    Path(f"{path}.modeldyno.toml").write_text(text)


def test_trusted_weights_with_another_sidecar_run_none_of_its_code(tmp_path):
    """``os.mkdir`` is a factory, too."""
    path, marker = tmp_path / "weights.pt", tmp_path / "marker"
    torch.save(torch.nn.Linear(3, 2).state_dict(), path)
    beside(path, "torch.nn:Linear", in_features=3, out_features=2)
    trusting(path)
    assert bench(path, MODELDYNO_REQUIRE_TRUST="1").code == 0  # the control of the refusals

    others: tuple[tuple[str, dict[str, object]], ...] = (
        ("os:mkdir", {"path": str(marker)}),
        ("torch.nn:Linear", {"in_features": 3, "out_features": 2, "bias": True}),
    )
    for factory, arguments in others:
        beside(path, factory, **arguments)
        refused = bench(path, "--no-sandbox", MODELDYNO_REQUIRE_TRUST="1")
        assert (refused.code, marker.exists()) == (8, False), refused.err
        assert "trusted only with torch.nn:Linear(in_features=3, out_features=2)" in refused.err

    beside(path, "os:mkdir", path=str(marker))
    bench(path, "--no-sandbox")  # the control: naming it is trust enough, and its code runs
    assert marker.is_dir()


def test_a_sidecar_swapped_after_it_was_looked_at_is_not_run(tmp_path):
    path, marker = tmp_path / "weights.pt", tmp_path / "marker"
    torch.save(torch.nn.Linear(3, 2).state_dict(), path)
    beside(path, "torch.nn:Linear", in_features=3, out_features=2)
    room = open_workbench(Settings(tmp_path / "room", require_trust=True))
    room.trust.grant(path)
    spec = requests.make_benchmark_spec(BenchmarkRequest(sandbox="off", iterations=2), path)
    pinned = room.service._require_trusted(spec)  # type: ignore[attr-defined]  # the moment in between
    beside(path, "os:mkdir", path=str(marker))
    result = open_workbench(Settings(tmp_path / "room")).service.run(pinned)
    assert isinstance(result, BenchmarkResult)
    assert result.cells[0].measurement is not None
    assert not marker.exists()


def test_the_source_of_an_architecture_in_the_current_folder_is_covered(tmp_path, monkeypatch):
    path, source = tmp_path / "weights.pt", tmp_path / "nets.py"
    torch.save(torch.nn.Linear(3, 2).state_dict(), path)
    source.write_text("import torch\n\ndef build():\n    return torch.nn.Linear(3, 2)\n")
    monkeypatch.chdir(tmp_path)
    room = open_workbench(Settings(tmp_path / "room", require_trust=True))
    granted = room.trust.grant(path, architecture="nets:build")
    assert granted.entry.code is not None
    assert list(granted.entry.code.sources) == [str(source)]
    spec = requests.make_benchmark_spec(
        BenchmarkRequest(), ModelFile(path, architecture="nets:build")
    )
    room.service._require_trusted(spec)  # type: ignore[attr-defined]  # what it asks before it runs
    source.write_text(source.read_text() + "import os\n")
    with pytest.raises(UnsafeFormat, match="source of nets:build is not the trusted one"):
        room.service._require_trusted(spec)  # type: ignore[attr-defined]


def _cut(data: bytes) -> bytes:
    return data[:16]


def _none(data: bytes) -> bytes:
    return b""


LINEAR = (
    *("--architecture", "torch.nn:Linear", "--arg", "in_features=4", "--arg", "out_features=64"),
    *("--input", "input=float32[1,4]"),
)


@pytest.fixture(scope="module")
def good(tmp_path_factory, starts_processes):
    """Weights that run: the control of those that are spoilt."""
    path = tmp_path_factory.mktemp("good") / "good.pt"
    torch.save({"weight": torch.ones(64, 4), "bias": torch.ones(64)}, path)
    assert bench(path, *LINEAR).code == 0
    return path


@pytest.mark.parametrize("spoil", [_cut, _none])
def test_m2_storages_shorter_than_their_tensors_are_told_not_read(spoil, good, tmp_path):
    bad = tmp_path / "bad.pt"
    with zipfile.ZipFile(good) as source, zipfile.ZipFile(bad, "w") as target:
        for name in source.namelist():
            data = source.read(name)
            target.writestr(name, spoil(data) if "/data/" in name else data)
    ended = bench(bad, *LINEAR)
    assert ended.code in (1, 2), ended.err
    assert "error[BUG]" not in ended.err


# ---------------------------------------------------------------- TorchScript


class Writes(torch.nn.Module):
    """A program needs no pickle: PyTorch's own operators map files, and make them."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + torch.from_file(self.path, True, 1)


class Loops(torch.nn.Module):
    def __init__(self, rounds: int) -> None:
        super().__init__()
        self.rounds = rounds

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(self.rounds):
            x = x + 1
        return x


class Swells(torch.nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + torch.ones(self.size).sum()


def scripted(module: torch.nn.Module, path: Path) -> Path:
    torch.jit.script(module).save(path)
    return path


VECTOR = ("--input", "x=float32[1]")


def test_a_torchscript_program_cannot_make_files_outside_its_scratch(tmp_path):
    marker = tmp_path / "marker"
    path = scripted(Writes(str(marker)), tmp_path / "net.pt")
    assert bench(path, *VECTOR, MODELDYNO_REQUIRE_TRUST="1").code == 8
    trusting(path)
    assert bench(path, *VECTOR, MODELDYNO_REQUIRE_TRUST="1").code == 1
    assert not marker.exists()
    assert bench(path, *VECTOR, "--no-sandbox").code == 0
    assert marker.stat().st_size == 4


def test_a_pickle_that_torchscript_does_not_read_stays_unread(tmp_path):
    """Its loader is C++ and calls no Python: a foreign pickle is listed, and that is all."""
    marker = tmp_path / "marker"
    path = scripted(Loops(1), tmp_path / "net.pt")
    with zipfile.ZipFile(path, "a") as file:
        file.writestr("net/extra.pkl", made.payload(marker))
    assert any("mkdir" in name for name in modeldyno.inspect(path).imports)
    assert bench(path, *VECTOR, "--no-sandbox").code == 0
    assert not marker.exists()
    pickle.loads(made.payload(marker))  # the control
    assert marker.is_dir()


def test_an_endless_loop_ends_at_the_time_limit(tmp_path):
    assert bench(scripted(Loops(10), tmp_path / "short.pt"), *VECTOR).code == 0
    endless = scripted(Loops(2**62), tmp_path / "endless.pt")
    assert bench(endless, *VECTOR, "--timeout", 10).code == 124


LIMIT = ("--memory-limit", "2G")


@pytest.fixture(scope="module")
def little_fits(tmp_path_factory, starts_processes):
    """The control of the bombs."""
    path = tmp_path_factory.mktemp("small") / "small.pt"
    return bench(scripted(Swells(10), path), *VECTOR, *LIMIT).code == 0


@pytest.mark.parametrize("size", [10**9, 2**40, 2**62])
def test_a_memory_bomb_fails_alone(size, little_fits, tmp_path):
    assert little_fits
    ended = bench(scripted(Swells(size), tmp_path / "bomb.pt"), *VECTOR, *LIMIT)
    assert ended.code in (137, 1)  # the latter where sizes overflow
    assert "error[BUG]" not in ended.err


# ---------------------------------------------------------------- inside the walls

HARM = """
import json, os, socket
from pathlib import Path

def attempts(home, port):
    yield "read", lambda: Path(home, "secret.txt").read_text()
    yield "list", lambda: os.listdir(home)
    yield "write", lambda: Path(home, "written").write_text("x")
    yield "connect", lambda: socket.create_connection(("127.0.0.1", port), 5).close()
    udp = socket.SOCK_DGRAM
    yield "datagram", lambda: socket.socket(type=udp).sendto(b"x", ("127.0.0.1", port))
    yield "program", lambda: os.posix_spawn("/bin/true", ["true"], {})
    yield "scratch", lambda: Path("mine").write_text("x")

def build(home, port):
    told = {}
    for name, attempt in attempts(home, port):
        try:
            attempt()
            told[name] = "worked"
        except OSError as error:
            told[name] = type(error).__name__
    raise RuntimeError("told " + json.dumps(told) + " end")
"""
OUTSIDE = ("read", "list", "write", "connect", "datagram", "program")


@pytest.mark.parametrize("walls", [True, False], ids=["confined", "control without a sandbox"])
def test_trusted_code_reaches_neither_home_nor_network(walls, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (home / "secret.txt").write_text("secret")
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "harm.py").write_text(HARM)
    torch.save({"weight": torch.ones(1)}, tmp_path / "weights.pt")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        factory = ("--architecture", "harm:build", "--arg", f"home={home}", "--arg", f"port={port}")
        ended = bench(
            tmp_path / "weights.pt",
            *(*factory, "--input", "x=float32[1]"),
            *(() if walls else ("--no-sandbox",)),
            PYTHONPATH=str(tmp_path / "code"),
        )
    assert ended.code == 1
    told = json.loads((ended.out + ended.err).replace("\\", "").split("told ")[1].split(" end")[0])
    assert told.pop("scratch") == "worked"
    assert told == dict.fromkeys(OUTSIDE, "PermissionError" if walls else "worked")
    assert (home / "written").exists() != walls


def test_nothing_of_ours_loads_a_file_in_an_unsafe_way():
    """G26: the control is that the pattern finds what it should."""
    forbidden = ("weights_only=False", "pickle.load", "pickle.Unpickler", "allow_pickle=True")
    assert "weights_only=False" in Path(__file__).read_text()
    sources = Path(modeldyno.__file__).parent.rglob("*.py")
    # The one that reads CIFAR's batches can make arrays of bytes and nothing else:
    # tests/datasets/readers/test_cifar.py.
    assert [
        (path.name, words) for path in sources for words in forbidden if words in path.read_text()
    ] == [("cifar.py", "pickle.Unpickler")]


def test_a_bare_refusal_has_its_own_error(honest, tmp_path):
    room = open_workbench(Settings(tmp_path / "room", require_trust=True))
    spec = requests.make_benchmark_spec(BenchmarkRequest(iterations=2), honest)
    with pytest.raises(UnsafeFormat, match="Nobody has trusted net"):
        room.service.run(spec)
