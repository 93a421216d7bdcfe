"""An assistant that has read your notes and remembers what you told it: it answers with the place where it says so.

    python examples/personal_assistant.py                  # in English
    python examples/personal_assistant.py --language zh    # 中文

A folder of notes is made up in a temporary place. It is taken in, one note is changed, one removed, and taken in again:
only the changes are read. Questions are answered from the notes and from what was said, together in one prompt that fits a
budget. No model is asked and nothing is fetched; give ``memwell.open`` a chat model, and it answers in its own words.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import memwell

TEXTS: dict[str, dict[str, Any]] = {
    "en": {
        "notes": {
            "house.md": "# House\n\n## Heating\n\nThe boiler was serviced in March. The engineer is Mrs Okafor, "
            "phone 5550 171.\n\n"
            "## Wifi\n\nThe router stands behind the books; restart it with the small button.\n",
            "garden.md": "# Garden\n\nSow tomatoes indoors in February. Cut the roses back before the first of March.\n",
            "travel/lisbon.txt": "Lisbon in May: the flight leaves at 7:40, the hotel is the Casa do Rio at the station.\n",
            "shopping.csv": "item,shop\ncoffee filters,Miller\nprinter ink,Paper House\n",
        },
        "told": [
            "My sister Ines is allergic to peanuts.",
            "I prefer to travel by train when it takes less than six hours.",
        ],
        "questions": [
            "Who services the boiler, and what is the phone number?",
            "When does my flight to Lisbon leave?",
            "Where do I buy printer ink?",
            "What is the capital of Mongolia?",
        ],
        "recalled": "What must my sister not eat?",
        "changed": (
            "travel/lisbon.txt",
            "Lisbon in May: the flight now leaves at 9:15, the hotel is the Casa do Rio.\n",
        ),
        "removed": "garden.md",
        "again": "The flight was moved and the garden sold; the folder is taken in again:",
        "later": ["When does my flight to Lisbon leave?", "When are the roses cut back?"],
        "prompt": "The prompt for “{question}”, {tokens} tokens of {budget}:",
        "question": "What should I cook when my sister visits, and who repairs the heating if it fails?",
    },
    "zh": {
        "notes": {
            "家.md": "# 家\n\n## 暖气\n\n锅炉三月检修过，师傅是吴师傅，电话 5550171。\n\n"
            "## 网络\n\n路由器在书架后面，用小按钮重启。\n",
            "花园.md": "# 花园\n\n二月在室内播种番茄。三月一日之前修剪玫瑰。\n",
            "旅行/里斯本.txt": "五月去里斯本：航班七点四十起飞，酒店是车站旁的河畔之家。\n",
            "购物.csv": "物品,商店\n咖啡滤纸,米勒超市\n打印机墨水,文具之家\n",
        },
        "told": ["我妹妹小英对花生过敏。", "六小时以内的路程我更愿意坐火车。"],
        "questions": [
            "谁检修锅炉，电话是多少？",
            "去里斯本的航班几点起飞？",
            "打印机墨水在哪里买？",
            "蒙古国的首都是哪里？",
        ],
        "recalled": "我妹妹不能吃什么？",
        "changed": ("旅行/里斯本.txt", "五月去里斯本：航班改为九点十五起飞，酒店是河畔之家。\n"),
        "removed": "花园.md",
        "again": "航班改了时间，花园卖掉了；再次导入文件夹：",
        "later": ["去里斯本的航班几点起飞？", "玫瑰什么时候修剪？"],
        "prompt": "“{question}”的提示词，{budget} 个词元中用了 {tokens} 个：",
        "question": "妹妹来的时候我该做什么菜？暖气坏了找谁？",
    },
}
BUDGET = 400


def write_notes(folder: Path, notes: dict[str, str]) -> None:
    for name, text in notes.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def ask(m: memwell.Engine, question: str, language: str) -> None:
    print(f"? {question}")
    answer = m.knowledge.answer(question, limit=3, language=language)
    print(f"  {answer.text}")
    for number, source in enumerate(answer.sources, 1):
        print(f"  [{number}] {source.citation.in_words(language)}")


def main(language: str, store: str) -> None:
    words = TEXTS[language]
    with tempfile.TemporaryDirectory() as place, memwell.open(store) as m:
        folder = Path(place) / "notes"
        write_notes(folder, words["notes"])
        print(m.knowledge.ingest(folder).in_words(language))
        m.remember(words["told"])
        for question in words["questions"]:
            ask(m, question, language)
        print(f"? {words['recalled']}")
        [hit] = m.recall(words["recalled"], limit=1)
        print(f"  {hit.text}  ({hit.why(language=language)})")

        print(f"\n{words['again']}")
        name, text = words["changed"]
        (folder / name).write_text(text, encoding="utf-8")
        (folder / words["removed"]).unlink()
        print(m.knowledge.ingest(folder).in_words(language))
        for question in words["later"]:
            ask(m, question, language)

        question = words["question"]
        passages = m.knowledge.recall(question, limit=3)
        prompt = m.context(question, documents=passages, budget=BUDGET, language=language)
        print(f"\n{words['prompt'].format(question=question, tokens=prompt.tokens, budget=BUDGET)}")
        print(prompt.text())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--language", choices=sorted(TEXTS), default="en")
    parser.add_argument("--store", default="memory:", help="a file to look at afterwards")
    given = parser.parse_args()
    main(given.language, given.store)
