"""What a system needs to run in production: a compose file, and a page with the figures of its store."""

from __future__ import annotations

from pathlib import Path

from memwell.compat.guide.monitoring import measure, page
from memwell.errors import Conflict, FileError, NotFound
from memwell.runtime.engine import open as open_memory
from memwell.settings import load_settings
from memwell.storage.files import replace_file

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


class ProductionDeployment:
    """Files for production. Neither writes over something it did not write itself."""

    @staticmethod
    def create_docker_compose(path: str | Path = "docker-compose.yml") -> str:
        """Write a compose file with the application, PostgreSQL with pgvector, and Redis; the application alone is
        reachable, and from this machine alone.

        Raises ``Conflict`` when another file is there already.
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
        """Write a page with the figures of a store, all of them counted or measured now; that of the settings by default.

        Raises ``NotFound`` when there is no such store: looking makes none.
        """
        url = store or load_settings().url
        file = Path(url.removeprefix("sqlite:"))
        if url != "memory:" and "://" not in url and not file.exists():
            raise NotFound(f"there is no store {url!r}; name the file that the application writes")
        with open_memory(url, work=False) as engine:
            written = page(measure(engine), language)
        _write(Path(path), written)
        return f"监控面板已创建：{path}" if language == "zh" else f"The dashboard is in {path}"


def _write(path: Path, text: str) -> None:
    """Whole or not at all. Raises ``FileError`` when it cannot be written."""
    try:
        replace_file(path, text.encode())
    except OSError as error:
        raise FileError(f"{str(path)!r} cannot be written: {error.strerror or error}") from error


__all__ = ["ProductionDeployment"]
