"""Which engines exist: the built-in ones, and those of other packages."""

import importlib
import importlib.metadata
import os
import shutil
import sys

import pytest

from modeldyno.core.documents.hosts import EngineDocument
from modeldyno.core.errors import EngineUnavailable, EngineUnknown
from modeldyno.engines.availability import availability
from modeldyno.engines.catalog import (
    BUILT_IN,
    EngineEntry,
    entries,
    find,
    for_format,
    load,
    require_usable,
)
from modeldyno.engines.scripted import Scripted
from tests.packages import install

THEIRS = EngineEntry(
    "abacus", "abacus:Abacus", "abacus", "pip install abacus", ("cpu",), ("beads",)
)
ENTRY = f"from modeldyno.engines.catalog import EngineEntry\nENTRY = {THEIRS!r}\n"
ABACUS = ENTRY + "class Abacus:\n    name = 'abacus'\n"


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder of installed packages; modules imported from it are unloaded afterwards."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    before = set(sys.modules)
    yield folder
    for name in set(sys.modules) - before:
        del sys.modules[name]


def names():
    return [entry.name for entry in entries()]


def test_our_own_engines_are_usable_here():
    engines = {engine.name: engine for engine in availability()}
    assert (engines["onnxruntime"].usable, engines["onnxruntime"].why_not) == (True, None)
    assert engines["onnxruntime"].version == importlib.metadata.version("onnxruntime")
    assert engines["scripted"].usable


def test_an_engine_of_another_package_is_listed_and_can_be_loaded(site):
    install(site, "abacus", ABACUS, "abacus = abacus:ENTRY")
    assert names() == [*(entry.name for entry in BUILT_IN), "abacus"]
    assert find("abacus") == THEIRS
    assert availability()[-1] == EngineDocument(
        name="abacus",
        title="abacus",
        color=7,
        usable=True,
        version="1.0",
        why_not=None,
        install="pip install abacus",
        devices=("cpu",),
        unavailable_devices={},
        device_notes={},
        formats=("beads",),
        has_streams=False,
        adapter="abacus",
        python=None,
        origin="",
    )
    assert for_format("beads") == THEIRS
    assert load("abacus").name == "abacus"


def test_packages_installed_or_removed_meanwhile_are_noticed(site):
    os.utime(site, (0, 0))  # otherwise both changes could fall into one tick of the clock
    assert "abacus" not in names()
    install(site, "abacus", ABACUS, "abacus = abacus:ENTRY")
    assert "abacus" in names()
    os.utime(site, (1, 1))
    assert "abacus" in names()
    shutil.rmtree(site / "abacus-1.0.dist-info")
    assert "abacus" not in names()


def test_listing_engines_loads_none_of_them(site):
    bomb = ENTRY + "def __getattr__(name):\n    raise SystemError('the engine was loaded')\n"
    install(site, "abacus", bomb, "abacus = abacus:ENTRY")
    availability()
    assert names()[-1] == "abacus"


@pytest.mark.parametrize(
    ("code", "point", "why_not"),
    [
        ("raise OSError('libabacus.so: not found')", "abacus:ENTRY", "OSError: libabacus.so: not"),
        ("", "abacus:ENTRY", "AttributeError: module 'abacus' has no attribute 'ENTRY'"),
        ("", "no_such_module:ENTRY", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("ENTRY = 'hello'", "abacus:ENTRY", "it does not name an EngineEntry"),
        (
            ENTRY.replace("formats=('beads',)", "formats=None"),
            "abacus:ENTRY",
            "its EngineEntry is wrong",
        ),
        ("def", "abacus:ENTRY", "SyntaxError"),
        ("raise SystemExit(3)", "abacus:ENTRY", "SystemExit: 3"),
    ],
)
def test_a_broken_package_is_listed_with_its_reason_and_breaks_nothing(code, point, why_not, site):
    install(site, "abacus", code, f"abacus = {point}")
    *ours, theirs = availability()
    assert [engine.name for engine in ours] == [entry.name for entry in BUILT_IN]
    assert (theirs.name, theirs.usable) == ("abacus", False)
    assert theirs.why_not is not None
    assert why_not in theirs.why_not
    with pytest.raises(EngineUnavailable, match="repair the package behind"):
        require_usable("abacus")


def test_an_engine_whose_library_is_missing_says_how_to_get_it(site):
    code = ENTRY.replace("package='abacus'", "package='no-such-library'")
    install(site, "abacus", code, "abacus = abacus:ENTRY")
    with pytest.raises(EngineUnavailable) as caught:
        require_usable("abacus")
    assert (caught.value.title, caught.value.why, caught.value.fix) == (
        "Cannot use engine 'abacus'",
        "the Python package 'no-such-library' is not installed",
        "Run `pip install abacus` or pick another engine (see `modeldyno engines`)",
    )


def test_a_plugin_cannot_take_a_built_in_name(site):
    code = ENTRY.replace("name='abacus'", "name='scripted'")
    install(site, "abacus", code, "scripted = abacus:ENTRY")
    assert entries() == BUILT_IN
    assert isinstance(load("scripted"), Scripted)


def test_an_alias_finds_its_engine():
    assert find("ort") == find("onnxruntime")


def test_a_name_that_is_close_is_suggested():
    with pytest.raises(EngineUnknown) as caught:
        find("onnx-runtime")
    assert (caught.value.why, caught.value.fix) == (
        "known engines: " + ", ".join(entry.name for entry in BUILT_IN),
        "Did you mean 'onnxruntime'?",
    )


def test_a_name_that_is_like_nothing_is_answered_with_the_list():
    with pytest.raises(EngineUnknown, match="See `modeldyno engines`"):
        find("zzz")


def test_a_format_without_an_engine_is_reported():
    with pytest.raises(EngineUnavailable, match="No engine here can run beads models"):
        for_format("beads")
