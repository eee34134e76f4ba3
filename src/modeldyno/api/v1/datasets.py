"""``/api/v1/datasets``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter, Response
from pydantic import Field

from modeldyno.api.schemas import page_schema
from modeldyno.api.v1.idempotency import once
from modeldyno.api.v1.paging import ListRequest, OfProject, listed, query_parameters
from modeldyno.api.v1.shape import (
    MOST_ID,
    Id,
    JsonValue,
    Name,
    RequestBody,
    answer,
    gives,
    gives_nothing,
    page_response,
)
from modeldyno.core.datasets import NewDataset
from modeldyno.core.documents.projects import DatasetDocument
from modeldyno.core.ids import DatasetId, ProjectId

if TYPE_CHECKING:
    from modeldyno.services.archive import Archive
    from modeldyno.store.records.all import Records

Settings = Annotated[dict[Annotated[str, Field(max_length=100)], JsonValue], Field(max_length=100)]


class ListDatasetsRequest(ListRequest, OfProject):
    sort: Literal["created", "name"] = "created"


class NewDatasetRequest(RequestBody):
    project_id: int = Field(ge=1, le=MOST_ID, examples=[1])
    name: Name = Field(examples=["Noise of the right shape"])
    kind: str = Field(
        min_length=1, max_length=100, description="Who reads it.", examples=["dummy_v2"]
    )
    parameters: Settings = Field(
        default={}, description="What its reader needs.", examples=[{"input_shape": [3, 224, 224]}]
    )
    transforms: Annotated[list[Settings], Field(max_length=100)] = Field(
        default=[], description="What is done to each sample, in this order.", examples=[[]]
    )
    filter: Settings | None = Field(None, description="Which samples count; null: all.")
    metric: Settings | None = Field(None, description="How answers are judged.")


def router(records: Records, archive: Archive) -> APIRouter:
    datasets = records.datasets
    routes = APIRouter(prefix="/datasets", tags=["datasets"])

    @routes.get(
        "",
        **gives(page_schema(DatasetDocument)),
        openapi_extra=query_parameters(ListDatasetsRequest),
    )
    def list_datasets(
        request: Annotated[ListDatasetsRequest, listed(ListDatasetsRequest)],
    ) -> Response:
        """Newest first unless asked otherwise."""
        return page_response(datasets.page(request.wanted()), DatasetDocument.from_fields)

    @routes.post("", **gives(DatasetDocument, 404, 413, status=201))
    @once(records)
    def create_dataset(request: NewDatasetRequest) -> Response:
        """Where samples come from, and what is done to them."""
        made = datasets.add(
            NewDataset(
                project_id=ProjectId(request.project_id),
                name=request.name,
                kind=request.kind,
                parameters=request.parameters,
                transforms=tuple(request.transforms),
                filter=request.filter,
                metric=request.metric,
            )
        )
        document = DatasetDocument.from_fields(made)
        return answer(document, 201, location=f"/api/v1/datasets/{made.id}")

    @routes.get("/{dataset_id}", **gives(DatasetDocument, 404))
    def get_dataset(dataset_id: Id) -> Response:
        """One dataset."""
        return answer(DatasetDocument.from_fields(datasets.get(DatasetId(dataset_id))))

    @routes.delete("/{dataset_id}", **gives_nothing(404, 409))
    def delete_dataset(dataset_id: Id, cascade: bool = False) -> None:
        """With `cascade`, whatever uses it goes along; else only an unused one can be deleted."""
        with archive.translated_deletion():
            datasets.delete(DatasetId(dataset_id), cascade=cascade)

    return routes
