"""Profiles as a server keeps them: lines of lists, and all that is known of one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from modeldyno.core.documents.described import Size
from modeldyno.core.documents.profile import AgreementDocument
from modeldyno.core.documents.runnables import LatestRunSummary, RunnableHead
from modeldyno.core.documents.summary import SummaryDocument
from modeldyno.core.requests.measuring import ProfileRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileSummary(RunnableHead):
    """A line of a list of profiles."""

    model_id: Size
    """Number of its model."""
    summary: SummaryDocument
    """Of its latest run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileDetailsDocument(ProfileSummary):
    """A profile: its settings, its latest run, and how far the rows agree with the latency."""

    model_name: str
    """Of its model."""
    modified_at: datetime | None
    """When it was changed."""
    dataset_id: Size | None
    """Number of its dataset."""
    settings: ProfileRequest | None
    """Null if another version wrote them."""
    latest_run: LatestRunSummary | None
    """Null before the first."""
    agreement: AgreementDocument | None
    """Null before a run has rows."""
    command: str
    """Profiles the same in a terminal."""
