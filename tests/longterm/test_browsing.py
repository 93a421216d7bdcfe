"""Looking through memories without a question."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import memwell
from memwell.errors import InvalidInput
from memwell.longterm.memory import Memory
from memwell.longterm.recall import Recalled
from memwell.longterm.snapshot_cache import Snapshots
from memwell.storage import open_backend

START = datetime(2026, 3, 1, tzinfo=UTC)
WORDS = ("Budget", "release", "Oslo", "预算")
SPEAKERS = ("Ann", "ben", "")
SESSIONS = ("standup", "lunch", "")
PROJECTS = ("apollo", "orion", None, True, 3)

SAID = st.tuples(
    st.sampled_from(WORDS), st.sampled_from(SPEAKERS), st.sampled_from(SESSIONS), st.sampled_from(PROJECTS),
    st.integers(0, 40),
)  # fmt: skip


def _remembered(m: Any, said: list[tuple[Any, ...]]) -> list[Recalled]:
    for number, (word, speaker, session, project, day) in enumerate(said):
        metadata = {} if project is None else {"project": project}
        m.remember(
            f"Note {number} on the {word}.", speaker=speaker or None, session=session or None, metadata=metadata,
            time=START + timedelta(days=day, minutes=number), id=f"n{number}",
        )  # fmt: skip
    return m.memories()


@given(
    said=st.lists(SAID, max_size=12),
    word=st.sampled_from(("", "budget", "note oslo", "预")),
    speakers=st.lists(st.sampled_from(SPEAKERS[:2]), max_size=2),
    projects=st.lists(st.sampled_from([one for one in PROJECTS if one is not None]), max_size=2),
    since=st.none() | st.integers(0, 40),
    sort=st.sampled_from(("time", "speaker", "session", "kind")),
    descending=st.booleans(),
)
def test_it_lists_and_counts_what_a_look_at_every_memory_finds(
    said: list[Any], word: str, speakers: list[str], projects: list[Any], since: int | None, sort: str, descending: bool
) -> None:
    chosen: dict[str, Any] = {"speaker": speakers} if speakers else {}
    chosen |= {"metadata.project": projects} if projects else {}
    first = None if since is None else START + timedelta(days=since)

    def fits(one: Recalled, without: str = "") -> bool:
        own = one.metadata.get("project")
        return (
            all(piece in one.text.casefold() for piece in word.split())
            and (first is None or one.time >= first)
            and (not speakers or without == "speaker" or one.speaker in speakers)
            and (not projects or without == "metadata.project" or any(own is p or own == p != True for p in projects))  # noqa: E712
        )

    with memwell.open("memory:", embedder=None) as m:
        everything = _remembered(m, said)
        found = m.browse(
            text=word, chosen=chosen, since=first, sort=sort, descending=descending, limit=1000, facets=True
        )
        expected = [one for one in everything if fits(one)]
        assert {one.id for one in found.items} == {one.id for one in expected}
        assert found.total == len(expected)
        keys = [getattr(one, sort) if sort == "time" else getattr(one, sort).casefold() for one in found.items]
        named = [key for key in keys if key != ""]
        assert named == sorted(named, reverse=descending)
        for facet in found.facets:
            field = facet.field.removeprefix("metadata.")
            others = [one for one in everything if fits(one, facet.field)]
            values = [one.metadata.get(field) if "." in facet.field else getattr(one, field) for one in others]
            assert {(str(v.value), v.count) for v in facet.values} == {
                (str(value), [str(v) for v in values].count(str(value))) for value in values if value not in ("", None)
            }
        counted = m.activity(text=word, chosen=chosen, since=first, steps=7)
        assert counted.total == sum(counted.counts) == len(expected)


@pytest.mark.parametrize("descending", [True, False])
def test_the_order_by_importance_is_that_of_the_importance_it_shows(descending: bool) -> None:
    with memwell.open("memory:", embedder=None) as m:
        for text in ("My sister Ann moved to Oslo on 3 May 2026.", "Ok.", "Remember: I am allergic to nuts.", "Why?"):
            m.remember(text)
        m.remember("Budget", importance=0.9)
        found = [one.importance for one in m.browse(sort="importance", descending=descending).items]
        assert len(set(found)) > 3
        assert found == sorted(found, reverse=descending)


def test_a_page_begins_where_the_one_before_ended() -> None:
    with memwell.open("memory:", embedder=None) as m:
        _remembered(m, [("Budget", "Ann", "", None, day) for day in range(10)])
        pages = [[one.id for one in m.browse(limit=4, offset=at).items] for at in (0, 4, 8)]
        assert pages == [["n9", "n8", "n7", "n6"], ["n5", "n4", "n3", "n2"], ["n1", "n0"]]


def test_a_change_is_seen_and_a_forgotten_memory_is_not() -> None:
    """Also after texts and metadata were read once."""
    with memwell.open("memory:", embedder=None) as m:
        _remembered(m, [("Budget", "Ann", "", "apollo", 1), ("Oslo", "Ann", "", "orion", 2)])
        assert m.browse(text="oslo", facets=True).total == 1
        m.update("n1", text="Note 1 on Porto.", metadata={"project": "zephyr", "urgent": True})
        m.forget("n0")
        assert m.browse(text="oslo").total == 0
        found = m.browse(text="porto", facets=True)
        assert [one.id for one in found.items] == ["n1"]
        assert {one.field for one in found.facets} == {"speaker", "kind", "metadata.project", "metadata.urgent"}


def test_a_step_counts_what_was_said_in_it() -> None:
    with memwell.open("memory:", embedder=None) as m:
        _remembered(m, [("Budget", "Ann", "", None, day) for day in (0, 0, 3)])
        counted = m.activity(since=START, until=START + timedelta(days=4), steps=4)
        assert counted.counts == [2, 0, 0, 1]
        assert counted.step_s == 86_400
        assert m.activity(chosen={"speaker": ["nobody"]}).counts == []


def test_what_was_stored_in_a_time_is_counted_however_long_ago_it_was_said() -> None:
    clock = [START]
    with open_backend("memory:") as backend:
        m = Memory(backend, "ann", embedder=None, clock=lambda: clock[0])
        m.remember("The release is in May.")
        clock[0] = START + timedelta(days=2)
        for day in (-400, -300, 1):
            m.remember(f"Note of day {day}.", time=START + timedelta(days=day))
        counted = m.activity(since=START, until=START + timedelta(days=3), steps=3, by="stored")
        assert counted.counts == [1, 0, 3]
        assert (
            m.activity(since=START + timedelta(days=1), until=START + timedelta(days=3), steps=1, by="stored").total
            == 3
        )
        assert m.activity(since=START, until=START + timedelta(days=3), steps=3).counts == [1, 1, 0]
        with pytest.raises(InvalidInput, match="by when"):
            m.activity(by="read")


def test_a_space_too_large_to_sort_lists_its_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    with memwell.open("memory:", embedder=None) as m:
        _remembered(m, [("Budget", "Ann", "", None, day) for day in range(5)])
        monkeypatch.setattr(Snapshots, "suits", lambda *_: False)
        found = m.browse(text="Budget", chosen={"speaker": "Ann"}, limit=2, offset=1, facets=True)
        assert [one.id for one in found.items] == ["n3", "n2"]
        assert (found.total, found.facets) == (None, [])
        assert m.activity().counts == []


@pytest.mark.parametrize("asked", [{"sort": "colour"}, {"chosen": {"colour": ["red"]}}, {"limit": 0}, {"offset": -1}])
def test_what_cannot_be_asked_is_refused(asked: dict[str, Any]) -> None:
    with memwell.open("memory:", embedder=None) as m, pytest.raises(InvalidInput):
        m.browse(**asked)
    with memwell.open("memory:", embedder=None) as m, pytest.raises(InvalidInput):
        m.activity(steps=1001)
