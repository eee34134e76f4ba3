"""Checks of web addresses to fetch from; nothing is opened.

Like a client's path, an address that is not plain is refused, never repaired.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import unquote, urljoin, urlsplit

from modeldyno.core.errors import DownloadRefused

PORT = 443
LONGEST = 2048
_PLAIN = re.compile(r"[!-\[\]-~]+")  # visible ASCII without the backslash
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_OPEN_IPV6 = ipaddress.IPv6Network("2000::/3")
# Reserved as well, which not every version of Python knows.
_SET_ASIDE = (ipaddress.IPv4Network("192.0.0.0/24"), ipaddress.IPv4Network("192.88.99.0/24"))


@dataclass(frozen=True)
class WebAddress:
    host: str
    target: str  # path and query, as a request line has them

    @property
    def url(self) -> str:
        return f"https://{self.host}{self.target}"

    def join(self, location: str, hosts: Collection[str]) -> WebAddress:
        """Where a redirect from here leads; raises DownloadRefused."""
        if not _PLAIN.fullmatch(location):
            raise download_refused_error("it redirects to an address that is not plain text")
        return parse_web_address(urljoin(self.url, location), hosts)


def parse_web_address(url: str, hosts: Collection[str]) -> WebAddress:
    """``https://host/path`` on one of these hosts; raises DownloadRefused for anything else."""
    if len(url) > LONGEST or not _PLAIN.fullmatch(url):
        raise download_refused_error("its address is too long, or not plain text")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise download_refused_error("its address cannot be understood") from error
    if parts.scheme != "https":
        raise download_refused_error(
            "only https is used: anything else could be changed on the way"
        )
    if "@" in parts.netloc or port not in (None, PORT):
        raise download_refused_error("its address names a user or a port")
    if parts.netloc.removesuffix(f":{PORT}") not in hosts:  # exactly as spelled
        raise download_refused_error("it lies on a host that is not in the catalogue of examples")
    if parts.fragment or ".." in unquote(unquote(parts.path)).split("/"):
        raise download_refused_error("its address holds .. or a #")
    path = parts.path or "/"
    return WebAddress(parts.netloc.removesuffix(f":{PORT}"), _request_target(path, parts.query))


def _request_target(path: str, query: str) -> str:
    return f"{path}?{query}" if query else path


def why_not_public(address: str) -> str | None:
    """Why this IP address is not allowed; None if it is public.

    The owner of a domain could point its name at this machine, or at its neighbours.
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return "it is not an address"
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped or parsed.sixtofour or parsed.teredo:
            return "it wraps another address"
        if parsed in _NAT64:  # it stands for the IPv4 address inside
            return why_not_public(str(ipaddress.IPv4Address(int(parsed) & 0xFFFFFFFF)))
    for claim, reason in _REASONS:
        if getattr(parsed, claim):
            return reason
    if parsed.version == 6:
        is_open = parsed in _OPEN_IPV6
    else:
        is_open = not any(parsed in network for network in _SET_ASIDE)
    return None if is_open and parsed.is_global else "it is not a public internet address"


_REASONS = (
    ("is_loopback", "it is this machine itself"),
    ("is_unspecified", "it is this machine itself"),
    ("is_link_local", "it is reached on the local link alone"),
    ("is_multicast", "it is many machines at once"),
    ("is_private", "it belongs to a private network"),
    ("is_reserved", "it is reserved"),
)


def download_refused_error(why: str) -> DownloadRefused:
    return DownloadRefused(
        "The file was not fetched",
        why=why,
        fix="Fetch it yourself if you trust it, and give its path; please report the example",
    )
