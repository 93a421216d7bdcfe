from __future__ import annotations

import os
from pathlib import Path

import pytest

from memwell.compat.guide.intelligent import IntelligentMemorySystem
from memwell.errors import InvalidInput, ModelError
from memwell.models import http
from memwell.models.scripted import ScriptedChat
from tests.ports import closed_port

KNOWLEDGE = [
    "退货说明：商品可在三十天内退回，运费由商店承担。",
    "配送说明：包裹通常两天送达，海岛需要七天。",
]


def test_without_a_model_the_knowledge_itself_answers(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with IntelligentMemorySystem("your-openai-api-key", str(tmp_path / "m.db")) as system:
        assert system.llm is None, "a placeholder is no key, and nobody is called"
        assert system.add_knowledge(KNOWLEDGE, [{"name": "退货"}, {"name": "配送"}]) == 2
        assert "成功添加 2 个知识片段" in capsys.readouterr().out
        response = system.chat("海岛的包裹几天送达？")
        assert "七天" in response["answer"]
        assert response["source_documents"][0]["metadata"]["name"] == "配送"
        assert system.chat("你喜欢什么颜色？")["answer"].startswith("我不知道")
        summary = system.get_conversation_summary()
        assert "海岛" in summary
        assert "用户：" in summary
        assert "[1]" not in summary


def test_the_conversation_survives_and_the_model_is_told_of_it(tmp_path: Path):
    with IntelligentMemorySystem(None, tmp_path / "m.db") as system:
        system.add_knowledge(KNOWLEDGE)
        system.chat("海岛的包裹几天送达？")
    chat = ScriptedChat(["运费由商店承担。[1]"])
    with IntelligentMemorySystem(None, tmp_path / "m.db", llm=chat) as system:
        response = system.chat("那退货的运费谁承担？")
        assert "商店承担" in response["answer"]
        assert response["note"] == ""
        told = "\n".join(message.text for message in chat.asked[0])
        assert "海岛的包裹几天送达？" in told
        assert [message.text for message in system.memory][-1] == response["answer"]


def test_a_model_that_fails_loses_no_turn_and_is_named(tmp_path: Path):
    chat = ScriptedChat([ModelError("the server is away")] * 5)
    with IntelligentMemorySystem(None, tmp_path / "m.db", llm=chat) as system:
        system.add_knowledge(KNOWLEDGE)
        response = system.chat("海岛的包裹几天送达？")
        assert "七天" in response["answer"]
        assert response["note"]
        assert [message.text for message in system.memory] == ["海岛的包裹几天送达？", response["answer"]]
        assert system.get_conversation_summary()


def test_the_key_is_in_no_environment(tmp_path: Path):
    with IntelligentMemorySystem("a-key-to-keep", tmp_path / "m.db") as system:
        assert system.llm is not None
        assert "a-key-to-keep" not in "".join(os.environ.values())
        assert "a-key-to-keep" not in repr(system.llm)


def test_a_server_that_cannot_be_reached_is_like_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(http, "drawn_between", lambda low, high: low)  # it is asked again without a pause
    with (
        closed_port() as port,
        IntelligentMemorySystem("key", tmp_path / "m.db", base_url=f"http://127.0.0.1:{port}/v1") as system,
    ):
        system.add_knowledge(KNOWLEDGE)
        response = system.chat("海岛的包裹几天送达？")
        assert "七天" in response["answer"]
        assert response["note"]
        assert "key" not in response["note"]


def test_texts_are_cut_at_a_thousand_characters(tmp_path: Path):
    with IntelligentMemorySystem(None, tmp_path / "m.db") as system:
        system.add_knowledge(["这一句话正好有二十个汉字用来凑成很长的文章。" * 200])
        [document] = system.vectorstore.documents()
        assert document.chunks >= 5
        found = system.vectorstore.recall("凑成很长的文章", limit=10)
        assert all(len(one.text) <= 1000 for one in found)


def test_the_chain_can_be_called_and_refuses_no_question(tmp_path: Path):
    with IntelligentMemorySystem(None, tmp_path / "m.db") as system:
        assert system.get_conversation_summary() == "暂无对话历史"
        chain = system.create_conversation_chain()
        for inputs in ({}, {"question": " "}, {"question": 7}):
            with pytest.raises(InvalidInput):
                chain(inputs)
        assert len(system.memory) == 0
        with pytest.raises(InvalidInput):
            system.add_knowledge("one text")
