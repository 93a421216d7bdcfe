"""Where the memory of language models is going: milestones by year, as data and as a picture."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

from memwell.compat.guide.pictures import roadmap_figure
from memwell.errors import InvalidInput
from memwell.values import shown

if TYPE_CHECKING:
    from memwell.plotting import Figure

_ROADMAPS: dict[str, dict[str, dict[str, Any]]] = {
    "zh": {
        "2024": {"focus": "RAG优化", "milestones": ["混合检索（向量+关键词）", "多模态RAG", "实时知识更新"]},
        "2025": {"focus": "记忆架构创新", "milestones": ["神经记忆网络", "个性化记忆系统", "跨会话记忆"]},
        "2026": {"focus": "无限上下文", "milestones": ["新架构普及", "百万级上下文", "实时记忆压缩"]},
        "2027": {"focus": "通用人工智能", "milestones": ["类脑记忆系统", "持续学习能力", "多智能体记忆共享"]},
    },
    "en": {
        "2024": {
            "focus": "Better RAG",
            "milestones": ["hybrid search: vectors and words", "RAG over several media", "knowledge updated at once"],
        },
        "2025": {
            "focus": "New memory architectures",
            "milestones": ["neural memory networks", "personal memory", "memory across sessions"],
        },
        "2026": {
            "focus": "Endless context",
            "milestones": ["new architectures spread", "contexts of a million", "memory compressed at once"],
        },
        "2027": {
            "focus": "General intelligence",
            "milestones": ["brain-like memory", "continual learning", "memory shared by agents"],
        },
    },
}


class TechnologyRoadmap:
    """The milestones by year, in ``roadmap``, which may be added to. Raises ``InvalidInput`` for an unknown language."""

    def __init__(self, language: str = "zh") -> None:
        if language not in _ROADMAPS:
            raise InvalidInput(f"the roadmap is written in {' or '.join(_ROADMAPS)}, not {shown(language)}")
        self.language = language
        self.roadmap = deepcopy(_ROADMAPS[language])

    def generate_roadmap_chart(self) -> Figure:
        """The milestones on a time line, and what each year is about. Raises ``MissingDependency`` without matplotlib."""
        years = {year: (str(one["focus"]), list(one["milestones"])) for year, one in self.roadmap.items()}
        return roadmap_figure(years, self.language)


__all__ = ["TechnologyRoadmap"]
