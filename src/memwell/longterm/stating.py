"""The memories that state the facts which a question asks for, or which an answer to it must heed, found by the facts."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime

from memwell.language.asking import asks_about_former, asks_about_past
from memwell.language.claims.relations import USER
from memwell.language.fact_questions import FactQuestion, is_called, is_kind, relations_with
from memwell.longterm.facts import Fact, Facts
from memwell.longterm.statements import BY_HAND, name_key

_MOST = 5
_LONGEST = 300
_ASKS_FOR_FOOD = re.compile(
    r"\bwhat (?:should|can|could|shall|do|might) (?:I|we) (?:(?:cook|eat|bake|order in)\b|(?:make|have|order|serve|prepare)"
    r"\b.{0,30}\b(?:tonight|dinner|lunch|breakfast|supper|tea|snack|dessert))"
    r"|\b(?:suggest|recommend|give me|any|need|want)\b.{0,30}"
    r"\b(?:recipes?|meals?|dinner|lunch|breakfast|restaurants?|snacks?)\b"
    r"|\b(?:can|could|may|should) (?:I|we) (?:(?:eat|drink|try|order)\b|have (?:the|some)\b)"
    r"|\b(?:safe|ok|okay|fine|alright) for (?:me|us)(?: to (?:eat|have|drink))?\W*\Z|\b(?:book|reserve)\b.{0,15}\btable\b"
    r"|\bwhere (?:should|can|could|shall|do) (?:I|we) (?:eat|go for (?:dinner|lunch|breakfast|brunch|a meal))\b"
    r"|\b(?:bake|cook) (?:me |us )?(?:an? |some(?:thing)?\b)"
    r"|\bgood (?:recipe|snack|dessert|restaurant|breakfast|lunch|dinner)s?\b"
    r"|\b(?:plan|make|order)\b.{0,20}\b(?:dinner|lunch|breakfast|takeaway|takeout|meals?)\b"
    r"|\bwhat['’]?s? (?:is )?for (?:dinner|lunch|breakfast|supper|tea)\b|\bmeal plan\b"
    r"|[吃煮炒](?:点儿?|个|些)?(?:什么|啥)|[做点](?:点儿?|个|些)?(?:什么|啥)(?:好?[吃菜饭]|外卖|晚饭|午饭|早饭)|[吃煮][^，。？]{0,4}(?:好呢?|比较好)[？?]?\Z"
    r"|(?:推荐|想|给我|来)[^，。？]{0,10}(?:菜|餐厅|外卖|食谱|菜谱|馆子|晚饭|午饭|早饭|夜宵|甜[点品])"
    r"|(?:能|可以|适合)我?[吃喝]|(?:订|点)[^，。？]{0,3}(?:外卖|餐|位子|菜)|做[^，。？]{0,6}(?:菜|蛋糕|甜[点品]|[早午晚]饭)[^，。？]{0,4}[？?吗呢吧]",
    re.IGNORECASE,
).search
_FOOD = FactQuestion(USER, ("allergic_to", "diet"))
_FOR_ALL = re.compile(
    r"\b(?:we|us|our|kids?|children|family|everyone|everybody|all of)\b|我们|咱|全家|一家|大家|孩子|小孩|娃|家人",
    re.IGNORECASE,
).search
_AT_TABLE = ("child", "married_to", "partner")
_FAMILY = ("my son", "my daughter", "my child", "my partner", "my husband", "my wife")


def stating(
    facts: Facts, query: str, asked: FactQuestion | None, moment: datetime, is_speaker: Callable[[str], bool]
) -> list[str]:
    """The ids of the memories that state what a question asks for (``asked``) and that holds, newest first.

    It is of the user, of one of theirs, or of a speaker, called by name. For a question what to eat these are the allergies
    and the diet, and those of the family where it is to eat as well.
    """
    if asked is None and len(query) <= _LONGEST and _ASKS_FOR_FOOD(query):
        asked = _FOOD
    if asked is None or not asked.is_answered_by_any or asks_about_former(query) or asks_about_past(query):
        return []
    if asked.subject != USER and not asked.kin and not is_speaker(asked.subject):
        return []
    relations = asked.relations or relations_with(asked.called)
    eaters = [asked.subject]
    if asked is _FOOD and _FOR_ALL(query):
        family = (one for relation in _AT_TABLE for one in facts.about(USER, relation=relation, as_of=moment))
        eaters += dict.fromkeys([*(one.object for one in family), *_FAMILY])
    held = [
        one for who in eaters for relation in relations for one in facts.about(who, relation=relation, as_of=moment)
    ]
    held = list({one.id: one for one in held}.values())
    if asked.called:
        held = [one for one in held if _is_called(one, asked.called, facts)]
    held.sort(key=lambda one: (one.said_at, one.id), reverse=True)
    records = (source.record for one in held for source in one.evidence[-1:] if source.record != BY_HAND)
    return list(dict.fromkeys(records))[:_MOST]


def _is_called(fact: Fact, word: str, facts: Facts) -> bool:
    """Whether a fact is of the relative or the pet that a word is for."""
    kinds = facts.about(fact.object, relation="kind") if fact.relation == "pet" else []
    if kinds:
        return any(is_kind(name_key(one.object), word) or is_kind(word, name_key(one.object)) for one in kinds)
    said = [words for source in fact.evidence if (words := facts.said(source))]
    return is_called(fact.relation, fact.object, said, word)
