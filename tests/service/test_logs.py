"""Whatever is done to the log afterwards is found, and whoever appends at the same time gets a place of their own."""

from __future__ import annotations

import io
import json
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, cast
from unittest.mock import Mock

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from memwell.errors import BackendError, BadModelOutput, ConfigurationError, InvalidInput
from memwell.records import Space, paged
from memwell.runtime.wire.codec import Key
from memwell.runtime.wire.table import OPERATIONS
from memwell.service import logs
from memwell.service.keys import SERVICE
from memwell.service.logs import AuditLog, Looks, Refusals
from memwell.storage import Backend, open_backend
from memwell.values import now

NOW = datetime(2030, 1, 1, 12, 30, 15, 250, tzinfo=UTC)
LOG = SERVICE / "log"
HEAD = LOG / "head"
COUNT = 6
FIELDS = ("number", "time", "key", "space", "action", "targets", "outcome", "detail", "previous", "digest")

plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    # No store keeps NUL or a lone surrogate.
    | st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=3),
    max_leaves=5,
)


@pytest.fixture
def backend() -> Iterator[Backend]:
    with open_backend("memory:") as backend:
        yield backend


@pytest.fixture
def log(backend: Backend) -> AuditLog:
    return AuditLog(backend, lambda: NOW)


def fill(log: AuditLog, count: int = COUNT) -> None:
    for one in range(count):
        log.append("memory.erase", key="k1", space=Space("acme", "安"), targets=[f"m{one}"], detail={"memories": one})


def name(number: int) -> str:
    return f"{number:015d}"


def value_of(backend: Backend, number: int) -> dict[str, Any]:
    entry = backend.kv.get(LOG, name(number))
    assert entry is not None
    return dict(cast("dict[str, Any]", entry.value))


def test_an_entry_says_who_did_what_to_what(log: AuditLog):
    first = log.append("key.create", targets=["k1"])
    entry = log.append(
        "memory.erase", key="k1", space=Space("acme"), targets=["m1"], outcome="refused", detail={"n": 2}
    )
    assert (first.number, first.key, first.space, first.previous) == (1, None, None, "0" * 64)
    assert (entry.number, entry.time, entry.key, entry.space) == (2, NOW, "k1", Space("acme"))
    assert (entry.action, entry.targets, entry.outcome) == ("memory.erase", ("m1",), "refused")
    assert entry.detail == {"n": 2}
    assert entry.previous == first.digest
    assert isinstance(entry.space, Space)
    assert log.entries().items == [entry, first]


def test_the_digest_can_be_computed_by_anybody(log: AuditLog, backend: Backend):
    entry = log.append('忘 "\\/\x7f\n\u2028', key="k1", space=Space("茶"), targets=["é"], detail={"z": "ß", "a": -1})
    value = value_of(backend, 1)
    assert value.pop("digest") == entry.digest
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    assert sha256(text.encode()).hexdigest() == entry.digest
    assert value["time"] == "2030-01-01T12:30:15.000250Z"


NUMBERS = st.integers(1, COUNT)


def digested(value: dict[str, Any]) -> dict[str, Any]:
    """The fields of an entry with the digest that fits them."""
    rest = {key: one for key, one in value.items() if key != "digest"}
    text = json.dumps(rest, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return {**rest, "digest": sha256(text.encode()).hexdigest()}


@given(number=NUMBERS, field=st.sampled_from([*FIELDS, "more"]), value=plain)
def test_a_changed_or_missing_field_is_found(number: int, field: str, value: Any):
    with open_backend("memory:") as backend:
        log = AuditLog(backend)
        fill(log)
        written = value_of(backend, number)
        changed = {**written, field: value}
        if value is None and field in written:
            del changed[field]
        assume(json.dumps(changed, sort_keys=True) != json.dumps(written, sort_keys=True))
        backend.kv.put(LOG, name(number), changed)
        assert (log.verify().ok, log.verify().broken_at) == (False, number)
        backend.kv.put(LOG, name(number), value)
        assert log.verify().broken_at == number
        # With a digest that fits, the next entry or the head shows the change.
        backend.kv.put(LOG, name(number), digested({**written, "detail": {"memories": 99}}))
        assert log.verify().broken_at == min(number + 1, COUNT)


@given(
    gone=st.sets(NUMBERS, min_size=1), order=st.permutations(range(1, COUNT + 1)), more=st.sampled_from(["0", "zzz"])
)
def test_removed_moved_and_added_entries_are_found(gone: set[int], order: list[int], more: str):
    with open_backend("memory:") as backend:
        log = AuditLog(backend)
        fill(log)
        values = {number: value_of(backend, number) for number in order}
        backend.kv.put(LOG, more, values[COUNT])
        assert not log.verify().ok
        backend.kv.delete(LOG, more)
        for place, number in enumerate(order, 1):
            backend.kv.put(LOG, name(place), values[number])
        moved = [place for place, number in enumerate(order, 1) if place != number]
        assert log.verify().broken_at == (moved[0] if moved else None)
        for number in order:
            backend.kv.put(LOG, name(number), values[number])
        for number in gone:
            backend.kv.delete(LOG, name(number))
        found = log.verify()
        assert (found.ok, found.broken_at, found.entries) == (False, min(gone), min(gone) - 1)


def test_a_last_entry_with_another_number_is_found_though_the_head_was_changed_too(log: AuditLog, backend: Backend):
    fill(log)
    changed = digested({**value_of(backend, COUNT), "number": 99})
    backend.kv.put(LOG, name(COUNT), changed)
    backend.kv.put(HEAD, "head", [COUNT, changed["digest"]])
    assert log.verify().broken_at == COUNT


@pytest.mark.parametrize("key", [name(2), "000000000000003a"])
def test_an_entry_that_is_damaged_or_in_a_wrong_place_is_named(log: AuditLog, backend: Backend, key: str):
    fill(log)
    other = backend.kv.get(LOG, name(5))
    assert other is not None
    for value in (other.value, {"number": 1}, 7, b"x"):
        backend.kv.put(LOG, key, value)
        with pytest.raises(BackendError, match=f"{key}.*damaged"):
            log.entries()


@pytest.mark.parametrize("head", [None, 7, [], [COUNT], [COUNT, "x"], [COUNT - 1, "x"], [COUNT + 1, "x"], ["a", "b"]])
def test_a_changed_head_is_found(log: AuditLog, backend: Backend, head: Any):
    fill(log)
    backend.kv.put(HEAD, "head", head)
    assert not log.verify().ok
    assert log.verify().broken_at is not None
    backend.kv.delete(HEAD, "head")
    assert not log.verify().ok


@pytest.mark.parametrize("head", [[], [COUNT - 1, "x"], None])
def test_a_log_whose_head_was_tampered_with_is_not_continued(log: AuditLog, backend: Backend, head: Any):
    fill(log)
    backend.kv.put(HEAD, "head", head)
    with pytest.raises(BackendError, match="head"):
        log.append("key.create")
    assert len(backend.kv.scan(LOG).items) == COUNT


def test_a_log_that_was_written_anew_lacks_the_noted_digest(log: AuditLog):
    fill(log)
    noted = log.verify().head
    fill(log)
    assert log.verify(noted=noted).ok
    with open_backend("memory:") as other:
        anew = AuditLog(other)
        fill(anew, 2 * COUNT)
        assert anew.verify().ok, "nothing in the store itself contradicts it"
        found = anew.verify(noted=noted)
        assert (found.ok, found.broken_at) == (False, None)


def test_the_log_is_read_page_by_page(log: AuditLog):
    fill(log, 23)
    for limit in (1, 5, 22, 23, 24, 100):
        newest = [one.number for one in paged(lambda at, limit=limit: log.entries(limit=limit, cursor=at))]
        assert newest == list(range(23, 0, -1))


def test_what_is_added_does_not_shift_the_pages(log: AuditLog):
    fill(log, 10)
    page = log.entries(limit=4)
    fill(log, 3)
    assert [one.number for one in log.entries(limit=4, cursor=page.next).items] == [6, 5, 4, 3]


@pytest.mark.parametrize("cursor", ["", "x", ">5", "<", "<-1", "<5 ", "<" + "9" * 16, "<٣", 5, "\x00"])
def test_a_bad_cursor_is_refused(log: AuditLog, cursor: Any):
    fill(log)
    with pytest.raises(InvalidInput, match="cursor"):
        log.entries(cursor=cursor)
    with pytest.raises(InvalidInput):
        log.entries(limit=0)


def test_an_entry_is_bounded_and_holds_no_token(log: AuditLog):
    token = f"mw_{'a' * 16}_{'b' * 64}"
    detail: dict[str, str | int] = {"text": "x" * 5000, "token": token}
    entry = log.append(f"a {token}", targets=[*(str(one) for one in range(500)), token], detail=detail)
    assert len(entry.targets) == 100
    assert entry.detail["targets"] == 501
    assert len(str(entry.detail["text"])) == 200
    long = log.append("b", key=token, targets=["words of somebody " * 20, token])
    assert long.targets[0].startswith("sha256:")
    assert "b" * 64 not in f"{entry} {long}"
    assert log.verify().ok


def test_an_entry_goes_with_its_transaction(log: AuditLog, backend: Backend):
    fill(log, 1)

    class Failed(Exception):
        pass

    with suppress(Failed), backend.transaction():
        log.append("memory.erase")
        raise Failed
    assert log.verify().entries == 1
    fill(log, 1)
    assert log.verify().ok


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_threads_append_one_chain(kind: str, tmp_path: Path):
    with open_backend("memory:" if kind == "memory" else tmp_path / "a.db") as backend:
        log = AuditLog(backend)
        threads = [threading.Thread(target=fill, args=(log, 25)) for _ in range(4)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            assert log.verify().ok, "also while it grows"
        for thread in threads:
            thread.join()
        assert log.verify().entries == 100
        assert log.verify().ok


def test_refusals_are_noted_up_to_a_bound_and_the_rest_counted(log: AuditLog, monkeypatch: pytest.MonkeyPatch):
    clock = [0.0]
    monkeypatch.setattr(log, "_refusals", Refusals(lambda: clock[0]))
    noted = [log.refuse("erase", code="missing-scope", key="k1", space=Space("acme")) for _ in range(50)]
    assert noted == [True] * 20 + [False] * 30
    assert log.refuse("erase", code="missing-scope", key="k2")
    assert log.refuse("recall", code="foreign-origin", address="10.0.0.1")
    clock[0] = 3.0
    assert log.refuse("recall", code="not-granted", key="k1")
    entries = log.entries(limit=100).items
    assert len(entries) == 23
    assert (entries[0].outcome, entries[0].detail) == ("refused", {"code": "not-granted", "unnoted": 30})
    assert [(one.action, one.key, one.detail) for one in entries[1:3]] == [
        ("recall", None, {"code": "foreign-origin"}),
        ("erase", "k2", {"code": "missing-scope"}),
    ]
    assert log.verify().ok


ACME = Space("acme")


def test_a_look_that_repeats_the_same_is_one_entry_for_ten_minutes(log: AuditLog, monkeypatch: pytest.MonkeyPatch):
    clock = [0.0]
    monkeypatch.setattr(log, "_looks", Looks(lambda: clock[0]))

    def look(key: str = "k1", space: Space = ACME, asked: bytes = b"GET /v1/browse") -> None:
        log.look_into("browse", key=key, space=space, asked=asked)

    for clock[0] in (0.0, 10.0, 599.0):
        look()
    look(key="k2")
    look(space=Space("ben"))
    look(asked=b"GET /v1/browse?text=tea")
    clock[0] = 600.0
    look()
    entries = log.entries().items[::-1]
    assert [(one.key, one.space, one.detail.get("again", 0)) for one in entries] == [
        ("k1", Space("acme"), 0), ("k2", Space("acme"), 0), ("k1", Space("ben"), 0), ("k1", Space("acme"), 0),
        ("k1", Space("acme"), 2),
    ]  # fmt: skip
    assert log.verify().ok


def test_a_look_that_could_not_be_logged_is_logged_when_it_is_repeated(log: AuditLog, monkeypatch: pytest.MonkeyPatch):
    with monkeypatch.context() as broken:
        broken.setattr(log, "append", Mock(side_effect=BackendError("full")))
        with pytest.raises(BackendError):
            log.look_into("browse", key="k1", space=Space("acme"), asked=b"")
    log.look_into("browse", key="k1", space=Space("acme"), asked=b"")
    assert [one.action for one in log.entries().items] == ["look_into"]


def test_what_is_refused_can_be_written_later(log: AuditLog):
    waiting: list[Callable[[], object]] = []
    assert log.refuse("erase", code="missing-scope", key="k1", later=waiting.append)
    assert log.entries().items == []
    waiting[0]()
    assert [one.action for one in log.entries().items] == ["erase"]


# The request log: a line for each request, as text or JSON, and no secret in it

TOKEN = f"mw_{'a' * 16}_{'b' * 64}"
KEY = Key(id="a" * 16, name="phone", space=Space("acme"), scopes=("read",), created=now())


def failed(error: Exception) -> Exception:
    try:
        raise error
    except type(error) as raised:
        return raised


def written(form: str, *failures: BaseException) -> str:
    out = io.StringIO()
    logs.set_up(form, out)
    logs.request("r1", "GET", OPERATIONS["me"].name, 200, 0.0123, KEY)
    logs.request("r2", "POST", OPERATIONS["recall"].name, 401, 0.001, None)
    for error in failures:
        logs.failure("r3", OPERATIONS["recall"].name, error)
    logs.warn("figures could not be written", ConfigurationError(f"with {TOKEN}"))
    logging.getLogger("uvicorn.error").warning("a line of the web server with %s", TOKEN)
    return out.getvalue()


def test_for_programs_each_line_is_json():
    lines = [json.loads(line) for line in written("json", failed(KeyError("words"))).splitlines()]
    assert lines[0] | {"time": ""} == {
        "time": "", "level": "info", "logger": "memwell.service", "message": "GET me 200 12.3 ms", "request": "r1",
        "method": "GET", "route": "me", "status": 200, "ms": 12.3, "key": KEY.id,
    }  # fmt: skip
    assert lines[1]["key"] == ""
    assert "KeyError" in lines[2]["error"]


def test_for_people_each_request_is_one_line():
    lines = written("text").splitlines()
    # The day, and the request that the audit log and a caller's error name.
    datetime.strptime(lines[0][:20], "%Y-%m-%d %H:%M:%S ").replace(tzinfo=UTC)
    assert lines[0].endswith(f"GET me 200 12.3 ms request=r1 key={KEY.id}")
    assert len(lines) == 4


@pytest.mark.parametrize("form", ["text", "json"])
def test_no_token_is_ever_written(form: str):
    assert TOKEN not in written(form, failed(BackendError(f"no {TOKEN}")))


@pytest.mark.parametrize("form", ["text", "json"])
def test_of_an_unexpected_error_the_kind_and_place_are_written_and_not_the_words(form: str):
    cause = failed(BadModelOutput("she said pelican"))
    chained = KeyError("pelican")
    chained.__cause__ = cause
    group = ExceptionGroup("pelican", [failed(ValueError("pelican")), failed(BackendError("the disk is full"))])
    out = written(form, failed(chained), failed(group))
    assert "pelican" not in out
    for told in (
        "KeyError",
        "BadModelOutput",
        "ValueError",
        "ExceptionGroup",
        "BackendError: the disk is full",
        "in failed",
    ):
        assert told in out


def test_an_error_that_came_from_itself_ends():
    one, two = KeyError("a"), KeyError("b")
    one.__context__, two.__context__ = two, one
    assert written("text", one).count("KeyError") == 2


def test_off_is_off_and_back_on_is_one_line_each():
    assert written("off", failed(KeyError("a"))) == ""
    written("text")
    assert len(written("text").splitlines()) == 4


def test_handlers_of_others_are_left_alone():
    other = logging.NullHandler()
    logging.getLogger("memwell").addHandler(other)
    logs.set_up("text", io.StringIO())
    logs.set_up("off")
    assert other in logging.getLogger("memwell").handlers


def test_an_unknown_form_is_refused():
    with pytest.raises(ConfigurationError, match="text, json, off"):
        logs.set_up("xml")
