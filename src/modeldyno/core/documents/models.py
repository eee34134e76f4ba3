"""Models as a server keeps them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from modeldyno.core.documents.described import Count, Described, Moment, Sha256, Size
from modeldyno.core.documents.model import ModelDocument
from modeldyno.core.models import ModelFormat, ModelState, Origin
from modeldyno.core.trust import Tier


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTrustDocument(Described):
    """Whether somebody vouched for a model, and what for."""

    is_needed: bool
    """Loading this kind of file can run what is in it."""
    is_given: bool
    """Somebody vouched for exactly these bytes."""
    since: Moment | None
    """When, in UTC."""
    reason: str
    """Why, in their words; may be empty."""
    warning: str
    """What running it would do; empty for data."""
    imports: tuple[str, ...]
    """What its pickles name, listed without unpickling them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSummary(Described):
    """A line of a list of models."""

    id: Size
    """Its number."""
    project_id: Size
    """Number of its project."""
    name: str
    """As people call it."""
    state: ModelState
    """`ready` may run. `incomplete` lacks weights files; `untrusted` could run code, and nobody
    vouched for it; `unread` was never looked into."""
    missing: tuple[str, ...]
    """Weights files to send."""
    format: ModelFormat | None
    """Recognised by content; null: never looked into."""
    tier: Tier | None
    """`data` is only read; `program` and `code` are run."""
    framework: str
    """The family the format belongs to."""
    precision: str
    """Of most of its weights."""
    domain: str
    """What it is for, as far as it shows; empty: that is not known."""
    origin: Origin
    """How it came here."""
    source: str
    """The file, address or recipe it came from."""
    sha256: Sha256 | None
    """Of the model's own file."""
    size_bytes: Count | None
    """With the weights beside it."""
    trust: ModelTrustDocument
    """Whether somebody vouched for it."""
    created_at: datetime
    """In UTC."""

    def keeps(self, sha256: str) -> bool:
        """The server has these bytes itself, and read them. A file that a terminal measured stayed
        where it lay: it may be unread, changed or gone."""
        is_read = self.state in ("ready", "untrusted")
        return self.sha256 == sha256 and is_read and self.origin != "terminal"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDetailsDocument(ModelSummary):
    """A model: origin, content, inputs and outputs, trust."""

    facts: ModelDocument | None
    """What the file says of itself."""
