"""Google ADK's session service and memory service over memwell, beside ADK's own and under its runner."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("google.adk", reason="google-adk is not installed: make test installs it apart")
from google.adk.agents import LlmAgent
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.memory.base_memory_service import BaseMemoryService
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig
from google.adk.tools import load_memory
from google.genai.types import Content, Part

from memwell.history import History
from memwell.integrations.google_adk import MemwellMemoryService, MemwellSessionService
from memwell.records import Space
from memwell.runtime.opening import open as open_memory
from memwell.storage.registry import close_shared
from tests.engines.postgres import store_url

ANN = {"app_name": "app", "user_id": "ann"}


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    yield store_url(tmp_path / "store") if request.param == "postgres" else str(tmp_path / "app.db")
    close_shared()


def said(text: str, author: str = "user", **more: Any) -> Event:
    role = "user" if author == "user" else "model"
    return Event(author=author, invocation_id="i", content=Content(role=role, parts=[Part(text=text)]), **more)


async def test_a_session_reads_as_in_adks_own_service(url: str):
    """The same calls to both; states, events and lists are equal but for times that the services set."""
    results = []
    for service in (MemwellSessionService(url), InMemorySessionService()):
        assert isinstance(service, BaseSessionService)
        seen: list[Any] = []
        state = {"app:theme": "dark", "user:city": "Oslo", "temp:x": 1, "topic": {"a": [1, None]}}
        made = await service.create_session(**ANN, session_id=" s ", state=state)
        await service.create_session(app_name="app", user_id="ben", session_id="s")
        await service.create_session(app_name="other", user_id="ann", session_id="s")
        with pytest.raises(AlreadyExistsError):
            await service.create_session(**ANN, session_id="s")
        for number in range(4):
            change = {"n": number, "app:n": number, "user:n": number, "temp:n": number}
            actions = EventActions(state_delta=change)
            event = said(f"{number}", "user" if number % 2 == 0 else "cook", actions=actions, id=f"e{number}")
            event.timestamp = made.last_update_time + number
            await service.append_event(made, event)
        await service.append_event(made, said("half", "cook", partial=True))
        seen.append((sorted(made.state.items(), key=lambda one: one[0]), [one.id for one in made.events]))
        for config in (
            None,
            GetSessionConfig(num_recent_events=2),
            GetSessionConfig(num_recent_events=0),
            GetSessionConfig(after_timestamp=made.last_update_time - 1),
            GetSessionConfig(after_timestamp=made.last_update_time - 2, num_recent_events=1),
        ):
            got = await service.get_session(**ANN, session_id="s", config=config)
            assert got is not None
            events = [one.model_dump(mode="json", exclude_none=True, exclude={"timestamp"}) for one in got.events]
            seen.append((got.id, got.app_name, got.user_id, got.state, events))
        for user in ("ann", None):
            listed = (await service.list_sessions(app_name="app", user_id=user)).sessions
            seen.append(sorted((one.user_id, one.id, sorted(one.state), len(one.events)) for one in listed))
        seen.append(await service.get_user_state(**ANN))
        await service.delete_session(**ANN, session_id="s")
        seen.append(await service.get_session(**ANN, session_id="s"))
        seen.append((await service.create_session(**ANN, session_id="t")).state)
        other = await service.get_session(app_name="other", user_id="ann", session_id="s")
        seen.append(other and other.state)
        results.append(seen)
    assert results[0] == results[1]


async def test_a_session_is_there_in_another_service_and_an_old_copy_is_refused(url: str):
    first = await MemwellSessionService(url).create_session(**ANN, session_id="s")
    service = MemwellSessionService(url)
    second = await service.get_session(**ANN, session_id="s")
    assert second is not None
    await service.append_event(second, said("hello"))
    with pytest.raises(ValueError, match="changed since"):
        await service.append_event(first, said("late"))
    with pytest.raises(ValueError, match="not found"):
        await service.append_event(first.model_copy(update={"id": "none"}), said("x"))
    await asyncio.gather(*(service.append_event(second, said(f"{n}")) for n in range(5)))
    again = await service.get_session(**ANN, session_id="s")
    assert again is not None
    assert again.events[0].id == second.events[0].id
    assert len(again.events) == 6
    held = History(service.backend, "s", space=Space("default", "adk", "app", "ann"))
    assert next(iter(held)).text == "hello"


class Scripted(BaseLlm):
    """A model that answers with what it was asked, and calls a tool when its text says so."""

    model: str = "scripted"
    asked: list[Any] = []

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self.asked.append([part for one in llm_request.contents for part in one.parts or []])
        last = self.asked[-1][-1]
        if last.text == "What am I allergic to?":
            part = Part.from_function_call(name="load_memory", args={"query": last.text})
        else:
            part = Part(text=f"{len(self.asked)}")
        yield LlmResponse(content=Content(role="model", parts=[part]))


async def test_the_runner_goes_on_and_its_tool_finds_memories(tmp_path: Path):
    with open_memory(str(tmp_path / "app.db")) as memory:
        model = Scripted()
        agent = LlmAgent(name="cook", model=model, tools=[load_memory])
        known = MemwellMemoryService(memory, limit=1)

        async def ask(text: str, session: str) -> list[Event]:
            sessions = MemwellSessionService(str(tmp_path / "app.db"))
            if await sessions.get_session(**ANN, session_id=session) is None:
                await sessions.create_session(**ANN, session_id=session)
            runner = Runner(app_name="app", agent=agent, session_service=sessions, memory_service=known)
            asked = Content(role="user", parts=[Part(text=text)])
            done = [one async for one in runner.run_async(user_id="ann", session_id=session, new_message=asked)]
            whole = await sessions.get_session(**ANN, session_id=session)
            assert whole is not None
            await known.add_session_to_memory(whole)
            return done

        await ask("I am allergic to nuts.", "one")
        await ask("Hello again.", "one")
        assert [part.text for part in model.asked[-1]] == ["I am allergic to nuts.", "1", "Hello again."]
        await ask("What am I allergic to?", "two")
        [response] = [part.function_response for part in model.asked[-1] if part.function_response]
        assert "I am allergic to nuts." in str(response.response)
    close_shared()


async def test_memories_are_added_once_found_and_deleted(tmp_path: Path):
    with open_memory(str(tmp_path / "app.db")) as memory:
        service = MemwellMemoryService(memory, limit=3)
        assert isinstance(service, BaseMemoryService)
        events = [
            said("I live in Oslo.", id="a"),
            said("You live in the north.", "cook", id="b"),
            Event(author="user", id="c"),
        ]
        for _ in range(2):
            await service.add_events_to_memory(**ANN, events=events, session_id="s", custom_metadata={"from": "test"})
        own = memory.at(Space("default", "app", "ann"))
        assert {one.text for one in own.memories()} == {"I live in Oslo.", "You live in the north."}
        found = (await service.search_memory(**ANN, query="Where do I live?")).memories[0]
        assert found.content.parts is not None
        assert (found.content.parts[0].text, found.author, found.custom_metadata) == (
            "I live in Oslo.", "user", {"from": "test"},
        )  # fmt: skip
        assert (await service.search_memory(app_name="app", user_id="ben", query="Oslo")).memories == []
        assert (await service.search_memory(**ANN, query=" ")).memories == []
        await service.delete_memory(**ANN, memory_id=found.id)
        await service.delete_memory(**ANN, memory_id="none")
        await service.delete_memory(**ANN)
        await service.add_events_to_memory(**ANN, events=events, session_id="s")
        assert [one.text for one in own.memories()] == ["You live in the north."]
        entry = MemoryEntry(
            id="m", content=Content(parts=[Part(text="I sail.")]), timestamp="2026-05-01T09:00:00+00:00", author="user"
        )
        await service.add_memory(**ANN, memories=[entry])
        kept = own.get("m")
        assert (kept.text, kept.time.isoformat()) == ("I sail.", "2026-05-01T09:00:00+00:00")
