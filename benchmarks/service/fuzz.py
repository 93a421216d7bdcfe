"""``python -m benchmarks.service.fuzz``: 20,000 requests that a fuzzer makes of the API's description, good and bad.

Every route is asked. Half of the ids in addresses are those of things that exist. Exit code 1 when an answer is an error
of the service, or is not as the description says: its status, its media type, or its shape.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from benchmarks.report import RESULTS, console, facts, step, today
from benchmarks.service.serving import Served, make_key

_CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
_MODES = (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE)
_A_TIME = 12
"""How many requests a route is asked in a row, at most."""

_MOST_FINDINGS = 100
_FIRST_HEARD_S = 30.0


@dataclass
class Found:
    """What came of it: how many requests were made, how they were answered, and what was wrong."""

    requests: int = 0
    waited: int = 0
    """Requests that were told to come back later, and did."""
    statuses: Counter[int] = field(default_factory=Counter)
    routes: Counter[str] = field(default_factory=Counter)
    modes: Counter[str] = field(default_factory=Counter)
    wrong: dict[str, str] = field(default_factory=dict)
    """What was wrong, each kind once a route, with the request that showed it."""


class Fuzz:
    """A fuzzer over a running service."""

    def __init__(self, address: str, token: str) -> None:
        self._address = address
        self._own_key = token.split("_")[1]
        self._headers = {"Authorization": f"Bearer {token}"}
        self._session = requests.Session()
        self._random = random.Random(7)
        self._ids: dict[str, list[str]] = {}
        self._a_time = _A_TIME
        self.found = Found()

    def run(self, wanted: int, *, every: int = 1) -> Found:
        """Ask until so many requests were made; only one route of ``every`` so many."""
        description = self._session.get(f"{self._address}/openapi.json", timeout=_FIRST_HEARD_S).json()
        # With this the fuzzer leaves the key out; how that is refused is not the question here.
        del description["security"], description["components"]["securitySchemes"]
        schema = schemathesis.openapi.from_dict(description)
        operations = [one.ok() for one in schema.get_all_operations()][::every]
        self._a_time = max(1, min(_A_TIME, wanted // (2 * len(operations))))
        turn = 0
        while self.found.requests < wanted:
            self._stock()
            for operation in operations:
                for mode in _MODES:
                    self._ask_often(operation, mode, turn, wanted)
            turn += 1
        return self.found

    def _ask_often(self, operation: Any, mode: Any, turn: int, wanted: int) -> None:
        @seed(turn)
        @settings(
            max_examples=self._a_time,
            phases=[Phase.generate],
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(operation.as_strategy(generation_mode=mode))
        def ask(case: Any) -> None:
            if self.found.requests < wanted:
                self._ask(case, mode.value)

        if self.found.requests < wanted:
            _without_what_cannot_be(ask)

    def _ask(self, case: Any, mode: str) -> None:
        self._aim(case)
        if case.path_parameters.get("id") == self._own_key:
            return
        response = self._answered(case)
        found, name = self.found, case.operation.definition.raw["operationId"]
        found.requests += 1
        found.statuses[response.status_code] += 1
        found.routes[name] += 1
        found.modes[mode] += 1
        try:
            case.validate_response(response, _CHECKS, headers=self._headers)
        except FailureGroup as failures:
            for failure in failures.exceptions:
                self._note(name, case, failure, response)

    def _answered(self, case: Any) -> Any:
        while True:
            # A stream that goes on is read to its end; that of a job ends with it.
            response = case.call(base_url=self._address, session=self._session, headers=self._headers, timeout=60)
            if response.status_code != 503 or b'"overloaded"' not in response.content:
                return response
            # There are more jobs waiting than may wait, and that is all.
            self.found.waited += 1
            time.sleep(1)

    def _note(self, name: str, case: Any, failure: Any, response: Any) -> None:
        what = f"{name}: {failure.title} ({response.status_code})"
        if what not in self.found.wrong and len(self.found.wrong) < _MOST_FINDINGS:
            request = case.as_curl_command(headers={})
            self.found.wrong[what] = f"{request}\n{failure.message}\n{response.content[:500]!r}"
            console.print(f"[red]{what}[/]")

    def _aim(self, case: Any) -> None:
        """Put ids of things that exist into half of the addresses."""
        for name in list(case.path_parameters):
            known = self._ids.get(_noun(case.path, name), ())
            if known and self._random.random() < 0.5:
                case.path_parameters[name] = self._random.choice(known)

    def _stock(self) -> None:
        """Make things to be found. Some requests of the fuzzer take all away."""
        said = "Ann moved to Lisbon in May. 安娜五月搬到了里斯本。"
        self._post("/v1/threads/talk/messages", {"messages": [{"role": "user", "content": said}], "remember": True})
        kept = self._post("/v1/memories", {"content": [said, "Ben plays chess."]})
        text = self._post("/v1/documents", {"text": said * 5, "title": "Lisbon"})
        key = self._post("/v1/keys", {"name": "of the fuzzer", "space": ["fuzz"], "scopes": ["read"]})
        job = self._post("/v1/exports", {})
        asked = self._post("/v1/context", {"query": "where does Ann live?"})
        self._ids = {
            "threads": ["talk"],
            "messages": [],
            "places": ["0"],
            "memories": kept["ids"],
            "documents": [text["id"]],
            "keys": [key["key"]["id"]],
            "jobs": [job["id"]],
            "receipts": [asked["receipt"]["id"]],
            "profiles": ["Ann"],
        }

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        while True:
            answer = self._session.post(self._address + path, json=body, headers=self._headers, timeout=60)
            if answer.status_code != 503:
                answer.raise_for_status()
                return answer.json()
            time.sleep(1)


def _noun(path: str, name: str) -> str:
    """What an open place of an address stands for: the segment before it."""
    parts = path.strip("/").split("/")
    return parts[parts.index(f"{{{name}}}") - 1]


def _without_what_cannot_be(ask: Callable[[], None]) -> None:
    """Ask, unless nothing bad can be made for a route that takes nothing."""
    try:
        ask()
    except Exception as error:
        if type(error).__name__ not in ("Unsatisfiable", "SkipTest", "Skipped"):
            raise


def main() -> int:
    """Run it; returns the exit code."""
    options = _options()
    step(f"{options.requests:,} requests made of the API's description")
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="memwell-fuzz-") as folder:
        store = Path(folder) / "fuzz.db"
        token = make_key(store, name="fuzz")
        served = Served(store, MEMWELL_EMBEDDER="minilm")
        try:
            found = Fuzz(f"http://127.0.0.1:{served.port}", token).run(options.requests)
            held = served.memory_mb
        finally:
            _, code = served.stop()
    row = _row(found, time.monotonic() - begun, held, code)
    console.print(row)
    for what, how in found.wrong.items():
        console.print(f"[bold red]{what}[/]\n", how, markup=True, highlight=False, soft_wrap=True)
    if not options.dry:
        _keep(row)
    return 1 if found.wrong or code else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service.fuzz", description=__doc__)
    parser.add_argument("--requests", type=int, default=20_000, help="how many (20,000)")
    parser.add_argument("--dry", action="store_true", help="do not write the result to benchmarks/results")
    return parser.parse_args()


def _row(found: Found, took: float, held: float, code: int) -> dict[str, Any]:
    return {
        "requests": found.requests,
        "routes": len(found.routes),
        "positive": found.modes["positive"],
        "negative": found.modes["negative"],
        "statuses": {str(status): number for status, number in sorted(found.statuses.items())},
        "told_to_wait": found.waited,
        "errors_of_the_service": sum(number for status, number in found.statuses.items() if status >= 500),
        "wrong": sorted(found.wrong),
        "exit_code": code,
        "memory_mb": round(held),
        "minutes": round(took / 60, 1),
    }


def _keep(row: dict[str, Any]) -> None:
    RESULTS.mkdir(exist_ok=True)
    run = {"date": today(), "facts": facts(), **row}
    (RESULTS / "service-fuzz.json").write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")
    answers = "\n".join(f"| {status} | {number:,} |" for status, number in row["statuses"].items())
    text = (
        f"# The service under a fuzzer\n\n{today()}. `make fuzz`: {row['requests']:,} requests made of the description of "
        f"the API ({row['positive']:,} that keep to it, {row['negative']:,} that break it) to {row['routes']} routes, in "
        f"{row['minutes']} minutes. Errors of the service: {row['errors_of_the_service']}. Answers that are not as "
        f"described: {len(row['wrong'])}. The process held {row['memory_mb']} MB at the end and ended with code "
        f"{row['exit_code']}.\n\n| status | answers |\n|---|---|\n{answers}\n"
    )
    (RESULTS / "service-fuzz.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
