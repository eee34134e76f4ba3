"""Downloads: in pieces, resumed where that is safe, checked, and kept when they are cut."""

import hashlib
import itertools
import socket
import threading

import pytest

from modeldyno.core.errors import (
    BadValue,
    Cancelled,
    DownloadFailed,
    DownloadRefused,
    StorageFailed,
    WrongState,
)
from modeldyno.store.downloads import Downloads
from modeldyno.store.objects import StoredObject
from tests.model_server import DATE, File, example, model_server

DATA = bytes(range(251)) * 1000
SHA = hashlib.sha256(DATA).hexdigest()
NET = example(sha256=SHA, size_bytes=len(DATA))
UNKNOWN = example()


@pytest.fixture(scope="module")
def running():
    with model_server() as server:
        yield server


@pytest.fixture
def server(running):
    running.files.clear()
    running.asked.clear()
    running.files["/net.pb"] = File(DATA)
    running.stalled.clear()
    return running


@pytest.fixture
def downloads(server, tmp_path):
    def make(**other):
        usual = {"network": server.network(), "kept_free": 0, "pauses_s": (0.0, 0.0)}
        return Downloads(tmp_path / "downloads", **(usual | other))

    return make


def nothing(done, total):
    pass


def never():
    return False


def fetched(downloads, wanted=NET, say=nothing, stop=never):
    with downloads.fetched_file(wanted, say, stop) as path:
        return path.read_bytes()


def part(tmp_path):
    path = tmp_path / "downloads" / "net.part"
    return path.read_bytes() if path.exists() else None


def test_a_file_comes_whole_and_leaves_nothing_behind(downloads, server, tmp_path):
    assert fetched(downloads()) == DATA
    assert [asked.range for asked in server.asked] == [None]
    assert [path.name for path in (tmp_path / "downloads").iterdir()] == ["net.lock"]


def test_progress_is_told_from_the_first_byte_to_the_last(downloads):
    reports = []
    ticking = itertools.count()  # a second between any two looks
    fetched(downloads(clock=lambda: next(ticking)), say=lambda *progress: reports.append(progress))
    assert reports[0] == (0, len(DATA))
    assert reports[-1] == (len(DATA), len(DATA))
    assert reports == sorted(reports)
    assert len(reports) > 5


def test_progress_is_told_at_most_four_times_a_second(downloads):
    reports = []
    fetched(downloads(clock=lambda: 5.0), say=lambda *progress: reports.append(progress))
    assert reports == [(0, len(DATA)), (len(DATA), len(DATA))]


# ---------------------------------------------------------------- cuts


def test_after_a_cut_only_the_rest_is_asked_for(downloads, server):
    server.files["/net.pb"] = File(DATA, cuts=[100_000, 50_000])
    assert fetched(downloads()) == DATA
    first, *more = server.asked
    assert first.range is None
    assert [asked.range for asked in more] == ["bytes=100000-", "bytes=150000-"]
    assert {asked.headers["If-Range"] for asked in more} == {'"one"'}


@pytest.mark.parametrize("is_chunked", [False, True])
def test_what_has_come_is_kept_for_the_next_time(downloads, server, tmp_path, is_chunked):
    server.files["/net.pb"] = File(DATA, is_chunked=is_chunked, cuts=[100_000])
    with pytest.raises(DownloadFailed) as caught:
        fetched(downloads(pauses_s=()))
    assert caught.value.title == "net could not be downloaded"
    assert "97 KiB already downloaded are kept" in caught.value.fix
    assert part(tmp_path) == DATA[:100_000]
    assert fetched(downloads()) == DATA
    assert server.asked[-1].range == "bytes=100000-"


def test_a_host_that_cuts_before_the_first_byte_is_not_asked_for_ever(downloads, server):
    server.files["/net.pb"] = File(DATA, cuts=[100_000, 0, 0, 0, 0])
    with pytest.raises(DownloadFailed, match="closed the connection"):
        fetched(downloads(pauses_s=(0.0,) * 5))
    assert len(server.asked) == 2


def test_a_file_that_changed_meanwhile_is_fetched_anew(downloads, server):
    server.files["/net.pb"] = File(b"old" * 50_000, cuts=[100_000])
    with pytest.raises(DownloadFailed):
        fetched(downloads(pauses_s=()), UNKNOWN)
    server.files["/net.pb"] = File(DATA, tag='"two"')
    assert fetched(downloads()) == DATA
    assert server.asked[-1].headers["If-Range"] == '"one"'


@pytest.mark.parametrize(
    ("tag", "modified", "validator"),
    [('W/"weak"', DATE, DATE), (None, DATE, DATE), ('W/"weak"', None, None), (None, None, None)],
)
def test_only_what_can_tell_files_apart_is_used_to_go_on(
    downloads, server, tag, modified, validator
):
    server.files["/net.pb"] = File(DATA, tag=tag, modified=modified, cuts=[100_000])
    with pytest.raises(DownloadFailed):
        fetched(downloads(pauses_s=()))
    assert fetched(downloads()) == DATA
    assert server.asked[-1].headers.get("If-Range") == validator
    assert (server.asked[-1].range is None) == (validator is None)


def test_a_host_that_knows_no_ranges_sends_all_of_it_again(downloads, server):
    server.files["/net.pb"] = File(DATA, has_ranges=False, cuts=[100_000])
    assert fetched(downloads()) == DATA


@pytest.mark.parametrize(
    ("status", "place"),
    [
        (416, f"bytes */{len(DATA)}"),
        (206, f"bytes 0-{len(DATA) - 1}/{len(DATA)}"),
        (206, f"bytes 100000-{len(DATA) - 1}/{len(DATA) + 1}"),
    ],
)
def test_a_part_that_does_not_fit_is_thrown_away(downloads, server, status, place):
    server.files["/net.pb"] = File(DATA, cuts=[100_000])
    with pytest.raises(DownloadFailed):
        fetched(downloads(pauses_s=()))

    def odd(handler):
        server.files["/net.pb"] = File(DATA)
        handler.send_response(status)
        handler.send_header("Content-Range", place)
        handler.send_header("Content-Length", "4")
        handler.end_headers()
        handler.wfile.write(b"lies")

    server.files["/net.pb"] = odd
    assert fetched(downloads()) == DATA
    assert [asked.range for asked in server.asked] == [None, "bytes=100000-", None]


def test_a_part_of_another_address_is_not_gone_on_with(downloads, server):
    server.files["/old.pb"] = File(b"old" * 50_000, cuts=[100_000])
    with pytest.raises(DownloadFailed):
        fetched(downloads(pauses_s=()), example("/old.pb"))
    assert fetched(downloads()) == DATA
    assert server.asked[-1].range is None


def test_a_note_that_is_damaged_only_costs_the_part(downloads, server, tmp_path):
    server.files["/net.pb"] = File(DATA, cuts=[100_000])
    with pytest.raises(DownloadFailed):
        fetched(downloads(pauses_s=()))
    (tmp_path / "downloads" / "net.json").write_text('{"url": 7}')
    assert fetched(downloads()) == DATA


@pytest.mark.parametrize("status", [403, 404, 500, 503])
def test_a_host_that_says_no_is_quoted_and_the_part_is_kept(downloads, server, tmp_path, status):
    server.files["/net.pb"] = File(DATA, cuts=[100_000])
    with pytest.raises(DownloadFailed):
        fetched(downloads(pauses_s=()))
    server.files["/net.pb"] = File(b"no", status=status, has_ranges=False)
    with pytest.raises(DownloadFailed, match=f"status {status}"):
        fetched(downloads())
    assert part(tmp_path) == DATA[:100_000]


# ---------------------------------------------------------------- nobody there, nobody waiting


def test_a_host_that_is_not_known_says_so(downloads, server):
    def unknown(host):
        raise socket.gaierror(-2, "Name or service not known")

    with pytest.raises(DownloadFailed) as caught:
        fetched(downloads(network=server.network(look_up=unknown)))
    assert caught.value.title == "The host models.test was not found"
    assert caught.value.why
    assert caught.value.fix


def test_a_host_that_does_not_answer_says_so(downloads, server, closed_port):
    network = server.network(look_up=lambda host: [("127.0.0.1", closed_port)])
    with pytest.raises(DownloadFailed, match=r"models\.test cannot be reached: .*refused"):
        fetched(downloads(network=network))
    network = server.network(
        look_up=lambda host: [("127.0.0.1", closed_port), *server.look_up(host)]
    )
    assert fetched(downloads(network=network)) == DATA  # its next address does


@pytest.fixture
def closed_port():
    with socket.socket() as bound:  # and does not listen
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


def test_a_host_that_falls_silent_is_given_up(downloads, server, tmp_path):
    server.files["/net.pb"] = File(DATA, stalls=[100_000])
    with pytest.raises(DownloadFailed, match=r"models\.test sent nothing for 0\.3 s"):
        fetched(downloads(network=server.network(patience_s=0.3), pauses_s=()))
    assert DATA.startswith(part(tmp_path) or b"")


@pytest.mark.parametrize("stalls", [0, 100_000])
def test_who_stops_does_not_wait_for_the_host(downloads, server, tmp_path, stalls):
    """The host would keep us for its whole patience, or until the test's time is over."""
    server.files["/net.pb"] = File(DATA, stalls=[stalls])
    with pytest.raises(Cancelled):
        fetched(downloads(network=server.network(patience_s=300.0)), stop=server.stalled.is_set)
    assert len(part(tmp_path) or b"") <= stalls
    assert fetched(downloads()) == DATA


def test_who_stops_does_not_wait_for_a_name_to_be_looked_up(downloads, server):
    looking, over = threading.Event(), threading.Event()

    def slow(host):
        looking.set()
        over.wait(60)
        return []

    with pytest.raises(Cancelled):
        fetched(
            downloads(network=server.network(look_up=slow, patience_s=300.0)), stop=looking.is_set
        )
    over.set()


def test_who_stops_does_not_wait_for_the_next_try(downloads, server):
    server.files["/net.pb"] = File(DATA, cuts=[100_000])
    with pytest.raises(Cancelled):
        fetched(downloads(pauses_s=(300.0,)), stop=lambda: not server.files["/net.pb"].cuts)


# ---------------------------------------------------------------- what is refused


def refused(downloads, wanted, why):
    with pytest.raises(DownloadRefused, match=why):
        fetched(downloads, wanted)


def test_another_checksum_is_refused_and_the_file_deleted(downloads, tmp_path):
    refused(downloads(), example(sha256="0" * 64), "checksum")
    assert part(tmp_path) is None
    assert fetched(downloads()) == DATA


def test_another_size_is_refused_before_it_comes(downloads, server):
    refused(downloads(), example(size_bytes=len(DATA) + 1), "size")
    server.files["/net.pb"] = File(DATA, is_chunked=True)
    refused(downloads(), example(size_bytes=len(DATA) - 1), "size")
    assert fetched(downloads()) == DATA


def test_what_is_too_large_is_refused_announced_or_not(downloads, server, tmp_path):
    small = downloads(largest=len(DATA) - 1)
    refused(small, UNKNOWN, "larger")
    server.files["/net.pb"] = File(DATA, is_chunked=True)
    refused(small, UNKNOWN, "larger")
    assert part(tmp_path) is None
    assert fetched(downloads(largest=len(DATA)), UNKNOWN) == DATA


def test_a_body_without_an_end_is_refused(downloads, server):
    server.files["/net.pb"] = File(DATA, has_length=False)
    refused(downloads(), UNKNOWN, "where the file ends")
    server.files["/net.pb"] = File(DATA, is_chunked=True)
    assert fetched(downloads(), UNKNOWN) == DATA


def test_a_body_packed_unasked_is_refused(downloads, server):
    server.files["/net.pb"] = File(DATA, headers={"Content-Encoding": "gzip"})
    refused(downloads(), UNKNOWN, "compressed, which was not requested")
    assert server.asked[-1].headers["Accept-Encoding"] == "identity"


# ---------------------------------------------------------------- the workspace


def test_some_of_the_disk_stays_free(downloads):
    free = len(DATA) + 1000
    with pytest.raises(StorageFailed, match="not enough room"):
        fetched(downloads(kept_free=1001, free=lambda folder: free))
    assert fetched(downloads(kept_free=1000, free=lambda folder: free)) == DATA


def test_an_archive_needs_room_to_be_unpacked_as_well(downloads):
    archive = example(is_archive=True)
    with pytest.raises(StorageFailed, match="not enough room"):
        fetched(downloads(free=lambda folder: 3 * len(DATA) - 1), archive)
    assert fetched(downloads(free=lambda folder: 3 * len(DATA)), archive) == DATA


def test_a_folder_that_cannot_be_written_says_so(downloads, tmp_path):
    (tmp_path / "downloads").write_text("in the way")
    with pytest.raises(StorageFailed):
        fetched(downloads())


def test_nobody_fetches_what_somebody_fetches(downloads):
    with downloads().fetched_file(NET, nothing, never), pytest.raises(WrongState, match="already"):
        fetched(downloads())
    assert fetched(downloads()) == DATA


def test_what_could_not_be_stored_is_not_fetched_again(downloads, server, tmp_path):
    def fails(error):
        with pytest.raises(type(error)), downloads().fetched_file(UNKNOWN, nothing, never):
            raise error

    fails(StorageFailed("full"))
    assert fetched(downloads(), UNKNOWN) == DATA
    assert len(server.asked) == 1
    fails(StorageFailed("full"))
    whole = tmp_path / "downloads" / "net.part"
    whole.write_bytes(whole.read_bytes()[:-1])  # nobody could say what it is now
    assert fetched(downloads(), UNKNOWN) == DATA
    assert [asked.range for asked in server.asked] == [None, None, None]
    fails(BadValue("it is not what we need"))
    assert fetched(downloads(), UNKNOWN) == DATA
    assert len(server.asked) == 5


def test_what_became_of_a_download_is_remembered_as_long_as_the_catalogue_says_the_same(downloads):
    stored = StoredObject(SHA, 7)
    assert downloads().find_earlier_download(NET) is None
    fetched(downloads())
    downloads().remember_download(NET, stored)
    assert downloads().find_earlier_download(NET) == stored
    assert downloads().find_earlier_download(example(sha256="0" * 64)) is None
    assert downloads().find_earlier_download(example("/other.pb", sha256=SHA)) is None
