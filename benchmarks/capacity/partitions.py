"""``python -m benchmarks.capacity.partitions [--rows N] [--parts 64]``: tables in hash partitions by space, or whole.

A PostgreSQL is started for the run. Its table of vectors gets so many rows of 32 numbers, 100 to a space, once as memwell
makes it and once in partitions, which an operator can make of the same tables. A few hundred of the spaces were filled
through memwell, which is asked, written to and erased from.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psycopg

from benchmarks.capacity.__main__ import Running, started
from benchmarks.capacity.processes import cpu_s
from benchmarks.report import console, step
from memwell.records import Record, Space
from memwell.storage.postgres import PostgresBackend
from memwell.storage.postgres.schema import TABLES

_NUMBERS = 32
_A_SPACE = 100
_ASKED = 200
_DISTINCT = 1_000


def main() -> None:
    """Measure both, and print them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.capacity.partitions", description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000, help="rows of vectors (10000000)")
    parser.add_argument("--parts", type=int, default=64, help="partitions (64)")
    options = parser.parse_args()
    for parts in (0, options.parts):
        step(f"{options.rows:,} rows, {f'{parts} partitions' if parts else 'whole tables'}")
        with tempfile.TemporaryDirectory() as folder, started("postgres", Path(folder)) as running:
            console.print(_measured(running, options.rows, parts))


def partition(connection: psycopg.Connection[Any], parts: int, schema: str = "memwell") -> None:
    """Put the tables of an empty store into hash partitions by space, as an operator may. Policies are made again."""
    connection.execute(f"SET search_path TO {schema}, public".encode())
    for table in TABLES:
        policies = connection.execute(
            "SELECT polname, pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid) FROM pg_policy "
            "WHERE polrelid = to_regclass(%s)",
            (table,),
        ).fetchall()
        statements = [
            f"ALTER TABLE {table} RENAME TO whole",
            f"CREATE TABLE {table} (LIKE whole INCLUDING ALL) PARTITION BY HASH (space)",
            *(
                f"CREATE TABLE {table}_{part} PARTITION OF {table} FOR VALUES WITH (MODULUS {parts}, REMAINDER {part})"
                for part in range(parts)
            ),
            f"ALTER TABLE {table} OWNER TO memwell",
            *(f"ALTER TABLE {table}_{part} OWNER TO memwell" for part in range(parts)),
            *(
                f"CREATE POLICY {name} ON {table} USING ({using}) WITH CHECK ({check})"
                for name, using, check in policies
            ),
            *(f"ALTER TABLE {table} {one} ROW LEVEL SECURITY" for one in ("ENABLE", "FORCE") if policies),
        ]
        for statement in statements:
            connection.execute(statement.encode())
        # Functions return rows of a table; theirs is the table's type, not its name.
        _recreate_functions(connection, schema)
        connection.execute(b"DROP TABLE whole")


def _recreate_functions(connection: psycopg.Connection[Any], schema: str) -> None:
    """Functions that return rows of the table that was renamed return those of the new one."""
    found = connection.execute(
        "SELECT pg_get_functiondef(oid), oid::regprocedure::text FROM pg_proc WHERE pronamespace = to_regnamespace(%s) "
        "AND prorettype = (SELECT reltype FROM pg_class WHERE oid = to_regclass('whole'))",
        (schema,),
    ).fetchall()
    for definition, name in found:
        connection.execute(f"DROP FUNCTION {name}".encode())
        table = "memwell_record_space"
        connection.execute(definition.replace("whole", table).encode())
        connection.execute(f"ALTER FUNCTION {name} OWNER TO memwell".encode())


def _measured(running: Running, rows: int, parts: int) -> dict[str, Any]:
    generator = np.random.default_rng(7)
    spaces = [Space(f"asked{number}") for number in range(_ASKED)]
    PostgresBackend(running.url).close()
    admin = running.url.replace("memwell@", "postgres@", 1)
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(b"SET search_path TO memwell, public")
        if parts:
            partition(connection, parts)
        taken = _seconds(lambda: _load(connection, rows, generator))
        size = connection.execute(
            "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relname ~ '^memwell_record_vector(_[0-9]+)?$'"
        ).fetchone()
        with PostgresBackend(running.url) as backend:
            for space in spaces:
                backend.index.upsert([_record(space, number, generator) for number in range(_A_SPACE)])
            found = {
                "load_s": round(taken),
                "bytes_a_row": round(int(size[0] if size else 0) / rows),
                "near": _costs(running, lambda at: len(backend.index.near(spaces[at % _ASKED], _vector(generator)))),
                "upsert": _costs(
                    running, lambda at: backend.index.upsert([_record(spaces[at % _ASKED], 1_000 + at, generator)])
                ),
                "delete": _costs(
                    running,
                    lambda at: backend.index.delete(spaces[at % _ASKED], [f"r{at // _ASKED}"]),
                ),
            }
        connection.execute(b"DELETE FROM memwell_record_vector WHERE space LIKE 'u00%'")
        found["vacuum_s"] = round(_seconds(lambda: connection.execute(b"VACUUM memwell_record_vector")), 1)
    return found


def _load(connection: psycopg.Connection[Any], rows: int, generator: np.random.Generator) -> None:
    connection.execute(b"CREATE TEMP TABLE drawn (number int PRIMARY KEY, vector halfvec)")
    with connection.cursor() as cursor, cursor.copy(b"COPY drawn FROM STDIN") as copy:
        for number in range(_DISTINCT):
            copy.write_row((number, str(_vector(generator))))
    connection.execute(
        "INSERT INTO memwell_record_vector (space, number, dimensions, vector) "
        "SELECT 'u' || lpad((at / %s)::text, 6, '0'), at %% %s, %s, drawn.vector "
        "FROM generate_series(0, %s) AS at JOIN drawn ON drawn.number = at %% %s",
        (_A_SPACE, _A_SPACE, _NUMBERS, rows - 1, _DISTINCT),
    )
    connection.execute(b"ANALYZE memwell_record_vector")


def _vector(generator: np.random.Generator) -> list[float]:
    return [round(float(one), 3) for one in generator.normal(size=_NUMBERS)]


def _record(space: Space, number: int, generator: np.random.Generator) -> Record:
    return Record(id=f"r{number}", text=f"note {number} of the garden", space=space, vector=_vector(generator))


def _seconds(work: Callable[[], object]) -> float:
    start = time.monotonic()
    work()
    return time.monotonic() - start


def _costs(running: Running, work: Callable[[int], object], times: int = 1_000) -> str:
    """The CPU of the client and of the server for one call, in milliseconds, and the median of the clock."""
    for at in range(50):
        work(at)
    own, server = time.process_time(), cpu_s(running.pids())
    waited = [_seconds(lambda at=at: work(at)) for at in range(50, 50 + times)]
    own, server = time.process_time() - own, cpu_s(running.pids()) - server
    return (
        f"{own / times * 1e3:.2f} + {server / times * 1e3:.2f} ms, {statistics.median(waited) * 1e3:.2f} by the clock"
    )


if __name__ == "__main__":
    main()
