"""Generated requests against the real server; many more with ``tests.reliability.api_cases``."""

import pytest

from tests.api.real_app import real_server
from tests.reliability.api_cases import SLOW, one_round, openapi_document

# Left to the longer run: each case of the first four starts a worker, and the others take what one
# that is here takes as well.
LEFT_OUT = (
    *("view_graph", "get_graph", "inspect_model", "upload_model", "plan_benchmark"),
    *("edit_benchmark", "list_comparisons", "list_comparison_runs", "list_benchmark_runs"),
    *("list_jobs", "list_models_of_project", "create_comparison"),
    *("list_optimizations", "list_optimization_runs", "edit_optimization", "run_optimization"),
)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_no_generated_request_breaks_the_server_or_its_word(tmp_path):
    """No 5xx, and no status, header, type or body that the OpenAPI document does not tell of."""
    with real_server(tmp_path, is_patient=True) as server:
        cases, good, said = one_round(server, seed=1, examples=6, without=(*SLOW, *LEFT_OUT))
        alive = server.ask("GET", "/healthz").status
        log = server.log.read_text()
    assert good, said[-20_000:]
    assert cases >= 2000, said
    assert alive == 200
    assert "Traceback" not in log, log[-5000:]


@pytest.mark.slow
def test_a_server_that_breaks_its_word_is_found_out(tmp_path):
    """The control: with a database that fails, the same run reports it."""
    with real_server(tmp_path, is_patient=True) as server:
        openapi_document(server)  # while it can still be had
        (tmp_path / "boom").touch()
        _, good, said = one_round(server, seed=1, examples=1, phases="examples")
    assert not good
    assert "500" in said
