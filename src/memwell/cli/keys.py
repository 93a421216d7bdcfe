"""The commands ``keys``: make, list, rotate and revoke API keys of the service. They need access to the store itself."""

from __future__ import annotations

import re
import shlex
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer
from rich.text import Text as Styled

from memwell.cli.phrases import say
from memwell.cli.stores import SpaceOption, Store, existing, read_only, space_of
from memwell.cli.terminal import AsJson, Commands, PlainTable, console, one_line, print_json, progress_bar, visible
from memwell.errors import InvalidInput, NotFound, ReadOnlyStore
from memwell.records import Space
from memwell.service.audit_log import AuditLog, LogEntry, Verified
from memwell.service.keys import BUNDLES, SCOPES, Key, Keys, id_in_token, without_tokens
from memwell.settings import load_settings
from memwell.storage import Backend
from memwell.values import shown

app = typer.Typer(
    cls=Commands,
    help="The keys of the service, and what was done with them. 服务密钥及其使用记录。",
    no_args_is_help=True,
)

_PHRASES = {
    "made": ("Key {id} for the space {space}: {scopes}", "密钥 {id}，空间 {space}，权限：{scopes}"),
    "token_once": (
        "This is the token. It is not stored and will not be shown again.",
        "以上是令牌。它不会被存储，也不会再次显示。",
    ),
    "old_ends": ("The token it had works until {time}.", "原令牌在 {time} 之前仍然有效。"),
    "old_ended": ("The token it had does not work any more.", "原令牌已失效。"),
    "gone": ("Revoked: {id} {name}. It does not work any more.", "已吊销：{id} {name}，不再有效。"),
    "no_keys": (
        "No keys yet. Make one: memwell keys create NAME --space SPACE",
        "还没有密钥。新建一个：memwell keys create 名称 --space 空间",
    ),
    "no_such_key": (
        "There is no key {name} that is in force. See: memwell keys list",
        "没有生效的密钥 {name}。请看：memwell keys list",
    ),
    "several": (
        "Several keys are called {name}; say which by its id: {ids}",
        "有多个密钥名为 {name}，请用标识指明：{ids}",
    ),
    "no_bundle": ("There is no {given}; known: {known}.", "没有 {given}；可用：{known}。"),
    "as_or_scopes": ("Give either --as or --scope.", "--as 与 --scope 只能选一个。"),
    "bad_while": (
        "{text} is no time; write it as 90m, 12h, 30d or 8w, or as a date: 2030-12-31.",
        "{text} 不是时间，请写成 90m、12h、30d、8w，或日期 2030-12-31。",
    ),
    "is_over": ("{text} is over already.", "{text} 已经过去。"),
    "bad_grace": (
        "{text} is no length of time; write it as 90m, 12h or 2d.",
        "{text} 不是时长，请写成 90m、12h 或 2d。",
    ),
    "name": ("name", "名称"),
    "scopes": ("may", "权限"),
    "state": ("state", "状态"),
    "last_used": ("last used (UTC)", "最近使用（UTC）"),
    "live": ("in force", "生效"),
    "live_until": ("until {time}", "有效至 {time}"),
    "expired": ("expired {time}", "已过期 {time}"),
    "revoked": ("revoked {time}", "已吊销 {time}"),
    "never": ("never", "从未"),
    "any_space": ("all", "全部"),
    "time": ("when (UTC)", "时间（UTC）"),
    "key": ("key", "密钥"),
    "action": ("what", "操作"),
    "targets": ("of what", "对象"),
    "outcome": ("outcome", "结果"),
    "done": ("done", "完成"),
    "refused_here": ("refused", "拒绝"),
    "more_entries": ("There are more: add --cursor {cursor}", "还有更多：加上 --cursor {cursor}"),
    "no_entries": ("Nothing was logged yet.", "还没有记录。"),
    "verifying": ("Verifying the log", "正在校验日志"),
    "log_whole": (
        "The log is whole: {count} entries. Write its digest down elsewhere, to see later that nobody wrote it anew: "
        "{head}",
        "日志完整：共 {count} 条。请把摘要另存他处，以便日后确认日志未被整体改写：{head}",
    ),
    "log_broken": (
        "The log was tampered with: entry {number} is not what was written. {count} entries before it fit.",
        "日志被篡改：第 {number} 条与写入时不符，之前的 {count} 条完好。",
    ),
    "log_other": (
        "The chain fits, but the digest that was noted is not in it: this is not the log it was noted from.",
        "日志链完好，但其中没有所记的摘要：这不是当初的那份日志。",
    ),
}
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_NOTED_BY = {"by": "command line"}


def _said(key: str, /, **values: object) -> str:
    english, chinese = _PHRASES[key]
    return (chinese if load_settings().language.startswith("zh") else english).format(**values)


@contextmanager
def _written(store: str, *, make: bool = False) -> Generator[tuple[Backend, Keys, AuditLog]]:
    """A store whose keys are changed: what is done and the log of it are stored together."""
    try:
        with existing(store, make=make) as backend, backend.transaction():
            yield backend, Keys(backend), AuditLog(backend)
    except ReadOnlyStore as error:
        raise read_only(store, error) from error


@app.command("create")
def create_command(
    name: Annotated[str, typer.Argument(help="What it is for, such as phone. 用途，例如 phone。")],
    store: Store,
    space: SpaceOption = None,
    bundle: Annotated[
        str | None,
        typer.Option("--as", help="reader, app, owner or operator; app by default. 权限组合，默认 app。"),
    ] = None,
    scope: Annotated[
        list[str] | None, typer.Option("--scope", help="Instead: read, write, erase, admin. 或逐项指定权限。")
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
    with _written(store, make=True) as (_, keys, log):
        key, token = keys.create(name, space=space_of(space), scopes=scopes, expires=until, rate=rate)
        log.append(
            "create_key", space=key.space, targets=[key.id], detail={**_NOTED_BY, "scopes": " ".join(key.scopes)}
        )
    if as_json:
        print_json({"key": key, "token": token})
        return
    _print_token(key, token)
    console().print(_said("token_once"), style="yellow")


@app.command("list")
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
        found = Keys(backend).all(Space(*space) if space else None)
    if as_json:
        print_json(found)
    elif found:
        _print_keys(found)
    else:
        console().print(_said("no_keys"))


@app.command("rotate")
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
        raise InvalidInput(_said("bad_grace", text=shown(grace)))
    with _written(store) as (_, keys, log):
        turned, token = keys.rotate(_meant(keys, key), grace=longer)
        seconds = int(longer.total_seconds())
        log.append("rotate_key", space=turned.space, targets=[turned.id], detail={**_NOTED_BY, "grace_s": seconds})
    if as_json:
        print_json({"key": turned, "token": token})
        return
    _print_token(turned, token)
    screen = console()
    screen.print(_said("token_once"), style="yellow")
    until = None if turned.rotated is None or not longer else turned.rotated + longer
    screen.print(_said("old_ended") if until is None else _said("old_ends", time=_minute(until)))


@app.command("revoke")
def revoke_command(
    key: Annotated[str, typer.Argument(help="Its id, its name, or its token. 标识、名称或令牌。")], store: Store
) -> None:
    """End a key, at once and for good. 立即并永久吊销密钥。"""
    with _written(store) as (_, keys, log):
        ended = keys.revoke(_meant(keys, key))
        log.append("revoke_key", space=ended.space, targets=[ended.id], detail=_NOTED_BY)
    console().print(_said("gone", id=ended.id, name=one_line(ended.name)))


@app.command("log")
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
            with progress_bar(_said("verifying")) as progress:
                found = log.verify(progress, noted=noted)
            _print_verified(found, as_json)
            return
        page = log.entries(limit=limit, cursor=cursor)
    if as_json:
        print_json(page)
        return
    screen = console()
    if not page.items:
        screen.print(_said("no_entries"))
        return
    _print_entries(page.items)
    if page.next is not None:
        screen.print(_said("more_entries", cursor=shlex.quote(page.next)))


def _scopes(bundle: str | None, scopes: list[str] | None) -> Sequence[str]:
    if scopes:
        if bundle is not None:
            raise InvalidInput(_said("as_or_scopes"))
        for scope in scopes:
            _known(scope, SCOPES)
        return scopes
    return BUNDLES[_known("app" if bundle is None else bundle, tuple(BUNDLES))]


def _known(given: str, known: Sequence[str]) -> str:
    if given not in known:
        raise InvalidInput(_said("no_bundle", given=shown(given), known=", ".join(known)))
    return given


def _length(text: str) -> timedelta | None:
    found = re.fullmatch("([0-9]{1,6})([mhdw])", text.strip())
    return None if found is None else timedelta(**{_UNITS[found[2]]: int(found[1])})


def _until(text: str | None) -> datetime | None:
    if text is None:
        return None
    now, length = datetime.now(UTC), _length(text)
    try:
        # A time without a zone is one of this machine's clock.
        moment = datetime.fromisoformat(text).astimezone() if length is None else now + length
    except (ValueError, OverflowError):
        raise InvalidInput(_said("bad_while", text=shown(text))) from None
    if moment <= now:
        raise InvalidInput(_said("is_over", text=shown(text)))
    return moment


def _meant(keys: Keys, given: str) -> str:
    """The id of the key that somebody means by an id, a name or a token."""
    in_force = [key for key in keys.all() if key.revoked is None]
    wanted = id_in_token(given) or given
    named = [key.id for key in in_force if wanted == key.id] or [key.id for key in in_force if wanted == key.name]
    if not named:
        raise NotFound(_said("no_such_key", name=shown(without_tokens(given))))
    if len(named) > 1:
        raise InvalidInput(_said("several", name=shown(given), ids=", ".join(named)))
    return named[0]


def _print_token(key: Key, token: str) -> None:
    screen = console()
    space = one_line(" / ".join(key.space))
    screen.print(_said("made", id=key.id, space=space, scopes=", ".join(key.scopes)))
    screen.print(Styled(token, style="bold"))


def _print_keys(found: Sequence[Key]) -> None:
    table = PlainTable()
    table.whole("id", style="dim")
    table.whole(_said("name"), say("space"), _said("scopes"), _said("state"), _said("last_used"))
    for key in found:
        used = _said("never") if key.last_used is None else _minute(key.last_used)
        space = Styled(one_line(" / ".join(key.space)))
        table.add_row(key.id, Styled(one_line(key.name)), space, " ".join(key.scopes), _state(key), used)
    console().print(table)


def _state(key: Key) -> str:
    if key.revoked is not None:
        return _said("revoked", time=_minute(key.revoked))
    if key.expires is None:
        return _said("live")
    is_over = key.expires <= datetime.now(UTC)
    return _said("expired" if is_over else "live_until", time=_minute(key.expires))


def _print_entries(entries: Sequence[LogEntry]) -> None:
    table = PlainTable()
    table.whole("#", style="dim")
    table.whole(*map(_said, ("time", "key")), say("space"), *map(_said, ("action", "targets", "outcome")))
    for entry in entries:
        space = _said("any_space") if entry.space is None else " / ".join(entry.space)
        what = " ".join([*entry.targets, *(f"{name}={value}" for name, value in entry.detail.items())])
        outcome = _said("done" if entry.outcome == "done" else "refused_here")
        cells = (entry.key or "–", space, entry.action, what, outcome)
        table.add_row(f"{entry.number}", _minute(entry.time), *(Styled(one_line(cell)) for cell in cells))
    console().print(table)


def _print_verified(found: Verified, as_json: bool) -> None:
    if as_json:
        print_json(found)
    elif found.ok:
        console().print(_said("log_whole", count=f"{found.entries:,}", head=found.head))
    elif found.broken_at is None:
        console().print(_said("log_other"), style="red")
    else:
        console().print(_said("log_broken", number=found.broken_at, count=f"{found.entries:,}"), style="red")
    if not found.ok:
        raise typer.Exit(1)


def _minute(moment: datetime) -> str:
    return visible(f"{moment:%Y-%m-%d %H:%M}")
