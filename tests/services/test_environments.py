"""Add engines that live in another Python: what is refused and why, and that nothing is left."""

import fcntl
import shutil
import sys

import pytest

from modeldyno.core.errors import BadValue, EngineUnavailable, InstallFailed, ModeldynoError
from modeldyno.engines import catalog, environments
from modeldyno.engines.availability import availability
from modeldyno.engines.environments import Environment
from modeldyno.services.environments import add_engine, remove_engine
from tests.environments import VERSION, bare, package, second_onnxruntime, shelf, site_of


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    return shelf(tmp_path / "engines", monkeypatch)


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    return bare(tmp_path_factory.mktemp("empty"))


def refusal(name: str, **said) -> ModeldynoError:
    with pytest.raises(ModeldynoError) as caught:
        add_engine(name, **said)
    assert [one.name for one in environments.added_environments()] == []
    return caught.value


def left_in(folder):
    return [path.name for path in folder.iterdir() if path.name != ".lock"]


# ---------------------------------------------------------------- what is asked


@pytest.mark.parametrize("name", ["", "Ort", "a/b", "../x", "-x", "x" * 41])
def test_names_are_plain(name, empty):
    assert "cannot be called" in refusal(name, python=str(empty)).title


@pytest.mark.parametrize("name", ["onnxruntime", "ort"])
def test_a_name_of_ours_is_taken(name, empty):
    error = refusal(name, python=str(empty))
    assert (type(error), error.title) == (BadValue, f"The name {name!r} is taken")


def test_it_must_be_said_where_the_engine_is():
    assert "--pip" in refusal("second").fix


def test_options_of_pip_are_no_requirements():
    assert "is not a requirement" in refusal("second", requirements=["--index-url=x"]).title


def test_an_engine_that_we_do_not_know_is_refused(empty):
    error = refusal("second", python=str(empty), engine="abacus")
    assert "onnxruntime" in error.why


@pytest.mark.parametrize(
    "said", [{"requirements": ["deepsparse==1.8.0"]}, {"python": sys.base_prefix + "/bin/python3"}]
)
def test_a_licence_must_be_accepted_before_anything_happens(said, folder):
    error = refusal("deepsparse", **said)
    assert "evaluation" in error.why
    assert "--accept-licence" in error.fix
    assert not folder.exists()


# ---------------------------------------------------------------- the other Python


def test_a_python_that_is_not_there_is_refused(tmp_path):
    assert "There is no Python" in refusal("second", python=str(tmp_path / "no")).title


def test_our_own_python_is_refused():
    assert "in which Modeldyno runs" in refusal("second", python=sys.executable).title


@pytest.mark.usefixtures("starts_processes")
def test_another_python_beside_our_own_is_none_of_ours(tmp_path, monkeypatch):
    """As /usr/bin/python3.12 is beside /usr/bin/python3.11."""
    for name in ("python3.11", "python3.12"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "python3").symlink_to("python3.11")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python3.11"))
    assert "is not a usable Python" in refusal("second", python=str(tmp_path / "python3.12")).title
    assert "in which Modeldyno runs" in refusal("second", python=str(tmp_path / "python3")).title


@pytest.mark.usefixtures("starts_processes")
def test_a_program_that_is_no_python_is_refused(tmp_path):
    assert "is not a usable Python" in refusal("second", python=shutil.which("true")).title


@pytest.mark.usefixtures("starts_processes")
def test_an_old_python_is_refused_with_its_version(tmp_path):
    old = tmp_path / "python"
    old.write_text("""#!/bin/sh\necho '{"version": [3, 9, 18], "paths": []}'\n""")
    old.chmod(0o755)
    error = refusal("second", python=str(old))
    assert error.title == "Python 3.9.18 is too old"
    assert "3.11" in error.fix


@pytest.mark.usefixtures("starts_processes")
def test_a_python_without_an_engine_is_refused(empty):
    error = refusal("second", python=str(empty))
    assert isinstance(error, EngineUnavailable)
    assert "onnxruntime" in error.why


@pytest.mark.usefixtures("starts_processes")
def test_of_several_engines_one_must_be_named(tmp_path):
    python = bare(tmp_path / "env")
    package(python, "onnxruntime", "1.30.0")
    package(python, "torch", "2.13.0")
    assert "--engine onnxruntime" in refusal("second", python=str(python)).fix


@pytest.mark.usefixtures("starts_processes")
def test_an_engine_that_is_too_old_is_refused(tmp_path):
    python = bare(tmp_path / "env")
    package(python, "torch", "2.9.1")
    error = refusal("second", python=str(python))
    assert error.title == "PyTorch 2.9.1 is too old"


@pytest.mark.usefixtures("starts_processes")
def test_packages_of_ours_are_not_its_own(tmp_path):
    """NumPy is installed here, and not there: so the engine there does not work."""
    python = bare(tmp_path / "env")
    package(python, "onnxruntime", "1.30.0", "__version__ = '1.30.0'")
    error = refusal("second", python=str(python))
    assert isinstance(error, EngineUnavailable)
    assert "numpy" in error.why


@pytest.mark.usefixtures("starts_processes")
def test_an_engine_that_cannot_be_imported_says_why(tmp_path, folder):
    python = bare(tmp_path / "env")
    package(python, "onnxruntime", "1.30.0", "raise ImportError('libcuda is away')")
    assert "libcuda is away" in refusal("second", python=str(python)).why
    assert left_in(folder) == []


@pytest.mark.slow
def test_when_pip_fails_its_last_words_are_told_and_nothing_is_left(folder, tmp_path):
    told: list[str] = []
    wheel = tmp_path / "onnxruntime-9.0-py3-none-any.whl"
    wheel.write_text("no wheel")
    error = refusal("second", requirements=[str(wheel)], report=told.append)
    assert isinstance(error, InstallFailed)
    assert wheel.name in error.why
    assert told[0].startswith("Making an environment")
    assert left_in(folder) == []


def test_two_cannot_change_engines_at_once(folder, empty):
    folder.mkdir()
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "Another process" in refusal("second", python=str(empty)).title


# ---------------------------------------------------------------- once it is there


def kept(name: str, python: str, **more) -> Environment:
    there = Environment(name, "onnxruntime", python, "3.11.7", (), **more)
    environments.save(there)
    return there


@pytest.mark.usefixtures("starts_processes")
def test_one_that_was_added_is_listed_and_can_be_removed(folder):
    add_engine("second", python=str(second_onnxruntime()))
    found = availability()[-1]
    assert (found.name, found.usable, found.adapter) == ("second", True, "onnxruntime")
    assert found.version == VERSION
    assert found.origin == str(second_onnxruntime())
    with pytest.raises(BadValue, match="is taken"):
        add_engine("second", python=str(second_onnxruntime()))
    remove_engine("second")
    assert left_in(folder) == []
    assert second_onnxruntime().exists()
    with pytest.raises(BadValue, match="No engine"):
        remove_engine("second")


def test_one_whose_python_went_away_says_so(tmp_path):
    kept("second", str(tmp_path / "gone"))
    with pytest.raises(EngineUnavailable) as caught:
        catalog.require_usable("second")
    assert caught.value.why == f"its Python no longer exists: {tmp_path / 'gone'}"
    assert "modeldyno engines remove second" in caught.value.fix


def test_one_whose_package_went_away_says_so(empty):
    kept("second", str(empty))
    (found,) = [one for one in availability() if one.name == "second"]
    assert "no longer in its environment" in str(found.why_not)


def test_a_damaged_entry_is_listed_and_can_be_removed(folder):
    (folder / "second").mkdir(parents=True)
    (folder / "second" / "engine.json").write_text("{}")
    assert "its entry is damaged" in str(availability()[-1].why_not)
    remove_engine("second")
    assert left_in(folder) == []


def test_a_name_of_ours_that_is_not_installed_can_be_given_to_one(tmp_path, monkeypatch):
    absent = catalog.EngineEntry(
        "abacus", "a:A", "abacus", "", ("cpu",), ("beads",), title="Abacus"
    )
    monkeypatch.setattr(catalog, "BUILT_IN", (*catalog.BUILT_IN, absent))
    python = bare(tmp_path / "env")
    package(python, "abacus", "2.0")
    there = Environment("abacus", "abacus", str(python), "3.11.7", (str(site_of(python)),))
    assert not catalog.is_usable(catalog.find("abacus"))
    environments.save(there)
    assert catalog.for_format("beads").environment == there
    assert catalog.title_of("abacus") == "Abacus"


def test_a_legacy_engine_is_known_only_once_it_was_added():
    assert "deepsparse" not in [entry.name for entry in catalog.entries()]
    with pytest.raises(EngineUnavailable) as caught:
        catalog.find("deepsparse")
    assert "modeldyno engines add deepsparse" in caught.value.fix
