"""``dataset/…`` over real HTTP."""

import pytest

from tests.onnx_models import linear, saved

KEYS = [
    "id",
    "project_id",
    "name",
    "dataset_type",
    "parameters",
    "transforms",
    "filter",
    "metric",
    "calibration_batch_size",
    "calibration_sampling_size",
    "template_path",
    "created_at",
]


@pytest.fixture
def project(served):
    return served.project()


def form(project, **said):
    """As the stock client sends it."""
    asked = {"project_id": project, "name": "Dataset1", "dataset_path": "", "transform": []}
    asked |= {"dataloader": {"name": "dummy_v2", "params": {"input_shape": "[28, 28, 1]"}}}
    return asked | {"metric": "topk", "metric_param": 1} | said


def added(server, asked):
    answer = server.post("/api/dataset/add", asked)
    assert answer.status == 200, answer.text
    assert [*answer.json] == ["dataset_id"]
    return server.post("/api/dataset", {"id": answer.json["dataset_id"]}).json


def test_a_dataset_is_added_as_documented_and_listed(served, project):
    asked = form(
        str(project),
        name="My Dataset",
        dataset_path="/path/to/dataset",
        transform=[
            {
                "name": "ResizeCropImagenet",
                "params": {"height": 224, "width": "224", "mean_value": [123.68, 116.78, 103.94]},
            }
        ],
        dataloader={"name": "ImageRecord", "params": {"root": ""}},
    )
    told = added(served, asked)
    assert [*told] == KEYS
    assert told["parameters"] == {"root": "/path/to/dataset"}
    params = {"height": 224, "width": 224, "mean_value": [123.68, 116.78, 103.94]}
    # A list, although `{}` is documented for none: the stock client walks it by `*ngFor`.
    assert told["transforms"] == [{"name": "ResizeCropImagenet", "params": params}]
    assert told["metric"] == {"name": "topk", "param": 1}
    assert (told["filter"], told["template_path"]) == (None, None)
    assert (told["calibration_batch_size"], told["calibration_sampling_size"]) == (100, 100)
    rows = served.get(f"/api/dataset/list?project_id={project}").json["datasets"]
    assert rows == [{key: told[key] for key in ("id", "name", "dataset_type", "created_at")}]


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("28,28,1", [28, 28, 1]),
        ("[28, 28, 1]", [28, 28, 1]),
        ("(28, 28), (3,)", None),
        ("[28,28],[3]", [[28, 28], [3]]),
        ([[224, 224, 3]], [[224, 224, 3]]),
        ("wide", None),
        ("[" * 1500, None),
    ],
)
def test_shapes_are_read_from_text(served, project, said, meant):
    asked = form(project, dataloader={"name": "dummy_v2", "params": {"input_shape": said}})
    answer = served.post("/api/dataset/add", asked)
    if meant is None:
        assert answer.status == 400
        assert answer.text.startswith("input_shape cannot be")
        return
    told = served.post("/api/dataset", {"id": answer.json["dataset_id"]}).json
    assert told["parameters"] == {"input_shape": meant}


@pytest.mark.parametrize("framework", ["TensorFlow", "ONNXRT"])
def test_defect_07_every_default_of_our_own_dictionaries_can_be_added(served, project, framework):
    of = {"framework": framework}
    readers = served.post("/api/dict/dataloaders/framework", of).json["dataloaders"]
    transforms = served.post("/api/dict/transforms/framework", of).json["transforms"]
    metrics = served.post("/api/dict/metrics/framework", of).json["metrics"]
    assert {"CIFAR10", "MNIST", "FashionMNIST"} <= {reader["name"] for reader in readers}
    for reader in readers:
        params = {param["name"]: param["value"] for param in reader["params"]}
        location = "/data" if reader["show_dataset_location"] else ""
        asked = form(project, dataset_path=location)
        told = added(served, asked | {"dataloader": {"name": reader["name"], "params": params}})
        kept = {name: value for name, value in params.items() if value != ""}
        assert told["parameters"].keys() == kept.keys() | ({"root"} if location else set())
    everything = [
        {"name": one["name"], "params": {p["name"]: p["value"] for p in one["params"]}}
        for one in transforms
    ]
    told = added(served, form(project, transform=everything))["transforms"]
    assert [one["name"] for one in told] == [one["name"] for one in transforms]
    by_name = {one["name"]: one["params"] for one in told}
    assert by_name["ResizeWithRatio"] == {"min_dim": 800, "max_dim": 1365, "padding": False}
    assert by_name["RandomResizedCrop"]["ratio"] == pytest.approx([3 / 4, 4 / 3])
    for metric in metrics:
        told = added(served, form(project, metric=metric["name"], metric_param=metric["params"]))
        assert told["metric"]["name"] == metric["name"]


def test_the_stock_clients_metric_parameters_are_kept(served, project):
    mapping = {"num_detections": 0, "boxes": "1", "scores": 2, "classes": 3}
    param = {"anno_path": "/a.yaml", "output_index_mapping": mapping}
    told = added(served, form(project, metric="COCOmAPv2", metric_param=param))
    meant = {"anno_path": "/a.yaml", "output_index_mapping": mapping | {"boxes": 1}}
    assert told["metric"] == {"name": "COCOmAPv2", "param": meant}
    told = added(served, form(project, metric="topk", metric_param=[1, 5]))  # left as it was
    assert told["metric"] == {"name": "topk", "param": 1}
    assert added(served, form(project, metric="", metric_param=None))["metric"] == {}


def test_without_transforms_and_metric_both_are_empty_objects(served, project):
    told = added(served, form(project, metric="", metric_param=None))
    assert (told["transforms"], told["metric"]) == ({}, {})


def test_two_transforms_of_a_name_are_both_told(served, project):
    casts = [{"name": "Cast", "params": {"dtype": dtype}} for dtype in ("float32", "uint8")]
    assert added(served, form(project, transform=casts))["transforms"] == casts


@pytest.mark.parametrize(
    "said",
    [
        {"dataloader": {"name": "Mystery"}},
        {"dataloader": {"name": "dummy_v2", "params": {"colour": 1}}},
        {"dataloader": {"name": "MNIST", "params": {"train": "perhaps"}}},
        {"dataloader": "dummy_v2"},
        {"transform": [{"name": "Mystery"}]},
        {"transform": [{"name": "Resize", "params": {"size": "large"}}]},
        {"transform": "Resize"},
        {"metric": "Mystery"},
        {"metric": "F1", "metric_param": 3},
        {"name": ""},
        {"project_id": "seven"},
    ],
)
def test_what_no_reader_takes_is_refused_with_words(served, project, said):
    answer = served.post("/api/dataset/add", form(project, **said))
    assert answer.status == 400
    assert answer.headers["content-type"].startswith("text/plain")
    assert served.get(f"/api/dataset/list?project_id={project}").json == {"datasets": []}


@pytest.mark.parametrize("name", ["project_id", "name", "dataset_path", "transform", "metric"])
def test_a_key_that_is_required_is_missed(served, project, name):
    asked = form(project)
    del asked[name]
    answer = served.post("/api/dataset/add", asked)
    assert answer.status == 400
    assert answer.text.startswith("Could not find required parameter.")


def test_an_unknown_project_is_not_found_and_nothing_is_stored(served):
    assert served.post("/api/dataset/add", form(2_000_000)).status == 404
    assert served.get("/api/dataset/list?project_id=2000000").json == {"datasets": []}


def test_an_unknown_dataset_is_not_found_in_the_words_that_clients_know(served):
    answer = served.post("/api/dataset", {"id": 2_000_000})
    assert answer.status == 404
    assert answer.text == "Could not found specified dataset in database."


@pytest.mark.parametrize(
    ("reader", "metric", "classes"),
    [
        ("custom", "topk", {"Dataset"}),
        ("dummy_v2", "custom", {"Metric"}),
        ("custom", "custom", {"Dataset", "Metric"}),
    ],
)
def test_code_of_ones_own_begins_with_a_template(served, project, reader, metric, classes):
    asked = form(project, name="../My Data", dataloader={"name": reader, "params": None})
    told = added(served, asked | {"metric": metric, "metric_param": {}})
    path = served.workspace / "custom_datasets" / f"_my_data_{told['id']}" / "code_template.py"
    assert told["template_path"] == str(path)
    names: dict[str, object] = {}
    exec(path.read_text(), names)
    assert classes == {"Dataset", "Metric"} & names.keys()
    assert "template_path" not in served.get(f"datasets/{told['id']}").json  # nobody's business
    assert served.post("/api/dataset/delete", {"id": told["id"], "name": "../My Data"}).json == {
        "id": told["id"]
    }
    assert not path.parent.exists()


def test_code_that_somebody_worked_on_stays(served, project):
    told = added(served, form(project, dataloader={"name": "custom"}))
    path = served.workspace / "custom_datasets" / f"dataset1_{told['id']}" / "code_template.py"
    path.write_text("mine = True\n")
    assert served.post("/api/dataset/delete", {"id": told["id"], "name": "Dataset1"}).json["id"]
    assert path.read_text() == "mine = True\n"


def test_deleting_needs_the_number_and_the_name(served, project):
    number = added(served, form(project))["id"]
    for wrong in ({"id": number, "name": "dataset1"}, {"id": 2_000_000, "name": "Dataset1"}):
        answer = served.post("/api/dataset/delete", wrong)
        assert (answer.status, answer.json) == (200, {"id": None})
    assert served.post("/api/dataset/delete", {"id": number}).status == 400
    assert served.post("/api/dataset/delete", {"id": number, "name": "Dataset1"}).json["id"]
    assert served.post("/api/dataset", {"id": number}).status == 404


def test_defect_21_a_dataset_that_is_used_stays_and_its_users_are_named(served, project):
    number = added(served, form(project))["id"]
    used = served.benchmark(project, dataset_id=number, start=False, name="my bench")["id"]
    refused = served.post("/api/dataset/delete", {"id": number, "name": "Dataset1"})
    assert refused.status == 400
    assert f"used by benchmark {used} (my bench)" in refused.text
    assert served.get(f"benchmarks/{used}").status == 200
    assert served.post("/api/dataset", {"id": number}).status == 200


@pytest.mark.parametrize(
    ("framework", "domain", "flavour", "reader", "transforms", "metric"),
    [
        ("TensorFlow", "Image Recognition", "", "ImageRecord", ["ResizeCropImagenet"], "topk"),
        ("tensorflow", "Object Detection", "", "COCORecord", [], "COCOmAPv2"),
        (
            "TensorFlow",
            "Object Detection",
            "SSD",
            "COCORecord",
            ["Rescale", "Normalize", "Resize"],
            "COCOmAP",
        ),
        ("TensorFlow", "Neural Language Processing", "", "bert", [], "SquadF1"),
        ("onnxrt", "Image Recognition", "", "ImagenetRaw", ["ResizeCropImagenet"], "topk"),
        ("ONNXRT", "Object Detection", "Yolo", "COCORaw", ["Resize"], "COCOmAPv2"),
    ],
)
def test_presets_fill_the_form_and_can_be_added(
    served, project, framework, domain, flavour, reader, transforms, metric
):
    asked = {"framework": framework, "domain": domain, "domain_flavour": flavour}
    told = served.post("/api/dataset/predefined", asked).json
    assert [*told] == ["transform", "dataloader", "metric", "metric_param"]
    assert told["dataloader"]["name"] == reader
    assert [one["name"] for one in told["transform"]] == transforms
    assert told["metric"] == metric
    made = added(served, form(project, dataset_path="/data") | told)
    assert [one["name"] for one in made["transforms"]] == transforms


@pytest.mark.parametrize("missing", ["framework", "domain", "domain_flavour", "all"])
def test_presets_need_their_parameters(served, missing):
    asked = {"framework": "ONNXRT", "domain": "Image Recognition", "domain_flavour": ""}
    said = {name: value for name, value in asked.items() if missing not in (name, "all")}
    answer = served.post("/api/dataset/predefined", said)
    assert answer.status == 400
    assert answer.text.startswith("Could not find required parameter.")


def test_presets_without_a_reader_are_empty(served):
    asked = {"framework": "TensorFlow", "domain": "Recommendation", "domain_flavour": ""}
    empty: dict[str, object] = {"transform": {}, "dataloader": {}, "metric": {}, "metric_param": {}}
    assert served.post("/api/dataset/predefined", asked).json == empty


def test_defect_16_an_onnx_model_without_a_preset_can_be_run(served, project, tmp_path):
    for domain in ("", "Recommendation"):
        asked = {"framework": "ONNXRT", "domain": domain, "domain_flavour": ""}
        answer = served.post("/api/dataset/predefined", asked)
        assert answer.status == 404
        assert answer.text.startswith("Could not found predefined config")
    dataset = added(served, form(project))["id"]
    body = saved(linear(), tmp_path / "linear.onnx").read_bytes()
    made = served.post(
        f"projects/{project}/models?name=linear.onnx", body, content_type="application/octet-stream"
    )
    assert made.json["domain"] == ""
    started = served.benchmark(project, made.json["id"], dataset_id=dataset)
    assert served.ended(started["latest_run"]["job_id"])["state"] == "done"


def test_a_list_costs_one_query_however_long_it_is(served, project):
    added(served, form(project))
    with served.counting() as few:
        served.get(f"/api/dataset/list?project_id={project}")
    for number in range(5):
        added(served, form(project, name=f"more {number}"))
    with served.counting() as many:
        served.get(f"/api/dataset/list?project_id={project}")
    assert len(few) == len(many) == 1
