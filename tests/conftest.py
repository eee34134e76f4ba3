"""How the tests share the machine: most run side by side, some need it for themselves."""

import gc
import os
import tempfile
from pathlib import Path

import pytest
from xdist.scheduler import LoadFileScheduling

# Tests beside each other do not wait for each other's cores; those that count time run alone.
if worker := os.environ.get("PYTEST_XDIST_WORKER"):
    folder = (
        f"{tempfile.gettempdir()}/modeldyno-cores-{os.environ['PYTEST_XDIST_TESTRUNUID']}-{worker}"
    )
    os.environ["MODELDYNO_CORES_FOLDER"] = folder

ALONE = ("alone", "timing")
# Those that drive a browser come first and stay in one process: two would starve each other.
BROWSER = ("tests/web/", "tests/gui/")
# What takes a minute or more begins early, so that no process is left with it in the end.
LONG = (
    "tests/api/test_schemathesis.py",
    "tests/test_docs.py",
    "tests/test_client.py",
    "tests/test_real_profiles.py",
    "tests/test_real_models.py",
    "tests/documents/",
    "tests/reliability/",
    "tests/contracts/",
    "tests/api/inc/",
    "tests/security/",
)


def pytest_addoption(parser):
    parser.addoption(
        "--part",
        choices=["together", "alone"],
        help="only the tests that may run beside others, or only those that need the machine",
    )

    parser.addoption(
        "--record", action="store_true", help="write the recordings of tests/recording anew"
    )
    parser.addoption("--note-failures", metavar="FILE", help="write down which tests failed")


def pytest_terminal_summary(terminalreporter, config):
    """A line for each; of a file that cannot even be read, its name."""
    if file := config.getoption("--note-failures"):
        found = [
            *terminalreporter.stats.get("failed", ()),
            *terminalreporter.stats.get("error", ()),
        ]
        names = sorted({report.nodeid for report in found})
        Path(file).write_text("".join(f"{name}\n" for name in names))


def pytest_xdist_make_scheduler(config, log):
    return _ByFile(config, log)


class _ByFile(LoadFileScheduling):  # type: ignore[misc]  # it ships no types
    """Tests of one file stay in one process, and those of all files that drive a browser."""

    def _split_scope(self, nodeid):
        return "browser" if nodeid.startswith(BROWSER) else super()._split_scope(nodeid)


def pytest_ignore_collect(collection_path, config):
    """A file that marks no test so need not be imported to find that out."""
    if config.getoption("--part") != "alone" or collection_path.suffix != ".py":
        return None
    text = collection_path.read_text()
    return None if any(f"mark.{name}" in text for name in ALONE) else True


def pytest_collection_modifyitems(config, items):
    part = config.getoption("--part")
    if part is None:
        return
    kept: list[pytest.Item] = []
    left: list[pytest.Item] = []
    for item in items:
        is_alone = any(item.get_closest_marker(name) for name in ALONE)
        (kept if is_alone == (part == "alone") else left).append(item)
    config.hook.pytest_deselected(items=left)
    items[:] = sorted(kept, key=lambda item: _turn(item.nodeid))


def _turn(name):
    """The order stays but for these."""
    if name.startswith(BROWSER):
        return 0
    return next((at for at, file in enumerate(LONG, 1) if name.startswith(file)), len(LONG) + 1)


@pytest.fixture
def light_heap():
    """For tests of many sessions: whatever other tests left need not be looked at each time."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish():
    """What thousands of collected tests hold stays: the collector need not look at it again.

    The timed loop collects garbage before each session, which took it most of a second here.
    """
    gc.collect()
    gc.freeze()
