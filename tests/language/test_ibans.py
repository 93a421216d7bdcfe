"""IBANs are known by their country's length and their check digits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.language.ibans import iban_spans


@pytest.mark.parametrize(
    "iban", ["DE89 3704 0044 0532 0130 00", "DE89370400440532013000", "GB82WEST12345698765432", "NO9386011117947"]
)
def test_an_iban_is_found_where_it_stands(iban: str):
    assert list(iban_spans(f"to {iban}, please")) == [(3, 3 + len(iban))]


@given(st.integers(0, 99))
def test_the_check_digits_decide(digits: int):
    found = list(iban_spans(f"DE{digits:02}370400440532013000"))
    assert found == ([(0, 22)] if digits == 89 else [])


@pytest.mark.parametrize(
    "text", ["", "DE", "DE89", "DE8937040044053201300", "DE893704004405320130001", "XX89370400440532013000"]
)
def test_another_length_or_country_is_none(text: str):
    assert list(iban_spans(text)) == []
