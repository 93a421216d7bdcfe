from __future__ import annotations

from pathlib import Path

import pytest

from tests.examples.running import Printed

EXPECTED = {
    "en": ("water tank", "ticket 1", "seven days", "handbook.md", "ticket 5", "not online", "4 of 5"),
    "zh": ("水箱", "工单 1", "七天", "手册.md", "工单 5", "网上不接受支票", "5 个问题中，4 个"),
}


@pytest.mark.parametrize("language", sorted(EXPECTED))
def test_what_is_known_is_answered_with_its_source_and_what_is_solved_is_learnt(
    tmp_path: Path, printed: Printed, language: str
):
    said = printed("customer_service.py", tmp_path, "--language", language)
    assert list(tmp_path.iterdir()) == [], "it leaves nothing behind"
    tank, first, days, handbook, fifth, online, closing = EXPECTED[language]
    places = [said.find(word) for word in (tank, first, days, handbook, fifth, online, closing)]
    assert -1 not in places
    assert said.count(online) == 2, "said by a person, then by the desk"
