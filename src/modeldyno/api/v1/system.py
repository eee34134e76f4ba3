"""``/api/v1/system``: the machine, the workspace, the queue."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fastapi import APIRouter, Response

from modeldyno.api.v1.shape import answer, gives
from modeldyno.core.documents.hosts import (
    DoctorDocument,
    Finding,
    HealthDocument,
    LeaseDocument,
    MachineDocument,
    QueueCountsDocument,
    SandboxDocument,
    SystemDocument,
    WorkspaceDocument,
    fitness,
    verdict_sentence,
)
from modeldyno.core.redaction import without_folders
from modeldyno.services.system import SystemFacts

if TYPE_CHECKING:
    from modeldyno.services.system import SystemService


def router(system: SystemService) -> APIRouter:
    routes = APIRouter(prefix="/system", tags=["system"])

    @routes.get("", **gives(SystemDocument))
    def get_system() -> Response:
        """The machine it runs on, the workspace, the queue, and who has which core."""
        return answer(_make_document(system.facts()))

    @routes.post("/doctor", **gives(DoctorDocument, 409))
    def examine_system() -> Response:
        """Is this machine fit to measure? Takes about two seconds, on a core of its own; the
        document is that of `modeldyno doctor --json`."""
        checkup = system.examine()
        findings = tuple(map(_redact_finding, checkup.findings))
        return answer(DoctorDocument.of(replace(checkup, findings=findings)))

    return routes


def _redact_finding(finding: Finding) -> Finding:
    return replace(
        finding,
        value=without_folders(finding.value),
        effect=without_folders(finding.effect),
        fix=without_folders(finding.fix),
    )


def _make_document(facts: SystemFacts) -> SystemDocument:
    host, sandbox = facts.host, facts.sandbox
    return SystemDocument.from_fields(
        facts,
        machine=MachineDocument.from_fields(host, cpus_allowed=len(host.cpus_allowed)),
        health=HealthDocument.from_fields(
            facts,
            verdict=fitness(facts.findings),
            sentence=verdict_sentence(facts.findings),
            governor=host.governor,
        ),
        sandbox=SandboxDocument.from_fields(sandbox)
        if sandbox
        else SandboxDocument(level="unusable"),
        workspace=WorkspaceDocument.from_fields(facts),
        queue=QueueCountsDocument.from_fields(facts),
        leases=tuple(map(LeaseDocument.from_fields, facts.leases)),
    )
