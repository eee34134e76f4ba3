"""Hostile PyTorch files (M1, M12, M35-M39): looking at one never runs what is in it.

Every case has its positive control: the same bytes, unpickled, do leave the marker. What happens
when such a file is run stands in test_torch_runs.py.
"""

import io
import json
import pickle
import tarfile
import zipfile

import pytest

import modeldyno
from modeldyno.core.errors import ModelUnreadable, UnsafeFormat
from tests import torch_archives as made
from tests.terminal import modeldyno as command

pytestmark = pytest.mark.usefixtures("starts_processes")

EXPORT_MEMBERS = {  # as torch names them: a pickled weight is called like any other
    "M35 sample inputs": "data__sample_inputs__model_dot_pt",
    "M36 weights": "data__weights__weight_9",
    "M36 weights of 2.8": "data__weights__model_dot_pt",
    "M37 constants": "data__constants__tensor_9",
    "M38 custom object": "data__constants__custom_obj_0",
    "M39 opaque object": "data__constants__opaque_obj_0",
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


@pytest.mark.parametrize("protocol", [0, 2, 4])
@pytest.mark.parametrize("member", EXPORT_MEMBERS.values(), ids=EXPORT_MEMBERS)
def test_inspecting_an_export_runs_nothing(member, protocol, tmp_path, marker):
    data = made.payload(marker, protocol)
    facts = modeldyno.inspect(made.export(tmp_path / "net.pt2", **{member: data}))
    assert facts.format == "torch-export"
    assert any("mkdir" in name for name in facts.imports)
    assert not marker.exists()
    assert would_run(data, marker)


@pytest.mark.parametrize("said", [{"use_pickle": True}, {}, {"use_pickle": False}], ids=str)
def test_a_weight_is_raw_numbers_only_where_every_word_says_so(said, tmp_path, marker):
    """The table of weights is the attacker's too: one entry that says otherwise is enough."""
    entry = {"path_name": "weight_0", "is_param": False}
    entries = {"w": entry | said, "v": entry | {"use_pickle": False}}
    path = made.export(
        tmp_path / "net.pt2",
        data__weights__weight_0=made.payload(marker),
        data__weights__other_weights_config_dot_json=json.dumps({"config": entries}).encode(),
    )
    listed = any("mkdir" in name for name in modeldyno.inspect(path).imports)
    assert listed == (said != {"use_pickle": False})
    assert not marker.exists()


def test_two_members_of_one_name_are_refused(tmp_path, marker):
    """Torch would read the first folder's pickle, and a listing might show the second's."""
    path = made.checkpoint(tmp_path / "w.pt", made.payload(marker))
    with zipfile.ZipFile(path, "a") as file:
        file.writestr("other/data.pkl", made.tensor_pickle(("w", "FloatStorage", (2, 4))))
    with pytest.raises(ModelUnreadable, match="damaged"):
        modeldyno.inspect(path)
    assert not marker.exists()


def test_m1_the_tar_format_of_old_is_not_opened(tmp_path, marker):
    data = made.payload(marker)
    with tarfile.open(tmp_path / "w.pt", "w") as file:
        for name in ("storages", "tensors", "pickle"):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            file.addfile(member, io.BytesIO(data))
    with pytest.raises(ModelUnreadable, match="tar archive"):
        modeldyno.inspect(tmp_path / "w.pt")
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
