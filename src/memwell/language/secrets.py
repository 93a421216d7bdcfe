"""Finds secrets and personal data in a text, and redacts them.

Secrets are keys and tokens of known formats, private keys, passwords that are assigned or part of a URL, and random tokens
after a word such as *secret*. Personal data are e-mail addresses, phone and identity numbers, cards, IBANs, IP addresses,
and passport numbers when they are labelled. Check digits are verified. Other numbers (dates, prices, orders, ISBNs,
versions, UUIDs, hashes) are left alone, because false alarms would make people switch it off.

It takes linear time: every pattern either matches a bounded number of characters or cannot begin inside its own match.
Full-width letters and digits count as plain ones.
"""

from __future__ import annotations

import ipaddress
import math
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from datetime import date
from typing import NamedTuple

# IBANs, by country, length and check digits.

_HEAD = re.compile(r"(?<![0-9A-Za-z_])([A-Z]{2})[0-9]{2}(?=[ A-Z0-9])")
_LENGTHS = {
    code: length
    for length, codes in {
        15: "NO", 16: "BE", 18: "DK FI FO GL NL", 19: "MK SI", 20: "AT BA EE KZ LT LU XK", 21: "CH HR LI LV",
        22: "BG BH DE GB GE IE ME RS", 23: "AE GI IL TL", 24: "AD CZ ES MD PK RO SA SE SK TN VG", 25: "PT",
        26: "IS TR", 27: "FR GR IT MC MR SM", 28: "AL AZ CY DO GT HU LB PL", 29: "BR EG PS QA UA", 30: "JO KW MU",
        31: "MT SC",
    }.items()
    for code in codes.split()
}  # fmt: skip


def iban_spans(text: str) -> Iterator[tuple[int, int]]:
    """The start and end of each IBAN in a text."""
    for head in _HEAD.finditer(text):
        length = _LENGTHS.get(head[1])
        end = _end(text, head.start(), length) if length else 0
        if end:
            yield head.start(), end


def _end(text: str, start: int, length: int) -> int:
    """The end of the IBAN at ``start``, or 0 for none: a space may follow any four characters."""
    window = text[start : start + length + length // 4]
    number, at = "", start
    for char in window:
        if char != " " and not ("0" <= char <= "9" or "A" <= char <= "Z"):
            break
        number += char.strip()
        at += 1
        if len(number) == length:
            break
    if len(number) != length or text[at : at + 1].isalnum():
        return 0
    moved = "".join(str(int(char, 36)) for char in number[4:] + number[:4])
    return at if int(moved) % 97 == 1 else 0


# Whether a word in the place of a password or a token is one.

is_placeholder = re.compile(
    r"\A(?:[*•.xX#_?-]+|[<$%{\[(].*|.*\(|your.*|my_.*|(?:os|process|env|config|settings)\..*|getenv.*"
    r"|(?:string|str|text|none|null|true|false|required|optional|example|password|passwd|pass|pwd|pw|secret|token|key"
    r"|redacted|hidden|https?:.*)[,;]?)\Z",
    re.IGNORECASE,
).match
"""Whether a word is a placeholder for a value: ``<password>``, ``$TOKEN``, ``********``."""

_JOINING = str.maketrans("", "", "-'’/. ")
_SIGNS = re.compile(r"[^A-Za-z0-9'’/. _-]").search
_CLASSES = tuple(re.compile(pattern).search for pattern in ("[a-z]", "[A-Z]", "[0-9]"))
# Letters and digits that occur near passwords and are none.
_TECHNICAL = re.compile(
    r"(?:sha|md|utf|base|oauth|pbkdf|argon|bcrypt|scrypt|aes|rsa|rfc|ipv|wpa|tls|http|version|level|step|part|page|chapter)"
    r"[-_/]?[0-9.]{1,5}\w{0,3}|[0-9]{1,2}fa|[0-9]{1,4}(?:st|nd|rd|th|px|kb|mb|gb|am|pm|bit|bits|chars?)",
    re.IGNORECASE,
).fullmatch
_ADDRESS_OR_CALL = re.compile(
    r"\A/|\(|://|@[\w-]+(?:\.[A-Za-z]{2,24})+\Z|\.(?:html?|php|aspx?|jsp|pdf|docx?|txt|md|py|js|com|org|net|cn)\b",
    re.IGNORECASE,
).search
_FEWEST, _FEWEST_DIGITS, _FEWEST_CLASSES = 6, 6, 3


def unlike_a_word(word: str) -> bool:
    """Whether a value has a digit, or a character that joins no words."""
    return any(map(str.isdigit, word)) or not word.translate(_JOINING).isalpha()


def looks_chosen(word: str, *, last: bool, named: bool = True) -> bool:
    """Whether a word after *password*, without a sign of assignment, is a password.

    ``last`` says that the sentence ends with it, so that a short number counts; without ``named`` another thing may be
    meant ("my password to server2"), and the criteria are stricter.
    """
    if word.isdigit():
        return named and (len(word) >= _FEWEST_DIGITS or last)
    if len(word) < _FEWEST or _TECHNICAL(word) or _ADDRESS_OR_CALL(word):
        return False
    small, capital, digit = (bool(found(word)) for found in _CLASSES)
    mixed = small + capital + digit + bool(_SIGNS(word)) >= _FEWEST_CLASSES
    return mixed or (named and digit and (small or capital))


_TOKEN = re.compile(r"\A[A-Za-z0-9_~+/=.-]{16,}\Z").match
_HASH_OR_UUID = re.compile(
    r"\A(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\Z", re.IGNORECASE
).match
_FEWEST_BITS = 3.0  # per character; English words joined by hyphens can reach it, but have no digits


def looks_random(word: str, *, rows_have_it: bool) -> bool:
    """Whether a word is a random token. With ``rows_have_it``, as after "key", a hash or UUID is a row's key instead."""
    if not _TOKEN(word) or not _CLASSES[2](word) or word.isdigit() or is_placeholder(word):
        return False
    return _bits(word) >= _FEWEST_BITS and not (rows_have_it and _HASH_OR_UUID(word))


def _bits(word: str) -> float:
    """The entropy of a word in bits per character."""
    return -sum(count / len(word) * math.log2(count / len(word)) for count in Counter(word).values())


SECRETS = frozenset({"api_key", "token", "private_key", "password"})
"""The kinds that give access to something."""

PERSONAL = frozenset({"email", "phone", "id_number", "card", "iban", "ip", "passport"})
"""The kinds that identify a person."""


class Finding(NamedTuple):
    """A secret or personal data at ``start`` to ``end`` of a text; ``kind`` is one of ``SECRETS`` or ``PERSONAL``."""

    kind: str
    start: int
    end: int

    @property
    def secret(self) -> bool:
        """Whether it is a secret rather than personal data."""
        return self.kind in SECRETS


# A prefilter: most sentences have no digit and none of these characters, and take a microsecond.
_NOT_A_DIGIT = bytes(code for code in range(256) if not 48 <= code <= 57)
_WIDE_DIGIT = re.compile("[０-９＠]").search
_NARROW = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_FEWEST_CARD_DIGITS = 4  # of an IP address such as 8.8.8.8; all other numbers have more


def findings(text: str) -> list[Finding]:
    """All findings, in order and without overlap."""
    plain = text
    if not text.isascii() and _WIDE_DIGIT(text):
        plain = text.translate(_NARROW)  # one character for one, so that positions stay the same
    digits = len(plain.encode("utf-8", "surrogatepass").translate(None, _NOT_A_DIGIT))
    found: list[Finding] = []
    if "@" in plain:
        logins = list(_logins(plain)) if "://" in plain else []
        found += [one for one in logins if not is_placeholder(plain[one.start : one.end])]
        found += _emails(plain, {one.end for one in logins})
    if "-----BEGIN" in plain:
        found += _private_keys(plain)
    if digits:
        found += _shaped(plain)
    found += _assigned(plain)
    if digits >= _FEWEST_CARD_DIGITS:
        found += _numbers(plain, digits)
    elif "::" in plain:
        found += _ipv6(plain)
    return _apart(found) if len(found) > 1 else found


def _apart(found: list[Finding]) -> list[Finding]:
    """Overlapping findings joined into one, of the kind of the secret or the longer one."""
    kept: list[Finding] = []
    for finding in sorted(found, key=lambda each: each.start):
        if not kept or finding.start >= kept[-1].end:
            kept.append(finding)
        else:
            last = kept.pop()
            kind = max(last, finding, key=_rank).kind
            kept.append(Finding(kind, last.start, max(last.end, finding.end)))
    return kept


def _rank(finding: Finding) -> tuple[bool, int]:
    return finding.secret, finding.end - finding.start


# Keys with a known prefix. One without a digit is taken for a word.

_EDGE = r"(?<![A-Za-z0-9_-])"
_BODY = "[A-Za-z0-9_-]"
_SHAPES: tuple[tuple[str, str, re.Pattern[str]], ...] = tuple(
    (needle, kind, re.compile(_EDGE + pattern))
    for needle, kind, pattern in (
        ("sk-", "api_key", rf"sk-{_BODY}{{20,}}+"),
        ("k_live_", "api_key", r"[rsp]k_live_[A-Za-z0-9]{16,}+"),
        ("k_test_", "api_key", r"[rsp]k_test_[A-Za-z0-9]{16,}+"),
        ("AKIA", "api_key", rf"AKIA[A-Z0-9]{{16}}(?!{_BODY})"),
        ("ASIA", "api_key", rf"ASIA[A-Z0-9]{{16}}(?!{_BODY})"),
        ("LTAI", "api_key", rf"LTAI[A-Za-z0-9]{{12,26}}+(?!{_BODY})"),
        ("AKID", "api_key", rf"AKID[A-Za-z0-9]{{32}}(?!{_BODY})"),
        ("AIza", "api_key", rf"AIza{_BODY}{{35}}(?!{_BODY})"),
        ("gh", "api_key", r"gh[opusr]_[A-Za-z0-9]{30,}+"),
        ("github_pat_", "api_key", r"github_pat_[A-Za-z0-9_]{22,}+"),
        ("glpat-", "api_key", rf"glpat-{_BODY}{{20,}}+"),
        ("xox", "token", r"xox[abeoprs]-[A-Za-z0-9-]{10,}+"),
        # Ours, with their id, and what is left of one that was cut.
        ("mw_", "api_key", r"(?i:mw_[0-9a-f]{16}_[0-9a-z]{16,}+)"),
        ("hf_", "api_key", r"hf_[A-Za-z0-9]{30,}+"),
        ("npm_", "api_key", r"npm_[A-Za-z0-9]{36,}+"),
        ("pypi-", "api_key", rf"pypi-{_BODY}{{50,}}+"),
        ("SG.", "api_key", rf"SG\.{_BODY}{{16,32}}+\.{_BODY}{{32,64}}+"),
        ("ya29.", "token", rf"ya29\.{_BODY}{{20,}}+"),
        # A JSON web token: its first part is a JSON object, and {" is eyJ in base64.
        ("eyJ", "token", rf"eyJ{_BODY}{{8,}}+\.{_BODY}{{8,}}+\.{_BODY}*+"),
    )
)


def _shaped(text: str) -> Iterator[Finding]:
    for needle, kind, pattern in _SHAPES:
        if needle in text:
            for match in pattern.finditer(text):
                if _has_digit(match[0]):
                    yield Finding(kind, *match.span())


_has_digit = re.compile("[0-9]").search
_KEY_HEAD = re.compile(r"-----BEGIN [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----")
_KEY_TAIL = re.compile(r"-----END [A-Z0-9 ]{0,48}-----")
_KEY_BODY = re.compile(r"(?:[A-Za-z0-9+/=]+|[ \t\r\n]+|\\n)*+")


def _private_keys(text: str) -> Iterator[Finding]:
    at, last_tail = 0, text.rfind("-----END")
    while head := _KEY_HEAD.search(text, at):
        start, at = head.span()
        # A key that was cut off is redacted as far as it looks like one.
        tail = _KEY_TAIL.search(text, at) if at <= last_tail else None
        body = _KEY_BODY.match(text, at)
        at = tail.end() if tail else body.end() if body else at
        yield Finding("private_key", start, at)


# Passwords and tokens after a word that names them.

# The words are searched as text: a pattern of this many alternatives would cost 30 µs for every sentence with a "key".
_PASSWORDS = ("pass", "pwd", "pw", "pin", "密码", "密碼", "口令", "wifi key", "wi-fi key", "wifi code", "wi-fi code")
_TOKENS = ("secret", "token", "key", "密钥", "密鑰", "令牌", "凭证")
_BEARERS = ("bearer", "authorization: basic")
_REST_OF_PASS = re.compile(r"[ _-]?(?:word|phrase|wd|code)", re.IGNORECASE).match
_REST_OF_PIN = re.compile(r"[ _-]?(?:code|number|no\.?|码|碼)", re.IGNORECASE).match
_MADE_STRONG = re.compile(r"(?:api|access|secret|auth|private|signing|encryption)[ _-]?\Z").search
_LONGEST_OF_THESE = 12
_STRONG = frozenset({"secret", "密钥", "密鑰"})
# A name may continue ("DB_PASSWORD_PROD", "password for the wifi at home") before the sign of assignment.
_ASSIGNS = re.compile(
    r"(?P<rest>[A-Za-z0-9_]{0,24})[\"'`’]?\]?"
    r"(?:[ \t]{1,2}(?:for|of|to|at|in|on|here|there|from)(?:[ \t][\w'’-]{1,20}){0,7}?)?[ \t]{0,4}"
    r"(?P<sign>:?=>?|:|：|->|→|(?:已经?|被)?(?:就|改|设|設|设置|换|換)?(?:是|为|為|成)了?(?:[ \t]?[:：])?"
    r"|(?:(?:is |was |has been )?(?:now )?(?:changed|set) to|(?:is|was)(?: now)?)(?::|(?=[ \t])))[ \t]{0,4}"
    r"(?:(?P<quote>[\"'`“‘])(?P<quoted>[^\"'`”’\r\n]{4,256})|(?P<bare>[!-~]{4,256}))"
).match
# A value without a sign of assignment: "password hunter2", 密码Abc12345.
_FOLLOWS = re.compile(
    r"(?P<to>[ \t]{1,4}to)?(?P<gap>[ \t]{0,4}(?:[-–—][ \t]{1,4})?（?)"
    r"(?:(?P<quote>[\"'`“‘])(?P<quoted>[^\"'`”’\r\n]{4,256})|(?P<bare>[!-~]{4,256}))"
).match
# "PIN has changed, it's 9024 now", 密码改了，现在是 5068: what it is now stands in a clause of its own.
_IS_NOW = re.compile(
    r"[^\r\n.!?。！？]{0,40}?[,;:：，；.。]?[ \t]{0,2}(?:(?:and|so) )?"
    r"(?:(?:it|that)(?:['’]s| is)(?: now)?|now (?:it['’]s|it is)|现在[是为]|新的是)[ \t]{0,2}"
    r"(?:(?P<quote>[\"'`“‘])(?P<quoted>[^\"'`”’\r\n]{4,256})|(?P<bare>[!-~]{4,256}))",
    re.IGNORECASE,
).match
_NOW_ENDS = re.compile(r"(?: now)?\s*(?:\Z|[#.,;!?)，。；！？）])", re.IGNORECASE).match
_THOUGHT_ENDS = re.compile(r"\s*(?:\Z|[#.,;!?)，。；！？）])").match
_BEARER = re.compile(r"[ \t]{1,4}(?P<bare>[A-Za-z0-9._~+/=-]{16,4096})").match
_TRAILING = "#.,;:!?)]}>'\"`*"


def _assigned(text: str) -> Iterator[Finding]:
    lower = text.lower()
    if len(lower) != len(text):  # a few letters have two in lower case
        lower = "".join(char.lower() if char.isascii() else char for char in text)
    for word in _PASSWORDS:
        if word in lower:
            yield from _passwords(text, lower, word)
    for word in _TOKENS:
        if word in lower:
            yield from _tokens(text, lower, word)
    for word in _BEARERS:
        if word in lower:
            yield from _bearers(text, lower, word)


def _ends(lower: str, word: str) -> Iterator[int]:
    at = lower.find(word)
    while at >= 0:
        at += len(word)
        yield at
        at = lower.find(word, at)


def _passwords(text: str, lower: str, word: str) -> Iterator[Finding]:
    for end in _ends(lower, word):
        rest = _REST_OF_PASS(text, end) if word == "pass" else _REST_OF_PIN(text, end) if word == "pin" else None
        if word == "pass" and not rest:
            continue
        if word in ("pw", "pin") and not _stands_alone(lower, end - len(word), end + len(rest[0] if rest else "")):
            continue
        at = rest.end() if rest else end
        value = _ASSIGNS(text, at)
        finding = _password_after(value) if value else _password_following(text, at, sure=text[end - 3 : end] == "PIN")
        finding = finding or _password_now(text, at)
        # A pin without digits holds something together.
        if finding and (word != "pin" or text[finding.start : finding.end].isdigit()):
            yield finding


def _stands_alone(lower: str, start: int, end: int) -> bool:
    """Whether no Latin letter or digit stands at either side; Chinese is written without spaces."""
    return not any(one.isalnum() and one.isascii() for one in (lower[max(0, start - 1) : start], lower[end : end + 1]))


def _tokens(text: str, lower: str, word: str) -> Iterator[Finding]:
    for end in _ends(lower, word):
        value = _ASSIGNS(text, end)
        if value:
            start = end - len(word)
            strong = word in _STRONG or bool(_MADE_STRONG(lower[max(0, start - _LONGEST_OF_THESE) : start]))
            yield from _token_after(value, "api_key" if strong else "token", rows_have_it=not strong)


def _bearers(text: str, lower: str, word: str) -> Iterator[Finding]:
    for end in _ends(lower, word):
        value = _BEARER(text, end)
        if value:
            yield from _token_after(value, "token", rows_have_it=False)


def _password_after(value: re.Match[str]) -> Finding | None:
    start, end = _value_span(value)
    word = value.string[start:end]
    if len(word) < 4 or is_placeholder(word):
        return None
    # "the password is wrong" holds no password; "password = wrong" does, and so does a word in quotes.
    assigned = value["sign"] in ("=", ":=") or (value["quoted"] is not None and " " not in word)
    # A Latin word that ends a Chinese sentence is no word of it.
    assigned = assigned or (not value["sign"].isascii() and word.isalpha() and bool(_THOUGHT_ENDS(value.string, end)))
    return _password(value.string, start, end) if assigned or unlike_a_word(word) else None


def _password_now(text: str, at: int) -> Finding | None:
    value = _IS_NOW(text, at)
    if value is None:
        return None
    start, end = _value_span(value)
    chosen = looks_chosen(text[start:end], last=True) and not is_placeholder(text[start:end])
    return _password(text, start, end) if chosen and _NOW_ENDS(text, end) else None


def _password_following(text: str, at: int, *, sure: bool = False) -> Finding | None:
    """The value right behind the word; ``sure`` says that a number there is one, wherever the sentence ends."""
    value = _FOLLOWS(text, at)
    # Between Chinese and a value no space is needed; in English it would be one word.
    if value is None or (not value["gap"] and text[at - 1].isascii()):
        return None
    start, end = _value_span(value)
    word = text[start:end]
    last = sure or bool(_THOUGHT_ENDS(text, end))
    if is_placeholder(word) or not looks_chosen(word, last=last, named=not value["to"]):
        return None
    return _password(text, start, end)


def _password(text: str, start: int, end: int) -> Finding:
    """The finding, with exclamation marks that may be part of the password."""
    while text[end : end + 1] == "!":
        end += 1
    return Finding("password", start, end)


def _token_after(value: re.Match[str], kind: str, *, rows_have_it: bool) -> Iterator[Finding]:
    start, end = _value_span(value)
    if looks_random(value.string[start:end], rows_have_it=rows_have_it):
        yield Finding(kind, start, end)


def _value_span(value: re.Match[str]) -> tuple[int, int]:
    groups = value.groupdict()
    if groups.get("quoted") is not None:
        return value.span("quoted")
    start = value.start("bare")
    return start, start + len(value["bare"].rstrip(_TRAILING))


_USER_AND_PASSWORD = re.compile(r"[^\s/@:?#\"'<>]{0,64}:([^\s/@\"'<>]{1,256})@")


def _logins(text: str) -> Iterator[Finding]:
    """The passwords in URLs, between a colon and the at sign."""
    at = text.find("://")
    while at >= 0:
        match = _USER_AND_PASSWORD.match(text, at + 3)
        if match:
            yield Finding("password", *match.span(1))
        at = text.find("://", at + 3)


# Personal data.

_LOCAL = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._%+-"
_DOMAIN = re.compile(r"(?:[A-Za-z0-9-]{1,63}\.){1,8}([A-Za-z]{2,24})(?![A-Za-z0-9])").match
_NOT_A_DOMAIN = frozenset("png jpg jpeg gif svg webp js css ts py".split())


def _emails(text: str, logins: Container[int]) -> Iterator[Finding]:
    """E-mail addresses; the at signs of ``logins`` belong to URLs."""
    at = text.find("@")
    while at >= 0:
        # Searched from the sign outwards: a pattern for the name first would read a long word again at each letter.
        before = text[max(0, at - 64) : at]
        local = before[len(before.rstrip(_LOCAL)) :].lstrip(".%+-")
        domain = _DOMAIN(text, at + 1) if local and at not in logins else None
        if domain and domain[1].lower() not in _NOT_A_DOMAIN and not _is_repository(local, text, domain.end()):
            yield Finding("email", at - len(local), domain.end())
        at = text.find("@", at + 1)


def _is_repository(local: str, text: str, end: int) -> bool:
    return local == "git" and text[end : end + 1] in (":", "/")


_ALONE = r"(?<![0-9A-Za-z_.#/$€£¥@-])"
_ENDED = r"(?![0-9A-Za-z_@%]|[-.,/:][0-9A-Za-z])"
_MOBILE = re.compile(rf"{_ALONE}(?:\+?86[ -]?)?1[3-9][0-9](?:[0-9]{{8}}|([ -])[0-9]{{4}}\1[0-9]{{4}}){_ENDED}")
_LANDLINE = re.compile(rf"{_ALONE}(?:\(0[1-9][0-9]{{1,2}}\)|0[1-9][0-9]{{1,2}}-)[0-9]{{7,8}}{_ENDED}")
_AMERICAN = re.compile(
    rf"{_ALONE}(?:1[ .-])?(?:\([2-9][0-9]{{2}}\) ?|[2-9][0-9]{{2}}([ .-]))[2-9][0-9]{{2}}(?(1)\1|[ .-])[0-9]{{4}}{_ENDED}"
)
_INTERNATIONAL = re.compile(rf"(?<![0-9A-Za-z_.+-])\+[1-9](?:[ .()/-]{{0,3}}[0-9]){{6,14}}{_ENDED}")
_CALLED_PHONE = re.compile(
    r"(?<![a-z])(?:phone|telephone|mobile|cell|whatsapp|call (?:me|us|him|her) (?:at|on)|text me at|tel"
    r"|电话|手机|座机|热线)"
    r"(?:[ _]?(?:number|no\.?|号码?))?[ \t]{0,2}(?:is|=|:|：|是|为)?[ \t]{0,2}(\(?[0-9](?:[ .-]?[0-9()]){6,16})",
    re.IGNORECASE,
)
_SOCIAL = re.compile(rf"{_ALONE}(?!000|666|9)[0-9]{{3}}-(?!00)[0-9]{{2}}-(?!0000)[0-9]{{4}}{_ENDED}")
_CHINESE_ID = re.compile(r"(?<![0-9A-Za-z_-])[1-9][0-9]{16}[0-9Xx](?![0-9A-Za-z_]|-[0-9A-Za-z])")
_CARD = re.compile(
    rf"{_ALONE}[3-6](?:[0-9]{{13,18}}|[0-9]{{3}}(?:([ -])[0-9]{{4}}(?:\1[0-9]{{4}}){{2}}(?:\1[0-9]{{3}})?"
    rf"|([ -])[0-9]{{6}}\2[0-9]{{4,5}})){_ENDED}"
)
_IPV4 = re.compile(r"(?<![0-9A-Za-z_.-])(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?![0-9A-Za-z_-]|\.[0-9])")
_IPV6 = re.compile(r"(?<![0-9A-Za-z_:.])[0-9A-Fa-f:]{3,45}(?![0-9A-Za-z_:])")
_PASSPORT = re.compile(
    r"(?:passport(?:[ _]?(?:number|no\.?|#))?|护照(?:号码?)?)[ \t]{0,2}(?:is|=|:|：|是|为)?[ \t]{0,2}"
    r"(?=[A-Z]{0,2}[0-9])([A-Z]{0,2}[0-9]{6,9})(?![0-9A-Za-z])",
    re.IGNORECASE,
)
# Words before a number that make it something else.
_CALLED_OTHERWISE = re.compile(
    r"(?:(?<![a-z])(?:order|invoice|tracking|ticket|reference|ref|isbn(?:-1[03])?|issn|serial|sku|version|ver|release|build"
    r"|(?:case|item|product|model|part) (?:number|no\.?|id))(?: (?:number|no\.?|id|code))?"
    r"|(?:订单|单号|编号|运单|快递|发票|版本|序列|流水|书号)(?:编?号码?)?)\s{0,2}(?:is|was|[:：#=]|是|为)?\s{0,2}#?\Z",
    re.IGNORECASE,
)
_CONTEXT = 28


# Seven digits with little between them: true of all numbers except IP addresses, and not of two years.
_SEVEN_DIGITS = re.compile(r"[0-9](?:[ ().-]{0,2}[0-9]){6}").search


def _numbers(text: str, digits: int) -> Iterator[Finding]:
    if digits >= 7 and _SEVEN_DIGITS(text):
        yield from _phones(text)
        yield from (Finding("passport", *match.span(1)) for match in _PASSPORT.finditer(text))
        yield from _checked(text, _SOCIAL, "id_number", bool)
        yield from _checked(text, _CHINESE_ID, "id_number", _is_chinese_id)
        yield from _checked(text, _CARD, "card", _is_card)
        yield from (Finding("iban", *span) for span in iban_spans(text))
    if text.count(".") >= 3:
        yield from _checked(text, _IPV4, "ip", _is_ip)
    if "::" in text or text.count(":") >= 7:
        yield from _ipv6(text)


def _checked(text: str, pattern: re.Pattern[str], kind: str, accepted: Callable[[str], bool]) -> Iterator[Finding]:
    for match in pattern.finditer(text):
        if accepted(match[0]) and not _called_otherwise(text, match.start()):
            yield Finding(kind, *match.span())


def _called_otherwise(text: str, at: int) -> bool:
    return bool(_CALLED_OTHERWISE.search(text[max(0, at - _CONTEXT) : at]))


def _phones(text: str) -> Iterator[Finding]:
    for pattern in (_MOBILE, _LANDLINE, _AMERICAN):
        yield from _checked(text, pattern, "phone", bool)
    if "+" in text:
        yield from _checked(text, _INTERNATIONAL, "phone", bool)
    for match in _CALLED_PHONE.finditer(text):
        start, end = match.span(1)
        number = match[1].rstrip(" .-(")
        if 7 <= sum(map(str.isdigit, number)) <= 15 and not text[end : end + 1].isdigit():
            yield Finding("phone", start, start + len(number))


_ID_WEIGHTS = tuple(pow(2, 17 - place, 11) for place in range(17))


def _is_chinese_id(number: str) -> bool:
    try:
        born = date(int(number[6:10]), int(number[10:12]), int(number[12:14]))
    except ValueError:
        return False
    total = sum(int(digit) * weight for digit, weight in zip(number, _ID_WEIGHTS, strict=False))
    return 1900 <= born.year <= 2099 and "10X98765432"[total % 11] == number[17].upper()


_DOUBLED = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)
_CARD_LENGTHS = {"34": (15,), "37": (15,), "30": (14,), "36": (14,), "38": (14,), "35": (16,), "62": (16, 17, 18, 19)}


def _is_card(number: str) -> bool:
    """Whether the digits have a valid length, are not all the same, and pass the Luhn check."""
    digits = [int(char) for char in number if char.isdigit()]
    lengths = _CARD_LENGTHS.get(f"{digits[0]}{digits[1]}", (16, 19) if digits[0] in (4, 5, 6) else ())
    if len(digits) not in lengths or len(set(digits)) < 2:
        return False
    return sum(digits[-1::-2]) % 10 == -sum(_DOUBLED[digit] for digit in digits[-2::-2]) % 10


def _is_ip(address: str) -> bool:
    """Whether it is an IP address other than loopback, unspecified and multicast."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    return not (parsed.is_loopback or parsed.is_unspecified or parsed.is_multicast or address.startswith("0."))


def _ipv6(text: str) -> Iterator[Finding]:
    for match in _IPV6.finditer(text):
        groups = [group for group in match[0].split(":") if group]
        # ``a::b`` is mostly code.
        if len(groups) >= 3 and _has_digit(match[0]) and len(groups[0]) >= 3 and _is_ip(match[0]):
            yield Finding("ip", *match.span())


# Redaction.


def redacted(text: str, found: Iterable[Finding]) -> str:
    """The text with each finding replaced by its kind in brackets, such as ``[email]``."""
    parts: list[str] = []
    at = 0
    for finding in sorted(found, key=lambda one: one.start):
        parts += text[at : finding.start], f"[{finding.kind}]"
        at = finding.end
    return "".join((*parts, text[at:]))


def shifted(position: int, found: Sequence[Finding]) -> int:
    """The position in the text after ``redacted(text, found)``; one inside a finding becomes the start of it."""
    moved = position
    for finding in sorted(found, key=lambda one: one.start):
        if finding.end <= position:
            moved += len(finding.kind) + 2 - (finding.end - finding.start)
        elif finding.start < position:
            moved -= position - finding.start
    return moved
