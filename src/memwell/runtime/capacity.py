"""Capacity planning: how many machines a number of users needs, from measured costs. Inferred figures are marked.

``capacity.json`` in this folder has the costs: what ``python -m benchmarks.capacity`` measured on one machine, of each
engine and at each size. A plan multiplies the costs of CPU and bytes by the load. It leaves out what was not measured
(networks, replicas, other processors), and says so.
"""

from __future__ import annotations

import math
from functools import cache
from importlib.resources import files
from typing import Literal

import msgspec

from memwell.errors import InvalidInput
from memwell.values import shown

Basis = Literal["measured", "extrapolated", "assumed"]

_DAY_S = 86_400.0
_GB = 2.0**30


class EngineCosts(msgspec.Struct, frozen=True):
    """The costs of one engine that holds ``records``. CPU is in milliseconds of one core, bytes are of the store."""

    records: int
    record_bytes: float
    """On disk, or in the memory of a server that keeps everything there, with the indexes."""
    message_bytes: float
    remember_ms: float
    """CPU of the process that uses memwell, with background work and without embedding."""
    remember_store_ms: float
    """CPU of the engine's own processes for the same."""
    recall_ms: float
    """With the snapshot of the space in memory, without embedding the query."""
    recall_store_ms: float
    append_ms: float
    append_store_ms: float
    load_per_s: float = 0.0
    """Records stored in a second in batches, with vectors."""
    first_recall_ms: float = 0.0
    """The first in a space of 200 memories, by the clock."""
    near_ms: float = 0.0
    """A search by vector alone in the store, in a space of 20,000, by the clock."""
    near_found: float = 0.0
    """How many of the ten nearest it finds."""


class MeasuredCosts(msgspec.Struct, frozen=True):
    """All measured costs, and the machine they were measured on."""

    measured: str
    machine: str
    embed_ms: float
    """One text with the local embedder."""
    pool_bytes: float
    """What a memory takes in the snapshot of its space."""
    engines: dict[str, list[EngineCosts]]


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """What users do. Raises ``InvalidInput`` for a number out of range."""

    users: int
    memories: int = 500
    """How many memories a user has in the end."""
    messages: int = 2_000
    """How many messages of conversations are kept for a user."""
    remembers_per_day: float = 10.0
    recalls_per_day: float = 20.0
    messages_per_day: float = 40.0
    peak: float = 4.0
    """The load of the busiest minute, as a multiple of the day's mean."""
    active: float = 0.1
    """The share of users active in the busiest hour, whose snapshots are in memory."""
    local_embedder: bool = True
    """Whether texts are embedded on these machines; with a model behind a URL they are not."""

    def __post_init__(self) -> None:
        if self.users < 1:
            raise InvalidInput(f"users must be at least 1, not {shown(self.users)}")
        for name in ("memories", "messages", "remembers_per_day", "recalls_per_day", "messages_per_day"):
            _check(name, getattr(self, name), 0.0, math.inf)
        _check("peak", self.peak, 1.0, 1e6)
        _check("active", self.active, 0.0, 1.0)


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """The size of one machine. Raises ``InvalidInput`` for a number out of range."""

    cores: float = 8.0
    memory_gb: float = 32.0
    disk_gb: float = 500.0
    fill: float = 0.5
    """The share of it that may be in use at the peak."""

    def __post_init__(self) -> None:
        for name in ("cores", "memory_gb", "disk_gb"):
            _check(name, getattr(self, name), 0.01, math.inf)
        _check("fill", self.fill, 0.05, 1.0)


def _check(name: str, value: float, least: float, most: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"{name} must be between {least:g} and {most:g}, not {shown(value)}")


class PlanLine(msgspec.Struct, frozen=True):
    """One figure of a plan, and whether it was measured, extrapolated or assumed."""

    what: str
    amount: float
    unit: str
    basis: Basis


class Plan(msgspec.Struct, frozen=True):
    """How many machines are needed: ``machines`` for memwell's own processes, ``store_machines`` for the engine."""

    engine: str
    machines: int
    store_machines: int
    lines: list[PlanLine]
    notes: list[str]
    """Names of remarks that apply; the command line prints them in the reader's language."""


@cache
def figures() -> MeasuredCosts:
    """The measured costs of this version."""
    return msgspec.json.decode(files("memwell.runtime").joinpath("capacity.json").read_bytes(), type=MeasuredCosts)


def plan(
    load: Load, engine: str = "postgres", *, machine: Machine | None = None, known: MeasuredCosts | None = None
) -> Plan:
    """How many machines such a load takes on an engine. Raises ``InvalidInput`` for an engine that was not measured."""
    measured, of = known or figures(), machine or Machine()
    if engine not in measured.engines:
        raise InvalidInput(f"no costs are known of {shown(engine)}; measured were: {', '.join(measured.engines)}")
    records = load.users * load.memories
    costs = _nearest(measured.engines[engine], records)
    size: Basis = "measured" if records <= costs.records else "extrapolated"
    a_second = load.peak * load.users / _DAY_S
    remembers, recalls, appends = (
        a_second * one for one in (load.remembers_per_day, load.recalls_per_day, load.messages_per_day)
    )
    embedded = (remembers + recalls) * measured.embed_ms if load.local_embedder else 0.0
    own = (remembers * costs.remember_ms + recalls * costs.recall_ms + appends * costs.append_ms) / 1e3
    store = (
        remembers * costs.remember_store_ms + recalls * costs.recall_store_ms + appends * costs.append_store_ms
    ) / 1e3
    held = load.users * load.active * load.memories * measured.pool_bytes / _GB
    kept = (records * costs.record_bytes + load.users * load.messages * costs.message_bytes) / _GB
    cores = own + embedded / 1e3
    lines = [
        PlanLine("records", records, "", "assumed"),
        PlanLine("requests", remembers + recalls + appends, "/s", "assumed"),
        PlanLine("kept", kept, "GB", size),
        PlanLine("cores_memwell", own, "cores", "extrapolated" if cores > 2 else size),
        PlanLine("cores_embedding", embedded / 1e3, "cores", "extrapolated" if cores > 2 else "measured"),
        PlanLine("cores_store", store, "cores", "extrapolated" if store > 2 else size),
        PlanLine("memory_pools", held, "GB", "measured" if held < 1 else "extrapolated"),
    ]
    machines = _machines(of, cores, held, 0.0)
    return _with_store(engine, of, lines, (cores, held, machines), (store, kept))


def _with_store(
    engine: str, of: Machine, lines: list[PlanLine], own: tuple[float, float, int], store: tuple[float, float]
) -> Plan:
    """The plan with the machines of the store: none of its own for a file."""
    cores, held, machines = own
    store_cores, kept = store
    if engine.startswith("sqlite"):
        needed = _machines(of, cores + store_cores, held, kept)
        return Plan(engine, needed, 0, lines, ["one_file"] if needed > 1 else [])
    needed = _machines(of, store_cores, 0.0, kept)
    notes = ["no_replicas"] if needed == 1 else ["no_replicas", "distributed"]
    return Plan(engine, machines, needed, lines, notes)


def _machines(of: Machine, cores: float, memory: float, disk: float) -> int:
    needs = ((cores, of.cores), (memory, of.memory_gb), (disk, of.disk_gb))
    return max(1, *(math.ceil(need / (has * of.fill)) for need, has in needs))


def _nearest(measured: list[EngineCosts], records: int) -> EngineCosts:
    """The costs at the smallest measured size that is not below this one, or at the largest."""
    larger = [one for one in measured if one.records >= records]
    return min(larger, key=lambda one: one.records) if larger else max(measured, key=lambda one: one.records)
