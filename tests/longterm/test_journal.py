from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import ReadOnlyStore
from memwell.longterm.journal import (
    Journal,
    ReadOnlyView,
    ReadView,
    inner_space,
    note_skipped,
    queue_skipped,
)
from memwell.longterm.memory import Memory
from memwell.messages import Message, human
from memwell.records import Record, Space, Thread
from memwell.storage import open_backend

ANN = Space("ann")


def test_only_what_has_no_vector_is_owed_one_and_once():
    with open_backend("memory:") as backend:
        journal = Journal(backend, ANN)
        records = [
            Record(text=f"m{n}", space=ANN, id=f"m{n}", vector=[1.0, 0.0] if n % 2 else None) for n in range(450)
        ]
        backend.index.upsert(records)
        queue_skipped(backend, ANN, journal)
        assert journal.after(0, 1000) == [], "nothing was skipped"
        note_skipped(backend, ANN)
        queue_skipped(backend, ANN, journal)
        queue_skipped(backend, ANN, journal)
        owed = [entry.metadata["embed"] for entry in journal.after(0, 1000)]
        assert sorted(owed) == sorted(record.id for record in records if record.vector is None)


def test_an_entry_that_was_processed_and_deleted_during_the_write_is_written(monkeypatch: pytest.MonkeyPatch):
    with open_backend("memory:") as backend:
        journal = Journal(backend, ANN)
        entry = human("I like tea.", id="tea")
        journal.write([entry])
        usual = backend.log.read

        def processed_first(thread: Thread, **options: Any) -> list[Message]:
            backend.log.trim(thread, 1)
            return usual(thread, **options)

        monkeypatch.setattr(backend.log, "read", processed_first)
        journal.write_new([entry, human("I like rye.", id="rye")])
        assert [one.id for one in usual(Thread(inner_space(ANN), "journal"))] == ["tea", "rye"]


# A space read ahead of a store that cannot be written: the same answers as if it could be, and nothing is written.


SPACE = Space("ann")
TEXTS = st.lists(st.sampled_from(["I like tea.", "I live in Rome.", "我喜欢喝茶。", "i like  tea"]), max_size=6)


def answers(memory: Memory) -> tuple[list[str], list[str]]:
    facts = [f"{fact.relation} {fact.object}" for fact in memory.facts.about("user")]
    return [record.text for record in memory._all()], facts


@given(TEXTS, TEXTS)
def test_it_is_what_the_store_would_be(done: list[str], owed: list[str]):
    with open_backend("memory:") as base:
        memory = Memory(base, SPACE)
        base.kv.put(SPACE, "own", 1)
        memory.remember(done)
        memory.flush()
        memory.remember(owed)
        marks = memory.indexer.journal.marks()
        reading = ReadView(base, SPACE, memory.indexer.journal)
        assert not reading.is_fresh(marks)
        reading.build(marks, lambda copy, pending: memory.indexer._index_copy(copy, pending, embed=False))
        assert reading.is_fresh(marks)
        build = answers(Memory(reading.view, SPACE))
        assert memory.pending().words == len(owed)
        assert build == answers(memory)
        assert reading.view.kv.get(SPACE, "own") == base.kv.get(SPACE, "own"), "the values of the space are in it too"
        reading.reset()
        assert reading.view is base


def test_nothing_is_written_to_it():
    with open_backend("memory:") as base, open_backend("memory:") as copy:
        copy.kv.put(SPACE, "key", 1)
        view = ReadOnlyView(base, copy, SPACE)
        record = Record(text="tea", space=SPACE)
        for write in (
            lambda: view.kv.put(SPACE, "key", 2),
            lambda: view.kv.delete(SPACE, "key"),
            lambda: view.index.upsert([record]),
            lambda: view.index.delete(SPACE, [record.id]),
        ):
            with pytest.raises(ReadOnlyStore, match="where it can be written"):
                write()
        view.index.upsert([])
        assert view.index.info(SPACE).records == 0
