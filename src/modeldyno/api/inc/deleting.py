"""What every ``…/delete`` of something that can run shares: by number and name, and whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from modeldyno.api.inc.parameters import Parameters
from modeldyno.core.errors import BadValue, NotFound
from modeldyno.core.runs import RunKind, RunOf

if TYPE_CHECKING:
    from modeldyno.api.inc.surface import Inc


def delete(
    inc: Inc,
    asked: Parameters,
    kind: RunKind,
    name: str,
    name_of: Callable[[int], str],
    remove: Callable[[int], None],
) -> dict[str, Any]:
    """``{"id": null}`` when number and name do not belong together: then nothing happens.

    What runs is stopped first, and its end is told once. ``name`` is what clients call the kind.
    """
    if "id" not in asked or "name" not in asked:
        raise BadValue(f"Missing {name} id or {name} name.")
    number = asked.id()
    try:
        if name_of(number) != asked.text("name"):
            return {"id": None}
        inc.server.jobs.stop(RunOf(kind, number))
        with inc.server.archive.deleting():
            remove(number)
    except NotFound:  # also when somebody else was quicker
        return {"id": None}
    return {"id": number}
