"""``dict/…`` and ``get_possible_values``: names, numbers and defaults as clients know them."""

import pytest

from modeldyno.core.dictionaries import DOMAINS
from modeldyno.store.dictionaries import read_dictionaries


def test_the_basic_dictionaries_have_the_documented_numbers(served):
    assert served.get("/api/dict/domains").json == {
        "domains": [
            {"id": 1, "name": "Image Recognition"},
            {"id": 2, "name": "Object Detection"},
            {"id": 3, "name": "Neural Language Processing"},
            {"id": 4, "name": "Recommendation"},
        ]
    }
    flavours = [{"id": 1, "name": ""}, {"id": 2, "name": "SSD"}, {"id": 3, "name": "Yolo"}]
    assert served.get("/api/dict/domain_flavours").json == {"domain_flavours": flavours}
    assert served.get("/api/dict/optimization_types").json == {
        "optimization_types": [
            {"id": 1, "name": "Quantization"},
            {"id": 2, "name": "Graph optimization"},
            {"id": 3, "name": "Mixed precision"},
        ]
    }
    found = {
        one["name"]: one["id"] for one in served.get("/api/dict/precisions").json["precisions"]
    }
    assert found == {
        "fp32": 1,
        "bf16": 2,
        "int8": 3,
        "int8 static quantization": 4,
        "int8 dynamic quantization": 5,
        "fp16": 6,
    }


@pytest.mark.parametrize(
    ("precision", "supported"),
    [
        ("fp32", [False, True, False]),
        ("bf16", [False, True, True]),
        ("int8", [True, False, False]),
        ("int8 static quantization", [True, False, False]),
        ("fp16", [False, False, True]),
        ("nope", [False, False, False]),
    ],
)
def test_each_precision_says_what_can_make_it(served, precision, supported):
    told = served.post("/api/dict/optimization_types/precision", {"precision": precision}).json
    assert [one["is_supported"] for one in told["optimization_types"]] == supported


def test_a_missing_parameter_is_named(served):
    for operation in ("optimization_types/precision", "dataloaders/framework", "transforms/domain"):
        answer = served.get(f"/api/dict/{operation}")
        assert answer.status == 400
        assert answer.text.startswith("Could not find required parameter.")


@pytest.mark.parametrize(
    ("name", "count", "of_onnxrt"),
    [("dataloaders", 27, 11), ("transforms", 39, 16), ("metrics", 37, 13)],
)
def test_rows_have_the_documented_keys_and_are_filtered_by_framework(
    served, name, count, of_onnxrt
):
    rows = served.get(f"/api/dict/{name}").json[name]
    assert [row["id"] for row in rows] == [*range(1, count + 1)]
    for row in rows:
        assert row["help"]
        assert {"id", "name", "help", "params", "framework"} <= row.keys()
        assert all(param["help"] and "value" in param for param in row["params"])
    told = served.post(f"/api/dict/{name}/framework", {"framework": "onnxrt"}).json[name]
    assert len(told) == of_onnxrt
    assert told == [row for row in rows if row["framework"] == {"id": 2, "name": "ONNXRT"}]
    assert told == served.get(f"/api/dict/{name}/framework?framework=ONNXRT").json[name]
    unknown = served.post(f"/api/dict/{name}/framework", {"framework": "MXNet"})
    assert unknown.status == 400
    assert unknown.text.startswith("Framework MXNet is not supported.")


def test_a_dataloader_says_whether_it_wants_to_know_where(served):
    rows = served.post("/api/dict/dataloaders/framework", {"framework": "TensorFlow"}).json
    first = rows["dataloaders"][0]
    assert [*first] == ["id", "name", "help", "show_dataset_location", "params", "framework"]
    assert (first["id"], first["name"], first["show_dataset_location"]) == (12, "CIFAR10", True)
    assert [(p["name"], p["value"]) for p in first["params"]] == [
        ("root", ""),
        ("train", "False"),
        ("download", "False"),
    ]


@pytest.mark.parametrize("domain", [domain.name for domain in DOMAINS])
def test_transforms_of_a_domain_are_those_that_fit_it(served, domain):
    rows = served.post("/api/dict/transforms/domain", {"domain": domain}).json["transforms"]
    fitting = [e.id for e in read_dictionaries().transforms if not e.domains or domain in e.domains]
    assert [row["id"] for row in rows] == fitting
    names = {row["name"] for row in rows}
    assert "EncodeJpeg" in names  # fits all
    assert ("SquadV1" in names) == (domain == "Neural Language Processing")
    frameworks = {row["framework"]["name"] for row in rows}
    assert frameworks == {"TensorFlow", "ONNXRT"}  # the original took one for the other


def test_no_domain_in_particular_gets_all_transforms(served):
    everything = served.get("/api/dict/transforms").json
    assert served.post("/api/dict/transforms/domain", {"domain": ""}).json == everything
    assert served.post("/api/dict/transforms/domain", {"domain": "Fish"}).status == 400


def possible(server, param, **config):
    answer = server.post("/api/get_possible_values", {"param": param, "config": config})
    assert answer.status == 200, answer.text
    assert all("help" in value for value in answer.json[param])
    return [value["name"] for value in answer.json[param]]


def test_possible_values_are_known_for_every_documented_parameter(served):
    assert "TensorFlow" in possible(served, "framework")
    assert "Object Detection" in possible(served, "domain", framework="TensorFlow")
    chosen = {"framework": "TensorFlow", "domain": "Image Recognition"}
    assert {"inception_v3", "mobilenetv1"} <= {*possible(served, "model", **chosen)}
    offered = served.get("/api/examples/list").json
    every = [one["model"] for one in offered if chosen.items() <= one.items()]
    assert possible(served, "model", **chosen) == every
    assert possible(served, "objective") == ["accuracy", "performance", "footprint", "modelsize"]
    strategies = [
        "",
        "bayesian",
        "exhaustive",
        "basic",
        "automixedprecision",
        "random",
        "mse",
        "tpe",
    ]
    assert possible(served, "strategy") == strategies
    static = "post_training_static_quant"
    assert possible(served, "quantization_approach", framework="tensorflow") == [static]
    assert len(possible(served, "quantization_approach", framework="onnxrt")) == 2
    assert possible(served, "precision", framework="onnxrt") == ["int8"]
    assert len(possible(served, "dataloader", framework="ONNXRT")) == 11
    assert "SquadV1" not in possible(
        served, "transform", framework="TensorFlow", domain="image_recognition"
    )
    assert served.post("/api/get_possible_values", {"param": "moon"}).status == 400


def test_a_metric_without_parameters_has_null_for_a_value(served):
    asked = {"param": "metric", "config": {"framework": "onnxrt"}}  # as the stock client asks
    rows = {
        row["name"]: row for row in served.post("/api/get_possible_values", asked).json["metric"]
    }
    assert len(rows) == 13
    assert rows["F1"]["value"] is None
    assert [param["value"] for param in rows["topk"]["params"]] == [[1, 5]]
    nested = rows["COCOmAPv2"]["params"]
    assert nested[0]["label"] == "annotation path"
    assert [part["name"] for part in nested[1]["params"]] == [
        "num_detections",
        "boxes",
        "scores",
        "classes",
    ]
