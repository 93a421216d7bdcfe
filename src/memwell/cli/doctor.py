"""The command ``doctor``: versions, the store's facts, and whether the store is sound."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import Any

from rich.console import Console
from rich.text import Text as Styled

from memwell.cli.phrases import say
from memwell.cli.terminal import PlainTable, one_line, visible
from memwell.errors import MemwellError
from memwell.longterm.journal import inner_space
from memwell.records import MAX_SEGMENTS, Space
from memwell.runtime.worker import listed_spaces, pending_by_space
from memwell.settings import load_settings
from memwell.storage.protocols import Backend

_PACKAGES = ("memwell", "apsw", "msgspec", "numpy", "usearch", "rs-bpe")
_COUNTS = (
    ("threads", "threads"),
    ("messages", "messages"),
    ("messages_indexed", "indexed"),
    ("entries", "entries"),
    ("records", "records"),
    ("vectors", "vectors"),
    ("blobs", "blobs"),
)
_SIZES = (("store", "size"), ("log", "log_size"), ("graphs", "graph_size"), ("caches", "cache_size"))


def examine(backend: Backend, console: Console) -> dict[str, Any]:
    """Check the whole store and collect its facts. A large one takes a while."""
    with console.status(say("checking")):
        problems = backend.check()
        facts = of_users(backend)
        pending = [
            {"space": list(space), "words": one.words, "vectors": one.vectors}
            for space, one in pending_by_space(backend).items()
        ]
        model = _embedder_facts()
    return {"versions": versions(), "store": facts, "pending": pending, "embedder": model, "problems": problems}


def of_users(backend: Backend) -> dict[str, Any]:
    """The facts of the store, without memwell's own conversations and spaces."""
    facts = backend.facts()
    spaces: list[dict[str, Any]] = facts.get("spaces", [])
    remembered = {Space(*one["space"]) for one in spaces} | set(listed_spaces(backend))
    for space in remembered:
        if len(space) < MAX_SEGMENTS:
            for own in backend.log.threads(inner_space(space)).items:
                facts["threads"] -= 1
                facts["messages"] -= own.messages
    if spaces:
        facts["spaces"] = [one for one in spaces if Space(*one["space"]) not in set(map(inner_space, remembered))]
    return facts


def _embedder_facts() -> dict[str, Any]:
    """The embedder of the settings, and the cost of its first call."""
    from memwell.models.local import LocalEmbedder  # noqa: PLC0415 - loads the weights

    try:
        return LocalEmbedder(load_settings().embedder).facts()  # pyright: ignore[reportArgumentType] - checked there
    except MemwellError as error:
        return {"error": str(error)}


def versions() -> dict[str, str]:
    """The versions of Python, memwell and its main packages."""
    return {"python": platform.python_version(), **{name: version(name) for name in _PACKAGES}}


def report(found: dict[str, Any], console: Console) -> None:
    """Print what was found."""
    facts = found["store"]
    console.print(_rows(say("versions"), found["versions"]))
    console.print()
    console.print(_rows(say("store"), _store_rows(facts, found["problems"])))
    if "parts" in facts:
        console.print()
        console.print(_parts(facts["parts"]))
    if facts.get("spaces"):
        console.print()
        console.print(_spaces(facts["spaces"]))
    if "embedder" in found:
        console.print()
        console.print(_rows(say("model"), _model_rows(found["embedder"])))
    if found.get("pending"):
        console.print()
        console.print(_pending(found["pending"]))
        advice = "pending_read_only" if facts.get("read_only") else "pending_what_to_do"
        console.print(say(advice), style="yellow")
    problems = found["problems"]
    console.print()
    for words in _not_durable(facts):
        console.print(say("not_durable", words=visible(words)), style="yellow")
    if facts.get("read_only"):
        console.print(say("unchecked"), style="yellow")
    for problem in problems:
        console.print(Styled.assemble(("• ", "red"), visible(problem)))
    key = "problems" if problems else "healthy"
    console.print(say(key, count=len(problems)), style="red" if problems else "green")


def _not_durable(facts: dict[str, Any]) -> list[str]:
    """The durability of the store and its parts, where acknowledged writes can be lost."""
    parts: dict[str, dict[str, Any]] = facts.get("parts", {})
    return [
        one["durability"] for one in (facts, *parts.values()) if "durability" in one and one.get("durable") is False
    ]


def _store_rows(facts: dict[str, Any], problems: list[str]) -> dict[str, str]:
    rows = {say("file"): visible(facts["path"])} if "path" in facts else {say("kind"): str(facts["kind"])}
    rows |= {name: str(facts[key]) for key, name in (("sqlite", "SQLite"), ("format", say("format"))) if key in facts}
    sizes = facts.get("bytes", {})
    if isinstance(sizes, int):
        sizes = {"store": sizes}
    rows |= {say(phrase): _bytes(sizes[key]) for key, phrase in _SIZES if key in sizes}
    rows |= {say(name): visible(facts[name]) for name in ("wall",) if name in facts}
    rows |= {say(phrase): f"{facts[key]:,}" for key, phrase in _COUNTS if key in facts}
    if "durability" in facts:
        rows[say("durability")] = visible(facts["durability"])
    rows[say("integrity")] = say("problems", count=len(problems)) if problems else say("ok")
    return rows


def _model_rows(facts: dict[str, Any]) -> dict[str, str]:
    if "error" in facts:
        return {say("kind"): visible(facts["error"])}
    sizes = sum(facts["weights_bytes"].values())
    return {
        say("kind"): one_line(facts["name"]),
        say("dimensions"): f"{facts['dimensions']}",
        say("weights"): _bytes(sizes),
        say("first_call"): say("first_call_cost", load=facts["load_seconds"], ms=facts["first_call_ms"]),
    }


def _rows(title: str, rows: dict[str, str]) -> PlainTable:
    table = PlainTable(title, header=False)
    table.whole("", style="dim")
    table.whole("")
    for name, value in rows.items():
        table.add_row(name, value)
    return table


def _spaces(spaces: list[dict[str, Any]]) -> PlainTable:
    table = PlainTable(say("spaces"))
    table.whole(say("space"))
    table.whole(say("records"), say("vectors"), justify="right")
    table.whole(say("search_by"))
    for one in spaces:
        vectors = f"{one['vectors']:,} × {one['dimensions']}" if one["vectors"] else "0"
        table.add_row(
            one_line(" / ".join(one["space"])), f"{one['records']:,}", vectors, _search(one.get("changes_since_graph"))
        )
    return table


def _parts(parts: dict[str, dict[str, Any]]) -> PlainTable:
    """Where each part of the store is, and whether it answers."""
    table = PlainTable(say("parts"))
    table.whole(say("part"), say("place"), say("state"))
    for name, part in parts.items():
        table.add_row(name, one_line(str(part["place"])), one_line(_state_of(part)))
    return table


def _state_of(part: dict[str, Any]) -> str:
    if not part["answers"]:
        return say("part_away", why=part.get("why"))
    behind = part.get("spaces_behind", 0)
    if behind == 1:
        return say("part_behind_one")
    return say("part_behind", count=f"{behind:,}") if behind else say("part_answers")


def _pending(spaces: list[dict[str, Any]]) -> PlainTable:
    table = PlainTable(say("pending"))
    table.whole(say("space"))
    table.whole(say("without_words"), say("without_vectors"), justify="right")
    for one in spaces:
        table.add_row(one_line(" / ".join(one["space"])), f"{one['words']:,}", f"{one['vectors']:,}")
    return table


def _search(changes: int | None) -> str:
    if changes is None:
        return say("exact")
    return say("graph_behind", changes=changes) if changes else say("graph_fresh")


def _bytes(count: int) -> str:
    size = float(count)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.2f} GB"
