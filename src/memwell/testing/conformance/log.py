"""The promises of ``MessageLog``."""

from __future__ import annotations

import pytest

from memwell.errors import Conflict, InvalidInput, NotFound
from memwell.messages import Image, Message, Role, Text, ToolCall, ai, human, message, system, tool_result
from memwell.records import Space, Thread
from memwell.storage.arguments import moment
from memwell.storage.protocols import Backend, ThreadInfo
from memwell.testing.conformance.suite import HOME, TALK, Clock, Suite, all_pages, said, texts_of

ODD_QUERIES = (
    "", " \t\n", '"', "'", 'word"; DROP TABLE message; --', "NEAR(a b, 3) OR *", "a AND NOT b", "body:word",
    "^word*", "(((", "1x2", "\u200b\u202e", "e\u0301", "😀🇳🇴", "word " * 2_000, "词" * 2_000,
)  # fmt: skip
"""Texts that mean something to a query language, or nothing at all."""


class _AppendingSuite(Suite):
    """Appending and reading."""

    def test_messages_come_back_in_order_as_stored(self, store: Backend) -> None:
        stored = store.log.append(TALK, [system("be brief"), human("hello"), ai("hi")])
        stored += store.log.append(TALK, [human("again")])
        assert [(m.index, m.round) for m in stored] == [(0, 0), (1, 1), (2, 1), (3, 2)]
        assert store.log.read(TALK) == stored

    def test_every_field_comes_back(self, store: Backend) -> None:
        sent = Message(
            Role.CHAT,
            (
                Text("words"),
                Image(data=b"\x00\xff", media_type="image/png", text="a cat", options={"detail": "low"}),
                ToolCall("call-1", "look", {"lc": 1, "type": "constructor", "deep": [None, True, 1.5, 2**63 - 1]}),
            ),
            name="Ann",
            metadata={"__class__": "x", "py/object": ["y"], "": "empty key", "中": "文"},
            tokens=7,
            hidden=True,
            chat_role="narrator",
        )
        [stored] = store.log.append(TALK, [sent])
        assert stored.changed(index=None, round=None) == sent
        assert store.log.read(TALK) == [stored]

    def test_a_tool_result_comes_back(self, store: Backend) -> None:
        [stored] = store.log.append(TALK, [tool_result("call-1", "sunny", name="weather", is_error=True)])
        assert store.log.read(TALK)[0].tool_results == stored.tool_results
        assert stored.tool_results[0].is_error

    def test_an_append_is_all_or_nothing(self, store: Backend) -> None:
        first = human("first")
        store.log.append(TALK, [first])
        with pytest.raises(Conflict):
            store.log.append(TALK, [human("second"), human("third", id=first.id)])
        with pytest.raises(InvalidInput):
            store.log.append(TALK, [human("second"), human("bad\x00")])
        assert texts_of(store.log.read(TALK)) == ["first"]
        assert [m.index for m in store.log.append(TALK, said("second"))] == [1]

    def test_appending_nothing_stores_nothing(self, store: Backend) -> None:
        assert store.log.append(TALK, []) == []
        assert store.log.threads(HOME).items == []

    def test_a_place_that_a_message_carries_is_replaced(self, store: Backend) -> None:
        [stored] = store.log.append(TALK, [human("hello", index=70, round=7)])
        assert (stored.index, stored.round) == (0, 1)

    def test_an_id_is_used_once_in_a_thread(self, store: Backend) -> None:
        [kept] = store.log.append(TALK, said("hello"))
        other = Thread(HOME, "other")
        with pytest.raises(Conflict, match="id"):
            store.log.append(TALK, [human("again", id=kept.id)])
        twice = human("twice")
        with pytest.raises(Conflict, match="id"):
            store.log.append(TALK, [twice, twice])
        assert store.log.append(other, [human("elsewhere", id=kept.id)])[0].id == kept.id
        store.log.edit(TALK, {0: None})
        with pytest.raises(Conflict, match="id"):
            store.log.append(TALK, [human("after removal", id=kept.id)])
        store.log.trim(TALK, 1)
        assert store.log.append(TALK, [human("after trimming", id=kept.id)])[0].index == 1

    def test_kept_places_stand(self, store: Backend) -> None:
        copies = [ai("a", index=3, round=2), human("b", index=4, round=2), ai("c", index=9, round=5)]
        assert store.log.append(TALK, copies, keep_places=True) == copies
        assert store.log.read(TALK) == copies
        [following] = store.log.append(TALK, said("d"))
        assert (following.index, following.round) == (10, 6)

    def test_kept_places_must_follow_the_last(self, store: Backend) -> None:
        store.log.append(TALK, [*said("a", "b"), ai("c")])
        for late in (human("x", index=2, round=9), ai("x", index=5, round=1)):
            with pytest.raises(Conflict):
                store.log.append(TALK, [late], keep_places=True)
        with pytest.raises(Conflict):
            store.log.append(TALK, [ai("x", index=7, round=3), ai("y", index=7, round=3)], keep_places=True)
        assert len(store.log.read(TALK)) == 3

    def test_kept_places_must_be_places(self, store: Backend) -> None:
        for index, round_ in ((2**32, 1), (2**70, 1), (-1, 1), (0, -1), (0, 2**62)):
            with pytest.raises(InvalidInput):
                store.log.append(TALK, [human("x", index=index, round=round_)], keep_places=True)
        assert store.log.read(TALK) == []

    def test_rounds_open_with_a_human_message_or_after_an_end(self, store: Backend) -> None:
        store.log.append(TALK, [system("rules"), ai("welcome"), human("one"), ai("1"), tool_result("c", "r")])
        assert store.log.annotate(TALK, end_round=True).ended_round == 1
        store.log.append(TALK, [ai("on my own"), ai("still"), human("three")])
        assert [m.round for m in store.log.read(TALK)] == [0, 0, 1, 1, 1, 2, 2, 3]

    def test_a_thread_that_is_not_there_has_no_messages(self, store: Backend) -> None:
        assert store.log.read(TALK) == []
        assert store.log.read(TALK, last=3, after=1, ids=["x"]) == []
        assert store.log.versions(TALK, 0) == []
        assert store.log.match(TALK, "word") == []

    def test_a_read_keeps_to_its_bounds(self, store: Backend) -> None:
        stored = store.log.append(TALK, said(*"abcdefgh"))
        ids = [stored[i].id for i in (6, 1, 3)]

        def read(**span: object) -> str:
            return "".join(texts_of(store.log.read(TALK, **span)))  # type: ignore[arg-type]

        assert read(after=2, before=6) == "def"
        assert read(after=-1, before=0) == ""
        assert read(before=2**62) == "abcdefgh"
        assert read(after=2**62) == ""
        assert (read(last=2), read(last=0), read(last=100)) == ("gh", "", "abcdefgh")
        assert (read(first=2), read(first=0), read(first=100)) == ("ab", "", "abcdefgh")
        assert (read(last=2, before=5), read(first=2, after=2)) == ("de", "de")
        assert (read(ids=ids), read(ids=ids, last=1), read(ids=[*ids, "none"], first=1)) == ("bdg", "g", "b")
        assert (read(ids=ids, after=1), read(ids=ids, before=1), read(ids=[])) == ("dg", "", "")

    def test_what_a_caller_does_later_does_not_reach_messages(self, store: Backend) -> None:
        sent = human("hello", metadata={"tags": ["a"]})
        [returned] = store.log.append(TALK, [sent])
        sent.metadata["tags"].append("b")
        returned.metadata["tags"].append("c")
        store.log.read(TALK)[0].metadata["tags"].append("d")
        assert store.log.read(TALK)[0].metadata == {"tags": ["a"]}


class _ChangingSuite(Suite):
    """Editing, trimming and deleting."""

    def test_an_edit_keeps_the_place_and_a_version(self, store: Backend, clock: Clock) -> None:
        [old, _] = store.log.append(TALK, [human("helo", tokens=5), ai("hi", tokens=1)])
        clock.advance(10)
        [new] = store.log.edit(TALK, {0: message("system", "hello", tokens=2, metadata={"a": 1})})
        assert new is not None
        assert (new.index, new.round, new.id) == (old.index, old.round, old.id)
        assert (new.role, new.text, new.metadata, new.tokens) == (Role.SYSTEM, "hello", {"a": 1}, 2)
        assert store.log.read(TALK, first=1) == [new]
        [version] = store.log.versions(TALK, 0)
        assert version.message == old
        if not clock.sleeps:
            assert version.replaced == moment(clock())

    def test_versions_are_kept_oldest_first_through_removal_and_return(self, store: Backend) -> None:
        store.log.append(TALK, said("one"))
        assert store.log.versions(TALK, 0) == []
        for change in (human("two"), None, human("three")):
            store.log.edit(TALK, {0: change})
        held = [None if v.message is None else v.message.text for v in store.log.versions(TALK, 0)]
        assert held == ["one", "two", None]
        assert texts_of(store.log.read(TALK)) == ["three"]
        assert store.log.versions(TALK, 1) == []

    def test_a_removed_message_is_gone_from_reads_and_counts(self, store: Backend) -> None:
        store.log.append(TALK, [human("a", tokens=1), ai("b", tokens=2), human("c", tokens=4)])
        assert store.log.edit(TALK, {1: None}) == [None]
        assert store.log.edit(TALK, {1: None}) == [None]
        assert texts_of(store.log.read(TALK, last=2)) == ["a", "c"]
        [info] = store.log.threads(HOME).items
        assert (info.messages, info.tokens, info.next) == (2, 5, 3)
        assert len(store.log.versions(TALK, 1)) == 1

    def test_the_last_index_is_not_used_twice(self, store: Backend) -> None:
        store.log.append(TALK, said("a", "b"))
        store.log.edit(TALK, {1: None})
        [third] = store.log.append(TALK, [ai("c")])
        assert (third.index, third.round) == (2, 2)

    def test_several_edits_are_all_or_nothing(self, store: Backend) -> None:
        store.log.append(TALK, said("a", "b", "c"))
        with pytest.raises(NotFound, match="3"):
            store.log.edit(TALK, {0: human("A"), 1: None, 3: human("D")})
        with pytest.raises(InvalidInput):
            store.log.edit(TALK, {0: human("A"), 1: human("\ud800")})
        assert texts_of(store.log.read(TALK)) == ["a", "b", "c"]
        assert store.log.versions(TALK, 0) == store.log.versions(TALK, 1) == []
        edited = store.log.edit(TALK, {2: human("C"), 0: None})
        assert [None if m is None else m.text for m in edited] == ["C", None]
        assert store.log.edit(TALK, {}) == []

    def test_an_index_that_never_was_is_not_found(self, store: Backend) -> None:
        with pytest.raises(NotFound):
            store.log.edit(TALK, {0: human("x")})
        store.log.append(TALK, [human("a"), human("b", index=5, round=9)], keep_places=True)
        for index in (1, 4, 6, 2**32 - 1, 2**40):
            with pytest.raises(NotFound):
                store.log.edit(TALK, {index: human("x")})
        store.log.trim(TALK, 5)
        with pytest.raises(NotFound):
            store.log.edit(TALK, {0: human("x")})
        assert texts_of(store.log.read(TALK)) == ["b"]

    def test_trimming_drops_for_good(self, store: Backend) -> None:
        store.log.append(TALK, [human(text, tokens=10**i) for i, text in enumerate("abcde")])
        store.log.edit(TALK, {0: human("A", tokens=2), 1: None})
        assert store.log.trim(TALK, 3) == 2
        assert store.log.trim(TALK, 3) == store.log.trim(TALK, 0) == 0
        assert texts_of(store.log.read(TALK)) == ["d", "e"]
        assert store.log.versions(TALK, 0) == store.log.versions(TALK, 1) == []
        [info] = store.log.threads(HOME).items
        assert (info.first, info.next, info.messages, info.tokens, info.rounds) == (3, 5, 2, 11_000, 5)

    def test_trimming_everything_keeps_the_count_going(self, store: Backend) -> None:
        store.log.append(TALK, said("a", "b"))
        assert store.log.trim(TALK, 99) == 2
        [info] = store.log.threads(HOME).items
        assert (info.first, info.next, info.messages, info.tokens, info.rounds) == (2, 2, 0, 0, 2)
        assert store.log.match(TALK, "a") == []
        [stored] = store.log.append(TALK, [ai("c", tokens=3)])
        assert (stored.index, stored.round) == (2, 2)
        assert store.log.threads(HOME).items[0].tokens == 3
        assert texts_of([m for m, _ in store.log.match(TALK, "c")]) == ["c"]

    def test_trimming_spares_what_is_kept(self, store: Backend) -> None:
        store.log.append(TALK, [system("rules", tokens=1), *(human(t, tokens=10) for t in "abcd")])
        store.log.edit(TALK, {0: system("the rules", tokens=2), 2: None})
        assert store.log.trim(TALK, 5, keep=[0, 3, 77]) == 2
        assert texts_of(store.log.read(TALK)) == ["the rules", "c"]
        assert len(store.log.versions(TALK, 0)) == 1
        [info] = store.log.threads(HOME).items
        assert (info.first, info.next, info.messages, info.tokens, info.rounds) == (0, 5, 2, 12, 4)
        [stored] = store.log.append(TALK, [ai("after")])
        assert (stored.index, stored.round) == (5, 4)
        assert store.log.trim(TALK, 5) == 2
        assert [m.index for m in store.log.read(TALK)] == [5]

    def test_deleting_drops_the_thread(self, store: Backend) -> None:
        store.log.append(TALK, said("a"))
        store.log.edit(TALK, {0: human("b")})
        store.log.match(TALK, "b")
        assert store.log.delete(TALK) is True
        assert store.log.delete(TALK) is False
        assert store.log.read(TALK) == store.log.versions(TALK, 0) == store.log.match(TALK, "b") == []
        assert store.log.threads(HOME).items == []
        assert store.log.append(TALK, said("anew"))[0].index == 0
        assert store.log.versions(TALK, 0) == []
        assert store.log.match(TALK, "b") == []


class _ListingSuite(Suite):
    """Annotating, listing and searching threads."""

    def test_annotating_makes_the_thread_and_sets_metadata_whole(self, store: Backend, clock: Clock) -> None:
        made = store.log.annotate(TALK, metadata={"topic": "trip", "n": 1})
        assert made.metadata == {"topic": "trip", "n": 1}
        assert (made.messages, made.next, made.rounds, made.ended_round) == (0, 0, 0, None)
        assert store.log.annotate(TALK, metadata={"n": [2]}).metadata == {"n": [2]}
        assert store.log.annotate(TALK, end_round=True).metadata == {"n": [2]}
        assert store.log.annotate(TALK).ended_round == 0
        assert store.log.threads(HOME).items == [store.log.annotate(TALK)]
        assert store.log.append(TALK, [ai("first")])[0].round == 1

    def test_a_thread_is_known_without_reading_it(self, store: Backend, clock: Clock) -> None:
        created = moment(clock())
        store.log.append(TALK, [human("a", tokens=3), ai("b"), human("c", tokens=4)])
        clock.advance(5)
        newest = store.log.append(TALK, [ai("d", tokens=1)])[0]
        [info] = store.log.threads(HOME).items
        assert info == ThreadInfo(TALK, 0, 4, 4, 8, 2, info.created, newest.time, {}, None)
        assert clock.sleeps or info.created == created

    def test_messages_that_come_together_are_counted_and_placed_one_by_one(self, store: Backend) -> None:
        for turn in range(1, 4):
            sent = [human("a", tokens=3), ai("b", tokens=5), human("c"), ai("d", tokens=7)]
            stored = store.log.append(TALK, sent)
            assert [one.round for one in stored] == [2 * turn - 1, 2 * turn - 1, 2 * turn, 2 * turn]
            [info] = store.log.threads(HOME, ids=[TALK.id]).items
            assert (info.messages, info.tokens, info.rounds) == (4 * turn, 15 * turn, 2 * turn)
        assert store.log.trim(TALK, 5) == 5
        assert store.log.threads(HOME, ids=[TALK.id]).items[0].tokens == 45 - 18

    def test_a_thread_tells_that_what_was_read_no_longer_stands(self, store: Backend) -> None:
        def edits() -> int:
            return store.log.threads(HOME, ids=[TALK.id]).items[0].edits

        store.log.append(TALK, [human("a"), ai("b"), human("c")])
        store.log.annotate(TALK, metadata={"n": 1}, end_round=True)
        assert edits() == 0
        store.log.edit(TALK, {0: human("A"), 1: None})
        assert edits() == 2
        store.log.edit(TALK, {1: None})
        assert edits() == 2
        with pytest.raises(NotFound):
            store.log.edit(TALK, {0: human("x"), 9: human("y")})
        assert store.log.trim(TALK, 0) == 0
        assert edits() == 2
        assert store.log.trim(TALK, 1) == 1
        assert edits() == 3
        store.log.append(TALK, [ai("d")])
        assert edits() == 3

    def test_threads_are_listed_by_id_page_by_page(self, store: Backend) -> None:
        ids = ["b", "a", "B", "a b", "ab", "é", "中", "😀", "10", "9"]
        for id_ in ids:
            store.log.append(Thread(HOME, id_), said(id_))
        store.log.append(Thread(HOME / "inner", "x"), said("x"))
        for limit in (1, 3, 10, 100):
            assert [info.thread.id for info in all_pages(store.log.threads, HOME, limit=limit)] == sorted(ids)
        assert store.log.threads(HOME, limit=10).next is None
        assert [i.thread.id for i in store.log.threads(HOME, ids=["中", "a", "no"]).items] == ["a", "中"]
        assert store.log.threads(HOME, ids=[]).items == store.log.threads(Space("hom")).items == []

    def test_a_search_finds_messages_by_their_words(self, store: Backend) -> None:
        store.log.append(TALK, [human("The cats are running"), ai("a dog runs"), human("我搬到北京了"), ai("")])
        store.log.append(Thread(HOME, "other"), said("cats everywhere"))
        assert texts_of([m for m, _ in store.log.match(TALK, "cat")]) == ["The cats are running"]
        assert {m.index for m, _ in store.log.match(TALK, "RUN, now!")} == {0, 1}
        assert [m.index for m, _ in store.log.match(TALK, "北京")] == [2]
        assert len(store.log.match(TALK, "run", limit=1)) == 1
        assert all(score > 0 for _, score in store.log.match(TALK, "cat dog 北京"))
        assert store.log.match(TALK, "bird") == []

    def test_the_best_match_comes_first_and_the_newest_of_equals(self, store: Backend) -> None:
        store.log.append(TALK, said("tea", "milk and tea and tea and tea", "tea", "coffee", "tea"))
        found = store.log.match(TALK, "tea")
        assert [m.index for m, _ in found] == [1, 4, 2, 0] or [m.index for m, _ in found] == [4, 2, 0, 1]
        assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)

    def test_a_search_follows_edits_and_trims(self, store: Backend) -> None:
        store.log.append(TALK, said("apple", "banana", "cherry"))
        assert len(store.log.match(TALK, "banana")) == 1
        store.log.edit(TALK, {1: human("blueberry")})
        store.log.append(TALK, said("damson banana"))
        assert [m.index for m, _ in store.log.match(TALK, "banana")] == [3]
        assert [m.index for m, _ in store.log.match(TALK, "blueberry")] == [1]
        store.log.edit(TALK, {1: None})
        assert store.log.match(TALK, "blueberry") == []
        store.log.edit(TALK, {1: human("back again")})
        assert [m.index for m, _ in store.log.match(TALK, "again")] == [1]
        store.log.trim(TALK, 2)
        assert store.log.match(TALK, "apple again") == []

    def test_messages_are_searched_by_any_text(self, store: Backend) -> None:
        store.log.append(TALK, said("word", "NEAR body", "词语", "1x2 😀"))
        for query in ODD_QUERIES:
            found = [m.index or 0 for m, _ in store.log.match(TALK, query)]
            assert set(found) <= {0, 1, 2, 3}
            assert (0 in found) == ("word" in query)

    def test_a_message_is_found_by_captions_and_tools(self, store: Backend) -> None:
        picture = Image(url="https://example.org/x.png", text="a lighthouse")
        store.log.append(TALK, [human([picture]), ai(tool_calls=[ToolCall("1", "forecast")]), tool_result("1", "rain")])
        for index, word in enumerate(("lighthouse", "forecast", "rain")):
            assert [m.index for m, _ in store.log.match(TALK, word)] == [index]


class MessageLogSuite(_AppendingSuite, _ChangingSuite, _ListingSuite):
    """All that a ``MessageLog`` promises."""
