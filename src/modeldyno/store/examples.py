"""The catalogue of examples in the package, ``examples.json``: read once and checked."""

from __future__ import annotations

import importlib.util
import json
import re
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from modeldyno.core.codec import decode
from modeldyno.core.examples import Example
from modeldyno.core.names import names_in
from modeldyno.store.web_addresses import parse_web_address

CATALOGUE = Path(__file__).with_name("examples.json")
_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@cache
def read_catalogue(path: Path = CATALOGUE) -> dict[str, Example]:
    """By slug, in the catalogue's order; raises ValueError if the file is wrong."""
    entries = json.loads(path.read_text(encoding="utf-8"))["examples"]
    examples = decode(tuple[Example, ...], entries)
    for example in examples:
        if why := _find_catalogue_mistake(example):
            raise ValueError(f"example {example.slug!r}: {why}")
    by_slug = {example.slug: example for example in examples}
    if len(by_slug) != len(examples):
        raise ValueError("two examples have the same slug")
    return by_slug


def list_download_hosts(path: Path = CATALOGUE) -> frozenset[str]:
    """All hosts that examples are fetched from."""
    return frozenset(
        host_of(example.url) for example in read_catalogue(path).values() if example.url
    )


def host_of(url: str) -> str:
    return urlsplit(url).netloc


def find_wheel_file(example: Example) -> Path | None:
    """Its path in the installed ``onnx`` package, which is not imported; None if it is not
    there."""
    package = importlib.util.find_spec("onnx")
    for folder in (package and package.submodule_search_locations) or ():
        path = Path(folder, *names_in(example.file))
        if path.is_file():
            return path
    return None


def _find_catalogue_mistake(example: Example) -> str | None:
    names_in(example.file)
    if not _SLUG.fullmatch(example.slug):
        return "its slug becomes a file's name, so it has small letters, digits and hyphens"
    if (example.url is not None) != (example.kind == "download"):
        return "only a download has an address"
    if example.url is not None:
        parse_web_address(example.url, {host_of(example.url)})
    if example.sha256 is not None and not _SHA256.fullmatch(example.sha256):
        return "that is not a sha256"
    if example.inputs and len(example.inputs) != len(example.input_shapes):
        return "every input has a shape"
    return None
