from __future__ import annotations

from pathlib import Path

import pytest

from tests.examples.running import Printed

EXPECTED = {
    "en": ("5550 171", "7:40", "Paper House", "I don't know", "9:15", "peanuts", "1 changed"),
    "zh": ("5550171", "七点四十", "文具之家", "我不知道", "九点十五", "花生", "更新 1"),
}


@pytest.mark.parametrize("language", sorted(EXPECTED))
def test_notes_are_answered_from_and_changes_are_followed(tmp_path: Path, printed: Printed, language: str):
    said = printed("personal_assistant.py", tmp_path, "--language", language)
    assert list(tmp_path.iterdir()) == [], "it leaves nothing behind"
    phone, before, shop, unknown, after, allergy, changed = EXPECTED[language]
    first, again = said.split("\n\n")[:2]
    assert all(word in first for word in (phone, before, shop, unknown, allergy))
    assert after in again
    assert before not in again
    assert changed in again
    assert unknown in again, "what was removed is not known any more"
    prompt = said.rpartition("<<<")[2]
    assert allergy in prompt
    assert phone in prompt
