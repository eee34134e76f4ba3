"""What a session really was: read back from the engine, never echoed from the request."""

from __future__ import annotations

from dataclasses import dataclass

from modeldyno.core.deviations import fallback_share, ran_as
from modeldyno.core.documents.described import Count, Described, Share
from modeldyno.core.sessions import OtherPython, SessionFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveDocument(Described):
    """As what something really ran: read back from the engine, never echoed. Rows that an earlier
    version wrote have null where it kept less."""

    engine_version: str | None
    """Version of the engine, read back from the library."""
    other_python: OtherPython | None
    """The other Python that the engine lives in; null: Modeldyno's own."""
    device: str | None
    """Device it really used."""
    providers: tuple[str, ...] | None
    """Back ends inside the engine, in order of preference."""
    precision: str | None
    """Types that the computing kernels really got: fp32, fp16, int8, or several joined by +. Null
    when the engine does not tell."""
    input_dtypes: dict[str, str]
    """Types of the inputs as the engine takes them, by name."""
    layout: str | None
    """How pictures are arranged inside the engine: NCHW, NHWC, or NCHWc (channels in blocks); null
    where there are none, or when unknown."""
    threads: Count | None
    """Threads that compute, counted after loading; null when unknown."""
    spinning: bool | None
    """Whether the thread pool spins while it waits; null with one thread or when unknown."""
    nodes_by_provider: dict[str, int] | None
    """How many nodes of the optimized graph each provider ran."""
    fallback_share: Share | None
    """Share of the nodes that another provider or device ran than the one that was meant; null when
    the engine does not tell."""
    text: str
    """The same in words."""

    @classmethod
    def of(cls, facts: SessionFacts) -> EffectiveDocument:
        return cls.from_fields(facts, fallback_share=fallback_share(facts), text=ran_as(facts))
