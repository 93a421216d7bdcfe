from __future__ import annotations

import unicodedata
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import InvalidInput
from memwell.longterm.duplicates import Twins, clusters, compatible, fingerprint, similar

SAME = (
    ("I live in Paris.", "i live  in\nPARIS"),
    ("Really?!", "really"),
    ("好的。", "好的"),
    ("Ｈｅｌｌｏ，世界！", "hello,世界"),
    ("Straße", "STRASSE"),
    ("see you…", "See you"),
)
OTHER = (("I live in Paris", "I live in Pari"), ("?", "!"), ("C++", "C"), ("不是", "是"), ("a b", "ab"))

vocabulary = st.sampled_from("ann bob likes hates green tea coffee on in the park 巴黎 上海 喝茶 3 4 not".split())
texts = st.lists(vocabulary, max_size=8).map(" ".join)


@pytest.mark.parametrize(("one", "other"), SAME)
def test_form_does_not_make_a_text_another(one: str, other: str):
    assert fingerprint(one) == fingerprint(other)


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_content_makes_a_text_another(one: str, other: str):
    assert fingerprint(one) != fingerprint(other)


@given(st.text())
def test_a_fingerprint_is_32_hexadecimal_characters_and_ignores_what_surrounds(text: str):
    assert len(bytes.fromhex(fingerprint(text))) == 16
    assert fingerprint(f"  {text}\n") == fingerprint(text)


@given(st.text(max_size=40) | st.text(st.sampled_from("，！？：；（）～\u3000Ａé中a"), max_size=20))
def test_compatible_text_is_what_unicode_says(text: str):
    assert compatible(text) == unicodedata.normalize("NFKC", text)


def test_a_long_row_of_marks_is_normalised_in_stretches():
    marks = "\u0301\u0316" * 100_000
    assert len(compatible(f"Ａ{marks}")) == len(marks)


@given(texts, texts)
def test_likeness_is_symmetric_and_full_for_the_same(one: str, other: str):
    assert similar(one, other) == similar(other, one)
    assert 0 <= similar(one, other) <= 1
    assert similar(one, one) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("we meet at the old mill on 5 May", "we meet at the old mill on 6 May"),
        ("I do like the green tea they have", "I do not like the green tea they have"),
        ("我喜欢喝楼下那家店的绿茶", "我不喜欢喝楼下那家店的绿茶"),
        ("他家里养了三只猫和一只狗", "他家里养了四只猫和一只狗"),
    ],
)
def test_another_number_or_negation_is_never_a_duplicate(one: str, other: str):
    assert similar(one, other) > 0.4
    assert clusters([("a", one), ("b", other)], 0.4) == []
    assert clusters([("a", one), ("b", f"{one} too")], 0.4) == [["a", "b"]]


def _plain_groups(items: list[str], threshold: float) -> list[list[int]]:
    """The same by comparing every text with every leader."""
    groups: dict[int, list[int]] = {}
    for place, text in enumerate(items):
        likeness = {
            leader: similar(text, items[leader])
            for leader in groups
            if clusters([("a", text), ("b", items[leader])], 1e-6) or similar(text, items[leader]) == 0
        }
        best = max(likeness, key=lambda leader: (likeness[leader], -leader), default=None)
        if best is not None and likeness[best] >= threshold - 1e-9:
            groups[best].append(place)
        else:
            groups[place] = [place]
    return [group for group in groups.values() if len(group) > 1]


@given(st.lists(texts.filter(bool), max_size=10), st.sampled_from([0.3, 0.5, 0.8, 1.0]))
def test_no_pair_is_overlooked(items: list[str], threshold: float):
    found = clusters([(str(place), text) for place, text in enumerate(items)], threshold)
    assert [[int(id_) for id_ in group] for group in found] == _plain_groups(items, threshold)


@given(st.lists(texts, max_size=12))
def test_every_text_is_like_the_first_of_its_group(items: list[str]):
    by_id = {str(place): text for place, text in enumerate(items)}
    for group in clusters(by_id.items(), 0.6):
        assert len(group) == len(set(group)) > 1
        assert all(similar(by_id[group[0]], by_id[other]) >= 0.6 - 1e-9 for other in group[1:])


def test_a_text_restates_others_when_it_has_all_their_words():
    twins = Twins()
    for text in (
        "Ann likes green tea",
        "Ann really likes the green tea",
        "Ann likes green coffee",
        "Ann likes green tea a lot",
    ):
        twins.add(text)
    assert len(twins) == 4
    assert twins.restates([0, 1, 3])
    assert not any(twins.restates(pair) for pair in combinations([0, 2], 2))


@pytest.mark.parametrize("threshold", [0, -0.1, 1.1])
def test_a_threshold_is_a_share(threshold: float):
    with pytest.raises(InvalidInput, match="threshold"):
        Twins().clusters(threshold)
