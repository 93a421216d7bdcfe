from __future__ import annotations

from pathlib import Path

import pytest

from tests.examples.running import printed_by

EXPECTED = {
    "en": ("water tank", "ticket 1", "seven days", "handbook.md", "ticket 5", "not online", "4 of 5"),
    "zh": ("水箱", "工单 1", "七天", "手册.md", "工单 5", "网上不接受支票", "5 个问题中，4 个"),
}


@pytest.mark.parametrize("language", sorted(EXPECTED))
def test_what_is_known_is_answered_with_its_source_and_what_is_solved_is_learnt(tmp_path: Path, language: str):
    printed = printed_by("customer_service.py", tmp_path, language)
    tank, first, days, handbook, fifth, online, closing = EXPECTED[language]
    places = [printed.find(word) for word in (tank, first, days, handbook, fifth, online, closing)]
    assert -1 not in places
    assert printed.count(online) == 2, "said by a person, then by the desk"
