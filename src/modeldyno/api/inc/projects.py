"""``project/…``"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from modeldyno.api.inc.operations import Operations
from modeldyno.api.inc.parameters import Parameters
from modeldyno.api.inc.shapes import everything, moment
from modeldyno.core.projects import Project

if TYPE_CHECKING:
    from modeldyno.api.inc.surface import Inc


def operations(inc: Inc) -> Operations:
    projects = inc.server.records.projects

    def listed(_: Parameters) -> dict[str, Any]:
        return {"projects": [_row(project) for project in everything(projects.page)]}

    return {"project/list": listed}


def _row(project: Project) -> dict[str, Any]:
    return {
        "id": project.id,
        "name": project.name,
        "created_at": moment(project.created_at),
        "modified_at": moment(project.modified_at),
    }
