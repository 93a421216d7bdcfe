"""Deployment with the guide's names: a compose file, a page with the metrics of a store, and a choice of databases."""

from __future__ import annotations

from copy import deepcopy
from datetime import timedelta
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from memwell.errors import Conflict, FileError, InvalidInput, NotFound
from memwell.records import Space, paged
from memwell.runtime.engine import Engine
from memwell.runtime.metrics import Metrics, figures_of
from memwell.runtime.opening import open as open_memory
from memwell.runtime.transfer.files import spaces_of
from memwell.settings import load_settings
from memwell.storage.files import replace_file
from memwell.values import now, shown

_COMPOSE = """\
# Start with: POSTGRES_PASSWORD=… docker compose up --build
# 启动：POSTGRES_PASSWORD=… docker compose up --build
services:
  app:
    build: .
    ports:
      - "127.0.0.1:8000:8000"
    environment:
      MEMWELL_URL: sqlite:/data/memwell.db
      DATABASE_URL: postgresql://app:${POSTGRES_PASSWORD:?choose a password}@db:5432/app
      REDIS_URL: redis://redis:6379/0
    volumes:
      - memory:/data
    depends_on:
      db:
        condition: service_healthy
      redis:
        condition: service_healthy
    restart: unless-stopped

  db:
    image: pgvector/pgvector:pg17
    environment:
      POSTGRES_USER: app
      POSTGRES_DB: app
      POSTGRES_PASSWORD: ${POSTGRES_PASSWORD:?choose a password}
    volumes:
      - database:/var/lib/postgresql/data
    healthcheck:
      test: ["CMD-SHELL", "pg_isready -U app"]
      interval: 5s
      timeout: 5s
      retries: 12
    restart: unless-stopped

  redis:
    image: redis:7-alpine
    command: ["redis-server", "--appendonly", "yes"]
    volumes:
      - cache:/data
    healthcheck:
      test: ["CMD", "redis-cli", "ping"]
      interval: 5s
      timeout: 5s
      retries: 12
    restart: unless-stopped

volumes:
  memory:
  database:
  cache:
"""

_LABELS = {
    "en": ("memwell: figures of the store", "sessions", "conversations", "messages", "memories", "documents",
           "active users, 7 days", "recall, median", "recall, 95 %", "recall quality (NDCG@10)", "availability",
           "recalls by day"),
    "zh": ("memwell：记忆系统监控面板", "会话", "对话", "消息", "记忆", "知识库文档", "7 天内活跃用户",
           "召回用时（中位数）", "召回用时（95%）", "召回质量（NDCG@10）", "可用性", "每天的召回次数"),
}  # fmt: skip


def _page(engine: Engine, language: str) -> str:
    """The figures of the last seven days as HTML without scripts; a dash for what the service has not counted."""
    # In one transaction: a worker may index something between counting what is indexed and what is not.
    with engine.backend.together():
        found = figures_of(Metrics(engine.backend), engine, span="7d", whole=True)
    title, *labels, trend = _LABELS[language]
    totals, talk = found.totals, _talk(engine)
    # What is remembered and not yet indexed is stored too.
    memories = None if totals.memories is None else totals.memories + found.queue.words
    stored = [totals.conversations, talk.rounds, totals.messages, memories, totals.documents]
    times = [None if one is None else f"{1000 * one:.1f} ms" for one in (found.recall.p50, found.recall.p95)]
    quality = None if found.quality is None else f"{found.quality.ndcg10:.3f}"
    share = None if found.availability.share is None else f"{found.availability.share:.2%}"
    shown_values = [
        *stored,
        max(found.active.speakers_week or found.active.spaces_week, talk.active),
        *times,
        quality,
        share,
    ]
    days: dict[str, int] = {}
    for point in found.trends:
        days[f"{point.time:%m-%d}"] = days.get(f"{point.time:%m-%d}", 0) + point.recalls
    rows = [(label, "–" if value is None else str(value)) for label, value in zip(labels, shown_values, strict=True)]
    cells = [f"<tr><th>{escape(label)}</th><td>{escape(value)}</td></tr>" for label, value in rows]
    bars = [f"<tr><th>{day}</th><td>{count}</td></tr>" for day, count in days.items()]
    return "\n".join(
        [
            f'<!DOCTYPE html>\n<html lang="{"zh-CN" if language == "zh" else "en"}">\n<meta charset="utf-8">',
            f"<title>{escape(title)}</title>\n<h1>{escape(title)}</h1>\n<table>",
            *cells,
            f"</table>\n<h2>{escape(trend)}</h2>\n<table>",
            *bars,
            "</table>\n</html>\n",
        ]
    )


class _Talk(NamedTuple):
    """How many conversations a store holds, a question with its answer each, and in how many spaces the last week's are."""

    rounds: int
    active: int


def _talk(engine: Engine) -> _Talk:
    log, since = engine.backend.log, now() - timedelta(days=7)
    rounds, active = 0, set[Space]()
    for space in spaces_of(engine.backend):
        if "memwell" in space[1:]:
            # Where memwell keeps its own data.
            continue
        for info in paged(lambda cursor, space=space: log.threads(space, limit=500, cursor=cursor)):
            rounds += info.rounds
            active.update([space] if info.updated >= since else ())
    return _Talk(rounds, len(active))


class ProductionDeployment:
    """Writes files for production. The compose file does not replace a file of another program."""

    @staticmethod
    def create_docker_compose(path: str | Path = "docker-compose.yml") -> str:
        """Write a compose file with the application, PostgreSQL with pgvector, and Redis.

        Only the application is reachable, and only from this machine. Raises ``Conflict`` when another file is there.
        """
        target = Path(path)
        if target.exists() and target.read_text(encoding="utf-8", errors="replace") != _COMPOSE:
            raise Conflict(f"{str(path)!r} is there already and is not changed; name another file")
        _write(target, _COMPOSE)
        return f"Docker Compose配置已创建：{target}"

    @staticmethod
    def create_monitoring_dashboard(
        store: str | None = None, path: str | Path = "memwell-dashboard.html", *, language: str = "zh"
    ) -> str:
        """Write a page with the figures of a store as its service counted them; by default the store of the settings.

        Raises ``NotFound`` when there is no such store, and ``InvalidInput`` for another language than ``zh`` and ``en``.
        """
        if language not in _LABELS:
            raise InvalidInput(f"the page is written in {' or '.join(_LABELS)}, not {shown(language)}")
        url = store or load_settings().url
        file = Path(url.removeprefix("sqlite:"))
        if url != "memory:" and "://" not in url and not file.exists():
            raise NotFound(f"there is no store {url!r}; name the file that the application writes")
        with open_memory(url, work=False) as engine:
            _write(Path(path), _page(engine, language))
        return f"监控面板已创建：{path}" if language == "zh" else f"The dashboard is in {path}"


def _write(path: Path, text: str) -> None:
    """Whole or not at all. Raises ``FileError`` when it cannot be written."""
    try:
        replace_file(path, text.encode())
    except OSError as error:
        raise FileError(f"{str(path)!r} cannot be written: {error.strerror or error}") from error


_FIELDS = ("type", "scalability", "best_for", "features")
_DATABASES = {
    "Chroma": ("本地 / 客户端-服务器", "中等", "原型开发、小型应用",
        ["开箱即用", "进程内运行", "本地持久化", "元数据过滤"]),
    "FAISS": ("本地索引库（没有存储和服务）", "高", "大规模离线相似度搜索",
        ["多种索引", "量化压缩", "GPU 加速", "增删、过滤与持久化需自行实现"]),
    "Pinecone": ("云服务", "极高", "不想自行运维的生产环境",
        ["全托管", "自动扩缩容", "实时更新", "按量计费，数据在云端"]),
    "Weaviate": ("开源 / 云", "高", "复杂查询、企业知识库",
        ["GraphQL 与 gRPC 接口", "混合检索", "多租户", "模块化向量化"]),
    "Qdrant": ("开源 / 云", "高", "高性能、实时应用",
        ["Rust 实现", "带过滤的检索", "分布式部署", "标量与二值量化"]),
    "memwell (SQLite)": ("本地 / 单个文件", "中等", "单机应用、智能体记忆、边缘设备",
        ["无需服务器、密钥和下载", "向量与中文全文混合检索", "写入即落盘", "给出召回理由"]),
    "pgvector": ("PostgreSQL 扩展", "高", "已有 PostgreSQL 的生产环境",
        ["与业务数据同库同事务", "SQL 过滤与连接", "HNSW 索引", "沿用现有备份与权限"]),
    "Milvus": ("开源 / 云", "极高", "超大规模集群",
        ["存储与计算分离", "多种索引", "水平扩展", "十亿级向量"]),
}  # fmt: skip

_USES = {
    "原型开发": ("原型", "原型开发", "学习", "prototype", "prototyping", "demo"),
    "生产环境": ("生产", "生产环境", "production"),
    "企业应用": ("企业", "企业应用", "enterprise"),
    "实时应用": ("实时", "实时应用", "real-time", "realtime"),
    "边缘设备": ("边缘", "边缘设备", "边缘计算", "离线", "edge", "offline"),
}
_SCALES = {
    "小": ("小", "小型", "small", "s"),
    "中": ("中", "中型", "中等", "medium", "m"),
    "大": ("大", "大型", "large", "l"),
}

_CHOICES: dict[tuple[str, str], tuple[str, str, tuple[str, ...]]] = {
    ("原型开发", "小"): ("Chroma", "几行代码即可运行", ("memwell (SQLite)",)),
    ("原型开发", "中"): ("memwell (SQLite)", "一个文件就能容纳，之后不必迁移数据", ("Chroma", "Qdrant")),
    ("原型开发", "大"): ("Qdrant", "单机即可承载较大规模，本地与服务器接口相同", ("Milvus", "FAISS")),
    ("生产环境", "小"): ("memwell (SQLite)", "单机足够时，没有服务器就没有运维", ("pgvector", "Qdrant")),
    ("生产环境", "中"): ("Pinecone", "托管服务，无需自行运维；数据必须留在自己手里时选备选项", ("pgvector", "Qdrant")),
    ("生产环境", "大"): ("Milvus", "存储与计算分离，可水平扩展", ("Qdrant", "FAISS")),
    ("企业应用", "小"): ("pgvector", "与业务数据同库，沿用权限与备份", ("memwell (SQLite)", "Weaviate")),
    ("企业应用", "中"): ("pgvector", "与业务数据同库，沿用权限与备份", ("Weaviate", "Qdrant")),
    ("企业应用", "大"): ("Weaviate", "混合检索与多租户", ("Milvus", "Qdrant")),
    ("实时应用", "小"): ("memwell (SQLite)", "进程内检索，没有网络往返", ("Qdrant",)),
    ("实时应用", "中"): ("Qdrant", "写入后立即可查，过滤与检索一并完成", ("pgvector", "Weaviate")),
    ("实时应用", "大"): ("Qdrant", "分布式部署，写入后立即可查", ("Milvus", "Weaviate")),
    ("边缘设备", "小"): ("memwell (SQLite)", "一个文件，离线运行", ("FAISS",)),
    ("边缘设备", "中"): ("memwell (SQLite)", "一个文件，离线运行", ("FAISS",)),
    ("边缘设备", "大"): ("FAISS", "量化索引最省内存；存储与增删需自行实现", ("memwell (SQLite)",)),
}

_GUIDES = {
    "Chroma": """
        # 安装：pip install chromadb
        import chromadb

        client = chromadb.PersistentClient(path="./chroma_db")
        collection = client.get_or_create_collection("knowledge")
        collection.add(ids=["1"], documents=["第一篇文档"])
        """,
    "FAISS": """
        # 安装：pip install faiss-cpu
        import faiss
        import numpy as np

        index = faiss.IndexFlatIP(384)  # 先把向量归一化，内积即余弦
        index.add(np.zeros((1, 384), dtype="float32"))
        faiss.write_index(index, "knowledge.faiss")  # 不会自动保存
        """,
    "Pinecone": """
        # 安装：pip install pinecone（旧名 pinecone-client 已停用）
        from pinecone import Pinecone, ServerlessSpec

        client = Pinecone(api_key="…")
        client.create_index("knowledge", dimension=384, metric="cosine",
                            spec=ServerlessSpec(cloud="aws", region="us-east-1"))
        """,
    "Weaviate": """
        # 服务：docker run -p 8080:8080 -p 50051:50051 semitechnologies/weaviate
        # 安装：pip install weaviate-client
        import weaviate

        client = weaviate.connect_to_local()
        client.collections.create("Knowledge")
        """,
    "Qdrant": """
        # 服务：docker run -p 6333:6333 -v ./qdrant_storage:/qdrant/storage qdrant/qdrant
        # 安装：pip install qdrant-client
        from qdrant_client import QdrantClient, models

        client = QdrantClient(url="http://localhost:6333")
        client.create_collection("knowledge",
            vectors_config=models.VectorParams(size=384, distance=models.Distance.COSINE))
        """,
    "memwell (SQLite)": """
        # 安装：pip install path/to/memwell
        import memwell

        m = memwell.open("app.db")
        m.knowledge.ingest("docs/")
        m.knowledge.answer("如何安装？")
        """,
    "pgvector": """
        # 服务：docker run -p 5432:5432 -e POSTGRES_PASSWORD=… pgvector/pgvector:pg17
        # 安装：pip install "psycopg[binary]" pgvector
        CREATE EXTENSION vector;
        CREATE TABLE chunk (id bigserial PRIMARY KEY, text text, embedding vector(384));
        CREATE INDEX ON chunk USING hnsw (embedding vector_cosine_ops);
        """,
    "Milvus": """
        # 安装：pip install pymilvus（本地试用：pip install milvus-lite）
        from pymilvus import MilvusClient

        client = MilvusClient("milvus.db")  # 集群：MilvusClient(uri="http://localhost:19530")
        client.create_collection("knowledge", dimension=384)
        """,
}


class VectorDatabaseComparison:
    """Describes vector databases, recommends one and shows how to set it up. ``databases`` may be added to."""

    def __init__(self) -> None:
        self.databases: dict[str, dict[str, Any]] = {
            name: dict(zip(_FIELDS, deepcopy(row), strict=True)) for name, row in _DATABASES.items()
        }

    def get_recommendation(self, use_case: str, scale: str) -> dict[str, Any]:
        """The database for a use (生产环境, production, …) and a scale (小 中 大, small medium large), with the reason.

        Raises ``InvalidInput`` for an unknown use or scale, because a guess would look like an answer.
        """
        name, reason, others = _CHOICES[_known(use_case, _USES, "use case"), _known(scale, _SCALES, "scale")]
        return {
            "database": name,
            "details": self.databases[name],
            "reason": reason,
            "alternatives": list(others),
            "setup_guide": self.get_setup_guide(name),
        }

    def get_setup_guide(self, db_name: str) -> str:
        """The first lines for a database. Raises ``InvalidInput`` for one that is not known."""
        if db_name not in _GUIDES:
            raise InvalidInput(f"no set-up guide for {shown(db_name)}; known: {', '.join(_GUIDES)}")
        lines = _GUIDES[db_name].strip().splitlines()
        return "\n".join(line.removeprefix("        ") for line in lines)


def _known(given: object, names: dict[str, tuple[str, ...]], what: str) -> str:
    """The one name for what was given, in either language."""
    word = given.strip().casefold() if isinstance(given, str) else given
    for name, spellings in names.items():
        if word in spellings:
            return name
    known = "; ".join(f"{name} ({spellings[-1]})" for name, spellings in names.items())
    raise InvalidInput(f"unknown {what} {shown(given)}; known: {known}")
