"""Places: shared where nobody can tell."""

from dataclasses import replace

import pytest

from modeldyno.core.documents.comparisons import RankingDocument
from modeldyno.core.documents.described import json_value
from modeldyno.core.models import ModelFacts
from modeldyno.core.rankings import FIRST, Ranked, Ranking, why_unranked, with_places
from modeldyno.core.results import Estimate, SideResult
from modeldyno.core.sessions import Parity, SessionFacts
from modeldyno.core.specs import CellSpec
from modeldyno.present.tables import ranking_rows
from tests import schemas


def side(low: float, high: float, unranked: str = "") -> Ranked:
    ratio = Estimate((low + high) / 2, low, high, 0.95, 8, "pairs")
    return Ranked(f"{low}-{high}", ratio=ratio, unranked=unranked)


@pytest.mark.parametrize(
    ("sides", "places"),
    [
        ([side(1, 1), side(0.5, 0.6), side(2, 2.1)], [2, 1, 3]),
        ([side(1, 1), side(0.9, 1.1), side(2, 2.1)], [1, 1, 3]),
        # The middle one cannot be told from either, and they can be told from each other.
        ([side(1, 1.2), side(1.1, 1.5), side(1.3, 1.6)], [1, 1, 2]),
        ([side(1, 1), side(0.5, 0.6, "computes something else")], [1, None]),
        ([side(1, 1), Ranked("broken")], [1, None]),
    ],
)
def test_who_cannot_be_told_apart_shares_a_place(sides, places):
    assert [one.place for one in with_places(sides)] == places


def compared(precision, other, error=0.0):
    facts = [
        SessionFacts("e", "1", "cpu", (), 1, None, {}, precision=each)
        for each in (precision, other)
    ]
    model = ModelFacts("m.onnx", "onnx", "onnx", "0" * 64, 1, 0, (), ())
    sides = [
        SideResult(name, CellSpec(), model, each, 0.001, 0.001, batch_size=1)
        for name, each in zip(("ort", "ov"), facts, strict=True)
    ]
    return why_unranked(sides[0], sides[1], Parity(error, error, agrees=error < 0.01))


def test_another_precision_has_no_place_and_its_name_says_why():
    assert compared("int4 weights, int8 activations", "int4 weights, fp32 activations") == (
        "it computes with int4 weights, int8 activations, ov with int4 weights, fp32 activations"
    )
    assert compared("int8", "fp32") == "it computes in int8, ov in fp32"
    assert compared("int8", "fp32", error=0.02) == (
        "its outputs differ from those of ov by 0.02 of the largest value; "
        "it computes in int8, ov in fp32"
    )
    assert compared("int8+fp32", "fp32+int8") == ""
    assert compared(None, "fp32") == ""


def with_streams(streams, floor_s, run_id=None):
    """Two items in each request."""
    facts = SessionFacts("openvino", "1", "cpu", (), 1, None, {}, streams=streams)
    model = ModelFacts("m.onnx", "onnx", "onnx", "0" * 64, 1, 0, (), ())
    side = SideResult(f"{streams}", CellSpec(), model, facts, floor_s, floor_s, batch_size=2)
    ratio = Estimate(0.9, 0.8, 1.0, 0.95, 8, "pairs") if run_id else FIRST
    return Ranked(side.label, side=side, ratio=ratio, run_id=run_id)


def test_a_call_of_several_streams_has_the_time_of_all_their_items():
    """The ratio is that of one item."""
    found = Ranking((with_streams(1, 0.001), with_streams(2, 0.0018, "run")), "1")
    assert found.floor_s(found.sides[1]) == pytest.approx(0.0018)
    document = json_value(RankingDocument.of(found))
    schemas.check("ranking", document)
    assert [one["streams"] for one in document["sides"]] == [1, 2]
    head, rows = ranking_rows(found)
    assert [row[head.index("streams")] for row in rows] == ["2", "1"]
    alone, _ = ranking_rows(Ranking(found.sides[:1], "1"))
    assert "streams" not in alone


def test_a_side_that_failed_is_named_as_briefly_as_the_others():
    failed = Ranked("/models/of/somebody/m.onnx@engine=openvino")
    _, rows = ranking_rows(Ranking((with_streams(1, 0.001), failed), "1"))
    assert {row[1] for row in rows} == {"m.onnx", "m.onnx@engine=openvino"}


def test_a_lopsided_interval_has_both_its_ends():
    """``0.9 ±2.7`` would be a negative time."""
    first, other = with_streams(1, 0.001), with_streams(2, 0.0018, "run")
    wide = replace(other, ratio=Estimate(0.9, 0.145, 5.611, 0.95, 2, "pairs"))
    _, rows = ranking_rows(Ranking((first, wide), "1"))
    assert "0.900 (0.145 to 5.61)" in rows[0] + rows[1]
    _, rows = ranking_rows(Ranking((first, other), "1"))
    assert "0.90 ±0.10" in rows[0] + rows[1]
