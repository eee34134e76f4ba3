"""``model/…``: models of projects, and files that may become models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import Response
from pydantic_core import to_json

from modeldyno.api.errors import refusal_of, text_of
from modeldyno.api.inc.broadcast import failure_data
from modeldyno.api.inc.graph_shape import find_matching_path, find_node, graph_shape, groups_around
from modeldyno.api.inc.operations import PROCESSING, Operations
from modeldyno.api.inc.parameters import Parameters
from modeldyno.api.inc.runnables import request_of
from modeldyno.api.inc.shapes import iterate_all_pages, path_of, precision, utc_text
from modeldyno.api.kept_bytes import KeptBytes
from modeldyno.api.v1 import downloads
from modeldyno.core.dictionaries import framework_of
from modeldyno.core.errors import BadValue, ModeldynoError, NotFound
from modeldyno.core.ids import ModelId, ProjectId
from modeldyno.core.models import Model, ModelFacts
from modeldyno.formats.domains import guess_purpose

if TYPE_CHECKING:
    from modeldyno.api.inc.broadcast import Broadcast
    from modeldyno.services.file_inspections import FileInspections
    from modeldyno.services.model_files import ModelFiles
    from modeldyno.store.records.models import ModelRecords

CUSTOM = "custom"  # clients offer it in addition to the names, and drop the last name without it
MOST_GROUPS = 1000
MOST_PATTERN = 50
JSON = "application/json"


def operations(
    models: ModelRecords, files: ModelFiles, inspections: FileInspections, broadcast: Broadcast
) -> Operations:
    documents = KeptBytes()

    def list_models(parameters: Parameters) -> dict[str, Any]:
        project_id = ProjectId(parameters.id("project_id"))
        return {
            "models": [_model_row(model) for model in iterate_all_pages(models.page, project_id)]
        }

    def download(parameters: Parameters) -> Response:
        model = models.get(ModelId(parameters.id()))
        descriptor = files.open(model)
        return downloads.file_response({}, descriptor, _download_name(model), model.sha256 or "")

    def drawn_graph(parameters: Parameters) -> Response:
        groups = frozenset(_requested_texts(parameters, "group", MOST_GROUPS))
        graph = inspections.graph(_requested_path(parameters))
        body = documents.of((graph.sha256, groups), lambda: to_json(graph_shape(graph, groups)))
        return Response(body, media_type=JSON)

    def highlight(parameters: Parameters) -> dict[str, Any]:
        name, pattern = (
            parameters.text("op_name"),
            _requested_texts(parameters, "pattern", MOST_PATTERN),
        )
        graph = inspections.graph(_requested_path(parameters))
        node = find_node(graph, name)
        if node is None:
            raise NotFound(f"Unable to find {name[:100]!r} in the graph")
        nodes = find_matching_path(graph, node.id, pattern)
        groups = groups_around(graph, nodes)
        return {"graph": graph_shape(graph, groups, nodes), "groups": groups}

    def boundary_nodes(parameters: Parameters) -> dict[str, Any]:
        request_id = request_of(parameters)
        path = parameters.text("model_path")
        names = {"id": request_id, "request_id": request_id}

        def inspected(facts: ModelFacts) -> None:
            broadcast.emit(
                "boundary_nodes_finish", "success", names | _inputs_and_outputs_json(facts)
            )

        def refused(error: ModeldynoError) -> None:
            details = failure_data(text_of(refusal_of(error)), error.code) | names
            broadcast.emit("boundary_nodes_finish", "error", details)

        def started() -> None:
            broadcast.emit("boundary_nodes_start", "success", {"message": "started"} | names)

        inspections.start(path, started, inspected, refused)
        return PROCESSING

    return {
        "model/list": list_models,
        "model/download": download,
        "model/graph": drawn_graph,
        "model/graph/highlight_pattern": highlight,
        "model/boundary_nodes": boundary_nodes,
    }


def _model_row(model: Model) -> dict[str, Any]:
    return {
        "id": model.id,
        "name": model.name,
        "path": path_of(model),
        "precision_id": precision(model).id,
        "created_at": utc_text(model.created_at),
    }


def _inputs_and_outputs_json(facts: ModelFacts) -> dict[str, Any]:
    purpose = guess_purpose(facts)
    return {
        "framework": framework_of(facts.format, facts.framework).name,
        "inputs": [*(spec.name for spec in facts.inputs), CUSTOM],
        "outputs": [*(spec.name for spec in facts.outputs), CUSTOM],
        "domain": purpose.domain.name,
        "domain_flavour": purpose.flavour.name,
        "shape": purpose.shape,
        "trusted": purpose.is_exact,
    }


def _requested_path(parameters: Parameters) -> str:
    if "path" not in parameters:
        raise BadValue("Missing path parameter")
    return parameters.text("path")


def _requested_texts(parameters: Parameters, name: str, most: int) -> list[str]:
    """A text or a list of them, unsplit: names of groups may contain commas."""
    raw = parameters.raw.get(name)
    texts = raw if isinstance(raw, list) else [] if raw is None else [raw]
    if len(texts) > most or not all(isinstance(text, str) for text in texts):
        raise BadValue(f"{name} is no list of up to {most} texts")
    return texts


def _download_name(model: Model) -> str:
    """As the file is called: the name of a project's first model is no file name."""
    return model.path.rpartition("/")[2]
