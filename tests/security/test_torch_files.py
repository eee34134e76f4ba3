"""Hostile PyTorch files (M1, M3, M12, M35-M39): looking at one never runs what is in it.

Every case has its positive control: the same bytes, unpickled, do leave the marker.
"""

import pickle
import zipfile

import pytest

import modeldyno
from modeldyno.core.errors import ModelUnreadable, UnsafeFormat
from tests import torch_archives as made
from tests.terminal import modeldyno as command

EXPORT_MEMBERS = {
    "M35 sample inputs": "data__sample_inputs__model_dot_pt",
    "M36 weights": "data__weights__weight_0_dot_pt",
    "M37 constants": "data__constants__tensor_0_dot_pt",
    "M38 custom object": "data__constants__custom_obj_0_dot_pkl",
    "M39 opaque object": "data__constants__opaque_0_dot_pkl",
}


@pytest.fixture
def marker(tmp_path):
    return tmp_path / "marker"


def would_run(data, marker):
    pickle.loads(data)
    return marker.exists()


@pytest.mark.parametrize("protocol", [2, 4])
@pytest.mark.parametrize("make", [made.checkpoint, made.old_checkpoint])
def test_m1_inspecting_a_checkpoint_runs_nothing(make, protocol, tmp_path, marker):
    data = made.payload(marker, protocol)
    facts = modeldyno.inspect(make(tmp_path / "weights.pt", data))
    assert any("mkdir" in name for name in facts.imports)
    assert not marker.exists()
    assert would_run(data, marker)


@pytest.mark.parametrize("member", EXPORT_MEMBERS.values(), ids=EXPORT_MEMBERS)
def test_inspecting_an_export_runs_nothing(member, tmp_path, marker):
    data = made.payload(marker)
    facts = modeldyno.inspect(made.export(tmp_path / "net.pt2", **{member: data}))
    assert facts.format == "torch-export"
    assert any("mkdir" in name for name in facts.imports)
    assert not marker.exists()
    assert would_run(data, marker)


def test_a_pickle_in_an_archive_in_an_archive_is_listed_too(tmp_path, marker):
    """torch.save writes a zip of its own into the export."""
    inner = made.checkpoint(tmp_path / "inner", made.payload(marker)).read_bytes()
    path = made.export(tmp_path / "net.pt2", data__sample_inputs__model_dot_pt=inner)
    assert any("mkdir" in name for name in modeldyno.inspect(path).imports)
    assert not marker.exists()


def test_inspecting_torchscript_runs_nothing(tmp_path, marker):
    data = made.payload(marker)
    facts = modeldyno.inspect(made.torchscript(tmp_path / "n.pt", "x: Tensor", extra_pkl=data))
    assert any("mkdir" in name for name in facts.imports)
    assert not marker.exists()
    assert would_run(data, marker)


@pytest.mark.parametrize("name", ["model.onnx", "model.npz", "model.safetensors", "model"])
def test_m12_a_wrong_name_fools_nobody(name, tmp_path, marker):
    (tmp_path / name).write_bytes(made.payload(marker))
    with pytest.raises(UnsafeFormat):
        modeldyno.inspect(tmp_path / name)
    assert modeldyno.inspect(
        made.checkpoint(tmp_path / f"zip-{name}", made.payload(marker))
    ).imports
    assert not marker.exists()


def test_m12_a_broken_checksum_hides_nothing(tmp_path, marker):
    """Scanners were fooled by zip flags and checksums that torch does not look at."""
    path = made.checkpoint(tmp_path / "weights.pt", made.payload(marker))
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 16] ^= 0xFF  # of data.pkl, in the table of contents
    path.write_bytes(data)
    with pytest.raises(ModelUnreadable) as refused:
        modeldyno.inspect(path)
    assert "damaged" in refused.value.title
    assert not marker.exists()


def test_a_member_that_unpacks_to_gigabytes_is_not_unpacked(tmp_path):
    with (
        zipfile.ZipFile(tmp_path / "bomb.pt", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file,
        file.open("net/data.pkl", "w", force_zip64=True) as member,
    ):
        for _ in range(320):
            member.write(b"\0" * (1 << 20))
    with pytest.raises(ModelUnreadable, match="damaged"):
        modeldyno.inspect(tmp_path / "bomb.pt")


def test_a_bare_pickle_is_refused_whether_trusted_or_not(tmp_path, marker):
    (tmp_path / "model.pkl").write_bytes(made.payload(marker))
    room = ("--workspace", tmp_path / "room")
    assert command("bench", tmp_path / "model.pkl", *room).code == 8
    vouched = command("trust", tmp_path / "model.pkl", "--json", *room)
    assert (vouched.code, vouched.document["can_run"]) == (0, False)
    refused = command("bench", tmp_path / "model.pkl", *room)
    assert refused.code == 8
    assert "no engine here runs a bare pickle, trusted or not" in refused.err
    assert not marker.exists()


# ---------------------------------------------------------------- with PyTorch


@pytest.mark.engine("pytorch")
def test_m3_a_checkpoint_that_is_refused_is_never_loaded_a_second_way(tmp_path, marker):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    path = tmp_path / "weights.pt"
    torch.save({"weight": made.Payload(marker)}, path)
    with pytest.raises(UnsafeFormat, match="more than weights"):
        modeldyno.bench(
            path,
            architecture="torch.nn:Identity",
            inputs=["x=float32[1,3]"],
            iterations=1,
            workspace=tmp_path / "room",
        )
    assert not marker.exists()
    torch.load(path, weights_only=False)  # the control
    assert marker.exists()


@pytest.mark.engine("pytorch")
def test_f17_loading_an_export_does_run_what_is_in_it(tmp_path, marker):
    """Why .pt2 files are code: if this ever fails, the tier may be lowered."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    path = tmp_path / "net.pt2"
    torch.export.save(torch.export.export(torch.nn.Linear(3, 2), (torch.ones(1, 3),)), path)
    hostile = _with_member(path, "data/sample_inputs/model.pt", made.payload(marker))
    assert modeldyno.inspect(hostile).format == "torch-export"
    assert not marker.exists()
    with pytest.raises(Exception):  # noqa: B017, PT011 - whatever it raises, it is too late
        torch.export.load(hostile)
    assert marker.exists()


def _with_member(path, member, data):
    changed = path.with_stem("hostile")
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(changed, "w") as target:
        for name in source.namelist():
            target.writestr(name, data if name.endswith(member) else source.read(name))
    return changed
