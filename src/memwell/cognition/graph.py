"""Concepts and what they are related to, as a graph that can be walked and drawn."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping

import msgspec

from memwell.cognition.named import key_of
from memwell.values import check_count


class Node(msgspec.Struct, frozen=True):
    """A concept. One that others name but nobody has defined has no confidence."""

    name: str
    confidence: float | None = None


class Edge(msgspec.Struct, frozen=True):
    """Two concepts that are related, as one of them says."""

    source: str
    target: str


class Related(msgspec.Struct, frozen=True):
    """A concept, and how many steps away it is."""

    name: str
    distance: int


class ConceptGraph:
    """Nodes and edges; each edge leads both ways."""

    def __init__(self, nodes: Iterable[Node], edges: Iterable[Edge]) -> None:
        self.nodes: tuple[Node, ...] = tuple(nodes)
        self.edges: tuple[Edge, ...] = tuple(edges)
        self._names = {key_of(node.name): node.name for node in self.nodes}
        self._beside: dict[str, dict[str, None]] = {key: {} for key in self._names}
        for edge in self.edges:
            source, target = key_of(edge.source), key_of(edge.target)
            self._beside[source][target] = None
            self._beside[target][source] = None

    def related(self, name: str, depth: int = 1) -> list[Related]:
        """The concepts at most ``depth`` steps away, the nearest first; none when it is not in the graph."""
        check_count(depth, "depth", least=1)
        reached = self._reached_from(key_of(name), depth)
        return [Related(self._names[key], distance) for key, (distance, _) in reached.items() if distance]

    def path(self, start: str, end: str) -> list[str]:
        """The names on a shortest way from one concept to another, both included; empty when there is none."""
        goal = key_of(end)
        reached = self._reached_from(key_of(start), len(self.nodes))
        if goal not in reached:
            return []
        way = [goal]
        while (before := reached[way[-1]][1]) is not None:
            way.append(before)
        return [self._names[key] for key in reversed(way)]

    def _reached_from(self, start: str, depth: int) -> Mapping[str, tuple[int, str | None]]:
        """All that is reached, with how many steps that takes and from where the last of them leads."""
        reached: dict[str, tuple[int, str | None]] = {}
        if start not in self._beside:
            return reached
        reached[start] = (0, None)
        waiting = deque([start])
        while waiting:
            here = waiting.popleft()
            distance = reached[here][0] + 1
            for beside in self._beside[here]:
                if beside not in reached and distance <= depth:
                    reached[beside] = (distance, here)
                    waiting.append(beside)
        return reached

    def mermaid(self) -> str:
        """The graph as Mermaid draws it; the borders of what nobody has defined are dashed."""
        numbers = {key_of(node.name): f"n{number}" for number, node in enumerate(self.nodes)}
        lines = ["graph LR"]
        for node in self.nodes:
            sure = "" if node.confidence is None else f"<br/>{node.confidence:.2f}"
            undefined = ":::undefined" if node.confidence is None else ""
            lines.append(f'    {numbers[key_of(node.name)]}["{_escaped(node.name)}{sure}"]{undefined}')
        lines += [f"    {numbers[key_of(edge.source)]} --- {numbers[key_of(edge.target)]}" for edge in self.edges]
        if any(node.confidence is None for node in self.nodes):
            lines.append("    classDef undefined stroke-dasharray: 4 3")
        return "\n".join(lines)


def _escaped(label: str) -> str:
    """A name that cannot end its label, nor be read as anything but text."""
    marks = {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "`": "#96;", "&": "#amp;"}
    return "".join(marks.get(char, char) for char in label)


__all__ = ["ConceptGraph", "Edge", "Node", "Related"]
