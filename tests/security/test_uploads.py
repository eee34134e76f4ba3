"""Files of strangers over real HTTP: names and paths (P1–P9, P13–P14), bodies (R1–R4), what comes
back (W22). Each refusal has its control: the same thing done properly works.
"""

import io
import os
import socket
import zipfile
from urllib.parse import quote

import pytest
from onnx import TensorProto

from modeldyno.store import objects
from tests import torch_archives
from tests.api.v1.server import serving
from tests.onnx_models import linear
from tests.scripts import script

FILE = "application/octet-stream"
SECRET = b'{"modeldyno": "scripted/1", "latency_us": 1, "secret": true}'


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """``root`` may be imported from; ``secret.json`` beside it is a model, too, and must not be."""
    top = tmp_path_factory.mktemp("uploads")
    root = top / "root"
    (root / "sub").mkdir(parents=True)
    (top / "secret.json").write_bytes(SECRET)
    script(root / "net.json")
    script(root / ".hidden.json", latency_us=7)
    return top


@pytest.fixture(scope="module")
def served(place, starts_processes):
    with serving(place / "workspace", models_roots=(place / "root",)) as found:
        yield found


@pytest.fixture
def project(served):
    return served.project()


def send(served, project, data, name="net.onnx"):
    return served.ask("POST", f"projects/{project}/models?name={name}", data, content_type=FILE)


def files_of(served):
    """Once nothing is left of tests before."""
    served.server.model_files.sweep()
    return sorted(
        str(path.relative_to(served.workspace))
        for folder in ("objects", "models")
        for path in (served.workspace / folder).rglob("*")
        if path.is_file()
    )


# ---------------------------------------------------------------- paths

REFUSED = [
    *("../secret.json", "sub/../../secret.json", "./../secret.json", ".."),  # P1
    *("{top}/secret.json", "{root}/../secret.json", "//{root}/net.json", "{root}//net.json"),  # P2
    *("file:{top}/secret.json", "file://{root}/net.json", "dbfs:/net.json", "http://x/net.json"),
    *("%2e%2e/secret.json", "..%2fsecret.json", "%252e%252e/secret.json"),  # P4
    *("C:\\secret.json", "C:secret.json", "..\\secret.json", "\\\\host\\net.json"),  # P13
    *(".hidden.json", "sub/.ssh/id", "~/net.json", "net.json\0.onnx", "net\njson"),  # P14
    *("net.json\u202egpj", "\u200fnet.json"),
]


@pytest.mark.parametrize("path", REFUSED)
def test_p1_to_p14_nothing_outside_the_allowed_folders_is_imported(served, project, place, path):
    path = path.format(top=place, root=place / "root")
    for refused in (
        served.post(f"projects/{project}/models/import", {"path": path}),
        served.get(f"files?path={quote(path, safe='')}"),
    ):
        assert refused.status in (403, 404, 422, 400), refused.text
        assert "secret" not in refused.json["detail"]
        assert str(place) in path or str(place) not in refused.text
    assert served.get(f"projects/{project}/models").json["items"] == []


@pytest.mark.parametrize("path", REFUSED)
def test_p1_to_p14_nor_by_operations_of_the_reference_api(served, place, path):
    path = path.format(top=place, root=place / "root")
    before = files_of(served)
    for refused in (
        served.post("/api/model/graph", {"path": path}),
        served.post("/api/model/graph/highlight_pattern", {"path": [path], "op_name": "x"}),
        served.post("/api/filesystem", {"path": path}),
        served.post("/api/project/create", {"name": "p", "model": {"path": path}}),
    ):
        assert refused.status == (400 if "\0" in path else 403), refused.text
        assert "secret.json" in path or "secret" not in refused.text
    assert files_of(served) == before


def test_the_control_plain_paths_reach_operations_of_the_reference_api(served, place):
    root = str(place / "root")
    assert served.post("/api/filesystem", {"path": root}).status == 200
    for path in ("net.json", f"{root}/net.json"):
        made = served.post("/api/project/create", {"name": "p", "model": {"path": path}})
        assert made.status == 200, made.text
        drawn = served.post("/api/model/graph", {"path": path})
        assert (drawn.status, "no graph to show" in drawn.text) == (400, True)


@pytest.mark.parametrize("path", ["net.json#x", "net.json?x", "net.json;x", "net.json%23x"])
def test_p4_a_path_is_all_of_it(served, project, path):
    """Nothing is cut off and then opened."""
    refused = served.post(f"projects/{project}/models/import", {"path": path})
    assert refused.json["code"] == "FILE_NOT_FOUND"


def test_the_control_of_paths_what_lies_below_is_imported(served, project, place):
    for path in ("net.json", str(place / "root" / "net.json")):
        made = served.post(f"projects/{project}/models/import", {"path": path})
        assert made.status == 201, made.text
    assert (place / "root/../secret.json").read_bytes() == SECRET  # and a plain open would


def test_links_are_not_imported(served, project, place):
    root = place / "root"
    (root / "soft.json").symlink_to(place / "secret.json")
    os.link(place / "secret.json", root / "hard.json")
    (root / "folder").symlink_to(place)
    for path in ("soft.json", "hard.json", "folder/secret.json"):
        refused = served.post(f"projects/{project}/models/import", {"path": path})
        assert (refused.status, refused.json["code"]) == (403, "PATH_REFUSED")
    names = [entry["name"] for entry in served.get("files").json["entries"]]
    assert not {"soft.json", "hard.json", "folder"} & {*names}
    (root / "hard.json").unlink()
    (root / "hard.json").write_bytes(SECRET)  # the control: a copy is welcome
    copied = served.post(f"projects/{project}/models/import", {"path": "hard.json"})
    assert copied.status == 201


def with_weights_at(location):
    made = linear()
    for tensor in made.graph.initializer:
        held = tensor.raw_data
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        said = {"location": location, "offset": "0", "length": str(len(held))}
        for key, text in said.items():
            tensor.external_data.add(key=key, value=text)
    return made.SerializeToString()


@pytest.mark.parametrize("kind", ["symlink", "hard link", "file"])
def test_weights_that_are_links_are_not_imported_with_their_model(served, project, place, kind):
    folder = place / "root" / kind.replace(" ", "-")
    folder.mkdir()
    secret = place / f"{folder.name}.bin"
    secret.write_bytes(bytes(48))
    (folder / "net.onnx").write_bytes(with_weights_at("w.bin"))
    match kind:
        case "symlink":
            (folder / "w.bin").symlink_to(secret)
        case "hard link":
            os.link(secret, folder / "w.bin")
        case _:  # the control
            (folder / "w.bin").write_bytes(bytes(48))
    answer = served.post(f"projects/{project}/models/import", {"path": f"{folder.name}/net.onnx"})
    assert answer.status == (201 if kind == "file" else 403), answer.text


@pytest.mark.parametrize("location", ["../../token", "/etc/passwd", ".ssh/id"])
def test_a_model_cannot_ask_for_weights_elsewhere(served, project, location):
    before = files_of(served)
    refused = send(served, project, with_weights_at(location))
    assert refused.json["code"] in ("UNSAFE_FORMAT", "PATH_REFUSED"), refused.text
    assert files_of(served) == before


def test_p6_weights_land_where_the_model_names_them_or_nowhere(served, project):
    number = send(served, project, with_weights_at("w.bin")).json["id"]
    for name in ("../w.bin", "..%2fw.bin", "%2e%2e/w.bin", "a/../w.bin", "%2fetc%2fx", "w.bin%00"):
        refused = served.ask("PUT", f"models/{number}/files/{name}", bytes(48), content_type=FILE)
        assert refused.status in (400, 403, 404), (name, refused.text)
    taken = served.ask("PUT", f"models/{number}/files/w.bin", bytes(48), content_type=FILE)
    assert taken.json["state"] == "ready", taken.text


NAMES = [
    *("../x.onnx", "..%2fx.onnx", "a/b.onnx", "/etc/x", "..", ".hidden", "C:x.onnx", "x\\y"),
    *("a%00b", "a%0ab", "a%1bb", "x%E2%80%AEgpj.onnx", "%E2%80%8Fx.onnx", "a" * 201, ""),
    *("file:x", "~root"),
]


@pytest.mark.parametrize("name", NAMES)
def test_names_that_could_be_something_else_are_refused(served, project, name):
    before = files_of(served)
    assert send(served, project, SECRET, name).status in (400, 403, 422)
    assert files_of(served) == before


# ---------------------------------------------------------------- bodies


def talk(served, project, *lines, ask=""):
    """A connection that has said its head and may say more."""
    link = socket.create_connection(("127.0.0.1", served.port), timeout=60)
    head = [
        (ask or f"POST /api/v1/projects/{project}/models?name=net.json") + " HTTP/1.1",
        f"Host: 127.0.0.1:{served.port}",
        f"Authorization: Bearer {served.token}",
        f"Content-Type: {FILE}",
        "Connection: close",
        *lines,
    ]
    link.sendall("\r\n".join([*head, "", ""]).encode())
    return link


def answer(link):
    with link:
        return link.makefile("rb").read()


def test_r1_many_tiny_pieces_are_one_file(served, project):
    data = SECRET + b" " * 200_000
    with talk(served, project, "Transfer-Encoding: chunked") as link:
        link.sendall(b"".join(b"1\r\n%c\r\n" % byte for byte in data) + b"0\r\n\r\n")
        said = answer(link)
    assert said.startswith(b"HTTP/1.1 201"), said
    number = served.get(f"projects/{project}/models").json["items"][0]["id"]
    assert served.get(f"models/{number}/file").body == data


def test_r2_a_form_is_refused_before_it_is_read(served, project):
    fields = b"&".join(b"f%d=1" % number for number in range(100_000))
    for kind in ("application/x-www-form-urlencoded", "multipart/form-data; boundary=f"):
        form = f"projects/{project}/models?name=net.json"
        assert served.ask("POST", form, fields, content_type=kind).status == 415
    assert send(served, project, SECRET, "net.json").status == 201


def test_r3_the_server_answers_while_a_file_arrives(served, project):
    """Pieces of a file, and an answer after each: nobody waits for the file."""
    piece = bytes(4 << 20)
    with talk(served, project, f"Content-Length: {len(piece) * 16}") as link:
        for _ in range(16):
            link.sendall(piece)
            assert served.ask("GET", "/healthz").status == 200
        said = answer(link)
    assert b"MODEL_UNREADABLE" in said  # all of it arrived: it was read, and is no model


def test_an_upload_that_is_cut_off_leaves_nothing(served, project):
    before = files_of(served)
    for _ in range(3):  # each would hold one of the two places
        link = talk(served, project, f"Content-Length: {len(SECRET) + 1}")
        link.sendall(SECRET)
        link.close()
    made = send(served, project, SECRET + b" ", "net.json")
    while made.status == 429:  # the places are free again as soon as it is noticed
        made = send(served, project, SECRET + b" ", "net.json")
    assert made.status == 201  # the control: the whole is welcome
    served.delete(f"models/{made.json['id']}")
    assert files_of(served) == before


def test_only_files_may_be_large(served, project):
    announced = f"Content-Length: {2 << 20}"
    for method, path in (
        ("POST", f"projects/{project}/models/import"),
        ("POST", f"projects/{project}/models/example"),
        ("PUT", "models/1/trust"),
        ("PATCH", f"projects/{project}"),
        ("DELETE", f"projects/{project}/models"),
        ("POST", f"projects/{project}/models/"),
    ):
        refused = answer(talk(served, project, announced, ask=f"{method} /api/v1/{path}"))
        assert refused.startswith(b"HTTP/1.1 413"), (method, path, refused)
    assert send(served, project, SECRET + b" " * (2 << 20), "net.json").status == 201


def test_a_file_above_the_limit_or_without_room_is_refused(served, project, monkeypatch):
    before = files_of(served)
    assert talk_status(served, project, f"Content-Length: {(8 << 30) + 1}") == 413
    store = served.server.model_files._objects
    with monkeypatch.context() as patched:
        patched.setattr(store, "largest", 100)
        announced = send(served, project, b" " * 101)
        assert announced.json["title"] == "The file is too large"
        with talk(served, project, "Transfer-Encoding: chunked") as link:
            link.sendall(b"65\r\n" + b" " * 101 + b"\r\n0\r\n\r\n")
            assert b"The file is too large" in answer(link)
        patched.setattr(store, "_free", lambda folder: objects.KEPT_FREE)
        full = send(served, project, b" " * 99)
        assert (full.status, full.json["code"]) == (507, "STORAGE_FAILED")
    assert files_of(served) == before
    assert send(served, project, SECRET, "net.json").status == 201


def talk_status(served, project, *lines):
    return int(answer(talk(served, project, *lines)).split()[1])


# ---------------------------------------------------------------- what is in them


@pytest.mark.parametrize("name", ["../evil.json", "/evil.json", "a/../../evil.json", "good.json"])
def test_p10_to_p12_an_archive_writes_nowhere_else(served, project, place, name):
    before = files_of(served)
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as archive:
        archive.writestr("net.json", SECRET)
        archive.writestr(name, SECRET)
    sent = send(served, project, body.getvalue(), "net.json&packed=true")
    if name == "good.json":  # the control
        assert sent.status == 201, sent.text
        return
    assert (sent.status, sent.json["code"]) == (400, "ARCHIVE_REFUSED")
    assert files_of(served) == before
    assert not [*place.rglob("evil.json")]


def test_an_archive_does_not_fill_what_is_kept_free(served, project, monkeypatch):
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("net.json", SECRET + b" " * 300_000)
    before, packed = files_of(served), body.getvalue()
    with monkeypatch.context() as patched:
        room = objects.KEPT_FREE + 200_000  # for the archive, but not for what is in it
        patched.setattr(served.server.model_files._objects, "_free", lambda folder: room)
        patched.setattr(
            "modeldyno.services.model_files.ModelFiles._copy_and_prepare", None
        )  # not so far
        full = send(served, project, packed, "net.json&packed=true")
        assert (full.status, full.json["code"]) == (507, "STORAGE_FAILED")
        assert "left free" in full.json["detail"]
    assert files_of(served) == before
    assert send(served, project, packed, "net.json&packed=true").status == 201


def test_an_archive_that_swells_is_refused(served, project):
    before = files_of(served)
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("net.json", bytes(64 << 20))
    assert send(served, project, body.getvalue(), "net.json&packed=true").status == 400
    assert send(served, project, SECRET, "../net.json&packed=true").status == 403
    assert files_of(served) == before


def test_looking_at_a_pickle_runs_nothing(served, project, tmp_path):
    marker = tmp_path / "marker"
    evil = torch_archives.checkpoint(tmp_path / "w.pt", torch_archives.payload(marker))
    made = send(served, project, evil.read_bytes(), "w.pt")
    assert made.status == 201, made.text
    assert (made.json["state"], made.json["tier"]) == ("untrusted", "code")
    assert any("mkdir" in name for name in made.json["trust"]["imports"])
    number = made.json["id"]
    served.post(f"models/{number}/inspect")
    served.get(f"models/{number}/graph")
    bare = send(served, project, torch_archives.payload(marker), "bare.pkl")
    assert (bare.status, bare.json["code"]) == (403, "UNSAFE_FORMAT")
    assert not marker.exists()
    import pickle

    pickle.loads(torch_archives.payload(marker))  # the control: loading it would have
    assert marker.exists()


def test_w22_a_page_that_was_uploaded_is_never_shown(served, project):
    page = b"<html><script>alert(1)</script></html>"
    for name in ("x.html", "x.svg"):
        assert send(served, project, page, name).json["code"] == "MODEL_UNREADABLE"
    number = send(served, project, SECRET, 'x".html').json["id"]  # a model that is called so
    sent = served.get(f"models/{number}/file")
    assert sent.body == SECRET
    assert sent.headers["Content-Type"] == FILE
    assert sent.headers["Content-Disposition"] == "attachment; filename*=UTF-8''x%22.html"
    assert sent.headers["X-Content-Type-Options"] == "nosniff"
    assert "default-src 'none'" in sent.headers["Content-Security-Policy"]


def test_p9_files_are_named_by_the_number_of_their_model_alone(served, project):
    number = send(served, project, SECRET, "net.json").json["id"]
    for path in (
        f"models/{number}/file/../../../../token",
        f"models/{number}/file%2f..%2ftoken",
        "models/..%2f..%2ftoken/file",
        f"models/{number}/file/net.json",
        "models/sha256:..%2f..%2ftoken/file",  # P7
        f"models/{'a' * 64}/file",
    ):
        assert served.get(path).status in (400, 404, 422), path
    assert served.get(f"models/{number}/file").body == SECRET
