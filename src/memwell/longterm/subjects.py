"""``Subjects``: who is meant by a name as people say it: *my mother*, 我妈, a first name, a name with one letter wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from memwell.language.claims.chinese_objects import KIN
from memwell.language.claims.relations import USER
from memwell.longterm.statements import (
    FactStatement,
    FactStatements,
    checked_name,
    name_key,
    prefix_of_name,
    spellings,
)

_SAME: dict[str, tuple[str, ...]] = {
    "parent": (
        "mother mom mum mommy mummy mama 妈妈 母亲 老妈 妈 娘",
        "father dad daddy papa 爸爸 父亲 老爸 爸 爹",
    ),
    "married_to": ("wife 妻子 老婆 太太 媳妇", "husband 丈夫 老公 先生", "spouse 爱人"),
    "partner": ("girlfriend 女朋友 女友", "boyfriend 男朋友 男友", "fiancé fiance 未婚夫", "fiancée fiancee 未婚妻"),
    "child": ("son 儿子", "daughter 女儿"),
    "sibling": ("sister sis", "brother bro", "哥哥 哥", "姐姐 姐", "妹妹", "弟弟"),
    "relative": (
        "grandmother grandma granny",
        "grandfather grandpa",
        "奶奶",
        "爷爷",
        "外婆 姥姥",
        "外公 姥爷",
    ),
    "colleague": ("boss 老板 上司 领导",),
}
"""Words for the same relative, by the relation to them."""

_KIN = {
    word: (relation, tuple(group.split()))
    for relation, groups in _SAME.items()
    for group in groups
    for word in group.split()
}
_OWNED = re.compile(r"(?P<owner>.+?)(?:['’]s\s+|的)(?P<kin>.+)").fullmatch
_MINE = ("my", "our", "mum", "mom", "mama", "dad", "papa", "我", "咱", "俺")
"""Words of which a speaker says one of their own relatives; *mum* stands for my own."""
_OUR = re.compile(r"(?:我们|咱们|我|俺|咱)(?=.)")
_SUBJECTS_READ = 500
_LEAST_SPELT = 3


class Subjects:
    """The names under which someone is known, found by the name that is asked for.

    ``text_of`` gives the text of a record, or nothing: only the words *my mother Ann* say which parent Ann is.
    """

    def __init__(self, statements: FactStatements, text_of: Callable[[str], str]) -> None:
        self._statements = statements
        self._text_of = text_of

    def named(self, subject: str, *, misspelt: bool = True) -> list[str]:
        """The compared names of who is meant, the best first; the given one alone for a stranger.

        A relative is found by every usual word and by the name; else a first name or, with ``misspelt``, a name that
        differs by one letter means the only person it fits. Raises ``InvalidInput`` for an empty name.
        """
        name = checked_name(subject)
        if name == USER:
            return [name]
        found = self._known_as(name) or self._of_speaker(name)
        return found or self._known_as(self._only_similar(name, misspelt=misspelt)) or [name]

    def _known_as(self, name: str) -> list[str]:
        """The names of who is known by exactly this name, or is this relative."""
        if not name:
            return []
        owner, kin = _owner_and_kin(name)
        if kin in _KIN:
            relation, words = _KIN[kin]
            person = self._person(owner, relation, words)
            found = [
                *self._relatives(owner, (*words, *_role(kin))),
                person,
                name if self._statements.knows(name) else "",
            ]
            return list(dict.fromkeys(filter(None, found)))
        found = [*([name] if self._statements.knows(name) else []), *self._roles(name)]
        return found or self._relatives(owner, (kin, *_role(kin)))

    def _of_speaker(self, name: str) -> list[str]:
        """The names of *my mother* where the only speaker who spoke of one has a name: those of Nora's mother."""
        owner, kin = _owner_and_kin(name)
        if owner != USER or kin not in _KIN:
            return []
        relation, words = _KIN[kin]
        owners: set[str] = set()
        for one in islice(self._statements.subjects(""), _SUBJECTS_READ):
            owned = _OWNED(one)
            mine = owned is not None and owned["kin"] in (*words, *_role(kin))
            held = self._statements.groups(prefix_of_name(one, None if mine else relation))
            stated = [each for _, group in held if mine or owned is None for each in _standing(group)]
            if any(self._says(each, words) and self._says(each, _MINE) for each in stated):
                owners.add(name_key(owned["owner"]) if owned else one)
        return self._known_as(f"{owners.pop()}'s {kin}") if len(owners) == 1 else []

    def _relatives(self, owner: str, words: tuple[str, ...]) -> list[str]:
        """The subjects that are called someone's relative, in the order of the words."""
        known = [one for link in ("'s ", "的") for one in self._statements.subjects(f"{owner}{link}")]
        return [one for word in words for one in known if one in (f"{owner}'s {word}", f"{owner}的{word}")]

    def _person(self, owner: str, relation: str, words: tuple[str, ...]) -> str:
        """The name of someone's relative; empty if none is known, or several are."""
        held = self._statements.group(prefix_of_name(owner, relation))
        names = {name_key(one.object) for one in _standing(held) if self._says(one, words)}
        return names.pop() if len(names) == 1 else ""

    def _roles(self, name: str) -> Iterator[str]:
        """The subjects that are called the relative whose name this is."""
        questions = self._statements.questions_about(name, _SUBJECTS_READ)
        # Read from the key, as a place may be named by many who are no relatives.
        for question in (one for one in questions if one.split("/")[3] in _SAME):
            for one in _standing(self._statements.group(question)):
                owner = name_key(one.subject)
                for words in map(str.split, _SAME.get(one.relation, ())):
                    group = tuple(words)
                    if self._says(one, group) and self._person(owner, one.relation, group) == name:
                        yield from self._relatives(owner, group)

    def _says(self, one: FactStatement, words: Iterable[str]) -> bool:
        """Whether the text of a statement has one of the words."""
        said = self._text_of(one.source.record)[one.source.start : one.source.end].casefold()
        return re.search(rf"(?<![a-z])(?:{'|'.join(map(re.escape, words))})(?![a-z])", said) is not None

    def _only_similar(self, name: str, *, misspelt: bool) -> str:
        """The only subject with this first name or, if none, with ``misspelt`` a name that differs by one letter."""
        found = list(islice(self._statements.subjects(f"{name} "), 2))
        if misspelt and not found and len(name) >= _LEAST_SPELT and name[0].isascii():
            near = frozenset(spellings(name))
            known = islice(self._statements.subjects(name[0]), _SUBJECTS_READ)
            found = [one for one in known if one in near]
        return found[0] if len(found) == 1 else ""


def _owner_and_kin(name: str) -> tuple[str, str]:
    """Whose relative a name means, and which: *Ann's mom*; without an owner the user's."""
    owned = _OWNED(name)
    return (name_key(owned["owner"]), owned["kin"]) if owned else (USER, _OUR.sub("", name, count=1))


def _role(kin: str) -> tuple[str, ...]:
    """The word under which the reader of facts stores a relative who is named in Chinese: *sister* for 姐姐."""
    found = None if kin.isascii() else KIN.get(kin)
    return () if found is None else (found.word,)


def _standing(statements: Iterable[FactStatement]) -> list[FactStatement]:
    """The statements that are believed."""
    given = list(statements)
    denied = {one.value for one in given if one.denies}
    return [one for one in given if not one.negated and one.retired_at is None and one.value not in denied]
