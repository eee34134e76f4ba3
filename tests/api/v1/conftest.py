import pytest

from tests.api.v1.server import serving


@pytest.fixture(scope="session")
def served(tmp_path_factory, starts_processes):
    """One server for all tests that do not mind each other; each makes a project of its own."""
    with serving(tmp_path_factory.mktemp("served")) as found:
        yield found


@pytest.fixture
def project(served):
    return served.project()
