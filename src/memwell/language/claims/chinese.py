"""Claims of Chinese sentences: clauses that begin with their subject, read by what follows it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from memwell.language import names
from memwell.language.claims.chinese_pets import named_pet, next_name, pet_of_mine, pet_of_nobody
from memwell.language.claims.chinese_rules import KIN, NOT_OBJECTS, RULES, Rule
from memwell.language.claims.found import Found
from memwell.language.claims.relations import RELATIONS, Relation
from memwell.language.claims.timing import PAST, STATE
from memwell.language.entities_chinese import SURELY_NAMED, is_a_word

_H = "\u4e00-\u9fff"
_KIN = "|".join(sorted(KIN, key=len, reverse=True))
_SURNAME = f"(?:{'|'.join(names.DOUBLE_SURNAMES)}|[{''.join(sorted(names.SURNAMES))}])"
_GIVEN = f"[{''.join(sorted(names.GIVEN))}]"
_NO_NICKNAME = "老师|老板|老人|老家|老是|老爱|小孩|小时|小心|小猫|小狗|小学|阿姨"
_NICKNAME = rf"(?!{_NO_NICKNAME})[小阿老][{_H}](?=叫|是|住|在|喜|不|很|最|也|养|搬|来)"
_NAME = rf"(?:{_SURNAME}{_GIVEN}{{1,2}}|{_NICKNAME}|[A-Z][A-Za-z]{{1,20}})"
# A name of whatever characters, before what the rules read.
_FULL_NAME = (
    rf"(?:{SURELY_NAMED})(?=住|在|是|喜欢|不喜欢|很喜欢|最喜欢|特别喜欢|非常喜欢|喜爱|讨厌|爱[吃喝看听玩]|来自|出生|毕业|就读|养了|养着|搬|今年"
    r"|对[^，。]{1,8}过敏|会说|也|都|现在|目前|去过|打算|计划|的生日)"
)
_CLAUSE = re.compile(r"[^，,。！？!?；;：:\n…～~—（）()]+")
_FILLER = (
    "(?:嗯|哦|噢|啊|哎|对了|其实|不过|但是|但|而且|然后|因为|所以|另外|还有|是的|对呀|对啊|当然|说实话|嘿|哈哈|顺便说一下|"
    "你知道|告诉你|现在|目前|最近|那|只是|就是|虽然|既然|由于)*"
)
_SUBJECT = re.compile(
    rf"[\s\"“'「]*{_FILLER}(?:(?P<own>我们家|我家)?(?P<mine>我的?|俺的?|咱)?(?P<kin>(?:{_KIN}))(?P<name>{_NAME}|(?P<twin>[{_H}])(?P=twin))?|(?P<we>我们家(?!住|在)|我家(?!住|在)|我们(?!家)|咱们)"
    rf"|(?P<me>本人|我自己|我|俺)|(?P<other>{_FULL_NAME}|{_NAME}))"
).match
_TIME = (
    "(?:从|自)?(?:(?:[去今明昨前后][年天晚早]|大前[年天]|[上下这本]个?(?:周|月|星期|学期)(?:[一二三四五六日天末])?|[零〇一二三四五六七八九十两几\\d]{1,4}"
    "(?:年|月|日|号|天|周|个月)(?:前|初|底|末)?|[年月][初底末]|[春夏秋冬][天季]|早上|晚上|周末|刚才){1,4})(?:开始|起|以来)?"
)
_ADVERBS = re.compile(
    rf"(?:也|都|还|就|好|蛮|一直|现在|目前|特别|非常|很|真的|真|超级|超|挺|比较|更|其实|从小就|从小|平时|总是|经常|已经|刚刚|刚|最近|"
    rf"才|又|仍然|还是|本来|原本|一般|特|尤其|最(?!喜欢的|爱的|讨厌)|真是|确实|今年|{_TIME})*"
).match
_FORMERLY = re.compile("(?:以前|曾经|曾|原来|过去|之前|小时候|原先|从前)").match
_DENIED = re.compile(
    "(?:不是(?=[很太特那喜])|不再(?!喜欢|爱|喝|吃(?!素))|没有|没|不(?!再|喜欢|爱|吃|喝|太|怎么|大))"
).match
# 今天不喝咖啡了 is said of a cup, and not of coffee.
_FOR_NOW = re.compile("今天|今晚|今早|明天|这次|这顿|待会|等会|一会|暂时|先(?!生)|早上|中午|下午|晚上").search
_NO_LONGER = re.compile("(?:已经)?(?:不再|不)(?=住|在)").match
_QUESTION = re.compile(
    "吗|么[？?]?$|什么|谁|哪|怎么|怎样|多少|几(?:个|岁|点|月)|是不是|有没有|会不会|要不要|为什么|呢[？?]?$|能不能|喜不喜欢"
).search
_DOUBT = re.compile(
    "如果|假如|要是|假设|万一|希望|但愿|想象|梦见|梦到|假装|幻想|听说|说我|他说|她说|以为|倘若|即使|就算|恨不得|开玩笑|多想|好想|想要"
).search
_QUOTED = re.compile('[“「『"][^“「『”」』"\n]{0,200}?[我你][^“「『”」』"\n]{0,200}[”」』"]')
_KIN_NAMED = re.compile(
    rf"(?:的名字)?(?:叫做|叫|名叫|是)(?P<name>(?:{_SURNAME}{_GIVEN}{{1,2}}|[小阿][{_H}]|(?P<twice>[{_H}])(?P=twice)"
    rf"|[A-Z][A-Za-z]{{1,20}}))(?=\s*$)|(?:的名字)?(?:叫做|叫|名叫)(?P<any>(?:(?![我你他她它了过来去回的着得不])[{_H}]){{2,3}})(?=\s*$)"
).match
_IS_KIN = re.compile(rf"(?:就)?是我(?:最好的|的|大学|高中|初中|小学)?(?P<kin>{_KIN})[啊呀哦啦哈]?(?=\s*$)").match
_WITH = re.compile("[和与跟]").search
_COMPANY = re.compile(
    rf"(?:[{_H}]{{2,5}}地|昨天|今天|周末|刚刚|刚|在[{_H}]{{1,6}}?)?[和与跟](?:我的|他的|她的|自己的)?(?:新)?(?P<kin>{_KIN})(?P<name>{_NAME}|[{_H}]{{2}}(?=一起))"
).match
_CUT = re.compile('的时候|的感觉|因为|所以|但是|然后|[。！!“”"]|这样|那样|之类|什么的|时候|来着|的人')
_TAIL = "了啊呀哦呢吧啦哈的 噢嘛哟"
_JOINTS = re.compile("、|以及|还有|(?<=[\u4e00-\u9fff]{2})[和跟与](?=[\u4e00-\u9fff]{2})")
_QUOTE = re.compile('[“「『"]').search
_SPEAKS_ON = re.compile(
    "\\s*(?:也|还|都|很|特别|最|现在|平时|不)*(?:在|住|喜欢|爱吃|爱喝|讨厌|养|对|是一|会说|今年)"
).match
_LESS_SURE = 0.85
_LONGEST_CLAUSE = 200
_WITH_WHOM = re.compile("(?:小?朋友|家人|爸|妈|大家|同学|孩子|老公|老婆|同事|[他她它]|一群|别人)|[^、]{0,12}一起").match
_ACTS = re.compile("[画看玩吃做打听买去写唱跳读学喝逛收种在旅运爬游跑健钓骑滑]").match
_SOFTENED = re.compile("挺|蛮|好喜|还是|是很|是非常").search
_NO_OBJECT = tuple(NOT_OBJECTS)
_LONGEST, _LONGEST_LATIN = 14, 80
_NO_RELATION = Relation("")


class _Subject(NamedTuple):
    end: int
    name: str = ""
    kin: str = ""


def chinese(sentence: str) -> Iterator[Found]:
    """What a Chinese sentence says, clause by clause; a doubt takes what follows it with it."""
    if "我" in sentence and _QUOTE(sentence):
        sentence = _QUOTED.sub(lambda quote: "\x00" * len(quote[0]), sentence)
    doubt = _DOUBT(sentence)
    before: Found | None = None
    for clause in _CLAUSE.finditer(sentence):
        start, end = clause.span()
        if doubt is not None and doubt.start() < end:
            return
        if end - start > _LONGEST_CLAUSE:
            continue
        if _QUESTION(sentence, start, end) or sentence[end : end + 1] in ("？", "?"):
            continue
        last = before
        before = None
        for found in _clause(sentence, start, end, last):
            before = found
            yield found


def _clause(sentence: str, start: int, end: int, before: Found | None) -> Iterator[Found]:
    head = _SUBJECT(sentence, start, end)
    if head is None:
        if before is not None:
            yield from _continued(sentence, start, end, before)
        elif not start:
            yield from pet_of_nobody(sentence, end)
    elif head["kin"]:
        yield from _of_kin(sentence, start, end, head)
    elif head["other"]:
        if not is_a_word(head["other"]):
            yield from _of_someone(sentence, start, end, head)
    else:
        first = head.start("we") if head["we"] else head.start("me")
        pet = pet_of_mine(sentence, first, start, end)
        yield from pet or _said(sentence, start, end, _Subject(head.end()))


def _of_someone(sentence: str, start: int, end: int, head: re.Match[str]) -> Iterator[Found]:
    kin = _IS_KIN(sentence, head.end(), end)
    if kin is not None:
        yield Found(KIN[kin["kin"]], *head.span("other"), start, end, confidence=0.85)
    else:
        yield from _said(sentence, start, end, _Subject(head.end(), head["other"]))


def _continued(sentence: str, start: int, end: int, before: Found) -> Iterator[Found]:
    """A clause without a subject speaks on of the one before it; after a pet, of the pet's name."""
    called = next_name(sentence, start, end, before)
    if called is not None:
        yield from called
    elif _SPEAKS_ON(sentence, start, end):
        for found in _said(sentence, start, end, _spoken_of(sentence, start, before)):
            yield found._replace(confidence=round(found.confidence * _LESS_SURE, 2))


def _spoken_of(sentence: str, at: int, before: Found) -> _Subject:
    """Who a clause without a subject speaks of: after 李雷是我的同事 of him, after 我和同事李雷 of whoever speaks."""
    first = before.object_start
    if RELATIONS.get(before.relation, _NO_RELATION).people and not _WITH(sentence, before.start, first):
        return _Subject(at, sentence[first : before.object_end])
    return _Subject(at, before.subject, before.kin)


def _of_kin(sentence: str, start: int, end: int, head: re.Match[str]) -> Iterator[Found]:
    """Of someone's mother: whose, only where it is said; a mother who is nobody's is the speaker's."""
    if not head["mine"] and not head["own"]:
        return
    relation = KIN[head["kin"]]
    if head["name"]:
        yield Found(relation, *head.span("name"), start, head.end(), confidence=0.85)
        yield from _said(sentence, start, end, _Subject(head.end(), head["name"]))
        return
    named = _KIN_NAMED(sentence, head.end(), end)
    if named is not None:
        group = "name" if named["name"] else "any"
        yield Found(relation, *named.span(group), start, end, confidence=0.9)
        return
    yield from _said(sentence, start, end, _Subject(head.end(), kin=head["kin"]))


def _said(sentence: str, start: int, end: int, subject: _Subject) -> Iterator[Found]:
    company = _COMPANY(sentence, subject.end, end)
    if company is not None and not subject.kin:
        said = KIN[company["kin"]]
        yield Found(said, *company.span("name"), start, company.end(), subject.name, confidence=0.8)
        return
    at, formerly, denied = _helpers(sentence, subject.end, end)
    for rule in RULES:
        found = rule.match(sentence, at, end)
        if found is None:
            continue
        if rule.negated and rule.relation == "likes" and _FOR_NOW(sentence, start, found.start("o")):
            return
        if rule.relation == "name" and subject.kin:
            return
        yield from _objects(sentence, start, end, subject, rule, found, formerly, denied)
        return


def _helpers(sentence: str, at: int, end: int) -> tuple[int, bool, bool]:
    """Where the predicate begins, whether it is of former times, and whether it is denied."""
    formerly = denied = False
    while True:
        skipped = _ADVERBS(sentence, at, end)
        after = at if skipped is None else skipped.end()
        past = _FORMERLY(sentence, after, end)
        no = None if past else (_NO_LONGER(sentence, after, end) or _DENIED(sentence, after, end))
        if past is None and no is None:
            return after, formerly, denied
        formerly, denied = formerly or past is not None, denied or no is not None
        at = (past or no or skipped).end()  # pyright: ignore[reportOptionalMemberAccess]


def _objects(
    sentence: str,
    start: int,
    end: int,
    subject: _Subject,
    rule: Rule,
    found: re.Match[str],
    formerly: bool,
    denied: bool,
) -> Iterator[Found]:
    relation = f"favourite:{found['what']}" if rule.relation == "favourite:" else rule.relation
    fixed = "素食" if relation == "diet" else ""
    first, last = found.span("o")
    kind = PAST if formerly and rule.kind == STATE else rule.kind
    if relation == "works_at" and sentence[first:last] in names.PLACES_ZH:
        # "在深圳工作" says where, not for whom.
        return
    for place in _parts(sentence, first, last, many=rule.many) if not fixed else [(first, last)]:
        said = Found(
            relation,
            *place,
            start,
            end,
            subject.name,
            subject.kin,
            object=fixed,
            kind=kind,
            negated=rule.negated or denied,
            confidence=rule.confidence,
        )
        yield from named_pet(sentence, said) if relation == "pet" else (said,)


def _parts(sentence: str, start: int, end: int, *, many: bool) -> Iterator[tuple[int, int]]:
    """The objects between two places: cut where the thought ends, and at the joints of a list."""
    cut = _CUT.search(sentence, start, end)
    end = end if cut is None else cut.start()
    at = start
    for joint in _JOINTS.finditer(sentence, start, end) if many else ():
        if at < joint.start() and (joint[0] == "、" or _parts_list(sentence, at, joint, end)):
            yield from _whole(sentence, at, joint.start())
            at = joint.end()
    yield from _whole(sentence, at, end)


def _parts_list(sentence: str, start: int, joint: re.Match[str], end: int) -> bool:
    """Whether a 和 joins two things, rather than saying with whom, or what one verb does to both."""
    if _WITH_WHOM(sentence, joint.end(), end):
        return False
    return not _ACTS(sentence, start) or _ACTS(sentence, joint.end()) is not None


def _whole(sentence: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    if sentence[end - 1 : end] == "的" and not _SOFTENED(sentence, max(0, start - 8), start):
        # "喜欢色彩多的": a thing that is described and not named.
        return
    while start < end and sentence[end - 1] in _TAIL:
        end -= 1
    while start < end and sentence[start] in " \x00":
        start += 1
    words = sentence[start:end]
    longest = _LONGEST_LATIN if words.isascii() else _LONGEST
    if words and len(words) <= longest and not words.startswith(_NO_OBJECT) and "你" not in words:
        yield start, end


__all__ = ["chinese"]
