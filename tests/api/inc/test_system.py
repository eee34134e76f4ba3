"""``system_info``, ``filesystem`` and ``get_default_path``."""

import re
from urllib.parse import urlencode

import pytest

from modeldyno.measure.cpus import Topology, topology
from tests.api.v1.server import serving


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("top") / "root"
    (folder / "vision").mkdir(parents=True)
    (folder / "vision" / "net.ONNX").write_bytes(b"x")
    (folder / "vision" / "labels.txt").write_bytes(b"x")
    (folder / "vision" / ".hidden").write_bytes(b"x")
    (folder / "a.pt").write_bytes(b"x")
    (folder / "link.onnx").symlink_to(folder / "a.pt")
    return folder


@pytest.fixture(scope="module")
def served(tmp_path_factory, root, starts_processes):
    with serving(tmp_path_factory.mktemp("workspace"), models_roots=(root,)) as server:
        yield server


def look(served, path=None, **said):
    query = urlencode(({} if path is None else {"path": path}) | said)
    return served.get(f"/api/filesystem?{query}")


def entries(answer):
    return [(one["name"], one["type"], one["is_model"]) for one in answer.json["contents"]]


# ---------------------------------------------------------------- files


def test_a_browser_of_files_begins_at_the_first_folder(served, root):
    told = served.post("/api/get_default_path", {"name": "workspace"}).json
    assert told == {"path": str(root)}
    assert look(served, told["path"]).status == 200


def test_without_a_flag_it_begins_where_exported_models_lie(tmp_path):
    with serving(tmp_path) as served:
        told = served.get("/api/get_default_path").json["path"]
        assert told == str(tmp_path / "models" / "exported")
        assert look(served, told).json == {"path": told, "contents": []}


def test_folders_come_first_and_what_cannot_be_opened_is_left_out(served, root):
    told = look(served, str(root))
    assert list(told.json) == ["path", "contents"]
    assert told.json["path"] == str(root)
    assert entries(told) == [
        (str(root / "vision"), "directory", False),
        (str(root / "a.pt"), "file", True),
    ]
    assert look(served, f"{root}/").json == told.json
    assert served.post("/api/filesystem", {"path": [str(root)]}).json == told.json


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("models", ["net.ONNX"]),
        ("datasets", ["labels.txt", "net.ONNX"]),
        ("directories", []),
        ("", ["labels.txt", "net.ONNX"]),
    ],
)
def test_a_filter_leaves_what_is_wanted(served, root, kind, names):
    told = look(served, root / "vision", filter=kind).json["contents"]
    assert [one["name"].rpartition("/")[2] for one in told] == names


def test_without_a_path_the_allowed_folders_are_shown(served, root):
    for told in (look(served), look(served, "")):
        names = [name for name, _, _ in entries(told)]
        assert names[0] == str(root)
        assert [name.rpartition("/")[2] for name in names[1:]] == [
            "exported",
            "trained",
            "quantized",
        ]


def test_above_an_allowed_folder_only_the_way_down_is_shown(served, root):
    (root.parent / "secret").mkdir(exist_ok=True)
    (root.parent / "secret.onnx").write_bytes(b"x")
    told = look(served, root.parent)
    assert entries(told) == [(str(root), "directory", False)]
    top = entries(look(served, "/"))
    assert {kind for _, kind, _ in top} == {"directory"}
    assert root.parts[1] in {name.rpartition("/")[2] for name, _, _ in top}
    assert len(top) <= 2


def test_what_lies_elsewhere_stays_unseen(served, root):
    (root.parent / "secret").mkdir(exist_ok=True)
    for path in ("/etc", root.parent / "secret", f"{root}/../secret", f"{root}x"):
        assert look(served, path).status == 403, path
    assert look(served, root / "vision").status == 200  # the control


def test_what_is_absent_or_no_folder_is_told(served, root):
    assert look(served, root / "nowhere").status == 404
    told = look(served, root / "a.pt")
    assert (told.status, "not a directory" in told.text) == (400, True)
    assert look(served, root, filter="photos").status == 400


# ---------------------------------------------------------------- machine


def test_the_machine_is_told_with_every_key(served):
    told = served.get("/api/system_info").json
    assert list(told) == ["systeminfo", "frameworks"]
    machine = told["systeminfo"]
    assert list(machine) == [
        *("sockets", "cores", "cores_per_socket", "threads_per_socket", "total_memory", "system"),
        *("ip", "platform", "hyperthreading_enabled", "turboboost_enabled", "bios_version"),
        *("kernel", "min_cpu_freq", "max_cpu_freq", "bf16_support"),
    ]
    assert machine["cores"] >= machine["cores_per_socket"] >= 1
    assert re.fullmatch(r"\d+\.\d{3}GB", machine["total_memory"])
    assert list(told["frameworks"]) == [
        *("pytorch_version", "onnx_version", "tensorflow_version"),
        *("pytorch_sub_dependencies", "onnx_sub_dependencies"),
    ]
    assert told["frameworks"]["onnx_version"][0].isdigit()
    assert told["frameworks"]["onnx_sub_dependencies"]["onnxruntime_version"]


def test_the_machine_is_looked_at_once(served):
    assert served.server.system.machine() is served.server.system.machine()


def test_sockets_cores_and_threads_are_those_we_may_use(tmp_path):
    at = tmp_path / "sys/devices/system/cpu"
    for cpu, (socket, siblings) in enumerate([(0, "0,2"), (1, "1,3"), (0, "0,2"), (1, "1,3")]):
        place = at / f"cpu{cpu}/topology"
        place.mkdir(parents=True)
        (place / "physical_package_id").write_text(f"{socket}\n")
        (place / "thread_siblings_list").write_text(siblings)
    (at / "cpu0/cpufreq").mkdir()
    (at / "cpu0/cpufreq/cpuinfo_max_freq").write_text("3500000")
    assert topology(tmp_path, range(4)) == Topology(2, 2, 4, None, 3500.0, None)
    assert topology(tmp_path, [0]) == Topology(1, 1, 1, None, 3500.0, None)
