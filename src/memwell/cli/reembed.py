"""``memwell reembed``: other vectors for a whole store, while those that are there still serve."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text as Styled

from memwell.cli.phrases import say
from memwell.cli.stores import SpaceOption, Store, check_at_hand, check_exists, space_of
from memwell.cli.terminal import console, one_line, progress_bar
from memwell.settings import load_settings

Workers = Annotated[
    int | None,
    typer.Option("--workers", "-w", min=1, help="How many processes; as many as cores by default. 进程数。"),
]


def reembed_command(
    store: Store,
    embedder: Annotated[
        str | None, typer.Option(help="local, minilm or use; that of the settings by default. 嵌入模型。")
    ] = None,
    space: SpaceOption = None,
    workers: Workers = None,
) -> None:
    """Make all vectors anew by another embedder; the old ones serve meanwhile. 更换嵌入模型重建向量，期间旧的照用。"""
    check_at_hand(store)
    check_exists(store)
    # Loads numpy and the models, which other commands do without.
    from memwell.runtime.batch.reembedding import reembed  # noqa: PLC0415

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
