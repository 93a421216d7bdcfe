from __future__ import annotations

import hashlib
import json
import re
import string
import unicodedata
from collections import Counter

import apsw
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memwell.language.segment import _REMEMBERED_WORDS, MAX_TOKEN, SEGMENTATION, _Words, query_terms, segment, stem

SAME = [
    "run runs running", "memory memories", "hop hops hopped hopping", "hope hopes hoped hoping",
    "agree agrees agreed agreeing", "relate related relating relational",
    "connect connected connecting connection connections connective", "general generally generalize generalization",
    "happy happiness", "apple apples", "snow snows snowed snowing", "fix fixed fixing",
    "possible possibly possibility",
]  # fmt: skip

# The paper's own examples, step by step.
STEMS = {
    "caresses": "caress", "ponies": "poni", "caress": "caress", "cats": "cat", "feed": "feed", "agreed": "agre",
    "plastered": "plaster", "bled": "bled", "motoring": "motor", "sing": "sing", "conflated": "conflat",
    "troubled": "troubl", "sized": "size", "falling": "fall", "hissing": "hiss", "fizzed": "fizz", "failing": "fail",
    "filing": "file", "happy": "happi", "sky": "sky", "relational": "relat", "conditional": "condit",
    "vietnamization": "vietnam", "decisiveness": "decis", "triplicate": "triplic", "formative": "form",
    "electrical": "electr", "goodness": "good", "revival": "reviv", "allowance": "allow", "replacement": "replac",
    "adoption": "adopt", "companion": "companion", "rate": "rate", "cease": "ceas", "controll": "control",
    "roll": "roll", "archaeology": "archaeolog", "generalizations": "gener", "oscillators": "oscil",
}  # fmt: skip


@pytest.mark.parametrize("forms", SAME)
def test_the_forms_of_a_word_share_a_stem(forms: str) -> None:
    assert len({stem(form) for form in forms.split()}) == 1


def test_the_published_examples() -> None:
    assert {word: stem(word) for word in STEMS} == STEMS


@pytest.mark.parametrize("pair", ["hop hope", "rat rate", "wand wander", "king kin", "ring rung"])
def test_different_words_stay_apart(pair: str) -> None:
    one, other = pair.split()
    assert stem(one) != stem(other)


@given(st.text(string.ascii_lowercase))
def test_a_stem_is_never_longer_and_never_empty(word: str) -> None:
    stemmed = stem(word)
    assert len(stemmed) <= len(word)
    assert bool(stemmed) == bool(word)
    assert stemmed == word or len(word) > 2


TOKEN = re.compile(rf"[a-z0-9\u0080-\U0010ffff]{{1,{MAX_TOKEN}}}")

# Any code point, lone surrogates too; and texts in which scripts, marks, apostrophes and emoji meet.
anything = st.text(st.characters())
mixed = st.text(
    st.sampled_from(
        "aZé9ßİ'’ʼ _-.\u0301\u00ad\u200d\ufe0f中国葛\U00020bb7あｶﾞ한ภาяйήहि👍🏽👩🇩🇪❤，…Ａ１①½\x00\n\U000e0100"
    )
)
texts = anything | mixed
han = st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF), min_size=1)


def words(line: str) -> list[str]:
    return line.split()


WORDS = {
    "Hello, WORLD!": "hello world", "running runs run": "run run run",
    "the memories of a memory": "the memori of a memori", "foo_bar fooBar": "foo bar foobar",
    "HTTP/2 v1.2.3": "http 2 v1 2 3", "anna.smith@example.com": "anna smith exampl com",
    "2023-05-08 3.5 1,000": "2023 05 08 3 5 1 000", "gpt4 GPT-4 1990s": "gpt4 gpt 4 1990s",
    "state-of-the-art": "state of the art", "C++ && #tag @user": "c tag user", "": "", " \t\n.,;'\"`": "",
}  # fmt: skip

APOSTROPHES = {
    "Anna's dogs' toys": "anna dog toi", "I'm we'll they're you've she'd it's": "i we thei you she it",
    "don't can't won't": "dont cant wont", "l'amour qu'il d'accord": "amour il accord",
    "O'Neill o'clock rock'n'roll": "oneil oclock rocknrol", "'quoted' ''twice'' ' ''": "quot twice",
    "don’t Anna’s donʼt ‘single’": "dont anna dont singl",
}  # fmt: skip

LETTERS = {
    "café CAFÉ cafe\u0301": "cafe cafe cafe", "naïve Ærøskøbing Łódź Straße": "naiv aeroskob lodz strass",
    "İstanbul ISPARTA ıhlamur": "istanbul isparta ihlamur", "Ｆｕｌｌ－ｗｉｄｔｈ １２３ ﬁne": "full width 123 fine",
    "й и ё е": "й и ё е", "ΟΔΥΣΣΕΎΣ οδυσσεύς": "οδυσσεύσ οδυσσεύσ", "हिन्दी भाषा": "हिन्दी भाषा",
    "שָׁלוֹם مرحبا": unicodedata.normalize("NFC", "שָׁלוֹם") + " مرحبا", "co\u00adoperate": "cooper",
    "zero\u200bwidth\u2060joined": "zero width join", "x² ™ ½ ①": "x2 tm 1 2 1", "𐌲𐌿𐍄𐌹𐍃𐌺 𞤀𞤣𞤤𞤢𞤥": "𐌲𐌿𐍄𐌹𐍃𐌺 𞤢𞤣𞤤𞤢𞤥",
}  # fmt: skip

RUNS = {
    "我喜欢猫": "我喜 喜欢 欢猫 我 喜 欢 猫", "猫": "猫", "你好，世界。": "你好 世界 你 好 世 界",
    "我用Python3写code": "python3 code 我用 我 用 写", "東京タワー": "東京 京タ タワ ワー 東 京 タ ワ ー",
    "ｶﾞｷﾞ": "ガギ ガ ギ", "カタ・カナ": "カタ カナ カ タ カ ナ", "한국어 책": "한국 국어 한 국 어 책", "한": "한",
    "𠮷野家": "𠮷野 野家 𠮷 野 家", "葛\U000e0100城": "葛城 葛 城", "ภาษา": "ภา าษ ษา ภ า ษ า",
    "㈱東京 3個": "3 東京 株 東 京 個", "体 體": "体 體",
}  # fmt: skip

SCOTLAND = "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"
EMOJI = {
    "👍👍🏽": "👍 👍🏽", "👨‍👩‍👧 👩🏽‍💻": "👨‍👩‍👧 👩🏽‍💻", "🇩🇪🇫🇷 🇩": "🇩🇪 🇫🇷 🇩", "❤️ ❤": "❤ ❤",
    SCOTLAND: SCOTLAND, "1️⃣ok👌fine": "1 ok fine 👌",
}  # fmt: skip


def test_examples() -> None:
    expected = {text: words(cut) for text, cut in (WORDS | APOSTROPHES | LETTERS | RUNS | EMOJI).items()}
    assert {text: segment(text) for text in expected} == expected


def test_a_query_asks_for_pairs_and_for_a_character_only_where_it_stands_alone() -> None:
    assert query_terms("我喜欢猫 猫") == words("我喜 喜欢 欢猫 猫")
    assert query_terms("用Python写") == words("python 用 写")
    assert query_terms("running, Anna’s 👍") == words("run anna 👍")


@given(texts)
def test_tokens_survive_an_index_that_splits_at_ascii_punctuation(text: str) -> None:
    for token in segment(text):
        assert TOKEN.fullmatch(token), ascii(token)
        assert token.split() == [token]


@given(texts)
def test_every_term_asked_is_stored(text: str) -> None:
    assert not Counter(query_terms(text)) - Counter(segment(text))


@given(texts, texts)
@example("Anna's", "café")  # one is cut by the path for ASCII, both together by the other
def test_two_texts_on_two_lines_have_the_tokens_of_both(one: str, other: str) -> None:
    for cut in (segment, query_terms):
        assert Counter(cut(f"{one}\n{other}")) == Counter(cut(one)) + Counter(cut(other))


@given(st.lists(texts, min_size=1, max_size=4), st.integers(60, 120))
def test_a_long_text_is_cut_like_a_short_one(lines: list[str], times: int) -> None:
    short = Counter(segment("\n".join(lines)))
    assert Counter(segment("\n".join(lines * times))) == Counter({token: n * times for token, n in short.items()})


@given(han, st.data())
def test_any_part_of_a_chinese_sentence_finds_it(sentence: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(sentence) - 1))
    part = sentence[start : data.draw(st.integers(start + 1, len(sentence)))]
    assert part in sentence
    assert query_terms(part)
    assert set(query_terms(part)) <= set(segment(f"Hello {sentence}!"))


@given(st.text(st.characters(max_codepoint=127)))
def test_width_and_case_make_no_difference(text: str) -> None:
    wide = "".join(
        "\u3000" if char == " " else chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in text
    )
    assert segment(text) == segment(text.upper()) == segment(text.lower()) == segment(wide)


@given(texts)
def test_composed_and_decomposed_text_are_the_same(text: str) -> None:
    assert segment(unicodedata.normalize("NFC", text)) == segment(unicodedata.normalize("NFD", text))


@given(st.from_regex(r"\A([аеиоуαεηο][\u0301\u0308]?){1,20}\Z"))
def test_marks_outside_latin_are_kept(word: str) -> None:
    assert segment(word) == [unicodedata.normalize("NFC", word)]


def test_every_letter_and_number_is_found_and_all_punctuation_separates() -> None:
    lost: list[str] = []
    for char in map(chr, range(0x10000)):
        category = unicodedata.category(char)
        if category[0] in "LN" and not segment(char):
            lost.append(char)
        elif category[0] in "PZ" or category in ("Cc", "Cf", "Co", "Cs"):
            assert segment(f"x{char}y") in (["x", "y"], ["xy"]), f"{char!r} is a token"
    # Arabic marks that stand alone, tally marks, and the apostrophe that is called a letter.
    assert len(lost) < 60


@given(texts)
def test_fts5_sees_the_same_tokens(text: str) -> None:
    tokens = segment(text)
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE VIRTUAL TABLE words USING fts5(body, content='', tokenize='ascii')")
    connection.execute("CREATE VIRTUAL TABLE stored USING fts5vocab(words, instance)")
    connection.execute("INSERT INTO words (rowid, body) VALUES (1, ?)", (" ".join(tokens),))
    stored = connection.execute("SELECT term FROM stored ORDER BY offset").fetchall()
    assert [term for (term,) in stored] == tokens


MILLION = 1_000_000
HOSTILE = {
    "one word": ("a" * MILLION, 1), "apostrophes": ("'" * MILLION, 0),
    "apostrophes in a word": ("é" + "a'" * (MILLION // 2), 1),
    "marks in disorder": ("x" + "\u0300\u0316" * (MILLION // 2), 1),
    "marks in disorder, not Latin": ("я" + "\u0300\u0316" * (MILLION // 2), 1),
    "marks on nothing": ("\u0301" * MILLION, 0), "joined emoji": ("😀\u200d" * 450_000, 50_000),
    "half flags": ("🇩" * MILLION, MILLION // 2), "region tags": ("🏴" + "\U000e0067" * MILLION, 1),
    "soft hyphens": ("\u00ad" * MILLION, 0), "one run": ("中" * MILLION, 2 * MILLION - 1),
    "selectors in a run": ("中\ufe00" * (MILLION // 2), MILLION - 1), "jamo": ("ᄀ" * MILLION, 2 * MILLION - 1),
    "spaces": (" \u3000" * (MILLION // 2), 0),
}  # fmt: skip


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_text_takes_linear_time(kind: str) -> None:
    # What takes the square of the length takes many minutes here, and the time limit of a test ends it.
    text, expected = HOSTILE[kind]
    assert len(segment(text)) == expected


def test_what_is_remembered_is_bounded() -> None:
    remembered = _Words()
    for number in range(_REMEMBERED_WORDS + 1000):
        assert remembered[f"w{number}"] == f"w{number}"
    assert len(remembered) <= _REMEMBERED_WORDS
    assert remembered["x" * 1000] == "x" * MAX_TOKEN
    assert "x" * 1000 not in remembered


# Never changed: the digests below are of the tokens of exactly these texts.
CORPUS = [
    "I went to the market yesterday and bought three kilos of apples, because my sister Anna's coming over for dinner.",
    "They'll say \"don't\", won't they? Rock'n'roll, l'amour, O'Neill’s donʼt; possibilities of generalizations",
    "foo_bar fooBar HTTP/2 v1.2.3 anna@example.com 3.5 1,000 gpt4 C++ 2023-05-08T10:30:00Z state-of-the-art",
    "Ich heiße Jürgen; ¿dónde está la niña? Ærøskøbing, Łódź, İstanbul, cafe\u0301, ﬁne, co\u00adoperate, zero\u200bwidth",
    "Мы ели ёжиков? Нет! Ὀδυσσεύς हिन्दी भाषा שלום مرحبا 𐌲𐌿𐍄𐌹𐍃𐌺 ภาษาไทย ភាសា",
    "昨天我去市场买了三公斤苹果，因为我妹妹安娜要来吃晚饭。你呢？最近工作怎么样（还忙吗）！体體 𠮷野家 葛\U000e0100城",
    "我昨天用Python3写了一个script，跑在AWS上面，结果CPU usage太高了😂，ＡＢＣ１２３ ㈱ ① ½ ™",
    "彼女は新しいｺﾝﾋﾟｭｰﾀを買いました。カタ・カナ 한국어 문장입니다. 한",
    "👍👍🏽👨‍👩‍👧🇩🇪🇫🇷🇩❤️❤ 1️⃣ ok👌fine ★ ✓ © " + SCOTLAND,
    "x" * 100 + " " + "é" * 100 + " " + "æ" * 100 + " " + "中" * 10,
]
DIGESTS = {1: "8dd6d4d021dd3d28"}


def test_the_tokens_of_a_version_never_change() -> None:
    tokens = json.dumps([[segment(text), query_terms(text)] for text in CORPUS])
    digest = hashlib.sha256(tokens.encode()).hexdigest()[:16]
    assert DIGESTS.get(SEGMENTATION) == digest, (
        f"The tokens of the corpus are no longer those of version {SEGMENTATION}. Stores hold an index of the old ones: "
        f"raise SEGMENTATION, so that they rebuild it, and add its digest {digest!r} to DIGESTS."
    )
