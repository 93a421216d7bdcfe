"""The commands ``serve`` (REST, MCP and a page over HTTP) and ``mcp`` (MCP over the standard streams)."""

from __future__ import annotations

import logging
import os
import shlex
import sys
import webbrowser
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec.structs import replace
from rich.console import Console

import memwell
from memwell.cli.phrases import say
from memwell.cli.stores import SpaceOption, Store, chat_model, is_served, opened
from memwell.cli.terminal import console, visible
from memwell.errors import ConfigurationError, FileError, MissingDependency
from memwell.settings import Settings, load_settings
from memwell.storage import open_backend
from memwell.storage.urls import without_secrets

if TYPE_CHECKING:
    from memwell.service.parts import Service


_LOOPBACK = ("127.0.0.1", "::1", "localhost")


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
    """Open the store, serve it until the process is stopped, and close it."""
    try:
        from memwell.service import server  # noqa: PLC0415 - needs a web server
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
            # Made after it listens: a first key that is never shown would lock the user out.
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
    screen.print(say("stopped", settings.language))
    if service.lingering or server.threads_left():
        # All stores are closed. A thread that still runs would keep the process alive, or abort it inside a model.
        screen.file.flush()
        logging.shutdown()
        os._exit(0)


def _announce(screen: Console, service: Service, store: str, address: str, token: str | None, *, first: bool) -> None:
    settings, language = service.settings, service.settings.language
    screen.print(say("serving", language, address=address), style="bold")
    screen.print(say("store_is", language, store=visible(without_secrets(store))))
    if not service.backend.durable:
        screen.print(say("volatile", language), style="yellow")
    if settings.serve_host not in _LOOPBACK and not settings.serve_tls_certificate:
        screen.print(say("not_encrypted", language, host=settings.serve_host), style="yellow")
    screen.print()
    if token is None:
        screen.print(say("sign_in", language, address=address, store=shlex.quote(without_secrets(store))))
    else:
        if first:
            screen.print(say("first_key", language))
            screen.print(f"   {token}")
        screen.print(say("open_page", language))
        screen.print(f"   {address}/#key={token}")
    screen.print()
    screen.print(say("to_stop", language), style="dim")
    # Output to a file must show the key at once.
    screen.file.flush()


# MCP over standard streams

_MOST_OF_A_KEY = 10_000


def mcp_command(
    store: Store,
    space: SpaceOption = None,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Offer only what changes nothing. 只提供不改变内容的工具。")
    ] = False,
    key_file: Annotated[
        Path | None, typer.Option(help="For a store at an http address: the file that holds the key. 存放密钥的文件。")
    ] = None,
) -> None:
    """Serve a memory to an assistant over MCP, on standard input and output. 通过 MCP 为助手提供记忆。"""
    if is_served(store) and space:
        raise ConfigurationError("the space at an http address is that of the key; leave --space out")
    key = None if key_file is None else _key(key_file)
    with opened(store, space, make=not read_only, key=key) as memory:
        from memwell.service.mcp import serve_stdio  # noqa: PLC0415 - loads the protocol's package

        serve_stdio(memory, read_only=read_only)


def _key(file: Path) -> str:
    try:
        with file.open(encoding="utf-8") as source:
            return source.read(_MOST_OF_A_KEY).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"the key cannot be read from {str(file)!r}: {error}") from None
