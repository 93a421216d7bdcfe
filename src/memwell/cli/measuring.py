"""The command ``bench recall``, which measures recall on a data set."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memwell.cli.phrases import say
from memwell.cli.stores import check_exists, existing
from memwell.cli.terminal import Commands, PlainTable, console, one_line, progress_bar

if TYPE_CHECKING:
    from memwell.runtime.evaluation import Evaluation, Scores

bench = typer.Typer(cls=Commands, help="Measure memwell here. 在本机测量。", no_args_is_help=True)

_PUBLISHED: dict[str, list[tuple[str, str, str, str]]] = {
    "LoCoMo": [
        ("BM25, text only", "43.6", "57.4", "–"),
        ("BM25 with date, speaker and neighbours", "51.7", "67.6", "46.0"),
        ("MiniLM", "34.3", "50.0", "27.7"),
        ("min-max sum of the last two", "54.6", "71.3", "48.3"),
        ("best of 89 embedding models published (Nemotron-3-Embed-8B)", "–", "–", "56.5"),
    ],
    "LongMemEval, pooled": [("BM25, sessions", "68.8", "80.4", "–"), ("MiniLM, sessions", "53.6", "68.2", "–")],
    "madial_zh_user1": [
        ("BM25, pairs of characters", "50.4", "–", "50.4"),
        ("USE-multilingual", "56.1", "–", "56.1"),
        ("BGE-M3, by the data set's authors", "59.3", "–", "59.3"),
        ("OpenAI embeddings, by the data set's authors", "70.0", "–", "70.0"),
    ],
}
"""Published results on the same data: nDCG@10 and R@10 without adversarial questions, macro nDCG@10."""


@bench.callback()
def bench_root() -> None:
    """Measure memwell here. 在本机测量。"""


@bench.command("recall")
def recall_command(
    data: Annotated[Path, typer.Argument(help="LoCoMo, LongMemEval, or the common form, as JSON. 数据集文件。")],
    keep: Annotated[Path, typer.Option(help="Where the raw rankings go. 原始排名存放处。")] = Path("memwell-bench"),
    queries: Annotated[int | None, typer.Option(help="Only this many of each store. 每个库只问几个。")] = None,
    workers: Annotated[int, typer.Option("--workers", "-w", min=1, help="How many processes. 进程数。")] = 1,
    note_in: Annotated[
        str | None, typer.Option(help="A store whose overview shall show the result. 在哪个存储的概览中显示结果。")
    ] = None,
) -> None:
    """Remember a data set, ask its questions, and print how well they were answered. 用数据集测量召回。"""
    from memwell.runtime.evaluation import evaluate  # noqa: PLC0415 - loads the models

    if note_in is not None:
        check_exists(note_in)
    with progress_bar(say("measuring")) as progress:
        run = evaluate(data, progress=progress, most_queries=queries, workers=workers)
    screen = console()
    screen.print(
        say("measured", data=one_line(run.data), stores=run.stores, units=f"{run.units:,}", queries=f"{run.queries:,}")
    )
    screen.print(_overview(run))
    screen.print()
    screen.print(_by_type(run))
    screen.print(say("rankings_kept", path=one_line(str(run.write(keep)))))
    if note_in is not None:
        _note(run, note_in)


def _note(run: Evaluation, store: str) -> None:
    """Store the result for the overview of the store's service."""
    from memwell.runtime.evaluation import MEMWELL  # noqa: PLC0415 - loads the models
    from memwell.runtime.metrics import note_quality  # noqa: PLC0415
    from memwell.runtime.wire.running import Quality  # noqa: PLC0415

    scores = run.summaries[MEMWELL].answerable
    measured = Quality(
        data=run.data, ndcg10=scores.ndcg10, recall10=scores.recall10, queries=run.queries, time=datetime.now(UTC)
    )
    with existing(store) as backend:
        note_quality(backend.kv, measured)


def _table(*columns: str) -> PlainTable:
    table = PlainTable()
    table.prose("")
    table.whole(*columns, justify="right")
    return table


def _overview(run: Evaluation) -> PlainTable:
    table = _table("nDCG@10", "R@10", say("macro"))
    for way, found in run.summaries.items():
        scores = found.answerable
        table.add_row(way, _percent(scores.ndcg10), _percent(scores.recall10), _percent(found.macro))
    for name, *numbers in _PUBLISHED.get(run.data, ()):
        table.add_row(f"{say('elsewhere')} {name}", *numbers, style="dim")
    return table


def _by_type(run: Evaluation) -> PlainTable:
    kinds = list(next(iter(run.summaries.values())).by_type)
    table = _table(*kinds)
    for way, found in run.summaries.items():
        table.add_row(way, *(_both(found.by_type.get(kind)) for kind in kinds))
    return table


def _both(scores: Scores | None) -> str:
    return "–" if scores is None else f"{_percent(scores.ndcg10)} / {_percent(scores.recall10)}"


def _percent(value: float) -> str:
    return f"{100 * value:.1f}"
