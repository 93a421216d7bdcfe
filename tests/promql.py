"""As much of Prometheus's language as the shipped rules and panels are written in, evaluated over scrapes in time."""

from __future__ import annotations

import operator
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

Labels: TypeAlias = frozenset[tuple[str, str]]
Vector: TypeAlias = dict[Labels, float]
Scrape: TypeAlias = dict[tuple[str, Labels], float]

_TOKEN = re.compile(r'\s*("[^"]*"|\d+(?:\.\d+)?(?:[mhd](?![a-z]))?|=~|!~|!=|==|>=|<=|[a-zA-Z_]\w*|[-+*/><(){}\[\],=])')
_OPERATORS: dict[str, Callable[[float, float], float]] = {"*": operator.mul, "/": operator.truediv}
_COMPARISONS: dict[str, Callable[[float, float], bool]] = {">": operator.gt, "<": operator.lt, "==": operator.eq}
_MATCHES: dict[str, Callable[[str, str], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "=~": lambda value, wanted: re.fullmatch(wanted, value) is not None,
    "!~": lambda value, wanted: re.fullmatch(wanted, value) is None,
}


class Scraped(NamedTuple):
    """A scrape, and the second at which it was made."""

    at: float
    values: Scrape


def firing(expression: str, lasting_s: float, scrapes: Sequence[Scraped]) -> list[float]:
    """The seconds at which an alert fires: at every scrape for so long its expression was true of the same labels."""
    since: dict[Labels, float] = {}
    found: list[float] = []
    for count, (now, _) in enumerate(scrapes, 1):
        holds = evaluate(expression, scrapes[:count])
        assert isinstance(holds, dict)
        since = {labels: since.get(labels, now) for labels in holds}
        if any(now - begun >= lasting_s for begun in since.values()):
            found.append(now)
    return found


def seconds_of(duration: str) -> float:
    """The seconds of a duration such as ``5m``."""
    return float(duration[:-1]) * {"s": 1, "m": 60, "h": 3_600, "d": 86_400}[duration[-1]]


def evaluate(expression: str, scrapes: Sequence[Scraped]) -> Vector | float:
    """The value of an expression at the last scrape. Raises ``ValueError`` for what is not understood here."""
    tokens = _TOKEN.findall(expression)
    if "".join(tokens) != re.sub(r"\s", "", expression):
        raise ValueError(f"not understood: {expression}")
    reader = _Reader(tokens, scrapes)
    value = reader.comparison()
    if reader.tokens:
        raise ValueError(f"not understood: {reader.tokens}")
    return value


class _Reader:
    def __init__(self, tokens: list[str], scrapes: Sequence[Scraped]) -> None:
        self.tokens = tokens
        self._scrapes = scrapes

    def _next(self, wanted: str = "") -> str:
        token = self.tokens.pop(0)
        if wanted and token != wanted:
            raise ValueError(f"expected {wanted}, not {token}")
        return token

    def _at(self, *wanted: str) -> bool:
        return bool(self.tokens) and self.tokens[0] in wanted

    def comparison(self) -> Vector | float:
        left = self._product()
        if not self._at(*_COMPARISONS):
            return left
        holds, right = _COMPARISONS[self._next()], self._product()
        assert isinstance(left, dict)
        known = {labels: right.get(labels) if isinstance(right, dict) else right for labels in left}
        return {
            labels: value for labels, value in left.items() if (one := known[labels]) is not None and holds(value, one)
        }

    def _product(self) -> Vector | float:
        value = self._term()
        while self._at(*_OPERATORS):
            value = _combined(_OPERATORS[self._next()], value, self._term())
        return value

    def _term(self) -> Vector | float:
        token = self._next()
        if token[0].isdigit():
            return float(token)
        if token == "(":
            value = self.comparison()
            self._next(")")
            return value
        if token in ("sum", "max"):
            return self._aggregate(sum if token == "sum" else max)
        if token in ("rate", "increase"):
            self._next("(")
            named = self._selector(self._next())
            self._next("[")
            scrapes = self._within(seconds_of(self._next()))
            self._next("]")
            self._next(")")
            share = scrapes[-1].at - scrapes[0].at if token == "rate" else 1.0
            return {labels: value / share for labels, value in self._grown(named, scrapes).items()}
        if token == "histogram_quantile":
            self._next("(")
            share = float(self._next())
            self._next(",")
            value = self.comparison()
            self._next(")")
            assert isinstance(value, dict)
            return _quantile(share, value)
        return self._selected(self._scrapes[-1].values, self._selector(token))

    def _aggregate(self, added: Callable[[list[float]], float]) -> Vector:
        by: list[str] = []
        if self._at("by"):
            self._next()
            self._next("(")
            while not self._at(")"):
                by.append(self._next())
                if self._at(","):
                    self._next()
            self._next(")")
        self._next("(")
        value = self.comparison()
        self._next(")")
        assert isinstance(value, dict)
        groups: defaultdict[Labels, list[float]] = defaultdict(list)
        for labels, one in value.items():
            groups[frozenset(label for label in labels if label[0] in by)].append(one)
        return {labels: added(values) for labels, values in groups.items()}

    def _selector(self, name: str) -> tuple[str, list[tuple[str, str, str]]]:
        wanted: list[tuple[str, str, str]] = []
        if self._at("{"):
            self._next()
            while not self._at("}"):
                wanted.append((self._next(), self._next(), self._next().strip('"')))
                if self._at(","):
                    self._next()
            self._next()
        return name, wanted

    def _selected(self, scrape: Scrape, named: tuple[str, list[tuple[str, str, str]]]) -> Vector:
        name, wanted = named
        return {
            labels: value
            for (its, labels), value in scrape.items()
            if its == name and all(_MATCHES[how](dict(labels).get(label, ""), what) for label, how, what in wanted)
        }

    def _within(self, seconds: float) -> list[Scraped]:
        return [one for one in self._scrapes if one.at >= self._scrapes[-1].at - seconds]

    def _grown(self, named: tuple[str, list[tuple[str, str, str]]], scrapes: Sequence[Scraped]) -> Vector:
        """How much counters have grown; one that begins again, or was not there before, counts from 0."""
        grown: defaultdict[Labels, float] = defaultdict(float)
        for before, after in pairwise(self._selected(one.values, named) for one in scrapes):
            for labels, value in after.items():
                known = before.get(labels, 0.0)
                grown[labels] += value - known if value >= known else value
        return dict(grown)


def _combined(work: Callable[[float, float], float], left: Vector | float, right: Vector | float) -> Vector | float:
    match left, right:
        case float(), float():
            return work(left, right)
        case float(), dict():
            return {labels: work(left, value) for labels, value in right.items()}
        case dict(), float():
            return {labels: work(value, right) for labels, value in left.items()}
        case dict(), dict():
            return {labels: work(value, right[labels]) for labels, value in left.items() if right.get(labels)}
        case _:
            raise TypeError


def _quantile(share: float, buckets: Vector) -> Vector:
    """The bound of the bucket in which the share of all is reached; Prometheus goes on to guess a place inside of it."""
    groups: defaultdict[Labels, list[tuple[float, float]]] = defaultdict(list)
    for labels, many in buckets.items():
        groups[frozenset(label for label in labels if label[0] != "le")].append((float(dict(labels)["le"]), many))
    found: Vector = {}
    for labels, bounds in groups.items():
        ordered = sorted(bounds)
        if ordered[-1][1]:
            found[labels] = next(bound for bound, many in ordered if many >= share * ordered[-1][1])
    return found
