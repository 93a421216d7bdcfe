"""What the drawings and the page say to people, in English and Chinese."""

from __future__ import annotations

from typing import NamedTuple

from memwell.compat.dbgpt.gpts.values import Status
from memwell.errors import InvalidInput
from memwell.values import shown


class Phrases(NamedTuple):
    """The words of one language; ``tag`` is its name on the web."""

    tag: str
    title: str
    plan: str
    dialogue: str
    states: dict[Status, str]
    no_plan: str
    no_messages: str
    nobody: str
    round: str
    builds_on: str
    result: str
    retries: str
    done_of: str
    counts: str
    failed: str
    whole_text: str
    report: str
    review: str
    goal: str
    left_out: str
    sources: str
    sources_hint: str
    to: str
    contents: str
    steps_left_out: str


_ENGLISH = Phrases(
    tag="en",
    title="Plan and dialogue",
    plan="Plan",
    dialogue="Dialogue",
    states={
        Status.TODO: "to do",
        Status.RUNNING: "running",
        Status.WAITING: "waiting",
        Status.RETRYING: "retrying",
        Status.FAILED: "failed",
        Status.COMPLETE: "complete",
    },
    no_plan="No plan yet",
    no_messages="No messages yet",
    nobody="(nobody)",
    round="Round {}",
    builds_on="builds on",
    result="Result",
    retries="{} of {} retries",
    done_of="{} of {} steps complete",
    counts="{} participants · {} messages · {}",
    failed="failed",
    whole_text="Whole text, {} characters",
    report="Action report",
    review="Review",
    goal="Goal",
    left_out="{} earlier messages are not shown.",
    sources="Mermaid sources",
    sources_hint="Paste these where Mermaid is drawn: a README, a wiki, an issue.",
    to="to",
    contents="What is to be done",
    steps_left_out="{} further steps are not drawn.",
)

_CHINESE = Phrases(
    tag="zh-CN",
    title="计划与对话",
    plan="计划",
    dialogue="对话",
    states={
        Status.TODO: "待办",
        Status.RUNNING: "进行中",
        Status.WAITING: "等待中",
        Status.RETRYING: "重试中",
        Status.FAILED: "失败",
        Status.COMPLETE: "已完成",
    },
    no_plan="还没有计划",
    no_messages="还没有消息",
    nobody="（未署名）",
    round="第 {} 轮",
    builds_on="依赖",
    result="结果",
    retries="已重试 {} 次，最多 {} 次",
    done_of="共 {1} 步，已完成 {0} 步",
    counts="{} 位参与者 · {} 条消息 · {}",
    failed="失败",
    whole_text="全文，{} 字",
    report="执行报告",
    review="评审意见",
    goal="目标",
    left_out="更早的 {} 条消息未显示。",
    sources="Mermaid 源码",
    sources_hint="可粘贴到支持 Mermaid 的地方：README、维基或工单。",
    to="发给",
    contents="任务内容",
    steps_left_out="另有 {} 个步骤未绘出。",
)


def phrases_in(language: str) -> Phrases:
    """The words of a language: ``en`` or ``zh``, with or without a country. Raises ``InvalidInput`` for another."""
    spoken = language.lower().replace("_", "-").split("-")[0] if isinstance(language, str) else language  # pyright: ignore[reportUnnecessaryIsInstance]
    if spoken == "en":
        return _ENGLISH
    if spoken == "zh":
        return _CHINESE
    raise InvalidInput(f"the language must be 'en' or 'zh', not {shown(language)}")


__all__ = ["Phrases", "phrases_in"]
