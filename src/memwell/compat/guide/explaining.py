"""The guide's two functions that show why contexts are limited: a table of what attention costs, and a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from memwell.compat.guide.pictures import attention_cost, context_figure
from memwell.errors import InvalidInput
from memwell.plotting import save
from memwell.values import check_count, shown

if TYPE_CHECKING:
    from memwell.plotting import Figure

SEQUENCE_LENGTHS = (512, 1024, 2048, 4096, 8192)


def demonstrate_attention_complexity(seq_lengths: Sequence[int] = SEQUENCE_LENGTHS) -> list[dict[str, float]]:
    """Print what attention costs at each length, for one head of one layer, and return the figures.

    Raises ``InvalidInput`` for a length that is no whole number above 0.
    """
    if isinstance(seq_lengths, str) or not isinstance(seq_lengths, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"seq_lengths must be a list of lengths, not {shown(seq_lengths)}")
    rows: list[dict[str, float]] = []
    print("序列长度 vs 计算复杂度:")  # noqa: T201 - it is made to be read
    for length in seq_lengths:
        pairs, megabytes = attention_cost(check_count(length, "a length", least=1))
        print(f"序列长度: {length:6d} | 计算量: {pairs:12d} | 内存(MB): {megabytes:10.2f}")  # noqa: T201
        rows.append({"sequence_length": length, "computations": pairs, "memory_mb": megabytes})
    return rows


def plot_context_length_evolution(
    path: str | Path | None = "context_length_evolution.png", *, language: str = "zh"
) -> Figure:
    """Draw how long contexts have become, write it as PNG unless ``path`` is None, and return the figure.

    Raises ``MissingDependency`` without matplotlib, ``FileError`` when the file cannot be written.
    """
    fig = context_figure(language)
    if path is not None:
        save(fig, path)
    return fig


__all__ = ["SEQUENCE_LENGTHS", "demonstrate_attention_complexity", "plot_context_length_evolution"]
