"""What of a page nobody comes to read: menus, cookie banners, buttons, and what is hidden.

The names that pages give to their parts are only a hint. So they count on the parts that pages are made of, not on
headings or words, and a name such as ``has-sidebar`` says that the thing is inside, not that this is one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from memwell.knowledge.reading.tags import Tag

ELEMENTS = frozenset({"nav", "footer", "aside", "form", "dialog", "menu", "button"})
"""Elements that are boilerplate by themselves."""

_ROLES = frozenset({"navigation", "banner", "contentinfo", "search", "dialog", "alertdialog", "menu", "menubar"})
_NAMES = frozenset(
    {"nav", "menu", "navbar", "breadcrumb", "breadcrumbs", "cookie", "cookies", "banner", "sidebar", "footer"}
)
_AROUND = frozenset({"has", "with", "no", "without"})
_NAMED_BY_CLASS = frozenset("div section header p ul ol li table center details figure address".split())
# A section's id is made of its title by many programs: a chapter about cookies is no banner.
_NAMED_BY_ID = frozenset("div header ul ol table center".split())
_HIDING = re.compile(r"(?:^|;)\s*+(?:display\s*+:\s*+none|visibility\s*+:\s*+(?:hidden|collapse))\b", re.IGNORECASE)
# Most elements are none of these, and to read their attributes takes longer than to look once.
_MAY_HIDE = re.compile("hidden|display|visibility", re.IGNORECASE).search
_MAY_HAVE_ROLE = re.compile("role", re.IGNORECASE).search
_MAY_NAME = re.compile("|".join(sorted(_NAMES)), re.IGNORECASE).search
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")


def is_hidden(tag: Tag) -> bool:
    """Whether an element is not shown: by an attribute, or by the style that is written at it."""
    if not _MAY_HIDE(tag.source):
        return False
    attributes = tag.attributes
    if "hidden" in attributes or attributes.get("aria-hidden") == "true":
        return True
    return _HIDING.search(attributes.get("style", "")) is not None


def has_role(tag: Tag) -> bool:
    """Whether an element says that it is a menu, a banner or the like."""
    return _MAY_HAVE_ROLE(tag.source) is not None and tag.attributes.get("role", "").strip().casefold() in _ROLES


def has_name(tag: Tag) -> bool:
    """Whether the class or the id of an element is that of a menu, a banner or the like."""
    if tag.name not in _NAMED_BY_CLASS or not _MAY_NAME(tag.source):
        return False
    return any(map(_is_name, _names(tag.name, tag.attributes)))


def _names(element: str, attributes: Mapping[str, str]) -> list[str]:
    return [*attributes.get("class", "").split(), *([attributes.get("id", "")] if element in _NAMED_BY_ID else ())]


def _is_name(name: str) -> bool:
    words = {word.casefold() for word in _WORD.findall(name)}
    return not words.isdisjoint(_NAMES) and words.isdisjoint(_AROUND)


__all__ = ["ELEMENTS", "has_name", "has_role", "is_hidden"]
