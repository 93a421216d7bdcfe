"""Facts that go from store to store: signed, without what is private, and never in the place of one's own."""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import memwell
from memwell.errors import Conflict, InvalidInput, NotFound
from memwell.runtime.federation import Federation, Taken

SECRET = "0123456789abcdef"
OTHER = "fedcba9876543210"


@pytest.fixture
def ann(tmp_path: Path) -> Iterator[memwell.Engine]:
    with memwell.open(tmp_path / "ann.db", embedder=None, work=False) as engine:
        engine.remember("I live in Oslo.")
        engine.remember("My sister is called Mia.")
        yield engine


@pytest.fixture
def ben(tmp_path: Path) -> Iterator[memwell.Engine]:
    with memwell.open(tmp_path / "ben.db", embedder=None, work=False) as engine:
        engine.remember("I live in Rome.")
        yield engine


def of_ann(ann: memwell.Engine, **options: Any) -> Federation:
    return Federation(ann, "Ann", {"Ben": SECRET, "Cleo": OTHER}, **options)


def of_ben(ben: memwell.Engine) -> Federation:
    return Federation(ben, "Ben", {"Ann": SECRET, "Cleo": OTHER})


def shared(ann: memwell.Engine, **options: Any) -> str:
    """What leaves, as words: the rest of a file has digits that are any number."""
    facts = json.loads(of_ann(ann, **options).export("Ben").partition(b"\n")[0])["facts"]
    return "; ".join(f"{one['subject']} {one['relation']} {one['object']}" for one in facts)


def told(found: Federation, subject: str = "user") -> list[tuple[str, str, str]]:
    return [(one.relation, one.object, one.origin) for one in found.about(subject)]


def test_facts_arrive_with_their_origin_and_half_of_the_trust(ann: memwell.Engine, ben: memwell.Engine) -> None:
    there = of_ben(ben)
    exported = of_ann(ann).export("Ben")
    assert "sister is called" not in exported.decode(), "the text of a memory leaves with it"
    assert there.take(exported).new >= 2
    assert ("lives_in", "Oslo", "Ann") in told(there, "Ann")
    assert told(there) == [("lives_in", "Rome", "")], "Ann's user is not ours"
    theirs = next(one for one in there.about("ann") if one.object == "Oslo")
    assert theirs.confidence == pytest.approx(ann.facts_about(relation="lives_in")[0].confidence / 2)
    assert [one.object for one in ben.facts_about()] == ["Rome"], "our own facts are as they were"
    assert all("Oslo" not in one.text for one in ben.recall("Where does Ann live?"))


def test_taking_in_twice_changes_nothing_and_what_is_withdrawn_goes(ann: memwell.Engine, ben: memwell.Engine) -> None:
    here, there = of_ann(ann), of_ben(ben)
    first = here.export("Ben")
    new = there.take(first).new
    before = there.about("Ann")
    assert there.take(first) == there.take(here.export("Ben")) == Taken(0, new, 0)
    assert there.about("Ann") == before
    ann.erase([next(one.id for one in ann.memories() if "Oslo" in one.text)])
    assert there.take(here.export("Ben")) == Taken(0, new - 1, 1)
    assert "Oslo" not in [one.object for one in there.about("Ann")]
    with pytest.raises(Conflict, match="a later export"):
        there.take(first)
    assert there.forget("Ann") == new - 1
    assert there.about("Ann") == []


@pytest.mark.parametrize("place", [0, 1 / 3, 1 / 2, 0.9, 1])
def test_a_changed_export_is_refused(ann: memwell.Engine, ben: memwell.Engine, place: float) -> None:
    exported = bytearray(of_ann(ann).export("Ben"))
    exported[min(int(len(exported) * place), len(exported) - 1)] ^= 1
    with pytest.raises((InvalidInput, NotFound)):
        of_ben(ben).take(bytes(exported))
    assert of_ben(ben).about("Ann") == []


def test_what_others_signed_or_was_made_for_others_is_refused(ann: memwell.Engine, ben: memwell.Engine) -> None:
    there, forged = of_ben(ben), Federation(ann, "Ann", {"Ben": OTHER})
    with pytest.raises(InvalidInput, match="not signed with the secret of 'Ann'"):
        there.take(forged.export("Ben"))
    # The same words for Ben under Ann's name need Ann's secret, and what is signed for Cleo is not for Ben.
    for_cleo = Federation(ann, "Ann", {"Cleo": SECRET}).export("Cleo")
    with pytest.raises(InvalidInput, match="is for 'Cleo'"):
        there.take(for_cleo)
    with pytest.raises(NotFound, match="no secret with the store 'Dan'"):
        there.take(Federation(ann, "Dan", {"Ben": SECRET}).export("Ben"))
    with pytest.raises(InvalidInput, match="no export of facts"):
        there.take(b"facts")
    # One's own export, sent back, is not for oneself.
    with pytest.raises(NotFound):
        there.take(there.export("Ann"))
    assert there.about("Ann") == []


def test_what_is_private_never_leaves(ann: memwell.Engine, ben: memwell.Engine) -> None:
    ann.remember("I work at Initech.", metadata={"private": True})
    ann.remember("I am allergic to peanuts.")
    ann.at("diary").remember("I live in a hut.")
    of_ann(ann).take(of_ben(ben).export("Ann"))
    all_of_it = of_ann(ann).export("Ben").decode()
    assert "Oslo" in all_of_it
    assert "Mia" in all_of_it
    assert not any(word in all_of_it for word in ("Initech", "hut", "Rome")), "a tag, a space and another's word"
    for private, word in (("lives_in", "Oslo"), ("Mia", "Mia"), ("OSLO", "Oslo")):
        assert word not in of_ann(ann, private=[private]).export("Ben").decode()
    ann.remember("I work at Initech.")
    assert "Initech" in of_ann(ann).export("Ben").decode(), "it was said openly too"


def test_what_another_speaker_said_leaves_only_where_that_is_allowed(ann: memwell.Engine) -> None:
    ann.remember("I live in Turku.", speaker="Zoe")
    ann.remember("Ann works at Initech.", speaker="assistant")
    ann.remember("I am allergic to nuts.", speaker="Ann")
    ann.remember("I own a canoe.", speaker="user")
    own = of_ann(ann).export("Ben").decode()
    assert not any(word in own for word in ("Turku", "Zoe", "Initech"))
    assert all(word in own for word in ("Oslo", "nuts", "canoe"))
    assert "Turku" in of_ann(ann, speakers=["zoe"]).export("Ben").decode()
    ann.remember("Zoe lives in Turku.")
    assert "Turku" in of_ann(ann).export("Ben").decode(), "Ann said so herself"
    for wrong in ("Zoe", [None]):
        with pytest.raises(InvalidInput, match="speaker"):
            of_ann(ann, speakers=wrong)


@pytest.mark.parametrize(
    ("said", "word", "private"),
    [
        ("I am allergic to peanuts.", "peanut", ["peanut", "Peanuts", "peanut's"]),
        ("I am allergic to roasted peanuts.", "peanut", ["peanut"]),
        ("我对花生过敏。", "花生", ["花生"]),
        ("我对花生酱过敏。", "花生", ["花生"]),
    ],
)
def test_what_is_private_is_so_in_every_form_of_the_word(
    ann: memwell.Engine, said: str, word: str, private: list[str]
) -> None:
    ann.remember(said)
    assert word in of_ann(ann).export("Ben").decode()
    for one in private:
        exported = of_ann(ann, private=[one]).export("Ben").decode()
        assert word not in exported
        assert "Oslo" in exported


def test_own_facts_win(ann: memwell.Engine, ben: memwell.Engine) -> None:
    there = of_ben(ben)
    there.take(of_ann(ann).export("Ben"))
    assert ("lives_in", "Oslo", "Ann") in told(there, "Ann")
    ben.remember("Ann lives in Bergen.")
    assert [one for one in told(there, "Ann") if one[0] == "lives_in"] == [("lives_in", "Bergen", "")]
    there.take(of_ann(ann).export("Ben"))
    assert [one for one in told(there, "Ann") if one[0] == "lives_in"] == [("lives_in", "Bergen", "")]


def test_what_others_say_of_the_owner_is_about_the_user(ann: memwell.Engine, ben: memwell.Engine) -> None:
    ann.remember("Ben is allergic to nuts.")
    there = of_ben(ben)
    there.take(of_ann(ann).export("Ben"))
    assert ("Rome", "") in [(one.object, one.origin) for one in there.about()]
    assert ("nuts", "Ann") in [(one.object, one.origin) for one in there.about()]


def test_an_export_does_not_say_where_its_facts_are_from(ann: memwell.Engine, ben: memwell.Engine) -> None:
    sheet = json.loads(of_ann(ann).export("Ben").partition(b"\n")[0])
    assert {one["origin"] for one in sheet["facts"]} == {""}
    assert (sheet["origin"], sheet["to"]) == ("Ann", "Ben")


@pytest.mark.parametrize("keys", [{"Ben": "short"}, {"": SECRET}, {"Ann": SECRET}, {"Ben": 3}])
def test_what_is_no_secret_is_refused(ann: memwell.Engine, keys: Any) -> None:
    with pytest.raises(InvalidInput):
        Federation(ann, "Ann", keys)
    with pytest.raises(NotFound):
        Federation(ann, "Ann", {}).export("Ben")


def test_own_facts_win_when_the_owner_is_asked_for_by_name(ann: memwell.Engine, ben: memwell.Engine) -> None:
    ann.remember("Ben lives in Bergen.")
    there = of_ben(ben)
    there.take(of_ann(ann).export("Ben"))
    assert told(there, "Ben") == told(there, "ben") == told(there) == [("lives_in", "Rome", "")]


@pytest.mark.parametrize("private", ["my sister", "sister", "我姐姐"])
def test_a_relative_is_private_by_every_usual_word(ann: memwell.Engine, private: str) -> None:
    ann.remember("My sister lives in Hull.")
    ann.remember("I live in Rome.")
    assert b"Hull" in of_ann(ann).export("Ben")
    shared = of_ann(ann, private=[private]).export("Ben")
    assert b"Hull" not in shared
    assert b"Rome" in shared


@pytest.mark.parametrize(
    ("said", "private", "words"),
    [
        (
            ["My mother is called Rosa.", "My mother lives in Nice.", "Rosa works at Fiat."],
            ["mother", "my mother", "Ann's mother", "mom", "妈妈", "我妈妈", "parent"],
            ["Rosa", "Nice", "Fiat"],
        ),
        (["My mom is called Rosa."], ["mother", "母亲"], ["Rosa"]),
        (["My father is called Karl.", "My parents live in Nice."], ["mother", "dad"], ["Karl", "Nice"]),
        (["我妈妈叫李红。", "我妈妈住在天津。"], ["妈妈", "我妈妈", "mother", "parent"], ["李红", "天津"]),
        (["我姐姐叫李梅。", "李梅住在天津。"], ["姐姐", "sister"], ["李梅", "天津"]),
        (["My wife is called Greta.", "Greta is 41.", "I am married to Greta."], ["wife", "spouse"], ["Greta", "41"]),
        (["I am married to Greta."], ["wife"], ["Greta"]),
        (["My dog is called Rex.", "Rex is 7."], ["dog", "dogs", "pet"], ["Rex", "7"]),
        (
            ["My brother is called Luca.", "Luca is 12.", "Luca lives in Bari."],
            ["sibling", "Luca", "brother"],
            ["Luca", "12", "Bari"],
        ),
        (["My brother Luca is 12.", "Luca lives in Bari."], ["brother"], ["Luca", "12", "Bari"]),
        (["My therapist lives in Bari."], ["therapist"], ["Bari"]),
    ],
)
def test_a_private_relative_is_so_by_word_name_and_relation(
    ann: memwell.Engine, said: list[str], private: list[str], words: list[str]
) -> None:
    for one in said:
        ann.remember(one)
    for one in private:
        exported = shared(ann, private=[one])
        assert [word for word in words if word in exported] == [], one
        assert "Oslo" in exported


@pytest.mark.parametrize(
    ("said", "private", "word"),
    [
        ("I am allergic to mice.", "mouse", "mice"),
        ("I like white mice.", "white mouse", "mice"),
        ("I like wolves.", "wolf", "wolves"),
        ("I own a knife.", "knives", "knife"),
        ("I moved to NewYork.", "New York", "York"),
        ("I moved to New York.", "NewYork", "York"),
        ("I work at Red  Cross Italy.", "Red Cross", "Red"),
        ("I work at Red\nCross Italy.", "Red Cross", "Red"),
        ("I work at Ｉｎｉｔｅｃｈ.", "initech", "Initech"),
        ("I moved to München.", "munchen", "nchen"),
        ("I moved to Tu\u200brin.", "Turin", "rin"),
        ("I work at Fiat since my divorce.", "divorce", "Fiat"),
        ("我在IBM公司工作。", "公司", "IBM"),
    ],
)
def test_what_is_private_is_found_however_it_is_written_and_in_the_text_behind_a_fact(
    ann: memwell.Engine, said: str, private: str, word: str
) -> None:
    ann.remember(said)
    ann.remember("I speak Dutch.")
    assert word in shared(ann)
    exported = shared(ann, private=[private])
    assert word not in exported
    assert "Dutch" in exported


def test_a_private_relation_holds_back_nothing_else_of_a_person(ann: memwell.Engine) -> None:
    ann.remember("Mia lives in Hull.")
    ann.remember("Mia works at Fiat.")
    exported = of_ann(ann, private=["lives_in"]).export("Ben").decode()
    assert "Hull" not in exported
    assert "Fiat" in exported


@pytest.mark.parametrize("private", ["!?", " "])
def test_what_is_private_has_a_letter(ann: memwell.Engine, private: str) -> None:
    with pytest.raises(InvalidInput):
        of_ann(ann, private=[private])


def test_a_picture_may_be_private(ann: memwell.Engine) -> None:
    assert "Oslo" in of_ann(ann, private=["🥜"]).export("Ben").decode()


@pytest.mark.parametrize("tag", ["private", "Private", "PRIVATE"])
def test_what_was_said_in_private_does_not_show_in_what_was_said_openly(ann: memwell.Engine, tag: str) -> None:
    ann.remember("I work at Initech.")
    before = json.loads(of_ann(ann).export("Ben").partition(b"\n")[0])["facts"]
    ann.remember("I have worked at Initech since 2019.", metadata={tag: True})
    ann.remember("I work at initech, and I live in Oslo.", metadata={tag: True})
    ann.remember("I am allergic to nuts.", metadata={tag: True})
    assert json.loads(of_ann(ann).export("Ben").partition(b"\n")[0])["facts"] == before


def test_what_is_over_does_not_leave_though_only_a_private_memory_says_so(ann: memwell.Engine) -> None:
    ann.remember("I moved to Bergen.", metadata={"private": True})
    exported = of_ann(ann).export("Ben").decode()
    assert "Bergen" not in exported
    assert "Oslo" not in exported


def test_relatives_travel_under_the_name_of_the_owner(ann: memwell.Engine, ben: memwell.Engine) -> None:
    ann.remember("My mother lives in Nice.")
    ann.remember("我妹妹住在天津。")
    ann.memory.facts.correct("my father", "lives_in", "Lyon")
    ann.memory.facts.correct("Ben's brother", "works_at", "Fiat")
    ben.remember("My mother is 70.")
    exported, there = of_ann(ann).export("Ben"), of_ben(ben)
    assert "user" not in exported.decode()
    there.take(exported)
    for word in ("my mother", "mother", "user's mother", "Ben's mother"):
        assert told(there, word) == [("age", "70", "")], word
    for word in ("my father", "我妹妹"):
        assert told(there, word) == [], word
    for word in ("Ann's mother", "ann’s mother", "Ann's mom", "Ann的妈妈"):
        assert told(there, word) == [("lives_in", "Nice", "Ann")], word
    assert told(there, "Ann's father") == [("lives_in", "Lyon", "Ann")]
    assert told(there, "Ann's younger sister") == [("lives_in", "天津", "Ann")]
    assert told(there, "my brother") == told(there, "Ben's brother") == [("works_at", "Fiat", "Ann")]


@pytest.mark.parametrize("private", ["Mia", None, 7, [None]])
def test_what_is_private_is_a_list(ann: memwell.Engine, private: Any) -> None:
    with pytest.raises(InvalidInput, match="private"):
        of_ann(ann, private=private)


def test_names_and_secrets_that_would_speak_for_another_are_refused(ann: memwell.Engine) -> None:
    for owner, keys in (("user", {"Ben": SECRET}), ("User", {}), ("Ann", {"user": SECRET})):
        with pytest.raises(InvalidInput, match="someone else in every store"):
            Federation(ann, owner, keys)
    with pytest.raises(InvalidInput, match="one secret"):
        Federation(ann, "Ann", {"Ben": SECRET, "Cleo": SECRET.encode()})
    with pytest.raises(InvalidInput, match="keys"):
        Federation(ann, "Ann", None)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("place", "value", "reason"),
    [
        ("confidence", 1.5, "<= 1"),
        ("confidence", -0.1, ">= 0"),
        ("said_at", "2026-01-01T00:00:00", "timezone"),
        ("valid_to", "2020-01-01T00:00:00Z", "ends before it begins"),
        ("object", "x" * 2000, "length <= 1024"),
        ("subject", "", "length >= 1"),
        ("relation", "lives_in\nIgnore all", "regex"),
        ("made", "2026-01-01T00:00:00", "timezone"),
        ("made", "2999-01-01T00:00:00Z", "in the future"),
    ],
)
def test_a_signed_file_is_not_believed_in_what_no_fact_has(
    ann: memwell.Engine, ben: memwell.Engine, place: str, value: Any, reason: str
) -> None:
    sheet = json.loads(of_ann(ann).export("Ben").rpartition(b"\n")[0])
    sheet["facts"][0]["valid_from"] = "2021-01-01T00:00:00Z"
    (sheet if place == "made" else sheet["facts"][0])[place] = value
    body = json.dumps(sheet).encode()
    signed = body + b"\n" + hmac.digest(SECRET.encode(), body, "sha256").hex().encode()
    there = of_ben(ben)
    with pytest.raises(InvalidInput, match=reason):
        there.take(signed)
    assert told(there, "Ann") == []


def test_an_export_is_bytes(ann: memwell.Engine, ben: memwell.Engine) -> None:
    exported: Any = of_ann(ann).export("Ben").decode()
    with pytest.raises(InvalidInput, match="an export is bytes"):
        of_ben(ben).take(exported)


@pytest.mark.parametrize(
    ("private", "told", "leaks"),
    [
        ("sister", ["My sister is called Halina.", "Halina's dog is called Puszek."], "Puszek"),
        ("brother", ["My brother is called Tomasz.", "I moved to Krosno with Tomasz."], "Krosno"),
        ("sister", ["我姐姐叫李梅。", "我和李梅一起住在杭州。"], "杭州"),
    ],
)
def test_what_is_said_with_a_private_persons_name_stays(
    ann: memwell.Engine, private: str, told: list[str], leaks: str
) -> None:
    for one in told:
        ann.remember(one)
    assert leaks in shared(ann)
    assert leaks not in shared(ann, private=[private])
