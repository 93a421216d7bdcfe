"""Visits: the key of whoever started a service ends with it, also when it was killed, and never that of one that runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from memwell.errors import AccessDenied
from memwell.records import Space
from memwell.service import visits
from memwell.service.visits import Visit, end_left_visits
from memwell.values import now
from tests.service.rest.asking import service_at
from tests.service.waiting import PATIENCE_S

OTHER = """
    import sys
    from memwell.service.visits import Visit
    from tests.service.rest.asking import service_at

    print(Visit(service_at(sys.argv[1])).token, flush=True)
    sys.stdin.read()
"""


@contextmanager
def visited(store: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Another process with a visit of its own, and that visit's token."""
    command = [sys.executable, "-c", textwrap.dedent(OTHER), str(store)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
    )
    assert process.stdout is not None
    try:
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


def test_a_visit_ends_with_the_service():
    with service_at() as service:
        visit = Visit(service)
        assert service.keys.check(visit.token).expires is not None
        visit.end()
        assert service.keys.get(visit.key.id).revoked is not None
        # A tick after the end brings nothing back.
        service.tick()
        assert end_left_visits(service) == 0


def test_the_key_of_a_service_that_was_killed_ends_with_the_next_start(tmp_path: Path):
    store = tmp_path / "s.db"
    with visited(store) as (process, token), service_at(store) as service:
        own = Visit(service)
        named_alike, _ = service.keys.create("this visit", space=Space("a"), scopes=["read"])
        # Two that run over one store leave each other alone.
        assert end_left_visits(service) == 0
        assert service.keys.check(token)
        process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE_S)
        assert end_left_visits(service) == 1
        with pytest.raises(AccessDenied):
            service.keys.check(token)
        assert service.keys.check(own.token)
        assert service.keys.get(named_alike.id).revoked is None
        assert end_left_visits(service) == 0


def test_of_another_machine_nothing_but_the_time_tells(monkeypatch: pytest.MonkeyPatch):
    with service_at() as service, monkeypatch.context() as there:
        there.setattr(visits, "_THIS", "another process")
        there.setattr(visits, "_host", lambda: "another machine")
        visit = Visit(service)
        there.undo()
        assert end_left_visits(service) == 0
        # It says that it is there, and then no more.
        there.setattr(visits, "now", lambda: now() + timedelta(minutes=3))
        assert end_left_visits(service) == 1
        with pytest.raises(AccessDenied):
            service.keys.check(visit.token)


def test_a_number_that_this_process_has_now_is_nobody_elses(monkeypatch: pytest.MonkeyPatch):
    with service_at() as service, monkeypatch.context() as before:
        before.setattr(visits, "_THIS", "the process before")
        visit = Visit(service)
        before.undo()
        assert os.getpid() > 0
        assert end_left_visits(service) == 1
        assert service.keys.get(visit.key.id).revoked is not None
