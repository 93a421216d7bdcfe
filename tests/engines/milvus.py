"""A Milvus for tests: milvus-lite in a folder, and a server where one can be started."""

from __future__ import annotations

import platform
from importlib.util import find_spec
from pathlib import Path

import pytest


def lite_url(folder: Path, name: str = "vectors.db") -> str:
    """The URL of a milvus-lite in a folder; the test is skipped, and says why, where there is none."""
    for package in ("pymilvus", "milvus_lite"):
        if find_spec(package) is None:
            pytest.skip(f"no package {package}: nothing was tested against Milvus")
    return f"milvus:{folder / name}"


def no_server_because() -> str | None:
    """Why no Milvus server can be started here; None when one can."""
    if find_spec("milvus") is None:
        return (
            f"no package milvus on {platform.machine()}, which brings a Milvus server: "
            "nothing was tested against a real Milvus server"
        )
    return None
