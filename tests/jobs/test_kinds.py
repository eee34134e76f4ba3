"""What every kind of run says of itself, and the one table of each layer that knows them all."""

from importlib import import_module

import pytest

from modeldyno.core.kinds import KINDS, kept_kinds
from modeldyno.core.specs import (
    BenchmarkSpec,
    CellSpec,
    ComparisonSpec,
    ModelSpec,
    ProfileSpec,
    SideSpec,
)
from modeldyno.jobs.local import RUN_FUNCTIONS
from modeldyno.present import markdown
from modeldyno.present.reports import page

ONE, OTHER = ModelSpec("/m/one.onnx"), ModelSpec("/m/other.onnx")
FAST, SLOW = CellSpec("onnxruntime"), CellSpec("openvino", batch_size=8)
PAIR = ComparisonSpec(SideSpec("/m/one.onnx", ONE, FAST), SideSpec("other.onnx", OTHER, SLOW))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_function_that_runs_it(kind):
    assert KINDS[kind].spec.kind == kind
    module, _, name = RUN_FUNCTIONS[kind].partition(":")
    assert callable(getattr(import_module(module), name))


def test_every_kind_with_a_result_has_a_section_in_reports():
    kinds = {name for name in kept_kinds() if KINDS[name].result is not None}
    assert kinds == {*page.SECTIONS} == {*markdown.SECTIONS}


@pytest.mark.parametrize(
    ("spec", "models", "cells", "title"),
    [
        (BenchmarkSpec(ONE, (FAST, SLOW)), (ONE,), (FAST, SLOW), "one.onnx"),
        (ProfileSpec(OTHER, SLOW), (OTHER,), (SLOW,), "other.onnx"),
        (PAIR, (ONE, OTHER), (FAST, SLOW), "one.onnx against other.onnx"),
    ],
)
def test_a_spec_knows_its_models_cells_and_title(spec, models, cells, title):
    assert (spec.models(), spec.configurations(), spec.title()) == (models, cells, title)


@pytest.mark.parametrize("spec", [BenchmarkSpec(ONE, (FAST,)), ProfileSpec(ONE), PAIR])
def test_changed_models_change_nothing_else(spec):
    pinned = spec.with_models(lambda model, _: ModelSpec(model.path, sha256="1" * 64))
    assert {model.sha256 for model in pinned.models()} == {"1" * 64}
    assert pinned.with_models(lambda model, _: ModelSpec(model.path)) == spec


@pytest.mark.parametrize("spec", [BenchmarkSpec(ONE, (FAST, SLOW)), ProfileSpec(ONE, FAST), PAIR])
def test_a_cell_is_changed_with_the_model_that_it_belongs_to(spec):
    sides = []

    def change(cell, side):
        sides.append(spec.models()[side].path)
        return CellSpec(cell.engine, cores=3)

    changed = spec.with_cells(change)
    assert [cell.cores for cell in changed.configurations()] == [3] * len(sides)
    assert (
        sides == ["/m/one.onnx", "/m/other.onnx" if spec is PAIR else "/m/one.onnx"][: len(sides)]
    )
