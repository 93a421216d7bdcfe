"""What tests of knowledge share: some documents in English and Chinese, questions about them, and models that fail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memwell.errors import ModelError
from memwell.knowledge import Knowledge, read_document
from memwell.models.ports import Embedder
from memwell.models.scripted import HashEmbedder
from memwell.storage import Backend

HANDBOOK = """# Staff handbook

## Leave

Every employee has 28 days of paid leave a year. Leave that is not taken by the end of March of the following year expires.
Requests go to the line manager at least two weeks before.

### Parental leave

Parents may take up to sixteen weeks of paid parental leave within the first year after the birth of a child.

## Pay

Salaries are paid on the 25th of each month. Overtime is compensated with time off and not with money.
"""
ROUTER = """# Orbit R7 router

## Resetting

Hold the reset button for ten seconds with a paper clip to restore the factory settings. All passwords are lost.

## Wi-Fi

The guest network is switched off by default. Up to 64 devices can be connected at the same time.
"""
SHOUCE = """# 员工手册

## 年假

入职满一年的员工每年享有十天带薪年假，满五年后增加到十五天。当年未休的年假可以顺延到次年三月底，逾期作废。

## 报销

差旅费用须在出差结束后三十天内提交报销单，并附上发票原件。单笔超过五千元的费用需要部门总监审批。
"""
LONGJING = """# 龙井茶

龙井茶产于浙江杭州西湖一带。清明前采摘的称为明前茶，品质最佳。冲泡时水温以八十度左右为宜，浸泡两到三分钟即可饮用。
茶叶应当密封后放入冰箱冷藏，避免阳光和异味。
"""
SHELF = {"handbook": HANDBOOK, "router": ROUTER, "shouce": SHOUCE, "longjing": LONGJING}

SUPPORTED = (
    ("How many days of paid leave do employees have?", "28 days"), ("How long is parental leave?", "sixteen weeks"),
    ("When are salaries paid?", "25th"), ("Is overtime compensated with money?", "time off"),
    ("When does leave expire that was not taken?", "March"),
    ("How do I restore the factory settings of the router?", "ten seconds"),
    ("How many devices can be connected?", "64 devices"),
    ("Is the guest network switched on by default?", "switched off"), ("员工每年有多少天年假？", "十天"),
    ("未休的年假什么时候作废？", "三月底"), ("报销单要在多久之内提交？", "三十天"),
    ("超过五千元的费用由谁审批？", "部门总监"), ("泡龙井茶水温多少合适？", "八十度"),
    ("明前茶是什么时候采的？", "清明"), ("龙井茶产于哪里？", "杭州"),
)  # fmt: skip
UNSUPPORTED = (
    "What is the capital of Mongolia?", "How do I tune a violin?", "Who won the football world cup?",
    "How many days of bereavement leave are there?", "Which health insurance does the firm offer?",
    "Does the router speak IPv6?", "What are the symptoms of influenza?", "How far away is the moon?",
    "公司的股票代码是什么？", "如何制作红烧肉？", "怎样更换汽车轮胎？", "员工食堂几点开门？", "谁发明了电话？",
    "普洱茶多少钱一斤？", "今天天气怎么样？",
)  # fmt: skip


class Failing(Embedder):
    """An embedder that is out of order until it is mended; it counts the texts it was asked for."""

    def __init__(self, dimensions: int = 64) -> None:
        self._inner = HashEmbedder(dimensions)
        self.broken = True
        self.texts = 0

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def dimensions(self) -> int:
        return self._inner.dimensions

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.texts += len(texts)
        if self.broken:
            raise ModelError("out of order")
        return self._inner.embed(texts)


def knowledge_over(backend: Backend, space: str = "ann", **options: Any) -> Knowledge:
    """Knowledge with a small embedder, unless another is given."""
    options.setdefault("embedder", HashEmbedder(64))
    return Knowledge(backend, space, **options)


def filled(knowledge: Knowledge) -> Knowledge:
    """The same with the documents above."""
    for id_, text in SHELF.items():
        knowledge.add(read_document(text.encode(), name=f"{id_}.md"), id=id_, source=f"{id_}.md")
    return knowledge
