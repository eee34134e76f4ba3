"""Which shapes of dummy datasets fit which inputs."""

from datetime import UTC, datetime

import pytest

from modeldyno.api.inc.dummy_sizes import note_if_unfit, sizes_from_dataset
from modeldyno.core.datasets import Dataset
from modeldyno.core.ids import DatasetId, ModelId, ProjectId
from modeldyno.core.models import InputSpec, Model, ModelFacts

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def dataset(said, kind="dummy_v2"):
    return Dataset(
        id=DatasetId(1),
        project_id=ProjectId(1),
        name="d",
        kind=kind,
        parameters={"input_shape": said},
        created_at=NOW,
    )


def model(*shapes):
    inputs = tuple(InputSpec(f"x{i}", "float32", shape) for i, shape in enumerate(shapes))
    facts = ModelFacts("m", "onnx", "ONNX", "0" * 64, 1, 0, inputs, ())
    return Model(
        id=ModelId(1), project_id=ProjectId(1), name="m", path="m", facts=facts, created_at=NOW
    )


@pytest.mark.parametrize(
    ("said", "shapes", "dims"),
    [
        ([[16, 64]], [("batch", "seq", 64)], {"seq": 16}),
        ([16, 64], [("batch", "seq", 64)], {"seq": 16}),
        ([[16, 64]], [(None, None, 64)], {"x0.1": 16}),
        ([[16, 64]], [(1, "seq", 64)], {"seq": 16}),
        ([[16, 64]], [("seq", 64)], {"seq": 16}),
        ([[16], [16]], [("batch", "seq"), ("batch", "seq")], {"seq": 16}),
        ([[3, 8, 9]], [("batch", 3, "height", "width")], {"height": 8, "width": 9}),
        ([[4]], [("batch", 4)], {}),
    ],
)
def test_a_shape_that_fits_says_the_sizes(said, shapes, dims):
    assert sizes_from_dataset(dataset(said), model(*shapes)) == dims
    assert note_if_unfit(dataset(said), model(*shapes)) == ""


@pytest.mark.parametrize(
    ("said", "shapes"),
    [
        ([[16, 65]], [("batch", "seq", 64)]),
        ([[16]], [("batch", "seq", 64)]),
        ([[1, 16, 64]], [("batch", "seq", 64)]),
        ([[64]], [("seq", 64)]),
        ([[16], [17]], [("batch", "seq"), ("batch", "seq")]),
        ([[16]], [("batch", "seq"), ("batch", "seq")]),
        ([[16]], [None]),
        ([[16]], []),
    ],
)
def test_a_shape_that_does_not_fit_says_nothing_and_is_told(said, shapes):
    assert sizes_from_dataset(dataset(said), model(*shapes)) == {}
    assert "does not fit" in note_if_unfit(dataset(said), model(*shapes))


@pytest.mark.parametrize("found", [None, dataset([[16, 64]], "ImageFolder"), dataset("16,64")])
def test_what_says_no_shape_is_no_misfit(found):
    assert sizes_from_dataset(found, model(("batch", "seq", 64))) == {}
    assert note_if_unfit(found, model(("batch", "seq", 64))) == ""
