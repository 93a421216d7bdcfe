"""The objects of Chinese statements: words for relatives, names, places, employers, and which words are of which type."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

from memwell.language import entities
from memwell.language.patterns import LazyPattern

H = "\u4e00-\u9fff"

# Relatives and acquaintances: the relation to them, the English word for the person, and the Chinese words.

_RELATIVES = """
married_to husband 老公 丈夫 先生 男人
married_to wife 老婆 妻子 太太 媳妇儿 媳妇
married_to spouse 爱人 那口子 老伴儿 老伴
married_to ex-husband 前夫
married_to ex-wife 前妻
partner boyfriend 男朋友 男友; partner girlfriend 女朋友 女友; partner partner 对象 另一半; partner fiancé 未婚夫
partner fiancée 未婚妻; parent mother 妈妈 母亲 老妈 养母 妈咪 妈 娘; parent father 爸爸 父亲 老爸 养父 老爹 爸 爹
parent parents 爸妈 父母
child son 儿子; child older_son 大儿子; child second_son 二儿子; child third_son 三儿子; child younger_son 小儿子
child daughter 女儿 闺女; child older_daughter 大女儿 大闺女; child second_daughter 二女儿; child third_daughter 三女儿
child younger_daughter 小女儿 小闺女
child child 孩子 小孩 娃 宝宝 丫头; child eldest_child 老大 大宝 大娃; child second_child 老二 二宝 二娃
child third_child 老三
child twins 双胞胎 龙凤胎
sibling older_brother 哥哥 老哥 哥; sibling eldest_brother 大哥; sibling second_older_brother 二哥
sibling third_older_brother 三哥; sibling fourth_older_brother 四哥; sibling younger_brother 弟弟 老弟 弟
sibling first_younger_brother 大弟; sibling second_younger_brother 二弟; sibling third_younger_brother 三弟
sibling youngest_brother 小弟; sibling older_sister 姐姐 老姐 姐; sibling eldest_sister 大姐
sibling second_older_sister 二姐; sibling third_older_sister 三姐; sibling fourth_older_sister 四姐
sibling younger_sister 妹妹 老妹 妹; sibling first_younger_sister 大妹; sibling second_younger_sister 二妹
sibling third_younger_sister 三妹; sibling youngest_sister 小妹
relative paternal_grandfather 爷爷; relative maternal_grandfather 外公 姥爷
relative paternal_grandmother 奶奶; relative maternal_grandmother 外婆 姥姥
relative maternal_uncle 舅舅; relative first_maternal_uncle 大舅; relative second_maternal_uncle 二舅
relative youngest_maternal_uncle 小舅; relative paternal_uncle 叔叔 伯伯 伯父; relative first_paternal_uncle 大伯
relative second_paternal_uncle 二叔; relative third_paternal_uncle 三叔; relative youngest_paternal_uncle 小叔
relative uncle 姑父 姨父 姑丈 姨丈; relative paternal_aunt 姑姑 姑妈; relative first_paternal_aunt 大姑
relative second_paternal_aunt 二姑; relative youngest_paternal_aunt 小姑; relative maternal_aunt 姨妈
relative first_maternal_aunt 大姨; relative second_maternal_aunt 二姨; relative youngest_maternal_aunt 小姨
relative aunt 舅妈 婶婶 伯母 阿姨; relative older_male_cousin 表哥 堂哥; relative older_female_cousin 表姐 堂姐
relative younger_male_cousin 表弟 堂弟; relative younger_female_cousin 表妹 堂妹
relative nephew 侄子 外甥 侄儿; relative niece 侄女 外甥女
relative father-in-law 岳父 公公 老丈人
relative mother-in-law 岳母 婆婆 丈母娘
relative sister-in-law 嫂子 弟媳妇 弟媳 弟妹 小姨子
relative brother-in-law 姐夫 妹夫 小舅子; relative grandson 孙子 外孙; relative granddaughter 孙女 外孙女
relative son-in-law 女婿; relative daughter-in-law 儿媳妇 儿媳; relative relative 亲戚
friend friend 好朋友 好友 老朋友 朋友 闺蜜 发小 死党 哥们儿 哥们; friend roommate 室友 舍友; friend neighbour 邻居
friend classmate 老同学 同学; friend deskmate 同桌; colleague colleague 老同事 同事 搭档; colleague boss 老板 领导 上司
colleague manager 经理
colleague supervisor 导师 主管
colleague apprentice 徒弟
colleague business_partner 合伙人
friend friend 棋友 球友 牌友 酒友 饭友 驴友 病友 校友 笔友 舞友 钓友
friend schoolmate 学长 学姐 学弟 学妹 师兄 师姐 师弟 师妹; friend comrade 战友 队友 老乡 网友
relative stepfather 继父 后爸; relative stepmother 继母 后妈; relative godson 干儿子; relative goddaughter 干女儿
relative godmother 干妈; relative godfather 干爹 干爸; - client 客户; - master 师父 师傅
- teacher 老师 班主任
- landlord 房东
- coach 教练
"""


class Kin(NamedTuple):
    """A relative or acquaintance: the relation to such a person, and the English word."""

    relation: str
    word: str


KIN: dict[str, Kin] = {
    word: Kin("" if relation == "-" else relation, english.replace("_", " "))
    for relation, english, *words in (line.split() for line in _RELATIVES.replace("\n", ";").split(";") if line.strip())
    for word in words
}
ALSO_KIN: dict[str, str] = {
    word: kin
    for kin, words in {
        "mother": "媽媽 媽 老媽 母親 家母 阿母 老娘 老母",
        "father": "父親 家父 老汉儿 老汉 老豆 阿爸",
        "parents": "爹妈 爹娘 二老",
        "husband": "老头子 老头儿 老头 孩儿他爸 孩他爸 孩子他爸 孩子爸 娃他爸 娃他爹 当家的",
        "wife": "婆娘 老婆子 孩儿他妈 孩子他妈 孩他妈 孩子妈 娃他妈 内人 堂客 老太婆",
        "son": "兒子 儿砸 崽 犬子 小子",
        "daughter": "女兒 大女兒 小女兒 女娃 姑娘 囡囡 囡 妮子",
        "child": "娃儿 娃娃 崽崽 小孩儿 小家伙 老幺",
        "boyfriend": "男票",
        "girlfriend": "女票",
        "brother": "阿弟 阿哥",
        "sister": "阿姐 阿妹 姊姊 大姊 姊",
        "grandmother": "奶 嬷嬷 阿嬤 阿嬷 阿婆 嫲嫲 姥",
        "grandfather": "爷 爺爺 阿公 外爷",
        "uncle": "叔 舅 伯 姨夫 姑夫 老舅 表叔",
        "aunt": "姑 姨 舅母 婶 嬸 嬸嬸 伯娘 老姨",
        "cousin": "老表 堂兄 表兄 表姊 叔伯兄弟",
        "nephew": "侄 姪子 大侄子 小侄子",
        "niece": "侄女儿 姪女",
        "grandson": "孙儿 孫子 大孙子 小孙子",
        "granddaughter": "孫女 孙女儿 大孙女 小孙女",
        "granddaughter-in-law": "孙媳妇",
        "son-in-law": "姑爷",
        "daughter-in-law": "兒媳",
        "mother-in-law": "婆母 丈母 家婆 外母",
        "father-in-law": "老岳父 公爹 外父",
        "parents-in-law": "公婆 岳父母",
        "in-laws": "亲家",
        "sister-in-law": "小姑子 大姑子 大姑姐 大姨子 弟妇",
        "brother-in-law": "大舅子 大舅哥 姊夫 大伯子 小叔子 连襟 妹婿",
        "roommate": "上铺 下铺",
        "colleague": "工友",
        "boss": "老闆 工头 包工头",
        "mentor": "mentor",
        "teacher": "導師 老師",
        "grandparents": "爷爷奶奶 姥姥姥爷 外公外婆",
    }.items()
    for word in words.split()
}
"""Words for relatives that only the reader understands, as they are short, or mostly mean something else."""
KIN_WORDS = "|".join(sorted(KIN, key=len, reverse=True))
ALONE = "|".join(sorted((word for word in KIN if len(word) > 1 and word not in
    "男人 先生 太太 孩子 小孩 宝宝 阿姨 叔叔 老师 教练 同学 朋友 好朋友 经理 领导 老板 导师 邻居 亲戚 对象 父母 婆婆 公公 "
    "老同学 老三 小弟 小妹 大弟 大妹".split()),
    key=len, reverse=True)) + f"|(?:对象|孩子|婆婆)(?=在|是|今年)|(?:{KIN_WORDS})(?=叫)|先生(?=姓)"  # fmt: skip
"""Relatives that are the speaker's without a word that says so."""

# Names of people.

_MORE_SURNAMES = (
    "穆纪葛柳管焦柯梅盛俞鲍艾褚池楚窦樊费傅甘耿洪霍季靳康赖兰蓝冷凌娄鲁骆苗"
    "倪聂牛裴戚齐祁乔曲冉阮申施舒童涂温翁伍邢殷尤岳翟詹章甄祝庄卓左欧云宗闻"
)
ANY_SURNAME = f"(?:{'|'.join(entities.DOUBLE_SURNAMES)}|[{''.join(sorted(entities.SURNAMES))}{_MORE_SURNAMES}])"
_NO_GIVEN = (
    "的了是在我你他她它们这那有和与跟去到来从对把被给就都很还也不没个着过吗呢吧啊呀嘛啦么哪谁吃喝住说叫喜爱想要会能因所但又再才只"
    "最更太真某各每此其让将已曾请问看听养搬买做当打准计决现今年岁种第点号月日前后上下常刚快总"
)
G = rf"(?![{_NO_GIVEN}])[{H}]"
AGE = "(?:\\d{1,3}|[一两二三四五六七八九十]{1,3})"
AGED = f"(?:今年|才|刚刚?满?|已经|都|快|也)?{AGE}岁"
NAME_CHARS = rf"(?:(?![我你他她它们了过去回的着得不吗呢吧是叫这那很就都，]|{AGED})[{H}])"
ANY_NAME = rf"(?:{NAME_CHARS}{{2,4}}|阿?[A-Z][A-Za-z]{{1,15}}(?: [A-Z][a-z]+)?|[a-z]{{3,12}})"
_FOREIGN = (
    "大卫|约翰|玛丽|杰克|安娜|汤姆|艾米|丽萨|安妮|露西|彼得|迈克|杰瑞|琳达|保罗|苏菲|丽莎|马克|凯文|托尼|大鹏|"
    "大伟|大壮|大勇|燕子"
)
_PET_NAME = rf"(?P<{{0}}>[{H}])(?P={{0}})"
_NICK = (
    rf"(?!大[一二三四]|大学|大名|小名|大概|大家|大夫|大厂|老师|老板|老人|老家|老是|老爱|老公|老婆|老妈|老爸|小孩|小时"
    rf"|小心|小猫|"
    rf"小狗|小学|小区|小说|小姐|阿姨|老大|"
    rf"老二)[小阿老大](?:[{H}](?<![{_NO_GIVEN}朋孩时]))"
)
DOES = (
    "(?:[换转提升搬调跳租买卖怀生娶嫁辞退当做拿领养收开学报参加进考输赢摔戒病爱迷养捡][了到上过完掉会进去回下]"
    "|入[职学伍伙选院]|[离辞就]职|跳槽|[改转]行|转[正学岗专]|休[学产]|失业|毕业(?!的)|退[休伍役学]|升[职学]|[怀流早]孕|领养|收养|戒[烟酒糖荤]|流产|生[娃孩二病]|领证|[结离订]婚"
    "|分手|嫌我|[失热]恋|相亲|脱单|考[取研公级证编砸]|[留辍]学|[出回]国|搬[家走]|[住出]院|感冒|发烧|骨折|确诊|过[敏世]|去世|瘫痪"
    "|[买租换卖][车房手电工新专公]|提[车前]|参[加军赛]|当[选兵]|创业|相中|迷上|爱[上吃喝看]|拿[下奖证]|报[名了考]|中[了奖签])"
)
"""A verb of what people do, directly after a name."""
_FOLLOW = (
    rf"(?=$|[^{H}]|{DOES}|"
    rf"[在是叫住的喜爱讨对今现最特很也都还已刚就才又不没有会要去来从被把搬跟和与同养买学读毕考辞离结嫁娶得说打准计决上下明前后能想正一两二三四五六七八九十"
    rf"生出换跳进到给为做当开吃喝常平总每周昨早晚老因年约那快教分绝甩办成认掰吹订复交领闹登扯合谈终踹绿带推管介送拉断同友名本硕需该应可属])"
)
PERSON = (
    rf"(?:{ANY_SURNAME}{G}(?![一二三四五六七八九十]|{DOES}){G}{_FOLLOW}|{ANY_SURNAME}{G}{_FOLLOW}|{_NICK}{_FOLLOW}|"
    rf"(?:{_FOREIGN}){_FOLLOW}"
    rf"|阿?[A-Z][A-Za-z]{{1,15}}(?: [A-Z][a-z]+)?|[{''.join(sorted(entities.SURNAMES))}](?:老师|总|医生|阿姨|叔叔|教授|"
    rf"姐|哥|工|经理|师傅))"
)
"""A name whose form shows that it is one."""
PERSON_AHEAD = rf"(?:{ANY_SURNAME}{G}{G}?|[小老阿][{H}]|[A-Z][a-z]+){_FOLLOW}"
TWICE = (
    rf"(?!妈妈|爸爸|常常|刚刚|天天|年年|人人|个个|慢慢|偏偏|早早|好好|大大|往往|每每|渐渐|多多|仅仅|整整|统统|默默|"
    rf"明明|乖乖|偷偷|悄悄|时时|处处|事事|样样|[看听写谢问说想试走玩聊尝找算帮等坐站动查学讲管教陪劝歇睡洗转打跑跳练读种])(?P<twice>[{H}])(?P=twice)"
)
GIVEN2 = f"[{''.join(sorted(entities.GIVEN))}]"
_FOREIGN_NAME = (
    "(?:[阿艾安奥巴贝本比伯博布查达戴丹道德迪蒂杜恩尔法菲费弗福盖格哈海汉赫亨霍基吉加杰金卡凯坎柯科克肯库拉莱兰劳勒雷蕾里丽莉琳伦罗"
    "洛马麦曼梅米莫穆娜纳妮尼诺帕佩皮普奇乔琼让瑞萨塞莎史斯丝苏索塔泰汤特廷托瓦威薇韦维温沃乌希辛休雅亚耶伊英尤约泽詹珍兹佐健司]{2,4})"
)
KIN_NAME = rf"(?:{PERSON}|{_FOREIGN_NAME}{_FOLLOW}|{TWICE}|(?!天天){GIVEN2}{{2}}{_FOLLOW})"
"""A name directly after the word for a relative."""

# Objects.

N = "零〇一二三四五六七八九十两\\d"
_PARTICLES = '[了的吧啊呀哦啦呢哈嘛喔噢哟呗咯喽哒"”」』 ~]|而已|来着|哈哈|就行|就好|就可以'
END = rf"(?=(?:{_PARTICLES})*\s*$)"
LONG = rf"(?:已经|快|都|有|大概|差不多|整整|将近|了|的|住|过|待){{0,3}}第?[{N}几好多半]+多?个?(?:年|月|天|周|星期|辈子)"
ON = rf"(?:{END}|(?={LONG}))"
QUOTE = '[“「『"‘]?'
_EMAIL = r"[A-Za-z0-9._+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,4}"
# At most 15 digits with the country, and 13 without: longer ones are numbers of cards and of identity papers.
_PHONE = r"(?<![\d+-])(?:1\d{2} \d{4} \d{4}|\+\d(?:-?\d){6,14}|(?:00)?\d(?:-?\d){6,12})(?![\d@]|-\d)"
EMAIL, PHONE = LazyPattern(_EMAIL), LazyPattern(_PHONE)
DATE = (
    rf"(?:(?:农历|阴历|阳历|公历)?(?:(?:\d{{4}}|\d{{2}}|[{N}]{{4}}|[{N}]{{2}})年)?(?:[{N}]{{1,3}}月|腊月|"
    rf"正月)初?[{N}廿]{{1,3}}(?:日|号)?"
    r"|初[一二三四五六七八九十]{1,2}|\d{1,2}[./]\d{1,2}|(?:教师|圣诞|儿童|情人|国庆|中秋|妇女|劳动|愚人|万圣|元宵|端午"
    r"|重阳|青年|建军)节|元旦|除夕|"
    r"平安夜|七夕|中秋|国庆|圣诞)"
)
_JOB_ENDS = (
    "师|(?<![成人会党动一团队])员|(?:瓦|泥瓦|水管|水电|架子|钢筋|环卫|搬运|流水线|铣|钣金|喷漆|电|木|焊|钳|技|矿|护|油漆"
    "|清洁|社|义|管道|装修|维修|美|临时|小时|码)工|匠"
    "|(?:作|画|科学|艺术|音乐|企业|银行|专|评论|收藏|漫画|书法|舞蹈|美食|小说|插画|创业)家|(?:歌|鼓|骑|水|吉他|贝斯|助|"
    "操盘|键盘|写|枪|猎)手"
    "|(?:线|班|校|院|所|局|厂|店|村|队|船|机|列车|护士|行|处|科|部|董事|会|组|镇|县|秘书|市|排|连|乡|站|馆|园)长"
    "|(?:经纪|主持|制片|策展|投资|创始|合伙|媒体|军|工|商|艺|诗|代理|音乐|出版|猎|手艺|牧羊|守夜|公证)人"
    "|(?:医|学|大学|研究|博士|硕士|高中|初中|小学|中学|实习|留学|规培)生|大夫|护士|老师|教授|司机|会计|出纳|编辑|记者|"
    "主编|编剧|导演|翻译|秘书|助理|经理"
    "|采购|质检|品控|仓管|文案|新媒体|公关|狱警|特警|消防|城管|辅警|园丁|[果菜茶蜂]农|猎头|保洁|代驾|收银|剪辑|配音"
    "|算法|运维"
    "|(?:助产|药剂|道|护)士|大厨|主厨|厨子|厨师长|育儿嫂|店主|军官|警官|产品|架构|幼师"
    "|主管|总监|总裁|老板|顾问|客服|销售|运营|策划|行政|前台|保安|保姆|月嫂|教练|裁判|法官|检察官|警察|刑警|交警|民警|"
    "士兵|农民|渔民|博士后"
    "|码农|设计|测试|法务|人事|HR|审计|精算|主播|博主|[Uu][Pp]主|网红|中介|经纪|代购|个体户|创业者|自由职业者?|(?:修车"
    "|装修|电梯|家电|水电|理发|开锁|[烧烤面]{1,2}点?)师傅|空乘|博后|家庭主妇|"
    "全职妈妈|全职太太|志愿者"
    "|包工头|支书|书记|CEO|CTO|模特|空姐|空少|裁缝|编导|督导|导游|领队|船员|主任|主席|律所助理|后端|前端|财务|兽医|牙医|"
    "中医|法医|校医|村医|外教|家教|助教|幼教|编程"
)
_IS_JOB = LazyPattern(
    rf"(?!普通|好|这|那|我|你|他|她|.*不会|.*考上|什么|一种|所有|大家|老司机$|自己|真正的|合格|独生|.*[是叫我你]"
    rf"|[读念考上]过?|"
    rf"[不没是当做像找有去和跟让给被问打在从就都改约]|前任|.*了)(?:[{H}A-Za-z]{{0,8}}?)(?:{_JOB_ENDS})"
).fullmatch
_NO_JOB = LazyPattern(
    "^(?:别|说要)|摸鱼|干饭|睡觉|熬夜|搬砖|吃货|追星|气氛|铲屎|甩手|背锅|拖延|优秀|先进|最佳|冠军"
).search
_NOT_PLACE = (
    "[跟和陪与]|城中村|这|那|哪|别的|另|我|你|他|她|它|自己|家里|家$|外面|一起|一个|一栋|一间|医院$|学校$|宿舍|酒店|宾馆"
    "|新家|新房|隔壁|"
    "办公室|工位|楼上|楼下|公司$|单位$|附近|"
    "冰箱|被窝|沙发|桥洞|天上|垃圾|厕所|手机|游戏|菠萝|未来(?:的|$)|火星|月球|地球|天堂|外太空|宇宙|海边$|北极|南极"
    "|网上|心里|梦里|过|了|得|着|在|不|院|校|里面|朋友|爸|"
    "妈|父母|男|女|"
    "公|婆|[一二三四五六七八九十几\\d]+楼|多|很|大房|单人|养老"
    "|[一二两三四五六七八九十几半\\d]+多?个?(?:年|月|天|周|星期|晚)"
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
    "摩洛哥 突尼斯 哈萨克斯坦".split()
)
_NO_HOME = (
    "好 老 男 女 坏 本 当 主 年轻 普通 中年 外地 本地 南方 北方 外国 成年 负责 同龄 自己 正常 一家 两口 单身 乡下 "
    "农村 城里 纸片 机器 稻草 打工 干饭"
).split()
_SCHOOL = LazyPattern(
    rf"(?!家里蹲)(?:[{H}A-Za-z0-9]{{1,12}}(?:大学|学院|学校|中学|小学|高中|初中|幼儿园|附中|附小|[一二三四五六七八九十]中"
    rf"|研究院|"
    rf"研究所|师大|师范|理工|交大|科大|工大|外国语|党校|卫校|艺校|体校|技校|职校)|[{H}]{{1,2}}(?<![长老拿])大"
    r"|清华|北大|复旦|同济|浙大|武大|南大|中大|人大|厦大|川大|山大|北航|北邮|北理|北师大|北外|华科|哈工大|西工大|南开|"
    r"天大|港大|中科院|社科院|哈佛|斯坦福|牛津|剑桥|耶鲁|MIT|[一二三四五六七八九十]中)"
).fullmatch
_NOT_ORG = (
    "家里蹲|某|第|以后|之后|体制内|地球|火星|月球|宇宙|这|那|哪|出差|开会|学习|培训|支援|家(?!乐|得)|外面|外地|网上|努力"
    "|认真|忙|一起|老家|国外|国内|本地|附近|室内|"
    "户外|一线|晚上|白天|早上|夜里|"
    "周末|里面|线上|线下|海外|农村|城里|乡下|我|你|他|她|市里|镇上|县里|不同|不|没|是|从|被|在|刚|就(?!业)|都|也|才|已|"
    "[一二两三四五六七八九十半几\\d]+个?(?:周|年|月|天)"
)
_SOME_EMPLOYER = frozenset("新公司 新单位 公司 单位 正式 老板 厂里 原公司 总部 领导 人家 别人 朋友".split())
_IS_ORG = LazyPattern(
    rf"(?!{_NOT_ORG})(?:(?!什么|哪里|时候|[碰遇看见]到|[吗呢吧了着得我你没过不])[{H}A-Za-z0-9·&的]){{2,16}}"
).fullmatch
_ORG_ENDS = LazyPattern(
    rf"[{H}A-Za-z0-9]{{1,14}}(?:公司|集团|银行|医院|局|厂|所|院|台|社|店|部|科技|物流|汽车|电子|软件|传媒|证券|保险|基金|"
    rf"电网|移动|电信|联通|石油|地产|餐厅|中心|出版社|报社|总部|分公司|分部|[分支]行|律所|事务所|工作室|机构|协会|幼儿园"
    rf"|学校|中学|小学|大学|学院|"
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
    "麦当劳 肯德基 海关 法院 检察院 派出所 公安局 南航 国航 东航 海航 深航 川航 中铁 中建 "
    "中交 中石油 中石化 招商银行 国网".split()
)
_VISITED_ORGS = frozenset(
    "法院 检察院 派出所 公安局 星巴克 麦当劳 肯德基 海底捞 瑞幸 宜家 优衣库 迪士尼 沃尔玛 邮局".split()
)
LANGUAGE = (
    "(?:英语|英文|日语|日文|法语|法文|德语|德文|韩语|韩文|俄语|俄文|西班牙语|西语|葡萄牙语|葡语|意大利语|意语|阿拉伯语|"
    "泰语|越南语|印尼语|马来语|荷兰语|瑞典语|"
    "芬兰语|挪威语|丹麦语|波兰语|捷克语|希腊语|土耳其语|波斯语|印地语|(?:印尼|泰国|越南|缅甸|日本|韩国|德国|法国|俄国"
    "|外国)话|乌尔都语|蒙古语|蒙语|藏语|维语|维吾尔语|哈萨克语|"
    "朝鲜语|彝语|苗语|壮语|满语|拉丁语|希伯来语|世界语|"
    "中文|汉语|普通话|国语|粤语|白话|手语|缅甸语|老挝语|柬埔寨语|乌克兰语|匈牙利语|"
    "(?:广东|四川|上海|闽南|客家|潮汕|东北|温州|湖南|长沙|武汉|河南|山东|陕西|天津|北京|南京|苏州|杭州|宁波|福州|海南|"
    "重庆|云南|贵州|江西|台山|潮州|地方|家乡|家乡)话)"
)
LANGUAGES = rf"(?:{LANGUAGE})(?:(?:、|和|跟|与|还有|以及|，|，也会)?(?:一点儿?|一些|一点点)?{LANGUAGE}){{0,5}}"
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
PET_NAMES = (
    "旺财|来福|旺仔|元宝|雪球|煤球|豆包|大黄|咪咪|喵喵|汪汪|球球|毛毛|花花|汤圆|布丁|年糕|糯米|团子|丸子|奶茶|可乐|雪糕"
    "|芝麻|花卷"
    "|馒头|饺子|橘子|柚子|土豆|板栗|栗子|麻薯|泡芙|曲奇|果冻|芋圆|毛豆|奥利奥|拿铁|元宵|麻团|肉包|糖糖|饭团|皮蛋|豆腐"
    "|小黑|小白|小花"
)
"""Names that pets have more often than people or things."""
COUNT = (
    "(?:[一两二三四五六七八九十几]|\\d+)?(?:只|条|匹|头|个|群|缸|池|对|窝|口|盆|辆|台|套|把|架|本|件|双|部|张|块|份|束|款|"
    "间|栋|幅|副|瓶|支|家|顶|枚|盒|斤|箱|张|株|棵)?"
)
ACTIVITIES = (
    "钓鱼|跑步|游泳|健身|瑜伽|爬山|徒步|骑行|骑车|登山|露营|滑雪|滑板|潜水|冲浪|攀岩|打?(?:羽毛球|篮球|乒乓球?|网球|"
    "高尔夫|橄榄球|保龄球|冰球|棒球|排球|台球|桌球|太极拳?|架子鼓|麻将|游戏|壁球)|打鼓|踢(?:足)?球|足球"
    "|弹(?:吉他|钢琴|古筝|琴|贝斯)|拉(?:二胡|小提琴|大提琴)|二胡|小提琴|大提琴|吹(?:笛子|口琴|萨克斯|葫芦丝)|练(?:毛笔字|"
    "书法|字|瑜伽|拳|太极|琴)|毛笔字|书法|画画|画水彩|写诗|写字|摄影|拍照|拍鸟|观鸟|下(?:象棋|围棋|棋)"
    "|跳(?:广场舞|街舞|舞|绳|拉丁|芭蕾)|唱(?:歌|K|京剧)|烘焙|做饭|烤面包|做手工|种(?:花|菜|多肉)|养花|集邮|拼(?:乐高|图)|"
    "织毛衣|钩针|飞盘|桨板|飞无人机|玩(?:滑板|飞盘|桌游|剧本杀|乐高|游戏|摄影|摩托)|剧本杀|桌游|冥想|书法|陶艺|做陶艺|"
    "木工|做木工|撸铁|夜跑|晨跑|越野跑|马拉松|射箭|击剑|拳击|打拳|看书|读书|看电影|追剧|听歌|遛鸟|逗鸟|盘核桃|喝茶|品茶"
)
VERY = (
    "(?:很|特别|非常|超级?|挺|蛮|最|比较|十分|真|好|有点|太|尤其|极其|相当|还|也|就|都|一直|从小|老|总|一般|平时|更|"
    "都很|是|确实|格外|贼|巨|天生)*"
)
THING = rf"[{H}\w·《》“”、 +-]{{1,40}}?"
WORDS = rf"[{H}\w·《》、 +-]{{2,24}}?"
LATIN_NAME = r"[A-Z][\w.&'’-]*(?: (?:of |the |de |& )?[A-Z][\w.&'’-]*){1,4}"
"""Several Latin words: New York, Goldman Sachs."""
ORG = rf"(?:[{H}A-Za-z0-9·&]{{2,16}}?|{LATIN_NAME})"
PLACE = rf"(?:[{H}A-Za-z·]{{2,12}}?|{LATIN_NAME})"
_IS_LATIN_NAME = LazyPattern(LATIN_NAME).fullmatch
MAJOR = (
    rf"(?:会计|(?!书|研|博|完|大|高|初|小|中|到|过|本|硕|的|了|得|会|好|习|不|着|点|怎|"
    rf"开)(?:(?![的了我你]|(?<!吉)他)[{H}A-Za-z]){{2,8}}?|中(?:文|医|药|国史)[{H}]{{0,4}}?)"
)


# The types of objects by relation.


_LONGEST_WORD = 10
_PROVINCES = frozenset(
    "河北 山西 辽宁 吉林 江苏 浙江 安徽 福建 江西 山东 河南 湖北 湖南 广东 海南 四川 贵州 云南 陕西 甘肃 青海 "
    "台湾 广西 "
    "西藏 宁夏 新疆".split()
)


_CITIES = frozenset(
    """
石家庄 唐山 秦皇岛 邯郸 邢台 保定 张家口 承德 沧州 廊坊 衡水 太原 大同 阳泉 长治 晋城 朔州 晋中 运城 忻州 临汾 吕梁
呼和浩特 包头 乌海 赤峰 通辽 鄂尔多斯 呼伦贝尔 巴彦淖尔 乌兰察布 兴安盟 锡林郭勒 阿拉善 沈阳 大连 鞍山 抚顺 本溪 丹东
锦州 营口 阜新 辽阳 盘锦 铁岭 葫芦岛 长春 四平 辽源 通化 白山 松原 白城 延边 延吉 哈尔滨 齐齐哈尔 鸡西 鹤岗 双鸭山 大庆
伊春 佳木斯 七台河 牡丹江 黑河 绥化 无锡 徐州 常州 苏州 南通 连云港 淮安 盐城 扬州 镇江 泰州 宿迁 宁波 温州 嘉兴 湖州
绍兴 金华 衢州 舟山 台州 丽水 芜湖 蚌埠 淮南 马鞍山 淮北 铜陵 安庆 黄山 滁州 阜阳 宿州 六安 亳州 池州 宣城 莆田 三明 泉州
漳州 南平 龙岩 宁德 景德镇 萍乡 九江 新余 鹰潭 赣州 吉安 宜春 抚州 上饶 淄博 枣庄 东营 烟台 潍坊 济宁 泰安 威海 日照 临沂
德州 聊城 滨州 菏泽 开封 平顶山 安阳 鹤壁 新乡 焦作 濮阳 许昌 漯河 三门峡 南阳 商丘 信阳 周口 驻马店 黄石 十堰 宜昌 襄阳
鄂州 荆门 孝感 荆州 黄冈 咸宁 随州 恩施 仙桃 潜江 株洲 湘潭 衡阳 邵阳 岳阳 常德 张家界 益阳 郴州 永州 怀化 娄底 湘西 韶关
汕头 江门 湛江 茂名 肇庆 惠州 梅州 汕尾 河源 阳江 清远 中山 潮州 揭阳 云浮 柳州 梧州 北海 防城港 钦州 贵港 玉林 百色 贺州
河池 来宾 崇左 儋州 自贡 攀枝花 泸州 德阳 绵阳 广元 遂宁 内江 乐山 南充 眉山 宜宾 广安 达州 雅安 巴中 资阳 阿坝 甘孜 凉山
西昌 六盘水 遵义 安顺 毕节 铜仁 黔东南 黔南 曲靖 玉溪 保山 昭通 普洱 临沧 楚雄 红河 文山 西双版纳 德宏 怒江 迪庆 日喀则
昌都 林芝 山南 那曲 铜川 宝鸡 咸阳 渭南 延安 汉中 榆林 安康 商洛 嘉峪关 金昌 白银 天水 武威 张掖 平凉 酒泉 庆阳 定西 陇南
临夏 甘南 海东 玉树 格尔木 石嘴山 吴忠 固原 中卫 克拉玛依 吐鲁番 哈密 阿克苏 喀什 和田 伊犁 伊宁 塔城 阿勒泰 石河子 昆山
张家港 常熟 太仓 江阴 宜兴 义乌 慈溪 余姚 诸暨 晋江 石狮 海门 启东 都江堰 敦煌 瑞丽 腾冲 满洲里 闵行 浦东 嘉定 通州 朝阳
海淀 顺义 昌平 奥克兰 惠灵顿 悉尼 墨尔本 布里斯班 珀斯 阿德莱德 堪培拉 多伦多 温哥华 渥太华 蒙特利尔 卡尔加里 洛杉矶
旧金山 西雅图 波士顿 芝加哥 休斯顿 硅谷 费城 迈阿密 拉斯维加斯 曼彻斯特 利物浦 爱丁堡 伯明翰 利兹 都柏林 柏林 慕尼黑
法兰克福 汉堡 科隆 斯图加特 苏黎世 日内瓦 维也纳 布拉格 布达佩斯 华沙 里昂 马赛 米兰 罗马 佛罗伦萨 威尼斯 都灵 马德里
巴塞罗那 里斯本 波尔图 阿姆斯特丹 鹿特丹 布鲁塞尔 哥本哈根 斯德哥尔摩 奥斯陆 赫尔辛基 雅典 伊斯坦布尔 莫斯科 圣彼得堡
基辅 迪拜 多哈 开罗 内罗毕 约翰内斯堡 孟买 新德里 曼谷 清迈 普吉 芭提雅 河内 胡志明 岘港 吉隆坡 槟城 雅加达 巴厘岛 马尼拉
宿务 金边 暹粒 仰光 万象 首尔 釜山 大邱 济州 东京 大阪 京都 名古屋 横滨 神户 福冈 札幌 仙台 冲绳 奈良 非洲 欧洲 美洲
东南亚 中东 圣保罗 利马 墨西哥城
""".split()
)
"""Cities that ``entities`` does not have; the dictionary takes many of them for something else."""


@cache
def _tags() -> Callable[[str], list[tuple[str, str]]]:
    # Loaded for the first doubtful place: the dictionary takes about 140 ms.
    import rjieba  # noqa: PLC0415

    return rjieba.tag


def known_place(word: str) -> bool:
    """Whether a word is surely the name of a place."""
    if word in entities.PLACES_ZH or word in _CITIES or word in _COUNTRIES or word in entities.PLACES:
        return True
    if not 2 <= len(word) <= 8 or not re.fullmatch(f"(?![那这])(?:(?![叫住在])[{H}])+", word):
        return False
    if (
        word[:2] in _PROVINCES
        and len(word) <= 6
        and not re.search("大学|学院|银行|公司|[菜话人当做读念上工打学开住生省种养卖跑送修教搬务干搞]", word)
    ):
        return True
    return all(tag == "ns" and len(part) > 1 for part, tag in _tags()(word)) or (
        len(word) > 2 and word[-1] in "省市县区镇村州"
    )


def _is_home(word: str) -> bool:
    if _IS_LATIN_NAME(word):
        return True
    if not _IS_PLACE(word) or re.search(
        "^(?:学校|公司|单位).*(?:旁边?|附近|对面|边上|楼下)$|打工|干饭|有[一两几]|[的最你]|(?<![和跟与])我|公司|地方|全"
        "|[部科组处局院店厂司]$"
        "|[江河湖海溪路街]边上?$|(?:宿舍|酒店|宾馆|出租屋|单间)$",
        word,
    ):
        return False
    return word == "老家" or not word.startswith(tuple(_NO_HOME))


def _is_employer(word: str) -> bool:
    if word in _ORGS or (_IS_LATIN_NAME(word) and word not in entities.PLACES):
        return True
    if (
        word in _SOME_EMPLOYER
        or (TYPES["occupation"](word) and not _ORG_ENDS(word))
        or not _IS_ORG(word)
        or (word.endswith(("的", "里", "地", "部", "科", "组", "专业")) and "医院" not in word)
        or _WORKS_AS(word)
        or re.search("(?<!当)当(?!当)|开会|出差|培训|考察|旅[游行]", word)
    ):
        return False
    return not known_place(word)


_WORKS_AS = LazyPattern(rf"[{H}A-Za-z0-9]{{2,12}}[做任](?:{_JOB_ENDS})\Z").match
"""An employer with what is done there: 诊所做前台."""
_IS_NAME = LazyPattern(ANY_NAME).fullmatch
_IS_PERSON = LazyPattern(KIN_NAME).match
_IS_FULL_NAME = LazyPattern(rf"{ANY_SURNAME}(?:{G}){{1,2}}").fullmatch
_NOT_CALLED = LazyPattern(
    "大人|女王|大神|大王|雷锋|天才|仙女|皇|祖宗|爸爸|大侠|专家|达人|患者|之王|打工人|社畜|高手|学霸|学渣|废物"
).search
_NO_NAMES = frozenset(
    "家长 家属 停车 救命 名字 什么 朋友 外卖 大家 出租 救护 老板 妈妈 爸爸 老师 同学 医生 声音 起来 "
    "醒来 不停 单身 结婚 自己 别人 孩子 男的 女的".split()
)


def is_name(word: str) -> bool:
    """Whether a word can be a person's name after a word that says so."""
    return (
        bool(_IS_NAME(word)) and not _NOT_CALLED(word) and word not in _NO_NAMES and not (word in KIN or word in _ORGS)
    )


def _is_named(word: str) -> bool:
    """Whether a word with a surname's first character is a name: by the characters after it, or by the dictionary."""
    return all(one in entities.GIVEN for one in word[1:]) or _tags()(word) == [(word, "nr")]


def _is_nickname(word: str) -> bool:
    """Whether others call someone so, instead of making fun: 老魏, not 夜猫子."""
    return is_name(word) and (len(word) <= 2 or is_person(word) or word.isascii())


_GIVEN_NAME = LazyPattern(f"(?!天天){GIVEN2}{{2}}").match


def given_name(text: str, at: int, end: int) -> int:
    """Where a given name after the word for a relative ends by the dictionary (我老公国栋血压高); ``at`` without one."""
    named = _GIVEN_NAME(text, at, end)
    if named is None or entities.is_a_word(named[0]):
        return at
    return named.end() if _tags()(text[at : min(end, at + _LONGEST_WORD)])[0][0] == named[0] else at


def is_person(word: str) -> bool:
    """Whether a word has the form of a person's name."""
    found = _IS_PERSON(word)
    return found is not None and found.end() == len(word) and not entities.is_a_word(word) and word not in KIN


def is_kin(word: str) -> bool:
    """Whether a word is one for a relative, or for a little one: 小外孙."""
    return any(one in KIN or one in ALSO_KIN for one in (word, word.removeprefix("小")))


def is_nickname(word: str) -> bool:
    """Whether someone is called so, by the dictionary: 雯雯, 小核桃 and 晓雯, not 偷偷, 小龙虾 or 平安."""
    if entities.is_a_word(word) or is_kin(word) or _ORG_ENDS(word):
        return False
    found = _tags()(word)
    if word[0] == word[1]:
        return found[0][1] not in _HOW
    return len(found) > 1 if word[0] == "小" else found[0] == (word, "nr")


_HOW = frozenset("dtvo")
"""Adverbs, times, verbs and sounds in the dictionary."""


_DULL = LazyPattern(
    "(?:上班|加班|工作|开会|周一|星期一|学习|考试|数学|作业|早起|堵车|排队|人类|男人|女人|运动|老板|甲方|KPI|穷|交房租|"
    "躺平|发呆|还花呗|还房贷|还款|钱|贫穷|智障|傻子|傻瓜|熬夜|写论文|改需求|需求|挨骂|床|你)"
).match
_NOT_LIKED = LazyPattern(
    r"一[部个首本款]|[你您他她它这那哪谁怎的咱我了着得是到多死]|[吃喝看听玩]$|别人抽|.{1,6}不算|什么|自己|大家|上了"
    r"|过(?=[的了一个他她])|[和跟]你|"
    r"一个人(?!旅)|饭$|起来|不起|的不是|"
    r"的是|某"
).match


def _is_taste(word: str) -> bool:
    return not _NOT_LIKED(word) and not _DULL(word) and "戒" not in word and "你" not in word and "的是" not in word


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
    return known_place(word) or bool(_SIGHT(word) or _IS_LATIN_NAME(word)) or is_foreign(word)


_FOREIGN_TAGS = frozenset("nr nrt nz nt nrfg ns".split())


def is_foreign(word: str) -> bool:
    """Whether a word is a name in foreign sounds: 波尔图."""
    return len(word) > 2 and not entities.is_a_word(word) and all(tag in _FOREIGN_TAGS for _, tag in _tags()(word))


def _is_school(word: str) -> bool:
    return bool(_SCHOOL(word)) or (bool(_IS_ORG(word)) and not known_place(word) and not _IS_JOB(word))


def _is_alma_mater(word: str) -> bool:
    if re.fullmatch("(?:刚刚?|才|从|已经|终于)?(?:学校|大学|高中|中学|小学|学院|幼儿园)", word):
        return False
    return bool(_SCHOOL(word)) or (_is_school(word) and len(word) <= 8 and not re.search("专业|刚|年|火锅", word))


def _is_own_name(word: str) -> bool:
    """Whether 我是 and this word give the speaker's name."""
    named = bool(_IS_FULL_NAME(word)) and _is_named(word) and not entities.is_a_word(word)
    return named and not _IS_JOB(word) and not re.search("[人籍的生员]$", word)


_IS_MET = LazyPattern("(?:要|得|想|该|就|再)*(?:去|来|到|看(?!护|守)|找|见(?!习)|约|问|请|陪(?!练|护|诊))[^年]").match
"""Whom one goes to, and is not: 要去看牙医."""
TYPES: dict[str, Callable[[str], object]] = {
    "lives_in": _is_home,
    "from": _is_home,
    "home": known_place,
    "spot": known_place,
    "works_in": known_place,
    "studies_in": known_place,
    "employer": lambda word: word in _ORGS or bool(_ORG_ENDS(word)),
    "visited": _is_sight,
    "nationality": lambda word: word in _COUNTRIES,
    "works_at": _is_employer,
    "occupation": lambda word: bool(_IS_JOB(word)) and not _NO_JOB(word) and not _IS_MET(word),
    "work": lambda word: len(word) <= 10 and not re.search("[我你他她]|什么|玩笑|手术|检查|核酸|体检|治疗|化疗|透析|理疗"
    "|按摩|美甲|头发|梦|饭|客|题|对|好|错|完|了", word),
    "studies_at": lambda word: _is_school(word) and not re.search("[证照编研]$|公务|事业|驾", word),
    "alma": _SCHOOL,
    "school": lambda word: bool(_SCHOOL(word)) and not re.search("^[上在]|[读念]|上(?:大学|高中|初中|中学|小学)$", word),
    "graduated_from": _is_alma_mater,
    "studies": lambda word: (len(word) > 1 or word in "医法画")
        and not re.search("[我你她什了吗]|(?<!吉)他|[大中小]学$|学校|幼儿园|一下|学会|习$|坏|好"
        "|研究生$|硕士$|博士$|本科$", word),
    "name": is_name,
    "nick": _is_nickname,
    "full_name": _is_own_name,
    "first_name": lambda word: word.split()[0] in entities.FIRST_NAMES,
    "age": _is_age,
    "likes": _is_taste,
    "dislikes": lambda word: not _NOT_LIKED(word) and "你" not in word and "的是" not in word,
    "hobby": _is_taste,
    "favourite": _is_taste,
    "allergic_to": lambda word: not _DULL(word) and not re.search("^[一几两][口点次碗块]|[我你他她吗呢了会是对候被诊]"
    "|什么|都|这|那|不|^没|"
        "任何|^(?:嘴巴?|嘴唇|脸|舌头|嗓子|喉咙|眼睛|鼻子|皮肤|身上|浑身|全身)$", word),
    "back": known_place,
    "firm": lambda word: word in _ORGS or bool(_IS_ORG(word)),
    "new_firm": lambda word: word in _ORGS and word not in _VISITED_ORGS,
    "owns": lambda word: word not in PETS and not re.search("作业|[我你她吗呢]|(?<!吉)他|什么|事|问题|办法|时间|"
    "男朋友|女朋友|关系|梦|信心|心得|"
        "朋友|人$|[券票]$|点|会$|课|在|工作|被|把|从|邮箱|号|电话", word) and len(word) <= 12,
    "bought": lambda word: not re.search("[我你他她吗呢]|什么|很多|好多|一些|(?<!微)单$|菜$|水果|早餐|晚饭|午饭|奶茶"
    "|咖啡$|东西|"
        "票$|号|工作|醉|账|面包|零食|药$", word),
    "plans": lambda word: len(word) <= 24 and not re.search("你|他|她|吗|什么|怎么|哪|好$|^[了的是睡赶]|^(?:吃饭|做饭"
    "|做菜|买菜|上班|收拾|洗衣服|写作业|下班|休息|"
        "洗澡|出门|走了)|去世|去的世|过世", word),
    "pet_name": lambda word: word in PETS or word in PET_NAMES or not (word in KIN or word in _NO_NAMES
        or entities.is_a_word(word) or (word[0] in "小阿大" and word[1] in entities.SURNAMES)),
    "stand": lambda word: _is_employer(word) and word[-1] not in "东西南北路街区县镇村",
    "trip": known_place, "trip_seen": known_place,
    "married_to": is_person, "partner": is_person, "friend": is_person, "colleague": is_person, "sibling": is_person,
    "relative": is_person, "parent": is_person, "child": is_person,
}  # fmt: skip
"""Which words can be the object of a relation; a relation without a type takes any."""

SORTS: dict[str, Callable[[str], object]] = {
    "studies_at": TYPES["school"], "works_at": lambda word: word in _ORGS and word not in _VISITED_ORGS,
    "lives_in": known_place, "occupation": TYPES["occupation"],
}  # fmt: skip
"""What surely is the object of a relation that changes."""
CHANGES = [
    (kind, LazyPattern(verb).search)
    for kind, verb in (
        ("studies", "系|专业|转[到成]"), ("studies_at", "转学|[退辍休]学|录取|保送|读书|上学|念书|考"),
        ("lives_in", "搬|迁|移|定居|住|生活|安家|落户|租房"), ("occupation", "转行|改行|转岗|[做当成]了"),
        ("works_at", "跳|[离辞]职|辞|走|出来|离开.*去|入职|加入|"
            "[裁炒聘挖招雇录签]|开除|解雇|优化|上班|工作|任职|实习|打工|干活|被"),
    )
]  # fmt: skip
SAME = {
    "alma": "graduated_from", "spot": "lives_in", "employer": "works_at", "home": "from", "full_name": "name",
    "first_name": "name",
    "firm": "works_at", "new_firm": "works_at", "nick": "name", "school": "studies_at", "work": "occupation",
    "pet_name": "pet", "back": "lives_in", "trip": "plans", "trip_seen": "visited", "stand": "works_at", "job": "works_at",
}  # fmt: skip
"""Groups that are a relation with a stricter type."""


# The objects in a phrase.

_CUT = LazyPattern(
    '的时候|[办充]了|的感觉|因为|所以|但是|然后|[。！!“”"]|这样|那样|之类|什么的|时候|来着|的人|打发时间'
)
_TAIL = "了啊呀哦呢吧啦哈的 噢嘛哟"
BODY = "(?:全身|浑身|满身|身上|嘴[巴唇]?|喉咙|嗓子|脸上?|眼睛|皮肤|舌头)?"
_SHORT = "[虾蟹鱼贝蛋奶猫狗兔鸟茶酒糖姜蒜葱笋菇藕梨桃杏枣瓜豆]"
"""Things with a name of one character."""
_JOINTS = LazyPattern(
    f"、|以及|还有|(?<=[语文话])(?={LANGUAGE})|(?:(?<=[{H}]{{2}})|(?<={_SHORT}))[和跟与](?=[{H}]{{2}}|{_SHORT})"
    "|(?<=[A-Za-z])(?:和|跟|与)(?=[A-Za-z]|[^\\x00-\\x7f]{2})|(?<=[^\\x00-\\x7f]{2})和(?=[A-Za-z])"
)
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
