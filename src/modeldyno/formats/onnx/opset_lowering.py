"""Write an ONNX model anew for a reader that knows older versions only."""

from __future__ import annotations

from pathlib import Path

from modeldyno.core.errors import EngineFailed


def lower(source: Path, target: Path, opset: int, ir_version: int) -> None:
    """``target`` has no newer operators and no newer file format than that, and all its weights.

    Raises EngineFailed when there is no such model: operators that came later, for example.
    """
    import onnx
    from onnx import version_converter

    model = onnx.load(source)
    found = next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), 0)
    if found > opset:
        if model.functions:
            raise _cannot(found, opset, "it has functions of its own, which the converter drops")
        try:
            model = version_converter.convert_version(model, opset)
        except Exception as error:  # the converter's own kinds are all RuntimeError and the like
            raise _cannot(found, opset, str(error).strip()[:400]) from error
    model.ir_version = min(model.ir_version, ir_version)
    onnx.save(model, target)


def _cannot(found: int, wanted: int, why: str) -> EngineFailed:
    return EngineFailed(
        f"The model cannot be converted from opset {found} to {wanted}",
        why=why,
        fix=f"Export it with opset {wanted} or lower, or use another engine",
    )
