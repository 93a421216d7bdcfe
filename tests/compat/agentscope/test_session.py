"""Sessions by session and user: any ids, none reading another's, whole or not at all."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.agentscope.session import JSONSession, MemwellSession, SessionBase, SessionNotFound, StateModule
from memwell.errors import FileError, InvalidInput

HOSTILE = [*r"a A a_b b b_a a/b ../a .. . /etc/passwd a.json ~ 会话 %61 a\b".split(), "x" * 1024, " a"]
IDS = st.text("aAb_.%", min_size=1, max_size=3) | st.text(
    st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=12
)


class Counter(StateModule):
    def __init__(self, count: int = 0):
        super().__init__()
        self.count = count
        self.register_state("count")


@pytest.fixture(params=["json", "memwell"])
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SessionBase]:
    if request.param == "json":
        yield JSONSession(str(tmp_path / "sessions"))
    else:
        with MemwellSession(tmp_path / "sessions.db") as made:
            yield made


async def test_no_two_ids_share_a_session(session: SessionBase):
    pairs = [(session_id, user) for session_id in HOSTILE for user in ("", *HOSTILE)]

    for number, (session_id, user) in enumerate(pairs):
        await session.save_session_state(session_id, user, counter=Counter(number))
    found = [Counter(-1) for _ in pairs]
    for (session_id, user), counter in zip(pairs, found, strict=True):
        await session.load_session_state(session_id, user, allow_not_exist=False, counter=counter)
    assert [counter.count for counter in found] == list(range(len(pairs)))


async def test_files_stay_in_their_folder(tmp_path: Path):
    inside = JSONSession(str(tmp_path / "deep" / "sessions"))

    for session_id in HOSTILE:
        for user in ("", *HOSTILE):
            await inside.save_session_state(session_id, user, counter=Counter())
    assert os.listdir(tmp_path) == ["deep"]
    files = os.listdir(tmp_path / "deep" / "sessions")
    assert len(files) == len({name.casefold() for name in files}) == len(HOSTILE) * (len(HOSTILE) + 1)
    assert all(name.isascii() and name.endswith(".json") and len(name) <= 255 for name in files)


def load(folder: Path, session_id: str, user: str = "") -> int:
    counter = Counter(-1)
    asyncio.run(JSONSession(str(folder)).load_session_state(session_id, user, counter=counter))
    return counter.count


THEIRS = [
    ("S.1", "Ann"), ("会话", "安娜"), ("会话", ""), ("s 1", ""), ("a@x.org", "Ann"), ("s1", "Ann"), ("100% X", ""),
    ("s-2", ""), ("s-1", "ann"),
]  # fmt: skip


def test_sessions_that_agentscope_wrote_are_read_and_saved_under_our_names(tmp_path: Path):
    for number, (session_id, user) in enumerate(THEIRS):
        name = f"{user}_{session_id}.json" if user else f"{session_id}.json"
        (tmp_path / name).write_text(json.dumps({"counter": {"count": number}}))
    # Twice: reading alone changes nothing.
    assert [load(tmp_path, *ids) for ids in THEIRS * 2] == [*range(len(THEIRS))] * 2
    asyncio.run(JSONSession(str(tmp_path)).save_session_state("S.1", "Ann", counter=Counter(50)))
    assert load(tmp_path, "S.1", "Ann") == 50
    assert json.loads((tmp_path / "Ann_S.1.json").read_text()) == {"counter": {"count": 0}}


@pytest.mark.parametrize("ids", [("a_B", ""), ("b", "A_x"), ("b_c", "A"), ("%41", "")])
def test_a_file_that_may_be_of_another_session_is_told_and_not_read(tmp_path: Path, ids: tuple[str, str]):
    name = f"{ids[1]}_{ids[0]}.json" if ids[1] else f"{ids[0]}.json"
    (tmp_path / name).write_text(json.dumps({"counter": {"count": 7}}))
    with pytest.warns(UserWarning, match=name):
        assert load(tmp_path, *ids) == -1
    asyncio.run(JSONSession(str(tmp_path)).save_session_state(*ids, counter=Counter(8)))
    assert load(tmp_path, *ids) == 8


@pytest.mark.filterwarnings("ignore:.*is not read")
@given(st.tuples(IDS, IDS | st.just("")), st.tuples(IDS, IDS | st.just("")))
def test_nobody_reads_what_another_session_saved(one: tuple[str, str], other: tuple[str, str]):
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(JSONSession(folder).save_session_state(*one, counter=Counter(3)))
        assert load(Path(folder), *other) == (3 if one == other else -1)


async def test_what_is_restored_is_whole(session: SessionBase):
    class Pair(StateModule):
        def __init__(self):
            super().__init__()
            self.one, self.two = Counter(1), Counter(2)

    class More(Pair):
        def __init__(self):
            super().__init__()
            self.three = Counter(3)

    await session.save_session_state("s", first=Counter(5), second=Pair())
    first, second, absent = Counter(), More(), Counter(9)
    with pytest.raises(KeyError, match="three"):
        await session.load_session_state("s", first=first, second=second)
    assert first.count == 0
    await session.load_session_state("s", first=first, absent=absent)
    await session.load_session_state("none", first=absent)
    for user in ("", "ann"):
        with pytest.raises(SessionNotFound, match="there is no session 'none'"):
            await session.load_session_state("none", user, allow_not_exist=False, first=first)
    assert (first.count, absent.count) == (5, 9)


@pytest.mark.parametrize("bad", ["", "a\x00b", "\ud800", "x" * 1025, None, 3])
def test_what_is_no_id_is_refused(session: SessionBase, bad: Any):
    with pytest.raises(InvalidInput):
        asyncio.run(session.save_session_state(bad, counter=Counter()))
    with pytest.raises(InvalidInput):
        asyncio.run(session.load_session_state(bad, counter=Counter()))
    if bad != "":
        with pytest.raises(InvalidInput):
            asyncio.run(session.save_session_state("s", bad, counter=Counter()))


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '{"counter": 3}', "[" * 100_000, b"\xff"])
def test_a_file_that_is_no_session_is_refused(tmp_path: Path, text: str | bytes):
    (tmp_path / "s.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    counter = Counter(3)
    with pytest.raises(InvalidInput):
        asyncio.run(JSONSession(str(tmp_path)).load_session_state("s", counter=counter))
    assert counter.count == 3


def test_a_folder_that_cannot_be_is_told(tmp_path: Path):
    (tmp_path / "file").write_text("")
    kept = JSONSession(str(tmp_path / "file" / "in"))
    with pytest.raises(FileError, match="cannot be written"):
        asyncio.run(kept.save_session_state("s", counter=Counter()))
    (tmp_path / "s.json").mkdir()
    with pytest.raises(FileError, match="cannot be read"):
        asyncio.run(JSONSession(str(tmp_path)).load_session_state("s", counter=Counter()))
    with pytest.raises(FileError, match="cannot be written"):
        asyncio.run(JSONSession(str(tmp_path)).save_session_state("s", counter=Counter()))
    assert sorted(os.listdir(tmp_path)) == ["file", "s.json"]
