"""Models of projects: send them, import them, vouch for them, look into them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from modeldyno.api.schemas import page_schema
from modeldyno.api.v1 import downloads, uploads
from modeldyno.api.v1.idempotency import once
from modeldyno.api.v1.paging import ListRequest, OfProject, listed, query_parameters
from modeldyno.api.v1.shape import (
    Id,
    Name,
    RequestBody,
    answer,
    gives,
    gives_nothing,
    page_response,
)
from modeldyno.core.documents.models import (
    ModelDetailsDocument,
    ModelDocument,
    ModelSummary,
    ModelTrustDocument,
)
from modeldyno.core.ids import ModelId, ProjectId
from modeldyno.core.models import FORMATS, Model
from modeldyno.core.names import LONGEST_PATH, names_in, path_refused
from modeldyno.core.redaction import without_folders, without_places
from modeldyno.core.trust import needs_trust, warning
from modeldyno.services.models import ModelStatus

if TYPE_CHECKING:
    from modeldyno.services.archive import Archive
    from modeldyno.services.model_files import ModelFiles
    from modeldyno.services.models import ModelService
    from modeldyno.store.records.all import Records


class ListProjectModelsRequest(ListRequest):
    sort: Literal["created", "name", "size"] = "created"


class ListModelsRequest(ListProjectModelsRequest, OfProject): ...


class ImportModelRequest(RequestBody):
    path: str = Field(
        min_length=1,
        max_length=LONGEST_PATH,
        description="Below one of the folders that the server was started with.",
        examples=["vision/resnet50.onnx"],
    )
    name: Name | None = Field(None, description="The file's own, unless given.")


class EditModelRequest(RequestBody):
    name: Name = Field(examples=["ResNet-50, pruned"])


class TrustRequest(RequestBody):
    reason: str = Field("", max_length=1000, examples=["I exported it myself"])


FileName = Annotated[
    str, Query(min_length=1, max_length=200, description="Of the file.", examples=["net.onnx"])
]
Location = Annotated[
    str, Path(min_length=1, max_length=LONGEST_PATH, description="As the model names it.")
]


_PAGE = page_schema(ModelSummary)


def router(
    records: Records,
    models: ModelService,
    files: ModelFiles,
    archive: Archive,
) -> APIRouter:
    routes = APIRouter(tags=["models"])

    @routes.get("/models", **gives(_PAGE), openapi_extra=query_parameters(ListModelsRequest))
    def list_models(request: Annotated[ListModelsRequest, listed(ListModelsRequest)]) -> Response:
        """Newest first unless asked otherwise."""
        return page_response(models.page(request.wanted()), _make_summary)

    @routes.get(
        "/projects/{project_id}/models",
        **gives(_PAGE, 404),
        openapi_extra=query_parameters(ListProjectModelsRequest),
    )
    def list_models_of_project(
        project_id: Id,
        request: Annotated[ListProjectModelsRequest, listed(ListProjectModelsRequest)],
    ) -> Response:
        """As `GET /models?project_id=`, but a project that is not there is an error."""
        project = records.projects.get(ProjectId(project_id))
        return page_response(
            models.page(replace(request.wanted(), project_id=project.id)), _make_summary
        )

    @routes.post(
        "/projects/{project_id}/models",
        **gives(ModelDetailsDocument, 404, 413, 415, 507, status=201),
        openapi_extra=uploads.BODY,
    )
    async def upload_model(
        project_id: Id,
        name: FileName,
        request: Request,
        packed: Annotated[
            bool,
            Query(description="The body is a zip, tar or tar.gz, and `name` a file in there."),
        ] = False,
    ) -> Response:
        """Send the file as the body. It is kept by its content, and looked into by a worker: what
        cannot be read is refused, with the reason, and nothing stays.

        A model whose weights are files of their own is `incomplete` until those were sent, too
        (`PUT /models/{id}/files/{name}`); or all come at once, packed.
        """
        if not packed:
            _require_plain_name(name)
        await run_in_threadpool(records.projects.get, ProjectId(project_id))
        async with uploads.received_upload(request, files) as incoming:
            add = files.add_packed if packed else files.add
            made = await run_in_threadpool(add, ProjectId(project_id), name, incoming)
        return await run_in_threadpool(_added, made)

    @routes.post(
        "/projects/{project_id}/models/import",
        **gives(ModelDetailsDocument, 404, 413, 507, status=201),
    )
    @once(records, prepares=True)
    def import_model(project_id: Id, request: ImportModelRequest) -> Callable[[], Response]:
        """Copy a file of the server's own disk, with the weights beside it. `GET /files` lists
        what there is."""
        prepared = files.prepare_from(ProjectId(project_id), request.path, request.name or "")
        return lambda: _added(prepared.add())

    @routes.get("/models/{model_id}", **gives(ModelDetailsDocument, 404))
    def get_model(model_id: Id) -> Response:
        """What is known of it: origin, content, inputs and outputs, trust."""
        return _details(models.get(ModelId(model_id)))

    @routes.patch("/models/{model_id}", **gives(ModelDetailsDocument, 404, 413))
    def rename_model(model_id: Id, request: EditModelRequest) -> Response:
        """Its name is all that changes."""
        return _details(models.rename(ModelId(model_id), request.name))

    @routes.delete("/models/{model_id}", **gives_nothing(404, 409))
    def delete_model(model_id: Id, cascade: bool = False) -> None:
        """With `cascade`, what was measured with it goes along; else it must be unused. Its files
        go when no other model has the same."""
        with archive.translated_deletion():
            models.delete(ModelId(model_id), cascade=cascade)

    @routes.get("/models/{model_id}/file", response_class=Response, responses=downloads.DESCRIBED)
    def download_model(model_id: Id, request: Request) -> Response:
        """The model's own file, without weights beside it. One range may be asked for."""
        model = models.get(ModelId(model_id)).model
        descriptor = files.open(model)
        return downloads.file_response(request.headers, descriptor, model.name, model.sha256 or "")

    @routes.put(
        "/models/{model_id}/files/{name:path}",
        **gives(ModelDetailsDocument, 404, 409, 413, 415, 507),
        openapi_extra=uploads.BODY,
    )
    async def upload_weights(model_id: Id, name: Location, request: Request) -> Response:
        """Send one of the files that an `incomplete` model lacks. With the last one, the model is
        looked into again."""
        await run_in_threadpool(files.require_missing_weights, ModelId(model_id), name)
        async with uploads.received_upload(request, files) as incoming:
            changed = await run_in_threadpool(files.add_weights, ModelId(model_id), name, incoming)
        return await run_in_threadpool(_details_of, changed)

    @routes.post("/models/{model_id}/inspect", **gives(ModelDetailsDocument, 404, 409))
    def inspect_model(model_id: Id) -> Response:
        """Look into the file again."""
        return _details_of(files.inspect(ModelId(model_id)))

    @routes.put("/models/{model_id}/trust", **gives(ModelDetailsDocument, 404, 409, 413))
    def trust_model(model_id: Id, request: TrustRequest) -> Response:
        """Vouch for the content of this file, wherever it is; a changed byte ends it."""
        return _details(models.trust(ModelId(model_id), request.reason))

    @routes.delete("/models/{model_id}/trust", **gives(ModelDetailsDocument, 404))
    def distrust_model(model_id: Id) -> Response:
        """Jobs that wait will not start."""
        return _details(models.distrust(ModelId(model_id)))

    def _details_of(model: Model, status: int = 200, **headers: str) -> Response:
        return _details(models.statuses([model])[0], status, **headers)

    def _added(model: Model) -> Response:
        return _details_of(model, 201, location=f"/api/v1/models/{model.id}")

    return routes


def _require_plain_name(name: str) -> None:
    if len(names_in(name)) != 1:
        raise path_refused(name, "it holds a slash; a model is called by one name")


def _make_summary(model_status: ModelStatus) -> ModelSummary:
    return ModelSummary.from_fields(model_status.model, **_summary_values(model_status))


def _details(model_status: ModelStatus, status: int = 200, **headers: str) -> Response:
    facts = model_status.model.facts
    values = _summary_values(model_status) | {
        "facts": facts and ModelDocument.of(without_places(facts))
    }
    return answer(ModelDetailsDocument.from_fields(model_status.model, **values), status, **headers)


def _summary_values(model_status: ModelStatus) -> dict[str, Any]:
    """What the model itself does not know."""
    model, facts, trusted = model_status.model, model_status.model.facts, model_status.trusted
    trust = ModelTrustDocument(
        is_needed=bool(model.format and needs_trust(model.format)),
        is_given=trusted is not None,
        since=trusted.at if trusted else None,
        reason=trusted.reason if trusted else "",
        warning=warning(facts) if facts else "",
        imports=facts.imports if facts else (),
    )
    return {
        "state": model_status.state,
        "missing": facts.missing if facts else (),
        "tier": FORMATS[model.format].tier if model.format else None,
        "source": without_folders(model.source),
        "trust": trust,
    }
