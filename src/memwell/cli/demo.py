"""The demonstration: a conversation written by a process that is killed, and read by another."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from memwell.cli.phrases import say
from memwell.cli.tables import message_table
from memwell.history import History
from memwell.messages import Message, ai, human, system, tool_result
from memwell.messages import ToolCall as Call

THREAD = "trip"
BUDGET = 120

_ENGLISH = [
    system("You plan trips. Answer briefly."),
    human("I am Anna. In May I want to go from Berlin to Kyoto with my son, and I don't fly at night."),
    ai("Lovely. Day flights only, then. How long will you stay?"),
    human("Ten days. He is nine and mad about trains."),
    ai("Then plan a day at the railway museum, and ride the Shinkansen at least once."),
    human("What is the weather like in Kyoto in the first week of May?"),
    ai((), tool_calls=(Call("call-1", "climate", {"place": "Kyoto", "month": 5}),)),
    tool_result("call-1", "mean 19 °C, 10 days with rain, sunset 18:45"),
    ai("Mild, about 19 °C, with some rain. Pack a light jacket."),
]
_CHINESE = [
    system("你负责规划旅行，回答要简短。"),
    human("我是安娜。五月想带儿子从柏林去京都，我不坐夜间航班。"),
    ai("好的，只选白天的航班。打算住多久？"),
    human("十天。他九岁，特别喜欢火车。"),
    ai("那就安排一天去铁道博物馆，再至少坐一次新干线。"),
    human("五月第一周京都天气怎么样？"),
    ai((), tool_calls=(Call("call-1", "climate", {"place": "京都", "month": 5}),)),
    tool_result("call-1", "平均 19 °C，降雨约 10 天，日落 18:45"),
    ai("气候温和，19 °C 左右，会有雨。带一件薄外套。"),
]


def conversation(language: str) -> list[Message]:
    """The conversation the demonstration writes."""
    return _CHINESE if language.startswith("zh") else _ENGLISH


def write_and_die(path: str, language: str) -> None:
    """Write the conversation message by message, report each one when it is stored, and die without closing anything."""
    history = History.open(path, THREAD)
    for message in conversation(language):
        stored = history.add(message)[0]
        print(json.dumps({"index": stored.index, "id": stored.id}), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


def run_demo(console: Console, path: Path, language: str) -> bool:
    """Show it all. Returns whether nothing was lost."""
    console.rule(say("demo_title", language))
    console.print(say("demo_write", language, path=path), highlight=False)
    writer = _child("write", path, language)
    acknowledged = [json.loads(line)["id"] for line in writer.stdout.splitlines()]
    console.print(say("demo_killed", language, status=writer.returncode, count=len(acknowledged)), highlight=False)
    reader = _child("read", path, language)
    console.print(reader.stdout, end="", markup=False, highlight=False)
    with History.open(str(path), THREAD) as history:
        kept = {message.id for message in history}
    lost = [id_ for id_ in acknowledged if id_ not in kept]
    if lost or not acknowledged or reader.returncode:
        console.print(say("demo_lost", language, count=len(lost)), reader.stderr, writer.stderr)
        return False
    console.print(say("demo_next", language))
    name = "memwell" if shutil.which("memwell") else sys.argv[0]
    for command in ("threads", f"show {THREAD}", "doctor"):
        console.print(f"   {name} {command} --store {path}", soft_wrap=True, highlight=False)
    return True


def show_survivors(path: str, language: str, width: int) -> None:
    """What the second process prints: all messages, a window, and a search."""
    console = Console(width=width)
    with History.open(path, THREAD) as history:
        messages = list(history)
        console.print(say("demo_read", language, count=len(messages)), highlight=False)
        console.print(message_table(messages, language))
        window = history.window(tokens=BUDGET)
        used = sum(history.counter.count_message(message) for message in window)
        console.print(say("demo_window", language, budget=BUDGET, used=used, count=len(window)), highlight=False)
        console.print(message_table(window, language))
        for query in ("火车", "京都 天气") if language.startswith("zh") else ("train", "Kyoto weather"):
            console.print(say("demo_search", language, query=f"“{query}”"), highlight=False)
            console.print(_found(history, query, language))


def _found(history: History, query: str, language: str) -> Table:
    hits = history.search(query, limit=3)
    return message_table([message for message, _ in hits], language, scores=[score for _, score in hits])


def _child(step: str, path: Path, language: str) -> subprocess.CompletedProcess[str]:
    width = str(Console().width)
    command = [sys.executable, "-X", "utf8", "-m", "memwell.cli.demo", step, str(path), language, width]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)


if __name__ == "__main__":
    _, step, store, chosen_language, columns = sys.argv
    if step == "write":
        write_and_die(store, chosen_language)
    else:
        show_survivors(store, chosen_language, int(columns))

__all__ = ["conversation", "run_demo", "show_survivors", "write_and_die"]
