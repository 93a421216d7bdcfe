"""The servers that are killed, each with an empty store of its own whenever one is asked for."""

from __future__ import annotations

import os
import random
import shutil
import signal
import tempfile
import time
from abc import ABC, abstractmethod
from pathlib import Path

from psycopg import sql

from benchmarks.crash_servers.writing import SPACE
from memwell.records import paged
from memwell.storage.composed import ComposedBackend
from memwell.storage.protocols import Backend
from tests.engines import postgres, redis
from tests.engines.milvus import lite_url
from tests.engines.proxy import Proxy

_PATIENCE_S = 20.0
_ALWAYS = ("--appendonly", "yes", "--appendfsync", "always")


class Site(ABC):
    """A kind of store and its servers."""

    name: str
    proxy: Proxy | None = None
    writers = 2
    """How many processes may write at once."""

    def __init__(self) -> None:
        self._number = 0

    def begin_anew(self) -> None:
        """From now on ``url`` is of an empty store."""
        self._number += 1

    @abstractmethod
    def url(self, *, proxied: bool = False) -> str:
        """The URL of the store, directly or through what cuts connections."""

    @abstractmethod
    def kill_server(self, lot: random.Random) -> None:
        """Kill the server, or one of them, and bring it back after a while."""

    @abstractmethod
    def settle(self) -> None:
        """Wait until the server is done with what killed programs had sent it."""

    def orphans(self, store: Backend) -> list[str]:
        """What one part of a store holds and another does not, after they were reconciled."""
        del store
        return []

    @abstractmethod
    def close(self) -> None:
        """Stop the servers and remove what they kept."""


class Postgres(Site):
    """One server with a sync at every commit."""

    name = "postgres"

    def __init__(self) -> None:
        super().__init__()
        self._server = postgres.Server(durable=True)
        self.proxy = Proxy(self._server.port)

    @property
    def _schema(self) -> str:
        return f"crash_{self._number}"

    def url(self, *, proxied: bool = False) -> str:
        assert self.proxy is not None
        return self._server.url(port=self.proxy.port if proxied else None, schema=self._schema)

    def kill_server(self, lot: random.Random) -> None:
        # A postmaster that stands still starts nobody who would outlive it.
        pid = int((self._server.data / "postmaster.pid").read_text().split()[0])
        os.kill(pid, signal.SIGSTOP)
        redis.wait_until(lambda: _state(pid) == "T", "the postmaster did not stand still")
        children = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
        self._server.crash()
        redis.wait_until(lambda: all(_state(child) in "Z" for child in children), "a part of the server outlived it")
        time.sleep(lot.uniform(0.0, 0.2))
        self._server.start()

    def settle(self) -> None:
        query = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE %s"
        end = time.monotonic() + _PATIENCE_S
        with self._server.admin() as connection:
            while connection.execute(query, (f"memwell {self._schema} %",)).fetchone() != (0,):
                if time.monotonic() > end:
                    raise RuntimeError("the sessions of a killed program did not end")
                time.sleep(0.005)

    def begin_anew(self) -> None:
        with self._server.admin() as connection:
            connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(self._schema)))
        super().begin_anew()

    def close(self) -> None:
        assert self.proxy is not None
        self.proxy.close()
        self._server.remove()


def _state(pid: int) -> str:
    """What a process does now, as the kernel says it in a letter; empty when it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


class Redis(Site):
    """One server with a sync at every write."""

    name = "redis"

    def __init__(self) -> None:
        super().__init__()
        self._folder = Path(tempfile.mkdtemp(prefix="memwell-crash-"))
        self._server = redis.Server(self._folder, *_ALWAYS)
        self.proxy = Proxy(self._server.port)

    def url(self, *, proxied: bool = False) -> str:
        assert self.proxy is not None
        port = self.proxy.port if proxied else self._server.port
        return f"redis://127.0.0.1:{port}/0?prefix=crash{self._number}"

    def begin_anew(self) -> None:
        redis.ask(self._server.port, "FLUSHALL")
        super().begin_anew()

    def kill_server(self, lot: random.Random) -> None:
        self._server.kill()
        time.sleep(lot.uniform(0.0, 0.2))
        self._server.start()

    def settle(self) -> None:
        # It answers before it has loaded what it holds, and refuses all else until then.
        redis.wait_until(lambda: b"PONG" in redis.ask(self._server.port, "PING"), "the server did not load its data")
        # Whoever asks is himself on the list.
        redis.wait_until(
            lambda: redis.ask(self._server.port, "CLIENT", "LIST").count(b"addr=") <= 2, "killed clients did not go"
        )

    def close(self) -> None:
        assert self.proxy is not None
        self.proxy.close()
        self._server.kill()
        shutil.rmtree(self._folder, ignore_errors=True)


class Composed(Redis):
    """SQLite, with messages and entries in a Redis with a sync at every write."""

    name = "sqlite+redis"

    def url(self, *, proxied: bool = False) -> str:
        placed = super().url(proxied=proxied)
        return f"sqlite:{self._folder}/{self._number}.db,log={placed},kv={placed}"


class RedisCluster(Site):
    """Three masters, each with a replica that has every write before it is acknowledged; nothing is on any disk."""

    name = "redis-cluster"

    def __init__(self) -> None:
        super().__init__()
        self._folder = Path(tempfile.mkdtemp(prefix="memwell-crash-"))
        self._cluster = redis.Cluster(self._folder, "--appendonly", "no")

    def url(self, *, proxied: bool = False) -> str:
        del proxied
        return f"{self._cluster.url}?prefix=crash{self._number}&wait=1"

    def kill_server(self, lot: random.Random) -> None:
        """Kill a master, wait for its replica to take over, and bring it back as the replica's replica."""
        masters = [one for one in self._cluster.members if self._is_master(one)]
        victim = lot.choice(masters)
        others = [one for one in self._cluster.members if one is not victim]
        victim.kill()
        redis.wait_until(lambda: sum(map(self._is_master, others)) == len(masters), "no replica took over")
        victim.start()
        redis.wait_until(lambda: not self._is_master(victim), "the dead master did not come back as a replica")
        redis.wait_until(
            lambda: all(self._cluster.is_followed(one) for one in self._cluster.members if self._is_master(one)),
            "a master is left without a replica",
        )
        redis.wait_until(
            lambda: all(b"cluster_state:ok" in redis.ask(one.port, "CLUSTER", "INFO") for one in others),
            "the cluster did not recover",
        )

    @staticmethod
    def _is_master(member: redis.Server) -> bool:
        return b"role:master" in redis.ask(member.port, "INFO", "replication")

    def settle(self) -> None:
        time.sleep(0.1)

    def close(self) -> None:
        for member in self._cluster.members:
            member.kill()
        shutil.rmtree(self._folder, ignore_errors=True)


class Milvus(Site):
    """Rows in SQLite, and vectors in milvus-lite, which ends with the one program that has it open."""

    name = "sqlite+milvus"
    writers = 1

    def __init__(self) -> None:
        super().__init__()
        self._folder = Path(tempfile.mkdtemp(prefix="memwell-crash-"))

    def url(self, *, proxied: bool = False) -> str:
        del proxied
        return f"sqlite:{self._folder}/{self._number}.db,index={lite_url(self._folder, f'vectors-{self._number}.db')}"

    def kill_server(self, lot: random.Random) -> None:
        """There is none: it dies with the writer."""

    def settle(self) -> None:
        """Nothing has to be waited for."""

    def orphans(self, store: Backend) -> list[str]:
        assert isinstance(store, ComposedBackend)
        assert store.follower is not None
        store.follower.reconcile()
        rows = {one.id for one in paged(lambda cursor: store.index.scan(SPACE, limit=1000, cursor=cursor))}
        there = set(store.follower.attached.use(lambda engine: list(engine.ids(SPACE))))
        return [f"in one part alone: {id_}" for id_ in sorted(rows ^ there)]

    def close(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


SITES: dict[str, type[Site]] = {site.name: site for site in (Postgres, Redis, RedisCluster, Composed, Milvus)}


__all__ = ["SITES", "Site"]
