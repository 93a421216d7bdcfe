"""Hooks: their order and scope, what they get and may return, and which calls run them."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import threading
import weakref
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import InvalidInput
from memwell.runtime.hooks import Hooked


class Base(Hooked):
    supported_hook_types: ClassVar[list[str]] = ["pre_reply", "post_reply", "pre_observe", "post_observe"]

    async def reply(self, text: str, *more: str, loud: bool = False, **rest: Any) -> Any:
        return [text, more, loud, rest]

    async def observe(self, message: Any) -> None:
        return None


def classes() -> tuple[type[Base], type[Base], type[Base]]:
    """A class, and two beside each other under it, fresh for each test."""

    class Upper(Base):
        async def reply(self, text: str, *more: str, loud: bool = False, **rest: Any) -> Any:
            return await super().reply(text, *more, loud=loud, **rest)

    class Left(Upper):
        async def reply(self, text: str, *more: str, loud: bool = False, **rest: Any) -> Any:
            return await super().reply(text, *more, loud=loud, **rest)

    class Right(Upper):
        pass

    return Upper, Left, Right


def noting(told: list[str], name: str) -> Any:
    def hook(*_: Any) -> None:
        told.append(name)

    return hook


def test_the_instance_comes_first_then_its_class_then_the_classes_above():
    upper, left, right = classes()
    told: list[str] = []
    upper.register_class_hook("pre_reply", "a", noting(told, "upper"))
    left.register_class_hook("pre_reply", "a", noting(told, "left 1"))
    left.register_class_hook("pre_reply", "b", noting(told, "left 2"))
    right.register_class_hook("pre_reply", "a", noting(told, "right"))
    agent = left()
    agent.register_instance_hook("pre_reply", "z", noting(told, "instance 1"))
    agent.register_instance_hook("pre_reply", "a", noting(told, "instance 2"))
    asyncio.run(agent.reply("hi"))
    assert told == ["instance 1", "instance 2", "left 1", "left 2", "upper"]


def test_a_hook_on_one_class_reaches_its_subclasses_only():
    upper, left, right = classes()
    told: list[str] = []
    left.register_class_hook("post_reply", "a", noting(told, "left"))
    for cls in (upper, right, Base):
        asyncio.run(cls().reply("hi"))
    assert told == []
    asyncio.run(type("Below", (left,), {})().reply("hi"))
    assert told == ["left"]
    with pytest.raises(ValueError, match="has no post_reply hook 'a'"):
        right.remove_class_hook("post_reply", "a")
    right.clear_class_hooks()
    upper.clear_class_hooks("post_reply")
    asyncio.run(left().reply("hi"))
    assert told == ["left", "left"]
    left.remove_class_hook("post_reply", "a")
    asyncio.run(left().reply("hi"))
    assert told == ["left", "left"]


def test_a_hook_of_one_instance_is_not_that_of_another():
    _, left, _ = classes()
    told: list[str] = []
    one, other = left(), left()
    one.register_instance_hook("pre_reply", "a", noting(told, "one"))
    asyncio.run(other.reply("hi"))
    assert told == []
    one.clear_instance_hooks("pre_reply")
    asyncio.run(one.reply("hi"))
    with pytest.raises(ValueError, match="has no pre_reply hook"):
        one.remove_instance_hook("pre_reply", "a")
    assert told == []


WORDS = st.text("ab", max_size=3)


@given(
    WORDS,
    st.lists(WORDS, max_size=2),
    st.booleans(),
    st.dictionaries(st.sampled_from(["x", "y", "args"]), WORDS),
    st.booleans(),
)
def test_arguments_come_by_name_and_go_as_they_came(
    text: str, more: list[str], loud: bool, rest: dict[str, str], by_name: bool
):
    seen: list[dict[str, Any]] = []

    def pre(_: Any, arguments: dict[str, Any]) -> dict[str, Any]:
        seen.append(arguments)
        return arguments

    agent = classes()[1]()
    plain = asyncio.run(agent.reply(text, *more, loud=loud, **rest))
    agent.register_instance_hook("pre_reply", "pre", pre)
    if by_name and not more:
        hooked = asyncio.run(agent.reply(text=text, loud=loud, **rest))
    else:
        hooked = asyncio.run(agent.reply(text, *more, loud=loud, **rest))
    assert hooked == plain == [text, tuple(more), loud, rest]
    assert seen == [{"text": text, "more": tuple(more), "loud": loud, "rest": rest}]


def test_what_a_hook_returns_counts_and_what_it_does_to_its_copies_does_not():
    class Echo(Base):
        async def reply(self, message: list[str], first: str = "x") -> Any:
            return [*message, first]

    async def spoils(_: Any, arguments: dict[str, Any], *output: Any) -> None:
        arguments["message"].append("spoilt")
        for each in output:
            each.append("spoilt")

    agent, given = Echo(), ["a"]
    agent.register_instance_hook("pre_reply", "spoils", spoils)
    agent.register_instance_hook("post_reply", "spoils", spoils)
    assert asyncio.run(agent.reply(given)) == ["a", "x"]
    assert given == ["a"]
    agent.register_instance_hook("pre_reply", "other", lambda _, arguments: {"message": ["b"]})
    agent.register_instance_hook("post_reply", "more", lambda _, arguments, output: [*output, arguments])
    assert asyncio.run(agent.reply(given, "y")) == ["b", "x", {"message": ["b"], "first": "x"}]


class Word(str):
    pass


class Says(Base):
    supported_hook_types: ClassVar[list[str]] = ["post_say"]

    async def say(self, what: Any) -> Any:
        return what


@pytest.mark.parametrize(
    ("said", "changed", "fine"),
    [
        ("a", "b", True),
        ("a", Word("b"), True),
        (Word("a"), "b", True),
        (None, 7, True),
        ("a", 7, False),
        ("a", ["b"], False),
        ("a", object(), False),
        ({"a": 1}, "a", False),
    ],
)
def test_a_post_hook_returns_what_could_stand_there(said: Any, changed: Any, fine: bool):
    agent = Says()
    agent.register_instance_hook("post_say", "h", lambda self, kwargs, output: changed)
    if fine:
        assert asyncio.run(agent.say(said)) is changed
    else:
        with pytest.raises(InvalidInput, match="the post_say hook <lambda> must return a"):
            asyncio.run(agent.say(said))


def test_what_cannot_be_copied_is_handed_on_itself():
    agent, lock = classes()[0](), threading.Lock()
    seen: list[Any] = []
    agent.register_instance_hook("pre_observe", "a", lambda _, arguments: seen.append(arguments["message"]))
    asyncio.run(agent.observe(lock))
    assert seen == [lock]


@pytest.mark.parametrize(
    ("returned", "match"),
    [
        (["text"], "must return a dict of arguments or None, not"),
        ("text", "must return a dict"),
        ({"other": 1, "message": 2}, "'other'"),
        ({}, "must return the argument 'message' too"),
    ],
)
def test_a_pre_hook_that_returns_the_wrong_thing_is_refused(returned: Any, match: str):
    agent = classes()[0]()
    agent.register_instance_hook("pre_observe", "wrong", lambda *_: returned)
    with pytest.raises(InvalidInput, match=match):
        asyncio.run(agent.observe("m"))
    agent.remove_instance_hook("pre_observe", "wrong")
    asyncio.run(agent.observe("m"))


@pytest.mark.parametrize("kind", ["pre_reply", "post_reply"])
def test_the_error_of_a_hook_reaches_the_caller_and_the_next_call_is_whole(kind: str):
    agent, told = classes()[1](), []

    def raises(*_: Any) -> None:
        raise ZeroDivisionError

    agent.register_instance_hook(kind, "first", noting(told, "first"))
    agent.register_instance_hook(kind, "raises", raises)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            asyncio.run(agent.reply("hi"))
    agent.remove_instance_hook(kind, "raises")
    asyncio.run(agent.reply("hi"))
    assert told == ["first"] * 3


@pytest.mark.parametrize("bad", ["pre_sing", "reply", "", None, 3])
def test_an_unknown_type_is_refused_everywhere(bad: Any):
    agent = classes()[0]()
    for call in (
        lambda: agent.register_instance_hook(bad, "a", print),
        lambda: agent.remove_instance_hook(bad, "a"),
        lambda: type(agent).register_class_hook(bad, "a", print),
        lambda: type(agent).remove_class_hook(bad, "a"),
    ):
        with pytest.raises(InvalidInput, match="has no hooks of type"):
            call()
    with pytest.raises(InvalidInput, match="must be a function"):
        agent.register_instance_hook("pre_reply", "a", "print")  # type: ignore[arg-type]


# Which calls run them


class Slow(Base):
    """Calls up through wait_for, which on some Pythons is a task of its own."""

    async def reply(self, text: str, *more: str, loud: bool = False, **rest: Any) -> Any:
        await asyncio.sleep(0)
        return await asyncio.wait_for(super().reply(text), 60)


def test_super_runs_no_hooks_twice_also_in_another_task():
    told: list[str] = []
    agent = Slow()
    agent.register_instance_hook("pre_reply", "a", noting(told, "pre"))
    agent.register_instance_hook("post_reply", "a", noting(told, "post"))
    asyncio.run(agent.reply("hi"))
    assert told == ["pre", "post"]


def test_calls_beside_each_other_each_run_their_hooks():
    told: list[str] = []
    agent = Slow()
    agent.register_instance_hook("pre_reply", "a", lambda _, arguments: told.append(arguments["text"]))

    async def main() -> None:
        await asyncio.gather(*(agent.reply(str(number)) for number in range(10)))

    asyncio.run(main())
    assert sorted(told) == [str(number) for number in range(10)]


def test_a_task_left_behind_by_a_reply_runs_hooks_of_its_own():
    told: list[str] = []

    class Leaves(Base):
        async def reply(self, text: str, *more: str, loud: bool = False, **rest: Any) -> Any:
            if text == "again":
                return None
            return asyncio.create_task(self.reply("again")), asyncio.create_task(self._later())

        async def _later(self) -> None:
            for _ in range(5):
                await asyncio.sleep(0)
            await self.reply("again")

    agent = Leaves()
    agent.register_instance_hook("pre_reply", "a", lambda _, arguments: told.append(arguments["text"]))

    async def main() -> None:
        await asyncio.gather(*await agent.reply("first"))

    asyncio.run(main())
    assert told == ["first", "again", "again"]


def test_a_reply_that_starts_others_beside_itself_has_their_hooks_run_and_one_that_calls_itself_has_not():
    told: list[str] = []

    class Starts(Base):
        async def reply(self, text: str, *more: str, loud: bool = False, **rest: Any) -> Any:
            if text == "first":
                await self.reply("part of it")
                await asyncio.gather(self.reply("beside 1"), self.reply("beside 2"))

    agent = Starts()
    agent.register_instance_hook("pre_reply", "a", lambda _, arguments: told.append(arguments["text"]))
    asyncio.run(agent.reply("first"))
    assert told == ["first", "beside 1", "beside 2"]


def test_a_task_left_behind_keeps_nothing_of_the_call_it_began_in():
    class Leaves(Base):
        async def observe(self, message: asyncio.Event) -> Any:
            return asyncio.create_task(message.wait())

    async def main() -> bool:
        agent, over = Leaves(), asyncio.Event()
        agent.register_instance_hook("post_observe", "a", noting([], ""))
        call = asyncio.create_task(agent.observe(over))
        left = await call
        gone = weakref.ref(call)
        del call
        # The loop still has it in its hands in this round.
        await asyncio.sleep(0)
        freed = gone() is None
        over.set()
        await left
        return freed

    assert asyncio.run(main())


def test_a_hook_may_call_the_method_it_is_a_hook_of():
    told: list[str] = []
    agent = classes()[1]()

    async def calls(self: Any, arguments: dict[str, Any]) -> None:
        told.append("hook")
        await self.reply("from the hook")

    agent.register_instance_hook("pre_reply", "a", calls)
    assert asyncio.run(agent.reply("hi"))[0] == "hi"
    assert told == ["hook"]


def test_a_call_leaves_no_trace_in_the_context():
    agent = Slow()
    agent.register_instance_hook("pre_reply", "a", noting([], ""))

    async def main() -> bool:
        before = contextvars.copy_context()
        await agent.reply("hi")
        after = contextvars.copy_context()
        return {key: after[key] for key in after} == {key: before[key] for key in before} or all(
            after[key] == () for key in after if key not in before
        )

    assert asyncio.run(main())


# Which methods have them


def test_a_subclass_adds_types_and_its_methods_with_a_leading_underscore_have_them():
    class Thinks(Base):
        supported_hook_types: ClassVar[list[str]] = ["pre_reasoning", "post_reasoning"]

        async def reply(self, text: str, *more: str, loud: bool = False, **rest: Any) -> Any:
            return await self._reasoning(text)

        async def _reasoning(self, text: str) -> str:
            return text + "!"

    told: list[str] = []
    Thinks.register_class_hook("pre_reasoning", "a", noting(told, "reasoning"))
    Thinks.register_class_hook("pre_reply", "a", noting(told, "reply"))
    Thinks.register_class_hook("post_reasoning", "a", lambda _, __, output: output * 2)
    assert asyncio.run(Thinks().reply("hi")) == "hi!hi!"
    assert told == ["reply", "reasoning"]
    with pytest.raises(InvalidInput):
        Base.register_class_hook("pre_reasoning", "a", print)


def test_a_method_that_comes_from_a_mixin_has_hooks_too():
    class Mixin:
        async def reply(this, text: str) -> str:  # pyright: ignore[reportSelfClsParameterName]
            return text

    class Mixed(Mixin, Base):
        pass

    told: list[str] = []
    Mixed.register_class_hook("pre_reply", "a", noting(told, "mixed"))
    assert asyncio.run(Mixed().reply("hi")) == "hi"
    assert told == ["mixed"]


def test_a_decorated_method_runs_its_hooks_once():
    def twice(method: Any) -> Any:
        @functools.wraps(method)
        async def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
            return [await method(self, *args, **kwargs)]

        return wrapper

    class Decorated(Base):
        reply = twice(Base.reply)

    told: list[str] = []
    agent = Decorated()
    agent.register_instance_hook("pre_reply", "a", noting(told, "pre"))
    assert asyncio.run(agent.reply("hi")) == [["hi", (), False, {}]]
    assert told == ["pre"]
