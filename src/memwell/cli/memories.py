"""The commands for a memory: remember, flush, recall, context, forget, undo, erase, audit, export, import, and so on."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text as Styled

import memwell
from memwell.cli.phrases import say
from memwell.cli.stores import (
    SpaceOption,
    Store,
    check_at_hand,
    check_exists,
    check_export,
    is_encrypted_file,
    is_served,
    naming_file,
    opened,
    space_of,
)
from memwell.cli.terminal import (
    AsJson,
    PlainTable,
    console,
    fact_table,
    hit_table,
    one_line,
    print_json,
    progress_bar,
    visible,
    warn,
)
from memwell.errors import ConfigurationError, InvalidInput, NotFound
from memwell.longterm.audit import Repaired
from memwell.longterm.relevance import MIN_RELEVANCE
from memwell.longterm.remembering import Rejection
from memwell.runtime.transfer import FORMATS, Imported, Progress, check_is_file, detect, export_jsonl
from memwell.runtime.transfer.files import PrivateFolder
from memwell.runtime.worker import pending_by_space
from memwell.settings import load_settings
from memwell.storage.scrubbing import scrub_pending
from memwell.storage.urls import without_secrets
from memwell.values import check_text, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from memwell.knowledge import Document, Found
    from memwell.longterm.recall import Recalled

app = typer.Typer()
_SQLITE = b"SQLite format 3\0"
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask. 不再询问。")]
Wait = Annotated[
    bool, typer.Option("--wait", help="Until nothing is left in the store's files. 等到存储文件中也不再留存。")
]


@app.command("remember")
def remember_command(
    texts: Annotated[list[str], typer.Argument(help="What to remember; - reads lines from the input. 要记住的内容。")],
    store: Store,
    space: SpaceOption = None,
    speaker: Annotated[str, typer.Option(help="Who said it. 谁说的。")] = "",
    session: Annotated[str, typer.Option(help="In which conversation. 属于哪个会话。")] = "",
    time: Annotated[str | None, typer.Option(help="When it was said, as ISO 8601. 什么时候说的。")] = None,
    kind: Annotated[str | None, typer.Option(help="Its kind. 种类。")] = None,
    ttl: Annotated[float | None, typer.Option(help="Deleted after this many seconds. 多少秒后消失。")] = None,
) -> None:
    """Remember something: on disk when this returns. 记住：命令返回时已经落盘。"""
    if len(texts) > 1 and _is_store(texts[0]):
        raise InvalidInput(say("text_is_store", text=shlex.quote(texts[0])))
    given = [line for text in texts for line in (_lines() if text == "-" else [text])]
    good, bad = _sorted_out(given)
    # Only these memories are flushed: documents of another process may have much pending work.
    with opened(store, space, make=True, work=False) as engine:
        done = engine.remember(good, speaker=speaker, session=session, time=_moment(time), kind=kind, ttl=ttl)
        # A service flushes them itself.
        if not is_served(store):
            with console(stderr=True).status(say("embedding")):
                engine.memory.flush()
    for id_ in done.ids:
        typer.echo(id_)
    for one in (*done.rejected, *bad):
        warn(say("refused", text=one_line(one.text), reasons="; ".join(one.reasons)))
    if bad or not done.ids:
        raise typer.Exit(1)


def _is_store(text: str) -> bool:
    """Whether a text is the path of an existing SQLite file."""
    try:
        with Path(text).open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except (OSError, ValueError):
        return False


def _lines() -> list[str]:
    """The lines of the input. Raises ``InvalidInput`` when it is not UTF-8, naming the line."""
    data = sys.stdin.buffer.read()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(say("input_not_utf8", line=data.count(b"\n", 0, error.start) + 1)) from None
    return [line for line in text.splitlines() if line.strip()]


def _sorted_out(texts: list[str]) -> tuple[list[str], list[Rejection]]:
    """The texts that can be stored, and rejections for the others."""
    good: list[str] = []
    bad: list[Rejection] = []
    for text in texts:
        try:
            good.append(check_text(text, "a memory's text"))
        except InvalidInput as error:
            bad.append(Rejection(text[:80], (str(error),)))
    return good, bad


@app.command("flush")
def flush_command(store: Store, space: SpaceOption = None) -> None:
    """Do all pending work: words, facts, vectors, and removing what was erased from the files.

    完成待处理的工作：词索引、事实、向量，并从文件中清除已删除的内容。
    """
    check_exists(store)
    left = done = 0
    with opened(store, space, work=False) as engine:
        if is_served(store):
            done = engine.pending().vectors
            engine.flush()
            console().print(say("flushed", count=f"{done:,}"))
            return
        wanted = [space_of(space)] if space else list(pending_by_space(engine.backend))
        for one in wanted:
            memory = engine.at(one)
            before = memory.pending().vectors
            left += _flushed(memory)
            done += before - memory.pending().vectors
        scrubbed = scrub_pending(engine.backend)
        if not scrubbed:
            warn(say("still_unscrubbed"))
    if left or not scrubbed:
        raise typer.Exit(1)
    console().print(say("flushed", count=f"{done:,}"))


def _flushed(memory: memwell.Engine) -> int:
    """Do the pending work of one space, and warn of what is left; how many memories that are."""
    name = one_line(" / ".join(memory.space))
    memory.memory.indexer.embed_threads = os.cpu_count() or 1
    with progress_bar(f"{say('flushing')} {name}") as progress:
        embedders = memory.memory.indexer.embedders
        if embedders.is_current():
            memory.flush(progress)
        else:
            # flush would re-embed all vectors, which is for reembed; here the stored embedder makes the missing ones.
            while memory.memory.indexer.work_off():
                progress(0, None)
            made_by = embedders.stored_model()
            if embedders.embedder_for(made_by) is None:
                warn(say("other_embedder", space=name, name=one_line(made_by or "?")))
    left = memory.memory.indexer.journal.pending().vectors
    if left:
        warn(say("not_flushed", space=name, count=f"{left:,}"))
    return left


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(say("bad_time", text=shown(text))) from None
    return moment if moment.tzinfo else moment.astimezone()


@app.command("recall")
def recall_command(
    query: Annotated[str, typer.Argument(help="What to look for. 要找什么。")],
    store: Store,
    space: SpaceOption = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many at most. 最多几条。")] = 5,
    explain: Annotated[bool, typer.Option(help="Every signal with its share. 每个信号及其份额。")] = False,
    speaker: Annotated[str | None, typer.Option(help="Only what this one said. 只要某人说的。")] = None,
    session: Annotated[str | None, typer.Option(help="Only of this conversation. 只要某个会话的。")] = None,
    since: Annotated[str | None, typer.Option(help="Said at or after. 从何时起。")] = None,
    until: Annotated[str | None, typer.Option(help="Said before. 到何时止。")] = None,
    as_of: Annotated[str | None, typer.Option(help="As it was known then. 当时所知。")] = None,
    min_relevance: Annotated[
        float, typer.Option(help="Only hits that are at least so likely to help, 0 to 1. 相关度下限，0 到 1。")
    ] = MIN_RELEVANCE,
    as_json: AsJson = False,
) -> None:
    """Find what was remembered, and say why it was found. 找回记忆，并说明理由。"""
    with opened(store, space) as engine:
        hits = engine.recall(
            query,
            limit=limit,
            speaker=speaker,
            session=session,
            since=_moment(since),
            until=_moment(until),
            as_of=_moment(as_of),
            min_relevance=min_relevance,
        )
        newer = {} if as_json else _newer(engine, hits)
    if as_json:
        print_json(hits)
    elif not hits:
        console().print(say("nothing_relevant" if min_relevance else "nothing_found"))
    else:
        console().print(hit_table(hits, load_settings().language, query=query, explain=explain, newer=newer))


def _newer(engine: memwell.Engine, hits: Iterable[Recalled]) -> dict[str, Recalled]:
    """The memories that supersede some hits, as far as they can be read."""
    found: dict[str, Recalled] = {}
    for id_ in {hit.superseded_by for hit in hits} - {""}:
        with suppress(NotFound):
            found[id_] = engine.get(id_)
    return found


@app.command("context")
def context_command(
    query: Annotated[str, typer.Argument(help="The question of the prompt. 提示词里的问题。")],
    store: Store,
    space: SpaceOption = None,
    thread: Annotated[str | None, typer.Option(help="The conversation that goes in. 放入哪个会话。")] = None,
    budget: Annotated[int, typer.Option(help="The most tokens. 最多多少词元。")] = 2000,
    system: Annotated[str | None, typer.Option(help="The system text. 系统提示。")] = None,
    profile: Annotated[str | None, typer.Option(help="Whose profile goes in. 放入谁的画像。")] = None,
    now: Annotated[str | None, typer.Option(help="When it is asked, if not just now. 提问时间，默认现在。")] = None,
    receipt: Annotated[bool, typer.Option(help="What went in, what did not, and why. 放入与未放入的清单。")] = False,
    as_json: AsJson = False,
) -> None:
    """Build the prompt for a question under a budget of tokens. 在词元预算内组装提示词。"""
    with opened(store, space) as engine:
        made = engine.context(query, thread=thread, budget=budget, system=system, profile=profile, now=_moment(now))
    if as_json:
        print_json({"messages": made.openai(), "tokens": made.tokens, "budget": made.budget, "receipt": made.receipt})
        return
    screen = console()
    for message in made.messages:
        screen.print(Styled.assemble((f"[{message.role}] ", "cyan"), visible(message.text)))
    screen.print(say("window_used", count=len(made.messages), used=made.tokens, budget=made.budget), style="dim")
    if receipt:
        print_json(made.receipt)


@app.command("forget")
def forget_command(
    ids: Annotated[list[str], typer.Argument(help="Which memories. 哪些记忆。")],
    store: Store,
    space: SpaceOption = None,
) -> None:
    """Hide memories at once; undo restores them. 立即隐藏记忆，可用 undo 恢复。"""
    with opened(store, space) as engine:
        hidden = engine.forget(ids)
    console().print(say("forgotten", count=len(hidden)))


@app.command("undo")
def undo_command(
    id_: Annotated[str, typer.Argument(metavar="ID", help="Which memory. 哪条记忆。")],
    store: Store,
    space: SpaceOption = None,
) -> None:
    """Take the last change of a memory back. 撤销一条记忆的上一次改动。"""
    with opened(store, space) as engine:
        restored = engine.undo(id_)
    console().print(Styled(visible(restored.text)))


@app.command("erase")
def erase_command(
    store: Store,
    ids: Annotated[list[str] | None, typer.Argument(help="Which memories. 哪些记忆。")] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="The whole memory of the space, and its documents. 整个空间的记忆与文档。")
    ] = False,
    space: SpaceOption = None,
    yes: Yes = False,
    wait: Wait = False,
) -> None:
    """Remove memories for good, from every index and file. 从所有索引与文件中彻底删除记忆。"""
    if bool(ids) == everything:
        raise InvalidInput(say("erase_what"))
    if not yes:
        typer.confirm(say("erase_all_sure" if everything else "erase_sure"), abort=True)
    with opened(store, space) as engine:
        done = engine.erase_all(wait=wait) if everything else engine.erase(ids or [], wait=wait)
    screen = console()
    screen.print(say("erased", memories=done.memories, derived=done.derived, versions=done.versions, facts=done.facts))
    if done.documents:
        screen.print(say("erased_documents", count=done.documents))
    if not done.scrubbed:
        screen.print(say("unscrubbed"))


@app.command("audit")
def audit_command(
    store: Store,
    space: SpaceOption = None,
    apply: Annotated[
        bool, typer.Option("--apply", help="Carry the plan out; it can be undone. 执行计划，可撤销。")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Audit a whole memory: junk, duplicates, contradictions, secrets. 体检：垃圾、重复、矛盾、泄密。"""
    with opened(store, space) as engine:
        with progress_bar(say("auditing")) as progress:
            report = engine.audit(progress=lambda done: progress(done, None))
        repaired = engine.repair(report.plan) if apply else Repaired(0)
    if as_json:
        found = {"counts": report.counts, "plan": report.plan, "repaired": repaired.done, "skipped": repaired.skipped}
        print_json(found)
        return
    console().print(Styled(visible(report.text(load_settings().language))))
    if apply:
        console().print(say("repaired", done=repaired.done, planned=len(report.plan), skipped=len(repaired.skipped)))


@app.command("export")
def export_command(
    path: Annotated[
        Path, typer.Argument(help="The file: .jsonl or .md; - prints JSON lines. 目标文件，- 为标准输出。")
    ],
    store: Store,
    space: SpaceOption = None,
    force: Annotated[bool, typer.Option("--force", "-f", help="Write over a file. 覆盖已有文件。")] = False,
    plaintext: Annotated[
        bool, typer.Option("--plaintext", help="Not encrypted, though the store is. 存储已加密时仍写明文。")
    ] = False,
) -> None:
    """Write memory and conversations to a file, without loss. 把记忆与会话无损地写入文件。"""
    if str(path) == "-":
        with opened(store, space) as engine:
            if not is_served(store) and engine.backend.encrypted and not plaintext:
                raise ConfigurationError(say("export_plaintext"))
            _export_to_output(engine, served=is_served(store))
        return
    check_export(path, force=force)
    with (
        opened(store, space) as engine,
        naming_file(path, "file_unwritable"),
        progress_bar(say("exporting")) as progress,
    ):
        options = {} if is_served(store) else {"plaintext": plaintext}
        count = engine.export(path, progress=progress, **options)
    console().print(say("exported", count=count, path=one_line(str(path))))


def _export_to_output(engine: memwell.Engine, *, served: bool) -> None:
    if not served:
        export_jsonl(engine.memory, sys.stdout.buffer)
        return
    # A download may break off, so nothing is printed before all of it is here.
    with PrivateFolder("export") as folder:
        file = folder / "export.jsonl"
        engine.export(file)
        with file.open("rb") as exported:
            shutil.copyfileobj(exported, sys.stdout.buffer)


@app.command("import")
def import_command(
    source: Annotated[
        str,
        typer.Argument(
            help="memwell, mem0, Letta, Zep, LangChain, MCP or ChatGPT file, mem0's folder, or a URL. 来源。"
        ),
    ],
    store: Store,
    space: SpaceOption = None,
    format_: Annotated[str | None, typer.Option("--format", help="Its format, if it is not seen. 文件格式。")] = None,
    user: Annotated[str | None, typer.Option(help="Only what belongs to this user of mem0. 只要某个用户的。")] = None,
    trusted: Annotated[
        bool, typer.Option("--trusted", help="Take memwell's own file at its word: trust, pins. 按原样导入自己的文件。")
    ] = False,
    table: Annotated[str, typer.Option(help="LangChain's table in a database. 数据库中的表。")] = "message_store",
    key_prefix: Annotated[str, typer.Option(help="LangChain's keys in Redis. Redis 键的前缀。")] = "message_store:",
) -> None:
    """Import a file, or a database of LangChain; again changes nothing. 导入，重复导入不会改变任何内容。"""
    if "://" in source:
        if trusted:
            raise InvalidInput(say("url_is_not_trusted"))
        if is_served(store):
            raise ConfigurationError(say("import_served", url=repr(without_secrets(store))))
    else:
        # Checked before the store is opened, so that a bad file does not leave a new store behind.
        with naming_file(Path(source), "file_unreadable"):
            check_is_file(Path(source))
            encrypted = not Path(source).is_dir() and is_encrypted_file(Path(source))
            format_ = format_ if encrypted else _format_of(Path(source), format_)
    # The work is done by flush, which shows how far it is.
    with opened(store, space, make=True, work=False) as engine:
        with naming_file(Path(source), "file_unreadable"), progress_bar(say("importing")) as progress:
            done = (
                _from_url(engine, source, format_, table, key_prefix, progress)
                if "://" in source
                else engine.import_file(Path(source), format=format_, user=user, trusted=trusted, progress=progress)
            )
        _flush_here(engine, store)
        _report_import(done)


def _report_import(done: Imported) -> None:
    console().print(say("imported", format=done.format, counts=_in_words(done.counts), known=done.known))
    for note in sorted((*done.skipped[:5], *done.problems[:20]), key=lambda one: one.number):
        warn(f"{note.number}: {visible(note.reason)}")
    for hint in done.hints:
        warn(visible(hint))
    if done.failed:
        raise typer.Exit(1)


def _flush_here(engine: memwell.Engine, store: str) -> None:
    """Do all pending work of a space on all processors, with a progress bar."""
    if not is_served(store):
        engine.memory.indexer.embed_threads = os.cpu_count() or 1
    with progress_bar(say("flushing")) as progress:
        engine.flush(progress)


def _format_of(path: Path, named: str | None) -> str:
    """The format of a file that can be read. Raises ``FileError``, ``InvalidInput`` for one that is not known."""
    if named is None:
        return detect(path)
    if named not in FORMATS:
        raise InvalidInput(say("unknown_format", given=repr(named), known=", ".join(FORMATS)))
    if not path.is_dir():
        path.open("rb").close()
    return named


def _in_words(counts: dict[str, int]) -> str:
    named = [say(f"new_{what}", number=f"{number:,}") for what, number in counts.items() if number]
    return ("、" if load_settings().language.startswith("zh") else ", ").join(named) or "0"


def _from_url(
    engine: memwell.Engine,
    source: str,
    format_: str | None,
    table: str,
    key_prefix: str,
    progress: Progress,
) -> Imported:
    if format_ not in (None, "langchain"):
        raise InvalidInput(say("url_is_langchain", format=visible(format_)))
    from memwell.runtime.transfer.langchain import import_redis, import_sql  # noqa: PLC0415 - slow to load

    if source.startswith(("redis://", "rediss://", "unix://")):
        return import_redis(engine.memory, source, key_prefix=key_prefix, progress=progress)
    return import_sql(engine.memory, source, table_name=table, progress=progress)


@app.command("profile")
def profile_command(
    store: Store,
    subject: Annotated[str, typer.Argument(help="Whose; the user's by default. 谁的画像。")] = "user",
    space: SpaceOption = None,
) -> None:
    """What is known of someone, with evidence. 某人的画像。"""
    language = load_settings().language
    with opened(store, space) as engine:
        known = engine.profile(subject, language=language)
    # The summary tells of messages without facts, or that nothing is known.
    console().print(Styled(visible(known.text(language) or known.summary(language))))


@app.command("facts")
def facts_command(
    store: Store,
    subject: Annotated[str, typer.Argument(help="Of whom or what; the user by default. 关于谁，默认为用户。")] = "user",
    space: SpaceOption = None,
    as_of: Annotated[str | None, typer.Option(help="As it held then. 当时成立的。")] = None,
    ended: Annotated[bool, typer.Option("--all", help="What no longer holds, too. 也包括已不成立的。")] = False,
    correct: Annotated[
        list[str] | None, typer.Option(metavar="RELATION=VALUE", help="Replace what holds by hand. 手动更正。")
    ] = None,
    retract: Annotated[
        list[str] | None, typer.Option(metavar="RELATION[=VALUE]", help="It was never true. 手动撤回。")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """The facts that hold of someone, since when, and by whose word. 某人的事实、起始时间与依据。"""
    if ended and as_of is not None:
        raise InvalidInput(say("facts_when"))
    if wrong := [one for one in correct or () if not all(one.partition("="))]:
        raise InvalidInput(say("facts_correct", given=repr(wrong[0])))
    with opened(store, space) as engine:
        with engine.backend.transaction():
            for one in correct or ():
                relation, _, value = one.partition("=")
                engine.facts.correct(subject, relation, value)
            for one in retract or ():
                relation, _, value = one.partition("=")
                engine.facts.retract(subject, relation, value or None)
        holding = engine.facts_about(subject, as_of=_moment(as_of))
        found = [fact for fact in engine.facts.history(subject) if fact.retired_at is None] if ended else holding
        evidence = _texts(engine, [source.record for fact in found for source in fact.evidence])
    if as_json:
        print_json(found)
    elif found:
        console().print(fact_table(found, evidence, load_settings().language))
    else:
        console().print(say("nothing_found"))


def _texts(engine: memwell.Engine, ids: list[str]) -> dict[str, str]:
    """The texts of memories by their ids, without forgotten ones."""
    texts: dict[str, str] = {}
    for id_ in dict.fromkeys(ids):
        with suppress(NotFound):
            texts[id_] = engine.get(id_).text
    return texts


# Documents: ingest, documents, ask, tune, and remove

_LONGEST = 300
_MEGABYTE = 1_000_000


@app.command("ingest")
def ingest_command(
    sources: Annotated[list[str], typer.Argument(help="Files, folders or web addresses. 文件、文件夹或网址。")],
    store: Store,
    space: SpaceOption = None,
    pattern: Annotated[
        list[str] | None, typer.Option("--pattern", "-p", help="Only files like this, such as *.md. 只要这类文件。")
    ] = None,
    keep_missing: Annotated[
        bool, typer.Option("--keep-missing", help="Keep what is gone from a folder. 保留文件夹中已删除的文档。")
    ] = False,
    private: Annotated[
        bool, typer.Option("--allow-private", help="Also addresses of your own network. 允许内网地址。")
    ] = False,
    most_mb: Annotated[
        int, typer.Option("--most-mb", min=1, help="The largest file in megabytes. 单个文件最大多少 MB。")
    ] = 50,
    as_json: AsJson = False,
) -> None:
    """Ingest documents; again, only those that changed. 导入文档；再次运行只处理变化的部分。"""
    with opened(store, space, make=True) as engine, progress_bar(say("ingesting")) as progress:
        done = engine.knowledge.ingest(
            *sources,
            patterns=tuple(pattern or ()),
            remove_missing=not keep_missing,
            most_bytes=most_mb * _MEGABYTE,
            allow_private=private,
            progress=progress,
        )
    if as_json:
        print_json(done)
    else:
        console().print(Styled(visible(done.in_words(load_settings().language))))
    if done.refused:
        raise typer.Exit(1)


@app.command("documents")
def documents_command(
    store: Store,
    space: SpaceOption = None,
    remove: Annotated[
        list[str] | None, typer.Option("--remove", help="Remove this one for good, by id or source. 彻底删除。")
    ] = None,
    wait: Wait = False,
    as_json: AsJson = False,
) -> None:
    """List the documents, or remove some. 列出或删除已导入的文档。"""
    with opened(store, space) as engine:
        known = engine.knowledge.documents()
        if remove:
            # The source of a file is its absolute path.
            wanted = {*remove, *(os.path.realpath(os.path.expanduser(one)) for one in remove)}
            ids = [one.id for one in known if one.id in wanted or one.source in wanted]
            if not ids:
                raise InvalidInput(say("no_such_document", name=repr(remove[0])))
            console().print(say("documents_removed", count=engine.knowledge.remove(*ids, wait=wait)))
            return
    if as_json:
        print_json(known)
        return
    if not known:
        console().print(say("no_documents"))
        return
    _print_documents(known)


def _print_documents(known: Sequence[Document]) -> None:
    table = PlainTable()
    # A document without a title is named by its path or address.
    add = table.prose if all(one.title for one in known) else table.whole
    add(say("document"))
    table.whole(say("pages"), say("chunks"), justify="right")
    table.whole(say("taken_in"), "id", style="dim")
    for one in known:
        pages = "" if one.pages is None else f"{one.pages:,}"
        name = Styled(one_line(one.title or one.source or one.id))
        table.add_row(name, pages, f"{one.chunks:,}", f"{one.time:%Y-%m-%d %H:%M}", one_line(one.id))
    console().print(table)


@app.command("ask")
def ask_command(
    question: Annotated[str, typer.Argument(help="What to ask the documents. 向文档提的问题。")],
    store: Store,
    space: SpaceOption = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many passages at most. 最多几段。")] = 5,
    passages: Annotated[
        bool, typer.Option("--passages", help="The passages alone, without an answer. 只要原文段落。")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Ask the documents: an answer with its sources, or that nothing is known. 向文档提问：答案与出处。"""
    with opened(store, space) as engine:
        if passages:
            found = engine.knowledge.recall(question, limit=limit)
            answer = None
        else:
            answer = engine.knowledge.answer(question, limit=limit)
            found = list(answer.sources)
    if as_json:
        print_json(found if answer is None else answer)
        return
    screen = console()
    if answer is not None:
        screen.print(Styled(visible(answer.text), style="bold"))
        if answer.note:
            screen.print(Styled(visible(answer.note), style="dim"))
    elif not found:
        screen.print(say("nothing_found"))
    for number, one in enumerate(found, 1):
        _print_found(number, one, whole=answer is None)


def _print_found(number: int, one: Found, *, whole: bool) -> None:
    language = load_settings().language
    screen = console()
    screen.print(Styled.assemble((f"[{number}] ", "cyan"), one_line(one.citation.in_words(language))))
    if whole:
        text = one.text if len(one.text) <= _LONGEST else f"{one.text[: _LONGEST - 1]}…"
        screen.print(Styled(visible(text)))
        screen.print(Styled(visible(one.why(language=language)), style="dim"))


@app.command("tune")
def tune_command(
    store: Store,
    space: SpaceOption = None,
    questions: Annotated[int, typer.Option(help="How many questions to generate. 生成多少个问题。")] = 100,
    apply: Annotated[
        bool, typer.Option("--apply", help="Chunk the documents again with the best size. 按最优方案重新切分。")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Measure which chunk size finds most in your own documents. 用你自己的文档测量哪种切分最好找。"""
    from memwell.knowledge.tuning import tune  # noqa: PLC0415 - loads numpy

    language = load_settings().language
    check_at_hand(store)
    with opened(store, space) as engine:
        if not engine.knowledge.count().documents:
            raise InvalidInput(say("no_documents"))
        with progress_bar(say("tuning")) as progress:
            tuned = tune(engine.knowledge, embedder=engine.embedder, questions=questions, progress=progress)
        if apply:
            with progress_bar(say("rechunking")) as progress:
                engine.knowledge.rechunk(tuned.best, progress=progress)
    if as_json:
        print_json(tuned)
        return
    console().print(Styled(visible(tuned.table(language))))
