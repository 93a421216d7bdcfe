from __future__ import annotations

from pathlib import Path

import pytest

from memwell.compat.guide.multimodal import MultimodalMemory
from memwell.errors import InvalidInput
from tests.media_files import picture


@pytest.fixture
def memory():
    with MultimodalMemory() as held:
        yield held


def test_a_session_holds_several_of_each(memory: MultimodalMemory):
    memory.store_multimodal_memory("s1", {"text": "先说装修预算", "image": {"description": "客厅的户型图"}})
    memory.store_multimodal_memory(
        "s1", {"text": "再说工期", "image": [{"description": "厨房照片"}, {"description": "阳台照片"}]}
    )
    context = memory.retrieve_context("s1")
    assert context["text"]["content"] == "再说工期"
    assert [one["content"] for one in context["texts"]] == ["先说装修预算", "再说工期"]
    assert [one["description"] for one in context["images"]] == ["客厅的户型图", "厨房照片", "阳台照片"]
    assert memory.retrieve_context("s2") == {}
    assert set(memory.memories["image"]) == {"s1"}


def test_a_query_finds_media_of_every_kind_and_session(memory: MultimodalMemory):
    memory.store_multimodal_memory(
        "s1",
        {
            "image": {"description": "几种算法的对比图表", "features": ["决策树", "神经网络"]},
            "audio": {"transcript": "想知道神经网络有什么缺点", "sentiment": "curious"},
        },
    )
    memory.store_multimodal_memory("s2", {"video": {"description": "a cat asleep on a piano"}})
    found = memory.retrieve_context("s3", "神经网络")
    assert found["images"][0]["features"] == ["决策树", "神经网络"]
    assert found["audios"][0]["sentiment"] == "curious"
    assert found["audios"][0]["why"]
    assert memory.retrieve_context("s1", "cat on a piano")["videos"][0]["session_id"] == "s2"


def test_what_has_nothing_to_do_with_the_query_is_not_an_answer(memory: MultimodalMemory):
    memory.store_multimodal_memory(
        "s1", {"image": {"description": "算法对比图表"}, "video": {"description": "a cat on a piano"}}
    )
    found = memory.retrieve_context("s9", "恐龙化石")
    assert found == {"images": [], "audios": [], "videos": []}
    assert memory.retrieve_context("s9", "a sleeping kitten")["images"] == []


def test_bytes_are_kept_with_what_they_show(tmp_path: Path):
    with MultimodalMemory(store=tmp_path / "media.db") as memory:
        [id_] = memory.store_multimodal_memory("s1", {"image": {"description": "红色方块", "data": picture("png")}})
    with MultimodalMemory(store=tmp_path / "media.db") as memory:
        assert memory.engine.media.data(id_) == picture("png")


@pytest.mark.parametrize(
    "given",
    [
        {"smell": "smoke"},
        {"image": "a path"},
        None,
        ["text"],
        {"image": {"descripton": "a slip"}},
        {"text": 7},
        {"text": "kept?", "image": {"description": "x", "data": b"no picture at all"}},
    ],
)
def test_nothing_of_a_bad_call_is_stored(memory: MultimodalMemory, given: dict[str, object]):
    with pytest.raises(InvalidInput):
        memory.store_multimodal_memory("s1", given)
    assert memory.retrieve_context("s1") == {}
