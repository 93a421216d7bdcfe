"""Which vector database fits a use and a size, and how to begin with it. Nothing is guessed: an unknown use is an error."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from memwell.errors import InvalidInput
from memwell.values import shown

_DATABASES: dict[str, dict[str, Any]] = {
    "Chroma": {
        "type": "本地 / 客户端-服务器",
        "scalability": "中等",
        "features": ["开箱即用", "进程内运行", "本地持久化", "元数据过滤"],
        "best_for": "原型开发、小型应用",
    },
    "FAISS": {
        "type": "本地索引库（没有存储和服务）",
        "scalability": "高",
        "features": ["多种索引", "量化压缩", "GPU 加速", "增删、过滤与持久化需自行实现"],
        "best_for": "大规模离线相似度搜索",
    },
    "Pinecone": {
        "type": "云服务",
        "scalability": "极高",
        "features": ["全托管", "自动扩缩容", "实时更新", "按量计费，数据在云端"],
        "best_for": "不想自行运维的生产环境",
    },
    "Weaviate": {
        "type": "开源 / 云",
        "scalability": "高",
        "features": ["GraphQL 与 gRPC 接口", "混合检索", "多租户", "模块化向量化"],
        "best_for": "复杂查询、企业知识库",
    },
    "Qdrant": {
        "type": "开源 / 云",
        "scalability": "高",
        "features": ["Rust 实现", "带过滤的检索", "分布式部署", "标量与二值量化"],
        "best_for": "高性能、实时应用",
    },
    "memwell (SQLite)": {
        "type": "本地 / 单个文件",
        "scalability": "中等",
        "features": ["无需服务器、密钥和下载", "向量与中文全文混合检索", "写入即落盘", "给出召回理由"],
        "best_for": "单机应用、智能体记忆、边缘设备",
    },
    "pgvector": {
        "type": "PostgreSQL 扩展",
        "scalability": "高",
        "features": ["与业务数据同库同事务", "SQL 过滤与连接", "HNSW 索引", "沿用现有备份与权限"],
        "best_for": "已有 PostgreSQL 的生产环境",
    },
    "Milvus": {
        "type": "开源 / 云",
        "scalability": "极高",
        "features": ["存储与计算分离", "多种索引", "水平扩展", "十亿级向量"],
        "best_for": "超大规模集群",
    },
}

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
        # 安装：pip install memwell
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
    """What the databases are, which one suits, and how to begin with it. ``databases`` may be added to."""

    def __init__(self) -> None:
        self.databases = deepcopy(_DATABASES)

    def get_recommendation(self, use_case: str, scale: str) -> dict[str, Any]:
        """The database for a use (生产环境, production, …) and a scale (小 中 大, small medium large), with the reason.

        Raises ``InvalidInput`` for a use or a scale that is not known: a guess would be a wrong answer nobody notices.
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


def _known(given: str, names: dict[str, tuple[str, ...]], what: str) -> str:
    """The one name for what was given, in either language."""
    word = given.strip().casefold() if isinstance(given, str) else given  # pyright: ignore[reportUnnecessaryIsInstance]
    for name, spellings in names.items():
        if word in spellings:
            return name
    known = "; ".join(f"{name} ({spellings[-1]})" for name, spellings in names.items())
    raise InvalidInput(f"unknown {what} {shown(given)}; known: {known}")


__all__ = ["VectorDatabaseComparison"]
