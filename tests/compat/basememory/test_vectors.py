"""Vectors lose no more than they may."""

from __future__ import annotations

import math
import random
from array import array

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.basememory.sizes import deep_size
from memwell.compat.basememory.vectors import Form, SparseVector, numbers_of, sparsified
from memwell.errors import InvalidInput

NUMBERS = st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=8, max_size=60)


@given(NUMBERS, st.sampled_from([0.001, 0.02, 0.3]), st.sampled_from(["int8", "float16", "float32"]))
def test_no_vector_is_further_off_than_it_may_be(numbers: list[float], error: float, form: Form) -> None:
    made = sparsified(numbers, error=error, form=form)
    length = math.hypot(*numbers)
    if made is None:
        # Nothing, or too little for half precision.
        assert length == 0 or error < 1e-6
        return
    assert len(made) == len(numbers)
    assert math.dist(made.dense(), numbers) <= error * length * (1 + 1e-9)
    assert made.error <= error * (1 + 1e-9)
    assert list(made) == made.dense()
    assert made[-1] == made.dense()[-1]


def test_small_components_are_dropped() -> None:
    numbers = [1.0, -0.5, *(0.0001 + at * 1e-9 for at in range(98))]
    made = sparsified(numbers, error=0.01)
    assert made is not None
    assert made.places is not None
    assert [place for place, number in enumerate(made) if number] == [0, 1]
    assert deep_size(made) < deep_size(numbers) / 4


def test_an_embedding_takes_an_eighth_or_less() -> None:
    dice = random.Random(1)
    numbers = [dice.gauss(0, 0.05) for _ in range(384)]
    made = sparsified(numbers, error=0.02)
    assert made is not None
    assert made.form == "int8"
    assert deep_size(made) < deep_size(numbers) / 8


def test_an_error_too_small_for_a_byte_takes_the_next_wider_form() -> None:
    dice = random.Random(2)
    numbers = [dice.gauss(0, 1) for _ in range(64)]
    forms = [made.form for error in (0.02, 0.001, 1e-6) if (made := sparsified(numbers, error=error)) is not None]
    assert forms == ["int8", "float16", "float32"]
    assert sparsified(numbers, error=1e-12) is None


def test_it_survives_being_stored() -> None:
    made = sparsified([0.1, 0.9] * 8, error=0.05)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(made), type=SparseVector) == made


def test_only_lists_of_floats_are_vectors() -> None:
    floats = [0.5] * 8
    assert numbers_of(floats) == numbers_of(tuple(floats)) == numbers_of(array("f", floats)) == floats
    for other in ([1] * 8, floats[:3], "text", [math.nan] * 8, None, [True] * 8):
        assert numbers_of(other) is None


@pytest.mark.parametrize("error", [0, 1, -0.1, 2])
def test_a_senseless_error_is_refused(error: float) -> None:
    with pytest.raises(InvalidInput, match="between 0 and 1"):
        sparsified([1.0], error=error)


def test_an_unknown_form_is_refused() -> None:
    with pytest.raises(InvalidInput, match="unknown form 'int4'"):
        sparsified([1.0], error=0.1, form="int4")  # type: ignore[arg-type]
