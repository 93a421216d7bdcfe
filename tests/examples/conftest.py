from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

from tests.examples.running import Printed, printed_by
from tests.pages import FORKS, Pages


@pytest.fixture(scope="session")
def printed() -> Iterator[Printed]:
    """Runs examples, each in a process of its own. To load the models takes longer than most of what they do with them."""
    pages = Pages() if FORKS else None
    yield partial(printed_by, pages)
    if pages is not None:
        pages.close()
