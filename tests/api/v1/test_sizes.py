"""Benchmarks whose cells differ in sizes of open dimensions, over real HTTP and real workers."""

from urllib.parse import quote

import pytest

from modeldyno.core.documents.benchmarks import (
    BenchmarkDetailsDocument,
    JudgementDocument,
    PlanDocument,
)
from tests.api.v1.shapes import fits, problem

INPUTS = [{"name": "x", "dtype": "float32", "shape": ["batch", "seq", 4]}]


@pytest.fixture(scope="module")
def swept(served):
    """A project, its model, a benchmark of three sizes, and one of the second of them."""
    project = served.project("Sizes")
    model = served.model(project, "tokens.json", inputs=INPUTS)
    made = [served.benchmark(project, model, dims={"seq": own}) for own in ([8, 16, 32], 16)]
    for one in made:
        assert served.ended(one["latest_run"]["job_id"])["state"] == "done"
    return project, model, [one["id"] for one in made]


def test_each_size_is_a_cell_with_its_shapes(served, swept):
    answer = fits(served.get(f"benchmarks/{swept[2][0]}"), BenchmarkDetailsDocument)
    assert answer["axes"]["dims"] == {"seq": [8, 16, 32]}
    assert answer["settings"]["dims"] == {"seq": [8, 16, 32]}
    assert "--dim seq=8,16,32" in answer["command"]
    assert [(cell["dims"], cell["input_shapes"]) for cell in answer["cells"]] == [
        ({"seq": size}, {"x": [1, size, 4]}) for size in (8, 16, 32)
    ]
    assert [cell["name"].endswith(f"seq {8 << n}") for n, cell in enumerate(answer["cells"])] == (
        [True] * 3
    )
    assert [cell["mismatches"] for cell in answer["cells"]] == [[]] * 3


def test_a_plan_and_a_draft_have_the_sizes_before_anything_runs(served, swept):
    project, model, _ = swept
    asked = {"model_id": model, "dims": {"seq": [8, 16], "batch": 2}}
    plan = fits(served.post("benchmarks/plan", asked), PlanDocument)
    expected = [{"batch": 2, "seq": 8}, {"batch": 2, "seq": 16}]
    assert [cell["dims"] for cell in plan["cells"]] == expected
    draft = served.benchmark(project, model, dims=asked["dims"], start=False)
    assert draft["axes"]["dims"] == {"batch": [2], "seq": [8, 16]}
    assert [cell["dims"] for cell in draft["cells"]] == expected
    assert draft["summary"]["dims"] is None  # they differ


def test_one_size_is_said_of_the_summary_too(served, swept):
    answer = served.get(f"benchmarks/{swept[2][1]}").json
    assert answer["summary"]["dims"] == {"seq": 16}
    assert answer["axes"]["dims"] == {"seq": [16]}
    assert answer["settings"]["dims"] == {"seq": 16}


def test_benchmarks_are_found_by_the_sizes_of_a_cell(served, swept):
    project, _, (several, one) = swept

    def found(conditions):
        rows = served.get(f"benchmarks?project_id={project}&{conditions}").json["items"]
        return [row["id"] for row in rows]

    assert found("dims=seq%3D16") == [one, several]
    assert found("dims=seq%3D32") == [several]
    assert found("dims=seq%3D1") == []  # no part of another number
    assert found("dims=eq%3D16") == []  # nor of another name
    assert found("dims=seq%3D16&batch_size=1") == [one, several]
    assert found("dims=seq%3D16&batch_size=2") == []
    for bad in ("seq", "seq=1,2", "seq=0", "=16", "seq=", "seq=x", "a=1 b=2"):
        answer = problem(served.get(f"benchmarks?dims={quote(bad)}"), 422, "BAD_VALUE")
        assert f"Cannot read '{bad}': write one dimension and its size, seq=128" in answer["title"]


def test_cells_of_two_benchmarks_are_paired_by_their_sizes(served, swept):
    several, one = swept[2]
    answer = fits(served.get(f"judgements?a={one}&b={several}"), JudgementDocument)
    assert [(cell["a"]["number"], cell["b"]["number"]) for cell in answer["cells"]] == [(0, 1)]


@pytest.mark.parametrize(
    ("dims", "status", "said"),
    [
        ({"seq": []}, 422, ""),
        ({"seq": [0]}, 422, ""),
        ({"seq": ["8"]}, 422, ""),
        ({"seq": list(range(1, 60))}, 422, ""),
        ({"seq": [8, 8]}, 400, "seq has a size twice"),
        ({"batch": [1, 2]}, 400, "The dimension batch takes one size"),
        ({name: list(range(1, 51)) for name in "abcdefgh"}, 400, "combinations of sizes"),
    ],
)
def test_sizes_that_cannot_be_are_refused(served, swept, dims, status, said):
    reply = served.post("benchmarks/plan", {"model_id": swept[1], "dims": dims})
    assert reply.status == status
    assert said in reply.json["title"]


def test_an_unknown_dimension_fails_the_run_with_those_that_there_are(served, swept):
    project, model, _ = swept
    made = served.benchmark(project, model, dims={"sequ": [8, 16]})
    served.ended(made["latest_run"]["job_id"])
    failure = served.get(f"benchmarks/{made['id']}").json["latest_run"]["failure"]
    assert failure["title"] == "The model has no open dimension 'sequ'"
    assert "seq" in failure["detail"]


def test_a_comparison_and_a_profile_take_one_size(served, swept):
    project, model, _ = swept
    side = {"model_id": model, "dims": {"seq": [8, 16]}}
    asked = {"project_id": project, "a": side, "b": side}
    assert served.post("comparisons", asked).status == 422
    assert served.post("profiles", {"project_id": project, **side}).status == 422


def test_a_changed_draft_has_its_new_sizes(served, swept):
    project, model, _ = swept
    draft = served.benchmark(project, model, dims={"seq": [8, 16]}, start=False)["id"]
    changed = served.patch(f"benchmarks/{draft}", {"dims": {"seq": [4, 8]}}).json
    assert [cell["dims"] for cell in changed["cells"]] == [{"seq": 4}, {"seq": 8}]
    changed = served.patch(f"benchmarks/{draft}", {"cores": [2]}).json
    assert changed["settings"]["dims"] == {"seq": [4, 8]}
