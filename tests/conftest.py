"""How hypothesis runs: a little by default, much with ``HYPOTHESIS_PROFILE=thorough``."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

# The suites live in the package, where pytest would otherwise not explain a failed assertion.
pytest.register_assert_rewrite("memwell.testing")

_SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

settings.register_profile("default", deadline=None, print_blob=True, suppress_health_check=_SLOW_IS_FINE)
settings.register_profile("thorough", settings.get_profile("default"), max_examples=2_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
