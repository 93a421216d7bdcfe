"""What is known, over REST: prompts with their receipts, facts, the graph they make, and profiles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice

from memwell.longterm.base import utc_now
from memwell.longterm.facts import Fact, Facts, name_key
from memwell.longterm.profiles import Profile
from memwell.records import Page, paged
from memwell.runtime.context.choosing import Receipt
from memwell.runtime.wire import memories
from memwell.service.call import Call, handles
from memwell.service.rest.threads import MOST, MOST_TOKENS, bounded

_MOST_EDGES = 2000
_MOST_STEPS = 10
_MOST_PASSAGES = 100
_FACTS_COUNTED = 10_000
"""How many facts are read to tell whom something is known of: what a request costs does not grow beyond that."""

# Prompts


@handles("context")
def context(call: Call, asked: memories.AskContext) -> memories.Prompt:
    """A prompt that asks a question, within a budget; with ``look_up`` the documents are searched for it too."""
    bounded(len(asked.documents), "the number of documents", least=0)
    bounded(asked.look_up, "look_up", least=0, most=_MOST_PASSAGES)
    found = call.memory.knowledge.recall(asked.query, limit=asked.look_up) if asked.look_up else []
    made = call.memory.context(
        asked.query,
        thread=asked.thread,
        budget=bounded(asked.budget, "budget", least=0, most=MOST_TOKENS),
        system=asked.system,
        profile=asked.profile,
        documents=[*asked.documents, *found],
        limit=bounded(asked.limit, "limit", least=0),
        language=asked.language,
        shares=asked.shares,
    )
    return memories.Prompt(
        messages=made.messages, tokens=made.tokens, budget=made.budget, receipt=made.receipt, openai=made.openai()
    )


@handles("receipts")
def receipts(call: Call, asked: memories.ListReceipts) -> memories.ReceiptList:
    """The newest receipts, or those of the prompts that a memory went into."""
    limit, kept = bounded(asked.limit, "limit"), call.memory.receipts
    wanted = kept.all() if asked.memory is None else kept.of_memory(asked.memory)
    return memories.ReceiptList(receipts=list(islice(wanted, limit)))


@handles("receipt")
def receipt(call: Call) -> Receipt:
    """What went into one prompt. Raises ``NotFound``."""
    return call.memory.receipts.get(call.path["id"])


# Facts


@handles("facts_about")
def facts_about(call: Call, asked: memories.FactsAbout) -> memories.FactList:
    """What holds of someone or something, at a moment, as it is or was believed."""
    found = call.memory.facts.about(asked.subject, relation=asked.relation, as_of=asked.as_of, known_at=asked.known_at)
    return memories.FactList(facts=found)


@handles("all_facts")
def all_facts(call: Call, asked: memories.ListFacts) -> Page[Fact]:
    """One page of all facts."""
    return call.memory.facts.all(limit=bounded(asked.limit, "limit"), cursor=asked.cursor)


@handles("facts_history")
def facts_history(call: Call, asked: memories.FactsHistory) -> memories.FactList:
    """All that was ever believed of someone or something."""
    return memories.FactList(facts=call.memory.facts.history(asked.subject, asked.relation))


@handles("conflicts")
def conflicts(call: Call, asked: memories.Conflicts) -> memories.Clashes:
    """The facts that contradict each other. Without a subject it reads all facts."""
    return memories.Clashes(clashes=call.memory.facts.conflicts(asked.subject))


@handles("graph")
def graph(call: Call, asked: memories.WalkGraph) -> memories.Graph:
    """The facts that lead from a name to others and on."""
    edges = call.memory.facts.walk(
        asked.start,
        depth=bounded(asked.depth, "depth", most=_MOST_STEPS),
        as_of=asked.as_of,
        limit=bounded(asked.limit, "limit", most=_MOST_EDGES),
    )
    return memories.Graph(edges=edges)


# Profiles


@handles("profiles")
def profiles(call: Call) -> memories.Subjects:
    """Whom something is known of, the most known first.

    At most 10,000 facts are read, in the order of their subjects, and at most 1,000 subjects told.
    """
    moment = utc_now()
    held = (fact for fact in _first(call.memory.facts) if fact.retired_at is None and fact.holds_at(moment))
    counts: Counter[str] = Counter()
    spelt: dict[str, str] = {}
    for fact in held:
        key = name_key(fact.subject)
        counts[key] += 1
        spelt.setdefault(key, fact.subject)
    ranked = sorted(counts, key=lambda key: (-counts[key], key))[:MOST]
    return memories.Subjects(subjects=[memories.Subject(name=spelt[key], facts=counts[key]) for key in ranked])


def _first(facts: Facts) -> Iterator[Fact]:
    return islice(paged(lambda cursor: facts.all(limit=MOST, cursor=cursor)), _FACTS_COUNTED)


@handles("profile")
def profile(call: Call, asked: memories.ProfileOf) -> Profile:
    """What is known of someone; nothing is known of a stranger. It reads all memories."""
    return call.memory.profile(call.path["subject"], language=asked.language)


__all__: list[str] = []
