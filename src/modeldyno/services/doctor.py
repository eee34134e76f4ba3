"""Examine the machine: facts, readings, probes, leases, workspace; and its peaks when asked."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from modeldyno.core.documents.hosts import Checkup, Finding, FindingState, NoiseReading, Peaks
from modeldyno.core.errors import LeasesUnusable, RunFailed
from modeldyno.core.figures import size
from modeldyno.core.jobs import JobMessage, Progress
from modeldyno.core.sessions import SandboxReport
from modeldyno.jobs.leases import Leases
from modeldyno.jobs.protocol import Jobs, device_nodes
from modeldyno.measure import doctor, energy, host
from modeldyno.measure.cpus import allowed_cpus, format_cpu_ranges
from modeldyno.services import peak_measurement
from modeldyno.services.runs import RunService
from modeldyno.store import peaks as stored_peaks
from modeldyno.store.runs import RunFolders
from modeldyno.worker.launch import Stop, WorkerSetup, launched
from modeldyno.worker.untrusted_folders import temporary_folder

Listener = Callable[[JobMessage], None]
LEAST_DISK_BYTES = 1 << 30  # what a run may leave: samples, logs, a private copy of the model
SANDBOX_LIMIT_S = 20.0


class DoctorService:
    def __init__(
        self, jobs: Jobs, leases: Leases, workspace: Path, machine: str | None = None
    ) -> None:
        self._jobs = jobs
        self._leases = leases
        self._workspace = workspace
        self._machine = machine

    def examine(self, with_peaks: bool, listen: Listener | None = None) -> Checkup:
        """Two seconds; with peaks about half a minute more."""

        def say(doing: str) -> None:
            if listen is not None:
                listen(Progress(0, 0, doing))

        say("looking at the machine")
        facts, before = host.facts(machine=self._machine), host.read_load()
        findings = [doctor.judge_pinning(doctor.pinning_works(allowed_cpus()))]
        say("reading the clock")
        clock = doctor.read_clock()
        findings += doctor.judge_clock(facts, clock)
        say("measuring the noise")
        cores, noise = self._cores_and_noise()
        meanwhile = host.weather(before, host.read_load())
        findings += [
            cores,
            doctor.judge_noise(noise),
            _judge_energy(),
            _judge_disk(self._workspace),
            _judge_sandbox(),
        ]
        if with_peaks:
            stored_peaks.save(self._workspace, self._measure_peaks(listen))
        return Checkup(
            created_at=datetime.now(UTC).isoformat(timespec="seconds"),
            tool_version=version("modeldyno"),
            findings=(*doctor.judge_machine(facts, meanwhile), *findings),
            clock=clock,
            noise=noise,
            peaks=stored_peaks.load(self._workspace, facts.fingerprint),
            host=facts,
            weather=meanwhile,
        )

    def _cores_and_noise(self) -> tuple[Finding, NoiseReading | None]:
        """Probed on a core of our own: no measurement is disturbed."""
        try:
            used = self._leases.in_use()
            with self._leases.take_now(1) as lease:
                if lease:
                    return _judge_cores(used), _measure_noise_on(lease.cpus)
                # Checked again: another process took them meanwhile.
                return _judge_cores(self._leases.in_use(), are_taken=True), None
        except LeasesUnusable as error:
            return Finding("free cores", "problem", error.title, error.why, error.fix), None

    def _measure_peaks(self, listen: Listener | None) -> Peaks:
        with temporary_folder() as folder:
            service = RunService(RunFolders(folder / "runs"), self._jobs)
            return peak_measurement.measure_peaks(
                folder, host.facts(), lambda s: service.run(s, _without_notices(listen))
            )


def _without_notices(listen: Listener | None) -> Listener | None:
    """Whoever asks for a checkup chose no budget that could be too short."""
    if listen is None:
        return None

    def pass_on(message: JobMessage) -> None:
        listen(replace(message, notice="") if isinstance(message, Progress) else message)

    return pass_on


def _measure_noise_on(cpus: tuple[int, ...]) -> NoiseReading:
    if not hasattr(os, "sched_setaffinity"):
        return doctor.probe_noise()
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        return doctor.probe_noise()
    finally:
        os.sched_setaffinity(0, before)


def _judge_cores(used: dict[int, str], are_taken: bool = False) -> Finding:
    """``are_taken``: none could be leased, whoever holds them at this moment."""
    count = len(allowed_cpus())
    value = f"{count - len(used)} of {count}"
    if not used and not are_taken:
        return Finding("free cores", "ok", value)
    holders = ", ".join(dict.fromkeys(used.values()))
    usage = (
        f"{format_cpu_ranges(used)} used by {holders}"
        if used
        else "another modeldyno is about to use them"
    )
    return Finding(
        "free cores",
        "warning",
        f"{value}; {usage}",
        "runs wait for cores that another measurement holds; caches are shared with it",
        "wait until it has ended",
    )


def _judge_energy() -> Finding:
    try:
        return Finding("energy", "ok", energy.find_meter("cpu").source)
    except energy.NoMeter as reason:
        readable = "sudo chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj"
        fix = readable if "root" in str(reason) else "none"
        return Finding("energy", "unknown", str(reason), "no energy figure for CPU cells", fix)


def _judge_disk(workspace: Path) -> Finding:
    there = next(path for path in (workspace, *workspace.parents) if path.exists())
    value = f"{size(shutil.disk_usage(there).free)} free for {workspace}"
    fix = "free some, or choose another folder with --workspace"
    if not os.access(there, os.W_OK):
        return Finding("disk", "problem", f"{there} is not writable", "runs cannot be kept", fix)
    state: FindingState = "ok" if shutil.disk_usage(there).free >= LEAST_DISK_BYTES else "problem"
    if state == "ok":
        return Finding("disk", state, value)
    return Finding("disk", state, value, "a run stops when its samples cannot be written", fix)


def try_sandbox(devices: tuple[Path, ...] = ()) -> SandboxReport | None:
    """What a worker that is started here and now is really confined by; None: it cannot start."""
    with temporary_folder() as folder, closing(Stop()) as stop:
        scratch, log = folder / "scratch", folder / "log.txt"
        try:
            with launched(WorkerSetup(scratch, log, devices=devices)) as worker:
                return worker.read_sandbox_report(time.monotonic() + SANDBOX_LIMIT_S, stop)
        except (EOFError, RunFailed):
            return None


def _judge_sandbox() -> Finding:
    """Workers that drive a device are confined less: judged by both kinds, if there are devices."""
    nodes = device_nodes()
    report = try_sandbox()
    with_devices = try_sandbox(nodes) if nodes else report
    if report is None or with_devices is None:
        return Finding("sandbox", "problem", "a worker cannot start", "nothing can be measured")
    value = str(report)
    if with_devices != report:
        value += f"; with a GPU or NPU {with_devices}"
    if report.level == with_devices.level == "full":
        return Finding("sandbox", "ok", "full")
    effect = "a hostile model file could do more than compute; numbers are the same"
    return Finding("sandbox", "warning", value, effect, "measure files you trust")
