"""Grants: without one nothing is shared, with one exactly what it says, and no longer than it holds."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import memwell
from memwell.errors import InvalidInput, NotFound, NotGranted
from memwell.longterm.recall import looking
from memwell.messages import human
from memwell.records import Space
from memwell.runtime.context import assemble
from memwell.runtime.grants import Grant, Grants, SharedMemory
from memwell.storage import open_backend

START = datetime(2025, 1, 1, tzinfo=UTC)


@pytest.fixture(params=["memory:", "app.db"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[memwell.Engine]:
    url = request.param if request.param == "memory:" else tmp_path / request.param
    with memwell.open(url, embedder=None, work=False) as opened:
        yield opened


def every_read(view: SharedMemory) -> list[Callable[[], Any]]:
    return [lambda: view.recall("plan"), lambda: view.get("plan"), view.memories, view.count, lambda: view.grant]


def refused(calls: list[Callable[[], Any]]) -> int:
    count = 0
    for call in calls:
        with pytest.raises(NotGranted):
            call()
        count += 1
    return count


def test_what_is_granted_is_seen_and_nothing_else(engine: memwell.Engine):
    ann, bob = engine.at("ann"), engine.at("bob")
    ann.remember("the plan is tea", id="plan")
    bob.remember("bob's own plan is coffee")
    given = ann.grant("bob")
    assert (given.owner, given.to, given.write, given.until) == (Space("ann"), Space("bob"), False, None)
    view = bob.shared("ann")
    assert [hit.text for hit in view.recall("plan")] == ["the plan is tea"]
    assert view.get("plan").text == "the plan is tea"
    assert [one.text for one in view.memories()] == ["the plan is tea"]
    assert view.count() == 1
    assert view.grant == given
    # One way only: ann sees nothing of bob's.
    with pytest.raises(NotGranted):
        ann.shared("bob")
    with pytest.raises(NotFound):
        view.get("unknown")


def test_a_grant_to_read_is_none_to_write(engine: memwell.Engine):
    ann, bob = engine.at("ann"), engine.at("bob")
    ann.grant("bob")
    view = bob.shared("ann")
    with pytest.raises(NotGranted, match="for reading only"):
        view.remember("the plan is coffee")
    assert ann.count() == 0
    ann.grant("bob", write=True)
    view.remember("the plan is coffee")
    assert [one.text for one in ann.memories()] == ["the plan is coffee"]
    assert bob.count() == 0
    ann.grant("bob")
    with pytest.raises(NotGranted):
        view.remember("and cake")


def test_who_writes_to_another_s_memory_is_named(engine: memwell.Engine):
    board = engine.at(Space("team", "board"))
    for agent in ("planner", "critic"):
        board.grant(Space("team", agent), write=True)
    engine.at(Space("team", "planner")).shared(board.space).remember("first we ask the users")
    engine.at(Space("team", "critic")).shared(board.space).remember(human("why only the users?"))
    engine.at(Space("team", "critic")).shared(board.space).remember("Ann was asked", speaker="critic")
    assert [one.speaker for one in board.memories()] == ["planner", "critic", "critic"]


def test_nobody_signs_as_somebody_else(engine: memwell.Engine):
    board = engine.at("board")
    board.grant("critic", write=True)
    view = engine.at("critic").shared("board")
    for speaker in ("Ann", "board", "Critic", 7):
        with pytest.raises(InvalidInput, match="writes as 'critic'"):
            view.remember("Ann was asked", speaker=speaker)  # type: ignore[arg-type]
    # Nor by way of a message's name.
    view.remember(human("I was asked", name="Ann"))
    assert [one.speaker for one in board.memories()] == ["critic"]


def test_what_was_read_before_the_end_is_not_handed_out_after_it(engine: memwell.Engine):
    ann, bob = engine.at("ann"), engine.at("bob")
    ann.grant("bob")
    view = bob.shared("ann")

    def revoked_meanwhile(*_: object, **__: object) -> list[Any]:
        ann.revoke("bob")
        ann.remember("now bob is gone: the secret is tea")
        return type(ann.memory).recall(ann.memory, "secret")

    ann.memory.recall = revoked_meanwhile
    with pytest.raises(NotGranted):
        view.recall("secret")
    assert ann.count() == 1


def test_a_grant_ends_when_its_time_comes(engine: memwell.Engine):
    ann, bob = engine.at("ann"), engine.at("bob")
    times = [START]
    ann.memory.clock = bob.memory.clock = lambda: times[0]
    ann.remember("the plan is tea", id="plan")
    ann.grant("bob", until=START + timedelta(hours=1))
    view = bob.shared("ann")
    times[0] = START + timedelta(minutes=59)
    assert view.count() == 1
    assert [one.to for one in ann.grants()] == [Space("bob")]
    times[0] = START + timedelta(hours=1)
    assert refused(every_read(view)) == 5
    assert ann.grants() == bob.shared_with_me() == []
    assert not ann.revoke("bob")


def test_a_grant_is_for_exactly_one_space(engine: memwell.Engine):
    team = engine.at(Space("acme", "team"))
    team.grant(Space("acme", "bob"))
    outsiders = (Space("acme"), Space("acme", "bob", "phone"), Space("acme/bob"), Space("acme", "Bob"), Space("bob"))
    assert refused([lambda space=space: engine.at(space).shared(team.space) for space in outsiders]) == 5
    assert refused([lambda: engine.at(Space("acme", "bob")).shared(Space("acme", "team", "inner"))]) == 1
    # Nor can it be passed on.
    engine.at(Space("acme", "bob")).grant("eve")
    assert refused([lambda: engine.at("eve").shared(team.space)]) == 1


@pytest.mark.parametrize(
    "call",
    [
        lambda ann: ann.grant("ann"), lambda ann: ann.grant(""), lambda ann: ann.grant(7),
        lambda ann: ann.grant("bob", write=1), lambda ann: ann.grant("bob", write=None),
        lambda ann: ann.grant("bob", until="tomorrow"),
        lambda ann: ann.grant("bob", until=datetime(2020, 1, 1, tzinfo=UTC)),
        lambda ann: ann.grant("bob", until=3600), lambda ann: ann.grant(Space("memwell", "spaces")),
        lambda ann: ann.grant(Space("memwell", "grants")), lambda ann: ann.revoke("ann"),
        lambda ann: ann.revoke(None), lambda ann: ann.shared("ann"),
        lambda ann: ann.shared(Space("memwell", "grants")), lambda ann: ann.at(Space("memwell", "grants")),
        lambda ann: ann.shared(3), lambda ann: ann.grant(Space("bob", "memwell", "facts")),
        lambda ann: ann.shared(Space("bob", "memwell", "facts")),
    ],
)  # fmt: skip
def test_bad_input_grants_nothing(engine: memwell.Engine, call: Callable[[Any], Any]):
    ann = engine.at("ann")
    with pytest.raises(InvalidInput):
        call(ann)
    assert ann.grants() == []


def test_a_grant_outlives_the_process_and_holds_for_another(tmp_path: Path):
    with memwell.open(tmp_path / "app.db", embedder=None, work=False) as m:
        m.at("ann").remember("the plan is tea")
        given = m.at("ann").grant("bob", until=datetime.now(UTC) + timedelta(days=1))
    with (
        memwell.open(tmp_path / "app.db", embedder=None, work=False) as here,
        memwell.open(tmp_path / "app.db", embedder=None, work=False) as there,
    ):
        view = here.at("bob").shared("ann")
        assert view.grant == given
        assert view.count() == 1
        there.at("ann").revoke("bob")
        assert refused([view.count]) == 1


def test_erasing_and_exporting_a_memory_neither_gives_nor_ends_a_grant(engine: memwell.Engine, tmp_path: Path):
    ann, bob = engine.at("ann"), engine.at("bob")
    ann.remember("the plan is tea")
    ann.grant("bob")
    ann.export(tmp_path / "ann.jsonl")
    ann.erase_all()
    assert bob.shared("ann").count() == 0
    with memwell.open("memory:", embedder=None, work=False) as elsewhere:
        elsewhere.at("ann").import_file(tmp_path / "ann.jsonl")
        assert elsewhere.at("ann").count() == 1
        assert elsewhere.at("ann").grants() == []


def test_a_view_goes_into_a_prompt_as_a_memory_does(engine: memwell.Engine):
    ann, bob = engine.at("ann"), engine.at("bob")
    ann.remember("the plan for Monday is tea with the users")
    ann.grant("bob")
    made = assemble("what is the plan for Monday?", budget=500, recaller=bob.shared("ann"))
    assert "tea with the users" in str(made.openai())


def test_after_a_revoke_no_thread_reads_on(tmp_path: Path):
    with memwell.open(tmp_path / "app.db", embedder=None, work=False) as m:
        ann, bob = m.at("ann"), m.at("bob")
        ann.remember("before")
        ann.grant("bob")
        view, seen, ended = bob.shared("ann"), [], threading.Event()

        def read() -> None:
            try:
                while True:
                    seen.extend(one.text for one in view.memories())
            except NotGranted:
                ended.set()

        readers = [threading.Thread(target=read) for _ in range(3)]
        for one in readers:
            one.start()
        ann.revoke("bob")
        ann.remember("after")
        for one in readers:
            one.join(60)
        assert ended.is_set()
        assert set(seen) <= {"before"}


class GrantsBesideModel(RuleBasedStateMachine):
    """Who may do what, beside a dict that says so."""

    names = ("a", "b", "c")

    @initialize()
    def begin(self) -> None:
        self.backend = open_backend("memory:")
        self.now = START
        self.grants = Grants(self.backend.kv, lambda: self.now)
        self.expected: dict[tuple[str, str], tuple[bool, datetime | None]] = {}

    @rule(pair=st.permutations(names), write=st.booleans(), hours=st.none() | st.integers(1, 5))
    def give(self, pair: list[str], write: bool, hours: int | None) -> None:
        until = None if hours is None else self.now + timedelta(hours=hours)
        self.grants.give(pair[0], pair[1], write=write, until=until)
        self.expected[pair[0], pair[1]] = (write, until)

    @rule(pair=st.permutations(names))
    def revoke(self, pair: list[str]) -> None:
        assert self.grants.revoke(pair[0], pair[1]) == (self.expected.pop((pair[0], pair[1]), None) is not None)

    @rule(hours=st.integers(1, 3))
    def wait(self, hours: int) -> None:
        self.now += timedelta(hours=hours)
        self.expected = {key: one for key, one in self.expected.items() if one[1] is None or one[1] > self.now}

    @invariant()
    def what_holds_is_what_should(self) -> None:
        found = {(one.owner[0], one.to[0]): (one.write, one.until) for name in self.names for one in self.all_of(name)}
        assert found == self.expected
        for owner in self.names:
            for to in self.names:
                held = self.grants.between(owner, to)
                assert (None if held is None else (held.write, held.until)) == self.expected.get((owner, to))

    def all_of(self, name: str) -> list[Grant]:
        by, to = self.grants.given_by(name), self.grants.given_to(name)
        assert all(one.owner == Space(name) for one in by)
        assert all(one.to == Space(name) for one in to)
        return by + to

    def teardown(self) -> None:
        self.backend.close()


GrantsBesideModel.TestCase.settings = settings(max_examples=30, stateful_step_count=20, deadline=None)
TestGrantsBesideModel = GrantsBesideModel.TestCase


@pytest.mark.parametrize("write", [False, True])
def test_who_may_only_read_another_s_memory_does_not_change_its_ranking(engine: memwell.Engine, write: bool):
    ann, ben = engine.at("ann"), engine.at("ben")
    ann.remember("The cake is in the blue tin.")
    ann.grant("ben", write=write)
    ben.shared("ann").recall("the cake")
    with looking():
        [hit] = ann.recall("the cake")
    assert (hit.accessed is not None) is write
