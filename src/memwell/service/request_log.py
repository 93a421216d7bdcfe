"""The request log: one line for each request and each failure, as text or JSON, without secrets.

A line has the name of the operation, not the address, so it holds no id and no query; of the key it has the id. Of an
unexpected error it has the class and the traceback, not the message, which may quote a memory.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, TextIO, cast

from memwell.errors import BadModelOutput, ConfigurationError, MemwellError
from memwell.runtime.wire.operations import Operation
from memwell.runtime.wire.running import Key
from memwell.service.keys import without_tokens

_log = logging.getLogger("memwell.service")
_FIELDS = "memwell"
FORMATS = ("text", "json", "off")


def request(id_: str, method: str, route: Operation, status: int, seconds: float, key: Key | None) -> None:
    """Log a request that was answered."""
    if not _log.isEnabledFor(logging.INFO):
        return
    fields = {
        "request": id_,
        "method": method,
        "route": route.name,
        "status": status,
        "ms": round(seconds * 1000, 2),
        "key": "" if key is None else key.id,
    }
    _log.info("%s %s %s %.1f ms", method, route.name, status, seconds * 1000, extra={_FIELDS: fields})


def failure(id_: str, route: Operation, error: BaseException) -> None:
    """Log a failure whose details the caller does not see."""
    fields = {"request": id_, "route": route.name}
    _log.error("%s failed (request %s)", route.name, id_, exc_info=error, extra={_FIELDS: fields})


def warn(what: str, error: BaseException) -> None:
    """Log a failure outside of requests."""
    _log.warning("%s: %s", what, _said_by(error))


def _said_by(error: BaseException) -> str:
    kind = type(error).__name__
    # Our own messages are safe to log, except that of a bad model output, which quotes the output.
    is_ours = isinstance(error, MemwellError) and not isinstance(error, BadModelOutput)
    return f"{kind}: {error}" if is_ours and str(error) else kind


def _trace(error: BaseException) -> str:
    """The traceback of an error and of its causes, with their classes."""
    lines: list[str] = []
    for one in _chain(error, set()):
        lines += [*traceback.format_tb(one.__traceback__), _said_by(one), "\n"]
    return "".join(lines).rstrip()


def _chain(error: BaseException, seen: set[int]) -> Iterator[BaseException]:
    """The causes of an error, then the error."""
    if id(error) in seen:
        return
    seen.add(id(error))
    before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if before is not None:
        yield from _chain(before, seen)
    if isinstance(error, BaseExceptionGroup):
        for one in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            yield from _chain(one, seen)
    yield error


class _Own(logging.StreamHandler[TextIO]):
    """A handler that ``set_up`` installed."""


class _Text(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC).strftime("%H:%M:%S")
        line = f"{moment} {record.levelname.lower():7} {record.getMessage()}"
        fields: dict[str, Any] = getattr(record, _FIELDS, {})
        if fields.get("key"):
            line += f" key={fields['key']}"
        if record.exc_info and record.exc_info[1] is not None:
            line += "\n" + _trace(record.exc_info[1])
        return without_tokens(line)


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, _FIELDS, {}),
        }
        if record.exc_info and record.exc_info[1] is not None:
            line["error"] = _trace(record.exc_info[1])
        return without_tokens(json.dumps(line, ensure_ascii=False))


def set_up(form: str, stream: TextIO | None = None) -> None:
    """Log the service and the library to standard error. Raises ``ConfigurationError`` for an unknown form."""
    if form not in FORMATS:
        raise ConfigurationError(f"the log is written as {', '.join(FORMATS)}, not {form!r}")
    for name in ("memwell", "uvicorn.error"):
        logger = logging.getLogger(name)
        for old in [one for one in logger.handlers if isinstance(one, _Own)]:
            logger.removeHandler(old)
        logger.propagate = False
        logger.setLevel(logging.INFO if name == "memwell" else logging.WARNING)
        if form == "off":
            logger.setLevel(logging.CRITICAL + 1)
            continue
        handler = _Own(stream or sys.stderr)
        handler.setFormatter(_Json() if form == "json" else _Text())
        logger.addHandler(handler)
