"""The home store decides, and what joined follows, whatever fails in between."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

from memwell.errors import BackendError, BackendUnavailable, ConfigurationError
from memwell.messages import human
from memwell.records import Record, Space, Thread
from memwell.storage.composed import ComposedBackend, Part, transactions
from memwell.storage.composed.transactions import transaction_on
from memwell.storage.joining import Joined, Joining, Verdict
from memwell.storage.memory import MemoryBackend
from memwell.storage.protocols import Backend
from memwell.storage.sqlite import SqliteBackend
from memwell.testing.clock import Clock
from memwell.values import new_id

HOME = Space("home")
TALK = Thread(HOME, "talk")


class Undone(Exception):
    """Raised to have a transaction undone."""


class Following(Joined):
    """A transaction of a store in memory that asks for the verdict when it ends by an error."""

    def __init__(self, store: Follower) -> None:
        self.id = new_id()
        self._store = store
        self._inner: AbstractContextManager[None] = store.transaction()
        self._prepared = False

    def __enter__(self) -> Joined:
        self._inner.__enter__()
        return self

    def prepare(self) -> bool:
        self._store.at("prepare")
        self._prepared = True
        return True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and self._prepared and self._store.verdict(self.id):
            error = None
        self._inner.__exit__(None if error is None else type(error), error, None)
        self._store.at("end")


class Follower(MemoryBackend, Joining):
    def __init__(self) -> None:
        super().__init__()
        self.at: Callable[[str], None] = lambda moment: None
        self.verdict: Verdict = lambda _: False

    def joined(self) -> Joined:
        return Following(self)

    def follow(self, verdict: Verdict) -> None:
        self.verdict = verdict


@pytest.fixture
def follower() -> Follower:
    return Follower()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def home(tmp_path: Path, clock: Clock) -> SqliteBackend:
    return SqliteBackend(tmp_path / "home.db", clock=clock)


@pytest.fixture
def store(home: SqliteBackend, follower: Follower) -> Any:
    with ComposedBackend(home, log=Part(follower, "there"), kv=Part(follower, "there")) as backend:
        yield backend


def write(store: Backend, text: str) -> None:
    store.log.append(TALK, [human(text)])
    store.kv.put(HOME, text, 1)
    store.index.upsert([Record(id=text, text=text, space=HOME)])


def seen(store: Backend, text: str) -> list[bool]:
    return [
        text in [message.text for message in store.log.read(TALK)],
        store.kv.get(HOME, text) is not None,
        bool(store.index.get(HOME, [text])),
    ]


def test_each_part_is_where_it_was_put(store: ComposedBackend, home: SqliteBackend, follower: Follower):
    write(store, "x")
    assert seen(home, "x") == [False, False, True]
    assert seen(follower, "x") == [True, True, False]
    assert [list(space) for space in store.spaces().items] == [["home"]]
    parts = store.facts()["parts"]
    assert (parts["log"]["place"], parts["kv"]["answers"]) == ("there", True)
    assert store.facts()["messages"] == 1


def test_all_of_it_is_stored_or_none(store: ComposedBackend):
    with store.transaction():
        write(store, "kept")
        with pytest.raises(Undone), store.transaction():  # noqa: PT012 - all of it is undone
            write(store, "part")
            raise Undone
        assert seen(store, "part") == [False] * 3
    with pytest.raises(Undone), store.transaction():  # noqa: PT012 - all of it is undone
        write(store, "undone")
        assert seen(store, "undone") == [True] * 3
        raise Undone
    assert seen(store, "kept") == [True] * 3
    assert seen(store, "undone") == [False] * 3
    assert store.check() == []


def test_who_cannot_get_ready_undoes_all(store: ComposedBackend, follower: Follower):
    def away(moment: str) -> None:
        if moment == "prepare":
            raise BackendUnavailable("gone")

    follower.at = away
    with pytest.raises(BackendUnavailable, match="gone"), store.transaction():
        write(store, "x")
    assert seen(store, "x") == [False] * 3


def test_a_home_that_cannot_commit_undoes_all(
    store: ComposedBackend, home: SqliteBackend, monkeypatch: pytest.MonkeyPatch
):
    transaction = home.transaction

    class Failing:
        def __init__(self) -> None:
            self._inner = transaction()

        def __enter__(self) -> None:
            self._inner.__enter__()

        def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
            self._inner.__exit__(Undone, Undone(), None)
            raise BackendError("the disk is full")

    monkeypatch.setattr(home, "transaction", Failing)
    with pytest.raises(BackendError, match="disk is full"), store.transaction():
        write(store, "x")
    monkeypatch.undo()
    assert seen(store, "x") == [False] * 3


def test_who_is_gone_after_the_verdict_hears_it_later(store: ComposedBackend, follower: Follower):
    def away(moment: str) -> None:
        if moment == "end":
            raise BackendUnavailable("gone")

    follower.at = away
    with store.transaction():
        write(store, "x")
    assert seen(store, "x") == [True] * 3


def test_a_verdict_that_is_out_stands(store: ComposedBackend, follower: Follower):
    """Somebody impatient asks before the home has committed: then it can no longer commit."""
    asked: list[bool] = []
    following: list[Following] = []
    joined = follower.joined

    def remembered() -> Joined:
        following.append(Following(follower))
        return following[-1]

    follower.joined = remembered
    with pytest.raises(BackendUnavailable, match="try again"), store.transaction():  # noqa: PT012
        write(store, "x")
        # As another process would: before the home knows of it.
        store._verdicts._kv.put(Space("memwell", "commits", following[-1].id[-1]), following[-1].id, "undone")
        asked.append(follower.verdict(following[-1].id))
    follower.joined = joined
    assert asked == [False]
    assert seen(store, "x") == [False] * 3
    assert follower.verdict("never-heard-of") is False
    assert follower.verdict("never-heard-of") is False


def test_a_noted_transaction_was_committed(store: ComposedBackend, follower: Follower):
    ids: list[str] = []
    prepare = Following.prepare

    def noting(self: Following) -> bool:
        ids.append(self.id)
        return prepare(self)

    Following.prepare = noting
    try:
        with store.transaction():
            write(store, "x")
    finally:
        Following.prepare = prepare
    assert [follower.verdict(id_) for id_ in ids] == [True]


def noted(home: SqliteBackend) -> int:
    return sum(home.kv.count(space) for space in home.spaces(limit=1000).items if space[:2] == ("memwell", "commits"))


def test_a_verdict_is_kept_until_it_was_heard_however_long_that_takes(
    store: ComposedBackend, home: SqliteBackend, follower: Follower, clock: Clock, monkeypatch: pytest.MonkeyPatch
):
    ids: list[str] = []

    def away(self: Following, *_: object) -> None:
        ids.append(self.id)
        raise BackendUnavailable("gone")

    with monkeypatch.context() as patched:
        patched.setattr(Following, "__exit__", away)
        store.transaction().__enter__()
        write(store, "x")
        transaction_on(home).__exit__(None, None, None)  # type: ignore[union-attr]
    clock.advance(7 * 86_400)
    for number in range(40):
        with store.transaction():
            store.kv.put(HOME, "other", number)
    assert follower.verdict(ids[0]) is True


def test_verdicts_that_were_heard_go(tmp_path: Path, home: SqliteBackend, follower: Follower):
    with ComposedBackend(home, log=Part(follower, "there"), kv=Part(follower, "there")) as store:
        for number in range(100):
            with store.transaction():
                store.kv.put(HOME, "x", number)
        # One for every last character of an id, and a few by chance.
        assert 0 < noted(home) < 40
    with SqliteBackend(tmp_path / "home.db") as again:
        assert noted(again) == 0


def test_what_the_dead_left_is_swept(store: ComposedBackend, home: SqliteBackend, monkeypatch: pytest.MonkeyPatch):
    with store.transaction():
        write(store, "x")
    store._verdicts._heard.clear()
    store.scrub()
    assert noted(home) == 1
    monkeypatch.setattr(transactions, "_KEPT_S", -1.0)
    store.scrub()
    assert noted(home) == 0


def test_only_what_can_follow_may_hold_the_log(home: SqliteBackend):
    with home, pytest.raises(ConfigurationError, match="only Redis"):
        ComposedBackend(home, log=Part(MemoryBackend(), "memory:"))


def test_nothing_of_our_own_is_listed(store: ComposedBackend, home: SqliteBackend):
    with store.transaction():
        write(store, "x")
    assert any(space[0] == "memwell" for space in home.spaces().items)
    assert store.spaces().items == [HOME]
