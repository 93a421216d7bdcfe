"""The rows about stores: kills, faults, power cuts, crowds, damage, names, filters, erasure, encryption, growth.

Each function breaks something so many times in a folder of its own, and returns what it found. Imports stand inside: a row
loads what it needs and no more, and some must run before a store is opened.
"""

from __future__ import annotations

import gc
import http.client
import json
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count as numbers
from pathlib import Path
from typing import Any, cast

import memwell
from benchmarks.scorecard.trying import HOME, SECRET, Outcome, explore, files_of, judged, opened, settings_of, url_of
from memwell.errors import BackendError, MemwellError, SecretRefused
from memwell.messages import human
from memwell.records import Record, Space, Thread
from memwell.settings import Settings
from memwell.storage.protocols import Backend
from memwell.storage.scrubbing import scrub_pending
from memwell.storage.sqlite import SqliteBackend
from memwell.storage.sqlite.index import SqliteIndex

# 1 to 4: kills, exits, faults, power cuts


def killed(store: str, count: int, folder: Path) -> Outcome:
    if store in ("sqlite", "encrypted"):
        return _killed_files(count, folder, SECRET if store == "encrypted" else "")
    from benchmarks.crash.children import Nursery
    from benchmarks.crash_servers.running import Run
    from benchmarks.crash_servers.sites import SITES
    from benchmarks.crash_servers.writing import write_until_killed

    kind = SITES[store]
    nurseries = [Nursery(write_until_killed) for _ in range(kind.writers)]
    site = kind()
    try:
        run = Run(site, nurseries, folder, random.randrange(2**32), lambda counts: None)
        run.kill_writers(count)
        if kind.writers > 1:
            run.kill_server(max(1, count // 10))
    finally:
        site.close()
        for nursery in reversed(nurseries):
            nursery.close()
    found = run.counts
    told = f"{found.acknowledged:,} acknowledged, {found.lost} lost, {found.torn} torn, {found.orphans} orphans"
    killed = f"; the server itself was killed {found.server_kills} times" if found.server_kills else ""
    return Outcome(found.writer_kills + found.server_kills, found.stories if found.bad else [], told + killed)


def _killed_files(count: int, folder: Path, secret: str) -> Outcome:
    from benchmarks.crash import killing

    nursery = killing.Nursery(killing.write_until_killed)
    found = killing.run(
        folder,
        nursery,
        kills=count,
        stores=4,
        seed=random.randrange(2**32),
        progress=lambda counts: None,
        secret=secret,
    )
    nursery.close()
    told = f"{found.hit:,} met an operation; {found.acknowledged:,} acknowledged, {found.lost} lost, {found.torn} torn"
    return Outcome(found.kills, found.stories if found.bad else [], f"{told}, {found.unreadable} unreadable")


def on_disk(what: str) -> Callable[[str, int, Path], Outcome]:
    def run(store: str, count: int, folder: Path) -> Outcome:
        from benchmarks.crash import disks

        seed = random.randrange(2**32)
        secret = SECRET if store == "encrypted" else ""
        found = getattr(disks, what)(folder, disks.Disk(), count, seed, secret)
        return Outcome(found.tried, found.wrong, f"in {found.operations} operations, seed {seed}")

    return run


# 5: the state machine

_OPENERS = {
    "sqlite": "memwell.storage.sqlite:SqliteBackend",
    "encrypted": "benchmarks.scorecard.keeping:open_encrypted",
    "postgres": "tests.engines.postgres:opened",
    "redis": "tests.engines.redis:open_at",
    "sqlite+milvus": "tests.storage.test_milvus:opened",
}


def open_encrypted(path: str, *, clock: Callable[[], float]) -> SqliteBackend:
    """An encrypted store, for a process that the state machine starts."""
    return SqliteBackend(path, settings=Settings(secret=SECRET), clock=clock)


def sequences(store: str, count: int, folder: Path) -> Outcome:
    from memwell.testing.conformance import congruence

    abilities = congruence.ABILITIES
    if store == "redis":
        from tests.storage.test_redis import TestKills

        abilities = TestKills.abilities
    if store == "postgres":
        from tests.engines import postgres

        postgres.server()
    if store == "redis":
        from tests.engines import redis

        redis.single()
    explore(count)

    def make(place: Path, clock: Any) -> Any:
        return congruence.ChildStore(_OPENERS[store], str(place / "store.db"), clock, abilities)

    return judged(count, lambda: congruence.check_sequences(folder, make, examples=100, steps=20))


# 6 and 7: many writers, and readers meanwhile


def read_meanwhile(store: str, count: int, folder: Path) -> Outcome:
    """Readers while many append: no error, and nothing that no moment of the store could show."""
    return crowded(store, count, folder, reading=True)


def crowded(store: str, count: int, folder: Path, *, reading: bool = False) -> Outcome:
    from benchmarks.crash import contention

    contention.APPENDS = count // (contention.PROCESSES + contention.THREADS)
    with url_of(store, folder) as url:
        found = contention.run(folder, url)
    wanted = (contention.PROCESSES + contention.THREADS) * contention.APPENDS
    wrong = found.errors + ([] if found.stored == wanted else [f"{found.stored} stored of {wanted}"])
    if reading:
        return Outcome(found.reads, wrong, f"while {found.appends:,} appends and {found.pairs} pairs were written")
    return Outcome(found.appends, wrong, f"{found.stored:,} stored once and in order, {found.rate:,.0f} a second")


# 8: damaged files


def damaged(store: str, count: int, folder: Path) -> Outcome:
    lot, path = random.Random(8), folder / "store.db"
    settings = settings_of(store, hnsw_above=200)
    with memwell.open(path, embedder=None, settings=settings, work=False) as memory:
        memory.remember([f"Note {number} is about harbour {number % 90}." for number in range(700)])
        memory.backend.index.upsert([Record(id=str(n), text="", space=HOME, vector=_vector(n)) for n in range(700)])
    expected = _answers(path, settings)
    files = [one for one in sorted(folder.rglob("*")) if one.is_file() and one.parent != folder]
    sound = {one: one.read_bytes() for one in [path, *files]}
    wrong, kinds = list[str](), {"truncated", "flipped", "deleted", "emptied", "noise"}
    for number in range(count):
        file = lot.choice(files) if number % 2 else path
        how = "flipped" if file == path else lot.choice(sorted(kinds))
        _damage(file, sound[file], how, lot)
        wrong += [f"{number}: {file.parent.name} {how}: {one}" for one in _unnoticed(file, path, settings, expected)]
        for one in [one for one in folder.rglob("*") if one.is_file()]:
            one.unlink()
        for one, data in sound.items():
            one.write_bytes(data)
    kept = ", ".join(sorted({one.parent.name.rpartition("-")[2] for one in files}))
    return Outcome(count, wrong, f"half in the store itself, half in the files of {kept}")


def _damage(file: Path, sound: bytes, how: str, lot: random.Random) -> None:
    if how == "deleted":
        file.unlink(missing_ok=True)
    elif how == "flipped":
        damaged = bytearray(sound)
        # The first page of a store holds the schema, whose comments may change unseen: decision 36.
        damaged[lot.randrange(4096, len(damaged))] ^= 1 << lot.randrange(8)
        file.write_bytes(damaged)
    else:
        file.write_bytes({"emptied": b"", "noise": lot.randbytes(5_000)}.get(how, sound[: lot.randrange(len(sound))]))


def _unnoticed(file: Path, path: Path, settings: Settings, expected: list[list[str]]) -> Iterator[str]:
    """What is wrong when a file is damaged: nobody notices it in a store, or others are answered than before."""
    if file != path:
        try:
            if _answers(path, settings) != expected:
                yield "other answers"
        except Exception as error:  # noqa: BLE001 - whatever it is, a damaged index must not end a search
            yield f"{type(error).__name__}: {error}"
        return
    with suppress(BackendError), SqliteBackend(path, settings=settings) as damaged:
        if not damaged.check():
            yield "it was not noticed"


def _vector(number: int) -> list[float]:
    lot = random.Random(number)
    return [lot.gauss(0, 1) for _ in range(16)]


def _answers(path: Path, settings: Settings) -> list[list[str]]:
    """The best by words and by vector, after indexes that are due were built."""
    near: list[list[str]] = []
    with memwell.open(path, embedder=None, settings=settings, work=False) as memory:
        index = cast(SqliteIndex, memory.backend.index)
        found = [[hit.id for hit in memory.recall(f"harbour {n}", limit=10)] for n in (3, 44)]
        for _ in range(2):
            near = [[hit.record.id for hit in index.near(HOME, _vector(n), limit=3)] for n in (5, 500)]
            index.vectors.wait()
    return [*found, *near]


# 9: two stores


def apart(store: str, count: int, folder: Path) -> Outcome:
    if store != "memory+engine":
        return killed(store, count, folder)
    explore(count)
    from tests.storage.composed import test_follower

    dies = test_follower.test_whatever_dies_between_two_steps_nothing_is_missing_and_nothing_too_much
    return judged(count, dies, "died before or after one of 30 calls; the rest fed by the next program")


# 10: broken connections


def cut(store: str, count: int, folder: Path) -> Outcome:
    from benchmarks.service.serving import Served, make_key
    from tests.engines.proxy import Proxy

    lot, tries = random.Random(10), 0
    with url_of(store, folder) as url:
        token = make_key(url)
        served = Served(url)
        proxy = Proxy(served.port)
        try:
            for number in range(count):
                while not _said(proxy, token, number, lot):
                    tries += 1
        finally:
            proxy.close()
            served.stop()
        with memwell.open(url, embedder=None, work=False) as memory:
            texts = [one.text for one in memory.thread("talk")]
    wrong = [f"{texts.count(f'said {n}')} times: said {n}" for n in range(count) if texts.count(f"said {n}") != 1]
    return Outcome(count, wrong, f"{tries:,} connections broken on the way, {len(texts):,} messages stored")


def _said(proxy: Any, token: str, number: int, lot: random.Random) -> bool:
    """Whether a message was acknowledged by a service whose connection may be cut, held or half closed meanwhile."""
    draw = lot.random()
    if draw < 0.6:
        proxy.cut_after_bytes(lot.randint(0, 600), lot.choice(["to_server", "to_client"]))
    elif draw < 0.7:
        threading.Timer(lot.uniform(0.0, 0.02), proxy.half_close).start()
    elif draw < 0.8:
        proxy.hold()
        threading.Timer(lot.uniform(0.0, 0.05), proxy.resume).start()
    line = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=20)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", "Idempotency-Key": f"n{number}"}
    body = json.dumps({"messages": [{"role": "user", "content": f"said {number}"}]})
    try:
        line.request("POST", "/v1/threads/talk/messages", body, headers)
        return line.getresponse().status in (200, 201)
    except (OSError, http.client.HTTPException):
        return False
    finally:
        line.close()


# 11: slow consolidation


class _Numbering:
    """A slow summariser whose summary is the indexes of all messages that were folded in."""

    def fold(self, summary: str, messages: Any) -> str:
        time.sleep(0.05)
        return " ".join([*summary.split(), *(str(one.index) for one in messages)])


def consolidated(store: str, count: int, folder: Path) -> Outcome:
    from memwell.strategies import Summary

    over, errors, rounds = threading.Event(), list[str](), numbers()
    with (
        url_of(store, folder) as url,
        memwell.open(url, embedder=None, settings=settings_of(store), work=False) as memory,
    ):
        thread = memory.thread("talk")
        summaries = [Summary(thread, _Numbering(), 10**6) for _ in range(2)]
        changed = memory.remember("Ann drinks tea, cup 0.").id

        def consolidate(summary: Any) -> None:
            try:
                while not over.is_set():
                    next(rounds)
                    summary.observe()
                    memory.compress(threshold=0.99)
            except MemwellError as error:
                errors.append(f"{type(error).__name__}: {error}")

        threads = [threading.Thread(target=consolidate, args=(one,)) for one in summaries]
        for one in threads:
            one.start()
        ids = list[str]()
        for number in range(count):
            thread.add(human(f"said {number}"))
            ids += memory.remember(f"Walk {number} went to lake {number * 7}.").ids
            memory.update(changed, f"Ann drinks tea, cup {number}.")
        over.set()
        for one in threads:
            one.join()
        summaries[0].observe()
        kept = {one.id for one in memory.memories()}
        checks = {
            "messages": [one.text for one in thread] == [f"said {number}" for number in range(count)],
            "folded once": summaries[1].summary.split() == [str(number) for number in range(count)],
            "memories": kept == {*ids, changed} and len(set(ids)) == count,
            "newest text": memory.get(changed).text == f"Ann drinks tea, cup {count - 1}.",
        }
    wrong = errors + [f"not as written: {name}" for name, right in checks.items() if not right]
    return Outcome(3 * count, wrong, f"consolidated {next(rounds)} times meanwhile")


# 12 and 13: names and filters


def neighbours(store: str, count: int, folder: Path) -> Outcome:
    from memwell.testing.conformance.backend import (
        NAMES,
        expected_in,
        seen_in,
        write_marked,
    )

    lot, wanted = random.Random(12), max(2, int(count**0.5) + 1)
    spaces = dict.fromkeys(Space(name) for name in lot.sample(NAMES, min(wanted, len(NAMES))))
    marks = ["-corp", "_", "%", " ", "x", "*", "/", "\\", "'", '"', "\t", "\u0301", "\u200b", "|", "[a-z]", "A"]
    while len(spaces) < wanted:
        parts = list(lot.choice(list(spaces)))
        at = lot.randrange(len(parts))
        cut = lot.randint(0, len(parts[at]))
        parts[at] = (parts[at][:cut] + lot.choice(marks) + parts[at][cut:])[:1024]
        spaces.setdefault(Space(*parts, *(["a"] if lot.random() < 0.1 and len(parts) < 5 else [])))
    wrong = list[str]()
    with opened(store, folder) as backend:
        with backend.together():
            for number, space in enumerate(spaces):
                write_marked(backend, space, number)
        for number, space in enumerate(spaces):
            seen = seen_in(backend, space)
            if seen != expected_in(number)[: len(seen)]:
                wrong.append(f"{space!r} shows {seen!r:.300}")
    return Outcome(len(spaces) * (len(spaces) - 1), wrong, f"{len(spaces)} names, each read in 11 ways")


class _Counted:
    """A part of a store that counts the questions it is asked."""

    def __init__(self, part: Any, asked: Iterator[int]) -> None:
        self._part, self._asked = part, asked

    def __getattr__(self, name: str) -> Any:
        if name in ("scan", "near", "match"):
            next(self._asked)
        return getattr(self._part, name)


def filtered(store: str, count: int, folder: Path) -> Outcome:
    from memwell.testing.conformance import CongruenceSuite

    asked, suite, wrong, most = numbers(), CongruenceSuite(), list[str](), 0
    explore(min(400, max(2, count // 10)))
    with opened(store, folder) as backend:
        counted: Any = type(
            "Counting", (), {"index": _Counted(backend.index, asked), "kv": _Counted(backend.kv, asked)}
        )
        while most < count and not wrong:
            for test in (
                suite.test_filters_agree_on_records,
                suite.test_filters_agree_on_values,
                suite.test_numbers_agree_to_the_last_bit,
            ):
                wrong += judged(0, lambda test=test: test(counted, "sync")).wrong
            most = next(asked)
    return Outcome(most, wrong, "keys, operators, values and pages; numbers to the last bit")


# 16 and 17: what is in the files


def erased(store: str, count: int, folder: Path) -> Outcome:
    from memwell.models.scripted import HashEmbedder
    from memwell.records import as_vector, pack_half

    words = [f"canary{number:05d}x".encode() for number in range(count)]
    wrong, embedder = list[str](), HashEmbedder(64)
    with (
        files_of(store, folder) as (url, files),
        memwell.open(url, embedder=embedder, settings=settings_of(store), work=False) as memory,
    ):
        memory.remember("The neighbour keeps bees.")
        ids = memory.remember(
            [f"The {word.decode()} sings at {number} o'clock." for number, word in enumerate(words)]
        ).ids
        memory.flush()
        memory.recall("canary00001x")
        rows = memory.backend.index.get(memory.space, ids)
        wanted = [*words, *(pack_half(as_vector(one.vector)) for one in rows if one.vector is not None)]
        before, alone = _found(files(), wanted), count // 20
        gone = [memory.erase(one).scrubbed for one in (*ids[:alone], ids[alone:])]
        at_once = _found(files(), wanted)
        scrub_pending(memory.backend)
        after = _found(files(), wanted)
        memory.close()
        after = max(after, _found(files(), wanted))
    wrong += [f"{after} of {2 * count:,} traces are still in a file"] if after else []
    wrong += [f"{at_once} traces are left though the erasure said that none is"] if all(gone) and at_once else []
    if store != "encrypted" and before < 2 * count:
        wrong.append(f"only {before} of {2 * count} were found before: the search does not see what is there")
    how = "when it returned" if all(gone) else f"after the worker's pass ({at_once:,} before it)"
    return Outcome(count, wrong, f"{before:,} traces found before, {after} {how}")


def _found(everything: bytes, wanted: list[bytes]) -> int:
    return sum(one in everything for one in wanted)


def encrypted(store: str, count: int, folder: Path) -> Outcome:
    from memwell.storage.sqlite.backup import back_up
    from tests.storage.sqlite import test_encryption as tests

    path, locked_, wrong = folder / "app.db", Settings(secret=SECRET, hnsw_above=100), list[str]()
    vectors = [[random.gauss(0, 1) for _ in range(16)] for _ in range(200)]
    with memwell.open(path, embedder=None, settings=locked_, work=False, space=tests.SPACE) as memory:
        memory.remember([f"The {tests.WORDS} number {number} lives in Lisbon." for number in range(max(600, count))])
        memory.recall(tests.WORDS)
        memory.backend.index.upsert([Record(id=str(n), text="", space=HOME, vector=v) for n, v in enumerate(vectors)])
        memory.backend.index.near(HOME, vectors[0])
        cast(SqliteIndex, memory.backend.index).vectors.wait()
        wrong += tests.plain_files(folder, tests.WORDS, "tenantcanary", "Lisbon")
    back_up(path, folder / "backup.db", settings=locked_)
    wrong += tests.plain_files(folder, tests.WORDS, "tenantcanary", "Lisbon")
    files = sum(file.is_file() for file in folder.rglob("*"))
    refused = 0
    for number in range(count):
        with suppress(SecretRefused), SqliteBackend(path, settings=Settings(secret=f"{number:064x}")):
            wrong.append(f"a wrong key was taken: {number}")
            continue
        refused += 1
    (folder / "kill").mkdir()
    wrong += judged(
        0, lambda: tests.test_a_killed_process_leaves_nothing_plain_and_loses_nothing(folder / "kill/a.db")
    ).wrong
    return Outcome(count, wrong, f"{refused} wrong keys refused; {files} files searched for {max(600, count):,} texts")


# 22: a million writes


def forgotten(store: str, count: int, folder: Path) -> Outcome:
    lot, batch, alive, sizes, held = random.Random(22), 200, 2_000, list[float](), list[float]()
    with opened(store, folder) as backend:
        for start in range(0, count, 2 * batch):
            wanted = [
                Record(
                    id=str(n),
                    text=f"Walk {n} to lake {lot.randrange(999)}",
                    space=HOME,
                    vector=[lot.gauss(0, 1) for _ in range(8)],
                )
                for n in range(start, start + batch)
            ]
            backend.index.upsert(wanted)
            backend.index.delete(HOME, [str(n) for n in range(start - alive * 2, start - alive * 2 + batch)])
            talk = Thread(HOME, "talk")
            said = backend.log.append(
                talk, [human(f"said {n} about lake {n % 97}") for n in range(start, start + batch)]
            )
            backend.log.trim(talk, max(0, (said[-1].index or 0) - alive))
            if start // (2 * batch) % max(1, count // (2 * batch) // 20) == 0:
                gc.collect()
                held.append(_rss_mb(os.getpid()))
                sizes.append(_stored_mb(backend, folder))
        left = backend.index.info(HOME).records, len(backend.log.read(Thread(HOME, "talk")))
        wrong = backend.check()
    half = len(held) // 2
    slope = (held[-1] - held[half]) / max(1, count // 2) * 1e6
    wrong += [f"memory grows by {slope:.0f} MB a million writes"] if held[-1] - held[half] > 20 else []
    wrong += (
        [f"the store grew from {sizes[half]:.0f} to {sizes[-1]:.0f} MB"] if sizes[-1] > 1.5 * sizes[half] + 5 else []
    )
    note = (
        f"in the second half memory {held[half]:.0f} → {held[-1]:.0f} MB, store {sizes[half]:.1f} → {sizes[-1]:.1f} MB"
    )
    return Outcome(count, wrong, f"{note}; {left[0]:,} records and {left[1]:,} messages left")


def _rss_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:"))


def _stored_mb(backend: Backend, folder: Path) -> float:
    if isinstance(backend, SqliteBackend):
        return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6
    return float(backend.facts().get("bytes", 0)) / 1e6
