"""The four memories by the guide's names, and the model that uses them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memwell.compat.guide.network import MemoryAugmentedLLM, NeuralMemoryNetwork
from memwell.errors import InvalidInput


class Model:
    """A base model as the guide has it."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.prompts: list[str] = []

    def generate(self, prompt: str) -> str:
        self.prompts.append(prompt)
        return self.answers.pop(0) if self.answers else "好的"


class Unreachable:
    def generate(self, prompt: str) -> str:
        raise ConnectionError("no route to host")


@pytest.fixture
def network() -> Iterator[NeuralMemoryNetwork]:
    with NeuralMemoryNetwork(embedder=None) as network:
        yield network


def test_the_four_systems_are_there_by_the_guides_names(network: NeuralMemoryNetwork) -> None:
    assert list(network.memory_systems) == ["working_memory", "episodic_memory", "semantic_memory", "procedural_memory"]
    assert network.memory_systems["semantic_memory"] is network.semantic_memory


def test_working_memory_holds_seven(network: NeuralMemoryNetwork) -> None:
    for number in range(9):
        network.working_memory.add_item(number)
    assert network.working_memory.get_active_items() == network.working_memory.items == [2, 3, 4, 5, 6, 7, 8]
    alone = NeuralMemoryNetwork.WorkingMemory(capacity=2)
    assert [alone.add_item(item) for item in "abc"] == [None, None, "a"]
    assert (alone.capacity, alone.items) == (2, ["b", "c"])
    assert alone.retrieve("b")[0]["content"] == "b"


def test_episodes_are_kept_as_the_guide_keeps_them(network: NeuralMemoryNetwork) -> None:
    network.episodic_memory.store_episode("第一次去京都", "和家人一起旅行", "开心")
    network.episodic_memory.store_episode("the build broke", {"branch": "main"}, None, user_id="u1")
    first, second = network.episodic_memory.episodes.values()
    assert (first["event"], first["context"], first["emotion"]) == ("第一次去京都", "和家人一起旅行", "开心")
    assert (second["context"], second["user_id"]) == ("branch: main", "u1")
    assert next(iter(network.episodic_memory.episodes)) == f"第一次去京都_{first['timestamp'].isoformat()}"
    [found, *_] = network.episodic_memory.retrieve("京都", "u2")
    assert (found["type"], found["content"]) == ("episodic_memory", "第一次去京都 (和家人一起旅行)")
    assert all("build" not in one["content"] for one in network.episodic_memory.retrieve("the build", "u2"))


def test_concepts_and_procedures_are_kept_as_the_guide_keeps_them(network: NeuralMemoryNetwork) -> None:
    network.semantic_memory.store_concept("机器学习", "让计算机从数据中学习的方法", ["人工智能", "数据"])
    assert network.semantic_memory.concepts == {
        "机器学习": {"definition": "让计算机从数据中学习的方法", "related": ["人工智能", "数据"], "confidence": 0.8}
    }
    network.procedural_memory.store_procedure("部署模型", ["打包", "上传", "启动"], ["模型已训练"])
    [(name, kept)] = network.procedural_memory.procedures.items()
    assert (name, kept["steps"], kept["preconditions"]) == ("部署模型", ["打包", "上传", "启动"], ["模型已训练"])
    assert kept["success_rate"] == 0.0


def test_the_success_rate_learns_and_the_best_procedure_is_suggested(network: NeuralMemoryNetwork) -> None:
    procedures = network.procedural_memory
    procedures.store_procedure("重启服务", ["重启"], ["有服务器权限"])
    procedures.store_procedure("重装系统", ["重装"], ["有服务器权限"])
    for success in (True, True, False):
        procedures.record_outcome("重启服务", success)
        procedures.record_outcome("重装系统", not success)
    assert procedures.procedures["重启服务"]["success_rate"] == pytest.approx(0.6)
    assert [one.procedure.name for one in procedures.suggest("我有服务器权限")] == ["重启服务", "重装系统"]


def test_every_system_retrieves(network: NeuralMemoryNetwork) -> None:
    network.working_memory.add_item("正在谈咖啡")
    network.episodic_memory.store_episode("喝了咖啡", "", None)
    network.semantic_memory.store_concept("咖啡", "用咖啡豆做的饮料", [])
    network.procedural_memory.store_procedure("煮咖啡", ["磨豆", "冲泡"], [])
    model = MemoryAugmentedLLM(Model(), network)
    memories = model.retrieve_memories("咖啡", "u1")
    assert {one["type"] for one in memories} == set(network.memory_systems)
    assert sum(one["weight"] for one in memories) == pytest.approx(1.0)
    assert [one["weight"] for one in memories] == sorted((one["weight"] for one in memories), reverse=True)


def test_a_turn_is_answered_from_memory_and_learnt_from(network: NeuralMemoryNetwork) -> None:
    model = Model("很高兴认识你！", "RAG 是先检索再生成的技术。")
    llm = MemoryAugmentedLLM(model, network)
    assert llm.process_input("我叫小明，我今天非常开心", user_id="u1") == "很高兴认识你！"
    assert llm.process_input("RAG是一种检索增强生成技术。", user_id="u1") == "RAG 是先检索再生成的技术。"
    assert "我叫小明" in model.prompts[1]
    assert model.prompts[1].endswith("用户：RAG是一种检索增强生成技术。")
    episodes = list(network.episodic_memory.episodes.values())
    assert [(one["event"], one["context"]) for one in episodes] == [
        ("我叫小明，我今天非常开心", "很高兴认识你！"),
        ("RAG是一种检索增强生成技术。", "RAG 是先检索再生成的技术。"),
    ]
    assert episodes[0]["emotion"] == "positive"
    assert network.semantic_memory.concepts["RAG"]["definition"] == "一种检索增强生成技术"
    assert network.semantic_memory.concepts["RAG"]["confidence"] == 0.8


def test_who_gives_up_waiting_has_still_said_it(network: NeuralMemoryNetwork) -> None:
    def hangs(prompt: str) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        MemoryAugmentedLLM(hangs, network).process_input("Remember me", user_id="u1")
    assert [one["event"] for one in network.episodic_memory.episodes.values()] == ["Remember me"]


def test_a_model_that_cannot_be_reached_loses_no_turn(network: NeuralMemoryNetwork) -> None:
    llm = MemoryAugmentedLLM(Unreachable(), network)
    llm.process_input("我的狗叫旺财。", user_id="u1")
    answer = llm.process_input("我的狗叫什么？", user_id="u1")
    assert answer == "我的狗叫旺财。（模型无法回答（ConnectionError）：只凭记忆回答）"
    assert [one["event"] for one in network.episodic_memory.episodes.values()] == ["我的狗叫旺财。", "我的狗叫什么？"]
    assert "could not answer" in llm.process_input("Where is my hat?", user_id="u1")


@pytest.mark.parametrize("broken", [lambda prompt: None, lambda prompt: "", lambda prompt: 3])
def test_an_answer_that_is_none_is_a_failure_too(network: NeuralMemoryNetwork, broken: Any) -> None:
    assert "could not answer" in MemoryAugmentedLLM(broken, network).process_input("hello there", "u1")


def test_what_one_user_said_is_not_told_to_another(network: NeuralMemoryNetwork) -> None:
    llm = MemoryAugmentedLLM(None, network)
    llm.process_input("My locker code word is sunflower.", user_id="ann")
    for user in ("bob", None):
        assert "sunflower" not in llm.process_input("What is the locker code word?", user)
    assert "sunflower" in llm.process_input("What is the locker code word?", "ann")


def test_nothing_is_learnt_again_from_an_answer_out_of_memory(network: NeuralMemoryNetwork) -> None:
    llm = MemoryAugmentedLLM(None, network)
    llm.process_input("A canary is a small yellow bird.", user_id="u1")
    memory = network.cognition.memory
    memory.forget(network.semantic_memory.core.get("canary", user="u1").id)
    assert llm.process_input("What is a canary?", user_id="u1") == "A canary is a small yellow bird."
    assert network.semantic_memory.concepts == {}


def test_what_a_user_taught_is_not_told_to_another(network: NeuralMemoryNetwork) -> None:
    llm = MemoryAugmentedLLM(None, network)
    llm.process_input("Project Heron is a merger with Acme.", user_id="ann")
    llm.process_input("李雷是艾滋病患者。", user_id="ann")
    assert list(network.semantic_memory.concepts) == ["Project Heron"]
    for user in ("bob", None):
        assert "merger" not in llm.process_input("What is Project Heron?", user)
        assert "艾滋病" not in llm.process_input("李雷是谁？", user)
    assert "merger" in llm.process_input("What is Project Heron?", "ann")
    network.semantic_memory.store_concept("Tea", "a drink made of leaves", [])
    assert "leaves" in llm.process_input("What is tea?", "bob")


@pytest.mark.parametrize("user", ["ann", None])
def test_secrets_are_not_learnt(network: NeuralMemoryNetwork, user: str | None) -> None:
    llm = MemoryAugmentedLLM(None, network)
    for said in ("银行卡密码是887766", "WiFi密码是：hello2024", "数据库密码是Tr0ub4dor&3"):
        llm.process_input(said, user)
    assert network.semantic_memory.concepts == {}
    memory = network.cognition.memory
    kept = repr(memory.memories()) + repr(llm.retrieve_memories("密码", user))
    assert not any(secret in kept for secret in ("887766", "hello2024", "Tr0ub4dor"))


@pytest.mark.parametrize("user", ["ann", None])
def test_an_answer_is_found_however_often_it_was_asked_for(network: NeuralMemoryNetwork, user: str | None) -> None:
    llm = MemoryAugmentedLLM(None, network)
    network.semantic_memory.store_concept("RAG", "先检索再生成的技术", [])
    for number in range(14):
        assert "先检索再生成" in llm.process_input("RAG是什么？", user)
        llm.process_input(f"RAG是什么东西，第{number}次问？", user)
    llm.process_input("My cat is called Miso.", "ann")
    assert {llm.process_input("What is my cat called?", "ann") for _ in range(14)} == {"My cat is called Miso."}


def test_a_file_keeps_all_but_what_is_in_mind(tmp_path: Path) -> None:
    with NeuralMemoryNetwork(store=tmp_path / "mind.db", embedder=None) as network:
        MemoryAugmentedLLM(None, network).process_input("Tea is a drink made of leaves.", user_id="u1")
        network.procedural_memory.store_procedure("make tea", ["boil water"], [])
    with NeuralMemoryNetwork(store=tmp_path / "mind.db", embedder=None) as network:
        assert len(network.episodic_memory.episodes) == 1
        assert list(network.semantic_memory.concepts) == ["Tea"]
        assert list(network.procedural_memory.procedures) == ["make tea"]
        assert network.working_memory.items == []


def test_bad_values_are_refused(network: NeuralMemoryNetwork) -> None:
    for model in (3, "gpt"):
        with pytest.raises(InvalidInput, match="base_model"):
            MemoryAugmentedLLM(model, network)
    for text in ("", " ", None):
        with pytest.raises(InvalidInput):
            MemoryAugmentedLLM(None, network).process_input(text)  # type: ignore[arg-type]
    assert network.episodic_memory.episodes == {}
