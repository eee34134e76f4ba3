"""The changes of ``mutations.py`` still fit the sources; that tests notice them is a long study."""

import pytest

from tests.recording.mutations import MUTATIONS, ROOT


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_mutation_changes_one_place_and_has_tests_that_are_there(mutation):
    text = (ROOT / "src/modeldyno" / mutation.file).read_text()
    assert text.count(mutation.before) == 1
    assert all((ROOT / test.partition("::")[0]).exists() for test in mutation.tests)
