"""The memories that state the facts which a question asks for, or which an answer to it must heed, found by the facts."""

from __future__ import annotations

import re
from datetime import datetime

from memwell.language.asking import asks_about_former, asks_about_past
from memwell.language.claims.relations import USER
from memwell.language.fact_questions import FactQuestion, fact_question, is_called, is_kind, relations_with
from memwell.longterm.facts import Fact, Facts
from memwell.longterm.statements import BY_HAND, name_key

_MOST = 5
_LONGEST = 300
_ASKS_FOR_FOOD = re.compile(
    r"\bwhat (?:should|can|could|shall|do|might) (?:I|we) (?:(?:cook|eat|bake|order in)\b|(?:make|have|order|serve|prepare)"
    r"\b.{0,30}\b(?:tonight|dinner|lunch|breakfast|supper|tea|snack|dessert))"
    r"|\b(?:suggest|recommend|give me|any|need|want)\b.{0,30}"
    r"\b(?:recipes?|meals?|dinner|lunch|breakfast|restaurants?|snacks?)\b"
    r"|\bwhat['’]?s? (?:is )?for (?:dinner|lunch|breakfast|supper|tea)\b|\bmeal plan\b"
    r"|[吃煮炒](?:点儿?|个|些)?(?:什么|啥)|[做点](?:点儿?|个|些)?(?:什么|啥)(?:好?[吃菜饭]|外卖|晚饭|午饭|早饭)|[吃煮][^，。？]{0,4}(?:好呢?|比较好)[？?]?\Z"
    r"|(?:推荐|想|给我|来)[^，。？]{0,10}(?:菜|餐厅|外卖|食谱|菜谱|馆子|晚饭|午饭|早饭|夜宵)",
    re.IGNORECASE,
).search
_FOOD = FactQuestion(USER, ("allergic_to", "diet"))


def stating(facts: Facts, query: str, moment: datetime) -> list[str]:
    """The ids of the memories that state what a question asks for of the user and theirs and that holds, newest first.

    For a question what to eat these are the allergies and the diet.
    """
    asked = fact_question(query)
    if asked is None and len(query) <= _LONGEST and _ASKS_FOR_FOOD(query):
        asked = _FOOD
    if asked is None or asks_about_former(query) or asks_about_past(query):
        return []
    if asked.subject != USER and not asked.kin:
        return []
    relations = asked.relations or relations_with(asked.called)
    held = [one for relation in relations for one in facts.about(asked.subject, relation=relation, as_of=moment)]
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
