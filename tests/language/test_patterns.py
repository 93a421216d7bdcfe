from __future__ import annotations

import importlib
import pkgutil
import re
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

import memwell.language
from memwell.language.patterns import LazyPattern, lazy_match, lowered

TEXT = "Ann is 30, Bob is 41 and nobody is old."
PATTERN = r"(?P<name>[A-Z]\w+) is (?P<age>\d+)"


def test_nothing_is_compiled_before_the_first_use(monkeypatch: pytest.MonkeyPatch):
    made: list[str] = []
    usual = re.compile

    def noted(pattern: str, flags: int = 0) -> re.Pattern[str]:
        made.append(pattern)
        return usual(pattern, flags)

    monkeypatch.setattr(re, "compile", noted)
    lazy = LazyPattern(PATTERN)
    search, match = lazy.search, lazy_match(PATTERN)
    assert lazy.groups == ("name", "age")
    assert made == []
    assert search(TEXT) is not None
    assert search(TEXT, 5) is not None
    assert made == [PATTERN]
    assert match(TEXT, 11) is not None
    assert made == [PATTERN, PATTERN]


def test_it_finds_what_a_compiled_pattern_finds():
    lazy, usual = LazyPattern(PATTERN, re.IGNORECASE), re.compile(PATTERN, re.IGNORECASE)
    assert [one.span() for one in lazy.finditer(TEXT, 3)] == [one.span() for one in usual.finditer(TEXT, 3)]
    assert lazy.findall(TEXT) == usual.findall(TEXT)
    assert lazy.sub(r"\g<age>", TEXT, 1) == usual.sub(r"\g<age>", TEXT, count=1)
    assert LazyPattern("[,.] ?").split(TEXT, 1) == re.split("[,.] ?", TEXT, maxsplit=1)
    for method in ("search", "match", "fullmatch"):
        for bounds in ((), (4,), (0, 9), (11, 20)):
            one, other = getattr(lazy, method)(TEXT, *bounds), getattr(usual, method)(TEXT, *bounds)
            assert (one and one.span()) == (other and other.span())


@given(st.text())
def test_a_lowered_text_has_every_character_at_its_place(text: str):
    made = lowered(text)
    assert len(made) == len(text)
    assert all(low in (one, one.lower()) for one, low in zip(text, made, strict=True))
    assert lowered("I was in \u0130zmir. I WAS.") == "i was in \u0130zmir. i was."


def test_a_text_without_what_a_pattern_needs_compiles_nothing(monkeypatch: pytest.MonkeyPatch):
    made: list[str] = []
    monkeypatch.setattr(re, "compile", lambda pattern, flags=0: made.append(pattern))
    lazy = LazyPattern("a (cat|dog)", re.IGNORECASE, needs=("cat", "dog"))
    assert lazy.search("A bird") is lazy.match("A bird") is lazy.fullmatch("A bird") is None
    assert list(lazy.finditer("A bird")) == lazy.findall("A bird") == []
    assert lazy.sub("", "A bird") == "A bird"
    assert lazy.split("A bird") == ["A bird"]
    assert made == []
    monkeypatch.undo()
    assert lazy.search("A CAT") is not None
    assert lazy.search("A bird") is None


@cache
def _with_needs() -> dict[str, LazyPattern]:
    """The patterns of the package that need something, by name."""
    found: dict[str, LazyPattern] = {}
    for module in pkgutil.walk_packages(memwell.language.__path__, "memwell.language."):
        for name, value in vars(importlib.import_module(module.name)).items():
            lazy = getattr(value, "__self__", value)
            if isinstance(lazy, LazyPattern) and lazy.needs:
                found[f"{module.name}.{name}"] = lazy
    return found


@pytest.mark.parametrize("name", sorted(_with_needs()))
@given(data=st.data())
def test_what_a_pattern_finds_has_what_it_needs(name: str, data: st.DataObject):
    lazy = _with_needs()[name]
    # Case is ignored in what is needed, too.
    text = data.draw(st.from_regex(re.compile(lazy.pattern)))
    assert any(one in text.casefold() for one in lazy.needs)
