"""Jobs on a machine that has none of the files that specs name: they come as streams."""

import pytest

from modeldyno.core.errors import Cancelled
from modeldyno.core.specs import GraphSpec
from modeldyno.jobs.local import LocalJobs
from modeldyno.store.bundles import Bundles
from modeldyno.store.content import StoredContent
from modeldyno.store.objects import Objects
from tests.contracts.content_contract import ContentContract, run

pytestmark = pytest.mark.usefixtures("starts_processes")


class TestFetchedContent(ContentContract):
    @pytest.fixture
    def objects(self, tmp_path):
        return Objects(tmp_path / "node" / "objects")

    @pytest.fixture
    def elsewhere(self, objects, shelf, tmp_path):
        bundles = Bundles(tmp_path / "node" / "models", objects)
        return LocalJobs(content=StoredContent(objects, bundles, shelf.fetch))

    @pytest.mark.parametrize("external", [False, True])
    def test_a_failed_transfer_leaves_nothing(self, external, model, elsewhere, shelf, tmp_path):
        spec = GraphSpec(model("m", external=external))
        shelf.take(tmp_path / "m")
        shelf.path(spec.model.files[0].sha256).write_bytes(b"something else")
        with pytest.raises(Exception, match="has changed"):
            run(elsewhere, spec)
        assert [path for path in (tmp_path / "node").rglob("*") if path.is_file()] == []

    def test_fetching_stops_when_the_job_is_cancelled(self, model, objects, shelf, tmp_path):
        jobs = LocalJobs()

        def fetch(sha256):
            jobs.cancel_all()
            return shelf.fetch(sha256)

        bundles = Bundles(tmp_path / "node" / "models", objects)
        jobs._content = StoredContent(objects, bundles, fetch)
        spec = GraphSpec(model("m"))
        shelf.take(tmp_path / "m")
        with pytest.raises(Cancelled, match="while the model was being fetched"):
            run(jobs, spec)
        assert list(objects.all()) == []
