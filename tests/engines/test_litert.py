"""LiteRT: the contract of every engine; who runs which operator, and nothing silent."""

import pytest

from modeldyno.engines.litert import LiteRt
from tests import litert_files
from tests.contracts.engine_contract import EngineContract
from tests.scripts import target

pytestmark = pytest.mark.engine("litert")
ENGINE = LiteRt()


class TestContract(EngineContract):
    engine = LiteRt()

    @pytest.fixture
    def target(self, tmp_path):
        return target(litert_files.saved(tmp_path / "m.tflite"), "litert", format="litert")
