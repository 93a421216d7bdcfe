"""The room as a whole: its page names everything there is, every promise has its test, and the sample programs run."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

from memwell.compat import agentscope, basememory
from memwell.compat import langchain as langchain_room

SAMPLE = """
from memwell.compat.basememory import BaseChatMessageMemory, BaseMemory

class ChatMessageStorage:
    def __len__(self):
        return len(self.messages)

    def __getitem__(self, index):
        return self.messages[index]

    def add_message(self, message):
        self.messages.append(message)

chat_memory = BaseMemory(messages=ChatMessageStorage())

def get_message(i):
    return chat_memory["messages"][i]

def add_message(message):
    chat_memory.add_message(message)

if __name__ == "__main__":
    chat_memory = BaseChatMessageMemory(messages=ChatMessageStorage())
    for i in range(100):
        message = f"User{i+1} says: Hello, world!"
        add_message(message)
    message = get_message(50)
    print(message)
"""


def _printed(program: str) -> str:
    command = [sys.executable, "-X", "utf8", "-W", "error", "-c", program]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=True).stdout


def test_the_sample_program_prints_what_it_should() -> None:
    assert _printed(SAMPLE) == "User51 says: Hello, world!\n"


def test_other_rooms_read_what_was_written_here_and_the_other_way(tmp_path: Path) -> None:
    path = str(tmp_path / "app.db")
    memory = basememory.BaseChatMessageMemory(store=path, thread="team", space="anna")
    memory.add_message("你好", sender="anna")
    memory.add_message({"user_id": "ben", "content": "hello"})
    there = langchain_room.MemwellChatMessageHistory("team", path, space="anna")
    assert [one.content for one in there.messages] == ["你好", "hello"]
    there.add_ai_message("from another room")
    agents = agentscope.MemwellMemory(path, session_id="team", user_id="anna")
    assert [one.content for one in asyncio.run(agents.get_memory())] == ["你好", "hello", "from another room"]
    assert memory.get_message(2).text == "from another room"
    assert (memory.unread("anna"), memory.unread("ben")) == (2, 2)
