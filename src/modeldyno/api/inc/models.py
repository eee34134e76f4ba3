"""``model/…``: of projects, and of files that may become models of some."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import Response
from pydantic_core import to_json

from modeldyno.api.errors import refusal_of, text_of
from modeldyno.api.inc.announcing import FAILED
from modeldyno.api.inc.graph_shape import drawn, groups_of, matched, named
from modeldyno.api.inc.model_shape import path_of, precision
from modeldyno.api.inc.operations import PROCESSING, Operations
from modeldyno.api.inc.parameters import Parameters
from modeldyno.api.inc.runnables import request_of
from modeldyno.api.inc.shapes import everything, moment
from modeldyno.api.kept_bytes import KeptBytes
from modeldyno.api.v1 import downloads
from modeldyno.core.dictionaries import framework_of
from modeldyno.core.errors import BadValue, ModeldynoError, NotFound
from modeldyno.core.ids import ModelId, ProjectId
from modeldyno.core.models import Model, ModelFacts
from modeldyno.formats.domains import purpose_of

if TYPE_CHECKING:
    from modeldyno.api.inc.broadcast import Broadcast
    from modeldyno.services.file_inspections import FileInspections
    from modeldyno.services.model_files import ModelFiles
    from modeldyno.store.records.models import ModelRecords

CUSTOM = "custom"  # its client offers this beside the names, and drops the last name without it
MOST_GROUPS = 1000
MOST_PATTERN = 50
JSON = "application/json"


def operations(
    models: ModelRecords, files: ModelFiles, looks: FileInspections, broadcast: Broadcast
) -> Operations:
    documents = KeptBytes()

    def listed(asked: Parameters) -> dict[str, Any]:
        project_id = ProjectId(asked.id("project_id"))
        found = everything(models.page, project_id)
        return {"models": [_row(model) for model in found]}

    def download(asked: Parameters) -> Response:
        model = models.get(ModelId(asked.id()))
        descriptor = files.open(model)
        return downloads.sent({}, descriptor, _file_name(model), model.sha256 or "")

    def graph(asked: Parameters) -> Response:
        groups = frozenset(_texts(asked, "group", MOST_GROUPS))
        found = looks.graph(_path(asked))
        body = documents.of((found.sha256, groups), lambda: to_json(drawn(found, groups)))
        return Response(body, media_type=JSON)

    def highlight(asked: Parameters) -> dict[str, Any]:
        name, pattern = asked.text("op_name"), _texts(asked, "pattern", MOST_PATTERN)
        found = looks.graph(_path(asked))
        node = named(found, name)
        if node is None:
            raise NotFound(f"Unable to find {name[:100]!r} in the graph")
        row = matched(found, node.id, pattern)
        groups = groups_of(found, row)
        return {"graph": drawn(found, groups, row), "groups": groups}

    def boundary_nodes(asked: Parameters) -> dict[str, Any]:
        request_id = request_of(asked)
        path = asked.text("model_path")
        names = {"id": request_id, "request_id": request_id}

        def found(facts: ModelFacts) -> None:
            broadcast.say("boundary_nodes_finish", "success", names | _boundary(facts))

        def failed(error: ModeldynoError) -> None:
            message = text_of(refusal_of(error))
            said = {"message": message, "code": FAILED, "error_code": error.code}
            broadcast.say("boundary_nodes_finish", "error", said | names)

        def started() -> None:
            broadcast.say("boundary_nodes_start", "success", {"message": "started"} | names)

        looks.start(path, started, found, failed)
        return PROCESSING

    return {
        "model/list": listed,
        "model/download": download,
        "model/graph": graph,
        "model/graph/highlight_pattern": highlight,
        "model/boundary_nodes": boundary_nodes,
    }


def _row(model: Model) -> dict[str, Any]:
    return {
        "id": model.id,
        "name": model.name,
        "path": path_of(model),
        "precision_id": precision(model).id,
        "created_at": moment(model.created_at),
    }


def _boundary(facts: ModelFacts) -> dict[str, Any]:
    purpose = purpose_of(facts)
    return {
        "framework": framework_of(facts.format, facts.framework).name,
        "inputs": [*(one.name for one in facts.inputs), CUSTOM],
        "outputs": [*(one.name for one in facts.outputs), CUSTOM],
        "domain": purpose.domain.name,
        "domain_flavour": purpose.flavour.name,
        "shape": purpose.shape,
        "trusted": purpose.is_exact,
    }


def _path(asked: Parameters) -> str:
    if "path" not in asked:
        raise BadValue("Missing path parameter")
    return asked.text("path")


def _texts(asked: Parameters, name: str, most: int) -> list[str]:
    """One, or a list, as they are: names of groups may hold commas."""
    said = asked.said.get(name)
    found = said if isinstance(said, list) else [] if said is None else [said]
    if len(found) > most or not all(isinstance(one, str) for one in found):
        raise BadValue(f"{name} is no list of up to {most} texts")
    return found


def _file_name(model: Model) -> str:
    """As the file was called: a project's first model has a name that is none."""
    return model.path.rpartition("/")[2]
