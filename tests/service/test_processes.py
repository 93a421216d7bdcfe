"""Several services over one store: they share the work, each thing is done once, and one at a time may go."""

from __future__ import annotations

import http.client
import random
import re
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import memwell
from memwell.records import Space
from memwell.service.keys import SCOPES, Keys
from memwell.service.logs import AuditLog
from memwell.storage import Backend, open_backend
from tests.engines import processes
from tests.service.children import Child, serve_command
from tests.service.waiting import PATIENCE_S, until

EFFECTS = Space("effects")
HELD = Space("held")
"""Whose jobs go on counting as long as they are named here."""

CHILD = """
import sys, time
import memwell
from memwell.records import Space
from memwell.service import app, rest
from memwell.service.jobs import REPEATED
from memwell.service.jobs import Jobs
from memwell.service.parts import Service
from memwell.service.server import serve
from memwell.settings import load_settings
from memwell.values import new_id

# Sooner than a service in earnest: nobody waits for a test.
app._LOOK_S = 0.2
Jobs.__init__.__kwdefaults__["lease_s"] = 2.0

def counting(most):
    def make(memory, asked):
        def work(report):
            number = 0
            while number < most or memory.backend.kv.get(Space("held"), memory.space[-1]) is not None:
                report("counting", number, most)
                number += 1
                time.sleep(0.03)
            # Twice would be seen twice.
            memory.backend.kv.put(Space("effects"), new_id(), report.id)
            return {"counted": most}
        return work
    return make

REPEATED["audit"] = (dict, counting(5))
REPEATED["flush"] = (dict, counting(1_000_000))
settings = load_settings()
service = Service(memwell.open(sys.argv[1], embedder=None, settings=settings), settings)
serve(service, ready=lambda address: print(address, flush=True))
"""


@pytest.fixture(scope="module", params=processes.STORES)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


class Pair(NamedTuple):
    """Two services over one store, and the store."""

    one: Child
    other: Child
    backend: Backend


@pytest.fixture(scope="module")
def pair(kind: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Each test has spaces of its own, and leaves both running."""
    with ExitStack() as held:
        url = held.enter_context(processes.store(kind, tmp_path_factory.mktemp("pair")))
        both = (Child(CHILD, url), Child(CHILD, url))
        for served in both:
            served.start()
            held.callback(served.end, signal.SIGKILL)
        for served in both:
            served.wait()
        yield Pair(*both, held.enter_context(open_backend(url)))


def key(backend: Backend, space: Space) -> str:
    return Keys(backend).create("test", space=space, scopes=SCOPES, rate=0)[1]


def job_of(served: Child, token: str, id_: str) -> dict[str, Any]:
    status, job = served.ask(token, "GET", f"/v1/jobs/{id_}")
    assert status == 200, job
    return job


# Beginning


def test_two_that_start_together_over_nothing_make_one_store_and_show_links_alone(kind: str, tmp_path: Path):
    with processes.store(kind, tmp_path) as store:
        assert_that_links_alone_are_shown(store)


def assert_that_links_alone_are_shown(store: str) -> None:
    started = [serve_command("--store", store, COLUMNS="200") for _ in range(2)]
    try:
        for one in started:
            one.start()
        said = ["".join(_until_it_serves(one)) for one in started]
    finally:
        for one in started:
            one.end(signal.SIGKILL)
    links = {found[1] for text in said if (found := re.search(r"#once=(\S+)", text))}
    assert len(links) == 2, said
    assert not any(re.search("mw_[0-9a-f]{16}_[0-9a-f]{64}", text) for text in said)
    with open_backend(store) as backend:
        # The first key is made for the one who follows a link.
        assert list(Keys(backend).all()) == []
        assert AuditLog(backend).verify().ok


def _until_it_serves(process: Child) -> Iterator[str]:
    line = ""
    while "Ctrl+C" not in line:
        line = process.line(strip=False)
        assert line, "a service did not start"
        yield line


# Requests at both


def test_what_is_asked_of_both_at_once_is_done_once(pair: Pair):
    space = Space("acme", "ann")
    token = key(pair.backend, space)

    def remember(number: int, served: Child) -> tuple[int, Any]:
        said = {"content": f"note {number} of Ann"}
        answers: list[tuple[int, Any]] = []

        def is_done() -> bool:
            answers.append(served.ask(token, "POST", "/v1/memories", said, Idempotency_Key=f"one-{number}"))
            return answers[-1][0] not in (409, 503)

        assert until(is_done)
        return answers[-1]

    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(remember, number, served) for number in range(15) for served in 2 * pair[:2]]
        told = [one.result() for one in asked]
    assert {status for status, _ in told} == {201}
    for number in range(15):
        assert len({tuple(body["ids"]) for _, body in told[4 * number : 4 * number + 4]}) == 1
    assert sorted(texts_of(pair.backend, space)) == sorted(f"note {number} of Ann" for number in range(15))


def texts_of(backend: Backend, space: Space) -> list[str]:
    engine = memwell.open(backend, embedder=None, work=False, space=space)
    return [hit.text for hit in engine.memories()]


def test_the_log_of_both_is_one_chain(pair: Pair):
    token = key(pair.backend, Space("acme", "bob"))
    before = AuditLog(pair.backend).verify().entries
    with ThreadPoolExecutor(4) as pool:
        given = [
            pool.submit(served.ask, token, "POST", "/v1/grants", {"to": ["acme", f"user {number}"]})
            for number in range(10)
            for served in pair[:2]
        ]
        assert {one.result()[0] for one in given} == {201}
    verified = AuditLog(pair.backend).verify()
    assert (verified.ok, verified.entries) == (True, before + 20)


def test_a_key_that_is_revoked_at_one_is_refused_at_the_other(pair: Pair):
    made, token = Keys(pair.backend).create("gone", space="eve", scopes=("read",))
    operator = key(pair.backend, Space("acme", "operator"))
    assert [served.ask(token, "GET", "/v1/me")[0] for served in pair[:2]] == [200, 200]
    assert pair.one.ask(operator, "POST", f"/v1/keys/{made.id}/revoke")[0] == 200
    assert pair.one.ask(token, "GET", "/v1/me")[0] == 401
    assert until(lambda: pair.other.ask(token, "GET", "/v1/me")[0] == 401)


# Jobs


def _effects(backend: Backend, ids: list[str]) -> list[str]:
    return sorted(str(entry.value) for entry in backend.kv.scan(EFFECTS, limit=1000).items if entry.value in ids)


# One after the other ends and is started again


class Writers:
    """Clients that write through both, and ask again with the same key until they are told that it is done."""

    def __init__(self, pair: Pair, tokens: list[str], clients: int = 4) -> None:
        self._served, self._tokens = pair[:2], tokens
        self.acknowledged: list[set[str]] = [set() for _ in tokens]
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._write, args=(number,)) for number in range(clients)]
        for thread in self._threads:
            thread.start()

    def _write(self, number: int) -> None:
        lot, turn, whose = random.Random(number), 0, number % len(self._tokens)
        while not self._over.is_set():
            turn += 1
            said = f"client {number} says {turn}"
            while not self._told(lot.choice(self._served), whose, said):
                time.sleep(0.02)
            self.acknowledged[whose].add(said)

    def _told(self, served: Child, whose: int, said: str) -> bool:
        named = said.replace(" ", "-")
        with suppress(OSError, http.client.HTTPException):
            told = served.ask(self._tokens[whose], "POST", "/v1/memories", {"content": said}, Idempotency_Key=named)
            assert told[0] in (201, 409, 503), told
            return told[0] == 201
        return False

    def end(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(PATIENCE_S)
            assert not thread.is_alive()


def test_one_after_the_other_goes_and_nothing_is_lost_or_done_twice(pair: Pair):
    spaces = [Space("acme", "hal"), Space("acme", "ida")]
    tokens = [key(pair.backend, space) for space in spaces]
    writers = Writers(pair, tokens)
    try:
        _jobs_outlive(pair.one, pair.other, tokens, signal.SIGTERM, pair.backend)
        _jobs_outlive(pair.other, pair.one, tokens, signal.SIGKILL, pair.backend)
        assert until(lambda: all(len(said) > 20 for said in writers.acknowledged))
    finally:
        writers.end()
    for space, said in zip(spaces, writers.acknowledged, strict=True):
        texts = texts_of(pair.backend, space)
        assert len(texts) == len(set(texts)), "something was done twice"
        assert said <= set(texts), "something acknowledged was lost"
    assert pair.backend.check() == []


def _jobs_outlive(goes: Child, stays: Child, tokens: list[str], how: signal.Signals, backend: Backend) -> None:
    """One ends in the middle of its jobs, the other does them, and the first comes back."""
    for whose in ("hal", "ida"):
        backend.kv.put(HELD, whose, True)
    begun = [(token, goes.ask(token, "POST", "/v1/audit")[1]["id"]) for token in tokens for _ in range(3)]
    assert until(lambda: any(job_of(stays, *job)["status"] == "running" for job in begun))
    goes.end(how)
    for whose in ("hal", "ida"):
        backend.kv.delete(HELD, whose)
    statuses = set[str]()

    def all_done() -> bool:
        now = {job_of(stays, *job)["status"] for job in begun}
        statuses.update(now)
        return now == {"done"}

    assert until(all_done), [job_of(stays, *job) for job in begun]
    assert "failed" not in statuses, "whoever asks meanwhile must not hear that it failed"
    assert _effects(backend, [id_ for _, id_ in begun]) == sorted(id_ for _, id_ in begun)
    goes.start()
    goes.wait()
