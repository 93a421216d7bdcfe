"""Conversations: appending to a thread, from one thread of the program and from eight, and reading a thread's end."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import apsw

from benchmarks.corpus import message_text
from benchmarks.measuring import Contender, Timing, each, take_turns
from benchmarks.peers import Peer, as_item, installed
from benchmarks.report import Figure, Grid, Section, step
from memwell import History
from memwell.messages import Message, ai, encode_message, human
from memwell.records import Space, Thread
from memwell.storage.sqlite import SqliteBackend

_PRAGMAS = ("journal_mode=WAL", "synchronous=FULL", "temp_store=MEMORY", "secure_delete=ON")
_THREAD = Thread(Space("bench"), "thread")
_TEXT = message_text()
_LAST = 20
RAW = "raw apsw"
MEMWELL = "memwell log.append"
HISTORY = "memwell History.add"


def _messages(count: int) -> list[Message]:
    return [human(_TEXT) if number % 2 == 0 else ai(_TEXT) for number in range(count)]


def _body() -> str:
    return encode_message(human(_TEXT)).decode()


def _identified() -> tuple[str, str]:
    made = human(_TEXT)
    return made.id, encode_message(made).decode()


class RawLog:
    """The least that SQLite can do: a table, a row, a commit, under the pragmas that memwell sets."""

    def __init__(self, folder: Path) -> None:
        self._connection = apsw.Connection(str(folder / "raw.db"))
        for pragma in _PRAGMAS:
            self._connection.execute(f"PRAGMA {pragma}").fetchall()
        self._connection.execute(
            "CREATE TABLE message (thread TEXT, idx INTEGER, body TEXT, PRIMARY KEY (thread, idx))"
        )
        self._connection.execute(
            "CREATE TABLE whole (key INTEGER PRIMARY KEY, id TEXT, round INT, tokens INT, total INT, body TEXT);"
            "CREATE UNIQUE INDEX whole_id ON whole (key >> 32, id)"
        )
        self._cursor = self._connection.cursor()
        self._next = 0

    def fill(self, count: int) -> None:
        """Make the thread as long as ``count``."""
        for start in range(self._next, count, 1000):
            with self._connection:
                for _ in range(start, min(start + 1000, count)):
                    self.append(_body())

    def append(self, body: str) -> None:
        """One row, as apsw's documentation does it; a commit of its own when no transaction is open."""
        self._connection.execute("INSERT INTO message VALUES (?, ?, ?)", ("thread", self._next, body))
        self._next += 1

    def append_by_cursor(self, body: str) -> None:
        """The same through one cursor that is kept, which saves making one."""
        self._cursor.execute("INSERT INTO message VALUES (?, ?, ?)", ("thread", self._next, body))
        self._next += 1

    def append_whole(self, message: tuple[str, str]) -> None:
        """All that memwell stores of a message, and its index of ids, but nothing checked."""
        row = (1 << 32 | self._next, message[0], self._next, 0, 0, message[1])
        self._cursor.execute("INSERT INTO whole VALUES (?, ?, ?, ?, ?, ?)", row)
        self._next += 1

    def last(self, before: int | None = None) -> list[tuple[Any, ...]]:
        """The bodies of the last rows, or of the last before a place."""
        sql = "SELECT body FROM message WHERE thread = ? AND idx < ? ORDER BY idx DESC LIMIT ?"
        return self._cursor.execute(sql, ("thread", self._next if before is None else before, _LAST)).fetchall()

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()


class Bench:
    """A thread of some length in memwell, in bare SQLite and in every peer that is installed."""

    def __init__(self, folder: Path, length: int) -> None:
        folder.mkdir()
        self.length = length
        self.raw = RawLog(folder)
        self.raw.fill(length)
        self.backend = SqliteBackend(folder / "memwell.db")
        self.history_backend = SqliteBackend(folder / "history.db")
        self.history = History(self.history_backend, "thread", space=Space("bench"))
        for backend in (self.backend, self.history_backend):
            for _ in range(0, length, 1000):
                backend.log.append(_THREAD, _messages(min(length, 1000)))
        self.peers, self.missing = installed(folder)
        for peer in self.peers:
            peer.fill([as_item(one) for one in _messages(min(length, peer.most_messages))])

    def appenders(self) -> list[Contender]:
        """Who appends one message durably."""
        return [
            Contender(RAW, each(self.raw.append), _body),
            Contender(f"{RAW}, one cursor kept", each(self.raw.append_by_cursor), _body),
            Contender(f"{RAW}, the whole row and its index of ids", each(self.raw.append_whole), _identified),
            Contender(MEMWELL, each(lambda one: self.backend.log.append(_THREAD, [one])), lambda: human(_TEXT)),
            Contender(HISTORY, each(self.history.add), lambda: human(_TEXT)),
            *(Contender(peer.label, peer.append, lambda: as_item(human(_TEXT))) for peer in self.fair_peers()),
        ]

    def readers(self) -> list[Contender]:
        """Who reads the last twenty."""
        return [
            Contender(RAW, each(self.raw.last)),
            Contender(MEMWELL, each(lambda _: self.backend.log.read(_THREAD, last=_LAST))),
            *(Contender(peer.label, each(lambda _, peer=peer: peer.last(_LAST))) for peer in self.fair_peers()),
        ]

    def readers_anywhere(self) -> list[Contender]:
        """Who reads twenty from any place: what was decoded for an earlier read does not help."""
        lot = random.Random(7)

        def place() -> int:
            return lot.randrange(_LAST, self.length)

        return [
            Contender(RAW, each(self.raw.last), place),
            Contender(MEMWELL, each(lambda before: self.backend.log.read(_THREAD, last=_LAST, before=before)), place),
        ]

    def fair_peers(self) -> list[Peer]:
        """The peers whose thread is as long as ours."""
        return [peer for peer in self.peers if peer.most_messages >= self.length]

    def close(self) -> None:
        """Let go of all files."""
        for one in (self.raw, self.backend, self.history_backend, *self.peers):
            one.close()


def append(folder: Path, *, quick: bool) -> Section:
    """Durable append of one message of 160 characters, with ever more already in the thread."""
    section = Section("append")
    lengths = (100, 1_000) if quick else (1_000, 10_000, 100_000)
    timings: dict[int, dict[str, Timing]] = {}
    for length in lengths:
        step(f"append: {length:,} messages in the thread")
        bench = Bench(folder / f"append-{length}", length)
        timings[length] = take_turns(bench.appenders(), rounds=8 if quick else 60, batch=20)
        section.grids.append(_append_grid(bench, timings[length]))
        if length == lengths[1]:
            section.figures.append(_beside_peers(bench, timings[length]))
        bench.close()
    ratios = {length: found[MEMWELL].ratio(found[RAW]) for length, found in timings.items()}
    shown = ", ".join(f"{ratio:.2f}× at {length:,}" for length, ratio in ratios.items())
    section.figures.insert(
        0, Figure("append: CPU to a raw one-row commit", "≤ 1.5×", shown, max(ratios.values()) <= 1.5)
    )
    section.figures.insert(1, _flatness(ratios, timings))
    return section


def _append_grid(bench: Bench, timings: dict[str, Timing]) -> Grid:
    raw = timings[RAW]
    grid = Grid(
        f"Append one message, {bench.length:,} in the thread",
        ["", "CPU µs", "wall µs", "CPU to raw", "wall to raw", "on disk when it returns"],
        note="raw apsw: INSERT of the ready-made JSON into a table (thread, idx, body), autocommit, the same pragmas.",
    )
    durable = {peer.label: _durability(peer) for peer in bench.peers}
    for name, timing in timings.items():
        cells = (
            f"{timing.cpu_us:.0f}",
            f"{timing.wall_us:.0f}",
            f"{timing.ratio(raw):.2f}×",
            f"{timing.wall_ratio(raw):.2f}×",
        )
        grid.add(name, *cells, durable.get(name, "yes"))
    for peer in bench.peers:
        if peer.label not in timings:
            grid.add(peer.label, "–", "–", "–", "–", f"not measured above {peer.most_messages:,}")
    for text in bench.missing:
        grid.add(text, "–", "–", "–", "–", "–")
    return grid


def _durability(peer: Peer) -> str:
    mode, level = peer.pragmas()
    return f"{'yes' if peer.durable else 'no'} ({mode}, synchronous={level})"


def _beside_peers(bench: Bench, timings: dict[str, Timing]) -> Figure:
    name, target = f"append: beside the fastest durable peer at {bench.length:,}", "≥ 2× faster"
    ratios = {
        peer.label: (timings[peer.label].ratio(timings[MEMWELL]), timings[peer.label].wall_ratio(timings[MEMWELL]))
        for peer in bench.fair_peers()
        if peer.durable
    }
    if not ratios:
        return Figure(name, target, "no durable peer is installed", met=False)
    fastest = min(ratios, key=lambda label: ratios[label][0])
    cpu, wall = ratios[fastest]
    return Figure(name, target, f"{cpu:.1f}× less CPU, {wall:.1f}× by the wall than {fastest}", cpu >= 2.0)


def _flatness(ratios: dict[int, float], timings: dict[int, dict[str, Timing]]) -> Figure:
    # The three lengths are measured one after the other, so it is the ratios to raw that can be compared.
    first, last = min(ratios), max(ratios)
    change = ratios[last] / ratios[first] - 1.0
    cpu = f"{timings[first][MEMWELL].cpu_us:.0f} → {timings[last][MEMWELL].cpu_us:.0f} µs"
    measured = f"{change:+.0%} ({cpu})"
    return Figure(f"append: growth of that ratio from {first:,} to {last:,}", "±20 %", measured, abs(change) <= 0.2)


def read(folder: Path, *, quick: bool) -> Section:
    """The last twenty messages of a long thread, and twenty from a place that was not read before."""
    section = Section("read")
    ratios: dict[str, float] = {}
    length = 0
    for length in (1_000,) if quick else (10_000, 100_000):
        step(f"read: {_LAST} of {length:,} messages")
        bench = Bench(folder / f"read-{length}", length)
        for title, contenders in (("The last", bench.readers()), ("Somewhere, another", bench.readers_anywhere())):
            timings = take_turns(contenders, rounds=8 if quick else 60, batch=20)
            section.grids.append(_read_grid(f"{title} {_LAST} of {length:,} messages", timings, bench.missing))
            ratios[title] = timings[MEMWELL].ratio(timings[RAW])
        bench.close()
    measured = f"{ratios['The last']:.2f}× (not read before: {ratios['Somewhere, another']:.2f}×)"
    name = f"read: last {_LAST} of {length:,}, CPU to the raw query"
    section.figures.append(Figure(name, "≤ 2×", measured, ratios["The last"] <= 2.0))
    return section


def _read_grid(title: str, timings: dict[str, Timing], missing: Sequence[str]) -> Grid:
    grid = Grid(title, ["", "CPU µs", "wall µs", "CPU to raw"])
    for name, timing in timings.items():
        cells = (f"{timing.cpu_us:.0f}", f"{timing.wall_us:.0f}", f"{timing.ratio(timings[RAW]):.2f}×")
        grid.add(name.replace("append", "read"), *cells)
    for text in missing:
        grid.add(text, "–", "–", "–")
    grid.note = "raw apsw returns the JSON texts; memwell returns them decoded into messages, peers into dicts."
    return grid


__all__ = ["append", "read"]
