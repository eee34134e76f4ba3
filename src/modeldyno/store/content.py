"""Files of jobs, which specs list by checksum: in the workspace's bundles, or fetched into them."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from modeldyno.core.errors import Cancelled, ModelChanged, ModelNotFound
from modeldyno.core.models import ExternalFile, ModelFacts
from modeldyno.core.names import names_in
from modeldyno.core.specs import ModelSpec
from modeldyno.formats.sidecar import SUFFIX
from modeldyno.store.bundles import Bundles
from modeldyno.store.models import CHUNK, hash_file
from modeldyno.store.objects import Objects
from modeldyno.worker.launch import Stop

Fetch = Callable[[str], BinaryIO]  # by checksum; raises OSError


def list_files_in_spec(model: ModelSpec, facts: ModelFacts) -> ModelSpec:
    """The spec with a list of all files of the job, so it can run where no path is valid."""
    size = facts.size_bytes - sum(file.size_bytes for file in facts.external)
    own = ExternalFile(Path(model.path).name, size, model.sha256 or facts.sha256)
    sidecar = describe_file(Path(model.path + SUFFIX))
    return replace(
        model,
        sha256=own.sha256,
        files=(own, *facts.external, *filter(None, [sidecar])),
        data_file=describe_file(Path(model.data)) if model.data is not None else None,
    )


def describe_file(path: Path) -> ExternalFile | None:
    """None if there is no such file."""
    if not path.is_file():
        return None
    return ExternalFile(path.name, path.stat().st_size, hash_file(path))


class StoredContent:
    """Finds models by checksum. With ``fetch``, missing files are fetched and stored for later
    jobs; without, a model that is not in the workspace (of a run of the terminal) is read from its
    path."""

    def __init__(self, objects: Objects, bundles: Bundles, fetch: Fetch | None = None) -> None:
        self._objects = objects
        self._bundles = bundles
        self._fetch = fetch

    def local(self, model: ModelSpec, stop: Stop) -> ModelSpec:
        own, *beside = model.files
        path = self._bundles.path_of(own.location, own.sha256, tuple(beside))
        if self._fetch and not path.exists():
            self._fetch_bundle(own, tuple(beside), self._fetch, stop)
        if path.exists():
            model = replace(model, path=str(path))
        if model.data_file is None:
            return model
        data = self._objects.path(model.data_file.sha256)
        if self._fetch and not data.exists():
            self._fetch_file(model.data_file, self._fetch, stop)
        return replace(model, data=str(data)) if data.exists() else model

    def _fetch_bundle(
        self, own: ExternalFile, beside: tuple[ExternalFile, ...], fetch: Fetch, stop: Stop
    ) -> None:
        owner = secrets.token_hex(16)
        gathering = self._bundles.waiting_folder(owner)
        try:
            for file in beside:
                self._fetch_file(file, fetch, stop, gathering.joinpath(*names_in(file.location)))
            self._fetch_file(own, fetch, stop)
            if beside:
                self._bundles.move_model_and_weights_into_place(
                    owner, own.location, own.sha256, beside
                )
            else:
                self._bundles.link_model_without_weights(own.location, own.sha256)
        finally:
            self._bundles.discard_waiting(owner)

    def _fetch_file(
        self, file: ExternalFile, fetch: Fetch, stop: Stop, target: Path | None = None
    ) -> None:
        """To ``target``, or into the objects; raises ModelChanged unless the checksum is the listed
        one."""
        with self._objects.receiving(file.size_bytes) as incoming:
            try:
                with fetch(file.sha256) as stream:
                    while chunk := stream.read(CHUNK):
                        if stop.requested:
                            raise Cancelled("Stopped while the model was being fetched")
                        incoming.write(chunk)
            except OSError as error:
                raise ModelNotFound(
                    f"{file.location} could not be downloaded",
                    why=f"{error.strerror or error} (checksum {file.sha256[:12]}…)",
                    fix="Add the model to its project again; what was measured is kept",
                ) from error
            stored = incoming.sync_and_hash()
            if stored.sha256 != file.sha256:
                raise ModelChanged(
                    f"{file.location} has changed",
                    why=f"its checksum is {stored.sha256[:12]}…, and the job was made for "
                    f"{file.sha256[:12]}…",
                    fix="Add the model to its project again, and measure that one",
                )
            if target is None:
                incoming.store(stored)
            else:
                incoming.move_to(target)
