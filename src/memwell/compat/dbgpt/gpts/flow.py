"""A plan drawn as boxes and arrows, top to bottom, in SVG that stands in a page."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from html import escape

from memwell.compat.dbgpt.gpts.drawing import fitting, shortened, state_of, title_of
from memwell.compat.dbgpt.gpts.phrases import Phrases
from memwell.compat.dbgpt.gpts.values import GptsPlan

MOST_BOXES = 60
"""How many steps are drawn; the list beside the drawing has all of them."""

_WIDTH, _HEIGHT, _GAP, _DROP, _EDGE = 190, 76, 20, 40, 6
_COLUMNS = 22

Link = tuple[int, int]


def flow_svg(plans: Sequence[GptsPlan], links: Sequence[Link], phrases: Phrases) -> str:
    """The drawing. When nothing builds on anything, dotted arrows show the order."""
    drawn = plans[:MOST_BOXES]
    arrows = [link for link in links if max(link) < len(drawn)]
    ordered_only = not arrows
    if ordered_only:
        arrows = [(place - 1, place) for place in range(1, len(drawn))]
    corners = _corners(len(drawn), arrows)
    width = max(x for x, _ in corners) + _WIDTH + _EDGE
    height = max(y for _, y in corners) + _HEIGHT + _EDGE
    kind = "link order" if ordered_only else "link"
    lines = "".join(f'<path class="{kind}" d="{_curve(corners[a], corners[b])}"/>' for a, b in arrows)
    boxes = "".join(_box(plan, corner, phrases) for plan, corner in zip(drawn, corners, strict=True))
    more = len(plans) - len(drawn)
    notice = f'<p class="empty">{phrases.steps_left_out.format(more)}</p>' if more else ""
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" style="min-width:{width * 7 // 10}px"'
        f' role="img" aria-label="{phrases.plan}">'
        '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path class="tip" d="M0 0 10 5 0 10z"/></marker></defs>{lines}{boxes}</svg>{notice}'
    )


def _corners(count: int, arrows: Sequence[Link]) -> list[tuple[int, int]]:
    """Where each box stands: a row below all it builds on, each row in the middle."""
    rows: defaultdict[int, list[int]] = defaultdict(list)
    for place, row in enumerate(_rows(count, arrows)):
        rows[row].append(place)
    widest = max(map(len, rows.values()))
    corners = [(0, 0)] * count
    for row, places in rows.items():
        start = _EDGE + (widest - len(places)) * (_WIDTH + _GAP) // 2
        for column, place in enumerate(places):
            corners[place] = (start + column * (_WIDTH + _GAP), _EDGE + row * (_HEIGHT + _DROP))
    return corners


def _rows(count: int, arrows: Sequence[Link]) -> list[int]:
    """The row of each box. Steps that build on each other in a circle have no order: they go on as if they were done."""
    rows = [0] * count
    waits = [0] * count
    after: defaultdict[int, list[int]] = defaultdict(list)
    for source, target in arrows:
        waits[target] += 1
        after[source].append(target)
    left = set(range(count))
    while left:
        free = [place for place in sorted(left) if not waits[place]] or [min(left)]
        for place in free:
            left.discard(place)
            for target in after[place]:
                waits[target] -= 1
                if target in left:
                    rows[target] = max(rows[target], rows[place] + 1)
    return rows


def _curve(source: tuple[int, int], target: tuple[int, int]) -> str:
    x, y = source[0] + _WIDTH // 2, source[1] + _HEIGHT
    to_x, to_y = target[0] + _WIDTH // 2, target[1] - 2
    bend = max(18, (to_y - y) // 2)
    return f"M{x} {y}C{x} {y + bend} {to_x} {to_y - bend} {to_x} {to_y}"


def _box(plan: GptsPlan, corner: tuple[int, int], phrases: Phrases) -> str:
    x, y = corner
    state = state_of(plan)
    word = phrases.states[state] if state is not None else plan.state or ""
    title = f"{plan.sub_task_num}. {title_of(plan)}"
    lines = _two_lines(title)
    about = shortened(" · ".join(part for part in (plan.sub_task_agent, word) if part), _COLUMNS + 6)
    top = y + (25 if len(lines) == 2 else 33)
    words = "".join(
        f'<text x="{x + 14}" y="{top + 16 * place}" class="name">{_text(line)}</text>'
        for place, line in enumerate(lines)
    )
    return (
        f'<a href="#step-{plan.sub_task_num}"><g class="box {state.value if state else "other"}">'
        f"<title>{_text(shortened(title, 200))}</title>"
        f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="10"/>'
        f'<rect class="band" x="{x}" y="{y + 10}" width="4" height="{_HEIGHT - 20}" rx="2"/>{words}'
        f'<text x="{x + 14}" y="{top + 16 * len(lines) + 2}" class="note">{_text(about)}</text></g></a>'
    )


def _two_lines(text: str) -> list[str]:
    line = shortened(text, 2 * _COLUMNS)
    cut = fitting(line, _COLUMNS)
    if cut == len(line):
        return [line]
    # Between words where there are any, between characters where there are not.
    space = line.rfind(" ", _COLUMNS // 2, cut + 1)
    cut = space if space > 0 and line[cut : cut + 1] != " " else cut
    return [line[:cut].rstrip(), shortened(line[cut:], _COLUMNS)]


def _text(text: str) -> str:
    return escape("".join(one if one >= " " else "\ufffd" for one in text))


__all__ = ["MOST_BOXES", "flow_svg"]
