"""The self-tests with a stopwatch, in their short forms.

They assert counts and intervals, never milliseconds, and may try once more; what they saw is
printed when they fail. The full forms: `modeldyno selftest all`.
"""

import pytest

from modeldyno.selftest import catalog

pytestmark = [pytest.mark.slow, pytest.mark.timing]

TIMING = [entry for entry in catalog.TESTS if entry.is_timing]


@pytest.mark.timeout(300)  # twice 20 s when all is well, and several times that under load
@pytest.mark.parametrize("entry", TIMING, ids=lambda entry: entry.name)
def test_short_form(entry, record_property):
    outcome = catalog.run(entry, short=True)
    record_property("retried", outcome.retried)
    assert outcome.passed, outcome.to_json()
