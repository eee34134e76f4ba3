"""What every database must do. A test class inherits this and provides ``database``."""

from __future__ import annotations

import pytest

from modeldyno.store.database import Database
from tests.contracts.store_answers import Answered
from tests.contracts.store_deleting import Deleting
from tests.contracts.store_examples import Desk
from tests.contracts.store_indexing import Indexing
from tests.contracts.store_lists import Lists
from tests.contracts.store_nouns import Nouns
from tests.contracts.store_random import Random
from tests.contracts.store_states import States


class StoreContract(Nouns, States, Lists, Deleting, Indexing, Answered, Random):
    @pytest.fixture
    def database(self) -> Database:
        raise NotImplementedError

    @pytest.fixture
    def desk(self, database) -> Desk:
        return Desk(database)
