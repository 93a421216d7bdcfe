"""What people in the generated dialogues have done and how they talk of it, from ``english.json`` and ``chinese.json``.

A happening is one line there. Its fields: category | did (first person) | do (for a question) | the same in other words |
noun | noun in other words | details, each *asked in the talk > answered > asked later*, separated by ``;`` | why | caption
of a photo | a question that needs a conclusion. In braces: x the person, p a place, w another person, n a number, c a
colour.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import msgspec


class Detail(NamedTuple):
    """Something the other one asks about, its answer, and how it may be asked about later."""

    asked: str
    answer: str
    later: str


class Happening(NamedTuple):
    """Something a person did, in all the words that the talk and the questions need."""

    category: str
    did: str
    do: str
    otherwise: str
    noun: str
    other_noun: str
    details: list[Detail]
    why: str
    photo: str
    inference: str


class Phrases(msgspec.Struct, forbid_unknown_fields=True):
    """What a language needs to make a conversation of happenings; in braces also o the other one, f a filler, t a time."""

    happenings: list[str]
    categories: dict[str, str]
    people: list[str]
    others: list[str]
    places: list[str]
    colours: list[str]
    greetings: list[str]
    news: list[str]
    openers: list[str]
    statements: list[str]
    times: list[str]
    reactions: list[str]
    echoes: list[str]
    fillers: list[str]
    small_talk: list[tuple[str, str]]
    returns: list[tuple[str, str]]
    goodbyes: list[str]
    whens: list[str]
    whys: list[str]
    whats: list[str]
    months: list[str]
    tails: list[str]
    questions_back: list[str]
    about: list[str]
    pairs: list[str]
    given: str
    late_times: list[str]
    when_asked: str
    because: str

    def read(self) -> list[Happening]:
        """The happenings, taken apart."""
        return [_happening([field.strip() for field in line.split(" | ")]) for line in self.happenings]


def _happening(fields: list[str]) -> Happening:
    details = [Detail(*detail.split(">")) for detail in fields[6].split(";")]
    return Happening(*fields[:6], details, *fields[7:])


def _phrases(language: str) -> Phrases:
    return msgspec.json.decode(Path(__file__).with_name(f"{language}.json").read_bytes(), type=Phrases)


ENGLISH, CHINESE = _phrases("english"), _phrases("chinese")

__all__ = ["CHINESE", "ENGLISH", "Detail", "Happening", "Phrases"]
