"""The contract of the store, kept by a SQLite file."""

import pytest

from modeldyno.core.ids import ProjectId
from modeldyno.core.runs import ListQuery
from tests.contracts.store_contract import StoreContract
from tests.contracts.store_examples import counted
from tests.contracts.store_lists import SORTS


class TestSqlite(StoreContract):
    @pytest.fixture
    def database(self, sqlite):
        return sqlite

    @pytest.mark.parametrize("descending", [True, False])
    @pytest.mark.parametrize("sort", SORTS)
    def test_no_order_of_a_list_needs_to_look_at_every_row(self, desk, sort, descending):
        desk.benchmark(desk.model())
        wanted = ListQuery(project_id=ProjectId(1), sort=sort, descending=descending)
        with counted(desk.database) as said:
            desk.records.benchmarks.page(wanted)
        with desk.database.reading() as connection:
            plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {said[0]}", (1, 0)).all()
        assert not [step for *_, step in plan if "SCAN" in step or "TEMP B-TREE" in step], plan
