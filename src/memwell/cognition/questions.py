"""Whether a text asks something, by its marks and its words, in English and Chinese."""

from __future__ import annotations

import re

from memwell.language.sentences import sentences

_LOOKED_AT = 2000
_QUESTION = re.compile(
    r"[?？]\s*\Z|[吗呢嘛么][。！!]?\s*\Z|\A\W*(?:who|what(?!\s+an?\b)|which|when(?!\s+(?:I|we|he|she|they|you|my|our)\b)|where"
    r"|why|how|is|are|do(?!\s+not\b|n['’]t\b)|does|did|can|could|will|would|should|tell|explain|describe)\b"
    r"|什么|为何|为啥|怎么|怎样|如何|哪[里儿个些种]|多少|是不是|有没有|\A请?(?:介绍|解释|告诉)",
    re.I,
)
# More is asked of what is to count for nothing but a question: "Where I live it rains" tells something.
_SURELY = re.compile(
    r"[?？]\W*\Z|[吗呢么][。！!]?\s*\Z"
    r"|\A\W*(?:who|what|which|where|why|how|when)(?:['’]s|\s+(?:is|are|was|were|do|does|did|can|could|will|would|should|has"
    r"|have|many|much|often|long|old))\b"
    r"|\A\W*(?:is|are|do|does|did|can|could|would|should)\s+(?:I|you|he|she|it|we|they|my|your|the|there|this|that|an?)\b"
    r"|\A\W*(?:please\s+)?(?:tell\s+me|explain|describe|remind\s+me)\b"
    r"|\A[^，,：:。]{0,24}(?:什么|为何|为啥|怎么|怎样|如何|哪[里儿个些种]|多少|谁)[^，,：:。]{0,16}[。！!]?\Z"
    r"|\A请?(?:介绍|解释|告诉我)",
    re.I,
)


def is_question(text: str) -> bool:
    """Whether a sentence asks something."""
    return bool(_QUESTION.search(text.strip()))


def only_asks(text: str) -> bool:
    """Whether every sentence of a text asks something, so that it tells nothing."""
    said = [one.text.strip() for one in sentences(text[:_LOOKED_AT])]
    return bool(said) and all(_SURELY.search(one) for one in said)


__all__ = ["is_question", "only_asks"]
