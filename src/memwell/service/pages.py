"""Serves the dashboard's files: the file for each path, and its headers.

The page itself stands at ``/``, its files under ``/dashboard/``. The page names them under a digest of all files, so a
browser keeps them for good and a new version has new addresses, without a build step.
"""

from __future__ import annotations

import gzip
import hashlib
import re
from functools import cache, cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable

FOLDER = files("memwell.service") / "dashboard"

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src blob:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""What the page may load: its own files, and no inline script."""

_SAFE = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
"""Headers that keep a browser from doing more with a file than it should."""

_MEDIA_TYPES = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_TEXT = "text/plain; charset=utf-8"
_PLACES = {"/": "index.html", "/index.html": "index.html", "/favicon.ico": "favicon.svg"}
_PREFIX = "/dashboard/"
_VERSIONED = re.compile(r"([0-9a-f]{16})/(.+)", re.DOTALL).fullmatch
_FOR_GOOD = "public, max-age=31536000, immutable"
_ASK_AGAIN = "no-cache"
_LEAST_PACKED = 256
"""Shorter files are not compressed."""


class DashboardFile:
    """One file of the dashboard, as it is served."""

    def __init__(self, body: bytes, media_type: str, cache_control: str) -> None:
        self.body = body
        self.media_type = media_type
        self.cache_control = cache_control

    @cached_property
    def etag(self) -> str:
        """The ETag of the content. It is weak: it stands for the compressed form too."""
        return f'W/"{hashlib.sha256(self.body).hexdigest()[:16]}"'

    @cached_property
    def gzipped(self) -> bytes | None:
        """The compressed content, or None when compression does not help."""
        if len(self.body) < _LEAST_PACKED:
            return None
        packed = gzip.compress(self.body, 9, mtime=0)
        return packed if len(packed) < len(self.body) else None

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the file, whether it is sent compressed, plain or not at all."""
        return {
            **_SAFE,
            "Content-Type": self.media_type,
            "Cache-Control": self.cache_control,
            "ETag": self.etag,
            "Vary": "Accept-Encoding",
        }

    def answer(self, *, accept_encoding: str = "", if_none_match: str = "") -> tuple[int, dict[str, str], bytes]:
        """The status, the headers and the body for a request with these two headers."""
        if self._is_known(if_none_match):
            return 304, self.headers, b""
        packed = self.gzipped if _takes_gzip(accept_encoding) else None
        if packed is None:
            return 200, self.headers, self.body
        return 200, {**self.headers, "Content-Encoding": "gzip"}, packed

    def _is_known(self, if_none_match: str) -> bool:
        marks = [mark.strip().removeprefix("W/") for mark in if_none_match.split(",")]
        return "*" in marks or self.etag.removeprefix("W/") in marks


def page(path: str) -> DashboardFile | None:
    """The file at a path, or None when it is not of the dashboard. No path leads out of the folder."""
    if path in _PLACES:
        return _file(_PLACES[path], _ASK_AGAIN)
    if not path.startswith(_PREFIX):
        return None
    name, kept = path.removeprefix(_PREFIX), _ASK_AGAIN
    if versioned := _VERSIONED(name):
        # A page that was opened before an upgrade still asks under the old digest; it gets what there is now.
        name, kept = versioned[2], _FOR_GOOD if versioned[1] == version() else _ASK_AGAIN
    return None if name == "index.html" else _file(name, kept)


@cache
def version() -> str:
    """The digest of all files of the dashboard."""
    digest = hashlib.sha256()
    for name, file in sorted(_all_files().items()):
        content = file.read_bytes()
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:16]


@cache
def _all_files() -> dict[str, Traversable]:
    return dict(_walk(FOLDER, ""))


def _walk(folder: Traversable, prefix: str) -> list[tuple[str, Traversable]]:
    found: list[tuple[str, Traversable]] = []
    for entry in folder.iterdir():
        if entry.is_dir():
            found += _walk(entry, f"{prefix}{entry.name}/")
        else:
            found.append((prefix + entry.name, entry))
    return found


def _file(name: str, cache_control: str) -> DashboardFile | None:
    # Not cached by the name asked for: that could be anything, any number of times.
    return _known_file(name, cache_control) if name in _all_files() else None


@cache
def _known_file(name: str, cache_control: str) -> DashboardFile:
    body = _all_files()[name].read_bytes()
    if name == "index.html":
        body = body.replace(b'"dashboard/', b'"dashboard/' + version().encode() + b"/")
    return DashboardFile(body, _MEDIA_TYPES.get(name.rpartition(".")[2], _TEXT), cache_control)


def _takes_gzip(accept_encoding: str) -> bool:
    for part in accept_encoding.split(","):
        coding, _, weight = part.partition(";")
        if coding.strip().lower() in ("gzip", "*"):
            return not re.fullmatch(r"\s*q=0(\.0*)?\s*", weight)
    return False
