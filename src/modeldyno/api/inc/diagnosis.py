"""``diagnosis/…``: what a quantization did to each operator. There is none to look at yet.

The stock client asks for the operators of whatever model is shown, the input model first, and
for details of each node that is clicked. That there are none is no error, and it shows none.
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
    def expect_model(asked: Parameters) -> None:
        project_id, number = asked.id("project_id"), asked.id("model_id")
        if records.models.get(ModelId(number)).project_id != project_id:
            raise NotFound(f"There is no model {number} in project {project_id}")

    def op_list(asked: Parameters) -> list[Any]:
        expect_model(asked)
        return []

    def op_details(asked: Parameters) -> dict[str, Any]:
        expect_model(asked)
        return {}

    def of_model(asked: Parameters) -> NoReturn:
        expect_model(asked)
        raise _nothing()

    def of_optimization(asked: Parameters) -> NoReturn:
        records.optimizations.get(OptimizationId(asked.id("optimization_id")))
        raise _nothing()

    return {
        "diagnosis/op_list": op_list,
        "diagnosis/op_details": op_details,
        "diagnosis/histogram": of_model,
        "diagnosis/model_wise_params": of_optimization,
        "diagnosis/generate_optimization": of_optimization,
    }


def _nothing() -> WrongState:
    return WrongState(
        "There is nothing to diagnose",
        why="a diagnosis looks at what a quantization changed, and none has been carried out",
        fix="Quantization comes with a later version",
    )
