"""How the tests share the machine: most run side by side, some need it for themselves.

Quick are those that need no process, no server and no engine; they may start and load none.
"""

import gc
import itertools
import json
import os
import platform
import re
import sys
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
# TensorFlow has one number of threads in a process, that of its first session: ours come first.
TENSORFLOW = (
    "tests/engines/test_tensorflow.py",
    "tests/datasets/readers/test_tensorflow_records.py",
    "tests/datasets/transforms/test_tensorflow_pixels.py",
)
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
    *TENSORFLOW,
    "tests/api/inc/",
    "tests/security/",
)
# Of Python's audit events; and packages that take a second or more to load.
STARTS = ("subprocess.Popen", "os.posix_spawn", "os.fork", "os.forkpty")
ENGINES = ("keras", "openvino", "tensorflow", "torch")
_started: list[str] = []
_spent: dict[str, float] = {}
NONE_QUICK = re.compile(
    r"^pytestmark = (\[\n( .*\n)*? )?.*(starts_processes|mark\.slow|mark\.engine)", re.MULTILINE
)


def pytest_addoption(parser):
    parser.addoption(
        "--part",
        choices=["quick", "together", "alone"],
        help="only the tests that start no process, that may run beside others, or that may not",
    )
    parser.addoption(
        "--record", action="store_true", help="write the recordings of tests/recording anew"
    )
    parser.addoption("--note-tests", metavar="FILE", help="write down how each test ended")


def pytest_terminal_summary(terminalreporter, config):
    """For scripts/run_tests.py; of a file that cannot even be read, its name."""
    if file := config.getoption("--note-tests"):
        tests: dict[str, dict[str, object]] = {}
        for report in itertools.chain.from_iterable(terminalreporter.stats.values()):
            if isinstance(report, pytest.TestReport | pytest.CollectReport):
                _note(tests, report)
        Path(file).write_text(json.dumps([*tests.values()]))


def _note(tests, report):
    """A test has a report for each of set-up, call and tear-down; the worst says how it ended."""
    test = tests.setdefault(
        report.nodeid,
        {
            "name": report.nodeid,
            "outcome": "passed",
            "seconds": 0.0,
            "cpu_s": 0.0,
            "retried": False,
        },
    )
    if report.outcome == "failed" or test["outcome"] == "passed":
        test["outcome"] = report.outcome
    test["seconds"] += getattr(report, "duration", 0.0)
    properties = dict(getattr(report, "user_properties", ()))
    test["retried"] |= properties.get("retried", False)
    test["cpu_s"] = properties.get("cpu_s", test["cpu_s"])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """What a test cost: CPU time since the test before it, of processes that ended as well."""
    report = yield
    if call.when == "teardown":
        spent = sum(os.times()[:4])
        report.user_properties.append(("cpu_s", spent - _spent.get("s", 0.0)))
        _spent["s"] = spent
    return report


def pytest_xdist_make_scheduler(config, log):
    return _ByFile(config, log)


class _ByFile(LoadFileScheduling):  # type: ignore[misc]  # it ships no types
    """Tests of one file stay in one process; those of all files that drive a browser, too, and of
    those that load TensorFlow."""

    def _split_scope(self, nodeid):
        if nodeid.startswith(BROWSER):
            return "browser"
        return "tensorflow" if nodeid.startswith(TENSORFLOW) else super()._split_scope(nodeid)


def pytest_ignore_collect(collection_path, config):
    """A file without tests of this part need not be imported to find that out."""
    part = config.getoption("--part")
    if collection_path.suffix != ".py" or part not in ("quick", "alone"):
        return None
    text = collection_path.read_text()
    if part == "alone":
        return None if any(f"mark.{name}" in text for name in ALONE) else True
    return True if NONE_QUICK.search(text) else None


def pytest_collection_modifyitems(config, items):
    part = config.getoption("--part")
    if part is None:
        return
    kept: list[pytest.Item] = []
    left: list[pytest.Item] = []
    for item in items:
        (kept if _part(item) == part else left).append(item)
    config.hook.pytest_deselected(items=left)
    items[:] = sorted(kept, key=lambda item: _turn(item.nodeid))


def _part(item):
    if any(item.get_closest_marker(name) for name in ALONE):
        return "alone"
    is_long = any(item.get_closest_marker(name) for name in ("slow", "engine"))
    is_long |= "starts_processes" in item.fixturenames
    # The server of a parameter is requested only when the test runs.
    if hasattr(item, "callspec"):
        is_long |= "postgresql" in map(str, item.callspec.params.values())
    return "together" if is_long else "quick"


@pytest.fixture(scope="session")
def starts_processes():
    """What starts a process or a server uses this, tests and fixtures alike; else it may not."""


def pytest_configure(config):
    if config.getoption("--part") == "quick":
        platform.processor()  # starts `uname`, once in each process
        sys.addaudithook(_note_start)


def _note_start(event, arguments):
    """The interpreter calls this in every thread, for a worker is started by one of its own."""
    if event in STARTS or (event == "import" and arguments[0] in ENGINES):
        _started.append(" ".join(map(str, (event, *arguments[:2]))))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown():
    yield
    started, _started[:] = [*_started], []
    if started:
        pytest.fail(
            f"This quick test started something: {started}. Use the fixture `starts_processes`, "
            "or mark it with `engine` where it loads one"
        )


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
