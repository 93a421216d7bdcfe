from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.cognition.graph import ConceptGraph, Edge, Node, Related
from memwell.errors import InvalidInput

NAMES = st.integers(0, 9).map(lambda number: f"概念 {number}")
EDGES = st.lists(st.tuples(NAMES, NAMES).filter(lambda ends: ends[0] != ends[1]), max_size=20)


def graph_of(edges: list[tuple[str, str]]) -> ConceptGraph:
    names = sorted({name for ends in edges for name in ends})
    return ConceptGraph([Node(name) for name in names], [Edge(*ends) for ends in edges])


def test_what_is_near_comes_first_and_edges_lead_both_ways() -> None:
    graph = graph_of([("a", "b"), ("b", "c"), ("c", "d")])
    assert graph.related("B", 2) == [Related("a", 1), Related("c", 1), Related("d", 2)]
    assert graph.related("nowhere") == []
    assert graph.path("d", "a") == ["d", "c", "b", "a"]
    assert graph.path("a", "a") == ["a"]
    assert graph.path("a", "nowhere") == graph.path("nowhere", "a") == []


@given(EDGES, NAMES, NAMES)
def test_a_path_is_made_of_edges_and_as_long_as_the_distance(
    edges: list[tuple[str, str]], start: str, end: str
) -> None:
    graph = graph_of(edges)
    path = graph.path(start, end)
    beside = {frozenset(ends) for ends in edges}
    assert all(frozenset(step) in beside for step in itertools.pairwise(path))
    if path:
        assert (path[0], path[-1]) == (start, end)
        distances = {one.name: one.distance for one in graph.related(start, 99)}
        assert distances.get(end, 0) == len(path) - 1


def test_mermaid_draws_names_as_text() -> None:
    graph = ConceptGraph([Node('a "b" <i>]', 0.8), Node("记忆 #1")], [Edge('a "b" <i>]', "记忆 #1")])
    assert graph.mermaid().split("\n") == [
        "graph LR",
        '    n0["a #quot;b#quot; #lt;i#gt;]<br/>0.80"]',
        '    n1["记忆 #35;1"]:::undefined',
        "    n0 --- n1",
        "    classDef undefined stroke-dasharray: 4 3",
    ]
    assert ConceptGraph([], []).mermaid() == "graph LR"


def test_a_depth_is_at_least_one() -> None:
    with pytest.raises(InvalidInput, match="depth"):
        graph_of([]).related("a", 0)
