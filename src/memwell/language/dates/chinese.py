"""Reads times in Chinese text against the local time when it was said.

A text is searched for characters that may begin an expression, and each is tried with the few patterns that begin so. A
week begins on Monday, so 上周五 is the Friday of last week.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import NamedTuple, TypeAlias

from memwell.language import dates as calendars
from memwell.language.dates import SECONDS, DateReading, Stretch, timed
from memwell.language.patterns import lazy_match

# The words and patterns of Chinese times.

SIMPLE = str.maketrans(
    "週禮點後個這號時鐘間來過節國慶聖誕兩幾數淩開現從萬兒婦動勞歲０１２３４５６７８９：",
    "周礼点后个这号时钟间来过节国庆圣诞两几数凌开现从万儿妇动劳岁0123456789:",
)
"""Traditional forms and full-width digits that occur in times, and their simplified forms."""
IS_NOT_SIMPLE = re.compile(f"[{''.join(map(chr, SIMPLE))}]").search

DIGITS = {char: value for value, char in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
TENS = {"十": 10, "百": 100, "千": 1000}
DAYS = {"大前天": -3, "前天": -2, "昨": -1, "今": 0, "明": 1, "后天": 2, "大后天": 3}
YEARS = {"大前年": -3, "前年": -2, "去年": -1, "上一年": -1, "今年": 0, "本年": 0, "明年": 1, "后年": 2}
WEEKDAYS = (
    {char: number for number, char in enumerate("一二三四五六日")} | {"天": 6} | {str(n + 1): n for n in range(7)}
)
WAYS = {"上上": -2, "上": -1, "这": 0, "本": 0, "下": 1, "下下": 2}
SEASONS = {"春": "spring", "夏": "summer", "秋": "autumn", "冬": "winter"}
PARTS = {
    "dawn": "凌晨".split(),
    "morning": "清晨 早晨 早上 清早 大早 一早 一大早 上午 早 晨".split(),
    "noon": "中午 正午".split(),
    "afternoon": "下午 午后".split(),
    "evening": "傍晚 黄昏".split(),
    "night": "晚上 夜里 夜晚 深夜 半夜 晚间 晚 夜".split(),
}
PART_OF = {word: name for name, words in PARTS.items() for word in words}
UNITS = {
    "second": "秒钟 秒".split(),
    "minute": "分钟".split(),
    "hour": "个小时 小时 个钟头 个钟".split(),
    "day": "天 个晚上".split(),
    "week": "个星期 个礼拜 星期 礼拜 周".split(),
    "month": "个月".split(),
    "year": "年".split(),
}
UNIT_OF = {word: name for name, words in UNITS.items() for word in words}
FESTIVALS = {
    "元旦": "new year",
    "春节": "new year lunar",
    "大年初一": "new year lunar",
    "除夕": "lunar eve",
    "情人节": "valentine",
    "妇女节": "women's day",
    "清明节": "tomb sweeping",
    "五一": "may day",
    "劳动节": "may day",
    "六一": "children's day",
    "儿童节": "children's day",
    "教师节": "teachers' day",
    "国庆": "national day",
    "端午": "dragon boat",
    "中秋": "mid-autumn",
    "圣诞": "christmas",
    "平安夜": "christmas eve",
    "万圣节": "halloween",
    "感恩节": "thanksgiving",
    "母亲节": "mother's day",
    "父亲节": "father's day",
}


def _one_of(words: Iterable[str]) -> str:
    """An alternation of the words, longest first."""
    return "|".join(sorted(words, key=len, reverse=True))


NUMERALS = "零〇一二两三四五六七八九十百"
_ALONE = f"(?<![0-9{NUMERALS}第.])"
_NUMBER = f"(?P<number>[0-9]{{1,4}}(?:\\.[0-9])?|好?几十?|十几|数十?|半|[{NUMERALS}]{{1,5}})"
# 晚 and 早 alone may begin another word, such as 晚饭.
_PART = f"(?P<part>{_one_of(word for word in PART_OF if len(word) > 1)}|[早晨晚夜](?![饭餐会点年就已安宵市场]))"
_HOUR = f"(?P<hour>[0-9]{{1,2}}|[{NUMERALS}]{{1,3}})(?:点|时(?![候间刻期代常不装尚速空光髦]))"
_MINUTE = f"(?P<quarter>半|[一三]刻)|(?P<minute>[0-5]?[0-9]|[{NUMERALS}]{{1,3}})分"
_DIGITAL = "(?P<hour24>[01]?[0-9]|2[0-3]):(?P<minute24>[0-5][0-9])(?![0-9])"
_CLOCK = f"(?:{_HOUR}(?P<sharp>钟|整|左右|多)?(?:{_MINUTE})?|{_DIGITAL})"
_YEAR = f"(?P<year>(?:1[5-9]|2[01])[0-9]{{2}}|[一二][{NUMERALS[:-2]}]{{3}})年(?!代|级)"
_NAMED_YEAR = (
    "(?P<named>大前年|(?<![年以之])前年(?![轻龄纪级])|(?<!过)去年|上一年|今年|本年(?!级|度)|明年"
    "|(?<![年以之])后年(?!轻))"
)
_MONTH = "(?P<month>1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])月"
_OF_MONTH = f"(?P<day>[0-3]?[0-9]|[{NUMERALS}]{{1,3}})[日号](?!线|楼|门|院|店|机)"
_THIRD = "(?P<third>初|上旬|中旬|下旬|中(?=[，。,；]|$)|底|末)"
_FESTIVAL = f"(?P<festival>{_one_of(FESTIVALS)})节?(?:假期|长假|当天|那天)?"
_SEASON = "(?P<season>[春夏秋冬])[天季]"

DAY_WORD = lazy_match(
    "(?P<day>大前天|大后天|(?<![以之])前天(?![气空])(?!天(?!气))|(?<![以之])后天(?!天(?!气))|昨[天日]|今[天日]|明[天日](?!天(?!气)|香)"
    "|(?:昨|今|明)(?=[早晚晨夜]))的?" + f"{_PART}?(?:{_CLOCK})?"
)
PART_CLOCK = lazy_match(f"{_PART}(?:的)?{_CLOCK}")
PART_ALONE = lazy_match(
    "(?<![一整个每天日今昨明末周那多几早])(?P<part>凌晨|清晨|早晨|早上|上午|中午|下午|傍晚|晚上|半夜|深夜)(?![好安班饭餐茶])"
)
CLOCK = lazy_match(_ALONE + _CLOCK + "(?P<part>(?!))?")  # never with a part of the day
YEAR = lazy_match(
    f"(?:{_ALONE}{_YEAR}|{_NAMED_YEAR})的?(?:{_MONTH}份?(?:{_OF_MONTH}|{_THIRD})?|年?(?P<edge>[初底末中](?![学级考秋午国文心间])"
    f"|(?<=年)年关)|(?P<half>[上下])半年|第?(?P<quarter>[一二三四1-4])季度|{_SEASON}|{_FESTIVAL}|(?P<holiday>暑假))?"
)
MONTH = lazy_match(
    f"(?<![0-9{NUMERALS}第个.几数])" + f"{_MONTH}(?:{_OF_MONTH}|{_THIRD}|份)?(?![天饼亮光球票薪嫂子饭台])"
)
SAME_MONTH_DAY = lazy_match(f"(?:到|至|[-~～—－]{{1,2}}){_OF_MONTH}")
WEEK = lazy_match(
    "(?P<way>上上|下下|上|下|这|本)一?个?(?:周|星期|礼拜)(?!年|[围边岁末]?刊|围|边|岁|转|到)"
    "(?:(?P<end>末)|(?P<weekday>一(?![起直样定些下般共块天个次])|[二三四五六1-6]|日(?!常|子|记)|天(?!气|天)))?的?"
    f"(?:{_PART}(?:{_CLOCK})?)?"
)
WEEKDAY = lazy_match(
    f"(?<![0-9{NUMERALS}每个上下这本几数半])(?:周|星期|礼拜)"
    f"(?P<weekday>一(?![起直样定些下般共块天个])|[二三四五六](?!年|岁|个)|日(?!常|子|记)|天(?!气))的?(?:{_PART}(?:{_CLOCK})?)?"
)
WEEKEND = lazy_match(r"(?<![每个上下这本])周末(?!愉|快)")
REL_MONTH = lazy_match(
    f"(?P<way>上上|下下|(?<![登爬])上|(?<!脚)下|这|本)一?(?:个月|月(?![球亮台饼光色票]))(?:的?(?:{_OF_MONTH}|{_THIRD}))?"
)
REL_UNIT = lazy_match("(?P<way>上|下|这|本)一?个?(?P<unit>季度|年代|世纪)")
HALF_YEAR = lazy_match("(?P<half>[上下])半年")
COUNT = lazy_match(
    _ALONE + f"{_NUMBER}(?P<more>多)?(?P<unit>{_one_of(UNIT_OF)})(?![级代轻纪龄度薪货终份堂真才空年])(?P<more2>多|半)?"
    "(?:(?P<way>以前|之前|前(?![面后往进台锋])|以后|之后|后(?![面悔台者卫]))|(?P<since>以?来(?![了到自说回看])))?"
)
RECENT = lazy_match(
    f"(?P<way>过去|最近|近|前|未来|接下来|今后|这|头)的?这?(?P<number>[0-9]{{1,3}}|好?几|[{NUMERALS}]{{1,3}}|些|半)"
    f"(?P<unit>{_one_of(UNIT_OF)})(?![级代轻])"
)
A_WHILE_AGO = lazy_match("前(?:阵子|一阵子|段时间|一段时间|段日子)")
EVERY = lazy_match(
    f"每(?:隔|逢)?(?:[0-9]{{1,2}}|[{NUMERALS}]{{1,3}}|几)?个?(?:(?P<weekday>(?:周|星期|礼拜)[一二三四五六日天末])|(?P<season>[春夏秋冬][天季])"
    "|(?P<unit>小时|分钟|天|日|周|星期|礼拜|月|季度|年|晚|早|晚上|早上|周末|下午|上午))(?:的?(?:早上|晚上|上午|下午|中午))?"
    "|(?<![今明昨前后每])天天(?!气)|年年(?=[都有会])|(?:一|每)(?:天|周|个月|年)(?:[0-9]|[一二两三四五六七八九十几])次"
)
DECADE = lazy_match(
    _ALONE + "(?:(?P<century>上|二十|20)个?世纪)?(?P<decade>[0-9]0|[一二三四五六七八九]十|(?:1[5-9]|20)[0-9]0)年代"
)
QUARTER = lazy_match("第(?P<quarter>[一二三四1-4])季度")
FESTIVAL = lazy_match(f"(?<![0-9{NUMERALS}])" + _FESTIVAL)
TO = lazy_match("(?:日|号)?(?:到|至|[-~～—－]{1,2})")
SINCE = lazy_match("(?:年|月)?(?:以来|至今|到现在|到今天)")
ONWARDS = lazy_match("(?:起|开始)")
# 会 in 晚会 and 要 in 重要 are no sign of the future.
AHEAD = re.compile("(?<![晚聚大机学体社动宴年开])会(?!议)|(?<![重主需])要|将(?!近)|打算|计划|准备|记得|别忘").search
HABIT = re.compile("总|都|经常|时常|常常|一般|通常|往往|从来|喜欢").search
# The possible beginnings of a time: two characters at least, or a whole row of digits or numerals.
STARTS = re.compile(
    "[昨今明][天日早晚晨夜年后]|大[前后年]|[前头][天年几两些阵段一]|后[天年]|去年|[上下这本](?:[周星礼月半季世年午几两些]|[上下一个]{1,2}[个周星礼月季世年])"
    "|周[一二三四五六日天末]|星期[一二三四五六日天]|礼拜[一二三四五六日天]|每.|天天|年年"
    "|元旦|春节|除夕|情人|妇女|清[明晨早]|劳动|儿童|教师|国庆|中[秋午]|端午|圣诞|平安|万圣|感恩|母亲|父亲|凌晨|早[上晨]|傍晚|晚[上间]"
    f"|半夜|深夜|午后|正午|黄昏|夜[里晚]|过去|最近|近[0-9{NUMERALS}几]|未来|接下|第[一二三四1-4]季|好几"
    f"|[0-9]{{1,5}}+|[{NUMERALS}几数半]{{1,5}}+"
)

_NEARBY = 12  # characters in which a word about habit or the future is looked for
_QUOTES = "“\"'《「"


class _Text(NamedTuple):
    """A text in simplified characters, and when it was said."""

    text: str
    now: datetime
    ahead: bool = False
    """Whether all of it is about the future."""

    def is_habit(self, end: int) -> bool:
        return bool(HABIT(self.text[end : end + 5]))

    def lies_ahead(self, end: int) -> bool:
        """Whether the words after it are about the future."""
        return self.ahead or (bool(AHEAD(self.text[end : end + 6])) and "了" not in self.text[end : end + _NEARBY])


_Rule: TypeAlias = Callable[[_Text, int], DateReading | None]


def chinese_times(text: str, now: datetime, ahead: bool = False) -> list[DateReading]:
    """The times in Chinese, in order and without overlap; ``now`` is naive local time."""
    read = _Text(text.translate(SIMPLE) if IS_NOT_SIMPLE(text) else text, now, ahead)
    found: list[DateReading] = []
    done = 0
    for start in STARTS.finditer(read.text):
        at = start.start()
        if at < done:
            continue
        rules = _rules(read.text, at, start.end())
        reading = _first(rules, read, at) if rules else None
        if reading:
            reading = _extended(read, reading)
            found.append(reading)
            done = reading.end
    return found


def _rules(text: str, at: int, end: int) -> tuple[_Rule, ...]:
    """The rules for what begins there; for a number they depend on the following unit."""
    first = text[at : at + 1]
    rules = _STARTS.get(first)
    if rules is not None:
        return rules
    if text[at:end] in ("五一", "六一"):
        return (_festival, *_BY_UNIT.get(text[end : end + 1], ()))
    return _BY_UNIT.get(text[end : end + 1], ())


def _first(rules: tuple[_Rule, ...], text: _Text, at: int) -> DateReading | None:
    for rule in rules:
        try:
            reading = rule(text, at)
        except (ValueError, OverflowError, KeyError):  # 6月31日, the year 99999, a festival of a year unknown
            continue
        if reading:
            return reading
    return None


def _extended(text: _Text, reading: DateReading) -> DateReading:
    """The reading as a range, if 到 and another date, or 以来, follow it."""
    when = reading.when
    if when is None or reading.kind == "range":
        return reading
    started = text.text[max(0, reading.start - 2) : reading.start].endswith(("从", "自", "自从"))
    since = SINCE(text.text, reading.end) or (ONWARDS(text.text, reading.end) if started else None)
    if since and when.since < text.now:
        return timed(reading.start, since.end(), Stretch(when.since, text.now, when.grain), "range")
    joined = TO(text.text, reading.end)
    start = STARTS.match(text.text, joined.end()) if joined else None
    last = _first(_rules(text.text, *start.span()), text, start.start()) if start else None
    if last and last.when and last.kind in ("date", "time") and last.when.until > when.since:
        return timed(reading.start, last.end, Stretch(when.since, last.when.until, last.when.grain), "range")
    return reading


def _number(words: str) -> float:
    """A number in digits or characters, 二〇二三 too. Raises ``KeyError`` or ``ValueError`` for anything else."""
    if words[0] in "0123456789":
        return float(words)
    if words == "半":
        return 0.5
    if len(words) > 2 and not any(char in TENS for char in words):
        return float("".join(str(DIGITS[char]) for char in words))
    total, last = 0, 0
    for char in words:
        if char in TENS:
            total, last = total + (last or 1) * TENS[char], 0
        else:
            last = DIGITS[char]
    return float(total + last)


def _amount(words: str) -> tuple[float, float]:
    """The least and the most that a number may mean."""
    if words in ("几", "好几", "数", "些"):
        return (2, 5)
    if words in ("几十", "好几十", "数十", "十几"):
        return (11, 19) if words == "十几" else (20, 90)
    number = _number(words)
    return number, number


def _narrowed(found: re.Match[str], of_day: Stretch) -> Stretch:
    """The day, or its part, or its hour, as far as they are given."""
    hour = _hour(found, of_day)
    if hour:
        return hour
    return calendars.part(of_day, PART_OF[found["part"]]) if found["part"] else of_day


def _hour(found: re.Match[str], of_day: Stretch) -> Stretch | None:
    part = PART_OF.get(found["part"] or "", "")
    if found["hour24"]:
        hour, minute = int(found["hour24"]), int(found["minute24"])
    elif found["hour"]:
        hour, minute = int(_number(found["hour"])), _minute(found)
    else:
        return None
    if hour > 24 or (minute or 0) > 59:
        raise ValueError(f"no such hour: {hour}")
    # 晚上12点 is the end of the day; 下午3点 is 15:00.
    if hour < 12 and (part in ("afternoon", "evening", "night") or (part == "noon" and hour < 10)):
        hour += 12
    return calendars.at(of_day, 24 if hour == 12 and part == "night" else hour, minute)


def _minute(found: re.Match[str]) -> int | None:
    if found["quarter"]:
        return {"半": 30, "一刻": 15, "三刻": 45}[found["quarter"]]
    return int(_number(found["minute"])) if found["minute"] else None


def _day_word(text: _Text, at: int) -> DateReading | None:
    found = DAY_WORD(text.text, at)
    if not found:
        return None
    word = found["day"]
    shift = DAYS[word if word in DAYS else word[0]]
    when = _narrowed(found, calendars.unit(text.now, "day", shift))
    end = found.end() - (text.text[found.end() - 1] == "的")
    return timed(at, end, when)


def _part_clock(text: _Text, at: int) -> DateReading | None:
    found = PART_CLOCK(text.text, at)
    return timed(at, found.end(), _narrowed(found, calendars.unit(text.now, "day"))) if found else None


def _part_alone(text: _Text, at: int) -> DateReading | None:
    found = PART_ALONE(text.text, at)
    if not found:
        return None
    if text.is_habit(found.end()):
        return DateReading(at, found.end(), None, "recurring", "part")
    return timed(at, found.end(), calendars.part(calendars.unit(text.now, "day"), PART_OF[found["part"]]))


def _clock(text: _Text, at: int) -> DateReading | None:
    """An hour without a part of the day: 三点 alone may be three points, 三点半 and 三点钟 are times."""
    found = CLOCK(text.text, at)
    if not found or (found["hour"] and not (found["sharp"] or found["quarter"] or found["minute"])):
        return None
    today = calendars.unit(text.now, "day")
    when = _hour(found, today)
    if when and found["hour"] and when.since - today.since < timedelta(hours=7):  # most events happen by day
        when = Stretch(when.since + timedelta(hours=12), when.until + timedelta(hours=12), when.grain)
    return timed(at, found.end(), when) if when else None


def _year(text: _Text, at: int) -> DateReading | None:
    found = YEAR(text.text, at)
    if not found:
        return None
    number = int(_number(found["year"])) if found["year"] else text.now.year + YEARS[found["named"]]
    end = found.end() - (text.text[found.end() - 1] == "的")
    when, kind = _of_year(found, number)
    return timed(at, end, when, kind)


def _of_year(found: re.Match[str], number: int) -> tuple[Stretch, str]:
    """The given part of a year."""
    if found["month"]:
        return _of_month(found, number, int(_number(found["month"])))
    if found["edge"]:
        which = {"初": 0, "中": 1}.get(found["edge"], 2)
        return calendars.third(calendars.year(number), which), "range"
    if found["half"]:
        return _half(number, found["half"]), "range"
    if found["quarter"]:
        return calendars.unit(calendars.month(number, int(_number(found["quarter"])) * 3).since, "quarter"), ""
    if found["season"]:
        return calendars.season(number, SEASONS[found["season"]]), ""
    if found["festival"]:
        return calendars.festival(number, FESTIVALS[found["festival"]]), ""
    if found["holiday"]:
        return Stretch(calendars.month(number, 7).since, calendars.month(number, 8).until, "season"), ""
    return calendars.year(number), ""


def _half(number: int, which: str) -> Stretch:
    first = calendars.month(number, 1 if which == "上" else 7).since
    return Stretch(first, calendars.step(first, "month", 6), "month")


def _of_month(found: re.Match[str], year: int, number: int) -> tuple[Stretch, str]:
    whole = calendars.month(year, number)
    if found["day"]:
        return calendars.day(year, number, int(_number(found["day"]))), ""
    if found["third"]:
        which = {"初": 0, "上旬": 0, "中旬": 1, "中": 1}.get(found["third"], 2)
        return calendars.third(whole, which), "range"
    return whole, ""


def _month(text: _Text, at: int) -> DateReading | None:
    found = MONTH(text.text, at)
    if not found:
        return None
    number = int(_number(found["month"]))
    of_month = int(_number(found["day"])) if found["day"] else 28
    year = calendars.likely_year(text.now, number, of_month, ahead=text.lies_ahead(found.end()))
    when, kind = _of_month(found, year, number)
    last = SAME_MONTH_DAY(text.text, found.end()) if found["day"] else None
    if last:
        until = calendars.day(year, number, int(_number(last["day"]))).until
        return timed(at, last.end(), Stretch(when.since, until, "day"), "range") if until > when.since else None
    return timed(at, found.end(), when, kind)


def _week(text: _Text, at: int) -> DateReading | None:
    found = WEEK(text.text, at)
    if not found:
        return None
    shift = WAYS[found["way"]]
    end = found.end() - (text.text[found.end() - 1] == "的")
    if found["end"]:
        return timed(at, found.end("end"), calendars.weekend(text.now, shift))
    if not found["weekday"]:
        return timed(at, found.start("part") if found["part"] else end, calendars.unit(text.now, "week", shift))
    of_day = calendars.weekday_of_week(text.now, WEEKDAYS[found["weekday"]], shift)
    return timed(at, end, _narrowed(found, of_day))


def _weekday(text: _Text, at: int) -> DateReading | None:
    found = WEEKDAY(text.text, at)
    if not found or (at and text.text[at - 1] in _QUOTES):  # “星期五” is a name
        return None
    nearest = calendars.weekday_after if text.lies_ahead(found.end()) else calendars.weekday_before
    of_day = nearest(text.now, WEEKDAYS[found["weekday"]])
    end = found.end() - (text.text[found.end() - 1] == "的")
    return timed(at, end, _narrowed(found, of_day))


def _weekend(text: _Text, at: int) -> DateReading | None:
    found = WEEKEND(text.text, at)
    if not found:
        return None
    if text.is_habit(found.end()):
        return DateReading(at, found.end(), None, "recurring", "weekend")
    over = text.now.weekday() < 5 and not text.lies_ahead(found.end())
    return timed(at, found.end(), calendars.weekend(text.now, -1 if over else 0))


def _relative_month(text: _Text, at: int) -> DateReading | None:
    found = REL_MONTH(text.text, at)
    if not found:
        return None
    first = calendars.unit(text.now, "month", WAYS[found["way"]]).since
    when, kind = _of_month(found, first.year, first.month)
    return timed(at, found.end(), when, kind)


def _relative_unit(text: _Text, at: int) -> DateReading | None:
    found = REL_UNIT(text.text, at) or HALF_YEAR(text.text, at)
    if not found:
        return None
    if "half" in found.groupdict():
        return timed(at, found.end(), _half(text.now.year, found["half"]), "range")
    grain = {"季度": "quarter", "年代": "decade", "世纪": "century"}[found["unit"]]
    return timed(at, found.end(), calendars.unit(text.now, grain, WAYS[found["way"]]))


def _count(text: _Text, at: int) -> DateReading | None:
    """三天前, 两周后; and 三年来 or 三天, which are durations."""
    found = COUNT(text.text, at)
    if not found:
        return None
    unit = UNIT_OF[found["unit"]]
    low, high = _amount(found["number"])
    if found["more2"] == "半":
        low, high = low + 0.5, high + 0.5
    if found["way"]:
        way = 1 if found["way"].endswith("后") else -1
        return timed(at, found.end(), _away(text.now, low, high, unit, way))
    if not _is_duration(found, unit):
        return None
    return DateReading(at, found.end(), None, "duration", unit, (low + high) / 2 * SECONDS[unit])


def _is_duration(found: re.Match[str], unit: str) -> bool:
    """Whether a count alone is a duration: 一天 and 半天 mostly are not, nor is 23年."""
    if found["number"] in ("一", "半", "1", "百"):
        more = bool(found["since"] or found["more2"])
        return more or (found["unit"].startswith("个") or unit in ("hour", "minute", "week") or found[0] == "半年")
    return found["unit"] != "年" or len(found["number"]) < 4


def _away(now: datetime, low: float, high: float, unit: str, way: int) -> Stretch:
    near, far = (_about(now, unit, way * count) for count in (low, high))
    return near if low == high else Stretch(min(near, far).since, max(near, far).until, unit)


def _about(now: datetime, unit: str, count: float) -> Stretch:
    if unit == "month" and count % 1:
        return calendars.around(now, "week", round(count * 30 / 7))
    if unit == "year" and count % 1:
        return calendars.around(now, "month", round(count * 12))
    return calendars.around(now, unit, count)


def _recent(text: _Text, at: int) -> DateReading | None:
    """近三年, 前几天, 未来两周."""
    found = RECENT(text.text, at)
    if not found:
        return None
    unit = UNIT_OF[found["unit"]]
    _, high = _amount(found["number"])
    way, now = found["way"], text.now
    if way in ("这", "前", "头") and found["number"] not in ("几", "好几", "些", "两", "2"):
        return None  # 前三年 are the first three, 这三天 are some three
    ahead = way in ("未来", "接下来", "今后")
    there = calendars.step(now, unit, high if ahead else -max(high, 5 if way == "前" else 0))
    first = now if ahead else there if unit in ("hour", "minute", "second") else calendars.floor(there, "day")
    return timed(at, found.end(), Stretch(first, max(now, there), unit), "range")


def _a_while_ago(text: _Text, at: int) -> DateReading | None:
    found = A_WHILE_AGO(text.text, at)
    if not found:
        return None
    first = calendars.floor(text.now - timedelta(days=45), "day")
    return timed(at, found.end(), Stretch(first, text.now, "month"), "range")


def _recurring(text: _Text, at: int) -> DateReading | None:
    found = EVERY(text.text, at)
    if not found:
        return None
    names = {"小时": "hour", "分钟": "minute", "月": "month", "季度": "quarter", "年": "year", "周末": "weekend"}
    names |= {"周": "week", "星期": "week", "礼拜": "week", "晚": "part", "早": "part", "晚上": "part", "早上": "part"}
    grain = "season" if found["season"] else names.get(found["unit"] or "", "day")
    return DateReading(at, found.end(), None, "recurring", grain)


def _decade(text: _Text, at: int) -> DateReading | None:
    found = DECADE(text.text, at)
    if not found:
        return None
    first = int(_number(found["decade"]))
    if first < 100:
        first += 1900 if found["century"] or first >= 20 else 2000
    return timed(at, found.end(), calendars.unit(calendars.year(first).since, "decade"))


def _quarter(text: _Text, at: int) -> DateReading | None:
    found = QUARTER(text.text, at)
    if not found:
        return None
    number = int(_number(found["quarter"])) * 3 - 2
    year = calendars.likely_year(text.now, number, 28, ahead=text.lies_ahead(found.end()))
    return timed(at, found.end(), calendars.unit(calendars.month(year, number).since, "quarter"))


def _festival(text: _Text, at: int) -> DateReading | None:
    found = FESTIVAL(text.text, at)
    if not found:
        return None
    name = FESTIVALS[found["festival"]]
    this = calendars.festival(text.now.year, name).since
    ahead = text.lies_ahead(found.end())
    year = calendars.likely_year(text.now, this.month, this.day, ahead=ahead)
    return timed(at, found.end(), calendars.festival(year, name))


_PARTS: tuple[_Rule, ...] = (_part_clock, _part_alone)
_STARTS: dict[str, tuple[_Rule, ...]] = (
    dict.fromkeys("上下这本", (_week, _relative_month, _decade, _relative_unit, _recent, *_PARTS, _year))
    | dict.fromkeys("周星礼", (_weekday, _weekend))
    | dict.fromkeys("昨明后", (_day_word, _year))
    | dict.fromkeys("每天年", (_recurring,))
    | dict.fromkeys("元春除情妇劳儿教国端圣平万感母父", (_festival,))
    | dict.fromkeys("凌早傍晚深午正黄夜", _PARTS)
    | dict.fromkeys("过最近未接头", (_recent,))
    | dict.fromkeys("清中", (*_PARTS, _festival))
    | {"今": (_day_word, _year, _recent), "大": (_day_word, _year, _festival), "去": (_year,), "第": (_quarter,)}
    | {"前": (_day_word, _year, _recent, _a_while_ago), "好": (_count,)}
)
# By the character after a number.
_BY_UNIT: dict[str, tuple[_Rule, ...]] = (
    dict.fromkeys("天周星礼个小分秒", (_recurring, _count))
    | dict.fromkeys("点时:", (_clock,))
    | {"年": (_decade, _year, _count), "月": (_month,), "世": (_decade,), "多": (_count,), ".": (_count,), "夜": _PARTS}
    | {"早": (_part_clock,), "大": (_part_clock,)}
)
