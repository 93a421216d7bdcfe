from __future__ import annotations

import re
from pathlib import Path
from string import Formatter

import pytest

from memwell import cli
from memwell.cli.phrases import _PHRASES, say

SOURCES = {path.name: path.read_text(encoding="utf-8") for path in Path(cli.__file__).parent.glob("*.py")}
CODE = "\n".join(text for name, text in SOURCES.items() if name != "phrases.py")
CHINESE = re.compile("[\u4e00-\u9fff]")


def placeholders(phrase: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(phrase) if name is not None}


def said_alike(key: str) -> bool:
    english, chinese = _PHRASES[key]
    if not english or not chinese or placeholders(english) != placeholders(chinese):
        return False
    values = dict.fromkeys(placeholders(english), "‹value›")
    for language, phrase in (("en", english), ("zh", chinese), ("zh-CN", chinese), ("fr", english)):
        said = say(key, language, **values)
        if "{" in said or said.count("‹value›") != len(re.findall(r"\{\w+\}", phrase)):
            return False
    return True


def test_every_phrase_says_the_same_in_both_languages():
    assert [key for key in _PHRASES if not said_alike(key)] == []


def test_every_chinese_phrase_is_chinese_and_no_english_one():
    assert [
        key
        for key, (english, chinese) in _PHRASES.items()
        if CHINESE.search(english) or not (CHINESE.search(chinese) or english == chinese == "#")
    ] == []


def test_every_phrase_is_used():
    composed = tuple(re.findall(r'say\(f"(\w+_)\{', CODE))
    assert [key for key in _PHRASES if not re.search(f"[\"']{key}[\"']", CODE) and not key.startswith(composed)] == []


def test_every_phrase_that_is_used_exists():
    used = set(re.findall(r"\bsay\(\s*[\"'](\w+)[\"']", CODE))
    assert len(used) > 30
    assert used <= _PHRASES.keys()


def test_the_language_is_that_of_the_settings(monkeypatch: pytest.MonkeyPatch):
    for language, said in (("zh", "正常"), ("en", "ok")):
        monkeypatch.setenv("MEMWELL_LANGUAGE", language)
        assert say("ok") == said


@pytest.mark.parametrize(
    ("key", "values", "said"),
    [
        ("new_threads", {"number": "1"}, "1 thread"),
        ("new_memories", {"number": 1}, "1 memory"),
        ("new_aliases", {"number": "1"}, "1 alias"),
        ("new_messages", {"number": "11"}, "11 messages"),
        ("new_facts", {"number": "1,001"}, "1,001 facts"),
    ],
)
def test_one_thing_is_not_several(key: str, values: dict[str, object], said: str):
    assert say(key, "en", **values) == said


def test_every_number_of_a_report_has_its_own_noun():
    counts = {"messages": 1, "threads": 1, "records": 2, "entries": 1, "blobs": 1}
    [key] = [key for key, (english, _) in _PHRASES.items() if english.startswith("{messages} messages in")]
    assert say(key, "en", **counts) == "1 message in 1 conversation, 2 records, 1 key-value entry, 1 blob"
