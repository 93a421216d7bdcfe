"""LangGraph's store and checkpointer over memwell: langgraph's own suite, its store in memory as a model, real graphs."""

from __future__ import annotations

import asyncio
import json
import operator
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("langgraph.graph", reason="langgraph is not installed")
pytest.importorskip("langgraph.checkpoint.conformance", reason="langgraph-checkpoint-conformance is not installed")

from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from memwell.errors import InvalidInput, Unsupported
from memwell.integrations import langgraph as room
from memwell.integrations.langgraph import MemwellSaver, MemwellStore
from memwell.storage import Backend, open_backend
from memwell.storage.memory import MemoryBackend
from memwell.storage.sqlite import SqliteBackend
from memwell.values import new_id
from tests.engines.postgres import open_recycled, recycle, store_url


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    """An empty store of every kind."""
    with opened(request.param, tmp_path) as store:
        yield store
    recycle(tmp_path)


def opened(kind: str, folder: Path) -> Backend:
    if kind == "postgres":
        return open_recycled(folder / "store")
    return open_backend("memory:" if kind == "memory" else folder / "store.db")


def python(code: str) -> str:
    run = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


def test_every_class_is_a_true_subclass():
    assert room.__all__ == ["MemwellSaver", "MemwellStore"]
    assert issubclass(MemwellSaver, BaseCheckpointSaver)
    assert issubclass(MemwellStore, BaseStore)


def test_without_langgraph_it_says_what_to_install():
    code = """
import sys
sys.modules["langgraph"] = None
from memwell.errors import MissingDependency
try:
    import memwell.integrations.langgraph
except ImportError as error:
    print(isinstance(error, MissingDependency), error)
"""
    said = python(code)
    assert said.startswith("True ")
    assert 'pip install "path/to/memwell[langgraph]"' in said


# ``MemwellSaver``: the suite that langgraph asks its checkpointers to pass.


class BlockingSaver(MemwellSaver):
    """The suite calls the async methods alone; here each is the blocking one."""

    async def aget_tuple(self, *args: Any) -> Any:
        return self.get_tuple(*args)

    async def alist(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        for one in self.list(*args, **kwargs):
            yield one

    async def aput(self, *args: Any) -> Any:
        return self.put(*args)

    async def aput_writes(self, *args: Any, **kwargs: Any) -> None:
        self.put_writes(*args, **kwargs)

    async def adelete_thread(self, *args: Any) -> None:
        self.delete_thread(*args)

    async def adelete_for_runs(self, *args: Any) -> None:
        self.delete_for_runs(*args)

    async def acopy_thread(self, *args: Any) -> None:
        self.copy_thread(*args)

    async def aprune(self, *args: Any, **kwargs: Any) -> None:
        self.prune(*args, **kwargs)


@pytest.mark.parametrize("saver", [MemwellSaver, BlockingSaver])
async def test_langgraphs_suite_passes_in_full(saver: type[MemwellSaver], backend: Backend):
    @checkpointer_test(name=saver.__name__)
    async def made() -> AsyncIterator[MemwellSaver]:
        yield saver(backend)

    results = (await validate(made)).results
    assert len(results) == 8
    assert {name: one.failures for name, one in results.items() if not one.passed} == {}
    assert sum(one.tests_passed for one in results.values()) >= 81


def settings_of(thread: str, **more: str) -> Any:
    return {"configurable": {"thread_id": thread, **more}}


def counting(saver: BaseCheckpointSaver[str], channel: Any = operator.add) -> Any:
    builder: Any = StateGraph(TypedDict("State", {"said": Annotated[list[str], channel]}))
    for name in ("one", "two", "three"):
        builder.add_node(name, lambda state, name=name: {"said": [f"{name} after {len(state['said'])}"]})
    builder.add_edge(START, "one")
    builder.add_edge(START, "two")
    builder.add_edge("one", "three")
    builder.add_edge("three", END)
    return builder.compile(checkpointer=saver)


def history(graph: Any, thread: str) -> list[Any]:
    return [(one.values, one.next, one.metadata["step"]) for one in graph.get_state_history(settings_of(thread))]


def test_a_graph_has_the_history_that_it_has_in_memory(backend: Backend):
    ours, model = counting(MemwellSaver(backend)), counting(InMemorySaver())
    for graph in (ours, model):
        for _ in range(3):
            graph.invoke({"said": ["hello"]}, settings_of("a/b%2F"))
    assert history(ours, "a/b%2F") == history(model, "a/b%2F")
    assert len(history(ours, "a/b%2F")) > 9


async def test_an_async_graph_has_the_history_that_it_has_in_memory(backend: Backend):
    ours, model = counting(MemwellSaver(backend)), counting(InMemorySaver())
    found = []
    for graph in (ours, model):
        await graph.ainvoke({"said": ["hello"]}, settings_of("t"))
        states = [one async for one in graph.aget_state_history(settings_of("t"))]
        found.append([(one.values, one.next, one.metadata["step"]) for one in states])
    assert found[0] == found[1]
    assert found[0]


def test_branches_of_a_thread_keep_their_own_values(backend: Backend):
    graph = counting(MemwellSaver(backend))
    graph.invoke({"said": ["hello"]}, settings_of("t"))
    early = list(graph.get_state_history(settings_of("t")))[-2].config
    forks = [graph.update_state(early, {"said": [text]}, as_node="one") for text in ("left", "right")]
    assert [graph.get_state(one).values["said"][-1] for one in forks] == ["left", "right"]


def folded(state: list[str], writes: Sequence[list[str]]) -> list[str]:
    return [*state, *(one for several in writes for one in several)]


@pytest.mark.parametrize("every", [2, 100])
def test_a_delta_channel_survives_pruning_and_copying(backend: Backend, every: int):
    saver = MemwellSaver(backend)
    graph = counting(saver, DeltaChannel(folded, snapshot_frequency=every))
    model = counting(InMemorySaver(), DeltaChannel(folded, snapshot_frequency=every))
    for one in (graph, model):
        for _ in range(3):
            one.invoke({"said": ["hello"]}, settings_of("t"))
    expected = model.get_state(settings_of("t")).values
    assert graph.get_state(settings_of("t")).values == expected
    saver.prune(["t"])
    assert graph.get_state(settings_of("t")).values == expected
    saver.copy_thread("t", "copy")
    saver.delete_thread("t")
    assert graph.get_state(settings_of("copy")).values == expected
    graph.invoke({"said": ["more"]}, settings_of("copy"))
    assert graph.get_state(settings_of("copy")).values["said"][: len(expected["said"])] == expected["said"]


def stored_keys(saver: MemwellSaver) -> list[str]:
    return [entry.key for entry in saver.backend.kv.scan(saver.space, limit=1000).items]


def test_pruning_and_deleting_leave_no_values_behind(backend: Backend):
    saver = MemwellSaver(backend)
    graph = counting(saver)
    for _ in range(3):
        graph.invoke({"said": ["hello"]}, settings_of("t"))
    before = len(stored_keys(saver))
    saver.prune(["t"])
    kept = stored_keys(saver)
    assert len(kept) < before / 3
    assert len([key for key in kept if key.startswith("c/")]) == 1
    assert graph.get_state(settings_of("t")).values["said"][-1].startswith("three")
    saver.delete_thread("t")
    assert stored_keys(saver) == []


def test_deleting_a_run_keeps_the_values_that_others_share(backend: Backend):
    saver = MemwellSaver(backend)
    first = {**empty_checkpoint(), "id": "1", "channel_values": {"a": "x"}, "channel_versions": {"a": "1"}}
    second: Any = {**first, "id": "2", "channel_values": {"a": "x", "b": "y"}, "channel_versions": {"a": "1", "b": "1"}}
    at = saver.put(settings_of("t", checkpoint_ns=""), first, {"run_id": "early"}, {"a": "1"})  # pyright: ignore[reportArgumentType]
    saver.put(at, second, {"run_id": "late"}, {"b": "1"})
    saver.delete_for_runs(["early"])
    [left] = saver.list(settings_of("t"))
    assert left.checkpoint["channel_values"] == {"a": "x", "b": "y"}
    saver.delete_for_runs(["late"])
    assert stored_keys(saver) == []


def test_a_saver_lists_all_threads_and_sees_its_own_space_only(backend: Backend):
    ann, ben = MemwellSaver(backend, space="ann"), MemwellSaver(backend, space="ben")
    for thread in ("x", "y"):
        counting(ann).invoke({"said": []}, settings_of(thread))
    assert {one.config.get("configurable", {})["thread_id"] for one in ann.list(None)} == {"x", "y"}
    assert list(ben.list(None)) == []
    assert ben.get_tuple(settings_of("x")) is None
    assert len(list(ann.list(None, limit=3))) == 3


@given(st.lists(st.text("0123456789abcdef-/o~ ", min_size=1, max_size=5), min_size=1, max_size=8, unique=True))
def test_the_latest_checkpoint_has_the_greatest_id(ids: list[str]):
    with MemoryBackend() as store:
        saver = MemwellSaver(store)
        for id_ in ids:
            saver.put(settings_of("t", checkpoint_ns=""), {**empty_checkpoint(), "id": id_}, {}, {})
            saver.put_writes(settings_of("t", checkpoint_ns="", checkpoint_id=id_), [("c", id_)], "task")
        found = list(saver.list(settings_of("t")))
        assert [one.checkpoint["id"] for one in found] == sorted(ids, reverse=True)
        assert all(one.pending_writes == [("task", "c", one.checkpoint["id"])] for one in found)
        latest = saver.get_tuple(settings_of("t"))
        assert latest is not None
        assert latest.checkpoint["id"] == max(ids)


def test_what_cannot_be_stored_is_refused():
    with MemoryBackend() as store:
        saver = MemwellSaver(store)
        with pytest.raises(InvalidInput, match="printable"):
            saver.put(settings_of("t", checkpoint_ns=""), {**empty_checkpoint(), "id": "é"}, {}, {})
        with pytest.raises(InvalidInput, match="strategy"):
            saver.prune(["t"], strategy="some")


# A graph with both, interrupted in one process and resumed in another.

INTERRUPTED = """
import sys
from typing import TypedDict
from langgraph.graph import START, StateGraph
from langgraph.store.base import BaseStore
from langgraph.types import Command, interrupt
from memwell.integrations.langgraph import MemwellSaver, MemwellStore

class State(TypedDict):
    order: str
    answer: str

def ask(state: State, *, store: BaseStore):
    store.put(("orders", "ann"), "last", {"text": state["order"]})
    return {"answer": interrupt("Order " + state["order"] + "?")}

def tell(state: State, *, store: BaseStore):
    [found] = store.search(("orders",), filter={"text": state["order"]})
    return {"answer": state["answer"] + ": " + found.value["text"]}

builder = StateGraph(State)
builder.add_node("ask", ask)
builder.add_node("tell", tell)
builder.add_edge(START, "ask")
builder.add_edge("ask", "tell")
url = sys.argv[1]
graph = builder.compile(checkpointer=MemwellSaver(url), store=MemwellStore(url, index=False))
config = {"configurable": {"thread_id": "t"}}
if sys.argv[2] == "begin":
    print(graph.invoke({"order": "a pot of tea"}, config)["__interrupt__"][0].value)
else:
    print(graph.get_state(config).next, graph.invoke(Command(resume="yes"), config)["answer"])
"""


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_an_interrupted_graph_is_resumed_in_another_process(kind: str, tmp_path: Path):
    url = store_url(tmp_path / "store") if kind == "postgres" else str(tmp_path / "store.db")

    def run(step: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", INTERRUPTED, url, step], capture_output=True, text=True, check=False, timeout=100
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    assert run("begin") == "Order a pot of tea?"
    assert run("resume") == "('ask',) yes: a pot of tea"


# ``MemwellStore``: langgraph's own store in memory says what is right.

FAKE = DeterministicFakeEmbedding(size=8)
LABELS = st.sampled_from(["a", "b", "c-d", "é", "*x"])
NAMESPACES = st.lists(LABELS, min_size=1, max_size=3).map(tuple)
KEYS = st.sampled_from(["k", "l", ".", "/0", "k/1", "钥"])
VALUES = st.fixed_dictionaries(
    {"n": st.integers(-3, 3), "text": st.sampled_from(["tea", "coffee", "水"])},
    optional={
        "kind": st.sampled_from(["x", "y"]),
        "deep": st.fixed_dictionaries({"m": st.sampled_from([1, "x", None])}),
    },
)
INDEXES = st.sampled_from([None, False, ["text"], ["n"]])
COMPARED = st.dictionaries(
    st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]), st.integers(-3, 3), min_size=1, max_size=2
)
FILTERS = st.none() | st.fixed_dictionaries(
    {}, optional={"n": COMPARED | st.integers(-3, 3), "kind": st.sampled_from(["x", "y", None]),
                  "deep": st.fixed_dictionaries({"m": st.sampled_from([1, "x", None])})},
)  # fmt: skip
PATTERNS = st.lists(LABELS | st.just("*"), min_size=1, max_size=3).map(tuple)
PUTS = st.builds(PutOp, NAMESPACES, KEYS, VALUES | st.none(), INDEXES, ttl=st.none())
SEARCHES = st.builds(
    SearchOp, st.lists(LABELS, max_size=2).map(tuple), FILTERS, st.integers(1, 5), st.integers(0, 3),
    st.sampled_from([None, "tea", "-1"]),
)  # fmt: skip
CONDITIONS = st.lists(st.builds(MatchCondition, st.sampled_from(["prefix", "suffix"]), PATTERNS), max_size=2)
LISTS = st.builds(
    ListNamespacesOp, CONDITIONS.map(tuple), st.none() | st.integers(1, 3), st.integers(0, 5), st.integers(0, 2)
)
OPERATIONS = st.one_of(PUTS, PUTS, PUTS, st.builds(GetOp, NAMESPACES, KEYS), SEARCHES, LISTS)


def plain(item: Any) -> Any:
    return None if item is None else (item.namespace, item.key, item.value)


class Model:
    """langgraph's store in memory, without what it does by mistake.

    It lists the namespaces that were only asked for or are empty, and searches with vectors of values that were replaced.
    """

    def __init__(self) -> None:
        self.store = InMemoryStore(index={"embed": FAKE, "dims": 8, "fields": ["text"]})

    def put(self, op: PutOp) -> None:
        self.store.batch([op._replace(value=None)])
        self.store.batch([op])

    def get(self, op: GetOp) -> Any:
        return plain(self.store.batch([op])[0])

    def search(self, op: SearchOp) -> list[Any]:
        found: Any = self.store.batch([op._replace(limit=1000, offset=0)])[0]
        # The order of what has no score, or the same, is a store's own.
        return sorted(((plain(one), one.score) for one in found), key=lambda one: ranked(*one))

    def namespaces(self, op: ListNamespacesOp) -> Any:
        for namespace in [name for name, items in self.store._data.items() if not items]:
            del self.store._data[namespace]
        return self.store.batch([op])[0]


def ranked(item: Any, score: float | None) -> Any:
    namespace, key, _ = item
    return (score is None, -round(score or 0, 2), ".".join([*namespace, "", key]))


@settings(deadline=None)
@given(st.lists(OPERATIONS, max_size=25), st.sampled_from(["batch", "abatch"]))
def test_it_does_what_langgraphs_store_in_memory_does(operations: list[Any], way: str):
    with MemoryBackend() as backend:
        check_against_the_model(backend, operations, way)


@settings(deadline=None, max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(operations=st.lists(OPERATIONS, min_size=5, max_size=15))
def test_and_so_does_every_kind_of_store(operations: list[Any], backend: Backend):
    check_against_the_model(backend, operations, "batch")


def check_against_the_model(backend: Backend, operations: list[Any], way: str) -> None:
    ours = MemwellStore(backend, space=new_id(), index={"embed": FAKE, "dims": 8, "fields": ["text"]})
    model = Model()

    def ask(op: Any) -> Any:
        return ours.batch([op])[0] if way == "batch" else asyncio.run(ours.abatch([op]))[0]

    for op in operations:
        if isinstance(op, PutOp):
            model.put(op)
            assert ask(op) is None
        elif isinstance(op, GetOp):
            assert plain(ask(op)) == model.get(op)
        elif isinstance(op, ListNamespacesOp):
            assert ask(op) == model.namespaces(op)
        else:
            expected = model.search(op)
            whole = [(plain(one), one.score) for one in ask(op._replace(limit=1000, offset=0))]
            ordered = sorted(whole, key=lambda one: ranked(*one))
            assert [one for one, _ in ordered] == [one for one, _ in expected]
            assert [score for _, score in ordered] == pytest.approx([score for _, score in expected], abs=5e-3)
            part = [plain(one) for one in ask(op)]
            assert part == [one for one, _ in whole][op.offset : op.offset + op.limit]


def test_a_batch_reads_what_was_there_before_and_stores_the_last_put(backend: Backend):
    store = MemwellStore(backend, index=False)
    store.put(("a",), "k", {"n": 0})
    found: Any = store.batch(
        [PutOp(("a",), "k", {"n": 1}), GetOp(("a",), "k"), PutOp(("a",), "k", {"n": 2}), SearchOp(("a",))]
    )
    assert [found[0], found[1].value, found[2], [one.value for one in found[3]]] == [None, {"n": 0}, None, [{"n": 0}]]
    [item] = store.search(("a",))
    assert item.value == {"n": 2}
    assert item.created_at < item.updated_at


def test_a_batch_is_stored_whole_or_not_at_all(backend: Backend):
    store = MemwellStore(backend, index=False)
    with pytest.raises(InvalidInput, match="a key"):
        store.batch([PutOp(("a",), "k", {}), PutOp(("a",), "k" * 2000, {})])
    with pytest.raises(InvalidInput, match="the value of 'l'"):
        store.batch([PutOp(("a",), "k", {}), PutOp(("a",), "l", {"set": {1}})])
    assert store.search(()) == []


def test_a_label_with_a_dot_reaches_no_other_namespace(backend: Backend):
    store = MemwellStore(backend, index=False)
    store.put(("a", "b"), "k", {})
    with pytest.raises(InvalidNamespaceError):
        store.batch([GetOp(("a.b",), "k")])


def test_items_are_found_by_meaning_with_the_local_models(backend: Backend):
    store = MemwellStore(backend)
    store.put(("ann",), "food", {"text": "I love spicy noodles."})
    store.put(("ann",), "work", {"text": "The build server is slow again."})
    store.put(("ben",), "secret", {"text": "Noodles for dinner."}, index=False)
    found = store.search(("ann",), query="what would she like to eat?")
    assert [one.key for one in found] == ["food", "work"]
    assert found[0].score is not None
    assert store.search((), query="dinner")[-1].score is None


def test_an_item_is_as_near_as_its_nearest_vector(backend: Backend):
    store = MemwellStore(backend, index={"embed": FAKE, "dims": 8, "fields": ["title", "parts[*].text"]})
    store.put(("a",), "k", {"title": "one", "parts": [{"text": "two"}, {"text": "three"}]})
    store.put(("a",), "l", {"title": "four", "other": "two"})
    for text in ("one", "two", "three"):
        [first, second] = store.search(("a",), query=text)
        assert (first.key, second.key) == ("k", "l")
        assert first.score == pytest.approx(1, abs=1e-2)
    store.put(("a",), "k", {"title": "one"})
    assert store.search(("a",), query="three")[0].score < 0.99  # pyright: ignore[reportOptionalOperand]


def test_a_search_reads_on_until_it_has_enough(backend: Backend):
    store = MemwellStore(backend, index={"embed": FAKE, "dims": 8, "fields": ["texts[*]"]})
    store.batch([PutOp(("a",), f"{n}", {"texts": ["same", f"other {n}"], "n": n}) for n in range(60)])
    found = store.search(("a",), query="same", filter={"n": {"$gte": 50}}, limit=10)
    assert sorted(one.value["n"] for one in found) == list(range(50, 60))


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def timed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Backend, Clock]]:
    """An empty store of every kind, and its clock."""
    clock = Clock()
    makers: dict[str, Callable[[], Backend]] = {
        "memory": lambda: MemoryBackend(clock=clock),
        "sqlite": lambda: SqliteBackend(str(tmp_path / "store.db"), clock=clock),
        "postgres": lambda: open_recycled(tmp_path / "store", clock),
    }
    with makers[request.param]() as store:
        yield store, clock
    recycle(tmp_path)


def test_reading_prolongs_the_life_of_an_item(timed: tuple[Backend, Clock]):
    backend, clock = timed
    index: Any = {"embed": FAKE, "dims": 8}
    store = MemwellStore(backend, index=index, ttl={"default_ttl": 10, "refresh_on_read": True})
    store.put(("a",), "k", {"text": "tea"})
    store.put(("a",), "for ever", {"text": "tea"}, ttl=None)
    clock.now += 9 * 60
    assert store.get(("a",), "k") is not None
    clock.now += 9 * 60
    assert len(store.search(("a",))) == 2
    clock.now += 9 * 60
    assert len(store.search(("a",), query="tea", refresh_ttl=False)) == 2
    clock.now += 2 * 60
    assert store.get(("a",), "k") is None
    assert [one.key for one in store.search(("a",), query="tea")] == ["for ever"]


def test_a_sweep_drops_the_vectors_of_expired_items(timed: tuple[Backend, Clock]):
    backend, clock = timed
    index: Any = {"embed": FAKE, "dims": 8}
    store = MemwellStore(backend, index=index)
    for key in ("k", "l", "m"):
        store.put(("a",), key, {"text": key}, ttl=1)
    clock.now += 120
    store.put(("a",), "l", {"text": "again"}, ttl=1)
    store.put(("a",), "m", {"text": "again"}, index=False, ttl=1)
    assert store.search(("a",), query="m")[-1].score is None
    assert store.sweep_ttl() == 2
    assert [one.id for one in backend.index.scan(store.space).items] == ["a..l/0"]
    assert store.list_namespaces() == [("a",)]
    assert MemwellStore(backend, index=False).sweep_ttl() == 0


def test_a_put_sweeps_when_the_time_has_come(timed: tuple[Backend, Clock], monkeypatch: pytest.MonkeyPatch):
    backend, clock = timed
    monkeypatch.setattr(room.time, "monotonic", clock)
    index: Any = {"embed": FAKE, "dims": 8}
    store = MemwellStore(backend, index=index, ttl={"default_ttl": 1, "sweep_interval_minutes": 5})
    store.put(("a",), "k", {"text": "tea"})
    clock.now += 240
    store.put(("a",), "l", {"text": "tea"})
    assert len(backend.index.scan(store.space).items) == 2
    clock.now += 60
    store.put(("a",), "m", {"text": "tea"})
    assert [one.id for one in backend.index.scan(store.space).items] == ["a..m/0"]


def test_filters_order_dates_and_pass_over_what_has_no_order():
    with MemoryBackend() as backend:
        store = MemwellStore(backend, index=False)
        store.put(("a",), "new", {"day": "2026-05-01", "n": "7"})
        store.put(("a",), "old", {"day": "2025-05-01", "n": None})
        store.put(("a",), "none", {"list": [1, {"x": 2}]})
        assert [one.key for one in store.search(("a",), filter={"day": {"$gt": "2026"}})] == ["new"]
        assert [one.key for one in store.search(("a",), filter={"n": {"$lt": 10}})] == ["new"]
        assert [one.key for one in store.search(("a",), filter={"list": [1, {"x": {"$gte": 2}}]})] == ["none"]
        with pytest.raises(InvalidInput, match=r"\$near"):
            store.search(("a",), filter={"n": {"$near": 1}})


class Counted(Embeddings):
    """Says which of its methods were called."""

    def __init__(self) -> None:
        self.called: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.called.append("documents")
        return FAKE.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        self.called.append("query")
        return FAKE.embed_query(text)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        self.called.append("adocuments")
        return FAKE.embed_documents(texts)

    async def aembed_query(self, text: str) -> list[float]:
        self.called.append("aquery")
        return FAKE.embed_query(text)


async def test_an_embedding_is_called_the_way_that_the_store_is(backend: Backend):
    embed = Counted()
    store = MemwellStore(backend, index={"embed": embed, "fields": ["text"]})
    await store.aput(("a",), "k", {"text": "tea"})
    assert (await store.asearch(("a",), query="tea"))[0].score == pytest.approx(1, abs=1e-2)
    assert embed.called == ["adocuments", "aquery"]
    assert [one.key for one in await store.asearch(("a",))] == ["k"]
    await store.adelete(("a",), "k")
    assert await store.aget(("a",), "k") is None
    assert await store.alist_namespaces() == []
    assert embed.called == ["adocuments", "aquery"]


def test_an_embedding_of_another_size_is_refused():
    with MemoryBackend() as backend:
        store = MemwellStore(backend, index={"embed": FAKE, "dims": 9})
        with pytest.raises(InvalidInput, match="9 dimensions"):
            store.put(("a",), "k", {"text": "tea"})
        store = MemwellStore(backend, index={"embed": lambda texts: [[1.0]] * (len(texts) + 1), "dims": 1})
        with pytest.raises(InvalidInput, match="2 vectors of 1 texts"):
            store.put(("a",), "k", {"text": "tea"})


def test_a_store_sees_its_own_space_only(backend: Backend):
    ann, ben = MemwellStore(backend, space="ann", index=False), MemwellStore(backend, space="ben", index=False)
    ann.put(("a",), "k", {})
    assert ben.get(("a",), "k") is None
    assert ben.list_namespaces() == []


def test_what_cannot_be_meant_is_refused_in_words():
    make: Any = MemwellStore
    store: Any = make("memory:", index=False)
    wrong: list[tuple[str, Any]] = [
        ("ttl has no field 'default_ttl_minutes'", lambda: make("memory:", ttl={"default_ttl_minutes": 5})),
        ("index has no field 'field'", lambda: make("memory:", index={"field": ["a"]})),
        ("unknown operation", lambda: store.batch([object()])),
        ("minutes", lambda: store.put(("a",), "b", {"c": 1}, ttl="5")),
        ("minutes", lambda: store.put(("a",), "b", {"c": 1}, ttl=-1)),
        ("limit", lambda: store.search(("a",), limit=-1)),
        ("offset", lambda: store.search(("a",), offset=-1)),
        ("limit", lambda: list(MemwellSaver("memory:").list(None, limit=-1))),
    ]
    for words, call in wrong:
        with pytest.raises(InvalidInput, match=words):
            call()
    assert store.get(("a",), "b") is None


def test_a_store_without_vectors_needs_no_index():
    class NoRecords(MemoryBackend):
        abilities = frozenset()

    with NoRecords() as backend:
        with pytest.raises(Unsupported, match="records"):
            MemwellStore(backend)
        store = MemwellStore(backend, index=False)
        store.put(("a",), "k", {"n": 1})
        assert [one.value for one in store.search(("a",), query="anything")] == [{"n": 1}]


def test_importing_memwell_loads_no_langgraph():
    loaded = json.loads(python("import json, sys, memwell; print(json.dumps(sorted(sys.modules)))"))
    assert not [name for name in loaded if name.startswith(("langgraph", "langchain"))]
