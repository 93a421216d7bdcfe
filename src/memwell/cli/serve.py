"""The commands ``serve`` (REST, MCP and a page over HTTP) and ``mcp`` (MCP over the standard streams)."""

from __future__ import annotations

import logging
import os
import shlex
import sys
import webbrowser
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec.structs import replace
from rich.console import Console

import memwell
from memwell.cli.phrases import say
from memwell.cli.stores import SpaceOption, Store, chat_model, opened
from memwell.cli.terminal import console, visible
from memwell.errors import ConfigurationError, FileError, MissingDependency
from memwell.settings import Settings, load_settings
from memwell.storage import open_backend
from memwell.storage.urls import without_secrets

if TYPE_CHECKING:
    from memwell.service.parts import Service


_PHRASES = {
    "serving": ("memwell is running at {address}", "memwell 已启动：{address}"),
    "store_is": ("The store is {store}", "存储：{store}"),
    "first_key": (
        "Your key. It is shown this once, so keep it:",
        "这是你的密钥，只显示这一次，请妥善保存：",
    ),
    "open_page": ("Open the page, signed in:", "打开页面（已登录）："),
    "sign_in": (
        "Sign in with your key at {address}. To make another: memwell keys create NAME --as operator --store {store}",
        "请用密钥登录 {address}。新建密钥：memwell keys create 名称 --as operator --store {store}",
    ),
    "not_encrypted": (
        "Warning: {host} can be reached from elsewhere, and keys go over the line unencrypted. Use TLS, here or in front.",
        "注意：{host} 可从其他机器访问，密钥以明文传输。请在此处或前端启用 TLS。",
    ),
    "to_stop": ("Press Ctrl+C to stop.", "按 Ctrl+C 停止。"),
    "stopped": ("Stopped. Everything is on disk.", "已停止。所有内容都已写入磁盘。"),
    "volatile": (
        "Warning: this store lives in memory and is gone when the service stops.",
        "注意：该存储只在内存中，服务停止后即消失。",
    ),
}
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def _say(name: str, language: str, **values: object) -> str:
    return _PHRASES[name][language == "zh"].format(**values)


def serve_command(
    store: Store,
    host: Annotated[str | None, typer.Option(help="Where to listen; this machine alone by default. 监听地址。")] = None,
    port: Annotated[int | None, typer.Option(help="The port, 0 for a free one; 7411 by default. 端口。")] = None,
    certificate: Annotated[
        str | None, typer.Option("--tls-certificate", help="The certificate, for TLS. TLS 证书文件。")
    ] = None,
    key: Annotated[str | None, typer.Option("--tls-key", help="The certificate's key. TLS 私钥文件。")] = None,
    log: Annotated[str | None, typer.Option(help="text, json or off. 日志格式。")] = None,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser. 在浏览器中打开页面。")] = True,
) -> None:
    """Serve a memory: a page to see it, an API, and MCP. 以服务方式运行：网页、API 与 MCP。"""
    given = {
        "serve_host": host,
        "serve_port": port,
        "serve_tls_certificate": certificate,
        "serve_tls_key": key,
        "serve_log": log,
    }
    settings = replace(load_settings(), **{name: value for name, value in given.items() if value is not None})
    run(store, settings, browser=browser)


def run(store: str, settings: Settings, *, browser: bool) -> None:
    """Open the store, serve it until told to stop, and close it."""
    try:
        # Only this needs a web server; the other commands do without.
        from memwell.service import server  # noqa: PLC0415
        from memwell.service.parts import Service  # noqa: PLC0415
    except ImportError as error:
        raise MissingDependency(say("needs_server", package=error.name or "starlette")) from error
    server.check_tls(settings)
    screen = console()
    with ExitStack() as held:
        backend = open_backend(store, settings=settings)
        held.callback(backend.close)
        engine = memwell.open(backend, settings=settings, chat=chat_model(held, backend))
        held.callback(engine.close)
        service = Service(engine, settings)

        def ready(address: str) -> None:
            # Not before it listens: a key that is made and never shown would be the only one.
            made = server.first_key(service)
            interactive = sys.stdout.isatty()
            visit = server.Visit(service) if made is None and interactive else None
            token = made[1] if made else visit.token if visit else None
            if visit is not None:
                service.at_end(visit.end)
            _announce(screen, service, store, address, token, first=made is not None)
            if browser and interactive and token:
                webbrowser.open(f"{address}/#key={token}")

        server.serve(service, ready=ready)
    screen.print(_say("stopped", settings.language))
    if service.lingering or server.threads_left():
        # A thread that answers nobody any more would keep the process alive until it is done; and one that is inside a
        # model's own code when Python takes itself apart aborts the process. All stores are closed.
        screen.file.flush()
        logging.shutdown()
        os._exit(0)


def _announce(screen: Console, service: Service, store: str, address: str, token: str | None, *, first: bool) -> None:
    settings, language = service.settings, service.settings.language
    screen.print(_say("serving", language, address=address), style="bold")
    screen.print(_say("store_is", language, store=visible(without_secrets(store))))
    if not service.backend.durable:
        screen.print(_say("volatile", language), style="yellow")
    if settings.serve_host not in _LOOPBACK and not settings.serve_tls_certificate:
        screen.print(_say("not_encrypted", language, host=settings.serve_host), style="yellow")
    screen.print()
    if token is None:
        told = _say("sign_in", language, address=address, store=shlex.quote(without_secrets(store)))
        screen.print(told)
    else:
        if first:
            screen.print(_say("first_key", language))
            screen.print(f"   {token}")
        screen.print(_say("open_page", language))
        screen.print(f"   {address}/#key={token}")
    screen.print()
    screen.print(_say("to_stop", language), style="dim")
    # A log that goes to a file must show the key at once, not when the service ends.
    screen.file.flush()


# ``memwell mcp``: a memory for an assistant that speaks MCP, over the standard streams.


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
