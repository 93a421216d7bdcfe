"""Sending a file to a handler as the application does: the body is on disk, what is known of it stands in the address."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from memwell.runtime.wire.codec import Problem, decode, error_of
from memwell.runtime.wire.running import Key
from memwell.runtime.wire.table import OPERATIONS
from memwell.service.call import Call, RequestData, answer
from memwell.service.parts import Service


def send(service: Service, key: Key, called: str, body: bytes | None, folder: Path, /, **query: Any) -> Any:
    """What a route gives back for a file; None for an empty body. Raises the error that a problem tells of.

    ``folder`` is where the file lies meanwhile.
    """
    route = OPERATIONS[called]
    upload = None
    if body is not None:
        upload = folder / "upload-1"
        upload.write_bytes(body)
    call = Call(service, route, key, {}, upload=upload, id="a test")
    call.allow(route.scope)
    texts = {field: _texts(value) for field, value in query.items() if value is not None}
    answered = answer(call, RequestData(route.method, route.path, texts))
    assert isinstance(answered.body, bytes)
    if call.upload is not None:
        # The application removes what no handler took.
        call.upload.unlink()
    if answered.status >= 400:
        raise answered.failed or error_of(decode(answered.body, Problem))
    assert answered.status == route.status
    return decode(answered.body, route.gives)


def _texts(value: Any) -> list[str]:
    values = value if isinstance(value, list | tuple) else [value]
    return [one if isinstance(one, str) else json.dumps(one) for one in values]


__all__ = ["send"]
