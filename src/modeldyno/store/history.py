"""Read runs back from their folders: finished, running and interrupted ones."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from modeldyno.core.errors import BadValue, RunNotFound
from modeldyno.core.ids import RunId
from modeldyno.core.ids import run_id as checked
from modeldyno.core.kinds import result_from
from modeldyno.core.runs import StoredRun
from modeldyno.store.runs import RunFolder

LATEST = "latest"


class History:
    """The runs of a workspace, for reading."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def recent(self, count: int) -> tuple[list[StoredRun], list[RunId]]:
        """The newest runs, newest first; and the ids of those that cannot be read."""
        runs: list[StoredRun] = []
        unreadable: list[RunId] = []
        for run_id in self.list_ids()[:count]:
            try:
                runs.append(self.read(run_id))
            except (OSError, ValueError, KeyError):  # of another version or damaged
                unreadable.append(run_id)
        return runs, unreadable

    def find(self, word: str | None = None) -> StoredRun:
        """The run with this in its id; the newest by default. Raises RunNotFound, BadValue."""
        run_id = self.id_of(word)
        try:
            return self.read(run_id)
        except (OSError, ValueError, KeyError) as error:
            raise BadValue(
                f"Run {run_id} cannot be read",
                why=f"it is damaged, or of another version of Modeldyno ({error})",
                fix=f"Its files are in {self._root / run_id}",
            ) from error

    def folder(self, run_id: RunId) -> RunFolder:
        return RunFolder(self.folder_path(run_id))

    def folder_path(self, run_id: RunId) -> Path:
        """Of its folder."""
        return self._root / checked(run_id)

    def model_sha256(self, run_id: RunId) -> str | None:
        """The checksum of the measured model; None if it is not known yet."""
        return self.folder(run_id).origin().get("sha256")

    def host(self, run_id: RunId) -> dict[str, Any] | None:
        """Facts of the machine that measured it; None without a result."""
        try:
            host = json.loads((self.folder(run_id).path / "result.json").read_bytes())["host"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return host if isinstance(host, dict) else None

    def units_kept(self, run_id: RunId) -> int:
        """How many sessions or pairs it has on the disk; 0 without a folder."""
        return sum(_count_units_by_cell(self.folder(run_id)).values())

    def id_of(self, word: str | None = None) -> RunId:
        """As ``find``, for a run that may be unreadable; ``latest`` also means the newest."""
        ids = self.list_ids()
        if word in (None, LATEST) and ids:
            return ids[0]
        matches = [run_id for run_id in ids if word and word in run_id]
        if word in matches or len(matches) == 1:
            return RunId(word) if word in matches else matches[0]
        if matches:
            some = ", ".join(matches[:3])
            raise RunNotFound(
                f"{len(matches)} runs have {word!r} in their id", fix=f"Say which: {some}"
            )
        title = f"There is no run {word!r}" if word else "There is no run yet"
        raise RunNotFound(f"{title} in this workspace", fix="`modeldyno ls` lists those there are")

    def list_ids(self) -> list[RunId]:
        """Newest first."""
        if not self._root.is_dir():
            return []
        names = (path.name for path in self._root.iterdir() if _parse_start_time(path.name))
        return [RunId(name) for name in sorted(names, reverse=True)]

    def read(self, run_id: RunId) -> StoredRun:
        """Raises OSError, ValueError or KeyError if it is damaged or of another version."""
        try:
            return self._read(run_id)
        except (TypeError, AttributeError, IndexError, RecursionError) as error:
            raise ValueError(f"not what we write: {error}"[:200]) from error

    def _read(self, run_id: RunId) -> StoredRun:
        folder = self.folder(run_id)
        spec = folder.spec()
        if not spec.is_kept:
            raise ValueError("the inspection of a model leaves no run")
        began = _parse_start_time(run_id)
        assert began is not None
        counts = _count_units_by_cell(folder)
        file = folder.path / "result.json"
        result = None
        # While a run is being resumed, the result is that of its earlier end.
        if folder.is_over() and file.exists():
            result = result_from(json.loads(file.read_text()))
        return StoredRun(
            run_id=run_id,
            created_at=began.isoformat(),
            state=folder.state(),
            spec=spec,
            sessions=tuple(counts[cell] for cell in range(spec.cells_kept())),
            result=result,
            failure=folder.failure(),
            artifacts=folder.read_artifacts(),
        )


def _parse_start_time(run_id: str) -> datetime | None:
    """The time that a run's id begins with; None for other names."""
    try:
        return datetime.strptime(run_id[:15], "%Y%m%d-%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None


def _count_units_by_cell(folder: RunFolder) -> Counter[int]:
    """How many units each cell has; a torn last line does not count."""
    path = folder.path / "units.jsonl"
    if not path.exists():
        return Counter()
    lines = path.read_bytes().splitlines(keepends=True)
    return Counter(json.loads(line)["cell"] for line in lines if line.endswith(b"\n"))
