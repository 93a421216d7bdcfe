"""Names that are known: of people, places, organisations and things, and the words that go with them."""

from __future__ import annotations


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
"""What is written with a capital and names nothing that is worth keeping apart."""

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
    # Words that begin as a surname does.
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

__all__ = [
    "DOUBLE_SURNAMES",
    "FIRST_NAMES",
    "GIVEN",
    "NOT_NAMES",
    "NOT_PEOPLE_ZH",
    "ORGANISATIONS",
    "ORGANISATIONS_ZH",
    "ORGANISATION_ENDINGS",
    "ORGANISATION_STARTS",
    "PERSON_ENDINGS_ZH",
    "PLACES",
    "PLACES_ZH",
    "PLACE_ENDINGS",
    "PLACE_STARTS",
    "PRODUCTS",
    "PRODUCTS_ZH",
    "SURNAMES",
    "TITLES",
]
