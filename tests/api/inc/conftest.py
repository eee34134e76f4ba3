import pytest

from tests.api.inc.events import listening
from tests.api.v1.server import serving


@pytest.fixture(scope="module")
def served(tmp_path_factory, starts_processes):
    """One server for the tests of a file; each makes a project of its own."""
    with serving(tmp_path_factory.mktemp("served")) as found:
        yield found


@pytest.fixture
def ears(served):
    with listening(served) as found:
        yield found
