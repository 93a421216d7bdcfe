"""A service in a thread: what an application's own tests would start."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

import pytest

import memwell
from memwell.errors import AccessDenied, BackendUnavailable
from memwell.service.local import Local
from tests.service.waiting import PATIENCE_S


def told(served: Local, path: str) -> dict[str, Any]:
    asked = urllib.request.Request(served.url + path, headers={"Authorization": f"Bearer {served.key}"})
    with urllib.request.urlopen(asked, timeout=PATIENCE_S) as answer:
        return json.loads(answer.read())


def test_it_serves_a_space_and_keys_for_others_until_it_is_closed():
    with Local("memory:", embedder=None) as served:
        with memwell.open(served.url, key=served.key) as mine:
            mine.remember("Ann is allergic to nuts.")
        with memwell.open(served.url, key=served.key_for("bob", "read")) as his:
            assert his.recall("nuts") == []
            with pytest.raises(AccessDenied):
                his.remember("not with this key")
        with memwell.open(served.url, key=served.key) as again:
            assert [hit.text for hit in again.recall("nuts")] == ["Ann is allergic to nuts."]
    with pytest.raises(BackendUnavailable):
        memwell.open(served.url, key=served.key)


def test_who_speaks_is_an_active_user():
    with Local("memory:", embedder=None) as served:
        assert told(served, "/v1/figures")["active"]["speakers_day"] == 0
        with memwell.open(served.url, key=served.key) as memory:
            for speaker in ("Ann", "Ben", "Ann"):
                memory.remember(f"{speaker} drinks tea in the morning", speaker=speaker)
            memory.recall("tea", speaker="Carla")
        active = told(served, "/v1/figures")["active"]
        assert (active["spaces_day"], active["speakers_day"]) == (1, 2)
