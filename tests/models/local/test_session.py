"""A processor or a version without products of integers is noticed, and served all the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from memwell.errors import ModelError
from memwell.models.local import minilm
from memwell.models.local.minilm import MiniLM
from memwell.models.local.session import Session, multiplies_integers


def test_a_runtime_that_refuses_or_miscounts_is_noticed(monkeypatch: pytest.MonkeyPatch):
    assert multiplies_integers.__wrapped__()

    def refuses(session: Session, inputs: object) -> object:
        raise ModelError("not implemented")

    for run in (refuses, lambda session, inputs: np.full((3, 16), 100.0)):
        monkeypatch.setattr(Session, "run", run)
        assert not multiplies_integers.__wrapped__()


def test_what_the_runtime_raises_is_a_model_error():
    with pytest.raises(ModelError, match="onnxruntime failed"):
        Session(b"no graph")


def test_both_ways_give_the_same_directions(monkeypatch: pytest.MonkeyPatch):
    texts = ["Where does Anna work?", "My brother plays the violin."]
    fast = [MiniLM().embed(text) for text in texts]
    monkeypatch.setattr(minilm, "multiplies_integers", lambda: False)
    plain = [MiniLM().embed(text) for text in texts]
    assert all(one @ other > 0.997 for one, other in zip(fast, plain, strict=True))
    assert not np.array_equal(fast[0], plain[0])


def test_the_runtime_gathers_nothing_about_its_users(tmp_path: Path):
    code = "from memwell.models.local import LocalEmbedder; print(LocalEmbedder().embed(['quiet']).shape[0])"
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ORT_", "XDG_"))}
    child = subprocess.run(
        [sys.executable, "-c", code], env={**kept, "HOME": str(tmp_path)}, capture_output=True, text=True, check=True
    )
    assert child.stdout.strip() == "1"
    assert list(tmp_path.rglob("*onnxruntime*")) == []
