"""``python -m benchmarks.capacity.mixed [postgres] [sqlite] [by-hand]``: what an operation of mixed work costs.

Several processes recall (50 %), append (30 %) and remember (20 %), each with its worker, over one store of 200 spaces of
100 memories and 50 conversations of 200 messages. Queries and texts have drawn vectors, so no model is in it. CPU is that
of all clients and of the server, from the first operation until all that was remembered is indexed and all uses are stored.
``by-hand`` does the same with psycopg and pgvector: an insert and a commit, and the ten nearest vectors of a space.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import psycopg
from msgspec.structs import replace

import memwell
from benchmarks.capacity.loads import Drawn
from benchmarks.capacity.processes import cpu_s, family
from benchmarks.corpus import DIMENSIONS, Directions, Writer
from benchmarks.report import RESULTS, console, facts, step, today
from memwell.longterm.embedding import Embedders
from memwell.longterm.journal import inner_space
from memwell.messages import human
from memwell.records import Space
from memwell.runtime.engine import Engine
from memwell.runtime.worker import listed_spaces
from memwell.settings import Settings
from memwell.storage.registry import open_backend
from tests.engines.postgres import Server

CONTENDERS = ("postgres", "by-hand", "sqlite")
KEPT = RESULTS / "mixed.json"
_SPACES, _MEMORIES, _THREADS, _MESSAGES = 200, 100, 50, 200
_READ = 10
_WARMING = 200
_TALKS = Space("talks")
_SHARES = {"recall": 50, "append": 30, "remember": 20}
_SETTINGS = Settings(embedding_cache_entries=0)
_HAND = f"""
    CREATE TABLE hand_memory (
        space text, id bigint GENERATED ALWAYS AS IDENTITY, text text, vector halfvec({DIMENSIONS}), PRIMARY KEY (space, id)
    );
    CREATE TABLE hand_message (
        thread text, place bigint GENERATED ALWAYS AS IDENTITY, body text, PRIMARY KEY (thread, place)
    );
"""
_HAND_NEAREST = "SELECT id, text FROM hand_memory WHERE space = %s ORDER BY vector <=> %s::halfvec LIMIT 10"
_HAND_REMEMBER = "INSERT INTO hand_memory (space, text, vector) VALUES (%s, %s, %s::halfvec)"
_HAND_APPEND = "INSERT INTO hand_message (thread, body) VALUES (%s, %s)"


class Calls(NamedTuple):
    """The operations of a client: recall and remember in a space, and append to a conversation."""

    warm_up: Callable[[list[str]], None]
    recall: Callable[[str, str], object]
    append: Callable[[str, str], object]
    remember: Callable[[str, str], object]
    finish: Callable[[], None]


class Running(NamedTuple):
    """A store under test: its URL, its server's processes, the bytes of its log so far, and whether work is pending."""

    url: str
    pids: Callable[[], list[int]]
    logged: Callable[[], int]
    pending: Callable[[], bool]


# The clients


def _client(contender: str, url: str, seed: int, operations: int) -> None:
    calls = _by_hand(url) if contender == "by-hand" else _by_memwell(url)
    rng, writer = random.Random(seed), Writer(seed=1000 + seed)
    # As in a process that has run for a while, the rules of facts are compiled and all spaces are at hand.
    calls.warm_up([writer.text() for _ in range(_WARMING)])
    for number in range(_SPACES):
        calls.recall(str(number), writer.text()[:60])
    _do(calls, rng, writer, operations // 5)
    _say("ready")
    _do(calls, rng, writer, operations)
    _say("done")
    calls.finish()
    _say("finished")


def _do(calls: Calls, rng: random.Random, writer: Writer, operations: int) -> None:
    for name in rng.choices(list(_SHARES), weights=list(_SHARES.values()), k=operations):
        if name == "append":
            calls.append(str(rng.randrange(_THREADS)), writer.text())
        else:
            text = writer.text()
            getattr(calls, name)(
                str(rng.randrange(_SPACES)), text[:60] if name == "recall" else f"{text} {rng.random()}"
            )


def _say(word: str) -> None:
    print(word, flush=True)
    sys.stdin.readline()


def _by_memwell(url: str) -> Calls:
    memory = memwell.open(url, embedder=Drawn(), settings=_SETTINGS)
    memory.attend()
    spaces = [memory.at(Space("user", str(number))) for number in range(_SPACES)]
    talks = memory.at(_TALKS)
    own = memory.at(Space("client", str(os.getpid())))

    def warm_up(texts: list[str]) -> None:
        own.remember(texts)
        own.flush()

    return Calls(
        warm_up,
        lambda space, text: spaces[int(space)].recall(text),
        lambda thread, text: talks.thread(thread).add(human(text)),
        lambda space, text: spaces[int(space)].remember(text),
        lambda: _store_uses(memory),
    )


def _store_uses(memory: Engine) -> None:
    memory._parts.worker.store_uses()


def _by_hand(url: str) -> Calls:
    link = psycopg.connect(url.partition("?")[0], autocommit=True)
    drawn = Drawn()

    def vector(text: str) -> str:
        return str(drawn.embed([text])[0].tolist())

    return Calls(
        lambda _: None,
        lambda space, text: link.execute(_HAND_NEAREST, (space, vector(text))).fetchall(),
        lambda thread, text: link.execute(_HAND_APPEND, (thread, text)),
        lambda space, text: link.execute(_HAND_REMEMBER, (space, text, vector(text))),
        lambda: None,
    )


# The store


def _fill(url: str) -> None:
    """As clients store: what a memory states is read when it is stored, and not by a later recall.

    That takes a minute for ten spaces. The others have the same memories.
    """
    writer = Writer()
    with memwell.open(url, embedder=Drawn(), settings=_SETTINGS, work=False) as memory:
        for number in range(_READ):
            one = memory.at(Space("user", str(number)))
            one.remember([writer.text() for _ in range(_MEMORIES)])
            one.flush()
        for number in range(_THREADS):
            memory.at(_TALKS).thread(str(number)).add(*(human(writer.text()) for _ in range(_MESSAGES)))
    with open_backend(url) as backend:
        for number in range(_READ, _SPACES):
            space, inner = Space("user", str(number)), inner_space(Space("user", str(number)))
            Embedders(backend.kv, inner, Drawn()).claim(Drawn().name)
            found = backend.index.scan(Space("user", str(number % _READ)), limit=_MEMORIES).items
            backend.index.upsert([replace(record, space=space) for record in found])


def _fill_by_hand(url: str) -> None:
    writer, directions = Writer(), Directions()
    with psycopg.connect(url.partition("?")[0]) as link:
        link.execute(_HAND.encode())
        for number in range(_SPACES):
            rows = [(str(number), writer.text(), str(one.tolist())) for one in directions.draw(_MEMORIES)]
            link.cursor().executemany(_HAND_REMEMBER, rows)
        said = [(str(number % _THREADS), writer.text()) for number in range(_THREADS * _MESSAGES)]
        link.cursor().executemany(_HAND_APPEND, said)


@contextmanager
def _started(contender: str) -> Iterator[Running]:
    if contender == "sqlite":
        with tempfile.TemporaryDirectory(prefix="memwell-mixed-") as folder:
            url = f"sqlite:{Path(folder) / 'store.db'}"
            _fill(url)
            with open_backend(url) as backend:
                yield Running(url, list, lambda: 0, lambda: any(True for _ in listed_spaces(backend)))
        return
    server = Server(durable=True, options={"shared_buffers": "512MB", "max_wal_size": "4GB"})
    try:
        with server.admin() as link:

            def logged() -> int:
                row = link.execute("SELECT (pg_current_wal_lsn() - '0/0'::pg_lsn)::bigint").fetchone()
                return 0 if row is None else int(str(row[0]))

            if contender == "by-hand":
                _fill_by_hand(server.url())
                yield Running(server.url(), lambda: family(server.pid), logged, lambda: False)
                return
            _fill(server.url())
            with open_backend(server.url()) as backend:
                pids = lambda: family(server.pid)  # noqa: E731
                yield Running(server.url(), pids, logged, lambda: any(True for _ in listed_spaces(backend)))
    finally:
        server.remove()


def measured(contender: str, processes: int, operations: int) -> dict[str, Any]:
    """Run the clients over a new store; CPU in milliseconds and bytes of log, each for one operation."""
    with _started(contender) as running:
        clients = [_start(contender, running.url, seed, operations) for seed in range(processes)]
        pids = [one.pid for one in clients]
        _hear(clients, "ready")
        before = cpu_s(pids), cpu_s(running.pids()), running.logged()
        _tell(clients)
        _hear(clients, "done")
        while running.pending():
            time.sleep(1.0)
        _tell(clients)
        _hear(clients, "finished")
        after = cpu_s(pids), cpu_s(running.pids()), running.logged()
        _tell(clients)
        for one in clients:
            one.wait()
    total = processes * operations
    own, server, logged = (new - old for new, old in zip(after, before, strict=True))
    return {
        "client_ms": round(own / total * 1e3, 2),
        "server_ms": round(server / total * 1e3, 2),
        "log_bytes": round(logged / total),
        "operations": total,
    }


def _start(contender: str, url: str, seed: int, operations: int) -> subprocess.Popen[str]:
    command = [
        sys.executable,
        "-m",
        "benchmarks.capacity.mixed",
        "--client",
        contender,
        url,
        str(seed),
        str(operations),
    ]
    # Drawn vectors hang on the hash of a text, which must be the same in all processes.
    environment = {**os.environ, "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


def _tell(clients: list[subprocess.Popen[str]]) -> None:
    for one in clients:
        _pipe(one.stdin).write("\n")
        _pipe(one.stdin).flush()


def _hear(clients: list[subprocess.Popen[str]], word: str) -> None:
    for one in clients:
        said = _pipe(one.stdout).readline().strip()
        if said != word:
            raise RuntimeError(f"a client said {said!r} and not {word!r}")


def _pipe(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe


def main() -> None:
    """Measure the contenders that were named, or all, and keep what was found."""
    if sys.argv[1:2] == ["--client"]:
        contender, url, seed, operations = sys.argv[2:]
        _client(contender, url, int(seed), int(operations))
        return
    parser = argparse.ArgumentParser(prog="python -m benchmarks.capacity.mixed", description=__doc__)
    parser.add_argument("contenders", nargs="*", metavar="contender", help=f"which: {', '.join(CONTENDERS)}")
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--operations", type=int, default=1_000, help="of each process")
    parser.add_argument("--dry", action="store_true", help="do not write what was found")
    options = parser.parse_args()
    found = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    for contender in options.contenders or CONTENDERS:
        step(f"{contender}: {options.processes} processes, {options.operations:,} operations each")
        found[contender] = {"measured": today(), **measured(contender, options.processes, options.operations)}
        console.print(found[contender])
        if not options.dry:
            KEPT.write_text(json.dumps({**found, "machine": facts()}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
