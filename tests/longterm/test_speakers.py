"""Speakers: whom a question means, and who is forgotten."""

from __future__ import annotations

from memwell.longterm.speakers import Speakers, speaker_name


def test_people_are_named_by_the_first_part_of_their_name() -> None:
    speakers = Speakers()
    ben, anna, _ = (speakers.add(name) for name in ("Ben Lee", "安娜", ""))
    assert speakers.named(["ben", "lee"]) == [ben]
    assert speakers.named(["安娜"]) == [anna]
    assert speakers.named(["lee", ""]) == []


def test_roles_are_meant_and_never_named() -> None:
    speakers = Speakers()
    user, helper, _ = (speakers.add(name) for name in ("User", "assistant", "system"))
    assert speakers.meant(asker=True, helper=False) == [user]
    assert speakers.meant(asker=False, helper=True) == [helper]
    assert speakers.meant(asker=False, helper=False) == speakers.named(["user", "assistant", "system"]) == []
    assert [speaker_name(name) for name in ("Assistant", "Ben")] == ["", "Ben"]


def test_a_speaker_is_forgotten_with_the_last_record_and_the_number_used_again() -> None:
    speakers = Speakers()
    ben = speakers.add("Ben")
    assert speakers.add("Ben") == ben
    speakers.remove(ben)
    assert speakers.named(["ben"]) == [ben]
    speakers.remove(ben)
    assert speakers.named(["ben"]) == []
    assert speakers.add("Ann") == ben
    assert speakers.named(["ann"]) == [ben]
