"""Customers ask, past tickets and the handbook answer, each answer with its source; what nothing supports goes to a person.

    python examples/customer_service.py                  # in English
    python examples/customer_service.py --language zh    # 中文

A handbook and the solved tickets of a shop are made up here. Every customer has a conversation of their own, which the
shop still knows when the customer comes back. A question that could not be answered becomes a ticket; once a person has
solved it, the next customer gets that answer. No model is asked and nothing is fetched; give ``memwell.open`` a chat model,
and it writes the answers from the same sources.
"""

from __future__ import annotations

import argparse
from typing import Any

import memwell

TEXTS: dict[str, dict[str, Any]] = {
    "en": {
        "handbook": """# Returns

Goods can be sent back within 30 days. The refund arrives within five working days after the parcel reached us.

# Delivery

Parcels to the islands take seven days, all others two. An express parcel arrives the next morning and costs 9 euro.

# Warranty

Coffee machines have a warranty of two years. It does not cover limescale.
""",
        "handbook_name": "handbook.md",
        "tickets": [
            (
                "The display of my machine shows E4.",
                "E4 means that the water tank is not seated. Take it out and put it back until it clicks.",
            ),
            (
                "The milk foamer makes no foam.",
                "Clean the nozzle of the milk foamer with a needle and run the rinse program twice.",
            ),
            (
                "I was charged twice for one order.",
                "A double charge is reversed by the bank within three days; we have confirmed it to the bank.",
            ),
            (
                "How can I change the delivery address?",
                "The delivery address can be changed in the account until the parcel is packed.",
            ),
        ],
        "ticket": "Question: {question}\n\nAnswer: {answer}",
        "ticket_name": "ticket {number}",
        "visits": [
            ("Ann", "My coffee machine says E4, what should I do?"),
            ("Bo", "How long do I have to send something back?"),
            ("Ann", "And how long does a parcel to the islands take?"),
            ("Cleo", "Can I pay with a cheque?"),
        ],
        "solved": ("Can I pay with a cheque?", "Cheques are accepted in our shops, but not online."),
        "again": ("Dan", "Do you accept cheques?"),
        "handed_over": "I do not know that. A colleague will answer you; your question is ticket {number}.",
        "because": "      from {source}",
        "back": "{name} has been here before and asked: {question}",
        "person": "A person solves ticket {number}: {answer}",
        "closing": "{answered} of {asked} questions were answered at once.",
    },
    "zh": {
        "handbook": """# 退货

商品可在三十天内退回。包裹寄到后五个工作日内退款到账。

# 配送

寄往海岛的包裹需要七天，其他地区两天。加急包裹次日上午送达，费用九元。

# 保修

咖啡机保修两年，水垢造成的故障不在保修范围内。
""",
        "handbook_name": "手册.md",
        "tickets": [
            ("咖啡机屏幕显示E4。", "E4表示水箱没有装好。请取出水箱，重新放入直到听见咔嗒声。"),
            ("奶泡器打不出奶泡。", "用细针清洁奶泡器的喷嘴，再运行两次冲洗程序。"),
            ("一个订单扣了两次款。", "重复扣款会由银行在三天内退回，我们已向银行确认。"),
            ("怎么修改收货地址？", "包裹打包之前，可以在账户中修改收货地址。"),
        ],
        "ticket": "问题：{question}\n\n答复：{answer}",
        "ticket_name": "工单 {number}",
        "visits": [
            ("小安", "我的咖啡机显示E4，该怎么办？"),
            ("阿博", "买的东西多少天内可以退货？"),
            ("小安", "寄到海岛的包裹要多久？"),
            ("可莉", "可以用支票付款吗？"),
        ],
        "solved": ("可以用支票付款吗？", "门店接受支票，网上不接受支票。"),
        "again": ("丹丹", "你们接受支票吗？"),
        "handed_over": "这个我不知道，将由同事答复您，您的问题是工单 {number}。",
        "because": "      出处：{source}",
        "back": "{name}以前来过，当时问：{question}",
        "person": "人工处理工单 {number}：{answer}",
        "closing": "{asked} 个问题中，{answered} 个当场得到答复。",
    },
}


class Desk:
    """Answers customers from what the shop knows, and learns from what people solve."""

    def __init__(self, store: memwell.Engine, language: str) -> None:
        self.store, self.language, self.words = store, language, TEXTS[language]
        self.asked = self.answered = 0
        self.tickets = 0
        words = self.words
        store.knowledge.add(words["handbook"], id="handbook", source=words["handbook_name"])
        for question, answer in words["tickets"]:
            self.file_ticket(question, answer)

    def file_ticket(self, question: str, answer: str) -> int:
        """Keep a solved ticket, so that it answers the next one who asks."""
        self.tickets += 1
        name = self.words["ticket_name"].format(number=self.tickets)
        self.store.knowledge.add(
            self.words["ticket"].format(question=question, answer=answer), id=f"ticket-{self.tickets}", source=name
        )
        return self.tickets

    def ask(self, customer: str, question: str) -> None:
        """Answer a customer, in a conversation that is kept."""
        conversation = self.store.at(customer).thread("service")
        before = [message for message in conversation if message.role is memwell.Role.HUMAN]
        if before:
            print(f"    ({self.words['back'].format(name=customer, question=before[-1].text)})")
        conversation.add_human(question)
        print(f"{customer}: {question}")
        found = self.store.knowledge.answer(question, limit=3, language=self.language)
        self.asked += 1
        self.answered += found.supported
        text = found.text if found.supported else self.words["handed_over"].format(number=self.tickets + 1)
        conversation.add_ai(text)
        print(f"   -> {text}")
        for source in found.sources:
            print(self.words["because"].format(source=source.citation.in_words(self.language)))


def main(language: str, store: str) -> None:
    words = TEXTS[language]
    with memwell.open(store) as m:
        desk = Desk(m, language)
        for customer, question in words["visits"]:
            desk.ask(customer, question)
        question, answer = words["solved"]
        number = desk.file_ticket(question, answer)
        print(words["person"].format(number=number, answer=answer))
        desk.ask(*words["again"])
        print(words["closing"].format(asked=desk.asked, answered=desk.answered))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--language", choices=sorted(TEXTS), default="en")
    parser.add_argument("--store", default="memory:", help="a file to look at afterwards")
    given = parser.parse_args()
    main(given.language, given.store)
