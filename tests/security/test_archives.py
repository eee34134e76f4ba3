"""Hostile archives (P10–P12, P16): refused as a whole, and nothing of them is left.

The control of each traversal: Python's own extraction, or a naive one, does write outside.
"""

import errno
import gzip
import io
import os
import stat
import struct
import tarfile
import tempfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modeldyno.core.errors import ArchiveRefused, StorageFailed
from modeldyno.formats.containers import members
from modeldyno.formats.containers.extraction import ArchiveLimits, Extracted, extract

OUTSIDE = [
    "../x", "a/../../x", "/tmp/x", "..", "a/..", "~/x", "C:/x", "\\x", "..\\x", "a//x", "./x",
    ".ssh/x", "a\0b", "x\n", "%2e%2e/x", "%252e/x", "file:x", "a/./x", "/".join("a" * 40),
]  # fmt: skip
NO_FILES = [
    tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE,
    tarfile.CONTTYPE, tarfile.GNUTYPE_SPARSE, b"Z",
]  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "marker").write_bytes(b"untouched")
    yield tmp_path / "out"
    assert (tmp_path / "marker").read_bytes() == b"untouched"


def tar(*infos, mode="w", format=tarfile.GNU_FORMAT):
    """Of (name or TarInfo, content)."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode=mode, format=format) as archive:
        for info, content in infos:
            info = tarfile.TarInfo(info) if isinstance(info, str) else info
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return made.getvalue()


def zipped(*files, method=zipfile.ZIP_DEFLATED):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for name, content in files:
            if isinstance(name, str):  # as it is: the constructor would cut it at a NUL
                info = zipfile.ZipInfo("x")
                info.filename = info.orig_filename = name
                info.compress_type = method
                name = info
            archive.writestr(name, content)
    return made.getvalue()


MAKERS = {
    "tar": tar,
    "pax": lambda *files: tar(*files, format=tarfile.PAX_FORMAT),
    "tar.gz": lambda *files: tar(*files, mode="w:gz"),
    "zip": zipped,
    "stored zip": lambda *files: zipped(*files, method=zipfile.ZIP_STORED),
}


@pytest.fixture(params=MAKERS.values(), ids=list(MAKERS))
def make(request):
    return request.param


def unpack(data, folder, **limits):
    return extract(io.BytesIO(data), folder, ArchiveLimits(**limits))


def refuses(data, folder, why=".", **limits):
    with pytest.raises(ArchiveRefused, match=why):
        unpack(data, folder, **limits)
    assert not folder.exists()


# ---------------------------------------------------------------- what is fine


def test_plain_files_come_out_as_they_are(make, folder):
    files = (("net.onnx", b"n" * 3000), ("data/w.bin", b"w" * 512), ("data/deep/e", b""))
    long = ("long/" + "n" * 150 + ".bin", b"long")
    found = unpack(make(*files, long), folder)
    assert found == tuple(Extracted(name, len(content)) for name, content in (*files, long))
    for name, content in (*files, long):
        assert (folder / name).read_bytes() == content
        assert stat.S_IMODE((folder / name).stat().st_mode) == 0o444


def test_modes_and_owners_of_an_archive_count_nothing(folder):
    info = tarfile.TarInfo("run.sh")
    info.mode, info.uid, info.mtime = 0o6777, 0, 0
    unpack(tar((info, b"x")), folder)
    assert stat.S_IMODE((folder / "run.sh").stat().st_mode) == 0o444
    assert (folder / "run.sh").stat().st_mtime > 1e9


def test_folders_and_archives_inside_stay_what_they_are(folder):
    inner = tar(("x", b"x"))
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.mkdir("empty")
        archive.writestr("empty/inner.tar", inner)
    assert unpack(made.getvalue(), folder) == (Extracted("empty/inner.tar", len(inner)),)
    assert sorted(p.name for p in folder.rglob("*")) == ["empty", "inner.tar"]


def test_a_real_zip_and_tar_of_the_system_come_out(folder, tmp_path):
    """With data descriptors, folders and long names, as other programs write them."""
    made = io.BytesIO()

    class Pipe(io.RawIOBase):  # cannot seek, so sizes come after the data
        def writable(self):
            return True

        def write(self, data):
            return made.write(data)

    with zipfile.ZipFile(Pipe(), "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/b.bin", b"b" * 1000)
    assert unpack(made.getvalue(), folder) == (Extracted("a/b.bin", 1000),)


# ---------------------------------------------------------------- names


@pytest.mark.parametrize("name", OUTSIDE)
def test_p10_p11_p12_no_member_leaves_the_folder(make, folder, name):
    if "\0" in name and make is not MAKERS["zip"]:
        pytest.skip("a tar name ends at a NUL")
    refuses(make(("first", b"1"), (name, b"x")), folder)


def test_p10_p11_the_control_writes_outside(tmp_path):
    """What a loop over the members does that trusts their names."""
    inside = tmp_path / "inside"
    inside.mkdir()
    with tarfile.open(fileobj=io.BytesIO(tar(("../from-tar", b"x")))) as archive:
        archive.extractall(inside, filter="fully_trusted")
    with zipfile.ZipFile(io.BytesIO(zipped(("../from-zip", b"x")))) as archive:
        for name in archive.namelist():
            (inside / name).write_bytes(archive.read(name))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["from-tar", "from-zip", "inside"]


@pytest.mark.parametrize(
    "names",
    [
        ("a", "a"), ("a", "A"), ("a/b", "A/c"), ("a", "a/b"), ("a/b", "a"), ("ä", "a\u0308"),
        ("ß", "ss"), ("ﬁ", "fi"), ("x/É", "x/é"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_p12_names_that_some_system_takes_for_one_are_refused(make, folder, names):
    refuses(make(*((name, b"x") for name in names)), folder, "one name")


# ---------------------------------------------------------------- things that are no files


@pytest.mark.parametrize("kind", NO_FILES)
def test_p16_links_devices_and_sparse_files_are_refused(folder, kind):
    info = tarfile.TarInfo("link")
    info.type, info.linkname = kind, "/etc/passwd"
    refuses(tar(("first", b"1"), (info, b"")), folder, "link")


def test_p16_the_archive_that_fools_pythons_own_filter(folder, tmp_path):
    """F5, CVE-2025-4517: links along a path so long that the check gives up half-way."""
    data = long_link_chain("marker")
    refuses(data, folder, "link")
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        assert sum(member.issym() for member in archive) > 10
    # The control: an extraction that trusts the archive does write through the links. (So does
    # filter="data" of Python 3.11.7, 3.12.1 and 3.13.0; later patches refuse.)
    trusting = tmp_path / "trusting"
    (trusting / "out").mkdir(parents=True)
    (trusting / "marker").write_bytes(b"untouched")
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        archive.extractall(trusting / "out", filter="fully_trusted")
    assert (trusting / "marker").read_bytes() == b"overwritten"


def long_link_chain(victim):
    """Folders with long names, a short link beside each; then a link up through all of them."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:

        def add(name, kind, link="", content=b""):
            info = tarfile.TarInfo(name)
            info.type, info.linkname, info.size = kind, link, len(content)
            archive.addfile(info, io.BytesIO(content))

        above, long = "", "d" * 247
        for letter in "abcdefghijklmnop":
            add(above + long, tarfile.DIRTYPE)
            add(above + letter, tarfile.SYMTYPE, long)
            above += long + "/"
        last = "/".join("abcdefghijklmnop") + "/" + "l" * 254
        add(last, tarfile.SYMTYPE, "../" * 16)
        add("escape", tarfile.SYMTYPE, last + "/..")
        add(f"escape/{victim}", tarfile.REGTYPE, content=b"overwritten")
    return made.getvalue()


def test_p16_a_link_in_a_zip_is_refused(folder):
    info = zipfile.ZipInfo("link")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    refuses(zipped((info, b"/etc/passwd")), folder, "link")


@pytest.mark.parametrize("key", ["GNU.sparse.major", "GNU.sparse.name", "linkpath"])
def test_p16_an_extended_header_makes_no_file_special(folder, key):
    info = tarfile.TarInfo("net.onnx")
    info.pax_headers = {key: "1"}
    refuses(tar((info, b"x"), format=tarfile.PAX_FORMAT), folder, "sparse")


def test_an_extended_header_may_name_but_not_lead_out(folder):
    info = tarfile.TarInfo("harmless")
    info.pax_headers = {"path": "../marker"}
    refuses(tar((info, b"x"), format=tarfile.PAX_FORMAT), folder, "plain name")


# ---------------------------------------------------------------- bombs


def test_m26_a_bomb_is_refused_by_its_ratio(folder):
    zeros = b"\0" * (4 << 20)
    for data in (zipped(("z", zeros)), tar(("z", zeros), mode="w:gz")):
        refuses(data, folder, "200 times")
    noise = os.urandom(3 << 20)
    for data in (zipped(("n", noise)), tar(("n", noise), mode="w:gz"), tar(("z", zeros))):
        unpack(data, folder)
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()


def test_m26_many_small_bombs_are_one(folder):
    zeros = b"\0" * (1 << 20)
    files = [(f"z{number}", zeros) for number in range(6)]
    refuses(zipped(*files), folder, "200 times")


def test_m27_what_would_fill_the_disk_is_refused(make, folder):
    files = [(str(number), os.urandom(1000)) for number in range(5)]
    refuses(make(*files), folder, "MiB", total_bytes=4999)
    unpack(make(*files), folder, total_bytes=5000)


def test_too_many_members_are_refused(make, folder, monkeypatch):
    monkeypatch.setattr(members, "MOST_MEMBERS", 3)
    refuses(make(*((str(number), b"") for number in range(4))), folder, "more than 3")
    unpack(make(*((str(number), b"") for number in range(3))), folder)


def test_a_giant_name_is_not_read(folder):
    info = tarfile.TarInfo("x")
    info.type, info.size = tarfile.XHDTYPE, 1 << 40
    refuses(
        gzip.compress(info.tobuf(tarfile.GNU_FORMAT) + b"\0" * 4096), folder, "name is too long"
    )


def test_a_chain_of_headers_ends(folder):
    info = tarfile.TarInfo("x")
    info.type, info.size = tarfile.XHDTYPE, 0
    refuses(info.tobuf() * 10_000, folder, "too many headers")


def test_a_giant_table_of_contents_is_not_read(folder):
    data = bytearray(zipped(("x", b"x")))
    struct.pack_into("<I", data, len(data) - 22 + 12, 1 << 30)
    refuses(bytes(data), folder, "table of contents")


# ---------------------------------------------------------------- archives that say two things


def changed(data, at, value):
    return data[:at] + value + data[at + len(value) :]


def test_a_member_that_disagrees_with_the_table_is_refused(folder):
    data = zipped(("name.bin", b"x" * 100), method=zipfile.ZIP_STORED)
    for at, value in ((30, b"evil.bin"), (8, b"\x08"), (14, b"\1\2\3\4"), (18, b"\7"), (22, b"\7")):
        refuses(changed(data, at, value), folder, "disagree|damaged")
    unpack(data, folder)


def test_members_that_overlap_are_refused(folder):
    """The bomb whose members all share one piece of data."""
    data = zipped(("a", b"x" * 100), ("b", b"y" * 100), method=zipfile.ZIP_STORED)
    second = data.rindex(b"PK\x01\x02")
    refuses(changed(data, second + 42, struct.pack("<I", 0)), folder, "overlap")


def test_something_before_the_first_member_is_refused(folder):
    data = zipped(("a", b"x"))
    refuses(b"PK\x03\x04 hidden " + data, folder)


def test_an_encrypted_or_oddly_packed_member_is_refused(folder):
    data = zipped(("a", b"x" * 10))
    table = data.rindex(b"PK\x01\x02")
    encrypted = changed(changed(data, 6, b"\1"), table + 8, b"\1")
    refuses(encrypted, folder, "encrypted")
    refuses(zipped(("a", b"x"), method=zipfile.ZIP_LZMA), folder, "packed in a way")


@pytest.mark.parametrize("data", [b"", b"x", b"PK\x03\x04", b"\x1f\x8b", b"\0" * 1024, b"BZh9"])
def test_what_is_no_archive_is_refused(folder, data):
    refuses(data, folder)


def test_an_archive_that_was_cut_is_refused(make, folder):
    data = make(("a.bin", os.urandom(5000)), ("b.bin", os.urandom(5000)))
    for length in (len(data) // 4, len(data) // 2, 700):
        refuses(data[:length], folder)


def test_a_tar_that_was_cut_between_members_is_refused(folder):
    data = tar(("a", b"a" * 512), ("b", b"b" * 512))
    assert data[2048:].strip(b"\0") == b""
    refuses(data[:1024], folder, "before its end")
    refuses(data[:2048], folder, "before its end")
    unpack(data[:3072], folder)


def test_a_full_disk_leaves_nothing_and_says_so(make, folder, monkeypatch):
    def full(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(StorageFailed, match="No space left"):
            unpack(make(("a", b"x")), folder)
    assert not folder.exists()
    unpack(make(("a", b"x")), folder)
    with pytest.raises(StorageFailed, match="File exists"):
        unpack(make(("a", b"x")), folder)
    assert (folder / "a").exists()


def test_a_member_of_a_zip_whose_name_begins_with_nul_is_refused(folder):
    data = zipped(("name", b"x"))
    refuses(data.replace(b"name", b"\0ame"), folder, "no name")
    assert unpack(data, folder)  # the control


def test_a_zip_that_states_another_size_is_refused(folder):
    """In both places alike, so that they agree with each other and not with the data."""
    data = zipped(("a", b"x" * 1000))
    size, table = struct.pack("<I", 10), data.rindex(b"PK\x01\x02")
    refuses(changed(changed(data, 22, size), table + 24, size), folder)


SEEDS = [make(("net.onnx", b"n" * 600), ("d/w", b"w" * 10)) for make in MAKERS.values()]


@pytest.mark.slow
@settings(max_examples=1000, deadline=None, database=None)
@given(
    st.sampled_from(SEEDS),
    st.lists(st.tuples(st.integers(0, 4000), st.binary(min_size=1, max_size=4)), max_size=4),
)
def test_any_damage_is_refused_or_harmless(data, changes):
    """1 000 mutants: nothing but plain files below the folder, and no other error."""
    for at, value in changes:
        data = changed(data, at % len(data), value)
    with tempfile.TemporaryDirectory() as top:
        folder = Path(top) / "out"
        try:
            found = unpack(data, folder)
        except ArchiveRefused:
            assert list(Path(top).iterdir()) == []
        else:
            files = [path for path in folder.rglob("*") if not path.is_dir()]
            assert len(files) == len(found)
            assert all(path.is_file() and not path.is_symlink() for path in files)
