from __future__ import annotations

from typing import Any, ClassVar

import pytest

from memwell.compat.langchain.fields import WithFields, made_by
from memwell.errors import InvalidInput


class Made(WithFields):
    needed: str
    number: int = 3
    plain: list[str] = []
    own: dict[str, int] = made_by(dict[str, int])
    shared: ClassVar[int] = 0
    _private: int = 1
    _positional = ("needed",)
    _computed = ("doubled",)

    @property
    def doubled(self) -> int:
        return self.number * 2

    @doubled.setter
    def doubled(self, value: int) -> None:
        self.number = value // 2


class More(Made):
    extra: str = "x"
    number = 5

    @property
    def plain(self) -> Any:
        return ("now a property",)


def test_fields_and_defaults() -> None:
    made = Made(needed="a")
    assert (made.needed, made.number, made.plain, made.own) == ("a", 3, [], {})
    assert Made("a", number=1).needed == "a"
    assert Made("a", doubled=10).number == 5
    assert repr(made) == "Made(needed='a', number=3, plain=[], own={})"


def test_nothing_is_shared_by_accident() -> None:
    one, other = Made("a"), Made("b")
    one.plain.append("x")
    one.own["x"] = 1
    assert (other.plain, other.own, Made.plain) == ([], {}, [])


def test_subclasses_add_and_change() -> None:
    more = More("a", extra="y")
    assert (more.extra, more.number, more.plain) == ("y", 5, ("now a property",))


@pytest.mark.parametrize(
    ("args", "given", "text"),
    [
        ((), {}, "Field required"),
        (("a",), {"numbr": 1}, "no field 'numbr'; its fields are needed, number"),
        (("a", "b"), {}, "takes 1 values without a name"),
        (("a",), {"needed": "b"}, "got needed twice"),
        (("a",), {"shared": 1}, "no field 'shared'"),
        (("a",), {"_private": 1}, "no field '_private'"),
    ],
)
def test_what_cannot_be_made(args: Any, given: Any, text: str) -> None:
    with pytest.raises(InvalidInput, match=text):
        Made(*args, **given)
