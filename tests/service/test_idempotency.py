"""A request that comes twice has one effect, whoever is killed or slow in between."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import Busy, Conflict, InvalidInput
from memwell.records import Space
from memwell.service.idempotency import LARGEST_KEPT, KeptAnswer, Mismatch, Once, Overtaken, fingerprint_of
from memwell.service.keys import SERVICE, Keys
from memwell.storage import Backend, open_backend
from memwell.storage.memory import MemoryBackend
from memwell.testing.conformance.suite import Clock

PRINT = fingerprint_of("POST", "/v1/memories", b"{}")
OTHER = fingerprint_of("POST", "/v1/memories", b"[]")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def backend(clock: Clock) -> Iterator[Backend]:
    with MemoryBackend(clock=clock) as backend:
        yield backend


@pytest.fixture
def once(backend: Backend, clock: Clock) -> Once:
    return Once(backend, lambda: datetime.fromtimestamp(clock.now, UTC))


def test_another_request_under_the_same_header_is_a_mismatch(once: Once):
    once.begin("k1", "h", PRINT)
    with pytest.raises(Mismatch) as running:
        once.begin("k1", "h", OTHER)
    once.finish("k1", "h", PRINT, 200, b"")
    with pytest.raises(Mismatch):
        once.begin("k1", "h", OTHER)
    assert running.value.code == "idempotency-mismatch"
    assert isinstance(running.value, Conflict)


def test_keys_and_headers_are_kept_apart(once: Once):
    once.begin("k1", "h", PRINT)
    once.finish("k1", "h", PRINT, 200, b"of k1")
    assert once.begin("k2", "h", OTHER) is None
    assert once.begin("k1", "H", OTHER) is None
    assert once.begin("k1", "h/h", OTHER) is None


def test_what_was_finished_or_is_anothers_is_not_abandoned(once: Once):
    once.begin("k1", "h", PRINT)
    once.abandon("k1", "h", OTHER)
    with pytest.raises(Busy):
        once.begin("k1", "h", PRINT)
    once.finish("k1", "h", PRINT, 200, b"x")
    once.abandon("k1", "h", PRINT)
    assert once.begin("k1", "h", PRINT) == KeptAnswer(200, b"x")
    once.abandon("k1", "unknown", PRINT)


def test_an_answer_is_kept_for_a_day(once: Once, clock: Clock):
    once.begin("k1", "h", PRINT)
    once.finish("k1", "h", PRINT, 200, b"x")
    clock.now += 86_399
    assert once.begin("k1", "h", PRINT) is not None
    clock.now += 1
    assert once.begin("k1", "h", PRINT) is None


def test_a_killed_one_blocks_for_a_minute(once: Once, clock: Clock):
    once.begin("k1", "h", PRINT)
    clock.now += 59
    with pytest.raises(Busy) as busy:
        once.begin("k1", "h", PRINT)
    assert (busy.value.code, busy.value.retry_after > 0) == ("in-progress", True)
    clock.now += 1
    assert once.begin("k1", "h", PRINT) is None


@pytest.mark.parametrize("second", [PRINT, OTHER])
def test_a_slow_one_that_was_overtaken_undoes_what_it_did(once: Once, backend: Backend, clock: Clock, second: bytes):
    once.begin("k1", "h", PRINT)
    clock.now += 61
    assert once.begin("k1", "h", second) is None
    if second == PRINT:
        once.finish("k1", "h", second, 200, b"second")

    def first() -> None:
        with backend.transaction():
            backend.kv.put(Space("acme"), "effect", 1)
            once.finish("k1", "h", PRINT, 200, b"first")

    with pytest.raises(Overtaken):
        first()
    assert backend.kv.get(Space("acme"), "effect") is None
    if second == PRINT:
        assert once.begin("k1", "h", PRINT) == KeptAnswer(200, b"second")


def test_effect_and_receipt_are_stored_together_or_not_at_all(once: Once, backend: Backend):
    once.begin("k1", "h", PRINT)

    class Failed(Exception):
        pass

    with suppress(Failed), backend.transaction():
        backend.kv.put(Space("acme"), "effect", 1)
        once.finish("k1", "h", PRINT, 200, b"x")
        raise Failed
    assert backend.kv.get(Space("acme"), "effect") is None
    with pytest.raises(Busy):
        once.begin("k1", "h", PRINT)
    once.abandon("k1", "h", PRINT)
    assert once.begin("k1", "h", PRINT) is None


def test_a_large_answer_is_not_kept(once: Once, backend: Backend):
    for header, size in (("fits", LARGEST_KEPT), ("large", LARGEST_KEPT + 1)):
        once.begin("k1", header, PRINT)
        once.finish("k1", header, PRINT, 200, b"x" * size)
    fits, large = once.begin("k1", "fits", PRINT), once.begin("k1", "large", PRINT)
    assert fits is not None
    assert (len(fits.body), fits.whole) == (LARGEST_KEPT, True)
    assert large == KeptAnswer(200, b"", whole=False)


def test_a_token_is_not_kept(once: Once, backend: Backend):
    key, token = Keys(backend).create("phone", space="acme", scopes=["read"])
    once.begin("k1", "h", PRINT)
    once.finish("k1", "h", PRINT, 201, b'{"key":"' + key.id.encode() + b'","token":"' + token.encode() + b'"}')
    assert once.begin("k1", "h", PRINT) == KeptAnswer(201, b"", whole=False)
    assert not any(token.encode() in bytes(entry.value) for entry in backend.kv.scan(SERVICE / "once").items)


def test_the_words_of_answers_are_dropped_and_the_effect_stays_one(once: Once, backend: Backend, clock: Clock):
    for key in ("k1", "k2", "k11"):
        for header in map(str, range(120)):
            once.begin(key, header, PRINT)
            once.finish(key, header, PRINT, 200, b"her secret")
    once.begin("k1", "running", PRINT)
    clock.now += 80_000
    assert once.drop_bodies("k1") == 120
    assert once.drop_bodies("k1") == 0
    assert once.begin("k1", "7", PRINT) == KeptAnswer(200, b"", whole=False)
    assert once.begin("k11", "7", PRINT) == KeptAnswer(200, b"her secret")
    left = [entry.value for entry in backend.kv.scan(SERVICE / "once", limit=1000).items if entry.key.startswith("k1/")]
    assert not any(b"her secret" in value for value in left)
    clock.now += 6_400
    assert once.begin("k1", "7", PRINT) is None, "dropping does not make it last longer"


@pytest.mark.parametrize("header", ["", "x" * 256, "a b", "a\n", "\x00", "é", "键", "\x7f", "\ud800"])
def test_a_bad_header_is_refused(once: Once, header: str):
    for call in (once.begin, once.abandon):
        with pytest.raises(InvalidInput, match="visible ASCII"):
            call("k1", header, PRINT)
    with pytest.raises(InvalidInput):
        once.finish("k1", header, PRINT, 200, b"")


@given(header=st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=255), body=st.binary())
def test_any_visible_header_and_any_body_come_back(header: str, body: bytes):
    with open_backend("memory:") as backend:
        once = Once(backend)
        assert once.begin("0" * 16, header, PRINT) is None
        once.finish("0" * 16, header, PRINT, 207, body)
        assert once.begin("0" * 16, header, PRINT) == KeptAnswer(207, body)


parts = st.tuples(st.text(max_size=3), st.text(max_size=3), st.binary(max_size=3))


@given(parts, parts)
def test_two_requests_have_two_fingerprints(one: tuple[str, str, bytes], other: tuple[str, str, bytes]):
    assert (fingerprint_of(*one) == fingerprint_of(*other)) == (one == other)
    method, path, body = one
    assert fingerprint_of(method, path + "1 ", body) != fingerprint_of(method, path, b"1 " + body)
