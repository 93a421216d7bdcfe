"""The commands ``demo`` (a conversation survives its process), ``explain`` (pictures) and ``bench`` (measures)."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

import memwell
from memwell.cli.phrases import say
from memwell.cli.stores import check_exists, existing, file_of
from memwell.cli.terminal import (
    Commands,
    PlainTable,
    console,
    hit_table,
    message_table,
    one_line,
    progress_bar,
    visible,
)
from memwell.errors import ConfigurationError, InvalidInput
from memwell.history import History
from memwell.messages import Message, ai, human, system, tool_result
from memwell.messages import ToolCall as Call
from memwell.settings import load_settings
from memwell.storage import open_backend
from memwell.storage.urls import without_secrets

if TYPE_CHECKING:
    from memwell.models.ports import ChatModel
    from memwell.runtime.evaluation import Evaluation, JudgedSentence, Scores

app = typer.Typer()

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
        screen.print(f"   memwell {command} --store {shlex.quote(str(path))}")
    return True


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
            hits = history.search(query, limit=3)
            found = message_table([message for message, _ in hits], language, scores=[score for _, score in hits])
            _step(screen, f"{number}.", say("demo_search", language, query=query), found)
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


@app.command("demo")
def demo_command(
    store: Annotated[
        str | None, typer.Option("--store", "-s", help="Where to write it; a temporary file by default. 写到哪里。")
    ] = None,
    language: Annotated[str | None, typer.Option(help="en or zh; that of the terminal by default. 语言。")] = None,
) -> None:
    """Write a conversation, kill the writer, and show what survives. 写入会话，杀死写入者，看看什么还在。"""
    if language is not None and language[:2] not in ("en", "zh"):
        raise ConfigurationError(say("demo_language", language=repr(language)))
    chosen = language or load_settings().language
    file = file_of(store) if store is not None else Path(tempfile.mkdtemp(prefix="memwell-demo-")) / "demo.db"
    if file is None:
        raise ConfigurationError(say("demo_needs_file", chosen, url=repr(without_secrets(store or ""))))
    if file.exists():
        raise ConfigurationError(say("demo_exists", chosen, path=file))
    if not run_demo(console(), file, chosen):
        raise typer.Exit(1)


# Pictures

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


# Measuring recall and facts

bench = typer.Typer(cls=Commands, help="Measure memwell here. 在本机测量。", no_args_is_help=True)

_PUBLISHED: dict[str, list[tuple[str, str, str, str]]] = {
    "LoCoMo": [
        ("BM25, text only", "43.6", "57.4", "–"),
        ("BM25 with date, speaker and neighbours", "51.7", "67.6", "46.0"),
        ("MiniLM", "34.3", "50.0", "27.7"),
        ("min-max sum of the last two", "54.6", "71.3", "48.3"),
        ("best of 89 embedding models published (Nemotron-3-Embed-8B)", "–", "–", "56.5"),
    ],
    "LongMemEval, pooled": [("BM25, sessions", "68.8", "80.4", "–"), ("MiniLM, sessions", "53.6", "68.2", "–")],
    "madial_zh_user1": [
        ("BM25, pairs of characters", "50.4", "–", "50.4"),
        ("USE-multilingual", "56.1", "–", "56.1"),
        ("BGE-M3, by the data set's authors", "59.3", "–", "59.3"),
        ("OpenAI embeddings, by the data set's authors", "70.0", "–", "70.0"),
    ],
}
"""Published results on the same data: nDCG@10 and R@10 without adversarial questions, macro nDCG@10."""


@bench.callback()
def bench_root() -> None:
    """Measure memwell here. 在本机测量。"""


@bench.command("recall")
def recall_command(
    data: Annotated[Path, typer.Argument(help="LoCoMo, LongMemEval, or the common form, as JSON. 数据集文件。")],
    keep: Annotated[Path, typer.Option(help="Where the raw rankings go. 原始排名存放处。")] = Path("memwell-bench"),
    queries: Annotated[int | None, typer.Option(help="Only this many of each store. 每个库只问几个。")] = None,
    note_in: Annotated[
        str | None, typer.Option(help="A store whose overview shall show the result. 在哪个存储的概览中显示结果。")
    ] = None,
) -> None:
    """Remember a data set, ask its questions, and print how well they were answered. 用数据集测量召回。"""
    from memwell.runtime.evaluation import evaluate  # noqa: PLC0415 - loads the models

    if note_in is not None:
        check_exists(note_in)
    with progress_bar(say("measuring")) as progress:
        run = evaluate(data, progress=progress, most_queries=queries)
    screen = console()
    screen.print(
        say("measured", data=one_line(run.data), stores=run.stores, units=f"{run.units:,}", queries=f"{run.queries:,}")
    )
    screen.print(_overview(run))
    screen.print()
    screen.print(_by_type(run))
    screen.print(say("rankings_kept", path=one_line(str(run.write(keep)))))
    if note_in is not None:
        _note(run, note_in)


@bench.command("facts")
def facts_command(
    data: Annotated[Path, typer.Argument(help="Sentences with the facts they state, as JSON. 标注了事实的句子。")],
    model: Annotated[str, typer.Option(help="A chat model that reads them too. 对比用的对话模型。")] = "",
    url: Annotated[str, typer.Option(help="Where the model is served; else chat_url. 模型地址。")] = "",
    failures: Annotated[
        bool, typer.Option("--failures", help="List what is missed and what is wrong. 列出遗漏和错误的事实。")
    ] = False,
) -> None:
    """Print how well facts are read from sentences, by the rules and by a chat model. 测量事实抽取。"""
    from memwell.runtime.evaluation import FactShares, judge, load_facts  # noqa: PLC0415 - loads the rules

    sets = load_facts(data)
    settings = load_settings()
    name, place = model or settings.chat_model, url or settings.chat_url
    if bool(name) is not bool(place):
        raise ConfigurationError(say("bench_model_missing"))
    unusable: list[str] = []
    mistakes: list[str] = []
    table = PlainTable()
    table.prose("")
    table.whole(*(say(one) for one in ("stated", "read", "precision", "recall_share")), justify="right")
    with ExitStack() as held:
        readers: list[tuple[str, ChatModel | None]] = [(say("rules"), None)]
        if name:
            from memwell.models.http import OpenAICompatible  # noqa: PLC0415 - slow to load

            server = held.enter_context(OpenAICompatible(place, key=settings.chat_key or None))
            readers.append((name, server.chat(name)))
        for title, sentences in sets.items():
            for reader, chat in readers:
                with progress_bar(f"{title}, {reader}") as progress:
                    judged = judge(sentences, chat, partial(_advance, progress, len(sentences)))
                unusable += [one.failure for one in judged if one.failure]
                mistakes += _mistakes(f"{title}: {reader}", judged) if failures else []
                found = FactShares.of(judged)
                shares = ("–" if one is None else f"{one:.1f}" for one in (found.precision, found.recall))
                table.add_row(f"{title}: {reader}", str(found.facts), str(found.read), *shares)
    screen = console()
    for line in mistakes:
        screen.print(line, soft_wrap=True, markup=False, highlight=False)
    screen.print(table)
    if unusable:
        console(stderr=True).print(say("no_usable_answer", count=len(unusable), reason=one_line(unusable[0])))


def _mistakes(title: str, judged: Sequence[JudgedSentence]) -> list[str]:
    """The sentences of which facts are missed or wrong, each with these on lines of their own."""
    lines = [title]
    for one in judged:
        found = [" ".join((" ", say(f"fact_{what}"), one_line(fact))) for what, fact in one.mistakes()]
        lines += [one_line(one.text), *found] if found else []
    return lines if len(lines) > 1 else []


def _advance(progress: Callable[[int, int | None], None], total: int, done: int) -> None:
    progress(done, total)


def _note(run: Evaluation, store: str) -> None:
    """Store the result for the overview of the store's service."""
    from memwell.runtime.evaluation import MEMWELL  # noqa: PLC0415 - loads the models
    from memwell.runtime.metrics import note_quality  # noqa: PLC0415
    from memwell.runtime.wire.codec import Quality  # noqa: PLC0415

    scores = run.summaries[MEMWELL].answerable
    measured = Quality(
        data=run.data, ndcg10=scores.ndcg10, recall10=scores.recall10, queries=run.queries, time=datetime.now(UTC)
    )
    with existing(store) as backend:
        note_quality(backend.kv, measured)


def _table(*columns: str) -> PlainTable:
    table = PlainTable()
    table.prose("")
    table.whole(*columns, justify="right")
    return table


def _overview(run: Evaluation) -> PlainTable:
    table = _table("nDCG@10", "R@10", say("macro"))
    for way, found in run.summaries.items():
        scores = found.answerable
        table.add_row(way, _percent(scores.ndcg10), _percent(scores.recall10), _percent(found.macro))
    for name, *numbers in _PUBLISHED.get(run.data, ()):
        table.add_row(f"{say('elsewhere')} {name}", *numbers, style="dim")
    return table


def _by_type(run: Evaluation) -> PlainTable:
    kinds = list(next(iter(run.summaries.values())).by_type)
    table = _table(*kinds)
    for way, found in run.summaries.items():
        table.add_row(way, *(_both(found.by_type.get(kind)) for kind in kinds))
    return table


def _both(scores: Scores | None) -> str:
    return "–" if scores is None else f"{_percent(scores.ndcg10)} / {_percent(scores.recall10)}"


def _percent(value: float) -> str:
    return f"{100 * value:.1f}"
