"""The reader of facts: where its pieces stand, what it adds to the rules and takes from them, and what it costs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import memwell
from memwell.errors import ConfigurationError
from memwell.language.claims import claims
from memwell.language.claims.relations import RuleMatch
from memwell.longterm.indexing import BATCH, read_by_model
from memwell.models.local import encoder, reader
from memwell.models.local.embedder import LocalEmbedder
from memwell.models.local.encoder import MOST_PIECES, Encoder, WordPieces
from memwell.models.local.onnx import READER
from memwell.models.local.reader import FactReader, fact_reader, placed

NOW = datetime(2026, 5, 4, tzinfo=UTC)
_WORDS = "I my sister Ana live in Lyon work at Bosch. , ’s é 搬到北京 \U0001f600 İstanbul ﬁ \u0300 I'm 42 no".split()
_WORDS += "我妹妹小雨 ，在 拣 １８岁".split()
TEXTS = st.one_of(
    st.text(st.characters(min_codepoint=1, exclude_categories=("Cs",)), max_size=300),
    st.lists(st.sampled_from(_WORDS), max_size=60).map(" ".join),
)


def read(text: str, speaker: str = "") -> set[tuple[str, str, str, bool]]:
    found = claims(text, time=NOW, reader=read_by_model, speaker=speaker)
    return {(one.subject, one.relation, one.object, one.negated) for one in found}


@given(TEXTS)
def test_pieces_stand_in_the_text_one_after_the_other_and_are_those_of_the_encoder(text: str):
    pieces = WordPieces()
    found = placed(pieces, text)
    assert [pieces.start, *found.ids, pieces.end] == pieces.encode(text, len(text) * 20 + 20)
    assert len(found.ids) == len(found.places) == len(found.capitals)
    assert all(0 <= start < end <= len(text) for start, end in found.places)
    assert all(one[0] <= other[0] and one[1] <= other[1] for one, other in pairwise(found.places))


@given(TEXTS)
def test_pieces_of_the_multilingual_model_stand_in_the_text_one_after_the_other(text: str):
    found = placed(fact_reader(chinese=True)._pieces, text)
    assert len(found.ids) == len(found.places) == len(found.capitals)
    assert all(0 <= start <= end <= len(text) for start, end in found.places)
    assert all(one[0] <= other[0] and one[1] <= other[1] for one, other in pairwise(found.places))


def test_pieces_of_chinese_are_its_characters():
    text = "分拣员Ａnna，　住在 北京 １8楼，cafe\u0301"
    found = placed(fact_reader(chinese=True)._pieces, text)
    assert "".join(text[start:end] for start, end in found.places).startswith("分拣员Ａnna，住在北京１8楼，caf")


@pytest.mark.parametrize("chinese", [False, True])
@given(text=TEXTS)
def test_what_is_read_stands_in_the_text(text: str, *, chinese: bool):
    for one in fact_reader(chinese=chinese).read(text):
        assert 0.0 <= one.confidence <= 1.0
        assert 0 <= one.start <= one.object_start <= one.object_end <= one.end <= len(text)
        assert one.negated or one.object_start < one.object_end
    for claim in claims(text, time=NOW, reader=read_by_model):
        assert 0 <= claim.start <= claim.end <= len(text)


@pytest.mark.parametrize(
    "text",
    [
        "Hi Melanie! Hope you're doing good.", "Thanks, Melanie! I really appreciate it.", "Thanks, Tom, that was great.",
        "Good luck, Sam!", "Wow, Caroline, that's awesome!", "Happy birthday, Joan! Have a great day", "How nice, Emil.",
        "Svetlana...", "Glad your son is okay, Melanie.", "I've named it Bheem.", "Bring the puppy, Nora!",
        "I've applied to be a postman.", "Oxford is lovely, the neighbours brought cake. Walnut, luckily not peanut.",
    ],
)  # fmt: skip
def test_who_is_greeted_or_thanked_is_another(text: str):
    assert not {fact for fact in read(text) if fact[1] != "likes"}


@pytest.mark.parametrize(
    "text",
    ["Hey! Grace Villanueva, nurse, raising two girls.", "Hiya, Megan from Ohio, two cats.", "Thanks, I'm Tom!"],
)
def test_who_introduces_themselves_has_that_name(text: str):
    assert {fact[1] for fact in read(text)} >= {"name"}


@pytest.mark.parametrize(
    "text",
    [
        "me and Gwen are off to Wales on Friday", "Ruth got married yesterday",
        "We changed practice so Dr Whitfield looks after me now",
        "biscuit didn't wake up. 19 years old.",
    ],
)  # fmt: skip
def test_company_weddings_and_ages_of_others_say_nothing_of_the_speaker(text: str):
    assert not {fact for fact in read(text) if fact[1] in ("partner", "married_to", "age")}


@pytest.mark.parametrize(
    "text", ["me and Iida live in Hervanta now", "We've been man and wife ten years, Comfort and I."]
)
def test_whom_the_speaker_loves_is_read(text: str):
    assert {fact[1] for fact in read(text)} & {"partner", "married_to"}


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("We call Inverness home these days.", ("user", "lives_in", "Inverness", False)),
        ("我姐家的猫叫年糕", ("user's older sister", "pet", "年糕", False)),
        ("我爺爺是木匠", ("user's grandfather", "occupation", "木匠", False)),
    ],
)
def test_a_fact_that_no_rule_reads_is_added(text: str, fact: tuple[str, str, str, bool]):
    assert not claims(text, time=NOW)
    assert fact in read(text)


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("I'm Brand Lead now.", ("user", "occupation", "Brand Lead", False)),
        ("My boss made me Head Chef yesterday", ("user", "occupation", "Head Chef", False)),
        ("I own a dog", ("user", "pet", "dog", False)),
    ],
)
def test_what_a_rule_reads_in_plain_words_is_not_doubted(text: str, fact: tuple[str, str, str, bool]):
    assert fact in read(text)


def test_what_a_rule_reads_wrongly_is_left_out():
    text = "I'm a sucker for Agatha Christie."
    assert "works_at" in {one.relation for one in claims(text, time=NOW)}
    assert read(text) == {("user", "likes", "Agatha Christie", False)}


def test_a_chinese_subject_is_who_the_words_name():
    assert read("ICU护士，三班倒，褪黑素吃多少毫克比较安全？") == {("user", "occupation", "ICU护士", False)}
    assert ("小雨", "studies", "护理", False) in read("我堂妹小雨在青岛念护理")
    assert ("user's mother", "lives_in", "臺南", False) in read("我媽媽今年七十歲，住在臺南")
    assert read("我女朋友的妈妈是上海人") == set()


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("刘洋入职百度了", {("刘洋", "works_at", "百度", False)}),
        ("雯雯入职了一家设计公司", {("雯雯", "works_at", "设计公司", False)}),
        ("雯雯换了手机号，13812345678", {("雯雯", "phone", "13812345678", False)}),
        ("小核桃转到实验小学了", {("小核桃", "studies_at", "实验小学", False)}),
        ("孙悦考上公务员了", {("孙悦", "occupation", "公务员", False)}),
        ("小柚子领养了一只金毛", {("小柚子", "pet", "金毛", False)}),
        ("李娜怀孕了", set()), ("陈浩今天结婚了，我去喝喜酒", set()),
        # Of whom *she* is nothing is known here.
        ("她学的海洋科学", set()), ("她搬到上海了", set()), ("她养了一只猫", set()),
        ("我女儿叫小雨。她学的海洋科学", {("user", "child", "小雨", False), ("小雨", "studies", "海洋科学", False)}),
        # Someone with a title is nobody's aunt, and a name ends before what she does.
        ("我邻居张阿姨会说俄语", {("user", "friend", "张阿姨", False), ("张阿姨", "speaks", "俄语", False)}),
        ("闺蜜桑桑领养了一只比格", {("user", "friend", "桑桑", False), ("桑桑", "pet", "比格", False)}),
        # What is only supposed, or laughed about.
        ("万一我被外派到内罗毕，要打什么疫苗", set()), ("我是火锅大学毕业的，专业是涮毛肚，哈哈哈。", set()),
        # What was written by mistake is wrong.
        ("我侄女叫若曦，我上次打成若溪了。", {("user", "relative", "若曦", False), ("user", "relative", "若溪", True)}),
        ("年糕，两岁", {("年糕", "age", "两", False)}), ("两岁了", set()),
        # One character of a verb is nobody.
        ("领养了一只柯基", {("user", "pet", "柯基", False)}),
    ],
)  # fmt: skip
def test_what_is_read_of_others_is_not_the_speakers(text: str, facts: set[tuple[str, str, str, bool]]):
    assert read(text) == facts


def test_who_is_named_has_graduated_only_by_words_that_say_so():
    school = RuleMatch("graduated_from", 3, 5, 0, 5, "周敏", confidence=0.99)
    for text, read_so in (("周敏在浙大读书", False), ("周敏是浙大毕业的", True)):
        found = claims(text, time=NOW, reader=lambda _: [school])
        assert ("graduated_from" in {one.relation for one in found}) is read_so


def test_a_name_that_is_none_is_no_subject():
    for name, is_read in (("女喺", False), ("周敏", True)):
        text = f"{name}在读法律"
        read_so = RuleMatch("hobby", 4, 6, 0, 6, name, confidence=0.92)
        assert bool(claims(text, time=NOW, reader=lambda _, one=read_so: [one])) is is_read


@pytest.mark.parametrize(
    "text",
    [
        "Peanuts send me straight to A&E.", "Dairy doesn't agree with me.", "penicillin. comes me out in lumps",
        "I'd best mention I've an adrenaline pen for wasp stings.",
    ],
)  # fmt: skip
def test_an_allergy_is_read_in_whichever_words_it_is_told(text: str):
    assert "allergic_to" in {fact[1] for fact in read(text)}


@pytest.mark.parametrize("text", ["我和陈宇结婚了。", "我和陈宇上个月领证了", "我跟王磊结婚三年了"])
def test_a_marriage_is_not_taken_for_its_end(text: str):
    assert {(fact[1], fact[3]) for fact in read(text)} == {("married_to", False)}


def test_what_a_chinese_rule_reads_wrongly_is_left_out():
    text = "周五开完会再说"
    assert claims(text, time=NOW)
    assert read(text) == set()


def test_sentences_of_two_languages_are_read_by_the_model_of_each():
    text = "My name is Ana. 我姐家的猫叫年糕。 We call Inverness home these days."
    assert read(text) == {
        ("user", "name", "Ana", False),
        ("user's older sister", "pet", "年糕", False),
        ("user", "lives_in", "Inverness", False),
    }
    seen: list[str] = []
    list(claims(text, time=NOW, reader=lambda part: seen.append(part) or []))
    assert [one.strip() for one in seen] == [text.replace("我姐家的猫叫年糕。", " " * 9), "我姐家的猫叫年糕。"]


def test_japanese_is_not_read_as_chinese():
    assert read_by_model("私は東京に住んでいます。猫の名前はタマです。") == []


def test_who_is_seen_for_advice_is_no_partner():
    for who in ("a therapist called Quentin Vask on Mondays", "a physio called Greg Moss about my knee"):
        assert "partner" not in {one[1] for one in read(f"I'm seeing {who}.")}
    assert ("user", "partner", "Greg Moss", False) in read("I'm seeing a guy called Greg Moss.")


def test_the_speaker_has_the_name_that_is_given():
    assert read("We call Inverness home these days.", speaker="Ann") == {("Ann", "lives_in", "Inverness", False)}


def test_a_rule_with_an_object_in_other_words_is_not_doubted():
    assert ("user", "allergic_to", "gluten", False) in read("I'm coeliac.")


def test_an_allergy_that_a_rule_reads_is_never_doubted():
    text = "I'm allergic to kiwi. I live in Lyon."
    assert {one.relation for one in claims(text, time=NOW, reader=lambda _: [])} == {"allergic_to"}


@pytest.mark.parametrize("text", ["", "   ", "…", "你好", "私は東京に住んでいます。"])
def test_where_there_is_nothing_to_read_nothing_changes(text: str):
    assert claims(text, time=NOW, reader=read_by_model) == claims(text, time=NOW)


def test_a_secret_that_the_model_reads_is_no_fact():
    text = "Our vault opens with the PIN 4711, and my password is hunter2."
    sure = [
        RuleMatch("owns", text.index(words), text.index(words) + len(words), 0, len(text), confidence=1.0)
        for words in ("PIN 4711", "password is hunter2")
    ]
    assert claims(text, time=NOW, reader=lambda _: sure) == claims(text, time=NOW)


def test_a_long_text_is_read_up_to_a_limit(monkeypatch: pytest.MonkeyPatch):
    seen: list[int] = []
    once = FactReader._read
    monkeypatch.setattr(
        FactReader, "_read", lambda self, text, part, **how: seen.append(len(part.ids)) or once(self, text, part, **how)
    )
    fact_reader().read("I live in Lyon. " * 10_000)
    assert sum(seen) < reader._MOST_CHARACTERS
    assert max(seen) < reader._MOST_PIECES


# The encoder's lower layers are computed once for a text that is read and embedded.


@pytest.fixture
def lower_runs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many pieces each run of the lower layers has."""
    return _runs(monkeypatch, fact_reader())


def _runs(monkeypatch: pytest.MonkeyPatch, of: FactReader) -> list[int]:
    runs: list[int] = []
    session = of._encoder._lower
    once = session.run
    monkeypatch.setattr(session, "run", lambda inputs: runs.append(inputs["x"].shape[-2]) or once(inputs))
    return runs


def test_a_chinese_text_that_was_read_is_embedded_to_the_same_vector_from_there(monkeypatch: pytest.MonkeyPatch):
    text = "我堂妹小雨在青岛念护理。"
    alone = LocalEmbedder().embed([text])
    runs = _runs(monkeypatch, fact_reader(chinese=True))
    with memwell.open("memory:", work=False) as memory:
        memory.remember(text)
        memory.flush()
    assert len(runs) == 1
    fact_reader(chinese=True).read(text)
    assert np.array_equal(LocalEmbedder().embed([text]), alone)


def test_a_text_that_was_read_is_encoded_to_the_same_vectors_from_there(lower_runs: list[int]):
    made = fact_reader()._encoder
    assert isinstance(made, Encoder)
    text = "My sister Ana moved to Lyon, and I still live in Ghent."
    alone, pieces = made.encode(text), len(made.pieces.encode(text, MOST_PIECES))
    fact_reader().read(text)
    after = made.encode(text)
    assert lower_runs == [pieces, pieces]
    assert all(np.array_equal(one, other) for one, other in zip(alone, after, strict=True))
    assert tuple(made.pieces.encode(text, MOST_PIECES)) not in made._read


def test_few_texts_are_kept_half_encoded_and_none_that_is_read_in_parts():
    made = fact_reader()._encoder
    for number in range(encoder._MOST_READ + 5):
        fact_reader().read(f"I have {number} hens.")
    assert len(made._read) == encoder._MOST_READ > BATCH
    fact_reader().read("I live in Lyon. " * 200)
    assert max(map(len, made._read)) < 20
    made._read.clear()


def test_threads_read_and_encode_the_same_as_one():
    made = fact_reader()._encoder
    assert isinstance(made, Encoder)
    texts = [f"I have {number % 7} hens and live in Lyon." for number in range(60)]

    def both(text: str) -> tuple[list[RuleMatch], bytes]:
        return fact_reader().read(text), made.encode(text).vector.tobytes()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(both, texts)) == [both(text) for text in texts]


def test_a_store_computes_the_lower_layers_of_a_text_once(lower_runs: list[int]):
    with memwell.open("memory:", work=False) as memory:
        memory.remember(["We call Inverness home these days.", "The tram to the harbour was late again."])
        memory.flush()
    assert len(lower_runs) == 2


def test_other_weights_are_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reader, "READER", READER._replace(sha256="0" * 64))
    with pytest.raises(ConfigurationError, match="SHA-256"):
        FactReader()


@pytest.mark.parametrize("many", [1, BATCH + 1])
def test_a_store_learns_what_is_read_also_when_words_were_indexed_long_before_vectors(many: int):
    with memwell.open("memory:", work=False) as memory:
        memory.remember(["We call Inverness home these days.", "I'm a sucker for Agatha Christie."])
        memory.remember([f"The tram was {number} minutes late." for number in range(many)])
        memory.recall("Where do I live?")
        memory.flush()
        found = {(one.relation, one.object) for one in memory.facts_about("user")}
    assert {("lives_in", "Inverness"), ("likes", "Agatha Christie")} <= found
    assert ("works_at", "Agatha Christie") not in found


def test_without_an_embedder_the_rules_read_alone():
    with memwell.open("memory:", embedder=None, work=False) as memory:
        memory.remember("We call Inverness home these days.")
        memory.flush()
        assert memory.facts_about("user") == []
