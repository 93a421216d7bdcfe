"""The room as a whole: the sample program runs."""

from __future__ import annotations

import subprocess
import sys

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


def test_the_sample_program_prints_what_it_should() -> None:
    command = [sys.executable, "-X", "utf8", "-W", "error", "-c", SAMPLE]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=True)
    assert done.stdout == "User51 says: Hello, world!\n"
