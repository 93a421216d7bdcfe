"""A planner, a researcher and a critic find a place for a party: what each keeps to itself, and what they share.

    python examples/three_agents.py                  # in English
    python examples/three_agents.py --language zh    # 中文

Each agent has a memory of its own, which no other can open. On top there is a blackboard: a space that its owner has
granted to all three, to the critic for reading only. They talk over a hub. No model is asked and nothing is fetched, so it
runs the same everywhere; put your own model where ``reply`` makes up its mind. At the end it draws who knows what.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from three_agents_picture import Note, Picture, Said, draw

import memwell
from memwell.compat.agentscope.agents import AgentBase, MsgHub
from memwell.compat.agentscope.messages import Msg
from memwell.errors import NotGranted
from memwell.longterm.recall import Recalled
from memwell.runtime.engine import Engine
from memwell.runtime.grants import SharedMemory

BOARD = "blackboard"

TEXTS: dict[str, dict[str, Any]] = {
    "en": {
        "customer": "Customer",
        "names": {"planner": "Planner", "researcher": "Researcher", "critic": "Critic"},
        "request": "Please find a place for our party on 12 May: 80 guests, at most 2,000 euro.",
        "secret": "The customer may raise the budget to 2,500 euro, but nobody is to know yet.",
        "offer": "{name}: room for {guests} guests, {euro:,} euro.",
        "offers": [("Harbour Hall", 120, 1800), ("Glass House", 90, 2400), ("Old Library", 80, 1500)],
        "objection": "The Old Library is closed for repairs until June.",
        "closed": "Old Library",
        "need": "Wanted: a place for {guests} guests on 12 May, at most {euro:,} euro.",
        "ask": "Researcher, which places hold {guests} guests for at most {euro:,} euro? It is on the blackboard.",
        "found": "{count} places fit: {names}. I have put them on the blackboard.",
        "object": "Not the {name}: it is closed for repairs until June. I may only read the blackboard, so I say it aloud.",
        "decision": "Decision: {name} on 12 May, {euro:,} euro.",
        "decided": "Then it is {name}. The decision is on the blackboard.",
        "and": " and ",
        "questions": [
            ("How much may the budget be raised?", "secret"),
            ("What does the Glass House cost?", "Glass House"),
            ("Until when is the Old Library closed?", "objection"),
            ("Which place was decided on?", "decision"),
        ],
        "heading": "What each of them can answer",
        "own": "from its own memory",
        "shared": "from the blackboard",
        "heard": "heard it said",
        "unknown": "does not know",
        "locked": "The critic opens the planner's memory: {error}",
        "refused": "The critic writes on the blackboard: {error}",
        "left": "The critic goes. It hears no more, and the blackboard it had open is closed to it: {error}",
        "thanks": "Thank you both, I will book it.",
        "drawn": "The picture of who knows what is in {path}",
    },
    "zh": {
        "customer": "客户",
        "names": {"planner": "策划", "researcher": "调研", "critic": "评审"},
        "request": "请为我们5月12日的聚会找一个场地：80位客人，不超过2000欧元。",
        "secret": "客户可能把预算提高到2500欧元，但现在还不能告诉任何人。",
        "offer": "{name}：可容纳{guests}人，租金{euro}欧元。",
        "offers": [("海港大厅", 120, 1800), ("玻璃屋", 90, 2400), ("老图书馆", 80, 1500)],
        "objection": "老图书馆正在维修，六月之前不开放。",
        "closed": "老图书馆",
        "need": "需求：5月12日，{guests}位客人的场地，不超过{euro}欧元。",
        "ask": "调研，哪些场地能容纳{guests}人且不超过{euro}欧元？要求已写在黑板上。",
        "found": "有{count}个场地合适：{names}。我已写到黑板上。",
        "object": "{name}不行：正在维修，六月之前不开放。我只能读黑板，所以直接说出来。",
        "decision": "决定：5月12日在{name}，租金{euro}欧元。",
        "decided": "那就定在{name}。决定已写到黑板上。",
        "and": "和",
        "questions": [
            ("预算可能提高到多少？", "secret"),
            ("玻璃屋的租金是多少？", "玻璃屋"),
            ("老图书馆什么时候开放？", "objection"),
            ("最后决定用哪个场地？", "decision"),
        ],
        "heading": "每位智能体能回答什么",
        "own": "来自自己的记忆",
        "shared": "来自黑板",
        "heard": "听别人说过",
        "unknown": "不知道",
        "locked": "评审想打开策划的记忆：未获授权（NotGranted）",
        "refused": "评审想写黑板：只获准读取（NotGranted）",
        "left": "评审离开了。它不再听到任何消息，已经打开的黑板也对它关闭（NotGranted）",
        "thanks": "谢谢两位，我来预订。",
        "drawn": "“谁知道什么”的图在 {path}",
    },
}


@dataclass
class Office:
    """What the three work in: the store, the words of a language, and a record of who said what to whom."""

    store: Engine
    words: dict[str, Any]
    said: list[Said] = field(default_factory=list)
    answers: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def note(self, message: Msg) -> None:
        role = str(message.metadata["who"])
        self.said.append(Said(message.id, role, message.name, str(message.content), set()))
        print(f"{message.name}: {message.content}")

    def heard(self, message: Msg, role: str) -> None:
        for one in self.said:
            if one.id == message.id:
                one.heard_by.add(role)


class Worker(AgentBase):
    """An agent with a memory of its own and a view of the blackboard."""

    def __init__(self, role: str, office: Office) -> None:
        super().__init__()
        self.role = role
        self.name = office.words["names"][role]
        self.office = office
        self.words = office.words
        self.own: Engine = office.store.at(role)
        self.board: SharedMemory = self.own.shared(BOARD)
        self.heard: list[Msg] = []

    async def observe(self, msg: Msg | list[Msg] | None) -> None:
        for one in msg if isinstance(msg, list) else [msg] if msg else []:
            self.heard.append(one)
            self.office.heard(one, self.role)

    async def says(self, text: str) -> Msg:
        message = Msg(self.name, text, "assistant", metadata={"who": self.role})
        self.office.note(message)
        return message


class Planner(Worker):
    async def reply(self) -> Msg:
        objections = [one for one in self.heard if one.metadata.get("closed")]
        offers = [one for one in await self.board.amemories() if "offer" in one.metadata]
        if not offers:
            need = {"guests": 80, "euro": 2000}
            await self.board.aremember(self.words["need"].format(**need), metadata={"need": need})
            return await self.says(self.words["ask"].format(**need))
        if await self.board.acount() > 1 + len(offers):
            return await self.says(self.words["thanks"])
        closed = {one.metadata["closed"] for one in objections}
        best = min(
            (one.metadata["offer"] for one in offers if one.metadata["offer"]["name"] not in closed),
            key=lambda offer: offer["euro"],
        )
        await self.board.aremember(self.words["decision"].format(**best), metadata={"fact": "decision"})
        return await self.says(self.words["decided"].format(**best))


class Researcher(Worker):
    async def reply(self) -> Msg:
        [need] = [one.metadata["need"] for one in await self.board.amemories() if "need" in one.metadata]
        offers = [one for one in await self.own.amemories() if "offer" in one.metadata]
        fitting = [
            one
            for one in offers
            if one.metadata["offer"]["guests"] >= need["guests"] and one.metadata["offer"]["euro"] <= need["euro"]
        ]
        for one in fitting:
            await self.board.aremember(one.text, metadata=one.metadata)
        names = self.words["and"].join(one.metadata["offer"]["name"] for one in fitting)
        return await self.says(self.words["found"].format(count=len(fitting), names=names))


class Critic(Worker):
    async def reply(self) -> Msg:
        offers = [one.metadata["offer"] for one in await self.board.amemories() if "offer" in one.metadata]
        known = [one.metadata["closed"] for one in await self.own.amemories() if "closed" in one.metadata]
        [closed] = [offer["name"] for offer in offers if offer["name"] in known]
        try:
            await self.board.aremember(self.words["objection"])
        except NotGranted as error:
            print("  !", self.words["refused"].format(error=error))
        message = await self.says(self.words["object"].format(name=closed))
        message.metadata |= {"closed": closed, "fact": "objection"}
        return message


def set_up(store: Engine, words: dict[str, Any]) -> None:
    """Give each its own knowledge, and all three the blackboard."""
    board = store.at(BOARD)
    for role, may_write in (("planner", True), ("researcher", True), ("critic", False)):
        board.grant(role, write=may_write)
    store.at("planner").remember(words["secret"], metadata={"fact": "secret"})
    for name, guests, euro in words["offers"]:
        offer = {"name": name, "guests": guests, "euro": euro}
        store.at("researcher").remember(words["offer"].format(**offer), metadata={"offer": offer, "fact": name})
    store.at("critic").remember(words["objection"], metadata={"closed": words["closed"], "fact": "objection"})


async def talk(office: Office) -> None:
    """Let the three do their work, and the critic leave before the last word."""
    words = office.words
    agents = planner, researcher, critic = (
        Planner("planner", office),
        Researcher("researcher", office),
        Critic("critic", office),
    )
    request = Msg(words["customer"], words["request"], "user", metadata={"who": "customer"})
    office.note(request)
    async with MsgHub(agents, announcement=request) as hub:
        for agent in (planner, researcher, critic, planner):
            await agent()
        await refused(words["locked"], critic.own.ashared("planner"))
        office.answers = [(question, sources(question, fact, agents)) for question, fact in words["questions"]]
        hub.delete(critic)
        office.store.at(BOARD).revoke("critic")
        await planner()
        await refused(words["left"], critic.board.acount())


async def refused(words: str, call: Awaitable[Any]) -> None:
    """Show that something is not granted."""
    try:
        await call
    except NotGranted as error:
        print("  !", words.format(error=error))


def sources(question: str, fact: str, agents: Sequence[Worker]) -> dict[str, str]:
    """From where each agent can answer a question: its memory, the blackboard or by hearsay. Who cannot is left out."""
    found: dict[str, str] = {}
    for agent in agents:
        for place, memory in (("own", agent.own), ("shared", agent.board)):
            if any(one.metadata.get("fact") == fact for one in memory.recall(question, limit=3)):
                found.setdefault(agent.role, place)
        if any(one.metadata.get("fact") == fact for one in agent.heard):
            found.setdefault(agent.role, "heard")
    return found


def show(office: Office) -> None:
    """Print who can answer what."""
    words = office.words
    print(f"\n{words['heading']}")
    for question, found in office.answers:
        print(f"- {question}")
        for role, name in words["names"].items():
            print(f"    {name}: {words[found.get(role, 'unknown')]}")


def picture_of(office: Office) -> Picture:
    """What is drawn, read from the memories themselves."""
    store, names = office.store, office.words["names"]
    written = [one.text for one in store.at(BOARD).memories()]
    told = {fact for question, fact in office.words["questions"] if "heard" in dict(office.answers)[question].values()}

    def others(memory: Recalled) -> str:
        return "also" if memory.text in written else "aloud" if memory.metadata["fact"] in told else "only"

    return Picture(
        names,
        {role: [Note(one.text, role, others(one)) for one in store.at(role).memories()] for role in names},
        [Note(one.text, one.speaker) for one in store.at(BOARD).memories()],
        {grant.to[-1]: grant.write for grant in store.at(BOARD).grants()},
        office.said,
        office.answers,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Three agents, three memories and a blackboard.")
    parser.add_argument("--language", choices=sorted(TEXTS), default="en")
    parser.add_argument("--picture", type=Path, default=Path("who_knows_what.svg"))
    given = parser.parse_args()
    words = TEXTS[given.language]
    # Words are enough for so few memories; without embedder=None they are found by their meaning, too.
    with memwell.open("memory:", embedder=None, work=False) as store:
        office = Office(store, words)
        set_up(store, words)
        asyncio.run(talk(office))
        show(office)
        path = draw(picture_of(office), given.picture, given.language)
    print(f"\n{words['drawn'].format(path=path)}")


if __name__ == "__main__":
    main()
