from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import InvalidInput
from memwell.longterm.audit import KINDS, AuditProblem, AuditReport, Rules, audit
from memwell.longterm.gate import Policy
from memwell.longterm.traits import FORGOTTEN, Evidence, Traits, blobs_space, with_traits
from memwell.records import Record, Space
from memwell.storage import open_backend

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SECRET = "sk-proj-abc123DEF456ghi789JKL0"
HOME = "I live in Paris with my sister and two cats."


def memory(id_: str, text: str, *, space: str = "s", days: int = 0, kind: str = "memory", **traits: object) -> Record:
    metadata = with_traits({}, Traits(**traits))  # pyright: ignore[reportArgumentType]
    return Record(id=id_, text=text, space=Space(space), kind=kind, time=NOW - timedelta(days=days), metadata=metadata)


def found(report: AuditReport) -> list[tuple[str, str, str, str]]:
    return [(one.record, one.kind, one.code, one.action.verb) for one in report.problems]


def look(*records: Record, **options: object) -> AuditReport:
    return audit(records, now=NOW, **options)  # pyright: ignore[reportArgumentType]


def test_a_sound_memory_has_no_problems():
    report = look(memory("a", HOME), memory("b", "Anna plays the cello."), memory("c", "对"), memory("d", "对"))
    assert report == AuditReport(4)
    assert report.counts == {}
    assert report.plan == []
    assert "Nothing to repair" in report.text()
    assert "没有需要处理的问题" in report.text("zh")


def test_secrets_are_to_be_redacted_even_in_what_was_forgotten():
    report = look(memory("a", f"the key is {SECRET}"), memory("b", "密码是abc12345", status=FORGOTTEN))
    assert found(report) == [("a", "secret", "secret", "redact"), ("b", "secret", "secret", "redact")]
    assert [action.text for action in report.plan] == ["the key is [api_key]", "密码是[password]"]
    assert report.problems[0].details == {"kinds": "api_key × 1"}


def test_personal_data_is_a_problem_only_for_a_policy_that_says_so():
    record = memory("a", "Write to ann@example.com when you are there")
    assert look(record).problems == ()
    strict = look(record, rules=Rules(policy=Policy(personal="refuse")))
    assert [action.text for action in strict.plan] == ["Write to [email] when you are there"]


def test_junk_is_what_the_gate_refuses():
    records = (
        memory("a", "..."), memory("b", "asdfghjkl"),
        memory("c", "As an AI language model, I do not have feelings.", trust="model"), memory("d", "?!", pinned=True),
        memory("e", "...", status=FORGOTTEN), memory("f", "hello there", trust="a trust of tomorrow"),
    )  # fmt: skip
    report = look(*records)
    assert [(one.record, one.details["why"], one.action.verb) for one in report.problems] == [
        ("a", "empty", "forget"), ("b", "noise", "forget"), ("c", "boilerplate", "forget"), ("d", "empty", "review"),
    ]  # fmt: skip
    assert "模型的套话" in report.problems[2].reason_in("zh")


def test_the_best_of_the_same_stays():
    report = look(
        memory("a", HOME),
        memory("b", HOME.upper(), importance=0.9),
        memory("c", f"  {HOME[:-1]}"),
        memory("d", HOME, pinned=True, importance=0.1),
    )
    assert [(one.record, one.action.into) for one in report.problems] == [("a", "d"), ("b", "d"), ("c", "d")]
    assert report.counts == {"duplicate": 3}


def test_near_duplicates_merge_when_nothing_is_lost_and_are_reviewed_otherwise():
    longer = look(memory("a", HOME), memory("b", f"{HOME[:-1]} now"), memory("c", HOME.replace("two", "three")))
    assert found(longer) == [("b", "near_duplicate", "alike", "merge")]
    other = look(memory("a", HOME), memory("b", HOME.replace("sister", "brother")), rules=Rules(alike=0.6))
    assert found(other) == [("b", "near_duplicate", "alike", "review")]
    assert other.plan[0].others == ("a",)


@pytest.mark.parametrize(
    "change", [{"speaker": "Bob"}, {"space": "t"}, {"kind": "insight"}, {"session": "monday"}, {"status": FORGOTTEN}]
)
def test_only_what_is_of_the_same_owner_and_no_message_is_a_duplicate(change: dict):
    assert look(memory("a", HOME), memory("b", HOME, **change)).problems == ()


def test_stale_is_what_is_over_or_old_and_unwanted():
    unwanted = {"days": 400, "importance": 0.1}
    report = look(
        memory("a", "the sale ends on Monday", expires=NOW - timedelta(days=1)),
        memory("b", "the sale went on and on", expires=NOW + timedelta(days=1)),
        memory("c", "a day in the country", **unwanted),
        memory("d", "a trip to the sea side", uses=1, **unwanted),
        memory("e", "an evening at the opera", pinned=True, **unwanted),
        memory("f", "an afternoon in a museum", useful=1, **unwanted),
        memory("g", "the colour of the door", days=400),
        memory("h", "the name of the street", days=300, importance=0.1),
        memory("i", "the end of the road", pinned=True, expires=NOW),
    )
    assert found(report) == [
        ("a", "stale", "expired", "forget"),
        ("c", "stale", "unused", "forget"),
        ("i", "stale", "expired", "review"),
    ]


def test_what_is_too_long_is_to_be_shortened():
    report = look(memory("a", "word " * 30), rules=Rules(most_characters=100))
    assert found(report) == [("a", "oversize", "oversize", "shorten")]
    assert report.problems[0].reason == "150 characters, more than 100"


def test_broken_is_what_cannot_be_read_or_points_nowhere():
    unreadable = Record(id="a", text="some text", space=Space("s"), time=NOW, metadata={"memwell": {"uses": "many"}})
    records = (
        unreadable,
        memory("b", "learnt from two", evidence=(Evidence(message="m1"), Evidence(record="gone"))),
        memory("c", "learnt from one", evidence=(Evidence(message="m1"),)),
        memory("d", "an old word", status="superseded", replaced_by="gone"),
    )
    assert found(look(*records)) == [("a", "broken", "traits", "review")]
    report = look(*records, known={"m1"})
    assert [(one.record, one.code) for one in report.problems] == [
        ("a", "traits"),
        ("b", "evidence"),
        ("d", "replaced"),
    ]
    assert report.problems[1].reason == "1 of 2 pieces of evidence point nowhere"


def test_bytes_that_are_missing_are_broken():
    backend = open_backend("memory:")
    here = backend.blobs.put(blobs_space(Space("s")), b"a picture")
    elsewhere = backend.blobs.put(Space("s"), b"another")
    records = (
        memory("a", "a picture of a cat", kind="image", blobs=(here,)),
        memory("b", "a picture of a dog", kind="image", blobs=(here, elsewhere)),
        memory("c", "a picture of a cow", kind="image", status=FORGOTTEN, blobs=("0" * 64,)),
        memory("d", "a picture of an ox", kind="image", blobs=("no digest",)),
    )
    assert look(*records).problems == ()
    report = look(*records, blobs=backend.blobs)
    assert found(report) == [(id_, "broken", "blobs", "review") for id_ in "bcd"]
    assert report.problems[0].reason == "1 of 2 blobs that it names are not in the store"
    assert "不在存储中" in report.text("zh")


class Said(NamedTuple):
    record: str


class Claim(NamedTuple):
    subject: str
    relation: str
    object: str
    evidence: tuple[Said, ...]


class Clash(NamedTuple):
    kept: Claim
    other: Claim


def test_contradictions_come_from_the_facts_of_the_caller():
    kept = Claim("Ann", "lives_in", "Rome", (Said("new"), Said("newer")))
    other = Claim("Ann", "lives_in", SECRET, (Said("old"), Said("elsewhere")))
    records = [memory("old", "I live in Paris now"), memory("new", "I live in Rome now")]
    report = look(*records, facts=[Clash(kept, other)])
    assert found(report) == [("old", "contradiction", "facts", "review")]
    assert report.plan[0].others == ("new", "newer")
    assert SECRET not in report.text()
    told = "“I live in Paris now” contradicts “I live in Rome now”, which is believed"
    assert f"Ann, lives in: [api_key] or Rome? {told}" in report.text()
    assert "Ann，住在：[api_key] 还是 Rome？“I live in Paris now”与“I live in Rome now”矛盾" in report.text("zh")


pieces = st.sampled_from(
    [
        HOME, HOME.upper(), f"{HOME} now", "...", f"key {SECRET}", f"{HOME} {SECRET}", "asdfghjkl",
        "密码是abc12345，记住它", "x " * 300,
    ]
)  # fmt: skip
memories = st.lists(
    st.tuples(pieces, st.sampled_from([0, 500]), st.sampled_from([0.1, 0.9]), st.booleans(), st.sampled_from("st")),
    max_size=12,
)


def _records(values: Iterable[tuple[str, int, float, bool, str]]) -> list[Record]:
    return [
        memory(str(place), text, days=days, importance=importance, pinned=pinned, space=space)
        for place, (text, days, importance, pinned, space) in enumerate(values)
    ]


@given(memories)
def test_a_plan_touches_each_record_once_and_merges_only_into_what_stays(values: list):
    records = _records(values)
    plan = look(*records, rules=Rules(most_characters=400)).plan
    going = [step.record for step in plan if step.verb in ("forget", "merge")]
    assert len(going) == len(set(going))
    assert not {step.into for step in plan} & set(going)
    assert not {step.record for step in plan if step.verb in ("shorten", "review")} & set(going)
    spaces = {record.id: record.space for record in records}
    assert all(spaces[step.record] == step.space == spaces.get(step.into, step.space) for step in plan)
    assert not {str(place) for place, value in enumerate(values) if value[3]} & {
        s.record for s in plan if s.verb == "forget"
    }


@given(memories)
def test_a_report_tells_every_kind_and_no_secret_in_either_language(values: list):
    report = look(*_records(values))
    assert sum(report.counts.values()) == len(report.problems)
    assert list(report.counts) == [kind for kind in KINDS if kind in report.counts]
    for language in ("en", "zh-CN"):
        report_text = report.text(language)
        assert SECRET not in report_text
        assert "abc12345" not in report_text
    assert SECRET not in repr(report)


def test_the_report_for_people():
    report = look(memory("a", "..."), memory("b", f"key {SECRET}"))
    assert report.text() == (
        "Memories looked at: 2. Problems: 2.\n\n"
        "  kind     number  proposed\n"
        "  secrets       1  redact 1\n"
        "  junk          1  forget 1\n\n"
        "Examples\n"
        "  secrets: b “key [api_key]”: it holds api_key × 1: redact\n"
        "  junk: a “...”: empty: it holds no word, number or emoji: forget\n"
    )
    assert "  机密信息     1  遮盖 1\n" in report.text("zh")


def test_examples_are_few_and_progress_is_told():
    report_text: list[int] = []
    records = (memory(str(number), "...") for number in range(600))
    report = audit(records, now=NOW, rules=Rules(examples=2), progress=report_text.append)
    assert report_text == [256, 512, 600]
    assert [problem.example for problem in report.problems] == ["...", "...", *[""] * 598]
    assert isinstance(report.problems[0], AuditProblem)


@pytest.mark.parametrize(
    "values", [{"alike": 0}, {"alike": 2}, {"most_characters": 0}, {"stale_after": timedelta(days=-1)}]
)
def test_rules_must_make_sense(values: dict):
    with pytest.raises(InvalidInput):
        Rules(**values)
