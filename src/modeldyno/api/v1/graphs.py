"""The graph of a model: the whole document, or what there is to draw of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query, Response
from pydantic import Field
from pydantic_core import to_json

from modeldyno.api.kept_bytes import KeptBytes
from modeldyno.api.v1.shape import Id, answer, gives, json_response
from modeldyno.core.documents.graphs import GraphDocument, ViewDocument
from modeldyno.core.graphs import Graph, enclosing_scopes
from modeldyno.core.ids import ModelId
from modeldyno.graphs import drawing

if TYPE_CHECKING:
    from modeldyno.services.models import ModelService

Scope = Annotated[str, Field(max_length=2000)]


def router(models: ModelService) -> APIRouter:
    documents = KeptBytes()
    routes = APIRouter(prefix="/models/{model_id}/graph", tags=["models"])

    @routes.get("", **gives(GraphDocument, 404, 409))
    def get_graph(model_id: Id) -> Response:
        """Every node with its attributes, every tensor with its type and shape, and the groups.

        Read by a worker the first time, and kept by the content of the model.
        """
        graph = models.graph(ModelId(model_id))
        body = documents.of(
            graph.sha256, lambda: to_json(GraphDocument.of(graph), inf_nan_mode="null")
        )
        return json_response(body)

    @routes.get("/view", **gives(ViewDocument, 404, 409))
    def view_graph(
        model_id: Id,
        depth: Annotated[
            int | None, Query(ge=0, le=100, description="Open all groups down to here.")
        ] = None,
        expand: Annotated[
            list[Scope], Query(max_length=200, description="Groups to open, by their scopes.")
        ] = [],  # noqa: B006 - FastAPI copies it
        collapse: Annotated[
            list[Scope], Query(max_length=200, description="Groups to close nevertheless.")
        ] = [],  # noqa: B006 - FastAPI copies it
    ) -> Response:
        """What there is to draw when some groups are open and the others are closed. Without
        `depth` and `expand`: a first look, with as many open as make a picture of some 60 boxes.
        """
        graph = models.graph(ModelId(model_id))
        opened = _choose_open_groups(graph, depth, expand) - frozenset(collapse)
        return answer(ViewDocument.of(graph, graph.view(opened)))

    return routes


def _choose_open_groups(graph: Graph, depth: int | None, expand: list[str]) -> frozenset[str]:
    if depth is None and not expand:
        return drawing.choose_open_groups(graph)
    deep = [group.scope for group in graph.groups if group.scope.count("/") < (depth or 0)]
    inside = [scope for opened in expand for scope in enclosing_scopes(opened)]
    return frozenset((*deep, *inside))
