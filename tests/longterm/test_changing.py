"""Changes reach the vector, and what lies beside memories goes with the last of them that names it."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import apsw
import pytest
from msgspec.structs import replace

from memwell.errors import BackendError, Conflict, InvalidInput, ModelError, NotFound
from memwell.filters import Filter
from memwell.longterm.changing import Erased, Forgetting
from memwell.longterm.gate import Gate, Policy
from memwell.longterm.memory import Memory
from memwell.longterm.traits import Evidence, blobs_space, features_space, own_metadata, traits_of, with_traits
from memwell.models.ports import Floats
from memwell.models.scripted import HashEmbedder
from memwell.records import Record
from memwell.storage import open_backend
from memwell.storage.scrubbing import PendingScrubs, pending_scrubs, scrub_pending
from memwell.storage.sqlite import SqliteBackend
from tests.longterm.conftest import NOON, Bench
from tests.storage.sqlite.test_connections import FaultyFiles


def attach(memory: Memory, id_: str, *blobs: bytes, vector: list[float] | None = None) -> list[str]:
    """Let bytes and a vector of features belong to a memory."""
    memory.catch_up()
    [record] = memory.backend.index.get(memory.space, [id_])
    digests = [memory.backend.blobs.put(blobs_space(memory.space), one) for one in blobs]
    traits = replace(traits_of(record), blobs=tuple(digests), features=len(vector or ()))
    memory.backend.index.upsert([replace(record, metadata=with_traits(own_metadata(record), traits))])
    if vector:
        space = features_space(memory.space, len(vector))
        memory.backend.index.upsert([Record(text="", space=space, id=id_, vector=vector)])
    return digests


def holds(memory: Memory, digest: str) -> bool:
    try:
        memory.backend.blobs.get(blobs_space(memory.space), digest)
    except NotFound:
        return False
    return True


def test_an_erasure_reads_only_what_rests_on_others(memory: Memory, monkeypatch: pytest.MonkeyPatch):
    """However many memories there are; what was derived goes too, and what stays no longer names what is gone."""
    erased, other = (memory.remember(text).id for text in ("I like tea.", "I like cake."))
    derived = memory.remember("Likes tea.", trust="derived", evidence=[Evidence(record=erased)]).id
    further = memory.remember("Likes hot drinks.", trust="derived", evidence=[Evidence(record=derived)]).id
    said = memory.remember("They like tea and cake.", evidence=[Evidence(record=erased), Evidence(record=other)]).id
    memory.remember([f"Note {number}." for number in range(50)])
    memory.catch_up()
    read: list[str] = []
    index, scan = memory.backend.index, memory.backend.index.scan

    def scanned(*given: Any, **options: Any) -> Any:
        page = scan(*given, **options)
        read.extend(one.id for one in page.items)
        return page

    monkeypatch.setattr(index, "scan", scanned)
    assert memory.erase(erased).derived == 2
    assert sorted(read) == sorted([derived, further, said])
    assert [one.record for one in traits_of(*index.get(memory.space, [said])).evidence] == [other]


def test_a_blob_stays_for_what_a_memory_was_before(memory: Memory):
    kept, gone = memory.remember("kept").id, memory.remember("gone").id
    [old] = attach(memory, kept, b"old")
    attach(memory, gone, b"old")
    memory.update(kept, "kept and changed")
    attach(memory, kept, b"new")
    assert memory.erase(gone).blobs == 0
    assert holds(memory, old)
    memory.undo(kept)
    assert memory.erase(kept).blobs == 1
    assert not holds(memory, old)


def test_a_failure_leaves_everything(memory: Memory, monkeypatch: pytest.MonkeyPatch):
    id_ = memory.remember("stays").id
    [digest] = attach(memory, id_, b"bytes", vector=[1.0])

    def fail(*args: object) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr(memory.backend.index, "delete", fail)
    with pytest.raises(OSError, match="gone"):
        memory.erase(id_)
    monkeypatch.undo()
    assert holds(memory, digest)
    assert memory.get(id_).text == "stays"


def test_nothing_is_owed_after_everything_was_erased():
    with open_backend("memory:") as backend:
        memory = Memory(backend, "ann")
        memory.remember(["Ann likes tea.", "Ben likes coffee."])
        memory.flush()
        memory.erase_all()
        assert (memory.pending().words, memory.pending().vectors) == (0, 0)
        memory.remember("Cleo likes cocoa.")
        assert [hit.text for hit in memory.recall("cocoa")] == ["Cleo likes cocoa."]
        assert memory.pending().words == 0


class Interrupted(HashEmbedder):
    """An embedder during whose next call something else happens, as in another thread."""

    def __init__(self, meanwhile: Callable[[], object] = lambda: None) -> None:
        super().__init__(64)
        self.meanwhile = meanwhile

    def embed(self, texts: Sequence[str]) -> Floats:
        happens, self.meanwhile = self.meanwhile, lambda: None
        happens()
        return super().embed(texts)


def down() -> None:
    raise ModelError("the embedder is down")


def has_own_vector(memory: Memory, id_: str) -> bool:
    """Whether the vector of a memory is that of its text now."""
    [record] = memory.backend.index.get(memory.space, [id_])
    [wanted] = HashEmbedder(64).embed([memory.indexer.embedded_text(record)])
    return record.vector is not None and list(record.vector) == pytest.approx(list(wanted), abs=1e-3)


CHANGES: dict[str, Callable[[Memory, str], object]] = {
    "update": lambda memory, id_: memory.update(id_, "Ann drinks cocoa."),
    "undo": lambda memory, id_: memory.undo(id_),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_memory_that_changes_while_it_is_embedded_gets_the_vector_of_its_last_text(bench: Bench, change: str):
    embedder = Interrupted()
    memory = bench.memory(embedder=embedder)
    ids = memory.remember([f"Ann drinks tea number {number}." for number in range(40)]).ids
    memory.flush()
    for id_ in ids:
        # While the embedder is down more of them wait than a change embeds by itself.
        embedder.meanwhile = down
        memory.update(id_, f"Ann drinks coffee: {id_}.")
    memory.catch_up()
    embedder.meanwhile = lambda: [CHANGES[change](bench.memory(), id_) for id_ in ids]
    memory.flush()
    assert memory.pending().vectors == 0
    assert all(has_own_vector(memory, id_) for id_ in ids)


def test_a_text_that_was_changed_without_an_embedder_gets_its_vector_later(bench: Bench):
    id_ = bench.memory().remember("Ann drinks tea.").id
    bench.memory().flush()
    plain = bench.memory(embedder=None)
    plain.update(id_, "Ann drinks coffee.")
    plain.flush()
    memory = bench.memory()
    memory.flush()
    assert has_own_vector(memory, id_)


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_that_raised_has_changed_nothing(bench: Bench, change: str, monkeypatch: pytest.MonkeyPatch):
    memory = bench.memory()
    id_ = memory.remember("Ann drinks tea.").id
    memory.update(id_, "Ann drinks coffee.")
    memory.flush()
    append = memory.backend.log.append

    def full(*args: Any, **options: Any) -> Any:
        raise BackendError("the disk is full")

    monkeypatch.setattr(memory.backend.log, "append", full)
    with pytest.raises(BackendError, match="full"):
        CHANGES[change](memory, id_)
    monkeypatch.setattr(memory.backend.log, "append", append)
    assert memory.get(id_).text == "Ann drinks coffee."
    assert [version.record.text for version in memory.history(id_)] == ["Ann drinks tea."]
    assert has_own_vector(memory, id_)


# What changes between reading and writing


class Overtaken(Memory):
    """A memory that something happens to after the first time that it is read whole."""

    meanwhile: Callable[[], object] | None = None

    def _all(self, where: Filter | None = None) -> Iterator[Record]:
        happens, self.meanwhile = self.meanwhile, None
        yield from super()._all(where)
        if happens is not None:
            happens()


@pytest.fixture
def overtaken(bench: Bench) -> Overtaken:
    return Overtaken(bench.backend, "ann", embedder=bench.embedder, clock=lambda: bench.now)


def test_a_policy_keeps_what_changes_meanwhile(overtaken: Overtaken, bench: Bench):
    kept, gone = overtaken.remember(["Ann likes tea.", "Ben likes coffee."]).ids
    overtaken.meanwhile = lambda: bench.memory().pin(kept)
    assert overtaken.forget_by(Forgetting()).ids == [gone]
    assert overtaken.get(kept).pinned


def test_a_purge_keeps_what_is_restored_meanwhile(overtaken: Overtaken, bench: Bench):
    kept, gone = overtaken.remember(["Ann likes tea.", "Ben likes coffee."]).ids
    overtaken.forget([kept, gone])
    bench.pass_time(days=2)
    overtaken.meanwhile = lambda: bench.memory().undo(kept)
    assert overtaken.purge(86_400).memories == 1
    assert [one.id for one in overtaken.memories()] == [kept]


def test_a_group_of_which_one_changes_meanwhile_is_not_merged(overtaken: Overtaken, bench: Bench):
    texts = ["Ann really likes green tea in the morning", "Ann really likes green tea in the morning now"]
    ids = overtaken.remember(texts).ids
    overtaken.meanwhile = lambda: bench.memory().update(ids[0], "Ann gave up tea.")
    done = overtaken.compress(threshold=0.5)
    assert (done.merges, [{one.kept, *one.merged} for one in done.skipped], done.after) == ([], [set(ids)], 2)
    assert {one.text for one in overtaken.memories()} == {"Ann gave up tea.", texts[1]}


def test_an_insight_does_not_say_what_was_erased_meanwhile(overtaken: Overtaken, bench: Bench):
    ids = overtaken.remember([f"Carla moved the meeting to room {number}." for number in range(4)]).ids
    overtaken.meanwhile = lambda: bench.memory().erase(ids[0])
    assert all(ids[0] not in {source.record for source in one.evidence} for one in overtaken.reflect())
    assert not any("room 0" in one.text for one in overtaken.memories())
    assert overtaken.reflect() != []


def test_a_plan_skips_what_has_changed_since(bench: Bench):
    memory = bench.memory(gate=Gate(Policy(secrets="flag")))
    secret = memory.remember("My password is hunter2-Xy77! for the server").id
    for end in ".!":
        memory.remember(f"Ann really likes green tea in the morning{end}", id=f"tea{end}")
    plan = memory.audit().plan
    assert sorted(one.verb for one in plan) == ["merge", "redact"]
    memory.update(secret, "The server has no password any more.")
    memory.undo(secret)
    # The second version again, and not the one that was audited.
    memory.update(secret, "The server is in Porto.")
    done = memory.repair(plan)
    assert (done.done, [one.record for one in done.skipped]) == (1, [secret])
    assert {one.text.rstrip(".!") for one in memory.memories()} == {
        "The server is in Porto",
        "Ann really likes green tea in the morning",
    }


def test_the_steps_of_a_plan_do_not_hinder_each_other(memory: Memory):
    texts = [f"Ann really likes green tea in the morning{end}" for end in ("", ".", "!", " .", "!!")]
    for number, text in enumerate(texts):
        memory.remember(text, id=f"tea {number}")
    plan = memory.audit().plan
    assert len(plan) == 4
    assert memory.repair(plan).skipped == ()
    assert memory.count() == 1


def test_a_lost_vector_is_found_and_made_again(memory: Memory):
    lost, kept = memory.remember(["Ann likes tea.", "Ben likes coffee."]).ids
    memory.flush()
    [record] = memory.backend.index.get(memory.space, [lost])
    memory.backend.index.upsert([replace(record, vector=None)])
    [problem] = memory.audit().problems
    assert (problem.record, problem.kind, problem.code, problem.action.verb) == (lost, "broken", "vector", "embed")
    assert memory.repair(memory.audit().plan).done == 1
    memory.flush()
    assert has_own_vector(memory, lost)
    assert has_own_vector(memory, kept)
    assert memory.audit().problems == ()


def test_a_text_without_a_vector_of_its_own_has_lost_none(memory: Memory):
    memory.remember("🎉🎉🎉")
    memory.flush()
    assert memory.audit().counts.get("broken") is None


# Calls that are tried again


def test_a_call_that_is_tried_again_changes_nothing_more(memory: Memory):
    for _ in range(2):
        memory.remember("Ann likes tea.", id="tea", speaker="Ann", metadata={"a": 1})
    memory.flush()
    memory.remember("Ann likes tea.", id="tea", speaker="Ann", metadata={"a": 1})
    for _ in range(2):
        memory.update("tea", "Ann likes cocoa.", importance=0.9)
        memory.pin("tea")
    assert [version.reason for version in memory.history("tea")] == ["updated", "pinned"]
    memory.remember("Ann likes cocoa!", id="again")
    for _ in range(2):
        merged = memory.merge("tea", ["again"])
    assert len([version for version in memory.history("tea") if version.reason == "merged"]) == 1
    assert memory.forget("tea") == ["tea"]
    assert memory.forget("tea") == []
    assert memory.undo("tea").text == merged.text
    with pytest.raises(Conflict):
        memory.remember("Ann likes tea.", id="tea", speaker="Ann", metadata={"a": 1})


def test_a_version_keeps_a_change_from_being_made_twice(memory: Memory):
    id_ = memory.remember("Ann likes tea.").id
    for wrong in ("1", True, -1, 0, 1.0):
        with pytest.raises(InvalidInput, match="version must be a whole number"):
            memory.update(id_, "Ann likes coffee.", version=wrong)  # pyright: ignore[reportArgumentType]
    first = memory.update(id_, "Ann likes coffee.", version=1)
    second = memory.feedback(id_, useful=True, version=first.version)
    third = memory.undo(id_, version=second.version)
    assert (first.version, second.version, third.version) == (2, 3, 4)
    for change in (
        lambda: memory.update(id_, "Ann likes water.", version=1),
        lambda: memory.feedback(id_, useful=True, version=first.version),
        lambda: memory.undo(id_, version=second.version),
    ):
        with pytest.raises(Conflict, match="version 4"):
            change()
    assert memory.get(id_) == third
    assert memory.undo(id_).text == "Ann likes tea."


# Erasing that is interrupted


@pytest.mark.parametrize("wait", [True, False])
@pytest.mark.parametrize("erase", ["erase", "erase_all"])
def test_an_erasure_is_whole_or_not_at_all_and_goes_on_where_it_was(
    bench: Bench, erase: str, wait: bool, monkeypatch: pytest.MonkeyPatch
):
    memory = bench.memory()
    id_ = memory.remember("Ann likes tea.").id
    memory.update(id_, "Ann likes coffee.")
    before = (memory.get(id_), len(memory.history(id_)))

    def call(name: str, *, wait: bool) -> Erased:
        return memory.erase(id_, wait=wait) if name == "erase" else memory.erase_all(wait=wait)

    def fail(*args: object, **options: object) -> Any:
        raise BackendError("the disk is full")

    memory.uncache = fail
    with pytest.raises(BackendError):
        call(erase, wait=wait)
    assert pending_scrubs(memory.backend).count == 0
    assert (memory.get(id_), len(memory.history(id_))) == before
    memory.uncache = None
    monkeypatch.setattr(memory.backend, "scrub", fail)
    if wait:
        with pytest.raises(BackendError):
            call(erase, wait=True)
    else:
        erased = call(erase, wait=False)
        assert (erased.memories, erased.scrubbed) == (1, False)
    with pytest.raises(NotFound):
        memory.get(id_)
    assert pending_scrubs(memory.backend).count == 1
    monkeypatch.undo()
    assert scrub_pending(memory.backend)
    assert pending_scrubs(memory.backend) == PendingScrubs()


# A disk that fails

ONE_COMMIT: dict[str, Callable[[Memory], object]] = {
    "remember": lambda memory: memory.remember("Ben likes coffee.", id="new"),
    "update": lambda memory: memory.update("tea", "Ann likes cocoa."),
    "pin": lambda memory: memory.pin("tea"),
    "merge": lambda memory: memory.merge("tea", ["again"]),
    "forget": lambda memory: memory.forget("tea"),
    "undo": lambda memory: suppressed(Conflict, lambda: memory.undo("tea", version=2)),
    "feedback": lambda memory: suppressed(Conflict, lambda: memory.feedback("tea", useful=True, version=2)),
    "erase": lambda memory: suppressed(NotFound, lambda: memory.erase("tea")),
    "erase_all": lambda memory: memory.erase_all(),
}


def suppressed(error: type[Exception], call: Callable[[], object]) -> None:
    with suppress(error):
        call()


def state(memory: Memory) -> object:
    memory.flush()
    found = sorted([*memory.memories(), *memory.page(forgotten=True).items], key=lambda one: one.id)
    told = [(one.id, one.text, one.version, one.pinned, one.importance, one.evidence) for one in found]
    vectors = [one.vector is not None for one in memory.backend.index.get(memory.space, [one.id for one in found])]
    return told, [len(memory.history(one.id)) for one in found], vectors, memory.audit().problems


@pytest.mark.parametrize("name", ONE_COMMIT)
def test_a_write_that_failed_or_was_not_confirmed_can_be_tried_again(tmp_path: Path, name: str):
    def opened(path: Path, vfs: str | None = None) -> Memory:
        return Memory(SqliteBackend(path, vfs=vfs), "ann", embedder=HashEmbedder(16), clock=lambda: NOON)

    def begun(path: Path, vfs: str | None = None) -> Memory:
        memory = opened(path, vfs)
        memory.remember("Ann likes tea.", id="tea", time=NOON)
        memory.remember("Ann likes tea, really.", id="again", time=NOON)
        memory.update("tea", "Ann likes green tea.")
        memory.flush()
        return memory

    plain = begun(tmp_path / "plain.db")
    ONE_COMMIT[name](plain)
    wanted = state(plain)
    plain.backend.close()
    for error, countdown in itertools.product((apsw.FullError, apsw.IOError), range(1, 6)):
        files, path = FaultyFiles(), tmp_path / f"{error.__name__}-{countdown}.db"
        memory = begun(path, files.vfs_name)
        before = state(memory)
        with files.failing(countdown, error, lasting=False), suppress(BackendError):
            ONE_COMMIT[name](memory)
        # As a process leaves it that is killed now.
        left = tmp_path / "left.db"
        for ending in ("", "-wal"):
            shutil.copy(f"{path}{ending}", f"{left}{ending}")
        killed = opened(left)
        assert state(killed) in (before, wanted)
        for one in (killed, memory):
            ONE_COMMIT[name](one)
            assert state(one) == wanted
            assert one.backend.check() == []
            one.backend.close()
        for file in tmp_path.glob("left.db*"):
            shutil.rmtree(file) if file.is_dir() else file.unlink()
