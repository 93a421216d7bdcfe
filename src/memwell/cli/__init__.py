"""The ``memwell`` command."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console

from memwell.cli.demo import run_demo
from memwell.cli.doctor import examine, report, versions
from memwell.cli.phrases import say
from memwell.cli.tables import message_table, thread_table
from memwell.errors import ConfigurationError, MemwellError, NotFound
from memwell.history import HistoryReader
from memwell.messages import Message
from memwell.records import DEFAULT_SPACE, Space
from memwell.settings import load_settings
from memwell.storage import Backend, open_backend
from memwell.transcript import to_openai, to_text

app = typer.Typer(
    help="memwell: memory for LLM applications and agents. 记忆引擎。",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _store_default() -> str:
    return load_settings().url


_FORMATS = ("table", "text", "json", "openai")

Store = Annotated[
    str,
    typer.Option("--store", "-s", default_factory=_store_default, help="The store: a file or a URL. 存储文件或 URL。"),
]
SpaceOption = Annotated[
    list[str] | None, typer.Option("--space", help="The space, a segment each time it is given. 空间，逐段给出。")
]


def _console() -> Console:
    return Console()


def _existing(url: str) -> Backend:
    """Open a store to look at it. Looking must never make one."""
    path = url.removeprefix("sqlite:")
    if ":" not in path and not Path(path).expanduser().exists():
        raise ConfigurationError(say("no_store", path=path))
    return open_backend(url)


def _space(segments: list[str] | None) -> Space:
    return Space(*segments) if segments else DEFAULT_SPACE


@app.callback(invoke_without_command=True)
def root(version: Annotated[bool, typer.Option("--version", help="Print the version. 版本号。")] = False) -> None:
    """Memory for LLM applications and agents. 为大模型应用与智能体而生的记忆引擎。"""
    if version:
        typer.echo(versions()["memwell"])
        raise typer.Exit


@app.command()
def demo(
    store: Annotated[
        str | None, typer.Option("--store", "-s", help="Where to write it; a temporary file by default. 写到哪里。")
    ] = None,
    language: Annotated[str | None, typer.Option(help="en or zh; that of the terminal by default. 语言。")] = None,
) -> None:
    """Write a conversation, kill the writer, and show what survives. 写入会话，杀死写入者，看看什么还在。"""
    chosen = language or load_settings().language
    if chosen not in ("en", "zh"):
        raise ConfigurationError(f"the demonstration speaks en and zh, not {chosen!r}")
    path = Path(store) if store else Path(tempfile.mkdtemp(prefix="memwell-demo-")) / "demo.db"
    if path.exists():
        raise ConfigurationError(say("demo_exists", chosen, path=path))
    if not run_demo(_console(), path, chosen):
        raise typer.Exit(1)


@app.command()
def threads(
    store: Store,
    space: SpaceOption = None,
    limit: Annotated[int, typer.Option(help="How many at most. 最多几个。")] = 50,
    cursor: Annotated[str | None, typer.Option(help="Where the last listing ended. 上一页的结尾。")] = None,
) -> None:
    """List the conversations of a space. 列出一个空间的会话。"""
    console = _console()
    with _existing(store) as backend:
        page = backend.log.threads(_space(space), limit=limit, cursor=cursor)
    if not page.items:
        console.print(say("none_here"))
        return
    console.print(thread_table(page.items, load_settings().language))
    if page.next is not None:
        console.print(say("more_threads", cursor=page.next))


@app.command()
def show(
    thread: Annotated[str, typer.Argument(help="The conversation's id. 会话的标识。")],
    store: Store,
    space: SpaceOption = None,
    last: Annotated[int, typer.Option(help="The last so many messages. 最近几条消息。")] = 20,
    window: Annotated[
        int | None, typer.Option(help="What fits so many tokens of a prompt instead. 改为显示放得进若干词元的部分。")
    ] = None,
    search: Annotated[str | None, typer.Option(help="The messages that match instead. 改为搜索。")] = None,
    output: Annotated[str, typer.Option("--format", help="table, text, json or openai. 输出格式。")] = "table",
) -> None:
    """Show a conversation, a window of it, or what a search finds in it. 显示会话、它的窗口，或搜索结果。"""
    if output not in _FORMATS:
        raise ConfigurationError(f"unknown format {output!r}; known: {', '.join(_FORMATS)}")
    with _existing(store) as backend:
        history = HistoryReader(backend, thread, space=_space(space))
        if history.info() is None:
            raise NotFound(say("no_such_thread", thread=repr(thread), space=" / ".join(_space(space))))
        scores = None
        if search is not None:
            hits = history.search(search, limit=last)
            messages, scores = [message for message, _ in hits], [score for _, score in hits]
        else:
            messages = history.last(last) if window is None else history.window(tokens=window)
    _print_messages(messages, scores, output)


def _print_messages(messages: list[Message], scores: list[float] | None, output: str) -> None:
    if output == "text":
        typer.echo(to_text(messages, include_hidden=True))
    elif output in ("json", "openai"):
        shape = to_openai(messages) if output == "openai" else messages
        typer.echo(msgspec.json.format(msgspec.json.encode(shape), indent=2).decode())
    elif messages:
        _console().print(message_table(messages, load_settings().language, scores=scores))
    else:
        _console().print(say("nothing_found"))


@app.command()
def doctor(
    store: Store,
    as_json: Annotated[bool, typer.Option("--json", help="For programs. 供程序读取。")] = False,
) -> None:
    """Look a store over: versions, sizes, indexes, integrity. 检查存储：版本、大小、索引、完整性。"""
    console = _console()
    with _existing(store) as backend:
        found = examine(backend, Console(stderr=True) if as_json else console)
    if as_json:
        typer.echo(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
    else:
        report(found, console)
    if found["problems"]:
        raise typer.Exit(1)


def main() -> None:
    """Run the command. What goes wrong on purpose is one line, not a traceback."""
    try:
        app()
    except MemwellError as error:
        Console(stderr=True).print(f"[red]error:[/red] {error}", highlight=False, soft_wrap=True)
        sys.exit(1)


__all__ = ["app", "main"]
