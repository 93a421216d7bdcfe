"""One program, any store: give it a URL and it prints the same, whatever keeps its memory.

    python examples/any_store.py memory:
    python examples/any_store.py sqlite:example.db
    python examples/any_store.py postgresql://memwell@localhost/memwell
    python examples/any_store.py postgresql://memwell@localhost/memwell,log=redis://localhost:6379/0
    python examples/any_store.py sqlite:example.db,index=milvus:vectors.db

It talks, remembers, recalls, changes its mind, forgets and brings back, keeps a document and a picture, and looks at what
another user of the same store sees. Run it twice with a store that lasts: it finds what it left, and says so.
"""

from __future__ import annotations

import argparse

import memwell

TOLD = {
    "en": [
        "Ann is allergic to peanuts.",
        "Ann plays the cello in a quartet on Thursdays.",
        "The spare key hangs behind the boiler.",
        "Ben drives a green van.",
    ],
    "zh": ["小安对花生过敏。", "小安每周四在四重奏里拉大提琴。", "备用钥匙挂在锅炉后面。", "小本开一辆绿色面包车。"],
}
ASKED = {
    "en": ("Which food is dangerous for Ann?", "Where is the spare key?"),
    "zh": ("小安不能吃什么？", "备用钥匙在哪里？"),
}
SAID = {
    "en": ("When is the rehearsal?", "On Thursday at eight."),
    "zh": ("排练是什么时候？", "星期四晚上八点。"),
}
NOTE = {
    "en": "# Boiler\n\nThe boiler is serviced by Mrs Okafor every March.\n",
    "zh": "# 锅炉\n\n锅炉每年三月由吴师傅检修。\n",
}
WHO = {"en": "Who services the boiler?", "zh": "锅炉由谁检修？"}


def main() -> None:
    """Run it on the store that was named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url", nargs="?", default="memory:", help="which store (memory:)")
    parser.add_argument("--language", choices=sorted(TOLD), default="en")
    options = parser.parse_args()
    with memwell.open(options.url, space="house") as memory:
        if memory.threads().items:
            print("found what an earlier run left, and erased it")
            memory.erase_all()
            memory.thread("kitchen").delete()
        run(memory, options.language)


def run(memory: memwell.Engine, language: str) -> None:
    """All of it; prints what comes back."""
    for told in TOLD[language]:
        memory.remember(told)
    for question in ASKED[language]:
        print(f"{question} -> {memory.recall(question, limit=1)[0].text}")
    talk = memory.thread("kitchen")
    question, answer = SAID[language]
    talk.add_human(question)
    talk.add_ai(answer)
    print(f"said: {[message.text for message in talk]}")
    allergy = memory.recall(ASKED[language][0], limit=1)[0]
    memory.forget(allergy.id)
    print(f"forgotten: {allergy.text not in [hit.text for hit in memory.recall(ASKED[language][0])]}")
    memory.undo(allergy.id)
    print(f"restored: {memory.recall(ASKED[language][0], limit=1)[0].text}")
    memory.knowledge.add(NOTE[language], source="boiler.md")
    print(f"read: {memory.knowledge.answer(WHO[language]).text}")
    print(f"seen by another: {[hit.text for hit in memory.at('neighbours').recall(ASKED[language][1])]}")
    memory.flush()
    print(f"memories: {memory.count()}")


if __name__ == "__main__":
    main()
