"""``/api/v1/datasets``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Response
from pydantic import Field

from modeldyno.api.v1.idempotency import once
from modeldyno.api.v1.paging import ListAsked, OfProject, PageTold, listed, parameters, told
from modeldyno.api.v1.shape import MOST_ID, Asked, Id, JsonValue, Moment, Name, Told, problems
from modeldyno.core.datasets import Dataset, NewDataset
from modeldyno.core.ids import DatasetId, ProjectId

if TYPE_CHECKING:
    from modeldyno.services.archive import Archive
    from modeldyno.store.records.all import Records

Settings = Annotated[dict[Annotated[str, Field(max_length=100)], JsonValue], Field(max_length=100)]


class DatasetsAsked(ListAsked, OfProject):
    sort: Literal["created", "name"] = "created"


class DatasetAsked(Asked):
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


class DatasetTold(Told):
    id: int = Field(examples=[1])
    project_id: int = Field(examples=[1])
    name: str = Field(examples=["Noise of the right shape"])
    kind: str = Field(examples=["dummy_v2"])
    parameters: dict[str, Any] = Field(examples=[{"input_shape": [3, 224, 224]}])
    transforms: list[dict[str, Any]] = Field(examples=[[]])
    filter: dict[str, Any] | None
    metric: dict[str, Any] | None
    created_at: Moment


def router(records: Records, archive: Archive) -> APIRouter:
    datasets = records.datasets
    routes = APIRouter(prefix="/datasets", tags=["datasets"])

    @routes.get("", responses=problems(), openapi_extra=parameters(DatasetsAsked))
    def list_datasets(
        asked: Annotated[DatasetsAsked, listed(DatasetsAsked)],
    ) -> PageTold[DatasetTold]:
        """Newest first unless asked otherwise."""
        return told(datasets.page(asked.wanted()), _told)

    @routes.post("", status_code=201, responses=problems(404, 413))
    @once(records)
    def create_dataset(asked: DatasetAsked, response: Response) -> DatasetTold:
        """Where samples come from, and what is done to them."""
        made = datasets.add(
            NewDataset(
                project_id=ProjectId(asked.project_id),
                name=asked.name,
                kind=asked.kind,
                parameters=asked.parameters,
                transforms=tuple(asked.transforms),
                filter=asked.filter,
                metric=asked.metric,
            )
        )
        response.headers["Location"] = f"/api/v1/datasets/{made.id}"
        return _told(made)

    @routes.get("/{dataset_id}", responses=problems(404))
    def get_dataset(dataset_id: Id) -> DatasetTold:
        """One dataset."""
        return _told(datasets.get(DatasetId(dataset_id)))

    @routes.delete("/{dataset_id}", status_code=204, responses=problems(404, 409))
    def delete_dataset(dataset_id: Id, cascade: bool = False) -> None:
        """With `cascade`, whatever uses it goes along; else only an unused one can be deleted."""
        with archive.deleting():
            datasets.delete(DatasetId(dataset_id), cascade=cascade)

    return routes


def _told(dataset: Dataset) -> DatasetTold:
    """Without the path of a template: where that lies is nobody's business."""
    return DatasetTold(
        id=dataset.id,
        project_id=dataset.project_id,
        name=dataset.name,
        kind=dataset.kind,
        parameters=dataset.parameters,
        transforms=list(dataset.transforms),
        filter=dataset.filter,
        metric=dataset.metric,
        created_at=dataset.created_at,
    )
