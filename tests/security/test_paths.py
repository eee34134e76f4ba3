"""Paths of clients (P1–P9, P13–P15): below an allowed folder, or nowhere.

Each refusal has its control: a plain ``open`` of the same text does reach the secret, or the same
file is served under its proper name.
"""

import os
import threading
import time
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modeldyno.core.errors import BadValue, FileNotFound, PathRefused, RunNotFound, UserError
from modeldyno.core.ids import RunId
from modeldyno.core.names import names_in
from modeldyno.store.history import History
from modeldyno.store.objects import Objects
from modeldyno.store.roots import Roots
from modeldyno.store.runs import RunFolders
from modeldyno.store.safe_open import open_below, open_below_name_by_name

SECRET = b"secret"


@pytest.fixture
def folder(tmp_path):
    """``root`` may be read; ``secret`` beside it must not be."""
    (tmp_path / "secret").write_bytes(SECRET)
    root = tmp_path / "root"
    (root / "sub" / "deep").mkdir(parents=True)
    (root / "net.onnx").write_bytes(b"net")
    (root / "sub" / "deep" / "b.onnx").write_bytes(b"deep")
    (root / ".hidden").write_bytes(SECRET)
    (root / "sub" / ".ssh").mkdir()
    (root / "sub" / ".ssh" / "id").write_bytes(SECRET)
    return root


@pytest.fixture(params=[open_below, open_below_name_by_name])
def roots(request, folder):
    return Roots([folder], request.param)


def content(roots, path):
    with roots.open(path) as file:
        return os.read(file.descriptor, 100)


def test_what_lies_below_is_opened(roots, folder):
    assert content(roots, "net.onnx") == b"net"
    assert content(roots, "sub/deep/b.onnx") == b"deep"
    assert content(roots, str(folder / "sub/deep/b.onnx")) == b"deep"
    with roots.open("sub/deep/b.onnx") as file:
        assert (file.name, file.size_bytes) == ("b.onnx", 4)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(file.descriptor)


P1 = ["../secret", "sub/../../secret", "sub/deep/../../../secret", "./../secret", ".."]


@pytest.mark.parametrize("path", P1)
def test_p1_nothing_climbs_out(roots, folder, path):
    with pytest.raises(PathRefused):
        content(roots, path)
    reached = folder / path
    assert reached.is_dir() or reached.read_bytes() == SECRET  # the control: it would lead there


def test_p2_neither_another_root_nor_doubled_slashes_lead_out(roots, folder):
    for path in (
        str(folder.parent / "secret"),
        f"/{folder}/net.onnx",
        f"//{folder}/net.onnx",
        f"{folder}//net.onnx",
        f"{folder}/../secret",
        f"{folder}x/net.onnx",
        f"{folder}xnet.onnx",
        "sub//deep/b.onnx",
        "/",
        "//server/share",
    ):
        with pytest.raises(PathRefused):
            content(roots, path)


@pytest.mark.parametrize("path", ["file:///etc/passwd", "file:net.onnx", "FILE://x", "file:/x"])
def test_p3_an_address_of_a_file_is_no_path(roots, path):
    with pytest.raises(PathRefused, match="address"):
        content(roots, path)


@pytest.mark.parametrize("mark", ["#", "?", ";", "%23", "%3f", "&", "%"])
def test_p4_marks_of_addresses_are_letters_like_any_other(roots, folder, mark):
    for path in (f"net.onnx{mark}/../../secret", f"{mark}/../../secret", f"x{mark}../secret"):
        with pytest.raises(UserError):
            content(roots, path)
    (folder / f"a{mark}b").write_bytes(b"literal")
    assert content(roots, f"a{mark}b") == b"literal"


@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize("path", ["../secret", "/etc/passwd", "sub/../../secret", "a\0b", "~/x"])
def test_p4_encoding_a_path_does_not_hide_it(roots, path, times):
    for _ in range(times):
        path = quote(path, safe="").replace(".", "%2e")
    with pytest.raises(PathRefused):
        content(roots, path)


@pytest.mark.parametrize("scheme", ["dbfs", "s3", "http", "https", "ftp", "smb", "data", "x+y.z-1"])
def test_p5_any_scheme_is_refused(roots, scheme):
    for path in (f"{scheme}:/net.onnx", f"{scheme}://host/net.onnx", f"{scheme}:net.onnx"):
        with pytest.raises(PathRefused):
            content(roots, path)


def test_p6_nothing_is_ever_written_through_a_path(roots, folder):
    """There is no way to open for writing, and what is stored gets its name from its content."""
    with roots.open("net.onnx") as file, pytest.raises(OSError, match="Bad file descriptor"):
        os.write(file.descriptor, b"x")
    assert (folder / "net.onnx").read_bytes() == b"net"


@pytest.mark.parametrize(
    "digest",
    [
        "sha256:../../x", "sha256:" + "a" * 64, "../" * 20 + "secret", "A" * 64, "a" * 63, "a" * 65,
        "a" * 63 + "\0", "a" * 64 + "\n", "", "aa/bb/" + "a" * 58, "٣" * 64,
    ],
)  # fmt: skip
def test_p7_a_checksum_is_64_digits_or_refused(tmp_path, digest):
    objects = Objects(tmp_path / "objects", kept_free=0)
    for use in (objects.path, objects.open):
        with pytest.raises(BadValue):
            use(digest)
    assert objects.path("a" * 64) == tmp_path / "objects" / "aa" / "aa" / ("a" * 64)


@pytest.mark.parametrize(
    "path", ["net.onnx\0", "\0", "a\nb", "a\x1b[2Jb", "a\x7f", "a\x85b", "\ud800"]
)
def test_p9_control_characters_are_refused(roots, path):
    with pytest.raises(PathRefused, match="control"):
        content(roots, path)


def test_p9_links_are_not_followed(roots, folder, tmp_path):
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "inside").symlink_to("net.onnx")
    (folder / "dir").symlink_to(tmp_path)
    (folder / "alias").symlink_to("sub/deep")
    (folder / "sub" / "up").symlink_to("../..")
    os.link(tmp_path / "secret", folder / "hard")
    for path in ("link", "inside", "dir/secret", "alias/b.onnx", "sub/up/secret", "hard"):
        assert (folder / path).read_bytes() in (SECRET, b"net", b"deep")  # the control
        with pytest.raises(PathRefused):
            content(roots, path)


def test_p9_only_files_are_files(roots, folder):
    os.mkfifo(folder / "pipe")
    for path in ("pipe", "sub", "net.onnx/x"):
        with pytest.raises(PathRefused):
            content(roots, path)
    for path in ("missing", "missing/x", "sub/missing"):
        with pytest.raises(FileNotFound):
            content(roots, path)


def test_p9_magic_links_of_proc_lead_nowhere():
    with Path("/proc/self/maps").open():
        for opening in (open_below, open_below_name_by_name):
            with pytest.raises(PathRefused):
                content(Roots([Path("/proc/self")], opening), "cwd/x")


@pytest.mark.parametrize(
    "path",
    ["C:\\x", "C:/x", "c:net.onnx", "\\\\server\\share", "\\x", "sub\\..\\..\\secret", "//?/C:/x"],
)
def test_p13_paths_for_windows_are_refused_on_every_system(roots, path):
    with pytest.raises(PathRefused):
        content(roots, path)


@pytest.mark.parametrize("path", [".hidden", "sub/.ssh/id", "sub/.ssh", ".", "sub/."])
def test_p14_hidden_files_are_not_served(roots, folder, path):
    assert (folder / path).exists()  # the control
    with pytest.raises(PathRefused):
        content(roots, path)


@pytest.mark.parametrize("path", ["~", "~/x", "~root/x", "%7e/x"])
def test_p3_home_folders_are_not_looked_up(roots, path):
    with pytest.raises(PathRefused):
        content(roots, path)


def test_no_error_names_a_folder_that_the_client_did_not(roots, folder):
    for path in ("../secret", "missing", "sub", "a\0", "/etc/passwd"):
        with pytest.raises(UserError) as raised:
            content(roots, path)
        assert str(folder) not in str(raised.value)


@pytest.mark.parametrize(
    "word", ["../x", "..", ".", "", "a/b", "/tmp", "x\0", "x.log", "20%2f", "a" * 65]
)
def test_p8_p15_a_log_is_named_by_the_id_of_its_run_and_by_nothing_else(tmp_path, word):
    """The log's path is never the client's: it follows from the id, and an id is no path."""
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "log.txt").write_bytes(SECRET)
    (tmp_path / "runs").mkdir()
    assert (tmp_path / "runs" / "../x/log.txt").read_bytes() == SECRET  # the control
    for kept in (RunFolders(tmp_path / "runs"), History(tmp_path / "runs")):
        with pytest.raises(RunNotFound):
            kept.folder(RunId(word))
        good = RunId("20261115-095116-3fa9c1")
        assert kept.folder(good).log == tmp_path / "runs" / good / "log.txt"


# ---------------------------------------------------------------- while somebody changes the folder


@pytest.mark.parametrize("opening", [open_below, open_below_name_by_name])
def test_swapping_a_folder_for_a_link_gains_nothing(folder, tmp_path, opening):
    """The race that checking first and opening later loses."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "b.onnx").write_bytes(SECRET)
    inside, parked, link = folder / "swap", folder / "parked", folder / "link"
    inside.mkdir()
    (inside / "b.onnx").write_bytes(b"deep")
    link.symlink_to(tmp_path / "outside")
    over = threading.Event()

    def swap():
        while not over.is_set():
            inside.rename(parked)
            link.rename(inside)
            inside.rename(link)
            parked.rename(inside)

    swapping = threading.Thread(target=swap)
    swapping.start()
    seen: set[object] = set()
    naive: set[bytes] = set()
    roots = Roots([folder], opening)
    try:
        tries, end = 0, time.monotonic() + 30
        while tries < 3000 or (SECRET not in naive and time.monotonic() < end):
            tries += 1
            try:
                seen.add(content(roots, "swap/b.onnx"))
            except UserError as error:
                seen.add(type(error))
            try:
                naive.add((inside / "b.onnx").read_bytes())
            except OSError:
                continue
    finally:
        over.set()
        swapping.join()
    assert SECRET not in seen
    assert SECRET in naive  # the control: the link was there to be followed
    assert b"deep" in seen


# ---------------------------------------------------------------- any text at all

PIECES = [
    "..", ".", "/", "//", "\\", "~", "%2e", "%2f", "%252e", "%00", "\0", "sub", "deep", "net.onnx",
    "b.onnx", "secret", "link", "hard", "dir", ":", "C:", "file:", "#", "?", ";", " ", "%", "root",
    "\u2024", "\uff0e", "\uff0f", "\u202e", ".hidden",
]  # fmt: skip


@pytest.fixture(scope="module")
def trap(tmp_path_factory):
    top = tmp_path_factory.mktemp("trap")
    (top / "secret").write_bytes(SECRET)
    root = top / "root"
    (root / "sub" / "deep").mkdir(parents=True)
    (root / "net.onnx").write_bytes(b"net")
    (root / "sub" / "deep" / "b.onnx").write_bytes(b"deep")
    (root / ".hidden").write_bytes(SECRET)
    (root / "link").symlink_to(top / "secret")
    (root / "dir").symlink_to(top)
    os.link(top / "secret", root / "hard")
    return root


@settings(max_examples=4000, deadline=None, database=None)
@given(st.one_of(st.lists(st.sampled_from(PIECES), max_size=8).map("".join), st.text(max_size=30)))
def test_no_text_reaches_the_secret(trap, path):
    """4 000 texts from the pieces that broke others, as they are and after the root's own path."""
    for opening in (open_below, open_below_name_by_name):
        for said in (path, f"{trap}/{path}"):
            try:
                found = content(Roots([trap], opening), said)
            except UserError:
                continue
            assert found != SECRET
            assert found in (b"net", b"deep")


@settings(max_examples=2000, deadline=None, database=None)
@given(st.text(max_size=40))
def test_names_in_a_path_are_plain_or_there_are_none(path):
    try:
        names = names_in(path)
    except PathRefused:
        return
    assert "/".join(names) == path
    assert all(name and name[0] != "." for name in names)
    assert not path.startswith(("/", "~"))
    assert "\0" not in path
    assert "\\" not in path
