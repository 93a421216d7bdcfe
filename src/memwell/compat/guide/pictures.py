"""Pictures that explain memory: what attention costs, how long contexts have become, the roadmap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from memwell.errors import InvalidInput
from memwell.plotting import current_figure, save, set_chinese
from memwell.values import check_count, shown

if TYPE_CHECKING:
    from memwell.plotting import Figure

Roadmap = Mapping[str, tuple[str, Sequence[str]]]
"""By year: what it is about, and its milestones."""

SEQUENCE_LENGTHS = (512, 1024, 2048, 4096, 8192)
_ACCENT, _OTHER, _SOFT = "#0d9488", "#b45309", "#ccfbf1"


class ContextLength(NamedTuple):
    """A model, when it was announced, and how many tokens its context holds."""

    model: str
    month: str
    tokens: int


CONTEXT_LENGTHS = (
    ContextLength("GPT-3", "2020-05", 2_048),
    ContextLength("GPT-3.5", "2022-11", 4_096),
    ContextLength("GPT-4 (8K)", "2023-03", 8_192),
    ContextLength("GPT-4 (32K)", "2023-03", 32_768),
    ContextLength("Claude 2", "2023-07", 100_000),
    ContextLength("GPT-4 Turbo", "2023-11", 128_000),
    ContextLength("Gemini 1.5", "2024-02", 1_000_000),
    ContextLength("Claude 3", "2024-03", 200_000),
    ContextLength("Kimi", "2024-03", 2_000_000),
    ContextLength("Llama 3.1", "2024-07", 128_000),
)
"""As their vendors announced them."""

_PHRASES = {
    "en": {
        "attention": "What self-attention costs",
        "length": "tokens in the context",
        "pairs": "pairs of tokens compared (one head, one layer)",
        "memory": "memory of the scores at 4 bytes, MB (one head, one layer)",
        "grows": "twice the context, four times the work",
        "context": "How long contexts have become",
        "tokens": "tokens (logarithmic)",
        "roadmap": "Milestones of memory for language models",
        "focus": "What it is about",
    },
    "zh": {
        "attention": "自注意力的代价",
        "length": "上下文中的词元数",
        "pairs": "两两比较的词元对数（单头单层）",
        "memory": "注意力分数占用的内存，每个 4 字节，MB（单头单层）",
        "grows": "上下文加倍，计算量变为四倍",
        "context": "大模型上下文长度的演进",
        "tokens": "词元数（对数刻度）",
        "roadmap": "大模型记忆技术里程碑",
        "focus": "技术焦点",
    },
}


def attention_cost(tokens: int) -> tuple[int, float]:
    """How many pairs of tokens one head of one layer compares, and the memory of their scores in MB, at 4 bytes each."""
    return tokens * tokens, tokens * tokens * 4 / 2**20


def attention_figure(lengths: Sequence[int], language: str = "zh") -> Figure:
    """The cost of attention by the length of the context. Raises ``InvalidInput`` for an unknown language."""
    words = _words(language)
    fig: Any = current_figure(10, 4.5)
    costs = [attention_cost(length) for length in lengths]
    fig.suptitle(f"{words['attention']}{'：' if language == 'zh' else ': '}{words['grows']}")
    for place, (name, colour) in enumerate((("pairs", _ACCENT), ("memory", _OTHER)), 1):
        axes: Any = fig.add_subplot(1, 2, place)  # matplotlib leaves its options untyped
        values = [cost[place - 1] for cost in costs]
        axes.plot(lengths, values, marker="o", color=colour, linewidth=2)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xticks(list(lengths), [f"{length:,}" for length in lengths], rotation=30)
        axes.set_xlabel(words["length"])
        axes.set_title(words[name], fontsize=10)
        axes.grid(True, alpha=0.3)
        axes.margins(x=0.14, y=0.1)
        for length, value in zip(lengths, values, strict=True):
            text = _short(value) if name == "pairs" else f"{value:,.0f}"
            axes.annotate(text, (length, value), textcoords="offset points", xytext=(-8, 5), fontsize=8, ha="right")
    set_chinese(fig)
    return fig


def context_figure(language: str = "zh") -> Figure:
    """How many tokens the contexts of models hold, by when they were announced. Raises ``InvalidInput``."""
    words = _words(language)
    fig: Any = current_figure(9, 5.5)
    axes: Any = fig.add_subplot(1, 1, 1)
    models = CONTEXT_LENGTHS[::-1]
    names = [f"{one.model}  {one.month}" for one in models]
    bars = axes.barh(names, [one.tokens for one in models], color=_ACCENT)
    axes.set_xscale("log")
    axes.set_xlim(1_000, 8_000_000)
    for bar, one in zip(bars, models, strict=True):
        axes.text(one.tokens * 1.08, bar.get_y() + bar.get_height() / 2, _short(one.tokens), va="center", fontsize=9)
    axes.set_xlabel(words["tokens"])
    axes.set_title(words["context"], fontweight="bold")
    axes.grid(True, axis="x", alpha=0.3)
    set_chinese(fig)
    return fig


def roadmap_figure(roadmap: Roadmap, language: str = "zh") -> Figure:
    """The years in a row, each with its milestones, and below what it is about. Raises ``InvalidInput`` for no year."""
    words = _words(language)
    if not roadmap:
        raise InvalidInput("a roadmap must have a year")
    fig: Any = current_figure(12, 6.5)
    above, below = cast("tuple[Any, Any]", fig.subplots(2, 1, height_ratios=(3, 1)))
    above.set_title(words["roadmap"], fontsize=14, fontweight="bold")
    above.plot([-0.4, len(roadmap) - 0.6], [0, 0], color=_ACCENT, linewidth=2)
    most = max(len(milestones) for _, milestones in roadmap.values())
    for place, (year, (_, milestones)) in enumerate(roadmap.items()):
        above.plot([place], [0], marker="o", color=_ACCENT, markersize=12)
        above.text(place, 0.45, year, ha="center", fontsize=13, fontweight="bold")
        for row, milestone in enumerate(milestones, 1):
            box = {"boxstyle": "round,pad=0.35", "facecolor": _SOFT, "edgecolor": "none"}
            above.text(place, -0.75 * row, milestone, ha="center", va="center", fontsize=10, bbox=box)
    above.set_ylim(-0.75 * most - 0.6, 1.0)
    below.set_title(words["focus"], fontsize=12)
    for place, (focus, milestones) in enumerate(roadmap.values()):
        below.text(place, 0.5, focus, ha="center", va="center", fontsize=11 + 2 * len(milestones), color=_OTHER)
    for axes in (above, below):
        axes.set_xlim(-0.6, len(roadmap) - 0.4)
        axes.axis("off")
    set_chinese(fig)
    return fig


def _words(language: str) -> dict[str, str]:
    if language not in _PHRASES:
        raise InvalidInput(f"pictures are labelled in {' or '.join(_PHRASES)}, not {shown(language)}")
    return _PHRASES[language]


def _short(value: float) -> str:
    """A number as people write it on a picture: 4K, 1.05M, 17.2G. Of contexts a K is 1,024 where that comes out even."""
    if value < 2**20 and value >= 2**10 and value % 2**10 == 0 and value % 1000:
        return f"{value / 2**10:.0f}K"
    for bound, unit in ((1e9, "G"), (1e6, "M"), (1e3, "K")):
        if value >= bound:
            return f"{value / bound:.3g}{unit}"
    return f"{value:.3g}"


def demonstrate_attention_complexity(seq_lengths: Sequence[int] = SEQUENCE_LENGTHS) -> list[dict[str, float]]:
    """Print what attention costs at each length, for one head of one layer, and return the figures.

    Raises ``InvalidInput`` for a length that is no whole number above 0.
    """
    rows: list[dict[str, float]] = []
    print("序列长度 vs 计算复杂度:")  # noqa: T201 - it is made to be read
    for length in seq_lengths:
        pairs, megabytes = attention_cost(check_count(length, "a length", least=1))
        print(f"序列长度: {length:6d} | 计算量: {pairs:12d} | 内存(MB): {megabytes:10.2f}")  # noqa: T201
        rows.append({"sequence_length": length, "computations": pairs, "memory_mb": megabytes})
    return rows


def plot_context_length_evolution(
    path: str | Path | None = "context_length_evolution.png", *, language: str = "zh"
) -> Figure:
    """Draw how long contexts have become, write it as PNG unless ``path`` is None, and return the figure.

    Raises ``MissingDependency`` without matplotlib, ``FileError`` when the file cannot be written.
    """
    fig = context_figure(language)
    if path is not None:
        save(fig, path)
    return fig


_ROADMAPS: dict[str, dict[str, tuple[str, list[str]]]] = {
    "zh": {
        "2024": ("RAG优化", ["混合检索（向量+关键词）", "多模态RAG", "实时知识更新"]),
        "2025": ("记忆架构创新", ["神经记忆网络", "个性化记忆系统", "跨会话记忆"]),
        "2026": ("无限上下文", ["新架构普及", "百万级上下文", "实时记忆压缩"]),
        "2027": ("通用人工智能", ["类脑记忆系统", "持续学习能力", "多智能体记忆共享"]),
    },
    "en": {
        "2024": ("Better RAG",
            ["hybrid search: vectors and words", "RAG over several media", "knowledge updated at once"]),
        "2025": ("New memory architectures",
            ["neural memory networks", "personal memory", "memory across sessions"]),
        "2026": ("Endless context",
            ["new architectures spread", "contexts of a million", "memory compressed at once"]),
        "2027": ("General intelligence",
            ["brain-like memory", "continual learning", "memory shared by agents"]),
    },
}  # fmt: skip


class TechnologyRoadmap:
    """The milestones by year, in ``roadmap``, which may be added to. Raises ``InvalidInput`` for an unknown language."""

    def __init__(self, language: str = "zh") -> None:
        if language not in _ROADMAPS:
            raise InvalidInput(f"the roadmap is written in {' or '.join(_ROADMAPS)}, not {shown(language)}")
        self.language = language
        self.roadmap: dict[str, dict[str, Any]] = {
            year: {"focus": focus, "milestones": list(milestones)}
            for year, (focus, milestones) in _ROADMAPS[language].items()
        }

    def generate_roadmap_chart(self) -> Figure:
        """The milestones on a time line, and what each year is about. Raises ``MissingDependency`` without matplotlib."""
        years = {year: (str(one["focus"]), list(one["milestones"])) for year, one in self.roadmap.items()}
        return roadmap_figure(years, self.language)
