"""``profiling/…`` on a real server; events as a real client hears them."""

import csv
import io
import shlex

import pytest
from onnx import TensorProto, helper

from modeldyno.core.datasets import NewDataset
from modeldyno.core.profiles import ProfileRow
from modeldyno.core.runs import RunOf
from modeldyno.measure.cpus import allowed_cpus
from tests.onnx_models import embedding, linear, model, saved, value, weight
from tests.scripts import fault
from tests.terminal import modeldyno

DETAILS = (
    *("project_id", "id", "name", "model", "dataset", "num_threads", "execution_command"),
    *("log_path", "status", "created_at", "last_run_at", "duration", "note"),
)
ROW = (
    *("profiling_id", "id", "node_name", "total_execution_time", "accelerator_execution_time"),
    *("cpu_execution_time", "op_run", "op_defined", "created_at"),
)
HEADER = (
    "node_name,total_execution_time,accelerator_execution_time,cpu_execution_time,op_run,op_defined"
)


@pytest.fixture
def project(served):
    return served.project()


def add(served, project, model=None, **said):
    asked = {"project_id": project, "name": "p", "dataset_id": -1, "num_threads": 1}
    asked |= {"model_id": model or served.model(project)} | said
    answer = served.post("/api/profiling/add", asked)
    assert answer.status == 200, answer.text
    return answer.json["profiling_id"]


def execute(served, number, request_id="r"):
    return served.post("/api/profiling/execute", {"request_id": request_id, "profiling_id": number})


def details(served, number):
    answer = served.post("/api/profiling", {"id": str(number)})
    assert answer.status == 200, answer.text
    return answer.json


def real_model(served, project, tmp_path):
    """An ONNX file in the project, as uploads bring it."""
    body = saved(linear(), tmp_path / "linear.onnx").read_bytes()
    answer = served.post(
        f"projects/{project}/models?name=linear.onnx", body, content_type="application/octet-stream"
    )
    assert answer.status == 201, answer.text
    return answer.json["id"]


def test_a_profiling_of_a_real_model_is_added_run_and_told_to_its_end(
    served, project, ears, tmp_path
):
    model, many = real_model(served, project, tmp_path), len(allowed_cpus()) + 1
    number = add(served, project, model, num_threads=many)
    before = details(served, number)
    assert tuple(before) == DETAILS
    assert [before[key] for key in ("status", "execution_command", "log_path", "duration")] == [
        None, None, None, None,
    ]  # fmt: skip
    assert before["last_run_at"] == "None"
    assert before["model"]["supports_profiling"] is True
    early = served.get(f"/api/profiling/results/csv?id={number}")
    assert early.status == 400
    assert early.text.startswith("Could not find results for specified project.")

    answer = execute(served, number, "abc")
    assert (answer.status, answer.json) == (200, {"exit_code": 102, "message": "processing"})
    status, started = ears.until("profiling_start", request_id="abc")
    assert (status, tuple(started)) == ("success", ("message", "request_id", "output_path"))
    status, told = ears.until("profiling_finish", request_id="abc")
    assert (status, tuple(told)) == ("success", ("request_id", *DETAILS, "results"))
    assert (told["status"], told["num_threads"]) == ("success", many)
    assert told["note"] == f"ran with {many - 1} threads; asked {many}"
    assert told["log_path"] == started["output_path"]
    assert details(served, number) == {key: told[key] for key in (*DETAILS, "results")}

    rows = told["results"]
    assert {tuple(row) for row in rows} == {ROW}
    assert all(isinstance(row["total_execution_time"], int) for row in rows)
    for query in (served.get(f"/api/profiling/results/csv?id={number}"),
                  served.post("/api/profiling/results/csv", {"id": str(number)})):  # fmt: skip
        assert query.headers["content-type"].startswith("text/csv")
        lines = query.text.split("\r\n")
        assert (lines[0], lines[-1]) == (HEADER, "")
        assert "\n" not in "".join(lines)
        read = list(csv.DictReader(io.StringIO(query.text)))
        names = [*read[0]]
        assert [[row[name] for name in names] for row in read] == [
            [str(row[name]) for name in names] for row in rows
        ]
    log = served.get(f"/api/profiling/output.log?id={number}&autorefresh=3")
    assert (log.status, log.headers["refresh"]) == (200, "3")
    command, *words = shlex.split(told["execution_command"])
    assert (command, words[0]) == ("modeldyno", "profile")
    again = modeldyno(*words, "--json", "--repeats", 1, "--workspace", tmp_path / "w2")
    assert again.code == 0, again.err
    assert {row["node_name"] for row in rows} == {
        row["op_type"] for row in again.document["operators"]
    }


def test_defect_08_csv_uses_the_whole_id(served, project):
    model = served.model(project)
    numbers = [add(served, project, model) for _ in range(12)]
    assert numbers[-1] >= 10
    records = served.server.records
    for number in numbers:
        run = records.runs.add(RunOf("profile", number), {})
        row = ProfileRow(run_id=run.id, number=0, node="a", op_type=f"Op{number}", total_s=1e-6)
        records.profiles.add_rows(run.id, [row])
    for number in numbers:
        for body in ({"id": str(number)}, {"id": number}, {"id": [str(number)]}):
            text = served.post("/api/profiling/results/csv", body).text
            assert text == f"{HEADER}\r\nOp{number},1,0,1,1,1\r\n"
    assert served.get("/api/profiling/results/csv?id=1000").status == 404


def onnx_net(path):
    """ONNX Runtime makes one operator of the first two."""
    nodes = [
        helper.make_node("Gemm", ["x", "w", "c"], ["a"]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Gemm", ["b", "v", "c"], ["y"]),
    ]
    ends = [value(name, TensorProto.FLOAT, [64, 1024]) for name in "xy"]
    weights = [weight("w", 1024, 1024), weight("v", 1024, 1024), weight("c", 1024)]
    saved(model(nodes, ends[:1], ends[1:], weights), path)


def torch_net(path):
    import torch

    layers = torch.nn.Linear(1024, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 1024)
    torch.jit.trace(torch.nn.Sequential(*layers).eval(), torch.ones(64, 1024)).save(path)


def uploaded(served, project, path):
    """As somebody brings it who vouches for it."""
    answer = served.post(
        f"projects/{project}/models?name={path.name}",
        path.read_bytes(),
        content_type="application/octet-stream",
    )
    assert answer.status == 201, answer.text
    if answer.json["state"] != "ready":
        assert served.put(f"models/{answer.json['id']}/trust", {}).status == 200
    return answer.json["id"]


@pytest.mark.slow
# TorchScript is on its way out, and its files are still everywhere.
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
@pytest.mark.parametrize(
    ("name", "make", "products"),
    [
        ("net.onnx", onnx_net, {"FusedGemm", "Gemm"}),
        pytest.param("net.pt", torch_net, {"aten::addmm"}, marks=pytest.mark.engine("pytorch")),
    ],
)
def test_defect_17_onnx_and_pytorch_are_profiled_by_operator_and_by_node_what_was_fused_too(
    served, project, ears, tmp_path, name, make, products
):
    """Theirs profiled TensorFlow alone, knew no nodes, and gave what was fused no time. A product
    takes so long that recording it is a small part of that."""
    make(tmp_path / name)
    number = add(served, project, uploaded(served, project, tmp_path / name))
    assert details(served, number)["model"]["supports_profiling"] is True
    execute(served, number, "r")
    status, told = ears.until("profiling_finish", request_id="r")
    assert status == "success", told
    took_us = {row["node_name"]: row["total_execution_time"] for row in told["results"]}
    assert all(took_us[product] > 0 for product in products)
    nodes = served.get(f"profiles/{number}/rows?by=node").json["items"]
    assert {node["op_type"] for node in nodes} == took_us.keys()
    multiplied = [node for node in nodes if node["op_type"] in products]
    assert len({node["node"] for node in multiplied}) == 2
    run = served.get(f"profiles/{number}").json["latest_run"]["id"]
    measured = served.server.history.read(run).result.rows
    assert [row.total_s > 0 for row in measured if row.op_type in products] == [True, True]


def test_a_time_is_known_or_there_is_why_not(served, project, ears):
    """Recording takes a small part of the first node's time, and nearly all of the second's."""
    nodes = [{"node": "conv", "op": "Conv", "us": 60_000}, {"node": "relu", "op": "Relu", "us": 1}]
    number = add(
        served, project, served.model(project, latency_us=60_001, nodes=nodes, profiler_us=2000)
    )
    execute(served, number, "known")
    status, told = ears.until("profiling_finish", request_id="known")
    assert status == "success", told
    took_us = {row["node_name"]: row["total_execution_time"] for row in told["results"]}
    assert took_us["Conv"] == pytest.approx(60_000, rel=0.2)
    conv, relu = served.get(f"profiles/{number}/rows?by=node").json["items"]
    assert (conv["unknown"], relu["total_ms"]["value"]) == (None, None)
    assert conv["total_ms"]["value"] == pytest.approx(took_us["Conv"] / 1e3, abs=0.001)
    assert relu["unknown"].startswith("recording it costs about ")


def test_an_edit_echoes_what_changed_keeps_the_rest_and_is_refused_after_a_run(served, project):
    new = NewDataset(project_id=project, name="d", kind="dummy_v2")
    dataset = served.server.records.datasets.add(new).id
    number = add(served, project)
    answer = served.post(
        "/api/profiling/edit", {"id": number, "dataset_id": dataset, "num_threads": 14}
    )
    assert answer.json == {"id": number, "dataset_id": dataset, "num_threads": 14}
    assert served.post("/api/profiling/edit", {"id": number}).json == {"id": number}
    found = details(served, number)
    assert (found["num_threads"], found["dataset"]["name"]) == (14, "d")
    served.server.records.runs.add(RunOf("profile", number), {})
    late = served.post("/api/profiling/edit", {"id": number, "num_threads": 1})
    assert late.status == 400
    assert late.text.startswith("Can not modify profiling that has been run.")


def test_a_list_costs_as_many_queries_as_one(served, project):
    model = served.model(project)
    asked = {"project_id": str(project)}

    def queries():
        with served.counting() as found:
            assert served.post("/api/profiling/list", asked).status == 200
        return len(found)

    add(served, project, model)
    few = queries()
    for _ in range(20):
        add(served, project, model)
    assert queries() == few
    listed = served.post("/api/profiling/list", asked).json["profilings"]
    assert [tuple(one) for one in listed] == [DETAILS] * 21
    assert [one["id"] for one in listed] == sorted(one["id"] for one in listed)


def test_deleting_one_that_runs_stops_it_and_tells_its_end_once(served, project, ears):
    slow = served.model(project, latency_us=20_000)
    number = add(served, project, slow)
    assert execute(served, number, "gone").status == 200
    ears.until("profiling_start", request_id="gone")
    assert execute(served, number).text.startswith("This profiling is already running")
    wrong = served.post("/api/profiling/delete", {"id": number, "name": "q"})
    assert wrong.json == {"id": None}
    assert served.post("/api/profiling/delete", {"id": number, "name": "p"}).json == {"id": number}
    status, told = ears.until("profiling_finish", request_id="gone")
    assert (status, told["id"], told["project_id"]) == ("error", number, project)
    assert served.post("/api/profiling", {"id": number}).status == 404


@pytest.mark.parametrize(
    ("operation", "said", "status", "text"),
    [
        ("add", {"name": "p"}, 400, "Could not find required parameter."),
        ("add", {"num_threads": 0}, 400, "num_threads"),
        ("add", {"num_threads": "many"}, 400, "num_threads"),
        ("add", {"model_id": 9999}, 404, ""),
        ("execute", {"profiling_id": 9999, "request_id": "x"}, 404, ""),
        ("execute", {"profiling_id": 1}, 400, "Missing request id."),
        ("output.log", {"id": 9999}, 404, ""),
        ("config.yaml", {"id": 9999}, 404, ""),
        ("delete", {"id": 1}, 400, "Missing profiling id or profiling name."),
        ("list", {}, 400, "Could not find required parameter."),
    ],
)
def test_what_cannot_be_is_one_clear_answer(served, project, operation, said, status, text):
    usual = {"project_id": project, "name": "p", "model_id": 1, "dataset_id": -1, "num_threads": 1}
    body = usual | said if operation == "add" and len(said) == 1 and "name" not in said else said
    answer = served.post(f"/api/profiling/{operation}", body)
    assert (answer.status, text in answer.text) == (status, True), answer.text
    assert answer.headers["content-type"].startswith("text/plain")


def test_the_shape_of_a_dummy_dataset_sets_what_the_model_leaves_open(served, project, tmp_path):
    body = saved(embedding(), tmp_path / "embedding.onnx").read_bytes()
    answer = served.post(
        f"projects/{project}/models?name=e.onnx", body, content_type="application/octet-stream"
    )
    datasets = [
        served.server.records.datasets.add(
            NewDataset(project_id=project, name="d", kind="dummy_v2", parameters=parameters)
        ).id
        for parameters in ({"input_shape": [[16]]}, {"input_shape": [16, 3]})
    ]
    number = add(served, project, answer.json["id"], dataset_id=datasets[0])
    assert served.server.profiles.get(number).spec.model.dims == {"sequence": 16}
    assert details(served, number)["note"] == ""
    served.post("/api/profiling/edit", {"id": number, "dataset_id": datasets[1]})
    assert served.server.profiles.get(number).spec.model.dims == {}
    note = "the dataset's shape [16, 3] does not fit the model's inputs and was not used"
    assert details(served, number)["note"] == note


def test_why_it_failed_can_be_read_afterwards(served, project, ears):
    number = add(served, project, served.model(project, faults=[fault("raise", call=1)]))
    execute(served, number, "broken")
    status, told = ears.until("profiling_finish", request_id="broken")
    assert (status, told["message"] != "") == ("error", True)
    assert details(served, number)["note"] == told["message"]
