"""The commands ``backup`` and ``restore``: a whole store as one checked file, and back."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memwell.cli.doctor import of_users
from memwell.cli.stores import Store, check_exists, file_of, is_served, naming_file
from memwell.cli.terminal import AsJson, console, one_line, print_json, progress_bar
from memwell.errors import BackendError, ConfigurationError, InvalidInput
from memwell.settings import load_settings
from memwell.storage.urls import composition, scheme_of, without_secrets

if TYPE_CHECKING:
    from memwell.storage.sqlite.backup import Backup, RestoredBackup

app = typer.Typer()

_PHRASES = {
    "backing_up": ("Copying", "正在复制"),
    "backup_made": ("{store} is backed up to {path} ({size} MB):", "{store} 已备份到 {path}（{size} MB）："),
    "backup_holds": (
        "{messages} messages in {threads} conversations, {records} records, {entries} key-value entries, {blobs} blobs",
        "{threads} 个会话中的 {messages} 条消息、{records} 条记录、{entries} 个键值条目、{blobs} 个二进制对象",
    ),
    "backup_checked": (
        "Opened again and checked: whole, and the counts are those of the store.",
        "已重新打开并检查：完整，各项数目与存储一致。",
    ),
    "backup_removed": ("Older backups removed: {count}", "已删除较早的备份：{count} 个"),
    "backup_needs_file": (
        "Only a store in a file can be backed up or restored, not {url}.",
        "只有文件中的存储才能备份和恢复，{url} 不能。",
    ),
    "backup_server": (
        "Only a store in a file can be backed up, not {url}. Copy it to one (memwell move URL backup.db), "
        "or use the server's own tools; for PostgreSQL pg_dump as a superuser or a role with BYPASSRLS.",
        "只有文件中的存储才能备份，{url} 不能。请把它复制到文件（memwell move URL backup.db），"
        "或使用服务器自带的工具；PostgreSQL 用 pg_dump，须以超级用户或具有 BYPASSRLS 的角色运行。",
    ),
    "restore_server": (
        "Only a store in a file can be restored, not {url}. Copy the backup into an empty store "
        "(memwell move backup.db URL), or use the server's own tools; for PostgreSQL pg_restore.",
        "只有文件中的存储才能恢复，{url} 不能。请把备份复制到空的存储（memwell move backup.db URL），"
        "或使用服务器自带的工具；PostgreSQL 用 pg_restore。",
    ),
    "backup_keep": (
        "--keep needs a folder to count backups in, and at least 1.",
        "--keep 需要一个存放备份的文件夹，且至少为 1。",
    ),
    "backup_same_file": (
        "{path} is the store itself. Name another file, or a folder.",
        "{path} 就是存储本身。请换一个文件或文件夹。",
    ),
    "backup_foreign_file": (
        "{path} exists and is no backup of this store. It was left as it is.",
        "{path} 已存在，且不是这个存储的备份。没有改动它。",
    ),
    "backup_incomplete": ("The backup of {path} was not kept: {reason}", "{path} 的备份未保留：{reason}"),
    "restored": ("{path} now holds what {source} holds:", "{path} 现在的内容与 {source} 相同："),
    "restored_digest": ("Its SHA-256 was compared: {digest}", "已核对 SHA-256：{digest}"),
    "restored_no_digest": (
        "There is no .sha256 file with it, so only its integrity was checked.",
        "旁边没有 .sha256 文件，因此只检查了完整性。",
    ),
    "restored_aside": ("The former store is kept as {path}", "原来的存储保留为 {path}"),
    "restore_not_backup": ("{path} is no backup of memwell's.", "{path} 不是 memwell 的备份。"),
    "restore_has_log": (
        "{path} has a write-ahead log: it is a store, not a backup. Back it up first: memwell backup",
        "{path} 旁边有预写日志：它是存储，不是备份。请先备份：memwell backup",
    ),
    "restore_wrong_digest": (
        "{path} is not the file that was written: its SHA-256 is another than in {digest}. Nothing was changed.",
        "{path} 不是当初写下的文件：它的 SHA-256 与 {digest} 中的不同。没有改动任何内容。",
    ),
    "restore_damaged": (
        "The backup {path} is damaged. Nothing was changed. ({reason})",
        "备份 {path} 已损坏。没有改动任何内容。（{reason}）",
    ),
    "restore_exists": (
        "The store {path} exists. With --force it is moved aside, not deleted.",
        "存储 {path} 已存在。加上 --force 会把它移到一旁，不会删除。",
    ),
    "restore_in_use": (
        "The store {path} is in use by another program. Stop it first; nothing was changed.",
        "存储 {path} 正被其他程序使用。请先停止它；没有改动任何内容。",
    ),
}

_REFUSALS = {
    "same-file": "backup_same_file",
    "foreign-file": "backup_foreign_file",
    "incomplete": "backup_incomplete",
    "not-a-backup": "restore_not_backup",
    "has-log": "restore_has_log",
    "wrong-digest": "restore_wrong_digest",
    "damaged": "restore_damaged",
    "exists": "restore_exists",
    "in-use": "restore_in_use",
}
"""The phrase for each code of a refusal."""


def _say(key: str, /, **values: object) -> str:
    english, chinese = _PHRASES[key]
    return (chinese if load_settings().language.startswith("zh") else english).format(**values)


@app.command("backup")
def backup_command(
    to: Annotated[
        str, typer.Argument(metavar="DEST", help="A file, or a folder, which is made if need be. 文件或文件夹。")
    ],
    store: Store,
    keep: Annotated[
        int | None, typer.Option(help="How many of this store's backups to keep in the folder. 在文件夹中保留几份。")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Copy a store, in use or not, to one checked file. 把存储（使用中亦可）复制为一个经过检查的文件。"""
    check_exists(store)
    file, target = _file(store, "backup_server"), Path(to)
    if keep is not None and (keep < 1 or target.is_file()):
        raise InvalidInput(_say("backup_keep"))
    # Loads the driver, which other commands do without.
    from memwell.storage.sqlite.backup import back_up  # noqa: PLC0415

    with _telling(), naming_file(target, "file_unwritable"), progress_bar(_say("backing_up")) as progress:
        if keep is not None or _is_folder(to):
            target.mkdir(parents=True, exist_ok=True)
        made = back_up(file, target, keep=keep, progress=progress, facts=of_users)
    if as_json:
        print_json({**made._asdict(), "path": str(made.path), "removed": [str(one) for one in made.removed]})
    else:
        _report_backup(store, made)


def _is_folder(to: str) -> bool:
    """Whether a folder is meant: it is one, is written as one, or is nothing yet and has no ending, as files have."""
    path = Path(to)
    return to.endswith(("/", os.sep)) or path.is_dir() or not (path.suffix or path.exists())


def _report_backup(store: str, made: Backup) -> None:
    size = f"{made.size / 1e6:,.1f}"
    console().print(_say("backup_made", store=one_line(str(file_of(store))), path=one_line(str(made.path)), size=size))
    _print_counts(made.counts)
    console().print(_say("backup_checked"), style="green")
    console().print(f"SHA-256 {made.digest}")
    if made.removed:
        console().print(_say("backup_removed", count=len(made.removed)))


@app.command("restore")
def restore_command(
    source: Annotated[Path, typer.Argument(metavar="FROM", help="A file that `backup` made. 备份文件。")],
    store: Store,
    force: Annotated[
        bool, typer.Option("--force", help="Move a store that is there aside. 把已有的存储移到一旁。")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Put a checked backup in the place of a store. 把经过检查的备份放回存储的位置。"""
    path = _file(store, "restore_server")
    with naming_file(source, "file_unreadable"):
        source.open("rb").close()
    # Loads the driver, which other commands do without.
    from memwell.storage.sqlite.backup import restore  # noqa: PLC0415

    with _telling(), naming_file(path, "file_unwritable"), progress_bar(_say("backing_up")) as progress:
        done = restore(source, path, force=force, progress=progress, facts=of_users)
    if as_json:
        aside = None if done.aside is None else str(done.aside)
        print_json({**done._asdict(), "path": str(done.path), "aside": aside})
    else:
        _report_restore(source, done)


def _report_restore(source: Path, done: RestoredBackup) -> None:
    console().print(_say("restored", path=one_line(str(done.path)), source=one_line(str(source))))
    _print_counts(done.counts)
    console().print(_say("restored_digest" if done.compared else "restored_no_digest", digest=done.digest))
    if done.aside is not None:
        console().print(_say("restored_aside", path=one_line(str(done.aside))))


def _print_counts(counts: dict[str, int]) -> None:
    console().print("  " + _say("backup_holds", **{name: f"{count:,}" for name, count in counts.items()}))


def _file(store: str, otherwise: str) -> Path:
    """The file that the store is. Raises ``ConfigurationError`` with what to do for one that is elsewhere."""
    file = file_of(store)
    if file is None:
        elsewhere = otherwise if _moves(store) else "backup_needs_file"
        raise ConfigurationError(_say(elsewhere, url=repr(without_secrets(store))))
    return file


def _moves(store: str) -> bool:
    """Whether ``memwell move`` can do it: not for what is in a service, nor for what is gone with this process."""
    return not is_served(store) and scheme_of(composition(store).home)[0] != "memory"


@contextmanager
def _telling() -> Generator[None]:
    """A refusal inside is said in the reader's language."""
    # Loads the driver, which other commands do without.
    from memwell.storage.sqlite.backup import BackupRefused  # noqa: PLC0415

    try:
        yield
    except BackupRefused as refused:
        raise BackendError(_say(_REFUSALS[refused.code], **refused.values)) from refused
