"""``memwell batch`` and ``memwell reembed``: work over a whole store, on several processes, and restartable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text as Styled

from memwell.cli.phrases import say
from memwell.cli.stores import SpaceOption, Store, check_at_hand, check_exists, space_of
from memwell.cli.terminal import AsJson, Commands, Listing, console, one_line, print_json, progress_bar
from memwell.settings import load_settings

if TYPE_CHECKING:
    from memwell.runtime.batch import Batch

app = typer.Typer(
    cls=Commands, help="Work over a whole store, restartable. 对整个存储的批处理，可续跑。", no_args_is_help=True
)

Workers = Annotated[
    int | None,
    typer.Option("--workers", "-w", min=1, help="How many processes; as many as cores by default. 进程数。"),
]
Kept = Annotated[
    bool, typer.Option("--again/--kept", help="Begin again, or go on and print what was done. 重新做，或接着做。")
]


@app.callback()
def root() -> None:
    """Work over a whole store, restartable. 对整个存储的批处理，可续跑。"""


@app.command("audit")
def audit_command(store: Store, workers: Workers = None, again: Kept = False, as_json: AsJson = False) -> None:
    """Audit the memory of every space; nothing is changed. 体检每个空间的记忆，不作改动。"""
    _check(store)
    # Loads the engine, which other commands do without.
    from memwell.runtime.batch.upkeep import audits  # noqa: PLC0415

    results = _run(audits(store, workers=workers), say("auditing"), again)
    if as_json:
        print_json(results)
        return
    rows = [(one["space"], one["records"], sum(one["counts"].values())) for one in results]
    console().print(_table(("records", "found"), rows))


@app.command("consolidate")
def consolidate_command(store: Store, workers: Workers = None, again: Kept = False, as_json: AsJson = False) -> None:
    """Merge near duplicates and draw insights in every space; it can be undone. 合并近似记忆并归纳，可撤销。"""
    _check(store)
    from memwell.runtime.batch.upkeep import consolidation  # noqa: PLC0415 - as above

    results = _run(consolidation(store, workers=workers), say("consolidating"), again)
    if as_json:
        print_json(results)
        return
    rows = [(one["space"], one["before"], one["before"] - one["after"], len(one["insights"])) for one in results]
    console().print(_table(("records", "merged", "insights"), rows))


def _check(store: str) -> None:
    check_at_hand(store)
    check_exists(store)


def _run(batch: Batch, label: str, again: bool) -> list[dict[str, Any]]:
    """The results of the spaces that could be done; the others are named, and the command fails."""
    with progress_bar(label) as progress:
        outcome = batch.run(again=again, progress=progress)
    for failure in outcome.failures:
        where = one_line(" / ".join(failure.piece))
        message = say("batch_failed", space=where, error=one_line(failure.error))
        console(stderr=True).print(Styled(message, style="yellow"))
    if outcome.failures:
        raise typer.Exit(1)
    return list(outcome.results)


def _table(columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> Listing:
    table = Listing()
    table.whole(say("space"))
    table.whole(*map(say, columns), justify="right")
    for segments, *counts in rows:
        table.add_row(one_line(" / ".join(segments)), *(f"{count:,}" for count in counts))
    return table


def reembed_command(
    store: Store,
    embedder: Annotated[
        str | None, typer.Option(help="local, minilm or use; that of the settings by default. 嵌入模型。")
    ] = None,
    space: SpaceOption = None,
    workers: Workers = None,
) -> None:
    """Re-embed a store with another embedder; the old vectors serve meanwhile. 更换嵌入模型重建向量，期间旧的照用。"""
    check_at_hand(store)
    check_exists(store)
    # Loads numpy and the models, which other commands do without.
    from memwell.runtime.batch.upkeep import reembed  # noqa: PLC0415

    chosen = load_settings().embedder
    name = embedder or chosen
    with progress_bar(say("reembedding")) as progress:
        done = reembed(
            store, name, spaces=None if space is None else [space_of(space)], workers=workers, progress=progress
        )
    console().print(say("reembedded", records=f"{done.records:,}", spaces=f"{done.spaces:,}"))
    if name != chosen:
        console(stderr=True).print(Styled(say("reembed_setting", name=one_line(name)), style="yellow"))
    for left in done.left:
        where = one_line(" / ".join(left))
        console(stderr=True).print(Styled(say("reembed_left", space=where), style="yellow"))
    if done.left:
        raise typer.Exit(1)
