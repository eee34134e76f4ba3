"""Default names of runs show what differs."""

from dataclasses import replace

from modeldyno.core.specs import BenchmarkSpec, CellSpec, ComparisonSpec, ModelSpec, SideSpec
from modeldyno.engines.run_names import benchmark_name, comparison_name, side_names

NET = ModelSpec("/models/net.onnx")
ORT, OV = CellSpec(engine="onnxruntime"), CellSpec(engine="openvino")


def pair(a: CellSpec, b: CellSpec) -> ComparisonSpec:
    return ComparisonSpec(SideSpec("net.onnx", NET, a), SideSpec("net.onnx", NET, b))


def test_a_benchmark_is_named_after_its_model_and_its_engines():
    assert benchmark_name("net.onnx", BenchmarkSpec(NET, (ORT, OV))) == (
        "net.onnx · ONNX Runtime, OpenVINO"
    )
    assert benchmark_name("net.onnx", BenchmarkSpec(NET, (CellSpec(),))) == "net.onnx"


def test_a_comparison_is_named_after_the_settings_that_differ():
    assert comparison_name("net.onnx", "net.onnx", pair(ORT, OV)) == (
        "net.onnx: ONNX Runtime against OpenVINO"
    )
    wide = pair(replace(ORT, cores=2, batch_size=8), replace(OV, cores=2, batch_size=8))
    assert comparison_name("net.onnx", "net.onnx", wide) == (
        "net.onnx: ONNX Runtime against OpenVINO, 2 cores · batch 8"
    )
    assert comparison_name("net.onnx", "net.onnx", pair(CellSpec(), CellSpec(cores=2))) == (
        "net.onnx: 1 core against 2 cores"
    )
    assert comparison_name("old.onnx", "new.onnx", pair(CellSpec(), CellSpec())) == (
        "old.onnx against new.onnx"
    )


def test_sides_go_by_their_settings_or_by_their_labels():
    assert side_names(pair(ORT, OV)) == ("ONNX Runtime", "OpenVINO")
    assert side_names(pair(OV, replace(OV, streams=2))) == ("1 stream", "2 streams")
    assert side_names(pair(ORT, replace(ORT, contract="hot"))) == ("contract api", "contract hot")
    off = replace(CellSpec(engine="litert"), options={"xnnpack": False})
    assert side_names(pair(replace(off, options={}), off)) == ("no options", "xnnpack=off")
    assert side_names(pair(ORT, ORT)) == ("net.onnx", "net.onnx")


def test_sides_of_a_terminal_go_by_their_files_without_folders():
    old, new = (SideSpec(f"/home/me/{name}", NET, CellSpec()) for name in ("a/x.onnx", "b/y.onnx"))
    assert side_names(ComparisonSpec(old, new)) == ("x.onnx", "y.onnx")
