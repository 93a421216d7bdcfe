"""The commands for documents: ingest, documents, ask, tune, and remove."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text as Styled

from memwell.cli.phrases import say
from memwell.cli.stores import SpaceOption, Store, check_at_hand, opened
from memwell.cli.terminal import AsJson, PlainTable, console, one_line, print_json, progress_bar, visible
from memwell.errors import InvalidInput
from memwell.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memwell.knowledge import Document, Found

app = typer.Typer()
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
            console().print(say("documents_removed", count=engine.knowledge.remove(*ids)))
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
