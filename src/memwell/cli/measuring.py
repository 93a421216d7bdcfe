"""The commands ``capacity``, which estimates machines, and ``bench recall``, which measures recall on a data set."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memwell.cli.phrases import say
from memwell.cli.stores import check_exists, existing
from memwell.cli.terminal import AsJson, Commands, PlainTable, console, one_line, print_json, progress_bar
from memwell.runtime.capacity import Load, Machine, Plan, PlanLine, figures, plan
from memwell.settings import load_settings

if TYPE_CHECKING:
    from memwell.runtime.evaluation import Evaluation, Scores

# Capacity

app = typer.Typer()
_SMALL = 10.0
_MACHINES = (("machine", "machines"), ("台机器", "台机器"))
_UNITS_IN_CHINESE = {"cores": "核", "/s": "次/秒"}
_MACHINE_IN_CHINESE = (
    (" cores", " 核"),
    (", client and engine on one machine", "，客户端与引擎在同一台机器上"),
    (" (", "（"),
    ("),", "）,"),
    (", ", "，"),
)


@app.command("capacity")
def capacity_command(
    users: Annotated[int, typer.Option(help="How many users. 用户数。")] = 1_000,
    engine: Annotated[str, typer.Option(help="Which of the engines that were measured. 存储引擎。")] = "postgres",
    memories: Annotated[int, typer.Option(help="Memories of a user. 每个用户的记忆数。")] = 500,
    messages: Annotated[int, typer.Option(help="Messages kept for a user. 每个用户保留的消息数。")] = 2_000,
    remembers: Annotated[float, typer.Option(help="Remembered by a user in a day. 每天记住几条。")] = 10.0,
    recalls: Annotated[float, typer.Option(help="Recalls of a user in a day. 每天回忆几次。")] = 20.0,
    said: Annotated[float, typer.Option(help="Messages of a user in a day. 每天几条消息。")] = 40.0,
    peak: Annotated[
        float, typer.Option(help="The busiest minute, as a multiple of the mean. 高峰为均值的几倍。")
    ] = 4.0,
    active: Annotated[float, typer.Option(help="The share of users in the busiest hour. 最忙一小时的活跃比例。")] = 0.1,
    local_embedder: Annotated[
        bool, typer.Option(help="Texts are embedded on these machines. 在这些机器上做嵌入。")
    ] = True,
    cores: Annotated[float, typer.Option(help="Cores of one machine. 每台机器的核数。")] = 8.0,
    memory_gb: Annotated[float, typer.Option(help="Its memory. 内存。")] = 32.0,
    disk_gb: Annotated[float, typer.Option(help="Its disk. 磁盘。")] = 500.0,
    fill: Annotated[float, typer.Option(help="How full it may be at the peak. 高峰时最多用到几成。")] = 0.5,
    as_json: AsJson = False,
) -> None:
    """Estimate how many machines the users need, from measured costs. 按实测成本估算需要几台机器。"""
    load = Load(
        users=users,
        memories=memories,
        messages=messages,
        remembers_per_day=remembers,
        recalls_per_day=recalls,
        messages_per_day=said,
        peak=peak,
        active=active,
        local_embedder=local_embedder,
    )
    made = plan(load, engine, machine=Machine(cores=cores, memory_gb=memory_gb, disk_gb=disk_gb, fill=fill))
    if as_json:
        print_json(made)
    else:
        _show(made, load_settings().language)


def _show(made: Plan, language: str) -> None:
    screen = console()
    table = PlainTable()
    table.prose(say("capacity_what", language))
    table.whole(say("capacity_amount", language), justify="right")
    table.whole(say("capacity_basis", language))
    for line in made.lines:
        table.add_row(
            say(f"capacity_{line.what}", language), _amount(line, language), say(f"capacity_{line.basis}", language)
        )
    screen.print(table)
    screen.print(_machines(made, language))
    for note in made.notes:
        screen.print(say(f"capacity_{note}", language), style="yellow")
    known = figures()
    screen.print(say("capacity_source", language, date=known.measured, machine=_measured_on(language)), style="dim")


def _machines(made: Plan, language: str) -> str:
    chinese = language.startswith("zh")
    own, store = (f"{count:,} {_MACHINES[chinese][count != 1]}" for count in (made.machines, made.store_machines))
    key = "capacity_machines" if made.store_machines else "machines_with_files"
    return say(key, language, own=own, store=store, engine=made.engine)


def _measured_on(language: str) -> str:
    """The machine that the costs were measured on, in the reader's language."""
    machine = figures().machine
    if language.startswith("zh"):
        for english, chinese in _MACHINE_IN_CHINESE:
            machine = machine.replace(english, chinese)
    return machine


def _amount(line: PlanLine, language: str) -> str:
    number = f"{line.amount:,.0f}" if line.amount >= _SMALL or line.unit == "" else f"{line.amount:,.2f}"
    unit = _UNITS_IN_CHINESE.get(line.unit, line.unit) if language.startswith("zh") else line.unit
    return f"{number} {unit}".strip()


# Benchmarks

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
