"""The command that moves a store to another backend."""

from __future__ import annotations

import re
from typing import Annotated

import msgspec
import typer

from memwell.cli.phrases import say
from memwell.cli.progress import progress_bar
from memwell.cli.stores import check_at_hand, existing
from memwell.cli.terminal import console, one_line
from memwell.errors import ConfigurationError
from memwell.runtime.moving import Moved, MoveRefused, move
from memwell.storage import open_backend

app = typer.Typer()

_REFUSALS = {
    "same": "move_same",
    "unfinished": "move_unfinished",
    "other": "move_other",
    "holds": "move_holds",
    "touched": "move_touched",
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


def _report(done: Moved, source: str, target: str, *, durable: bool) -> None:
    screen = console()
    names = {"source": one_line(source), "target": one_line(target)}
    counts = {
        name: f"{getattr(done, name):,}"
        for name in ("spaces", "threads", "messages", "entries", "records", "blobs", "copied")
    }
    screen.print(say("moved", **names, **counts), style="green", soft_wrap=True)
    if done.changing:
        named = ", ".join(one_line(" / ".join(space)) for space in done.changing[:_MOST_NAMED])
        more = "" if len(done.changing) <= _MOST_NAMED else f", … ({len(done.changing):,})"
        screen.print(say("move_changing", spaces=named + more), style="yellow", soft_wrap=True)
    if not durable:
        screen.print(say("move_volatile", target=names["target"]), style="yellow", soft_wrap=True)
    screen.print(say("move_sealed" if done.sealed else "move_open", source=names["source"]), soft_wrap=True)


def _without_secrets(url: str) -> str:
    """The URL as it may be shown and kept: without who logs in, and without what a query says of passwords."""
    return ",".join(_part_without_secrets(part) for part in _PARTS.split(url))


def _part_without_secrets(part: str) -> str:
    scheme, found, rest = part.partition("://")
    if not found:
        return part
    # A password may hold a slash that nobody escaped, so everything up to the last @ goes.
    shown = _SECRET.sub(r"\1…", rest.rpartition("@")[2])
    return f"{scheme}://{shown}"


__all__ = ["app"]
