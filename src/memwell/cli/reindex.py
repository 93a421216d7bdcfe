"""The command ``reindex``: compares a vector engine with the store's rows and repairs it, or rebuilds it from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from memwell.cli.stores import SpaceOption, Store, existing, space_of
from memwell.cli.terminal import AsJson, console, one_line, print_json, progress_bar
from memwell.errors import ConfigurationError
from memwell.records import Space
from memwell.settings import load_settings
from memwell.storage.protocols import Backend

if TYPE_CHECKING:
    # Loads numpy, which most commands do without.
    from memwell.storage.composed import ComposedBackend

app = typer.Typer()

_PHRASES = {
    "nothing_beside": (
        "Nothing stands beside this store: all of it is in one place. An engine is named so: --store {example}",
        "这个存储没有附属部分，全部内容都在一处。附属引擎这样指定：--store {example}",
    ),
    "reconciling": ("Comparing", "正在比对"),
    "rebuilding": ("Feeding", "正在写入"),
    "reconciled": (
        "{name} agrees with the store. Records it was without: {missing}; records it had too many: {orphans}",
        "{name} 与存储一致。此前缺少的记录：{missing} 条；多出的记录：{orphans} 条",
    ),
    "rebuilt": (
        "{name} was made anew from the rows of the store. Spaces: {spaces}",
        "{name} 已根据存储中的数据重建。空间：{spaces} 个",
    ),
    "blobs": ("Bytes that nobody refers to were removed: {count}", "已删除无人引用的二进制对象：{count} 个"),
}


def _say(key: str, /, **values: object) -> str:
    english, chinese = _PHRASES[key]
    return (chinese if load_settings().language.startswith("zh") else english).format(**values)


@app.command("reindex")
def reindex_command(
    store: Store,
    space: SpaceOption = None,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Drop all that it holds and feed it anew. 清空后重新写入。")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Bring what stands beside a store to agree with its rows. 让存储的附属部分与数据一致。"""
    with existing(store) as backend:
        composed = _composed(backend)
        found = _mended(composed, None if space is None else space_of(space), rebuild=rebuild)
    if as_json:
        print_json(found)
    else:
        _report(found)


def _composed(backend: Backend) -> ComposedBackend:
    # A store of one part never loads what it is made of.
    from memwell.storage.composed import ComposedBackend  # noqa: PLC0415

    if not isinstance(backend, ComposedBackend):
        raise ConfigurationError(_say("nothing_beside", example="memwell.db,index=milvus:vectors.db"))
    return backend


def _mended(composed: ComposedBackend, space: Space | None, *, rebuild: bool) -> dict[str, object]:
    found: dict[str, object] = {}
    if composed.follower is not None:
        found["name"] = composed.follower.attached.name
        with progress_bar(_say("rebuilding" if rebuild else "reconciling")) as progress:
            if rebuild:
                found["spaces"] = composed.rebuild(space, progress)
            else:
                done = composed.follower.reconcile(space, progress)
                found |= {"missing": done.missing, "orphans": done.orphans}
    removed = composed.remove_unreferenced(space)
    return found if removed is None else {**found, "blobs_removed": removed}


def _report(found: dict[str, object]) -> None:
    screen = console()
    if "name" in found:
        screen.print(one_line(_say("rebuilt" if "spaces" in found else "reconciled", **found)))
    if "blobs_removed" in found:
        screen.print(_say("blobs", count=found["blobs_removed"]))
