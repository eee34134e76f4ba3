"""Two profiles side by side: aligned by node, by what nodes are made of, by operator and place."""

from dataclasses import replace

import pytest

import modeldyno
from modeldyno.core.documents.described import json_value
from modeldyno.core.documents.profiles import ProfileDiffDocument
from modeldyno.core.profile_diffs import compare_profiles, diff_sentence
from modeldyno.core.results import NodeResult
from modeldyno.core.sentences import profile_sentence
from modeldyno.present.profile_tables import diff_rows, profile_rows
from tests import schemas
from tests.scripts import script


@pytest.fixture(scope="module")
def profile(tmp_path_factory, starts_processes):
    folder = tmp_path_factory.mktemp("profile")
    return modeldyno.profile(script(folder / "m.json"), repeats=1, workspace=folder / "workspace")


def test_one_node_and_long_calls_are_told_in_units_that_fit(profile):
    long = replace(profile, latency_s=1.36, sum_s=1.3599136, outside_s=86.4e-6, coverage=0.99994)
    one = replace(long, rows=(node("a"),), noise="noisy")
    told = "1 node takes 1.36 s (100%), 86.4 µs outside it"
    assert profile_sentence(one) == f"latency 1.36 s, noisy; {told}"
    assert profile_sentence(replace(one, noise=None)) == f"latency 1.36 s; {told}"
    two = replace(long, rows=(node("a"), node("b")))
    assert "2 nodes add up to 1.36 s (100%), 86.4 µs outside them" in profile_sentence(two)
    head, rows = profile_rows(one)
    assert head[2] == "ms"
    assert rows[-1][2] == "0.0864"


def node(name, op="Conv", ms=1.0, parts=(), provider="CPU", flop=None):
    span = (ms / 1e3 * 0.99, ms / 1e3 * 1.01)
    return NodeResult(name, op, provider, ms / 1e3, ms / 1e3, None, 1, span, flop, None, parts)


def changes(profile, a, b, by="node", engine="scripted"):
    facts = replace(profile.facts, engine=engine)
    sides = replace(profile, rows=tuple(a)), replace(profile, rows=tuple(b), facts=facts)
    found = compare_profiles(*sides, by)
    schemas.check("profile-diff", json_value(ProfileDiffDocument.of(found)))
    return found.changes


def told(found):
    return {
        (c.a.names if c.a else (), c.b.names if c.b else (), c.standing, c.matched_by)
        for c in found
    }


def test_nodes_of_one_name_are_the_same_wherever_they_stand(profile):
    found = changes(
        profile,
        [node("a"), node("b"), node("c"), node("d")],
        [node("b"), node("c", ms=2), node("a", ms=0.5), node("d_nchwc")],
    )
    assert told(found) == {
        (("a",), ("a",), "moved", "name"),
        (("b",), ("b",), "kept", "name"),
        (("c",), ("c",), "kept", "name"),
        (("d",), ("d_nchwc",), "kept", "name"),
    }
    assert [(c.name, c.verdict) for c in found[:2]] == [("c", "slower"), ("a", "faster")]


def test_nodes_that_an_engine_fused_are_held_against_what_it_made_of_them(profile):
    found = changes(
        profile,
        [node("conv", ms=3), node("bn", "BatchNormalization"), node("relu", "Relu"), node("fc")],
        [node("bn", "Convolution", 2, ("bn", "conv", "relu")), node("fc", "FullyConnected")],
    )
    assert told(found) == {
        (("conv", "bn", "relu"), ("bn",), "kept", "parts"),
        (("fc",), ("fc",), "kept", "name"),
    }
    assert found[0].delta_s == pytest.approx(-3e-3)
    assert found[0].verdict == "faster"


def test_without_names_operator_and_place_decide(profile):
    found = changes(
        profile,
        [node("x1", "MatMul", flop=8.0), node("x2", "Add"), node("x3", "MatMul", flop=9.0)],
        [
            node("y1", "aten::addmm", flop=8.0),
            node("y2", "Softmax"),
            node("y3", "MatMul", flop=9.0),
        ],
    )
    assert told(found) == {
        (("x1",), ("y1",), "kept", "place"),
        (("x3",), ("y3",), "kept", "place"),
        (("x2",), (), "vanished", None),
        ((), ("y2",), "appeared", None),
    }


def test_another_provider_of_the_same_engine_is_a_move(profile):
    found = changes(
        profile,
        [node("a", provider="CUDA"), node("b", provider="CPU")],
        [node("a", provider="CPU"), node("b", provider="CPU")],
    )
    assert {c.name: c.standing for c in found} == {"a": "moved", "b": "kept"}
    (other,) = changes(
        profile, [node("a", provider="CPU")], [node("a", provider="oneDNN")], engine="another"
    )
    assert other.standing == "kept"


def test_operators_that_engines_call_differently_are_one_kind(profile):
    found = changes(
        profile,
        [node("a"), node("b", ms=2), node("s", "Softmax"), node("t", "Tile")],
        [node("c", "Convolution"), node("d", "GroupConvolution"), node("s", "Softmax")],
        by="op",
    )
    assert {(c.name, c.matched_by, c.standing) for c in found} == {
        ("convolution", "kind", "kept"),
        ("Softmax", "name", "kept"),
        ("Tile", None, "vanished"),
    }
    assert found[0].a is not None
    assert found[0].a.nodes == 2


def test_what_was_measured_otherwise_is_said(profile):
    found = compare_profiles(profile, replace(profile, batch_size=8))
    assert found.differences == ("batch size: 1 in A, 8 in B",)
    assert "no clear difference" in diff_sentence(found)
    cell = replace(profile.spec.cell, contract="e2e", options={"xnnpack": False})
    other = replace(profile, spec=replace(profile.spec, cell=cell))
    assert compare_profiles(profile, other).differences == (
        "contract: hot in A, e2e in B",
        "options: no options in A, xnnpack=off in B",
    )


def test_profiles_of_two_machines_are_shown_and_not_judged(profile):
    sides = [
        replace(profile, rows=(node("a", ms=ms),), host=replace(profile.host, machine=name))
        for ms, name in ((1.0, "lab-1"), (2.0, "lab-2"))
    ]
    found = compare_profiles(*sides)
    schemas.check("profile-diff", json_value(ProfileDiffDocument.of(found)))
    assert (found.verdict, found.changes[0].verdict) == ("not comparable", "not comparable")
    assert found.changes[0].delta_s == pytest.approx(1e-3)
    assert found.differences == ("machine: lab-1 in A, lab-2 in B",)
    same = compare_profiles(sides[0], replace(sides[1], host=sides[0].host))
    assert (same.changes[0].verdict, same.differences) == ("slower", ())


def test_unlike_conditions_are_named_in_a_sentence(profile):
    calm = replace(profile, noise="quiet", weather=replace(profile.weather, load_1m=0.4))
    busy = replace(calm, run_id="b", noise="contended", weather=replace(calm.weather, load_1m=5.2))
    found = compare_profiles(calm, busy)
    assert found.differences == (
        "quality: quiet in A, contended in B",
        "load: 0.4 in A, 5.2 in B",
    )
    document = ProfileDiffDocument.of(found)
    assert document.warning == (
        "A and B were measured under unlike conditions (quality: quiet in A, contended in B; load: "
        "0.4 in A, 5.2 in B): what changes between them may be due to any of these"
    )
    assert (document.a.noise, document.b.noise) == ("quiet", "contended")
    similar = replace(calm, weather=replace(calm.weather, load_1m=1.2))
    alike = compare_profiles(calm, similar)
    assert (alike.differences, ProfileDiffDocument.of(alike).warning) == ((), None)


def test_both_totals_are_told_and_no_two_sides_share_a_name(profile):
    facts = replace(profile.facts, engine="openvino", engine_version="2026.4")
    a = replace(profile, latency_s=2.57e-3)
    b = replace(a, run_id="20261119-203001-3fa9c1", latency_s=2.26e-3, facts=facts)
    found = compare_profiles(a, b)
    sentence = "A call takes 2.57 ms in A and 2.26 ms in B, 0.310 ms less (no clear difference)"
    assert diff_sentence(found).startswith(sentence)
    document = ProfileDiffDocument.of(found)
    assert document.b.name == "openvino 2026.4, m.json, run 20261119-203001-3fa9c1"
    assert document.a.name != document.b.name


@pytest.mark.parametrize("by", ["node", "op"])
def test_a_time_that_is_not_known_on_one_side_has_no_difference(profile, by):
    known, unknown = node("a"), replace(node("a", ms=3), unknown="other work interrupted it")
    whole = replace(profile, latency_s=5e-3, ci95_s_by_op={"Conv": (0.99e-3, 1.01e-3)})
    a = replace(whole, rows=(known,))
    b = replace(whole, rows=(unknown,), unknown_by_op={"Conv": unknown.unknown})
    found = compare_profiles(a, b, by)
    schemas.check("profile-diff", json_value(ProfileDiffDocument.of(found)))
    (change,) = found.changes
    assert (change.delta_s, change.verdict) == (None, "not comparable")
    (shown,) = ProfileDiffDocument.of(found).changes
    assert shown.b is not None
    assert (shown.delta_ms, shown.b.total_ms.value, shown.b.unknown) == (
        None,
        None,
        "other work interrupted it",
    )
    (row,) = diff_rows(found)[1]
    assert row[3:6] == ("1.000 ±0.010", "–", "–")
