"""The conformance suites: what a backend must do to be one, as tests that a third party inherits.

    from memwell.testing.conformance import StoreSuite

    class TestStore(StoreSuite):
        def open(self, place, clock):
            return MyBackend(place / "store", clock=clock)

``StoreSuite`` is all the other suites but ``KillsSuite``, which takes the name of what opens the backend instead, because
it opens it in processes of its own. Every test runs with the blocking methods and with their async twins. pytest and
hypothesis are needed here and nowhere else in memwell; ``pytest.register_assert_rewrite("memwell.testing")`` in a
conftest.py makes a failed assertion explain itself.
"""

from memwell.testing.conformance.backend import BackendSuite, IsolationSuite
from memwell.testing.conformance.congruence import CongruenceSuite, KillsSuite, SequencesSuite
from memwell.testing.conformance.copies import CopiesSuite
from memwell.testing.conformance.index import RecordIndexSuite
from memwell.testing.conformance.kv import BlobsSuite, KeyValueSuite
from memwell.testing.conformance.log import MessageLogSuite
from memwell.testing.conformance.refusals import RefusalsSuite
from memwell.testing.conformance.suite import Suite


class StoreSuite(
    MessageLogSuite,
    KeyValueSuite,
    RecordIndexSuite,
    BlobsSuite,
    BackendSuite,
    CopiesSuite,
    SequencesSuite,
    CongruenceSuite,
    IsolationSuite,
    RefusalsSuite,
):
    """Everything that a backend promises, except what ``KillsSuite`` tests."""


__all__ = [
    "BackendSuite",
    "BlobsSuite",
    "CongruenceSuite",
    "CopiesSuite",
    "IsolationSuite",
    "KeyValueSuite",
    "KillsSuite",
    "MessageLogSuite",
    "RecordIndexSuite",
    "RefusalsSuite",
    "SequencesSuite",
    "StoreSuite",
    "Suite",
]
