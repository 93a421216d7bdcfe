"""The command that moves a store to another backend."""

from __future__ import annotations

import re
from typing import Annotated

import msgspec
import typer

from memwell.cli.phrases import say
from memwell.cli.stores import check_at_hand, existing
from memwell.cli.terminal import console, one_line, progress_bar
from memwell.errors import ConfigurationError
from memwell.runtime.transfer import Moved, MoveRefused, move
from memwell.settings import load_settings
from memwell.storage import open_backend
from memwell.storage.urls import without_secrets

app = typer.Typer()

_REFUSALS = {
    "same": "move_same",
    "unfinished": "move_unfinished",
    "other": "move_other",
    "holds": "move_holds",
    "touched": "move_touched",
}
_PHRASES = {
    "moved": (
        "{target} holds all that {source} holds, checked part by part: {counts}. Written this time: {copied}.",
        "{target} 已包含 {source} 的全部内容，并逐部分核对：{counts}。本次写入：{copied}。",
    ),
    "move_finished": (
        "This move was finished before: {source} is sealed, and {target} is its copy. Nothing was done.",
        "这次搬移此前已经完成：{source} 已封存，{target} 是它的副本。本次未做任何改动。",
    ),
    "move_finished_used": (
        "This move was finished before: {source} is sealed, and {target} was its copy and has been written to since. "
        "Nothing was done.",
        "这次搬移此前已经完成：{source} 已封存；{target} 曾是它的副本，此后又有新的写入。本次未做任何改动。",
    ),
    "unsealed": (
        "{store} takes writes again. It was sealed: {reason}. What is written to it from now on is in no copy.",
        "{store} 可以重新写入了。此前的封存原因：{reason}。从现在起写入的内容不在任何副本中。",
    ),
    "not_sealed": ("{store} is not sealed. Nothing was done.", "{store} 没有封存。未做任何改动。"),
}
_COUNTED = {
    "spaces": ("space", "spaces", "个空间"),
    "threads": ("conversation", "conversations", "个会话"),
    "messages": ("message", "messages", "条消息"),
    "entries": ("entry", "entries", "个键值"),
    "records": ("record", "records", "条记录"),
    "blobs": ("blob", "blobs", "个二进制对象"),
}
_PARTS = re.compile(r",(?=(?:log|kv|index|blobs)=)")
_SECRET = re.compile(r"(?i)([?&][^=&]*(?:pass|secret|token|key)[^=&]*=)[^&]*")
_MOST_NAMED = 10


@app.command("move")
def move_command(
    source: Annotated[str, typer.Argument(metavar="FROM", help="The store: a file or a URL. 来源存储。")],
    target: Annotated[str, typer.Argument(metavar="TO", help="An empty one, of any kind. 目标存储，须为空。")],
    seal: Annotated[
        bool,
        typer.Option("--seal", help="Close FROM to writers before the last pass. 最后一遍之前封存来源，使其拒绝写入。"),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For programs. 输出 JSON。")] = False,
) -> None:
    """Copy a store to another backend while it is in use, and check it. 在使用中把存储搬到另一种后端，并核对。"""
    check_at_hand(target)
    if target.strip().lower() == "memory:":
        raise ConfigurationError(say("move_to_memory", url=target))
    with existing(source) as here, open_backend(target) as there, progress_bar(say("moving")) as progress:
        try:
            done = move(here, there, seal=seal, reason=f"moved to {_without_secrets(target)}", progress=progress)
        except MoveRefused as error:
            raise ConfigurationError(say(_REFUSALS[error.code])) from error
        durable = there.durable
    if as_json:
        typer.echo(msgspec.json.format(msgspec.json.encode(done), indent=2).decode())
    else:
        _report(done, _without_secrets(source), _without_secrets(target), durable=durable)


@app.command("unseal")
def unseal_command(
    store: Annotated[str, typer.Argument(metavar="STORE", help="The store: a file or a URL. 存储文件或 URL。")],
) -> None:
    """Let a store that was sealed by a move take writes again. 解除封存，使存储可以重新写入。"""
    with existing(store) as backend:
        reason = backend.facts().get("sealed")
        if reason is not None:
            backend.seal(None)
    named = one_line(_without_secrets(store))
    said = _say("not_sealed", store=named) if reason is None else _say("unsealed", store=named, reason=one_line(reason))
    console().print(said)


def _report(done: Moved, source: str, target: str, *, durable: bool) -> None:
    screen = console()
    names = {"source": one_line(source), "target": one_line(target)}
    if done.finished_before:
        key = "move_finished_used" if done.written_since else "move_finished"
        screen.print(_say(key, **names), style="green")
        return
    screen.print(_say("moved", **names, counts=_counts(done), copied=f"{done.copied:,}"), style="green")
    if done.changing:
        named = ", ".join(one_line(" / ".join(space)) for space in done.changing[:_MOST_NAMED])
        more = "" if len(done.changing) <= _MOST_NAMED else f", … ({len(done.changing):,})"
        screen.print(say("move_changing", spaces=named + more), style="yellow")
    if not durable:
        screen.print(say("move_volatile", target=names["target"]), style="yellow")
    screen.print(say("move_sealed" if done.sealed else "move_open", source=names["source"]))


def _say(key: str, /, **values: object) -> str:
    return _PHRASES[key][_speaks_chinese()].format(**values)


def _speaks_chinese() -> bool:
    return load_settings().language.startswith("zh")


def _counts(done: Moved) -> str:
    counts = {name: int(getattr(done, name)) for name in _COUNTED}
    if _speaks_chinese():
        return "，".join(f"{count:,} {_COUNTED[name][2]}" for name, count in counts.items())
    return ", ".join(f"{count:,} {_COUNTED[name][count != 1]}" for name, count in counts.items())


def _without_secrets(url: str) -> str:
    """The URL as it may be shown and kept: without who logs in, and without what a query says of passwords."""
    return ",".join(_part_without_secrets(part) for part in _PARTS.split(url))


def _part_without_secrets(part: str) -> str:
    scheme, found, rest = without_secrets(part).partition("://")
    if not found:
        return without_secrets(part)
    # A password may hold a slash that is not escaped, so everything up to the last @ goes.
    shown = _SECRET.sub(r"\1…", rest.rpartition("@")[2])
    return f"{scheme}://{shown}"
