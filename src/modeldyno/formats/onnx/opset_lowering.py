"""Rewrite an ONNX model for engines that only read older versions."""

from __future__ import annotations

from pathlib import Path

from modeldyno.core.errors import EngineFailed


def lower_opset(source: Path, target: Path, opset: int, ir_version: int) -> None:
    """Write ``target`` with all weights, and no newer operators and file format than these.

    Raises EngineFailed if that is impossible, for example because an operator is newer.
    """
    import onnx
    from onnx import version_converter

    model = onnx.load(source)
    current = next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), 0)
    if current > opset:
        if model.functions:
            raise _cannot_lower_error(
                current, opset, "it defines its own functions, which the converter drops"
            )
        try:
            model = version_converter.convert_version(model, opset)
        except Exception as error:  # the converter's exceptions have no base class
            raise _cannot_lower_error(current, opset, str(error).strip()[:400]) from error
    model.ir_version = min(model.ir_version, ir_version)
    onnx.save(model, target)


def _cannot_lower_error(current: int, wanted: int, why: str) -> EngineFailed:
    return EngineFailed(
        f"The model cannot be converted from opset {current} to {wanted}",
        why=why,
        fix=f"Export it with opset {wanted} or lower, or use another engine",
    )
