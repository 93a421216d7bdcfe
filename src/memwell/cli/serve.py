"""The commands of the service: ``serve`` (REST, MCP and a page over HTTP), ``mcp`` (over standard streams) and ``keys``."""

from __future__ import annotations

import logging
import os
import re
import shlex
import sys
import webbrowser
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec.structs import replace
from rich.console import Console
from rich.text import Text as Styled

import memwell
from memwell.cli.phrases import say
from memwell.cli.stores import SpaceOption, Store, chat_model, existing, is_served, opened, read_only, space_of
from memwell.cli.terminal import AsJson, Commands, PlainTable, console, one_line, print_json, progress_bar, visible
from memwell.errors import (
    ConfigurationError,
    FileError,
    InvalidInput,
    MissingDependency,
    NotFound,
    ReadOnlyStore,
    install_command,
)
from memwell.service.keys import BUNDLES, SCOPES, Key, Keys, OneTimeLink, id_in_token, without_tokens
from memwell.service.logs import AuditLog, LogEntry, Verified
from memwell.settings import Settings, load_settings
from memwell.storage import open_backend
from memwell.storage.urls import without_secrets
from memwell.values import shown

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
        raise MissingDependency(
            say("needs_server", package=error.name or "starlette", install=install_command("server"))
        ) from error
    server.check_tls(settings)
    screen = console()
    with ExitStack() as held:
        backend = open_backend(store, settings=settings)
        held.callback(backend.close)
        engine = memwell.open(backend, settings=settings, chat=chat_model(held, backend))
        held.callback(engine.close)
        service = Service(engine, settings)

        def ready(address: str) -> None:
            # After it listens: a first key that is never shown would lock the user out.
            token = _signed_in_by(service) if sys.stdout.isatty() else None
            if token is None and not service.keys.page(limit=1).items:
                # What is printed without a terminal is kept in some log: the key is made for who follows the link.
                service.link = OneTimeLink(partial(_first_token, service))
            _announce(screen, service, store, address, token)
            if browser and token is not None:
                webbrowser.open(_link(address, service))

        server.serve(service, ready=ready)
    screen.print(say("stopped", settings.language))
    if service.lingering or server.threads_left():
        # All stores are closed. A thread that still runs would keep the process alive, or abort it inside a model.
        screen.file.flush()
        logging.shutdown()
        os._exit(0)


def _first_token(service: Service) -> str | None:
    from memwell.service import server  # noqa: PLC0415 - needs a web server

    made = server.first_key(service)
    return None if made is None else made[1]


def _signed_in_by(service: Service) -> str:
    """The first key to show, or empty; the link of the service is for that key, or for the time that it runs."""
    from memwell.service import server  # noqa: PLC0415 - needs a web server

    first = token = _first_token(service)
    if token is None:
        visit = server.Visit(service)
        service.at_end(visit.end)
        token = visit.token
    service.link = OneTimeLink(lambda: token)
    return first or ""


def _link(address: str, service: Service) -> str:
    assert service.link is not None
    return f"{address}/#once={service.link.code}"


def _announce(screen: Console, service: Service, store: str, address: str, token: str | None) -> None:
    settings, language = service.settings, service.settings.language
    screen.print(say("serving", language, address=address), style="bold")
    screen.print(say("store_is", language, store=visible(without_secrets(store))))
    if not service.backend.durable:
        screen.print(say("volatile", language), style="yellow")
    if settings.serve_host not in _LOOPBACK and not settings.serve_tls_certificate:
        screen.print(say("not_encrypted", language, host=settings.serve_host), style="yellow")
    screen.print()
    if token:
        screen.print(say("first_key", language))
        screen.print(f"   {token}")
    if service.link is None:
        screen.print(say("sign_in", language, address=address, store=shlex.quote(without_secrets(store))))
    else:
        screen.print(say("open_page", language))
        screen.print(f"   {_link(address, service)}")
    screen.print()
    screen.print(say("to_stop", language), style="dim")
    # Output to a file must show the link at once.
    screen.file.flush()


# MCP over standard streams

_CHOICES = ("memory", "graph", "all")
_MOST_OF_A_KEY = 10_000


def mcp_command(
    store: Store,
    space: SpaceOption = None,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Offer only what changes nothing. 只提供不改变内容的工具。")
    ] = False,
    tools: Annotated[
        str,
        typer.Option(help="memory: eight tools; graph: the reference server's nine; all: both. 提供哪些工具。"),
    ] = "memory",
    key_file: Annotated[
        Path | None, typer.Option(help="For a store at an http address: the file that holds the key. 存放密钥的文件。")
    ] = None,
) -> None:
    """Serve a memory to an assistant over MCP, on standard input and output. 通过 MCP 为助手提供记忆。"""
    if tools not in _CHOICES:
        raise ConfigurationError(f"--tools is one of {', '.join(_CHOICES)}, not {tools!r}")
    if is_served(store) and space:
        raise ConfigurationError("the space at an http address is that of the key; leave --space out")
    key = None if key_file is None else _key(key_file)
    with opened(store, space, make=not read_only, key=key) as memory:
        from memwell.service.mcp import serve_stdio  # noqa: PLC0415 - loads the protocol's package

        serve_stdio(memory, tools=tools, read_only=read_only)


def _key(file: Path) -> str:
    try:
        with file.open(encoding="utf-8") as source:
            return source.read(_MOST_OF_A_KEY).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"the key cannot be read from {str(file)!r}: {error}") from None


# The commands ``keys``: make, list, rotate and revoke API keys of the service. They need access to the store itself.

keys_app = typer.Typer(
    cls=Commands,
    help="The keys of the service, and what was done with them. 服务密钥及其使用记录。",
    no_args_is_help=True,
)

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_NOTED_BY = {"by": "command line"}


@contextmanager
def _written(store: str, *, make: bool = False) -> Generator[tuple[Keys, AuditLog]]:
    """A store whose keys are changed, in one transaction with the audit log."""
    try:
        with existing(store, make=make) as backend, backend.transaction():
            yield Keys(backend), AuditLog(backend)
    except ReadOnlyStore as error:
        raise read_only(store, error) from error


@keys_app.command("create")
def create_command(
    name: Annotated[str, typer.Argument(help="What it is for, such as phone. 用途，例如 phone。")],
    store: Store,
    space: SpaceOption = None,
    bundle: Annotated[
        str | None,
        typer.Option("--as", help="reader, app, owner, backend or operator; app by default. 权限组合，默认 app。"),
    ] = None,
    scope: Annotated[
        list[str] | None, typer.Option("--scope", help="Instead: read, write, erase, admin, spaces. 或逐项指定权限。")
    ] = None,
    expires: Annotated[
        str | None, typer.Option(help="After 30d, 12h, or on a date; never by default. 有效期，默认不过期。")
    ] = None,
    rate: Annotated[
        int | None, typer.Option(min=0, help="Requests a minute; 0 is any number. 每分钟请求数，0 为不限。")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a key and print its token, once. 新建密钥并显示令牌，仅此一次。"""
    scopes, until = _scopes(bundle, scope), _until(expires)
    with _written(store, make=True) as (keys, log):
        key, token = keys.create(name, space=space_of(space), scopes=scopes, expires=until, rate=rate)
        log.append(
            "create_key", space=key.space, targets=[key.id], detail={**_NOTED_BY, "scopes": " ".join(key.scopes)}
        )
    _print_token(key, token, as_json=as_json)


@keys_app.command("list")
def list_command(
    store: Store,
    space: Annotated[
        list[str] | None,
        typer.Option("--space", help="Only of this space, a segment each time. 只列此空间，逐段给出。"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the keys. Their tokens are not stored. 列出密钥；令牌本身不存储。"""
    with existing(store) as backend:
        found = Keys(backend).all(space_of(space) if space else None)
    if as_json:
        print_json(found)
    elif found:
        _print_keys(found)
    else:
        console().print(say("no_keys"))


@keys_app.command("rotate")
def rotate_command(
    key: Annotated[str, typer.Argument(help="Its id, its name, or its token. 标识、名称或令牌。")],
    store: Store,
    grace: Annotated[
        str | None, typer.Option(help="How long the old token works on, such as 12h. 旧令牌继续有效多久。")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Give a key another token. 更换密钥的令牌。"""
    longer = timedelta(0) if grace is None else _length(grace)
    if longer is None:
        raise InvalidInput(say("bad_grace", text=shown(grace)))
    with _written(store) as (keys, log):
        turned, token = keys.rotate(_meant(keys, key), grace=longer)
        seconds = int(longer.total_seconds())
        log.append("rotate_key", space=turned.space, targets=[turned.id], detail={**_NOTED_BY, "grace_s": seconds})
    _print_token(turned, token, as_json=as_json)
    if not as_json:
        until = None if turned.rotated is None or not longer else turned.rotated + longer
        console().print(say("old_ended") if until is None else say("old_ends", time=_minute(until)))


@keys_app.command("revoke")
def revoke_command(
    key: Annotated[str, typer.Argument(help="Its id, its name, or its token. 标识、名称或令牌。")], store: Store
) -> None:
    """End a key, at once and for good. 立即并永久吊销密钥。"""
    with _written(store) as (keys, log):
        ended = keys.revoke(_meant(keys, key))
        log.append("revoke_key", space=ended.space, targets=[ended.id], detail=_NOTED_BY)
    console().print(say("key_revoked", id=ended.id, name=one_line(ended.name)))


@keys_app.command("log")
def log_command(
    store: Store,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, metavar="<int>", help="How many at most. 最多几条。")
    ] = 50,
    cursor: Annotated[str | None, typer.Option(help="Where the last listing ended. 上一页的结尾。")] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Instead, see whether anything was changed. 改为校验是否被篡改。")
    ] = False,
    noted: Annotated[
        str | None, typer.Option(help="And whether this digest is in it, as noted before. 并核对先前记下的摘要。")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the audit log, newest first, or verify it. 显示或校验审计日志。"""
    with existing(store) as backend:
        log = AuditLog(backend)
        if verify or noted is not None:
            with progress_bar(say("verifying")) as progress:
                found = log.verify(progress, noted=noted)
            _print_verified(found, as_json)
            return
        page = log.entries(limit=limit, cursor=cursor)
    if as_json:
        print_json(page)
        return
    screen = console()
    if not page.items:
        screen.print(say("no_entries"))
        return
    _print_entries(page.items)
    if page.next is not None:
        screen.print(say("more_pages", cursor=shlex.quote(page.next)))


def _scopes(bundle: str | None, scopes: list[str] | None) -> Sequence[str]:
    if scopes:
        if bundle is not None:
            raise InvalidInput(say("as_or_scopes"))
        for scope in scopes:
            _known(scope, SCOPES)
        return scopes
    return BUNDLES[_known("app" if bundle is None else bundle, tuple(BUNDLES))]


def _known(given: str, known: Sequence[str]) -> str:
    if given not in known:
        raise InvalidInput(say("no_bundle", given=shown(given), known=", ".join(known)))
    return given


def _length(text: str) -> timedelta | None:
    found = re.fullmatch("([0-9]{1,6})([smhdw])", text.strip())
    return None if found is None else timedelta(**{_UNITS[found[2]]: int(found[1])})


def _until(text: str | None) -> datetime | None:
    if text is None:
        return None
    now, length = datetime.now(UTC), _length(text)
    try:
        # A time without a zone is one of this machine's clock.
        moment = datetime.fromisoformat(text).astimezone() if length is None else now + length
    except (ValueError, OverflowError):
        raise InvalidInput(say("bad_while", text=shown(text))) from None
    if moment <= now:
        raise InvalidInput(say("is_over", text=shown(text)))
    return moment


def _meant(keys: Keys, given: str) -> str:
    """The id of the key with this id, name or token."""
    in_force = [key for key in keys.all() if key.revoked is None]
    wanted = id_in_token(given) or given
    named = [key.id for key in in_force if wanted == key.id] or [key.id for key in in_force if wanted == key.name]
    if not named:
        raise NotFound(say("no_such_key", name=shown(without_tokens(given))))
    if len(named) > 1:
        raise InvalidInput(say("several_keys", name=shown(given), ids=", ".join(named)))
    return named[0]


def _print_token(key: Key, token: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"key": key, "token": token})
        return
    screen, space = console(), one_line(" / ".join(key.space))
    screen.print(say("key_made", id=key.id, space=space, scopes=", ".join(key.scopes)))
    screen.print(Styled(token, style="bold"))
    screen.print(say("token_once"), style="yellow")


def _print_keys(found: Sequence[Key]) -> None:
    table = PlainTable()
    table.whole("id", style="dim")
    table.whole(say("key_name"), say("space"), say("key_scopes"), say("state"), say("last_used"))
    for key in found:
        used = say("never_used") if key.last_used is None else _minute(key.last_used)
        space = Styled(one_line(" / ".join(key.space)))
        table.add_row(key.id, Styled(one_line(key.name)), space, " ".join(key.scopes), _state(key), used)
    console().print(table)


def _state(key: Key) -> str:
    if key.revoked is not None:
        return say("key_revoked_at", time=_minute(key.revoked))
    if key.expires is None:
        return say("key_live")
    is_over = key.expires <= datetime.now(UTC)
    return say("key_expired" if is_over else "key_live_until", time=_minute(key.expires))


def _print_entries(entries: Sequence[LogEntry]) -> None:
    table = PlainTable()
    table.whole("#", style="dim")
    table.whole(
        *map(say, ("log_time", "log_key")), say("space"), *map(say, ("log_action", "log_targets", "log_outcome"))
    )
    for entry in entries:
        space = say("any_space") if entry.space is None else " / ".join(entry.space)
        what = " ".join([*entry.targets, *(f"{name}={value}" for name, value in entry.detail.items())])
        outcome = say("log_done" if entry.outcome == "done" else "log_refused")
        cells = (entry.key or "–", space, entry.action, what, outcome)
        table.add_row(f"{entry.number}", _minute(entry.time), *(Styled(one_line(cell)) for cell in cells))
    console().print(table)


def _print_verified(found: Verified, as_json: bool) -> None:
    if as_json:
        print_json(found)
    elif found.ok:
        console().print(say("log_whole", count=f"{found.entries:,}", head=found.head))
    elif found.broken_at is None:
        console().print(say("log_other"), style="red")
    else:
        console().print(say("log_broken", number=found.broken_at, count=f"{found.entries:,}"), style="red")
    if not found.ok:
        raise typer.Exit(1)


def _minute(moment: datetime) -> str:
    return visible(f"{moment:%Y-%m-%d %H:%M}")
