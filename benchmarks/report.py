"""What a run found: tables on the screen, JSON for programs, Markdown for people."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw
import msgspec
import numpy as np
import usearch
from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).parent / "results"
_STARTED = time.monotonic()

console = Console(highlight=False)


@dataclass(frozen=True)
class Figure:
    """One promised figure: what it is, its target and what was measured, in words, and whether that is enough."""

    name: str
    target: str
    measured: str
    met: bool


@dataclass
class Grid:
    """A table of measurements, its cells already words."""

    title: str
    columns: list[str]
    rows: list[list[str]] = field(default_factory=list)
    note: str = ""

    def add(self, *cells: str) -> None:
        """Add a row."""
        self.rows.append(list(cells))


@dataclass
class Section:
    """What one benchmark found."""

    name: str
    grids: list[Grid] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    seconds: float = 0.0
    measured: str = ""
    """When, as a date."""


def step(text: str) -> None:
    """Say what is being done now, and how long the run has taken so far."""
    console.print(f"[dim]{time.monotonic() - _STARTED:6.1f} s[/]  {text}")


def show(section: Section) -> None:
    """Print the tables of a benchmark."""
    for grid in section.grids:
        table = Table(title=grid.title, title_justify="left", caption=grid.note or None, caption_justify="left")
        for number, column in enumerate(grid.columns):
            table.add_column(column, justify="left" if number == 0 else "right")
        for row in grid.rows:
            table.add_row(*row)
        console.print(table)


def show_figures(figures: Sequence[Figure]) -> None:
    """Print the last table: what was promised and what was measured."""
    table = Table(title="Figures", title_justify="left")
    for column in ("figure", "target", "measured", "met"):
        table.add_column(column)
    for figure in figures:
        table.add_row(figure.name, figure.target, figure.measured, "yes" if figure.met else "[bold red]NO[/]")
    console.print(table)


def facts() -> dict[str, Any]:
    """What the measurements were made with."""
    return {
        "cores": os.cpu_count(),
        "architecture": platform.machine(),
        "system": platform.system(),
        "python": platform.python_version(),
        "sqlite": apsw.sqlite_lib_version(),
        "numpy": np.__version__,
        "usearch": usearch.__version__,
        "msgspec": msgspec.__version__,
    }


def today() -> str:
    """The date in UTC."""
    return datetime.now(UTC).date().isoformat()


def save(sections: Sequence[Section], order: Sequence[str]) -> None:
    """Write the sections beside those of earlier runs, which stay as they are, in the order of their names."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "benchmarks.json"
    stored = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"sections": {}}
    stored["facts"] = facts()
    known = stored["sections"] | {section.name: asdict(section) for section in sections}
    stored["sections"] = {name: known[name] for name in order if name in known}
    path.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (RESULTS / "benchmarks.md").write_text(_markdown(stored), encoding="utf-8")


def _markdown(stored: dict[str, Any]) -> str:
    sections: list[dict[str, Any]] = list(stored["sections"].values())
    known = ", ".join(f"{name} {value}" for name, value in stored["facts"].items())
    lines = ["# Benchmarks", "", f"Made by `make bench`. {known}.", ""]
    lines += [
        "CPU is the time of the whole process, kernel included. Contenders took turns in small batches within one run;",
        "times are medians and ratios are medians of the rounds' ratios. Gaps under 20 % are noise.",
        "",
        "## Figures",
        "",
    ]
    figures = [figure for section in sections for figure in section["figures"]]
    rows = [[f["name"], f["target"], f["measured"], "yes" if f["met"] else "**NO**"] for f in figures]
    lines += _table(["figure", "target", "measured", "met"], rows)
    for section in sections:
        lines += ["", f"## {section['name']}", "", f"{section['measured']}, {section['seconds']:.0f} s."]
        for grid in section["grids"]:
            lines += ["", f"### {grid['title']}", "", *_table(grid["columns"], grid["rows"])]
            lines += ["", grid["note"]] if grid["note"] else []
    return "\n".join(lines) + "\n"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [
        "| " + " | ".join(columns) + " |",
        "|" + "---|" * len(columns),
        *("| " + " | ".join(row) + " |" for row in rows),
    ]


__all__ = [
    "RESULTS",
    "Figure",
    "Grid",
    "Section",
    "console",
    "facts",
    "save",
    "show",
    "show_figures",
    "step",
    "today",
]
