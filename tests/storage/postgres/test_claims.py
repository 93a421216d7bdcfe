"""Duties: one holder at a time, until it lets go or dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memwell.errors import InvalidInput
from memwell.records import Space
from tests.engines.postgres import open_store, store_url

HOME = Space("home")


def test_a_duty_is_had_by_one_until_it_is_released(tmp_path: Path):
    with open_store(tmp_path) as one, open_store(tmp_path) as other:
        assert one.claims.take(HOME, "duty")
        assert one.claims.take(HOME, "duty")
        assert not other.claims.take(HOME, "duty")
        assert other.claims.take(HOME, "another")
        assert other.claims.take(Space("elsewhere"), "duty")
        other.claims.release(HOME, "duty")
        assert not other.claims.take(HOME, "duty")
        one.claims.release(HOME, "duty")
        assert other.claims.take(HOME, "duty")


def test_a_closed_store_has_no_duties(tmp_path: Path):
    with open_store(tmp_path) as other:
        with open_store(tmp_path) as one:
            assert one.claims.take(HOME, "duty")
        assert other.claims.take(HOME, "duty")


def test_stores_of_other_schemas_have_duties_of_their_own(tmp_path: Path):
    with open_store(tmp_path / "a") as one, open_store(tmp_path / "b") as other:
        assert one.claims.take(HOME, "duty")
        assert other.claims.take(HOME, "duty")


HOLD = """
import sys, time
from memwell.records import Space
from memwell.storage.postgres import PostgresBackend
backend = PostgresBackend(sys.argv[1])
print(backend.claims.take(Space("home"), "duty"), flush=True)
time.sleep(600)
"""


def test_a_killed_holder_has_it_no_longer(tmp_path: Path):
    with open_store(tmp_path) as backend:
        command = [sys.executable, "-c", HOLD, store_url(tmp_path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == b"True\n"
            assert not backend.claims.take(HOME, "duty")
            os.kill(child.pid, signal.SIGKILL)
        end = time.monotonic() + 30
        while not backend.claims.take(HOME, "duty"):
            assert time.monotonic() < end, "the duty was not freed"
            time.sleep(0.02)


def test_what_is_no_duty_is_refused(tmp_path: Path):
    with open_store(tmp_path) as backend, pytest.raises(InvalidInput):
        backend.claims.take(HOME, "")
