"""Sentences that are nothing but small talk: greetings, thanks, a yes or a no, in English and Chinese.

One word of something else makes it something that is said: "Hi Anna!" is small talk, "Hi, I'm Anna." is not.
"""

from __future__ import annotations

import re

from memwell.language import names
from memwell.language.texts import check_string

_LONGEST = 120


def _any(phrases: str) -> str:
    """One of the phrases, the longest first, because what is taken is never given back."""
    found = (phrase.strip() for phrase in phrases.replace("\n", ";").split(";"))
    return "|".join(sorted(filter(None, found), key=len, reverse=True))


# Somebody may be called by a name after these; after a yes or a no the name may be the answer.
_ADDRESSED = _any("""
hi; hello; hey; hiya; thanks; many thanks; thank you; thx; cheers; you['’]re welcome; welcome; welcome back; no problem
no worries; ok; okay; bye; goodbye; bye bye; see you; see you later; see you soon; take care; nice to meet you
good morning; good evening; good afternoon; good night; how are you; how are you doing; how can i help; how can i help you
""")
_ANSWERS = _any("""
sure; sure thing; great; great idea; yes; no; yeah; yep; yup; nope; nah; nice; cool; lovely; perfect; awesome; wonderful
amazing; excellent; fantastic; sounds good; sounds great; sounds lovely; got it; of course; certainly; absolutely
definitely; i see; noted; i understand; understood; how nice; how lovely; alright; all right; right; exactly; fine; oh
wow; hmm; haha; ah; aha; lol; good; very good; very nice; that['’]s great; that['’]s nice; that['’]s good; that is great
that sounds good; that sounds great; that['’]s lovely; that['’]s fine; please; yes please; no thanks; no thank you
good idea; nice to hear; glad to hear that; glad to hear it; glad to help; happy to help; my pleasure; have a nice day
have a good day; have a great day; have a nice evening; have a great weekend; have a good one
""")
_INTENSIFIERS = _any("""
a lot; so much; very much; again; everyone; everybody; all; guys; there; then; really; indeed; too; as well; my friend
sir; madam; dear; today; for now; a bunch; a million; for your help; for the help; for that; for this; for asking
for everything; for letting me know; and
""")
_ADDRESSED_ZH = _any("""
你好; 您好; 大家好; 嗨; 哈喽; 谢谢; 谢谢你; 谢谢您; 多谢; 感谢; 非常感谢; 太感谢了; 再见; 拜拜; 回头见; 早上好; 上午好
下午好; 中午好; 晚上好; 早安; 晚安; 早; 不客气; 不用谢; 没问题; 没关系; 没事; 很高兴认识你; 很高兴认识您; 辛苦了; 欢迎
""")
_ANSWERS_ZH = _any("""
好; 好的; 好吧; 好啊; 好呀; 好哒; 嗯; 哦; 噢; 是; 是的; 是啊; 对; 对的; 对啊; 对呀; 不; 不是; 不用; 不用了; 没有; 明白
明白了; 知道; 知道了; 我知道了; 我明白了; 了解; 了解了; 收到; 可以; 行; 当然; 当然可以; 太好了; 真好; 很好; 太棒了; 真棒
不错; 原来如此; 原来是这样; 哈; 哇; 有什么可以帮您; 有什么可以帮你; 有什么我可以帮您; 我能帮您什么; 有什么可以帮助您
""")
_INTENSIFIERS_ZH = "啊|呀|哦|啦|呢|吧|哈|了(?!解)|的|吗|哟|喽|非常|真的|各位|(?:大家|您|你们|你)(?!好)|朋友们|朋友"
_BETWEEN = r"[^\w]*+"
_HAN = "\u4e00-\u9fff"
_NAME = (
    rf"(?!(?:{_ADDRESSED}|{_ANSWERS}|{_INTENSIFIERS})\b)(?-i:[A-Z][a-zà-ÿ]{{1,20}}(?: [A-Z][a-zà-ÿ]{{1,20}})?)"
    rf"|(?!{_ADDRESSED_ZH}|{_ANSWERS_ZH})(?:[小老阿][{_HAN}]|[{''.join(sorted(names.SURNAMES))}][{_HAN}]{{0,2}})(?:{names.PERSON_ENDINGS_ZH})?(?![{_HAN}])"
)
# Nothing that was taken is given back, so that a long row of such words costs no more than reading it.
_MORE = rf"(?:{_BETWEEN}(?>(?:{_INTENSIFIERS})\b|{_INTENSIFIERS_ZH}))*+"
_ONLY = re.compile(
    rf"{_BETWEEN}(?:(?:(?>(?:{_ADDRESSED})\b|{_ADDRESSED_ZH}){_MORE}(?:[ ,，]{{0,2}}(?P<name>{_NAME}))?+"
    rf"|(?>(?:{_ANSWERS})\b|{_ANSWERS_ZH})){_MORE}{_BETWEEN})*+\Z",
    re.IGNORECASE,
).match


def is_small_talk(sentence: str) -> bool:
    """Whether a sentence says nothing that is worth keeping: no word at all, or words of courtesy and assent alone.

    Raises ``InvalidInput`` for a sentence that is no string.
    """
    if len(check_string(sentence)) > _LONGEST:
        return False
    only = _ONLY(sentence)
    return only is not None and not _says_when_or_where(only["name"])


def _says_when_or_where(name: str | None) -> bool:
    """Whether what stands where a name might stand is none: "Thanks, Friday." """
    if name is None:
        return False
    return name in names.PLACES or name in names.NOT_NAMES or name[:2] in names.NOT_PEOPLE_ZH


__all__ = ["is_small_talk"]
