"""How a Chinese sentence falls into clauses: what makes one state nothing, what precedes its subject, and the subjects."""

from __future__ import annotations

from memwell.language.claims import chinese_objects as objects
from memwell.language.claims.chinese_objects import H
from memwell.language.patterns import LazyPattern

# Where clauses end, and what makes them state nothing.

CLAUSE = LazyPattern(
    rf"(?:但是?|不过|可是)?(?:(?!(?<=[{H}])(?:但是?|不过|"
    rf"可是)[对不我很讨喜爱])[^，,。！？!?；;：:\n…～~—（）() ]|[，,](?=(?:因为)?[会就]?过敏(?:[，,。；;！!]|\Z))|"
    rf"(?<=[名日业好址家籍龄称])[：:]|(?<![{H}]) | (?![{H}]))+"
)
QUOTE = LazyPattern('[“「『"]').search
QUOTED = LazyPattern('[“「『"]([^“「『”」』"\n]{0,200})[”」』"]')
SHORT_QUOTE = 6
QUESTION = LazyPattern(
    rf"吗|么$|(?<!不是)什么|谁|哪(?!怕)|怎么(?!也)|怎样|多少|几(?:个|岁|点|月)(?!月)|为什么|为啥|是不是|有没有|"
    rf"(?P<verb>(?!在)[{H}])不(?P=verb)|(?<!现)在不在|(?<![着没])(?<!结婚|没有|对象|单身)呢$|喜不喜欢|还是[{H}]{{1,6}}$|"
    rf"了没|(?<![都也])没有$"
).search
DOUBT = LazyPattern(
    "如果|假如|要是|假设|万一|希望|但愿|想象|梦见|梦到|假装|幻想|听说|据说|(?<![话是刚你再实来白我跟])说我(?!女儿|儿子)|"
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
    "诊断)(?=我[^，,。]{0,4}对[^，,。]{1,12}(?:过敏|不耐受))"
).sub
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
    "才怪)[啦啊哈]*"
).fullmatch
UNLESS = LazyPattern("要不是[^，,。]*").search
NOT_A_JOKE = LazyPattern("不开玩笑|没开玩笑|不是开玩笑").search
STORY_OK = LazyPattern("(?:爱看|喜欢看|喜欢的|看|写|读|爱|喜欢)[^，]{0,6}小说(?!里|中)|小说家").search
HEDGE = LazyPattern(
    "可能|也许|或许|大概|好像|似乎|估计|说不定|没准|怀疑|考虑|犹豫|差点|差一点|几乎|仿佛|简直|感觉|以为|觉得|快要|"
    "都快(?=嫁|成|变|是|要)|恐怕|未必|不一定|应该(?!是)|有点想|(?<![理联])想(?!好|起|吃|法)|算是半个|算不上|本该|真正的|"
    "恭喜我|可真是|还以为|比我|才是"
).search
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
    "周末|刚才|寒假|暑假|国庆|春节|五一|十一|元旦|过年|过完年|年后|年前|双十一|大[一二三四]那年|周[一二三四五六日]|"
    "星期[一二三四五六日天]|年轻时|毕业(?:之?后|就)|那年|退休后|前阵子|前段时间|这几年|今早|"
    "业余时间|闲暇时间?|空闲时间?|平常|有空的时候|没事的时候|下半年|上半年|后来|以后|最后|这个月|离婚后|婚后|去年夏天|去年冬天){1,4})(?:的时候|那年|开始|起|以来|早)?"
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
    "也|都|还|就|好|蛮|一直|现在(?!的)|目前|特别|非常|很|真的|真|超级|超|挺|比较|更|其实|从小就|从小|平时|总是|经常"
    "|已经|刚刚|"
    "刚|最近|早就|早|可(?=不|没|真|是|喜|爱|讨)|才|又|仍然|还是|本来(?=就)|一般|特|尤其|"
    "最(?!喜欢的|爱的|讨厌|爱[吃喝看听玩]的|喜欢[吃喝看听玩]的|大)|真是|确实|今年|自己|一个人|独自|俩都|俩|全家都?|"
    "一家人?|正式|终于|顺便|只|大多|主要|常年|长期|去年|后来|果断|正在(?=学|读|上)|正(?=在)|在(?=准备|打算|计划|上|"
    "读(?!书))|这人|也是个?|"
    "是(?=在(?!线)|被|从|对|去|来自)|原先|跟你一样|反而|而|应该(?=是)|其中|接着|光荣|早已|早早|(?:公司|单位)(?!叫|是|"
    "名)|倒是|偏偏|实在|"
    "当场|直接|立马|突然|彻底|毕竟|明明|居然|竟然|身份证上|户口本上|证件上"
)
LEAD = LazyPattern(rf"(?:[\s\"“'「]|{_FILLER}|{_TIME}|(?:{_ADVERB})(?![{H}]{{0,3}}(?:叫|家)的)|已经)*").match
SKIP = LazyPattern(rf"(?:{_TIME}|{_ADVERB})*").match
FORMERLY = LazyPattern(
    "(?:以前|曾经|曾|原来|过去|之前|小时候|原先|从前(?!台)|退休前|早年|年轻时|原本|本来(?!就)|当年|读书时|"
    "上学时)(?:的时候)?"
).match
LEAD_FORMER = LazyPattern("以前|曾经|原来|过去|之前|小时候|从前|退休前|早年|当年").search
DENIED = LazyPattern(
    "(?:不是(?:什么(?=[^东西好]))?(?=[很太特那喜做搞学从在对]|(?<=什么))|从来没有?|从没有?|从未|并没有?|并不|可不"
    "|没有(?![一二两三]|车|房)|"
    "没(?![车房事])|不再|再也不|再也没有?|不(?![喜爱太怎大吃喝碰读学念打耐]))"
).match
AHEAD = LazyPattern(
    "明年|明天|后天|后年|下个?(?:周|月|星期|学期|礼拜|半年)|年底|月底|过完年|年后|暑假|寒假|国庆|春节|五一|元旦|"
    "[一二三四五六七八九十\\d]+月|号|开春|春天|周[一二三四五六日末]|今晚|马上|即将|下半年|下回|下次"
).search
SURELY_AHEAD = LazyPattern(
    "明[年天早晚]|后[天年]|下(?:个|周|月|星期|学期|礼拜|半年|回|次)|今晚|马上|即将|[要会将就快]|打算|准备"
).search
DONE = LazyPattern("了|[去到回来飞考搬学]的").search
THEN_DID = LazyPattern(rf"[，,](?:(?!已经|都|早)[{H}]){{0,3}}[{H}]了(?:一|[两三四几半好大])[{H}]{{1,8}}").search
PAST_TIME = LazyPattern("昨|去年|前年|上个|上周|上月|前几|那年|以前|前天|刚").search
HABIT = LazyPattern("天天|每天|每周|每晚|周末|晚上|平时|经常|没事|下班|业余|闲|白天").search
NEARLY = LazyPattern("[就要快]满|即将|快.{1,3}了").search
USUAL = LazyPattern("一般|平时|通常|经常|总是|每[天周个年月]|都去|都在|都会").search
DECIDED = LazyPattern("想好了|决定了|订好|订了|定好|报名了|票买了|攒够|都订").search
NOT_THAT = LazyPattern(rf"(?:不对)*不是(?P<o>[{H}A-Za-z0-9]{{2,8}}){objects.END}").match
FOR_NOW = LazyPattern("今天|今晚|今早|明天|这次|这顿|待会|等会|一会|暂时|先(?!生)|早上|中午|下午|晚上").search
_OWN = "(?:我们家|我家|咱家|俺家|我们|咱们|我|俺|咱)"
_MOD = (
    "(?:的|[两俩三四]个|那个|家|这个|唯一的|最好的|最铁的|最|铁|大学|高中|初中|小学|公司的?|另一个|现在的|好|亲|新"
    "|双胞胎|远房|"
    rf"异地|异国|[{_N}]{{1,3}}岁半?的)*"
)
KIN = LazyPattern(
    rf"(?:(?P<own>{_OWN})(?:(?:还|也|真|就|只|现在)?有(?:[一二两三四五六1-6])?(?:个|位|名|"
    rf"对))?{_MOD}(?P<ex>前(?![年天几]))?(?P<kin>{objects.KIN_WORDS})"
    rf"|(?:现在的?|另一个|新)?(?P<alone>{objects.ALONE}|(?:另一个)(?:同事|朋友)|(?:公司|部门|单位|组里|班上|"
    rf"宿舍)(?:里)?(?:新来|新)?的?(?:同事|同学|室友|领导|老板)|[大二三小]?(?:哥|姐|弟|妹|儿子|"
    rf"女儿)(?=叫)))(?:们)?(?P<name>{objects.KIN_NAME})?"
).match
ME = LazyPattern(
    "(?:我们|咱)(?!家)(?:两个|俩|一家|全家)?|咱们|本人|我自己|我本人|我这个?人|我俩|(?:我们|我|咱)家(?=添|新|来|多|还|"
    "又|以前|原来|去年|今年|搬|最近|现在|刚|前年|上个月|养|有|没)|我(?!家(?![在住]))|俺|咱|我家(?=搬|养|有)|家里(?=养|有|"
    "一|新|来|添|又|还)"
).match
PRONOUN = LazyPattern("(?P<both>他俩|她俩|他们俩?|她们俩?|两人|俩人)|他|她|人家(?=是)").match
OTHERS = LazyPattern("你|您|大家|它|人们|别人|这|那(?!时)|咱们").match
NAME, NAME_OF_KIN = LazyPattern(objects.PERSON).match, LazyPattern(objects.KIN_NAME).match
IS_MINE = LazyPattern(rf"[{H}]{{2,14}}[，,][他她]?就?是我们?(?:家|的)*(?:{objects.KIN_WORDS})").match
CHAIN = LazyPattern(rf"的(?:前)?(?P<kin>{objects.KIN_WORDS})(?P<name>{objects.KIN_NAME})?").match
KIN_AT_END = LazyPattern(rf"(?:{objects.KIN_WORDS})\Z").search
HIS_KIN = LazyPattern(rf"的?(?:前)?(?P<kin>{objects.KIN_WORDS})(?P<name>{objects.KIN_NAME})?").match
HAS_KIN = LazyPattern(
    rf"(?:{_TIME}|还|也|刚|又|终于|真)*(?:有|生了|添了|喜得|谈了|交了|找了|认识了|处了|多了)了?(?:一|1|两)?(?:个|位|"
    rf"名)(?:双胞胎|亲|"
    rf"大胖|可爱的?|新|好)?(?P<kin>{objects.KIN_WORDS})(?P<name>{objects.KIN_NAME})?"
).match
STRANGER = LazyPattern(rf"[{H}]{{2,10}}?(?:是|就是|叫|说|住|在|有|喜欢|养|会|姓|来自|今年)").match
AGED_KIN = LazyPattern(rf"我(?P<age>{objects.AGE}岁半?)的(?:大|小)?(?P<kin>{objects.KIN_WORDS})").finditer
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
