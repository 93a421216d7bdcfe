"""Which route an address means. It is cut at its slashes before it is decoded, so that an id may hold any character."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from urllib.parse import unquote_to_bytes

from memwell.errors import InvalidInput
from memwell.runtime.wire.routes import Route


class _Node:
    """A place in the tree of addresses: what follows by name, what follows by any name, and what answers here."""

    __slots__ = ("any", "name", "named", "routes")

    def __init__(self) -> None:
        self.named: dict[str, _Node] = {}
        self.any: _Node | None = None
        self.name = ""
        self.routes: dict[str, Route] = {}


class Router:
    """Finds routes. A segment that is named goes before one that may be anything."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._root = _Node()
        for route in routes:
            self._add(route)

    def _add(self, route: Route) -> None:
        node = self._root
        for part in route.parts:
            if part.startswith("{"):
                node.any = node.any or _Node()
                node.any.name = part[1:-1]
                node = node.any
            else:
                node = node.named.setdefault(part, _Node())
        node.routes[route.method] = route

    def find(self, raw_path: bytes, method: str) -> tuple[Route | None, dict[str, str], tuple[str, ...]]:
        """The route, the values of its open segments, and which methods the address knows.

        No route and no methods: there is no such address. Raises ``InvalidInput`` for a segment that is not UTF-8.
        """
        parts = raw_path.split(b"?", 1)[0].strip(b"/").split(b"/")
        for node, path in self._ends(self._root, [_decoded(part) for part in parts], {}):
            if node.routes:
                return node.routes.get(method), path, tuple(node.routes)
        return None, {}, ()

    def _ends(self, node: _Node, parts: list[str], path: dict[str, str]) -> Iterator[tuple[_Node, dict[str, str]]]:
        if not parts:
            yield node, path
            return
        first, rest = parts[0], parts[1:]
        if first in node.named:
            yield from self._ends(node.named[first], rest, path)
        if node.any is not None and first:
            yield from self._ends(node.any, rest, {**path, node.any.name: first})


def _decoded(part: bytes) -> str:
    try:
        return unquote_to_bytes(part).decode()
    except UnicodeDecodeError:
        raise InvalidInput("a part of the address is not UTF-8") from None
