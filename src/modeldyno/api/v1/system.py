"""``/api/v1/system``: the machine, the workspace, the queue."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from fastapi import APIRouter, Response
from pydantic import Field

from modeldyno.api.schemas import answers, reference
from modeldyno.api.v1.shape import Moment, Told, answer, problems
from modeldyno.core.doctor import Finding, Fitness, fitness, verdict_sentence
from modeldyno.core.documents.doctor import DoctorDocument
from modeldyno.core.hosts import HostFacts
from modeldyno.core.redaction import without_folders
from modeldyno.services.system import SystemFacts

if TYPE_CHECKING:
    from modeldyno.services.system import SystemService

TELEMETRY = "none: nothing about you, your models or your numbers leaves this machine"


class SandboxTold(Told):
    level: Literal["full", "partial", "none", "unusable"] = Field(
        description="How far workers are confined here; unusable: none can be started."
    )
    missing: list[str] = Field(description="What a worker could do nevertheless.", examples=[[]])


class WorkspaceTold(Told):
    database: Literal["sqlite", "postgresql"]
    used_bytes: int = Field(
        description="By its files, counted once a minute.", examples=[1_048_576]
    )
    free_bytes: int = Field(description="Free on its disk.", examples=[52_613_349_376])
    total_bytes: int = Field(examples=[107_374_182_400])


class QueueTold(Told):
    waiting: int = Field(examples=[3])
    running: int = Field(examples=[1])


class LeaseTold(Told):
    host: str = Field(examples=["bench-01"])
    core: int = Field(examples=[2])
    job_id: int = Field(examples=[7])
    taken_at: Moment


class MachineTold(Told):
    """What a line about the machine says; `host` has the rest."""

    cpu_model: str = Field(examples=["AMD EPYC 7763"])
    cpus: int = Field(description="That the system sees.", examples=[8])
    cpus_allowed: int = Field(description="That we may use.", examples=[8])
    memory_bytes: int = Field(examples=[67_430_154_240])
    system: str = Field(examples=["Linux"])


class HealthTold(Told):
    """From what the system says of itself; `POST /system/doctor` measures as well."""

    verdict: Fitness
    sentence: str = Field(examples=["fit with care: governor"])
    governor: str | None = Field(examples=["performance"])
    load_1m: float | None = Field(examples=[0.1])
    findings: list[Finding]


class SystemTold(Told):
    version: str = Field(description="Of Modeldyno.", examples=["0.1.0"])
    host: HostFacts = Field(description="CPU, memory, kernel and settings, as in every result.")
    machine: MachineTold
    health: HealthTold
    sandbox: SandboxTold
    workspace: WorkspaceTold
    queue: QueueTold
    leases: list[LeaseTold] = Field(description="Which job has which CPU core.")
    telemetry: str = Field(examples=[TELEMETRY])


_CHECKUP = answers("The machine, and how steady it is right now.", reference(DoctorDocument))


def router(system: SystemService) -> APIRouter:
    routes = APIRouter(prefix="/system", tags=["system"])

    @routes.get("", responses=problems())
    def get_system() -> SystemTold:
        """The machine it runs on, the workspace, the queue, and who has which core."""
        return _told(system.facts())

    @routes.post("/doctor", response_class=Response, responses=_CHECKUP | problems(409))
    def examine_system() -> Response:
        """Is this machine fit to measure? Takes about two seconds, on a core of its own; the
        document is that of `modeldyno doctor --json`."""
        checkup = system.examine()
        findings = tuple(map(_redacted, checkup.findings))
        return answer(DoctorDocument.of(replace(checkup, findings=findings)))

    return routes


def _redacted(finding: Finding) -> Finding:
    return replace(
        finding,
        value=without_folders(finding.value),
        effect=without_folders(finding.effect),
        fix=without_folders(finding.fix),
    )


def _told(facts: SystemFacts) -> SystemTold:
    sandbox = facts.sandbox
    return SystemTold(
        version=facts.version,
        host=facts.host,
        machine=MachineTold(
            cpu_model=facts.host.cpu_model,
            cpus=facts.host.cpus,
            cpus_allowed=len(facts.host.cpus_allowed),
            memory_bytes=facts.host.memory_bytes,
            system=facts.host.system,
        ),
        health=HealthTold(
            verdict=fitness(facts.findings),
            sentence=verdict_sentence(facts.findings),
            governor=facts.host.governor,
            load_1m=facts.load_1m,
            findings=list(facts.findings),
        ),
        sandbox=SandboxTold(
            level=sandbox.level if sandbox else "unusable",
            missing=list(sandbox.missing) if sandbox else [],
        ),
        workspace=WorkspaceTold(
            database=facts.database,  # type: ignore[arg-type]  # one of the two, which is checked
            used_bytes=facts.used_bytes,
            free_bytes=facts.free_bytes,
            total_bytes=facts.total_bytes,
        ),
        queue=QueueTold(waiting=facts.waiting, running=facts.running),
        leases=[
            LeaseTold(host=x.host, core=x.core, job_id=x.job_id, taken_at=x.taken_at)
            for x in facts.leases
        ],
        telemetry=TELEMETRY,
    )
