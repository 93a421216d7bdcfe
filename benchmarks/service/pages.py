"""``python -m benchmarks.service.pages``: the CPU of the service for the first view of every page, and for every call over
REST that is no job, over spaces of 20,000 and 100,000 memories. Exit code 1 when one takes more than is promised.

The service runs in a thread of this process, the browser and what asks in others or in the main thread, whose own CPU is
taken off. Vectors are drawn, so that no model is in the figures; the texts are those of ``office``.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import statistics
import sys
import tempfile
import time
from array import array
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import memwell
from benchmarks.capacity.loads import Drawn
from benchmarks.corpus import Directions
from benchmarks.report import RESULTS, console, facts, step, today
from benchmarks.service.office import Note, notes
from memwell.longterm.traits import Traits, with_traits
from memwell.records import Record, Space
from memwell.runtime.wire.table import OPERATIONS
from memwell.service.openapi import REQUESTS
from memwell.service.server import Local

PAGE_MS = 300.0
CALL_MS = 100.0
COUNTS = (20_000, 100_000)
PAGES = {
    "overview": "overview",
    "memories": "memories",
    "memories: a question": "memories?q=Where%20does%20Ben%20live%3F",
    "a memory": "memories/{id}",
    "conversations": "conversations",
    "people and things": "people",
    "a person": "people/Ben",
    "documents": "documents",
    "playground": "playground",
    "first memory": "start",
    "audit": "audit",
    "settings": "settings",
    "keys": "settings?tab=keys",
    "audit log": "settings?tab=log",
    "spaces": "spaces",
}
_QUESTION = {"query": "Where does Ben live?"}
_ROUNDS = 5
_BATCH = 1_000


def main() -> int:
    """Run all of it; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service.pages", description=__doc__)
    parser.add_argument("--counts", type=int, nargs="+", default=COUNTS, help="how many memories")
    parser.add_argument("--stores", type=Path, help="keep the stores in this folder, and use those that are there")
    parser.add_argument("--dry", action="store_true", help="do not write the result to benchmarks/results")
    options = parser.parse_args()
    found: dict[int, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory(prefix="memwell-pages-") as folder:
        for count in options.counts:
            store = (options.stores or Path(folder)) / f"pages-{count}.db"
            if not store.exists():
                fill(store, count)
            found[count] = measured(store)
            console.print(found[count])
    if not options.dry:
        _keep(found)
    slow = [f"{name} at {count:,}" for count, one in found.items() for name in over(one)]
    console.print(f"[bold red]too slow: {', '.join(slow)}[/]" if slow else "[bold green]all as promised[/]")
    return 1 if slow else 0


def over(found: dict[str, Any]) -> list[str]:
    """What takes more than is promised."""
    return [name for name, took in found["pages"].items() if took > PAGE_MS] + [
        name for name, took in found["calls"].items() if took > CALL_MS
    ]


def fill(store: Path, count: int) -> None:
    """A store with the notes of an office, and a document.

    What is known of people is remembered; what else was said is stored as it would be after it was indexed.
    """
    space = Space("default")
    directions = Directions()
    with memwell.open(store, embedder=Drawn(), work=False) as memory:
        all_notes = list(notes(count, datetime.now(UTC)))
        said = [one for one in all_notes if not one.known]
        for start in range(0, len(said), _BATCH):
            batch = said[start : start + _BATCH]
            vectors = directions.draw(len(batch))
            memory.backend.index.upsert(
                [_record(space, start + at, one, vectors[at].tobytes()) for at, one in enumerate(batch)]
            )
        step(f"{len(said):,} notes are there")
        for one in all_notes:
            if one.known:
                memory.remember(
                    one.text, speaker=one.speaker, session=one.session, metadata=one.metadata, time=one.time
                )
        memory.knowledge.add("Whales sing. " * 200, id="whales", title="Whales")
        memory.flush()


def _record(space: Space, number: int, note: Note, vector: bytes) -> Record:
    traits = Traits(speaker=note.speaker, session=note.session, importance=0.5, stated=(), learned=note.time)
    metadata = with_traits(note.metadata, traits)
    return Record(
        text=note.text, space=space, id=f"note-{number}", time=note.time, metadata=metadata, vector=array("f", vector)
    )


def cpu_ms(call: Callable[[], object]) -> float:
    """Milliseconds of CPU that all threads but this one take while something is called here."""
    others, own = time.process_time(), time.thread_time()
    call()
    return 1000 * ((time.process_time() - others) - (time.thread_time() - own))


def _wait_until_idle() -> None:
    """Until all threads together have done nothing for a moment; at most half a minute."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        before = time.process_time()
        time.sleep(0.1)
        if time.process_time() - before < 0.002:
            return


def measured(store: Path) -> dict[str, Any]:
    """What the first recall after a start takes, every call, and every page, in milliseconds of CPU."""
    step("the first recalls of two starts")
    first = [_first_recall(store) for _ in range(2)]
    served = Local(store, embedder=Drawn())
    try:
        asking = Asking(served)
        asking.send("POST", "/v1/recall", _QUESTION)
        step("every call")
        calls = {name: round(took, 1) for name, took in asking.all_calls()}
        step("every page")
        return {"first recalls": [round(took, 1) for took in first], "pages": _pages(served, asking), "calls": calls}
    finally:
        served.close()


def _first_recall(store: Path) -> float:
    with Local(store, embedder=Drawn()) as served:
        asking = Asking(served)
        _wait_until_idle()
        return cpu_ms(lambda: asking.send("POST", "/v1/recall", _QUESTION))


class Asking:
    """Calls every operation of a service as often as is measured."""

    def __init__(self, served: Local) -> None:
        self._host = urlsplit(served.url).netloc
        self._key = served.key
        self.ids = [one["id"] for one in self.send("GET", "/v1/memories?limit=200")["items"]]
        said = [{"role": "user", "content": f"Message {number}."} for number in range(200)]
        message = self.send("POST", "/v1/threads/talk/messages", {"messages": said})["ids"][0]
        self._names = {"thread": "talk", "index": "5", "message": message, "subject": "Ben"}

    def send(self, method: str, path: str, body: Any = None) -> Any:
        """The answer. Raises ``RuntimeError`` for a refusal."""
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        sent = body if isinstance(body, bytes) or body is None else json.dumps(body)
        # A connection that waits is closed by the service.
        line = http.client.HTTPConnection(self._host, timeout=600)
        line.request(method, path, sent, headers)
        answer = line.getresponse()
        data = answer.read()
        line.close()
        if answer.status >= 400:
            raise RuntimeError(f"{method} {path}: {answer.status} {data[:300]!r}")
        return json.loads(data) if "json" in (answer.headers["Content-Type"] or "") else data

    def all_calls(self) -> Iterator[tuple[str, float]]:
        """Each operation but those that are jobs, and the median of its rounds. What it makes, later ones use."""
        for name, operation in OPERATIONS.items():
            if operation.status == 202 or name in _LEFT_OUT:
                continue
            rounds = range(1 if name in _ONCE else _ROUNDS)
            yield name, statistics.median(self._took(self._call(name, number)) for number in rounds)

    def _took(self, call: Callable[[], object]) -> float:
        # What the call before left to do in the background is not counted to this one.
        _wait_until_idle()
        return cpu_ms(call)

    def _call(self, name: str, number: int) -> Callable[[], object]:
        operation, mine = OPERATIONS[name], self.ids[number]
        made = self._made(name, number)
        fields = {**self._names, "id": mine, **made.pop("path", {})}
        path = operation.path.format(**{field: quote(value, safe="") for field, value in fields.items()})
        query = made.pop("?", {})
        data = made.pop("data", None)
        body = data if data is not None else {**REQUESTS.get(name, {}), **made} if operation.takes or made else None
        if operation.method in ("GET", "DELETE") or operation.takes_query:
            body = data
        return lambda: self.send(operation.method, f"{path}?{urlencode(query)}" if query else path, body)

    def _made(self, name: str, number: int) -> dict[str, Any]:
        """What of a request is not as in the description's example."""
        mine, spare = self.ids[number], self.ids[10 + 10 * number :]
        question = _QUESTION
        made: dict[str, dict[str, Any]] = {
            "recall": question, "context": {**question, "profile": "Ben"}, "similarities": {**question, "ids": spare[:5]},
            "browse": {"?": {"facets": "true", "text": "release"}}, "activity": {"?": {"text": "Ben"}},
            "facts_about": {"?": {"subject": "Ben"}}, "facts_history": {"?": {"subject": "Ben"}},
            "graph": {"?": {"start": "Ben", "depth": "2"}}, "undo": {"version": None},
            "remember": {"content": f"A new note, number {number}."}, "forget": {"ids": spare[:1]},
            "erase": {"ids": spare[1:2]}, "merge": {"kept": spare[2], "others": spare[3:4]},
            "repair": {"actions": [{**REQUESTS["repair"]["actions"][0], "space": ["default"], "record": spare[5]}]},
            "correct_fact": {"subject": "Ben", "relation": "lives_in", "value": f"Place {number}"},
            "retract_fact": {"subject": "Ben", "relation": "lives_in", "ended": None},
            "add_document": {"id": f"new-{number}"}, "document": {"path": {"id": "whales"}},
            "document_text": {"path": {"id": "whales"}}, "remove_document": {"path": {"id": f"new-{number}"}},
            "look_up": {"where": None}, "add_medium": {"data": b"", "?": _MEDIUM},
            "grant": {"to": ["other"]}, "revoke_grant": {"to": ["other"]},
        }  # fmt: skip
        if name == "forget_one":
            made[name] = {"path": {"id": spare[6]}}
        if name == "undo":
            made[name] = {"path": {"id": mine}, "version": None}
        if name == "receipt":
            made[name] = {"path": {"id": self.send("GET", "/v1/receipts?limit=1")["items"][0]["id"]}}
        if name in ("rotate_key", "revoke_key"):
            key = self.send("POST", "/v1/keys", {"name": "x", "space": ["x"], "scopes": ["read"]})
            made[name] = {"path": {"id": key["key"]["id"]}}
        return made.get(name, {})


_OF_JOBS = ("job", "cancel_job", "job_file")
_OF_MEDIA = ("medium", "medium_data", "medium_thumbnail", "like_media", "erase_media")
_LEFT_OUT = frozenset({*_OF_JOBS, *_OF_MEDIA, "sign_in"})
"""Those of one job or one medium, which have nothing to do with the number of memories, and what needs a printed link."""
_ONCE = frozenset(
    {"retract_fact", "delete_thread", "restore_message", "remove_message", "trim_thread", "remember_thread"}
)
_MEDIUM = {"kind": "image", "description": "The beach."}


def _pages(served: Local, asking: Asking) -> dict[str, float]:
    """The first view of every page, each in a browser that knows nothing yet."""
    from playwright.sync_api import sync_playwright

    from tests.service.browser.finding import find

    program, environment = find()
    found: dict[str, float] = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(program), args=["--no-sandbox", "--disable-gpu"], env={**os.environ, **environment}
        )
        for name, place in PAGES.items():
            place = place.format(id=asking.ids[150])
            found[name] = round(statistics.median(_view(browser, served, place) for _ in range(_ROUNDS)), 1)
        browser.close()
    return found


def _view(browser: Any, served: Local, place: str) -> float:
    context = browser.new_context(viewport={"width": 1366, "height": 768}, reduced_motion="reduce")
    page = context.new_page()
    # The key is there from the beginning, as it is for somebody who comes back.
    page.add_init_script(f"sessionStorage.setItem('memwell.key', {served.key!r})")

    def look() -> None:
        page.goto(f"{served.url}/#/{place}")
        page.wait_for_selector("main[data-shown]")
        page.wait_for_selector(".skeleton, [aria-busy]", state="detached")
        page.wait_for_load_state("networkidle")

    _wait_until_idle()
    took = cpu_ms(look)
    context.close()
    return took


def _keep(found: dict[int, dict[str, Any]]) -> None:
    """The figures for programs, and as tables."""
    run = {"date": today(), "facts": facts(), "counts": found}
    (RESULTS / "service-pages.json").write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")
    head = ["", *(f"{count:,}" for count in found)]
    lines = ["# What pages and calls take", "", *_INTRODUCTION, ""]
    lines += _table(
        ["page", *head[1:]], [[name, *(f"{one['pages'][name]:.0f}" for one in found.values())] for name in PAGES]
    )
    first = [
        f"{one['first recalls'][0]:,.0f} and {one['first recalls'][1]:,.0f} ms with {count:,}"
        for count, one in found.items()
    ]
    lines += [
        "",
        "What recalls rank with is made when the store was filled, and kept in a file that the first recall after a start",
    ]
    lines += [f"reads: {', '.join(first)} (two starts). It is not in the tables."]
    calls = list(next(iter(found.values()))["calls"])
    slowest = sorted(calls, key=lambda name: -max(one["calls"][name] for one in found.values()))
    rows = [[f"`{name}`", *(f"{one['calls'][name]:.1f}" for one in found.values())] for name in slowest]
    lines += ["", *_table(["call", *head[1:]], rows)]
    (RESULTS / "service-pages.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


_INTRODUCTION = (
    "`python -m benchmarks.service.pages`: milliseconds of CPU of the service, the median of five, by the number of",
    "memories of the space (SQLite, twenty people, two languages, drawn vectors: what embedding a text takes is not in",
    "them). A page is its first view in a browser that has nothing of it, with all files and requests until nothing is",
    "loading. Promised are 300 ms a page, and 100 ms a call that is no job. Calls are made in the order of the reference.",
)


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    return [
        f"| {' | '.join(head)} |",
        "|---" + "|---:" * (len(head) - 1) + "|",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]


if __name__ == "__main__":
    sys.exit(main())
