"""``optimization/…`` and ``diagnosis/…`` on a real server; events as a real client hears them."""

from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from modeldyno.api.inc.runnable_shapes import history_event
from modeldyno.core.ids import ModelId, OptimizationId, ProjectId, RunId
from modeldyno.core.models import Boundary, NewModel
from modeldyno.core.optimizations import Optimization, Trial
from modeldyno.core.runs import RunOf

FP32, BF16, INT8, INT8_DYNAMIC, FP16 = 1, 2, 3, 5, 6
QUANTIZATION, GRAPH, MIXED = 1, 2, 3
KEYS = (
    *("project_id", "id", "name", "precision", "optimization_type", "dataset", "config_path"),
    *("log_path", "execution_command", "batch_size", "sampling_size", "status", "created_at"),
    *("last_run_at", "duration", "optimized_model", "accuracy_benchmark_id"),
    *("performance_benchmark_id", "tuning_details", "diagnosis_config", "note"),
)
TUNING = (
    *("id", "strategy", "accuracy_criterion_type", "accuracy_criterion_threshold"),
    *("multi_objectives", "exit_policy", "random_seed", "created_at", "modified_at"),
)


@pytest.fixture
def project(served):
    """With a model, and a dataset of the right shape."""
    number = served.project()
    served.model(number, "Input model")
    return number


@pytest.fixture
def dataset(served, project):
    asked = {"project_id": project, "name": "dummy", "dataset_path": "", "transform": []}
    asked |= {"dataloader": {"name": "dummy_v2", "params": {"input_shape": "[[28,28,1]]"}}}
    asked |= {"metric": "topk", "metric_param": 1}
    return served.post("/api/dataset/add", asked).json["dataset_id"]


@pytest.fixture
def add(served, project, dataset):
    def added(**said):
        asked = {"project_id": project, "name": "My optimization", "precision_id": INT8}
        asked |= {"optimization_type_id": QUANTIZATION, "dataset_id": dataset} | said
        answer = served.post("/api/optimization/add", asked)
        assert answer.status == 200, answer.text
        assert [*answer.json] == ["optimization_id"]
        return answer.json["optimization_id"]

    return added


def details(served, number):
    answer = served.post("/api/optimization", {"id": str(number)})
    assert answer.status == 200, answer.text
    return answer.json


def edit(served, number, **said):
    return served.post("/api/optimization/edit", {"id": number} | said)


def execute(served, number, request_id="r"):
    asked = {"request_id": request_id, "optimization_id": number}
    return served.post("/api/optimization/execute", asked)


# ---------------------------------------------------------------- kept


def test_an_optimization_begins_with_the_documented_defaults(served, project, dataset, add):
    number = add()
    told = details(served, number)
    assert tuple(told) == KEYS
    assert told["precision"] == {"id": 3, "name": "int8"}
    assert told["optimization_type"] == {"id": 1, "name": "Quantization"}
    assert told["dataset"] == {"id": dataset, "name": "dummy"}
    assert (told["batch_size"], told["sampling_size"]) == (100, 100)
    assert (told["status"], told["last_run_at"], told["optimized_model"]) == (None, "None", None)
    assert told["diagnosis_config"] == {}
    tuning = told["tuning_details"]
    assert tuple(tuning) == (*TUNING, "tuning_history")
    assert {name: tuning[name] for name in TUNING[1:7]} == {
        "strategy": "basic",
        "accuracy_criterion_type": "relative",
        "accuracy_criterion_threshold": 0.1,
        "multi_objectives": "performance",
        "exit_policy": {"timeout": 0, "max_trials": 25},
        "random_seed": 9527,
    }
    assert (tuning["modified_at"], tuning["tuning_history"]) == ("None", None)
    rows = served.get(f"/api/optimization/list?project_id={project}").json["optimizations"]
    assert rows == [told | {"tuning_details": None}]


def test_what_is_said_at_once_is_kept(served, add):
    policy = {"timeout": "60", "max_trails": 7}  # spelt as it is documented
    number = add(tuning_strategy="mse", objective="modelsize", batch_size=8, exit_policy=policy)
    told = details(served, number)
    assert told["batch_size"] == 8
    tuning = told["tuning_details"]
    assert (tuning["strategy"], tuning["multi_objectives"]) == ("mse", "modelsize")
    assert tuning["exit_policy"] == {"timeout": 60, "max_trials": 7}


@pytest.mark.parametrize(
    "said",
    [
        {"precision_id": FP32},  # a quantization makes int8
        {"precision_id": INT8, "optimization_type_id": GRAPH},
        {"precision_id": FP32, "optimization_type_id": MIXED},
        {"precision_id": 99},
        {"optimization_type_id": 99},
        {"dataset_id": "one"},
        {"name": ""},
        {"batch_size": 0},
        {"tuning_strategy": "luck"},
        {"objective": "beauty"},
        {"exit_policy": {"max_trials": 0}},
        {"exit_policy": "soon"},
        {"random_seed": -1},
    ],
)
def test_what_does_not_fit_together_is_refused_and_not_kept(served, project, dataset, said):
    asked = {"project_id": project, "name": "o", "precision_id": INT8, "dataset_id": dataset}
    asked |= {"optimization_type_id": QUANTIZATION} | said
    answer = served.post("/api/optimization/add", asked)
    assert answer.status == 400
    assert answer.headers["content-type"].startswith("text/plain")
    rows = served.get(f"/api/optimization/list?project_id={project}").json
    assert rows == {"optimizations": []}


def test_what_is_not_there_is_not_found(served, project, dataset, add):
    number = add()
    for operation, asked in (
        ("optimization", {"id": 2_000_000}),
        ("optimization/edit", {"id": 2_000_000}),
        ("optimization/execute", {"request_id": "x", "optimization_id": 2_000_000}),
        ("optimization/edit", {"id": number, "dataset_id": 2_000_000}),
        ("optimization/config.yaml", {"id": number}),  # not run yet
        ("optimization/output.log", {"id": number}),
    ):
        assert served.post(f"/api/{operation}", asked).status == 404, operation
    asked = {"name": "o", "precision_id": INT8, "optimization_type_id": 1, "dataset_id": dataset}
    unknown = served.post("/api/optimization/add", asked | {"project_id": 2_000_000})
    assert unknown.status == 404
    assert served.post("/api/optimization/add", asked).text.startswith(
        "Could not find required parameter."
    )
    elsewhere = served.project()
    assert served.post("/api/optimization/add", asked | {"project_id": elsewhere}).status == 400


# ---------------------------------------------------------------- edited


def test_an_edit_as_documented_is_echoed(served, add):
    number = add()
    policy = {"timeout": 60, "max_trials": 125}
    answer = edit(
        served,
        number,
        tuning_details={
            "batch_size": 123,
            "sampling_size": 456,
            "strategy": "mse",
            "accuracy_criterion_type": "absolute",
            "accuracy_criterion_threshold": 0.23,
            "multi_objectives": "performance",
            "exit_policy": policy,
            "random_seed": 95270,
        },
    )
    assert answer.status == 200, answer.text
    told = answer.json
    assert [*told] == ["id", "tuning_details", "batch_size", "sampling_size"]
    assert (told["batch_size"], told["sampling_size"]) == (123, 456)
    assert tuple(told["tuning_details"]) == TUNING
    assert told["tuning_details"]["exit_policy"] == policy
    assert told["tuning_details"]["modified_at"] != "None"
    kept = details(served, number)["tuning_details"]
    assert {name: kept[name] for name in TUNING} == told["tuning_details"]


def test_defect_09_a_partial_edit_keeps_the_rest(served, add):
    number = add(batch_size=8, sampling_size=16, tuning_strategy="tpe")
    before = details(served, number)
    told = edit(served, number, tuning_details={"exit_policy": {"timeout": 5}}).json
    assert (told["batch_size"], told["sampling_size"]) == (8, 16)
    assert told["tuning_details"]["exit_policy"] == {"timeout": 5, "max_trials": 25}
    after = details(served, number)
    assert after["tuning_details"]["strategy"] == "tpe"
    changed = {name for name in KEYS if before[name] != after[name]}
    assert changed == {"tuning_details"}


def test_the_stock_clients_whole_form_is_taken(served, add):
    """It sends all that it showed, dates included, and numbers as people typed them."""
    number = add()
    shown = details(served, number)["tuning_details"]
    form = {name: shown[name] for name in TUNING[1:]} | {"batch_size": "50", "sampling_size": 100}
    answer = edit(served, str(number), tuning_details=form)
    assert (answer.status, answer.json["batch_size"]) == (200, 50)


def test_defect_15_an_edit_to_bf16_makes_it_mixed_precision(served, add):
    number = add()
    told = edit(served, number, precision_id=BF16).json
    assert told == {"id": number, "precision_id": BF16, "optimization_type_id": MIXED}
    after = details(served, number)
    assert after["optimization_type"] == {"id": 3, "name": "Mixed precision"}
    assert (after["tuning_details"], after["diagnosis_config"]) == (None, None)
    assert edit(served, number, precision_id=FP32).json["optimization_type_id"] == GRAPH
    assert edit(served, number, precision_id=BF16).json == {"id": number, "precision_id": BF16}
    assert edit(served, number, precision_id=INT8).json["optimization_type_id"] == QUANTIZATION
    assert details(served, number)["tuning_details"]["strategy"] == "basic"


def test_defect_15_bf16_can_be_a_graph_optimization(served, add):
    number = add(precision_id=BF16, optimization_type_id=GRAPH)
    told = details(served, number)
    assert told["optimization_type"] == {"id": 2, "name": "Graph optimization"}
    refused = edit(served, number, precision_id=INT8, optimization_type_id=GRAPH)
    assert refused.status == 400
    assert "It makes: fp32, bf16" in refused.text


def test_defect_13_accuracies_are_fractions_and_percent_is_refused(served, add):
    number = add()
    for criterion in ("relative", "absolute"):
        tuning = {"accuracy_criterion_type": criterion, "accuracy_criterion_threshold": 1.5}
        refused = edit(served, number, tuning_details=tuning)
        assert refused.status == 400
        assert "For one percent send 0.01" in refused.text
    tuning = {"accuracy_criterion_threshold": "0.01"}
    told = edit(served, number, tuning_details=tuning).json["tuning_details"]
    assert told["accuracy_criterion_threshold"] == 0.01


# ---------------------------------------------------------------- executed


def test_defect_05_what_cannot_be_carried_out_fails_and_makes_no_model(served, project, add, ears):
    for type, precision in ((QUANTIZATION, INT8), (GRAPH, FP32), (MIXED, FP16)):
        number = add(optimization_type_id=type, precision_id=precision)
        request_id = f"request {type}"
        answer = execute(served, number, request_id)
        assert (answer.status, answer.json) == (200, {"exit_code": 102, "message": "processing"})
        status, started = ears.until("optimization_start", request_id=request_id)
        assert status == "success"
        asked = ("message", "request_id", "size_input_model", "config_path", "output_path")
        assert tuple(started) == asked
        status, told = ears.until("optimization_finish", request_id=request_id)
        assert status == "failure"
        assert (told["id"], told["project_id"]) == (number, project)
        assert told["error_code"] == "NOT_YET"
        assert served.post("/api/optimization", {"id": told["id"]}).json["note"] == told["message"]
        assert "comes with a later version" in told["message"]
        after = details(served, number)
        assert (after["status"], after["optimized_model"]) == ("error", None)
        assert after["duration"] is not None
        assert (started["config_path"], started["output_path"]) == (
            after["config_path"],
            after["log_path"],
        )
        assert (after["config_path"] is not None) == (type == QUANTIZATION)
        log = served.get(f"/api/optimization/output.log?id={number}&autorefresh=3")
        assert (log.headers["refresh"], log.headers["content-type"]) == (
            "3",
            "text/plain; charset=utf-8",
        )
        assert told["message"].lower() in log.text.lower()
    assert len(served.get(f"models?project_id={project}").json["items"]) == 1
    finished = [name for name in ears.names() if name == "optimization_finish"]
    assert len(finished) == 3


def test_defect_04_what_was_chosen_is_in_the_configuration(served, add, ears):
    number = add(
        precision_id=INT8_DYNAMIC,
        tuning_strategy="mse",
        objective="footprint",
        accuracy_criterion_type="absolute",
        accuracy_criterion_threshold=0.02,
        exit_policy={"timeout": 60, "max_trials": 5},
        random_seed=7,
        batch_size=4,
        sampling_size=40,
    )
    execute(served, number, "config")
    ears.until("optimization_finish", request_id="config")
    answer = served.get(f"/api/optimization/config.yaml?id={number}")
    assert answer.headers["content-type"].startswith("text/vnd.yaml")
    told = yaml.safe_load(answer.text)
    assert [*told] == ["version", "model", "quantization", "tuning", "evaluation"]
    assert told["tuning"] == {
        "strategy": {"name": "mse"},
        "accuracy_criterion": {"absolute": 0.02},
        "multi_objectives": {"objective": "footprint"},
        "exit_policy": {"timeout": 60, "max_trials": 5},
        "random_seed": 7,
    }
    loader = {"batch_size": 4, "dataset": {"dummy_v2": {"input_shape": [[28, 28, 1]]}}}
    calibration = {"sampling_size": 40, "dataloader": loader}
    assert told["quantization"] == {
        "calibration": calibration,
        "approach": "post_training_dynamic_quant",
    }
    assert told["evaluation"] == {"accuracy": {"metric": {"topk": 1}, "dataloader": loader}}
    assert told["model"] == {"name": "Input model", "inputs": "x", "outputs": "y"}
    assert Path(details(served, number)["config_path"]).read_text() == answer.text


@pytest.mark.parametrize(("type", "precision"), [(QUANTIZATION, INT8), (GRAPH, FP32)])
def test_defect_06_the_names_of_nodes_are_names_and_not_letters(served, ears, type, precision):
    project = served.project()
    model = served.server.records.models.get(ModelId(served.model(served.project())))
    said = {one.name: getattr(model, one.name) for one in fields(NewModel)}
    said |= {"project_id": project, "boundary": Boundary(("image_tensor",), ("boxes", "scores"))}
    served.server.records.models.add(NewModel(**said))
    asked = {"project_id": project, "name": "o", "precision_id": precision, "dataset_id": -1}
    made = served.post("/api/optimization/add", asked | {"optimization_type_id": type}).json
    number = made["optimization_id"]
    execute(served, number, f"names {type}")
    ears.until("optimization_finish", request_id=f"names {type}")
    latest = served.server.optimizations.details(number).latest
    spec = served.server.records.runs.get(latest.id).spec
    assert (spec["inputs"], spec["outputs"]) == (["image_tensor"], ["boxes", "scores"])
    if type == QUANTIZATION:
        told = yaml.safe_load(served.get(f"/api/optimization/config.yaml?id={number}").text)
        assert told["model"]["inputs"] == "image_tensor"
        assert told["model"]["outputs"] == ["boxes", "scores"]


def test_what_has_run_can_be_run_again_and_not_changed(served, add, ears):
    number = add()
    execute(served, number, "first")
    ears.until("optimization_finish", request_id="first")
    refused = edit(served, number, tuning_details={"batch_size": 1})
    assert refused.status == 400
    assert refused.text.startswith("Can not modify optimization that has been run.")
    assert execute(served, number, "second").status == 200
    ears.until("optimization_finish", request_id="second")
    assert len([1 for name in ears.names() if name == "optimization_finish"]) == 2


def test_a_request_needs_its_id_and_its_optimization(served, add):
    asked = {"optimization_id": add()}
    for empty in ({}, {"request_id": ""}):
        answer = served.post("/api/optimization/execute", asked | empty)
        assert (answer.status, answer.text) == (400, "Missing request id.")
    assert served.post("/api/optimization/execute", {"request_id": "x"}).status == 400


def test_what_waits_is_not_started_twice_and_its_end_is_told_once_when_deleted(
    served, project, add, ears
):
    blocker = served.benchmark(project, served.model(project, latency_us=200_000), iterations=500)
    number = add(name="waits")
    assert execute(served, number, "waits").status == 200
    assert details(served, number)["status"] is None
    again = execute(served, number, "again")
    assert again.status == 400
    assert "already running" in again.text
    assert served.post("/api/optimization/delete", {"id": number, "name": "x"}).json == {"id": None}
    gone = served.post("/api/optimization/delete", {"id": number, "name": "waits"})
    assert gone.json == {"id": number}
    status, told = ears.until("optimization_finish", request_id="waits")
    assert (status, told["id"], told["project_id"]) == ("failure", number, project)
    assert served.post("/api/optimization", {"id": number}).status == 404
    served.post(f"jobs/{blocker['latest_run']['job_id']}/cancel")
    served.ended(blocker["latest_run"]["job_id"])
    execute(served, add(), "next")  # and everything goes on
    ears.until("optimization_finish", request_id="next")
    assert len([1 for name in ears.names() if name == "optimization_finish"]) == 2


# ---------------------------------------------------------------- made


@pytest.fixture
def optimized(served, project, add):
    """As a later version will leave one: a run with trials, the best of which made a model."""
    number = add(accuracy_criterion_threshold=0.01)
    records = served.server.records
    run = records.runs.add(RunOf("optimization", number), {}, state="queued")
    made = served.model(project, "my_optimization")
    for trial, accuracy, seconds, model, best in (
        (0, 0.7, 0.04, None, False),
        (1, 0.65, 0.03, None, False),
        (2, 0.699, 0.02, made, True),
    ):
        records.optimizations.add_trial(
            Trial(
                run_id=run.id,
                number=trial,
                status="done",
                created_at=datetime.now(UTC),
                model_id=ModelId(model) if model else None,
                accuracy=accuracy,
                typical_s=seconds,
                is_best=best,
            )
        )
    records.runs.move(run.id, "running")
    records.runs.move(run.id, "done")
    return number, made


def test_an_optimized_model_and_its_trials_are_told_as_documented(served, optimized):
    number, made = optimized
    told = details(served, number)
    assert (told["status"], told["optimized_model"]["id"]) == ("success", made)
    assert told["optimized_model"]["name"] == "my_optimization"
    assert told["tuning_details"]["tuning_history"] == {
        "id": number,
        "minimal_accuracy": pytest.approx(0.693),
        "baseline_accuracy": [0.7],
        "baseline_performance": [0.04],
        "last_tune_accuracy": [0.699],
        "last_tune_performance": [0.02],
        "best_tune_accuracy": [0.699],
        "best_tune_performance": [0.02],
        "history": [
            {"accuracy": [0.65], "performance": [0.03]},
            {"accuracy": [0.699], "performance": [0.02]},
        ],
    }


def test_benchmarks_are_pinned_when_they_measure_what_was_made(served, project, dataset, optimized):
    number, made = optimized
    asked = {"project_id": project, "dataset_id": dataset, "name": "b", "number_of_instance": 1}
    asked |= {"cores_per_instance": 1}

    def benchmark(**said):
        return served.post("/api/benchmark/add", asked | said).json["benchmark_id"]

    right = {mode: benchmark(model_id=made, mode=mode) for mode in ("performance", "accuracy")}
    other = benchmark(model_id=served.model(project))
    for mode, pinned in right.items():
        operation = f"/api/optimization/pin_{mode}_benchmark"
        answer = served.post(operation, {"optimization_id": number, "benchmark_id": pinned})
        assert answer.json == {"id": number, f"{mode}_benchmark_id": pinned}
        wrong = [benchmark_id for kind, benchmark_id in right.items() if kind != mode]
        for refused in (other, *wrong):
            answer = served.post(operation, {"optimization_id": number, "benchmark_id": refused})
            assert answer.status == 400
        unknown = {"optimization_id": number, "benchmark_id": 2_000_000}
        assert served.post(operation, unknown).status == 404
    told = details(served, number)
    assert told["accuracy_benchmark_id"] == right["accuracy"]
    assert told["performance_benchmark_id"] == right["performance"]


def test_a_tuning_history_event_has_the_documented_keys():
    optimization = Optimization(
        id=OptimizationId(1),
        project_id=ProjectId(1),
        model_id=ModelId(1),
        name="o",
        type="quantization",
        precision="int8",
        settings={"threshold": 0.0001},
        created_at=datetime.now(UTC),
    )
    first = Trial(
        run_id=RunId("r"),
        number=0,
        status="done",
        created_at=datetime.now(UTC),
        accuracy=0.7,
        typical_s=48.5,
    )
    assert history_event(optimization, [first], "asd") == {
        "optimization_id": 1,
        "accuracy_criterion_type": "relative",
        "accuracy_criterion_value": 0.0001,
        "minimal_accuracy": pytest.approx(0.69993),
        "baseline_accuracy": [0.7],
        "baseline_performance": [48.5],
        "last_tune_accuracy": None,
        "last_tune_performance": None,
        "best_tune_accuracy": None,
        "best_tune_performance": None,
        "history": [],
        "request_id": "asd",
    }


def test_a_list_costs_the_same_however_long_it_is(served, project, add):
    def queries():
        with served.counting() as asked:
            served.get(f"/api/optimization/list?project_id={project}")
        return [statement for statement in asked if statement.startswith("SELECT")]

    add()
    few = queries()
    for number in range(5):
        add(name=f"more {number}")
    assert len(few) == len(queries()) == 3


# ---------------------------------------------------------------- diagnosed


def test_there_is_nothing_to_diagnose_before_a_quantization(served, project, add):
    model = served.get(f"models?project_id={project}").json["items"][0]["id"]
    asked = {"project_id": str(project), "model_id": model, "op_name": "conv", "type": "weights"}
    assert served.post("/api/diagnosis/op_list", asked).json == []
    assert served.post("/api/diagnosis/op_details", asked).json == {}
    number = add()
    for operation, said in (
        ("histogram", asked),
        ("model_wise_params", {"optimization_id": number}),
        ("generate_optimization", {"optimization_id": number, "op_wise": {}, "model_wise": {}}),
    ):
        answer = served.post(f"/api/diagnosis/{operation}", said)
        assert answer.status == 400
        assert answer.text.startswith("There is nothing to diagnose.")
    unknown = {"project_id": project, "model_id": 2_000_000}
    assert served.post("/api/diagnosis/op_list", unknown).status == 404
    assert served.post("/api/diagnosis/model_wise_params", {"optimization_id": 9**6}).status == 404
