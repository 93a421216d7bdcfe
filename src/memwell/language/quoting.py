"""Text of others as a model may read it: what is quoted cannot pass for a turn, a heading or an instruction.

Characters that are not seen, or that turn the order of others, are taken out, and the marks by which chat templates part
their turns are broken. Every line of a quotation begins with ``| ``, so none can begin like a turn, a heading or a fence.
The two lines around a quotation carry a *seal* that is sure not to occur in it.
"""

from __future__ import annotations

import re
from hashlib import blake2b

_SEAL = 12
_LINE_ENDS = re.compile("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
# Not seen, or turning what is seen: controls, marks of direction, characters without width, tags and selectors that can
# spell a hidden text, fillers, halves of characters.
_UNSEEN = (
    "\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff\ud800-\udfff"
)
_SELECTORS = "\ufe00-\ufe0f"
_JOINERS = "\u200c\u200d"
# One class of characters is looked for in no time; what it finds is looked at closely.
_SUSPECT = re.compile(f"[{_UNSEEN}{_SELECTORS}{_JOINERS}\x09\x0b-\x0d\x85\u2028\u2029]").search
# One selector may follow a character, as in ❤️; a row of them is a message.
_TO_DROP = re.compile(rf"[{_UNSEEN}]+|(?<=[{_SELECTORS}])[{_SELECTORS}]+|(?<!\S)[{_SELECTORS}]+")
# Joiners belong between letters of some scripts and the parts of an emoji, nowhere else.
_FOREIGN = f"[^\x00-\x7f{_JOINERS}]"
_LOOSE_JOINERS = re.compile(f"(?<!{_FOREIGN})[{_JOINERS}]+|[{_JOINERS}]+(?!{_FOREIGN})|(?<=[{_JOINERS}])[{_JOINERS}]+")
_TURN_MARKS = re.compile(
    r"<(?=[|｜]|/?s>|<{1,2}/?SYS>|(?:start|end)_of_turn>|(?:bos|eos|pad)>)|\[(?=/?(?:INST|gMASK|AVAILABLE_TOOLS)\])",
    re.I,
)


def clean(text: str) -> str:
    """The text as a reader sees it: nothing unseen in it, no mark that a chat template would take for a turn."""
    if _SUSPECT(text):
        text = _TO_DROP.sub("", _LINE_ENDS.sub("\n", text)).replace("\t", " ")
        text = _LOOSE_JOINERS.sub("", text)
    if "<" in text or "[" in text:
        text = _TURN_MARKS.sub(r"\g<0> ", text)
    return text.strip()


def quoted(text: str) -> str:
    """The text, each of its lines behind a bar; empty lines go."""
    return "\n".join(f"| {line.rstrip()}" for line in text.split("\n") if line.strip())


def seal_of(*texts: str) -> str:
    """Twelve hexadecimal characters made from the texts, which none of them contains."""
    lowered = [text.casefold() for text in texts]
    attempt = 0
    while True:
        digest = blake2b(b"%d" % attempt, digest_size=_SEAL // 2)
        for text in texts:
            encoded = text.encode("utf-8", "surrogatepass")
            # The lengths keep the texts apart.
            digest.update(b"%d:" % len(encoded) + encoded)
        seal = digest.hexdigest()
        if not any(seal in text for text in lowered):
            return seal
        attempt += 1
