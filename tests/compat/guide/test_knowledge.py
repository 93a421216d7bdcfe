"""Retrieval with sources, measured tuning, and a system that chats about its knowledge."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel

from memwell.compat.guide.knowledge import IntelligentMemorySystem, RAGOptimizer, SimpleRAGSystem
from memwell.errors import InvalidInput, ModelError
from memwell.knowledge import answers
from memwell.language.claims import Claim
from memwell.messages import ai, human
from memwell.models.local import LocalEmbedder
from memwell.models.scripted import HashEmbedder, ScriptedChat

DOCUMENTS = [
    "检索增强生成让模型在回答之前先查资料，因此知识可以随时更新。",
    "向量数据库保存文本的语义向量，按相似度查找。",
    "The context window of a model limits how much text it can read at once.",
]


@pytest.fixture(scope="module")
def rag():
    with SimpleRAGSystem(store="memory:") as system:
        system.add_documents(DOCUMENTS, [{"page": number} for number in range(3)])
        yield system


def test_what_fits_best_is_first_with_its_metadata_and_score(rag: SimpleRAGSystem):
    found = rag.search("向量数据库是做什么的？", top_k=3)
    assert found[0]["document"] == DOCUMENTS[1]
    assert found[0]["metadata"] == {"page": 1}
    scores = [one["score"] for one in found]
    assert scores == sorted(scores, reverse=True)
    for one in found:
        assert 0 <= one["score"] <= 1
        assert one["score"] + one["distance"] == pytest.approx(1)
    assert "用词相同" in found[0]["why"]


def test_a_second_call_adds_and_the_same_text_is_there_once(rag: SimpleRAGSystem, capsys: pytest.CaptureFixture[str]):
    before = rag.knowledge.count().documents
    first = rag.add_documents(["第一次的文档。", "第二篇文档。"])
    assert "成功添加 2 个文档" in capsys.readouterr().out
    second = rag.add_documents(["完全不同的文档。"])
    assert len({*first, *second}) == 3
    assert rag.add_documents(["第二篇文档。"]) == [first[1]]
    assert rag.add_documents(["第二篇文档。"], [{"lang": "zh"}]) != [first[1]]
    assert rag.knowledge.count().documents == before + 4
    rag.knowledge.remove(*first, *second, *rag.add_documents(["第二篇文档。"], [{"lang": "zh"}]))


def test_an_answer_names_its_sources_and_what_is_not_known_is_said(rag: SimpleRAGSystem):
    answer = rag.generate_answer("向量数据库保存什么？")
    assert "语义向量" in answer
    assert "\n[1] " in answer
    assert rag.generate_answer("明天的火车几点开？").startswith("我不知道")
    assert "context window" in rag.generate_answer("What does the context window of a model limit?")


def test_documents_outlive_the_process(tmp_path: Path):
    with SimpleRAGSystem(store=tmp_path / "kb.db") as system:
        system.add_documents(DOCUMENTS)
    with SimpleRAGSystem(store=tmp_path / "kb.db") as system:
        assert system.search("向量数据库", top_k=1)[0]["document"] == DOCUMENTS[1]


@pytest.mark.parametrize(
    ("documents", "metadatas"),
    [("text", None), (["a", "b"], [{}]), ([7], None), (["a"], [{"x": object()}]), (None, None)],
)
def test_bad_input_adds_nothing(rag: SimpleRAGSystem, documents: list[str], metadatas: list[dict[str, object]] | None):
    before = rag.knowledge.count()
    with pytest.raises(InvalidInput):
        rag.add_documents(documents, metadatas)
    assert rag.knowledge.count() == before


def test_another_embedder_is_not_taken_for_ours():
    with pytest.raises(InvalidInput, match="bge-large"):
        SimpleRAGSystem("bge-large", store="memory:")


TOWNS = "Oslo Bergen Turku Malmo Aarhus Tallinn Riga Vilnius Gdansk Lubeck Bremen Ghent Bruges Lille Nantes".split()
THINGS = ("ferries", "bakeries", "libraries", "gardens")
FACTS = "\n\n".join(
    f"The {thing} of {town} were counted in {1500 + 7 * number + 31 * place} by the clerk {town[:3]}{thing[:4]}son."
    for number, town in enumerate(TOWNS)
    for place, thing in enumerate(THINGS)
)


def test_the_size_is_chosen_by_what_is_found():
    assert RAGOptimizer.optimize_chunk_size(FACTS, [100, 2000], embedder=HashEmbedder()) == 100
    tuned = RAGOptimizer.compare_chunk_sizes(FACTS, [100, 2000], embedder=HashEmbedder())
    assert "characters" in tuned.table()
    assert "字符" in tuned.table("zh")
    assert {trial.chunking.tokens for trial in tuned.trials} == {100, 2000}


@pytest.mark.parametrize(
    ("text", "sizes"), [("", [100]), ("   ", [100]), ("text", []), ("text", [0]), ("text", "100"), (7, [100])]
)
def test_bad_sizes_are_refused(text: str, sizes: list[int]):
    with pytest.raises(InvalidInput):
        RAGOptimizer.optimize_chunk_size(text, sizes, embedder=HashEmbedder())


PASSAGES = ["LLM 可以保留前文。", "Gardening in spring.", "大语言模型按概率生成文字。", "Cooking rice."]


def test_expansion_and_reranking_are_shown_at_work():
    made = RAGOptimizer.improve_retrieval_accuracy(
        ["大模型怎么生成文字", "plot of greens"], PASSAGES, 2, synonyms={"plot of greens": ["cooking"]},
        embedder=LocalEmbedder(),
    )  # fmt: skip
    expanded = made["query_expansion"]("大模型怎么生成文字")
    assert expanded[0] == "大模型怎么生成文字"
    assert any("大语言模型" in one for one in expanded)
    assert made["results"]["大模型怎么生成文字"]["after"][0] == PASSAGES[2]
    found = made["results"]["plot of greens"]
    assert found["before"][0] != "Cooking rice."
    assert found["after"][0] == "Cooking rice.", "a synonym that was added"


def test_reranking_understands_chinese():
    rerank = RAGOptimizer.improve_retrieval_accuracy([], ["文档"], embedder=HashEmbedder())["reranking"]
    results = [{"document": "今天天气很好", "score": 0.5}, {"document": "上下文窗口有长度限制", "score": 0.45}]
    judged = rerank("上下文窗口的限制", results)
    assert [one["document"] for one in judged] == ["上下文窗口有长度限制", "今天天气很好"]
    assert judged[0]["reranked_score"] > judged[1]["reranked_score"]
    assert results[0] == {"document": "今天天气很好", "score": 0.5}, "what was given stays as it was"
    assert rerank("x", []) == []


KNOWLEDGE = ["退货说明：商品可在三十天内退回，运费由商店承担。", "配送说明：包裹通常两天送达，海岛需要七天。"]


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


TOLD = (
    ("我叫小明，在北京工作，对花生过敏。", "我叫什么名字？", "小明", "我老板叫什么名字？"),
    ("My name is Ann, I work in Oslo.", "What is my name?", "Ann", "What is my boss's name?"),
)


@pytest.mark.parametrize(("statement", "question", "name", "unknown"), TOLD)
def test_what_the_user_said_answers(tmp_path: Path, statement: str, question: str, name: str, unknown: str):
    with IntelligentMemorySystem(None, tmp_path / "m.db") as system:
        assert name not in system.chat(question)["answer"]
        system.chat(statement)
        for _ in range(2):
            response = system.chat(question)
            assert name in response["answer"]
            assert [one["content"] for one in response["source_documents"]] == [statement]
        assert name not in system.chat(unknown)["answer"]


@pytest.mark.parametrize(("statement", "question", "name", "unknown"), TOLD)
def test_a_model_is_asked_with_what_the_user_said(
    tmp_path: Path, statement: str, question: str, name: str, unknown: str
):
    chat = ScriptedChat([f"{name} [1]"])
    with IntelligentMemorySystem(None, tmp_path / "m.db", llm=chat) as system:
        system.memory.add(human(statement), ai("…"))
        response = system.chat(question)
    assert (response["answer"], response["note"]) == (f"{name} [1]", "")
    assert f"| {statement}" in chat.asked[0][1].text.partition(">>>")[0], "as a source, and not as talk alone"


@pytest.mark.parametrize(("statement", "question", "name", "unknown"), TOLD)
def test_memories_answer_and_what_the_assistant_said_is_not_the_users(
    tmp_path: Path, statement: str, question: str, name: str, unknown: str
):
    with IntelligentMemorySystem(None, tmp_path / "m.db") as system:
        system.memory.add(human("…"), ai(statement))
        system.engine.remember([ai(statement)])
        assert name not in system.chat(question)["answer"]
        system.engine.remember(statement)
        assert name in system.chat(question)["answer"]


OVER = [
    ("Declan is a welder at Ford.", "Declan lost his job.", "Where does Declan work?", "Ford"),
    ("我是消防员。", "不当消防员了", "我是做什么工作的？", "我是消防员"),
    ("我女朋友叫林小雨。", "我跟女朋友分手了。", "我女朋友叫什么名字？", "林小雨"),
    ("My dog is called Rex.", "We gave Rex away.", "What is my dog called?", "called Rex"),
    ("我的护照号码是E12345678。", "我下周去日本。", "我的身份证号码是多少？", "E12345678"),
]


@pytest.mark.parametrize(("said", "later", "question", "wrong"), OVER)
def test_what_is_over_or_of_another_thing_answers_nothing(
    tmp_path: Path, said: str, later: str, question: str, wrong: str
):
    with IntelligentMemorySystem(None, tmp_path / "m.db") as system:
        system.chat(said)
        system.chat(later)
        assert wrong not in system.chat(question)["answer"]


def test_a_corrected_appointment_is_known_after_a_long_talk(tmp_path: Path):
    with IntelligentMemorySystem(None, tmp_path / "m.db") as system:
        system.chat("My dentist appointment is on Monday at 3.")
        system.chat("No, it got moved to Friday.")
        for number in range(40):
            system.chat(f"Tom {number} has a meeting with Ann on Wednesday.")
        assert system.chat("When is my dentist appointment?")["answer"] == "No, it got moved to Friday. [1]"
        assert system.chat("Remind me when my dentist appointment is")["answer"] == "No, it got moved to Friday. [1]"


def test_the_end_of_a_long_conversation_does_not_hide_its_beginning(tmp_path: Path):
    with IntelligentMemorySystem(None, tmp_path / "m.db") as system:
        system.memory.add(human("My dentist is Dr. Okafor."))
        for number in range(30):
            system.memory.add(human(f"Today I walked {number} miles."), ai("Nice."))
        assert "Okafor" in system.chat("Who is my dentist?")["answer"]


UNKNOWN = ("I don't know.", "我不知道。")
OF_WHOM = (
    ("我叫小明，在北京工作，对花生过敏。", (),
     ("小红对什么过敏？", "张伟对什么过敏？", "我妈妈对什么过敏？", "她对什么过敏？", "你叫什么名字？")),
    ("我的猫叫咪咪。", ("我的猫叫什么名字？",), ("你叫什么名字？", "我叫什么名字？")),
    ("Hi, my name is Ann and I live in Oslo.", (), ("What is your name?",)),
    ("My sister Eve is allergic to cats.",
     ("What is my sister allergic to?", "What is Eve allergic to?", "Who is allergic to cats?"),
     ("What is my brother allergic to?", "Am I allergic to cats?", "Is Bob allergic to cats?")),
    ("I'm allergic to cats.", ("Do you know what I am allergic to?",), ("What is my dog allergic to?",)),
    ("我不喜欢吃辣。", ("我喜欢吃辣吗？", "我不喜欢吃什么？"), ("我喜欢吃什么？",)),
    ("I don't like spicy food.", (), ("What food do I like?",)),
    ("My brother's dog is called Rex.", ("What is my brother's dog called?",), ("What is my dog called?",)),
    ("我弟弟的狗叫旺财。", (), ("我的狗叫什么？",)), ("My dog is called Rex.", ("What is my dog called?",), ()),
    ("I take lisinopril for my blood pressure", (), ("What is my blood type?",)),
    ("My blood type is O.", ("What is my blood type?",), ("What is my blood pressure?",)),
    ("Priya moved to Leeds.", ("Where does Priya live?", "Where does Priya live now?"), ("Where does Ann live now?",)),
    ("My cat is called Tom.", ("What is my cat called?",), ()), ("我妈妈对花生过敏。", ("我妈妈对什么过敏？",), ()),
    ("小红对花生过敏。", ("你知道小红对什么过敏吗？",), ()),
    ("Bob loves Ann", ("Whom does Bob love?", "Who does Bob love?", "Who loves Ann?"),
     ("Whom does Ann love?", "Who does Ann love?", "Does Ann love Bob?", "Who loves Bob?")),
    ("小明喜欢小红", ("小明喜欢谁？", "谁喜欢小红？"), ("小红喜欢谁？", "谁喜欢小明？")),
    ("If I lived in Paris, I would eat croissants.", (), ("Where do I live?",)),
    ("I live in Paris, just kidding.", (), ("Where do I live?",)),
    ("如果我住在巴黎，我会很开心。", (), ("我住在哪里？",)), ("我住在月球，开玩笑的。", (), ("我住在哪里？",)),
)  # fmt: skip
"""What is said, the questions that it answers, and those that it does not: of somebody else, supposed or in jest."""


@pytest.mark.parametrize(("said", "answered", "refused"), OF_WHOM)
def test_a_statement_answers_of_whom_it_is_said(
    tmp_path: Path, said: str, answered: tuple[str, ...], refused: tuple[str, ...]
):
    with IntelligentMemorySystem(None, tmp_path / "m.db") as system:
        system.chat(said)
        for question in answered:
            assert system.chat(question)["answer"] == f"{said} [1]", question
        for question in refused:
            assert system.chat(question)["answer"] in UNKNOWN, question


TAKEN_BACK = (
    ("I'm allergic to nuts.", "Actually I'm not allergic to nuts.", "What am I allergic to?", "not allergic to nuts. [1]"),
    ("我对花生过敏。", "其实我对花生不过敏。", "我对什么过敏？", "其实我对花生不过敏。 [1]"),
    ("I live in Oslo.", "I live in Bergen now.", "Where do I live?", "I live in Bergen now. [1]"),
    ("I live in Paris.", "Just kidding!", "Where do I live?", ""), ("我住在月球。", "开玩笑的", "我住在哪里？", ""),
    ("I'm allergic to peanuts.", "Sorry, I meant walnuts.", "What am I allergic to?", "walnuts"),
    ("我住在上海。", "说错了，是天津。", "我住在哪里？", "天津"),
    ("我爸的生日是八月初三。", "说错了，是八月十三。", "我爸的生日是哪天？", "八月十三"),
    ("I'm pregnant with twins!", "Just kidding!", "Am I pregnant?", ""), ("我怀孕了。", "骗你的。", "我怀孕了吗？", ""),
    ("I found a hundred pounds on the bus.", "Only joking, it was a tenner.", "How much did I find on the bus?", ""),
    ("I'm pregnant with twins!", "Just kidding, I only wanted to see your reaction.", "Am I pregnant?", ""),
    ("I'm a size 9.", "No wait, size 10.", "What shoe size am I?", "size 10"),
    ("I live in a flat in Bristol.", "We've moved! New place is in Frome.", "Where do I live?", "Frome"),
    ("My dentist appointment is on 14 March.", "The dentist rang, my appointment's been pushed to 21 March.",
     "When is my dentist appointment?", "21 March"),
    ("The meeting is at 10.", "No wait, it's at 10:30.", "When is the meeting?", "10:30"),
    ("My flight is on Monday.", "The flight is on Tuesday now.", "When is my flight?", "Tuesday"),
    ("会议是三点开始。", "不对，是四点。", "会议几点开始？", "四点"),
    ("I'm 45.", "Sorry, 44.", "How old am I?", "44"), ("My daughter is 8.", "Oh sorry, 9.", "How old is my daughter?", "9"),
    ("My wife's name is Ina.", "Not Ina, Ida.", "What is my wife's name?", "Ida"),
    ("I have a dog called Rex.", "I mean Max.", "What is my dog called?", "Max"),
    ("I'm flying to Rome on Friday.", "Sorry, Saturday.", "When am I flying to Rome?", "Saturday"),
    ("我在北京工作。", "不对，南京。", "我在哪里工作？", "南京"), ("我45岁。", "抱歉，44。", "我多大了？", "44"),
    ("我在腾讯上班。", "不好意思，阿里。", "我在哪里上班？", "阿里"),
    ("我妹妹住在杭州。", "抱歉，宁波。", "我妹妹住在哪里？", "宁波"),
)  # fmt: skip


@pytest.mark.parametrize(("before", "later", "question", "answer"), TAKEN_BACK)
def test_the_later_statement_answers_however_long_the_talk_goes_on(
    tmp_path: Path, before: str, later: str, question: str, answer: str
):
    with IntelligentMemorySystem(None, tmp_path / "m.db") as system:
        for said in (before, later):
            system.chat(said)
        told = [system.chat(question)["answer"]]
        for number in range(15):
            system.chat(f"Lunch number {number} was soup.")
        told.append(system.chat(question)["answer"])
    for one in told:
        assert one in UNKNOWN if not answer else answer in one


LAST = "我妹明年五月结婚。"
HULL, SHELL = "my sister lives in Hull, I visit her a lot", "my wife works at Shell and I work at Aldi"
REX, DOG = ("I have a dog called Rex.", "Rex died last week."), "Do I have a dog?"
ANSWERED = (
    # A statement is not the answer because it was the last.
    (("我在吃氯雷他定。", LAST), "氯雷他定还在吃吗？", "我在吃氯雷他定。 [1]"),
    (("我在吃阿托伐他汀。", LAST), "阿托伐他汀还在吃吗？", "我在吃阿托伐他汀。 [1]"),
    (("我的吉他在客厅。", LAST), "吉他在哪？", "我的吉他在客厅。 [1]"),
    (("我爸妈住在苏州。", LAST), "他们住在哪？", "我爸妈住在苏州。 [1]"),
    (("我家的猫住在阳台。", LAST), "它住在哪？", "我家的猫住在阳台。 [1]"),
    ((LAST,), "还有其他安排吗？", "我不知道。"), ((LAST,), "其它的药呢？", "我不知道。"),
    # What is over is told as such, and an emoji asks nothing.
    (REX[:1], DOG, "I have a dog called Rex. [1]"), (REX, DOG, "Rex died last week. [1]"),
    (("I'm married to Tom.", "We got divorced in May."), "Am I still married?", "We got divorced in May. [1]"),
    (("我有一只狗。", "我的狗上周死了。"), "我还有狗吗？", "我的狗上周死了。 [1]"),
    (("我结婚了。", "我上个月离婚了。"), "我结婚了吗？", "我上个月离婚了。 [1]"),
    (("I have a cat.",), DOG, "I don't know."),
    (("We had a party 🎉 on Friday.",), "🎉", "🙂"), (("周五的聚会🎉很好。",), "👍👍！", "🙂"),
    # A jest does not replace what was said before it.
    (("I live in Leeds.", "I moved to Mars.", "Just kidding!"), "Where do I live?", "I live in Leeds. [1]"),
    (("I live in Leeds.", "I moved to Mars. Just kidding!"), "Where do I live?", "I live in Leeds. [1]"),
    (("I work at Acme.", "I quit my job.", "I'm only joking."), "Where do I work?", "I work at Acme. [1]"),
    (("我住在成都。", "我搬到火星了。", "骗你的！"), "我住在哪里？", "我住在成都。 [1]"),
    # What a message states answers what it asks.
    ((), "My cat is called Tim. What is my cat called?", "My cat is called Tim. [1]"),
    ((), "I own a Canon. It is in the attic. Where is the Canon?", "I own a Canon. It is in the attic. [1]"),
    ((), "我的猫叫团子。我的猫叫什么？", "我的猫叫团子。 [1]"),
    # What is told of a relative is not told of the user.
    ((HULL,), "Where do I live?", "I don't know."), ((HULL,), "Where does my sister live?", f"{HULL} [1]"),
    (("my sister Anna lives in Hull, I visit her a lot",), "Do I live in Hull?", "I don't know."),
    (("my wife works at Shell so I get cheap petrol",), "Where do I work?", "I don't know."),
    (("my brother is allergic to penicillin, I had to tell the doctor",), "What am I allergic to?", "I don't know."),
    (("我弟在深圳上班，经常来看我",), "我在哪上班？", "我不知道。"), ((SHELL,), "Where do I work?", f"{SHELL} [1]"),
)  # fmt: skip


@pytest.mark.parametrize(("said", "question", "answer"), ANSWERED)
def test_a_question_is_answered_by_what_holds_and_is_about_it(
    tmp_path: Path, said: Sequence[str], question: str, answer: str
):
    with IntelligentMemorySystem(None, tmp_path / "m.db") as system:
        for text in said:
            system.chat(text)
        assert system.chat(question)["answer"] == answer


OVER_REX, MOVED = ("My dog is called Rex.", "Rex died."), ("I live in Lyon.", "I moved to Nice.")
WANG_CAI, SPLIT = ("我养了一只狗叫旺财。", "旺财死了。"), ("Gordon and I have split up.",)
CORIANDER, CASTLE = ("I can't stand coriander",), ("if I won the lottery I'd buy a castle on Skye",)
REPLIED = (
    (OVER_REX, DOG, "You have a dog called Rex [1].", "Rex died. [1]"), (OVER_REX, DOG, "Yes [1].", "Rex died. [1]"),
    (OVER_REX, DOG, "No, Rex died [1].", "No, Rex died [1]."),
    (MOVED, "Do I live in Lyon?", "You live in Lyon [1].", "I moved to Nice. [1]"),
    (MOVED, "Where do I live?", "You live in Lyon [1].", "I moved to Nice. [1]"),
    (MOVED, "Where do I live?", "You live in Nice [1].", "You live in Nice [1]."),
    (WANG_CAI, "我有狗吗？", "有，你养了一只狗叫旺财 [1]。", "旺财死了。 [1]"),
    (WANG_CAI, "我有狗吗？", "有 [1]。", "旺财死了。 [1]"),
    (CORIANDER, "Do I like coriander?", "Yes, you like coriander. [1]", "I can't stand coriander [1]"),
    (CORIANDER, "Do I like coriander?", "Yes. [1]", "I can't stand coriander [1]"),
    (("我讨厌香菜",), "我喜欢香菜吗？", "喜欢，你喜欢香菜。[1]", "我不知道。"),
    (("I love coriander",), "Do I like coriander?", "Yes, you love it. [1]", "Yes, you love it. [1]"),
    (SPLIT, "Do I have a boyfriend?", "Yes, Gordon. [1]", "I don't know."),
    (SPLIT, "Do I have a boyfriend?", "No, Gordon left. [1]", "No, Gordon left. [1]"),
    (("我和小雅分了",), "我有女朋友吗？", "有，小雅。[1]", "我不知道。"),
    (CASTLE, "Do I have a castle?", "Yes, on Skye. [1]", "I don't know."),
    (("I'd buy a castle on Skye if I won the lottery",), "Do I have a castle?", "Yes, on Skye. [1]", "I don't know."),
    (CASTLE, "Do I have a castle?", "No, you would buy one if you won. [1]",
     "No, you would buy one if you won. [1]"),
)  # fmt: skip


@pytest.mark.parametrize(("said", "question", "reply", "answer"), REPLIED)
def test_a_model_that_affirms_what_is_over_denied_or_only_supposed_is_replaced(
    tmp_path: Path, said: Sequence[str], question: str, reply: str, answer: str
):
    chat = ScriptedChat(["Good."] * len(said) + [reply])
    with IntelligentMemorySystem(None, tmp_path / "m.db", llm=chat) as system:
        for text in said:
            system.chat(text)
        found = system.chat(question)
    assert found["answer"] == answer
    # What a later statement replaces needs no note.
    assert bool(found["note"]) == (answer != reply) or said is MOVED


def test_a_long_message_is_looked_at_once_for_each_statement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    read = list[int]()
    whole = answers.claims

    def counted(text: str, *, time: datetime) -> list[Claim]:
        read.append(len(text))
        return whole(text, time=time)

    monkeypatch.setattr(answers, "claims", counted)
    with IntelligentMemorySystem(None, tmp_path / "m.db") as system:
        told = "My aunt Zelda has a boat. My uncle Karl has a horse. " * 100
        system.chat(told)
        system.chat(f"{told} Where do I live?")
    assert sum(read) <= 2 * len(told)


def test_what_is_known_about_the_user_is_told(tmp_path: Path):
    asked = (
        "What do you know about me?",
        "Tell me everything you remember about me.",
        "你知道我什么？",
        "你对我了解多少？",
    )
    with IntelligentMemorySystem(None, tmp_path / "m.db") as system:
        assert system.chat(asked[0])["answer"] == "I don't know."
        system.engine.remember("I work at Acme.")
        for said in (
            "I live in Oslo.",
            "The sky is blue.",
            "We've moved! New place is in Bergen.",
            "我对花生过敏。",
            "My password is hunter2",
        ):
            system.chat(said)
        for question in asked:
            told = system.chat(question)
            assert told["answer"] == (
                "I work at Acme. [1] We've moved! New place is in Bergen. [2] 我对花生过敏。 [3]"
            ), question
            assert len(told["source_documents"]) == 3
        assert system.chat("What do you know about trains?")["answer"] == "I don't know."


def test_a_model_of_langchains_answers(tmp_path: Path):
    model = FakeListChatModel(responses=["Hansen services it. [1]"])
    with IntelligentMemorySystem(None, tmp_path / "m.db", llm=model) as system:
        system.add_knowledge(["The boiler is serviced every October by Hansen."])
        assert system.chat("Who services the boiler?")["answer"] == "Hansen services it. [1]"


def test_what_the_user_said_is_not_called_a_document_when_the_model_fails(tmp_path: Path):
    def fail(messages: Any) -> str:
        raise OSError("away")

    with IntelligentMemorySystem(None, tmp_path / "m.db", llm=fail) as system:
        system.chat("My cat is called Tim.")
        answer = system.chat("What is my cat called?")
        assert answer["answer"] == "My cat is called Tim. [1]"
        assert answer["note"].endswith("; these are sentences of the sources.")


def test_a_statement_is_acknowledged_without_a_model(tmp_path: Path):
    with IntelligentMemorySystem(None, tmp_path / "m.db") as system:
        for said in ("I'm allergic to cats.", "My sister is allergic to cats too.", "The meeting is on Monday."):
            assert system.chat(said) == {"answer": "Noted.", "source_documents": [], "note": ""}
        for said in ("我叫小明，在北京工作，对花生过敏。", "我住在Shanghai。"):
            assert system.chat(said)["answer"] == "记下了。"
        for asked in ("Where is the harbour?", "List the harbours.", "harbours of Norway"):
            assert system.chat(asked)["answer"] == "I don't know."
        assert system.memory.last(8)[1].text == "记下了。"
    chat = ScriptedChat(["Good to know."])
    with IntelligentMemorySystem(None, tmp_path / "n.db", llm=chat) as system:
        system.add_knowledge(KNOWLEDGE)
        assert system.chat("I'm allergic to cats.")["answer"] == "Good to know."


BY_FACT = (
    ("I moved to Bergen", "Where do I live?", "Bergen"), ("我搬到杭州了", "我住在哪里？", "杭州"),
    ("My mother is called Ruth", "What is my mom's name?", "Ruth"), ("我妈叫李芳", "我妈妈叫什么？", "李芳"),
    ("我妈叫李芳", "我母亲叫什么名字？", "李芳"), ("I started at Acme last week.", "Where do I work?", "Acme"),
    ("I am 44", "How old am I?", "44"), ("I'm Hollis and I work at Bexley Rail.", "Where do I work?", "Bexley Rail"),
    ("I'm Hollis and I work at Bexley Rail.", "Do you remember what my name is?", "Hollis"),
    ("我叫沈若岚，在三联书店当编辑。", "我在哪里上班？", "三联书店"),
    ("我叫沈若岚，在三联书店当编辑。", "我是做什么工作的？", "编辑"), ("我今年三十五岁。", "我多大了？", "三十五"),
    ("We moved to Leeds, my wife Anna got a job there", "What is my wife's name?", "Anna"),
    ("We moved to Leeds, my wife Anna got a job there", "Where do we live?", "Leeds"),
    ("我们搬到杭州了，我老公王强在那边找到了工作。", "我老公叫什么？", "王强"),
    ("My son Leo is 7.", "How old is my son?", "7"), ("我有个女儿叫朵朵，今年五岁", "我女儿几岁了？", "五岁"),
    ("My favourite colour is green.", "What's my favorite color?", "green"),
    ("I have a dentist appointment on 14 March.", "When is my dentist appointment?", "14 March"),
)  # fmt: skip


@pytest.mark.parametrize(("said", "question", "name"), BY_FACT)
def test_a_fact_answers_in_whatever_words_it_was_said(tmp_path: Path, said: str, question: str, name: str):
    with IntelligentMemorySystem(None, tmp_path / "m.db") as system:
        system.chat(said)
        assert name in system.chat(question)["answer"]
        for number in range(12):
            system.chat(f"Lunch number {number} was soup, and work went on.")
        assert name in system.chat(question)["answer"], "also when much was said since"
    with IntelligentMemorySystem(None, tmp_path / "n.db") as system:
        system.engine.remember(said)
        for number in range(12):
            system.engine.remember(f"Where people live and work was talk number {number}.")
        assert name in system.chat(question)["answer"], "also when it is in the memories alone"


@pytest.mark.parametrize(
    ("said", "question", "secret"),
    [
        ("My PIN is 4821.", "What is my PIN?", "4821"),
        ("The PIN for my card is 4821, please remember it.", "Do you know the PIN for my card?", "4821"),
        ("My password is hunter2", "What's my password?", "hunter2"),
        ("我的密码是abc123", "我的密码是什么？", "abc123"),
        ("我的银行卡PIN码是4821", "我的银行卡PIN码是多少？", "4821"),
    ],
)
def test_a_secret_is_never_told_back(tmp_path: Path, said: str, question: str, secret: str):
    chat = ScriptedChat(["I don't know."] * 2)
    with IntelligentMemorySystem(None, tmp_path / "m.db") as system:
        system.chat(said)
        system.engine.remember(said)
        assert secret not in str(system.chat(question))
        assert secret not in system.get_conversation_summary()
    with IntelligentMemorySystem(None, tmp_path / "m.db", llm=chat) as system:
        system.add_knowledge(KNOWLEDGE)
        system.chat(question)
    assert secret not in "".join(message.text for message in chat.asked[0])


def test_a_question_without_a_mark_is_answered_and_not_acknowledged(tmp_path: Path):
    with IntelligentMemorySystem(None, tmp_path / "m.db") as system:
        system.chat("My cat is called Tim.")
        system.chat("我生日是5月8号。")
        for asked in ("have I got a cat right now", "quick one, do I have a cat or not"):
            assert "Tim" in system.chat(asked)["answer"], asked
        assert "5月8号" in system.chat("我生日是哪天")["answer"]
        for asked in ("我还戴眼镜不", "降压药我还要不要吃"):
            assert system.chat(asked)["answer"] != "记下了。", asked
        for said in ("谁都知道我属龙。", "我还没结婚。"):
            assert system.chat(said)["answer"] == "记下了。", said


def test_a_greeting_is_returned_in_its_language(tmp_path: Path):
    with IntelligentMemorySystem(None, tmp_path / "m.db") as system:
        for said in ("hi", "Hello!", "Hi there", "thanks", "Thank you very much!", "bye", "Good morning", "ok"):
            answer = system.chat(said)["answer"]
            assert answer not in (*UNKNOWN, "Noted."), said
            assert answer.isascii(), said
        for said in ("你好", "您好！", "谢谢", "谢谢你", "再见", "拜拜", "好的"):
            answer = system.chat(said)["answer"]
            assert answer not in (*UNKNOWN, "记下了。"), said
            assert not answer.isascii(), said
        assert system.chat("hi, where is the harbour?")["answer"] == "I don't know."


@pytest.mark.parametrize(
    ("said", "question", "corrections", "name"),
    [
        (("I live in Lyon.", "I like tea."), "Where do I live?", ("No, Nice.", "Sorry, Nantes."), "Nantes"),
        (("I live in Lyon.", "I work in Caen."), "Where do I live?", ("Sorry, I meant Nice.",), "Nice"),
        (("I'm 43.",), "How old am I?", ("Sorry, 44.",), "44"),
        (("My train leaves at 7:10.",), "When does my train leave?", ("Sorry, 7:40.",), "7:40"),
        (("我住在上海。", "我在南京工作。"), "我住在哪里？", ("不对，杭州。",), "杭州"),
    ],
)
def test_a_correction_after_an_answer_is_of_what_the_answer_quotes(
    tmp_path: Path, said: Sequence[str], question: str, corrections: Sequence[str], name: str
):
    with IntelligentMemorySystem(None, tmp_path / "m.db") as system:
        for text in said:
            system.chat(text)
        for correction in corrections:
            system.chat(question)
            system.chat(correction)
        assert name in system.chat(question)["answer"]


@pytest.mark.parametrize(
    ("own", "other", "question"),
    [
        ("I live in Brno.", "I live in Wien.", "Where do I live?"),
        ("I'm 40.", "Sorry, I'm 25.", "How old am I?"),
        ("My cat is called Tim.", "My cat died.", "What is my cat called?"),
        ("I live in Brno.", "I moved to Wien.", "What do you know about me?"),
        ("The meeting is on Monday.", "The meeting was moved to Friday.", "When is the meeting?"),
        ("我住在上海。", "我搬到杭州了。", "我住在哪里？"),
    ],
)
def test_what_another_session_said_does_not_hide_what_this_one_did(tmp_path: Path, own: str, other: str, question: str):
    path = tmp_path / "m.db"
    for session, said in (("a", own), ("b", other)):
        with IntelligentMemorySystem(None, path, session_id=session) as system:
            system.chat(said)
    with IntelligentMemorySystem(None, path, session_id="a") as system:
        assert system.chat(question)["answer"] == f"{own} [1]"
    with IntelligentMemorySystem(None, path, session_id="c") as system:
        assert not system.chat(question)["source_documents"]
        system.engine.remember(own)
        assert system.chat(question)["answer"] == f"{own} [1]", "what was said in no session is known in all"


REPLIES = (
    ("My cat is called Tim.", "Nice to meet Tim!", "Noted."), ("我的猫叫团子。", "团子真好听！", "记下了。"),
    ("Write me a haiku about rain.", "Rain on the window", "I don't know."), ("帮我写一首诗", "春眠不觉晓", "我不知道。"),
    ("Could you translate \"Haus\"?", "House", "I don't know."),
)  # fmt: skip


@pytest.mark.parametrize(("message", "reply", "otherwise"), REPLIES)
def test_what_asks_for_nothing_stored_is_answered_by_the_model_itself(
    tmp_path: Path, message: str, reply: str, otherwise: str
):
    chat = ScriptedChat(["Good. [7]", reply, ModelError("the server is away"), "An answer that rests on nothing."])
    with IntelligentMemorySystem(None, tmp_path / "m.db", llm=chat) as system:
        system.add_knowledge(KNOWLEDGE)
        system.chat("I live in Oslo.")
        assert system.chat("My PIN is 4821.")["answer"] == "Noted.", "a secret is not sent"
        assert system.chat(message) == {"answer": reply, "source_documents": [], "note": ""}
        assert [one.text for one in chat.asked[1]] == ["I live in Oslo.", "Good.", "Noted.", message]
        failed = system.chat(message)
        assert failed["answer"] == otherwise
        assert "the server is away" in failed["note"]
        assert system.chat("退货的颜色是什么？")["answer"] == "我不知道。", "an answer to a question is checked"


NOT_FROM_MEMORY = {"en": "This is not from memory", "zh": "不是来自记忆"}


@pytest.mark.parametrize(
    ("said", "question", "reply"),
    [
        ((), "What is the capital of France?", "Paris."),
        (("I live in Oslo.",), "What is the capital of France?", "Paris."),
        (("I live in Oslo.",), "How do I boil an egg?", "Put it into boiling water for seven minutes."),
        ((), "Tell me, who wrote Hamlet?", "William Shakespeare."),
        ((), "法国的首都是哪里？", "巴黎。"),
        (("我住在上海。",), "鸡蛋要煮多久？", "七分钟左右。"),
    ],
)
def test_a_general_question_is_answered_by_the_model_and_marked(
    tmp_path: Path, said: Sequence[str], question: str, reply: str
):
    chat = ScriptedChat(["Good."] * len(said) + [reply])
    with IntelligentMemorySystem(None, tmp_path / "m.db", llm=chat) as system:
        for text in said:
            system.chat(text)
        answer = system.chat(question)
    assert (answer["answer"], answer["source_documents"]) == (reply, [])
    assert NOT_FROM_MEMORY["en" if question.isascii() else "zh"] in answer["note"]
    assert chat.asked[-1][-1].text == question


def test_a_model_that_finds_nothing_in_memory_is_asked_for_its_own_answer(tmp_path: Path):
    chat = ScriptedChat(["Good.", "I don't know.", "Paris."])
    with IntelligentMemorySystem(None, tmp_path / "m.db", llm=chat) as system:
        system.chat("I have been to France.")
        assert system.chat("What is the capital of France?")["answer"] == "Paris."


@pytest.mark.parametrize(
    ("said", "question", "reply"),
    [
        ((), "Where do I live?", "You live in Porto."),
        ((), "What is my sister called?", "Brunhilde."),
        ((), "Where does Anna live?", "Anna lives in Porto."),
        (("Brunhilde is my sister.",), "Where does Brunhilde live?", "She lives in Porto."),
        ((), "Where does she live?", "In Porto."),
        ((), "What did you say yesterday?", "I said hello."),
        ((), "Is the sea warm?", "Yes, and you live in Porto."),
        ((), "我住在哪里？", "你住在成都。"),
        ((), "我妹妹叫什么？", "小红。"),
        ((), "她几岁了？", "三岁。"),
    ],
)
def test_a_model_makes_no_claim_about_the_user_or_their_people(
    tmp_path: Path, said: Sequence[str], question: str, reply: str
):
    chat = ScriptedChat(["Good."] * len(said) + [reply, reply])
    with IntelligentMemorySystem(None, tmp_path / "m.db", llm=chat) as system:
        for text in said:
            system.chat(text)
        assert system.chat(question)["answer"] in ("I don't know.", "我不知道。", *(f"{text} [1]" for text in said))


def test_documents_that_speak_of_it_are_not_answered_beyond(tmp_path: Path):
    chat = ScriptedChat(["I don't know.", "Red."])
    with IntelligentMemorySystem(None, tmp_path / "m.db", llm=chat) as system:
        system.add_knowledge(["The bike of the town hall is serviced every year."])
        answer = system.chat("What colour is the bike of the town hall?")
    assert answer["answer"] == "I don't know."
    assert len(chat.asked) == 1


def test_a_model_that_fails_at_a_general_question_is_named(tmp_path: Path):
    chat = ScriptedChat([ModelError("the server is away")])
    with IntelligentMemorySystem(None, tmp_path / "m.db", llm=chat) as system:
        answer = system.chat("What is the capital of France?")
    assert answer["answer"] == "I don't know."
    assert "the server is away" in answer["note"]
    assert "not from memory" not in answer["note"]


@pytest.mark.parametrize(
    ("message", "question", "value"),
    [
        ("I have two kids. Sorry, three.", "How many kids do I have?", "three"),
        ("I weigh 82 kg. Sorry, 80. I feel fine.", "How much do I weigh?", "80"),
        ("My train leaves at 7:10. Sorry, 7:40.", "When does my train leave?", "7:40"),
        ("我有两个孩子。不对，三个。", "我有几个孩子？", "三个"),
        ("我的火车七点开。不对，八点。", "我的火车几点开？", "八点"),
    ],
)
def test_a_value_that_is_corrected_in_the_same_message_is_told(tmp_path: Path, message: str, question: str, value: str):
    with IntelligentMemorySystem(None, tmp_path / "m.db") as system:
        system.chat(message)
        answer = system.chat(question)["answer"]
        assert value in answer
        assert "fine" not in answer
