"""Dialogues kept decoded: right whoever writes, and never more than allowed."""

from __future__ import annotations

import threading
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.dbgpt.gpts.dialogues import as_core
from memwell.compat.dbgpt.gpts.recent import RecentDialogues
from memwell.compat.dbgpt.gpts.values import GptsMessage
from memwell.history import History
from memwell.storage import open_backend


def said(text: str) -> GptsMessage:
    return GptsMessage("c", "A", "B", "ai", text)


def texts(recent: RecentDialogues, history: History) -> list[str]:
    return [one.content for one in recent.of(history)]


@given(st.lists(st.sampled_from(["add", "edit", "remove", "trim", "delete", "read"]), max_size=25))
def test_it_is_never_out_of_date(steps: list[str]) -> None:
    with open_backend("memory:") as backend:
        history, recent, model = History(backend, "c"), RecentDialogues(), list[str]()
        for number, step in enumerate(steps):
            if step == "add":
                history.add(as_core(said(str(number))))
                model.append(str(number))
            elif step == "delete":
                history.delete()
                model.clear()
            elif step == "edit" and model:
                history.edit(history.last(1)[0], as_core(said(f"e{number}")))
                model[-1] = f"e{number}"
            elif step == "remove" and model:
                history.remove(history.last(1)[0])
                model.pop()
            elif step == "trim":
                info = history.info()
                backend.log.trim(history.thread, info.next - 1 if info else 0)
                model[:] = [one.text for one in history]
            assert texts(recent, history) == model


def test_what_another_backend_wrote_is_seen(tmp_path: Path) -> None:
    with open_backend(tmp_path / "a.db") as one, open_backend(tmp_path / "a.db") as other:
        recent = RecentDialogues()
        History(one, "c").add(as_core(said("1")))
        assert texts(recent, History(one, "c")) == ["1"]
        History(other, "c").add(as_core(said("2")))
        assert texts(recent, History(one, "c")) == ["1", "2"]


def test_it_holds_no_more_than_it_may() -> None:
    with open_backend("memory:") as backend:
        recent = RecentDialogues(most=5_000)
        for conversation in range(12):
            history = History(backend, str(conversation))
            history.add(*(as_core(said("x" * 100)) for _ in range(2)))
            assert len(recent.of(history)) == 2
            assert recent.size <= 5_000
        whole = History(backend, "large")
        whole.add(*(as_core(said("y" * 1000)) for _ in range(9)))
        assert len(recent.of(whole)) == 9
        assert recent.size == 0


def test_nothing_is_read_twice_while_nothing_changes() -> None:
    with open_backend("memory:") as backend:
        history, recent = History(backend, "c"), RecentDialogues()
        history.add(as_core(said("1")))
        assert recent.of(history) is recent.of(history)


def test_threads_read_and_write_at_once() -> None:
    with open_backend("memory:") as backend:
        recent, wrong = RecentDialogues(most=20_000), list[int]()

        def work(conversation: str) -> None:
            history = History(backend, conversation)
            for count in range(1, 20):
                history.add(as_core(said(str(count))))
                if len(recent.of(history)) != count:
                    wrong.append(count)

        threads = [threading.Thread(target=work, args=(f"c{number}",)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong
