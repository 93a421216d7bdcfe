"""The commands for whole stores: ``backup``, ``move``, ``reindex``, ``reembed``, ``doctor`` and others."""

from __future__ import annotations

import os
import platform
import shlex
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer
from msgspec.structs import replace
from rich.console import Console
from rich.text import Text as Styled

from memwell.cli.phrases import say
from memwell.cli.stores import (
    SpaceOption,
    Store,
    check_at_hand,
    check_exists,
    existing,
    file_of,
    home_of,
    is_encrypted_file,
    is_served,
    naming_file,
    space_of,
)
from memwell.cli.terminal import (
    AsJson,
    PlainTable,
    console,
    one_line,
    print_json,
    progress_bar,
    progress_bars,
    visible,
    warn,
)
from memwell.errors import BackendError, ConfigurationError, InvalidInput, MemwellError
from memwell.longterm.journal import inner_space
from memwell.records import MAX_SEGMENTS, Space
from memwell.runtime.transfer import Moved, MoveRefused, move
from memwell.runtime.worker import listed_spaces, pending_by_space
from memwell.settings import Settings, load_settings
from memwell.storage import open_backend
from memwell.storage.protocols import Backend
from memwell.storage.scrubbing import pending_scrubs
from memwell.storage.urls import composition, scheme_of, without_secrets

if TYPE_CHECKING:
    # These load drivers and numpy, which most commands do without.
    from memwell.storage.composed import FollowedIndex
    from memwell.storage.sqlite.encryption import Secret

app = typer.Typer()

# Backups


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
        raise InvalidInput(say("backup_keep"))
    from memwell.storage.sqlite.backup import back_up  # noqa: PLC0415 - loads the driver

    with _translated(), naming_file(target, "file_unwritable"), progress_bar(say("backing_up")) as progress:
        if keep is not None or _is_folder(to):
            target.mkdir(parents=True, exist_ok=True)
        made = back_up(file, target, keep=keep, progress=progress, facts=of_users)
    if as_json:
        print_json({**made._asdict(), "path": str(made.path), "removed": [str(one) for one in made.removed]})
        return
    screen, size = console(), f"{made.size / 1e6:,.1f}"
    screen.print(say("backup_made", store=one_line(str(file_of(store))), path=one_line(str(made.path)), size=size))
    _print_counts(made.counts)
    screen.print(say("backup_checked"), style="green")
    screen.print(f"SHA-256 {made.digest}")
    if made.removed:
        screen.print(say("backup_removed", count=len(made.removed)))


def _is_folder(to: str) -> bool:
    """Whether a folder is meant: it is one, ends in a slash, or does not exist and has no ending."""
    path = Path(to)
    return to.endswith(("/", os.sep)) or path.is_dir() or not (path.suffix or path.exists())


@app.command("restore")
def restore_command(
    source: Annotated[Path, typer.Argument(metavar="FROM", help="A file that `backup` made. 备份文件。")],
    store: Store,
    force: Annotated[
        bool, typer.Option("--force", help="Move an existing store aside. 把已有的存储移到一旁。")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Replace a store by a checked backup. 把经过检查的备份放回存储的位置。"""
    path = _file(store, "restore_server")
    with naming_file(source, "file_unreadable"):
        source.open("rb").close()
    from memwell.storage.sqlite.backup import restore  # noqa: PLC0415 - loads the driver

    with _translated(), naming_file(path, "file_unwritable"), progress_bar(say("backing_up")) as progress:
        done = restore(source, path, force=force, progress=progress, facts=of_users)
    if as_json:
        aside = None if done.aside is None else str(done.aside)
        print_json({**done._asdict(), "path": str(done.path), "aside": aside})
        return
    screen = console()
    screen.print(say("restored", path=one_line(str(done.path)), source=one_line(str(source))))
    _print_counts(done.counts)
    screen.print(say("restored_digest" if done.compared else "restored_no_digest", digest=done.digest))
    if done.aside is not None:
        screen.print(say("restored_aside", path=one_line(str(done.aside))))


@app.command("rekey")
def rekey_command(
    store: Store,
    new_secret_file: Annotated[
        str | None, typer.Option(help="The file with the new secret; asked for without. 新密钥文件，缺省时提示输入。")
    ] = None,
    plaintext: Annotated[bool, typer.Option("--plaintext", help="Decrypt the store instead. 改为解密存储。")] = False,
) -> None:
    """Encrypt a store that is not in use, or give it another secret. 加密未在使用的存储，或更换其密钥。"""
    if plaintext and new_secret_file is not None:
        raise ConfigurationError(say("rekey_contradicts"))
    check_exists(store)
    if composition(store, load_settings()).parts:
        command = f"memwell rekey --store {shlex.quote(composition(store).home)}"
        raise ConfigurationError(say("rekey_composed", url=repr(without_secrets(store)), command=command))
    file = _file(store, "backup_needs_file")
    from memwell.storage.sqlite.backup import rekey  # noqa: PLC0415 - loads the driver

    new = None if plaintext else _new_secret(new_secret_file)
    with _translated(), naming_file(file, "file_unwritable"), console(stderr=True).status(say("backing_up")):
        rekey(file, new)
    console().print(say("decrypted" if plaintext else "rekeyed", path=one_line(str(file))))


def _new_secret(file: str | None) -> Secret:
    from memwell.storage.sqlite.encryption import Secret  # noqa: PLC0415 - as above

    if file is not None:
        return Secret.in_file(file)
    if not sys.stdin.isatty():
        raise ConfigurationError(say("rekey_needs_file"))
    return Secret(typer.prompt(say("new_secret"), hide_input=True, confirmation_prompt=True, err=True))


def _print_counts(counts: dict[str, int]) -> None:
    console().print("  " + say("backup_holds", **{name: f"{count:,}" for name, count in counts.items()}))


def _file(store: str, otherwise: str) -> Path:
    """The file of the store. Raises ``ConfigurationError`` for a store on a server, with what to do."""
    file = file_of(store)
    if file is None:
        can_move = not is_served(store) and scheme_of(composition(store).home)[0] != "memory"
        raise ConfigurationError(say(otherwise if can_move else "backup_needs_file", url=repr(without_secrets(store))))
    return file


@contextmanager
def _translated() -> Generator[None]:
    """Refusals of a backup in the reader's language."""
    from memwell.storage.sqlite.backup import BackupRefused  # noqa: PLC0415 - loads the driver

    try:
        yield
    except BackupRefused as refused:
        raise BackendError(say(f"refused_{refused.code}", **refused.values)) from refused


# Moving

_COUNTED = ("spaces", "threads", "messages", "entries", "records", "blobs")
_MOST_NAMED = 10


@app.command("move")
def move_command(
    source: Annotated[str, typer.Argument(metavar="FROM", help="The store: a file or a URL. 来源存储。")],
    target: Annotated[str, typer.Argument(metavar="TO", help="An empty one, of any kind. 目标存储，须为空。")],
    seal: Annotated[
        bool,
        typer.Option("--seal", help="Close FROM to writers before the last pass. 最后一遍之前封存来源，使其拒绝写入。"),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Copy a store to another backend while it is in use, and check it. 在使用中把存储搬到另一种后端，并核对。"""
    check_at_hand(target)
    if target.strip().lower() == "memory:":
        raise ConfigurationError(say("move_to_memory", url=target))
    check_at_hand(source)
    check_exists(source)
    with (
        open_backend(source, settings=_own_secret(source, exists=True)) as here,
        open_backend(target, settings=_own_secret(target)) as there,
        progress_bars(say("moving_spaces"), say("moving")) as [spaces, progress],
    ):
        reason = f"moved to {without_secrets(target)}"
        try:
            done = move(here, there, seal=seal, reason=reason, progress=progress, spaces=spaces)
        except MoveRefused as error:
            raise ConfigurationError(say(f"move_{error.code}")) from error
        durable, lost = there.durable, here.encrypted and not there.encrypted
    if as_json:
        print_json(done)
    else:
        _report_move(done, one_line(without_secrets(source)), one_line(without_secrets(target)), durable=durable)
        if lost:
            warn(say("move_plaintext", target=one_line(without_secrets(target))))


def _own_secret(url: str, *, exists: bool = False) -> Settings:
    """The settings for one side of a move: a secret is for SQLite files, and a plain one that exists needs none."""
    chosen, file = load_settings(), home_of(url)
    if file is None or (exists and not is_encrypted_file(file)):
        return replace(chosen, secret="", secret_file="")
    return chosen


def _report_move(done: Moved, source: str, target: str, *, durable: bool) -> None:
    screen = console()
    names = {"source": source, "target": target}
    screen.print(say("moved", **names, counts=_counts(done), copied=f"{done.copied:,}"), style="green")
    if done.changing:
        named = ", ".join(one_line(" / ".join(space)) for space in done.changing[:_MOST_NAMED])
        more = "" if len(done.changing) <= _MOST_NAMED else f", … ({len(done.changing):,})"
        screen.print(say("move_changing", spaces=named + more), style="yellow")
    if not durable:
        screen.print(say("move_volatile", target=target), style="yellow")
    screen.print(say("move_sealed" if done.sealed else "move_open", source=source))


def _counts(done: Moved) -> str:
    named = say("move_counts", **{name: f"{getattr(done, name):,}" for name in _COUNTED})
    return named + (say("move_internal", count=f"{done.internal:,}") if done.internal else "")


@app.command("unseal")
def unseal_command(
    store: Annotated[str, typer.Argument(metavar="STORE", help="The store: a file or a URL. 存储文件或 URL。")],
) -> None:
    """Let a store that was sealed by a move take writes again. 解除封存，使存储可以重新写入。"""
    with existing(store) as backend:
        reason = backend.facts().get("sealed")
        if reason is not None:
            backend.seal(None)
        watched = backend.watched() is not None
        if watched:
            backend.watch(None)
    if watched and reason is None:
        console().print(say("unwatched", store=one_line(without_secrets(store))))
        return
    named = one_line(without_secrets(store))
    said = say("not_sealed", store=named) if reason is None else say("unsealed", store=named, reason=one_line(reason))
    console().print(said)


# Followers


@app.command("reindex")
def reindex_command(
    store: Store,
    space: SpaceOption = None,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Empty the engine and fill it again. 清空后重新写入。")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Build the vector graphs that PostgreSQL lacks; compare a vector engine with its store. 建向量索引，核对向量引擎。"""
    from memwell.storage.composed import ComposedBackend  # noqa: PLC0415 - loads numpy

    with existing(store) as backend:
        if isinstance(backend, ComposedBackend) and backend.follower is not None:
            found, said = _reindexed(backend.follower, space, rebuild=rebuild), "rebuilt" if rebuild else "reconciled"
        else:
            # PostgreSQL's alone has them; its driver is not always installed.
            graphs = getattr(backend.index, "graphs", None)
            if graphs is None:
                raise ConfigurationError(say("no_follower", example="memwell.db,index=milvus:vectors.db"))
            with progress_bar(say("building_graphs")) as progress:
                found, said = dict(zip(("built", "dropped"), graphs.tend(progress), strict=True)), "graphs_built"
    if as_json:
        print_json(found)
        return
    console().print(one_line(say(said, **found)))


def _reindexed(follower: FollowedIndex, segments: list[str] | None, *, rebuild: bool) -> dict[str, object]:
    space, name = None if segments is None else space_of(segments), follower.attached.name
    with progress_bar(say("rebuilding" if rebuild else "reconciling")) as progress:
        if rebuild:
            return {"name": name, "spaces": follower.rebuild(space, progress)}
        done = follower.reconcile(space, progress)
        return {"name": name, "missing": done.missing, "orphans": done.orphans}


@app.command("reembed")
def reembed_command(
    store: Store,
    embedder: Annotated[
        str | None, typer.Option(help="local, minilm or use; that of the settings by default. 嵌入模型。")
    ] = None,
    space: SpaceOption = None,
) -> None:
    """Re-embed a store with another embedder; the old vectors serve meanwhile. 更换嵌入模型重建向量，期间旧的照用。"""
    check_at_hand(store)
    check_exists(store)
    from memwell.runtime.reembedding import reembed  # noqa: PLC0415 - loads the models

    chosen = load_settings().embedder
    name = embedder or chosen
    with progress_bar(say("reembedding")) as progress:
        done = reembed(
            store,
            name,
            spaces=None if space is None else [space_of(space)],
            progress=progress,
        )
    console().print(say("reembedded", records=f"{done.records:,}", spaces=f"{done.spaces:,}"))
    if name != chosen:
        warn(say("reembed_setting", name=one_line(name)))
    for left in done.left:
        warn(say("reembed_left", space=one_line(" / ".join(left))))
    if done.left:
        raise typer.Exit(1)


# Checking a store

_PACKAGES = ("memwell", "apsw-sqlite3mc", "msgspec", "numpy", "usearch", "rs-bpe", "bpe-openai")
_COUNTS = (
    ("threads", "threads"),
    ("messages", "messages"),
    ("messages_indexed", "indexed"),
    ("entries", "entries"),
    ("records", "records"),
    ("vectors", "vectors"),
    ("blobs", "blobs"),
)
_SIZES = (("store", "size"), ("log", "log_size"), ("graphs", "graph_size"), ("caches", "cache_size"))


@app.command("doctor")
def doctor_command(store: Store, as_json: AsJson = False) -> None:
    """Check a store: versions, sizes, indexes, integrity. 检查存储：版本、大小、索引、完整性。"""
    screen = console()
    with existing(store) as backend:
        found = examine(backend, console(stderr=True) if as_json else screen)
    print_json(found) if as_json else report(found, screen)
    if found["problems"]:
        raise typer.Exit(1)


def examine(backend: Backend, console: Console) -> dict[str, Any]:
    """Check the whole store and collect its facts. A large one takes a while."""
    from memwell.models.local import LocalEmbedder  # noqa: PLC0415 - loads the weights

    with console.status(say("checking")):
        problems = backend.check()
        facts = of_users(backend)
        pending = [
            {"space": list(space), "words": one.words, "vectors": one.vectors}
            for space, one in pending_by_space(backend).items()
        ]
        scrubs = msgspec.to_builtins(pending_scrubs(backend))
        try:
            model = LocalEmbedder(load_settings().embedder).facts()  # pyright: ignore[reportArgumentType] - checked there
        except MemwellError as error:
            model = {"error": str(error)}
    found = {"versions": versions(), "store": facts, "pending": pending, "scrubs": scrubs, "embedder": model}
    return {**found, "problems": problems}


def of_users(backend: Backend) -> dict[str, Any]:
    """The facts of the store, without memwell's own conversations and spaces."""
    facts = backend.facts()
    spaces: list[dict[str, Any]] = facts.get("spaces", [])
    remembered = {Space(*one["space"]) for one in spaces} | set(listed_spaces(backend))
    for space in remembered:
        if len(space) < MAX_SEGMENTS:
            for own in backend.log.threads(inner_space(space)).items:
                facts["threads"] -= 1
                facts["messages"] -= own.messages
    if spaces:
        facts["spaces"] = [one for one in spaces if Space(*one["space"]) not in set(map(inner_space, remembered))]
    return facts


def versions() -> dict[str, str]:
    """The versions of Python, memwell and its main packages."""
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        # One of the two tables of tokens is enough.
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def report(found: dict[str, Any], console: Console) -> None:
    """Print what was found."""
    facts, problems = found["store"], found["problems"]
    tables = [_rows(say("versions"), found["versions"]), _rows(say("store"), _store_rows(facts, problems))]
    tables += [_parts(facts["parts"])] if "parts" in facts else []
    tables += [_spaces(facts["spaces"])] if facts.get("spaces") else []
    tables += [_rows(say("model"), _model_rows(found["embedder"]))] if "embedder" in found else []
    tables += [_pending(found["pending"])] if found.get("pending") else []
    for number, table in enumerate(tables):
        if number:
            console.print()
        console.print(table)
    if found.get("pending"):
        advice = "pending_read_only" if facts.get("read_only") else "pending_what_to_do"
        console.print(say(advice), style="yellow")
    scrubs = found.get("scrubs", {})
    if scrubs.get("count"):
        console.print(say("scrubs", count=f"{scrubs['count']:,}", since=scrubs["since"][:19]), style="yellow")
    console.print()
    for one in (facts, *facts.get("parts", {}).values()):
        if "durability" in one and one.get("durable") is False:
            console.print(say("not_durable", words=visible(one["durability"])), style="yellow")
    if facts.get("read_only"):
        console.print(say("unchecked"), style="yellow")
    for problem in problems:
        console.print(Styled.assemble(("• ", "red"), visible(problem)))
    key = "problems" if problems else "healthy"
    console.print(say(key, count=len(problems)), style="red" if problems else "green")


def _store_rows(facts: dict[str, Any], problems: list[str]) -> dict[str, str]:
    rows = {say("file"): visible(facts["path"])} if "path" in facts else {say("kind"): str(facts["kind"])}
    rows |= {name: str(facts[key]) for key, name in (("sqlite", "SQLite"), ("format", say("format"))) if key in facts}
    rows |= {say("encryption"): "AEGIS-256"} if facts.get("encrypted") else {}
    sizes = facts.get("bytes", {})
    if isinstance(sizes, int):
        sizes = {"store": sizes}
    rows |= {say(phrase): _bytes(sizes[key]) for key, phrase in _SIZES if key in sizes}
    if "checksums" in facts:
        rows[say("checksums")] = say("checksums_on" if facts["checksums"] else "checksums_off")
    rows |= {say("wall"): visible(facts["wall"])} if "wall" in facts else {}
    rows |= {say(phrase): f"{facts[key]:,}" for key, phrase in _COUNTS if key in facts}
    rows |= {say("durability"): visible(facts["durability"])} if "durability" in facts else {}
    rows[say("integrity")] = say("problems", count=len(problems)) if problems else say("ok")
    return rows


def _model_rows(facts: dict[str, Any]) -> dict[str, str]:
    if "error" in facts:
        return {say("kind"): visible(facts["error"])}
    sizes = sum(facts["weights_bytes"].values())
    return {
        say("kind"): one_line(facts["name"]),
        say("dimensions"): f"{facts['dimensions']}",
        say("weights"): _bytes(sizes),
        say("first_call"): say("first_call_cost", load=facts["load_seconds"], ms=facts["first_call_ms"]),
    }


def _rows(title: str, rows: dict[str, str]) -> PlainTable:
    table = PlainTable(title, header=False)
    table.whole("", style="dim")
    table.whole("")
    for name, value in rows.items():
        table.add_row(name, value)
    return table


def _spaces(spaces: list[dict[str, Any]]) -> PlainTable:
    table = PlainTable(say("spaces"))
    table.whole(say("space"))
    table.whole(say("records"), say("vectors"), justify="right")
    table.whole(say("search_by"))
    for one in spaces:
        vectors = f"{one['vectors']:,} × {one['dimensions']}" if one["vectors"] else "0"
        changes = one.get("changes_since_graph")
        by = say("exact") if changes is None else say("graph_behind" if changes else "graph_fresh", changes=changes)
        table.add_row(one_line(" / ".join(one["space"])), f"{one['records']:,}", vectors, by)
    return table


def _parts(parts: dict[str, dict[str, Any]]) -> PlainTable:
    """Where each part of the store is, and whether it answers."""
    table = PlainTable(say("parts"))
    table.whole(say("part"), say("place"), say("state"))
    for name, part in parts.items():
        table.add_row(name, one_line(str(part["place"])), one_line(_state_of(part)))
    return table


def _state_of(part: dict[str, Any]) -> str:
    if not part["answers"]:
        return say("part_away", why=part.get("why"))
    behind = part.get("spaces_behind", 0)
    if behind == 1:
        return say("part_behind_one")
    return say("part_behind", count=f"{behind:,}") if behind else say("part_answers")


def _pending(spaces: list[dict[str, Any]]) -> PlainTable:
    table = PlainTable(say("pending"))
    table.whole(say("space"))
    table.whole(say("without_words"), say("without_vectors"), justify="right")
    for one in spaces:
        table.add_row(one_line(" / ".join(one["space"])), f"{one['words']:,}", f"{one['vectors']:,}")
    return table


def _bytes(count: int) -> str:
    size = float(count)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.2f} GB"
