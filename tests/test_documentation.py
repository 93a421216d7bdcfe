"""Every example in the README files and the documentation is run, and prints what the page says it prints.

What it prints must not hang on the last bit of a product, which differs between processors. So every page is run with
products of integers and of floats, with one thread and with two: in ``make test`` in the two ways that differ most.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, TypeAlias

import pytest

from benchmarks.capacity import users
from benchmarks.compare import KEPT, tables
from deploy import release
from memwell.runtime.wire.codec import HTTP_KINDS, KINDS
from memwell.runtime.wire.table import OPERATIONS
from tests.pages import ARITHMETICS, FORKS, Ended, Pages, run_alone

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted(
    [
        *ROOT.glob("README*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("docs/backends/*.md"),
        *ROOT.glob("docs/compat/*.md"), *ROOT.glob("docs/integrations/*.md"), *ROOT.glob("docs/guides/*.md"),
        *ROOT.glob("docs/zh/*.md"),
    ]
)  # fmt: skip
FENCE = re.compile(r'^```(\w+)(?: title="([\w.]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
MARK = "== end of example =="
POSTGRES = "postgresql://memwell:secret@db.example.org/memwell"
REDIS = "redis://cache.example.org:6379/0"
MODEL = "http://localhost:8080/v1"
"""What the pages call the servers of their readers; the examples are run with servers of the tests' own."""


LIBRARIES = {
    "agents-sdks.md": ("agents", "pydantic_ai", "llama_index", "autogen_core", "google.adk"),
    "crewai-and-semantic-kernel.md": ("crewai", "semantic_kernel"),
}
"""What a page needs that is not in the environment of the tests: ``make test`` runs it in one that has them."""

Run: TypeAlias = Callable[[str, Path], Ended]


class Example(NamedTuple):
    code: str
    printed: str | None


def examples(page: str) -> list[Example]:
    """The Python blocks of a page; a text block right behind one is what it prints.

    A block with a title is a file of that name, which the blocks after it may run.
    """
    found: list[Example] = []
    end = -1
    for fence in FENCE.finditer(page):
        language, title, body = fence.groups()
        if language == "python" and title:
            found.append(Example(f"from pathlib import Path\nPath({title!r}).write_text({body!r}, 'utf-8')", None))
        elif language == "python":
            found.append(Example(body, None))
        elif language == "text" and found and not page[end : fence.start()].strip():
            found[-1] = found[-1]._replace(printed=body)
        end = fence.end()
    return found


@contextmanager
def with_servers(page: str, folder: Path) -> Iterator[str]:
    """The page with servers that run in the place of those it names; skips the test where one cannot be started."""
    with ExitStack() as servers:
        if POSTGRES in page:
            from tests.engines.postgres import store_url

            page = page.replace(POSTGRES, store_url(folder))
        if REDIS in page:
            from tests.engines.redis import Server

            kept = servers.enter_context(TemporaryDirectory(prefix="memwell-redis-"))
            server = Server(Path(kept), "--appendonly", "yes", "--appendfsync", "always")
            servers.callback(server.stop)
            page = page.replace(REDIS, f"redis://127.0.0.1:{server.port}/0")
        if MODEL in page:
            from tests.engines.chat import with_tools

            page = page.replace(MODEL, f"{with_tools()}/v1")
        yield page


def run_page(page: str, folder: Path, run: Run) -> list[tuple[Example, str]]:
    """Run a page's examples one after the other, as a reader would, and return what each printed."""
    found = examples(page)
    script = "\n".join(f"{example.code}\nprint({MARK!r}, flush=True)" for example in found)
    ended = run(script, folder)
    assert ended.status == 0, ended.err
    return list(zip(found, ended.out.split(f"{MARK}\n"), strict=False))


RUN_WITH = ARITHMETICS if os.environ.get("HYPOTHESIS_PROFILE") == "soak" else (ARITHMETICS[0], ARITHMETICS[-1])


@pytest.fixture(scope="session")
def forking() -> Iterator[Callable[[str], Run]]:
    """What runs a page in a process that has the models loaded already, and multiplies as it is asked to."""
    started: dict[str, Pages] = {}

    def with_arithmetic(name: str) -> Run:
        if not FORKS:
            return run_alone
        if name not in started:
            started[name] = Pages(name)
        return started[name].run

    yield with_arithmetic
    for pages in started.values():
        pages.close()


@pytest.fixture
def forked(forking: Callable[[str], Run]) -> Run:
    return forking(ARITHMETICS[0])


@pytest.fixture(params=["alone", "forked"])
def either(request: pytest.FixtureRequest, forked: Run) -> Run:
    """One way to run a page, then the other."""
    return run_alone if request.param == "alone" else forked


def check_page(page: Path, folder: Path, run: Run) -> None:
    with with_servers(page.read_text(encoding="utf-8"), folder) as text:
        for example, printed in run_page(text, folder, run):
            assert printed == (example.printed or ""), example.code


def _is_here(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


@pytest.mark.parametrize("arithmetic", RUN_WITH)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_examples_print_what_the_page_says(
    page: Path, arithmetic: str, tmp_path: Path, forking: Callable[[str], Run]
) -> None:
    missing = [name for name in LIBRARIES.get(page.name, ()) if not _is_here(name)]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed: `make test` installs them apart and runs the page with them")
    check_page(page, tmp_path, forking(arithmetic))


@pytest.mark.parametrize("name", ["docs/guides/rag.md", "docs/knowledge.md"])
def test_a_program_about_documents_can_be_run_again(tmp_path: Path, forked: Run, name: str) -> None:
    """Over the folder and the store that it made at the first time."""
    with with_servers((ROOT / name).read_text("utf-8"), tmp_path) as page:
        for _ in range(2):
            assert run_page(page, tmp_path, forked)


def test_the_page_that_is_read_first_is_true_in_a_process_that_nothing_was_done_to(tmp_path: Path) -> None:
    check_page(ROOT / "README.md", tmp_path, run_alone)


def test_a_wrong_example_is_noticed(tmp_path: Path, either: Run) -> None:
    page = "```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n"
    (example, printed), *_ = run_page(page, tmp_path, either)
    assert (example.printed, printed) == ("3\n", "2\n")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("import warnings; warnings.warn('careful', UserWarning)", "UserWarning: careful"),
        ("import os; os._exit(3)", "assert 3 == 0"),
    ],
)
def test_an_example_that_fails_is_noticed(tmp_path: Path, either: Run, line: str, said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        run_page(f"```python\n{line}\n```\n", tmp_path, either)


def test_a_page_finds_nothing_of_the_page_before_it(tmp_path: Path, either: Run) -> None:
    left = "import sys, os\nsys.left = left = os.environ['LEFT'] = 'x'\nos.chdir('/')\n"
    run_page(f"```python\n{left}```\n", tmp_path, either)
    asked = (
        "import sys, os",
        "print([name for name in globals() if name[0] != '_'], hasattr(sys, 'left'), 'LEFT' in os.environ)",
        "print(os.getcwd(), __name__, sys.argv, sys.path[0], os.listdir())",
    )
    [(_, printed)] = run_page("```python\n" + "\n".join(asked) + "\n```\n", tmp_path, either)
    assert printed == f"['sys', 'os'] False False\n{tmp_path} __main__ ['-c']  []\n"


def test_there_is_something_to_run() -> None:
    assert sum(len(examples(page.read_text(encoding="utf-8"))) for page in PAGES) >= 10


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_installs_memwell_from_where_it_can_be_had(page: Path) -> None:
    lines = [line for line in page.read_text(encoding="utf-8").splitlines() if "path/to/memwell" not in line]
    from_an_index = re.compile(r"pip install (?:--?\S+ )*\"?memwell\b")
    assert [line for line in lines if from_an_index.search(line)] == []


def test_both_readmes_say_the_same_in_code() -> None:
    english, chinese = (
        examples((ROOT / name).read_text(encoding="utf-8")) for name in ("README.md", "README.zh-CN.md")
    )
    assert [e.code.count("\n") for e in english] == [c.code.count("\n") for c in chinese]


def between(page: str, name: str) -> str:
    """What stands between two marks of a page."""
    return page.split(f"<!-- {name}: begin -->\n")[1].split(f"<!-- {name}: end -->", maxsplit=1)[0]


def routes_table() -> str:
    """Every operation of the service with what the table says of it, as the page has them."""
    lines = ["| | address | scope | |", "|---|---|---|---|"]
    for route in OPERATIONS.values():
        about = route.about.partition("\n")[0].replace("``", "`").replace("|", "\\|")
        scope = {"any": "any key", "": "–"}.get(route.scope, route.scope)
        lines.append(f"| {route.method} | `{route.path}` | {scope} | {about} |")
    return "\n".join(lines) + "\n"


def problems_table() -> str:
    """Every way in which the service refuses, as the page has them."""
    told = [(kind.code, kind.status, kind.title, f"`{kind.error.__name__}`") for kind in KINDS]
    told += [(code, status, title, "") for code, (status, title) in HTTP_KINDS.items()]
    lines = ["| status | code | | in Python |", "|---|---|---|---|"]
    lines += [
        f"| {status} | `{code}` | {title} | {error} |"
        for code, status, title, error in sorted(told, key=lambda one: one[1])
    ]
    return "\n".join(lines) + "\n"


def test_the_page_of_the_service_lists_every_route_and_every_problem() -> None:
    page = (ROOT / "docs" / "service.md").read_text(encoding="utf-8")
    assert between(page, "routes") == routes_table()
    assert between(page, "problems") == problems_table()


def capacity_table() -> str:
    """What was measured of each engine, as the page has it."""
    known = json.loads((ROOT / "benchmarks" / "results" / "capacity.json").read_text(encoding="utf-8"))
    lines = [
        "| engine | records | store /s | bytes | remember | recall | append | first recall | near in 20,000 |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for engine, measured in known["engines"].items():
        for one in measured:
            near = f"{one['near_ms']:.1f} ms, {one['near_found']:.1%}" if one["near_ms"] else "–"
            cells = [
                engine, f"{one['records']:,}", f"{one['load_per_s']:,.0f}", f"{one['record_bytes']:,.0f}",
                f"{one['remember_ms']:.1f} + {one['remember_store_ms']:.1f}",
                f"{one['recall_ms']:.1f} + {one['recall_store_ms']:.1f}",
                f"{one['append_ms']:.2f} + {one['append_store_ms']:.2f}", f"{one['first_recall_ms']:.0f} ms", near,
            ]  # fmt: skip
            lines.append(f"| {' | '.join(cells)} |")
    lines += [
        "",
        f"Measured on {known['measured']}: {known['machine']}. The local embedder takes {known['embed_ms']:.1f} ms",
        f"of CPU for one text; a memory takes {known['pool_bytes'] / 1000:.1f} kB in the process that holds it ready.",
    ]
    return "\n".join(lines) + "\n"


def test_the_page_of_capacity_has_what_was_measured() -> None:
    page = (ROOT / "docs" / "capacity.md").read_text(encoding="utf-8")
    assert between(page, "measured") == capacity_table()


def users_tables() -> dict[str, str]:
    """What a user costs as it was measured, what users need by that, and at which list price, as the page has them."""
    known = json.loads(users.KEPT.read_text(encoding="utf-8"))
    costs = [
        "| engine | remember | recall | append | a memory | a message | a memory that is held |",
        "|---|---|---|---|---|---|---|",
    ]
    for engine in users.ENGINES:
        one = known[engine]
        spent = [
            f"{one[f'{name}_own_ms']:.1f} + {one[f'{name}_server_ms']:.1f}" for name in ("remember", "recall", "append")
        ]
        sizes = [f"{one[f'{name}_bytes'] / 1e3:.1f} kB" for name in ("memory", "message", "held")]
        costs.append(f"| {' | '.join([engine, *spent, *sizes])} |")
    needs = [
        "| users | store | cores of services | their memory | cores of servers | disk |",
        "|---|---|---|---|---|---|",
    ]
    prices = ["| users | store | a month | a user a month |", "|---|---|---|---|"]
    for count, engine, copies in (
        (1, "sqlite", 1),
        (1_000, "sqlite", 1),
        (100_000, "sqlite", 1),
        (100_000, "postgres", 2),
        (10_000_000, "postgres", 2),
    ):
        found = users.needed(known[engine], count, copies=copies)
        rest = [
            _amount(found.cores),
            f"{_amount(found.memory_gb)} GB",
            _amount(found.server_cores),
            f"{_amount(found.disk_gb)} GB",
        ]
        needs.append(f"| {' | '.join([f'{count:,}', engine, *rest])} |")
        price = users.priced(found)
        prices.append(f"| {count:,} | {engine} | ${price:,.0f} | ${price / count:,.4f} |")
    return {name: "\n".join(lines) + "\n" for name, lines in (("costs", costs), ("needs", needs), ("prices", prices))}


def _amount(value: float) -> str:
    return "0" if not value else f"{value:,.0f}" if value >= 10 else f"{value:.1f}" if value >= 0.1 else "< 0.1"


def test_the_page_of_the_comparison_has_what_was_measured() -> None:
    page = (ROOT / "docs" / "comparison.md").read_text("utf-8")
    assert tables(json.loads(KEPT.read_text("utf-8"))) == between(page, "tables")


def test_the_page_of_capacity_has_what_users_need() -> None:
    page = (ROOT / "docs" / "capacity.md").read_text(encoding="utf-8")
    assert {name: between(page, name) for name in ("costs", "needs", "prices")} == users_tables()


# The commands of a release


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")
def test_a_release_is_signed_and_checked_as_the_page_says(tmp_path: Path) -> None:
    making, checking = re.findall(
        r"^```bash\n(.+?)^```", (ROOT / "docs" / "releasing.md").read_text("utf-8"), re.M | re.S
    )
    dist = tmp_path / "dist"
    dist.mkdir()
    package, note = dist / "memwell-0.2.0.tar.gz", dist / "memwell-0.2.0-notes.md"
    package.write_bytes(b"a package")
    note.write_text("## 0.2.0\n\n- Walls.\n\n")

    def ran(commands: str) -> int:
        run = ["bash", "-euo", "pipefail", "-c", commands]
        return subprocess.run(run, cwd=tmp_path, capture_output=True, check=False).returncode

    assert ran("git init -q && git -c user.name=a -c user.email=a@b.c commit -q --allow-empty -m first") == 0
    assert ran("git config user.name releases && git config user.email releases@memwell.example") == 0
    assert ran(making) == 0
    listed = release.write_digests(dist, "0.2.0", [package, note])
    assert len(listed.read_text().splitlines()) == 2
    release.sign(listed, tmp_path / "release-key", "0.2.0", tmp_path)
    assert ran(checking) == 0
    assert ran("git tag -l --format='%(contents)' v0.2.0 | grep -q '^## 0.2.0'") == 0
    note.write_text("## 0.2.0\n\n- Nothing changed.\n")
    assert ran(checking) != 0, "another note"
    listed.write_text("")
    assert ran(checking) != 0, "another list"
