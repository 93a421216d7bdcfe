"""``entities``: the people, places, organisations and things that a text names, found by spelling and short lists.

Precision comes before recall: a name that could be a common word is left out. English and Chinese may be mixed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from memwell.language.patterns import LazyPattern
from memwell.language.words import STOP_WORDS

# Known names of people, places, organisations and things, and the words around them.


def _words(lines: str) -> frozenset[str]:
    return frozenset(lines.split())


def _lines(lines: str) -> frozenset[str]:
    return frozenset(name.strip() for name in lines.replace("\n", ";").split(";") if name.strip())


FIRST_NAMES = _words("""
Aaron Abby Abigail Adam Adrian Agnes Aisha Alan Albert Alejandro Alex Alexander Alexandra Alexis Alfred Ali Alice Alicia
Alison Allison Alyssa Amanda Amber Amelia Amir Amy Ana Andre Andrea Andrew Andy Angel Angela Angie Anita Ann Anna
Anne Annie
Anthony Antonio Arjun Arthur Ashley Audrey Ava Barbara Bart Becky Ben Benjamin Bernard Beth Betty Bill Billy Bob
Bobby Brad
Bradley Brandon Brenda Brian Bridget Brittany Bruce Bryan Caleb Calvin Cameron Carl Carla Carlos Carmen Carol Caroline
Carolyn Carter Catherine Cathy Charles Charlie Charlotte Chelsea Cheryl Chloe Chris Christian Christina Christine
Christopher Cindy Claire Clara Claudia Cody Colin Connor Craig Crystal Cynthia Daisy Daniel Danielle Danny Dave David
Dawn Deborah Debra Denise Dennis Derek Diana Diane Diego Dominic Donald Donna Dorothy Doug Douglas Dylan Eddie Edgar
Edith
Edward Eleanor Elena Eli Elijah Elizabeth Ella Ellen Emily Emma Eric Erica Erik Erin Ethan Eugene Eva Evan Evelyn Fatima
Felix Fernando Fiona Frances Francis Francisco Frank Fred Frederick Gabriel Gabriela Gary George Gerald Gina Gloria
Gordon
Grace Graham Greg Gregory Gwen Hannah Harold Harry Hassan Heather Hector Heidi Helen Helena Henry Hiroshi Holly Howard
Hugo Ian Ibrahim Ingrid Irene Isaac Isabel Isabella Ivan Jack Jackie Jackson Jacob Jade Jake James Jamie Jan Jane Janet
Janice Jason Javier Jean Jeff Jeffrey Jennifer Jenny Jeremy Jerry Jesse Jessica Jill Jim Jimmy Joan Joanna Joe Joel John
Johnny Jolene Jon Jonathan Jordan Jorge Jose Joseph Josh Joshua Joyce Juan Judith Judy Julia Julian Julie Justin Karen
Karl Kate Katherine Kathleen Kathy Katie Kayla Keith Kelly Kelsey Ken Kenneth Kevin Kim Kimberly Kyle Larry Laura Lauren
Laurie Lawrence Leah Leo Leon Leonard Leslie Liam Lily Linda Lisa Logan Louis Louise Lucas Lucy Luis Luke Lydia Madison
Maggie Manuel Marcus Margaret Maria Marie Marilyn Mario Marion Marjorie Mark Marta Martha Martin Mary Mason Matt Matthew
Maureen Max Maya Megan Mei Mel Melanie Melissa Mia Michael Michelle Miguel Mike Mila Mohamed Mohammed Molly Monica
Morgan
Muhammad Nadia Nancy Naomi Natalia Natalie Natasha Nate Nathan Nathaniel Neil Nicholas Nick Nicole Nina Noah Nora Norman
Oliver Olivia Omar Oscar Owen Pamela Patricia Patrick Paul Paula Pedro Peggy Penelope Pete Peter Philip Phillip Phoebe
Phyllis Pierre Priya Rachel Rafael Raj Ralph Ramon Randy Raymond Rebecca Ricardo Richard Rick Rita Rob Robert Roberto
Robin Roger Ronald Rosa Rosie Roy Russell Ruth Ryan Sally Sam Samantha Samuel Sandra Sara Sarah Scott Sean Sebastian
Sergio Seth Shannon Sharon Shawn Sheila Shirley Simon Sofia Sophia Sophie Stacy Stanley Stella Stephanie Stephen Steve
Steven Stuart Sue Susan Suzanne Sven Sydney Sylvia Tamara Tanya Tara Ted Teresa Terry Theo Theodore Theresa Thomas
Tiffany
Tim Timothy Tina Toby Todd Tom Tommy Tony Tracy Travis Trevor Tyler Valerie Vanessa Veronica Vicky Victor Victoria
Vincent
Virginia Walter Wanda Warren Wayne Wendy Wesley William Winston Xavier Yolanda Yuki Yusuf Zach Zachary Zoe

""")
TITLES = _words("Mr Mrs Ms Miss Dr Prof Professor Sir Madam Uncle Aunt Auntie Grandma Grandpa Captain Coach Judge")
PLACES = _lines("""
Afghanistan; Albania; Algeria; Argentina; Armenia; Australia; Austria; Bangladesh; Belarus; Belgium; Bolivia;
Bosnia; Brazil
Bulgaria; Cambodia; Cameroon; Canada; Chile; China; Colombia; Costa Rica; Croatia; Cuba; Cyprus; Czech Republic; Denmark
Dominican Republic; Ecuador; Egypt; England; Estonia; Ethiopia; Finland; France; Germany; Ghana; Greece; Guatemala;
Haiti
Honduras; Hong Kong; Hungary; Iceland; India; Indonesia; Iran; Iraq; Ireland; Israel; Italy; Jamaica; Japan; Kazakhstan
Kenya; Kuwait; Laos; Latvia; Lebanon; Libya; Lithuania; Luxembourg; Macau; Madagascar; Malaysia; Malta; Mexico; Mongolia
Morocco; Myanmar; Nepal; Netherlands; New Zealand; Nicaragua; Nigeria; North Korea; Norway; Oman; Pakistan; Panama;
Paraguay
Peru; Philippines; Poland; Portugal; Puerto Rico; Qatar; Romania; Russia; Rwanda; Saudi Arabia; Scotland; Senegal;
Serbia
Singapore; Slovakia; Slovenia; Somalia; South Africa; South Korea; Spain; Sri Lanka; Sudan; Sweden; Switzerland;
Syria; Taiwan
Tanzania; Thailand; Tunisia; Ukraine; United Arab Emirates; United Kingdom; United States; Uruguay; Uzbekistan;
Venezuela
Vietnam; Wales; Yemen; Zambia; Zimbabwe; USA; UK; U.S.; U.K.; US; UAE; Africa; Asia; Europe; North America; South
America
Antarctica; Alabama; Alaska; Arizona; Arkansas; California; Colorado; Connecticut; Delaware; Florida; Hawaii; Idaho;
Illinois
Indiana; Iowa; Kansas; Kentucky; Louisiana; Maine; Maryland; Massachusetts; Michigan; Minnesota; Mississippi;
Missouri; Montana
Nebraska; Nevada; New Hampshire; New Jersey; New Mexico; New York; North Carolina; North Dakota; Ohio; Oklahoma; Oregon
Pennsylvania; Rhode Island; South Carolina; South Dakota; Tennessee; Texas; Utah; Vermont; Washington; West
Virginia; Wisconsin
Wyoming; Amsterdam; Athens; Atlanta; Austin; Baghdad; Bali; Bangkok; Barcelona; Beijing; Berlin; Bogota; Boston;
Brooklyn
Brussels; Budapest; Buenos Aires; Cairo; Cape Town; Chengdu; Chicago; Copenhagen; Dallas; Delhi; Denver; Detroit;
Dubai; Dublin
Edinburgh; Frankfurt; Geneva; Guangzhou; Hamburg; Hangzhou; Hanoi; Helsinki; Hollywood; Houston; Istanbul; Jakarta;
Jerusalem
Johannesburg; Karachi; Kathmandu; Kyiv; Kyoto; Lagos; Lahore; Las Vegas; Lima; Lisbon; Liverpool; London; Los
Angeles; Madrid
Manchester; Manhattan; Manila; Marseille; Melbourne; Miami; Milan; Minneapolis; Montreal; Moscow; Mumbai; Munich;
Nairobi; Nanjing
Naples; New Delhi; New Orleans; New York City; Osaka; Oslo; Oxford; Paris; Perth; Philadelphia; Phoenix; Pittsburgh;
Portland
Prague; Rio de Janeiro; Rome; San Diego; San Francisco; San Jose; Santiago; Sao Paulo; Seattle; Seoul; Shanghai;
Shenzhen
Silicon Valley; Stockholm; Sydney; Taipei; Tel Aviv; Tianjin; Tokyo; Toronto; Vancouver; Venice; Vienna; Warsaw
Washington DC; Wuhan; Xi'an; Yellowstone; Zurich; Rocky Mountains; Grand Canyon; NYC; LA; DC; Pacific Ocean;
Atlantic Ocean; Indian Ocean; Himalayas; Alps
""")
PLACE_ENDINGS = _words("""City Park Lake River Street St Avenue Ave Road Boulevard Beach Island Islands Mountain
Mountains County
Valley Bay Square Bridge Falls Forest Canyon Peninsula Desert Airport Station Village Town Harbor Creek Hills""")
PLACE_STARTS = _words("Mount Mt Lake Fort Cape Port San Santa Saint")
ORGANISATIONS = _lines("""
Google; Microsoft; Amazon; Facebook; Meta; Netflix; Tesla; OpenAI; Anthropic; IBM; Intel; Nvidia; AMD; Samsung;
Sony; Nintendo
Toyota; Honda; BMW; Nike; Adidas; Puma; Starbucks; McDonald's; Walmart; Costco; IKEA; Disney; Pixar; Marvel; NASA; FBI
CIA; NATO; UNESCO; UNICEF; WHO; UN; EU; NBA; NFL; FIFA; BBC; CNN; MIT; Harvard; Stanford; Yale; Princeton; Alibaba;
Tencent; Huawei
Xiaomi; ByteDance; Baidu; Uber; Airbnb; PayPal; Spotify; Twitter; LinkedIn; Reddit; GitHub; Red Cross; Greenpeace
""")
ORGANISATION_ENDINGS = _words("""Inc Corp Corporation Ltd LLC GmbH Company Co University College Institute School
Academy Hospital
Bank Foundation Association Club Museum Agency Committee Council Group Church Department Ministry Library Clinic
Studios Studio
Records Entertainment Airlines Motors Society Union Party Orchestra Symphony Band Center Centre Gallery Theater
Theatre""")
ORGANISATION_STARTS = _words("University Bank Institute Ministry Department Museum")
PRODUCTS = _lines("""
iPhone; iPad; MacBook; Mac; AirPods; Android; Windows; Linux; Python; JavaScript; ChatGPT; Claude; Gemini; Kindle; Xbox
PlayStation; Nintendo Switch; Photoshop; Excel; PowerPoint; Word; Gmail; YouTube; Instagram; TikTok; WhatsApp;
WeChat; Zoom; Slack
Minecraft; Fortnite; Roblox; Pokemon; LEGO; Lego
""")
NOT_NAMES = _words("""
I I'm I'll I'd I've OK Ok LOL OMG TV DIY BTW FYI ASAP AM PM A.M P.M DVD CD PC AI VR BBQ PS P.S RIP ID FAQ PDF URL
HTML CSS API SQL JSON CPU
GPU USB HR PR CEO CTO CFO PhD MBA BA MA DNA TBH IDK IMO GPS ATM FAN YES NO NOT SO VERY ALL WOW THE AND BUT YOU IT IS TO
Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May June July August September
October
November December Mon Tue Wed Thu Fri Sat Sun Christmas Easter Halloween Thanksgiving Valentine English Chinese
French German
Spanish Japanese Korean Italian American British Indian Russian European Asian African Mexican Thai Greek Latin
Arabic Canadian Australian Dutch Brazilian Irish Scottish Swedish Turkish Vietnamese Tues Thurs
Mondays Tuesdays Wednesdays Thursdays Fridays Saturdays Sundays
Christian Muslim Jewish Buddhist Catholic God Internet Mom Dad Mum Mommy Daddy Grandma Grandpa Mama Papa Sis Bro
Dude Guys Buddy
Congrats Congratulations Cheers Bye Goodbye Welcome Sorry Woohoo Yay Aww Haha Hmm Ah Ooh Oops Yup Nah Thx Dear Best
Regards
Good Great Nice Cool Awesome Amazing Wow Hey Hi Hello Thanks Thank Well Yes No Sure Absolutely Definitely Totally Really
Photo Image Speaker Happy New Merry Morning Night Evening Afternoon Today Tomorrow Yesterday Keep Check Looking
Sounds Glad Take
""")
"""Capitalised words that are no names of interest."""

SURNAMES: frozenset[str] = frozenset(
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗郑梁谢宋唐许韩冯邓曹彭曾肖田董袁潘蒋蔡余杜叶程苏魏吕丁任沈姚卢姜崔钟谭陆汪范金石廖贾夏韦"
    "付方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔向汤"
)
DOUBLE_SURNAMES = ("欧阳", "司马", "上官", "诸葛", "东方", "皇甫", "慕容", "司徒", "令狐", "夏侯")
GIVEN: frozenset[str] = frozenset(
    "伟芳娜秀英敏静丽强磊军洋勇艳杰娟涛明超兰霞平刚桂文辉玲鹏飞红玉华建国志海燕波宁贵福玲丹萍鑫旭宇浩轩然子涵梓怡欣雨晨思佳慧琳雪婷婷颖"
    "俊峰斌凯琪瑶萱彤博泽睿航铭皓晓东春梅莉珍凤洁倩薇菲蕾妍露瑞翔龙新林云帆岩松柏坤康庆祥永良友全忠诚毅恒立业振兴茂德仁义礼智信达学正"
    "天宝成才富荣光耀辰星月阳可心乐嘉悦诗語语若曦妮娅媛嫣蓉茹芸卓越远航"
    "雷梦雅宏亮健淑楠蓓钰琴岚莹雯璐瑾昊宸锋钧彬栋楷桐枫蕊莲芝萌霖霏晴晖昕晗昌盛胜邦豪骏驰麟彪启恩惠贤淼润溪源泓沛滢潇沐韵琦珊珂珺瑛璇玥"
    "玮瑜芬芹菁茜"
)
PERSON_ENDINGS_ZH = (
    "先生|女士|小姐|老师|教授|医生|经理|同学|师傅|阿姨|叔叔|主任|院长|校长|律师|警官|大夫|导演|博士|总监|奶奶|爷爷"
)
NOT_PEOPLE_ZH: frozenset[str] = frozenset(
    "高兴 高中 高大 方正 方才 马达 周日 周天 周全 白天 白云 白雪 黄金 黄海 黄河 金星 金华 金龙 金玉 江东 石林 "
    "万全 万达 王国 林子 任意 "
    "成全 和平 余光 余波 何可 何乐 何若 向东 向阳 向明 向海 雷雨 雷达 龙凤 龙华 石子 田子 金子 叶子 钟子 严正 "
    "武德 武学 文学 程志 段子 贺礼 "
    "任可 万宝 万一 夏天 江海 高可 高远 高洁 高雅 高立 高达 黄东 许可 许愿 方可 毛子 毛玉 白玉 白兰 白洁 唐诗 "
    "宋子 宋明 秦东 秦岭 魏晋 "
    "张可 何时 金石 金光 钱可 叶可 马可 陆海 陆航 海南 周新 孔子 孟子 曾子 庄子 老子 程德 江波 林海 雪林 "
    "石玉 杜康 白金 史学 史诗 "
    # Words that begin with a surname's character.
    "王国 王子 王者 王朝 王宫 王后 王牌 王室 王府 李子 李树 刘海 陈旧 陈列 陈述 陈醋 陈皮 杨树 杨梅 杨柳 杨桃 徐徐 "
    "孙子 孙女 朱红 朱砂 胡说 胡子 胡萝 胡椒 胡同 胡乱 胡闹 胡桃 罗马 罗列 罗汉 罗盘 郑重 郑州 梁山 宋朝 宋代 宋词 "
    "唐朝 唐代 唐人 唐突 唐僧 韩国 韩语 韩剧 韩式 韩文 韩流 韩元 韩餐 韩服 肖像 董事 杜绝 杜鹃 苏州 苏打 苏醒 苏联 "
    "苏格 丁香 丁点 沈阳 姜汤 姜黄 姜片 姜茶 秦朝 秦代 秦始 秦腔 陶瓷 陶醉 陶艺 陶器 陶冶 黎明 戴上 戴着 戴了 戴口 "
    "戴眼 莫名 莫非 莫斯 莫大 莫奈 莫桑 孔雀 孟加 孟买 张开 张口 张嘴 张贴 张望 张罗 张扬 张力 张狂 张灯 黄色 黄瓜 "
    "黄油 黄昏 黄豆 黄牛 黄山 黄土 黄酒 黄鱼 黄花 黄鹤 黄梅 黄铜 黄蜂 周末 周一 周二 周三 周四 周五 周六 周年 周围 "
    "周边 周期 周到 周岁 周刊 周转 周报 周会 周游 周身 周密 周折 周遭 马上 马路 马车 马桶 马虎 马甲 马克 马拉 马戏 "
    "马力 马尾 马铃 马来 马德 马尔 马儿 马匹 马术 马蹄 马赛 马卡 马其 高度 高级 高考 高速 高铁 高手 高原 高山 高层 "
    "高效 高温 高贵 高峰 高潮 高尚 高血 高跟 高校 高端 高价 高楼 高低 高空 高压 高等 高档 高雄 高清 高个 高薪 高三 "
    "高二 高一 高数 高喊 高呼 高歌 高举 高烧 高粱 高傲 林业 林木 林立 林间 林荫 林区 林场 谢谢 谢意 谢绝 谢天 谢幕 "
    "谢过 许多 许久 许诺 许下 曾经 曾祖 田野 田间 田地 田园 田径 田里 田螺 余下 余生 余额 余地 余味 余热 叶片 叶酸 "
    "叶绿 程序 程度 程式 任务 任何 任由 任命 任职 任性 任教 任凭 任期 任课 任天 钟表 钟头 钟声 钟楼 钟爱 钟点 钟情 "
    "陆地 陆续 陆军 陆路 陆上 范围 范本 范例 范畴 范文 金色 金钱 金融 金属 金额 金牌 金鱼 金毛 金黄 金字 金银 金桔 "
    "金针 金秋 金刚 石头 石油 石榴 石家 石膏 石板 石灰 石器 石化 夏季 夏日 夏令 夏威 夏夜 夏至 付款 付钱 付出 付费 "
    "付账 付清 方面 方法 方便 方向 方式 方案 方块 方形 方针 方言 方程 方圆 白色 白菜 白酒 白领 白板 白纸 白痴 白头 "
    "白发 白糖 白开 白费 白人 白羊 白马 白宫 白血 白银 白衣 白日 白昼 白兔 白白 白俄 熊猫 熊孩 熊熊 熊掌 江湖 江南 "
    "江北 江苏 江西 江山 江河 江水 段落 段位 雷电 雷声 雷霆 雷同 龙虾 龙头 龙舟 龙眼 龙卷 龙年 龙井 龙门 史上 史料 "
    "史前 史实 贺卡 贺岁 贺词 顾客 顾问 顾虑 顾及 顾忌 毛巾 毛衣 毛病 毛笔 毛发 毛豆 毛毯 毛线 毛孩 毛绒 毛利 毛毛 "
    "万事 万物 万能 万岁 万分 万万 万里 万元 万千 万圣 万有 钱包 钱财 钱币 严重 严格 严肃 严厉 严谨 严禁 严密 严寒 "
    "武术 武器 武汉 武功 武侠 武装 武力 武士 武警 武林 武打 向上 向下 向前 向后 向左 向右 向日 向往 向来 向导 汤圆 "
    "汤面 汤匙 何必 何况 何处 何地 何等 何以 何种 何人 何不 何尝 何止 何苦 何方 何谓 何事 高亮 高盛 武昌 余晖 白莲 "
    "金莲 白芝 黄莲 万源 江源".split()
)
PLACES_ZH: frozenset[str] = frozenset(
    """
北京 上海 天津 重庆 河北 山西 辽宁 吉林 黑龙江 江苏 浙江 安徽 福建 江西 山东 河南 湖北 湖南 广东 海南 四川 贵州 云南
陕西 甘肃 青海 台湾
内蒙古 广西 西藏 宁夏 新疆 香港 澳门 广州 深圳 杭州 南京 武汉 成都 西安 苏州 天津 青岛 大连 厦门 宁波 无锡 长沙 郑州
济南 哈尔滨 沈阳 长春
昆明 福州 南昌 合肥 石家庄 太原 兰州 贵阳 南宁 海口 三亚 拉萨 乌鲁木齐 呼和浩特 银川 西宁 珠海 东莞 佛山 温州 桂林
丽江 大理 洛阳 开封
台北 高雄 中国 美国 英国 法国 德国 日本 韩国 俄罗斯 加拿大 澳大利亚 新西兰 意大利 西班牙 葡萄牙 荷兰 比利时 瑞士
瑞典 挪威 芬兰 丹麦
奥地利 希腊 土耳其 埃及 南非 印度 巴基斯坦 泰国 越南 新加坡 马来西亚 印度尼西亚 菲律宾 柬埔寨 缅甸 朝鲜 蒙古 巴西
阿根廷 墨西哥 智利
秘鲁 波兰 匈牙利 捷克 乌克兰 以色列 伊朗 伊拉克 沙特阿拉伯 阿联酋 迪拜 伦敦 巴黎 柏林 东京 大阪 京都 首尔 纽约
洛杉矶 旧金山 芝加哥
华盛顿 波士顿 西雅图 多伦多 温哥华 悉尼 墨尔本 莫斯科 罗马 米兰 威尼斯 马德里 巴塞罗那 曼谷 清迈 普吉岛 巴厘岛 欧洲
亚洲 非洲 北美洲
南美洲 长城 故宫 西湖 黄山 泰山 长江 黄河 珠江
""".split()
)
ORGANISATIONS_ZH: frozenset[str] = frozenset(
    """
腾讯 阿里巴巴 百度 华为 小米 京东 字节跳动 美团 网易 联想 格力 比亚迪 中国移动 中国电信 中国联通 清华 北大 清华大学
北京大学 复旦大学
浙江大学 谷歌 微软 苹果公司 亚马逊 特斯拉 三星 索尼 任天堂 星巴克 麦当劳 肯德基 沃尔玛 迪士尼 联合国
""".split()
)
PRODUCTS_ZH: frozenset[str] = frozenset(
    "微信 支付宝 抖音 淘宝 微博 知乎 小红书 哔哩哔哩 乐高 奥特曼 王者荣耀 原神".split()
)


# Chinese names: people by surname and context, places and organisations by list and ending, titles in 《》.

_HAN = "\u4e00-\u9fff"
_COMMON_SURNAMES = "".join(sorted(SURNAMES))
_SURNAME = f"(?:{'|'.join(DOUBLE_SURNAMES)}|[{_COMMON_SURNAMES}])"
_GIVEN = f"[{''.join(sorted(GIVEN))}]"
# The characters before and after a name, which show where it ends, because Chinese has no spaces.
_BEFORE = rf"(?:^|(?<=[^{_HAN}])|(?<=[叫是和跟与同向给对让找见友学的到了请问像陪约帮被把及事人我妹弟哥姐说]))"
_AFTER = (
    rf"(?=$|[^{_HAN}]|[说道是在住和与跟的也都告问去来了就被把给对让向想要会能很不有又还从同邀请约介送带]"
    "|一起|昨天|今天|明天|最近|刚|这个|结婚|推荐|喜欢|觉得|打电话)"
)
_TITLE = LazyPattern(r"《[^《》\n]{1,40}》")
_POLITE = LazyPattern(rf"{_BEFORE}{_SURNAME}(?:{_GIVEN}{{0,2}})(?:{PERSON_ENDINGS_ZH})")
_FAMILIAR = LazyPattern(
    rf"(?:(?<![大从很最更太多弱矮缩细胆])小|(?<![古不太好])老|(?<![{_HAN}])阿)[{_COMMON_SURNAMES}明红强华刚丽芳军伟]{_AFTER}"
)
_FULL = LazyPattern(rf"{_BEFORE}(?P<name>{_SURNAME}(?:小{_GIVEN}|{_GIVEN}{{1,2}})){_AFTER}")
# A given name may have any character, so less common ones need more context: the beginning of a clause before a verb of
# people, or a word that introduces a person. A surname that begins many words is weaker evidence.
_WORD_SURNAMES = "何任方白金石万钱严武向付曾许高马周黄江毛叶程田夏龙余段雷熊顾钟范汤史贺陆谢林张孔莫戴陶"
_NO_GIVEN = (
    "的了是在我你他她它们这那有和与跟去到来从对把被给就都很还也不没个着过吗呢吧啊呀嘛啦么哪谁吃喝住说叫喜欢爱想要会能可以因为所但"
    "又再才只最更太真好家先某各每此其让向往于而且或如同及将已曾请问看听"
)
_ENDS_WORDS = (
    "州县市省区城镇村街路山河湖寺桥楼店馆国语树花草鱼虾菜果水汤面饭酒茶油肉鸟猫狗牛色力性化学部式型机器车船票费款钱价度期时日年"
    "周点分岁里上下中内外前后边间头子者人员师生长服装餐剧片朝代话书包法案务客卡件物事情节布葱蒜"
)
_LAST = rf"(?![{_NO_GIVEN}{_ENDS_WORDS}])[{_HAN}]"
_TWO = rf"(?![{_NO_GIVEN}])[{_HAN}]{_LAST}"
_ONE_OR_TWO = rf"(?:{_TWO}|{_LAST})"
_SURE_SURNAMES = "".join(sorted(SURNAMES - set(_WORD_SURNAMES)))
_GIVEN_AFTER = rf"(?:(?<=[{_SURE_SURNAMES}]){_ONE_OR_TWO}|(?<=张)[一二三四五六七八九]|(?<=[{_WORD_SURNAMES}]){_TWO})"
SURELY_NAMED = rf"[{_COMMON_SURNAMES}]{_GIVEN_AFTER}"
"""A full name of common characters; only what follows shows where it ends."""

_IS_SOMEONE = rf"是(?=[我你他她一个名位做中美谁]|[{_HAN}]{{1,4}}[师生员人友手](?![{_HAN}]))"
_LIVES = (
    rf"(?=住|在(?!于)|喜欢|喜爱|[不很最]喜欢|爱[吃喝看听玩]|讨厌|[说去来养](?![法年明自源老])|{_IS_SOMEONE}|告诉|觉得|认为"
    "|今年|毕业|出生|结婚|搬[到去家]|[和跟与、]|也[是在喜爱住去来]|有[一两三个只]|昨天|今天|明天|一起|打电话|打算"
    "|的(?:妈|爸|老[公婆]|生日|朋友|女儿|儿子))"
)
# A lookbehind after the surname: searching for one of few characters first is much faster.
_AT_FRONT = rf"(?:(?<=^.)|(?<=[^{_HAN}].)|(?<=[和跟与].)|(?<=昨天.|今天.|明天.|后来.|但是.|因为.|所以.|最近.|上周.))"
_KNOWN_BY = "".join(
    f"|{word}."
    for word in (
        "朋友 同事 老师 同学 室友 邻居 儿子 女儿 老公 老婆 丈夫 妻子 哥哥 姐姐 弟弟 妹妹 老板 经理 医生 教授 闺蜜 "
        "表哥 表姐 表弟 表妹 导师 男友 女友 太太 我叫 他叫 她叫 名叫 叫做 字叫"
    ).split()
)[1:]
_LIVING = LazyPattern(rf"(?P<name>[{_COMMON_SURNAMES}]{_AT_FRONT}{_GIVEN_AFTER}){_LIVES}")
_KNOWN = LazyPattern(
    rf"(?P<name>[{_COMMON_SURNAMES}](?<={_KNOWN_BY})(?:(?<=[{_SURE_SURNAMES}]){_ONE_OR_TWO}{_AFTER}"
    rf"|{_ONE_OR_TWO}(?:{_LIVES}|(?=$|[^{_HAN}]))))"
)
_JOINED = LazyPattern(rf"[和跟与、](?P<name>{SURELY_NAMED})(?=$|[^{_HAN}])").match
_DOUBLED = LazyPattern(rf"(?:同学|邻居|朋友|[弟哥姐妹叫]|孩子|儿子|女儿)(?P<name>(?P<one>[{_HAN}])(?P=one)){_AFTER}")
_NOT_A_NICKNAME = frozenset("妈爸爷奶哥姐弟妹叔姑舅婶姥公婆常刚天人个年慢偏好多大小高看试说想走")
_ORGANISATION = LazyPattern(
    "有限公司|公司|集团|银行|大学|学院|医院|研究院|研究所|协会|委员会|基金会|出版社|电视台|俱乐部|博物馆|事务所"
)
# The left end of a name before such a word: a function word or a common verb.
_EDGES = frozenset(
    "的了是在我你他她它们这那有和与去到来从对把被给就都很还也不没一个进住回往离过于某每家所间位名当叫为向跟同及该此其"
    "读考上下学开办找选报入任做看见说想要会能让请问带送两三几多些新老好大小男女最再又已将由以并或但而可"
)
_PLACE = LazyPattern(
    rf"(?:^|(?<=[^{_HAN}])|(?<=[在去到从于住回往离]))(?P<name>(?:(?![{''.join(sorted(_EDGES))}])[{_HAN}]){{2,3}}"
    r"(?:[省县镇](?![级长])|村(?![长里民])|市(?![场民中长区里面])|区(?![别域分])|路(?![上口边线人过程途])|大街|机场|火车站))"
)
_COMMON = frozenset(
    "上市 科技 大型 小型 外贸 互联网 附近 本地 当地 国有 民营 创业 著名 重点 人民 儿童 宠物 动物 毕业 保险 "
    "物流 广告 快递 游戏 软件 传媒 "
    "跨国 外国 投资 商业 社区 专科 综合 名牌 理想 国内 国外 城市 市中 母亲 父亲 妈妈 爸爸 公立 私立 中医 自然 历史".split()
)
_LONGEST_PREFIX = 8
_LISTED: dict[str, str] = (
    dict.fromkeys(PLACES_ZH, "place")
    | dict.fromkeys(ORGANISATIONS_ZH, "organisation")
    | dict.fromkeys(PRODUCTS_ZH, "product")
)


def _lengths_by_start() -> dict[str, tuple[int, ...]]:
    lengths: dict[str, set[int]] = {}
    for name in _LISTED:
        lengths.setdefault(name[0], set()).add(len(name))
    return {start: tuple(sorted(found, reverse=True)) for start, found in lengths.items()}


_LENGTHS = _lengths_by_start()
_STARTS = LazyPattern(f"[{''.join(sorted(_LENGTHS))}]")
_TAIL = LazyPattern("[市省](?![场民中长])")


def chinese_names(text: str) -> Iterator[tuple[int, int, str]]:
    """The start, end and kind of each name, the most certain first; they may overlap."""
    for match in _TITLE.finditer(text):
        yield *match.span(), "product"
    for match in _ORGANISATION.finditer(text):
        start = _organisation_start(text, match.start())
        if start is not None:
            yield start, match.end(), "organisation"
    yield from _people(text)
    yield from _listed(text)
    for match in _PLACE.finditer(text):
        yield *match.span("name"), "place"


def _organisation_start(text: str, end: int) -> int | None:
    """The start of the name that ends with a word such as 公司, or None."""
    start = end
    while (
        start > max(0, end - _LONGEST_PREFIX)
        and "\u4e00" <= text[start - 1] <= "\u9fff"
        and text[start - 1] not in _EDGES
    ):
        start -= 1
    if end - start < 2 or text[start:end] in _COMMON:
        return None
    # 上 is an edge, but not in 上海交通大学.
    return start - 1 if start and text[start - 1 : start + 1] in PLACES_ZH else start


def _people(text: str) -> Iterator[tuple[int, int, str]]:
    for match in _POLITE.finditer(text):
        yield *match.span(), "person"
    for match in _FULL.finditer(text):
        if match["name"][:2] not in NOT_PEOPLE_ZH:
            yield *match.span("name"), "person"
    yield from _less_common(text)
    for match in _FAMILIAR.finditer(text):
        yield *match.span(), "person"
    for match in _DOUBLED.finditer(text):
        if match["one"] not in _NOT_A_NICKNAME:
            yield *match.span("name"), "person"


def _less_common(text: str) -> Iterator[tuple[int, int, str]]:
    """Names of any characters whose context shows a person; so are names that "and" joins to one."""
    for pattern in (_LIVING, _KNOWN):
        for match in pattern.finditer(text):
            if not is_a_word(match["name"]):
                yield *match.span("name"), "person"
                joined = _JOINED(text, match.end("name"))
                if joined and not is_a_word(joined["name"]):
                    yield *joined.span("name"), "person"


def is_a_word(name: str) -> bool:
    """Whether a possible name is, or begins with, a word or a name of something else."""
    return name[:2] in NOT_PEOPLE_ZH or name[:2] in _LISTED or name in _LISTED or name[1:] in _LISTED


def _listed(text: str) -> Iterator[tuple[int, int, str]]:
    """Names of the lists, the longest match at each place."""
    done = 0
    for match in _STARTS.finditer(text):
        at = match.start()
        if at < done:
            continue
        for length in _LENGTHS[match[0]]:
            kind = _LISTED.get(text[at : at + length])
            if kind:
                tail = _TAIL.match(text, at + length) if kind == "place" else None
                done = tail.end() if tail else at + length
                yield at, done, kind
                break


_CAPITAL = r"[A-Z\u00c0-\u00d6\u00d8-\u00de]"
_INNER = r"[A-Za-z0-9\u00c0-\u024f]"  # Chinese may follow a name without a space, so \w would run on.
# A word that begins with or contains a capital (iPhone), or mixes capitals and digits (GPT-4).
_WORD = re.compile(
    rf"(?<![A-Za-z0-9_@#./'’\u00c0-\u024f-])(?:{_CAPITAL}|[a-z]{{1,3}}(?=[A-Z])){_INNER}{{0,40}}(?!{_INNER})"
    rf"(?:[’'-]{_INNER}{{1,20}}){{0,3}}+(?!@|\.[A-Za-z0-9]|_)|(?<![A-Za-z0-9.])(?:[A-Z]\.){{2,4}}"
)
_ADDRESS = re.compile(r"[A-Za-z0-9](?:[\w.+-]{0,62}\w)?@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}|@[A-Za-z_]\w{1,38}(?![\w@.])")
_QUOTED = re.compile(r"[\"“](?P<title>[A-Z0-9][^\"“”\n.!?;]{1,58}[^\"“”\n.!?,;:])[\"”]")
_JOIN = re.compile(r"(?: |\. ?| (?:of the|of|the|de|van|von|da|del|la|du|&) |&)").fullmatch
_SENTENCE_START = re.compile(r"(?:\A|[.!?:;…\n\"“”(\[*>•|-]|[。！？])[\s\"'“‘(*]{0,4}\Z").search
_POSSESSIVE = re.compile(r"['’](?:s|S)?\Z")
_CONTRACTION = re.compile(r"['’](?:m|ll|d|ve|re|t|M|LL|D|VE|RE|T)\Z").search
_SMALL_WORDS = frozenset("of the a an and in on for to with at by from de".split())
_VERSION_AFTER = re.compile(
    r"(?: (?:[0-9]{1,4}[A-Za-z]?|[IVX]{1,4})(?![\w.:,%/]*[0-9A-Za-z_]))?(?: (?:Pro|Max|Plus|Ultra|Mini)\b){0,2}"
).match
_HEADING = re.compile(
    r"\*\*[^*\n]{1,120}\*\*|^[ \t]{0,12}(?:#{1,6}[ ].{1,200}|\|.{1,400}|(?:[-*+•]|[0-9]{1,3}[.)])[ \t][^\n:.]{1,80}(?=:))",
    re.MULTILINE,
)
_OF_PEOPLE = re.compile(r"(?:Mac|Mc|Le|De|La|Di|Van|Fitz|[OD]['’])[A-Z]|[^-]+-").match
_LOOKED_BACK = 8
_LONGEST_NAME = 6  # words
_OWN = frozenset(("I", "I'm", "I'll", "I'd", "I've", "I’m", "I’ll", "I’d", "I’ve"))
_FEW = 4
_SHOUTED = 0.6  # Where more of the words than this begin with a capital, capitals say nothing.


class NamedEntity(NamedTuple):
    """A name in a text; ``key`` is its compared form: case-folded, without possessive and title."""

    start: int
    end: int
    text: str
    kind: str
    key: str


class _Capital(NamedTuple):
    """A capitalised word and its position."""

    start: int
    end: int
    word: str
    begins: bool


def entities(text: str, *, known: Collection[str] = ()) -> list[NamedEntity]:
    """The names in a text, in order and without overlap; a ``known`` name is found as a whole word anywhere."""
    found = [] if known == () else _known_names(text, known)
    if "@" in text:
        found += [_entity(text, *match.span(), "person") for match in _ADDRESS.finditer(text)]
    if '"' in text or "“" in text:
        found += _titles(text)
    found += _capitalised(text)
    if not text.isascii():
        found += [_entity(text, start, end, kind) for start, end, kind in chinese_names(text)]
    return _apart(found) if len(found) > 1 else found


def _apart(found: Iterable[NamedEntity]) -> list[NamedEntity]:
    """In order; of two that overlap the first found stays: a known name, then an address, a title, a name."""
    taken: list[NamedEntity] = []
    for entity in sorted(found, key=lambda entity: entity.start):
        if taken and entity.start < taken[-1].end:
            # A longer name replaces a known one inside it: "Anna Smith" replaces "Anna".
            if entity.start == taken[-1].start and entity.end > taken[-1].end and taken[-1].kind != "product":
                taken[-1] = entity._replace(kind=taken[-1].kind if entity.kind == "unknown" else entity.kind)
            continue
        taken.append(entity)
    return taken


def _entity(text: str, start: int, end: int, kind: str) -> NamedEntity:
    written = text[start:end]
    return NamedEntity(start, end, written, kind, _key(written))


def _key(written: str) -> str:
    words = _POSSESSIVE.sub("", written).strip('《》"“”@').replace("’", "'").split()
    if len(words) > 1 and words[0].rstrip(".") in TITLES:
        words = words[1:]
    key = " ".join(words).rstrip(".").casefold()
    return key[:-1] if key[:-1] in PLACES_ZH and key[-1] in "市省" else key


def _known_names(text: str, known: Collection[str]) -> list[NamedEntity]:
    pattern = _pattern_of(tuple(sorted({name for name in known if name.strip()}, key=lambda name: (-len(name), name))))
    if pattern is None:
        return []
    return [_entity(text, *match.span(), _kind_of_known(match[0])) for match in pattern.finditer(text)]


@lru_cache(maxsize=64)
def _pattern_of(known: tuple[str, ...]) -> re.Pattern[str] | None:
    """One pattern of all known names; a name of letters matches whole words only."""
    if not known:
        return None
    parts = [
        (rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])" if name.isascii() else re.escape(name))
        for name in known
    ]
    return re.compile("|".join(parts), re.IGNORECASE)


def _kind_of_known(name: str) -> str:
    kind = _english_names(name)
    return "person" if kind == "unknown" else kind


def _titles(text: str) -> list[NamedEntity]:
    """Quoted titles: every longer word is capitalised."""
    found: list[NamedEntity] = []
    for match in _QUOTED.finditer(text):
        words = [word for word in match["title"].split() if word.lower() not in _SMALL_WORDS]
        is_title = all(word[0].isupper() or word[0].isdigit() for word in words)
        if is_title and words and (len(words) > 1 or words[0].lower() not in STOP_WORDS["en"]):
            found.append(_entity(text, match.start("title"), match.end("title"), "product"))
    return found


def _capitalised(text: str) -> list[NamedEntity]:
    """Names found by their capitals."""
    capitals = [_capital(text, match) for match in _WORD.finditer(text)]
    if not capitals:
        return []
    # "I" is always a capital.
    count = sum(word.word not in _OWN for word in capitals)
    trusted = count < _FEW or _SHOUTED * (text.count(" ") + 1) >= count
    headings = _headings(text)
    inside = {word.word for word in capitals if not word.begins} if len(capitals) > 1 else set[str]()
    found: list[NamedEntity] = []
    row: list[_Capital] = []
    for word in capitals:
        if row and (
            len(row) >= _LONGEST_NAME or not _JOIN(text, row[-1].end, word.start) or not _joins(text, row[-1], word)
        ):
            _add(text, row, trusted and row[0].start not in headings, inside, found)
            row = []
        row.append(word)
    _add(text, row, trusted and row[0].start not in headings, inside, found)
    return found


def _headings(text: str) -> Collection[int]:
    """The positions inside headings and bold text, where every word may be capitalised."""
    if "\n" not in text and "**" not in text:
        return ()
    return {place for match in _HEADING.finditer(text) for place in range(*match.span())}


def _capital(text: str, match: re.Match[str]) -> _Capital:
    start, end = match.span()
    word = match[0]
    bare = _POSSESSIVE.sub("", word)
    before = text[max(0, start - _LOOKED_BACK) : start]
    return _Capital(start, end, bare, bool(_SENTENCE_START(before)) if start else True)


def _joins(text: str, before: _Capital, word: _Capital) -> bool:
    """Whether two capitalised words may be one name: not after a possessive, and a full stop only after a title."""
    if before.end - before.start != len(before.word):
        return False
    between = text[before.end : word.start]
    return "." not in between or before.word in TITLES or len(before.word) == 1


def _add(text: str, row: list[_Capital], trusted: bool, inside: set[str], found: list[NamedEntity]) -> None:
    """Add the name in a row of capitalised words."""
    row = _trimmed(text, row)
    if not row:
        return
    start, end = row[0].start, _end(row)
    kind = _kind(text[start:end], [word.word for word in row])
    if kind == "unknown" and (not trusted or _is_doubtful(row, inside)):
        return
    if kind == "product" and (version := _VERSION_AFTER(text, end)):
        end = version.end()
    found.append(_entity(text, start, end, kind))


def _end(row: list[_Capital]) -> int:
    """The end of the name, without a possessive."""
    return row[-1].start + len(row[-1].word)


def _trimmed(text: str, row: list[_Capital]) -> list[_Capital]:
    """The row without common words at its edges; a listed name such as New York stays whole."""
    while row and _english_names(text[row[0].start : _end(row)]) == "unknown" and _is_common(row[0], row):
        row = row[1:]
    while row and row[-1].word in NOT_NAMES:
        row = row[:-1]
    # "Remember Anna" at the beginning of a sentence is Anna.
    if len(row) > 1 and row[0].begins and _kind_of_row(text, row) == "unknown" != _kind_of_row(text, row[1:]):
        row = row[1:]
    return row


def _kind_of_row(text: str, row: list[_Capital]) -> str:
    return _kind(text[row[0].start : _end(row)], [word.word for word in row])


def _is_common(word: _Capital, row: list[_Capital]) -> bool:
    """Whether a word at the beginning of a row is no part of a name."""
    if word.word in NOT_NAMES or _CONTRACTION(word.word):
        return not (len(row) > 1 and word.word in TITLES)
    lower = word.word.lower()
    if lower in STOP_WORDS["en"]:
        # "The Lord of the Rings" inside a sentence keeps its article; "The" at the beginning of one says nothing.
        return word.begins or len(row) == 1 or len(word.word) == 1
    return False


def _is_doubtful(row: list[_Capital], inside: set[str]) -> bool:
    """Whether a word may be capitalised only because it begins a sentence or everything is in capitals."""
    first = row[0]
    if len(row) == 1:
        word = first.word
        if len(word) < 2 or (word.isupper() and not 3 <= len(word) <= 6):
            return True
        if word in PLACE_ENDINGS or word in ORGANISATION_ENDINGS:
            return True
        return first.begins and word not in inside
    return first.begins and first.word.lower() in STOP_WORDS["en"]


def _kind(name: str, words: list[str]) -> str:
    kind = _english_names(name)
    if kind != "unknown":
        return kind
    first, last = words[0].rstrip("."), words[-1].rstrip(".")
    if len(words) > 1:
        if first in TITLES:
            return "person"
        if last in ORGANISATION_ENDINGS or (first in ORGANISATION_STARTS and " of " in name):
            return "organisation"
        if last in PLACE_ENDINGS or first in PLACE_STARTS:
            return "place"
    if first in FIRST_NAMES and len(words) <= 3 and " of " not in name:
        return "person"
    if first in PRODUCTS or _is_mixed(words[0]):
        return "product"
    return "unknown"


@lru_cache(maxsize=4096)
def _english_names(name: str) -> str:
    if name in PLACES:
        return "place"
    if name in ORGANISATIONS:
        return "organisation"
    if name in PRODUCTS:
        return "product"
    return "person" if name in FIRST_NAMES else "unknown"


def _is_mixed(word: str) -> bool:
    """Whether it is spelled as products are: iPhone, YouTube, GPT-4, PS5; but McDonald and O'Neil are people."""
    if any(char.isdigit() for char in word):
        return any(char.isupper() for char in word)
    inner = word[1:].removesuffix("s")
    return not inner.isupper() and any(char.isupper() for char in inner) and not _OF_PEOPLE(word)
