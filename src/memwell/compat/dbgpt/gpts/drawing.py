"""Plans and dialogues as Mermaid, valid whatever the texts say."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import groupby

from memwell.compat.dbgpt.gpts.phrases import Phrases, phrases_in
from memwell.compat.dbgpt.gpts.values import GptsMessage, GptsPlan, Status
from memwell.values import check_count

_TITLE = 60
_NAME = 30
_SAID = 120
MOST_DRAWN = 200
"""How many messages of a dialogue are drawn, unless told otherwise: the last ones."""

_STYLES = {
    Status.TODO: "fill:#f1f5f9,stroke:#64748b,color:#1e293b",
    Status.RUNNING: "fill:#dbeafe,stroke:#2563eb,color:#1e3a8a",
    Status.WAITING: "fill:#fef3c7,stroke:#d97706,color:#78350f",
    Status.RETRYING: "fill:#ffedd5,stroke:#ea580c,color:#7c2d12",
    Status.FAILED: "fill:#fee2e2,stroke:#dc2626,color:#7f1d1d",
    Status.COMPLETE: "fill:#dcfce7,stroke:#16a34a,color:#14532d",
}

_HARMLESS = frozenset(" ,.?!'()/=，。？！、：；（）《》「」“”‘’…—·")
"""What means nothing to Mermaid in any place where a text may stand, and is better read as it is."""


def mermaid_plan(plans: Sequence[GptsPlan], *, language: str = "en") -> str:
    """The plan as a Mermaid flowchart: a box for each step, an arrow from each step to those that build on it.

    When no step says what it builds on, dotted arrows show the order. Raises ``InvalidInput`` for an unknown language.
    """
    phrases = phrases_in(language)
    lines = ["flowchart TD"]
    lines += [_box(place, plan, phrases) for place, plan in enumerate(plans)]
    links = links_of(plans)
    lines += [f"    s{source} --> s{target}" for source, target in links]
    if not links:
        lines += [f"    s{place - 1} -.-> s{place}" for place in range(1, len(plans))]
    used = {state for plan in plans if (state := state_of(plan)) is not None}
    lines += [f"    classDef {state.value}_ {_STYLES[state]}" for state in Status if state in used]
    if not plans:
        lines.append(f'    none["{escaped(phrases.no_plan)}"]')
    return "\n".join(lines) + "\n"


def mermaid_dialogue(messages: Sequence[GptsMessage], *, language: str = "en", last: int | None = MOST_DRAWN) -> str:
    """The dialogue as a Mermaid sequence diagram: an arrow for each message, a note where a round begins.

    Of a long dialogue the ``last`` messages are drawn, all with None. Raises ``InvalidInput`` for an unknown language.
    """
    phrases = phrases_in(language)
    if last is not None:
        check_count(last, "last", least=1)
        messages = messages[-last:]
    agents = agents_of(messages)
    names = {agent: f"a{place}" for place, agent in enumerate(agents)}
    lines = ["sequenceDiagram", "    autonumber"]
    lines += [f"    participant {names[agent]} as {_label(agent or phrases.nobody, _NAME)}" for agent in agents]
    if not agents:
        lines += [f"    participant a0 as {escaped(phrases.no_messages)}"]
    across = ",".join(dict.fromkeys((names[agents[0]], names[agents[-1]]))) if agents else ""
    rounds = [(number, list(group)) for number, group in groupby(messages, key=lambda one: one.rounds)]
    for number, said in rounds:
        if len(rounds) > 1:
            lines.append(f"    Note over {across}: {escaped(phrases.round.format(number))}")
        lines += [_arrow(one, names) for one in said]
    return "\n".join(lines) + "\n"


def agents_of(messages: Iterable[GptsMessage]) -> list[str]:
    """Who takes part, in the order of appearance."""
    return list(dict.fromkeys(agent for one in messages for agent in (one.sender, one.receiver)))


def links_of(plans: Sequence[GptsPlan]) -> list[tuple[int, int]]:
    """The arrows, from place to place in the list: from what a step builds on, as far as it is there, to the step."""
    places = {plan.sub_task_num: place for place, plan in enumerate(plans)}
    return [
        (places[number], place)
        for place, plan in enumerate(plans)
        for number in relied_on(plan)
        if number in places and places[number] != place
    ]


def relied_on(plan: GptsPlan) -> list[int]:
    """The numbers of the steps it builds on, each once."""
    # Eighteen digits are more than any number of a step has.
    return list(dict.fromkeys(int(number) for number in re.findall(r"(?<!\d)\d{1,18}(?!\d)", plan.rely or "")))


def state_of(plan: GptsPlan) -> Status | None:
    """How far it is, or None when its state is a word of its own."""
    try:
        return Status(plan.state or Status.TODO)
    except ValueError:
        return None


def title_of(plan: GptsPlan) -> str:
    """What to call a step: its title, or else what is to be done."""
    return plan.sub_task_title or plan.sub_task_content or ""


def shortened(text: str, most: int) -> str:
    """The text on one line, cut at ``most`` columns; a Chinese character takes two."""
    line = " ".join(text[: 8 * most].split())
    cut = fitting(line, most)
    return line if cut == len(line) and len(text) <= 8 * most else line[: fitting(line, most - 1)].rstrip() + "…"


def fitting(text: str, columns: int) -> int:
    """How many characters of the text fit; one that joins the character before it is never parted from it."""
    used = 0
    for place, character in enumerate(text):
        used += width_of(character)
        if used > columns:
            return place
    return len(text)


def width_of(character: str) -> int:
    """How many columns a character takes."""
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def escaped(text: str) -> str:
    """The text for any place in a Mermaid source: letters and digits as they are, everything else by its number."""
    # Two dollars begin a formula, and the ligature Mermaid's own way to write a number, even when they are escaped.
    said = text.replace("$$", "$\u200b$").replace("\ufb02", "fl")
    spelt = "".join(one if one.isalnum() or one in _HARMLESS else _by_number(one) for one in said)
    # A bare "end" closes what was never opened.
    return re.sub(r"\bend\b", "#101;nd", spelt, flags=re.IGNORECASE)


def _by_number(character: str) -> str:
    # Characters that are not seen, or would break the line, are not worth a number.
    return " " if unicodedata.category(character) in ("Cc", "Zl", "Zp", "Cs") else f"#{ord(character)};"


def _label(text: str, most: int) -> str:
    # An empty label is no label to the parser.
    return escaped(shortened(text, most)).strip() or "#160;"


def _box(place: int, plan: GptsPlan, phrases: Phrases) -> str:
    state = state_of(plan)
    word = phrases.states[state] if state is not None else plan.state or ""
    about = " · ".join(part for part in (plan.sub_task_agent, word) if part)
    text = f"<b>{plan.sub_task_num}#160;#160;{_label(title_of(plan), _TITLE)}</b><br/>{_label(about, _TITLE)}"
    style = f":::{state.value}_" if state is not None else ""
    return f'    s{place}["{text}"]{style}'


def _arrow(message: GptsMessage, names: dict[str, str]) -> str:
    arrow = "->>" if message.is_success else "-x"
    return f"    {names[message.sender]}{arrow}{names[message.receiver]}: {_label(message.content, _SAID)}"


__all__ = [
    "MOST_DRAWN",
    "agents_of",
    "escaped",
    "fitting",
    "links_of",
    "mermaid_dialogue",
    "mermaid_plan",
    "relied_on",
    "shortened",
    "state_of",
    "title_of",
    "width_of",
]
