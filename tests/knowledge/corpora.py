"""Documents made for tuning: of short facts that have nothing to do with one another, and of long passages."""

from __future__ import annotations

import random

_SYLLABLES = "ka lo mi ren tas vol dri bex nor fel gu pim sor zet wan".split()
_THINGS = "bridge pump orchard tower ferry archive lantern quarry mill harbour".split()
_DONE = "painted repaired sold measured moved opened closed insured".split()
_CHINESE_THINGS = "大桥 水泵 果园 钟楼 渡船 档案馆 灯塔 采石场 磨坊 码头".split()
_CHINESE_DONE = "粉刷 维修 出售 测量 搬迁 开放 关闭 投保".split()
_CHINESE_NAMES = "云岭 青河 白沙 石门 东湖 金山 柳林 南溪 北坡 西江 龙泉 凤台 新桥 古渡 长亭".split()
_STEPS = (
    "It is then rinsed in cold water until nothing more comes off.",
    "After that it rests on a flat board for the whole of the night.",
    "Somebody turns it over once so that both of its sides dry evenly.",
    "The edges are pressed down by hand before they can curl up again.",
    "A thin coat is put on with a soft brush and left alone for a while.",
    "When it is dry to the touch the same is done a second time, slowly.",
    "What runs down the sides is wiped away with a clean piece of cloth.",
)


def facts(documents: int = 3, each: int = 50, seed: int = 1) -> list[str]:
    """Documents of one short fact a paragraph."""
    chance = random.Random(seed)
    return ["\n\n".join(_fact(chance) for _ in range(each)) for _ in range(documents)]


def chinese_facts(documents: int = 3, each: int = 40, seed: int = 1) -> list[str]:
    """The same in Chinese."""
    chance = random.Random(seed)
    return ["\n\n".join(_chinese_fact(chance) for _ in range(each)) for _ in range(documents)]


def passages(documents: int = 4, each: int = 12, seed: int = 1) -> list[str]:
    """Documents of long paragraphs, each told apart by its first and its last sentence and understood as a whole."""
    chance = random.Random(seed)
    return ["\n\n".join(_passage(chance) for _ in range(each)) for _ in range(documents)]


def _name(chance: random.Random) -> str:
    return "".join(chance.sample(_SYLLABLES, 3)).capitalize()


def _fact(chance: random.Random) -> str:
    thing, done, year = chance.choice(_THINGS), chance.choice(_DONE), chance.randint(1700, 1999)
    return f"The {thing} of {_name(chance)} was {done} by {_name(chance)} in {year}."


def _chinese_fact(chance: random.Random) -> str:
    one, other = chance.sample(_CHINESE_NAMES, 2)
    thing, done, year = chance.choice(_CHINESE_THINGS), chance.choice(_CHINESE_DONE), chance.randint(1700, 1999)
    return f"{one}的{thing}在{year}年由{other}的工匠负责{done}，花费了{chance.randint(10, 900)}两银子。"


def _passage(chance: random.Random) -> str:
    middle = [*_STEPS, *_STEPS[:5]]
    chance.shuffle(middle)
    first = f"One begins with {_name(chance)} sand, poured out on the bench by the window."
    last = f"At the very end all of it is sealed with {_name(chance)} wax and put away."
    return " ".join([first, *middle, last])
