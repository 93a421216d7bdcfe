"""The commands ``demo`` (a conversation survives the death of its process) and ``explain`` (how ranking works, drawn)."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import memwell
from memwell.cli.phrases import say
from memwell.cli.terminal import PlainTable, console, hit_table, message_table, one_line, visible
from memwell.errors import InvalidInput
from memwell.history import History
from memwell.messages import Message, ai, human, system, tool_result
from memwell.messages import ToolCall as Call
from memwell.settings import load_settings
from memwell.storage import open_backend

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


def run_demo(screen: Console, path: Path, language: str) -> bool:
    """Run the demonstration; whether nothing was lost. Raises what ``open_backend`` raises."""
    # Fails here when the file cannot be created.
    open_backend(path).close()
    screen.rule(say("demo_title", language))
    _step(screen, "1.", say("demo_write", language, path=visible(str(path))))
    writer = _child("write", path, language, screen)
    acknowledged = [json.loads(line)["id"] for line in writer.stdout.splitlines()]
    _step(screen, "", say("demo_killed", language, signal=-writer.returncode, count=len(acknowledged)))
    reader = _child("read", path, language, screen)
    # The reader has formatted it for this terminal.
    screen.file.write(reader.stdout)
    with History.open(str(path), THREAD) as history:
        kept = {message.id for message in history}
    lost = set(acknowledged) - kept
    if lost or not acknowledged or writer.returncode != -signal.SIGKILL or reader.returncode:
        statuses = {"writer": writer.returncode, "reader": reader.returncode}
        screen.print(say("demo_failed", language, count=len(lost), **statuses))
        screen.print(visible(writer.stderr + reader.stderr))
        return False
    screen.print()
    screen.print(say("demo_kept", language))
    for command in ("threads", f"show {THREAD}", "doctor"):
        screen.print(f"   {_this_command()} {command} --store {shlex.quote(str(path))}")
    return True


def _this_command() -> str:
    """The command line that calls this command again."""
    called = Path(sys.argv[0])
    if called.name == "__main__.py":
        return "python -m memwell"
    return called.name if shutil.which(called.name) else shlex.quote(sys.argv[0])


def show_survivors(path: str, language: str, screen: Console) -> None:
    """What the second process prints: all messages, a window, and a search."""
    with History.open(path, THREAD) as history:
        messages = list(history)
        _step(screen, "2.", say("demo_read", language, count=len(messages)), message_table(messages, language))
        window = history.window(tokens=BUDGET)
        used = sum(history.counter.count_message(message) for message in window)
        text = say("demo_window", language, budget=BUDGET, used=used, count=len(window))
        _step(screen, "3.", text, message_table(window, language))
        queries = ("火车", "京都 天气") if language.startswith("zh") else ("train", "Kyoto weather")
        for number, query in enumerate(queries, start=4):
            _step(screen, f"{number}.", say("demo_search", language, query=query), _found(history, query, language))
    question = "要带什么衣服？" if language.startswith("zh") else "how warm will it be?"
    with memwell.open(path) as memory:
        memory.remember_thread(THREAD)
        hits = memory.recall(question, limit=2)
    _step(screen, "6.", say("demo_recall", language, query=question), hit_table(hits, language, query=question))


def _step(screen: Console, number: str, text: str, below: PlainTable | None = None) -> None:
    if number:
        screen.print()
    screen.print(f"{number:2} {text}")
    if below is not None:
        below.indent = 3
        screen.print(below)


def _found(history: History, query: str, language: str) -> PlainTable:
    hits = history.search(query, limit=3)
    return message_table([message for message, _ in hits], language, scores=[score for _, score in hits])


def _child(step: str, path: Path, language: str, screen: Console) -> subprocess.CompletedProcess[str]:
    run = "from memwell.cli.demo import child; child()"
    colours = "colours" if screen.is_terminal else "plain"
    command = [sys.executable, "-X", "utf8", "-c", run, step, str(path), language, str(screen.width), colours]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)


def child() -> None:
    """The main function of a process of the demonstration."""
    _, step, path, language, width, colours = sys.argv
    if step == "write":
        write_and_die(path, language)
    else:
        show_survivors(path, language, console(width=int(width), colours=colours == "colours"))


# Pictures

app = typer.Typer()
_NAMES = ("attention", "context", "roadmap")
_LENGTHS = (512, 1024, 2048, 4096, 8192, 16_384, 32_768, 131_072)


@app.command("explain")
def explain_command(
    what: Annotated[
        list[str] | None, typer.Argument(help="attention, context or roadmap; all by default. 画哪些，默认全部。")
    ] = None,
    folder: Annotated[Path, typer.Option("--to", help="The folder for the pictures. 图片放到哪里。")] = Path(),
    language: Annotated[str | None, typer.Option(help="en or zh; that of the terminal by default. 语言。")] = None,
) -> None:
    """Draw what memory is up against: the cost of attention, context lengths, the roadmap. 画图解释记忆问题。"""
    chosen = language or load_settings().language
    unknown = [name for name in what or () if name not in _NAMES]
    if unknown:
        raise InvalidInput(say("explain_what", given=repr(unknown[0]), known=", ".join(_NAMES)))
    from memwell.compat.guide.pictures import TechnologyRoadmap, attention_figure, context_figure  # noqa: PLC0415
    from memwell.plotting import save  # noqa: PLC0415

    drawn = {
        "attention": lambda: attention_figure(_LENGTHS, chosen),
        "context": lambda: context_figure(chosen),
        "roadmap": lambda: TechnologyRoadmap(chosen).generate_roadmap_chart(),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name in what or _NAMES:
        path = save(drawn[name](), folder / f"memwell-{name}.png")
        console().print(say("plot_written", chosen, path=one_line(str(path))))
