"""A progress bar for long work, on the error stream so that it never mixes with what a command prints."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from memwell.cli.terminal import console


@contextmanager
def progress_bar(label: str) -> Generator[Callable[[int, int | None], None]]:
    """Give a function that is told how far it is and how far it goes, None when that is not known."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    screen = console(stderr=True)
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as bars:
        task = bars.add_task(label, total=None)

        def tell(done: int, total: int | None) -> None:
            bars.update(task, completed=done, total=total)

        yield tell


__all__ = ["progress_bar"]
