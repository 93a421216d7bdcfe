"""Tests of how texts are spelt before claims are read from them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.language.claims import claims
from memwell.language.claims.spelling import spelt

NOW = datetime(2026, 5, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("written", "stated", "where"),
    [
        ("I LIVE IN LEEDS AND I WORK AT BOSCH.", "lives_in Leeds; works_at Bosch", "I LIVE IN LEEDS"),
        ("I HAVE A DOG CALLED REX", "pet Rex; kind dog", "I HAVE A DOG CALLED REX"),
        ("I'M ALLERGIC TO NUTS!!!", "allergic_to nuts", "I'M ALLERGIC TO NUTS"),
        ("I live 😀 in Leeds 🎉 and work at Bosch.", "lives_in Leeds; works_at Bosch", "I live 😀 in Leeds"),
        ("I live in 🎉 Leeds", "lives_in Leeds", "I live in 🎉 Leeds"),
        ("我😀住在🎉上海", "lives_in 上海", "我😀住在🎉上海"),
        ("Ｉ ｌｉｖｅ ｉｎ Ｌｅｅｄｓ．", "lives_in Leeds", "Ｉ ｌｉｖｅ ｉｎ Ｌｅｅｄｓ"),
        ("我今年４５岁，在Ｇｏｏｇｌｅ上班", "age 45; works_at Google", "我今年４５岁"),
        ("\ufeffI live in Leeds.", "lives_in Leeds", "I live in Leeds"),
        ("\ufeff我住在上海。", "lives_in 上海", "我住在上海"),
        ("I\u200b live in Leeds.", "lives_in Leeds", "I\u200b live in Leeds"),
        ("I live in Leeds 😂", "", ""),
    ],
)
def test_the_spelling_hides_no_claim_and_its_place_is_in_the_text_as_written(written: str, stated: str, where: str):
    found = claims(written, time=NOW)
    assert "; ".join(f"{one.relation} {one.object}" for one in found) == stated
    if found:
        assert where in written[found[0].start : found[0].end]


@given(st.text(alphabet="I livenLds.我住上海😀🎉️\ufeff\u200bＡ４"))
def test_each_character_is_kept_at_its_place(written: str):
    found = spelt(written)
    for at, letter in enumerate(found.text):
        start, end = found.written(at, at + 1)
        assert end == start + 1
        assert spelt(written[start:end]).text in (letter, "") or letter.lower() == written[start:end].lower()


def test_usual_spelling_stays_as_it_is():
    for text in ("I live in Leeds.", "My name is TJ.", "NASA", "OK, BBC?", "我住在上海，你呢？"):
        assert spelt(text) == (text, None, False)
