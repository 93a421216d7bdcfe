from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memwell.language import dates as calendars
from memwell.language.dates import TimeExpression, shown_date, time_expressions

NOW = datetime(2023, 8, 16, 14, 30, tzinfo=UTC)  # a Wednesday
SUNDAY = datetime(2023, 9, 3, 9, 0, tzinfo=UTC)

# Words, and the days (or minutes) from and up to which they reach; a day alone is that day.
DAYS = {
    "today": "2023-08-16", "yesterday": "2023-08-15", "tomorrow": "2023-08-17",
    "the day before yesterday": "2023-08-14", "the day after tomorrow": "2023-08-18", "last Friday": "2023-08-11",
    "last Wednesday": "2023-08-09", "this Friday": "2023-08-18", "next Friday": "2023-08-25", "Friday": "2023-08-11",
    "3 days ago": "2023-08-13", "May 7th": "2023-05-07", "September 20": "2023-09-20", "December 20": "2022-12-20",
    "7 May 2023": "2023-05-07", "8 May, 2023": "2023-05-08", "the 7th of May 2023": "2023-05-07",
    "May 7, 2023": "2023-05-07", "Sunday, May 7, 2023": "2023-05-07", "2023-05-07": "2023-05-07",
    "2023/5/7": "2023-05-07", "05/07/2023": "2023-05-07", "25/07/2023": "2023-07-25", "7.5.2023": "2023-05-07",
    "12/25/22": "2022-12-25", "two days before Christmas 2022": "2022-12-23", "the day after May 7": "2023-05-08",
    "the Friday before July 15": "2023-07-14", "last Christmas": "2022-12-25", "Halloween 2021": "2021-10-31",
    "Easter 2024": "2024-03-31", "Thanksgiving 2022": "2022-11-24", "今天": "2023-08-16", "昨天": "2023-08-15",
    "前天": "2023-08-14", "大前天": "2023-08-13", "明天": "2023-08-17", "后天": "2023-08-18", "上周五": "2023-08-11",
    "上個禮拜五": "2023-08-11", "下周一": "2023-08-21", "下下周三": "2023-08-30", "周五": "2023-08-11",
    "上个月3号": "2023-07-03", "三天前": "2023-08-13", "2023年5月7日": "2023-05-07",
    "２０２３年５月７日": "2023-05-07", "二〇二三年五月七日": "2023-05-07", "去年12月25日": "2022-12-25",
    "5月7号": "2023-05-07", "十二月二十号": "2022-12-20", "今年中秋": "2023-09-29", "除夕": "2023-01-21",
}  # fmt: skip
STRETCHES = {
    "last week": "2023-08-07 2023-08-14 week", "this week": "2023-08-14 2023-08-21 week",
    "last weekend": "2023-08-12 2023-08-14 weekend", "last month": "2023-07-01 2023-08-01 month",
    "next month": "2023-09-01 2023-10-01 month", "last year": "2022-01-01 2023-01-01 year",
    "last summer": "2022-06-01 2022-09-01 season", "this summer": "2023-06-01 2023-09-01 season",
    "last May": "2023-05-01 2023-06-01 month", "last December": "2022-12-01 2023-01-01 month",
    "summer of 2021": "2021-06-01 2021-09-01 season", "a couple of weeks ago": "2023-07-30 2023-08-06 week",
    "a few days ago": "2023-08-11 2023-08-15 day", "2-3 days ago": "2023-08-13 2023-08-15 day",
    "in two weeks": "2023-08-27 2023-09-03 week", "two years ago": "2021-01-01 2022-01-01 year",
    "half a year ago": "2023-02-01 2023-03-01 month", "a year and a half ago": "2022-02-01 2022-03-01 month",
    "May 2023": "2023-05-01 2023-06-01 month", "2023-05": "2023-05-01 2023-06-01 month",
    "the week before June 9": "2023-06-02 2023-06-09 week", "the week of June 9": "2023-06-05 2023-06-12 week",
    "the weekend of May 6": "2023-05-06 2023-05-08 weekend", "between May 1 and May 5": "2023-05-01 2023-05-06 day",
    "May 1-5, 2023": "2023-05-01 2023-05-06 day", "from 2019 to 2021": "2019-01-01 2022-01-01 year",
    "since 2019": "2019-01-01 2023-08-16T14:30 year", "the past week": "2023-08-09T14:30 2023-08-16T14:30 week",
    "for the past three years": "2020-08-16T14:30 2023-08-16T14:30 year",
    "next 3 days": "2023-08-16T14:30 2023-08-19T14:30 day", "the end of May": "2023-05-21 2023-06-01 month",
    "early 2000s": "2000-01-01 2003-05-02 decade", "Q3 2023": "2023-07-01 2023-10-01 quarter",
    "the first quarter of 2022": "2022-01-01 2022-04-01 quarter", "the other day": "2023-08-09 2023-08-16T14:30 week",
    "tonight": "2023-08-16T18:00 2023-08-17T06:00 part", "last night": "2023-08-15T18:00 2023-08-16T06:00 part",
    "this morning": "2023-08-16T05:00 2023-08-16T12:00 part",
    "last Friday night": "2023-08-11T18:00 2023-08-12T06:00 part",
    "tomorrow at 3pm": "2023-08-17T15:00 2023-08-17T16:00 hour",
    "1:56 pm on 8 May, 2023": "2023-05-08T13:56 2023-05-08T13:57 minute",
    "2023-05-07T10:30:00Z": "2023-05-07T10:30 2023-05-07T10:31 minute",
    "noon": "2023-08-16T12:00 2023-08-16T13:00 hour", "an hour ago": "2023-08-16T13:00 2023-08-16T14:00 hour",
    "这周末": "2023-08-19 2023-08-21 weekend", "周末": "2023-08-12 2023-08-14 weekend",
    "上周": "2023-08-07 2023-08-14 week", "上个月": "2023-07-01 2023-08-01 month",
    "本月底": "2023-08-21 2023-09-01 month", "去年": "2022-01-01 2023-01-01 year",
    "前年": "2021-01-01 2022-01-01 year", "去年夏天": "2022-06-01 2022-09-01 season",
    "2023年底": "2023-09-01 2024-01-01 year", "上半年": "2023-01-01 2023-07-01 month",
    "两周后": "2023-08-27 2023-09-03 week", "半年前": "2023-02-01 2023-03-01 month",
    "两年半前": "2021-02-01 2021-03-01 month", "几个月前": "2023-03-01 2023-07-01 month",
    "十年前": "2013-01-01 2014-01-01 year", "2023年5月": "2023-05-01 2023-06-01 month",
    "五月": "2023-05-01 2023-06-01 month", "5月1日到5日": "2023-05-01 2023-05-06 day",
    "2019年到2021年": "2019-01-01 2022-01-01 year", "2019年以来": "2019-01-01 2023-08-16T14:30 year",
    "近三年": "2020-08-16 2023-08-16T14:30 year", "前几天": "2023-08-11 2023-08-16T14:30 day",
    "2023年第三季度": "2023-07-01 2023-10-01 quarter", "上世纪八十年代": "1980-01-01 1990-01-01 decade",
    "国庆节": "2023-10-01 2023-10-08 day", "春节": "2023-01-22 2023-01-29 day",
    "上午": "2023-08-16T05:00 2023-08-16T12:00 part", "昨晚": "2023-08-15T18:00 2023-08-16T06:00 part",
    "下午三点": "2023-08-16T15:00 2023-08-16T16:00 hour", "昨天晚上10:30": "2023-08-15T22:30 2023-08-15T22:31 minute",
    "晚上12点": "2023-08-17T00:00 2023-08-17T01:00 hour",
}  # fmt: skip
INSIDE = {
    "It may rain in May.": "May", "I went there in March": "March", "see you at 3pm!": "3pm",
    "we met at 3pm. Then we left": "3pm", "back in the '80s": "80s", "by 2025.": "2025", "今天天气好": "今天",
    "这周一起去": "这周", "昨天的比赛": "昨天", "今天晚饭吃什么": "今天", "元旦晚会": "元旦",
}  # fmt: skip
NOTHING = [
    "it may be", "we march on", "second place", "5", "between 5 and 7", "April said hi", "10 years old",
    "a 5-year-old", "in 2000 steps", "31 June", "Feb 30 2023", "version 3.14", "Rome wasn't built in a day", "one day",
    "the next day", "John 3:16", "the second time", "fall down", "spring water", "a Christmas tree", "99999-01-01",
    "99999 years ago", "三点建议", "三年级", "第三天", "一天到晚", "五月天", "每个人", "早上好", "以前天天去",
    "6月31日", "99999年", "登上月球", "三周年", "后来", "“星期五”", "一下午", "百年", "", " ",
]  # fmt: skip
DURATIONS = {
    "for two hours": 7200, "for about 3 days": 259_200, "25 minutes": 1500, "5-7 weeks": 6 * 604_800,
    "a two-hour drive": 7200, "we haven't talked in three weeks": 1_814_400, "玩了三个小时": 10_800, "半个小时": 1800,
    "三年来": 3 * 31_556_952, "二十五分钟": 1500,
}  # fmt: skip
RECURRING = {
    "every Friday": "day", "on Fridays": "day", "each morning": "part", "twice a week": "week",
    "five days a week": "week", "on weekends": "weekend", "on Sunday mornings": "day", "每天": "day", "每周五": "day",
    "每个月": "month", "周末我们总是一起玩": "weekend", "我晚上总是睡不好": "part",
}  # fmt: skip


def only(text: str, now: datetime = NOW) -> TimeExpression:
    found = time_expressions(text, now=now)
    assert len(found) == 1, found
    return found[0]


def day_one(year: int) -> datetime:
    return datetime(year, 1, 1)  # noqa: DTZ001 (local time)


def utc(moment: str) -> datetime:
    return datetime.fromisoformat(moment).replace(tzinfo=UTC)


def test_days() -> None:
    found = {text: only(text) for text in DAYS}
    assert {text: (one.since, one.until) for text, one in found.items()} == {
        text: (utc(day), utc(day) + timedelta(days=1)) for text, day in DAYS.items()
    }
    assert [text for text, one in found.items() if (one.kind, one.grain) != ("date", "day")] == []


def test_stretches() -> None:
    found = {text: only(text) for text in STRETCHES}
    expected = {text: (utc(since), utc(until), grain) for text, (since, until, grain) in map(_split, STRETCHES.items())}
    assert {text: (one.since, one.until, one.grain) for text, one in found.items()} == expected
    assert [text for text, one in found.items() if one.seconds is not None] == []


def _split(stretch: tuple[str, str]) -> tuple[str, list[str]]:
    return stretch[0], stretch[1].split()


@pytest.mark.parametrize(("text", "words"), INSIDE.items())
def test_the_words_are_found_in_their_place(text: str, words: str) -> None:
    found = only(text)
    assert found.text == words == text[found.start : found.end]


def test_what_names_no_time() -> None:
    assert {text: found for text in NOTHING if (found := time_expressions(text, now=NOW))} == {}


@pytest.mark.parametrize(("text", "seconds"), DURATIONS.items())
def test_durations(text: str, seconds: float) -> None:
    found = only(text)
    assert (found.kind, found.seconds, found.since, found.until) == ("duration", seconds, None, None)


@pytest.mark.parametrize(("text", "grain"), RECURRING.items())
def test_what_recurs(text: str, grain: str) -> None:
    found = only(text)
    assert (found.kind, found.grain, found.since, found.until) == ("recurring", grain, None, None)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("today", "date"), ("at 3pm", "time"), ("since 2019", "range"), ("the past month", "range"), ("昨晚", "time"),
        ("近三年", "range"),
    ],
)  # fmt: skip
def test_kinds(text: str, kind: str) -> None:
    assert only(text).kind == kind


def test_words_about_the_future_turn_a_day_ahead() -> None:
    assert only("I'll see you on Friday").since == utc("2023-08-18")
    assert only("I have a class on Friday").since == utc("2023-08-18")
    assert only("It was fun. We met on Friday").since == utc("2023-08-11")
    assert only("We will marry on June 3").since == utc("2024-06-03")
    assert only("周五要去").since == utc("2023-08-18")


def test_on_a_sunday_the_last_week_has_just_ended() -> None:
    found = only("last week", SUNDAY)
    assert (found.since, found.until) == (utc("2023-08-27"), utc("2023-09-03"))
    assert only("上周", SUNDAY).since == utc("2023-08-21")


def test_days_are_those_of_the_speakers_zone() -> None:
    evening = datetime(2023, 8, 16, 23, 30, tzinfo=timezone(timedelta(hours=-5)))
    assert only("today", evening).since == datetime(2023, 8, 16, 5, tzinfo=UTC)
    beijing = datetime(2023, 8, 16, 1, 0, tzinfo=timezone(timedelta(hours=8)))
    assert only("昨天", beijing).since == datetime(2023, 8, 14, 16, tzinfo=UTC)
    assert only("today", NOW.replace(tzinfo=None)) == only("today")


def test_both_languages_are_read_in_one_text() -> None:
    assert [found.text for found in time_expressions("昨天 or on May 7, 明天?", now=NOW)] == ["昨天", "May 7", "明天"]


def test_dates_as_they_are_shown() -> None:
    moment = datetime(2023, 5, 7, 23, 59, tzinfo=UTC)
    assert shown_date(moment, "en") == "7 May 2023, Sunday"
    assert shown_date(moment, "zh") == "2023年5月7日 星期日"
    assert shown_date(moment, "") == shown_date(moment, "en")


@given(st.datetimes(day_one(1900), day_one(2100)), st.datetimes(day_one(1900), day_one(2100)))
def test_a_shown_date_is_read_back(moment: datetime, now: datetime) -> None:
    for language in ("en", "zh"):
        shown = shown_date(moment, language)
        found = time_expressions(shown, now=now.replace(tzinfo=UTC))
        assert found[0].since == datetime(moment.year, moment.month, moment.day, tzinfo=UTC)


PIECES = (
    "last next this the a few couple of weeks days ago in May 7 th 2023 - / : at 3 pm since between and before Christmas "
    "early Q3 90s every Friday for two hours 上 下 个 周 五 月 年 日 前 后 三 天 半 去年 2023年 5月 到 以来 下午 点 每 "
    "国庆 近 世纪 99999 99 0 00"
).split()


@example("0000-00-00 0 years ago 0月0日 0000年", NOW)
@example("in 9999 years, 9999 years ago, 9999年, 9999-12-31, 9999年后", NOW)
@given(
    st.text(st.characters())
    | st.lists(st.sampled_from([*PIECES, " "])).map("".join)
    | st.lists(st.sampled_from(PIECES)).map(" ".join),
    st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=8)), timezone(timedelta(hours=-11))])),
)
def test_any_text_at_any_time(text: str, now: datetime) -> None:
    try:
        now.astimezone(UTC)
    except OverflowError:
        now = NOW
    end = 0
    for found in time_expressions(text, now=now):
        assert end <= found.start < found.end
        assert found.text == text[found.start : found.end]
        assert found.kind in ("date", "time", "range", "duration", "recurring")
        if found.since is not None and found.until is not None:
            assert found.since < found.until
            assert found.since.tzinfo is found.until.tzinfo is UTC
        else:
            assert found.kind in ("duration", "recurring")
        end = found.end


@given(st.datetimes(day_one(20), day_one(9900)), st.sampled_from(["day", "week", "month", "quarter", "year", "decade"]))
def test_units_follow_each_other(moment: datetime, grain: str) -> None:
    here, after = calendars.unit(moment, grain), calendars.unit(moment, grain, 1)
    assert here.since <= moment < here.until == after.since
    assert calendars.unit(after.since, grain, -1) == here


@pytest.mark.parametrize("year", [2022, 2023, 2024, 2025])
def test_festivals_of_the_moon_fall_on_their_days(year: int) -> None:
    easters = {2022: (4, 17), 2023: (4, 9), 2024: (3, 31), 2025: (4, 20)}
    new_years = {2022: (2, 1), 2023: (1, 22), 2024: (2, 10), 2025: (1, 29)}
    for name, days in (("easter", easters), ("new year lunar", new_years)):
        since = calendars.festival(year, name).since
        assert (since.month, since.day) == days[year]


# In linear time all of them take a second or two; the square of the length would run into the time limit of a test.
QUICK = ("a", "1", " ", "上", "一", "the ", "last ", "从", "since ", "周", ":")
WORD_BY_WORD = ("1 ", "a ", "May ", "1年", "三天", "2023-", "from May 1 ", "每")
NAMED_EACH_TIME = {"三天": "三天", "from May 1 ": "May 1"}


@pytest.mark.parametrize(("units", "length"), [(QUICK, 150_000), (WORD_BY_WORD, 40_000)])
def test_a_long_text_made_to_be_slow_is_read_in_linear_time(units: tuple[str, ...], length: int) -> None:
    for unit in units:
        times = length // len(unit)
        found = [expression.text for expression in time_expressions(unit * times, now=NOW)]
        assert found == [NAMED_EACH_TIME[unit]] * times if unit in NAMED_EACH_TIME else found == [], unit
