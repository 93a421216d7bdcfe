from __future__ import annotations

from memwell.longterm.makers import DEFAULT, MARK, NAMED, ORDERED, Makers, Wish
from memwell.models.named import offer_embedder
from memwell.records import Space
from memwell.storage import open_backend
from tests.senses import Sense

INNER = Space("ann", "memwell")


def test_the_first_to_store_vectors_say_whose_they_are():
    with open_backend("memory:") as backend:
        one, other = (Makers(backend.kv, INNER, Sense(name)) for name in ("one", "other"))
        assert (one.whose(), one.is_current(), one.wants_others()) == (None, True, False)
        assert one.claim("one")
        assert not other.claim("other")
        assert (other.whose(), other.is_current(), other.wants_others()) == ("one", False, True)
        assert backend.kv.get(INNER, MARK).value == "one"  # type: ignore[union-attr]


def test_who_makes_vectors_of_the_kind_that_is_there():
    with open_backend("memory:") as backend:
        chosen, known = Sense("chosen"), Sense("known to all")
        offer_embedder(known)
        makers = Makers(backend.kv, INNER, chosen)
        assert makers.maker_of(None) is makers.maker_of("chosen") is chosen
        assert makers.maker_of("known to all") is known
        assert makers.maker_of("never heard of") is None
        assert Makers(backend.kv, INNER, None).maker_of("known to all") is None, "words alone were asked for"


def test_who_decides_later_or_with_more_weight_decides():
    first, second = Wish.made_now(), Wish.made_now()
    assert first < second
    assert Wish.made_now(DEFAULT) < first
    assert Wish.made_now(NAMED) < Wish(ORDERED, first.at)
    with open_backend("memory:") as backend:
        early = Makers(backend.kv, INNER, Sense("early"))
        early.claim("early")
        late = Makers(backend.kv, INNER, Sense("late"))
        late.give_way("late")
        assert not early.wants_others(), "it was chosen before the others were made"
        assert Makers(backend.kv, INNER, Sense("early")).wants_others()
        assert not Makers(backend.kv, INNER, None).wants_others()
        assert Makers(backend.kv, INNER, Sense("early"), Wish.made_now(DEFAULT)).wants_others()
        offer_embedder(Sense("late"))
        assert not Makers(backend.kv, INNER, Sense("early"), Wish.made_now(DEFAULT)).wants_others()
