"""The graph of a model: the whole document, or what there is to draw of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import Field
from pydantic_core import to_json

from modeldyno.api.kept_bytes import KeptBytes
from modeldyno.api.v1.documents import GRAPH
from modeldyno.api.v1.shape import Id, Told, answer, problems
from modeldyno.core import graph_groups
from modeldyno.core.graph_groups import BoxKind
from modeldyno.core.graphs import Graph
from modeldyno.core.ids import ModelId
from modeldyno.core.public_graphs import graph_json

if TYPE_CHECKING:
    from modeldyno.services.models import ModelService

Scope = Annotated[str, Field(max_length=2000)]


class BoxTold(Told):
    id: str = Field(examples=["group:encoder"])
    kind: BoxKind
    of: str = Field(description="The id of the node or tensor, or the group's scope.")
    label: str
    parent: str = Field(description="The innermost open group around it; empty: none.")
    nodes: int = Field(description="That it stands for.")
    op: str = Field(description="The operator of a node; empty of all else.", examples=["Conv"])


class LinkTold(Told):
    source: str = Field(description="The id of a box.")
    target: str
    tensors: list[str] = Field(description="All that go from one to the other.")


class GroupTold(Told):
    scope: str = Field(examples=["encoder/layer.0"])
    parent: str
    nodes: int
    nodes_by_op: dict[str, int] = Field(examples=[{"MatMul": 6, "Add": 4}])


class ViewTold(Told):
    sha256: str
    boxes: list[BoxTold]
    links: list[LinkTold]
    expanded: list[str] = Field(description="The open groups that can be seen.")
    groups: list[GroupTold] = Field(description="Those that are drawn, open or closed.")


def router(models: ModelService) -> APIRouter:
    documents = KeptBytes()
    routes = APIRouter(prefix="/models/{model_id}/graph", tags=["models"])

    @routes.get("", response_class=Response, responses={**GRAPH, **problems(404, 409)})
    def get_graph(model_id: Id) -> Response:
        """Every node with its attributes, every tensor with its type and shape, and the groups.

        Read by a worker the first time, and kept by the content of the model.
        """
        graph = models.graph(ModelId(model_id))
        body = documents.of(graph.sha256, lambda: to_json(graph_json(graph), inf_nan_mode="null"))
        return Response(body, media_type="application/json")

    @routes.get("/view", response_model=ViewTold, responses=problems(404, 409))
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
        opened = _opened(graph, depth, expand) - frozenset(collapse)
        return answer(_view(graph, opened))

    return routes


def _opened(graph: Graph, depth: int | None, expand: list[str]) -> frozenset[str]:
    if depth is None and not expand:
        return graph_groups.opening(graph)
    deep = [group.scope for group in graph.groups if group.scope.count("/") < (depth or 0)]
    inside = [scope for opened in expand for scope in graph_groups.around(opened)]
    return frozenset((*deep, *inside))


def _view(graph: Graph, opened: frozenset[str]) -> dict[str, Any]:
    drawn = graph_groups.view(graph, opened)
    shown = {*drawn.expanded, *(box.of for box in drawn.boxes if box.kind == "group")}
    return {
        "sha256": graph.sha256,
        "boxes": [vars(box) for box in drawn.boxes],
        "links": [vars(link) for link in drawn.links],
        "expanded": drawn.expanded,
        "groups": [vars(group) for group in graph.groups if group.scope in shown],
    }
