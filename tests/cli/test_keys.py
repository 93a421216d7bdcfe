from __future__ import annotations

import json
import re

import pytest

from memwell.errors import AccessDenied
from memwell.records import Space
from memwell.service.audit_log import AuditLog
from memwell.service.keys import SERVICE, Keys
from memwell.storage import open_backend
from tests.commands import Run

TOKEN = re.compile(r"mw_[0-9a-f]{16}_[0-9a-f]{64}")


def token_in(text: str) -> str:
    found = TOKEN.findall(text)
    assert len(found) == 1, text
    return found[0]


def test_a_key_is_made_listed_rotated_and_revoked(run: Run):
    options = ("--space", "acme", "--space", "ann", "--as", "app", "--expires", "30d", "--rate", "600")
    made = run("keys", "create", "phone", *options)
    assert made.code == 0
    assert "will not be shown again" in made.out
    first = token_in(made.out)
    with open_backend("memwell.db") as backend:
        key = Keys(backend).check(first)
    assert (key.space, key.scopes, key.rate) == (Space("acme", "ann"), ("read", "write"), 600)
    assert key.expires is not None
    assert (key.expires - key.created).days in (29, 30)
    listed = run("keys", "list").out
    assert key.id in listed
    assert "acme / ann" in listed.replace("\n", " ")
    turned = run("keys", "rotate", "phone", "--grace", "12h")
    second = token_in(turned.out)
    assert "works until" in turned.out
    assert second != first
    assert run("keys", "revoke", second).code == 0
    with open_backend("memwell.db") as backend:
        for token in (first, second):
            with pytest.raises(AccessDenied, match="revoked"):
                Keys(backend).check(token)
    assert not TOKEN.search(run("keys", "list").out + run("keys", "list", "--json").out + run("keys", "log").out)


def test_programs_get_json(run: Run):
    made = json.loads(run("keys", "create", "phone", "--space", "acme", "--scope", "erase", "--json").out)
    assert made["key"]["space"] == ["acme"]
    assert made["key"]["scopes"] == ["erase"]
    assert TOKEN.fullmatch(made["token"])
    turned = json.loads(run("keys", "rotate", made["key"]["id"], "--json").out)
    assert turned["key"]["id"] == made["key"]["id"]
    assert [one["name"] for one in json.loads(run("keys", "list", "--json").out)] == ["phone"]
    assert json.loads(run("keys", "list", "--space", "other", "--json").out) == []
    log = json.loads(run("keys", "log", "--json").out)
    assert [one["action"] for one in log["items"]] == ["rotate_key", "create_key"]
    assert json.loads(run("keys", "log", "--verify", "--json").out)["ok"]


def test_a_key_without_options_is_an_apps_of_the_default_space(run: Run):
    made = json.loads(run("keys", "create", "phone", "--json").out)["key"]
    assert (made["space"], made["scopes"], made["expires"]) == (["default"], ["read", "write"], None)


def test_the_log_is_shown_in_pages_and_verified(run: Run):
    for name in ("a", "b", "c"):
        run("keys", "create", name)
    page = run("keys", "log", "--limit", 2).out
    cursor = re.findall(r"--cursor '?(<\d+)", page)
    assert cursor == ["<1"]
    assert "create_key" in run("keys", "log", "--cursor", cursor[0]).out
    whole = run("keys", "log", "--verify")
    assert (whole.code, "3 entries" in whole.out) == (0, True)
    head = re.findall(r"[0-9a-f]{64}", whole.out)[0]
    assert run("keys", "log", "--noted", head).code == 0
    other = run("keys", "log", "--noted", "0" * 63 + "1")
    assert (other.code, "not in it" in other.out) == (1, True)
    with open_backend("memwell.db") as backend:
        backend.kv.delete(SERVICE / "log", f"{2:015d}")
    broken = run("keys", "log", "--verify")
    assert (broken.code, "entry 2" in broken.out) == (1, True)


def test_nothing_is_done_that_cannot_be_logged(run: Run):
    token = token_in(run("keys", "create", "phone").out)
    with open_backend("memwell.db") as backend:
        backend.kv.put(SERVICE / "log" / "head", "head", "damaged")
    for words in (("create", "other"), ("rotate", "phone"), ("revoke", "phone")):
        failed = run("keys", *words)
        assert (failed.code, "head of the audit log" in failed.err) == (1, True)
        assert not TOKEN.search(failed.out)
    with open_backend("memwell.db") as backend:
        assert [key.name for key in Keys(backend).all()] == ["phone"]
        assert Keys(backend).check(token).rotated is None


def test_who_was_refused_and_where_is_shown(run: Run):
    with open_backend("memwell.db") as backend:
        log = AuditLog(backend)
        log.append("key.refused", outcome="refused", detail={"address": "10.0.0.1\x1b[31m"})
        log.append("memory.erase", key="k1", space=Space("acme"), targets=["m1"])
    shown = run("keys", "log", "--json").out
    table = run("keys", "log").out
    assert "refused" in table
    assert "\x1b" not in table
    assert "m1" in shown


BAD = {
    ("create", "a", "--as", "king"): "reader, app, owner, operator",
    ("create", "a", "--scope", "king"): "read, write, erase, admin",
    ("create", "a", "--as", "app", "--scope", "read"): "either --as or --scope",
    ("create", "a", "--expires", "soon"): "is no time",
    ("create", "a", "--expires", "999999w"): "is no time",
    ("create", "a", "--expires", "2020-01-01"): "over already",
    ("create", "a", "--expires", "0d"): "over already",
    ("create", "a", "--space", "memwell", "--space", "service"): "memwell's own",
    ("create", ""): "must not be empty",
    ("revoke", "nobody"): "no key 'nobody'",
    ("rotate", "twin"): "Several keys",
    ("rotate", "only", "--grace", "2030-01-01"): "no length of time",
    ("rotate", "only", "--grace", "999d"): "grace must be",
    ("log", "--cursor", "x"): "no cursor",
}


def test_bad_input_is_one_line(run: Run):
    for name in ("twin", "twin", "only"):
        run("keys", "create", name)
    before = run("keys", "list", "--json").out
    wrong: list[object] = []
    for words, told in BAD.items():
        failed = run("keys", *words)
        if failed.code != 1 or told not in failed.err or failed.err.count("\n") != 1:
            wrong.append((words, failed))
        if run("keys", "list", "--json").out != before:
            wrong.append((words, "changed the keys"))
        if json.loads(run("keys", "log", "--verify", "--json").out)["entries"] != 3:
            wrong.append((words, "changed the log"))
    assert wrong == []


def test_a_token_is_not_repeated_in_an_error(run: Run):
    token = token_in(run("keys", "create", "phone").out)
    assert run("keys", "revoke", token).code == 0
    again = run("keys", "revoke", token)
    assert again.code == 1
    assert token[20:30] not in again.err
