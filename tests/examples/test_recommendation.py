from __future__ import annotations

from pathlib import Path

import pytest

from tests.examples.running import Printed

EXPECTED = {
    "en": {"Ann": "Cakes", "Bo": "Machine learning", "Cleo": "Portrait photography"},
    "zh": {"小安": "庆典蛋糕", "阿博": "Python机器学习", "可莉": "人像摄影"},
}


@pytest.mark.parametrize("language", sorted(EXPECTED))
def test_each_customer_is_offered_what_fits_and_told_why(tmp_path: Path, printed: Printed, language: str):
    said = printed("recommendation.py", tmp_path, "--language", language)
    assert list(tmp_path.iterdir()) == [], "it leaves nothing behind"
    parts = said.strip().split("\n\n")
    assert len(parts) == 3
    for part, (name, course) in zip(parts, EXPECTED[language].items(), strict=True):
        first, offer, because, *_ = part.splitlines()
        assert first.startswith(name)
        assert course in offer
        assert because.strip().startswith(("because of ", "依据："))
    assert "running" not in parts[1].partition("\n")[2], "what was complained about is not offered"
