"""Events: what a text says that happened to those whom only what is known can name."""

from __future__ import annotations

import pytest

from memwell.language.events import BACK, JOINED, MOVED_IN, WEDDING, events

HAPPENED = {
    "We got married on Saturday!": (WEDDING, ""), "We've finally tied the knot.": (WEDDING, ""),
    "Just got married!": (WEDDING, ""), "We're married now!": (WEDDING, ""), "我们今天去民政局领证了": (WEDDING, ""),
    "我和女朋友昨天领证了": (WEDDING, ""), "Pickle's back!": (BACK, "Pickle"),
    "Guess what, Miso turned up.": (BACK, "Miso"),
    "We found Pickle hiding in the shed!": (BACK, "Pickle"), "咪咪自己回来了": (BACK, "咪咪"), "咪咪找到了": (BACK, "咪咪"),
    "We got the keys and moved in on Friday.": (MOVED_IN, ""), "我们上周搬进新家了": (MOVED_IN, ""),
    "Mum has moved in with us.": (JOINED, "Mum"), "Our daughter has moved back home.": (JOINED, "Our daughter"),
    "我妈搬来跟我们一起住了": (JOINED, "我妈"),
}  # fmt: skip
NOTHING = (
    "If we got married, I'd cry.", "We're getting married in June.", "We never got married.", "We nearly got married.",
    "I dreamt we got married.", 'She said "we got married in Rome".', "Have you moved in yet?", "Tom's back from Spain.",
    "What if Pickle's back by then?", "我们下个月领证", "要是我们领证了就好了", "我们领证了吗？", "我回来了",
    "I moved in circles.", "",
)  # fmt: skip


@pytest.mark.parametrize("text", HAPPENED)
def test_what_happened_is_read_with_whom_it_names(text: str):
    assert [(one.kind, one.name) for one in events(text)] == [HAPPENED[text]]


@pytest.mark.parametrize("text", NOTHING)
def test_what_is_asked_wished_quoted_or_to_come_did_not_happen(text: str):
    assert events(text) == []


@pytest.mark.parametrize("piece", ["We got ", "my my ", "Pickle ", "我们领", "，我家", "have just ", "A" * 50])
def test_a_hostile_text_is_read_up_to_a_bound(piece: str):
    assert events(piece * 20_000) == []


def test_an_event_has_its_place():
    text = "Hello there. We got married on Saturday!"
    [one] = events(text)
    assert text[one.start : one.end] == "We got married on Saturday"
