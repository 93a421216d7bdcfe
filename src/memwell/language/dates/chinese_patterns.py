"""The words and patterns of Chinese times; ``memwell.language.dates.chinese`` says what they mean.

They are written for simplified characters; a text is brought to those first, character by character. Every pattern is
matched at one place and is bounded, so that no text makes it slow.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

SIMPLE = str.maketrans(
    "週禮點後個這號時鐘間來過節國慶聖誕兩幾數淩開現從萬兒婦動勞歲０１２３４５６７８９：",
    "周礼点后个这号时钟间来过节国庆圣诞两几数凌开现从万儿妇动劳岁0123456789:",
)
"""Traditional forms and wide digits that occur in times, each to its simple form."""
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
    """The words as a choice, longest first, so that none is cut short."""
    return "|".join(sorted(words, key=len, reverse=True))


def _compiled(pattern: str) -> Callable[[str, int], re.Match[str] | None]:
    return re.compile(pattern).match


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

DAY_WORD = _compiled(
    "(?P<day>大前天|大后天|(?<![以之])前天(?![气空])(?!天(?!气))|(?<![以之])后天(?!天(?!气))|昨[天日]|今[天日]|明[天日](?!天(?!气)|香)"
    "|(?:昨|今|明)(?=[早晚晨夜]))的?" + f"{_PART}?(?:{_CLOCK})?"
)
PART_CLOCK = _compiled(f"{_PART}(?:的)?{_CLOCK}")
PART_ALONE = _compiled(
    "(?<![一整个每天日今昨明末周那多几早])(?P<part>凌晨|清晨|早晨|早上|上午|中午|下午|傍晚|晚上|半夜|深夜)(?![好安班饭餐茶])"
)
CLOCK = _compiled(_ALONE + _CLOCK + "(?P<part>(?!))?")  # never with a part of the day
YEAR = _compiled(
    f"(?:{_ALONE}{_YEAR}|{_NAMED_YEAR})的?(?:{_MONTH}份?(?:{_OF_MONTH}|{_THIRD})?|年?(?P<edge>[初底末中](?![学级考秋午国文心间])"
    f"|(?<=年)年关)|(?P<half>[上下])半年|第?(?P<quarter>[一二三四1-4])季度|{_SEASON}|{_FESTIVAL}|(?P<holiday>暑假))?"
)
MONTH = _compiled(
    f"(?<![0-9{NUMERALS}第个.几数])" + f"{_MONTH}(?:{_OF_MONTH}|{_THIRD}|份)?(?![天饼亮光球票薪嫂子饭台])"
)
SAME_MONTH_DAY = _compiled(f"(?:到|至|[-~～—－]{{1,2}}){_OF_MONTH}")
WEEK = _compiled(
    "(?P<way>上上|下下|上|下|这|本)一?个?(?:周|星期|礼拜)(?!年|[围边岁末]?刊|围|边|岁|转|到)"
    "(?:(?P<end>末)|(?P<weekday>一(?![起直样定些下般共块天个次])|[二三四五六1-6]|日(?!常|子|记)|天(?!气|天)))?的?"
    f"(?:{_PART}(?:{_CLOCK})?)?"
)
WEEKDAY = _compiled(
    f"(?<![0-9{NUMERALS}每个上下这本几数半])(?:周|星期|礼拜)"
    f"(?P<weekday>一(?![起直样定些下般共块天个])|[二三四五六](?!年|岁|个)|日(?!常|子|记)|天(?!气))的?(?:{_PART}(?:{_CLOCK})?)?"
)
WEEKEND = _compiled(r"(?<![每个上下这本])周末(?!愉|快)")
REL_MONTH = _compiled(
    f"(?P<way>上上|下下|(?<![登爬])上|(?<!脚)下|这|本)一?(?:个月|月(?![球亮台饼光色票]))(?:的?(?:{_OF_MONTH}|{_THIRD}))?"
)
REL_UNIT = _compiled("(?P<way>上|下|这|本)一?个?(?P<unit>季度|年代|世纪)")
HALF_YEAR = _compiled("(?P<half>[上下])半年")
COUNT = _compiled(
    _ALONE + f"{_NUMBER}(?P<more>多)?(?P<unit>{_one_of(UNIT_OF)})(?![级代轻纪龄度薪货终份堂真才空年])(?P<more2>多|半)?"
    "(?:(?P<way>以前|之前|前(?![面后往进台锋])|以后|之后|后(?![面悔台者卫]))|(?P<since>以?来(?![了到自说回看])))?"
)
RECENT = _compiled(
    f"(?P<way>过去|最近|近|前|未来|接下来|今后|这|头)的?这?(?P<number>[0-9]{{1,3}}|好?几|[{NUMERALS}]{{1,3}}|些|半)"
    f"(?P<unit>{_one_of(UNIT_OF)})(?![级代轻])"
)
A_WHILE_AGO = _compiled("前(?:阵子|一阵子|段时间|一段时间|段日子)")
EVERY = _compiled(
    f"每(?:隔|逢)?(?:[0-9]{{1,2}}|[{NUMERALS}]{{1,3}}|几)?个?(?:(?P<weekday>(?:周|星期|礼拜)[一二三四五六日天末])|(?P<season>[春夏秋冬][天季])"
    "|(?P<unit>小时|分钟|天|日|周|星期|礼拜|月|季度|年|晚|早|晚上|早上|周末|下午|上午))(?:的?(?:早上|晚上|上午|下午|中午))?"
    "|(?<![今明昨前后每])天天(?!气)|年年(?=[都有会])|(?:一|每)(?:天|周|个月|年)(?:[0-9]|[一二两三四五六七八九十几])次"
)
DECADE = _compiled(
    _ALONE + "(?:(?P<century>上|二十|20)个?世纪)?(?P<decade>[0-9]0|[一二三四五六七八九]十|(?:1[5-9]|20)[0-9]0)年代"
)
QUARTER = _compiled("第(?P<quarter>[一二三四1-4])季度")
FESTIVAL = _compiled(f"(?<![0-9{NUMERALS}])" + _FESTIVAL)
TO = _compiled("(?:日|号)?(?:到|至|[-~～—－]{1,2})")
SINCE = _compiled("(?:年|月)?(?:以来|至今|到现在|到今天)")
ONWARDS = _compiled("(?:起|开始)")
# 会 in 晚会 and 要 in 重要 say nothing of what is to come.
AHEAD = re.compile("(?<![晚聚大机学体社动宴年开])会(?!议)|(?<![重主需])要|将(?!近)|打算|计划|准备|记得|别忘").search
HABIT = re.compile("总|都|经常|时常|常常|一般|通常|往往|从来|喜欢").search
# What may begin a time: two characters at least, or a row of digits or numerals, taken whole.
STARTS = re.compile(
    "[昨今明][天日早晚晨夜年后]|大[前后年]|[前头][天年几两些阵段一]|后[天年]|去年|[上下这本](?:[周星礼月半季世年午几两些]|[上下一个]{1,2}[个周星礼月季世年])"
    "|周[一二三四五六日天末]|星期[一二三四五六日天]|礼拜[一二三四五六日天]|每.|天天|年年"
    "|元旦|春节|除夕|情人|妇女|清[明晨早]|劳动|儿童|教师|国庆|中[秋午]|端午|圣诞|平安|万圣|感恩|母亲|父亲|凌晨|早[上晨]|傍晚|晚[上间]"
    f"|半夜|深夜|午后|正午|黄昏|夜[里晚]|过去|最近|近[0-9{NUMERALS}几]|未来|接下|第[一二三四1-4]季|好几"
    f"|[0-9]{{1,5}}+|[{NUMERALS}几数半]{{1,5}}+"
)

__all__ = [
    "IS_NOT_SIMPLE",
    "AHEAD",
    "A_WHILE_AGO",
    "CLOCK",
    "COUNT",
    "DAYS",
    "DAY_WORD",
    "DECADE",
    "DIGITS",
    "EVERY",
    "FESTIVAL",
    "FESTIVALS",
    "HABIT",
    "HALF_YEAR",
    "MONTH",
    "NUMERALS",
    "ONWARDS",
    "PART_ALONE",
    "PART_CLOCK",
    "PART_OF",
    "QUARTER",
    "RECENT",
    "REL_MONTH",
    "REL_UNIT",
    "SAME_MONTH_DAY",
    "SEASONS",
    "SIMPLE",
    "SINCE",
    "STARTS",
    "TENS",
    "TO",
    "UNIT_OF",
    "WAYS",
    "WEEK",
    "WEEKDAY",
    "WEEKDAYS",
    "WEEKEND",
    "YEAR",
    "YEARS",
]
