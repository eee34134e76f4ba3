"""Downloads (P17–P22): from where the catalogue says, what the catalogue says, or nothing.

Each refusal has its control: the same request succeeds when the one thing that is wrong is right.
"""

import ast
import hashlib
import inspect
import ssl
import urllib.request
from pathlib import Path

import pytest
from fastapi import FastAPI
from pydantic import AnyUrl, BaseModel

import modeldyno
from modeldyno.core.errors import DownloadRefused, ExampleNotFound
from modeldyno.services.examples import ExampleService
from modeldyno.store.downloads import Downloads
from modeldyno.store.examples import list_download_hosts
from modeldyno.store.objects import Objects
from modeldyno.store.transfers import Network
from modeldyno.store.web_addresses import WebAddress, parse_web_address, why_not_public
from tests.api.v1.server import serving
from tests.model_server import HOST, OTHER_HOST, File, example, model_server, redirect

PACKAGE = Path(modeldyno.__file__).parent
DATA = b"a model, let us say" * 1000
SHA = hashlib.sha256(DATA).hexdigest()
NET = example(sha256=SHA)


@pytest.fixture(scope="module")
def running():
    with model_server() as server:
        yield server


@pytest.fixture
def server(running):
    running.files.clear()
    running.asked.clear()
    running.looked_up.clear()
    running.files["/net.pb"] = File(DATA)
    return running


@pytest.fixture
def fetch(server, tmp_path):
    def fetched(wanted=NET, **network):
        downloads = Downloads(
            tmp_path / "downloads", server.network(**network), kept_free=0, pauses_s=()
        )
        with downloads.fetched_file(wanted, lambda done, total: None, lambda: False) as path:
            return path.read_bytes()

    return fetched


# ---------------------------------------------------------------- P17: what came is what was meant


@pytest.mark.parametrize("change", [b"!", DATA[:1], b""])
def test_p17_another_content_is_refused_and_deleted(fetch, server, tmp_path, change):
    server.files["/net.pb"] = File(change + DATA[1:])
    if change == DATA[:1]:  # the control
        assert fetch() == DATA
        return
    with pytest.raises(DownloadRefused, match="checksum"):
        fetch()
    assert [path.name for path in (tmp_path / "downloads").iterdir()] == ["net.lock"]


def test_p17_a_model_is_loaded_from_no_hub():
    """Hubs load what they fetch: nothing of ours asks one, nor fetches in any other way."""
    imports_of_clients = {"urllib.request", "requests", "httpx", "aiohttp", "torch.hub", "onnx.hub",
            "huggingface_hub", "tensorflow_hub", "kagglehub", "ftplib"}  # fmt: skip
    # A client of our own server talks HTTP as well, to an address that its user gave it.
    files = [
        path for path in PACKAGE.rglob("*.py") if "client" not in str(path.relative_to(PACKAGE))
    ]
    imports = {path: imported(path.read_text()) for path in files}
    assert not [path for path, found in imports.items() if found & imports_of_clients]
    fetching = [path.name for path, found in imports.items() if "http.client" in found]
    assert fetching == ["transfers.py"]
    assert imported("import torch.hub\nfrom urllib import request") >= {
        "torch.hub",
        "urllib.request",
    }


def imported(code):
    found = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


# ---------------------------------------------------------------- P18: where from

NOT_PUBLIC = [
    "127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1",
    "172.31.255.255", "192.88.99.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
    "192.0.0.8", "192.0.2.1", "198.18.0.1",
    "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255",
    "::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12:3456::1", "ff02::1", "fec0::1",
    "2001:db8::1", "2001::1", "2002:7f00:1::", "2002:808:808::", "::ffff:127.0.0.1",
    "::ffff:8.8.8.8", "::ffff:a9fe:a9fe", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::1", "", "localhost", "127.1", "0x7f000001", "2130706433", "8.8.8.8:80",
]  # fmt: skip
PUBLIC = ["8.8.8.8", "93.184.215.14", "172.32.0.1", "2606:4700:4700::1111", "64:ff9b::808:808"]


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_p18_an_address_that_is_not_public_is_not_connected_to(fetch, server, address):
    def look_up(host):
        return [(address, server.port)]

    with pytest.raises(DownloadRefused, match="leads to an address"):
        fetch(look_up=look_up, why_not=why_not_public)
    assert server.asked == []


@pytest.mark.parametrize("address", PUBLIC)
def test_p18_public_addresses_are(address):
    assert why_not_public(address) is None


def test_p18_this_machine_is_refused_for_its_address_alone(fetch, server):
    with pytest.raises(DownloadRefused, match="this machine itself"):
        fetch(why_not=why_not_public)
    assert server.asked == []
    assert fetch(why_not=lambda address: None) == DATA


def test_p18_a_host_with_one_bad_address_is_not_used(fetch, server):
    def two_faced(host):
        return [*server.look_up(host), ("169.254.169.254", 443)]

    def only_metadata(address):
        return why_not_public(address) if address.startswith("169.254") else None

    with pytest.raises(DownloadRefused, match="local link"):
        fetch(look_up=two_faced, why_not=only_metadata)
    assert server.asked == []
    assert fetch(why_not=only_metadata) == DATA


def test_p18_a_name_is_looked_up_once_and_what_was_checked_is_used(fetch, server):
    """A second look-up would lead to a port where nobody listens."""
    answers = iter([[("127.0.0.1", server.port)], [("127.0.0.1", 1)]])
    checked: list[str] = []
    assert fetch(look_up=lambda host: next(answers), why_not=checked.append) == DATA
    assert checked == ["127.0.0.1"]


ELSEWHERE = [
    "https://127.0.0.1/net.pb", "https://[::1]/net.pb", "https://169.254.169.254/latest/meta-data/",
    "https://metadata.google.internal/", "http://models.test/net.pb", "http://127.0.0.1:{port}/",
    "https://models.test:{port}/net.pb", "https://evil.test/net.pb", "//evil.test/net.pb",
    "https://models.test@evil.test/", "https://evil.test#@models.test/", "https://user:word@models.test/net.pb",
    "https://models.test.evil.test/", "https://evil.test\\@models.test/", "https:\\\\evil.test/",
    "file:///etc/passwd", "ftp://models.test/net.pb", "gopher://models.test/", "data:,x",
    "https://MODELS.test./net.pb", "https://models.test%2eevil.test/", "https://models.test /x",
    "https://mödels.test/", "https://models.test/\tx", "/a/../../net.pb#x", "",
]  # fmt: skip


@pytest.mark.parametrize("location", ELSEWHERE)
@pytest.mark.parametrize("status", [301, 307])
def test_p18_p21_a_redirect_elsewhere_is_not_followed(fetch, server, location, status):
    def elsewhere(handler):
        handler.send_response(status)
        place = location.format(port=server.port).encode()
        handler.wfile.write(b"")
        handler._headers_buffer.append(b"Location: " + place + b"\r\n")
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    server.files["/moved.pb"] = elsewhere
    with pytest.raises(DownloadRefused):
        fetch(example("/moved.pb"))
    assert [asked.path for asked in server.asked] == ["/moved.pb"]
    assert server.looked_up == [HOST]


@pytest.mark.parametrize(
    "location", ["/net.pb", f"https://{OTHER_HOST}/net.pb", "//other.test/net.pb"]
)
def test_p18_a_redirect_to_a_known_host_is_followed_and_checked_again(fetch, server, location):
    server.files["/moved.pb"] = redirect(location)
    assert fetch(example("/moved.pb", sha256=SHA)) == DATA
    checked = []

    def why_not(address):
        checked.append(address)
        return why_not_public(address) if len(checked) == 2 else None

    with pytest.raises(DownloadRefused, match="this machine"):
        fetch(example("/moved.pb", sha256=SHA), why_not=why_not)
    assert [asked.path for asked in server.asked] == ["/moved.pb", "/net.pb", "/moved.pb"]


def test_p18_three_redirects_are_followed_and_no_more(fetch, server):
    for number in range(5):
        server.files[f"/{number}"] = redirect(f"/{number - 1}" if number else "/net.pb")
    assert fetch(example("/2")) == DATA
    with pytest.raises(DownloadRefused, match="more than 3 times"):
        fetch(example("/3"))


# ---------------------------------------------------------------- who vouches for the host


def test_a_certificate_that_nobody_vouches_for_is_refused(fetch, server):
    with pytest.raises(DownloadRefused, match="certificate"):
        fetch(certificates=ssl.create_default_context)
    assert server.asked == []
    assert fetch() == DATA


def test_a_certificate_of_another_host_is_refused(fetch, server):
    hosts = frozenset({"third.test"})
    with pytest.raises(DownloadRefused, match="certificate"):
        fetch(example(url="https://third.test/net.pb"), hosts=hosts)
    assert server.asked == []
    assert fetch(example(url="https://other.test/net.pb")) == DATA


def test_what_is_used_outside_of_tests_checks_addresses_and_certificates():
    network = Network(frozenset())
    context = network.certificates()
    assert network.why_not is why_not_public
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)


# ---------------------------------------------------------------- P19: what we tell


def test_p19_no_host_gets_a_password_a_cookie_or_our_proxy(fetch, server, tmp_path, monkeypatch):
    proxy = "http://127.0.0.1:1"
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, proxy)
    (tmp_path / ".netrc").write_text(f"machine {HOST} login ann password secret\n")
    (tmp_path / ".netrc").chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    assert urllib.request.getproxies()["https"] == proxy  # the control: others would use it
    cookie = {"Set-Cookie": "id=canary; Domain=test", "WWW-Authenticate": "Basic realm=x"}
    server.files["/moved.pb"] = redirect(f"https://{OTHER_HOST}/net.pb", **cookie)
    assert fetch(example("/moved.pb")) == DATA
    assert [asked.headers for asked in server.asked] == [
        {"Host": host, "Accept-Encoding": "identity", "User-Agent": "modeldyno"}
        for host in (HOST, OTHER_HOST)
    ]


def test_p19_a_host_that_wants_a_password_gets_none(fetch, server):
    server.files["/net.pb"] = File(b"", status=401, headers={"WWW-Authenticate": "Basic realm=x"})
    with pytest.raises(Exception, match="status 401"):
        fetch()
    assert len(server.asked) == 1


# ---------------------------------------------------------------- P20–P22: nobody names an address


@pytest.fixture
def service(server, tmp_path):
    downloads = Downloads(tmp_path / "downloads", server.network(), kept_free=0, pauses_s=())
    objects = Objects(tmp_path / "objects", kept_free=0)
    return ExampleService({"net": NET}, objects, downloads, allow_downloads=True)


@pytest.mark.parametrize(
    "name",
    [
        f"https://{HOST}/net.pb",
        "file:///etc/passwd",
        "../net",
        "net/../net",
        "net\0",
        "NET",
        "",
        ".",
    ],
)
def test_p20_an_example_is_named_and_never_addressed(service, server, tmp_path, name):
    with pytest.raises(ExampleNotFound):
        service.fetch(name)
    assert (server.asked, server.looked_up) == ([], [])
    assert not [*tmp_path.iterdir()]
    assert service.fetch("net").path.read_bytes() == DATA


@pytest.mark.parametrize(
    "url",
    [
        "https://models.test/a/../net.pb", "https://models.test/a/%2e%2e/x",
        "https://models.test/a/%252e%252e/x", "https://models.test/x#y",
        "http://models.test/net.pb", "https://models.test:444/x", "https://ann@models.test/x",
        "https://models.test\\x", "https://models.test:x/", "https://[models.test/", "https:///x",
        "https://models.test/ü", "https://models.test/a b", "https://models.test/" + "x" * 2048,
        "//models.test/x", "models.test/x", "HTTPS//models.test", "",
    ],
)  # fmt: skip
def test_p21_an_address_that_is_not_plain_is_refused(fetch, server, url):
    with pytest.raises(DownloadRefused):
        fetch(example(url=url))
    assert (server.asked, server.looked_up) == ([], [])


@pytest.mark.parametrize(
    "url", ["https://models.test/a/..b?c=d", "https://models.test:443/a/..b?c=d"]
)
def test_p21_plain_addresses_are_taken_as_they_are(url):
    assert parse_web_address(url, {HOST}) == WebAddress(HOST, "/a/..b?c=d")


ADDRESSES = {"url", "uri", "href"}


def address_parameters(code):
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.arg) and ADDRESSES & {*node.arg.lower().split("_")}:
            yield node.arg


def test_p22_nothing_that_a_route_can_call_takes_an_address():
    """Services, and what they call to fetch: an example goes in, never where it lies."""
    reach = [*(PACKAGE / "services").rglob("*.py"), *(PACKAGE / "api" / "v1").rglob("*.py")]
    assert [path.name for path in reach if [*address_parameters(path.read_text())]] == []
    assert [path.name for path in reach if path.name == "examples.py"]
    for method in (
        Downloads.fetched_file,
        Downloads.find_earlier_download,
        Downloads.remember_download,
        ExampleService.fetch,
    ):
        assert not ADDRESSES & set(inspect.signature(method).parameters)
    assert [*address_parameters("def f(model_url, *, uri, path): ...")] == ["model_url", "uri"]


def asked_addresses(document):
    """Parameters, and keys of request bodies, that are called an address or described as one."""
    for operations in document["paths"].values():
        for operation in operations.values():
            for parameter in operation.get("parameters", ()):
                yield from named_addresses(parameter["name"], parameter["schema"], document)
            for body in operation.get("requestBody", {}).get("content", {}).values():
                yield from named_addresses("", body["schema"], document)


def named_addresses(name, schema, document, depth=8):
    words = {*name.lower().replace("-", "_").split("_")}
    if ADDRESSES & words or schema.get("format") in ("uri", "uri-reference", "iri"):
        yield name
    if depth and "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    for key, part in schema.get("properties", {}).items():
        yield from named_addresses(key, part, document, depth - 1)
    parts = [part for key in ("anyOf", "oneOf", "allOf") for part in schema.get(key, ())]
    for part in [*parts, *filter(None, [schema.get("items")])]:
        yield from named_addresses("", part, document, depth - 1)


@pytest.mark.slow
def test_p22_no_operation_of_the_api_takes_an_address(tmp_path):
    with serving(tmp_path) as served:
        document = served.get("openapi.json").json
    assert len(document["paths"]) > 20
    assert [*asked_addresses(document)] == []


def test_p22_an_operation_that_did_would_be_noticed():
    class Source(BaseModel):
        model_url: str

    class Wanted(BaseModel):
        source: Source | None
        home: AnyUrl

    app = FastAPI()

    @app.post("/models")
    def add(wanted: Wanted, uri: str) -> None: ...

    assert sorted(asked_addresses(app.openapi())) == ["home", "model_url", "uri"]


def test_p22_what_we_fetch_from_is_known_before_anybody_asks():
    assert list_download_hosts() == {
        "download.tensorflow.org",
        "storage.googleapis.com",
        "zenodo.org",
    }
