"""What Chinese predicates state: words for relatives, types of objects, and the frames that name a relation.

A frame is a pattern after a subject. Each of its groups is named after a relation and holds the object; a group named
``no_`` and a relation holds what ended, and an empty one ends every value (辞职了).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

from memwell.language import entities
from memwell.language.claims.relations import EVENT, PLAN, STARTED, STATE
from memwell.language.patterns import LazyPattern

H = "\u4e00-\u9fff"

# Relatives and acquaintances: the relation to them, the English word for the person, and the Chinese words.

_RELATIVES = """
married_to husband 老公 丈夫 先生
married_to wife 老婆 妻子 太太 媳妇儿 媳妇
married_to spouse 爱人 那口子
married_to ex-husband 前夫
married_to ex-wife 前妻
partner boyfriend 男朋友 男友; partner girlfriend 女朋友 女友; partner partner 对象 另一半; partner fiancé 未婚夫
partner fiancée 未婚妻; parent mother 妈妈 母亲 老妈 养母 妈咪 妈 娘; parent father 爸爸 父亲 老爸 养父 老爹 爸 爹
parent parents 爸妈 父母
child son 大儿子 小儿子 儿子
child daughter 大女儿 小女儿 女儿 闺女
child child 孩子 娃 宝宝 老大 老二 大宝 二宝 大娃 二娃 丫头
sibling brother 哥哥 弟弟 大哥 二哥 三哥 老弟 哥 弟; sibling sister 姐姐 妹妹 大姐 二姐 三姐 老姐 老妹 姐 妹
relative grandfather 爷爷 外公 姥爷; relative grandmother 奶奶 外婆 姥姥
relative uncle 叔叔 舅舅 大伯 伯伯 二叔 三叔 小叔 二舅 大舅 小舅 姑父 姨父 姑丈 姨丈 伯父
relative aunt 姑姑 姑妈 姨妈 大姑 二姑 小姑 小姨 大姨 二姨 舅妈 婶婶 伯母 阿姨
relative cousin 表哥 表姐 表弟 表妹 堂哥 堂姐 堂弟 堂妹; relative nephew 侄子 外甥 侄儿; relative niece 侄女 外甥女
relative father-in-law 岳父 公公 老丈人
relative mother-in-law 岳母 婆婆 丈母娘
relative sister-in-law 嫂子 弟媳 弟妹 小姨子
relative brother-in-law 姐夫 妹夫 小舅子; relative grandson 孙子 外孙; relative granddaughter 孙女 外孙女
relative son-in-law 女婿; relative daughter-in-law 儿媳妇 儿媳; relative relative 亲戚
friend friend 好朋友 好友 老朋友 朋友 闺蜜 发小 死党 哥们儿 哥们; friend roommate 室友 舍友; friend neighbour 邻居
friend classmate 老同学 同学; friend deskmate 同桌; colleague colleague 老同事 同事 搭档; colleague boss 老板 领导 上司
colleague manager 经理
colleague supervisor 导师
colleague partner 合伙人
- apprentice 徒弟
- teacher 老师 班主任
- landlord 房东
- coach 教练
"""


class Kin(NamedTuple):
    """A relative or acquaintance: the relation to such a person, and the English word."""

    relation: str
    word: str


KIN: dict[str, Kin] = {
    word: Kin("" if relation == "-" else relation, english)
    for relation, english, *words in (line.split() for line in _RELATIVES.replace("\n", ";").split(";") if line.strip())
    for word in words
}
KIN_WORDS = "|".join(sorted(KIN, key=len, reverse=True))
ALONE = "|".join(sorted((word for word in KIN if len(word) > 1 and word not in
    "先生 太太 孩子 宝宝 阿姨 叔叔 老师 教练 同学 朋友 好朋友 经理 领导 老板 导师 邻居 亲戚 对象 父母 婆婆 公公 "
    "老同学".split()),
    key=len, reverse=True)) + f"|(?:对象|孩子|婆婆)(?=在|是|今年)|(?:{KIN_WORDS})(?=叫)|先生(?=姓)"  # fmt: skip
"""Relatives that are the speaker's without a word that says so."""

# Names of people.

_MORE_SURNAMES = (
    "穆纪葛柳管焦柯梅盛俞鲍艾褚池楚窦樊费傅甘耿洪霍季靳康赖兰蓝冷凌娄鲁骆苗"
    "倪聂牛裴戚齐祁乔曲冉阮申施舒童涂温翁伍邢殷尤岳翟詹章甄祝庄卓左欧云宗闻"
)
_ANY_SURNAME = f"(?:{'|'.join(entities.DOUBLE_SURNAMES)}|[{''.join(sorted(entities.SURNAMES))}{_MORE_SURNAMES}])"
_NO_GIVEN = (
    "的了是在我你他她它们这那有和与跟去到来从对把被给就都很还也不没个着过吗呢吧啊呀嘛啦么哪谁吃喝住说叫喜爱想要会能因所但又再才只"
    "最更太真某各每此其让将已曾请问看听养搬买做当打准计决现今年岁种第点号月日前后上下常刚快总"
)
_G = rf"(?![{_NO_GIVEN}])[{H}]"
AGE = "(?:\\d{1,3}|[一两二三四五六七八九十]{1,3})"
AGED = f"今?年?{AGE}岁"
NAME_CHARS = rf"(?:(?![我你他她它们了过去回的着得不吗呢吧是叫这那很就都，]|{AGED})[{H}])"
ANY_NAME = rf"(?:{NAME_CHARS}{{2,4}}|阿?[A-Z][A-Za-z]{{1,15}}(?: [A-Z][a-z]+)?|[a-z]{{3,12}})"
_FOREIGN = (
    "大卫|约翰|玛丽|杰克|安娜|汤姆|艾米|丽萨|安妮|露西|彼得|迈克|杰瑞|琳达|保罗|苏菲|丽莎|马克|凯文|托尼|大鹏|"
    "大伟|大壮|大勇|燕子"
)
_PET_NAME = rf"(?P<{{0}}>[{H}])(?P={{0}})"
_NICK = (
    rf"(?!大学|大名|小名|大概|大家|大夫|大厂|老师|老板|老人|老家|老是|老爱|老公|老婆|老妈|老爸|小孩|小时|小心|小猫|"
    rf"小狗|小学|小区|小说|小姐|阿姨|老大|"
    rf"老二)[小阿老大](?:[{H}](?<![{_NO_GIVEN}朋孩时]))"
)
_FOLLOW = (
    rf"(?=$|[^{H}]|"
    rf"[在是叫住的喜爱讨对今现最特很也都还已刚就才又不没有会要去来从被把搬跟和与同养买学读毕考辞离结嫁娶得说打准计决上下明前后能想正一两二三四五六七八九十"
    rf"生出换跳进到给为做当开吃喝常平总每周昨早晚老因年约那快教分绝甩办成认掰吹订复交领闹登扯合谈终踹绿带推管介送拉断同友名本硕])"
)
PERSON = (
    rf"(?:{_ANY_SURNAME}{_G}(?![一二三四五六七八九十]){_G}{_FOLLOW}|{_ANY_SURNAME}{_G}{_FOLLOW}|{_NICK}{_FOLLOW}|"
    rf"(?:{_FOREIGN}){_FOLLOW}"
    rf"|阿?[A-Z][A-Za-z]{{1,15}}(?: [A-Z][a-z]+)?|[{''.join(sorted(entities.SURNAMES))}](?:老师|总|医生|阿姨|叔叔|教授|"
    rf"姐|哥|工|经理|师傅))"
)
"""A name whose form shows that it is one."""
_TWICE = (
    rf"(?!妈妈|爸爸|常常|刚刚|天天|年年|人人|个个|慢慢|偏偏|早早|好好|大大|往往|每每|渐渐|多多|仅仅|整整|统统|默默|"
    rf"明明)(?P<twice>[{H}])(?P=twice)"
)
_GIVEN2 = f"[{''.join(sorted(entities.GIVEN))}]"
_FOREIGN_NAME = (
    "(?:[阿艾安奥巴贝本比伯博布查达戴丹道德迪蒂杜恩尔法菲费弗福盖格哈海汉赫亨霍基吉加杰金卡凯坎柯科克肯库拉莱兰劳勒雷蕾里丽莉琳伦罗"
    "洛马麦曼梅米莫穆娜纳妮尼诺帕佩皮普奇乔琼让瑞萨塞莎史斯丝苏索塔泰汤特廷托瓦威薇韦维温沃乌希辛休雅亚耶伊英尤约泽詹珍兹佐健司]{2,4})"
)
KIN_NAME = rf"(?:{PERSON}|{_FOREIGN_NAME}{_FOLLOW}|{_TWICE}{_FOLLOW}|(?!天天){_GIVEN2}{{2}}{_FOLLOW})"
"""A name directly after the word for a relative."""

# Objects.

_N = "零〇一二三四五六七八九十两\\d"
_PARTICLES = '[了的吧啊呀哦啦呢哈嘛喔噢哟呗咯喽哒"”」』 ~]|而已|来着|哈哈|就行|就好|就可以'
END = rf"(?=(?:{_PARTICLES})*\s*$)"
_LONG = rf"(?:已经|快|都|有|大概|差不多|整整|将近|了|的|住|过|待){{0,3}}[{_N}几好多半]+多?个?(?:年|月|天|周|星期|辈子)"
ON = rf"(?:{END}|(?={_LONG}))"
QUOTE = '[“「『"‘]?'
_EMAIL = r"[A-Za-z0-9._+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,4}"
# At most 15 digits with the country, and 13 without: longer ones are numbers of cards and of identity papers.
_PHONE = r"(?<![\d+-])(?:\+\d(?:-?\d){6,14}|(?:00)?\d(?:-?\d){6,12})(?![\d@]|-\d)"
EMAIL, PHONE = LazyPattern(_EMAIL), LazyPattern(_PHONE)
DATE = (
    rf"(?:(?:农历|阴历|阳历|公历)?(?:(?:\d{{4}}|\d{{2}}|[{_N}]{{4}}|[{_N}]{{2}})年)?(?:[{_N}]{{1,3}}月|腊月|"
    rf"正月)初?[{_N}廿]{{1,3}}(?:日|号)?"
    r"|\d{1,2}[./]\d{1,2}|(?:教师|圣诞|儿童|情人|国庆|中秋|妇女|劳动|愚人|万圣|元宵|端午|重阳|青年|建军)节|元旦|除夕|"
    r"平安夜|七夕|中秋|国庆|圣诞)"
)
_JOB_ENDS = (
    "师|(?<![成人会党动一团队])员|(?:瓦|电|木|焊|钳|技|矿|护|油漆|清洁|社|义|管道|装修|维修|美|临时|小时|码)工|匠"
    "|(?:作|画|科学|艺术|音乐|企业|银行|专|评论|收藏|漫画|书法|舞蹈|美食|小说|插画|创业)家|(?:歌|鼓|骑|水|吉他|贝斯|助|"
    "操盘|键盘|写|枪|猎)手"
    "|(?:校|院|所|局|厂|店|村|队|船|机|列车|护士|行|处|科|部|董事|会|组|镇|县|秘书|市|排|连|乡|站|馆|园)长"
    "|(?:经纪|主持|制片|策展|投资|创始|合伙|媒体|军|工|商|艺|诗|代理|音乐|出版|猎|手艺|牧羊|守夜|公证)人"
    "|(?:医|学|大学|研究|博士|硕士|高中|初中|小学|中学|实习|留学|规培)生|大夫|护士|老师|教授|司机|会计|出纳|编辑|记者|"
    "主编|编剧|导演|翻译|秘书|助理|经理"
    "|采购|质检|品控|仓管|文案|新媒体|公关|狱警|特警|消防|城管|辅警|园丁|[果菜茶蜂]农|猎头|保洁|代驾|收银|剪辑|配音"
    "|算法|运维"
    "|(?:助产|药剂|道|护)士|大厨|主厨|厨子|厨师长|育儿嫂|店主|军官|警官|产品|架构|幼师"
    "|主管|总监|总裁|老板|顾问|客服|销售|运营|策划|行政|前台|保安|保姆|月嫂|教练|裁判|法官|检察官|警察|刑警|交警|民警|"
    "士兵|农民|渔民|博士后"
    "|码农|设计|测试|法务|人事|HR|审计|精算|主播|博主|[Uu][Pp]主|网红|中介|经纪|代购|个体户|创业者|自由职业者?|家庭主妇|"
    "全职妈妈|全职太太|志愿者"
    "|包工头|支书|书记|CEO|CTO|模特|空姐|空少|裁缝|编导|督导|导游|领队|船员|主任|主席|律所助理|后端|前端|财务|兽医|牙医|"
    "中医|法医|校医|村医|外教|家教|助教|幼教|编程"
)
_IS_JOB = LazyPattern(
    rf"(?!普通|好|这|那|我|你|他|她|什么|一种|所有|大家|老司机$|自己|真正的|合格|独生|"
    rf"[不没是当做像找有去和跟让给被问打在从就都改约]|前任|.*了)(?:[{H}A-Za-z]{{0,8}}?)(?:{_JOB_ENDS})"
).fullmatch
_NO_JOB = LazyPattern("摸鱼|干饭|睡觉|熬夜|搬砖|吃货|追星|气氛|铲屎|甩手|背锅|拖延|优秀|先进|最佳|冠军").search
_NOT_PLACE = (
    "这|那|哪|别的|另|我|你|他|她|它|自己|家里|家$|外面|一起|一个|一栋|一间|医院$|学校$|宿舍|酒店|宾馆|新家|新房|隔壁|"
    "楼上|楼下|公司$|单位$|附近|"
    "冰箱|被窝|沙发|桥洞|天上|垃圾|厕所|手机|游戏|菠萝|未来(?:的|$)|火星|月球|地球|天堂|外太空|宇宙|海边$|北极|南极"
    "|网上|心里|梦里|过|了|得|着|在|不|院|校|里面|朋友|爸|"
    "妈|父母|男|女|"
    "公|婆|[一二三四五六七八九十几\\d]+楼|多|很|大房|单人|养老"
)
_IS_PLACE = LazyPattern(
    rf"(?!{_NOT_PLACE})(?:(?!什么|时候|的人|因为|如果|[，吗呢吧了])[{H}A-Za-z0-9·的]){{2,12}}"
).fullmatch
_COUNTRIES = frozenset(
    "中国 美国 英国 法国 德国 日本 韩国 俄罗斯 加拿大 澳大利亚 澳洲 新西兰 意大利 西班牙 葡萄牙 荷兰 比利时 "
    "瑞士 瑞典 "
    "挪威 芬兰 丹麦 奥地利 "
    "希腊 土耳其 埃及 南非 印度 巴基斯坦 泰国 越南 新加坡 马来西亚 印度尼西亚 印尼 菲律宾 柬埔寨 缅甸 朝鲜 "
    "蒙古 蒙古国 "
    "巴西 阿根廷 墨西哥 智利 "
    "秘鲁 波兰 匈牙利 捷克 乌克兰 以色列 伊朗 伊拉克 沙特 阿联酋 爱尔兰 冰岛 尼泊尔 老挝 古巴 哥伦比亚 "
    "尼日利亚 肯尼亚 "
    "摩洛哥 哈萨克斯坦".split()
)
_NO_HOME = (
    "好 老 男 女 坏 本 当 主 年轻 普通 中年 外地 本地 南方 北方 外国 成年 负责 同龄 自己 正常 一家 两口 单身 乡下 "
    "农村 城里"
).split()
_SCHOOL = LazyPattern(
    rf"(?:[{H}A-Za-z0-9]{{1,12}}(?:大学|学院|学校|中学|小学|高中|初中|幼儿园|附中|附小|[一二三四五六七八九十]中|研究院|"
    rf"研究所|师大|师范|理工|交大|科大|工大|外国语|党校|卫校|艺校|体校|技校|职校)|[{H}]{{1,2}}(?<![长老])大"
    r"|清华|北大|复旦|同济|浙大|武大|南大|中大|人大|厦大|川大|山大|北航|北邮|北理|北师大|北外|华科|哈工大|西工大|南开|"
    r"天大|港大|中科院|社科院|哈佛|斯坦福|牛津|剑桥|耶鲁|MIT|[一二三四五六七八九十]中)"
).fullmatch
_NOT_ORG = (
    "这|那|哪|出差|开会|学习|培训|支援|家(?!乐|得)|外面|外地|网上|努力|认真|忙|一起|老家|国外|国内|本地|附近|室内|"
    "户外|一线|晚上|白天|早上|夜里|"
    "周末|里面|线上|线下|海外|农村|城里|乡下|我|你|他|她|市里|镇上|县里|不同|不|没|是|从|被|在|刚|就(?!业)|都|也|才|已|"
    "[一二两三四五六七八九十半几\\d]+个?(?:周|年|月|天)"
)
_SOME_EMPLOYER = frozenset("公司 单位 正式 老板 厂里 原公司 总部 领导 人家 别人 朋友".split())
_IS_ORG = LazyPattern(
    rf"(?!{_NOT_ORG})(?:(?!什么|哪里|时候|[碰遇看见]到|[吗呢吧了着得我你没过不])[{H}A-Za-z0-9·&的]){{2,16}}"
).fullmatch
_ORG_ENDS = LazyPattern(
    rf"[{H}A-Za-z0-9]{{1,14}}(?:公司|集团|银行|医院|局|厂|所|院|台|社|店|部|科技|物流|汽车|电子|软件|传媒|证券|保险|基金|"
    rf"电网|移动|电信|联通|石油|地产|餐厅|中心|出版社|报社|律所|事务所|工作室|机构|协会|幼儿园|学校|中学|小学|大学|学院|"
    rf"单位)"
).fullmatch
_ORGS = entities.ORGANISATIONS_ZH | frozenset(
    "阿里 字节 抖音 快手 滴滴 拼多多 新浪 搜狐 携程 饿了么 小红书 哔哩哔哩 B站 知乎 商汤 旷视 大疆 蔚来 理想 "
    "小鹏 比亚迪 "
    "顺丰 新东方 好未来 海底捞 瑞幸 "
    "中兴 OPPO vivo 富士康 海尔 美的 万科 碧桂园 平安 招行 工行 建行 农行 中行 国家电网 铁路局 税务局 苹果 "
    "英特尔 英伟达 "
    "高通 西门子 博世 宝马 奔驰 大众 丰田 谷歌 微软 "
    "腾讯 百度 华为 小米 京东 美团 网易 蚂蚁 邮局 普华永道 德勤 安永 毕马威 宝洁 联合利华 麦肯锡 宜家 优衣库 星巴克 "
    "麦当劳 肯德基".split()
)
_VISITED_ORGS = frozenset("星巴克 麦当劳 肯德基 海底捞 瑞幸 宜家 优衣库 迪士尼 沃尔玛 邮局".split())
LANGUAGE = (
    "(?:英语|英文|日语|日文|法语|法文|德语|德文|韩语|韩文|俄语|俄文|西班牙语|西语|葡萄牙语|葡语|意大利语|意语|阿拉伯语|"
    "泰语|越南语|印尼语|马来语|荷兰语|瑞典语|"
    "芬兰语|挪威语|丹麦语|波兰语|捷克语|希腊语|土耳其语|波斯语|印地语|乌尔都语|蒙古语|蒙语|藏语|维语|维吾尔语|哈萨克语|"
    "朝鲜语|彝语|苗语|壮语|满语|拉丁语|希伯来语|世界语|"
    "中文|汉语|普通话|国语|粤语|白话|手语|缅甸语|老挝语|柬埔寨语|乌克兰语|匈牙利语|"
    "(?:广东|四川|上海|闽南|客家|潮汕|东北|温州|湖南|长沙|武汉|河南|山东|陕西|天津|北京|南京|苏州|杭州|宁波|福州|海南|"
    "重庆|云南|贵州|江西|台山|潮州|地方|家乡|家乡)话)"
)
_LANGUAGES = rf"(?:{LANGUAGE})(?:(?:、|和|跟|与|还有|以及|，|，也会)?(?:一点儿?|一些|一点点)?{LANGUAGE}){{0,5}}"
PETS = (
    "狗子 猫主子 毛孩子 小猫 小狗 猫咪 狗狗 猫 狗 兔子 仓鼠 豚鼠 荷兰猪 龙猫 鹦鹉 乌龟 金鱼 锦鲤 热带鱼 鱼 鸟 "
    "柯基 金毛 "
    "泰迪 哈士奇 柴犬 布偶 布偶猫 橘猫 边牧 八哥 拉布拉多 萨摩耶 萨摩 "
    "博美 比熊 雪纳瑞 法斗 英短 美短 蓝猫 加菲 暹罗 三花 狸花猫 狸花 土狗 田园犬 吉娃娃 贵宾 阿拉斯加 德牧 松鼠 刺猬 "
    "蜥蜴 守宫 蛇 鸽子 鸡 鸭子 羊驼 猪 小香猪 玄凤 乌鸦 猴子 雪貂 "
    "比格犬 比格 串串 中华田园犬 中华田园猫 西施 牧羊犬 德文 金渐层 银渐层 虎斑 花枝鼠 蜜袋鼯 角蛙 巴西龟 "
    "草龟 孔雀鱼 斗鱼 龙鱼 鹅 "
    "巴哥 斗牛 杜宾 腊肠 秋田 喜乐蒂 缅因 无毛猫 奶牛猫 黑猫 白猫 老猫 老狗 流浪猫 流浪狗 画眉 百灵 文鸟 虎皮 "
    "金丝熊 陆龟"
).split()
PET = "|".join(sorted(PETS, key=len, reverse=True))
PET_NAMES = "旺财|来福|旺仔|元宝|雪球|煤球|豆包|大黄|咪咪|喵喵|汪汪|球球|毛毛|花花"
"""Names that pets have more often than people or things."""
COUNT = (
    "(?:[一两二三四五六七八九十几]|\\d+)?(?:只|条|匹|头|个|缸|对|窝|口|盆|辆|台|套|把|架|本|件|双|部|张|块|份|束|款|"
    "间|栋|幅|副|瓶|支|家|顶|枚|盒|斤|箱|张|株|棵)?"
)
ACTIVITIES = (
    "钓鱼|跑步|游泳|健身|瑜伽|爬山|徒步|骑行|骑车|登山|露营|滑雪|滑板|潜水|冲浪|攀岩|打?(?:羽毛球|篮球|乒乓球?|网球|"
    "高尔夫|橄榄球|保龄球|冰球|棒球|排球|台球|桌球|太极拳?|架子鼓|麻将|游戏|鼓)|踢(?:足)?球|足球"
    "|弹(?:吉他|钢琴|古筝|琴|贝斯)|拉(?:二胡|小提琴|大提琴)|二胡|小提琴|大提琴|吹(?:笛子|口琴|萨克斯|葫芦丝)|练(?:毛笔字|"
    "书法|字|瑜伽|拳|太极|琴)|毛笔字|书法|画画|画水彩|写诗|写字|摄影|拍照|拍鸟|观鸟|下(?:象棋|围棋|棋)"
    "|跳(?:广场舞|街舞|舞|绳|拉丁|芭蕾)|唱(?:歌|K|京剧)|烘焙|做饭|烤面包|做手工|种(?:花|菜|多肉)|养花|集邮|拼(?:乐高|图)|"
    "织毛衣|钩针|飞盘|桨板|飞无人机|玩(?:滑板|飞盘|桌游|剧本杀|乐高|游戏|摄影|摩托)|剧本杀|桌游|冥想|书法|陶艺|做陶艺|"
    "木工|做木工|撸铁|夜跑|晨跑|越野跑|马拉松|射箭|击剑|拳击|打拳|看书|读书|看电影|追剧|听歌|遛鸟|逗鸟|盘核桃|喝茶|品茶"
)
_VERY = (
    "(?:很|特别|非常|超级?|挺|蛮|最|比较|十分|真|好|有点|太|尤其|极其|相当|还|也|就|都|一直|从小|老|总|一般|平时|更|"
    "都很|是|确实|格外|贼|巨|天生)*"
)
_THING = rf"[{H}\w·《》“”、 +-]{{1,40}}?"
_WORDS = rf"[{H}\w·《》、 +-]{{2,24}}?"
_ORG = rf"[{H}A-Za-z0-9·&]{{2,16}}?"
_PLACE = rf"[{H}A-Za-z·]{{2,12}}?"
_MAJOR = (
    rf"(?:会计|(?!书|研|博|完|大|高|初|小|中|到|过|本|硕|的|了|得|会|好|习|不|着|点|怎|"
    rf"开)(?:(?![的了我你]|(?<!吉)他)[{H}A-Za-z]){{2,8}}?)"
)


# The types of objects by relation.


_PROVINCES = frozenset(
    "河北 山西 辽宁 吉林 江苏 浙江 安徽 福建 江西 山东 河南 湖北 湖南 广东 海南 四川 贵州 云南 陕西 甘肃 青海 "
    "台湾 广西 "
    "西藏 宁夏 新疆".split()
)


@cache
def _tags() -> Callable[[str], list[tuple[str, str]]]:
    # Loaded for the first doubtful place: the dictionary takes about 140 ms.
    import rjieba  # noqa: PLC0415

    return rjieba.tag


def known_place(word: str) -> bool:
    """Whether a word is surely the name of a place."""
    if word in entities.PLACES_ZH or word in _COUNTRIES:
        return True
    if not 2 <= len(word) <= 8 or not re.fullmatch(f"(?![那这])(?:(?![叫住在])[{H}])+", word):
        return False
    if (
        word[:2] in _PROVINCES
        and len(word) <= 6
        and not re.search("大学|学院|银行|公司|[菜话人当做读念上工打学开住生省]", word)
    ):
        return True
    return all(tag == "ns" for _, tag in _tags()(word)) or (len(word) > 2 and word[-1] in "省市县区镇村州")


def _is_home(word: str) -> bool:
    if not _IS_PLACE(word) or re.search("[的最]|公司|地方|全|[部科组处局院店厂司]$", word):
        return False
    return word == "老家" or not word.startswith(tuple(_NO_HOME))


def _is_employer(word: str) -> bool:
    if word in _ORGS:
        return True
    if (
        word in _SOME_EMPLOYER
        or (TYPES["occupation"](word) and not _ORG_ENDS(word))
        or not _IS_ORG(word)
        or word.endswith(("的", "里", "地", "部", "科", "组", "专业"))
        or re.search("(?<!当)当(?!当)", word)
    ):
        return False
    return not known_place(word)


_IS_NAME = LazyPattern(ANY_NAME).fullmatch
_IS_PERSON = LazyPattern(KIN_NAME).match
_IS_FULL_NAME = LazyPattern(rf"{_ANY_SURNAME}(?:{_G}){{1,2}}").fullmatch
_NOT_CALLED = LazyPattern(
    "大人|女王|大神|大王|雷锋|天才|仙女|皇|祖宗|爸爸|大侠|专家|达人|患者|之王|打工人|社畜|高手|学霸|学渣|废物"
).search
_NO_NAMES = frozenset(
    "家长 家属 停车 救命 名字 什么 朋友 外卖 大家 出租 救护 老板 妈妈 爸爸 老师 同学 医生 声音 起来 "
    "醒来 不停 单身 结婚 自己 别人 孩子 男的 女的".split()
)


def is_name(word: str) -> bool:
    """Whether a word can be a person's name after a word that says so."""
    return bool(_IS_NAME(word)) and not _NOT_CALLED(word) and word not in _NO_NAMES and word not in KIN


def _is_named(word: str) -> bool:
    """Whether a word with a surname's first character is a name: by the characters after it, or by the dictionary."""
    return all(one in entities.GIVEN for one in word[1:]) or _tags()(word) == [(word, "nr")]


def _is_nickname(word: str) -> bool:
    """Whether others call someone so, instead of making fun: 老魏, not 夜猫子."""
    return is_name(word) and (len(word) <= 2 or is_person(word) or word.isascii())


def is_person(word: str) -> bool:
    """Whether a word has the form of a person's name."""
    found = _IS_PERSON(word)
    return found is not None and found.end() == len(word) and not entities.is_a_word(word) and word not in KIN


_DULL = LazyPattern(
    "(?:上班|加班|工作|开会|周一|星期一|学习|考试|数学|作业|早起|堵车|排队|人类|男人|女人|运动|老板|甲方|KPI|穷|交房租|"
    "还花呗|还房贷|还款|钱|贫穷|智障|傻子|傻瓜|熬夜|写论文|改需求|需求|挨骂|床|你)"
).match
_NOT_LIKED = LazyPattern(
    r"[你您他她它这那哪谁怎的咱我了着得是到多死]|[吃喝看听玩]$|别人抽|.{1,6}不算|什么|自己|大家|上了|过[的了]|[和跟]你|"
    r"一个人(?!旅)|饭$|起来|不起|的不是|"
    r"的是|某"
).match


def _is_taste(word: str) -> bool:
    return not _NOT_LIKED(word) and not _DULL(word) and "你" not in word and "的是" not in word


def is_pastime(word: str) -> bool:
    """Whether what someone learns is done for pleasure: 学吉他."""
    return any(_ACTIVITY(verb + word) for verb in ("", *"弹打拉练下跳吹"))


def _is_age(word: str) -> bool:
    digits = re.sub("[周岁半]", "", word)
    return not digits.isdecimal() or int(digits) < 120


_SIGHT = LazyPattern(
    rf"[{H}]{{2,8}}(?:古城|古镇|山|湖|岛|寺|海|江|镇|长城|石窟|公园|半岛|雪山|峡谷|草原|沙漠|瀑布|博物馆|故宫|县|[^超]市|"
    rf"州)"
).fullmatch


def _is_sight(word: str) -> bool:
    return known_place(word) or bool(_SIGHT(word)) or _is_foreign(word)


_FOREIGN_TAGS = frozenset("nr nrt nz nt nrfg ns".split())


def _is_foreign(word: str) -> bool:
    """Whether a word is a name in foreign sounds: 波尔图."""
    return len(word) > 2 and not entities.is_a_word(word) and all(tag in _FOREIGN_TAGS for _, tag in _tags()(word))


def _is_school(word: str) -> bool:
    return bool(_SCHOOL(word)) or (bool(_IS_ORG(word)) and not known_place(word) and not _IS_JOB(word))


def _is_alma_mater(word: str) -> bool:
    return bool(_SCHOOL(word)) or (_is_school(word) and len(word) <= 8 and not re.search("专业|刚|年|火锅", word))


def _is_own_name(word: str) -> bool:
    """Whether 我是 and this word give the speaker's name."""
    named = bool(_IS_FULL_NAME(word)) and _is_named(word) and not entities.is_a_word(word)
    return named and not _IS_JOB(word) and not re.search("[人籍的生员]$", word)


TYPES: dict[str, Callable[[str], object]] = {
    "lives_in": _is_home,
    "from": _is_home,
    "home": known_place,
    "spot": known_place,
    "employer": lambda word: word in _ORGS or bool(_ORG_ENDS(word)),
    "visited": _is_sight,
    "nationality": lambda word: word in _COUNTRIES,
    "works_at": _is_employer,
    "occupation": lambda word: bool(_IS_JOB(word)) and not _NO_JOB(word),
    "work": lambda word: len(word) <= 10 and not re.search("[我你他她]|什么|玩笑|梦|饭|客|题|对|好|错|完|了", word),
    "studies_at": _is_school,
    "alma": _SCHOOL,
    "school": lambda word: bool(_SCHOOL(word)) and not re.search("^[上在]|[读念]|上(?:大学|高中|初中|中学|小学)$", word),
    "graduated_from": _is_alma_mater,
    "studies": lambda word: (len(word) > 1 or word in "医法画")
        and not re.search("[我你她什了吗]|(?<!吉)他|[大中小]学$|学校|幼儿园|一下|学会|习$|坏|好", word),
    "name": is_name,
    "nick": _is_nickname,
    "full_name": _is_own_name,
    "age": _is_age,
    "likes": _is_taste,
    "dislikes": lambda word: not _NOT_LIKED(word) and "你" not in word and "的是" not in word,
    "hobby": _is_taste,
    "favourite": _is_taste,
    "allergic_to": lambda word: not _DULL(word) and not re.search("[我你他她吗呢了会是对候被诊]|什么|都|这|那|不|^没|"
        "任何", word),
    "firm": lambda word: word in _ORGS or bool(_IS_ORG(word)),
    "new_firm": lambda word: word in _ORGS and word not in _VISITED_ORGS,
    "owns": lambda word: word not in PETS and not re.search("作业|[我你她吗呢]|(?<!吉)他|什么|事|问题|办法|时间|"
    "男朋友|女朋友|关系|梦|信心|心得|"
        "朋友|人$|点|会$|课|在|工作|被|把|从|邮箱|号|电话", word) and len(word) <= 12,
    "bought": lambda word: not re.search("[我你他她吗呢]|什么|很多|好多|一些|单$|菜$|水果|早餐|晚饭|午饭|奶茶|咖啡|东西|"
        "票$|醉|账|面包|零食|药$", word),
    "plans": lambda word: len(word) <= 24 and not re.search("你|他|她|吗|什么|怎么|哪|好$|^[了的是睡]|^(?:吃饭|下班|休息|"
        "洗澡|出门|走了)|去世|去的世|过世", word),
    "pet_name": lambda word: word in PETS or word in PET_NAMES or not (word in KIN or word in _NO_NAMES
        or entities.is_a_word(word) or (word[0] in "小阿大" and word[1] in entities.SURNAMES)),
    "trip": known_place,
    "married_to": is_person, "partner": is_person, "friend": is_person, "colleague": is_person, "sibling": is_person,
    "relative": is_person, "parent": is_person, "child": is_person,
}  # fmt: skip
"""Which words can be the object of a relation; a relation without a type takes any."""

SORTS: dict[str, Callable[[str], object]] = {
    "studies_at": TYPES["school"], "works_at": lambda word: word in _ORGS and word not in _VISITED_ORGS,
    "lives_in": known_place, "occupation": TYPES["occupation"],
}  # fmt: skip
"""What surely is the object of a relation that changes."""
_CHANGES = [
    (kind, LazyPattern(verb).search)
    for kind, verb in (
        ("studies", "系|专业|转[到成]"), ("studies_at", "转学|[退辍休]学|录取|保送|读书|上学|念书|考"),
        ("lives_in", "搬|迁|移|定居|住|生活|安家|落户|租房"), ("occupation", "转行|改行|转岗|[做当成]了"),
        ("works_at", "跳|[离辞]职|辞|走|离开.*去|入职|加入|"
            "[裁炒聘挖招雇录签]|开除|解雇|优化|上班|工作|任职|实习|打工|干活|被"),
    )
]  # fmt: skip
_SAME = {
    "alma": "graduated_from", "spot": "lives_in", "employer": "works_at", "home": "from", "full_name": "name",
    "firm": "works_at", "new_firm": "works_at", "nick": "name", "school": "studies_at", "work": "occupation",
    "pet_name": "pet", "trip": "plans",
}  # fmt: skip
"""Groups that are a relation with a stricter type."""


class ChineseFrame(NamedTuple):
    """A predicate that states relations: its pattern, the kind of statement, and when it counts."""

    match: Callable[[str, int, int], re.Match[str] | None]
    groups: tuple[str, ...]
    kind: str
    many: bool
    sure: bool
    """Whether it counts without a subject of its own."""
    confidence: float


class Family(NamedTuple):
    """Frames of one kind, and what a clause must contain for any of them."""

    has_cue: Callable[[str, int, int], object]
    frames: list[ChineseFrame]


FAMILIES: list[Family] = []
"""After a subject, in the order in which they are tried; the first match counts."""
CLAUSES: list[ChineseFrame] = []
"""For a whole clause of the speaker's whose object is its topic (法语我不会说) or that needs no subject "
    "(大家都叫我老欧)."""


def _add(
    pattern: str,
    *,
    kind: str = STATE,
    many: bool = False,
    sure: bool = True,
    whole: bool = False,
    confidence: float = 0.85,
) -> None:
    compiled = LazyPattern(pattern)
    groups = tuple(name for name in compiled.groups if name not in ("what", "twice", "name2", "double"))
    (CLAUSES if whole else FAMILIES[-1].frames).append(
        ChineseFrame(compiled.match, groups, kind, many, sure, confidence)
    )


def _family(cues: str) -> None:
    """Begin a family: its frames are tried only for a clause with one of these characters."""
    FAMILIES.append(Family(LazyPattern(f"[{cues}]").search, []))


def sort_of(words: list[str], verb: str, *, sure: bool) -> str:
    """The type of what changes by its words, or else by the verb; empty if neither tells."""
    if sure and "不在" in verb and any(map(_is_foreign, words)):
        return "works_at"
    for kind, check in SORTS.items():
        if any(check(word) for word in words) and not (sure and kind == "occupation"):
            return kind
    return "" if sure else next((kind for kind, found in _CHANGES if found(verb)), "")


def relation_of_group(group: str) -> tuple[str, str, bool]:
    """The relation and the type that a group names, and whether it ended."""
    ended = group.startswith("no_")
    kind = group.removeprefix("no_").rstrip("2")
    return _SAME.get(kind, kind), kind, ended


# fmt: off
_CALL = "(?:名叫|叫做|叫作|名为|叫)"
_SOMEONE = "(?:大家|朋友|同事|同学|家里人|家人|别人|他们|人家|网友|粉丝|全班|全家)们?(?:都|一般|老)*"
_FOLKS = (
    "(?:你|您)?(?:以后)?(?:我的?)?(?:大家|朋友|同事|同学|家里人|家人|别人|他们|人家|网友|粉丝|圈里人)?们?(?:都|一般|"
    "平时|老|习惯|喜欢)*"
)

_family("名叫喊称号改是被")
_add(rf"的?(?:大名|本名|全名|真名|姓名|名字|英文名|中文名|小名|网名|笔名|昵称|外号|"
    rf"绰号)(?:其实|就)?(?:是|叫做?|：|:)?{QUOTE}(?P<name>{ANY_NAME}){END}", confidence=0.9)
_add(rf"(?:的名字)?被(?:登记|写|打|念|叫)成了?{QUOTE}(?P<no_name>{ANY_NAME}){END}")
_add(rf"{_CALL}(?!我|你|他|她|人|车|外卖|了|过|什么|啥|醒|停|好){QUOTE}(?P<name>{ANY_NAME}){END}", confidence=0.9)
_add(rf"改名(?:叫|为|成)?了?{QUOTE}(?P<name>{ANY_NAME}){END}", kind=STARTED)
_add(rf"(?:就)?是(?P<full_name>{_ANY_SURNAME}(?:{_G}){{1,2}}){END}", sure=False)
_add(rf"(?:在公司|在学校|在班里|在单位)?(?:从小)?就?被(?:{_SOMEONE}(?:叫|喊|称)(?:作|做|为)?|(?:叫|喊|称)(?:作|做|"
    rf"为)){QUOTE}(?P<name>{ANY_NAME}){END}", confidence=0.9)
_add(rf"{_FOLKS}(?:可以|就)?(?:管我叫|叫我|喊我|称呼我|称我)(?:做|为)?{QUOTE}(?P<nick>{ANY_NAME}?)(?:吧|就|即可|"
    rf"好了)?{END}", whole=True, confidence=0.9)
_family(rf"岁生{_N}")
_add(rf"(?:的年龄|年龄)?(?:是|才|刚|刚满|满|虚岁|刚过|刚刚|周岁)*(?P<age>{AGE}(?:周?岁半)?)(?:周?岁{END}|{END}|"
    rf"周?岁?了(?=还|都|才|也))")
_add(rf"(?:的)?(?:新历|农历|阴历|阳历)?生日(?:正好|刚好|就|一般)?(?:是|在|就是|：|:|"
    rf"为)?(?P<birthday>{DATE})", confidence=0.9)
_add(rf"(?:是)?(?P<birthday>(?:19|20)?\d\d年)(?:出生|生人|生)的?{END}")
_add(r"是(?P<birthday>(?:19|20)?\d\d年)的$")
_add(rf"(?:是)?(?P<birthday>{DATE})(?:的|过)?(?:生日|生的|生人|出生的?){END}", confidence=0.9)
# Where someone is from, and which passport.
_family("家乡籍自生护民人的")
_add(rf"(?:的?老家|的?家乡|的?故乡|籍贯|祖籍)(?:其实)?(?:是|在)(?P<from>{_PLACE})(?:人|那边|这边)?{END}", confidence=0.9)
_add(rf"(?:的?老家|籍贯|祖籍)(?P<home>{_PLACE})(?:人|那边|这边)?{END}", confidence=0.9)
_add(rf"的?(?:老家|家乡|故乡|籍贯|祖籍)不[是在](?P<no_from>{_PLACE})[的人]?{END}", confidence=0.9)
_add(rf"是?在(?P<from>{_PLACE})出生的?{END}", confidence=0.9)
_add(rf"(?:来自|出生在|出生于|生在)(?P<from>{_PLACE})(?:一个.*|的一个.*)?{END}", confidence=0.9)
_add(rf"(?:的?国籍)(?:是|为)?(?P<nationality>{_PLACE}){END}", confidence=0.9)
_add(rf"(?:是|拿的是|持有?|拿|加入了?|入了?|有|换成了?|改成了?|拿到了?|取得了?|属于)?(?P<nationality>{_PLACE})(?:国籍|籍|"
    rf"护照|公民){END}", confidence=0.9)
_add(rf"是(?:土生土长的|地道的|正宗的|地地道道的|个|一个)?(?P<nationality>{_PLACE})人{END}", confidence=0.85)
_add(rf"是(?:土生土长的|地道的|正宗的|地地道道的|个|一个)?(?P<from>{_PLACE})人{END}", confidence=0.85)
_add(rf"(?:土生土长的?|地道的?)?(?P<nationality>{_PLACE})人{END}", sure=False)
_add(rf"(?:土生土长的?|地道的?)?(?P<home>{_PLACE})人{END}", sure=False)
_add(rf"(?:就)?(?:是)(?P<home>{_PLACE})的$", sure=False)
_add(rf"是(?:个|一个)?(?:从)?(?P<home>{_PLACE})(?:过)?来的(?P<occupation>[{H}]{{2,8}}){END}")
_L = rf"(?P<lives_in>{_PLACE})"
_HOME_AFTER = rf"(?:住|定居|生活|安家|落户|租房|去|来|工作|市区|这边|那边|附近|边上)*(?:了|啦|的)*{ON}"
_SOME = "(?:[一那这某]家?|一个|一所|一间)?"
_JOB = f"[{H}A-Za-z]{{2,10}}?"
_W = rf"(?P<works_at>{_ORG})"
_NOW_WORKS = "(?:上班|任职|工作|实习|供职|就职|打工|干活|做事|教书|当差|干|服役)"
_HOPPING = "字节跳动|好未来|转转|一加"
"""Employers whose names have a verb of moving in them."""
_A_JOB = r"(?:一?(?:名|个|位))?"
# What changes: homes, schools, jobs and employers; the type of the object tells which.
_family("从由离在被让给去到来进入考加跳换调转搬迁移回辞告把")
_LEFT = rf"(?:(?![我你他她就毕])[{H}A-Za-z0-9·&]){{2,16}}?"
_FROM_V = rf"(?P<no_value>{_HOPPING}|(?!小|来|没|{_HOPPING}){_LEFT})(?:系|专业)?"
_TO_V = rf"{_SOME}(?P<value2>{_ORG})(?:系|专业)?"
_GO = (
    "(?:移居|移民|迁居|搬家|跳槽|转学|转行|改行|转岗|转投|转战|加入|入职|[搬迁跳转换调挪跑回去来到进安])(?:到|去|来|"
    "回|进|至|往|成(?!都)|为|做|当|在)*了?"
)
_LEAVES = (
    "(?:正式|主动|刚|已经|早就?)*(?:离职|辞职|辞工|辞了|辞掉|被裁|走人|跑路|跳槽|出来|走|离开|退学|辍学|休学|肄业|"
    "搬走|搬离)"
)
_STAYS = "(?:定居|住|生活|安家|落户|发展|工作|上班|入职|任职|实习|干活|打工|打拼|读书|上学|念书|常驻|驻场|租房)"
_add(rf"(?:一家|全家|一家人|把家)?(?:从|"
    rf"由){_FROM_V}(?:{_LEAVES}了?[，,]?)?{_GO}{_A_JOB}{_TO_V}{_STAYS}?[了的]*{ON}", kind=STARTED)
_add(rf"(?:从|由)(?:老东家|前公司|原公司|前东家)?{_FROM_V}{_LEAVES}了?")
_add(rf"(?!打算|决定|准备|计划|干脆|"
    rf"[把被跳转离辞不想要在去回搬和跟带陪])(?P<no_sure>{_LEFT}){_GO}(?P<sure2>{_ORG}){_STAYS}?了?{END}", kind=STARTED)
_add(rf"(?:辞掉|辞去|辞了|离开)了?(?P<no_value>{_ORG})(?:的工作|的职位|的职务|工作|一职){END}", confidence=0.9)
_add(rf"(?:搬离|搬出|离开|退出)了?(?P<no_sure>{_ORG})了?{END}")
_add(rf"(?:已经|早就?)?不在(?P<no_sure>{_ORG})(?:{_STAYS}|待|呆|这边|那边|混|干)*了{END}")
_add(rf"在{_SOME}(?P<sure>{_ORG}){END}")
_add(rf"在(?P<value>{_ORG})(?:待|干|呆|漂|混|讨生活|打拼)[着过]?(?:{END}|(?={_LONG}))")
_HIRED = "(?:录用|录取|聘用|聘请|聘|挖走|挖过去|挖去|挖|招聘|招走|招|返聘|保送|签下|签|雇用|雇|要走)"
_FIRED = "(?:裁员|裁|炒鱿鱼|炒|开除|辞退|解雇|优化|劝退|退学|开|辞)"
_add(rf"(?P<no_studies_at>)被(?:学校|学院)(?:给)?{_FIRED}了?{END}")
_add(rf"(?P<no_works_at>)(?:被|让|给)(?:公司|单位|老板|厂里|领导|他们|原公司)?(?:给)?{_FIRED}(?:掉|"
    rf"了)+{END}", confidence=0.9)
_add(rf"被{_SOME}(?P<no_firm>{_ORG})(?:给)?(?:裁员|裁|炒鱿鱼|炒|解雇|优化|辞退)(?:掉|了)+{END}", confidence=0.9)
_add(rf"把{_SOME}(?P<no_firm>{_ORG})(?:那边|那份|这份)?的?(?:工作|班|活儿?|职位|职)(?:给)?(?:辞|丢|扔"
    rf"|弄丢)(?:掉)?了{END}", confidence=0.9)
_add(rf"(?:离开|告别|辞了|离了)了?(?P<no_value>{_ORG})[，,]?(?:去|到|来|进|加入|跳槽到?|跳去"
    rf"|转投)了(?P<value2>{_ORG}){END}", kind=STARTED)
_add(rf"告别了?(?P<no_new_firm>{_ORG}){END}")
_add(rf"(?:去|到|来|进|加入)了(?P<new_firm>{_ORG}){END}", kind=STARTED)
_add(rf"被{_SOME}(?P<no_value>{_ORG})(?:给)?{_FIRED}(?:掉|了)*{END}", confidence=0.9)
_add(rf"被{_SOME}(?P<value>{_ORG})(?:高薪|成功|正式|给|重新|破格|提前)*{_HIRED}(?:过去|进去)?(?:(?:为|去当|去做|当|"
    rf"做){_A_JOB}(?P<occupation>{_JOB}))?了?{END}", kind=STARTED)
_add(rf"被[{H}]{{0,4}}?(?:[招挖调派聘请录]|外派|借调|推荐|分配|派驻)(?:到|进|去|往|回|入|"
    rf"(?<=驻))了?{_SOME}(?P<value>{_ORG})(?:(?:当|做|任){_A_JOB}(?P<occupation>{_JOB})|{_STAYS})?了?{ON}", kind=STARTED)
_add(rf"被(?:公司|单位|学校|正式|医院|领导)*(?:聘|任命|提拔|选|推选|晋升|聘用|提|升|评)(?:为|成|上|做|"
    rf"当)了?{_A_JOB}(?P<occupation>{_JOB}){END}", kind=STARTED)
_add(rf"(?:一家|全家|一家人|举家)?(?:都)?(?:搬家|搬|迁|移居|移民|迁居)(?:到|去|来|回到|回|进|至|"
    rf"往)了?(?:老家)?{_L}{_HOME_AFTER}", kind=STARTED)
_add(rf"(?:回|到|去|来)了?(?:老家)?{_SOME}(?P<value>{_ORG}){_STAYS}了?{END}", kind=STARTED, sure=False)
# Homes.
_family("搬住居址家在人坐定租")
_add(rf"的?(?:现在|新|现)?的?(?:住址|地址|家庭住址)(?:是|在|：|:){_L}{END}", confidence=0.9)
_add(rf"(?:一家|全家|家人)?(?:都)?(?:居住|定居|租住|合租|同住|蜗居|暂住|住|现居|常住|安家|落户|坐标|人在)(?:的是"
    rf"|的地方是|的地方叫|"
    rf"的小区叫|"
    rf"的小区是)?(?:在|于|到)?{_L}{_HOME_AFTER}", confidence=0.9)
_add(rf"在(?P<no_lives_in>{_PLACE})住过|住过(?P<no_lives_in2>{_PLACE}){END}")
_add(rf"(?P<no_lives_in>)(?:就|已经|又)*搬(?:走|出来|出去)了{END}")
_add(rf"人?在{_L}(?:定居|落脚|扎根|安顿下来|安家|落户|租房住|租房|租了房|生活|住|居住)(?:着|"
    rf"下来)?[了的]*{ON}", confidence=0.9)
_add(rf"(?:的?新?(?:家|房子|房))(?:住|在|住在|安在|买在|租在){_L}{END}", confidence=0.8)
# Schools and subjects.
_family("学读念上录考授修退辍休在专攻业系")
_S = rf"(?P<studies_at>{_ORG})"
_STUDY = (
    "(?:[读念上][一二三四五六七八九]年级|[读念上][小中大]班|读书|上学|念书|就读|接着念博士|进修|留学|读过书|上过学"
    "|念过书|[读念上](?:大学|高中|初中|本科|硕士?|博士?|研究生|研|"
    "[高初大小研][一二三四]))"
)
_add(rf"(?:转学[到去进]|考[上进取入]|就读于?|在读于)了?{_S}(?:的研究生|的博士|研究生)?{END}", kind=STARTED)
_add(rf"(?:在|到){_S}{_STUDY}(?:[，]?(?:读|学|念)(?P<studies>{_MAJOR})(?:专业)?)?{ON}")
_add(rf"在{_S}(?:读|学|念|攻读|主修|修)的?(?:是)?(?P<studies>{_MAJOR})(?:专业|系|的)?(?:本科|硕士|博士|研究生)?{END}")
_add(rf"没有?(?:读|上|念)过(?P<no_school>{_ORG}){END}")
_add(rf"(?:在)?(?:读|上|念)(?:的是|的)?(?P<school>{_ORG}){END}")
_add(rf"在(?P<school>{_ORG})(?:读|学|念)(?P<studies>医|法|画)(?:科|的)?{ON}")
_add(rf"(?:在[{H}]{{2,6}}?)?(?:读|学|念)(?P<studies>医|法|画)(?:科|的)?{ON}")
_add(rf"在[{H}]{{2,6}}?(?:那边|留学)?(?:读|学|念)(?P<studies>(?:(?![的了我你校费])[{H}]){{0,6}}(?:学|工程|管理|设计"
    rf"|金融|会计|法律|计算机|经济|艺术|音乐"
    rf"|建筑)){ON}", sure=False)
_add(rf"(?P<no_studies_at>)(?:就|已经)?(?:退学|辍学|休学)了?{END}")
_DEGREE = "(?:(?:本科|大学|研究生|硕士|博士)(?:里|阶段|时|期间)?)"
_add(rf"(?:的?{_DEGREE}?的?专业)(?:就|其实)?(?:是|：)?(?P<studies>{_MAJOR})(?:专业)?{END}", confidence=0.9)
_add(rf"{_DEGREE}?(?:主修|攻读|[学读念修]的(?:是)?|(?<=[学科生士])[学读念])(?P<studies>{_MAJOR})(?:专业|"
    rf"系)?{END}", confidence=0.9)
_add(rf"{_DEGREE}?学的不是(?P<no_studies>{_MAJOR})(?:专业|系)?{END}", confidence=0.9)
_add(rf"{_DEGREE}?是(?:学|读|念)(?P<studies>{_MAJOR})(?:专业|系)?的{END}", confidence=0.9)
_FIELD = "(?:学|工程|技术|管理|设计|金融|会计|法律|计算机|新闻|经济|护理|翻译|软件|师范|艺术|英语|日语|历史)"
_add(rf"(?:正在|在)?[学读念修](?P<studies>(?!会|习)(?:(?![的了我你校费])[{H}]){{0,6}}{_FIELD})(?:专业)?{ON}")
_add(rf"不(?:读|学|念)(?P<no_studies>{_MAJOR})(?:专业)?了{END}")
_add(rf"(?:正)?(?:在|开始|自)?(?:学|读|念)(?!费|校|期|历|车|生|院|问|术"
    rf"|着)(?P<studies>{_MAJOR})(?:专业)?{ON}", sure=False)
# Degrees.
_family("毕校出本硕博研大授")
_add(rf"(?:本科|硕士|博士|研究生|大学)(?:是|在)?(?P<alma>{_ORG})(?:读的|上的|念的|的|毕业)?{END}", kind=EVENT)
_add(rf"(?:本科|硕士|博士|研究生|大学)?(?:是)?毕业于(?P<graduated_from>{_ORG})(?:[{H}]{{2,6}}(?:系|"
    rf"专业))?{END}", kind=EVENT, confidence=0.9)
_add(rf"(?:是)?(?:从|在)(?P<graduated_from>{_ORG})(?:[{H}]{{2,6}}(?:系|专业))?(?:毕业|[念读上][完的]了?的?(?:本|硕|博|"
    rf"大学|研))", kind=EVENT, confidence=0.9)
_add(rf"(?:是)(?P<graduated_from>{_ORG})毕业的?{END}", kind=EVENT, confidence=0.9)
_add(rf"(?P<graduated_from>{_ORG})(?:本科|硕士|博士)?毕业(?:生)?的?{END}", kind=EVENT, sure=False)
# Work.
_family("退被录单母开从由转改行聘任提升裁炒辞离失岗入加进就供受跳换调去到来在为给替帮职业工做当是干搞卖修教跑送成把没丢")
_add(rf"改(?:行)?(?:去)?(?:当|做)了?{_A_JOB}(?P<occupation>{_JOB}){END}", kind=STARTED)
_add(rf"(?:转行|改行|转岗)(?:去|来)?(?:到|做|当|成|为|干)?了?{_A_JOB}(?P<work>{_JOB}){END}", kind=STARTED)
_add(rf"(?:刚|最近)?(?:升|晋升|提升|评)(?:为|成|任|到|上)?了?(?P<occupation>{_JOB}){END}", kind=STARTED)
_add(rf"(?P<no_works_at>)(?:就|已经|刚|正式|终于|果断)*(?:把?工作)?(?:给)?(?:裸辞|辞职|离职|辞掉工作|辞工|失业|下岗|"
    rf"辞掉了?工作|"
    rf"辞了工作|提离职|从公司离职|不干|被迫离职|没工作|丢了工作|辞了?职|(?<=工作)(?:给)?(?:辞|丢)掉?)(?:在家)?(?:了|"
    rf"啦)?{END}", confidence=0.9)
_add(rf"(?P<no_works_at>)(?:就|已经|刚|正式|终于|光荣|早就?)*退休(?:(?:了|啦){ON}|(?={_LONG}))", confidence=0.9)
_add(rf"(?:入职|加入|进了|进入|加盟|就职于|供职于|任职于|效力于|受雇于)了?{_SOME}{_W}(?:(?:当|做|"
    rf"担任)了?{_A_JOB}(?P<occupation>{_JOB})|工作|上班)?{ON}", kind=STARTED)
_add(rf"(?:跳槽|跳|换工作|换|调动|调|转岗|转)(?:到|去|来|进)了?{_SOME}{_W}(?:去|工作|上班)?了?{END}", kind=STARTED)
_add(rf"是(?:(?P<employer>{_ORG})的?(?:员工|职工)|"
    rf"(?P<employer2>{_ORG})的{_A_JOB}(?P<occupation>(?:(?!的)[{H}A-Za-z]){{2,10}})){END}", confidence=0.9)
_add(rf"(?:是)?在(?:一家|一个|一所|某家|某)?{_W}(?:里)?(?:当|做|担任|任|干)(?:的是|着|过|"
    rf"了[{_N}几多]+年的?)?{_A_JOB}(?P<occupation>[{H}A-Za-z]{{2,10}}){ON}", confidence=0.9)
_add(rf"(?:是)?在(?:一家|一个|一所|某家|某)?{_W}(?:里)?(?:从事|负责|做|搞)(?P<work>[{H}A-Za-z]{{2,8}}?)(?:工作|"
    rf"的工作)?{END}", sure=False)
_add(rf"(?:是)?在(?:一家|一个|一所|某家|某)?{_W}(?:里)?{_NOW_WORKS}(?:的)?{ON}", confidence=0.9)
_add(rf"(?:的)?(?:工作单位|单位|公司|东家)(?:就)?是{_W}{END}")
_add(rf"的?(?:职业|工作|本职工作|本职|主业)(?:就)?(?:是|"
    rf"：){_A_JOB}(?P<occupation>[{H}A-Za-z]{{2,10}}){END}", confidence=0.9)
_add(rf"(?:继续|接着|又)?(?:是|当|做|担任|干|成了|成为了?|任)(?:了|着|上了|上|的是|过)?(?:一辈子|半辈子|大半辈子|"
    rf"[{_N}几多]+年)?的?{_A_JOB}(?:[{H}A-Za-z]{{0,6}}?的){{0,2}}(?P<occupation>(?:(?!的)[{H}A-Za-z]){{2,10}}?)(?:的)?{ON}")
_add(rf"是(?P<work>(?:做|搞|干|卖|教|开|跑|送|修|写|拍|画|唱|管|带|跳|玩)[{H}A-Za-z]{{1,8}}?)的{END}", confidence=0.85)
_SUBJECTS = (
    "数学|语文|英语|物理|化学|历史|地理|生物|体育|美术|音乐|政治|编程|舞蹈|钢琴|日语|法语|小学|初中|高中|作文|"
    "书法|瑜伽|游泳"
)
_add(rf"(?:在{_W})?(?P<work>教(?:{_SUBJECTS}))的?{END}")
_add(rf"(?:是)?(?P<work>开(?:货车|出租车?|滴滴|大车|卡车|公交车?|网约车|地铁|高铁|挖掘机|叉车|吊车))的?{END}")
_add(rf"从事(?P<work2>{_JOB})(?:工作|行业|这行|方面的工作){END}|搞(?P<work>IT|软件|硬件|科研|装修|工程|金融|音乐|艺术|"
    rf"设计|教育|外贸|直播|自媒体|电商|养殖)的?{END}")
_family("^，")
_add(rf"(?P<occupation>[{H}A-Za-z]{{2,8}}?)(?:一个|一枚|一名)?{END}", sure=False, confidence=0.7)
# Languages.
_family("语话文")
_SPEAK = (
    "(?:会说|会讲|能说|能讲|会一点儿?|会|懂一点儿?|懂|精通|讲|说|只会讲|只会说|只会)(?:一口|一点儿?|一些|"
    "点)?(?:流利的?|地道的?|标准的?)?(?:的)?"
)
_add(rf"(?:的?母语)(?:是|为)(?P<speaks>{_LANGUAGES})", many=True, confidence=0.9)
_add(rf"(?:还|也|都|只)?{_SPEAK}(?P<speaks>{_LANGUAGES})(?!书|课|老师|歌|电影|小说|字)", many=True, confidence=0.9)
_add(rf"(?P<speaks>{LANGUAGE})(?:[说讲][得的])?(?:很|挺|非常|特别|还|蛮|相当|贼|超|也)*(?:流利|溜|好|不错|会一点儿?|"
    rf"会){END}")
# Favourites, likes, dislikes, hobbies.
_family("爱喜欢好讨厌烦迷恨怕戒兴感控粉受惯碰沾恶坑吃喝坚每天没不晚早常平业下周被打踢弹拉练跳玩画写拍钓跑骑爬游吹唱放")
_TASTE = "(?:喜欢|爱|爱吃|爱喝|爱看|爱听|爱玩|喜欢吃|喜欢喝|喜欢看|喜欢听|喜欢玩|欣赏|崇拜)"
_add(rf"最{_TASTE}的(?P<what>[{H}]{{1,6}}?)(?:还是|一直是|就是|其实是|当然是|永远是|是|"
    rf"叫)(?P<favourite>{_THING}){END}", confidence=0.9)
_add(rf"最?{_TASTE}的(?:就|还)?是(?P<likes>{_THING}){END}", many=True)
_add(rf"{_TASTE}的[{H}]{{1,6}}?(?:就|还)?(?<!不)[是有](?!很多|好多|不少)(?P<likes>{_THING}){END}", many=True)
_add(rf"最?(?:讨厌|烦|恨|怕|不喜欢|不爱吃|受不了)[吃喝]?的(?:[{H}]{{1,6}}?)?(?:就|"
    rf"还)?(?<!不)是(?P<dislikes>{_THING}){END}", many=True)
_add(rf"(?:平时|业余|唯一|最大)?的?(?:兴趣爱好|业余爱好|爱好|兴趣|业余生活)(?:就|主要)?(?:是|有|包括|：|"
    rf"在于)(?P<hobby>{_THING}){END}", many=True, confidence=0.9)
_add(rf"(?:不再|再也不|再不)(?:那么|这么)?(?:喜欢|爱|吃(?![饭药素斋生]|[猪牛羊红]肉)|喝(?!药))(?:吃|"
    rf"喝)?(?P<no_likes>{_THING}){END}", many=True)
_add(rf"不(?:太|怎么|大)?(?:喜欢|爱|吃(?![饭药素斋生]|[猪牛羊红]肉)|喝(?!药))(?:吃|"
    rf"喝)?(?P<no_likes>{_THING})了[啊呀啦哈]?\s*$", many=True)
_add(rf"戒(?:掉)?(?:了)?(?:喝|吃)?(?P<no_likes>{_THING})了?{ON}", many=True, confidence=0.7)
_add(rf"(?:从来|从|一直|都|向来)?(?P<diet>不能?(?:吃|沾)(?:[猪牛羊鸡鸭鹅狗兔鱼红白]+肉|肉类?|荤腥?|辣的?|碳水|麸质|"
    rf"乳制品|"
    rf"蛋奶|糖|主食|生冷|海鲜|内脏|葱姜蒜|甜食|晚饭|晚餐|夜宵|油炸食品|"
    rf"油腻的?)(?:和[{H}]{{1,3}})?)(?:的)?{END}", confidence=0.85)
_add(rf"(?:{_VERY})(?:不{_VERY}(?:喜欢|爱)|讨厌|受不了|烦|反感|不待见|厌恶|吃不惯|不{_VERY}吃(?!.*[饭药了亏素])|"
    rf"(?:从来?|向来|一向)不[吃喝碰]|不{_VERY}喝(?!.*[药了])|恨透了|看不惯|接受不了|见不得)(?:吃"
    rf"|喝)?(?P<dislikes>{_THING}){END}", many=True)
_add(rf"(?:怕|恨|烦|讨厌)(?P<dislikes>{_THING})[怕恨烦]得(?:要死|要命|不行){END}")
_add(rf"(?:属于|是)(?:那种|个|一个)?不(?:吃|喝|喜欢|爱吃)(?P<dislikes>{_THING})的人{END}")
_add(rf"对(?P<dislikes>{_THING})(?:真的|实在|是|完全)*(?:一点|半点|丝毫)?(?:儿)?(?:兴趣都没有|兴趣也没有|没啥兴趣"
    rf"|毫无兴趣){END}", many=True)
_add(rf"对(?P<dislikes>{_THING})(?:一点)?(?:无感|不感冒|没兴趣|不感兴趣|没什么兴趣|提不起兴趣){END}", many=True)
_add(rf"(?:{_VERY})(?:对)(?P<likes>{_THING}){_VERY}(?:感兴趣|着迷|情有独钟|上瘾|有兴趣|入迷){END}", many=True)
_add(rf"(?:{_VERY})(?:迷上|爱上|喜欢上|沉迷|沉迷于|痴迷|痴迷于|入坑)了?(?:吃|喝)?(?P<likes>{_THING}){END}", many=True)
_add(rf"(?:{_VERY})(?:喜欢|热爱|酷爱|喜爱|钟爱|偏爱|迷(?!路|茫|糊|上|信)|"
    rf"爱(?=[吃喝看听玩唱跳打旅运做逛拼拍画写读钓跑爬骑游养种收弹摄健])|(?<=[最超特很真挺蛮])爱)(?![吃喝看听玩]?的)(?:吃|"
    rf"喝)?(?P<likes>{_THING}){END}", many=True)
_add(rf"(?:没事的时候|没事|空了|闲下来|业余|闲暇时?|有空|一有空|下班后?|放假|周末)?(?:就|都|会|基本|经常|常|总|"
    rf"一般)*(?:爱|喜欢)(?P<hobby>{ACTIVITIES})")
_add(rf"(?:还|也)?(?:天天|每天|每周|周末|每个周末|每晚|经常|常常|晚上|早上|下班后?|没事|闲下来|平时|业余|常年)(?:早上|"
    rf"晚上|都|还|就|会|要|基本|在|去|也|没事|有空|固定|坚持)*(?P<hobby>{ACTIVITIES})")
_add(rf"(?:很久|好久|早就?|已经|再也)*(?:没有?|不|放弃了?)(?:再|怎么|去|玩)*(?P<no_hobby>{ACTIVITIES})了?{END}")
_add(rf"被[{H}]{{1,4}}(?:拉进|带进|安利|拉入|带入)了?(?!坑)(?P<hobby>[{H}]{{2,5}}?)(?:的坑|坑|圈|的圈子)?了?{END}")
# Health and food.
_family("戒功肉荤事应题敏耐疹痒肿素斋真酮碳麸断地低减糖食轻肚")
_A = rf"(?P<allergic_to>[{H}A-Za-z、]{{1,12}}?)"
_NOT_ALLERGIC = "(?:已经|现在|并|都|其实)?(?:不再|再也不|不会|不|没有|没)(?:怎么|会|再)?(?:过敏|不耐受)"
_add(rf"对(?P<no_allergic_to>[{H}A-Za-z、]{{1,12}}?){_NOT_ALLERGIC}", many=True, confidence=0.9)
_add(rf"(?:是)?对{_A}(?:严重|有点儿?|特别|会|都|有|轻度|重度|很|非常|也)*(?:过敏|不耐受)(?!的人|性|"
    rf"吗)", many=True, confidence=0.95)
_add(rf"(?:被(?:医生|医院)?(?:查|诊断|确诊)(?:出来?|为|是)?(?:对)?|被(?:医生)?查出来?|查出来?|检查出|测出来?|有|患有|是|"
    rf"属于|会|天生)?对?{_A}(?:严重|重度|轻度)?(?:过敏(?!的|性|一般|吗|原)|"
    rf"不耐受)(?:体质)?{END}", many=True, confidence=0.9)
_add(rf"(?:一)?(?:吃|碰|喝|沾)到?了?{_A}(?:就|会|就会|都会|必)(?:全身|浑身|满身|嘴|喉咙)?(?:过敏|起红?疹子?|长疹子|"
    rf"发?痒|肿)", many=True)
_add(rf"(?:所以)?(?:吃不了|碰不得|不能碰|不能吃|不能喝){_A}[，,]?(?:因为)?会?过敏{END}", many=True)
_add(rf"过敏的(?:其实)?是{_A}{END}", many=True)
_add(rf"{_A}不耐{END}")
_DIETS = (
    "清淡饮食|弹性素食|戒糖|戒碳水|低盐饮食|低糖饮食|低脂饮食|低嘌呤|控糖|断碳|断糖|半素|奶素|蛋素|轻食|无乳糖|"
    "高蛋白饮食|吃素|素食|纯素|全素|"
    "蛋奶素|清真|吃斋|生酮|低碳|无麸质|轻断食|间歇性断食|地中海饮食|减脂餐|低GI|无糖饮食|生食|鱼素|锅边素"
)
_add(rf"(?P<no_diet>)(?:又|已经|最后|还是)*(?:破戒|开荤|破功)了{END}")
_add(rf"(?P<no_diet>)(?:又|重新|现在)*(?:开始|恢复|改回)(?:又|重新)?吃(?:肉|荤)了?{END}")
_add(rf"(?:不再|再也不|不|已经不|没有|没)(?:是)?(?:个)?(?:吃)?(?P<no_diet>{_DIETS})(?:餐|饮食)?(?:主义)?者?")
_add(rf"(?:开始|一直|常年|长期|是|信佛|改|改成|改为|坚持|采用|在|走|执行|只|只能|属于|个|吃|的|一名|一个|"
    rf"严格的?)*(?P<diet>{_DIETS})(?:餐|食|饮食|主义)?者?", confidence=0.9)
# Possessions and animals.
_family("名养捡收抱领买接有没开骑用戴弹手把卖出换购入抢提淘拍添置的经车电相座笔")
_NAMED_IN = rf"(?:(?:名叫|叫做|名为|叫)(?P<name2>[{H}A-Za-z]{{1,8}}?)的)?"
_add(rf"(?:家里?)?(?:(?:没有|没|不|从没)养(?:过)?"
    rf"|没有){COUNT}(?:叫[{H}A-Za-z]{{1,6}}的)?(?P<no_pet>[{H}]{{0,3}}?(?:{PET}|"
    rf"宠物))(?:了)?{END}")
_add(rf"(?:家里?)?(?:还|新|只|刚|又)*(?:领养|收养|捡到|捡|收留|抱养|养|接回|抱回|来|添|多|"
    rf"买(?!.{{0,4}}[鸡鱼猪鸭蛇]))(?:了|过|着|"
    rf"有|的是|回来?)*{COUNT}{_NAMED_IN}(?P<pet>(?:(?![的了])[{H}]){{0,4}}?(?:{PET}))(?![{H}]*(?:店|的人|粮|砂|毛|"
    rf"窝))", confidence=0.9)
_add(rf"(?:家里?)?(?:还|也)?有(?:[一两二三四五六几]|\d+)?(?:只|条|头|匹|"
    rf"缸)(?:[{H}\d]{{1,3}}岁的)?(?:{_NAMED_IN})(?P<pet>(?:(?![的了])[{H}]){{0,4}}?(?:{PET}))", confidence=0.85)
_PET_LIKE = rf"(?:{PET}|{PET_NAMES}|[小阿大][{H}]|(?P<twice>[{H}])(?P=twice)|[A-Z][a-z]{{1,12}})"
_OWNED = "(?:辆|台|套|把|架|栋|部|艘|块|间|处|支|枚|张|件|双)"
_add(rf"(?:没有|没)(?P<no_owns>车|房子?|驾照|手机|电脑|电视|私家车|摩托车?|信用卡){END}")
_add(rf"(?:名下(?:还|也|就|只)?有?|(?:家里|手上|手里|手头)?(?:还|也|就|只)?有)(?:[一两二三四五六七八九十几]|"
    rf"\d+)?{_OWNED}(?:自己的|新的?|二手的?|旧的?)?(?P<owns>[{H}A-Za-z0-9 ]{{1,12}}?){END}", confidence=0.8)
_add(rf"(?:自己|一个人|和[{H}]{{1,3}}|跟[{H}]{{1,3}})?(?:在[{H}]{{2,6}}?)?(?:开|经营)(?:了|着)?(?:一)?(?:家|间|"
    rf"个)?(?:自己的)?(?P<owns>[{H}A-Za-z0-9]{{1,8}}(?:店|馆|工作室|公司|厂|诊所|餐厅|民宿|超市|书吧|酒吧|网店|农场|客栈|"
    rf"面馆|咖啡厅|律所|补习班)){END}")
_BRANDS = (
    "特斯拉|比亚迪|大众|丰田|本田|宝马|奔驰|奥迪|五菱宏光|五菱|吉利|长安|理想|蔚来|小鹏|别克|福特|日产|马自达|"
    "沃尔沃|保时捷|华为|苹果|小米|iPhone|安卓|三星|OPPO|vivo|荣耀|一加|联想|戴尔|ThinkPad|MacBook|iPad|尼康|佳能"
    "|徕卡|富士"
)
_TOOL = "(?:手机|车|电脑|相机|座驾|笔记本|平板|耳机)"
_ONE = "(?:一?(?:辆|台|部|块|把))"
_add(rf"(?:(?:现在|平时)?[开骑用戴弹]|的?新?(?:买的)?{_TOOL}|手里的?)(?:的是|着|的|是|换成了?|换了)?"
    rf"(?:{_ONE}(?P<owns>[{H}A-Za-z0-9]{{2,10}}?)|{_ONE}?(?P<owns2>(?:{_BRANDS})[{H}A-Za-z0-9 ]{{0,8}}?)){END}")
_add(rf"(?:(?:[开骑用戴弹]的|手里的?)是(?P<owns>[{H}A-Za-z0-9]{{2,10}}?)|"
    rf"用的?(?P<owns2>[{H}A-Za-z0-9]{{2,6}}{_TOOL})){END}")
_add(rf"(?:就)?把(?:我家|我的|那只|这只)?(?P<no_pet_name>{_PET_LIKE})(?:给)?(?:送人|送走|弄丢|送给[{H}]{{1,6}})了{END}")
_THAT = rf"(?:那|这)?(?:辆|台|套|把|部|架|个|条)?(?:[{H}]{{1,6}}的)?(?:老|旧)?"
_IT = rf"(?P<no_owns>车|房|[{H}A-Za-z0-9]{{2,8}}?)"
_GOES = "(?:卖|换|扔|送人|处理|转手|转卖|转让|报废|弄丢|丢|偷)(?:掉|走)?了"
_WHEN = "(?:已经|都|早就?|昨天|前天|上周|上个月|去年|刚)*"
_add(rf"(?:家|的)*{_THAT}{_IT}{_WHEN}(?:被[我人]?(?:给)?)?{_GOES}+{END}", sure=False)
_add(rf"(?:卖掉?|出)了{_THAT}{_IT}{END}")
_add(rf"把(?:那|这)?(?:辆|台|套|把|部|架)?(?:老|"
    rf"旧)?(?P<no_owns>[{H}A-Za-z0-9]{{1,10}}?)换成了?(?P<owns>[{H}A-Za-z0-9]{{2,12}}?){END}", kind=STARTED)
_add(rf"(?:刚|新|又|终于|在网上|网上|在[{H}]{{2,4}}(?=买|换|租)|逛街|下单|刚刚|自己|前阵子|给自己|咬牙|狠心|贷款|全款|"
    rf"双十一|抢|入手|最近|攒钱|花钱|"
    rf"给(?:我?[爸妈老公婆女儿子孩自己]{{1,3}}))*(?:买|换|"
    rf"购|入手|下单|抢|入|提|淘|拍下|购入|添置|置办)(?:过|的是|了|到了)(?:[一两二三四五六七八九十几]|\d+)?(?:只|条|个|辆|"
    rf"台|套|把|架|本|件|双|部|张|块|款|间|栋|幅|副|瓶|支|顶|枚|盒|箱|株|棵)?(?:新的|"
    rf"二手的?)?(?P<bought>[{H}A-Za-z0-9 ]{{1,12}}?){END}", kind=EVENT, confidence=0.8)
_add(rf"(?:最后|最终)?没(?:有)?买(?:那|这)?(?:件|个|辆|台|套|把|架|本|双|部|张|"
    rf"块)?(?P<no_bought>[{H}A-Za-z0-9]{{1,10}}?){END}", sure=False)
# Journeys and plans.
_family("不名要去到来游玩逛爬飞跑打登从没计准定决约想说订预报安体疫牙手复")
_V = rf"(?P<visited>[{H}A-Za-z·]{{2,10}}?)"
_TRIP = "(?:旅游|旅行|出差|玩|度假|自驾|看[^，]{1,6}|爬山|[一两三四五六七八九十几\\d]+(?:次|趟|回|天|周|个月))*"
_add(rf"(?:去过|到过|来过|去了趟|去了一趟|去的是|游过|玩过|逛过)(?:[一两三几\d]+(?:次|趟|"
    rf"回))?(?P<visited>[{H}A-Za-z·、]{{2,16}}?){_TRIP}(?:了)?{END}", kind=EVENT, many=True, confidence=0.9)
_add(rf"(?:带|陪|跟|和)?(?:爸妈|老婆|老公|孩子|家人|朋友|女儿|儿子|男友|女友|全家|一家人|我妈|我爸|闺蜜|同事|爱人|"
    rf"对象)?(?:一起)?(?:去了|爬了|逛了|游了|飞了|跑了趟|打卡了|登了)(?:趟|"
    rf"一趟)?(?P<visited>[{H}A-Za-z·、和]{{2,16}}?){_TRIP}(?:了)?{END}", kind=EVENT, many=True)
_add(rf"(?:刚刚?|才)?从{_V}(?:旅游|旅行|出差|度假|玩|飞)*回来{END}", kind=EVENT)
_add(rf"(?:目前|暂时|现在)?没(?:有)?(?P<no_plans>[{H}]{{2,10}}?)的(?:打算|计划|想法){END}", kind=PLAN)
_add(rf"(?P<no_plans>[去回来][{H}]{{2,10}}?)的?(?:计划|行程|打算|安排|旅行)(?:泡汤|取消|黄|作废|搁置)了", kind=PLAN)
_add(rf"(?:决定|最后|还是|现在)*(?:不(?:打算|准备|想|计划)?|取消)(?P<no_plans>(?:去|回|飞|搬|考|学|参加|报|出国|留学|"
    rf"结婚|换){_WORDS}|结婚|"
    rf"出国|搬家|考研|考公|换工作)了{END}", kind=PLAN)
_add(rf"(?:正)?(?:打算|计划|准备|定了|决定|决定了|约好|约了|约好了|想好了|说好|说好了|订好了|订了|定好了|预约了|预约好了|"
    rf"报名了|安排了)(?:要|在|好|着)?(?!好(?!了)|怎|什|了$|了吗|不)(?P<plans>{_WORDS}){END}", kind=PLAN, confidence=0.8)
_add(rf"报了(?:个|一个|名)?(?P<plans>[{H}A-Za-z]{{2,10}}?(?:班|课|考试|比赛|马拉松|训练营|课程|团)){END}", kind=PLAN)
# fmt: on


_FUTURE = LazyPattern(
    rf"(?:我?有|约了)(?:个|一个|场|一场)?(?P<plans2>[{H}A-Za-z]{{0,8}}?(?:面试|考试|手术|体检|约会|婚礼|复查|比赛"
    rf"|演出|答辩|聚会|会)){END}|"
    r"(?:就|已经|还|都|也|全家|一起)*(?:是)?(?:要|会|得|将|就)?(?P<plans>(?:去|回|飞|到|考|学|带|办|开|换|搬|参加|结婚|"
    rf"把|提|领证|做|看|来|陪|上(?!小学|初中|高中|幼儿园|大学)|跑|入职|加入|跳槽|转|戒|买|减|租|养|报(?!名了)|见"
    rf"|面试|自己|"
    rf"从(?=[^，]*(?:搬|离职|辞职|跳|转|毕业))){_WORDS}|入职|辞职|离职|毕业|结婚|领证|搬家|出国|考研|考公|退休"
    rf"|换工作){END}"
)
WILL = ChineseFrame(_FUTURE.match, ("plans", "plans2"), PLAN, False, True, 0.75)
"""After a time to come: 下个月要去三亚度假."""
_GOING = LazyPattern(rf"要(?P<plans>(?:去|回|飞|搬|考|学|自己开|开|戒|攒钱|出国|留学){_WORDS}|结婚|换工作|出国){END}")
GOING = ChineseFrame(_GOING.match, ("plans",), PLAN, False, False, 0.75)

_DOING = LazyPattern(rf"(?:(?![不没想教看买])[{H}\d]){{0,8}}?(?P<hobby>{ACTIVITIES})")
DOES = ChineseFrame(_DOING.match, ("hobby",), STATE, False, True, 0.75)
"""After a word for a habit: 晚上打架子鼓."""

# Clauses whose topic is their object.
# fmt: off
_ME = "(?:我|俺|本人)"
_T = rf"[{H}A-Za-z]{{1,8}}?(?:这东西|这玩意儿?|这种东西|这个|什么的)?"
_add(rf"(?P<no_speaks>{LANGUAGE}){_ME}?(?:是)?(?:早|已经|都|早就|基本)?(?:一句都|一句也|一个字都|完全|根本)?(?:不会说|"
    rf"不会讲|不会|说不了|忘光了|听不懂|全忘了|忘得差不多了)", whole=True)
_add(rf"(?P<speaks>{_LANGUAGES}){_ME}(?:也|还|都)?(?:会|能|说得|讲得|懂)", whole=True, many=True)
_add(rf"(?P<allergic_to>{_T}){_ME}?(?:一|只要)?(?:碰|吃|沾|闻|喝)(?:到|了)?(?:一点)?就(?:会)?(?:浑身|全身"
    rf"|满身)?(?:过敏|起疹子?|发?痒|肿)",
    whole=True)
_add(rf"(?:作为|身为)(?:一个|一名|一位|个)?(?:在(?P<works_at>{_ORG})(?:上班|工作)的(?:人|打工人)"
    rf"|(?P<occupation>{_JOB})){END}", whole=True)
_add(rf"(?P<no_plans>[{H}]{{2,8}}(?:之行|之旅|聚会|婚礼|面试|约会|旅游|会议|饭局)){_ME}?(?:临时|已经|都)?(?:取消"
    rf"|泡汤|黄|吹)了{END}",
    whole=True, kind=PLAN)
_add(rf"(?P<no_plans>[{H}]{{0,6}}(?:演唱会|音乐节|聚会|婚礼|同学会|展览|比赛|马拉松|讲座|派对|团建"
    rf"|年会)){_ME}?(?:也|还是|就|先)?不(?:去|参加)了{END}",
    whole=True, kind=PLAN)
_add(rf"(?:给|把|送)(?:我家|我们家)?(?:(?:{PET}))?(?P<no_pet_name>[{H}]{{2,3}}?|[A-Z][a-z]+)(?:做了?|送去"
    rf"|给)?安乐(?:死)?了{END}", whole=True)
_add(rf"(?P<no_hobby>[{H}]{{2,5}}?){_ME}?(?:早就?|已经|现在|再也|都|好久|很久)*[不没](?:怎么"
    rf"|再)?[打弹跳练踢拉钓画吹](?:过)?了{END}", whole=True)
_add(rf"(?P<no_owns>[{H}A-Za-z0-9]{{2,8}}?)换成了?(?P<owns>(?:{_BRANDS})[{H}A-Za-z0-9]{{0,6}}?){END}", whole=True)
_add(rf"(?P<no_allergic_to>{_T}){_ME}(?:吃)?(?:是)?(?:没事|不过敏|没问题){END}", whole=True)
_add(rf"(?P<dislikes>{_T})[，,]?{_ME}(?:真的?|实在|是|从来|一直|就|最|都|可|怎么也)*(?:喜欢不起来|受不了|吃不惯|讨厌|"
    rf"不喜欢|不爱吃|不爱|不吃|欣赏不来|接受不了)(?!了){END}", whole=True)
_add(rf"除了(?P<speaks>{_LANGUAGES})(?:以外|之外|外)?", whole=True, many=True)
_add(rf"(?P<favourite>《[^《》]{{1,20}}》|[{H}A-Za-z]{{2,8}}?)(?:一直|绝对|永远|"
    rf"就)?是{_ME}最{_TASTE}的(?P<what>[{H}]{{1,6}}?){END}", whole=True, confidence=0.9)
_LOST = "(?:昨天|昨晚|前天|今天|今早|上周|上个月|前几天|去年|已经|不小心|病|也)*"
_add(rf"(?:我家|我的|我们家)?(?:(?:{PET})(?=[{H}]{{2}}))?(?P<no_pet_name>{_PET_LIKE}){_LOST}(?:去世|死|走丢|跑丢|丢|"
    rf"被送走|被送人|回喵星|回汪星){{1,2}}了{END}", whole=True)
_add(rf"(?:我家(?P<no_pet_name>{_PET_LIKE})|(?:{PET})?(?P<no_pet_name2>{PET_NAMES}|"
    rf"(?<=[猫狗])(?P<double>[{H}])(?P=double))){_LOST}走了{END}", whole=True)
_add(rf"{_THAT}(?!都|全|票|菜|东西|货|书|已经|早){_IT}{_ME}?{_WHEN}(?:被[我人]?(?:给)?)?{_GOES}{END}", whole=True)
_add(rf"(?:公司|单位|老板|领导|厂里)(?:就)?把{_ME}(?P<no_works_at>)(?:给)?(?:辞退|开除|裁|优化|炒"
    rf"|开)(?:掉)?了", whole=True)
_add(rf"(?P<no_hobby>(?:{ACTIVITIES}|吉他|钢琴|古筝|围棋|象棋))(?:我)?(?:也|都|已经)?(?:好多年|很久|好久|多年|几年|"
    rf"好几年)没(?:碰|弹|打|练|玩|拉|下|跑)(?:过)?了?", whole=True)
_add(rf"(?P<no_plans>[去回来][{H}]{{2,10}}?)的?(?:计划|行程|打算|安排|旅行|机?票)(?:我)?(?:泡汤|取消|黄|作废|退|"
    rf"搁置)了", whole=True, kind=PLAN)
_add(rf"(?P<no_trip>[{H}]{{2,6}}?)(?:我)?(?:也|还是|就|先)?不去了{END}", whole=True, kind=PLAN)
_add(rf"(?P<no_partner>{KIN_NAME})(?:昨天|上周|上个月|刚|已经|最后|就)*把我(?:给)?(?:甩|踹|绿)了{END}", whole=True)
_add(rf"(?:我)?(?:女朋友|男朋友|女友|男友|对象)(?P<no_partner>)(?:昨天|上周|上个月|刚|已经|最后|"
    rf"就)*把我(?:给)?(?:甩|踹)了{END}", whole=True)
# fmt: on

FAVOURITES: dict[str, str] = {
    pair.partition("=")[0]: pair.partition("=")[2]
    for pair in (
        "颜色=colour 水果=fruit 季节=season 歌手=singer 乐队=band 书=book 小说=novel 电影=film 作家=author "
        "作者=author "
        "球队=team 城市=city 游戏=game 菜=dish 食物=food "
        "美食=food 运动=sport 歌=song 歌曲=song 动物=animal 花=flower 演员=actor 导演=director 饮料=drink "
        "甜品=dessert "
        "甜点=dessert 动漫=anime 动画=anime 科目=subject 学科=subject "
        "球星=player 球员=player 地方=place 国家=country 节日=festival 餐厅=restaurant 明星=star 品牌=brand "
        "零食=snack "
        "茶=tea 酒=drink 数字=number 诗人=poet 画家=painter "
        "电视剧=show 剧=show 综艺=show 鸟=bird 咖啡=coffee 口味=flavour 专辑=album 诗=poem 早餐=breakfast "
        "蔬菜=vegetable "
        "音乐=music 树=tree 车=car 漫画=comic 主食=staple 菜系=cuisine 火锅=hotpot 奶茶=drink 月份=month "
        "天气=weather "
        "味道=flavour 偶像=idol"
    ).split()
}
"""What a favourite is of, in English as in the other relations' names; other words stay as they are."""

# The objects in a phrase.

_CUT = LazyPattern('的时候|的感觉|因为|所以|但是|然后|[。！!“”"]|这样|那样|之类|什么的|时候|来着|的人|打发时间')
_TAIL = "了啊呀哦呢吧啦哈的 噢嘛哟"
_JOINTS = LazyPattern(f"、|以及|还有|(?<=[语文话])(?={LANGUAGE})|(?<=[{H}]{{2}})[和跟与](?=[{H}]{{2}})")
_WITH_WHOM = LazyPattern(
    "(?:小?朋友|家人|爸|妈|大家|同学|孩子|老公|老婆|同事|[他她它]|一群|别人)|[^、]{0,12}一起"
).match
_ACTS = LazyPattern("[画看玩吃做打听买去写唱跳读学喝逛收种在旅运爬游跑健钓骑滑]").match
_ACTIVITY, _ACTIVITIES = LazyPattern(ACTIVITIES).fullmatch, LazyPattern(ACTIVITIES).match
_LONGEST, _LONGEST_LATIN = 20, 80


def parts(sentence: str, start: int, end: int, *, many: bool) -> Iterator[tuple[int, int]]:
    """The objects between two positions, split at the end of the phrase and between the items of a list."""
    cut = _CUT.search(sentence, start, end)
    end = end if cut is None else cut.start()
    at = start
    for joint in _JOINTS.finditer(sentence, start, end) if many else ():
        if at < joint.start() and (joint[0] == "、" or _joins(sentence, at, joint, end)):
            yield from _trimmed(sentence, at, joint.start())
            at = joint.end()
    yield from _trimmed(sentence, at, end)


def _joins(sentence: str, start: int, joint: re.Match[str], end: int) -> bool:
    """Whether a 和 joins two things, instead of naming company or two objects of one verb."""
    if _WITH_WHOM(sentence, joint.end(), end):
        return False
    if _ACTIVITY(sentence, start, joint.start()) and _ACTIVITIES(sentence, joint.end(), end):
        return True
    return not _ACTS(sentence, start) or _ACTS(sentence, joint.end()) is not None


def _trimmed(sentence: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end and sentence[end - 1] in _TAIL:
        end -= 1
    while start < end and sentence[start] in " \x00的":
        start += 1
    little = LazyPattern("一点儿?|一些|一点点").match(sentence, start, end)
    start = little.end() if little else start
    words = sentence[start:end]
    longest = _LONGEST_LATIN if words.isascii() else _LONGEST
    if words and len(words) <= longest:
        yield start, end
