import pytest

from tests.api.v1.server import serving


@pytest.fixture(scope="package")
def shared(tmp_path_factory):
    """One server for all tests that do not mind each other; each makes a project of its own."""
    with serving(tmp_path_factory.mktemp("inc")) as found:
        yield found
