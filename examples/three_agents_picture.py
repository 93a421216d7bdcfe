"""The picture of who knows what: one SVG file, without scripts and without anything from elsewhere."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

ROLES = ("planner", "researcher", "critic")
COLOURS = {"planner": "#2563eb", "researcher": "#0f766e", "critic": "#be185d", "customer": "#57534e"}
TINTS = {"planner": "#eff6ff", "researcher": "#f0fdfa", "critic": "#fdf2f8"}
INK, SOFT, LINE, PAPER = "#1c1917", "#6b6560", "#d6d3d1", "#fafaf9"
WIDTH, MARGIN, GAP = 1200, 40, 30
COLUMN = (WIDTH - 2 * MARGIN - 2 * GAP) / 3

LABELS: dict[str, dict[str, Any]] = {
    "en": {
        "title": "Who knows what",
        "subtitle": "Three agents, each with a memory that no other can open, and one blackboard they share",
        "private": "The {name}'s own memory",
        "only": "nobody else knows",
        "also": "on the blackboard, too",
        "aloud": "the others have heard it said",
        "hub": ("the hub: what one says", "all others on it hear"),
        "write": "reads and writes",
        "read": "reads only",
        "ended": "could read it until it left",
        "board": "The blackboard: what they know together",
        "said": "Who said what, and who heard it",
        "answers": "Who can answer it",
        "own": "from its own memory",
        "shared": "from the blackboard",
        "heard": "heard it said",
        "unknown": "does not know",
        "speaks": "says it",
        "hears": "hears it",
        "gone": "has left",
    },
    "zh": {
        "title": "谁知道什么",
        "subtitle": "三个智能体：各有一份别人打不开的记忆，另有一块共享的黑板",
        "private": "{name}自己的记忆",
        "only": "别人都不知道",
        "also": "也写在黑板上",
        "aloud": "别人听它说过",
        "hub": ("消息中心：一个说话", "其他的都能听到"),
        "write": "可读可写",
        "read": "只读",
        "ended": "离开之前只能读",
        "board": "黑板：大家共同知道的",
        "said": "谁说了什么，谁听到了",
        "answers": "谁能回答",
        "own": "来自自己的记忆",
        "shared": "来自黑板",
        "heard": "听别人说过",
        "unknown": "不知道",
        "speaks": "说",
        "hears": "听到",
        "gone": "已离开",
    },
}


@dataclass
class Said:
    """Something that was said: by which role, under which name, and which roles heard it."""

    id: str
    role: str
    name: str
    text: str
    heard_by: set[str]


@dataclass
class Note:
    """A memory, the role that wrote it down, and who else has it: ``only``, ``also`` (on the board) or ``aloud``."""

    text: str
    role: str
    others: str = "only"


@dataclass
class Picture:
    """What is drawn."""

    names: dict[str, str]
    private: dict[str, list[Note]]
    board: list[Note]
    grants: dict[str, bool]
    """Which roles may read the blackboard, and whether they may write on it."""
    said: list[Said]
    answers: list[tuple[str, dict[str, str]]]


def draw(picture: Picture, path: Path, language: str = "en") -> Path:
    """Write the picture to ``path``, which is overwritten."""
    path.write_text(_Canvas(picture, LABELS[language], language).svg(), encoding="utf-8")
    return path


def wrapped(text: str, width: float, size: float) -> list[str]:
    """The text in lines of at most ``width`` pixels, near enough: Chinese may break anywhere, other words between them."""
    lines, line = [""], 0.0
    for piece in _pieces(text):
        wide = sum(_em(character) for character in piece) * size
        if line + wide > width and lines[-1]:
            lines.append("")
            line, piece = 0.0, piece.lstrip()
        lines[-1] += piece
        line += wide
    return [one.rstrip() for one in lines]


def _pieces(text: str) -> Iterator[str]:
    word = ""
    for character in text:
        # A full stop or comma never begins a line.
        if word and (character == " " or (_is_wide(character) and not unicodedata.category(character).startswith("P"))):
            yield word
            word = ""
        word += character
    yield word


def _is_wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in "WF"


def _em(character: str) -> float:
    if _is_wide(character):
        return 1.0
    return 0.32 if character in " .,:;'ilj|!" else 0.7 if character.isupper() else 0.58


class _Canvas:
    def __init__(self, picture: Picture, labels: dict[str, Any], language: str) -> None:
        self.picture = picture
        self.labels = labels
        self.language = language
        self.parts: list[str] = []
        self.y = 0.0

    def svg(self) -> str:
        self._heading()
        self._private()
        agents_at = self._agents()
        self._arrows(agents_at)
        self._board()
        self._table(self.labels["said"], self._said_rows())
        self._table(self.labels["answers"], self._answer_rows())
        height = round(self.y + 16)
        fonts = "system-ui, -apple-system, 'Segoe UI', 'PingFang SC', 'Microsoft YaHei', 'Noto Sans CJK SC', sans-serif"
        arrows = "".join(
            f'<marker id="to-{role}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            f'orient="auto-start-reverse"><path d="M0 0 8 4 0 8z" fill="{COLOURS[role]}"/></marker>'
            for role in ROLES
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
            f'font-family="{fonts}" role="img" lang="{self.language}"><title>{escape(self.labels["title"])}</title>'
            f'<defs>{arrows}</defs><rect width="100%" height="100%" fill="{PAPER}"/>{"".join(self.parts)}</svg>\n'
        )

    # The parts, from top to bottom

    def _heading(self) -> None:
        self._text(MARGIN, 62, self.labels["title"], 34, weight=700)
        self._text(MARGIN, 94, self.labels["subtitle"], 17, SOFT)
        self.y = 122

    def _private(self) -> None:
        notes = {
            role: [(one, wrapped(one.text, COLUMN - 62, 15)) for one in self.picture.private[role]] for role in ROLES
        }
        height = 58 + max(sum(len(lines) * 21 + 32 for _, lines in found) for found in notes.values())
        for role in ROLES:
            x, colour = _left(role), COLOURS[role]
            self._box(x, self.y, COLUMN, height, TINTS[role], colour, radius=14)
            self._lock(x + 20, self.y + 19, colour)
            head = self.labels["private"].format(name=self._name(role))
            self._text(x + 46, self.y + 34, head, 16, colour, weight=650)
            at = self.y + 66
            for note, lines in notes[role]:
                self.parts.append(f'<circle cx="{x + 25}" cy="{at - 5}" r="3.5" fill="{colour}"/>')
                at = self._lines(x + 40, at, lines, 15, 21)
                alone = note.others == "only"
                self._text(
                    x + 40, at, self.labels[note.others], 12.5, colour if alone else SOFT, weight=650 if alone else 400
                )
                at += 32
            middle = x + COLUMN / 2
            self.parts.append(
                f'<path d="M{middle} {self.y + height}V{self.y + height + 26}" stroke="{colour}" stroke-width="2" '
                f'stroke-dasharray="2 5" stroke-linecap="round"/>'
            )
        self.y += height + 26

    def _agents(self) -> float:
        y = self.y + 46
        first, last = _left("planner") + COLUMN / 2, _left("critic") + COLUMN / 2
        self.parts.append(f'<path d="M{first} {y}H{last}" stroke="{LINE}" stroke-width="34"/>')
        for between, label in zip(((first + WIDTH / 2) / 2, (last + WIDTH / 2) / 2), self.labels["hub"], strict=True):
            self._text(between, y + 5, label, 14, INK, anchor="middle")
        for role in ROLES:
            x = _left(role) + COLUMN / 2
            self.parts.append(
                f'<circle cx="{x}" cy="{y}" r="46" fill="{COLOURS[role]}" stroke="{PAPER}" stroke-width="6"/>'
            )
            name = self._name(role)
            self._text(x, y + 5, name, 12.5 if len(name) > 4 else 17, "#fff", anchor="middle", weight=650)
            self._numbers(role, x + 58, y - 32)
        self.y = y + 46
        return self.y

    def _numbers(self, role: str, x: float, y: float) -> None:
        """The numbers of what the agent said, as they are listed below."""
        mine = [number for number, one in enumerate(self.picture.said, 1) if one.role == role]
        for place, number in enumerate(mine):
            self._chip(x + 24 * place, y, str(number), COLOURS[role])

    def _arrows(self, top: float) -> None:
        bottom = top + 84
        for role in ROLES:
            writes = self.picture.grants.get(role, False)
            x, end = _left(role) + COLUMN / 2, f"url(#to-{role})"
            start = f'marker-start="{end}"'
            # It points to whoever gets something: always the reader, and the board when it is written to.
            both = f'{start} marker-end="{end}"' if writes else start
            dashes = "" if writes else ' stroke-dasharray="7 6"'
            self.parts.append(
                f'<path d="M{x} {top + 8}V{bottom - 4}" stroke="{COLOURS[role]}" stroke-width="2.5"{dashes} {both}/>'
            )
            label = self.labels["write" if writes else "read" if role in self.picture.grants else "ended"]
            side = -14 if role == "critic" else 14
            anchor = "end" if role == "critic" else "start"
            self._text(x + side, bottom - 32, label, 14, COLOURS[role], anchor=anchor)
        self.y = bottom

    def _board(self) -> None:
        width = (WIDTH - 2 * MARGIN - 3 * 24) / 2
        cards = [(one, wrapped(one.text, width - 54, 15)) for one in self.picture.board]
        rows = [cards[place : place + 2] for place in range(0, len(cards), 2)]
        heights = [max(len(lines) for _, lines in row) * 21 + 48 for row in rows]
        total = 60 + sum(heights) + 14 * len(rows) + 10
        self._box(MARGIN, self.y, WIDTH - 2 * MARGIN, total, "#1f2f2a", "#8a6d4b", radius=12, stroke=6)
        self._text(MARGIN + 26, self.y + 40, self.labels["board"], 18, "#f5f5f4", weight=650)
        at, number = self.y + 60, 0
        for row, height in zip(rows, heights, strict=True):
            for place, (note, lines) in enumerate(row):
                x = MARGIN + 24 + place * (width + 24)
                self._box(x, at, width, height, "#2b3f38", "#48625a", radius=8)
                self.parts.append(
                    f'<rect x="{x}" y="{at}" width="6" height="{height}" rx="3" fill="{COLOURS[note.role]}"/>'
                )
                self._text(x + 22, at + 24, self._name(note.role), 12.5, "#a8bdb4", weight=600)
                self._lines(x + 22, at + 47, lines, 15, 21, "#f5f5f4")
                number += 1
            at += height + 14
        self.y += total + 54

    def _said_rows(self) -> list[tuple[str, str, str, dict[str, str]]]:
        rows: list[tuple[str, str, str, dict[str, str]]] = []
        for number, one in enumerate(self.picture.said, 1):
            marks = {role: "hears" if role in one.heard_by else "gone" for role in ROLES} | {one.role: "speaks"}
            rows.append((str(number), one.role, f"{one.name}\n{one.text}", marks))
        return rows

    def _answer_rows(self) -> list[tuple[str, str, str, dict[str, str]]]:
        return [
            ("?", "customer", text, {role: found.get(role, "unknown") for role in ROLES})
            for text, found in self.picture.answers
        ]

    def _table(self, title: str, rows: list[tuple[str, str, str, dict[str, str]]]) -> None:
        """Rows of what was said or asked, and how each agent stands to it."""
        column, first = 150.0, WIDTH - MARGIN - 3 * 150
        self._text(MARGIN, self.y, title, 20, weight=650)
        for place, role in enumerate(ROLES):
            x = first + column * (place + 0.5)
            self._text(x, self.y, self._name(role), 14, COLOURS[role], anchor="middle", weight=650)
        self.y += 14
        for chip, role, text, marks in rows:
            head, _, body = text.rpartition("\n")
            lines = wrapped(body, first - MARGIN - 60, 15)
            height = max(len(lines) * 21 + (20 if head else 0) + 22, 56)
            self.parts.append(f'<path d="M{MARGIN} {self.y}H{WIDTH - MARGIN}" stroke="{LINE}"/>')
            middle = self.y + height / 2
            self._chip(MARGIN + 14, self.y + (25 if head else 28), chip, COLOURS[role])
            at = self.y + (29 if head else 33)
            if head:
                self._text(MARGIN + 42, at, head, 13, COLOURS[role], weight=650)
                at += 20
            self._lines(MARGIN + 42, at, lines, 15, 21)
            for place, listener in enumerate(ROLES):
                self._mark(first + column * (place + 0.5), middle, marks[listener], COLOURS[listener])
            self.y += height
        self.parts.append(f'<path d="M{MARGIN} {self.y}H{WIDTH - MARGIN}" stroke="{LINE}"/>')
        self.y += 56

    def _mark(self, x: float, y: float, kind: str, colour: str) -> None:
        strong = kind in {"speaks", "own"}
        absent = kind in {"gone", "unknown"}
        fill = colour if strong else "none" if absent else PAPER
        edge = LINE if absent else colour
        self.parts.append(f'<circle cx="{x}" cy="{y - 8}" r="7" fill="{fill}" stroke="{edge}" stroke-width="2.5"/>')
        self._text(x, y + 16, self.labels[kind], 12, SOFT if absent else INK, anchor="middle")

    # Strokes

    def _name(self, role: str) -> str:
        return self.picture.names[role]

    def _text(
        self, x: float, y: float, text: str, size: float, colour: str = INK, *, anchor: str = "start", weight: int = 400
    ) -> None:
        self.parts.append(
            f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" fill="{colour}" text-anchor="{anchor}" '
            f'font-weight="{weight}">{escape(text)}</text>'
        )

    def _lines(self, x: float, y: float, lines: list[str], size: float, step: float, colour: str = INK) -> float:
        for line in lines:
            self._text(x, y, line, size, colour)
            y += step
        return y

    def _box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        fill: str,
        edge: str,
        *,
        radius: float,
        stroke: float = 1.5,
    ) -> None:
        self.parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{radius:g}" fill="{fill}" '
            f'stroke="{edge}" stroke-width="{stroke:g}"/>'
        )

    def _chip(self, x: float, y: float, text: str, colour: str) -> None:
        self.parts.append(f'<circle cx="{x:g}" cy="{y:g}" r="11" fill="{colour}"/>')
        self._text(x, y + 4.5, text, 12.5, "#fff", anchor="middle", weight=650)

    def _lock(self, x: float, y: float, colour: str) -> None:
        self.parts.append(
            f'<g transform="translate({x:g} {y:g})" fill="none" stroke="{colour}" stroke-width="2">'
            f'<rect y="7" width="15" height="11" rx="2.5" fill="{colour}"/><path d="M3 7V5a4.5 4.5 0 0 1 9 0v2"/></g>'
        )


def _left(role: str) -> float:
    return MARGIN + ROLES.index(role) * (COLUMN + GAP)
