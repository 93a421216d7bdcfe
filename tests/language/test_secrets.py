"""IBANs are known by their country's length and their check digits."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.language.secrets import (
    PERSONAL,
    SECRETS,
    Finding,
    findings,
    iban_spans,
    is_placeholder,
    looks_chosen,
    looks_random,
    redacted,
    shifted,
)


@pytest.mark.parametrize(
    "iban", ["DE89 3704 0044 0532 0130 00", "DE89370400440532013000", "GB82WEST12345698765432", "NO9386011117947"]
)
def test_an_iban_is_found_where_it_stands(iban: str):
    assert list(iban_spans(f"to {iban}, please")) == [(3, 3 + len(iban))]


@given(st.integers(0, 99))
def test_the_check_digits_decide(digits: int):
    found = list(iban_spans(f"DE{digits:02}370400440532013000"))
    assert found == ([(0, 22)] if digits == 89 else [])


@pytest.mark.parametrize(
    "text", ["", "DE", "DE89", "DE8937040044053201300", "DE893704004405320130001", "XX89370400440532013000"]
)
def test_another_length_or_country_is_none(text: str):
    assert list(iban_spans(text)) == []


# Words that are passwords where nothing but the word before them says so, and words that are not.


@pytest.mark.parametrize(
    "word",
    [
        "manager", "yesterday", "SHA256", "OAuth2.0", "UTF-8", "2FA", "VARCHAR(255", "a1@example.com", "/home/ann1",
        "index2.html",
    ],
)  # fmt: skip
def test_what_is_written_is_not_chosen(word: str):
    assert not looks_chosen(word, last=True)


@pytest.mark.parametrize("word", ["<password>", "$TOKEN", "********", "your_password", "os.environ", "None,"])
def test_what_stands_for_a_value_is_a_placeholder(word: str):
    assert is_placeholder(word)
    assert not is_placeholder(word.strip("<>$*,")[::-1] + "7q")


def test_a_token_is_long_and_mixed_and_a_hash_may_be_the_key_of_a_row():
    assert looks_random("Zm9vYmFyMTIzNDU2Nzg5MA", rows_have_it=True)
    assert not looks_random("a-very-long-hyphenated-word", rows_have_it=False)
    assert not looks_random("1111111111111111a", rows_have_it=False)
    assert looks_random("a8f5f167f44f4964e6c998dee827110c", rows_have_it=False)
    assert not looks_random("a8f5f167f44f4964e6c998dee827110c", rows_have_it=True)


LETTERS = string.ascii_letters + string.digits
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7\nq9+/==\n-----END RSA PRIVATE KEY-----"

# The finding stands between ‹ and ›.
FOUND = {
    "My key is ‹sk-proj-abc123DEF456ghi789JKL0›, keep it": "api_key", "‹AKIAIOSFODNN7EXAMPLE›": "api_key",
    "use ‹ghp_abcdefghijklmnopqrstuvwxyz0123456789›.": "api_key",
    "‹mw_0123456789abcdef_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef›": "api_key",
    "‹github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuv›": "api_key", "‹glpat-abcdefghij1234567890›": "api_key",
    "‹sk_live_abcdef1234567890abcd›": "api_key", "我的密钥：‹LTAI5tAbCdEfGhIjKlMnOpQr›": "api_key",
    "slack ‹xoxb-1234567890-abcdefghij›": "token", "‹AIzaSyA1234567890abcdefghijklmnopqrstuv›": "api_key",
    f"jwt ‹{JWT}›": "token", f"here: ‹{PEM}› bye": "private_key",
    "cut ‹-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7›": "private_key", "password: ‹hunter2›": "password",
    "my password is ‹hunter2›.": "password", "The wifi password for the house is ‹tulip-9932›": "password",
    "DB_PASSWORD=‹sunflower›": "password", "passwd='‹correct horse 1›'": "password",
    'password is "‹Sunflower›"': "password", '{"password": "‹s3cr3t!›"}': "password",
    "The wifi password at home is ‹hunter22›": "password", "The password here is ‹hunter22›.": "password",
    "Password for the router in the hall is ‹admin123›": "password", "The wifi key at home is ‹hunter22›": "password",
    "The wifi password was changed to ‹hunter22›": "password", "家里的wifi密码是‹hunter22›": "password",
    "家里的wifi密码是‹xiaomao›。": "password", "家里wifi的密码换成了‹hunter22›": "password",
    "我的密码是‹abc123›，别忘了": "password", "密码：‹８８８８８８›": "password", "PWD = ‹Tr0ub4dor&3›": "password",
    "password ‹Pa$$w0rd!›": "password", "my pwd: ‹hunter2!›": "password", "my pw is ‹hunter2›": "password",
    "my password ‹hunter2›, keep it": "password", "login ann, password ‹Sunflower_88›.": "password",
    "wifi password ‹12345678›": "password", "the passcode ‹4821›.": "password",
    "I changed my password to ‹Summer2024!›": "password", "Password - ‹Tr0ub4dor&3›": "password",
    "密码 ‹Abc12345!›": "password", "密码‹Abc12345›，别告诉别人": "password", "登录密码就是‹Abc12345!›": "password",
    "我把密码改成了‹qwe123456›": "password", "密码已改为‹abc12345›": "password", "密码（‹Abc12345›）": "password",
    "密码设为 ‹Abc@2024›": "password", "WiFi密码‹88888888›": "password", "WiFi密码是：‹hello2024›": "password",
    "登录口令为: ‹Abc12345›。": "password", "口令：‹hello2024›": "password", "口令是‹Zhima-2024›": "password",
    "口令：‹open2024›": "password", "Authorization: Bearer ‹abcdef0123456789abcdef›": "token",
    "postgres://bob:‹s3cr3t›@db.example.com/x": "password",
    "api_key = '‹a8f5f167f44f4964e6c998dee827110c›'": "api_key", "client secret: ‹Zm9vYmFyMTIzNDU2Nzg5MA›": "api_key",
    "access token is ‹Zm9vYmFyMTIzNDU2Nzg5MA›": "api_key", "write to ‹ann.lee+x@example.co.uk›.": "email",
    "邮箱是‹ann@qq.com›，谢谢": "email", "call ‹13800138000› now": "phone", "手机‹１３８００１３８０００›": "phone",
    "‹+86 138-0013-8000›": "phone", "电话 ‹010-62345678›": "phone", "‹+1 (415) 555-2671›": "phone",
    "‹+49 (0) 62 32 / 14 23 92›": "phone", "‹415-555-2671› or later": "phone",
    "to order call ‹415-555-2671› whenever": "phone", "whenever: ‹415-555-2671›": "phone", "(‹415-555-2671›)": "phone",
    "my phone is ‹5551234567›": "phone", "身份证‹11010519491231002X›": "id_number", "SSN ‹123-45-6789›": "id_number",
    "‹4111 1111 1111 1111›": "card", "‹378282246310005›": "card", "‹6011-1111-1111-1117› is the card": "card",
    "‹DE89 3704 0044 0532 0130 00› is mine": "iban", "‹GB82WEST12345698765432›": "iban", "‹8.8.8.8› works": "ip",
    "‹2001:db8::8a2e:370:7334›": "ip", "passport number ‹E12345678›": "passport", "护照号是‹G12345678›": "passport",
}  # fmt: skip

CLEAN = (
    "550e8400-e29b-41d4-a716-446655440000", "key: 550e8400-e29b-41d4-a716-446655440000",
    "commit d670460b4b4aece5915caf5c68d12f560a9fe3e4", "ISBN 978-3-16-148410-0 and 9783161484100",
    "2023-05-08 at 10:30:45, 2023/05/08, 20230508123000", "$1,234,567.89 or 1 234 567 €",
    "order number 4111111111111111", "订单号13812345678", "v1.2.3.4 and version 1.2.3.4 and 120.0.6099.109",
    "1700000000000 ms since 1970", "4111 1111 1111 1112", "DE89 3704 0044 0532 0130 01", "110105194912310021",
    "999.1.1.1 and 1.2.3", "std::vector<int> a::b ::1 127.0.0.1", "00:1B:44:11:3A:B7 at 12:30:45",
    "The wifi password at home is on the fridge", "The password at work was changed 3 days ago",
    "The password on the box was 12 characters long", "家里的wifi密码是我的生日", "wifi密码在冰箱上", "密码是Excel里的",
    "the password is wrong", "Password is required. password: string", "password reset link, and the token: is nice",
    "password: ******** password=<your password> password=${PASSWORD}", "The key to success is consistency.",
    "key points are: 1. first", "secret=abc", "token is a-very-long-hyphenated-word",
    "sk-learn-is-a-very-good-library-of-python", "sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "image@2x.png and git@github.com:a/b and @ann", "doi 10.1145/3292500.3330701",
    "between 2019 and 2023, from 8 to 10, in 1999", "my passport is old", "hotel 1234567 in room 12",
    "tracking no. 4111 1111 1111 1111, invoice #4111111111111111", "call 911, it is urgent",
    "https://example.com/a:b@c", "postgres://user:password@db.example.com/db", "密码忘了怎么办？密码是什么？",
    "I use a password manager, and forgot my password yesterday!", "password policy 2024 and password rotation",
    "My password expired. The password you gave me is wrong!", "a password of 8-16 characters, hashed with SHA-256",
    "password SHA256, password bcrypt, password OAuth2, password UTF-8, password base64",
    "CREATE TABLE users (name TEXT, password VARCHAR(255), password_hash TEXT)",
    "password 1000 times, password 2024-05-08, password 10:30",
    "password login.html and password https://example.com/reset1", "password-protected and password/username",
    "Change password (optional), set password <new password>",
    "I moved upwards: Level42 was next, see the FAQ about passwords", "pwd /home/ann1 and pwd ~",
    "密码学很有意思，我在学密码学101", "密码忘了，密码错误，密码不对", "密码长度8-16位，密码 UTF-8",
    "口令是什么？口令红包很好玩", "",
)  # fmt: skip

WORST = (
    *"a1=@:.- \n'\"(+A",
    *("a@", "eyJ", "eyJaaaaaaaa.", "-----BEGIN PRIVATE KEY-----", "password=", "password for a b ", "://a:", "4111 "),
    *(
        "DE89", "1.", "1-", "phone 1 ", "passport A1", "密码是", "sk-1", "gh", "xox-1a", "f::", "SG.", "bearer ", "(1",
        "İ",
    ),
)  # fmt: skip

LONG = 250_000

words = st.text(st.sampled_from(LETTERS + " .,:;=@/'\"-_[](){}+密码是电话，。１＠"), max_size=60)


def marked(text: str) -> tuple[str, int, int]:
    start, end = text.index("‹"), text.index("›") - 1
    return text.replace("‹", "").replace("›", ""), start, end


MARKED = [(kind, marked(example)) for example, kind in FOUND.items()]


def test_what_is_one_is_found_where_it_stands():
    expected = {text: [Finding(kind, start, end)] for kind, (text, start, end) in MARKED}
    assert {text: findings(text) for text in expected} == expected
    assert [kind for kind in FOUND.values() if Finding(kind, 0, 1).secret != (kind in SECRETS)] == []


def test_what_only_looks_like_one_is_left_alone():
    assert {text: found for text in CLEAN if (found := findings(text))} == {}


def test_nothing_of_it_is_left_when_it_is_taken_out():
    safe = {text: redacted(text, findings(text)) for _, (text, _, _) in MARKED}
    assert safe == {text: f"{text[:start]}[{kind}]{text[end:]}" for kind, (text, start, end) in MARKED}
    assert [text for _, (text, start, end) in MARKED if text[start:end] in safe[text]] == []
    assert {one: found for one in safe.values() if (found := findings(one))} == {}


def test_several_are_found_in_order_and_a_secret_wins_over_what_it_holds():
    text = "mail a@example.com, password=b@example.com, call 13800138000"
    assert [finding.kind for finding in findings(text)] == ["email", "password", "phone"]


@given(st.text() | words)
def test_findings_are_in_order_apart_and_inside(text: str):
    found = findings(text)
    ends = [0, *(finding.end for finding in found)]
    assert all(end <= one.start < one.end <= len(text) for end, one in zip(ends, found, strict=False))
    assert {one.kind for one in found} <= SECRETS | PERSONAL


@given(words, st.text(LETTERS, min_size=24, max_size=40), words)
def test_a_key_is_found_in_any_surroundings(before: str, body: str, after: str):
    secret = f"ghp_{body}0123456789"
    text = f"{before} {secret} {after}"
    assert secret not in redacted(text, findings(text))


@given(st.integers(0, 10**15 - 1))
def test_the_check_digit_decides_what_is_a_card(number: int):
    stem = f"4{number:015}"[:15]
    cards = [card for digit in range(10) if findings(card := f"card {stem}{digit}")]
    assert len(cards) <= 1
    assert cards or len(set(stem)) == 1


@given(st.lists(words | st.sampled_from([marked(example)[0] for example in FOUND]), max_size=4).map(" ".join))
def test_places_can_be_followed_through_a_redaction(text: str):
    found = findings(text)
    safe = redacted(text, found)
    covered = {place for one in found for place in range(one.start, one.end)}
    assert all(safe[shifted(place, found)] == text[place] for place in range(len(text)) if place not in covered)
    assert shifted(len(text), found) == len(safe)
    assert all(safe.startswith(f"[{one.kind}]", shifted(one.start, found)) for one in found)
    assert all(shifted(one.start + 1, found) == shifted(one.start, found) for one in found if one.end - one.start > 1)


def test_a_long_text_made_to_be_slow_is_read_in_linear_time():
    # In linear time all of them take a few seconds; the square of the length would run into the time limit of a test.
    for pattern in WORST:
        text = (pattern * LONG)[:LONG]
        assert all(finding.end <= LONG for finding in findings(text)), pattern


@given(st.sampled_from(WORST), st.sampled_from(WORST))
def test_any_mixture_of_bad_patterns_is_read_to_its_end(one: str, other: str):
    text = (one + other) * 500
    assert all(finding.end <= len(text) for finding in findings(text))


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("My PIN is 4417.", "My PIN is [password]."), ("my pin: 4417", "my pin: [password]"),
        ("The PIN for my card is 4417", "The PIN for my card is [password]"),
        ("pin code 441790, don't tell", "pin code [password], don't tell"),
        ("我的PIN码是4417", "我的PIN码是[password]"), ("卡的pin是4417。", "卡的pin是[password]。"),
        ("门禁密码4417#", "门禁密码[password]#"), ("PIN 4471 for the alarm", "PIN [password] for the alarm"),
        ("My work alarm PIN has changed, it's 9024 now.", "My work alarm PIN has changed, it's [password] now."),
        ("公司门禁密码改了，现在是 5068。", "公司门禁密码改了，现在是 [password]。"),
        ("My new password: it's Tulip-2211x", "My new password: it's [password]"),
        ("I changed my Netflix password, now it's Tulip2211", "I changed my Netflix password, now it's [password]"),
    ],
)  # fmt: skip
def test_a_pin_is_a_secret(text: str, left: str):
    assert redacted(text, findings(text)) == left


@pytest.mark.parametrize(
    "text",
    [
        "The pin is gold.",
        "I pinned 4417 photos",
        "I changed my PIN in 2021.",
        "My PIN changed. It's 4 digits long.",
        "密码改了，现在每90天要换一次",
        "My password expired, it's 2021 already",
        "Drop a pin at 12 Mill Road",
        "The spin is 4417",
        "别针是4417",
    ],
)
def test_a_pin_without_a_number_is_none(text: str):
    assert findings(text) == []
