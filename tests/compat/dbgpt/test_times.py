from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.dbgpt.times import as_aware, check_moment, hours_between
from memwell.errors import InvalidInput

AWARE = st.integers(0, 4 * 10**9).map(lambda seconds: datetime.fromtimestamp(seconds, timezone(timedelta(hours=8))))
MOMENTS = AWARE | AWARE.map(lambda moment: moment.replace(tzinfo=None))
NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def shanghai(monkeypatch: pytest.MonkeyPatch):
    before = os.environ.get("TZ")
    monkeypatch.setenv("TZ", "Asia/Shanghai")
    time.tzset()
    yield
    monkeypatch.undo()
    assert os.environ.get("TZ") == before
    time.tzset()


def test_a_naive_moment_is_local_time(shanghai: None) -> None:
    assert as_aware(NEW_YEAR.replace(hour=8, tzinfo=None)) == NEW_YEAR
    assert hours_between(NEW_YEAR, NEW_YEAR.replace(hour=9, tzinfo=None)) == 1.0


def test_an_aware_moment_is_kept() -> None:
    moment = datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=-5)))
    assert as_aware(moment) is moment
    assert check_moment(moment) is moment


@given(one=MOMENTS, other=MOMENTS)
def test_naive_and_aware_mix(one: datetime, other: datetime) -> None:
    assert hours_between(one, other) == -hours_between(other, one)
    assert hours_between(one, one) == 0.0


@pytest.mark.parametrize("bad", [None, "today", 5, datetime.max.replace(tzinfo=timezone(timedelta(hours=-1)))])
def test_what_is_no_moment_is_refused(bad: object) -> None:
    with pytest.raises(InvalidInput, match="now must be"):
        as_aware(bad, "now")
