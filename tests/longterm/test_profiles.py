"""Profiles: from facts and a stream of records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memwell.errors import InvalidInput
from memwell.language.claims import claims
from memwell.longterm.facts import Facts
from memwell.longterm.profiles import Profile, profile
from memwell.longterm.traits import Traits, with_traits
from memwell.records import Record
from memwell.storage import open_backend

BEGIN = datetime(2024, 1, 10, tzinfo=UTC)
TEXTS = [
    "My name is Anna. I live in Berlin.",
    "I love hiking and I'm allergic to peanuts.",
    "I moved to Paris.",
    "My sister Eva is a nurse. Hiking was wonderful today, I am so happy!",
    "I hate cilantro. What a terrible, sad day.",
    "My favourite colour is blue.",
]
TEXTS_ZH = ["我叫李明，我住在上海。", "我喜欢吃火锅。", "我不喜欢香菜。", "我妹妹叫小红。"]


def said(texts: list[str], speaker: str = "") -> list[Record]:
    metadata = with_traits({}, Traits(speaker=speaker))
    return [
        Record(text=text, id=f"r{number}", time=BEGIN + timedelta(days=31 * number), metadata=metadata)
        for number, text in enumerate(texts)
    ]


def known(records: list[Record], speaker: str = "") -> Facts:
    facts = Facts(open_backend("memory:").kv, "ann")
    for record in records:
        facts.learn(claims(record.text, speaker=speaker, time=record.time), record=record.id, learned_at=record.time)
    return facts


def made(texts: list[str], **options: str | int) -> Profile:
    records = said(texts)
    return profile(known(records), records, **options)  # pyright: ignore[reportArgumentType]


def test_a_profile_holds_what_is_known_with_its_evidence() -> None:
    found = made(TEXTS)
    attributes = {one.relation: one for one in found.attributes}
    assert attributes["name"].value == "Anna"
    assert attributes["lives_in"].value == "Paris"
    assert attributes["lives_in"].since == BEGIN + timedelta(days=62)
    assert attributes["lives_in"].evidence == ("r2",)
    assert 0 < attributes["lives_in"].confidence <= 1
    assert [(one.relation, one.value) for one in found.preferences] == [("likes", "hiking"), ("dislikes", "cilantro")]
    assert [(one.relation, one.value, one.evidence) for one in found.people] == [("sibling", "Eva", ("r3",))]
    assert (found.records, found.first, found.last) == (6, BEGIN, BEGIN + timedelta(days=155))


def test_topics_are_words_of_several_records() -> None:
    topics = {one.word.casefold(): one for one in made(TEXTS).topics}
    assert topics["hiking"].count == 2
    assert topics["hiking"].evidence == ("r1", "r3")
    assert topics["hiking"].since == BEGIN + timedelta(days=31)
    assert "peanuts" not in topics


def test_moods_go_by_month() -> None:
    moods = {one.month: one for one in made(TEXTS).moods}
    assert list(moods) == sorted(moods)
    assert moods["2024-04"].sentiment > 0 > moods["2024-05"].sentiment
    assert sum(one.count for one in moods.values()) == 6
    assert moods["2024-05"].evidence == ("r4",)


def test_only_what_the_subject_said_counts() -> None:
    records = [*said(["I love hiking."], speaker="Bob"), Record(text="I love chess.", id="mine")]
    facts = known(records[:1], speaker="Bob")
    assert profile(facts, records, subject="bob").records == 1
    assert [one.value for one in profile(facts, records, subject="BOB").preferences] == ["hiking"]
    assert profile(facts, records).records == 1
    assert profile(facts, records).preferences == ()


def test_the_words_of_a_profile() -> None:
    text = made(TEXTS).text()
    assert text.splitlines()[0] == "user: 6 memories from 2024-01-10 to 2024-06-13"
    assert "lives in: Paris (since 2024-03)" in text
    assert "favourite colour: blue" in text
    assert "Likes: hiking" in text
    assert "Dislikes: cilantro" in text
    assert "sibling: Eva" in text


def test_the_words_of_a_profile_in_chinese() -> None:
    found = made(TEXTS_ZH, language="zh")
    text = found.text()
    assert "名字：李明" in text
    assert "住在：上海" in text
    assert "喜欢：火锅" in text
    assert "不喜欢：香菜" in text
    assert "兄弟姐妹：小红" in text
    assert "Known" in found.text("en")


def test_nothing_known_is_a_short_profile() -> None:
    assert made([]).text() == "user"


@given(st.integers(1, 400), st.sampled_from(["en", "zh"]))
@settings(max_examples=40)
def test_a_text_keeps_its_bound_and_cuts_no_entry(limit: int, language: str) -> None:
    found = made(TEXTS)
    text = found.text(language, limit=limit)
    assert len(text) <= limit
    whole = found.text(language).splitlines()
    for line, full in zip(text.splitlines()[1:], whole[1:], strict=False):
        assert line.split(": ")[0].split("：")[0] in {one.split(": ")[0].split("：")[0] for one in whole}
        assert len(line) <= max(len(full), *map(len, whole))


def test_records_are_read_once_and_in_a_stream() -> None:
    records = said(TEXTS)
    taken = 0

    def stream() -> Iterator[Record]:
        nonlocal taken
        for record in records:
            taken += 1
            yield record

    assert profile(known(records), stream()) == profile(known(records), records)
    assert taken == len(records)


def test_a_limit_keeps_the_first() -> None:
    found = made([*TEXTS, "I speak French and German.", "I have a dog."], limit=2)
    assert [one.relation for one in found.attributes] == ["name", "lives_in"]
    assert max(len(found.preferences), len(found.topics), len(found.moods), len(found.people)) <= 2


def unless(kinds: Any, bad: object, instead: object) -> Any:
    """A bad value, or another one where the value is of a kind that would be good."""
    return instead if isinstance(bad, kinds) else bad


@pytest.mark.parametrize("bad", [7, None, b"x", ["user"], object()])
def test_what_is_no_name_or_record_is_refused_by_name(bad: Any) -> None:
    no_number = unless(int, bad, "2")
    no_row = unless(list | bytes, bad, 7)
    no_language = unless(type(None), bad, 7)
    calls: list[Callable[[], object]] = [
        lambda: profile(known([]), [], subject=bad),
        lambda: profile(known([]), [], language=bad),
        lambda: profile(known([]), [], limit=no_number),
        lambda: profile(known([]), [bad]),
        lambda: profile(known([]), no_row),
        lambda: made([]).text(no_language),
        lambda: made([]).text(limit=no_number),
    ]
    for call in calls:
        with pytest.raises(InvalidInput, match=r"must be|en or zh"):
            call()


@pytest.mark.parametrize("name", ["alice", "ALICE", "Alice"])
def test_the_case_of_a_name_does_not_matter(name: str) -> None:
    records = said(["I live in Paris. I love hiking.", "Hiking again!"], speaker="Alice")
    found = profile(known(records, speaker="Alice"), records, subject=name)
    assert [one.value for one in (*found.attributes, *found.preferences)] == ["Paris", "hiking"]
    assert found.records == 2
    assert [one.word.casefold() for one in found.topics] == ["hiking"]


def test_a_pet_and_its_name_stand_in_a_profile() -> None:
    assert "pet: Rex" in made(["I have a dog called Rex."]).text()
    assert "宠物：旺财" in made(["我养了一只狗，叫旺财。"]).text("zh")


def test_what_is_over_stands_in_no_profile() -> None:
    assert made(["I like milk. I'm vegan.", "I don't like milk anymore, and I'm not vegan any more."]).facts == 0
    assert made(["我喜欢喝咖啡，我吃素。", "我不喝咖啡了，我也不吃素了。"]).facts == 0


def test_refusals() -> None:
    with pytest.raises(InvalidInput, match="en or zh"):
        made(TEXTS, language="fr")
    with pytest.raises(InvalidInput, match="en or zh"):
        made(TEXTS).text("fr")
    with pytest.raises(InvalidInput):
        made(TEXTS, limit=0)
    with pytest.raises(InvalidInput):
        made(TEXTS, subject=" ")
