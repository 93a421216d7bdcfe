"""Chinese words for times, read against the local time at which they were said.

A text is searched for the characters that may begin an expression, and each is tried with the few patterns that begin
so. A week begins on Monday, so 上周五 is the Friday of the week before this one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import NamedTuple, TypeAlias

from memwell.language.dates import calendars
from memwell.language.dates import chinese_patterns as patterns
from memwell.language.dates.calendars import SECONDS, Stretch
from memwell.language.dates.readings import Reading, timed

_NEARBY = 12  # characters in which a word about habit or the future is looked for
_QUOTES = "“\"'《「"


class _Text(NamedTuple):
    """A text in simple characters, and when it was said."""

    text: str
    now: datetime

    def is_habit(self, end: int) -> bool:
        return bool(patterns.HABIT(self.text[end : end + 5]))

    def lies_ahead(self, end: int) -> bool:
        """Whether the words after it speak of what is to come."""
        return bool(patterns.AHEAD(self.text[end : end + 6])) and "了" not in self.text[end : end + _NEARBY]


_Rule: TypeAlias = Callable[[_Text, int], Reading | None]


def chinese_times(text: str, now: datetime) -> list[Reading]:
    """The times named in Chinese, in order and without overlap; ``now`` is naive local time."""
    read = _Text(text.translate(patterns.SIMPLE) if patterns.IS_NOT_SIMPLE(text) else text, now)
    found: list[Reading] = []
    done = 0
    for start in patterns.STARTS.finditer(read.text):
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
    """The rules for what begins there; for a number they depend on the unit that follows it."""
    first = text[at : at + 1]
    rules = _STARTS.get(first)
    if rules is not None:
        return rules
    if text[at:end] in ("五一", "六一"):
        return (_festival, *_BY_UNIT.get(text[end : end + 1], ()))
    return _BY_UNIT.get(text[end : end + 1], ())


def _first(rules: tuple[_Rule, ...], text: _Text, at: int) -> Reading | None:
    for rule in rules:
        try:
            reading = rule(text, at)
        except (ValueError, OverflowError, KeyError):  # 6月31日, the year 99999, a festival of a year unknown
            continue
        if reading:
            return reading
    return None


def _extended(text: _Text, reading: Reading) -> Reading:
    """The reading as a range, where 到 and another date, or 以来, follow it."""
    when = reading.when
    if when is None or reading.kind == "range":
        return reading
    started = text.text[max(0, reading.start - 2) : reading.start].endswith(("从", "自", "自从"))
    since = patterns.SINCE(text.text, reading.end) or (patterns.ONWARDS(text.text, reading.end) if started else None)
    if since and when.since < text.now:
        return timed(reading.start, since.end(), Stretch(when.since, text.now, when.grain), "range")
    joined = patterns.TO(text.text, reading.end)
    start = patterns.STARTS.match(text.text, joined.end()) if joined else None
    last = _first(_rules(text.text, *start.span()), text, start.start()) if start else None
    if last and last.when and last.kind in ("date", "time") and last.when.until > when.since:
        return timed(reading.start, last.end, Stretch(when.since, last.when.until, last.when.grain), "range")
    return reading


def _number(words: str) -> float:
    """A number in digits or characters, 二〇二三 too. Raises ``KeyError`` or ``ValueError`` for what is none."""
    if words[0] in "0123456789":
        return float(words)
    if words == "半":
        return 0.5
    if len(words) > 2 and not any(char in patterns.TENS for char in words):
        return float("".join(str(patterns.DIGITS[char]) for char in words))
    total, last = 0, 0
    for char in words:
        if char in patterns.TENS:
            total, last = total + (last or 1) * patterns.TENS[char], 0
        else:
            last = patterns.DIGITS[char]
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
    """The day, or its part, or its hour, as far as they were said."""
    hour = _hour(found, of_day)
    if hour:
        return hour
    return calendars.part(of_day, patterns.PART_OF[found["part"]]) if found["part"] else of_day


def _hour(found: re.Match[str], of_day: Stretch) -> Stretch | None:
    part = patterns.PART_OF.get(found["part"] or "", "")
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


def _day_word(text: _Text, at: int) -> Reading | None:
    found = patterns.DAY_WORD(text.text, at)
    if not found:
        return None
    word = found["day"]
    shift = patterns.DAYS[word if word in patterns.DAYS else word[0]]
    when = _narrowed(found, calendars.unit(text.now, "day", shift))
    end = found.end() - (text.text[found.end() - 1] == "的")
    return timed(at, end, when)


def _part_clock(text: _Text, at: int) -> Reading | None:
    found = patterns.PART_CLOCK(text.text, at)
    return timed(at, found.end(), _narrowed(found, calendars.unit(text.now, "day"))) if found else None


def _part_alone(text: _Text, at: int) -> Reading | None:
    found = patterns.PART_ALONE(text.text, at)
    if not found:
        return None
    if text.is_habit(found.end()):
        return Reading(at, found.end(), None, "recurring", "part")
    return timed(at, found.end(), calendars.part(calendars.unit(text.now, "day"), patterns.PART_OF[found["part"]]))


def _clock(text: _Text, at: int) -> Reading | None:
    """An hour without a part of the day: 三点 alone may be three points, 三点半 and 三点钟 are not."""
    found = patterns.CLOCK(text.text, at)
    if not found or (found["hour"] and not (found["sharp"] or found["quarter"] or found["minute"])):
        return None
    today = calendars.unit(text.now, "day")
    when = _hour(found, today)
    if when and found["hour"] and when.since - today.since < timedelta(hours=7):  # most of what is told happens by day
        when = Stretch(when.since + timedelta(hours=12), when.until + timedelta(hours=12), when.grain)
    return timed(at, found.end(), when) if when else None


def _year(text: _Text, at: int) -> Reading | None:
    found = patterns.YEAR(text.text, at)
    if not found:
        return None
    number = int(_number(found["year"])) if found["year"] else text.now.year + patterns.YEARS[found["named"]]
    end = found.end() - (text.text[found.end() - 1] == "的")
    when, kind = _of_year(found, number)
    return timed(at, end, when, kind)


def _of_year(found: re.Match[str], number: int) -> tuple[Stretch, str]:
    """What of a year was named."""
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
        return calendars.season(number, patterns.SEASONS[found["season"]]), ""
    if found["festival"]:
        return calendars.festival(number, patterns.FESTIVALS[found["festival"]]), ""
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


def _month(text: _Text, at: int) -> Reading | None:
    found = patterns.MONTH(text.text, at)
    if not found:
        return None
    number = int(_number(found["month"]))
    of_month = int(_number(found["day"])) if found["day"] else 28
    year = calendars.likely_year(text.now, number, of_month, ahead=text.lies_ahead(found.end()))
    when, kind = _of_month(found, year, number)
    last = patterns.SAME_MONTH_DAY(text.text, found.end()) if found["day"] else None
    if last:
        until = calendars.day(year, number, int(_number(last["day"]))).until
        return timed(at, last.end(), Stretch(when.since, until, "day"), "range") if until > when.since else None
    return timed(at, found.end(), when, kind)


def _week(text: _Text, at: int) -> Reading | None:
    found = patterns.WEEK(text.text, at)
    if not found:
        return None
    shift = patterns.WAYS[found["way"]]
    end = found.end() - (text.text[found.end() - 1] == "的")
    if found["end"]:
        return timed(at, found.end("end"), calendars.weekend(text.now, shift))
    if not found["weekday"]:
        return timed(at, found.start("part") if found["part"] else end, calendars.unit(text.now, "week", shift))
    of_day = calendars.weekday_of_week(text.now, patterns.WEEKDAYS[found["weekday"]], shift)
    return timed(at, end, _narrowed(found, of_day))


def _weekday(text: _Text, at: int) -> Reading | None:
    found = patterns.WEEKDAY(text.text, at)
    if not found or (at and text.text[at - 1] in _QUOTES):  # “星期五” is a name
        return None
    nearest = calendars.weekday_after if text.lies_ahead(found.end()) else calendars.weekday_before
    of_day = nearest(text.now, patterns.WEEKDAYS[found["weekday"]])
    end = found.end() - (text.text[found.end() - 1] == "的")
    return timed(at, end, _narrowed(found, of_day))


def _weekend(text: _Text, at: int) -> Reading | None:
    found = patterns.WEEKEND(text.text, at)
    if not found:
        return None
    if text.is_habit(found.end()):
        return Reading(at, found.end(), None, "recurring", "weekend")
    over = text.now.weekday() < 5 and not text.lies_ahead(found.end())
    return timed(at, found.end(), calendars.weekend(text.now, -1 if over else 0))


def _relative_month(text: _Text, at: int) -> Reading | None:
    found = patterns.REL_MONTH(text.text, at)
    if not found:
        return None
    first = calendars.unit(text.now, "month", patterns.WAYS[found["way"]]).since
    when, kind = _of_month(found, first.year, first.month)
    return timed(at, found.end(), when, kind)


def _relative_unit(text: _Text, at: int) -> Reading | None:
    found = patterns.REL_UNIT(text.text, at) or patterns.HALF_YEAR(text.text, at)
    if not found:
        return None
    if "half" in found.groupdict():
        return timed(at, found.end(), _half(text.now.year, found["half"]), "range")
    grain = {"季度": "quarter", "年代": "decade", "世纪": "century"}[found["unit"]]
    return timed(at, found.end(), calendars.unit(text.now, grain, patterns.WAYS[found["way"]]))


def _count(text: _Text, at: int) -> Reading | None:
    """三天前, 两周后; and 三年来 or 三天, which are durations."""
    found = patterns.COUNT(text.text, at)
    if not found:
        return None
    unit = patterns.UNIT_OF[found["unit"]]
    low, high = _amount(found["number"])
    if found["more2"] == "半":
        low, high = low + 0.5, high + 0.5
    if found["way"]:
        way = 1 if found["way"].endswith("后") else -1
        return timed(at, found.end(), _away(text.now, low, high, unit, way))
    if not _is_duration(found, unit):
        return None
    return Reading(at, found.end(), None, "duration", unit, (low + high) / 2 * SECONDS[unit])


def _is_duration(found: re.Match[str], unit: str) -> bool:
    """Whether a count alone says how long: 一天 and 半天 mostly do not, nor does 23年."""
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


def _recent(text: _Text, at: int) -> Reading | None:
    """近三年, 前几天, 未来两周."""
    found = patterns.RECENT(text.text, at)
    if not found:
        return None
    unit = patterns.UNIT_OF[found["unit"]]
    _, high = _amount(found["number"])
    way, now = found["way"], text.now
    if way in ("这", "前", "头") and found["number"] not in ("几", "好几", "些", "两", "2"):
        return None  # 前三年 are the first three, 这三天 are some three
    ahead = way in ("未来", "接下来", "今后")
    there = calendars.step(now, unit, high if ahead else -max(high, 5 if way == "前" else 0))
    first = now if ahead else there if unit in ("hour", "minute", "second") else calendars.floor(there, "day")
    return timed(at, found.end(), Stretch(first, max(now, there), unit), "range")


def _a_while_ago(text: _Text, at: int) -> Reading | None:
    found = patterns.A_WHILE_AGO(text.text, at)
    if not found:
        return None
    first = calendars.floor(text.now - timedelta(days=45), "day")
    return timed(at, found.end(), Stretch(first, text.now, "month"), "range")


def _recurring(text: _Text, at: int) -> Reading | None:
    found = patterns.EVERY(text.text, at)
    if not found:
        return None
    names = {"小时": "hour", "分钟": "minute", "月": "month", "季度": "quarter", "年": "year", "周末": "weekend"}
    names |= {"周": "week", "星期": "week", "礼拜": "week", "晚": "part", "早": "part", "晚上": "part", "早上": "part"}
    grain = "season" if found["season"] else names.get(found["unit"] or "", "day")
    return Reading(at, found.end(), None, "recurring", grain)


def _decade(text: _Text, at: int) -> Reading | None:
    found = patterns.DECADE(text.text, at)
    if not found:
        return None
    first = int(_number(found["decade"]))
    if first < 100:
        first += 1900 if found["century"] or first >= 20 else 2000
    return timed(at, found.end(), calendars.unit(calendars.year(first).since, "decade"))


def _quarter(text: _Text, at: int) -> Reading | None:
    found = patterns.QUARTER(text.text, at)
    if not found:
        return None
    number = int(_number(found["quarter"])) * 3 - 2
    year = calendars.likely_year(text.now, number, 28, ahead=text.lies_ahead(found.end()))
    return timed(at, found.end(), calendars.unit(calendars.month(year, number).since, "quarter"))


def _festival(text: _Text, at: int) -> Reading | None:
    found = patterns.FESTIVAL(text.text, at)
    if not found:
        return None
    name = patterns.FESTIVALS[found["festival"]]
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

__all__ = ["chinese_times"]
