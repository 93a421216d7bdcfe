"""Where IBANs stand in a text: by country, length and check digits."""

from __future__ import annotations

import re
from collections.abc import Iterator

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
    """From where to where each IBAN of a text stands."""
    for head in _HEAD.finditer(text):
        length = _LENGTHS.get(head[1])
        end = _end(text, head.start(), length) if length else 0
        if end:
            yield head.start(), end


def _end(text: str, start: int, length: int) -> int:
    """Where the IBAN ends that begins at ``start``, or 0 when there is none: a space may stand after any four."""
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


__all__ = ["iban_spans"]
