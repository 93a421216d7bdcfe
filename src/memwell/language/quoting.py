"""Quotes foreign text for a model, so that it cannot pass for a turn, a heading or an instruction.

Invisible characters and marks of text direction are removed, and the turn markers of chat templates are broken. Every line
of a quotation begins with ``| ``, so that none can begin like a turn, a heading or a fence. The lines around a quotation
carry a *seal* that does not occur in it.
"""

from __future__ import annotations

import re
from hashlib import blake2b

_SEAL = 12
_LINE_ENDS = re.compile("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
# Invisible characters and such that change the order of others: controls, direction marks, zero-width characters, tags and
# selectors that can spell a hidden text, fillers, surrogates.
_UNSEEN = (
    "\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff\ud800-\udfff"
)
_SELECTORS = "\ufe00-\ufe0f"
_JOINERS = "\u200c\u200d"
# A prefilter by one class of characters; its matches are examined.
_SUSPECT = re.compile(f"[{_UNSEEN}{_SELECTORS}{_JOINERS}\x09\x0b-\x0d\x85\u2028\u2029]").search
# One selector may follow a character, as in ❤️; a row of them is a hidden message.
_TO_DROP = re.compile(rf"[{_UNSEEN}]+|(?<=[{_SELECTORS}])[{_SELECTORS}]+|(?<!\S)[{_SELECTORS}]+")
# Joiners belong between letters of some scripts and parts of an emoji only.
_FOREIGN = f"[^\x00-\x7f{_JOINERS}]"
_LOOSE_JOINERS = re.compile(f"(?<!{_FOREIGN})[{_JOINERS}]+|[{_JOINERS}]+(?!{_FOREIGN})|(?<=[{_JOINERS}])[{_JOINERS}]+")
_TURN_MARKS = re.compile(
    r"<(?=[|｜]|/?s>|<{1,2}/?SYS>|(?:start|end)_of_turn>|(?:bos|eos|pad)>)|\[(?=/?(?:INST|gMASK|AVAILABLE_TOOLS)\])",
    re.I,
)


def clean(text: str) -> str:
    """The text without invisible characters and turn markers of chat templates."""
    if _SUSPECT(text):
        text = _TO_DROP.sub("", _LINE_ENDS.sub("\n", text)).replace("\t", " ")
        text = _LOOSE_JOINERS.sub("", text)
    if "<" in text or "[" in text:
        text = _TURN_MARKS.sub(r"\g<0> ", text)
    return text.strip()


def quoted(text: str) -> str:
    """The text with a bar in front of each line; empty lines are dropped."""
    return "\n".join(f"| {line.rstrip()}" for line in text.split("\n") if line.strip())


def seal_of(*texts: str) -> str:
    """Twelve hexadecimal characters derived from the texts that none of them contains."""
    lowered = [text.casefold() for text in texts]
    attempt = 0
    while True:
        digest = blake2b(b"%d" % attempt, digest_size=_SEAL // 2)
        for text in texts:
            encoded = text.encode("utf-8", "surrogatepass")
            # The lengths separate the texts.
            digest.update(b"%d:" % len(encoded) + encoded)
        seal = digest.hexdigest()
        if not any(seal in text for text in lowered):
            return seal
        attempt += 1
