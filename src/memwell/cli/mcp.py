"""``memwell mcp``: a memory for an assistant that speaks MCP, over the standard streams."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated, Any

import typer

import memwell
from memwell.cli.stores import SpaceOption, Store, opened
from memwell.errors import ConfigurationError, FileError

app = typer.Typer(add_completion=False)

_CHOICES = ("all", "memory", "graph")
_MOST_OF_A_KEY = 10_000


@app.command("mcp")
def mcp_command(
    store: Store,
    space: SpaceOption = None,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Offer only what changes nothing. 只提供不改变内容的工具。")
    ] = False,
    tools: Annotated[str, typer.Option(help="all, memory or graph: which tools to offer. 提供哪些工具。")] = "all",
    key_file: Annotated[
        Path | None, typer.Option(help="For a store at an http address: the file that holds the key. 存放密钥的文件。")
    ] = None,
) -> None:
    """Serve a memory to an assistant over MCP, on standard input and output. 通过 MCP 为助手提供记忆。"""
    if tools not in _CHOICES:
        raise ConfigurationError(f"--tools is one of {', '.join(_CHOICES)}, not {tools!r}")
    with _memory(store, space, key_file, make=not read_only) as memory:
        # Loads the protocol's package, which no other command needs.
        from memwell.service.mcp import serve_stdio  # noqa: PLC0415

        serve_stdio(memory, tools=tools, read_only=read_only)


def _memory(
    store: str, space: list[str] | None, key_file: Path | None, *, make: bool
) -> AbstractContextManager[memwell.Engine]:
    if not store.startswith(("http://", "https://")):
        return opened(store, space, make=make)
    if space:
        raise ConfigurationError("the space at an http address is that of the key; leave --space out")
    return _remote(store, key_file)


def _remote(url: str, key_file: Path | None) -> Any:
    """The memory behind a service; its space is the key's."""
    options: dict[str, Any] = {} if key_file is None else {"key": _key(key_file)}
    return memwell.open(url, **options)


def _key(file: Path) -> str:
    try:
        with file.open(encoding="utf-8") as source:
            return source.read(_MOST_OF_A_KEY).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"the key cannot be read from {str(file)!r}: {error}") from None


__all__ = ["app", "mcp_command"]
