"""The plot of what tuning tried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from memwell.errors import InvalidInput
from memwell.knowledge.tuning.results import Trial, Tuned
from memwell.plotting import figure, save

Axes = Any
"""matplotlib's: the types it comes with leave the options of its methods open, so naming it here would check nothing."""

_COLOURS = ("#1b6ca8", "#d1793a", "#3b8f5a", "#8a5ba6", "#7a7a7a")
_APART = 0.07  # of the way from one size to the next
_ADVISED, _IN_USE = "#c0392b", "#333333"


def draw(tuned: Tuned, words: Mapping[str, str], path: str | Path) -> Path:
    """Draw the held-out scores: by size, and beside that by the way of asking. See ``Tuned.plot``."""
    if not tuned.trials:
        raise InvalidInput("there is nothing to draw: the documents gave no questions")
    way = (tuned.trials[0].expand, tuned.trials[0].rerank)
    cuts = [one for one in tuned.trials if (one.expand, one.rerank) == way]
    asked = [one for one in tuned.trials if one.chunking == tuned.best]
    several = len(asked) > 1
    fig = figure(11.0 if several else 7.0, 4.6)
    panels = fig.subplots(1, 2, width_ratios=(3, 2)) if several else [fig.subplots()]
    _draw_sizes(panels[0], cuts, tuned, words)
    if several:
        _draw_ways(panels[1], asked, tuned, words)
    fig.suptitle(words["title"])  # pyright: ignore[reportUnknownMemberType] - of its further options
    return save(fig, path)


def _draw_sizes(axes: Axes, trials: Sequence[Trial], tuned: Tuned, words: Mapping[str, str]) -> None:
    sizes = sorted({one.chunking.tokens for one in trials})
    for number, share in enumerate(sorted({_share(one) for one in trials})):
        line = sorted((one for one in trials if _share(one) == share), key=lambda one: one.chunking.tokens)
        # A little apart, so that the error bars of one line do not hide those of the other.
        places = [sizes.index(one.chunking.tokens) + _APART * number for one in line]
        # A point alone is what is in use, and is named by its ring.
        label = words["overlap_line"].format(share=share) if len(line) > 1 or len(sizes) == 1 else None
        _bars(axes, places, line, label, _COLOURS[number % len(_COLOURS)])
        for place, one in zip(places, line, strict=True):
            _mark(axes, place, one, tuned, words)
    axes.set_xticks(range(len(sizes)), [str(size) for size in sizes])
    axes.set_xlabel(words["size_axis"])
    axes.set_ylabel(words["score_axis"])
    axes.set_xlim(-0.4, len(sizes) - 0.4)
    axes.grid(axis="y", alpha=0.3)
    axes.legend(loc="best", fontsize="small")


def _share(trial: Trial) -> int:
    """The overlap in per cent, to the nearest five: whole tokens do not give the share exactly."""
    return 5 * round(20 * trial.chunking.overlap / trial.chunking.tokens)


def _bars(axes: Axes, places: Sequence[float], trials: Sequence[Trial], label: str | None, colour: str) -> None:
    scores = [one.held_out.score for one in trials]
    away = [
        [one.held_out.score - one.held_out.low for one in trials],
        [one.held_out.high - one.held_out.score for one in trials],
    ]
    axes.errorbar(places, scores, yerr=away, label=label, color=colour, marker="o", capsize=3, linewidth=1.5)


def _mark(axes: Axes, place: float, trial: Trial, tuned: Tuned, words: Mapping[str, str]) -> None:
    """Ring what is advised and what is in use, each named once in the legend."""
    rings = ((tuned.best, "advised", _ADVISED, 190), (tuned.in_use, "in_use", _IN_USE, 90))
    for chunking, name, colour, size in rings:
        if trial.chunking == chunking:
            axes.scatter(
                [place],
                [trial.held_out.score],
                s=size,
                facecolors="none",
                edgecolors=colour,
                linewidths=1.6,
                label=words[name],
                zorder=5,
            )


def _draw_ways(axes: Axes, trials: Sequence[Trial], tuned: Tuned, words: Mapping[str, str]) -> None:
    def yes(value: bool) -> str:
        return words["yes" if value else "no"]

    names = [words["way"].format(expand=yes(one.expand), rerank=yes(one.rerank)) for one in trials]
    places = range(len(trials))
    scores = [one.held_out.score for one in trials]
    away = [
        [one.held_out.score - one.held_out.low for one in trials],
        [one.held_out.high - one.held_out.score for one in trials],
    ]
    is_advised = [(one.expand, one.rerank) == (tuned.expand, tuned.rerank) for one in trials]
    axes.barh(
        places, scores, xerr=away, color=[_ADVISED if one else _COLOURS[0] for one in is_advised], alpha=0.8, capsize=3
    )
    axes.set_yticks(places, names)
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.set_title(words["ways"])
    axes.set_xlabel(words["score_axis"])


__all__ = ["draw"]
