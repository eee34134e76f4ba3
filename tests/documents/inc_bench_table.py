"""The API of INC Bench in a table of our own: what each operation takes, tells and pushes.

It holds wherever the tests run; ``test_document.py`` compares it with the document where that is
at hand. Types stand for values: ``int`` is a whole number, ``float`` any number, ``object``
anything at all. Names that end with ``_at`` are moments.
"""

from __future__ import annotations

from typing import Any

from tests.documents.documented import Documented, Said

PROCESSING = {"exit_code": int, "message": str}
NAMED = {"id": int, "name": str}
ROW = {"id": int, "name": str, "help": object, "params": [], "framework": NAMED}
LOADER = ROW | {"show_dataset_location": bool}

MODEL = {
    "id": int,
    "name": str,
    "path": str,
    "framework": NAMED,
    "size": float,
    "precision": NAMED,
    "domain": NAMED,
    "domain_flavour": NAMED,
    "input_nodes": [str],
    "output_nodes": [str],
    "supports_profiling": bool,
    "supports_graph": bool,
    "created_at": str,
}
PROJECT_ROW = {"id": int, "name": str, "created_at": str, "modified_at": str}
PROJECT = PROJECT_ROW | {"notes": str, "input_model": MODEL}
DATASET_ROW = {"id": int, "name": str, "dataset_type": str, "created_at": str}
DATASET = DATASET_ROW | {
    "project_id": int,
    "parameters": {},
    "transforms": object,
    "filter": object,
    "metric": object,
    "template_path": object,
}
CALIBRATED = {"calibration_batch_size": int, "calibration_sampling_size": int}
BENCHMARK = {
    "project_id": int,
    "id": int,
    "name": str,
    "model": MODEL,
    "dataset": DATASET,
    "mode": str,
    "result": object,
    "batch_size": int,
    "warmup_iterations": int,
    "iterations": int,
    "number_of_instance": int,
    "cores_per_instance": int,
    "config_path": object,
    "log_path": object,
    "execution_command": object,
    "status": object,
    "created_at": str,
    "last_run_at": str,
    "duration": object,
}
RESULT = {
    "benchmark_id": int,
    "id": int,
    "accuracy": None,
    "performance": float,
    "created_at": str,
    "last_run_at": str,
}
MEASURED = BENCHMARK | {
    "result": RESULT,
    "config_path": str,
    "log_path": str,
    "execution_command": str,
    "status": str,
    "duration": int,
}
PROFILING = {
    "project_id": int,
    "id": int,
    "name": str,
    "model": MODEL,
    "dataset": DATASET,
    "num_threads": int,
    "execution_command": object,
    "log_path": object,
    "status": object,
    "created_at": str,
    "last_run_at": str,
    "duration": object,
}
OP_ROW = {
    "profiling_id": int,
    "id": int,
    "node_name": str,
    "total_execution_time": int,
    "accelerator_execution_time": int,
    "cpu_execution_time": int,
    "op_run": int,
    "op_defined": int,
    "created_at": str,
}
PROFILED = PROFILING | {
    "execution_command": str,
    "log_path": str,
    "status": str,
    "duration": int,
    "results": [OP_ROW],
}
TUNING = {
    "id": int,
    "strategy": str,
    "accuracy_criterion_type": str,
    "accuracy_criterion_threshold": float,
    "multi_objectives": str,
    "exit_policy": {"timeout": int, "max_trials": int},
    "random_seed": int,
    "created_at": str,
    "modified_at": str,
}
OPTIMIZATION = {
    "project_id": int,
    "id": int,
    "name": str,
    "precision": NAMED,
    "optimization_type": NAMED,
    "dataset": NAMED,
    "config_path": object,
    "log_path": object,
    "execution_command": object,
    "batch_size": int,
    "sampling_size": int,
    "status": object,
    "created_at": str,
    "last_run_at": str,
    "duration": object,
    "optimized_model": object,
    "accuracy_benchmark_id": object,
    "performance_benchmark_id": object,
    "tuning_details": object,
}
GRAPH: dict[str, Any] = {
    "nodes": [
        {"id": str, "label": str, "highlight": bool, "properties": {"name": str, "type": str}},
        {"id": str, "label": str, "highlight": bool, "node_type": str, "group": str},
    ],
    "edges": [{"source": str, "target": str}],
}
STARTED = {"message": str, "request_id": str}

# By path: method, required parameters ("name?" is one that may be left out), answer, and what is
# pushed.
EXAMPLE_EVENTS = (
    Said("create_example_project_start", STARTED),
    Said("create_example_project_progress", STARTED),
    Said("download_start", STARTED | {"url": str}),
    *(Said("download_progress", {"request_id": str, "progress": int}) for _ in range(4)),
    Said("download_finish", {"request_id": str, "path": str}),
    *(Said("create_example_project_progress", STARTED) for _ in range(5)),
    Said(
        "create_example_project_finish",
        STARTED
        | {name: int for name in ("project_id", "model_id", "dataset_id")}
        | {"optimization_id": int, "benchmark_id": int},
    ),
)


def op(path: str, asked: str, answer: Any, *events: Said, body: Any = None) -> Documented:
    """``asked``: the method, then the parameters; those with ``?`` may be left out."""
    method, *names = asked.split()
    parameters = tuple((name.rstrip("?"), not name.endswith("?")) for name in names)
    return Documented(path, method, parameters, body, answer=answer, events=events)


DOCUMENTED = (
    op(
        "project/create",
        "POST name model.path model.input_nodes model.output_nodes model.domain model.shape?",
        {"project_id": int, "model_id": int, "dataset_id": int},
        body={
            "name": "First",
            "model": {
                "path": "net.onnx",
                "input_nodes": "x",
                "output_nodes": "y",
                "domain": "Image Recognition",
            },
        },
    ),
    op("project/delete", "POST id name", {"id": int}, body={"id": 1, "name": "First"}),
    op("project", "GET id", PROJECT, body={"id": 1}),
    op(
        "project/note", "POST id notes", {"id": int, "notes": str},
        body={"id": 1, "notes": "Of interest"},
    ),
    op("project/list", "GET", {"projects": [PROJECT_ROW]}),
    op(
        "dataset/add",
        "POST project_id name dataset_path transform metric metric_param",
        {"dataset_id": int},
        body={
            "project_id": 1,
            "name": "Pictures",
            "dataset_path": "pictures",
            "transform": [
                {"name": "ResizeCropImagenet", "params": {"height": 224, "width": 224}}
            ],
            "dataloader": {"name": "ImageRecord", "params": {"root": ""}},
            "metric": "topk",
            "metric_param": 1,
        },
    ),
    op("dataset", "GET id", DATASET | CALIBRATED, body={"id": 1}),
    op("dataset/list", "GET project_id", {"datasets": [DATASET_ROW]}, body={"project_id": 1}),
    op(
        "optimization/add",
        "POST project_id name precision_id optimization_type_id dataset_id",
        {"optimization_id": int},
        body={
            "project_id": 1,
            "name": "Smaller",
            "precision_id": 3,
            "optimization_type_id": 1,
            "dataset_id": 1,
        },
    ),
    op("optimization", "POST id", OPTIMIZATION | {"tuning_details": TUNING}, body={"id": 1}),
    op(
        "optimization/edit",
        "POST id precision_id? dataset_id? tuning_details.batch_size? tuning_details.sampling_size?"
        " tuning_details.multi_objectives? tuning_details.strategy?"
        " tuning_details.accuracy_criterion_type? tuning_details.accuracy_criterion_threshold?"
        " tuning_details.random_seed? tuning_details.exit_policy.timeout?"
        " tuning_details.exit_policy.max_trails?",
        {"id": int, "tuning_details": TUNING, "batch_size": int, "sampling_size": int},
        body={
            "id": 1,
            "tuning_details": {
                "batch_size": 12,
                "sampling_size": 34,
                "strategy": "mse",
                "accuracy_criterion_type": "absolute",
                "accuracy_criterion_threshold": 0.2,
                "multi_objectives": "performance",
                "exit_policy": {"timeout": 60, "max_trials": 12},
                "random_seed": 1,
            },
        },
    ),
    op(
        "optimization/list", "POST project_id", {"optimizations": [OPTIMIZATION]},
        body={"project_id": 1},
    ),
    op(
        "optimization/execute",
        "POST request_id optimization_id",
        PROCESSING,
        Said(
            "optimization_start",
            STARTED | {"size_input_model": int, "config_path": object, "output_path": str},
        ),
        Said(
            "optimization_finish", STARTED | {"id": int, "project_id": int}, status="failure"
        ),
        body={"request_id": "r", "optimization_id": 1},
    ),
    op(
        "optimization/pin_accuracy_benchmark",
        "POST optimization_id benchmark_id",
        {"id": int, "accuracy_benchmark_id": int},
        body={"optimization_id": 1, "benchmark_id": 2},
    ),
    op(
        "optimization/pin_performance_benchmark",
        "POST optimization_id benchmark_id",
        {"id": int, "performance_benchmark_id": int},
        body={"optimization_id": 1, "benchmark_id": 3},
    ),
    op(
        "benchmark/add",
        "POST project_id name model_id dataset_id batch_size warmup_iterations iterations"
        " number_of_instance cores_per_instance",
        {"benchmark_id": int},
        body={
            "name": "Measure",
            "project_id": 1,
            "model_id": 1,
            "dataset_id": 1,
            "batch_size": 32,
            "iterations": -1,
            "number_of_instance": 1,
            "cores_per_instance": 4,
            "warmup_iterations": 10,
        },
    ),
    op("benchmark", "GET id", BENCHMARK, body={"id": 1}),
    op(
        "benchmark/edit",
        "POST id dataset_id? mode? batch_size? number_of_instance? cores_per_instance?",
        {
            "id": int,
            "dataset_id": int,
            "batch_size": int,
            "mode": str,
            "cores_per_instance": int,
            "number_of_instance": int,
        },
        body={
            "id": 1,
            "dataset_id": 1,
            "mode": "accuracy",
            "batch_size": 64,
            "cores_per_instance": 7,
            "number_of_instance": 4,
        },
    ),
    op("benchmark/list", "GET project_id", {"benchmarks": [BENCHMARK]}, body={"project_id": 1}),
    op(
        "benchmark/execute",
        "POST request_id benchmark_id",
        PROCESSING,
        Said("benchmark_start", STARTED | {"config_path": str, "output_path": str}),
        Said("benchmark_finish", {"request_id": str} | MEASURED),
        body={"request_id": "r", "benchmark_id": 1},
    ),
    op(
        "profiling/add",
        "POST project_id name model_id dataset_id num_threads",
        {"profiling_id": int},
        body={
            "project_id": 1,
            "name": "Where the time goes",
            "model_id": 1,
            "dataset_id": 1,
            "num_threads": 7,
        },
    ),
    op("profiling", "GET id", PROFILING, body={"id": 1}),
    op(
        "profiling/edit",
        "POST id dataset_id?",
        {"id": int, "dataset_id": int, "num_threads": int},
        body={"id": 1, "dataset_id": 1, "num_threads": 14},
    ),
    op(
        "profiling/results/csv",
        "GET id",
        "node_name,total_execution_time,accelerator_execution_time,cpu_execution_time,op_run,"
        "op_defined\n",
        body={"id": 1},
    ),
    op("profiling/list", "GET project_id", {"profilings": [PROFILING]}, body={"project_id": 1}),
    op(
        "profiling/execute",
        "POST request_id profiling_id",
        PROCESSING,
        Said("profiling_start", STARTED | {"output_path": str}),
        Said("profiling_finish", {"request_id": str} | PROFILED),
        body={"request_id": "r", "profiling_id": 1},
    ),
    op("examples/list", "GET", [{"domain": str, "framework": str, "model": str}]),
    op(
        "examples/add",
        "POST request_id name framework domain model progress_steps?",
        PROCESSING,
        *EXAMPLE_EVENTS,
        body={
            "request_id": "r",
            "name": "From an example",
            "framework": "TensorFlow",
            "domain": "Image Recognition",
            "model": "mobilenetv1",
            "progress_steps": 4,
        },
    ),
    op(
        "model/list",
        "GET project_id",
        {"models": [{"id": int, "name": str, "path": str, "precision_id": int, "created_at": str}]},
        body={"project_id": 1},
    ),
    op(
        "model/boundary_nodes",
        "POST request_id model_path",
        PROCESSING,
        Said("boundary_nodes_start", STARTED | {"id": str}),
        Said(
            "boundary_nodes_finish",
            {
                "id": str,
                "request_id": str,
                "framework": str,
                "inputs": [str],
                "outputs": [str],
                "domain": str,
                "domain_flavour": str,
                "shape": str,
                "trusted": bool,
            },
        ),
        body={"request_id": "r", "model_path": "net.onnx"},
    ),
    op("model/graph", "GET path", GRAPH),
    op("dict/domains", "GET", {"domains": [NAMED]}),
    op("dict/domain_flavours", "GET", {"domain_flavours": [NAMED]}),
    op("dict/optimization_types", "GET", {"optimization_types": [NAMED]}),
    op(
        "dict/optimization_types/precision",
        "GET precision",
        {"optimization_types": [NAMED | {"is_supported": bool}]},
        body={"precision": "int8"},
    ),
    op("dict/precisions", "GET", {"precisions": [NAMED]}),
    op("dict/dataloaders", "GET", {"dataloaders": [LOADER]}),
    op(
        "dict/dataloaders/framework", "GET framework", {"dataloaders": [LOADER]},
        body={"framework": "ONNXRT"},
    ),
    op("dict/transforms", "GET", {"transforms": [ROW]}),
    op(
        "dict/transforms/framework", "GET framework", {"transforms": [ROW]},
        body={"framework": "ONNXRT"},
    ),
    op(
        "dict/transforms/domain", "GET domain", {"transforms": [ROW]},
        body={"domain": "Object Detection"},
    ),
)  # fmt: skip

# What the document leaves out, and its stock GUI calls.
FURTHER = (
    op("dataset/predefined", "POST framework domain domain_flavour",
       {"transform": object, "dataloader": object, "metric": object, "metric_param": object},
       body={"framework": "ONNXRT", "domain": "Image Recognition", "domain_flavour": ""}),
    op("dataset/delete", "POST id name", {"id": int}, body={"id": 1, "name": "Pictures"}),
    op("optimization/delete", "POST id name", {"id": int}, body={"id": 1, "name": "Smaller"}),
    op("optimization/config.yaml", "GET id", "", body={"id": 1}),
    op("optimization/output.log", "GET id autorefresh?", "", body={"id": 1}),
    op("benchmark/delete", "POST id name", {"id": int}, body={"id": 1, "name": "Measure"}),
    op("benchmark/config.yaml", "GET id", "", body={"id": 1}),
    op("benchmark/output.log", "GET id autorefresh?", "", body={"id": 1}),
    op("profiling/delete", "POST id name", {"id": int}, body={"id": 1, "name": "Where"}),
    op("profiling/config.yaml", "GET id", "", body={"id": 1}),
    op("profiling/output.log", "GET id autorefresh?", "", body={"id": 1}),
    op("model/download", "POST id", b"", body={"id": 1}),
    op("model/graph/highlight_pattern", "POST path op_name pattern",
       {"graph": GRAPH, "groups": []},
       body={"path": ["net.onnx"], "op_name": "gemm", "pattern": ["Gemm"]}),
    op("filesystem", "GET path? filter?",
       {"path": str, "contents": [{"name": str, "type": str, "is_model": bool}]}),
    op("get_default_path", "POST name?", {"path": str}, body={"name": "workspace"}),
    op("get_possible_values", "POST param config?", {"strategy": [{"name": str, "help": object}]},
       body={"param": "strategy", "config": {"framework": "onnxrt"}}),
    op("system_info", "GET", {
        "systeminfo": {"sockets": object, "cores": int, "cores_per_socket": int,
                       "threads_per_socket": object, "total_memory": str, "system": str, "ip": str,
                       "platform": str, "hyperthreading_enabled": object,
                       "turboboost_enabled": object, "bios_version": object, "kernel": str,
                       "min_cpu_freq": object, "max_cpu_freq": object, "bf16_support": bool},
        "frameworks": {"onnx_version": object, "pytorch_version": object,
                       "tensorflow_version": object}}),
    op("dict/metrics", "GET", {"metrics": [ROW]}),
    op("dict/metrics/framework", "GET framework", {"metrics": [ROW]}, body={"framework": "ONNXRT"}),
    op("list_model_zoo", "GET", [{"domain": str, "framework": str, "model": str}]),
    op("jobs/queue", "GET", object),
    op("diagnosis/op_list", "POST project_id model_id", [],
       body={"project_id": 1, "model_id": 1}),
    op("diagnosis/op_details", "POST project_id model_id op_name", object,
       body={"project_id": 1, "model_id": 1, "op_name": "gemm"}),
    op("diagnosis/histogram", "POST project_id model_id op_name type", object,
       body={"project_id": 1, "model_id": 1, "op_name": "gemm", "type": "weights"}),
    op("diagnosis/model_wise_params", "POST optimization_id", object, body={"optimization_id": 1}),
    op("diagnosis/generate_optimization",
       "POST project_id optimization_id optimization_name op_wise model_wise", object,
       body={"project_id": 1, "optimization_id": 1, "optimization_name": "n",
             "op_wise": {}, "model_wise": {}}),
)  # fmt: skip

OPERATIONS = {one.path: one for one in (*DOCUMENTED, *FURTHER)}

MEASURED_DETAILS = {
    "instances": int,
    "cores_per_instance": int,
    "model_path": str,
    "precision": str,
    "mode": str,
    "batch_size": int,
    "framework": str,
    "config_path": str,
    "benchmark_script": str,
    "command": str,
}
_FIRST = {"input_model_benchmark": {"performance": MEASURED_DETAILS}}
_BOTH = _FIRST | {"optimized_model_benchmark": {"performance": MEASURED_DETAILS}}
_OF_FIRST = {"id": str, "execution_details": _FIRST, "progress": str,
             "perf_throughput_input_model": float}  # fmt: skip
_OF_BOTH = _OF_FIRST | {"execution_details": _BOTH, "perf_throughput_optimized_model": float}

# The call of 1.9: the path of a benchmark's details, with a model in the body.
EXECUTE_CALL = op(
    "benchmark",
    "POST id? workspace_path? input_model? optimized_model?",
    PROCESSING,
    Said("benchmark_start", {"id": str, "message": str}),
    Said("benchmark_progress", _OF_FIRST),
    Said("benchmark_progress", _OF_BOTH),
    Said("benchmark_finish", _OF_BOTH),
    body={
        "id": "w",
        "workspace_path": "w",
        "input_model": {"precision": "fp32", "path": "a.onnx"},
        "optimized_model": {"precision": "int8", "path": "b.onnx"},
    },
)
