"""Messages as the lines of a dialogue, and back."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from memwell.errors import InvalidInput
from memwell.messages import Message, Role, message
from memwell.transcript.shapes import in_words, outgoing
from memwell.values import check_text, shown


def to_text(
    messages: Iterable[Message],
    *,
    human_prefix: str = "Human",
    ai_prefix: str = "AI",
    system_prefix: str = "System",
    tool_prefix: str = "Tool",
    function_prefix: str = "Function",
    chat_prefix: str = "Chat",
    view_prefix: str = "View",
    colon: str = ": ",
    separator: str = "\n",
    names: bool = False,
    include_hidden: bool = False,
) -> str:
    r"""The conversation as text, ``Human: …`` then ``AI: …``; a chat message begins with its own role.

    With ``names`` a speaker's name follows the prefix in parentheses. A line inside a message that looks like the start
    of another gets a ``\`` in front: no text can forge a turn, and ``from_text`` gives every text back. The colon may
    be full-width. Raises ``InvalidInput`` for a prefix, colon or separator that could not be read back.
    """
    prefixes = {
        Role.HUMAN: human_prefix,
        Role.AI: ai_prefix,
        Role.SYSTEM: system_prefix,
        Role.TOOL: tool_prefix,
        Role.FUNCTION: function_prefix,
        Role.CHAT: chat_prefix,
        Role.VIEW: view_prefix,
    }
    if check_text(colon, "colon").removesuffix(" ") not in tuple(_COLONS):
        raise InvalidInput(f"colon must be one of {_COLONS}, alone or with a space after it, not {shown(colon)}")
    said = [(_label(item, prefixes), item) for item in outgoing(messages, include_hidden=include_hidden)]
    layout = _Layout({*prefixes.values(), *(label for label, _ in said)}, separator, names=names)
    return separator.join(layout.written(label, colon, item) for label, item in said)


def from_text(
    text: str,
    *,
    human_prefix: str = "Human",
    ai_prefix: str = "AI",
    system_prefix: str = "System",
    tool_prefix: str = "Tool",
    function_prefix: str = "Function",
    chat_prefix: str = "Chat",
    view_prefix: str = "View",
    chat_roles: Collection[str] = (),
    separator: str = "\n",
    names: bool = False,
) -> list[Message]:
    """The messages of a text: a prefix and a colon at the start of a line begin one, other lines go on.

    With the options ``to_text`` had, and the chat roles in use as ``chat_roles``, roles, names and texts come back as
    they were. Raises ``InvalidInput`` when words come before the first prefix, or when two prefixes are the same.
    """
    prefixes = (
        (human_prefix, Role.HUMAN),
        (ai_prefix, Role.AI),
        (system_prefix, Role.SYSTEM),
        (tool_prefix, Role.TOOL),
        (function_prefix, Role.FUNCTION),
        (chat_prefix, Role.CHAT),
        (view_prefix, Role.VIEW),
    )
    roles = {**dict.fromkeys(chat_roles, Role.CHAT), **dict(prefixes)}
    if len(roles) < len(prefixes) + len(chat_roles):
        raise InvalidInput(f"prefixes and chat roles must all differ: {', '.join(map(shown, roles))}")
    layout = _Layout(roles, separator, names=names)
    return [
        message(roles[label], body, name=name, chat_role=label if label in chat_roles else None)
        for label, name, body in layout.read(check_text(text, "text"))
    ]


_COLONS: Final = ":\uff1a"
# What may not stand in a header: a colon ends it, a backslash marks what is none, parentheses hold the name.
_UNSAFE: Final = re.compile(rf"\s*[\\()\r\n{_COLONS}]+\s*")


class _Layout:
    """How messages lie in a text: a header, words in which no other header can be mistaken, a separator.

    A header has its only colon at its end and no line break; a separator has no colon and ends with a line break. So a
    header is never found across the border of two messages, whatever words they hold.
    """

    def __init__(self, labels: Iterable[str], separator: str, *, names: bool) -> None:
        if not check_text(separator, "separator").endswith("\n") or any(colon in separator for colon in _COLONS):
            raise InvalidInput(f"separator must end with a line break and have no colon, not {shown(separator)}")
        self._names = names
        label = "|".join(re.escape(self._checked(label)) for label in labels)
        name = rf"(?: \((?P<name>[^\\()\r\n{_COLONS}]+)\))?" if names else "(?P<name>)"
        header = f"(?P<label>{label}){name}[{_COLONS}]"
        between = re.escape(separator)
        self._start = re.compile(rf"(?:\A|{between}){header}")
        self._lookalike = re.compile(rf"({between})(?=\\*{header})")
        self._escaped = re.compile(rf"({between})\\(?=\\*{header})")

    def _checked(self, label: str) -> str:
        forbidden = rf"\{_COLONS}()" if self._names else rf"\{_COLONS}"
        if not check_text(label, "a prefix") or "\n" in label or any(mark in label for mark in forbidden):
            raise InvalidInput(f"a prefix must be one line without any of {forbidden}, not {shown(label)}")
        return label

    def written(self, label: str, colon: str, item: Message) -> str:
        name = _made_safe(item.name) if self._names else ""
        header = f"{label} ({name})" if name else label
        words = "\n".join(map(in_words, item.parts))
        # The reader drops one space after the colon, so a space that belongs to the words needs another before it.
        space = " " if words.startswith(" ") and not colon.endswith(" ") else ""
        return self._lookalike.sub(r"\1\\", f"{header}{colon}{space}{words}")

    def read(self, text: str) -> Iterator[tuple[str, str | None, str]]:
        starts = list(self._start.finditer(text))
        before = text[: starts[0].start()] if starts else text
        if before.strip():
            raise InvalidInput(f"a text must begin with a known prefix and a colon, not with {shown(before)}")
        ends = [*(start.start() for start in starts[1:]), len(text)]
        for start, end in zip(starts, ends, strict=False):
            # The header is unescaped along with the words: the space after its colon may be part of a separator.
            whole = self._escaped.sub(r"\1", text[start.start("label") : end])
            body = whole[start.end() - start.start("label") :].removeprefix(" ")
            yield start["label"], start["name"] or None, body


def _label(item: Message, prefixes: Mapping[Role, str]) -> str:
    own_role = _made_safe(item.chat_role) if item.role is Role.CHAT else ""
    return own_role or prefixes[item.role]


def _made_safe(label: str | None) -> str:
    return _UNSAFE.sub(" ", label or "").strip()
