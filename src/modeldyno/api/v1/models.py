"""Models of projects: send them, import them, vouch for them, look into them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import Field, WithJsonSchema
from starlette.concurrency import run_in_threadpool

from modeldyno.api.schemas import reference
from modeldyno.api.v1 import downloads, uploads
from modeldyno.api.v1.idempotency import once
from modeldyno.api.v1.paging import ListAsked, OfProject, PageTold, listed, parameters, told
from modeldyno.api.v1.shape import Asked, Id, Moment, Name, Told, problems
from modeldyno.core.client_paths import LONGEST, names_in, refused
from modeldyno.core.documents.described import json_value
from modeldyno.core.documents.model import ModelDocument
from modeldyno.core.ids import ModelId, ProjectId
from modeldyno.core.models import Model, ModelFormat, Origin
from modeldyno.core.placeless import without_places
from modeldyno.core.redaction import without_folders
from modeldyno.core.trust import TIERS, Tier, needs_trust, warning
from modeldyno.services.models import ModelShown, ModelState

if TYPE_CHECKING:
    from modeldyno.services.archive import Archive
    from modeldyno.services.model_files import ModelFiles
    from modeldyno.services.models import ModelService
    from modeldyno.store.records.all import Records


class ModelsOfProjectAsked(ListAsked):
    sort: Literal["created", "name", "size"] = "created"


class ModelsAsked(ModelsOfProjectAsked, OfProject): ...


class ImportAsked(Asked):
    path: str = Field(
        min_length=1,
        max_length=LONGEST,
        description="Below one of the folders that the server was started with.",
        examples=["vision/resnet50.onnx"],
    )
    name: Name | None = Field(None, description="The file's own, unless given.")


class ModelAsked(Asked):
    name: Name = Field(examples=["ResNet-50, pruned"])


class TrustAsked(Asked):
    reason: str = Field("", max_length=1000, examples=["I exported it myself"])


class TrustTold(Told):
    is_needed: bool = Field(description="Loading this kind of file can run what is in it.")
    is_given: bool = Field(description="Somebody vouched for exactly these bytes.")
    since: str | None = Field(description="ISO 8601, UTC.", examples=["2026-11-15T09:51:16+00:00"])
    reason: str
    warning: str = Field(description="What running it would do; empty for data.")
    imports: list[str] = Field(
        description="What its pickles name, listed without unpickling them.",
        examples=[["torch._utils._rebuild_tensor_v2"]],
    )


class ModelTold(Told):
    id: int = Field(examples=[1])
    project_id: int = Field(examples=[1])
    name: str = Field(examples=["resnet50.onnx"])
    state: ModelState = Field(
        description="`ready` may run. `incomplete` lacks weights files; `untrusted` could run "
        "code, and nobody vouched for it; `unread` was never looked into."
    )
    missing: list[str] = Field(description="Weights files to send.", examples=[["weights.bin"]])
    format: ModelFormat | None
    tier: Tier | None = Field(description="`data` is only read; `program` and `code` are run.")
    framework: str = Field(examples=["onnx"])
    precision: str = Field(description="Of most of its weights.", examples=["fp32"])
    domain: str = Field(
        description="What it is for, as far as it shows; empty: that is not known.",
        examples=["Image Recognition"],
    )
    origin: Origin
    source: str = Field(
        description="The file, address or recipe it came from.", examples=["resnet50.onnx"]
    )
    sha256: str | None = Field(description="Of the model's own file.")
    size_bytes: int | None = Field(description="With the weights beside it.")
    trust: TrustTold
    created_at: Moment


Facts = Annotated[dict[str, Any], WithJsonSchema(reference(ModelDocument))]


class ModelDetails(ModelTold):
    facts: Facts | None = Field(description="What the file says of itself.")


FileName = Annotated[
    str, Query(min_length=1, max_length=200, description="Of the file.", examples=["net.onnx"])
]
Location = Annotated[
    str, Path(min_length=1, max_length=LONGEST, description="As the model names it.")
]


def router(
    records: Records,
    models: ModelService,
    files: ModelFiles,
    archive: Archive,
) -> APIRouter:
    routes = APIRouter(tags=["models"])

    @routes.get("/models", responses=problems(), openapi_extra=parameters(ModelsAsked))
    def list_models(asked: Annotated[ModelsAsked, listed(ModelsAsked)]) -> PageTold[ModelTold]:
        """Newest first unless asked otherwise."""
        return told(models.page(asked.wanted()), _told)

    @routes.get(
        "/projects/{project_id}/models",
        responses=problems(404),
        openapi_extra=parameters(ModelsOfProjectAsked),
    )
    def list_models_of_project(
        project_id: Id, asked: Annotated[ModelsOfProjectAsked, listed(ModelsOfProjectAsked)]
    ) -> PageTold[ModelTold]:
        """As `GET /models?project_id=`, but a project that is not there is an error."""
        found = records.projects.get(ProjectId(project_id))
        return told(models.page(replace(asked.wanted(), project_id=found.id)), _told)

    @routes.post(
        "/projects/{project_id}/models",
        status_code=201,
        responses=problems(404, 413, 415, 507),
        openapi_extra=uploads.BODY,
    )
    async def upload_model(
        project_id: Id,
        name: FileName,
        request: Request,
        response: Response,
        packed: Annotated[
            bool,
            Query(description="The body is a zip, tar or tar.gz, and `name` a file in there."),
        ] = False,
    ) -> ModelDetails:
        """Send the file as the body. It is kept by its content, and looked into by a worker: what
        cannot be read is refused, with the reason, and nothing stays.

        A model whose weights are files of their own is `incomplete` until those were sent, too
        (`PUT /models/{id}/files/{name}`); or all come at once, packed.
        """
        if not packed:
            _expect_plain(name)
        await run_in_threadpool(records.projects.get, ProjectId(project_id))
        async with uploads.received(request, files) as incoming:
            add = files.add_packed if packed else files.add
            made = await run_in_threadpool(add, ProjectId(project_id), name, incoming)
        response.headers["Location"] = f"/api/v1/models/{made.id}"
        return await run_in_threadpool(_details_of, made)

    @routes.post(
        "/projects/{project_id}/models/import",
        status_code=201,
        response_model=ModelDetails,
        responses=problems(404, 413, 507),
    )
    @once(records, prepares=True)
    def import_model(
        project_id: Id, asked: ImportAsked, response: Response
    ) -> Callable[[], ModelDetails]:
        """Copy a file of the server's own disk, with the weights beside it. `GET /files` lists
        what there is."""
        prepared = files.prepared_from(ProjectId(project_id), asked.path, asked.name or "")

        def make() -> ModelDetails:
            made = prepared.add()
            response.headers["Location"] = f"/api/v1/models/{made.id}"
            return _details_of(made)

        return make

    @routes.get("/models/{model_id}", responses=problems(404))
    def get_model(model_id: Id) -> ModelDetails:
        """What is known of it: origin, content, inputs and outputs, trust."""
        return _details(models.get(ModelId(model_id)))

    @routes.patch("/models/{model_id}", responses=problems(404, 413))
    def rename_model(model_id: Id, asked: ModelAsked) -> ModelDetails:
        """Its name is all that changes."""
        return _details(models.rename(ModelId(model_id), asked.name))

    @routes.delete("/models/{model_id}", status_code=204, responses=problems(404, 409))
    def delete_model(model_id: Id, cascade: bool = False) -> None:
        """With `cascade`, what was measured with it goes along; else it must be unused. Its files
        go when no other model has the same."""
        with archive.deleting():
            models.delete(ModelId(model_id), cascade=cascade)

    @routes.get("/models/{model_id}/file", response_class=Response, responses=downloads.DESCRIBED)
    def download_model(model_id: Id, request: Request) -> Response:
        """The model's own file, without weights beside it. One range may be asked for."""
        model = models.get(ModelId(model_id)).model
        descriptor = files.open(model)
        return downloads.sent(request.headers, descriptor, model.name, model.sha256 or "")

    @routes.put(
        "/models/{model_id}/files/{name:path}",
        responses=problems(404, 409, 413, 415, 507),
        openapi_extra=uploads.BODY,
    )
    async def upload_weights(model_id: Id, name: Location, request: Request) -> ModelDetails:
        """Send one of the files that an `incomplete` model lacks. With the last one, the model is
        looked into again."""
        await run_in_threadpool(files.expect_weights, ModelId(model_id), name)
        async with uploads.received(request, files) as incoming:
            changed = await run_in_threadpool(files.add_weights, ModelId(model_id), name, incoming)
        return await run_in_threadpool(_details_of, changed)

    @routes.post("/models/{model_id}/inspect", responses=problems(404, 409))
    def inspect_model(model_id: Id) -> ModelDetails:
        """Look into the file again."""
        return _details_of(files.inspect(ModelId(model_id)))

    @routes.put("/models/{model_id}/trust", responses=problems(404, 409, 413))
    def trust_model(model_id: Id, asked: TrustAsked) -> ModelDetails:
        """Vouch for the content of this file, wherever it is; a changed byte ends it."""
        return _details(models.trust(ModelId(model_id), asked.reason))

    @routes.delete("/models/{model_id}/trust", responses=problems(404))
    def distrust_model(model_id: Id) -> ModelDetails:
        """Jobs that wait will not start."""
        return _details(models.distrust(ModelId(model_id)))

    def _details_of(model: Model) -> ModelDetails:
        return _details(models.shown([model])[0])

    return routes


def _expect_plain(name: str) -> None:
    if len(names_in(name)) != 1:
        raise refused(name, "it holds a slash; a model is called by one name")


def _told(shown: ModelShown) -> ModelTold:
    return ModelTold(**_values(shown))


def _details(shown: ModelShown) -> ModelDetails:
    facts = shown.model.facts
    if facts is None:
        return ModelDetails(**_values(shown), facts=None)
    document = json_value(ModelDocument.of(without_places(facts)))
    return ModelDetails(**_values(shown), facts=document)


def _values(shown: ModelShown) -> dict[str, Any]:
    model, facts, trusted = shown.model, shown.model.facts, shown.trusted
    return {
        "id": model.id,
        "project_id": model.project_id,
        "name": model.name,
        "state": shown.state,
        "missing": list(facts.missing) if facts else [],
        "format": model.format,
        "tier": TIERS[model.format] if model.format else None,
        "framework": model.framework,
        "precision": model.precision,
        "domain": model.domain,
        "origin": model.origin,
        "source": without_folders(model.source),
        "sha256": model.sha256,
        "size_bytes": model.size_bytes,
        "trust": TrustTold(
            is_needed=bool(model.format and needs_trust(model.format)),
            is_given=trusted is not None,
            since=trusted.at if trusted else None,
            reason=trusted.reason if trusted else "",
            warning=warning(facts) if facts else "",
            imports=list(facts.imports) if facts else [],
        ),
        "created_at": model.created_at,
    }
