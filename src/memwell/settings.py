"""``Settings``: all settings in one frozen value, from defaults, then a TOML file, then the environment.

This is the only file that reads the environment. ``MEMWELL_VECTOR_CACHE_MB=64`` sets ``vector_cache_mb``;
``MEMWELL_SETTINGS=/path/memwell.toml`` names a file with the same keys.
"""

from __future__ import annotations

import difflib
import logging
import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from memwell.errors import ConfigurationError

_PREFIX = "MEMWELL_"
_LANGUAGES = ("en", "zh")
_LISTS = ("serve_hosts", "serve_origins")
_logger = logging.getLogger("memwell.settings")
_warned: set[str] = set()


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings. Every default suits one process on one machine."""

    url: str = "memwell.db"
    """The store the command line opens when none is named."""

    secret: str = ""
    """The secret of an encrypted SQLite store: a passphrase, or a key as 64 hexadecimal digits. It is never shown."""

    secret_file: str = ""
    """The file that holds this secret, instead: a line of text, or 32 bytes."""

    language: str = ""
    """The language of messages to people: ``en``, ``zh``, or empty for the language of the terminal."""

    busy_timeout_s: float = 60.0
    """How long a write waits for another process before ``BackendUnavailable``."""

    log_url: str = ""
    """Where conversations live, when not in the store itself: a Redis server's URL."""

    kv_url: str = ""
    """Where values by key live, when not in the store itself: a Redis server's URL."""

    index_url: str = ""
    """The follower that searches vectors for the store: the URL of Milvus."""

    pool_size: int = 16
    """How many connections to a server one process holds at most."""

    connect_timeout_s: float = 10.0
    """How long to wait for a connection to a server, new or from the pool, before ``BackendUnavailable``."""

    statement_timeout_s: float = 60.0
    """How long a server may work on one statement before it is given up with ``BackendUnavailable``."""

    vector_cache_mb: int = 512
    """How much memory the vectors of recently searched spaces may take."""

    recall_memory_mb: int = 512
    """How much memory the snapshots may take by which recently asked spaces are ranked. One is held in any case.

    Those of spaces with more than 100,000 memories may take four times as much in addition.
    """

    recall_cache: bool = True
    """Whether these snapshots are kept next to the store, so that the first recall of a process need not read the space.

    Without it, spaces with more than 100,000 memories have none.
    """

    hnsw_above: int = 50_000
    """A space with more vectors than this gets an HNSW index; up to this it is searched exactly."""

    embedder: str = "local"
    """What makes vectors: ``local`` (English and multilingual), ``minilm`` (English) or ``use`` (multilingual)."""

    embedding_cache_entries: int = 100_000
    """How many vectors of known texts a space caches, so that they need not be made again."""

    retention_days: float = 30.0
    """How long forgotten memories can be restored before they are erased."""

    chat_url: str = ""
    """Where the command line finds a model behind OpenAI's API, such as ``http://localhost:11434/v1``; empty is none."""

    chat_model: str = ""
    """The name of that model."""

    chat_key: str = ""
    """Its key, where it asks for one. It is never shown."""

    key: str = ""
    """The key of a service, for a store whose URL begins with ``http``. It is never shown."""

    chat_price_input: float = 0.0
    """What a million tokens cost that this model is given, in US dollars."""

    chat_price_output: float = 0.0
    """What a million tokens cost that it writes."""

    spend_cap: float = 0.0
    """What models may cost in a calendar month; a call that might exceed it is not made. 0 is no cap."""

    serve_host: str = "127.0.0.1"
    """Where the service listens. Anything else than this machine's own address should have TLS in front or here."""

    serve_port: int = 7411
    """The port the service listens on; 0 takes a free one."""

    serve_hosts: str = ""
    """The names the service answers to besides this machine's own, with commas between or as a list; ``*`` is any."""

    serve_origins: str = ""
    """The web pages that may call the service from a browser, with commas between or as a list. None may by default."""

    serve_tls_certificate: str = ""
    """The file with the certificate, where the service speaks TLS itself."""

    serve_tls_key: str = ""
    """The file with the certificate's key."""

    serve_threads: int = 8
    """How many requests are worked on at once."""

    serve_most_waiting: int = 512
    """How many more may wait; further requests are refused with a retry time."""

    serve_timeout_s: float = 60.0
    """How long a request may take to arrive, and how long it may wait for its turn."""

    serve_rate: int = 60_000
    """How many requests a minute a key may make that has no limit of its own; 0 is any number."""

    serve_max_json_mb: float = 10.0
    """How large the JSON of a request may be."""

    serve_max_upload_mb: float = 50.0
    """How large a file may be that is sent to the service."""

    serve_log: str = "text"
    """How requests are logged: ``text``, ``json``, or ``off``."""

    otlp_url: str = ""
    """Where traces are sent, such as ``http://localhost:4318/v1/traces``; empty is nowhere."""

    kept_changes: int = 65_536
    """How many changes of a space are remembered so that caches and sidecars catch up instead of starting over."""

    def __repr__(self) -> str:
        shown = {name: getattr(self, name) for name in self.__struct_fields__}
        for secret in ("chat_key", "key", "secret"):
            shown[secret] = "…" if shown[secret] else ""
        return f"Settings({', '.join(f'{name}={value!r}' for name, value in shown.items())})"


def load_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """The settings in force. Raises ``ConfigurationError`` that names the wrong file or variable.

    An unknown variable with our prefix causes one warning: it may be meant for another program.
    """
    variables = os.environ if environment is None else environment
    values: dict[str, Any] = {}
    path = variables.get(f"{_PREFIX}SETTINGS")
    if path:
        values.update(_read_file(Path(path)))
    for name in Settings.__struct_fields__:
        raw = variables.get(f"{_PREFIX}{name.upper()}")
        if raw == "" and name in ("secret", "secret_file"):
            # Mostly a variable that was never filled: a store in plain text is not what was meant.
            raise ConfigurationError(f"{_PREFIX}{name.upper()} is empty: fill it, or leave it out for a plain store")
        if raw is not None:
            values[name] = raw
    _warn_of_unknown(variables)
    try:
        settings = msgspec.convert(values, Settings, strict=False)
    except msgspec.ValidationError as error:
        raise ConfigurationError(
            f"a setting is wrong: {error}; known settings: {', '.join(Settings.__struct_fields__)}"
        ) from error
    return msgspec.structs.replace(settings, language=_language(settings.language, variables))


def _warn_of_unknown(variables: Mapping[str, str]) -> None:
    known = {name.upper() for name in ("settings", *Settings.__struct_fields__)}
    given = {name.removeprefix(_PREFIX) for name in variables if name.startswith(_PREFIX)}
    for name in sorted(given - known - _warned):
        _warned.add(name)
        near = difflib.get_close_matches(name, sorted(known), n=1)
        hint = f"; did you mean {_PREFIX}{near[0]}?" if near else ""
        _logger.warning("%s%s sets nothing%s", _PREFIX, name[:100], hint)


def environment_of_workers() -> dict[str, str]:
    """The environment without the settings: a reader of strangers' files needs no secret of ours."""
    return {name: value for name, value in os.environ.items() if not name.startswith(_PREFIX)}


def use_secret_file(path: str) -> None:
    """Take the secret from a file, in this process and those that it starts, whatever the environment says."""
    os.environ[f"{_PREFIX}SECRET_FILE"] = path
    os.environ.pop(f"{_PREFIX}SECRET", None)


def refuse_telemetry() -> None:
    """Disable the telemetry of packages. Call it before such a package is imported.

    Recent versions of onnxruntime create an id of the machine and collect events in the user's cache folder.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")


def _language(chosen: str, variables: Mapping[str, str]) -> str:
    """The chosen language, also given as ``zh-CN`` or ``en_GB.UTF-8``; the default is the terminal's."""
    if not chosen:
        terminal = variables.get("LC_ALL") or variables.get("LC_MESSAGES") or variables.get("LANG") or ""
        return "zh" if terminal.startswith("zh") else "en"
    language = re.split("[-_.]", chosen.strip().lower())[0]
    if language not in _LANGUAGES:
        raise ConfigurationError(
            f"a setting is wrong: language (or {_PREFIX}LANGUAGE) is {chosen!r}; known languages: {', '.join(_LANGUAGES)}"
        )
    return language


def _read_file(path: Path) -> dict[str, Any]:
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigurationError(f"cannot read the settings file {str(path)!r}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"the settings file {str(path)!r} is not TOML: {error}") from error
    # Lists of names are joined by commas, as in the environment.
    return {name: _joined(value) if name in _LISTS else value for name, value in values.items()}


def _joined(value: Any) -> Any:
    try:
        return ",".join(msgspec.convert(value, list[str]))
    except msgspec.ValidationError:
        return value
