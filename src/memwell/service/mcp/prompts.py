"""Prompts that a user picks in a client: answer from memory, and remember this conversation. In English and Chinese."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from memwell.errors import InvalidInput
from memwell.messages import Role
from memwell.runtime.engine import Engine
from memwell.service.mcp.answers import language_for
from memwell.service.mcp.calls import READ, WRITE
from memwell.values import shown

MOST_CHARACTERS = 10_000
_BUDGET = 4_000

_REMEMBER: Final = {
    "en": (
        "Go through our conversation so far and remember what will matter later.\n"
        "1. Pick what lasts: who I am, people and places, preferences, decisions, plans with their dates, corrections. "
        "Leave out small talk, secrets, and what you only said yourself.\n"
        "2. For each, call recall first; when it is known already, pass over it, and when it has changed, forget the old "
        "one.\n"
        "3. Call remember once for each thing, in a sentence that can be understood alone.\n"
        "4. Tell me in a short list what you remembered, and what you left out and why."
    ),
    "zh": (
        "请回顾我们到目前为止的对话，把以后用得上的内容记下来。\n"
        "1. 挑选长期有用的：我是谁、相关的人和地点、偏好、决定、带日期的计划、更正。"
        "不要记寒暄、密码之类的秘密，也不要记只是你自己说过的话。\n"
        "2. 每一条先调用 recall；已经知道的就跳过，有变化的就用 forget 忘掉旧的。\n"
        "3. 每件事调用一次 remember，写成单独也能看懂的一句话。\n"
        "4. 最后列出你记住了什么，略过了什么以及原因。"
    ),
}
_TOPIC: Final = {"en": "\nAttend to this above all:\n| {topic}", "zh": "\n请特别留意：\n| {topic}"}
_ANSWER: Final = {
    "en": "Answer the last message from these notes. Say when they do not answer it, and name the dates you rely on.",
    "zh": "请根据这些资料回答最后一条消息。资料不足时请直说，并指出所依据的日期。",
}


class Turn(NamedTuple):
    """A message of a prompt; its role is ``user`` or ``assistant``."""

    role: str
    text: str


class Argument(NamedTuple):
    """What a prompt asks its user for."""

    name: str
    description: str
    required: bool = False


class Prompt(NamedTuple):
    """One prompt."""

    name: str
    title: str
    description: str
    scope: str
    arguments: tuple[Argument, ...]
    makes: Callable[[Engine, Mapping[str, str]], list[Turn]]

    def turns(self, memory: Engine, given: Mapping[str, str]) -> list[Turn]:
        """The messages. Raises ``InvalidInput`` for an argument that is missing, unknown or too long."""
        known = {one.name for one in self.arguments}
        for name, value in given.items():
            if name not in known:
                raise InvalidInput(f"the prompt {self.name} takes {', '.join(sorted(known))}, not {shown(name)}")
            if len(value) > MOST_CHARACTERS:
                raise InvalidInput(f"{name} has {len(value):,} characters, over {MOST_CHARACTERS:,}")
        for one in self.arguments:
            if one.required and not given.get(one.name, "").strip():
                raise InvalidInput(f"the prompt {self.name} needs {one.name}")
        return self.makes(memory, given)


def _language(given: Mapping[str, str], text: str) -> str:
    wanted = given.get("language") or None
    if wanted not in (None, "en", "zh"):
        raise InvalidInput(f"language must be en or zh, not {shown(wanted)}")
    return language_for(text, wanted)


def _remember(memory: Engine, given: Mapping[str, str]) -> list[Turn]:
    topic = " ".join(given.get("topic", "").split())
    language = _language(given, topic)
    return [Turn("user", _REMEMBER[language] + (_TOPIC[language].format(topic=topic) if topic else ""))]


def _answer(memory: Engine, given: Mapping[str, str]) -> list[Turn]:
    question = given["question"]
    language = _language(given, question)
    made = memory.context(question, budget=_BUDGET + len(question), language=language)
    turns = [Turn("assistant" if one.role is Role.AI else "user", one.text) for one in made.messages]
    return [Turn("user", _ANSWER[language]), *turns]


_LANGUAGE = Argument("language", "en or zh; that of what is asked by default. 语言：en 或 zh。")

PROMPTS = (
    Prompt(
        "remember-this-conversation",
        "Remember this conversation · 记住这次对话",
        "Has the assistant pick what will matter later, and remember it. 让助手挑出以后有用的内容并记住。",
        WRITE,
        (Argument("topic", "What to attend to above all. 特别留意什么。"), _LANGUAGE),
        _remember,
    ),
    Prompt(
        "answer-from-memory",
        "Answer from memory · 根据记忆回答",
        "Asks a question together with what is known about it. 连同已知的内容一起提问。",
        READ,
        (Argument("question", "The question. 问题。", required=True), _LANGUAGE),
        _answer,
    ),
)
