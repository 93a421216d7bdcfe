"""How hypothesis runs: few examples in ``make test``, many in ``make soak``. And fixtures that all tests share."""

from __future__ import annotations

import ctypes
import logging
import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

# The suites live in the package, where pytest would otherwise not explain a failed assertion.
pytest.register_assert_rewrite("memwell.testing")

_SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

settings.register_profile("default", max_examples=20, deadline=None, print_blob=True, suppress_health_check=_SLOW_IS_FINE)
settings.register_profile("soak", settings.get_profile("default"), max_examples=1_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(autouse=True)
def loggers_as_they_were() -> Iterator[None]:
    """A service that was started in a test sets up the log of the whole process; the next test finds it as it was."""
    kept = [
        (logger, logger.level, logger.propagate, list(logger.handlers))
        for logger in map(logging.getLogger, ("memwell", "memwell.service", "uvicorn.error"))
    ]
    yield
    for logger, level, propagate, handlers in kept:
        logger.setLevel(level)
        logger.propagate = propagate
        logger.handlers[:] = handlers


@pytest.fixture
def unprivileged() -> Iterator[None]:
    """Files that are write-protected are so for root too, who may write everywhere as long as nobody takes that away."""
    if os.name != "posix" or os.geteuid() != 0:
        yield
        return
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "capset"):
        pytest.skip("the rights of root cannot be taken away here")
    header, kept = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    assert libc.capget(header, kept) == 0
    # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH, of those in effect.
    fewer = (ctypes.c_uint32 * 6)(kept[0] & ~0b110, *kept[1:])
    assert libc.capset(header, fewer) == 0
    yield
    assert libc.capset(header, kept) == 0
