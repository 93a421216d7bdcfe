"""One graph, ready to be run by onnxruntime on the processor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, cast

import numpy as np

from memwell._native import native_calls
from memwell._products import product
from memwell.errors import ModelError
from memwell.models.local.graph import Floats, Graph, rounded
from memwell.models.local.weights import imported
from memwell.settings import refuse_telemetry
from memwell.values import shown

THREADS = 1
"""Threads that one text is embedded with. More make it little faster and take the cores from everybody else."""


class Session:
    """A loaded graph of one output. Raises ``MissingDependency`` when onnxruntime is not installed."""

    def __init__(self, model: bytes) -> None:
        # Any: the package has types for hardly any of this.
        refuse_telemetry()
        runtime: Any = imported("onnxruntime", "onnxruntime")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = THREADS
        options.inter_op_num_threads = 1
        # It would print its errors, which are raised anyway.
        options.log_severity_level = 4
        self._session: Any = _translated(runtime.InferenceSession, model, options, providers=["CPUExecutionProvider"])

    def run(self, inputs: Mapping[str, Floats]) -> Floats:
        """The output for these inputs. It may be called from several threads. Raises ``ModelError``."""
        return cast(Floats, _translated(self._session.run, None, dict(inputs))[0])


def _translated(call: Callable[..., Any], *args: Any, **options: Any) -> Any:
    try:
        with native_calls:
            return call(*args, **options)
    except Exception as error:
        # Its errors have no class in common but this one.
        raise ModelError(f"onnxruntime failed: {shown(str(error))}") from error


@cache
def multiplies_integers() -> bool:
    """Whether this onnxruntime has the products of integers for this processor, found out by making one."""
    random = np.random.default_rng(0)
    matrix, x = random.normal(size=(128, 16)).astype(np.float32), random.normal(size=(3, 128)).astype(np.float32)
    graph = Graph()
    out = graph.product("x", rounded(matrix))
    try:
        found = Session(graph.model({"x": ["rows", 128]}, {out: ["rows", 16]})).run({"x": x})
    except ModelError:
        return False
    return bool(np.abs(found - product(x, matrix)).max() < 1.0)


__all__ = ["THREADS", "Session", "multiplies_integers"]
