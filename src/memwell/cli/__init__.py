"""The ``memwell`` command."""

from __future__ import annotations

import shlex
import sys
from typing import Annotated, NoReturn

import msgspec
import typer
from rich.text import Text as Styled

from memwell.cli import demo, memories, upkeep
from memwell.cli.phrases import say
from memwell.cli.serve import keys_app, mcp_command, serve_command
from memwell.cli.stores import SpaceOption, Store, opened
from memwell.cli.terminal import (
    Commands,
    console,
    help_style,
    message_table,
    never_fail_to_encode,
    one_line,
    thread_table,
    visible,
)
from memwell.errors import ConfigurationError, MemwellError, NotFound, SecretRefused
from memwell.messages import Message
from memwell.settings import load_settings, use_secret_file
from memwell.tokens import default_counter
from memwell.transcript import to_openai, to_text

app = typer.Typer(
    cls=Commands,
    help="memwell: memory for LLM applications and agents. 为大模型应用与智能体而生的记忆引擎。",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


_FORMATS = ("table", "text", "json", "openai")


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("--version", help="Print the version. 版本号。")] = False,
    secret_file: Annotated[
        str | None, typer.Option(help="The file with the secret of an encrypted store. 加密存储的密钥文件。")
    ] = None,
) -> None:
    """Memory for LLM applications and agents. 为大模型应用与智能体而生的记忆引擎。"""
    if secret_file is not None:
        use_secret_file(secret_file)
    if version:
        typer.echo(upkeep.versions()["memwell"])
        raise typer.Exit


@app.command("threads")
def threads_command(
    store: Store,
    space: SpaceOption = None,
    limit: Annotated[int, typer.Option(help="How many at most. 最多几个。")] = 50,
    cursor: Annotated[str | None, typer.Option(help="Where the last listing ended. 上一页的结尾。")] = None,
) -> None:
    """List the conversations of a space. 列出一个空间的会话。"""
    screen = console()
    with opened(store, space, work=False) as memory:
        page, where = memory.threads(limit=limit, cursor=cursor), memory.space
    if not page.items:
        screen.print(say("none_here", space=one_line(" / ".join(where))))
        return
    screen.print(thread_table(page.items, load_settings().language))
    if page.next is not None:
        screen.print(say("more_pages", cursor=visible(shlex.quote(page.next))))


@app.command("show")
def show_command(
    thread: Annotated[str, typer.Argument(help="The conversation's id. 会话的标识。")],
    store: Store,
    space: SpaceOption = None,
    last: Annotated[int, typer.Option(help="How many of the last messages. 最多几条消息。")] = 20,
    window: Annotated[
        int | None, typer.Option(help="Instead, what fits this many tokens of a prompt. 改为显示放得进若干词元的部分。")
    ] = None,
    search: Annotated[str | None, typer.Option(help="The messages that match instead, best first. 改为搜索。")] = None,
    output: Annotated[str, typer.Option("--format", help="table, text, json or openai. 输出格式。")] = "table",
) -> None:
    """Show a conversation, a window of it, or what a search finds in it. 显示会话、它的窗口，或搜索结果。"""
    if output not in _FORMATS:
        raise ConfigurationError(say("unknown_format", given=repr(output), known=", ".join(_FORMATS)))
    if window is not None and search is not None:
        raise ConfigurationError(say("one_or_other"))
    scores = None
    with opened(store, space, work=False) as memory:
        history = memory.thread(thread)
        if history.info() is None:
            raise NotFound(say("no_such_thread", thread=repr(thread), space=" / ".join(memory.space)))
        if search is not None:
            hits = history.search(search, limit=last)
            messages, scores = [message for message, _ in hits], [score for _, score in hits]
        else:
            messages = history.last(last) if window is None else history.window(tokens=window)
    if output == "table":
        _print_table(messages, scores, window)
    else:
        typer.echo(_written(messages, output))


def _print_table(messages: list[Message], scores: list[float] | None, window: int | None) -> None:
    screen = console()
    if messages:
        screen.print(message_table(messages, load_settings().language, scores=scores))
    else:
        screen.print(say("no_messages" if scores is None else "nothing_found"))
    if window is not None:
        used = sum(map(default_counter().count_message, messages))
        screen.print(say("window_used", count=len(messages), used=used, budget=window), style="dim")


def _written(messages: list[Message], output: str) -> str:
    if output == "text":
        text = to_text(messages, include_hidden=True)
        # A terminal must not interpret control characters; a pipe gets the data as it is.
        return visible(text) if sys.stdout.isatty() else text
    shape = to_openai(messages) if output == "openai" else messages
    return msgspec.json.format(msgspec.json.encode(shape), indent=2).decode()


app.add_typer(demo.app)
app.command("serve")(serve_command)
app.command("mcp")(mcp_command)
app.add_typer(keys_app, name="keys")
app.add_typer(memories.app)
app.add_typer(upkeep.app)
app.add_typer(demo.bench, name="bench")


def main(arguments: list[str] | None = None) -> None:
    """Run the command. Expected errors are printed on one line, without a traceback."""
    never_fail_to_encode()
    app.rich_markup_mode = help_style()
    try:
        app(args=arguments)
    except SecretRefused as refused:
        _fail(say(f"secret_{refused.code}", _language(), path=repr(refused.path)))
    except MemwellError as error:
        _fail(str(error))
    except BrokenPipeError:
        raise
    except OSError as error:
        # A file named on the command line cannot be read or written.
        reason = error.strerror or str(error)
        _fail(f"{error.filename}: {reason}" if error.filename else reason)


def _fail(what: str) -> NoReturn:
    line = Styled.assemble((say("error", _language()), "red"), one_line(what))
    console(stderr=True).print(line)
    sys.exit(1)


def _language() -> str:
    try:
        return load_settings().language
    except ConfigurationError:
        # The error is about the settings.
        return "en"


__all__ = ["app", "main"]
