from __future__ import annotations

from memwell.longterm.journal import Journal
from memwell.longterm.reminders import make_up_for_skipped, note_skipped, reminder
from memwell.records import Record, Space
from memwell.storage import open_backend

ANN = Space("ann")


def test_only_what_has_no_vector_is_owed_one_and_once():
    with open_backend("memory:") as backend:
        journal = Journal(backend, ANN)
        records = [
            Record(text=f"m{n}", space=ANN, id=f"m{n}", vector=[1.0, 0.0] if n % 2 else None) for n in range(450)
        ]
        backend.index.upsert(records)
        make_up_for_skipped(backend, ANN, journal)
        assert journal.after(0, 1000) == [], "nothing was skipped"
        note_skipped(backend, ANN)
        make_up_for_skipped(backend, ANN, journal)
        make_up_for_skipped(backend, ANN, journal)
        owed = [entry.metadata["embed"] for entry in journal.after(0, 1000)]
        assert sorted(owed) == sorted(record.id for record in records if record.vector is None)


def test_a_reminder_names_its_memory():
    assert reminder("a").metadata == {"embed": "a"}
