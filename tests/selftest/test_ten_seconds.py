"""The self-test that runs the command itself reads the document that the command prints."""

from __future__ import annotations

import json

import pytest

import modeldyno
from modeldyno.selftest.ten_seconds import _half_width_of, _ratio_ends
from tests.scripts import script


@pytest.mark.usefixtures("starts_processes")
def test_ratio_and_half_width_are_read_from_the_comparison_document(tmp_path):
    model = script(tmp_path / "m.json")
    result = modeldyno.compare(model, f"{model}@batch=2", pairs=4, workspace=tmp_path)
    document = json.loads(result.to_json())
    assert _half_width_of(document) == pytest.approx(result.ratio.half_width)
    ends = (result.ratio.value, result.ratio.low, result.ratio.high)
    assert _ratio_ends(document) == pytest.approx(ends, abs=1e-4)
