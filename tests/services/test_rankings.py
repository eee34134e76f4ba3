"""Rankings that are interrupted."""

from modeldyno.core.errors import Cancelled, EngineFailed
from modeldyno.core.specs import CellSpec, ComparisonSpec, InferenceSpec, ModelSpec, SideSpec
from modeldyno.services.rankings import ranking


class Runs:
    """The first pair fails, at the second somebody presses Ctrl-C."""

    def __init__(self):
        self.compared = 0

    def run(self, spec, listen=None):
        if isinstance(spec, InferenceSpec):
            return  # the first side runs when it is alone
        self.compared += 1
        raise EngineFailed("It does not load") if self.compared == 1 else Cancelled("Stopped")


def test_ctrl_c_before_a_first_result_is_told_though_a_side_failed():
    sides = [SideSpec(label, ModelSpec("net.onnx"), CellSpec()) for label in "abc"]
    found = ranking(sides, ComparisonSpec(sides[0], sides[1]), Runs(), None)  # type: ignore[arg-type]
    assert found.interrupted
    assert [one.failure and one.failure.title for one in found.sides] == [
        None,
        "It does not load",
        None,
    ]
