"""How a Chinese sentence falls into clauses: what makes one state nothing, what precedes its subject, and the subjects.

Also the patterns of what is said of people: relatives, couples, pets, contacts, and how a claim is corrected.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from memwell.language.claims import chinese_objects as objects
from memwell.language.claims.chinese_objects import H
from memwell.language.claims.relations import RuleMatch
from memwell.language.patterns import LazyPattern

# Where clauses end, and what makes them state nothing.

_PARALLEL = (
    rf"(?<=[{H}A-Za-z]{{2}})(?<![让叫给跟和对像比问说教帮陪替被把同与为诉知道要是及如的等写记填发])"
    "(?:我[在做当教跑卖](?![说掉了])|一[只条]叫(?![^，,。]{1,8}的)|[大小]的叫)"
)
"""Where another subject begins without a comma: 他在拉萨我在南通."""
CLAUSE = LazyPattern(
    rf"(?:但是?|不过|可是|不(?=[住叫是在])|我|一(?=[只条]叫)|[大小](?=的叫))?(?:(?!(?<=[{H}])(?:但是?|不过|"
    rf"可是)[对不我很讨喜爱]|(?:(?<=[住是叫在][{H}]{{2}})|(?<=[住是叫在][{H}]{{3}})|(?<=[住是叫在][{H}]{{4}}))"
    rf"不(?:住|叫|是|在)[{H}A-Za-z0-9]{{1,8}}(?:[，,。！!；;了]|\Z))"
    rf"(?!{_PARALLEL})[^，,。！？!?；;：:\n…～~—（）() ]|[，,](?=一[吃喝碰沾闻](?:到|了)?{objects.BODY}就)"
    rf"|[，,](?=(?:因为)?[会就]?过敏(?:[，,。；;！!]|\Z))|"
    rf"(?<=[名日业好址家籍龄称])[：:]|(?<![{H}]) | (?![{H}]))+"
)
QUOTE = LazyPattern('[“「『"]').search
QUOTED = LazyPattern('[“「『"]([^“「『”」』"\n]{0,200})[”」』"]')
SHORT_QUOTE = 6
QUESTION = LazyPattern(
    rf"吗|啥(?!都|也)|咋(?!也)|(?<![不可])不$|(?<!饿了)么$|(?<!不是)什么|谁|哪(?!怕)|(?<!不)怎么(?!也)|怎样|多少"
    rf"|(?<![跟和好这那十前后带约])几(?:个|岁|点|月)(?!月)|为什么|为啥|是不是|有没有|"
    rf"(?P<verb>(?!在)[{H}])不(?P=verb)|(?<!现)在不在|(?<![着没])(?<!结婚|没有|对象|单身)呢$|喜不喜欢|还是[{H}]{{1,6}}$|"
    rf"了没|(?<![都也])没有$"
).search
DOUBT = LazyPattern(
    "(?:念|跟读|朗读|默写|造句)[：:]|等(?:我|我们|孩子|以后)[^，,。]{1,10}(?:了|后)(?=[，,就再])|如果|假[如使设定]|要是|万一"
    "|设[想定](?=一[个位名]|你|我)|就当我|你(?:现在|就)*是[^，,。]{1,6}[，,]我(?:就)?是"
    "|希望|但愿|想象|梦见|梦到|假装|幻想|听说|据说|(?<![话是刚你再实来白我跟一])说我(?!女儿|儿子)|"
    "倘若|即使|就算|哪怕|恨不得|开玩笑(?![的呢])|多想|好想|想要|除非|但凡|换作|换成是你|的话(?!说)|早知道|就好了|"
    "有朝一日|哪天|下辈子|上辈子|主角|男主|女主|主人公|剧里|剧中|电影里|小说|书里|故事里|歌里|歌词|游戏里|梦里|台词"
    "|广告(?!公司|设计|行业|策划|业|部|牌)|"
    "发来的|转发|角色|课文|相声|段子|翻译(?:一下|成|这|：|:)|造句|例句|润色|扮演|朗诵|老话|俗话|常言|网上那句|有人|"
    "好多人|很多人|朕|"
    "(?:他|她|人家|别人|医生|大夫|大师)(?:总|老|常|都)?(?:说|讲|以为|觉得)"
).search
# What a doctor says of the speaker's allergies is no hearsay.
DOCTOR = LazyPattern(
    "(?:我的?)?(?:医生|大夫|医院)(?:都|刚|今天|昨天)?(?:说|告诉我|讲|查出来?|"
    "诊断)(?=我[^，,。]{0,4}(?:对[^，,。]{1,12}(?:过敏|不耐受)|[^，,。]{1,6}不耐受|乳糜泻|不能[吃碰喝](?:麸质|花生|海鲜|坚果|牛奶)))"
).sub
INTENDS = LazyPattern("打算|准备|计划|商量|考虑|[想要会](?!好)|明年|下个?[月周]|年底|年后").search
RETIRED = LazyPattern(r"退了?休了?的?\Z").search
MENTIONS_AGAIN = LazyPattern(
    "我(?:有没有|是不是)?(?:跟|和|给)你(?:说|提|讲)过(?P<what>我[^。？?！!]{2,30}?)(?:吗|没有?|的吧)(?=[？?。！!\\s]|$)"
).sub
FULL_STOP = LazyPattern(r"\.(?=\s|\Z)").sub
SENTENCE = LazyPattern(r"[^。！？!?\n]+[。！？!?\n]*").finditer
LAUGHS = LazyPattern(
    r"[，,。！!；; ](?:(?:可能|大概|也许|好像|估计|或许|应该)是?吧?|"
    r"我?也?不(?:太|是很)?确定|哈哈+|呵呵+|嘿嘿|狗头|手动狗头|厉害吧)[！!。~～]*\s*$"
).search
JOKE = LazyPattern(
    "(?:[ 我是都才]|跟你|和你)*(?:(?:骗你|逗你|骗人|开个?玩笑|瞎说|胡说|瞎编|吹牛|梦里)玩?[的呢啦啊哈]+|愚人节快乐|"
    "在?梦里(?:的)?|做梦的?|"
    "才怪)[啦啊哈]*"
).fullmatch
UNLESS = LazyPattern("要不是[^，,。]*").search
NOT_A_JOKE = LazyPattern("不开玩笑|没开玩笑|不是开玩笑").search
STORY_OK = LazyPattern("(?:爱看|喜欢看|喜欢的|看|写(?!一?[段篇个])|读|爱|喜欢)[^，]{0,6}小说(?!里|中)|小说家").search
HEDGE = LazyPattern(
    "可能|也许|或许|大概|好像|似乎|估计|说不定|没准|怀疑|考虑|犹豫|差点|差一点|几乎|仿佛|简直|感觉|以为|觉得|快要|"
    "都快(?=嫁|成|变|是|要)|恐怕|未必|不一定|应该(?!是)|有点想|(?<![理联])想(?!好|起|吃|法)|算是半个|算不上|本该|真正的|"
    "恭喜我|可真是|还以为|比我|才是"
).search
UNDECIDED = LazyPattern(
    "[，,。 ]*(?:不过|但是?|可|就是)?(?:都|也|目前|现在|暂时|具体)*(?:还没有?|没|尚未|还未)(?:最后|完全|彻底)?"
    "(?:定下?|[想考]虑?好|决定|确定|商量好)"
    "(?!日子|时间|地方|哪|几|名)"
).match
"""That what stands before it may not come to be: 搬去杭州，还没定."""
PLANNED = LazyPattern("打算|计划|准备|决定").search
REPORTS = LazyPattern(
    f"(?:总是|总|老是|老|常常|常|就|还|都|也|一直|曾经|曾|跟我|告诉我|对我)*(?:说|讲|问|觉得|认为|以为|写|唱|喊|告诉|让|"
    f"叫我|劝|催|骂)(?!{objects.LANGUAGE}|一口)"
).match

# The subject, and what may stand before it.

_N = "零〇一二三四五六七八九十两几\\d"
_TIME = (
    rf"(?:从|自|自从|在|到)?(?:(?:[去今明昨前后][年天晚早]|大前[年天]|[上下这本]个?(?:周|月|星期|学期|礼拜|"
    rf"半年)(?:[一二三四五六日天末])?|[{_N}]{{1,4}}"
    rf"(?:年|月(?:份)?|日|号|天|周|个月|点)(?:前|后|初|底|末)?|(?:前|近|这)(?:几|两|些)[年天]|[年月]?[初底末]前?|"
    rf"(?:开)?[春夏秋冬][天季]?|早上|晚上|下午|上午|中午|白天|夜里|"
    "周末|刚才|(?:腊月|正月)初?[一二三四五六七八九十廿]{1,3}|寒假|暑假|国庆|春节|清明|端午|中秋|圣诞|元宵|七夕|年假|假期"
    "|五一|十一|元旦|过年|过完年|年后|年前|双十一|大[一二三四]那年|周[一二三四五六日]|"
    "星期[一二三四五六日天]|年轻时|毕业(?:之?后|就)|那年|退休后|前阵子|前段时间|这几年|今早|"
    "业余时间|闲暇时间?|空闲时间?|平常|有空的时候|没事的时候|下半年|上半年|后来|以后|最后|这个月|离婚后|婚后|去年夏天"
    "|去年冬天){1,4})(?:的时候|那年|开始|起|以来|早)?"
)
_FILLER = (
    "嗯+|哦对?|噢|啊|哎呀?|唉|诶|欸|对了|对呀|对啊|其实吧?|不过|但是|但|而且|然后|因为|所以|另外|还有|是的|当然|嘿|嗨|"
    "哈喽|哈+|顺便(?:说一下|说一句|提一句|记一下|说)?|你知道|告诉你|"
    "要不是|楼下|楼上|隔壁|对门|只是|就是|虽然|既然|由于|话说|讲真|说真的|老实(?:说|讲)|说实话|说起来|坦白说|"
    "跟你说(?:个事|哈)?|跟你讲|我跟你说|"
    "我跟你讲|不瞒你说|我的意思是|我是说|更正一下|纠正(?:一)?下|"
    "先(?:说清楚)?|好吧|行吧|总之|反正|原来(?=我)|结果|终于|刚刚说|刚才说|我刚说|刚说|同时|准确(?:地)?说|确切(?:地)?说|"
    "严格来说|结婚后|不对|记得"
)
_ADVERB = (
    "再(?=搬|去|回|到)|也|都|还|就(?!读|职|业)|好|蛮|一直|现在(?!的)|如今|目前|特别|非常|很|真的|真|超级|超|挺|比较|更"
    "|其实|从小就|从小|平时|总是|经常"
    "|已经|刚刚|"
    "刚|最近|早就|早|可(?=不|没|真|是|喜|爱|讨)|才|又|仍然|还是|本来(?=就)|一般|特|尤其|"
    "最(?!喜欢的|爱的|讨厌|爱[吃喝看听玩]的|喜欢[吃喝看听玩]的|大)|真是|确实|今年|自己|一个人|独自|俩都|俩|全家都?|"
    "一家人?|正式|终于|顺便|只|大多|主要|常年|长期|去年|后来|果断|正在(?=学|读|上)|正(?=在)|在(?=准备|打算|计划|上|"
    "读(?!书))|这人|也是个?|"
    "是(?=在(?!线)|被|从|对|去|来自)|原先|跟你一样|反而|而|应该(?=是)|其中|接着|光荣|早已|已(?!婚)|早早|(?:公司"
    rf"|单位)(?!(?:{_TIME})?(?:可能|也|都|还|要|会|就)*[搬迁换]|叫|在|是|从|离|里|有|的|要|会|准备|打算|组织|安排|发|开|招|"
    "名)|倒是|偏偏|实在|"
    "当场|直接|立马|突然|彻底|毕竟|明明|居然|竟然|身份证上|户口本上|证件上"
)
LEAD = LazyPattern(rf"(?:[\s\"“'「]|{_FILLER}|{_TIME}|(?:{_ADVERB})(?![{H}]{{0,3}}(?:叫|家)的)|已经)*").match
SKIP = LazyPattern(rf"(?:{_TIME}|{_ADVERB})*").match
FORMERLY = LazyPattern(
    "(?:以前|曾经|曾|原来|过去(?![报住玩找看取拿接送上工])|之前|小时候|原先|从前(?!台)|退休前|早年|年轻时|原(?=计划|打算"
    "|定)|原本|本来(?!就)|当年|读书时|"
    "上学时)(?:的时候)?"
).match
LEAD_FORMER = LazyPattern("以前|曾经|原来|过去|之前|小时候|从前|退休前|早年|当年").search
DENIED = LazyPattern(
    "(?:不是(?:什么(?=[^东西好]))?(?=[很太特那喜做搞学从在对]|(?<=什么))|从来没有?|从没有?|从未|并没有?|并不|可不"
    "|没有(?![一二两三]|车|房)|"
    "没(?![车房事])|不再|再也不|再也没有?|不(?![喜爱太怎大吃喝碰读学念打耐]))"
).match
SAID_SO = LazyPattern("我?(?:刚刚?|刚才|之前|上次|前面)说我").match
AT_WORK = LazyPattern("换了?个?工作|跳槽|入职|新公司|离职|辞职|新工作").search
AHEAD = LazyPattern(
    "腊月|过[两几]天|明年|明天|后天|后年|下个?(?:周|月|星期|学期|礼拜|半年)|年底|月底|过完年|年后|暑假|寒假|国庆|春节"
    "|五一|元旦|"
    "[一二三四五六七八九十\\d]+月|号|开春|春天|周[一二三四五六日末]|今晚|马上|即将|下半年|下回|下次"
).search
SURELY_AHEAD = LazyPattern(
    "明[年天早晚]|后[天年]|下(?:个|周|月|星期|学期|礼拜|半年|回|次)|今晚|马上|即将|[要会将就快]|打算|准备"
).search
DONE = LazyPattern("了|[去到回来飞考搬学]的").search
THEN_DID = LazyPattern(rf"[，,](?:(?!已经|都|早)[{H}]){{0,3}}[{H}]了(?:一|[两三四几半好大])[{H}]{{1,8}}").search
PAST_TIME = LazyPattern("昨|去年|前年|上个|上周|上月|前几|那年|以前|前天|刚").search
HABIT = LazyPattern("天天|每天|每周|每晚|周末|晚上|平时|经常|没事|下班|业余|闲|白天").search
IN_PLACE = LazyPattern(rf"(?:是)?在(?P<place>[{H}]{{2,6}})").match
STARTS_LATER = LazyPattern(
    rf"[，,。！!啦了～ ]*(?:[今明]年)?(?:[{_N}]{{1,2}}月份?|下(?:个?月|学期)|秋天)[{H}]{{0,3}}?(?:开学|去?[读念上学]|入学"
    rf"|报到)"
).match
ALL_DO = LazyPattern("(?:虽然|不过|但|其实)?都(?!快|已经)").match
SOME_FIRM = LazyPattern("一家|一个|一所|某|的|这边|那边|当地").match
ELSEWHERE = LazyPattern("(?:[他她哥姐弟妹妈爸公婆友]|老伴|对象|女儿|儿子|孩子|爱人)在[^，,。]{2,8}[，,]?\\Z").search
SO_WERE = LazyPattern(f"[{H}]{{2}}人[，,、]\\Z").search
SO_ARE = LazyPattern(f"[，,、][{H}]{{2,6}}人(?=[，,])").match
TAIL = LazyPattern("有啥|有什么|有没有|怎么(?!办)|咋(?!办|整)|要不要|能不能|可不可以|该不该|来不来得及|应该").search
LASTED = LazyPattern(f"[干待呆做]了?{objects.LONG}").search
NEARLY = LazyPattern("[就要快]满|即将|快.{1,3}了").search
USUAL = LazyPattern("一般|平时|通常|经常|总是|每[天周个年月]|都去|都在|都会").search
DECIDED = LazyPattern("想好了|决定了|订好|订了|定好|报名了|票买了|攒够|都订").search
NOT_THAT = LazyPattern(rf"(?:不对)*不是(?P<o>(?![对在从学做喜])[{H}A-Za-z0-9]{{2,8}}?){objects.END}").match
FOR_NOW = LazyPattern("(?<!从)今天|今晚|今早|明天|这次|这顿|待会|等会|一会|暂时|先(?!生)|早上|中午|下午|晚上").search
_FEW = "(?:1[0-7]|[1-9]|[一两二三四五六七八九]|十[一二三四五六七]?)"
_OWN = "(?:我们家|我家|咱家|俺家|我们|咱们|我|俺|咱)"
_MOD = (
    "(?:的|[两俩三四]个|那个|家|这个|唯一的|最好的|最铁的|最|铁|大学|高中|初中|小学|公司的?|另一个|现在的|好|亲|新"
    "|双胞胎|远房|"
    rf"异地|异国|[{_N}]{{1,3}}岁半?的)*"
)
KIN = LazyPattern(
    rf"(?:(?P<own>{_OWN})(?:(?:还|也|真|就|只|现在)?有(?:[一二两三四五六1-6])?(?:个|位|名|"
    rf"对)?)?{_MOD}(?P<ex>前(?![年天几]))?(?P<kin>{objects.KIN_WORDS})(?!(?<=娘)家)"
    rf"|(?:现在的?|另一个|新)?(?P<alone>{objects.ALONE}|(?:同学|朋友|邻居|领导|经理|客户)(?={objects.PERSON_AHEAD})"
    rf"|[两俩三]个?(?:娃|孩子|儿子|女儿|闺女)|前(?:同事|老板|领导|室友|邻居|男友|女友|男朋友|女朋友|队友|搭档)"
    rf"|(?:另一个)(?:同事|朋友)|(?:公司|部门|单位|组里|班上|"
    rf"宿舍)(?:里)?(?:新来|新)?的?(?:同事|同学|室友|领导|老板)|[大二三小]?(?:哥|姐|弟|妹|儿子|"
    rf"女儿)(?=叫)))(?:们)?(?P<name>{objects.KIN_NAME})?"
).match
ME = LazyPattern(
    "(?:我们|咱)(?!家)(?:班|宿舍|两个|俩|两口子|一家[三四五六]口|一家|全家)?|咱们|本人|老朽|鄙人|我自己|我本人|我这个?人|我俩"
    "|(?:我们|我|咱|俺)家(?=添|新|来|多|还|"
    "又|以前|原来|去年|今年|搬|最近|现在|刚|前年|上个月|养|有|没|开|那|这|是[做开种养卖搞]|在[^，]{2,4}[种开养卖做])"
    "|我(?!家(?![在住]))|俺|咱|我家(?=搬|养|有)|家里(?=养|有|"
    "一|新|来|添|又|还)"
).match
PRONOUN = LazyPattern("(?P<both>他俩|她俩|他们俩?(?!家)|她们俩?(?!家)|两人|俩人)|他|她|人家(?=是)").match
OTHERS = LazyPattern(
    rf"你|您|大家|它|人们|别人|这|那(?!时)|咱们|(?:(?![我咱])[{H}]){{1,8}}(?:师傅|小哥|阿姨|大叔|大姐)(?=姓|叫|的?(?:电话"
    rf"|手机))"
).match
SAID_OF_ONE = LazyPattern(rf"[^，,。]{{0,4}}?{objects.AGE}周?岁|对?[^，,。]{{1,12}}过敏").match
NICKNAME = LazyPattern(
    rf"(?:(?:我们?|咱们?)家的?)?(?![常刚往渐仅偏人个年月日样家宝娃爸妈爷奶哥姐弟妹叔姑舅公婆])(?P<name>(?P<twice>[{H}])(?P=twice))(?=今年|已经|现在|刚|都|快|才|满|[{_N}]{{1,3}}[周岁]|对[^，,。]{{1,12}}过敏)"
).match
DOER = LazyPattern(
    rf"(?P<name>{objects.TWICE}|{objects.GIVEN2}{{2}}|小(?![区店学红众偷费组程卖视])(?:(?![的了是在有我你他她]|{objects.DOES})[{H}]){{2}})"
    rf"(?=(?:{_TIME}|{_ADVERB})*{objects.DOES})"
).match
"""A nickname that is followed by what people do: 雯雯入职了, 小核桃九月转到了."""
DOES = LazyPattern(objects.DOES).match
YOUNG = LazyPattern(
    rf"(?P<name>{objects.TWICE}|{objects.PET_NAMES}|小(?:(?![区学狗猫孩子姐妹弟哥女])[{H}]){{2}})[，,、 ]"
    rf"(?:今年|已经|现在|刚|都|快|才|满)*(?:(?:{_FEW}岁半?|{objects.AGE}个(?:多)?月)大?[了啦的]?(?![{H}]))"
).match
"""A child or a pet, which often has a name that is a word: 年糕，两岁."""
NAME, NAME_OF_KIN = LazyPattern(objects.PERSON).match, LazyPattern(objects.KIN_NAME).match
IS_MINE = LazyPattern(rf"[{H}]{{2,14}}[，,][他她]?就?是我们?(?:家|的)*(?:{objects.KIN_WORDS})").match
CHAIN = LazyPattern(rf"[的他她](?:前)?(?P<kin>{objects.KIN_WORDS})(?P<name>{objects.KIN_NAME})?").match
KIN_SAID = LazyPattern(objects.KIN_WORDS).finditer
HIS_KIN = LazyPattern(rf"(?:们?家)?的?(?:前)?(?P<kin>{objects.KIN_WORDS})(?P<name>{objects.KIN_NAME})?").match
HAS_KIN = LazyPattern(
    rf"(?:{_TIME}|还|也|刚|又|终于|真)*(?:有|生了|添了|喜得|谈了|交了|找了|认识了|处了|多了)了?(?:一|1|两)?(?:个|位|"
    rf"名|对|(?=双胞胎|龙凤胎))(?:双胞胎|亲|"
    rf"大胖|可爱的?|新|好)?(?P<kin>{objects.KIN_WORDS})(?P<name>{objects.KIN_NAME})?"
).match
STRANGER = LazyPattern(rf"[{H}]{{2,10}}?(?:是|就是|叫|说|住|在|有|喜欢|养|会|姓|来自|今年)").match
AGED_KIN = LazyPattern(rf"我(?P<age>{objects.AGE}(?:岁半)?)岁?的(?:大|小)?(?P<kin>{objects.KIN_WORDS})").finditer
FOND_KIN = LazyPattern(
    rf"我(?:那个?|家)?(?:特别|很|最|超)?(?:爱|喜欢)(?P<likes>[{H}]{{1,6}}?)的(?P<kin>{objects.KIN_WORDS})"
).finditer
PRESUPPOSED = LazyPattern(
    rf"(?:(?:我|我家|我们家|咱家)(?:的|那个|最好的|大学|高中|公司)*(?P<ex>前(?![年天几]))?|(?<=[带陪跟和给找被、])养?)"
    rf"(?P<kin>{objects.KIN_WORDS})(?P<name>{objects.KIN_NAME})"
).finditer
MENTIONED = LazyPattern(
    rf"(?:被|跟|和|陪|像|随)(?:我)?(?P<kin>{objects.KIN_WORDS})(?:带|一起|长大|养大|管|学|住)"
).search
CHILDREN = LazyPattern("生了|双胞胎|龙凤胎|孩子|娃").search
COUPLE = LazyPattern(rf"被?(?:他|她)(?P<kin>{objects.KIN_WORDS})(?P<name>{objects.KIN_NAME})").search


# People.

NAMES_KIN = LazyPattern(
    rf"(?:的名字|的大名|的小名|的全名|大的|小的|老大|老二|老三|一个|另一个)?(?:其实|就)?(?:名叫|叫做|叫作|名为|取名叫?|"
    rf"起名叫?|小名叫?|大名叫?|叫){objects.QUOTE}(?P<any>{objects.ANY_NAME})(?:{objects.END}|(?={objects.AGED}))"
    rf"|(?:就|其实)?是(?:[{H}]{{1,4}}的)?(?P<sure>{objects.KIN_NAME})(?!的){objects.END}"
).match
SECOND = LazyPattern("(?:大的|小的|老大|老二|老三|一个|另一个)叫").match
_CALLED_TWO = rf"(?P<one>{objects.ANY_NAME}?)(?:和|跟|、|还有)(?P<two>{objects.ANY_NAME}){objects.END}"
TWO_NAMES = LazyPattern(rf"(?:的名字|名字)?(?:分别)?(?:叫|取名|起名)(?:做|叫|为)?{_CALLED_TWO}").match
BORE = LazyPattern("生[了下]").search
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
_ARE = f"都?(?:是|成了|成为|做了)(?:[{_N}几]+多?年的?|多年的?|大学|高中|初中|小学|亲|双胞胎|孪生)*"
# What two people are or did, the relation it states, and whether that is over; the first that fits counts.
_TOGETHER = (
    ("不是(?:情侣|一对)|没在一起|没在谈", "partner", True),
    ("不是(?:夫妻|两口子)|没结婚", "married_to", True),
    ("离婚|离了|办完离婚|离的婚", "married_to", True),
    ("分手|分了|分开了(?![走坐])|散了|掰了|吹了|结束了|断了(?!联系)|断干净", "partner", True),
    ("绝交|闹翻|闹掰|断交|断了联系|不来往了|友尽|不是朋友", "friend", True),
    ("不再是同事|不在一个(?:单位|公司)|不是同事", "colleague", True),
    (f"结婚|领证|领[了的]证|成家|扯证|登记结婚|{_ARE}(?:两口子|夫妻|夫妇)", "married_to", False),
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
_DONE = (
    "(?:一辈子|[上这]个?[周月]|前[天几][天年]?|就"
    "|已经|刚|正式|终于|早就?|又|都|上周|昨天|去年|彻底|最近|现在|还|目前|是|一直|至今)*"
)
_LOVER, _SPOUSE = "(?:女友|男友|女朋友|男朋友|对象)", "(?:前夫|前妻|老公|老婆|丈夫|妻子|先生|太太|爱人|媳妇|他|她)"
ALONE = [
    (LazyPattern(pattern), relation)
    for pattern, relation in (
        (rf"{_DONE}(?:离婚|离异|离了婚|离的婚|办完离婚手续)[了后]?(?:{objects.ON}|又嫁了)", "married_to"),
        (rf"{_DONE}(?:没结婚|没结过婚|没有结婚|未婚|没嫁人|没娶)(?:呢|过)?{objects.END}", "married_to"),
        (
            rf"{_DONE}(?:被?分手(?:了|(?=[半一两二三四五六七八九十几]))|被甩了|失恋了|(?:恢复)?单身(?!公寓|汪$|狗$)|单着"
            rf"|没有?{_LOVER}){objects.END}",
            "partner",
        ),
        (
            rf"的?婚约{_DONE}(?:取消|解除|作废|黄|吹|没)了?{objects.END}|{_DONE}(?:取消|解除)了?婚约|{_DONE}(?:退婚"
            rf"|悔婚)了",
            "partner",
        ),
        (rf"没有?(?:兄弟姐妹|哥哥|姐姐|弟弟|妹妹|亲兄弟){objects.END}|是独生(?:子女|女|子)", "sibling"),
        (rf"还?没有?(?:孩子|小孩|娃|生孩子|儿女|子女){objects.END}", "child"),
        (rf"{_DONE}被(?:我的?)?{_LOVER}(?:给)?(?:甩|踹|绿)了", "partner"),
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
    rf"{objects.QUOTE}(?P<name>(?!{_NO_PET_NAME})(?:(?![的了我你不在是上前去今昨被能会要])[{H}]){{1,5}}?|"
    rf"[A-Za-z][A-Za-z]{{0,19}})"
)
_TIMES = (
    "[上下这本][周月个]|[今明昨后前][天年晚早]|周[末一二三四五六日]|每[天周月年晚]|早上|晚上|中午|下午|半夜|平时"
    "|最近|经常|"
    "一直|刚才|刚刚|突然|暑假|寒假|国庆|春节|星期|礼拜|马上|已经"
)
_CALLS = "(?:是?名字叫做|名字叫|名字是|取名叫|取名为|取名|起名叫|起名为|起名|名叫|名为|叫做|是?叫)[它他她]?"
_ENDS = r"(?=[啊呀哦啦哈\"”」』]*\s*(?:\Z|[，,。！!；;、…～~（(\n]))"
MY_PET = LazyPattern(
    rf"(?:(?:我们家|我家|咱家|我|家里)(?=[^养]|养的)|(?:我们家|我家|我)?(?=养了))(?:养了[{H}\\d]{{1,4}}年|"
    rf"养(?=的))?(?:的)?(?:那|这|有|两|三|"
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
PET_NAMED = LazyPattern(rf"(?:它的?|他的?|她的?)?{_CALLS}{_PET_NAME}{_ENDS}").match
PET_RENAMED = LazyPattern(
    rf"(?:的名字)?不(?:是)?叫(?P<wrong>[{H}A-Za-z]{{1,8}}?)[，,]\s*(?:而是|是|现在)?{_CALLS}{_PET_NAME}{_ENDS}"
).match
_ANOTHER_PET = LazyPattern(
    rf"(?:(?<=[，。！；])|\A)(?:我们?|咱们?|家里|后来|最近|前几天|今年|去年|上[周个]月?)*又(?:新?养|领养|收养|买|抱"
    rf"|捡)(?:回来?)?了"
    rf"一[只条][，,]?{_CALLS}{_PET_NAME}{_ENDS}"
).finditer
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
OF_KIN = LazyPattern(
    rf"(?P<kin>{objects.KIN_WORDS})(?P<name>{objects.KIN_NAME})?的?(?:手机号?|电话|号码|联系方式|邮箱|微信)[是：: ]*\Z"
).search
CONTACTS = (("email", objects.EMAIL, _EMAIL_CUE), ("phone", objects.PHONE, _PHONE_CUE))
NOT_OWN = LazyPattern(
    "客服|热线|银行|酒店|餐厅|快递|物业|前台|官方|投诉|店里|举报|订单|单号|编号|密码|验证|身份证|卡号|"
    "账号|公司的?电话|航班|车牌|护照|驾[照驶]|社保|医保|公积金|学号|工号|[Qq][Qq]号?[是:：]|微信号|会员|房号|门牌|"
    "税号|准考证|学籍"
).search
GONE = LazyPattern(
    "不是|别用|(?:前面|刚才|刚刚|刚)(?:发|写|给|填|留)的?|旧的?|老(?=的|号|邮)|原来|以前|之前的?|从|由"
).search
GONE_AFTER = LazyPattern(
    r"\s*(?:这个号?|那个号?|的?邮箱|的?号码?|我|被)*(?:已经|都|早|早就|就)*(?:不是我|是错的?|是?[写打输发]错|不对|不用|登不上"
    r"|停用|作废|注销|换成|"
    r"改成|弃用|停机|改为|换为)"
).match

# Corrections: a clause that gives another value for what was said before.

INSTEAD = LazyPattern(
    rf"(?P<say>[哦啊噢呃]?(?:我是说|我说的是|我的意思是|应该是|准确(?:地)?说是?|更正一下))?(?:而|应该|其实|后来|如今|"
    rf"准确(?:地)?说|确切说|正确的|现在|实际上?|本来|之前|以前|原来|就|都|可|早就|我的|我|你|上次|刚才|"
    rf"刚刚|手滑|不小心|误)*(?P<no>不是|不叫|不住|不姓|不在|不再是|并非|没有|(?:写|打|记|听|说|念)成了?|是?)"
    rf"(?P<yes>换成了?|改成了?|变成了?|改为|换到了?|叫|在|去了|进了|到了|来了|加入了?|进入了?|回了|回到了?)?(?:在|"
    rf"去的?是|对|学|读|从|姓|我)?{objects.QUOTE}(?P<o>[{H}A-Za-z0-9·@._《》-]{{1,24}}?)(?:人|籍|毕业的|专业的|专业|系|"
    rf"过敏|不耐受|了)?{objects.END}"
).match
# The spaces around Latin words and numbers (我在 Google 工作); after 我叫Kevin a space begins another clause.
_LATIN = "A-Za-z0-9@._'’&+/:#-"
LATIN = LazyPattern(
    rf"(?:(?<=[{H}])( +)(?!(?i:ok|lol|haha|hello|hi|btw|thanks|thx)\b)|(?<![{H}{_LATIN}]))"
    rf"(?=[A-Za-z0-9])[{_LATIN}]+(?: +[{_LATIN}]+)*( +(?=[{H}，。、！？；])|)"
    rf"|(?<=\d)( +)(?=[岁年月日号])"
).finditer
# 票价是三百，不是两百 says of what it speaks.
THING = LazyPattern(rf"[{H}A-Za-z]+?是(?=.)").match
NOT_VALUE = LazyPattern(rf"[，,](?:而|并)?不是(?P<o>[{H}A-Za-z0-9]+)").match
OF_A_THING = LazyPattern(
    rf"(?:^|[，,。！!；; ])(?!我|[应其后现实本原])[{H}A-Za-z]{{2,8}}[是叫][^，,。！!]+[，,]\Z"
).search
TOPIC_CUE = LazyPattern(
    "一[吃碰喝沾闻]|[吃喝碰沾](?:到|了)|卡(?:[^，。]{0,3}了)?|不(?:[游跑爬骑健画唱滑学玩搞去])|没了|不在了|[我死丢走送去俺叫喊称除忘会懂卖换偷转]|[作身]为|安乐|[不没][打弹跳练踢拉钓画吹]|本人|生日|取消|泡汤|黄了"
    "|作废|搁置|预约|离婚|失业|钥匙|[告道]别|再见|乳糜泻"
).search
SLIP = LazyPattern(
    "(?:[ 哦啊噢呃额哎呀诶唉晕欸我又给等下一]|抱歉|对不起|不好意思|刚才|刚刚|前面|上面|之前)*"
    "(?:(?:说|打|写|讲|记|搞|弄|给|听)(?:错|反)字?了?|[口手笔]误|手滑了?|不对|不是的?|更正|纠正|输入法|"
    "不){1,3}[了啊呀哈一下]*"
).fullmatch
SLIP_OF = LazyPattern(
    "(?:[ 哦啊噢呃哎呀诶，,]|抱歉|对不起|不好意思)*(?:我|刚才|刚刚|前面|上面|之前|上次|昨天|把|的)*"
    "(?P<what>生日|年龄|岁数|名字|姓名|老家|职业|工作|公司|单位|邮箱|专业|电话|手机号?|地址|住址)(?:给|都|又)?"
    "(?:说|打|写|讲|记|搞|弄)错了?[，,。](?:应该|其实|准确说)?(?:是|叫|在)(?P<value>[^，,。！!？?；;]{1,20})"
).match
CANCELLED = LazyPattern(
    "(?:可惜|但是?|不过|结果|我们?的?|那[个趟次])*(?:航班|机票|车票|行程|高铁票?|火车票?|旅行|出差|酒店|船票|航程)(?:被"
    "|都|临时|已经|又|给)*"
    "(?:取消|退|停飞|作废|泡汤|黄)掉?了"
).match
NO_RETURN = LazyPattern("因为|为了|说|想|时候|觉得|一样|问题|这|那|什么|我|你|的$|真的|假的|开玩笑|故意").search
FANS = LazyPattern("的(?:铁杆|资深|忠实|超级|死忠|老)?(?:[球歌影书]迷|粉丝|铁粉)").match
SOFTENED = LazyPattern("挺|蛮|好喜|还是|是很|是非常").search
TITLES = ("老师", "医生", "教授", "经理")
IN_LAWS = frozenset("嫂子 弟媳 姐夫 妹夫".split())
FAMILY = frozenset("married_to partner parent child sibling".split())
BY_NOW = LazyPattern("当上|成了|成为|现在|后来|如今|目前|最后").search
MOVES = LazyPattern("[搬迁移住]|定居").search
CHANGING = frozenset("lives_in works_at occupation studies_at".split())
VERBAL = LazyPattern("[我你他她对叫养喜爱住在学读会从有]").search
DISTRICTS = "区县镇乡村路街"
NOT_MINE = LazyPattern(
    rf"(?:不过|但|其实|可)*(?:是(?:帮|替)?我?(?:{objects.KIN_WORDS}|别人|人家|公司)(?:家)?(?:养)?的|不是我的|"
    rf"借的){objects.END}"
).match


def without_quotes(sentence: str) -> str:
    """The sentence with what others say blanked: long quotations, and those with a person in them."""

    def blank(quote: re.Match[str]) -> str:
        inside = quote[1]
        spoken = len(inside) > SHORT_QUOTE or re.search("[我你，,。]", inside)
        return "\x00" * len(quote[0]) if spoken else quote[0]

    return QUOTED.sub(blank, sentence)


def cleaned(sentence: str) -> str:
    """The sentence at the same length, without what it says again, what doctors say, and quotations."""
    sentence = MENTIONS_AGAIN(
        lambda said: f"{said['what']:，>{said.end('what') - said.start()}}".ljust(len(said[0]), "。"), sentence
    )
    plain = DOCTOR(lambda said: "，" * len(said[0]), FULL_STOP("。", sentence))
    return without_quotes(plain) if QUOTE(plain) else plain


# Names in a row.

_AND = "(?:和|跟|与|、|还有)"
_MORE_NAMES = LazyPattern(rf"(?:{_AND}(?!{_NO_PET_NAME})[{H}]{{2,4}}?)+{_ENDS}").match
_IN_A_ROW = LazyPattern(rf"[{H}]{{2,4}}?(?:{_AND}[{H}]{{2,4}}?)+").fullmatch
_EACH_NAME = LazyPattern(rf"{_AND}?(?P<name>[{H}]+?)(?={_AND}|\Z)").finditer
_SEVERAL_KIN = LazyPattern(
    rf"(?:我们家|我家|我)还?有[两俩二三四]个(?P<kin>{objects.KIN_WORDS})[，,：:]?\s*(?:分别|名字|是|叫)*"
    rf"(?P<names>[{H}]{{2,3}}?(?:{_AND}[{H}]{{2,3}}?)+){_ENDS}"
).finditer

_MORE_ALLERGIES = LazyPattern(
    rf"[，,](?:另外|以及)?(?:还有|以及)(?P<o>(?![一两三几个只条点些事人时就会])(?!{objects.KIN_WORDS})"
    rf"(?:(?![我你他她它是有不])[{H}、]){{1,12}}?)(?<![炎症病疹喘])(?<!血压)(?:也(?:是|一样|不行)|都?(?:也"
    rf"|会)?过敏)?(?=\s*[。，,！!；;]|\s*\Z)"
).match


def each_named(text: str, found: Iterable[RuleMatch]) -> Iterator[RuleMatch]:
    """The claims, with one for each pet and relative where several are named: 叫豆豆和咪咪, 两个哥哥，大伟和小军."""
    for one in found:
        if one.relation == "bought" and text[one.object_start : one.object_end] in ("只", "条"):
            continue
        if one.relation == "allergic_to" and not one.negated and (more := _MORE_ALLERGIES(text, one.end)):
            spans = objects.parts(text, *more.span("o"), many=True)
            yield from (one, *(one._replace(object_start=first, object_end=last, end=last) for first, last in spans))
        elif one.relation == "pet" and (row := _row(text, one.object_start, one.object_end)):
            yield from (one._replace(object_start=first, object_end=last) for first, last in row)
        elif (
            one.relation == "kind"
            and (at := text.find(one.subject)) >= 0
            and (row := _row(text, at, at + len(one.subject)))
        ):
            yield from (one._replace(subject=text[first:last]) for first, last in row)
        else:
            yield one
    # Of which kind it is follows from what is known.
    for another in _ANOTHER_PET(text) if "又" in text else ():
        yield RuleMatch("pet", *another.span("name"), *another.span(), confidence=0.9)
    for several in _SEVERAL_KIN(text):
        relation = objects.KIN[several["kin"]].relation
        for first, last in _row(text, *several.span("names")) if relation else ():
            yield RuleMatch(relation, first, last, *several.span(), confidence=0.85)


def _row(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The places of the names in a row that begins with a name; nothing for a single one."""
    more = _MORE_NAMES(text, end)
    words = text[start : end if more is None else more.end()]
    if _IN_A_ROW(words) is None:
        return []
    return [(start + one.start("name"), start + one.end("name")) for one in _EACH_NAME(words)]
