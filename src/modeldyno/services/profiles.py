"""Profiles of projects: where a model spends its time, by node and by operator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from modeldyno.core.codec import encode
from modeldyno.core.documents.hosts import Peaks
from modeldyno.core.errors import NotFound
from modeldyno.core.exports import csv_text
from modeldyno.core.ids import DatasetId, ModelId, ProfileId, ProjectId
from modeldyno.core.jobs import Job
from modeldyno.core.models import Model
from modeldyno.core.profiles import (
    Agreement,
    OpMicroseconds,
    OpTypeRow,
    Profile,
    ProfileRow,
    ProfileRows,
    ProfileRowsQuery,
    UnknownTimes,
    in_microseconds,
    unknown_times,
)
from modeldyno.core.requests.measuring import ProfileRequest, SideRequest
from modeldyno.core.results import ProfileResult
from modeldyno.core.roofline import Roof, find_roof
from modeldyno.core.runs import ACTIVE
from modeldyno.core.specs import ProfileSpec
from modeldyno.present.profile_tables import rows_csv
from modeldyno.services import requests
from modeldyno.services.jobs import JobService
from modeldyno.services.models import ModelService
from modeldyno.services.run_hosts import RunHosts
from modeldyno.services.runnables import RunnableService
from modeldyno.store.history import History
from modeldyno.store.records.all import Records

PeaksOf = Callable[[str], Peaks | None]  # by the fingerprint of a machine
MakeSpec = Callable[[str], ProfileSpec]  # from where the model is read

OP_COLUMNS = (
    *("node_name", "total_execution_time", "accelerator_execution_time", "cpu_execution_time"),
    *("op_run", "op_defined"),
)


class ProfileService(RunnableService[ProfileId, Profile]):
    kind = "profile"

    def __init__(
        self,
        records: Records,
        models: ModelService,
        jobs: JobService,
        hosts: RunHosts,
        peaks_of: PeaksOf,
        history: History,
    ) -> None:
        super().__init__(records, models, jobs)
        self._hosts = hosts
        self._history = history
        self._peaks_of = peaks_of

    def create(
        self,
        project_id: ProjectId,
        model_id: ModelId,
        name: str,
        dataset_id: DatasetId | None = None,
        threads: int = 1,
        *,
        make_spec: MakeSpec | None = None,
        start: bool = False,
    ) -> tuple[Profile, Job | None]:
        """``threads`` are all that is said where ``make_spec`` does not say more."""
        make = make_spec or make_spec_with_threads(threads)
        return self.add(
            project_id, [model_id], name, _make_from_path(make), start=start, dataset_id=dataset_id
        )

    def edit(
        self,
        profile_id: ProfileId,
        *,
        name: str | None = None,
        dataset_id: DatasetId | None = None,
        threads: int | None = None,
        make_spec: MakeSpec | None = None,
    ) -> Profile:
        """The name at any time, all else before the first run; raises WrongState."""
        with self._records.database.writing():
            own: dict[str, Any] = {"name": name, "dataset_id": dataset_id}
            if make_spec is not None:
                return self.change(profile_id, make_spec=_make_from_path(make_spec), **own)
            if threads is not None:
                spec = self.get(profile_id).spec
                cell = requests.make_cell_specs(SideRequest(cores=threads))[0]
                spec = replace(spec, cell=replace(spec.cell, cores=cell.cores))
                own["settings"] = encode(spec)
            return self.change(profile_id, **own)

    # ------------------------------------------------------------ what came out

    def agreement(self, profile_id: ProfileId) -> Agreement | None:
        """Of the latest run that has rows; None before there is one."""
        return self._records.profiles.agreement(profile_id)

    def rows(self, profile_id: ProfileId, wanted: ProfileRowsQuery | None = None) -> ProfileRows:
        """Of the latest run that has rows; raises NotFound when none has."""
        wanted = wanted or ProfileRowsQuery()
        agreement = self._read_agreement(profile_id)
        more = None if wanted.limit is None else wanted.limit + 1
        rows = self._records.profiles.read_page_of_rows(
            agreement.run_id, replace(wanted, limit=more)
        )
        if wanted.limit is None or len(rows) <= wanted.limit:
            return self._with_unknown(agreement, rows, None)
        after = wanted.start + wanted.limit
        return self._with_unknown(agreement, rows[: wanted.limit], after)

    def _with_unknown(
        self,
        agreement: Agreement,
        rows: tuple[ProfileRow, ...] | tuple[OpTypeRow, ...],
        after: int | None,
    ) -> ProfileRows:
        unknown = self._unknown_times(agreement)
        return ProfileRows(agreement.run_id, agreement.latency_s, rows, after, unknown)

    def _unknown_times(self, agreement: Agreement) -> UnknownTimes:
        """The run's folder has them; none where it cannot be read."""
        try:
            result = self._history.read(agreement.run_id).result
        except (OSError, ValueError, KeyError):
            return {}
        return unknown_times(result) if isinstance(result, ProfileResult) else {}

    def roof(self, profile_id: ProfileId) -> Roof:
        """What its rows are held against: peaks of the machine that measured them."""
        summary = self._records.profiles.get(profile_id).summary
        host = self._hosts.read_cached(self._read_agreement(profile_id).run_id)
        peaks = self._peaks_of(host["fingerprint"]) if host else None
        return find_roof(peaks, summary.cores or 1, summary.device or "cpu")

    def op_rows(self, profile_id: ProfileId) -> tuple[OpMicroseconds, ...]:
        """By operator, in whole microseconds of one call, the slowest first; raises NotFound."""
        run_id = self._read_agreement(profile_id).run_id
        return in_microseconds(self._records.profiles.sum_rows_by_op_type(run_id))

    def op_csv(self, profile_id: ProfileId) -> str:
        """The same as a table with CRLF, its columns named as INC Bench names them."""
        rows = [
            (row.op_type, row.total_us, row.accelerator_us, row.cpu_us, row.op_run, row.op_defined)
            for row in self.op_rows(profile_id)
        ]
        named = [dict(zip(OP_COLUMNS, row, strict=True)) for row in rows]
        return csv_text(OP_COLUMNS, named, line_end="\r\n")

    def csv(self, profile_id: ProfileId, by: Literal["node", "op"] = "op") -> str:
        """The slowest first, with a line for what is outside all nodes; raises NotFound."""
        agreement = self._read_agreement(profile_id)
        rows = self._records.profiles.read_page_of_rows(agreement.run_id, ProfileRowsQuery(by=by))
        return rows_csv(rows, agreement, self._unknown_times(agreement))

    def _read_agreement(self, profile_id: ProfileId) -> Agreement:
        agreement = self._records.profiles.agreement(profile_id)
        if agreement is None:
            state = self._records.profiles.get(profile_id).state
            raise NotFound(
                f"Profile {profile_id} has no results yet",
                why="it was not run" if state == "draft" else f"it is {state}",
                fix="Wait until it has ended" if state in ACTIVE else "Run it",
            )
        return agreement


def make_spec_with_threads(threads: int) -> MakeSpec:
    return partial(requests.make_profile_spec, ProfileRequest(cores=threads))


def _make_from_path(make_spec: MakeSpec) -> Callable[[Model], ProfileSpec]:
    return lambda model: make_spec(model.path)
