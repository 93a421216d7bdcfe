"""The command ``capacity``: how many machines a number of users needs."""

from __future__ import annotations

from typing import Annotated

import msgspec
import typer

from memwell.cli.phrases import say
from memwell.cli.terminal import Listing, console
from memwell.runtime.capacity import Load, Machine, Plan, PlanLine, as_mapping, figures, plan
from memwell.settings import load_settings

app = typer.Typer()
_SMALL = 10.0
_LINES = {
    "records": "capacity_records",
    "requests": "capacity_requests",
    "kept": "capacity_kept",
    "cores_memwell": "capacity_cores_memwell",
    "cores_embedding": "capacity_cores_embedding",
    "cores_store": "capacity_cores_store",
    "memory_pools": "capacity_memory_pools",
}
_BASES = {
    "measured": "capacity_measured",
    "extrapolated": "capacity_extrapolated",
    "assumed": "capacity_assumed",
}
_NOTES = {
    "one_file": "capacity_one_file",
    "no_replicas": "capacity_no_replicas",
    "distributed": "capacity_distributed",
}
_PHRASES = {
    "capacity_machines": ("{own} for memwell, {store} for {engine}.", "memwell 需要 {own}，{engine} 需要 {store}。"),
    "machines_with_files": (
        "{own} for memwell; {engine} lies in files there and needs none of its own.",
        "memwell 需要 {own}；{engine} 的数据就在本机文件里，不另需机器。",
    ),
}
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
    json: Annotated[bool, typer.Option("--json", help="For programs. 输出 JSON。")] = False,
) -> None:
    """How many machines for so many users, from measured costs. 按实测成本估算需要几台机器。"""
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
    if json:
        typer.echo(msgspec.json.format(msgspec.json.encode(as_mapping(made))).decode())
        return
    _show(made, load_settings().language)


def _show(made: Plan, language: str) -> None:
    screen = console()
    table = Listing()
    table.prose(say("capacity_what", language))
    table.whole(say("capacity_amount", language), justify="right")
    table.whole(say("capacity_basis", language))
    for line in made.lines:
        table.add_row(say(_LINES[line.what], language), _amount(line, language), say(_BASES[line.basis], language))
    screen.print(table)
    screen.print(_machines(made, language))
    for note in made.notes:
        screen.print(say(_NOTES[note], language), style="yellow")
    known = figures()
    screen.print(say("capacity_source", language, date=known.measured, machine=_measured_on(language)), style="dim")


def _machines(made: Plan, language: str) -> str:
    chinese = language.startswith("zh")
    own, store = (f"{count:,} {_MACHINES[chinese][count != 1]}" for count in (made.machines, made.store_machines))
    key = "capacity_machines" if made.store_machines else "machines_with_files"
    return _PHRASES[key][chinese].format(own=own, store=store, engine=made.engine)


def _measured_on(language: str) -> str:
    """What the costs were measured on, in the reader's language as far as its words are known."""
    machine = figures().machine
    if language.startswith("zh"):
        for english, chinese in _MACHINE_IN_CHINESE:
            machine = machine.replace(english, chinese)
    return machine


def _amount(line: PlanLine, language: str) -> str:
    number = f"{line.amount:,.0f}" if line.amount >= _SMALL or line.unit == "" else f"{line.amount:,.2f}"
    unit = _UNITS_IN_CHINESE.get(line.unit, line.unit) if language.startswith("zh") else line.unit
    return f"{number} {unit}".strip()
