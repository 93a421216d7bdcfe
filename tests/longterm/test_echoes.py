from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import InvalidInput
from memwell.longterm.echoes import Echoes

MEMORIES = {
    "paris": "I live in Paris with my sister Anna.",
    "dog": "My dog is called Rex. He was born in 2019 and loves the beach.",
    "tea": "我每天早上都喝绿茶，不喝咖啡。",
    "ok": "ok",
}

REPEATED = (
    ("I live in Paris with my sister Anna.", "paris"),
    ("i live in paris with my sister anna!", "paris"),
    ("As you mentioned earlier, you live in Paris with your sister Anna.", "paris"),
    ("You live in Paris with your sister Anna. Your dog is called Rex.", "paris"),
    ("Your dog is called Rex.", "dog"),
    ("Rex, your dog, was born in 2019 and loves the beach.", "dog"),
    ("你每天早上都喝绿茶，不喝咖啡。", "tea"),
    ("我记得你每天早上都喝绿茶，不喝咖啡", "tea"),
    ("OK.", "ok"),
)

NEW = (
    "You live in Paris with your sister Anna, and next week you move to Berlin.",
    "You live in Paris with your sister Anna. Tomorrow the plumber comes at nine.",
    "You do not live in Paris with your sister Anna.",
    "Your dog was born in 2018 and loves the beach.",
    "你每天早上都喝绿茶，也喝咖啡。",
    "你每天早上都喝咖啡，中午去公司附近的餐厅吃面条。",
    "I like it.",
    "Sure!",
    "",
    "...",
)


@pytest.fixture
def echoes() -> Echoes:
    echoes = Echoes()
    for id_, text in MEMORIES.items():
        echoes.heard({id_: text})
    return echoes


@pytest.mark.parametrize(("text", "id_"), REPEATED)
def test_what_merely_repeats_a_memory_is_its_echo(echoes: Echoes, text: str, id_: str):
    assert echoes.echo_of(text) == id_


@pytest.mark.parametrize("text", NEW)
def test_what_says_more_or_something_else_is_none(echoes: Echoes, text: str):
    assert echoes.echo_of(text) is None


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.text(min_size=1)), max_size=12))
def test_only_what_was_heard_last_is_known_and_by_its_last_text(heard: list[tuple[str, str]]):
    echoes = Echoes(most=3)
    kept: dict[str, str] = {}
    for id_, text in heard:
        echoes.heard({id_: text})
        kept.pop(id_, None)
        kept[id_] = text
        echoes.echo_of("catch up")
    kept = dict(list(kept.items())[-3:])
    assert all(echoes.echo_of(text) in kept for text in kept.values())
    echoes.forget(list(kept))
    assert all(echoes.echo_of(text) is None for _, text in heard)
    assert [echoes._heard, echoes._unread, echoes._known, echoes._by_term, echoes._by_print] == [{}] * 5


def test_a_memory_heard_again_stays_longest():
    echoes = Echoes(most=2)
    for id_ in ("a", "b", "a", "c"):
        echoes.heard({id_: f"the story of number {id_}"})
    assert echoes.echo_of("the story of number b") is None
    assert echoes.echo_of("the story of number a") == "a"


def test_a_memory_that_changed_no_longer_echoes_its_old_text(echoes: Echoes):
    assert echoes.echo_of(MEMORIES["paris"]) == "paris"
    echoes.heard({"paris": "I live in Rome with my brother Tom."})
    assert echoes.echo_of(MEMORIES["paris"]) is None
    assert echoes.echo_of("You live in Rome with your brother Tom.") == "paris"


def test_threads_may_share_one():
    echoes = Echoes(most=20)

    def work(number: int) -> str | None:
        for turn in range(50):
            echoes.heard({f"{number}-{turn}": f"Thing {number} and place {turn} are far apart"})
            echoes.echo_of(f"Thing {number} and place {turn} are far apart")
        return echoes.echo_of(f"Nothing of {number}")

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(4))) == [None] * 4
    assert len(echoes._heard) == len(echoes._known) + len(echoes._unread) == 20


def test_it_must_be_able_to_hold_something():
    with pytest.raises(InvalidInput, match="most"):
        Echoes(most=0)
