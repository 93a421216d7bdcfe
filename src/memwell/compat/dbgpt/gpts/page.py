"""Plan and dialogue as one page of HTML that a person can open, send on, and print.

It has no script and fetches nothing, and its policy forbids both to the browser; every text in it is escaped. It follows
the light or dark of the system and the width of the screen.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from html import escape
from importlib.resources import files
from itertools import groupby

from memwell.compat.dbgpt.gpts.drawing import (
    MOST_DRAWN,
    agents_of,
    links_of,
    mermaid_dialogue,
    mermaid_plan,
    relied_on,
    shortened,
    state_of,
    title_of,
)
from memwell.compat.dbgpt.gpts.flow import flow_svg
from memwell.compat.dbgpt.gpts.phrases import Phrases, phrases_in
from memwell.compat.dbgpt.gpts.values import GptsMessage, GptsPlan, Status, in_utc

MOST_SHOWN = 2_000
"""How many messages a page shows: the last ones. More make a browser slow."""

_LONG = 1_500
_LONG_TITLE = 160
_OPENING = 400
_FENCE = "```"
_SHADES = 8
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def html_page(
    plans: Sequence[GptsPlan], messages: Sequence[GptsMessage], *, language: str = "en", title: str = ""
) -> str:
    """The page. Raises ``InvalidInput`` for an unknown language."""
    phrases = phrases_in(language)
    name = title or phrases.title
    parts = [
        "<!DOCTYPE html>",
        f'<html lang="{phrases.tag}">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        '<meta name="generator" content="memwell">',
        f"<title>{_text(shortened(name, 120))}</title>",
        f"<style>\n{_stylesheet()}</style>",
        "</head>",
        "<body>",
        _header(plans, messages, name, phrases),
        "<main>",
        _plan_section(plans, phrases),
        _dialogue_section(messages, phrases),
        _sources(plans, messages, language, phrases),
        "</main>",
        "</body>",
        "</html>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


@cache
def _stylesheet() -> str:
    return files("memwell.compat.dbgpt.gpts").joinpath("page.css").read_text(encoding="utf-8")


def _text(text: str) -> str:
    # What a page may not hold at all is shown as the sign for it.
    plain = "".join(one if one >= " " or one in "\n\t" else "\ufffd" for one in text.replace("\r\n", "\n"))
    return escape(plain.replace("\r", "\n"))


# The head


def _header(plans: Sequence[GptsPlan], messages: Sequence[GptsMessage], name: str, phrases: Phrases) -> str:
    agents = len(set(agents_of(messages)) | {plan.sub_task_agent for plan in plans if plan.sub_task_agent})
    counts = phrases.counts.format(f"{agents:,}", f"{len(messages):,}", _span(messages)).rstrip(" ·")
    eyebrow = f'<p class="eyebrow">{phrases.title}</p>' if name != phrases.title else ""
    return (
        f'<header>{eyebrow}<h1 dir="auto">{_text(shortened(name, 300))}</h1>'
        f'<p class="counts">{counts}</p>{_progress(plans, phrases)}</header>'
    )


def _span(messages: Sequence[GptsMessage]) -> str:
    if not messages:
        return ""
    moments = [in_utc(one.created_at) for one in messages]
    first, last = min(moments), max(moments)
    end = f"{last:%H:%M}" if first.date() == last.date() else f"{last:%Y-%m-%d %H:%M}"
    return f"{first:%Y-%m-%d %H:%M}–{end} UTC" if end != f"{first:%H:%M}" else f"{first:%Y-%m-%d %H:%M} UTC"


def _progress(plans: Sequence[GptsPlan], phrases: Phrases) -> str:
    if not plans:
        return ""
    states = [state_of(plan) for plan in plans]
    counted = [(state, states.count(state)) for state in reversed(Status) if state in states]
    bars = "".join(f'<i class="{state.value}" style="flex-grow:{count}"></i>' for state, count in counted)
    words = "".join(f'<li class="{state.value}">{phrases.states[state]} {count}</li>' for state, count in counted)
    done = phrases.done_of.format(states.count(Status.COMPLETE), len(plans))
    return f'<div class="progress" role="img" aria-label="{done}">{bars}</div><ul class="legend">{words}</ul>'


# The plan


def _plan_section(plans: Sequence[GptsPlan], phrases: Phrases) -> str:
    if not plans:
        return f'<section class="plan"><h2>{phrases.plan}</h2><p class="empty">{phrases.no_plan}</p></section>'
    numbers = {plan.sub_task_num for plan in plans}
    steps = "\n".join(_step(plan, numbers, phrases) for plan in plans)
    note = phrases.done_of.format(sum(state_of(plan) is Status.COMPLETE for plan in plans), len(plans))
    return (
        f'<section class="plan"><h2>{phrases.plan} <small>{note}</small></h2><div class="sides">'
        f'<div class="flow">{flow_svg(plans, links_of(plans), phrases)}</div>\n'
        f'<ol class="steps">\n{steps}\n</ol></div></section>'
    )


def _step(plan: GptsPlan, numbers: set[int], phrases: Phrases) -> str:
    state = state_of(plan)
    word = phrases.states[state] if state is not None else _text(shortened(plan.state or "", 40))
    about = [_text(shortened(part, 80)) for part in (plan.sub_task_agent, plan.agent_model, plan.resource_name) if part]
    if plan.retry_times:
        about.append(phrases.retries.format(plan.retry_times, plan.max_retry_times))
    relied = [_link(number, numbers) for number in relied_on(plan)]
    builds_on = f'<p class="relies">{phrases.builds_on} {" ".join(relied)}</p>' if relied else ""
    title = shortened(title_of(plan), _LONG_TITLE)
    content = None if title == plan.sub_task_content else plan.sub_task_content
    return (
        f'<li id="step-{plan.sub_task_num}" class="step {state.value if state else "other"}">'
        f'<div class="line"><span class="number">{plan.sub_task_num}</span><h3 dir="auto">{_text(title)}</h3>'
        f'<span class="state">{word}</span></div>'
        f'<p class="about">{" · ".join(about)}</p>{_said(content, phrases) if content else ""}{builds_on}'
        f"{_folded(phrases.result, plan.result, phrases, opened=True)}</li>"
    )


def _link(number: int, numbers: set[int]) -> str:
    return f'<a href="#step-{number}">{number}</a>' if number in numbers else f"<s>{number}</s>"


# The dialogue


def _dialogue_section(messages: Sequence[GptsMessage], phrases: Phrases) -> str:
    head = f"<h2>{phrases.dialogue} <small>{len(messages):,}</small></h2>"
    if not messages:
        return f'<section class="dialogue">{head}<p class="empty">{phrases.no_messages}</p></section>'
    agents = agents_of(messages)
    shades = {agent: place % _SHADES for place, agent in enumerate(agents)}
    begins = messages[0].sender
    shown = messages[-MOST_SHOWN:]
    left_out = len(messages) - len(shown)
    notice = f'<p class="empty">{phrases.left_out.format(f"{left_out:,}")}</p>' if left_out else ""
    rounds = "\n".join(
        _round(number, [_bubble(one, shades, phrases, asks=one.sender == begins) for one in said], phrases)
        for number, said in groupby(shown, key=lambda one: one.rounds)
    )
    return f'<section class="dialogue">{head}{notice}{rounds}</section>'


def _round(number: int, bubbles: Sequence[str], phrases: Phrases) -> str:
    said = "\n".join(bubbles)
    return f'<div class="round"><h3><span>{phrases.round.format(number)}</span></h3>\n{said}\n</div>'


def _bubble(message: GptsMessage, shades: dict[str, int], phrases: Phrases, *, asks: bool) -> str:
    # The one who begins, most often a person, speaks on the right, as in every chat.
    side = " asks" if asks else ""
    failed = "" if message.is_success else f'<span class="state">{phrases.failed}</span>'
    goal = _text(shortened(message.current_goal or "", 200))
    aim = f'<p class="goal">{phrases.goal}: {goal}</p>' if goal else ""
    model = f'<span class="model">{_text(shortened(message.model_name, 60))}</span>' if message.model_name else ""
    return (
        f'<article class="said shade-{shades[message.sender]}{side}{"" if message.is_success else " failed"}">'
        f'<div class="face" aria-hidden="true">{_initial(message.sender)}</div><div class="bubble">'
        f'<div class="who"><b dir="auto">{_name(message.sender, phrases)}</b>'
        f'<span class="to" aria-label="{phrases.to}">→</span><span dir="auto">{_name(message.receiver, phrases)}</span>'
        f"{failed}{model}{_time(message.created_at)}</div>{aim}{_said(message.content, phrases)}"
        f"{_folded(phrases.report, message.action_report, phrases)}{_folded(phrases.review, message.review_info, phrases)}"
        "</div></article>"
    )


def _name(agent: str, phrases: Phrases) -> str:
    return _text(shortened(agent, 60)) or phrases.nobody


def _initial(agent: str) -> str:
    return _text(next((one for one in agent if one.isalnum()), "?").upper()[:1])


def _time(moment: datetime) -> str:
    in_full = in_utc(moment)
    return f'<time datetime="{in_full.isoformat()}" title="{in_full:%Y-%m-%d %H:%M:%S} UTC">{in_full:%H:%M:%S}</time>'


def _said(text: str, phrases: Phrases) -> str:
    if len(text) <= _LONG:
        return f'<div class="text">{_pieces(text)}</div>'
    whole = phrases.whole_text.format(f"{len(text):,}")
    return (
        f'<div class="text"><p dir="auto">{_text(text[:_OPENING])}…</p></div>'
        f'<details><summary>{whole}</summary><div class="text">{_pieces(text)}</div></details>'
    )


def _folded(name: str, text: str | None, phrases: Phrases, *, opened: bool = False) -> str:
    if not text:
        return ""
    opens = " open" if opened and len(text) <= _LONG else ""
    return f'<details class="folded"{opens}><summary>{name}</summary><div class="text">{_pieces(text)}</div></details>'


def _pieces(text: str) -> str:
    """Text as written, with what stands between fences as code."""
    pieces: list[str] = []
    for place, piece in enumerate(_split(text)):
        if place % 2:
            pieces.append(f"<pre><code>{_text(piece)}</code></pre>")
        elif piece.strip():
            pieces.append(f'<p dir="auto">{_text(piece.strip(chr(10)))}</p>')
    return "".join(pieces)


def _split(text: str) -> list[str]:
    """Pieces in turn: words, code, words, … A fence that is never closed is a part of the words."""
    pieces, lines = [""], text.splitlines(keepends=True)
    fences = [place for place, line in enumerate(lines) if line.lstrip(" ").startswith(_FENCE)]
    if len(fences) % 2:
        fences.pop()
    start = 0
    for fence in fences:
        pieces[-1] = "".join(lines[start:fence]).rstrip("\r\n")
        pieces.append("")
        start = fence + 1
    pieces[-1] = "".join(lines[start:])
    return pieces


# The sources


def _sources(plans: Sequence[GptsPlan], messages: Sequence[GptsMessage], language: str, phrases: Phrases) -> str:
    drawn = [
        (phrases.plan, mermaid_plan(plans, language=language) if plans else ""),
        (phrases.dialogue, mermaid_dialogue(messages, language=language, last=MOST_DRAWN) if messages else ""),
    ]
    blocks = "".join(f"<h3>{name}</h3><pre><code>{_text(source)}</code></pre>" for name, source in drawn if source)
    if not blocks:
        return ""
    hint = f"<p>{phrases.sources_hint}</p>"
    return f'<section class="sources"><details><summary>{phrases.sources}</summary>{hint}{blocks}</details></section>'


__all__ = ["MOST_SHOWN", "html_page"]
