"""A pass leaves the target equal to the source by itself; that the check would mend it is no excuse."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.messages import human
from memwell.records import Record, Space, Thread
from memwell.runtime.moving import copying as steps
from memwell.runtime.moving.checksums import PARTS, total_of
from memwell.runtime.moving.copying import Copier
from memwell.runtime.moving.marks import Marks
from memwell.runtime.moving.reading import spaces_of
from memwell.storage.memory import MemoryBackend
from memwell.storage.protocols import Backend
from memwell.testing.strategies import Operation, outcome, writes


def one_pass(source: Backend, target: Backend) -> int:
    copier = Copier(source, target, Marks(target), lambda _: None)
    spaces = {*spaces_of(source), *spaces_of(target)}
    changed = sum(getattr(copier, part)(space) for part in PARTS for space in spaces)
    copier.flush()
    return changed


@given(st.lists(st.lists(writes(), max_size=10), min_size=2, max_size=4), st.booleans(), st.integers(2, 30))
def test_every_pass_brings_all_that_was_done_since(rounds: list[list[Operation]], few: bool, long: int) -> None:
    with MemoryBackend() as source, MemoryBackend() as target, pytest.MonkeyPatch.context() as patch:
        patch.setattr(steps, "_FEW_CHANGES", 100 if few else 0)
        patch.setattr(steps, "_LONG", long)
        patch.setattr(steps, "_BATCH", 3)
        for made in rounds:
            for operation in made:
                outcome(operation, source)
            one_pass(source, target)
            assert total_of(target).hexdigest() == total_of(source).hexdigest()
        assert one_pass(source, target) == 0


def test_a_thread_that_only_grew_is_continued(monkeypatch: pytest.MonkeyPatch) -> None:
    talk = Thread(Space("home"), "talk")
    with MemoryBackend() as source, MemoryBackend() as target:
        source.log.append(talk, [human(f"{n}") for n in range(50)])
        one_pass(source, target)
        source.log.append(talk, [human("more"), human("and more")])
        restored: list[int] = []
        restore = target.log.restore

        def spied(info: object, places: list[object]) -> None:
            restored.append(len(places))
            restore(info, places)  # type: ignore[arg-type]

        monkeypatch.setattr(target.log, "restore", spied)
        assert one_pass(source, target) == 1
        assert sum(restored) == 2
        assert target.log.places(talk) == source.log.places(talk)


def test_a_record_that_went_and_came_back_is_where_the_source_has_it() -> None:
    home = Space("home")
    with MemoryBackend() as source, MemoryBackend() as target:
        source.index.upsert([Record(id=f"r{n}", text=f"{n}", space=home) for n in range(9)])
        one_pass(source, target)
        source.index.delete(home, ["r3", "r5"])
        source.index.upsert([Record(id="r3", text="again", space=home)])
        one_pass(source, target)
        assert target.index.scan(home).items == source.index.scan(home).items
