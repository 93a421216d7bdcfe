"""Who is meant: facts are asked for as people speak."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from memwell.language.claims import Claim
from memwell.longterm.memory import Memory
from memwell.longterm.statements import name_key, spellings
from memwell.storage.protocols import Backend

SAID = datetime(2025, 1, 1, tzinfo=UTC)


def memory_of(backend: Backend, *texts: str, speaker: str = "") -> Memory:
    memory = Memory(backend, "ann")
    for text in texts:
        memory.remember(text, speaker=speaker, time=SAID)
    return memory


def told(memory: Memory, subject: str) -> list[tuple[str, str]]:
    return [(fact.relation, fact.object) for fact in memory.facts_about(subject)]


MOTHER = (
    "my mother", "My Mother", "mother", "mom", "my mum", "我妈", "妈妈", "我的妈妈", "user's mother", "user的妈妈",
)  # fmt: skip


@pytest.mark.parametrize("said", ["My mother lives in Rome.", "My mom lives in Rome.", "我妈住在Rome。"])
def test_every_word_for_a_mother_finds_her(backend: Backend, said: str) -> None:
    memory = memory_of(backend, said, "My father lives in Oslo.", "My older sister lives in Bern.")
    for asked in MOTHER:
        assert told(memory, asked) == [("lives_in", "Rome")], asked
    assert told(memory, "dad") == [("lives_in", "Oslo")]
    assert told(memory, "my older sister") == [("lives_in", "Bern")]
    assert told(memory, "my wife") == told(memory, "Bob's mother") == []


@pytest.mark.parametrize("said", ["My mother Ann works at Acme.", "Ann is my mother. Ann works at Acme."])
def test_a_mother_is_found_by_her_name_and_her_name_by_mother(backend: Backend, said: str) -> None:
    memory = memory_of(backend, said, "My mother lives in Rome.", "My father Bob works at Initech.")
    for asked in (*MOTHER, "Ann"):
        assert told(memory, asked) == [("lives_in", "Rome"), ("works_at", "Acme")], asked
    assert told(memory, "papa") == [("works_at", "Initech")]


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("My mum lives in Rome.", "my mum"), ("My mother Ann lives in Rome.", "my mum"), ("我妈住在Rome。", "我妈"),
    ],
)  # fmt: skip
def test_my_mother_is_the_only_speakers_who_has_a_name(backend: Backend, said: str, asked: str) -> None:
    memory = memory_of(backend, said, "Tom's mother lives in Oslo.", speaker="Nora")
    assert told(memory, asked) == told(memory, "Nora's mother") == [("lives_in", "Rome")]
    memory.remember("My mum lives in Bern.", speaker="Ida", time=SAID)
    assert told(memory, asked) == []
    memory.remember("My mum lives in Cork.", time=SAID)
    assert told(memory, asked) == [("lives_in", "Cork")]


@pytest.mark.parametrize("speaker", ["", "Nora"])
@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("My niece lives in Rome.", "my niece"), ("My niece Zoe lives in Rome.", "my niece"),
        ("My niece is called Zoe. Zoe lives in Rome.", "my niece"), ("My uncle lives in Rome.", "my uncle"),
        ("My brother-in-law lives in Rome.", "my brother-in-law"), ("我表妹住在Rome。", "我表妹"),
        ("我表妹住在Rome。", "表妹"), ("我姑姑住在Rome。", "姑姑"), ("我舅舅住在Rome。", "我舅舅"),
        ("我同事住在Rome。", "我同事"),
    ],
)  # fmt: skip
def test_every_relative_of_the_only_speaker_is_found(backend: Backend, speaker: str, said: str, asked: str) -> None:
    memory = memory_of(backend, said, "Tom's niece lives in Oslo.", "Tom的姑姑住在Oslo。", speaker=speaker)
    assert told(memory, asked) == [("lives_in", "Rome")]
    if speaker:
        memory.remember(said.replace("Rome", "Bern").replace("Zoe", "Kim"), speaker="Ida", time=SAID)
        assert told(memory, asked) == []


def test_a_name_that_nothing_else_is_known_of_finds_the_relative(backend: Backend) -> None:
    memory = memory_of(backend, "My mother's name is Ann.", "My mother lives in Rome.")
    assert told(memory, "Ann") == told(memory, "mom") == [("lives_in", "Rome")]


def test_two_daughters_are_not_one(backend: Backend) -> None:
    memory = memory_of(backend, "My daughter Eva works at Acme.", "My daughter Ida works at Initech.")
    assert told(memory, "my daughter") == []
    assert told(memory, "Eva") == [("works_at", "Acme")]


def test_a_relative_of_someone_else_is_not_the_users(backend: Backend) -> None:
    memory = memory_of(backend, "My mother lives in Rome.", speaker="Ann")
    memory.remember("My mother lives in Oslo.", time=SAID)
    assert told(memory, "Ann's mom") == [("lives_in", "Rome")]
    assert told(memory, "my mother") == [("lives_in", "Oslo")]


def test_a_first_name_finds_the_only_one_who_has_it(backend: Backend) -> None:
    memory = memory_of(backend, "My friend Sarah Connor lives in Rome.", "My friend Sam Hill lives in Oslo.")
    assert told(memory, "Sarah") == [("lives_in", "Rome")]
    memory.remember("My friend Sarah Smith lives in Bern.", time=SAID)
    assert told(memory, "Sarah") == []
    assert told(memory, "sarah smith") == [("lives_in", "Bern")]


def test_a_name_with_one_letter_wrong_finds_the_only_one_it_can_be(backend: Backend) -> None:
    memory = memory_of(backend, "Mohammed lives in Cairo.", "Marta lives in Rome.")
    assert told(memory, "Mohamed") == [("lives_in", "Cairo")]
    assert told(memory, "Mohawk") == []
    memory.remember("Maria lives in Oslo.", time=SAID)
    assert told(memory, "Mara") == []


def test_a_correction_reaches_whoever_is_meant(backend: Backend) -> None:
    memory = memory_of(backend, "My mother Ann works at Acme.", "My mother lives in Rome.")
    memory.facts.correct("我妈", "lives_in", "Bern")
    memory.facts.retract("mom", "works_at")
    assert told(memory, "Ann") == told(memory, "mother") == [("lives_in", "Bern")]
    assert {fact.object for fact in memory.facts.all().items if fact.retired_at is None} == {"Ann", "Bern"}
    memory.facts.correct("mother", "email", "ann@example.org")
    assert told(memory, "Ann") == [("email", "ann@example.org"), ("lives_in", "Bern")]
    assert {edge.target for edge in memory.facts.walk("my mother", depth=1)} >= {"bern", "ann@example.org"}


@pytest.mark.parametrize(
    "word", ["我姐姐", "姐姐", "我哥", "我哥哥", "我奶奶", "我舅舅", "my sister", "my grandmother"]
)
def test_a_relative_without_a_name_is_found_by_the_word_that_was_said(memory: Memory, word: str):
    memory.remember(["我姐姐住在西安。", "我哥住在上海。", "我奶奶住在保定。", "我舅舅住在大连。"])
    memory.flush()
    homes = {"姐": "西安", "sister": "西安", "哥": "上海", "奶": "保定", "grandmother": "保定", "舅": "大连"}
    [fact] = memory.facts.about(word)
    assert fact.object == next(home for part, home in homes.items() if part in word)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("我姐", "我妹"), ("我哥", "我弟"), ("我大哥", "我二哥"), ("我大女儿", "我小女儿"), ("我姐姐", "我妹妹"),
        ("我大姐", "我三姐"), ("我大儿子", "我二儿子"), ("我家老大", "我家老二"), ("我二弟", "我三弟"), ("我小妹", "我姐"),
        ("我二舅", "我大舅"), ("我爷爷", "我外公"), ("我奶奶", "我姥姥"),
        ("我大姑", "我小姨"), ("我表哥", "我堂妹"), ("我叔叔", "我舅舅"),
    ],
)  # fmt: skip
def test_relatives_of_one_kind_in_chinese_are_two_people(memory: Memory, one: str, other: str):
    memory.remember(f"{one}住在南京。", time=SAID)
    memory.remember(f"{other}搬到无锡了。", time=SAID.replace(month=2))
    memory.flush()
    homes = {word: [fact.object for fact in memory.facts.about(word)] for word in (one, other)}
    assert homes == {one: ["南京"], other: ["无锡"]}


@pytest.mark.parametrize(
    ("said", "asked", "found"),
    [
        (("My older brother Jim lives in Ohio.",), "my older brother", [("lives_in", "Ohio")]),
        (("My older brother Jim lives in Ohio.", "My brother Al is 9."), "my older brother", [("lives_in", "Ohio")]),
        (("My older brother is called Jim.", "My older brother lives in Ohio."), "Jim", [("lives_in", "Ohio")]),
        (("我姐叫王芳。", "我姐在上海工作。"), "王芳", [("works_in", "上海")]),
        (("我二舅叫李强。", "我二舅住在成都。", "我大舅住在重庆。"), "李强", [("lives_in", "成都")]),
        (("我二舅叫李强。", "李强住在成都。"), "我二舅", [("lives_in", "成都")]),
    ],
)
def test_a_relative_with_a_name_is_found_by_the_word_and_by_the_name(
    memory: Memory, said: Sequence[str], asked: str, found: list[tuple[str, str]]
):
    for text in said:
        memory.remember(text, time=SAID)
    memory.flush()
    assert told(memory, asked) == found


@pytest.mark.parametrize("asked", ["Dana Fox", "Dana", "dana fox"])
def test_who_speaks_is_found_by_their_own_name(memory: Memory, asked: str):
    memory.remember("My name is Dana Fox. I live in Rome.", time=SAID)
    memory.flush()
    assert told(memory, asked) == [("lives_in", "Rome"), ("name", "Dana Fox")]
    assert told(memory, "Dan") == []


def test_another_of_the_speakers_name_is_another_person(memory: Memory):
    memory.remember("My name is Dana. I live in Rome.", time=SAID)
    memory.remember("My cousin Dana lives in Oslo.", time=SAID)
    memory.flush()
    assert told(memory, "Dana") == [("lives_in", "Oslo")]


def test_a_sister_is_found_by_every_word_that_may_mean_her(memory: Memory):
    memory.remember("我大姐住在南京。", time=SAID)
    memory.remember("我妹搬到无锡了。", time=SAID.replace(month=2))
    memory.flush()
    for asked in ("我大姐", "我姐", "姐姐", "大姐"):
        assert told(memory, asked) == [("lives_in", "南京")], asked
    for asked in ("my sister", "我的姐妹"):
        assert told(memory, asked) == [("lives_in", "南京"), ("lives_in", "无锡")], asked


def test_the_sister_of_an_earlier_version_is_found(memory: Memory):
    sister = Claim(subject="user's sister", relation="lives_in", object="南京", time=SAID)
    daughter = Claim(subject="user's daughter", relation="age", object="5", time=SAID)
    memory.facts.learn([sister, daughter], record="r1")
    for asked in ("我姐", "姐姐", "我妹", "我大姐", "my sister"):
        assert told(memory, asked) == [("lives_in", "南京")], asked
    for asked in ("我大女儿", "我女儿", "my daughter"):
        assert told(memory, asked) == [("age", "5")], asked
    memory.remember("我姐在医院上班。", time=SAID.replace(month=2))
    memory.flush()
    assert ("lives_in", "南京") in told(memory, "我姐")


@pytest.mark.parametrize("name", ["Dana Fox", "Anna Le Roy", "Luca An"])
def test_a_name_that_ends_in_an_article_is_a_whole_name(memory: Memory, name: str):
    assert name_key(name) == name.casefold()
    assert name_key("a dog") == name_key("the Dog") == "dog"
    memory.remember(f"{name} lives in Rome.", time=SAID)
    memory.flush()
    assert told(memory, name) == [("lives_in", "Rome")]
    assert told(memory, name.replace("a ", "", 1)) != told(memory, name)


def test_a_name_is_found_where_an_earlier_version_stored_it(memory: Memory, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("memwell.longterm.statements._ARTICLE", re.compile(r"(?:a|an|the|my|our)\s+(?=\S)"))
    name_key.cache_clear()
    memory.facts.learn([Claim(subject="Dana Fox", relation="lives_in", object="Rome", time=SAID)], record="r1")
    monkeypatch.undo()
    name_key.cache_clear()
    memory.facts.learn([Claim(subject="Dana Fox", relation="age", object="31", time=SAID)], record="r2")
    assert told(memory, "Dana Fox") == [("age", "31"), ("lives_in", "Rome")]


@pytest.mark.parametrize("speaker", ["", "kim"])
def test_who_says_their_name_is_found_by_it(backend: Backend, speaker: str):
    memory = memory_of(backend, "My name is Zoë. I live in Lyon.", "Bo lives in Bern.", speaker=speaker)
    for asked in ("Zoë", speaker or "user"):
        assert told(memory, asked) == [("lives_in", "Lyon"), ("name", "Zoë")], asked
    assert told(memory, "Bo") == [("lives_in", "Bern")]


def test_a_name_that_two_have_finds_neither(backend: Backend):
    memory = memory_of(backend, "My name is Zoë. I live in Lyon.", speaker="kim")
    memory.remember("My name is Zoë. I live in Oslo.", speaker="lee", time=SAID)
    assert told(memory, "Zoë") == []


def test_who_goes_by_another_name_now_is_found_by_both(backend: Backend):
    memory = memory_of(backend, "My daughter is called Maxine. She goes by Max now. Maxine plays chess.")
    assert told(memory, "Max") == told(memory, "Maxine") == [("hobby", "chess"), ("name", "Max")]


def test_the_only_pet_of_a_kind_is_found_by_the_kind(backend: Backend):
    memory = memory_of(backend, "I have a dog called Rex and a cat called Tim.", "我养了一只兔子，叫雪球。")
    assert told(memory, "my dog") == told(memory, "the dog") == told(memory, "Rex") == [("kind", "dog")]
    assert told(memory, "我的兔子") == [("kind", "兔子")]
    memory.remember("I have a dog called Ben.", time=SAID)
    assert told(memory, "my dog") == []


def test_a_long_name_has_no_other_spellings():
    assert "anna" in set(spellings("ana"))
    assert len(list(spellings("a" * 40))) > 1_000
    assert next(spellings("a" * 10_000), None) is None
