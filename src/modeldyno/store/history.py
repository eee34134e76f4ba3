"""Read runs back from their folders: finished, running and interrupted ones."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from modeldyno.core.errors import BadValue, RunNotFound
from modeldyno.core.ids import RunId, began_at, number_in
from modeldyno.core.ids import run_id as checked
from modeldyno.core.kinds import result_from
from modeldyno.core.runs import StoredRun
from modeldyno.store.run_numbers import RunNumbers, ids_of_folders
from modeldyno.store.runs import RunFolder

LATEST = "latest"


class History:
    """The runs of a workspace, for reading."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._numbers = RunNumbers(root)

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
        """The run with this number, or with this in its id; the newest by default. Raises
        RunNotFound, BadValue."""
        run_id = self.id_of(word)
        try:
            return self.read(run_id)
        except (OSError, ValueError, KeyError) as error:
            raise BadValue(
                f"Run {run_id} cannot be read",
                why=f"it is damaged, or from another version of Modeldyno ({error})",
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
        if word and (number := number_in(word)) is not None:
            return self._numbered(number, ids)
        matches = [run_id for run_id in ids if word and word in run_id]
        if word in matches or len(matches) == 1:
            return RunId(word) if word in matches else matches[0]
        if matches:
            some = ", ".join(matches[:3])
            raise RunNotFound(
                f"{len(matches)} runs have {word!r} in their id", fix=f"Say which: {some}"
            )
        title = f"There is no run {word!r}" if word else "There is no run yet"
        raise RunNotFound(f"{title} in this workspace", fix="`modeldyno ls` lists all runs")

    def _numbered(self, number: int, ids: list[RunId]) -> RunId:
        numbers = self._numbers.of(ids)
        for run_id, its_number in numbers.items():
            if its_number == number:
                return run_id
        nearest = sorted(sorted(numbers.values(), key=lambda other: abs(other - number))[:3])
        was_given = self._numbers.run_id(number) is not None
        raise RunNotFound(
            f"There is no run #{number} in this workspace",
            why="it was removed, or measured nothing" if was_given else "",
            fix=f"The nearest are {', '.join(f'#{other}' for other in nearest)}; "
            "`modeldyno ls` lists all"
            if nearest
            else "Nothing was measured yet",
        )

    def list_ids(self) -> list[RunId]:
        """Newest first."""
        return ids_of_folders(self._root)[::-1]

    def numbers_of(self, run_ids: Iterable[RunId]) -> dict[RunId, int]:
        """Those that people type: ``#12``."""
        return self._numbers.of(run_ids)

    def run_numbered(self, number: int) -> RunId | None:
        """The run that was given this number, even if it is gone."""
        self._numbers.of(self.list_ids())
        return self._numbers.run_id(number)

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
        began = began_at(run_id)
        assert began is not None
        counts = _count_units_by_cell(folder)
        cells = folder.cells() or spec.configurations()[: spec.cells_kept()]
        file = folder.path / "result.json"
        result = None
        # While a run is being resumed, the result is that of its earlier end.
        if folder.is_over() and file.exists():
            result = result_from(json.loads(file.read_text()))
        return StoredRun(
            run_id=run_id,
            number=self._numbers.of([run_id])[run_id],
            created_at=began.isoformat(),
            state=folder.state(),
            spec=spec,
            sessions=tuple(counts[number] for number in range(len(cells) or 1)),
            cell_names=tuple(cell.name for cell in cells),
            result=result,
            failure=folder.failure(),
            artifacts=folder.read_artifacts(),
        )


def _count_units_by_cell(folder: RunFolder) -> Counter[int]:
    """How many units each cell has; a torn last line does not count."""
    path = folder.path / "units.jsonl"
    if not path.exists():
        return Counter()
    lines = path.read_bytes().splitlines(keepends=True)
    return Counter(json.loads(line)["cell"] for line in lines if line.endswith(b"\n"))
