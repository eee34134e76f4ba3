"""Models, over real HTTP: sent, imported, completed, vouched for, looked into, deleted."""

import hashlib
import http.client
import io
import itertools
import json
import os
import select
import tarfile
import threading
import time
import zipfile
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote

import pytest
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto, helper
from onnx.external_data_helper import set_external_data

from modeldyno.core.errors import UnsafeFormat
from modeldyno.core.ids import ModelId
from modeldyno.core.specs import BenchmarkSpec, CellSpec, ModelSpec
from modeldyno.demo import model_path
from tests import tf_files, torch_archives
from tests.api.v1.server import PATIENCE_S, serving
from tests.onnx_models import linear, model, value
from tests.schemas import check
from tests.scripts import script
from tests.terminal import modeldyno

FILE = "application/octet-stream"
SCRIPT = {"modeldyno": "scripted/1", "latency_us": 50}


def bytes_of(number=0, **said):
    """A model of the scripted engine that no other test has."""
    return json.dumps(SCRIPT | {"seed": number} | said).encode()


def send(served, project, data, name="net.onnx"):
    return served.ask("POST", f"projects/{project}/models?name={name}", data, content_type=FILE)


def in_two_parts(*weights):
    """A linear model whose weights lie in files of these names, and what those hold."""
    made = linear()
    parts: dict[str, bytes] = {}
    for tensor, place in zip(made.graph.initializer, weights, strict=True):
        parts[place] = parts.get(place, b"") + tensor.raw_data
        offset = len(parts[place]) - len(tensor.raw_data)
        set_external_data(tensor, place, offset, len(tensor.raw_data))
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
    return made.SerializeToString(), parts


def scoped():
    """Four nodes in two groups of one group."""
    names = ["/enc/a/Relu_0", "/enc/a/Relu_1", "/enc/b/Relu_2", "/enc/b/Relu_3"]
    tensors = ["x", "t1", "t2", "t3", "y"]
    nodes = [
        helper.make_node("Relu", [before], [after], name)
        for name, before, after in zip(names, tensors, tensors[1:], strict=False)
    ]
    shape = [1, 4]
    return model(nodes, [value("x", shape=shape)], [value("y", shape=shape)]).SerializeToString()


def spec_of(path, sha256=None):
    return BenchmarkSpec(ModelSpec(path, sha256=sha256), (CellSpec(),))


def files_of(served):
    """What lies in the workspace for models: names, and how many bytes each."""
    served.server.model_files.sweep()
    tops = [served.workspace / folder for folder in ("objects", "models")]
    try:
        found = [path for top in tops for path in top.rglob("*") if path.is_file()]
        return {str(path.relative_to(served.workspace)): path.stat().st_size for path in found}
    except FileNotFoundError:  # it was swept meanwhile
        return files_of(served)


def until(is_so):
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


# ---------------------------------------------------------------- in


def test_a_model_is_sent_read_and_measured(served, project):
    data = model_path().read_bytes()
    sent = send(served, project, data, "digits.onnx")
    assert sent.status == 201, sent.text
    made = sent.json
    assert sent.headers["Location"] == f"/api/v1/models/{made['id']}"
    assert (made["name"], made["state"], made["format"]) == ("digits.onnx", "ready", "onnx")
    assert made["sha256"] == hashlib.sha256(data).hexdigest()
    assert (made["origin"], made["source"], made["tier"]) == ("upload", "digits.onnx", "data")
    check("model", made["facts"])
    assert made["facts"]["path"] == "digits.onnx"
    assert made["facts"]["inputs"][0]["dtype"] == "float32"
    assert made["trust"]["is_needed"] is False
    assert served.get(f"models/{made['id']}").json == made
    listed = served.get(f"projects/{project}/models").json["items"]
    assert listed == [{key: made[key] for key in made if key != "facts"}]
    ready = served.server.models.require_runnable(ModelId(made["id"]))
    assert Path(ready.path).read_bytes() == data
    assert [path.name for path in Path(ready.path).parent.iterdir()] == ["digits.onnx"]


def test_what_cannot_be_read_is_refused_with_the_readers_words_and_nothing_stays(served, project):
    before = files_of(served)
    refused = send(served, project, b"\x00\x01 no model at all", "noise.onnx")
    assert refused.status == 400
    assert refused.json["code"] == "MODEL_UNREADABLE"
    assert "noise.onnx" in refused.json["title"]
    assert refused.json["fix"]
    assert served.get(f"projects/{project}/models").json["items"] == []
    assert files_of(served) == before


def test_a_sweep_that_fails_does_not_hide_why_a_file_was_refused(
    served, project, monkeypatch, caplog
):
    def refuse(*_, **__):
        raise PermissionError("somebody else's")

    with monkeypatch.context() as patched:
        patched.setattr(served.server.model_files._bundles, "delete_unused", refuse)
        sent = send(served, project, b"no model")
    assert (sent.status, sent.json["code"]) == (400, "MODEL_UNREADABLE"), sent.text
    assert "somebody else's" in caplog.text
    assert served.server.model_files.sweep() >= 1


def test_the_same_content_is_kept_once_whatever_it_is_called(served):
    data = bytes_of(1)
    one, two = served.project(), served.project()
    first = send(served, one, data, "a.json").json
    after_one = files_of(served)
    again = send(served, two, data, "a.json").json
    assert first["sha256"] == again["sha256"]
    assert files_of(served) == after_one
    other = send(served, two, data, "b.json").json
    inodes = {
        path.stat().st_ino
        for path in (served.workspace / "models" / first["sha256"]).rglob("*.json")
    }
    assert len(inodes) == 1  # two names of one file
    assert other["facts"]["path"] == "b.json"


def test_files_go_with_the_last_model_that_has_them(served):
    data = bytes_of(2)
    one, two = served.project(), served.project()
    before = files_of(served)
    first, second = send(served, one, data).json["id"], send(served, two, data).json["id"]
    assert served.delete(f"models/{first}").status == 204
    assert served.get(f"models/{first}").status == 404
    served.server.model_files.sweep()
    assert served.get(f"models/{second}/file").body == data
    place = served.workspace / "models" / hashlib.sha256(data).hexdigest()
    assert place.exists()
    assert served.delete(f"projects/{two}?cascade=true").status == 204
    until(lambda: not place.exists())  # nobody asked: the deletion was heard
    assert files_of(served) == before


def test_a_model_that_is_used_stays_with_its_files(served, project):
    number = send(served, project, bytes_of(3)).json["id"]
    used = served.server.records.models.get(ModelId(number))
    served.server.benchmarks.create(used.project_id, used.id, "b", spec_of)
    assert served.delete(f"models/{number}").json["code"] == "STILL_USED"
    served.server.model_files.sweep()
    assert Path(used.path).exists()


def test_names_are_kept_as_they_are_and_never_become_paths(served, project):
    name = "Größe 模型; x&y=%41.onnx"
    made = send(served, project, bytes_of(4), quote(name)).json
    assert made["name"] == name
    path = Path(served.server.records.models.get(ModelId(made["id"])).path)
    assert path.name.isascii()
    assert path.name.replace(".", "").replace("_", "").isalnum()
    attached = served.get(f"models/{made['id']}/file").headers["Content-Disposition"]
    assert attached == f"attachment; filename*=UTF-8''{quote(name, safe='')}"


def test_two_files_at_a_time_are_received(served, project):
    with served.server.model_files.receiving(), served.server.model_files.receiving():
        busy = send(served, project, bytes_of(5))
    assert (busy.status, busy.json["code"]) == (429, "TOO_BUSY")
    assert send(served, project, bytes_of(5)).status == 201


def slow_to_read(seed):
    """Every branch sees every value before it: a megabyte that takes a worker many seconds."""
    count = 30_000
    names = ["x", *(f"{seed}{number}" for number in range(count))]
    nodes = [
        NodeProto(op_type="Identity", input=[a], output=[b]) for a, b in itertools.pairwise(names)
    ]
    branch = AttributeProto(name="b", type=AttributeProto.GRAPH, g=GraphProto(name="b"))
    nodes += [NodeProto(op_type="If", output=["y"], attribute=[branch])] * count
    ends = [value("x", TensorProto.INT64, [1])], [value("y", TensorProto.INT64, [1])]
    return model(nodes, *ends).SerializeToString()


@pytest.mark.usefixtures("starts_processes")
def test_a_file_that_takes_long_to_read_does_not_keep_others_out(tmp_path):
    with serving(tmp_path / "workspace") as served, ExitStack() as links:
        project = served.project()
        waiting = []
        for seed in ("a", "b"):
            data = slow_to_read(seed)
            said = {"Authorization": f"Bearer {served.token}", "Content-Type": FILE}
            link = http.client.HTTPConnection("127.0.0.1", served.port, timeout=PATIENCE_S)
            links.callback(link.close)
            address = f"/api/v1/projects/{project}/models?name={seed}.onnx"
            link.request("POST", address, data, said)
            waiting.append(link.sock)
        assert send(served, project, bytes_of(5)).status == 201
        assert send(served, project, bytes_of(6)).status == 201
        answered, _, _ = select.select(waiting, [], [], 0)
        assert answered == []  # those are still being read


def test_a_file_is_sent_as_it_is_or_not_at_all(served, project):
    form = served.ask(
        "POST", f"projects/{project}/models?name=a.onnx", b"--x", content_type="multipart/form-data"
    )
    assert (form.status, form.headers["Content-Type"]) == (415, "application/problem+json")
    assert send(served, 999_999, b"x").status == 404
    assert served.ask("POST", f"projects/{project}/models", b"x", content_type=FILE).status == 422


# ---------------------------------------------------------------- weights


def test_a_model_waits_for_its_weights_and_then_it_runs(served, project):
    data, parts = in_two_parts("w.bin", "deep/b.bin")
    sent = send(served, project, data)
    assert sent.status == 201, sent.text
    number = sent.json["id"]
    assert (sent.json["state"], sent.json["missing"]) == ("incomplete", ["deep/b.bin", "w.bin"])
    assert sent.json["facts"]["inputs"][0]["name"] == "x"
    early = served.post("benchmarks", {"project_id": project, "model_id": number})
    assert (early.status, early.json["code"]) == (409, "WRONG_STATE")
    assert "w.bin" in early.json["detail"]

    half = served.ask("PUT", f"models/{number}/files/w.bin", parts["w.bin"], content_type=FILE)
    assert (half.status, half.json["missing"]) == (200, ["deep/b.bin"])
    whole = served.ask(
        "PUT", f"models/{number}/files/deep/b.bin", parts["deep/b.bin"], content_type=FILE
    )
    assert (whole.status, whole.json["state"], whole.json["missing"]) == (200, "ready", [])
    assert [file["location"] for file in whole.json["facts"]["external"]] == [
        "deep/b.bin",
        "w.bin",
    ]
    folder = Path(served.server.models.require_runnable(ModelId(number)).path).parent
    late = served.ask("PUT", f"models/{number}/files/w.bin", b"x", content_type=FILE)
    assert (late.status, late.json["code"]) == (409, "WRONG_STATE")

    served.server.model_files.sweep()
    # The folder without weights is gone; of the model, there is one file with two names.
    assert [*(served.workspace / "models" / sent.json["sha256"]).iterdir()] == [folder]
    held = {str(p.relative_to(folder)): p.stat().st_nlink for p in folder.rglob("*.*")}
    assert held == {"net.onnx": 2, "w.bin": 1, "deep/b.bin": 1}

    made = served.benchmark(project, number)
    job = served.ended(made["latest_run"]["job_id"])
    assert job["state"] == "done", job
    result = served.get(f"runs/{job['run_id']}/result").json
    assert [file["location"] for file in result["model"]["external"]] == ["deep/b.bin", "w.bin"]
    assert not any((served.workspace / "models" / "waiting").iterdir())


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_a_model_and_its_weights_may_come_packed(served, project, kind):
    data, parts = in_two_parts("w.bin", "deep/b.bin")
    members = {"a/net.onnx": data, **{f"a/{name}": held for name, held in parts.items()}}
    body = packed(kind, members | {"a/README.md": b"left out"})
    sent = send(served, project, body, "a/net.onnx&packed=true")
    assert sent.status == 201, sent.text
    assert (sent.json["state"], sent.json["name"]) == ("ready", "net.onnx")
    folder = Path(served.server.models.require_runnable(ModelId(sent.json["id"])).path).parent
    assert {p.name for p in folder.rglob("*.*")} == {"net.onnx", "w.bin", "b.bin"}
    before = files_of(served)
    lacking = packed(kind, {"net.onnx": data, "w.bin": parts["w.bin"]})
    refused = send(served, project, lacking, "net.onnx&packed=true")
    assert (refused.status, refused.json["code"]) == (404, "FILE_NOT_FOUND")
    assert "deep/b.bin" in refused.json["title"]
    assert files_of(served) == before


def packed(kind, members):
    body = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(body, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, held in members.items():
                archive.writestr(name, held)
    else:
        with tarfile.open(fileobj=body, mode="w:gz") as tar:
            for name, held in members.items():
                info = tarfile.TarInfo(name)
                info.size = len(held)
                tar.addfile(info, io.BytesIO(held))
    return body.getvalue()


def test_weights_of_which_the_database_did_not_hear_are_found_again(served, project):
    """The server was killed after a file arrived, and before it was written down."""
    data, parts = in_two_parts("w.bin", "b.bin")
    number = send(served, project, data, "killed.onnx").json["id"]
    waiting = served.workspace / "models" / "waiting" / str(number)
    waiting.mkdir()
    (waiting / "w.bin").write_bytes(parts["w.bin"])
    assert served.post(f"models/{number}/inspect").json["missing"] == ["b.bin"]
    # And once more while it looked at the model among its weights.
    os.link(served.server.models.get(ModelId(number)).model.path, waiting / "killed.onnx")
    again = served.post(f"models/{number}/inspect").json
    assert [file["location"] for file in again["facts"]["external"]] == ["w.bin"]
    (waiting / "b.bin").write_bytes(parts["b.bin"])
    assert served.post(f"models/{number}/inspect").json["state"] == "ready"
    assert not waiting.exists()


def test_weights_that_do_not_fit_are_refused_and_may_be_sent_again(served, project):
    data, parts = in_two_parts("w.bin", "w.bin")
    number = send(served, project, data, "short.onnx").json["id"]
    short = served.ask("PUT", f"models/{number}/files/w.bin", b"1234", content_type=FILE)
    assert (short.status, short.json["code"]) == (400, "MODEL_UNREADABLE")
    assert "truncated" in short.json["title"]
    assert served.get(f"models/{number}").json["missing"] == ["w.bin"]
    good = served.ask("PUT", f"models/{number}/files/w.bin", parts["w.bin"], content_type=FILE)
    assert good.json["state"] == "ready"


def test_the_same_model_with_other_weights_is_another_one(served):
    data, parts = in_two_parts("w.bin", "w.bin")
    found = []
    for weights in (parts["w.bin"], bytes(len(parts["w.bin"])), parts["w.bin"]):
        number = send(served, served.project(), data).json["id"]
        sent = served.ask("PUT", f"models/{number}/files/w.bin", weights, content_type=FILE)
        assert sent.json["state"] == "ready"
        path = Path(served.server.models.require_runnable(ModelId(number)).path)
        assert path.with_name("w.bin").read_bytes() == weights
        found.append(path)
    assert found[0] == found[2] != found[1]


def test_only_weights_that_a_model_names_are_taken(served, project):
    data, _ = in_two_parts("w.bin", "w.bin")
    number = send(served, project, data, "x.onnx").json["id"]
    for name, code in (("other.bin", "FILE_NOT_FOUND"), ("x.onnx", "FILE_NOT_FOUND")):
        refused = served.ask("PUT", f"models/{number}/files/{name}", b"x", content_type=FILE)
        assert refused.json["code"] == code
    assert served.get(f"models/{number}").json["missing"] == ["w.bin"]


def in_shards(folder, shards):
    """A SavedModel whose weights are split, and its files by their names."""
    tf_files.saved_folder(folder, tf_files.calling(), shards)
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def shard(number, count):
    return f"variables/variables.data-{number:05}-of-{count:05}"


def test_the_index_of_a_saved_model_tells_into_how_many_files_its_weights_are_split(
    served, project, tmp_path
):
    files = in_shards(tmp_path / "net", 2)
    index, first, second = "variables/variables.index", shard(0, 2), shard(1, 2)
    made = send(served, project, files["saved_model.pb"], "saved_model.pb").json
    assert made["missing"] == [index, shard(0, 1)]  # as most have it

    def put(name, data):
        return served.ask("PUT", f"models/{made['id']}/files/{name}", data, content_type=FILE)

    assert put(first, files[first]).json["code"] == "FILE_NOT_FOUND"
    assert put(shard(0, 1), b"what another model has").status == 200
    assert put(index, b"something else").json["code"] == "MODEL_UNREADABLE"
    assert put(index, files[index]).json["missing"] == [first, second]
    assert put(shard(2, 2), b"x").json["code"] == "FILE_NOT_FOUND"
    assert put(second, files[second]).json["missing"] == [first]
    assert served.post(f"models/{made['id']}/inspect").json["missing"] == [first]
    whole = put(first, files[first]).json
    assert (whole["state"], whole["missing"]) == ("ready", [])
    assert [one["location"] for one in whole["facts"]["external"]] == [index, first, second]
    folder = Path(served.server.models.require_runnable(ModelId(made["id"])).path).parent
    assert {str(p.relative_to(folder)) for p in folder.rglob("*.*")} == {*files}


def test_a_saved_model_comes_with_all_its_shards_or_not_at_all(allowed, tmp_path):
    served, root = allowed
    files = in_shards(root / "sub/deep/sharded", 3)
    project = served.project()
    made = served.post(f"projects/{project}/models/import", {"path": "sub/deep/sharded"})
    assert (made.status, made.json["state"]) == (201, "ready"), made.text
    assert len(made.json["facts"]["external"]) == 4
    body = packed("zip", {f"net/{name}": data for name, data in files.items()})
    sent = send(served, project, body, "net&packed=true")
    assert (sent.status, len(sent.json["facts"]["external"])) == (201, 4), sent.text

    last = root / "sub/deep/sharded" / shard(2, 3)
    last.rename(tmp_path / "elsewhere")
    before = files_of(served)
    absent = served.post(f"projects/{project}/models/import", {"path": "sub/deep/sharded"})
    assert (absent.status, absent.json["code"]) == (404, "FILE_NOT_FOUND")
    assert shard(2, 3) in absent.json["title"]
    last.symlink_to(tmp_path / "elsewhere")
    linked = served.post(f"projects/{project}/models/import", {"path": "sub/deep/sharded"})
    assert (linked.status, linked.json["code"]) == (403, "PATH_REFUSED")
    assert files_of(served) == before


def test_a_signature_is_one_that_the_model_has(served, project):
    model = send(served, project, tf_files.two_ways(), "saved_model.pb").json
    assert [one["name"] for one in model["facts"]["signatures"]] == ["serving_default", "shift"]
    asked = {"project_id": project, "model_id": model["id"]}
    made = served.post("benchmarks", asked | {"signature": "shift", "start": False}).json
    assert (made["settings"]["signature"], made["state"]) == ("shift", "draft")
    side = {"model_id": model["id"]}
    for kind, wrong in (
        ("benchmarks", asked | {"signature": "shifd"}),
        ("profiles", asked | {"signature": "shifd"}),
        ("comparisons", {"project_id": project, "a": side, "b": side | {"signature": "shifd"}}),
    ):
        refused = served.post(kind, wrong)
        assert (refused.status, refused.json["code"]) == (400, "BAD_VALUE"), refused.text
        assert "serving_default, shift" in refused.json["detail"]


# ---------------------------------------------------------------- trust


def test_a_program_runs_only_after_somebody_vouched_for_it(served, project, tmp_path):
    data = torch_archives.torchscript(tmp_path / "net.pt", "x: Tensor").read_bytes()
    made = send(served, project, data, "net.pt").json
    number = made["id"]
    assert (made["state"], made["tier"]) == ("untrusted", "program")
    assert made["trust"]["is_needed"] is True
    assert "program" in made["trust"]["warning"]
    early = served.post("benchmarks", {"project_id": project, "model_id": number})
    assert (early.status, early.json["code"]) == (403, "UNSAFE_FORMAT")

    trusted = served.put(f"models/{number}/trust", {"reason": "mine"})
    assert (trusted.json["state"], trusted.json["trust"]["reason"]) == ("ready", "mine")
    assert served.server.models.require_runnable(ModelId(number)).trusted_at is not None
    spec = spec_of("net.pt", made["sha256"])
    served.server.models.require_still_trusted(spec)

    assert served.delete(f"models/{number}/trust").json["state"] == "untrusted"
    with pytest.raises(UnsafeFormat):  # it was in the queue meanwhile
        served.server.models.require_still_trusted(spec)


def test_trust_of_the_terminal_and_of_the_server_is_one(served, project, tmp_path):
    path = torch_archives.torchscript(tmp_path / "mine.pt", "y: Tensor")
    number = send(served, project, path.read_bytes(), "mine.pt").json["id"]
    done = modeldyno("trust", path, "--workspace", served.workspace)
    assert done.code == 0, done.err
    assert served.get(f"models/{number}").json["state"] == "ready"
    assert served.delete(f"models/{number}/trust").json["state"] == "untrusted"
    assert str(path.name) not in modeldyno("trust", "--list", "--workspace", served.workspace).out


# ---------------------------------------------------------------- out


def test_a_file_comes_back_whole_or_in_a_range(served, project):
    data = bytes_of(6)
    number = send(served, project, data).json["id"]
    whole = served.get(f"models/{number}/file")
    assert (whole.status, whole.body) == (200, data)
    assert whole.headers["Content-Type"] == "application/octet-stream"
    tag = whole.headers["ETag"]
    assert tag == f'"{hashlib.sha256(data).hexdigest()}"'
    for asked, expected in {
        "bytes=0-3": data[:4],
        "bytes=5-": data[5:],
        "bytes=-4": data[-4:],
        "bytes=2-99999": data[2:],
    }.items():
        part = served.get(f"models/{number}/file", range=asked)
        assert (part.status, part.body) == (206, expected)
        assert part.headers["Content-Range"].endswith(f"/{len(data)}")
    assert served.get(f"models/{number}/file", range="bytes=0-3", if_range='"x"').body == data
    beyond = served.get(f"models/{number}/file", range="bytes=99999-")
    assert (beyond.status, beyond.headers["Content-Range"]) == (416, f"bytes */{len(data)}")
    assert served.get(f"models/{number}/file", if_none_match=tag).status == 304
    for odd in ("bytes=0-1,2-3", "bytes=3-1", "lines=1-2", "bytes=-"):
        assert served.get(f"models/{number}/file", range=odd).body == data


# ---------------------------------------------------------------- import


@pytest.fixture(scope="module")
def allowed(tmp_path_factory, starts_processes):
    """A server that may import from one folder, and that folder."""
    top = tmp_path_factory.mktemp("allowed")
    root = top / "root"
    (root / "sub").mkdir(parents=True)
    (root / "net.json").write_bytes(bytes_of(7))
    data, parts = in_two_parts("w.bin", "deep/b.bin")
    (root / "sub" / "two.onnx").write_bytes(data)
    (root / "sub" / "deep").mkdir()
    for name, held in parts.items():
        (root / "sub" / name).write_bytes(held)
    (root / "alone.onnx").write_bytes(data)
    (top / "secret.json").write_bytes(bytes_of(8))
    with serving(top / "workspace", models_roots=(root,)) as found:
        yield found, root


def test_a_file_below_an_allowed_folder_is_copied_in(allowed):
    served, root = allowed
    project = served.project()
    made = served.post(f"projects/{project}/models/import", {"path": "net.json"})
    assert made.status == 201, made.text
    assert (made.json["origin"], made.json["name"]) == ("path", "net.json")
    absolute = served.post(f"projects/{project}/models/import", {"path": f"{root}/net.json"})
    assert absolute.json["sha256"] == made.json["sha256"]
    assert str(root) not in absolute.text
    (root / "net.json").write_bytes(b"changed since")
    assert served.get(f"models/{made.json['id']}/file").body == bytes_of(7)
    (root / "net.json").write_bytes(bytes_of(7))


def test_an_import_that_is_sent_twice_makes_one_model(allowed):
    served, _ = allowed
    project = served.project()
    asked = f"projects/{project}/models/import"
    first = served.post(asked, {"path": "net.json"}, idempotency_key="k")
    again = served.post(asked, {"path": "net.json"}, idempotency_key="k")
    assert (first.json, first.status) == (again.json, again.status)
    assert again.headers["Idempotency-Replayed"] == "true"
    assert len(served.get(f"projects/{project}/models").json["items"]) == 1


def test_weights_are_imported_with_their_model_or_nothing_is(allowed):
    served, _ = allowed
    project = served.project()
    before = files_of(served)
    alone = served.post(f"projects/{project}/models/import", {"path": "alone.onnx"})
    assert (alone.status, alone.json["code"]) == (404, "FILE_NOT_FOUND")
    assert files_of(served) == before
    made = served.post(f"projects/{project}/models/import", {"path": "sub/two.onnx"})
    assert made.status == 201, made.text
    assert (made.json["state"], made.json["missing"]) == ("ready", [])
    assert len(made.json["facts"]["external"]) == 2


def test_allowed_folders_can_be_looked_through(allowed):
    served, _ = allowed
    top = served.get("files").json
    names = [(entry["kind"], entry["name"]) for entry in top["entries"]]
    assert names == [("folder", "sub"), ("file", "alone.onnx"), ("file", "net.json")]
    inner = served.get("files?path=sub").json
    assert [entry["name"] for entry in inner["entries"]] == ["deep", "two.onnx", "w.bin"]
    assert served.get("files?path=../").json["code"] == "PATH_REFUSED"
    assert served.get("files?path=nowhere").status == 404


def test_without_an_allowed_folder_there_are_those_of_the_workspace(served, project):
    asked = f"projects/{project}/models/import", {"path": "net.json"}
    absent = served.post(*asked)
    assert (absent.status, "--models-root" in absent.json["fix"]) == (404, True)
    elsewhere = served.post(asked[0], {"path": "/etc/hostname"})
    assert (elsewhere.status, elsewhere.json["code"]) == (403, "PATH_REFUSED")
    assert "--models-root" in elsewhere.json["fix"]
    assert served.get("files").json["entries"] == []
    script(served.workspace / "models" / "exported" / "net.json")
    try:
        assert [entry["name"] for entry in served.get("files").json["entries"]] == ["net.json"]
        assert served.post(*asked).status == 201
    finally:
        (served.workspace / "models" / "exported" / "net.json").unlink()


# ---------------------------------------------------------------- look


def test_the_graph_of_a_model_is_its_document_and_what_there_is_to_draw(served, project):
    number = send(served, project, model_path().read_bytes(), "digits.onnx").json["id"]
    graph = served.get(f"models/{number}/graph")
    assert graph.status == 200
    check("graph", graph.json)
    assert served.get(f"models/{number}/graph").body == graph.body
    view = served.get(f"models/{number}/graph/view").json
    assert {box["kind"] for box in view["boxes"]} >= {"input", "output", "node"}
    assert {box["op"] for box in view["boxes"] if box["kind"] == "node"} >= {"Conv", "Relu"}
    ids = {box["id"] for box in view["boxes"]}
    assert all({link["source"], link["target"]} <= ids for link in view["links"])
    closed = served.get(f"models/{number}/graph/view?depth=0").json
    assert closed["expanded"] == []


def test_groups_open_by_depth_and_by_name(served, project):
    number = send(served, project, scoped(), "scoped.onnx").json["id"]

    def drawn(query):
        boxes = served.get(f"models/{number}/graph/view?{query}").json["boxes"]
        return [box["label"] for box in boxes if box["kind"] in ("group", "node")]

    assert drawn("depth=0") == ["enc"]
    assert drawn("depth=1") == ["a", "b"]
    assert drawn("expand=enc/a") == ["Relu_0", "Relu_1", "b"]
    assert len(drawn("depth=9")) == 4
    assert drawn("depth=9&collapse=enc/a") == ["a", "Relu_2", "Relu_3"]


def test_what_has_no_graph_says_so(served, project):
    number = send(served, project, bytes_of(12)).json["id"]
    refused = served.get(f"models/{number}/graph")
    assert (refused.status, refused.json["code"]) == (400, "GRAPH_UNAVAILABLE")


def test_a_model_can_be_looked_into_again(served, project):
    made = send(served, project, bytes_of(9)).json
    assert served.post(f"models/{made['id']}/inspect").json == made


def test_a_renamed_model_keeps_its_file(served, project):
    number = send(served, project, bytes_of(10)).json["id"]
    assert served.patch(f"models/{number}", {"name": "Baseline"}).json["name"] == "Baseline"
    assert served.get(f"models/{number}/file").body == bytes_of(10)
    assert served.get("models?text=basel").json["items"][0]["id"] == number


@pytest.mark.slow
def test_uploads_of_one_content_at_once_end_well(served):
    data = bytes_of(11)
    project = served.project()
    statuses = []

    def one():
        answer = send(served, project, data)
        while answer.status == 429:
            answer = send(served, project, data)
        statuses.append(answer.status)
        served.delete(f"models/{answer.json['id']}")

    threads = [threading.Thread(target=one) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [201] * 6
    sha256 = hashlib.sha256(data).hexdigest()
    until(lambda: not any(sha256 in name for name in files_of(served)))
