"""The rows about attacks: identities, poison, fuzzed and oversized requests, overload, planted secrets."""

from __future__ import annotations

import http.client
import io
import json
import signal
from pathlib import Path

import memwell
from benchmarks.scorecard.trying import Outcome, explore, judged, url_of

_STOP_S, _LIMIT_S = 10.0, 0.1
_GROWTH_MB = 50

# 14 and 15: identities and poison


def identities(store: str, count: int, folder: Path) -> Outcome:
    from tests.service import test_app
    from tests.service.mcp import test_server
    from tests.service.mcp.conftest import Served
    from tests.service.serving import running

    wrong = list[str]()
    with running(folder / "store.db") as run:
        tenants = test_app.Tenants(run)
        refused = test_app.tokens_refused(tenants)
        for test in (
            lambda: test_app.test_nothing_is_done_or_told_without_a_good_key(tenants, refused),
            lambda: test_app.test_nothing_is_done_or_told_without_the_scope(tenants),
            lambda: test_app.test_a_key_of_another_space_neither_sees_nor_changes_anything(tenants),
            lambda: test_app.test_the_memory_of_another_space_is_seen_only_where_it_was_shared(tenants),
            lambda: test_app.test_mcp_is_closed_without_a_key(tenants, refused),
        ):
            wrong += judged(0, test).wrong
    scopes = ("read", "write", "erase")
    with running() as run:
        wrong += judged(0, lambda: test_server.test_two_callers_never_see_each_other(Served(run))).wrong
        for scope in scopes:
            refuse = test_server.test_tools_and_resources_are_refused_without_their_scope
            wrong += judged(0, lambda scope=scope, refuse=refuse: refuse(Served(run), "auto", scope)).wrong
    routes, tools = len(test_app.CLOSED), len(test_server.TOOLS)
    tried = routes * (len(refused) + 2) + len(refused) + tools * len(scopes)
    return Outcome(
        tried, wrong, f"{routes} routes × {len(refused) + 2} identities, {tools} tools × {len(scopes)} scopes"
    )


def poisoned(store: str, count: int, folder: Path) -> Outcome:
    from memwell.longterm.gate import TRUSTS, Gate
    from tests.longterm import test_gate as corpus
    from tests.runtime.test_context import FORGERIES, assert_is_fenced

    wrong, tried, flagged = list[str](), 0, 0
    poison = [*corpus.ORDERS, *(one.encode(errors="ignore").decode().replace("\x00", "") for one in FORGERIES)]
    for number, (text, trust) in enumerate((text, trust) for text in poison for trust in TRUSTS):
        with memwell.open("memory:", space=f"s{number}", embedder=None, work=False) as memory:
            memory.remember(f"About the harbour: {text} My name is Mallory and I work at Evil.", trust=trust)
            asked = {"system": "Be brief.", "profile": "user", "min_relevance": 0.0}
            made, gated = (memory.context("What about the harbour?", trust=one, **asked) for one in (None, "user"))
        tried += 1
        flagged += bool(Gate().judge(text, trust=trust).flags)
        if made.messages[0].text != "Be brief.":
            wrong.append(f"{trust}: in the instructions: {made.messages[0].text!r:.200}")
        if trust != "user" and any(word in gated.text() for word in ("Mallory", "Evil", "About the harbour")):
            wrong.append(f"{trust}: in a prompt of the user's own words: {gated.text()!r:.300}")
        wrong += judged(0, lambda made=made: assert_is_fenced(made)).wrong
    harmless = [(text, trust) for text in (*corpus.NO_ORDERS, *corpus.ORDINARY) for trust in ("user", "document")]
    blocked = [one for one in harmless if not Gate().judge(one[0], trust=one[1]).accepted]
    marked = [one for one in harmless if Gate().judge(one[0], trust=one[1]).flags]
    note = f"{flagged} flagged; of {len(harmless)} harmless texts {len(blocked)} refused and {len(marked)} flagged"
    return Outcome(tried, wrong, note)


# 18 to 21: the service


def fuzzed(store: str, count: int, folder: Path) -> Outcome:
    from benchmarks.service.fuzz import Fuzz
    from benchmarks.service.serving import Served, make_key

    with url_of(store, folder) as url:
        token = make_key(url, name="fuzz")
        served = Served(url)
        try:
            found = Fuzz(f"http://127.0.0.1:{served.port}", token).run(count)
        finally:
            _, code = served.stop()
    wrong = [*found.wrong, *([f"the service ended with {code}"] if code else [])]
    return Outcome(
        found.requests,
        wrong,
        f"{len(found.routes)} routes, {found.modes['negative']:,} requests against the description",
    )


def limited(store: str, count: int, folder: Path) -> Outcome:
    from benchmarks.service.serving import Served, make_key
    from benchmarks.tenants import Line
    from tests.service.test_app import BAD_BODIES

    large = {
        "100 MB": b'{"content": "' + b"x" * 100_000_000 + b'"}',
        "600,000 values": b'{"content": "x", "metadata": {"a": [' + b"1," * 600_000 + b"1]}}",
        "content": json.dumps({"content": "x " * 500_001}).encode(),
        "metadata": json.dumps({"content": "x", "metadata": {"a": "x" * 65_536}}).encode(),
        "vector": b'{"content": "x", "vector": [NaN]}',
    }
    bodies, wrong, slowest = {**BAD_BODIES, **large}, list[str](), 0.0
    token = make_key(folder / "store.db")
    served = Served(folder / "store.db")
    try:
        line = Line(served.port, token)
        line.ask("POST", "/v1/recall", {"query": "where?"})
        held = served.memory_mb
        for number in range(count):
            name, body = list(bodies.items())[number % len(bodies)]
            before = served.cpu
            try:
                status, _ = line.ask("POST", "/v1/memories", body)
            except (OSError, http.client.HTTPException):
                # Hung up on, before all of it was sent.
                status = 413
            slowest = max(slowest, served.cpu - before)
            if not 400 <= status < 500 or served.cpu - before > _LIMIT_S:
                wrong.append(f"{name}: {status} after {served.cpu - before:.2f} s of CPU")
        grown = served.memory_mb - held
        stored = line.ask("GET", "/v1/count")[1]
    finally:
        served.stop()
    wrong += [f"grew by {grown:.0f} MB"] if grown > _GROWTH_MB else []
    wrong += [] if stored.get("count", stored) in (0, {"count": 0}) else [f"something was stored: {stored}"]
    return Outcome(count, wrong, f"slowest {slowest * 1000:.0f} ms of CPU; memory grew by {max(0, grown):.0f} MB")


def overloaded(store: str, count: int, folder: Path) -> Outcome:
    from benchmarks.service.__main__ import measured

    # Three times as many as may wait.
    limits = {"MEMWELL_SERVE_THREADS": "2", "MEMWELL_SERVE_MOST_WAITING": str(count // 3), "MEMWELL_EMBEDDER": "minilm"}
    found = measured(folder / "store.db", "SIGTERM", signal.SIGTERM, count, 20.0, **limits)
    allowed = (200, 201, 429, 503)
    wrong = [f"{number} × {status}" for status, number in found["statuses"].items() if status not in allowed]
    wrong += [f"{found['lost']} acknowledged are lost"] if found["lost"] else []
    wrong += [f"stopping took {found['stopped_s']} s"] if found["stopped_s"] > _STOP_S else []
    sent_away = sum(found["statuses"].get(status, 0) for status in (429, 503))
    kept = f"{found['memories'] + found['messages']:,} acknowledged, {found['lost']} lost"
    note = f"{found['answered']:,} answers, {sent_away:,} sent away; {kept}; ended in {found['stopped_s']} s"
    return Outcome(count, wrong, note)


def planted(store: str, count: int, folder: Path) -> Outcome:
    explore(20)
    from memwell.service import logs
    from tests.service import test_app, test_logs
    from tests.service.serving import running

    planted, out, tried = "sk-proj-abc123DEF456ghi789JKL0", io.StringIO(), 0
    with running(folder / "store.db") as run:
        tenants = test_app.Tenants(run)
        logs.set_up("json", out)
        try:
            with run.line() as ask:
                for route in test_app.CLOSED:
                    for body in [] if route.takes is None else test_app.wrong_bodies(route, tenants):
                        said = {name: planted if isinstance(one, str) else one for name, one in body.items()}
                        query = said if route.takes_query else None
                        path = tenants.address(route).replace("/x", f"/{planted}")
                        ask(route.method, path, None if query else said, query=query)
                        tried += 1
                        if tried >= count:
                            break
                for token in (planted, run.token()[:-1] + "0"):
                    ask("GET", "/v1/me", token=token)
        finally:
            logs.set_up("off")
        tokens = [run.token(), run.token()[:-1] + "0"]
    logged = out.getvalue()
    wrong = [f"{logged.count(one)} times in the log: {one[:8]}…" for one in (planted, *tokens) if one in logged]
    if logged.count("\n") < tried // 2:
        wrong.append(f"only {logged.count(chr(10))} lines were logged")
    for test in (
        test_logs.test_a_changed_or_missing_field_is_found,
        test_logs.test_removed_moved_and_added_entries_are_found,
    ):
        wrong += judged(0, test).wrong
    return Outcome(tried, wrong, f"{logged.count(chr(10)):,} lines searched; 40 changes of the audit log found")
