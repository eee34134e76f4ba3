"""Which model a name means, and what no name can reach."""

from __future__ import annotations

import os
from urllib.parse import quote

import pytest

from modeldyno.core.ids import ModelId, ProjectId
from modeldyno.core.models import NewModel
from modeldyno.formats import scripted
from modeldyno.store.named_models import NamedModels
from tests import onnx_models as made
from tests.api.v1.by_name import ask, folders, found, measured, refused
from tests.api.v1.server import serving
from tests.scripts import script

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def served(tmp_path_factory, starts_processes):
    workspace = tmp_path_factory.mktemp("served")
    folders(workspace)
    with serving(workspace) as found:
        yield found


@pytest.fixture
def models(served):
    """The three folders, empty."""
    top = served.workspace / "models"
    for name in ("exported", "trained", "quantized"):
        for path in sorted((top / name).rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    return top


def missing(served, name, **said):
    return refused(ask(served, name, **said), 404, "MODEL_NOT_FOUND")


# ---------------------------------------------------------------- names


def test_a_name_may_lack_its_suffix_or_say_its_folder(models):
    for path in ("exported/net.onnx", "trained/net.pt", "quantized/bert/model.onnx"):
        (models / path).parent.mkdir(exist_ok=True)
        (models / path).touch()
    find = NamedModels(models.parent).find
    assert find("net.onnx") == ("exported/net.onnx",)
    assert find("net") == ("exported/net.onnx", "trained/net.pt")
    assert find("models/exported/net.onnx") == find("exported/net") == ("exported/net.onnx",)
    assert find("bert/model.onnx") == find("models/quantized/bert/model")
    assert find("model.onnx") == find("models/net.onnx") == find("models") == ()


@pytest.mark.parametrize("suffix", [".tflite", ".xml", ".pb", ".torchscript"])
def test_a_name_without_its_suffix_means_a_file_of_any_format(models, suffix):
    (models / "exported" / f"net{suffix}").touch()
    assert NamedModels(models.parent).find("net") == (f"exported/net{suffix}",)


def test_a_configuration_beside_a_model_is_not_meant_by_its_name(models):
    for name in ("net.json", "net.onnx"):
        (models / "exported" / name).touch()
    assert NamedModels(models.parent).find("net") == ("exported/net.onnx",)


def test_endpoint_defect_06_a_part_of_a_name_finds_nothing(served, models):
    """Theirs took the first file that had it somewhere in its name."""
    script(models / "exported" / "tenn_eeg.json")
    made.saved(made.linear(), models / "exported" / "tenn_eeg_v2.onnx")
    for name in ("tenn", "eeg", "tenn_eeg_v", "TENN_EEG_V2.onnx", "tenn_eeg_v2.onn"):
        missing(served, name)
    assert found(served, "tenn_eeg_v2")["model_name"] == "tenn_eeg_v2.onnx"


def test_a_typing_mistake_is_met_with_a_suggestion(served, models):
    made.saved(made.linear(), models / "exported" / "tenn_eeg.onnx")
    assert "tenn_eeg.onnx" in missing(served, "ten_eeg.onnx")["fix"]


def test_an_ambiguous_name_lists_the_candidates_and_each_can_be_asked_for(served, models):
    script(models / "exported" / "same.json", latency_us=100)
    script(models / "quantized" / "same.json", latency_us=50)
    number = served.model(served.project(), "same.json", latency_us=70)
    told = refused(ask(served, "same.json"), 409, "NAME_AMBIGUOUS", "candidates")
    candidates = ["models/exported/same.json", "models/quantized/same.json", f"models/{number}"]
    assert told["candidates"] == candidates
    assert all(name in told["detail"] for name in candidates)
    assert [found(served, name)["model_path"] for name in candidates] == candidates


def test_a_name_without_its_suffix_is_refused_when_two_files_could_be_meant(served, models):
    made.saved(made.linear(), models / "exported" / "net.onnx")
    (models / "trained" / "net.pt").write_bytes(b"other")
    told = refused(ask(served, "net"), 409, "NAME_AMBIGUOUS", "candidates")
    assert told["candidates"] == ["models/exported/net.onnx", "models/trained/net.pt"]


def test_two_files_of_the_same_content_are_one_model(served, models):
    for folder in ("exported", "quantized"):
        script(models / folder / "twin.json")
    assert found(served, "twin.json")["model_path"] == "models/exported/twin.json"


def test_a_model_of_a_project_is_found_by_its_name_and_by_its_number(served, models):
    number = served.model(served.project(), "Registered one.json")
    for name in ("Registered%20one.json", "Registered%20one", f"models/{number}"):
        told = found(served, name)
        assert told["model_name"] == "Registered one.json"
        assert told["model_path"] == f"models/{number}"
    made = measured(served, f"models/{number}", iterations=1)["benchmark_id"]
    assert served.get(f"benchmarks/{made}").json["model_id"] == number  # in the model's project
    refused(ask(served, "models/999999"), 404, "NOT_FOUND")


def test_files_of_the_terminal_are_not_reached(served, models, tmp_path):
    path = script(tmp_path / "outside.json")
    facts = scripted.read(path)
    new = NewModel(
        project_id=ProjectId(served.project()), name="outside.json", path=str(path),
        format=facts.format, sha256=facts.sha256, facts=facts, origin="terminal",
    )  # fmt: skip
    number: ModelId = served.server.records.models.add(new).id
    missing(served, "outside.json")
    missing(served, f"models/{number}")


# ---------------------------------------------------------------- looked at anew


def test_the_folders_are_read_afresh_each_time(served, models):
    missing(served, "fresh.onnx")
    file = models / "exported" / "fresh.onnx"
    made.saved(made.linear(), file)
    assert measured(served, "fresh.onnx")["parameters"] == 15
    made.saved(made.embedding(), file)
    told = measured(served, "fresh.onnx")
    assert (told["parameters"], told["input_dtypes"]) == (400, {"ids": "int64"})
    file.unlink()
    missing(served, "fresh.onnx")  # what was made of it before does not count


def test_endpoint_defect_08_a_missing_file_with_its_folder_named_is_not_found(served, models):
    """Theirs believed whatever began with models/, and answered 200."""
    missing(served, "models/exported/none.onnx")
    missing(served, "models/none.onnx")


@pytest.mark.parametrize("is_there", [True, False])
def test_empty_folders_and_none_at_all_are_told_in_words(served, models, is_there):
    if not is_there:
        (models / "quantized").rmdir()
    told = missing(served, "x.onnx")
    assert "models/exported" in told["detail"]
    (models / "quantized").mkdir(exist_ok=True)


def test_sweeping_what_nobody_needs_leaves_these_folders_alone(served, models):
    file = script(models / "exported" / "kept.json")
    project = served.project()
    gone = served.post(f"projects/{project}/models?name=m.json", file.read_bytes(),
                       content_type="application/octet-stream").json  # fmt: skip
    served.delete(f"models/{gone['id']}")
    served.server.model_files.sweep()
    assert file.exists()
    assert {path.name for path in models.iterdir()} >= {"exported", "trained", "quantized"}
    assert found(served, "kept.json")["model_name"] == "kept.json"


# ---------------------------------------------------------------- files that are none, or not yet


def test_endpoint_defect_03_garbage_is_refused_and_never_timed(served, models):
    """Theirs swallowed the error and timed an untrained net of its own."""
    (models / "trained" / "best_model.pt").write_text("this is not a model")
    (models / "exported" / "broken.onnx").write_bytes(os.urandom(500))
    whole = made.linear().SerializeToString()
    (models / "exported" / "half.onnx").write_bytes(whole[: len(whole) // 2])
    (models / "exported" / "empty.onnx").touch()
    before = served.get("benchmarks").json["items"][:1]
    for name in ("best_model.pt", "broken.onnx", "half.onnx", "empty.onnx"):
        told = refused(ask(served, name), 400, "MODEL_UNREADABLE")
        assert name in told["message"]
    assert served.get("benchmarks").json["items"][:1] == before  # nothing was put in the queue


def test_a_file_that_is_being_written_is_refused_until_it_is_whole(served, models):
    file = models / "exported" / "growing.onnx"
    with file.open("wb") as writing:
        writing.write(made.linear().SerializeToString())
        writing.flush()
        told = refused(ask(served, "growing.onnx"), 409, "MODEL_CHANGED")
        assert "being written" in told["message"]
    assert found(served, "growing.onnx")["model_name"] == "growing.onnx"


# ---------------------------------------------------------------- never outside


@pytest.fixture
def outside(served):
    """A model that is no name's business, and its control: it can be measured where it may be."""
    path = script(served.workspace / "secret.json")
    yield path
    path.unlink()


@pytest.mark.parametrize(
    "name",
    [
        "../secret.json",
        "models/../secret.json",
        "models/exported/../../secret.json",
        "..%2fsecret.json",
        "%2e%2e/secret.json",
        "models/exported/%2e%2e/%2e%2e/secret.json",
        "models%2fexported%2f..%2f..%2fsecret.json",
        "models/exported/%252e%252e/%252e%252e/secret.json",
        "..%5csecret.json",
        "%2fetc%2fpasswd",
        "/etc/passwd",
        "exported//secret.json",
        "~/secret.json",
        "file:secret.json",
        "secret.json%00.onnx",
        "exported/./secret.json",
        ".hidden.json",
    ],
)
def test_endpoint_defect_07_no_path_leads_out_of_the_folders(served, models, outside, name):
    """Theirs loaded and timed a file outside of them."""
    script(models / "exported" / ".hidden.json")
    answer = ask(served, name)
    assert answer.status in (400, 403, 404), answer.text
    assert answer.json["status"] == "error"
    assert answer.headers["Content-Type"] == "application/json"


def test_what_is_outside_is_measured_once_it_is_inside(served, models, outside):
    (models / "exported" / "secret.json").write_bytes(outside.read_bytes())
    assert found(served, "secret.json")["model_name"] == "secret.json"


def test_no_link_leads_out_of_the_folders(served, models, outside):
    (models / "exported" / "link.json").symlink_to(outside)
    (models / "exported" / "folder").symlink_to(served.workspace)
    os.link(outside, models / "exported" / "second.json")
    for name in ("link.json", "folder/secret.json", "second.json"):
        refused(ask(served, name), 403, "PATH_REFUSED")
    (models / "exported" / "link.json").unlink()
    (models / "exported" / "folder").unlink()


def test_a_folder_that_is_a_link_is_not_followed(served, models, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    script(elsewhere / "far.json")
    (models / "quantized").rmdir()
    (models / "quantized").symlink_to(elsewhere)
    refused(ask(served, "far.json"), 403, "PATH_REFUSED")
    (models / "quantized").unlink()
    (models / "quantized").mkdir()
    (elsewhere / "far.json").rename(models / "quantized" / "far.json")
    assert found(served, "far.json")["model_path"] == "models/quantized/far.json"


def test_weights_beside_a_model_come_from_the_same_folder(served, models, tmp_path):
    import onnx

    big = made.linear()
    onnx.save(big, models / "exported" / "outer.onnx", save_as_external_data=True,
              location="outer.bin", size_threshold=0)  # fmt: skip
    assert measured(served, "outer.onnx")["parameters"] == 15
    weights = models / "exported" / "outer.bin"
    weights.rename(tmp_path / "outer.bin")
    weights.symlink_to(tmp_path / "outer.bin")
    assert ask(served, "outer.onnx").status in (400, 403)
    weights.unlink()
    refused(ask(served, "outer.onnx"), 404, "FILE_NOT_FOUND")


def test_odd_names_are_shown_harmlessly(served, models):
    assert "<script>" in missing(served, quote("<script>.onnx"))["message"]  # JSON, not a page
    refused(ask(served, quote("a\u202eb.onnx")), 403, "PATH_REFUSED")
