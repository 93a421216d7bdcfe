"""Machines are counted from measured costs, and what was not measured is called so."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import InvalidInput
from memwell.runtime.capacity import EngineCosts, Load, Machine, MeasuredCosts, Plan, figures, plan

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "capacity.json"
SMALL = EngineCosts(
    records=1_000,
    record_bytes=1_000.0,
    message_bytes=100.0,
    remember_ms=2.0,
    remember_store_ms=1.0,
    recall_ms=1.0,
    recall_store_ms=0.5,
    append_ms=0.2,
    append_store_ms=0.1,
)
LARGE = msgspec.structs.replace(SMALL, records=100_000, record_bytes=2_000.0, recall_ms=3.0)
KNOWN = MeasuredCosts("2026-01-01", "two cores", 10.0, 4_000.0, {"sqlite": [SMALL, LARGE], "postgres": [LARGE, SMALL]})
A_DAY = 86_400.0


def amounts(made: Plan) -> dict[str, float]:
    return {line.what: line.amount for line in made.lines}


def bases(made: Plan) -> dict[str, str]:
    return {line.what: line.basis for line in made.lines}


def load(users: int, **given: float) -> Load:
    return msgspec.structs.replace(
        Load(
            users=users, memories=10, messages=0, remembers_per_day=0, recalls_per_day=0, messages_per_day=0, peak=1.0
        ),
        **given,
    )


def test_costs_add_up():
    made = plan(
        load(100, remembers_per_day=A_DAY, recalls_per_day=2 * A_DAY, messages_per_day=3 * A_DAY, messages=7),
        "postgres",
        known=KNOWN,
    )
    found = amounts(made)
    assert found["records"] == 1_000
    assert found["requests"] == pytest.approx(600)
    assert found["cores_memwell"] == pytest.approx((100 * 2.0 + 200 * 1.0 + 300 * 0.2) / 1e3)
    assert found["cores_embedding"] == pytest.approx(300 * 10 / 1e3)
    assert found["cores_store"] == pytest.approx((100 * 1.0 + 200 * 0.5 + 300 * 0.1) / 1e3)
    assert found["kept"] == pytest.approx((1_000 * 1_000 + 100 * 7 * 100) / 2**30)
    assert found["memory_pools"] == pytest.approx(100 * 0.1 * 10 * 4_000 / 2**30)


def test_the_size_that_was_measured_counts_and_beyond_the_largest_it_is_extrapolated():
    within, between, beyond = (plan(load(users), "sqlite", known=KNOWN) for users in (100, 101, 10_001))
    assert [amounts(one)["kept"] * 2**30 / amounts(one)["records"] for one in (within, between, beyond)] == [
        pytest.approx(1_000),
        pytest.approx(2_000),
        pytest.approx(2_000),
    ]
    assert [bases(one)["kept"] for one in (within, between, beyond)] == ["measured", "measured", "extrapolated"]


def test_a_file_has_no_machine_of_its_own_and_says_when_one_is_not_enough():
    few = plan(load(10), "sqlite", known=KNOWN)
    many = plan(load(10_000, recalls_per_day=A_DAY), "sqlite", known=KNOWN)
    assert (few.machines, few.store_machines, few.notes) == (1, 0, [])
    assert many.machines > 1
    assert many.notes == ["one_file"]


@given(st.integers(1, 10**7), st.integers(1, 10), st.sampled_from(sorted(KNOWN.engines)))
def test_more_users_never_take_fewer_machines(users: int, times: int, engine: str):
    fewer, more = (plan(Load(users=one), engine, known=KNOWN) for one in (users, users * times))
    assert more.machines >= fewer.machines
    assert more.store_machines >= fewer.store_machines


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Load(users=0),
        lambda: Load(users=1, memories=-1),
        lambda: Load(users=1, peak=0.5),
        lambda: Load(users=1, active=1.5),
        lambda: Load(users=1, recalls_per_day=float("nan")),
        lambda: Machine(cores=0),
        lambda: Machine(fill=2.0),
        lambda: plan(Load(users=1), "punched cards"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong):
    with pytest.raises(InvalidInput):
        wrong()


def test_the_costs_that_come_along_are_those_that_were_measured():
    assert msgspec.json.decode(RESULTS.read_bytes(), type=MeasuredCosts) == figures()
    assert {"sqlite", "postgres"} <= set(figures().engines)
    for measured in figures().engines.values():
        assert all(one.record_bytes > 0 and one.remember_ms > 0 and one.recall_ms > 0 for one in measured)
