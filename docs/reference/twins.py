"""Leaves the async twins out of the reference: they would say everything twice."""

from __future__ import annotations

from typing import Any

import griffe


class NoTwins(griffe.Extension):
    """Removes every ``aname = asyncify(name)`` of a class."""

    def on_class_members(self, *, cls: griffe.Class, **_: Any) -> None:
        for name, member in list(cls.members.items()):
            if member.is_attribute and str(member.value or "").startswith("asyncify("):
                cls.del_member(name)
