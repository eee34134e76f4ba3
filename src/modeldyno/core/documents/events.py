"""What changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from modeldyno.core.documents.described import ByKind, Count, Described
from modeldyno.core.events import KeptMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsDocument(Described):
    """Events, of the same shape as those that Socket.IO sends."""

    events: tuple[Annotated[KeptMessage, ByKind()], ...]
    """Oldest first."""
    last: Count
    """What to ask `after` next time."""
    is_complete: bool
    """False: some that you missed are not kept any more, so fetch everything anew."""
