"""The patterns of what is said of people in Chinese: relatives, couples, pets, contacts, and how a claim is corrected."""

from __future__ import annotations

from memwell.language.claims import chinese_objects as objects
from memwell.language.claims.chinese_objects import H
from memwell.language.patterns import LazyPattern

NAMES_KIN = LazyPattern(
    rf"(?:的名字|的大名|的小名|的全名|大的|小的|老大|老二|老三|一个|另一个)?(?:其实|就)?(?:名叫|叫做|叫作|名为|取名叫?|"
    rf"起名叫?|小名叫?|大名叫?|叫){objects.QUOTE}(?P<any>{objects.ANY_NAME})(?:{objects.END}|(?={objects.AGED}))"
    rf"|(?:就|其实)?是(?:[{H}]{{1,4}}的)?(?P<sure>{objects.KIN_NAME})(?!的){objects.END}"
).match
SECOND = LazyPattern("(?:大的|小的|老大|老二|老三|一个|另一个)叫").match
TWO_NAMES = LazyPattern(rf"(?:分别)?叫(?P<one>{objects.PERSON})和(?P<two>{objects.PERSON})").match
IS_KIN = LazyPattern(
    rf"(?:(?:已经|早就|早|并)?(?P<no>不算|不再|不)?就?是?我|[和跟与]我都?是)(?:最好的|最铁的|的|多年的|大学|高中|初中|"
    rf"小学|亲|好)*(?P<kin>{objects.KIN_WORDS}){objects.END}"
).match
WITH = rf"[和与跟同](?:我的?|他的?|她的?|自己的)?(?:前)?(?:{objects.KIN_WORDS})?(?P<name>{objects.KIN_NAME})"
WITH_NAME = LazyPattern(WITH).match
COMPANY = LazyPattern(
    rf"[和与跟同](?:我的?|他的?|她的?)?(?:(?P<kin>{objects.KIN_WORDS})(?P<kinname>{objects.KIN_NAME})?|"
    rf"(?P<name>{objects.PERSON})|(?P<us>我们|咱们?))(?:俩|一家)?(?:一起|一块儿?)?"
).match
_ARE = "都?(?:是|成了|成为|做了)(?:多年的?|大学|高中|初中|小学|亲|双胞胎|孪生)*"
# What two people are or did, the relation it states, and whether that is over; the first that fits counts.
_TOGETHER = (
    ("不是(?:情侣|一对)|没在一起|没在谈", "partner", True),
    ("不是(?:夫妻|两口子)|没结婚", "married_to", True),
    ("离婚|离了|办完离婚|离的婚", "married_to", True),
    ("分手|分了|散了|掰了|吹了|结束了|断了(?!联系)|断干净", "partner", True),
    ("绝交|闹翻|闹掰|断交|断了联系|不来往了|友尽|不是朋友", "friend", True),
    ("不再是同事|不在一个(?:单位|公司)|不是同事", "colleague", True),
    (f"结婚|领证|领了证|成家|扯证|登记结婚|{_ARE}(?:两口子|夫妻|夫妇)", "married_to", False),
    ("在一起|谈恋爱|谈了.{0,6}恋爱|订婚|交往|处对象|复合|.{0,6}办婚礼|是情侣|是一对", "partner", False),
    (f"{_ARE}(?:姐妹|兄弟|兄妹|姐弟|双胞胎)", "sibling", False),
    (f"{_ARE}(?:好朋友|朋友|老朋友|闺蜜|发小|死党|哥们|老?同学|室友|同桌)", "friend", False),
    (f"{_ARE}(?:同事|搭档)", "colleague", False),
)
BETWEEN = [
    *(
        (LazyPattern(rf"{WITH}.{{0,8}}?(?<![不没])(?:{words})"), relation, ended)
        for words, relation, ended in _TOGETHER
    ),
    (LazyPattern(rf"(?:已经)?(?:嫁给了?|嫁了|娶到?了|娶的是|娶)(?P<name>{objects.KIN_NAME})"), "married_to", False),
    (LazyPattern(rf"[被把](?P<name>{objects.KIN_NAME})(?:给)?(?:甩|踹|绿)了"), "partner", True),
]
_DONE = "(?:一辈子|就|已经|刚|正式|终于|早就?|又|都|上周|昨天|去年|彻底|最近|现在|还|目前|是|一直|至今)*"
_LOVER, _SPOUSE = "(?:女友|男友|女朋友|男朋友|对象)", "(?:前夫|前妻|老公|老婆|丈夫|妻子|先生|太太|爱人|媳妇|他|她)"
ALONE = [
    (LazyPattern(pattern), relation)
    for pattern, relation in (
        (rf"{_DONE}(?:离婚|离了婚|离的婚|办完离婚手续)[了后]?(?:{objects.ON}|又嫁了)", "married_to"),
        (rf"{_DONE}(?:没结婚|没结过婚|没有结婚|未婚|没嫁人|没娶)(?:呢|过)?{objects.END}", "married_to"),
        (
            rf"{_DONE}(?:被?分手(?:了|(?=[半一两二三四五六七八九十几]))|被甩了|失恋了|(?:恢复)?单身(?!公寓|汪$|狗$)|单着|没有?{_LOVER}){objects.END}",
            "partner",
        ),
        (rf"没有?(?:兄弟姐妹|哥哥|姐姐|弟弟|妹妹|亲兄弟){objects.END}|是独生(?:子女|女|子)", "sibling"),
        (rf"还?没有?(?:孩子|小孩|娃|生孩子|儿女|子女){objects.END}", "child"),
        (rf"[和跟与](?:我的?)?{_LOVER}{_DONE}(?:分手|分了|掰了|吹了)", "partner"),
        (rf"[和跟与](?:我的?)?{_SPOUSE}{_DONE}(?:离婚|离了)", "married_to"),
    )
]
WEDS = LazyPattern(
    rf"(?:(?P<verb>[嫁娶])(?:给|到|的是)?了?|[和与跟同](?=.{{2,14}}(?:婚|领证|恋|在一起|交往|处对象)))"
    rf"(?:[他她]的?(?:{objects.KIN_WORDS}))?(?P<name>{objects.KIN_NAME})"
).search
PAIR_CUE, ALONE_CUE = LazyPattern("[和与跟同嫁娶被把]").search, LazyPattern("[婚离单恋没独娶嫁掰吹分甩]").search
DIED = LazyPattern("[^，]{0,8}?(?:[年月周号天][走没]的|去世|走了|过世|病逝|不在了|离世|没了|离开了我们|因病走了)").match
PET_GONE = LazyPattern(
    "(?:.{0,8}?)(?:去世|走了|死光|死了|没了|撞死|病死|丢了|跑丢|送人|送走|回汪星|回喵星|不在了|走丢|没救|偷|领走|"
    "被.{1,4}[收领]养|送给|安乐死|"
    "离开了我)"
).match
BREAKS = LazyPattern(".{0,24}?(?:离婚|离了|分手|分了|掰|吹了|绝交|闹翻|断|结婚|领证|恋|交往|在一起|是|成[了为])").match

# Pets.

_PET = objects.PET
_NO_PET_NAME = "[我你他她它了声得着个不人的起醒唤喊嚷什啥春]|[一两三几]声|别|两|几"
_PET_NAME = (
    rf"{objects.QUOTE}(?P<name>(?!{_NO_PET_NAME})(?:(?![的了我你不在是上前去今昨被能会要])[{H}]){{1,5}}|"
    rf"[A-Za-z][A-Za-z]{{0,19}})"
)
_TIMES = (
    "[上下这本][周月个]|[今明昨后前][天年晚早]|周[末一二三四五六日]|每[天周月年晚]|早上|晚上|中午|下午|半夜|平时"
    "|最近|经常|"
    "一直|刚才|刚刚|突然|暑假|寒假|国庆|春节|星期|礼拜|马上|已经"
)
_CALLS = "(?:名字叫做|名字叫|名字是|取名叫|取名为|取名|起名叫|起名为|起名|名叫|名为|叫做|叫)[它他她]?"
_ENDS = r"(?=[啊呀哦啦哈\"”」』]*\s*(?:\Z|[，,。！!；;、…～~（(\n]))"
MY_PET = LazyPattern(
    rf"(?:(?:我们家|我家|咱家|我|家里)(?=[^养]|养的)|(?:我们家|我家|我)?(?=养了))(?:养了[{H}\\d]{{1,4}}年|"
    rf"养(?=的))?(?:的)?(?:那|这|有|"
    rf"一)*(?:只|条|头)?(?:[{H}\\d]{{1,3}}岁的)?(?:老|大|小|傻)?(?P<kind>{_PET})(?:的|"
    rf"被[{H}]{{1,4}}?(?={_CALLS}))?(?:{_CALLS}{_PET_NAME}{_ENDS}|"
    rf"(?P<apposed>(?P<twin>[{H}])(?P=twin)|{objects.PET_NAMES}|[小阿][{H}](?=上|被|能|在|走|去|$)|[A-Z][a-z]+|"
    rf"(?!{_TIMES})(?:(?!{_NO_PET_NAME}|[在是上前去今昨被能会要走死吃才很特又老喜对])[{H}]){{2}}(?=上|前|去|今|昨|被|"
    rf"走|才|$)))?"
).match
EACH = LazyPattern(
    rf"(?:家里|还有|另外|其中|我家)?(?:(?:(?:另?一)(?:只|条|个)|[{H}]的)(?P<kind>{_PET})?|"
    rf"(?P<kind2>{_PET})){_CALLS}{_PET_NAME}{_ENDS}"
).match
PET_CALLED = LazyPattern(
    rf"\s*[，,]?\s*(?:(?:其中|还有|另外)?另?一[只条个])?(?:它的?|他的?|"
    rf"她的?)?{_CALLS}{_PET_NAME}{_ENDS}"
).match
PET_RENAMED = LazyPattern(
    rf"(?:的名字)?不(?:是)?叫(?P<wrong>[{H}A-Za-z]{{1,8}}?)[，,]\s*(?:而是|是|现在)?{_CALLS}{_PET_NAME}{_ENDS}"
).match
MORE_PETS = LazyPattern(rf"(?:还有|和|以及|另有)(?:一|两|三|\d)?(?:只|条|缸)(?P<kind>{_PET}){objects.END}").match
ALSO = LazyPattern(rf"(?:、|和|还有)?(?:[一两二三四五六几]|\d+)(?:只|条|缸)(?P<kind>{_PET})").match
WALKED = LazyPattern(rf"(?:遛|喂|抱着|带)(?:着|了)?我(?:家)?(?:的)?(?P<kind>{_PET}){objects.END}").search

EATS = LazyPattern(
    rf"(?:我们家|我家|我)的?(?:{objects.COUNT})(?P<kind>{objects.PET})(?=能|可以|会|总|老|最近|不|为什么|怎么|突然"
    rf"|今天|这几天)"
).search

# Contacts.

_EMAIL_CUE = LazyPattern("邮箱|邮件|[Mm]ail|发到|发我|联系|信箱|写信").search
_PHONE_CUE = LazyPattern("电话|手机|号|联系|打这个|微信|致电").search
CONTACTS = (("email", objects.EMAIL, _EMAIL_CUE), ("phone", objects.PHONE, _PHONE_CUE))
NOT_OWN = LazyPattern(
    "客服|热线|银行|酒店|餐厅|快递|物业|前台|官方|投诉|店里|举报|订单|单号|编号|密码|验证|身份证|卡号|"
    "账号|公司的?电话|航班|车牌|护照|驾[照驶]|社保|医保|公积金|学号|工号|[Qq][Qq]号?[是:：]|微信号|会员|房号|门牌|"
    "税号|准考证|学籍"
).search
GONE = LazyPattern("不是|别用|旧的?|老(?=的|号|邮)|原来|以前|之前的?|从|由").search
GONE_AFTER = LazyPattern(
    r"\s*(?:这个号?|那个号?|的?邮箱|的?号码?|我|被)*(?:已经|都|早|早就|就)*(?:不是我|不用|登不上|停用|作废|注销|换成|"
    r"改成|弃用|停机|改为|换为)"
).match

# Corrections: a clause that gives another value for what was said before.

INSTEAD = LazyPattern(
    rf"(?P<say>[哦啊噢呃]?(?:我是说|我说的是|我的意思是|应该是|准确(?:地)?说是?|更正一下))?(?:而|应该|其实|后来|如今|"
    rf"准确(?:地)?说|确切说|正确的|现在|实际上?|本来|之前|以前|原来|就|都|可|早就|我的|我|你|上次|刚才|"
    rf"刚刚|手滑|不小心|误)*(?P<no>不是|不叫|不住|不姓|不在|不再是|并非|没有|(?:写|打|记|听|说|念)成了?|是?)"
    rf"(?P<yes>换成了?|改成了?|变成了?|改为|换到了?|叫|在|去了|进了|到了|来了|加入了?|进入了?|回了|回到了?)?(?:在|"
    rf"去的?是|对|学|读|从|姓|我)?{objects.QUOTE}(?P<o>[{H}A-Za-z0-9·@._《》-]{{1,24}}?)(?:人|籍|毕业的|专业的|专业|系|"
    rf"了)?{objects.END}"
).match
TOPIC_CUE = LazyPattern(
    "[我死丢走送去俺叫喊称除忘会懂卖换偷转]|[作身]为|安乐|[不没][打弹跳练踢拉钓画吹]|本人|生日|取消|泡汤|黄了|作废|搁置|预约"
).search
SLIP = LazyPattern(
    "(?:[ 哦啊噢呃额哎呀诶唉晕欸我又给等下一]|抱歉|对不起|不好意思|刚才|刚刚|前面|上面|之前)*"
    "(?:(?:说|打|写|讲|记|搞|弄|给|听)(?:错|反)字?了?|[口手笔]误|手滑了?|不对|不是的?|更正|纠正|输入法|"
    "不){1,3}[了啊呀哈一下]*"
).fullmatch
BY_NOW = LazyPattern("当上|成了|成为|现在|后来|如今|目前|最后").search
MOVES = LazyPattern("[搬迁移住]|定居").search
CHANGING = frozenset("lives_in works_at occupation studies_at".split())
VERBAL = LazyPattern("[我你他她对叫养喜爱住在学读会从有]").search
DISTRICTS = "区县镇乡村路街"
NOT_MINE = LazyPattern(
    rf"(?:不过|但|其实|可)*(?:是(?:帮|替)?我?(?:{objects.KIN_WORDS}|别人|人家|公司)(?:家)?(?:养)?的|不是我的|"
    rf"借的){objects.END}"
).match
