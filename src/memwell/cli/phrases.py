"""The texts of the command line, in English and Chinese."""

from __future__ import annotations

import re
from collections.abc import Mapping

from memwell.runtime.transfer.moving import REFUSALS
from memwell.settings import load_settings

_PHRASES = {
    "error": ("error: ", "错误："),
    "store_served": (
        "{url} is a service, and this command needs the store itself. Run it where the store is.",
        "{url} 是服务，而该命令需要直接查看存储。请在存储所在的机器上运行。",
    ),
    "needs_server": (
        "The service needs {package}: {install}, where the path is that of your clone or wheel",
        "服务需要 {package}：{install}，其中的路径是克隆或 wheel 的路径",
    ),
    "ok": ("ok", "正常"),
    "thread": ("thread", "会话"),
    "threads": ("conversations", "会话"),
    "messages": ("messages", "消息"),
    "rounds": ("rounds", "轮次"),
    "tokens": ("tokens", "词元"),
    "updated": ("last message", "最近消息"),
    "index": ("#", "#"),
    "round": ("round", "轮"),
    "role": ("role", "角色"),
    "hidden": ("hidden", "隐藏"),
    "text": ("text", "内容"),
    "score": ("score", "得分"),
    "none_here": ("No conversation in space {space} yet.", "空间 {space} 里还没有会话。"),
    "more_pages": ("There are more: add --cursor {cursor}", "还有更多：加上 --cursor {cursor}"),
    "no_such_thread": (
        "No conversation {thread} in space {space}. See which there are: memwell threads",
        "空间 {space} 中没有会话 {thread}。查看已有会话：memwell threads",
    ),
    "no_messages": ("No messages.", "没有消息。"),
    "nothing_found": ("Nothing found.", "没有找到。"),
    "nothing_relevant": (
        "Nothing relevant was found. With --min-relevance 0 it shows the nearest memories anyway.",
        "没有找到相关的记忆。加上 --min-relevance 0 可显示最接近的记忆。",
    ),
    "window_used": (
        "{count} messages, {used} of {budget} tokens",
        "{count} 条消息，用了 {budget} 个词元中的 {used} 个",
    ),
    "unknown_format": ("Unknown format {given}; known: {known}.", "未知的格式 {given}；可用：{known}。"),
    "one_or_other": ("Give either --window or --search.", "--window 与 --search 只能选一个。"),
    "versions": ("Versions", "版本"),
    "store": ("Store", "存储"),
    "file": ("file", "文件"),
    "kind": ("kind", "种类"),
    "checking": ("Checking the store…", "正在检查存储……"),
    "wall": ("wall between spaces", "空间之间的隔离"),
    "integrity": ("integrity", "完整性"),
    "checksums": ("page checksums", "页校验和"),
    "checksums_on": ("in force", "已启用"),
    "checksums_off": ("none", "无"),
    "durability": ("durability", "持久性"),
    "not_durable": ("This store can lose what it has acknowledged: {words}", "该存储可能丢失已确认的写入：{words}"),
    "size": ("size", "大小"),
    "log_size": ("write-ahead log", "预写日志"),
    "graph_size": ("graph files", "图索引文件"),
    "cache_size": ("cache files", "缓存文件"),
    "format": ("format", "格式版本"),
    "indexed": ("of them in the word index", "其中已建词索引"),
    "entries": ("key-value entries", "键值条目"),
    "records": ("records", "记录"),
    "vectors": ("vectors", "向量"),
    "blobs": ("blobs", "二进制对象"),
    "spaces": ("Spaces with records", "有记录的空间"),
    "space": ("space", "空间"),
    "search_by": ("search by vector", "向量检索方式"),
    "exact": ("exact", "精确"),
    "graph_fresh": ("graph, up to date", "图索引，已是最新"),
    "graph_behind": ("graph, {changes} changes behind", "图索引，落后 {changes} 次改动"),
    "pending": ("Pending memories", "尚未处理完的记忆"),
    "without_words": ("without words", "缺词索引"),
    "without_vectors": ("without vectors", "缺向量"),
    "pending_what_to_do": (
        "Nothing is lost. It is done when a program opens the store, or now: memwell flush",
        "没有丢失任何内容。程序打开存储时会处理完；也可现在处理：memwell flush",
    ),
    "pending_read_only": (
        "Nothing is lost, and it is found. Run memwell flush once where the store can be written.",
        "没有丢失任何内容，也都能找到。请在可写的位置运行一次 memwell flush。",
    ),
    "scrubs": (
        "Erasures with bytes left in files: {count}, since {since}. A program that opens the store removes them, or now: "
        "memwell flush",
        "已删除但仍留在文件中：{count} 次删除，自 {since} 起。程序打开存储时会清除；也可现在清除：memwell flush",
    ),
    "unscrubbed": (
        "Nothing finds them any more. From the store's files a worker removes them soon; --wait waits for that.",
        "已无法再读到。存储文件中的残留稍后由后台清除；--wait 可等待清除完成。",
    ),
    "still_unscrubbed": (
        "Bytes of what was erased are still in the store's files, because another program reads them. Run memwell flush "
        "again when that has ended.",
        "存储文件中仍有已删除内容的残留：有其他程序正在读取。请在它结束后再次运行 memwell flush。",
    ),
    "unchecked": (
        "The store can only be read here. SQLite's own check of the word indexes needs to write, and was left out.",
        "存储在这里只能读取。SQLite 对词索引的自检需要写入，因此没有进行。",
    ),
    "reembedding": ("Re-embedding", "正在重建向量"),
    "reembedded": (
        "Re-embedded: {records} records in {spaces} spaces.",
        "已重建向量：{spaces} 个空间中的 {records} 条记录。",
    ),
    "reembed_setting": (
        "A program with another embedder re-embeds them again. Set it for all: MEMWELL_EMBEDDER={name}",
        "指定了其他嵌入模型的程序会把向量改回去。请统一设置：MEMWELL_EMBEDDER={name}",
    ),
    "reembed_left": (
        "{space} is not done: the embedder fails, or another was chosen meanwhile. The old vectors serve; run it again.",
        "{space} 未完成：嵌入模型出错，或另有决定。旧向量仍在服务；请重新运行。",
    ),
    "flushing": ("Processing", "正在处理"),
    "flushed": ("Nothing is pending. Done: {count}", "已全部处理完，共 {count} 条。"),
    "not_flushed": (
        "Still without vectors: {count} in {space}. They are found by their words.",
        "空间 {space} 中仍有 {count} 条缺向量，可按用词找到。",
    ),
    "other_embedder": (
        "The vectors of {space} are made by {name}, which is not the embedder of the settings. Its memories have their "
        "words now; for their vectors run flush() in the program that has that embedder.",
        "空间 {space} 的向量由 {name} 生成，不是设置中的嵌入模型。词索引已建好；向量请在使用该模型的程序中运行 flush()。",
    ),
    "no_folder_for_store": (
        "There is no store at {path}, and no folder {folder}. Is the path right?",
        "{path} 处没有存储，文件夹 {folder} 也不存在。请检查路径。",
    ),
    "text_is_store": (
        "{text} is a store, not something to remember. Name the store with --store: memwell remember TEXT --store {text}",
        "{text} 是存储，不是要记住的内容。请用 --store 指定存储：memwell remember TEXT --store {text}",
    ),
    "import_served": (
        "{url} is a service, and a database is imported where the store is. Run the command there, or import a file.",
        "{url} 是服务，数据库只能在存储所在的机器上导入。请在那里运行，或导入文件。",
    ),
    "no_store": (
        "There is no store at {path}. Name one, or make one: memwell remember TEXT --store {path}",
        "{path} 处没有存储。请指定一个，或新建：memwell remember TEXT --store {path}",
    ),
    "problems": ("Problems found: {count}", "发现的问题：{count} 个"),
    "healthy": ("Everything agrees.", "一切正常。"),
    "when": ("said", "时间"),
    "why": ("why", "理由"),
    "subject": ("of", "主体"),
    "relation": ("relation", "关系"),
    "object": ("what", "内容"),
    "since": ("since", "起"),
    "until": ("until", "止"),
    "evidence": ("said as", "依据"),
    "by_hand": ("by hand", "人工"),
    "facts_when": ("Give either --as-of or --all.", "--as-of 与 --all 只能选一个。"),
    "facts_correct": (
        "{given} names no new value; write it as lives_in=Oslo.",
        "{given} 没有给出新值；请写成 lives_in=奥斯陆。",
    ),
    "embedding": ("Working out the meaning…", "正在计算语义……"),
    "refused": ("Not remembered: {text} ({reasons})", "没有记住：{text}（{reasons}）"),
    "bad_time": (
        "{text} is no time; write it as 2024-05-07 or 2024-05-07T15:30.",
        "{text} 不是时间，请写成 2024-05-07 或 2024-05-07T15:30。",
    ),
    "forgotten": ("Forgotten: {count}. undo restores one.", "已遗忘 {count} 条，可用 undo 恢复。"),
    "erase_what": ("Name the memories to erase or give --all, not both.", "请指明要删除的记忆，或用 --all，二者选一。"),
    "erase_sure": ("This cannot be undone. Erase?", "删除后无法恢复。确定删除吗？"),
    "erase_all_sure": (
        "This erases all memories of the space and all its documents. It cannot be undone. Erase?",
        "这将删除该空间的全部记忆与全部文档，删除后无法恢复。确定删除吗？",
    ),
    "erased_documents": ("And documents: {count}.", "以及文档 {count} 份。"),
    "erased": (
        "Erased for good: {memories} memories, {derived} made of them, {versions} earlier versions, {facts} statements.",
        "已彻底删除：记忆 {memories} 条，由其派生的 {derived} 条，旧版本 {versions} 个，事实陈述 {facts} 条。",
    ),
    "auditing": ("Auditing", "正在体检"),
    "repaired": (
        "Done: {done} of {planned} steps. Each can be undone. Skipped, because the memory has changed: {skipped}.",
        "已执行 {planned} 步中的 {done} 步，均可撤销。因记忆已改变而跳过：{skipped} 步。",
    ),
    "exporting": ("Exporting", "正在导出"),
    "exported": ("Wrote {count} items to {path}", "已将 {count} 条内容写入 {path}"),
    "export_exists": (
        "{path} exists already; --force writes over it, or name another file.",
        "{path} 已存在；用 --force 覆盖它，或换一个文件名。",
    ),
    "export_ending": (
        "No export ends in {ending}; known: .jsonl (everything) and .md (the memories, to be read).",
        "没有以 {ending} 结尾的导出格式；可用：.jsonl（全部内容）和 .md（供人阅读的记忆）。",
    ),
    "file_unreadable": ("{path} cannot be read: {reason}.", "无法读取 {path}：{reason}。"),
    "file_unwritable": ("{path} cannot be written: {reason}.", "无法写入 {path}：{reason}。"),
    "no_such_file": ("there is no such file", "没有这个文件"),
    "no_such_folder": ("its folder does not exist", "所在的文件夹不存在"),
    "not_permitted": ("permission denied", "没有权限"),
    "is_folder": ("it is a folder", "它是一个文件夹"),
    "disk_full": ("the disk is full", "磁盘已满"),
    "disk_read_only": ("the disk can only be read", "磁盘是只读的"),
    "store_sealed": ("The store {path} takes no writes: {reason}", "存储 {path} 不接受写入：{reason}"),
    "store_read_only": (
        "The store {path} can only be read: the file, its folder or the disk is write-protected. Allow writing, or copy "
        "the store to where you may write.",
        "存储 {path} 只能读取：文件、所在文件夹或磁盘有写保护。请允许写入，或把它复制到可写的位置。",
    ),
    "importing": ("Importing", "正在导入"),
    "url_is_not_trusted": (
        "Only memwell's own export can be taken at its word; leave --trusted out.",
        "只有 memwell 自己的导出文件可以按原样导入；请去掉 --trusted。",
    ),
    "url_is_langchain": (
        "From a URL the format langchain is imported, not {format}.",
        "从网址可以导入 langchain 格式，不能导入 {format}。",
    ),
    "imported": (
        "Read as {format}. New: {counts}. Known before: {known}.",
        "按 {format} 读取。新增：{counts}。已有：{known}。",
    ),
    "new_memories": ("{number} memories", "{number} 条记忆"),
    "new_aliases": ("{number} aliases", "{number} 个别名"),
    "new_facts": ("{number} facts", "{number} 条事实"),
    "new_threads": ("{number} threads", "{number} 个会话"),
    "new_messages": ("{number} messages", "{number} 条消息"),
    "new_values": ("{number} values", "{number} 个键值"),
    "new_blobs": ("{number} blobs", "{number} 个二进制对象"),
    "new_documents": ("{number} documents", "{number} 篇文档"),
    "input_not_utf8": (
        "The input is not UTF-8: line {line} cannot be read. Nothing was remembered.",
        "输入不是 UTF-8：第 {line} 行无法读取。没有记住任何内容。",
    ),
    "measuring": ("Remembering and asking", "正在记忆与提问"),
    "measured": (
        "{data}: {stores} memories, {units} things remembered, {queries} questions. nDCG@10 and R@10 are without "
        "adversarial questions.",
        "{data}：{stores} 个记忆库，{units} 条内容，{queries} 个问题。nDCG@10 与 R@10 不含对抗性问题。",
    ),
    "macro": ("macro nDCG@10", "宏平均 nDCG@10"),
    "rules": ("rules", "规则"),
    "stated": ("facts stated", "陈述的事实"),
    "read": ("read", "读出"),
    "precision": ("right, %", "正确率 %"),
    "recall_share": ("found, %", "召回率 %"),
    "fact_missed": ("missed", "遗漏"),
    "fact_wrong": ("wrong", "错误"),
    "no_usable_answer": (
        "Sentences without a usable answer of the model, counted as not read: {count}. The first time: {reason}",
        "模型对 {count} 个句子没有给出可用的回答，这些句子按未读出计算。第一次的原因：{reason}",
    ),
    "bench_model_missing": (
        "name both the chat model and where it is served: --model and --url, or the settings chat_model and chat_url",
        "请同时给出对话模型及其地址：--model 与 --url，或设置 chat_model 与 chat_url",
    ),
    "elsewhere": ("published:", "已发表："),
    "rankings_kept": ("The raw rankings are in {path}", "原始排名保存在 {path}"),
    "model": ("Embedder", "嵌入模型"),
    "dimensions": ("dimensions", "维数"),
    "weights": ("weights", "权重大小"),
    "first_call": ("first call", "首次调用"),
    "first_call_cost": ("{ms} ms, of which {load} s to load the weights", "{ms} 毫秒，其中加载权重 {load} 秒"),
    "chat_model_missing": (
        "MEMWELL_CHAT_URL names a server; name the model too: MEMWELL_CHAT_MODEL.",
        "MEMWELL_CHAT_URL 指定了服务器，还需用 MEMWELL_CHAT_MODEL 指定模型。",
    ),
    "ingesting": ("Taking documents in", "正在导入文档"),
    "document": ("document", "文档"),
    "pages": ("pages", "页数"),
    "chunks": ("chunks", "片段"),
    "taken_in": ("taken in (UTC)", "导入时间（UTC）"),
    "no_documents": (
        "No documents yet. Take some in: memwell ingest FOLDER",
        "还没有文档。导入一些：memwell ingest 文件夹",
    ),
    "no_such_document": (
        "There is no document {name}. See: memwell documents",
        "没有文档 {name}。请看：memwell documents",
    ),
    "documents_removed": ("Removed for good: {count}", "已彻底删除：{count}"),
    "tuning": ("Measuring", "正在测量"),
    "rechunking": ("Chunking again", "正在重新切分"),
    "explain_what": ("Nothing is drawn of {given}; known: {known}.", "没有 {given} 的图；可用：{known}。"),
    "plot_written": ("The picture is in {path}", "图片已写入 {path}"),
    "moving": ("Moving", "正在搬移"),
    "moving_spaces": ("Spaces, copied and checked", "空间（复制、核对）"),
    "move_sealed": (
        "{source} is sealed: it can be read, and refuses every write. Let your programs open the target now.",
        "{source} 已封存：只能读取，拒绝一切写入。现在让程序改用目标存储。",
    ),
    "move_open": (
        "{source} is still open: what is written to it from now on is not in the copy. Running the same command again "
        "copies only the difference; with --seal it is the last time, and nothing can be lost.",
        "{source} 仍可写入：从现在起写入的内容不在副本中。再次运行同一命令只复制差异；加上 --seal 就是最后一次，"
        "不会丢失任何内容。",
    ),
    "move_changing": (
        "Written to while they were checked, and copied as of a moment ago: {spaces}.",
        "核对时仍在被写入，已复制到片刻之前的状态：{spaces}。",
    ),
    "move_volatile": (
        "{target} does not keep what it holds when its server dies: see its page in the documentation.",
        "{target} 在其服务器终止时不保证保留内容：请看文档中对应的页面。",
    ),
    "move_to_memory": (
        "{url} ends with this command; name a store that stays.",
        "{url} 随本命令结束而消失；请指定能保留的存储。",
    ),
    "demo_title": ("A conversation that survives its process", "进程死去，会话仍在"),
    "demo_write": (
        "A first process writes a conversation to {path} and is killed (kill -9) as soon as its last call has returned.",
        "第一个进程把会话写入 {path}，最后一次调用刚返回，进程就被强行终止（kill -9）。",
    ),
    "demo_killed": (
        "It is gone, killed by signal {signal}. It had acknowledged {count} messages.",
        "它已被信号 {signal} 终止。此前它确认写入了 {count} 条消息。",
    ),
    "demo_read": (
        "A second process opens the file and finds {count} messages:",
        "第二个进程打开文件，找到 {count} 条消息：",
    ),
    "demo_window": (
        "What fits {budget} tokens of a prompt is {used} tokens in {count} messages. The tool call is still with its "
        "result. In Python: history.window(tokens={budget})",
        "提示词里 {budget} 个词元放得下 {count} 条消息，共 {used} 个词元，工具调用与其结果仍然成对。Python 写法："
        "history.window(tokens={budget})",
    ),
    "demo_search": ("Searching it for “{query}” finds:", "在其中搜索“{query}”，找到："),
    "demo_recall": (
        "The conversation is remembered, and asked by meaning: “{query}” recalls, with its reasons:",
        "把会话记入长期记忆，再按语义提问：“{query}”，找回并说明理由：",
    ),
    "demo_kept": ("Nothing was lost. Look at it yourself:", "什么也没有丢。自己看一看："),
    "demo_failed": (
        "The demonstration failed: {count} acknowledged messages are missing, the writer ended with {writer}, the reader "
        "with {reader}. Please report this.",
        "演示失败：缺少 {count} 条已确认的消息，写入进程以 {writer} 结束，读取进程以 {reader} 结束。请报告这个问题。",
    ),
    "demo_exists": ("{path} exists already; name another file.", "{path} 已存在，请换一个文件名。"),
    "demo_needs_file": (
        "The demonstration is about a file that outlives its process; it cannot be {url}.",
        "演示的是比进程活得更久的文件，不能用 {url}。",
    ),
    "demo_language": ("The demonstration speaks en and zh, not {language}.", "演示只有 en 和 zh，没有 {language}。"),
    "parts": ("Parts of the store", "存储的各部分"),
    "part": ("part", "部分"),
    "place": ("place", "位置"),
    "state": ("state", "状态"),
    "part_answers": ("answers", "正常"),
    "part_behind_one": (
        "answers, 1 space behind; it catches up while the store is open",
        "正常，落后 1 个空间；存储打开时会自动补上",
    ),
    "part_behind": (
        "answers, {count} spaces behind; it catches up while the store is open",
        "正常，落后 {count} 个空间；存储打开时会自动补上",
    ),
    "part_away": ("away: {why}", "无法访问：{why}"),
    # keys
    "key_made": ("Key {id} for the space {space}: {scopes}", "密钥 {id}，空间 {space}，权限：{scopes}"),
    "token_once": (
        "This is the token. It is not stored and will not be shown again.",
        "以上是令牌。它不会被存储，也不会再次显示。",
    ),
    "old_ends": ("The token it had works until {time}.", "原令牌在 {time} 之前仍然有效。"),
    "old_ended": ("The token it had does not work any more.", "原令牌已失效。"),
    "key_revoked": ("Revoked: {id} {name}. It does not work any more.", "已吊销：{id} {name}，不再有效。"),
    "no_keys": (
        "No keys yet. Make one: memwell keys create NAME --space SPACE",
        "还没有密钥。新建一个：memwell keys create 名称 --space 空间",
    ),
    "no_such_key": (
        "There is no key {name} that is in force. See: memwell keys list",
        "没有生效的密钥 {name}。请看：memwell keys list",
    ),
    "several_keys": (
        "Several keys are called {name}; say which by its id: {ids}",
        "有多个密钥名为 {name}，请用标识指明：{ids}",
    ),
    "no_bundle": ("There is no {given}; known: {known}.", "没有 {given}；可用：{known}。"),
    "as_or_scopes": ("Give either --as or --scope.", "--as 与 --scope 只能选一个。"),
    "bad_while": (
        "{text} is no time; write it as 90m, 12h, 30d or 8w, or as a date: 2030-12-31.",
        "{text} 不是时间，请写成 90m、12h、30d、8w，或日期 2030-12-31。",
    ),
    "is_over": ("{text} is over already.", "{text} 已经过去。"),
    "bad_grace": (
        "{text} is no length of time; write it as 0s, 90m, 12h or 2d.",
        "{text} 不是时长，请写成 0s、90m、12h 或 2d。",
    ),
    "key_name": ("name", "名称"),
    "key_scopes": ("may", "权限"),
    "last_used": ("last used (UTC)", "最近使用（UTC）"),
    "key_live": ("in force", "生效"),
    "key_live_until": ("until {time}", "有效至 {time}"),
    "key_expired": ("expired {time}", "已过期 {time}"),
    "key_revoked_at": ("revoked {time}", "已吊销 {time}"),
    "never_used": ("never", "从未"),
    "any_space": ("all", "全部"),
    "log_time": ("when (UTC)", "时间（UTC）"),
    "log_key": ("key", "密钥"),
    "log_action": ("what", "操作"),
    "log_targets": ("of what", "对象"),
    "log_outcome": ("outcome", "结果"),
    "log_done": ("done", "完成"),
    "log_refused": ("refused", "拒绝"),
    "no_entries": ("Nothing was logged yet.", "还没有记录。"),
    "verifying": ("Verifying the log", "正在校验日志"),
    "log_whole": (
        "The log is whole: {count} entries. Keep a copy of its digest elsewhere, to see later that it was not rewritten: "
        "{head}",
        "日志完整：共 {count} 条。请把摘要另存他处，以便日后确认日志未被整体改写：{head}",
    ),
    "log_broken": (
        "The log was tampered with: entry {number} is not what was written. {count} entries before it fit.",
        "日志被篡改：第 {number} 条与写入时不符，之前的 {count} 条完好。",
    ),
    "log_other": (
        "The chain fits, but the digest that was noted is not in it: this is not the log it was noted from.",
        "日志链完好，但其中没有所记的摘要：这不是当初的那份日志。",
    ),
    # reindex
    "no_follower": (
        "This store has no vector engine of its own to reindex. One is named like this: --store {example}",
        "这个存储没有单独的向量引擎。向量引擎这样指定：--store {example}",
    ),
    "building_graphs": ("Building", "正在构建"),
    "graphs_built": (
        "Graphs of large spaces built: {built}; dropped, because no space needs them: {dropped}",
        "为大空间建好的索引：{built} 个；因不再需要而删除：{dropped} 个",
    ),
    "reconciling": ("Comparing", "正在比对"),
    "rebuilding": ("Rebuilding", "正在写入"),
    "reconciled": (
        "{name} agrees with the store. Records it was without: {missing}; records it had too many: {orphans}",
        "{name} 与存储一致。此前缺少的记录：{missing} 条；多出的记录：{orphans} 条",
    ),
    "rebuilt": (
        "{name} was rebuilt from the rows of the store. Spaces: {spaces}",
        "{name} 已根据存储中的数据重建。空间：{spaces} 个",
    ),
    "backing_up": ("Copying", "正在复制"),
    "backup_made": ("{store} is backed up to {path} ({size} MB):", "{store} 已备份到 {path}（{size} MB）："),
    "backup_holds": (
        "{messages} messages in {threads} conversations, {records} records, {entries} key-value entries, {blobs} blobs",
        "{threads} 个会话中的 {messages} 条消息、{records} 条记录、{entries} 个键值条目、{blobs} 个二进制对象",
    ),
    "backup_checked": (
        "Opened again and checked: whole, and the counts are those of the store.",
        "已重新打开并检查：完整，各项数目与存储一致。",
    ),
    "backup_removed": ("Older backups removed: {count}", "已删除较早的备份：{count} 个"),
    "backup_needs_file": (
        "Only a store in a file can be backed up or restored, not {url}.",
        "只有文件中的存储才能备份和恢复，{url} 不能。",
    ),
    "backup_server": (
        "Only a store in a file can be backed up, not {url}. Copy it to one (memwell move URL backup.db), "
        "or use the server's own tools; for PostgreSQL pg_dump as a superuser or a role with BYPASSRLS.",
        "只有文件中的存储才能备份，{url} 不能。请把它复制到文件（memwell move URL backup.db），"
        "或使用服务器自带的工具；PostgreSQL 用 pg_dump，须以超级用户或具有 BYPASSRLS 的角色运行。",
    ),
    "restore_server": (
        "Only a store in a file can be restored, not {url}. Copy the backup into an empty store "
        "(memwell move backup.db URL), or use the server's own tools; for PostgreSQL pg_restore.",
        "只有文件中的存储才能恢复，{url} 不能。请把备份复制到空的存储（memwell move backup.db URL），"
        "或使用服务器自带的工具；PostgreSQL 用 pg_restore。",
    ),
    "backup_keep": (
        "--keep needs a folder to count backups in, and at least 1.",
        "--keep 需要一个存放备份的文件夹，且至少为 1。",
    ),
    "refused_same-file": (
        "{path} is the store itself. Name another file, or a folder.",
        "{path} 就是存储本身。请换一个文件或文件夹。",
    ),
    "refused_foreign-file": (
        "{path} exists and is no backup of this store. It was left as it is.",
        "{path} 已存在，且不是这个存储的备份。没有改动它。",
    ),
    "refused_incomplete": ("The backup of {path} was not kept: {reason}", "{path} 的备份未保留：{reason}"),
    "restored": ("{path} now holds what {source} holds:", "{path} 现在的内容与 {source} 相同："),
    "restored_digest": ("Its SHA-256 was compared: {digest}", "已核对 SHA-256：{digest}"),
    "restored_no_digest": (
        "There is no .sha256 file with it, so only its integrity was checked.",
        "旁边没有 .sha256 文件，因此只检查了完整性。",
    ),
    "restored_aside": ("The former store is kept as {path}", "原来的存储保留为 {path}"),
    "refused_not-a-backup": ("{path} is no backup of memwell's.", "{path} 不是 memwell 的备份。"),
    "refused_has-log": (
        "{path} has a write-ahead log: it is a store, not a backup. Back it up first: memwell backup",
        "{path} 旁边有预写日志：它是存储，不是备份。请先备份：memwell backup",
    ),
    "refused_wrong-digest": (
        "{path} is not the file that was written: its SHA-256 is another than in {digest}. Nothing was changed.",
        "{path} 不是当初写下的文件：它的 SHA-256 与 {digest} 中的不同。没有改动任何内容。",
    ),
    "refused_damaged": (
        "The backup {path} is damaged. Nothing was changed. ({reason})",
        "备份 {path} 已损坏。没有改动任何内容。（{reason}）",
    ),
    "refused_exists": (
        "The store {path} exists. With --force it is moved aside, not deleted.",
        "存储 {path} 已存在。加上 --force 会把它移到一旁，不会删除。",
    ),
    "refused_in-use": (
        "The store {path} is in use by another program. Stop it first; nothing was changed.",
        "存储 {path} 正被其他程序使用。请先停止它；没有改动任何内容。",
    ),
    # move
    "move_counts": (
        "{spaces} spaces, {threads} conversations, {messages} messages, {entries} entries, {records} records, "
        "{blobs} blobs",
        "{spaces} 个空间，{threads} 个会话，{messages} 条消息，{entries} 个键值，{records} 条记录，{blobs} 个二进制对象",
    ),
    "move_internal": (", and {count} rows of memwell's own about them", "，另有 {count} 行 memwell 自身的数据"),
    "moved": (
        "{target} holds all that {source} holds, checked part by part: {counts}. Written this time: {copied}.",
        "{target} 已包含 {source} 的全部内容，并逐部分核对：{counts}。本次写入：{copied}。",
    ),
    "unsealed": (
        "{store} takes writes again. It was sealed: {reason}. What is written to it from now on is in no copy.",
        "{store} 可以重新写入了。此前的封存原因：{reason}。从现在起写入的内容不在任何副本中。",
    ),
    "unwatched": (
        "{store} was not sealed. It no longer notes what is written: the move that it did so for was given up.",
        "{store} 没有封存。它不再记录写入：相应的搬移已放弃。",
    ),
    "not_sealed": ("{store} is not sealed. Nothing was done.", "{store} 没有封存。未做任何改动。"),
    # serve
    "serving": ("memwell is running at {address}", "memwell 已启动：{address}"),
    "store_is": ("The store is {store}", "存储：{store}"),
    "first_key": ("Your key. It is shown this once, so keep it:", "这是你的密钥，只显示这一次，请妥善保存："),
    "open_page": (
        "Open the page, signed in (this link works once, within an hour):",
        "打开页面（已登录；此链接一小时内有效，只能用一次）：",
    ),
    "sign_in": (
        "Sign in with your key at {address}. To make another: memwell keys create NAME --as operator --store {store}",
        "请用密钥登录 {address}。新建密钥：memwell keys create 名称 --as operator --store {store}",
    ),
    "secret_needed": (
        "{path} is encrypted. Give its secret: MEMWELL_SECRET, or memwell --secret-file FILE …",
        "{path} 已加密。请提供密钥：MEMWELL_SECRET，或 memwell --secret-file 文件 …",
    ),
    "secret_wrong": (
        "The secret does not open {path}; if it is the right one, the file is damaged: restore a backup with memwell "
        "restore. Nothing was changed.",
        "该密钥无法打开 {path}；若密钥无误，则文件已损坏，请用 memwell restore 恢复备份。没有改动任何内容。",
    ),
    "secret_wrong-backup": (
        "The secret does not open the backup {path}. A backup has the secret that its store had when it was made, which "
        "after memwell rekey is the old one. If it is the right one, the backup is damaged. Nothing was changed.",
        "该密钥无法打开备份 {path}。备份使用制作时存储的密钥；执行过 memwell rekey 的，请用旧密钥。若密钥无误，"
        "则备份已损坏。没有改动任何内容。",
    ),
    "secret_wrong-export": (
        "The export {path} has another secret than this store, or is damaged. It has that of the store which wrote it: "
        "import it into a store with that secret, or export it again with --plaintext. Nothing was changed.",
        "导出文件 {path} 的密钥与此存储不同，或文件已损坏。它使用导出时存储的密钥：请导入到使用同一密钥的存储，"
        "或用 --plaintext 重新导出。没有改动任何内容。",
    ),
    "secret_not-encrypted": (
        "{path} is not encrypted, and a secret was given. Leave it out, or encrypt the store: memwell rekey",
        "{path} 未加密，却提供了密钥。请去掉密钥，或先加密存储：memwell rekey",
    ),
    "secret_no-cipher": (
        "{path} cannot be encrypted or read: this apsw has no ciphers. pip uninstall apsw, then "
        "pip install --force-reinstall apsw-sqlite3mc",
        "无法加密或读取 {path}：此 apsw 不含加密功能。请先 pip uninstall apsw，再 "
        "pip install --force-reinstall apsw-sqlite3mc",
    ),
    "secret_other-store": (
        "A secret encrypts SQLite files alone, not {path}. Leave the secret out, or keep that part in the store.",
        "密钥只加密 SQLite 文件，不加密 {path}。请去掉密钥，或把该部分放在存储文件中。",
    ),
    "new_secret": ("New secret", "新密钥"),
    "rekey_contradicts": (
        "Either --new-secret-file or --plaintext: one encrypts the store, the other decrypts it.",
        "--new-secret-file 与 --plaintext 只能选一个：前者加密存储，后者解密。",
    ),
    "rekey_composed": (
        "{url} has parts in other stores. Give its SQLite file the new secret by itself: {command}",
        "{url} 有一部分在别的存储中。请单独更换其 SQLite 文件的密钥：{command}",
    ),
    "rekey_needs_file": (
        "Name the file with the new secret: --new-secret-file FILE. In a terminal it is asked for.",
        "请指定新密钥文件：--new-secret-file 文件。在终端中会提示输入。",
    ),
    "rekeyed": (
        "{path} has the new secret. Older backups and exports keep the one that they were made with.",
        "{path} 已换用新密钥。旧的备份与导出仍使用原来的密钥。",
    ),
    "decrypted": ("{path} is not encrypted any more.", "{path} 已不再加密。"),
    "export_plaintext": (
        "The store is encrypted, and output is not: --plaintext prints it all the same.",
        "存储已加密，而标准输出是明文：确需输出请加 --plaintext。",
    ),
    "move_plaintext": (
        "{target} is not encrypted by memwell; see docs/encryption.md on what its server offers.",
        "memwell 不加密 {target}；服务器自身的加密方式见 docs/encryption.md。",
    ),
    "encryption": ("encryption", "加密"),
    "not_encrypted": (
        "Warning: {host} can be reached from elsewhere, and keys go over the line unencrypted. Use TLS, here or in front.",
        "注意：{host} 可从其他机器访问，密钥以明文传输。请在此处或前端启用 TLS。",
    ),
    "to_stop": ("Press Ctrl+C to stop.", "按 Ctrl+C 停止。"),
    "stopped": ("Stopped. Everything is on disk.", "已停止。所有内容都已写入磁盘。"),
    "volatile": (
        "Warning: this store lives in memory and is gone when the service stops.",
        "注意：该存储只在内存中，服务停止后即消失。",
    ),
}
# The reasons of a refused move are said in English by the library.
_MOVE_REFUSED = {
    "same": "来源与目标是同一个存储，或者其中一个是另一个文件的副本。",
    "unfinished": "来源本身是另一个存储的未完成副本；请先完成那次搬移。",
    "other": "目标存放着另一个存储的副本；请指定一个空的存储。",
    "holds": "目标已有别的内容；请指定一个空的或尚不存在的存储。",
    "touched": "目标在成为副本之后又被写入，那些内容会丢失。如果它已在使用，说明搬移早已完成；否则请指定另一个目标。",
}
_PHRASES.update(
    (f"move_{code}", (f"{reason[0].upper()}{reason[1:]}.", _MOVE_REFUSED[code])) for code, reason in REFUSALS.items()
)


def say(key: str, language: str | None = None, /, **values: object) -> str:
    """A phrase in the language of the settings. Raises ``KeyError`` for a phrase that does not exist."""
    chosen = language or load_settings().language
    english, chinese = _PHRASES[key]
    return (chinese if chosen.startswith("zh") else _of_one(english, values)).format(**values)


_COUNTED = re.compile(
    r"\{(\w+)\} ((?:earlier )?)(memories|aliases|facts|threads|messages|values|blobs|documents|records|spaces|"
    r"statements|steps|items|changes|rows|entries|key-value entries|conversations|versions)\b"
)


def _of_one(phrase: str, values: Mapping[str, object]) -> str:
    """An English phrase with the singular behind each number that is 1."""

    def noun(found: re.Match[str]) -> str:
        plural = found[3]
        one = f"{plural[:-3]}y" if plural.endswith("ies") else plural[:-2] if plural == "aliases" else plural[:-1]
        return f"{{{found[1]}}} {found[2]}{one if str(values.get(found[1])) == '1' else plural}"

    return _COUNTED.sub(noun, phrase)
