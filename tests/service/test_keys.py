"""A key opens its own space, as long as it is in force, and neither its token nor its digest is shown."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import AccessDenied, BackendError, BackendUnavailable, Busy, InvalidInput, NotFound
from memwell.records import Space
from memwell.runtime.grants import OWN_SPACES
from memwell.service.keys import (
    BUNDLES,
    SERVICE,
    TRUSTED_S,
    Failures,
    Key,
    Keys,
    OneTimeLink,
    RateLimits,
    _Buckets,
    id_in_token,
    without_tokens,
)
from memwell.storage import Backend, open_backend
from memwell.storage.memory import MemoryBackend
from memwell.testing.conformance.suite import Clock as Ticks
from tests.engines.redis import single_url

START = datetime(2030, 1, 1, 12, 0, 30, tzinfo=UTC)
ANN = Space("acme", "ann")


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def wait(self, **length: float) -> None:
        self.now += timedelta(**length)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def backend() -> Iterator[Backend]:
    with open_backend("memory:") as backend:
        yield backend


@pytest.fixture
def keys(backend: Backend, clock: Clock) -> Keys:
    return Keys(backend, clock)


def refusal(keys: Keys, token: Any) -> str:
    with pytest.raises(AccessDenied) as refused:
        keys.check(token)
    assert refused.value.code == "bad-key"
    return str(refused.value)


def stored(backend: Backend) -> str:
    spaces = (SERVICE / "keys", SERVICE / "keys" / "used")
    return " ".join(msgspec.json.encode(backend.kv.scan(space).items).decode() for space in spaces)


def test_the_keys_that_reach_a_space_are_found_in_one_pass(
    keys: Keys, backend: Backend, monkeypatch: pytest.MonkeyPatch
):
    above = [keys.create("above", space=Space(*ANN[:depth]), scopes=["read"])[0].id for depth in (1, 2)]
    for other in (Space("acme", "annie"), ANN / "phone", Space("acme/ann")):
        keys.create("other", space=other, scopes=["read"])
    scans: list[Space] = []
    scan = backend.kv.scan
    monkeypatch.setattr(backend.kv, "scan", lambda space, **options: (scans.append(space), scan(space, **options))[1])
    monkeypatch.setattr(backend.kv, "get", lambda *_: pytest.fail("no use is read"))
    assert {key.id for key in keys.reaching(ANN)} == set(above)
    assert scans == [SERVICE / "keys"]


def test_a_token_opens_its_key(keys: Keys, clock: Clock):
    key, token = keys.create("phone", space=ANN, scopes=["write", "read", "write"], rate=600)
    assert key == Key(id=key.id, name="phone", space=ANN, scopes=("read", "write"), created=START, rate=600)
    assert token.startswith(f"mw_{key.id}_")
    assert keys.check(token) == keys.get(key.id) == key
    assert isinstance(keys.check(token).space, Space)
    assert id_in_token(token) == key.id
    assert id_in_token(token + "0") is None


def test_the_secret_is_neither_stored_nor_shown(keys: Keys, backend: Backend):
    key, token = keys.create("phone", space=ANN, scopes=BUNDLES["app"])
    _, second = keys.rotate(key.id, grace=timedelta(hours=1))
    for one in (token, second):
        secret = one.rpartition("_")[2]
        assert len(secret) == 64
        assert secret not in stored(backend)
        assert secret not in f"{keys.get(key.id)} {keys.all()!r} {keys!r} {msgspec.json.encode(keys.all())}"
        assert sha256(secret.encode()).hexdigest() not in repr(keys.all())
    for call in (keys.get, keys.revoke, keys.rotate):
        with pytest.raises(NotFound) as error:
            call(token)
        assert token[20:30] not in str(error.value)


def test_wrong_and_unknown_keys_are_told_nothing(keys: Keys):
    key, token = keys.create("phone", space=ANN, scopes=["read"])
    wrong = f"mw_{key.id}_{'0' * 64}"
    unknown = f"mw_{'0' * 16}_{token.rpartition('_')[2]}"
    assert refusal(keys, wrong) == refusal(keys, unknown) == refusal(keys, "nonsense")
    keys.revoke(key.id)
    assert refusal(keys, wrong) == refusal(keys, unknown)
    assert refusal(keys, token) != refusal(keys, wrong), "whoever has the secret may know"
    # The digest that unknown keys are compared with is no way in.
    assert refusal(keys, f"mw_{key.id}_") == refusal(keys, unknown)


def test_one_wrong_character_is_refused(keys: Keys):
    _, token = keys.create("phone", space=ANN, scopes=["read"])
    for place in range(len(token)):
        other = "0" if token[place] != "0" else "1"
        assert refusal(keys, token[:place] + other + token[place + 1 :])
    for longer in (token + "0", token + "\n", token + " ", " " + token, token + token, token[:-1]):
        assert refusal(keys, longer)


def test_a_key_ends_at_its_time(keys: Keys, clock: Clock):
    _, token = keys.create("phone", space=ANN, scopes=["read"], expires=START + timedelta(days=30))
    clock.wait(days=30, microseconds=-1)
    assert keys.check(token).name == "phone"
    clock.wait(microseconds=1)
    assert "expired on 2030-01-31" in refusal(keys, token)


def test_a_revoked_key_ends_at_once_and_for_good(keys: Keys, backend: Backend, clock: Clock):
    key, token = keys.create("phone", space=ANN, scopes=["read"])
    elsewhere = Keys(backend, clock)
    assert elsewhere.check(token) == key
    assert keys.revoke(key.id).revoked == START
    assert "revoked" in refusal(elsewhere, token)
    clock.wait(days=1)
    assert keys.revoke(key.id).revoked == START, "it was revoked then"
    with pytest.raises(InvalidInput, match="make another"):
        keys.rotate(key.id)


def test_the_old_secret_works_until_its_grace_is_over(keys: Keys, clock: Clock):
    key, first = keys.create("phone", space=ANN, scopes=["read"])
    _, second = keys.rotate(key.id, grace=timedelta(hours=1))
    clock.wait(minutes=59)
    assert keys.check(first) == keys.check(second)
    clock.wait(minutes=1)
    assert refusal(keys, first) == "the key is not known here"
    _, third = keys.rotate(key.id, grace=timedelta(hours=1))
    _, fourth = keys.rotate(key.id, grace=timedelta(hours=1))
    assert keys.check(third) == keys.check(fourth)
    assert refusal(keys, second), "only the last one is kept"
    keys.revoke(key.id)
    assert refusal(keys, third) == refusal(keys, fourth) == "the key was revoked"


def test_an_expired_key_is_not_rotated(keys: Keys, clock: Clock):
    key, _ = keys.create("phone", space=ANN, scopes=["read"], expires=START + timedelta(days=1))
    clock.wait(days=1)
    with pytest.raises(InvalidInput, match="make another"):
        keys.rotate(key.id)
    for grace in (timedelta(seconds=-1), timedelta(days=367)):
        with pytest.raises(InvalidInput, match="grace"):
            keys.rotate(key.id, grace=grace)


def test_keys_are_listed_by_their_space(keys: Keys, clock: Clock):
    made: list[Key] = []
    for space in (ANN, Space("acme"), Space("acme/ann"), ANN, Space("acme", "ann", "x")):
        clock.wait(seconds=1)
        made.append(keys.create("one", space=space, scopes=["read"])[0])
    assert keys.all() == made
    assert keys.all(ANN) == [made[0], made[3]]
    assert keys.all("acme") == [made[1]]
    assert keys.all("nobody") == []
    pages = list(itertools.islice(iterate_pages(keys, limit=2), 10))
    assert [len(page) for page in pages] == [2, 2, 1]
    assert sorted(key.id for page in pages for key in page) == sorted(key.id for key in made)


def iterate_pages(keys: Keys, *, limit: int) -> Iterator[list[Key]]:
    page = keys.page(limit=limit)
    while page.next is not None:
        yield page.items
        page = keys.page(limit=limit, cursor=page.next)
    yield page.items


@pytest.mark.parametrize(
    "space",
    [
        SERVICE,
        SERVICE / "keys",
        *OWN_SPACES,
        OWN_SPACES[0] / "x",
        Space("acme", "memwell"),
        Space("a", "memwell", "knowledge"),
    ],
    ids=str,
)
def test_no_key_is_for_a_space_of_memwells_own(keys: Keys, space: Space):
    with pytest.raises(InvalidInput, match="memwell's own"):
        keys.create("phone", space=space, scopes=["read"])
    assert keys.all() == []


BAD: tuple[dict[str, Any], ...] = (
    *({"name": name} for name in ("", "x" * 201, "a\x00b", None, 7)),
    *({"space": space} for space in (None, 7, "", ("acme", "ann"))),
    *({"scopes": scopes} for scopes in ((), ["root"], ["read", "root"])),
    *({"expires": time} for time in (START, START - timedelta(days=1), "2030-02-01", 7)),
    *({"rate": rate} for rate in (-1, True, 1.5, "9", 2**64)),
)


@pytest.mark.parametrize("wrong", BAD, ids=str)
def test_bad_input_makes_no_key(keys: Keys, wrong: dict[str, Any]):
    right: dict[str, Any] = {"name": "phone", "space": ANN, "scopes": ["read"]}
    with pytest.raises(InvalidInput):
        keys.create(**{**right, **wrong})
    assert keys.all() == []


@pytest.mark.parametrize("wrong", ["", "0" * 16, "x" * 10_000, "\x00"])
def test_an_unknown_id_is_not_found(keys: Keys, wrong: str):
    for call in (keys.get, keys.revoke, keys.rotate):
        with pytest.raises(NotFound):
            call(wrong)


def test_uses_are_noted_to_the_minute_and_written_once(keys: Keys, backend: Backend, clock: Clock):
    key, token = keys.create("phone", space=ANN, scopes=["read"])
    minute = START.replace(second=0)
    for _ in range(5):
        keys.note_use(keys.check(token))
    assert str(minute.year) not in str(backend.kv.scan(SERVICE / "keys" / "used").items), "nothing is written yet"
    assert keys.get(key.id).last_used == minute
    assert keys.write_uses() == 1
    keys.note_use(key)
    assert keys.write_uses() == 0, "once a minute"
    clock.wait(minutes=3)
    keys.note_use(key)
    assert keys.write_uses() == 1
    assert Keys(backend).all()[0].last_used == minute + timedelta(minutes=3)


def test_a_late_note_does_not_turn_the_clock_back(backend: Backend, clock: Clock):
    early, late = Keys(backend, clock), Keys(backend, clock)
    key, _ = early.create("phone", space=ANN, scopes=["read"])
    early.note_use(key)
    clock.wait(minutes=5)
    late.note_use(key)
    late.write_uses()
    early.write_uses()
    assert Keys(backend).get(key.id).last_used == clock.now.replace(second=0)


def test_a_use_that_cannot_be_written_is_written_later(keys: Keys, backend: Backend, monkeypatch: pytest.MonkeyPatch):
    key, _ = keys.create("phone", space=ANN, scopes=["read"])
    keys.note_use(key)

    def busy() -> Any:
        raise BackendUnavailable("busy")

    with monkeypatch.context() as patched:
        patched.setattr(backend, "transaction", busy)
        with pytest.raises(BackendUnavailable):
            keys.write_uses()
    assert keys.write_uses() == 1
    assert Keys(backend).get(key.id).last_used == START.replace(second=0)


def test_noting_a_use_does_not_undo_a_revocation(keys: Keys):
    key, token = keys.create("phone", space=ANN, scopes=["read"])
    keys.note_use(key)
    keys.revoke(key.id)
    keys.write_uses()
    assert "revoked" in refusal(keys, token)


def test_a_damaged_key_opens_nothing(keys: Keys, backend: Backend):
    key, token = keys.create("phone", space=ANN, scopes=["read"])
    for value in ([], {"key": {}}, "x", {"key": {"space": [7]}}):
        backend.kv.put(SERVICE / "keys", key.id, value)
        with pytest.raises(BackendError, match=key.id):
            keys.check(token)


def test_tokens_are_taken_out_of_a_text(keys: Keys):
    key, token = keys.create("phone", space=ANN, scopes=["read"])
    safe = without_tokens(f"a {token}, b {token.upper()} {token}")
    assert token[20:] not in safe.lower()
    assert safe.count(key.id) == 2
    assert without_tokens("mw_x and 中文") == "mw_x and 中文"


class _Far:
    """A store behind a wire: it counts what it is asked, and tells of changes while somebody listens."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.kv = backend.kv
        self.ears: list[Any] = []
        self.told: list[str] = []

    def transaction(self) -> Any:
        return self._backend.transaction()

    def notify(self, topic: str) -> None:
        self.told.append(topic)
        for heard in list(self.ears):
            heard(topic)

    def listen(self, heard: Any) -> Any:
        self.ears.append(heard)
        return lambda: self.ears.remove(heard)


def watching(store: _Far, clock: Clock) -> Keys:
    keys = Keys(store, clock)  # type: ignore[arg-type]
    keys.watch()
    return keys


def test_a_store_behind_a_wire_is_not_asked_for_every_request(
    backend: Backend, clock: Clock, monkeypatch: pytest.MonkeyPatch
):
    store = _Far(backend)
    keys = watching(store, clock)
    assert keys.far
    _, token = keys.create("phone", space=ANN, scopes=("read",))
    assert keys.recent(token) is None
    key = keys.check(token)
    monkeypatch.setattr(store.kv, "get", None)
    assert keys.recent(token) == key
    assert keys.recent(token[:-1] + ("0" if token[-1] != "0" else "1")) is None
    keys.unwatch()
    assert (keys.far, store.ears, keys.recent(token)) == (False, [], None)


@pytest.mark.parametrize("change", ["revoke", "rotate"])
def test_a_change_of_a_key_is_heard_in_every_process(backend: Backend, clock: Clock, change: str):
    store = _Far(backend)
    one, other = watching(store, clock), watching(store, clock)
    key, token = one.create("phone", space=ANN, scopes=("read",))
    _, kept = one.create("kept", space=ANN, scopes=("read",))
    for keys in (one, other):
        keys.check(token)
        keys.check(kept)
    getattr(one, change)(key.id)
    for keys in (one, other):
        assert keys.recent(token) is None
        assert keys.recent(kept) is not None
        refusal(keys, token)


def test_a_key_that_was_revoked_unheard_is_trusted_for_two_seconds_at_most(
    backend: Backend, clock: Clock, monkeypatch: pytest.MonkeyPatch
):
    store = _Far(backend)
    one, other = watching(store, clock), watching(store, clock)
    store.ears.clear()
    key, token = one.create("phone", space=ANN, scopes=("read",), expires=START + timedelta(hours=1))
    begun = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: begun)
    other.check(token)
    one.revoke(key.id)
    assert other.recent(token) is not None
    monkeypatch.setattr(time, "monotonic", lambda: begun + TRUSTED_S + 0.5)
    assert other.recent(token) is None
    refusal(other, token)


def test_a_key_that_expires_is_not_trusted_longer(backend: Backend, clock: Clock):
    keys = watching(_Far(backend), clock)
    _, token = keys.create("phone", space=ANN, scopes=("read",), expires=START + timedelta(seconds=1))
    keys.check(token)
    clock.wait(seconds=1)
    assert keys.recent(token) is None


def test_keys_are_near_where_the_home_is_a_file(tmp_path: Path, clock: Clock):
    url = single_url(tmp_path)
    for number, parts in enumerate((f"kv={url}", f"log={url}")):
        with open_backend(f"{tmp_path}/{number}.db,{parts}") as store:
            keys = Keys(store, clock)
            keys.watch()
            assert not keys.far, parts
            key, token = keys.create("ann", space=ANN, scopes=["read"])
            assert keys.check(token).id == key.id
            assert keys.recent(token) is None
            keys.unwatch()


# Who asks too often is told when to come back, and nobody else is.


def key(name: str = "0", rate: int | None = None) -> Key:
    now = datetime(2030, 1, 1, tzinfo=UTC)
    return Key(id=name, name=name, space=Space("a"), scopes=("read",), created=now, rate=rate)


def turned_away(call: Callable[[], None]) -> bool:
    try:
        call()
    except Busy as error:
        busy = error
    else:
        return False
    assert busy.code == "rate-limited"
    assert busy.retry_after > 0
    return True


def passed(limits: RateLimits, one: Key, times: int) -> int:
    return sum(not turned_away(lambda: limits.check(one)) for _ in range(times))


def test_a_key_may_ask_as_often_as_the_service_says():
    clock = Ticks()
    limits = RateLimits(60, clock)
    assert passed(limits, key(), 100) == 60
    assert passed(limits, key("1"), 1) == 1, "another key is not concerned"
    clock.now += 1
    assert passed(limits, key(), 100) == 1
    clock.now += 3600
    assert passed(limits, key(), 100) == 60, "nothing is saved up over a minute's worth"


def test_a_key_may_have_a_limit_of_its_own_or_none():
    limits = RateLimits(5, Ticks())
    assert passed(limits, key("slow", 2), 50) == 2
    assert passed(limits, key("free", 0), 50) == 50
    assert passed(RateLimits(0, Ticks()), key(), 50) == 50
    assert passed(RateLimits(0, Ticks()), key("slow", 3), 50) == 3


@given(rate=st.integers(1, 10_000), tries=st.integers(1, 20))
def test_whoever_waits_as_told_gets_in(rate: int, tries: int):
    clock = Ticks()
    limits = RateLimits(rate, clock)
    assert passed(limits, key(), rate + 1) == rate
    for _ in range(tries):
        with pytest.raises(Busy) as busy:
            limits.check(key())
        clock.now += busy.value.retry_after + 1e-6
        limits.check(key())


@given(st.lists(st.floats(0, 30), max_size=60))
def test_never_more_than_a_full_bucket_and_what_flowed_in(waits: list[float]):
    clock, count = Ticks(), 0
    limits = RateLimits(10, clock)
    for wait in waits:
        clock.now += wait
        count += passed(limits, key(), 3)
    assert count <= 10 + sum(waits) / 6 + 1e-6


def test_many_keys_do_not_fill_the_memory():
    buckets = _Buckets(Ticks(), most=10)
    for name in range(100):
        buckets.take(str(name), 5)
        assert buckets.take("busy", 1000) == 0
    assert len(buckets) == 10
    assert buckets._held["busy"][0] == 900, "the one that is used is not dropped"


def test_threads_together_get_no_more():
    limits = RateLimits(500, Ticks())
    counts: list[int] = []
    threads = [threading.Thread(target=lambda: counts.append(passed(limits, key(), 400))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(counts) == 500


def test_services_over_one_store_share_a_limit():
    clock, backend = Ticks(), MemoryBackend()
    one, other = (RateLimits(60, clock, backend=backend, time_of_day=clock) for _ in range(2))

    def share() -> None:
        for _ in range(2):
            one.share()
            other.share()

    assert passed(one, key(), 40) == 40
    assert passed(other, key(), 15) == 15
    share()
    assert passed(other, key(), 100) == 60 - 40 - 15
    assert passed(one, key("1"), 100) == 60, "another key is not concerned"
    share()
    clock.now += 10
    # What has been used in both is paid back once.
    assert passed(one, key(), 100) == 10
    share()
    assert passed(other, key(), 100) == 0
    clock.now += 3600
    share()
    assert passed(one, key(), 100) == 60
    share()
    assert passed(other, key(), 100) == 60, "only the next use tells it that the other service is busy"
    share()
    clock.now += 60
    assert passed(other, key(), 100) == 0, "which is paid back later"


@given(st.lists(st.tuples(st.integers(0, 2), st.floats(0, 20)), max_size=60))
def test_services_that_share_get_what_flows_in_once_and_their_first_buckets(turns: list[tuple[int, float]]):
    clock, backend, count = Ticks(), MemoryBackend(), 0
    services = [RateLimits(10, clock, backend=backend, time_of_day=clock) for _ in range(3)]
    for turn, wait in turns:
        clock.now += wait
        count += passed(services[turn], key(), 1)
        for service in services:
            service.share()
    # What a service has not yet told, and has not heard of before its own first use.
    assert count <= 3 * 10 + sum(wait for _, wait in turns) / 6 + 1e-6


def test_a_key_that_asks_seldom_is_not_written_down():
    backend = MemoryBackend()
    limits = RateLimits(600, Ticks(), backend=backend)
    assert passed(limits, key(), 59) == 59
    limits.share()
    assert not backend.kv.scan(Space("memwell", "service", "rates")).items
    assert passed(limits, key(), 1) == 1
    limits.share()
    assert len(backend.kv.scan(Space("memwell", "service", "rates")).items) == 1


def refused(failures: Failures, address: str, times: int) -> int:
    return sum(turned_away(lambda: failures.count(address)) for _ in range(times))


def test_wrong_keys_are_counted_by_address():
    clock = Ticks()
    failures = Failures(clock)
    assert refused(failures, "10.0.0.1", 25) == 5
    assert refused(failures, "10.0.0.2", 20) == 0
    clock.now += 60
    assert refused(failures, "10.0.0.1", 25) == 5


def test_a_network_of_ipv6_is_one_address():
    failures = Failures(Ticks())
    assert sum(refused(failures, f"2001:db8::{one:x}", 1) for one in range(30)) == 10
    assert refused(failures, "2001:db8:0:1::1", 20) == 0
    assert refused(failures, "::ffff:10.0.0.1", 20) == 0
    assert refused(failures, "10.0.0.1", 1) == 1, "the same address, written in two ways"


def test_wrong_keys_from_everywhere_are_bounded_too():
    failures = Failures(Ticks())
    addresses = [f"10.0.{one // 250}.{one % 250}" for one in range(1000)]
    assert sum(refused(failures, address, 1) for address in addresses) == 400
    calm = Failures(Ticks())
    refused(calm, "10.0.0.1", 1000)
    assert sum(refused(calm, address, 1) for address in addresses[100:600]) == 0, "one that never stops harms nobody"


# The link by which the user who starts the service signs in


def test_a_link_is_exchanged_for_its_key_once():
    made: list[str] = []
    link = OneTimeLink(lambda: made.append("mw_x") or "mw_x")
    for wrong in ("", "x", link.code[:-1], "\ud800"):
        with pytest.raises(AccessDenied):
            link.redeem(wrong)
    # The key is made for who follows the link, not before.
    assert made == []
    assert link.redeem(link.code) == "mw_x"
    with pytest.raises(AccessDenied, match="used already"):
        link.redeem(link.code)
    assert made == ["mw_x"]


def test_a_link_ends_after_an_hour():
    now = [0.0]
    link = OneTimeLink(lambda: "mw_x", clock=lambda: now[0])
    now[0] = 3601.0
    with pytest.raises(AccessDenied, match="older than an hour"):
        link.redeem(link.code)
