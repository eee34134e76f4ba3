"""What a file leaves out: asked for all at once, and refused where no file needs it."""

import pytest

from modeldyno.core.errors import BadValue, InputUnresolved
from modeldyno.core.models import Architecture, InputSpec, ModelFacts
from modeldyno.core.specs import ModelSpec
from modeldyno.inputs.model_overrides import (
    refuse_needless_overrides,
    require_complete,
    with_overrides,
)

BUILT = Architecture("nets:build")
X = InputSpec("x", "float32", (1, 3))


def facts(model_format, *inputs, name="m.pth"):
    return ModelFacts(f"/folder/{name}", model_format, "", "", 0, 0, inputs, ())


def test_a_checkpoint_asks_for_all_it_needs_at_once():
    with pytest.raises(InputUnresolved) as asked:
        require_complete(facts("torch-checkpoint"))
    for words in ("--architecture", "--arg", "--input", "m.pth.modeldyno.toml"):
        assert words in asked.value.fix


def test_a_checkpoint_asks_for_nothing_that_was_said():
    with pytest.raises(InputUnresolved) as asked:
        require_complete(facts("torch-checkpoint", X))
    assert "--input" not in asked.value.fix
    with pytest.raises(InputUnresolved) as asked:
        require_complete(
            with_overrides(facts("torch-checkpoint"), ModelSpec("m", architecture=BUILT))
        )
    assert "--architecture" not in asked.value.fix
    said = ModelSpec("m", architecture=BUILT, inputs=(X,))
    require_complete(with_overrides(facts("torch-checkpoint"), said))


def test_an_architecture_that_no_file_needs_is_refused():
    onnx, checkpoint = facts("onnx", X, name="m.onnx"), facts("torch-checkpoint")
    said = ModelSpec("m", architecture=BUILT)
    with pytest.raises(BadValue, match=r"m\.onnx needs no architecture"):
        refuse_needless_overrides(said, onnx, onnx)
    refuse_needless_overrides(said, onnx, checkpoint)
    assert with_overrides(onnx, said).architecture is None
    assert with_overrides(checkpoint, said).architecture == BUILT
