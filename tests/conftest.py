"""How hypothesis runs: few examples in ``make test``, many in ``make soak``. And fixtures that all tests share."""

from __future__ import annotations

import ctypes
import gc
import logging
import os
import random
import sys
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# The suites live in the package, where pytest would otherwise not explain a failed assertion.
pytest.register_assert_rewrite("memwell.testing")

# The Python processes that tests start have the guard, too. Some of them run pytest, and then it is here already.
_GUARD = str(Path(__file__).parent / "guard")
if _GUARD not in sys.path:
    sys.path.insert(0, _GUARD)
os.environ["PYTHONPATH"] = os.pathsep.join(
    dict.fromkeys([_GUARD, *os.environ.get("PYTHONPATH", _GUARD).split(os.pathsep)])
)
guard = import_module("strangers")

_SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

settings.register_profile(
    "default", max_examples=20, deadline=None, print_blob=True, suppress_health_check=_SLOW_IS_FINE
)
settings.register_profile("quick", settings.get_profile("default"), max_examples=5)
settings.register_profile("soak", settings.get_profile("default"), max_examples=1_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(autouse=True, scope="session")
def postgres_is_ours() -> Iterator[None]:
    """libpq connects without Python's sockets, so psycopg is asked where it goes."""
    if find_spec("psycopg") is None:
        yield
        return
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    connect = psycopg.Connection.connect.__func__

    def checked(cls: type[Any], conninfo: str = "", **options: Any) -> Any:
        where = conninfo_to_dict(conninfo, **options)
        hosts, ports = str(where.get("host") or ""), str(where.get("port") or 5432)
        for host in hosts.split(","):
            for port in ports.split(","):
                guard.check(host, int(port))
        return connect(cls, conninfo, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(psycopg.Connection, "connect", classmethod(checked))
        patch.setattr(psycopg, "connect", psycopg.Connection.connect)
        yield


@pytest.fixture(autouse=True)
def loggers_as_they_were() -> Iterator[None]:
    """A service that was started in a test sets up the log of the whole process; the next test finds it as it was."""
    kept = [
        (logger, logger.level, logger.propagate, list(logger.handlers))
        for logger in map(logging.getLogger, ("memwell", "memwell.service", "uvicorn.error"))
    ]
    yield
    for logger, level, propagate, handlers in kept:
        logger.setLevel(level)
        logger.propagate = propagate
        logger.handlers[:] = handlers


@pytest.fixture
def unprivileged() -> Iterator[None]:
    """Files that are write-protected are so for root too, who may write everywhere as long as nobody takes that away."""
    if os.name != "posix" or os.geteuid() != 0:
        yield
        return
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "capset"):
        pytest.skip("the rights of root cannot be taken away here")
    header, kept = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    assert libc.capget(header, kept) == 0
    # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH, of those in effect.
    fewer = (ctypes.c_uint32 * 6)(kept[0] & ~0b110, *kept[1:])
    assert libc.capset(header, fewer) == 0
    yield
    assert libc.capset(header, kept) == 0


# The tiers: `make check` runs a part of the suite, `make test` all of it.

_OF_A_FILE = 3
"""So many test functions of each file are in the quick tier."""
_SLOW = (
    "cli/test_demo.py",
    "cli/test_serve.py",
    "examples",
    "longterm/test_uses.py",
    "runtime/test_reembedding.py",
    "service/browser",
    "service/test_processes.py",
    "service/test_server.py",
    "storage/composed",
    "storage/milvus",
    "storage/postgres",
    "storage/redis",
    "storage/test_composed.py",
    "storage/test_milvus.py",
    "storage/test_postgres.py",
    "storage/test_redis.py",
    "storage/test_redis_cluster.py",
    "storage/test_scrubbing.py",
    "test_documentation.py",
    "test_native.py",
    "test_release.py",
    "test_site.py",
)
"""The files that start servers, browsers or many processes: in the quick tier only when what they test has changed."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of ``make check`` and of continuous integration."""
    group = parser.getgroup("memwell")
    group.addoption("--quick", action="store_true", help="a few quick tests of every file instead of all")
    group.addoption("--whole", action="append", default=[], metavar="FILE", help="with --quick: all tests of this file")
    group.addoption(
        "--shuffle", type=int, metavar="SEED", help="run the files, and the tests of each, in another order"
    )
    group.addoption("--slowest-files", type=int, default=0, metavar="N", help="list the files that took longest")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Choose the tests of the quick tier, and change the order, where that is asked for."""
    if config.getoption("--quick"):
        _keep_quick(config, items)
    seed = config.getoption("--shuffle")
    if seed is not None:
        chance = random.Random(seed)
        places = {path: chance.random() for path in dict.fromkeys(item.path for item in items)}
        items.sort(key=lambda item: (places[item.path], chance.random()))


def _keep_quick(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep some tests of each file, each once, and all of the files that were named."""
    whole = {(config.rootpath / name).resolve() for name in config.getoption("--whole") or ()}
    slow = [Path(__file__).parent / name for name in _SLOW]
    functions: dict[Path, set[str]] = {}
    kept: list[pytest.Item] = []
    left: list[pytest.Item] = []
    for item in items:
        chosen = functions.setdefault(item.path, set())
        name = item.nodeid.partition("[")[0]
        first = name not in chosen and len(chosen) < _OF_A_FILE and not any(map(item.path.is_relative_to, slow))
        chosen.update([name] if first else ())
        (kept if first or item.path in whole else left).append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=left)


def pytest_collection_finish() -> None:
    """Keep the collector from looking through all that was collected again and again."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """Stop the servers that the tests of this process shared."""
    starting = sys.modules.get("tests.engines.starting")
    if starting is not None:
        starting.stop_servers()


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say what was skipped, a line for each reason, and which files took longest."""
    reasons = Counter(_reason(report) for report in terminalreporter.getreports("skipped"))
    if reasons:
        terminalreporter.section("skipped")
        for reason, count in sorted(reasons.items()):
            terminalreporter.line(f"{count} {'test' if count == 1 else 'tests'}: {reason}")
    most = config.getoption("--slowest-files")
    if most:
        seconds: dict[str, float] = {}
        for report in (one for reports in terminalreporter.stats.values() for one in reports):
            if isinstance(report, pytest.TestReport):
                name = report.nodeid.partition("::")[0]
                seconds[name] = seconds.get(name, 0.0) + report.duration
        terminalreporter.section("slowest files")
        for name, took in sorted(seconds.items(), key=lambda one: -one[1])[:most]:
            terminalreporter.line(f"{took:7.1f} s  {name}")


def _reason(report: pytest.TestReport) -> str:
    said = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return said.removeprefix("Skipped: ")
