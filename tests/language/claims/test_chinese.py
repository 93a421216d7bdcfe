"""Facts in Chinese: who is spoken of, what is said of them, and what states nothing."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.language.claims import chinese_frames, claims
from tests.language.stating import stated

NOW = datetime(2026, 6, 15, 12, tzinfo=UTC)

STATES = {
    "我的生日是2月29号。": "user birthday 2月29号", "我的生日是12月31号。": "user birthday 12月31号",
    # A value ends before the part of the body, and before what it is used for.
    "我一吃芒果嘴巴就肿。": "user allergic_to 芒果", "我一碰猫身上就起疹子。": "user allergic_to 猫",
    "我骑一辆绿色的小电驴上班。": "user owns 绿色的小电驴", "我开一辆白色的本田去公司。": "user owns 白色的本田",
    "我用 iPhone 15 拍照。": "user owns iPhone 15", "我开了一家公司。": "user owns 公司",
    "上周末终于搬到福州了，住在闽江边上。": "user lives_in 福州",
    # A space around Latin words and numbers is none.
    "我叫 Kevin。": "user name Kevin", "我今年 35 岁。": "user age 35", "我住在 Berlin。": "user lives_in Berlin",
    "我在 Google 工作。": "user works_at Google", "我对 peanut 过敏。": "user allergic_to peanut",
    "我今年35 岁。": "user age 35", "我的车是小米 SU7。": "user owns 小米 SU7",
    "我养了一只猫叫 Momo。": "Momo kind 猫; user pet Momo",
    "我女儿 Lily 今年 5 岁。": "Lily age 5; user child Lily",
    "我在百度上班。不对，票价是三百，不是两百。": "user works_at 百度",
    "我女儿叫小雨。说错了，老师叫小林，不是小王。": "user child 小雨",
    # A clause without a subject continues the one before.
    "我叫小明，在华为工作，对花生过敏。": "user allergic_to 花生; user name 小明; user works_at 华为",
    "我叫林娜，瑜伽教练，重庆人。": "user from 重庆; user name 林娜; user occupation 瑜伽教练",
    "我女儿小雨今年八岁，对牛奶过敏。": "user child 小雨; 小雨 age 八; 小雨 allergic_to 牛奶",
    "我朋友秦岚的老公大卫是法国人。": "user friend 秦岚; 大卫 nationality 法国; 秦岚 married_to 大卫",
    "我是被姥姥带大的，她是山西大同人。": "user's maternal grandmother from 山西大同",
    "我对芒果过敏，一吃嘴就肿。": "user allergic_to 芒果",
    "我养了两只猫，叫豆豆和咪咪。": "user pet 咪咪; user pet 豆豆; 咪咪 kind 猫; 豆豆 kind 猫",
    "我养了三只猫，叫豆豆、咪咪和花花。": (
        "user pet 咪咪; user pet 花花; user pet 豆豆; 咪咪 kind 猫; 花花 kind 猫; 豆豆 kind 猫"
    ),
    "我有两个哥哥，大伟和小军。": "user sibling 大伟; user sibling 小军", "我刚入职腾讯。": "user works_at 腾讯",
    "我下周入职字节。": "user plans 入职字节", "我有两个姐姐，都在上海。": "",
    "我父母叫杨卫东和李红。": "user parent 李红; user parent 杨卫东",
    "我有两个孩子，大的叫果果，小的叫豆豆。": "user child 果果; user child 豆豆",
    "我弟叫阿豪，女朋友叫小敏。": "user sibling 阿豪; 阿豪 partner 小敏",
    "舅舅在义乌开玩具店。": "user's maternal uncle lives_in 义乌; user's maternal uncle owns 玩具店",
    "我儿子在上海读大学。": "user's son studies_in 上海", "我弟弟现在在成都上班。": "user's younger brother works_in 成都",
    "我在北京上大学。": "user studies_in 北京", "我哥哥在深圳工作。": "user's older brother works_in 深圳",
    "我一吃芒果就过敏。": "user allergic_to 芒果", "我老公在医院上夜班。": "user's husband works_at 医院",
    "我88年的。": "user birthday 88年", "我和女朋友上个月分手了。": "-user partner ",
    "莉莉六岁了。": "莉莉 age 六", "我是Nora。": "user name Nora", "我是皇马球迷。": "user likes 皇马",
    "昨天我32岁生日": "user age 32", "我5岁的女儿爱画画。": "user's daughter age 5; user's daughter likes 画画",
    # A doubled name is someone's, and an allergy may be one of several.
    "朵朵对鸡蛋过敏。": "朵朵 allergic_to 鸡蛋", "乐乐对花生过敏": "乐乐 allergic_to 花生",
    "刚刚对虾过敏": "user allergic_to 虾",
    "对芒果过敏，还有青霉素": "user allergic_to 芒果; user allergic_to 青霉素",
    "我对花生过敏，还有虾和芒果。": "user allergic_to 芒果; user allergic_to 花生; user allergic_to 虾",
    "我对花生过敏，还有哮喘。": "user allergic_to 花生", "我对花生过敏，还有两只猫": "user allergic_to 花生",
    # Who comes to repair something is not the speaker.
    "修空调的师傅姓丁，电话13800001111。": "", "装修师傅姓李，手机13912345678。": "",
    # A correction is of whom the sentence before it is about, or of no one.
    "年糕也8岁了。不对，是7岁。": "", "布丁8岁了，说错了，是7岁。": "",
    "我今年32岁。年糕也8岁了。不对，是7岁。": "user age 32",
    "我家猫叫年糕。年糕也8岁了。不对，是7岁。": "-年糕 age 8; user pet 年糕; 年糕 age 7; 年糕 kind 猫",
    "我女儿5岁了。说错了，是6岁。": "-user's daughter age 5; user's daughter age 6",
    "今天我32岁生日": "user age 32", "今天是我32岁生日！": "user age 32",
    # Every item of a list, and whom one goes to see is not oneself.
    "我对芒果、花生和虾过敏": "user allergic_to 芒果; user allergic_to 花生; user allergic_to 虾",
    "我对猫和狗过敏": "user allergic_to 狗; user allergic_to 猫", "我家朵朵对鸡蛋过敏": "朵朵 allergic_to 鸡蛋",
    "我明天要去看牙医": "user plans 去看牙医", "我是见习医生": "user occupation 见习医生",
    "我刚大学毕业": "-user studies_at ", "豆豆昨天晚上去世了": "-user pet 豆豆", "我今天早上困死了": "",
    # A change says what holds now and what ended.
    "我从长沙搬到珠海了。": "-user lives_in 长沙; user lives_in 珠海",
    "我从滴滴离职，去了小鹏汽车。": "-user works_at 滴滴; user works_at 小鹏汽车",
    "我儿子从三中转到了一中。": "-user's son studies_at 三中; user's son studies_at 一中",
    "我从护士转行做了保险经纪。": "-user occupation 护士; user occupation 保险经纪",
    "我从英语系转到了法律系。": "-user studies 英语; user studies 法律",
    "我的邮箱从a@b.com换成了c@d.com。": "-user email a@b.com; user email c@d.com",
    "以前住昌平，现在住望京。": "user lives_in 望京; ~user lives_in 昌平",
    "我把老捷达换成了理想L7。": "-user owns 捷达; user owns 理想L7", "我跳槽到腾讯了。": "user works_at 腾讯",
    "我被大疆录用了！": "user works_at 大疆", "我弟被中山大学录取了。": "user's younger brother studies_at 中山大学",
    "我被新东方聘为英语老师了。": "user occupation 英语老师; user works_at 新东方",
    # What ended may name no object.
    "我辞职了。": "-user works_at ", "我被公司裁了。": "-user works_at ", "单位把我辞退了。": "-user works_at ",
    "我离婚两年了。": "-user married_to ", "我单身。": "-user partner ", "我没有孩子。": "-user child ",
    "我退学了。": "-user studies_at ", "我和阿杰分手了。": "-user partner 阿杰",
    "我跟韩东绝交了。": "-user friend 韩东", "我们家老狗大黄走了。": "-user pet 大黄",
    "那辆开了八年的本田被我卖掉了。": "-user owns 本田", "法语我一句都不会说。": "-user speaks 法语",
    "我妈刘桂英前年去世了。": "-user parent 刘桂英", "我小时候对鸡蛋过敏，现在好了。": "~user allergic_to 鸡蛋",
    "我的猫死了。": "-user pet 猫", "我把咪咪送人了。": "-user pet 咪咪", "我把吉他送人了。": "-user owns 吉他",
    "咪咪走丢了。": "-user pet 咪咪", "咪咪死了。": "-user pet 咪咪", "我家狗旺财死了。": "-user pet 旺财",
    "我把旺财送人了。": "-user pet 旺财", "小美把我甩了。": "-user partner 小美",
    "我女朋友把我甩了。": "-user partner ", "我退休了。": "-user works_at ",
    "我爸退休了，以前是火车司机。": "~user's father occupation 火车司机", "我下个月就退休了。": "user plans 退休",
    "我下个月辞职。": "user plans 辞职", "我开始吃肉了。": "-user diet ", "日本不去了。": "-user plans 去日本",
    "我决定不搬去成都了。": "-user plans 搬去成都", "我不考研了。": "-user plans 考研",
    "我不打算去日本了。": "-user plans 去日本", "我弟退学了。": "-user's younger brother studies_at ",
    "我原来在百度，后来去了小米。": "user works_at 小米; ~user works_at 百度",
    "医生说我对青霉素过敏。": "user allergic_to 青霉素", "医生说我儿子对牛奶过敏。": "user's son allergic_to 牛奶",
    "我在北京住过三年，现在在杭州。": "-user lives_in 北京; user lives_in 杭州",
    "我在北京住了三年，去年搬走了。": "-user lives_in 北京", "我在北京住了三年。": "user lives_in 北京",
    "我本来住在北京。": "~user lives_in 北京", "我本来就住在北京。": "user lives_in 北京",
    # A correction gives the right value and denies the wrong one.
    "我叫王霖，雨字头那个霖，不是王琳。": "-user name 王琳; user name 王霖",
    "不是四月八号，我生日是四月十八号。": "-user birthday 四月八号; user birthday 四月十八号",
    "我老婆不是医生，准确说是兽医。": "-user's wife occupation 医生; user's wife occupation 兽医",
    "电话给错了，不是13166620845，是13166620854。": "-user phone 13166620845; user phone 13166620854",
    "我侄女叫若曦，我上次打成若溪了。": "-user relative 若溪; user relative 若曦",
    "花生我没事，过敏的是核桃。": "-user allergic_to 花生; user allergic_to 核桃",
    "我儿子不是十岁，是十一岁。": "-user's son age 十; user's son age 十一",
    "我住北京，哦不，上海。": "-user lives_in 北京; user lives_in 上海",
    "我住北京，不，上海。": "-user lives_in 北京; user lives_in 上海",
    "我住北京，说错了，住上海。": "-user lives_in 北京; user lives_in 上海",
    "说错了，是对核桃过敏。": "user allergic_to 核桃",
    "我对芒果过敏，不，我对花生过敏。": "-user allergic_to 芒果; user allergic_to 花生",
    "我在百度上班，后来去了小米。": "-user works_at 百度; user works_at 小米",
    "我的猫不叫咪咪，叫花花。": "-user pet 咪咪; user pet 花花; 花花 kind 猫",
    "昨天搬到深圳了，住在南山区。": "user lives_in 深圳",
    "以前住海淀区，现在住朝阳区。": "user lives_in 朝阳区; ~user lives_in 海淀区",
    "我在腾讯上班。抱歉，我刚才说错了，是阿里。": "-user works_at 腾讯; user works_at 阿里",
    "我喜欢猫。不对，我是说狗。": "-user likes 猫; user likes 狗",
    "我电话18611112222，手滑了，是18611112223": "-user phone 18611112222; user phone 18611112223",
    # A value after another one ends it.
    "我从腾讯辞职了，现在是老师": "-user works_at 腾讯; user occupation 老师",
    "我后来搬到西安，现在在广州": "-user lives_in 西安; user lives_in 广州",
    "我在百度做程序员，后来跳槽到小米。": "-user works_at 百度; user occupation 程序员; user works_at 小米",
    "我是协和医院的护士": "user occupation 护士; user works_at 协和医院", "我在学吉他": "user hobby 吉他",
    "我儿子从三小转到实验小学": "-user's son studies_at 三小; user's son studies_at 实验小学",
    "我被那家火锅店开除了": "-user works_at 火锅店", "我电动车昨天被偷了": "-user owns 电动车",
    "要不是我对猫毛过敏，我也想养一只": "user allergic_to 猫毛",
    "我今年十八。开玩笑的，我都四十二了": "user age 四十二",
    # A relative by the word and by the name is one person.
    "我女儿三岁，叫朵朵": "user child 朵朵; 朵朵 age 三", "朵朵今年三岁，是我女儿": "user child 朵朵; 朵朵 age 三",
    "我弟弟在华为上班。我弟弟叫林峰。": "user sibling 林峰; 林峰 works_at 华为",
    "我弟弟叫林峰。我弟弟在华为上班。": "user sibling 林峰; 林峰 works_at 华为",
    "我哥在华为上班，我弟叫林峰。": "user sibling 林峰; user's older brother works_at 华为",
    "我奶奶今年三月去世了。": "-user relative 奶奶", "咪咪去世了": "-user pet 咪咪", "咪咪走了": "-user pet 咪咪",
    "老公特别爱吃辣": "user's husband likes 辣",
    # A question still tells who someone is.
    "你还记得我妹妹林晓喜欢什么花吗？": "user sibling 林晓",
    "要是我女儿小满考上清华，我做梦都能笑醒。": "user child 小满", "我家泰迪球球能吃蓝莓吗？": "user pet 球球",
    "我对海鲜过敏，能吃鱼露吗？": "user allergic_to 海鲜",
    # The number of a card is no phone.
    "我的手机号是13812345678": "user phone 13812345678", "我的电话是0571-88812345": "user phone 0571-88812345",
    "我的手机号是+8613812345678": "user phone +8613812345678",
    # A verb in the name of an employer does not cut it.
    "我从字节跳动离职了。": "-user works_at 字节跳动", "我上个月从字节跳动辞职了。": "-user works_at 字节跳动",
    "我去年从字节跳动跳槽到腾讯。": "-user works_at 字节跳动; user works_at 腾讯",
    "我从好未来跳到腾讯了。": "-user works_at 好未来; user works_at 腾讯",
    "我从阿里跳到字节跳动了。": "-user works_at 阿里; user works_at 字节跳动",
    "我从转转离职了。": "-user works_at 转转",
    # What happened is no plan; what is to come does not hold yet.
    "我七月去日本。": "user plans 去日本", "我下个月就去日本了。": "user plans 去日本",
    "我下周一去苹果上班。": "user plans 去苹果上班", "我下个月入职美团。": "user plans 入职美团",
    "我明年搬到成都。": "user plans 搬到成都", "我明年从北大毕业。": "user plans 从北大毕业",
    "我三月入职了美团。": "user works_at 美团",
    # A pronoun means the nearest person, never the owner of a relative.
    "小李是我同事，他老婆是医生。": "user colleague 小李", "小李是我同事，他爸爸是司机。": "user colleague 小李",
    "小李是我同事，他老婆王芳是医生。": "user colleague 小李; 小李 married_to 王芳; 王芳 occupation 医生",
    "我女朋友是小学老师，她妈妈是医生。": "user's girlfriend occupation 小学老师",
    "我姐姐嫁给了李强，他在华为上班。": "李强 works_at 华为",
    "我姐姐嫁给了李强，她在华为上班。": "user's older sister works_at 华为",
    "我闺蜜要嫁给王磊，他是北京人。": "王磊 from 北京", "我哥娶了王芳，她是护士。": "王芳 occupation 护士",
    "我妹跟王磊结婚了，他是北京人。": "王磊 from 北京",
    # What is liked is a thing.
    "我喜欢的电影是《霸王别姬》。": "user likes 《霸王别姬》", "我不喜欢的东西是香菜。": "user dislikes 香菜",
    "我喜欢的水果有苹果和香蕉。": "user likes 苹果; user likes 香蕉",
    "我周末喜欢爬山和烘焙。": "user likes 烘焙; user likes 爬山", "我喜欢看电影和话剧。": "user likes 看电影和话剧",
}  # fmt: skip

STATES |= {
    "我不是对花生过敏，是对腰果过敏": "-user allergic_to 花生; user allergic_to 腰果",
    "我住在New York": "user lives_in New York",
    "我去过New York和Los Angeles": "user visited Los Angeles; user visited New York",
    "我喜欢Python和Rust": "user likes Python; user likes Rust", "我在Goldman Sachs上班": "user works_at Goldman Sachs",
    "我家狗叫Max，3岁了": "Max age 3; Max kind 狗; user pet Max", "我养了一只狗，三岁了": "user pet 狗",
    "旺财没了": "-user pet 旺财", "旺财送人了": "-user pet 旺财", "我家狗叫旺财。旺财送人了。": "-user pet 旺财",
    "婚约取消了": "-user partner ", "我们的婚约取消了": "-user partner ", "婚礼取消了": "-user plans 婚礼",
    "我太太生了个儿子，叫陈安": "user child 陈安", "我老婆生了，叫陈安": "user child 陈安",
    "我有一对双胞胎，叫小明和小亮": "user child 小亮; user child 小明",
    "我家双胞胎叫大宝和小宝": "user child 大宝; user child 小宝",
    "我生了双胞胎，大的叫李明，小的叫李亮": "user child 李亮; user child 李明",
    "我的两个哥哥叫大伟和小军。": "user sibling 大伟; user sibling 小军",
    "我有两个姐姐，分别叫小红和小丽。": "user sibling 小丽; user sibling 小红", "我哥哥叫李和平。": "user sibling 李和平",
    "西双版纳不去了": "-user plans 去西双版纳", "西双版纳我们也不打算去了。": "-user plans 去西双版纳",
    "西双版纳不去了，换成大理。": "-user plans 去西双版纳; user plans 去大理",
    "西双版纳也不去了，在家待着。": "-user plans 去西双版纳",
    "在社区学陶艺": "user hobby 陶艺", "我在楼下学吉他。": "user hobby 吉他",
    "我在清华学物理。": "user studies 物理; user studies_at 清华",
    "换到天府新区住": "user lives_in 天府新区", "我换到腾讯了。": "user works_at 腾讯",
    "我妹妹调到上海了。": "user's younger sister lives_in 上海", "我调到上海工作了。": "user works_in 上海",
    # What is corrected behind it is wrong, and so is nothing else.
    "我电话是13812345678，上面那个13812345687打错了": "-user phone 13812345687; user phone 13812345678",
    "我从设计院转到了检测中心。": "-user works_at 设计院; user works_at 检测中心",
    "我早就不是村支书了，别再一口一个书记。": "-user occupation 村支书",
    "同事桂芝下班去夜校学日语，说要给孙子当老师。": "user colleague 桂芝",
    "我是退休的地理老师。": "-user occupation 地理老师", "我是退了休的地理老师。": "-user occupation 地理老师",
    "吃了芒果过敏，以后都不能碰了。": "user allergic_to 芒果", "医生说我乳糖不耐受": "user allergic_to 乳糖",
    "我和陈宇打算五月份领证。": "user plans 领证; 陈宇 plans 领证", "我和陈宇结婚了。": "user married_to 陈宇",
    "老朽今年八十，眼睛还好": "user age 八十", "鄙人住在泉州": "user lives_in 泉州",
}  # fmt: skip

STATES |= {
    # A clause that begins with a name before what people do is that person's.
    "雯雯入职了一家设计公司": "雯雯 works_at 设计公司", "刘洋入职百度了": "刘洋 works_at 百度",
    "晓雯入职了字节。": "晓雯 works_at 字节", "雯雯换了手机号，13812345678": "雯雯 phone 13812345678",
    "雯雯换手机号了，新的是13912345678": "雯雯 phone 13912345678", "雯雯已经搬到成都了": "雯雯 lives_in 成都",
    "小核桃九月转到育才小学了": "小核桃 studies_at 育才小学", "孙悦考上清华了": "孙悦 studies_at 清华",
    "小柚子领养了一只金毛": "小柚子 pet 金毛", "王小明跳槽去华为了": "王小明 works_at 华为",
    # What is done there is no part of a firm, nor a card of a pastime.
    "换工作了，在牙科诊所做前台": "user occupation 前台; user works_at 牙科诊所", "昨天去领养了一只柯基": "user pet 柯基",
    "游泳办了卡": "user hobby 游泳", "喜欢游泳办了卡": "user likes 游泳",
    # Plain words for what is over or harms.
    "健身卡退了，游泳不游了": "-user hobby 健身; -user hobby 游泳", "跑步已经不跑了": "-user hobby 跑步",
    "我爸正式退了": "-user's father works_at ", "芒果一吃嘴就肿": "user allergic_to 芒果",
    "芒果不行，一吃嘴就肿成香肠": "user allergic_to 芒果", "海鲜吃了浑身痒": "user allergic_to 海鲜",
    "提了辆零跑C10": "user bought 零跑C10", "思域卖了": "-user owns 思域", "领养了柯基": "user pet 柯基",
    # A child or a pet may be called like a thing; who writes is older.
    "年糕，两岁": "年糕 age 两", "豆豆三岁半，上小班": "豆豆 age 三岁半", "二十二岁": "user age 二十二",
    # What is not decided is no plan, but a day that is not.
    "下个月结婚，还没定日子": "user plans 结婚", "我打算去日本，还没定": "user plans 去日本",
    "刚刚入职了腾讯": "user works_at 腾讯", "我转到实验小学了": "user studies_at 实验小学",
}  # fmt: skip

STATES_NOTHING = (
    "我退了", "一碰嘴就肿", "她离职换了工作", "两岁", "明年搬到杭州，还没定", "爸妈年底搬过来，还没定", "公司明年搬到杭州",
    "元旦去三亚，不过还没决定。",
    "李娜怀孕了", "孙悦考上公务员了", "雯雯换了手机号", "陈浩今天结婚了", "慢慢习惯了", "小公司换了老板",
    "我生日是2月30号。", "我的生日是1990年11月31日。",
    "我住在北京 lol",
    "小说主角是个钟表匠，住在布拉格。",
    "小李死了。", "医生说我可能对青霉素过敏。",
    "我有一只猫，是朋友的。", "我有一辆车，是公司的。",
    # Doubt, jokes, questions, quotes and passing things.
    "我可能对尘螨过敏。", "我好像是成都人。", "要是我住在大理就好了。", "万一我被裁了，就回老家。",
    "想象一下，我是个海盗。", "我妈说我对花生过敏。", "那本小说开头是：“我叫福贵，我老了。”",
    "相声里那句“我叫于谦”，笑死我了。", "我对上班过敏。", "我来自火星。", "我已经嫁给我的甲方了。",
    "我今年八百岁了。", "我是火锅大学毕业的，哈哈哈。", "请叫我女王大人。", "住在重庆一个月大概要花多少钱？",
    "我跟你说过我在哪儿上班吗？", "你觉得我应该养猫还是养狗？", "我在北京。", "我在家。", "我叫了外卖。",
    "我住院了。", "我开了个会。", "我老家下雪了。", "我从小在农村长大。", "我今天吃素。", "翻译：我是医生",
    "今年又是18岁生日。", "明天我32岁生日。", "我家住海边我管得宽。", "我是个铁杆球迷。",
    "好多人都从北京搬到了燕郊。", "我下个月就满四十了。", "我是全公司最闲的人。", "我家鱼缸漏了。",
    # The number of a card is no phone.
    "我的手机号是6222021234567890123", "我的手机号是6222-0212-3456-7890", "我的电话是110101199003071234",
    "我的电话是11010119900307123X",
    # What happened is no plan; what is to come does not hold yet.
    "我爸二月去的世。", "我妈五月去医院了。", "我五月去的日本。", "我在谷歌工作，骗你的。",
    "我在谷歌工作，开玩笑的。", "我是来自未来的人。",
    "我们公司叫星辰科技", "我从北京飞到上海", "我被派去出差",
    "我在谷歌工作。骗你的", "我辞职了。骗你的！", "大学毕业后去了成都", "老公特别爱吃",
    # What is liked is a thing.
    "我喜欢吃的东西很多。", "我喜欢的东西有很多。", "我喜欢看的书很多。",
    # A part that someone is to play.
    "写一段小说：我叫程橙，十八岁", "假使我是医生，我也这么说", "设定一个人物：周九，三十岁，化妆师",
    "你现在是唐僧，我是孙悟空，你先开口", "就当我是护士，你来面试", "设想一个保洁员，老家湖南",
    "我退休第二天就出发去新疆。", "我家在合肥有一套房。",
)  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), [*STATES.items(), *((text, "") for text in STATES_NOTHING)])
def test_a_text_states_what_the_table_says_and_no_more(text: str, expected: str) -> None:
    assert stated(text, NOW) == expected


def test_a_claim_points_at_its_words_also_with_spaces_around_latin_ones() -> None:
    text = "你好。我 35 岁，住在 Berlin ，在 SAP 上班。我的 email 忘了，我离婚了。"
    said = [(one.object, text[one.start : one.end]) for one in claims(text, time=NOW)]
    assert said == [("35", "我 35 岁"), ("Berlin", "住在 Berlin"), ("SAP", "在 SAP 上班"), ("", "我离婚了")]


@pytest.mark.parametrize(
    ("preceding", "text", "expected"),
    [
        ("我在谷歌工作", "骗你的", "-user works_at 谷歌"), ("我在谷歌工作。", "开玩笑的啦", "-user works_at 谷歌"),
        ("我辞职了", "骗你的", "user works_at "), ("我在谷歌工作", "我不开玩笑", ""),
        ("我在阿里上班", "不是的，是腾讯", "-user works_at 阿里; user works_at 腾讯"),
        ("我在阿里上班", "不是的，是阿里巴巴", "-user works_at 阿里; user works_at 阿里巴巴"),
        ("我今年32岁", "打错了，33岁", "-user age 32; user age 33"),
        ("我今年31岁", "打错了，32岁", "-user age 31; user age 32"),
        ("年糕也8岁了。", "不对，是7岁。", ""), ("布丁8岁了", "说错了，是7岁", ""),
        ("我家猫叫年糕，8岁了", "说错了，是7岁", "-年糕 age 8; 年糕 age 7"),
        # What names another thing corrects nothing else.
        ("我住在上海。", "说错了，航班是周五，不是周四。", ""), ("我住在上海。", "说错了，航班是周五。", ""),
        ("我在百度上班。", "不对，票价是三百，不是两百。", ""), ("我家狗叫豆包。", "说错了，复查是周四，不是周三。", ""),
        ("我家狗叫豆包。", "说错了，名字是豆沙，不是豆包。", "-user pet 豆包; user pet 豆沙"),
        ("我在百度上班。", "不对，单位是阿里，不是百度。", "-user works_at 百度; user works_at 阿里"),
        ("我住在上海。", "说错了，是北京，不是上海。", "-user lives_in 上海; user lives_in 北京"),
    ],
)  # fmt: skip
def test_a_message_takes_back_what_the_one_before_it_says(preceding: str, text: str, expected: str) -> None:
    assert stated(text, NOW, preceding=preceding) == expected


KINSHIP = {
    "妈": "mother", "岳父": "father-in-law", "室友": "roommate", "老板": "boss", "外甥女": "niece", "爱人": "spouse",
}  # fmt: skip


def test_she_who_was_transferred_is_who_was_named_before() -> None:
    said = claims("她调到上海了。", time=NOW, preceding=("我妹妹在腾讯工作。", NOW))
    assert [(one.subject, one.relation, one.object) for one in said] == [("user's younger sister", "lives_in", "上海")]


@pytest.mark.parametrize(("word", "english"), KINSHIP.items())
@pytest.mark.parametrize(
    ("predicate", "relation", "words"),
    [
        ("住在青岛", "lives_in", "青岛"), ("是会计", "occupation", "会计"), ("对芒果过敏", "allergic_to", "芒果"),
        ("会说俄语", "speaks", "俄语"), ("最讨厌榴莲", "dislikes", "榴莲"),
    ],
)  # fmt: skip
def test_relatives_are_called_by_the_english_word(
    word: str, english: str, predicate: str, relation: str, words: str
) -> None:
    assert stated(f"我{word}{predicate}。", NOW) == f"user's {english} {relation} {words}"


@pytest.mark.parametrize("when", ["下周", "明天", "周末", "今天", "上周", "每天", "最近", "晚上"])
def test_a_time_is_no_pet(when: str) -> None:
    found = claims(f"我家的猫{when}去绝育。", time=NOW)
    assert {(one.subject, one.relation, one.object) for one in found} <= {
        ("user", "pet", "猫"),
        ("user", "plans", "去绝育"),
    }


PREAMBLES = [
    "对了，", "其实", "跟你说，", "忘了跟你说，", "说起来，", "话说", "不瞒你说，", "早上好呀！", "哎，跟你说个事，",
]  # fmt: skip


@given(
    st.sampled_from(PREAMBLES),
    st.sampled_from(["我", "我妈", "我表哥"]),
    st.sampled_from([("住在厦门", "lives_in"), ("在小米上班", "works_at"), ("吃素", "diet")]),
    st.sampled_from(["", "了", "啊", "，你记一下"]),
)
def test_a_preamble_changes_nothing(before: str, who: str, predicate: tuple[str, str], after: str) -> None:
    said_plainly = stated(f"{who}{predicate[0]}", NOW)
    assert f" {predicate[1]} " in said_plainly
    assert stated(before + who + predicate[0] + after, NOW) == said_plainly


@pytest.mark.parametrize(
    "unit", ["我妈 ", "。我在", "，我", "从北京", "我和小明", "我的妈妈的", "1-", "a@", "不是", "天天"]
)
def test_long_texts_of_fragments_state_nothing_absurd(unit: str) -> None:
    assert len(claims((unit * 20_000)[:20_000], time=NOW)) < 10


@pytest.mark.parametrize("word", ["我", *KINSHIP, "女儿小雨"])
@pytest.mark.parametrize(
    "predicate",
    [
        "被大疆录用了", "开货车的", "名下两套房", "住苏州", "本科武大的", "会说粤语", "养了只柯基", "去过冰岛", "打算考研",
        "吃素", "对虾过敏", "28岁", "生日是5月3号", "喜欢恐龙", "每天跑步", "老家在湖北", "是新加坡籍", "是一名牙医",
        "改当健身教练",
    ],
)  # fmt: skip
def test_no_cue_hides_a_frame(monkeypatch: pytest.MonkeyPatch, word: str, predicate: str) -> None:
    text = f"我{word}{predicate}".replace("我我", "我")
    found = stated(text, NOW)
    assert found
    everything = [chinese_frames.Family(lambda *_: True, one.frames) for one in chinese_frames.FAMILIES]
    monkeypatch.setattr("memwell.language.claims.chinese.FAMILIES", everything)
    assert stated(text, NOW) == found
