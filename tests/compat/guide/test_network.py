"""The four memories by the guide's names, and the model that uses them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

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


def test_a_model_that_cannot_be_reached_loses_no_turn(network: NeuralMemoryNetwork) -> None:
    llm = MemoryAugmentedLLM(Unreachable(), network)
    llm.process_input("我的狗叫旺财。", user_id="u1")
    answer = llm.process_input("我的狗叫什么？", user_id="u1")
    assert answer == "我的狗叫旺财。（模型无法回答（ConnectionError）：只凭记忆回答）"
    assert [one["event"] for one in network.episodic_memory.episodes.values()] == ["我的狗叫旺财。", "我的狗叫什么？"]
    assert "could not answer" in llm.process_input("Where is my hat?", user_id="u1")


def test_what_one_user_said_is_not_told_to_another(network: NeuralMemoryNetwork) -> None:
    llm = MemoryAugmentedLLM(None, network)
    llm.process_input("My locker code word is sunflower.", user_id="ann")
    for user in ("bob", None):
        assert "sunflower" not in llm.process_input("What is the locker code word?", user)
    assert "sunflower" in llm.process_input("What is the locker code word?", "ann")


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


def test_a_turn_that_was_answered_elsewhere_is_learnt_from(network: NeuralMemoryNetwork) -> None:
    model = MemoryAugmentedLLM(None, network)
    model.update_memories("My dog is called Rex.", "A fine name.", "u1")
    kept = next(iter(network.episodic_memory.episodes.values()))
    assert (kept["event"], kept["context"]) == ("My dog is called Rex.", "A fine name.")
    assert "Rex" in model.process_input("What is my dog called?", "u1")
    assert "Rex" not in model.process_input("What is my dog called?", "u2")
