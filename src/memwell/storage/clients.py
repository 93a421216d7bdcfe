"""Clients of the databases and Redis servers in which other programs keep their data, with memwell's errors.

They are loaded when they are first used: only a program that reads such data needs their packages.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from memwell.errors import BackendError, BackendUnavailable, ConfigurationError, InvalidInput, MissingDependency
from memwell.values import shown


def redis_client(url: str) -> Any:
    """A client for the server at ``url``; it connects when it is first used."""
    redis = _package("redis", "histories in Redis need the package redis", "redis")
    try:
        return redis.Redis.from_url(url)
    except ValueError as error:
        raise ConfigurationError(f"no Redis server is named by {shown(url)}: {error}") from error


@contextmanager
def redis_errors() -> Generator[None]:
    """Raises ``BackendUnavailable`` when the server cannot be reached, ``BackendError`` for another error of Redis."""
    # A client was made, so the package is installed.
    errors: Any = import_module("redis.exceptions")
    try:
        yield
    except (errors.ConnectionError, errors.TimeoutError) as error:
        raise BackendUnavailable(f"the Redis server cannot be reached: {error}") from error
    except errors.RedisError as error:
        raise BackendError(f"the Redis server failed: {error}") from error


def sqlalchemy() -> Any:
    """The package. Raises ``MissingDependency`` where it is not installed."""
    return _package("sqlalchemy", "histories in SQL need SQLAlchemy", "sql")


def sql_engine(connection: Any, options: dict[str, Any]) -> Any:
    """The engine for a URL, or the one given. Raises ``ConfigurationError`` for a URL that names no database.

    Also when the driver of the database is not installed.
    """
    sa = sqlalchemy()
    if isinstance(connection, sa.Engine):
        return connection
    if not isinstance(connection, str):
        raise InvalidInput(
            f"connection should be a connection string or an Engine of SQLAlchemy, not {shown(connection)}"
        )
    try:
        return sa.create_engine(connection, **options)
    except (sa.exc.ArgumentError, sa.exc.NoSuchModuleError) as error:
        raise ConfigurationError(f"the connection string names no database: {error}") from error
    except ModuleNotFoundError as error:
        raise ConfigurationError(f"the driver of this database is not installed: pip install {error.name}") from error


@contextmanager
def sql_errors() -> Generator[None]:
    """Raises ``BackendUnavailable`` when the database cannot be reached, ``BackendError`` for another error of it."""
    exc = sqlalchemy().exc
    try:
        yield
    except (exc.OperationalError, exc.TimeoutError) as error:
        raise BackendUnavailable(f"the database cannot be reached or is busy: {error}") from error
    except exc.SQLAlchemyError as error:
        raise BackendError(f"the database failed: {error}") from error


def _package(name: str, needed: str, extra: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingDependency.of(needed, extra) from error
