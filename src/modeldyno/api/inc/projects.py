"""``project/…``"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from modeldyno.api.errors import Refusal, Refused
from modeldyno.api.inc.naming import find_domain
from modeldyno.api.inc.operations import Operations
from modeldyno.api.inc.parameters import Parameters
from modeldyno.api.inc.shapes import NO_MODEL, Json, iterate_all_pages, model_shape, utc_text
from modeldyno.core.dictionaries import PRECISIONS, require_named
from modeldyno.core.errors import BadValue, NotFound
from modeldyno.core.ids import ProjectId
from modeldyno.core.projects import Project
from modeldyno.inputs.model_overrides import parse_shapes
from modeldyno.services.projects import NewProject, ProjectDetails

if TYPE_CHECKING:
    from modeldyno.services.projects import ProjectService
    from modeldyno.store.records.all import Records

MOST_NODES = 1000
CUSTOM = "custom"  # a choice that clients offer in addition to the names of nodes
# Clients go back to their first page at exactly these words.
UNKNOWN = Refusal(500, "NOT_FOUND", "list index out of range", "", "")


def operations(records: Records, projects: ProjectService) -> Operations:
    def list_projects(_: Parameters) -> Json:
        return {
            "projects": [
                _project_row(project) for project in iterate_all_pages(records.projects.page)
            ]
        }

    def details(parameters: Parameters) -> Json:
        number = _project_id(parameters)
        try:
            return _project_shape(projects.get(number))
        except NotFound as error:
            raise Refused(UNKNOWN) from error

    def create(parameters: Parameters) -> dict[str, int]:
        created = projects.create(_read_request(parameters))
        return {
            "project_id": created.project.id,
            "model_id": created.model.id,
            "dataset_id": created.dataset.id if created.dataset else -1,
        }

    def note(parameters: Parameters) -> Json:
        number = _project_id(parameters)
        if "notes" not in parameters:
            raise BadValue("Notes not provided.")
        text = parameters.value("notes")
        if not isinstance(text, str):
            raise BadValue("notes is not a text")
        return {"id": number, "notes": projects.write_notes(number, text)}

    def delete(parameters: Parameters) -> dict[str, int | None]:
        if "id" not in parameters or "name" not in parameters:
            raise BadValue("Missing project id or project name.")
        number = _project_id(parameters)
        return {"id": number if projects.delete(number, parameters.text("name")) else None}

    return {
        "project": details,
        "project/list": list_projects,
        "project/create": create,
        "project/note": note,
        "project/delete": delete,
    }


def _project_id(parameters: Parameters) -> ProjectId:
    if "id" not in parameters:
        raise BadValue("Could not find project id.")
    try:
        return ProjectId(parameters.id())
    except BadValue as error:
        raise BadValue("Incorrect project id.") from error


def _project_row(project: Project) -> Json:
    return {
        "id": project.id,
        "name": project.name,
        "created_at": utc_text(project.created_at),
        "modified_at": utc_text(project.modified_at),
    }


def _project_shape(details: ProjectDetails) -> Json:
    project = details.project
    return {
        "id": project.id,
        "name": project.name,
        "notes": details.notes,
        "input_model": model_shape(details.model) if details.model else NO_MODEL,
        "created_at": utc_text(project.created_at),
        "modified_at": utc_text(project.modified_at),
    }


def _read_request(parameters: Parameters) -> NewProject:
    model = parameters.nested("model")
    domain, precision = model.text("domain", ""), model.text("precision", "")
    return NewProject(
        name=parameters.text("name"),
        path=model.text("path"),
        inputs=_requested_nodes(model, "input_nodes"),
        outputs=_requested_nodes(model, "output_nodes"),
        domain=find_domain(domain) if "domain" in model else None,
        precision=require_named(PRECISIONS, precision, "precision").name if precision else None,
        shapes=_requested_shapes(model),
    )


def _requested_nodes(model: Parameters, name: str) -> tuple[str, ...]:
    nodes = tuple(node for node in model.texts(name) if node != CUSTOM)
    if len(nodes) > MOST_NODES:
        raise BadValue(f"{name} has {len(nodes)} names", why=f"up to {MOST_NODES} are taken")
    return nodes


def _requested_shapes(model: Parameters) -> tuple[tuple[int, ...], ...]:
    """From text, a list of sizes or a list of lists."""
    raw = model.raw.get("shape")
    is_numbers = isinstance(raw, list) and not any(isinstance(part, str) for part in raw)
    return parse_shapes(json.dumps(raw) if is_numbers else model.text("shape", ""))
