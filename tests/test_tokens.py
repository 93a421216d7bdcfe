from __future__ import annotations

import hashlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memwell.errors import ConfigurationError, InvalidInput
from memwell.messages import (
    Audio,
    Image,
    Message,
    Opaque,
    Part,
    Text,
    ToolCall,
    ToolResult,
    Video,
    ai,
    decode_message,
    encode_message,
    human,
    tool_result,
)
from memwell.tokens import (
    DEFAULT_ENCODING,
    ENCODINGS,
    ExactCounter,
    MessageCosts,
    counted,
    default_counter,
    get_counter,
)

# Text, and what tiktoken counts in o200k_base and in cl100k_base.
GOLDEN: list[tuple[str, int, int]] = [
    ("", 0, 0), (" ", 1, 1), ("\n", 1, 1), ("a", 1, 1), ("Hello, world!", 4, 4),
    ("I'm sure they'll say \"we've\" - DON'T YOU?", 12, 15), ("I'LL", 3, 3),
    ("The quick brown fox jumps over the lazy dog.", 10, 10), ("antidisestablishmentarianism", 6, 6),
    ("   three spaces   between   words   ", 8, 8), ("\t\tif x == 1:\n\t\t\treturn {'a': [1, 2.5, None]}\n", 22, 22),
    ("line\r\nline\r\n\r\n   \n  x", 7, 7),
    ('def f(x: int) -> str:\n    """Doc."""\n    return f"{x!r:>10}"\n', 24, 23),
    ("1234567890 3.14159 1,000,000 2023-05-08T10:30:00Z", 29, 29), ("https://example.com/a/b?c=d&e=%20#frag", 14, 14),
    ("foo_bar fooBar FOO_BAR HTTPServer", 9, 9), ("<|endoftext|>", 7, 7), ("<|im_start|>user\nhi<|im_end|>", 15, 15),
    ("昨天我去市场买了三公斤苹果，因为我妹妹安娜要来吃晚饭。", 20, 41), ("我用Python3写code", 6, 6),
    ("龘靐齉𠮷", 10, 11), ("彼女は新しいコンピュータを買いました。", 13, 19), ("한국어 문장입니다.", 6, 8),
    ("Привет, как дела? Ёлка.", 10, 13), ("Ich heiße Jürgen und esse gern Weißwürste.", 12, 17),
    ("مرحبا بالعالم", 4, 10), ("שָׁלוֹם עוֹלָם", 13, 21), ("हिन्दी में लिखा हुआ", 6, 18),
    ("ภาษาไทยไม่มีช่องว่าง", 6, 20), (" երկիր և երկինք", 6, 27), ("👍🏽 👨\u200d👩\u200d👧 🇩🇪 ❤️", 16, 26),
    ("é é ﬁ Ⅷ ½ ①", 11, 13), ("\u200b\ufeff\xa0\u3000\u2028", 5, 6), ("\x00\x01\x7f\x85", 5, 5),
    ("a" * 1000, 125, 125), (" " * 1000, 9, 9), ("\n" * 100, 7, 4), ("!" * 300, 20, 38), ("ab" * 500, 250, 500),
    ("0" * 1000, 334, 334), ('{"q":"weather in Paris","n":3}', 11, 11), ("~~~~====----____****", 5, 5),
    ("ſ 'ſ K'S", 5, 7), ("�\U0010ffff\ue000", 7, 8),
]  # fmt: skip

# The counts of tiktoken for all of Unicode, 64 code points at a time, and for every three ASCII characters in a row.
DIGESTS = {
    "o200k_base": ("ab2dcffc7f5bf7e4", "da58d9640922ab6c"),
    "cl100k_base": ("007aec32668e86a0", "187480779ceb4819"),
}

texts = st.text()
# What a store keeps: no NUL.
captions = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
values = st.none() | st.booleans() | st.integers(-9, 9) | captions | st.lists(captions, max_size=2)
json_objects = st.dictionaries(captions, values, max_size=2)
media = st.builds(Image, text=captions) | st.builds(Audio, text=captions) | st.builds(Video, url=st.just("x:y"))
parts: st.SearchStrategy[Part] = st.one_of(
    st.builds(Text, captions),
    media,
    st.builds(ToolCall, st.just("1"), st.sampled_from(["search", "搜索"]), json_objects | captions),
    st.builds(ToolResult, st.just("1"), st.tuples(st.builds(Text, captions), media)),
    st.builds(Opaque, st.just("thinking"), json_objects),
)
messages = st.builds(human, st.lists(parts, max_size=3), name=st.none() | st.just("Anna"))


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_counts_are_those_of_the_original(encoding: str) -> None:
    counter = get_counter(encoding)
    column = 1 + ENCODINGS.index(encoding)
    assert [(row[0], counter.count(row[0])) for row in GOLDEN] == [(row[0], row[column]) for row in GOLDEN]


@pytest.fixture(params=["rs_bpe", "bpe_openai"])
def package(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The package whose tables are used: without the first the second is, as in Python 3.14."""
    if request.param == "bpe_openai":
        monkeypatch.setitem(sys.modules, "rs_bpe", None)
    return request.param


# Of bpe-openai, on Pythons before 3.13.
either = pytest.mark.filterwarnings("ignore:open_binary is deprecated:DeprecationWarning")


@either
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_the_tables_of_either_package_truncate_alike(encoding: str, package: str) -> None:
    counter = ExactCounter(encoding)
    shared = get_counter(encoding)
    for text, _, _ in GOLDEN:
        assert [counter.truncate(text, limit) for limit in range(9)] == [
            shared.truncate(text, limit) for limit in range(9)
        ]
    with pytest.raises(InvalidInput, match="text must"):
        counter.count("a\ud800")


@either
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_counts_are_those_of_the_original_for_every_character(encoding: str, package: str) -> None:
    count = ExactCounter(encoding).count
    points = [chr(point) for point in range(0x110000) if not 0xD800 <= point < 0xE000]
    blocks = ["".join(points[start : start + 64]) for start in range(0, len(points), 64)]
    ascii_ = points[:128]
    triples = ["".join(one + two + three for three in ascii_) for one in ascii_ for two in ascii_]
    assert (_digest(map(count, blocks)), _digest(map(count, triples))) == DIGESTS[encoding]


def _digest(counts: Any) -> str:
    return hashlib.sha256(repr(list(counts)).encode()).hexdigest()[:16]


@given(texts)
def test_a_token_is_1_to_128_bytes(text: str) -> None:
    for encoding in ENCODINGS:
        tokens, size = get_counter(encoding).count(text), len(text.encode())
        assert size / 128 <= tokens <= size


@given(texts, st.integers(0, 40), st.sampled_from(ENCODINGS))
@example(
    " \u0574\u0565\u0562", 1, "o200k_base"
)  # its first token ends inside a letter, and what is before it is two tokens
@example(" \u0440\u0430\u0402", 1, "cl100k_base")
@example("ａ" * 50, 7, "o200k_base")
@example("👍🏽" * 20, 5, "cl100k_base")
def test_truncating_keeps_a_prefix_within_the_limit(text: str, limit: int, encoding: str) -> None:
    counter = get_counter(encoding)
    kept = counter.truncate(text, limit)
    assert text.startswith(kept)
    assert counter.count(kept) <= limit
    assert (kept == text) == (counter.count(text) <= limit)


@given(st.lists(st.sampled_from(["market", "yesterday", "apples", "sister"]), min_size=1), st.integers(0, 30))
def test_truncating_keeps_all_tokens_that_fit(words: list[str], limit: int) -> None:
    # Each of these words is one token with the space before it.
    text = "".join(f" {word}" for word in words)
    assert default_counter().truncate(text, limit) == "".join(f" {word}" for word in words[:limit])


def test_truncating_reads_no_more_than_can_fit() -> None:
    assert default_counter().truncate("word " * 1_000_000, 3) == "word word word"


@given(st.lists(parts, max_size=3), st.lists(parts, max_size=3))
def test_a_message_counts_its_parts_and_a_frame(one: list[Part], other: list[Part]) -> None:
    count = default_counter().count_message
    assert count(human([*one, *other])) + MessageCosts().message == count(human(one)) + count(human(other))


def test_what_counts_in_a_message() -> None:
    counter = default_counter()
    count = counter.count
    assert counter.count_message(human("")) == 3
    assert counter.count_message(human("Hello, world!")) == 3 + 4
    assert counter.count_message(human("Hello", name="Anna")) == 3 + 1 + 1 + count("Anna")
    call = ToolCall("call-1", "search", {"q": "weather in Paris", "n": 3})
    assert counter.count_message(ai(tool_calls=[call])) == 3 + 1 + count('{"q":"weather in Paris","n":3}')
    broken = ToolCall("call-1", "search", '{"q": ')
    assert counter.count_message(ai(tool_calls=[broken])) == 3 + 1 + count('{"q": ')
    answer = tool_result("call-1", [Text("sunny"), Image(url="x:y", text="a sun")])
    assert counter.count_message(answer) == 3 + count("sunny") + count("a sun") + 765
    assert counter.count_message(human([Audio(blob="b"), Video(blob="b", text="a cat")])) == 3 + 600 + 2600 + count(
        "a cat"
    )
    assert counter.count_message(human(Opaque("x", {"a": 1}))) == 3 + count('{"a":1}')
    assert counter.count_message(human("Hello", metadata={"long": "x" * 99}, id="y" * 99)) == 3 + 1


@given(messages)
def test_a_kept_count_is_the_count(message: Message) -> None:
    counter = default_counter()
    kept = counted(message)
    assert kept.tokens == counter.count_message(message) == counter.count_message(kept)
    assert msgspec.structs.replace(kept, tokens=None) == message
    assert counted(kept) is kept
    assert decode_message(encode_message(kept)).tokens == kept.tokens


def test_a_kept_count_is_trusted_by_its_own_counter_only() -> None:
    marked = human("Hello", tokens=1234)
    assert default_counter().count_message(marked) == ExactCounter().count_message(marked) == 1234
    for other in (get_counter("cl100k_base"), ExactCounter(costs=MessageCosts(message=4))):
        assert other.count_message(marked) < 10
        assert counted(human("Hello"), other).tokens is None
    assert counted(human("Hello"), _Words()).tokens is None
    assert counted(marked.changed(content="Hi")).tokens == 3 + 1


class _Words:
    """A counter of somebody else's, which says that it counts in our encoding."""

    encoding = DEFAULT_ENCODING

    def count(self, text: str) -> int:
        return len(text.split())

    def count_message(self, message: Message) -> int:
        return self.count(message.text)


@pytest.mark.parametrize("text", ["a\ud800", None, 5, b"bytes"])
def test_what_is_no_text_is_refused(text: object) -> None:
    counter = default_counter()
    with pytest.raises(InvalidInput, match="text must"):
        counter.count(cast(str, text))
    with pytest.raises(InvalidInput, match="text must"):
        counter.truncate(cast(str, text), 5)
    with pytest.raises(InvalidInput):
        counter.count_message(human([Text(cast(str, text))]))


def test_what_is_no_json_is_refused() -> None:
    call = ToolCall("1", "search", {"q": {1, 2}})
    with pytest.raises(InvalidInput, match="plain JSON"):
        default_counter().count_message(ai(tool_calls=[call]))


def test_an_unknown_encoding_is_named_with_the_known_ones() -> None:
    for make in (get_counter, ExactCounter):
        with pytest.raises(ConfigurationError, match="'p50k_base'; known encodings: o200k_base, cl100k_base"):
            make("p50k_base")


def test_counters_are_shared_and_many_threads_may_be_first() -> None:
    assert get_counter(DEFAULT_ENCODING) is default_counter()
    fresh = [ExactCounter(encoding) for encoding in ENCODINGS]
    with ThreadPoolExecutor(8) as pool:
        counts = list(pool.map(lambda i: fresh[i % 2].count("Hello, world!"), range(64)))
    assert counts == [4] * 64


def test_nothing_is_loaded_before_the_first_count() -> None:
    script = """
import sys
import memwell.tokens as tokens
from memwell.messages import human
counter = tokens.default_counter()
assert counter.count_message(human("Hello", tokens=7)) == 7
assert "rs_bpe" not in sys.modules
assert counter.count("Hello") == 1
assert "rs_bpe" in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
