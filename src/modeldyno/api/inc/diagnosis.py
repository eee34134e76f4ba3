"""``diagnosis/…``: what a quantization did to each operator. There is nothing to diagnose yet.

The stock client requests the operators of any model it shows, and the details of each node that is
clicked; those answers are empty instead of errors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from modeldyno.api.inc.operations import Operations
from modeldyno.api.inc.parameters import Parameters
from modeldyno.core.errors import NotFound, WrongState
from modeldyno.core.ids import ModelId, OptimizationId

if TYPE_CHECKING:
    from modeldyno.store.records.all import Records


def operations(records: Records) -> Operations:
    def require_model(parameters: Parameters) -> None:
        project_id, number = parameters.id("project_id"), parameters.id("model_id")
        if records.models.get(ModelId(number)).project_id != project_id:
            raise NotFound(f"There is no model {number} in project {project_id}")

    def op_list(parameters: Parameters) -> list[Any]:
        require_model(parameters)
        return []

    def op_details(parameters: Parameters) -> dict[str, Any]:
        require_model(parameters)
        return {}

    def of_model(parameters: Parameters) -> NoReturn:
        require_model(parameters)
        raise _no_diagnosis_error()

    def of_optimization(parameters: Parameters) -> NoReturn:
        records.optimizations.get(OptimizationId(parameters.id("optimization_id")))
        raise _no_diagnosis_error()

    return {
        "diagnosis/op_list": op_list,
        "diagnosis/op_details": op_details,
        "diagnosis/histogram": of_model,
        "diagnosis/model_wise_params": of_optimization,
        "diagnosis/generate_optimization": of_optimization,
    }


def _no_diagnosis_error() -> WrongState:
    return WrongState(
        "There is nothing to diagnose",
        why="a diagnosis looks at what a quantization changed, and none has been run",
        fix="Quantization comes with a later version",
    )
