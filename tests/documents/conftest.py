import shutil

import pytest

from modeldyno.api.inc import operations
from tests.api.v1.server import serving
from tests.documents import execute_call_document, inc_bench_document
from tests.documents.documented import document
from tests.documents.hearing import ears, node_ears
from tests.documents.inc_bench_table import EXECUTE_CALL, OPERATIONS
from tests.documents.walk import Walk, walk
from tests.onnx_models import linear, saved


@pytest.fixture(scope="session")
def operations_served():
    """The names of all that there are, once a server was put together."""
    names: set[str] = set()
    router = operations.router

    def noted(found):
        names.update(found)
        return router(found)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(operations, "router", noted)
        yield names


@pytest.fixture(scope="session")
def walked(tmp_path_factory, operations_served, starts_processes):
    """The walk, and what Node heard meanwhile (None where there is no Node)."""
    folder = tmp_path_factory.mktemp("documents")
    root = folder / "root"
    (root / "pictures").mkdir(parents=True)
    model, smaller = saved(linear(), root / "net.onnx"), saved(linear(4), root / "smaller.onnx")
    examples = dict(OPERATIONS)
    older, older_call = examples["examples/add"], EXECUTE_CALL
    if bench := document(inc_bench_document.NAME):
        read = inc_bench_document.read(bench.read_text())
        examples |= {one.path: one for one in reversed(read)}
        older = [one for one in read if one.path == "examples/add"][1]
    if call := document(execute_call_document.NAME):
        older_call = execute_call_document.read(call.read_text())
    with (
        serving(folder / "workspace", models_roots=(root,)) as served,
        ears(served.url, served.token) as heard,
    ):
        go = Walk(served, heard, examples)
        if shutil.which("node") is None:
            walk(go, model, smaller, root / "pictures", older, older_call)
            yield go, None
        else:
            with node_ears(served.url, served.token, folder / "node.txt") as node:
                walk(go, model, smaller, root / "pictures", older, older_call)
                heard.rest()
                yield go, node.heard(len(heard.heard))
