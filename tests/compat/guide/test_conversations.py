"""Conversations by user and session, their profiles, and media by session."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memwell.compat.guide.conversations import ConversationMemory, MultimodalMemory
from memwell.errors import BackendError, InvalidInput
from tests.media_files import picture

TALK = [
    ("monday", "我想了解Python异步编程", "Python异步编程使用async/await语法...", "Python异步编程"),
    ("monday", "Redis集群架构总是出错，烦死了", "先看看各个节点的状态。", None),
    ("friday", "机器学习算法怎么选？", "先看数据有多少。", "机器学习"),
    ("friday", "异步编程学会了，太棒了，谢谢！", "不客气。", "Python异步编程"),
]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[ConversationMemory]:
    with ConversationMemory(tmp_path / "talk.db") as opened:
        yield opened


def tell(memory: ConversationMemory, user: str = "user_123") -> list[str]:
    return [
        memory.store_conversation(session, user, asked, answered, topic) for session, asked, answered, topic in TALK
    ]


def test_the_profile_has_nothing_that_the_assistant_said(memory: ConversationMemory) -> None:
    memory.store_conversation("s", "ann", "我想了解Python", "先学习TensorFlow吧，它是机器学习框架。")
    found = memory.build_user_profile("ann")
    assert "Python" in str(found)
    assert "TensorFlow" not in str(found)


def test_all_conversations_are_rows_of_one_view(memory: ConversationMemory) -> None:
    assert memory.conversations == []
    ids = tell(memory)
    other = memory.store_conversation("s", "bob", "hello", "hi")
    rows = memory.conversations
    assert [one["id"] for one in rows] == [*ids, other]
    assert [(one["user_id"], one["session_id"]) for one in rows] == [
        *(("user_123", session) for session, *_ in TALK), ("bob", "s"),
    ]  # fmt: skip
    assert [(one["message"], one["response"], one["topic"]) for one in rows[:-1]] == [one[1:] for one in TALK]
    assert set(rows[0]) == {
        "id", "session_id", "user_id", "message", "response", "timestamp", "topic", "keywords", "sentiment",
    }  # fmt: skip


def test_the_profile_of_one_conversation(memory: ConversationMemory) -> None:
    session, asked, answered, topic = TALK[0]
    id_ = memory.store_conversation(
        session_id=session, user_id="user_123", message=asked, response=answered, topic=topic
    )
    found = memory.build_user_profile("user_123")
    assert list(found)[:5] == ["user_id", "top_topics", "top_keywords", "total_conversations", "conversation_summary"]
    assert found["top_topics"] == [["Python异步编程", 1]]
    assert found["top_keywords"][0] == ["Python异步编程", 1]
    assert found["total_conversations"] == 1
    assert "主要关注Python异步编程" in found["conversation_summary"]
    assert found["evidence"]["Python异步编程"] == [id_]
    assert json.loads(json.dumps(found)) == found
    memory.store_conversation("s", "bob", "I love hiking in the Alps", "The Alps are lovely.", "hiking")
    assert "Mostly about hiking (1)." in memory.build_user_profile("bob")["conversation_summary"]
    assert memory.build_user_profile("nobody") == memory.get_user_profile("nobody") == {}
    assert memory.get_conversation_history("nobody") == memory.recall("nobody", "异步编程") == []


def test_the_profile_counts_every_session(memory: ConversationMemory) -> None:
    ids = tell(memory)
    found = memory.build_user_profile("user_123")
    assert found["top_topics"][:2] == [["Python异步编程", 2], ["机器学习", 1]]
    assert found["total_conversations"] == 4
    assert "2 次会话" in found["conversation_summary"]
    assert {"Redis集群架构", "机器学习算法"} <= {word for word, _ in found["top_keywords"]}
    assert found["evidence"]["Python异步编程"] == [ids[3], ids[0]]  # by session
    assert -1 <= found["sentiment"]["average"] <= 1
    assert list(found["sentiment"]["by_month"].values())


@settings(max_examples=15)
@given(st.lists(st.integers(0, 3), max_size=10), st.integers(0, 12))
@example([1, 0, 1, 0], 2)
def test_the_history_is_the_last_that_were_stored(sessions: list[int], limit: int) -> None:
    with ConversationMemory("memory:") as memory:
        for number, session in enumerate(sessions):
            memory.store_conversation(f"s{session}", "ann", f"question {number}", f"answer {number}")
        found = memory.get_conversation_history("ann", limit=limit)
    wanted = [f"question {number}" for number in reversed(range(len(sessions)))]
    assert [one["message"] for one in found] == wanted[:limit]
    assert all(set(one) == {"message", "response", "timestamp", "topic"} for one in found)


def test_what_was_said_is_recalled_in_a_later_session_and_by_no_other_user(memory: ConversationMemory) -> None:
    ids = tell(memory)
    best, *_ = memory.recall("user_123", "集群出错怎么办", limit=2)
    assert (best["id"], best["session_id"], best["response"]) == (ids[1], "monday", "先看看各个节点的状态。")
    assert best["score"] > 0
    assert best["why"]
    assert len({one["id"] for one in memory.recall("user_123", "异步编程", limit=4)}) == 4
    theirs = memory.store_conversation("monday", "other", "养猫要注意什么", "按时打疫苗。")
    assert [one["message"] for one in memory.get_conversation_history("other")] == ["养猫要注意什么"]
    assert {one["id"] for one in memory.recall("other", "异步编程", limit=9)} <= {theirs}
    assert memory.build_user_profile("other")["total_conversations"] == 1


def test_keywords_of_chinese_text(memory: ConversationMemory) -> None:
    assert memory.extract_keywords("项目背景：构建一个分布式电商平台", top_k=2) == ["分布式电商平台", "项目背景"]
    assert len(memory.extract_keywords(" ".join(TALK[0][1:3]))) == 5


def test_another_programs_file_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE conversations (id INTEGER PRIMARY KEY, message TEXT)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(BackendError, match="another program"):
        ConversationMemory(path)
    assert path.read_bytes() == before


def test_earlier_conversations_in_a_session_that_goes_on_hide_nothing(memory: ConversationMemory) -> None:
    memory.store_conversation("s", "ann", "new question", "new answer")
    memory.store_conversation("t", "ann", "other question", "other answer")
    for day in (3, 1, 2):
        moment = datetime(2024, 5, day, 10, tzinfo=UTC)
        memory.store_conversation("s", "ann", f"old {day}", "old answer", timestamp=moment)
    found = memory.get_conversation_history("ann", limit=3)
    assert [one["message"] for one in found] == ["other question", "new question", "old 3"]
    assert found[2]["timestamp"] == "2024-05-03 10:00:00"


@pytest.mark.parametrize(
    "wrong",
    [
        {"message": 7}, {"response": None}, {"session_id": ""}, {"user_id": ""}, {"user_id": 7}, {"topic": 7},
        {"keywords": "one"}, {"keywords": [7]},
    ],
)  # fmt: skip
def test_what_is_no_conversation_is_refused_and_nothing_is_kept(
    memory: ConversationMemory, wrong: dict[str, Any]
) -> None:
    good: dict[str, Any] = {"session_id": "s", "user_id": "ann", "message": "你好吗", "response": "很好"}
    with pytest.raises(InvalidInput):
        memory.store_conversation(**{**good, **wrong})
    assert memory.get_conversation_history("ann") == []


def test_a_closed_memory_says_so_and_opens_again(tmp_path: Path) -> None:
    memory = ConversationMemory(tmp_path / "talk.db")
    tell(memory)
    memory.close()
    memory.close()
    with pytest.raises(InvalidInput, match="init_database"):
        memory.get_conversation_history("user_123")
    memory.init_database()
    memory.init_database()
    assert len(memory.get_conversation_history("user_123")) == 4
    memory.close()


@pytest.fixture
def media():
    with MultimodalMemory() as held:
        yield held


def test_a_session_holds_several_of_each(media: MultimodalMemory, tmp_path: Path):
    media.store_multimodal_memory("s1", {"text": "先说装修预算", "image": {"description": "客厅的户型图"}})
    media.store_multimodal_memory(
        "s1", {"text": "再说工期", "image": [{"description": "厨房照片"}, {"description": "阳台照片"}]}
    )
    context = media.retrieve_context("s1")
    assert context["text"]["content"] == "再说工期"
    assert [one["content"] for one in context["texts"]] == ["先说装修预算", "再说工期"]
    assert [one["description"] for one in context["images"]] == ["客厅的户型图", "厨房照片", "阳台照片"]
    assert media.retrieve_context("s2") == {}
    assert set(media.memories["image"]) == {"s1"}
    with MultimodalMemory(store=tmp_path / "media.db") as lasting:
        [id_] = lasting.store_multimodal_memory("s1", {"image": {"description": "红色方块", "data": picture("png")}})
    with MultimodalMemory(store=tmp_path / "media.db") as lasting:
        assert lasting.engine.media.data(id_) == picture("png")


def test_a_query_finds_media_of_every_kind_and_session(media: MultimodalMemory):
    media.store_multimodal_memory(
        "s1",
        {
            "image": {"description": "几种算法的对比图表", "features": ["决策树", "神经网络"]},
            "audio": {"transcript": "想知道神经网络有什么缺点", "sentiment": "curious"},
        },
    )
    media.store_multimodal_memory("s2", {"video": {"description": "a cat asleep on a piano"}})
    found = media.retrieve_context("s3", "神经网络")
    assert found["images"][0]["features"] == ["决策树", "神经网络"]
    assert found["audios"][0]["sentiment"] == "curious"
    assert found["audios"][0]["why"]
    assert media.retrieve_context("s1", "cat on a piano")["videos"][0]["session_id"] == "s2"


def test_what_has_nothing_to_do_with_the_query_is_not_an_answer(media: MultimodalMemory):
    media.store_multimodal_memory(
        "s1", {"image": {"description": "算法对比图表"}, "video": {"description": "a cat on a piano"}}
    )
    found = media.retrieve_context("s9", "恐龙化石")
    assert found == {"images": [], "audios": [], "videos": []}
    assert media.retrieve_context("s9", "a sleeping kitten")["images"] == []


@pytest.mark.parametrize(
    "given",
    [
        {"smell": "smoke"}, {"image": "a path"}, {"image": {"descripton": "a slip"}}, {"text": 7},
        {"text": "kept?", "image": {"description": "x", "data": b"no picture at all"}},
    ],
)  # fmt: skip
def test_nothing_of_a_bad_call_is_stored(media: MultimodalMemory, given: dict[str, object]):
    with pytest.raises(InvalidInput):
        media.store_multimodal_memory("s1", given)
    assert media.retrieve_context("s1") == {}
