"""What the command line says to people, in English and Chinese."""

from __future__ import annotations

from memwell.settings import load_settings

_PHRASES = {
    "about": ("Memory for LLM applications and agents.", "为大模型应用与智能体而生的记忆引擎。"),
    "ok": ("ok", "正常"),
    "what": ("what", "项目"),
    "value": ("value", "值"),
    "thread": ("thread", "会话"),
    "messages": ("messages", "消息"),
    "rounds": ("rounds", "轮次"),
    "tokens": ("tokens", "词元"),
    "updated": ("last message", "最近消息"),
    "index": ("#", "#"),
    "round": ("round", "轮"),
    "role": ("role", "角色"),
    "text": ("text", "内容"),
    "score": ("score", "得分"),
    "none_here": ("No conversation in this space yet.", "这个空间里还没有会话。"),
    "more_threads": ("More: add --cursor {cursor}", "还有更多：加上 --cursor {cursor}"),
    "no_such_thread": ("No conversation {thread} in space {space}.", "空间 {space} 中没有会话 {thread}。"),
    "nothing_found": ("Nothing found.", "没有找到。"),
    "versions": ("Versions", "版本"),
    "store": ("Store", "存储"),
    "checking": ("Looking the store over…", "正在检查存储……"),
    "integrity": ("integrity", "完整性"),
    "size": ("size", "大小"),
    "log_size": ("write-ahead log", "预写日志"),
    "graph_size": ("graph files", "图索引文件"),
    "format": ("format", "格式版本"),
    "indexed": ("of them in the word index", "其中已建词索引"),
    "entries": ("key-value entries", "键值条目"),
    "records": ("records", "记录"),
    "vectors": ("vectors", "向量"),
    "blobs": ("blobs", "二进制对象"),
    "space": ("space", "空间"),
    "search_by": ("search by vector", "向量检索方式"),
    "exact": ("exact", "精确"),
    "graph_fresh": ("graph, up to date", "图索引，已是最新"),
    "graph_behind": (
        "graph, {changes} changes behind (searched exactly)",
        "图索引，落后 {changes} 次改动（按精确检索补齐）",
    ),
    "no_store": (
        "There is no store at {path}. Name one, or make one: memwell demo --store {path}",
        "{path} 处没有存储。请指定一个，或新建：memwell demo --store {path}",
    ),
    "problems": ("{count} problem(s) found", "发现 {count} 个问题"),
    "healthy": ("Everything agrees.", "一切一致。"),
    "demo_title": ("A conversation that survives its process", "进程死去，会话仍在"),
    "demo_write": (
        "1. A first process writes a conversation to {path}, and is killed (kill -9) as soon as its last call returns.",
        "1. 第一个进程把会话写入 {path}，最后一次调用刚返回就被强行杀死（kill -9）。",
    ),
    "demo_killed": (
        "   It is dead: exit status {status}. It acknowledged {count} messages.",
        "   它已死：退出状态 {status}。它确认写入了 {count} 条消息。",
    ),
    "demo_read": (
        "2. A second process opens the file. All {count} messages are there:",
        "2. 第二个进程打开文件，{count} 条消息全部都在：",
    ),
    "demo_window": (
        "3. What fits {budget} tokens of a prompt (history.window(tokens={budget})): {used} tokens in {count} messages, "
        "the tool call still with its result:",
        "3. 提示词里 {budget} 个词元放得下的部分（history.window(tokens={budget})）：{count} 条消息共 {used} 个词元，"
        "工具调用与其结果仍成对：",
    ),
    "demo_search": ("4. Searching it for {query}:", "4. 在其中搜索{query}："),
    "demo_next": ("Look at it yourself:", "自己看一看："),
    "demo_lost": ("Lost messages: {count}. Please report this.", "丢失的消息：{count}。请报告这个问题。"),
    "demo_exists": ("{path} exists already; name another file.", "{path} 已存在，请换一个文件名。"),
}


def say(key: str, language: str | None = None, /, **values: object) -> str:
    """A phrase in the language of the settings. Raises ``KeyError`` for a phrase that does not exist."""
    chosen = language or load_settings().language
    english, chinese = _PHRASES[key]
    return (chinese if chosen.startswith("zh") else english).format(**values)


__all__ = ["say"]
