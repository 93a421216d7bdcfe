"""The dashboard's files: what is served where, and that nothing else ever is."""

from __future__ import annotations

import gzip
import re

from hypothesis import given
from hypothesis import strategies as st

from memwell.service.pages import CONTENT_SECURITY_POLICY, FOLDER, page, version


def test_the_page_names_its_files_under_a_digest_and_they_are_kept_for_good() -> None:
    index = page("/")
    assert index is not None
    assert index.media_type.startswith("text/html")
    assert index.cache_control == "no-cache"
    named = re.findall(r'(?:src|href)="(dashboard/[^"]+)"', index.body.decode())
    assert len(named) > 5
    for name in named:
        assert name.startswith(f"dashboard/{version()}/")
        file = page(f"/{name}")
        assert file is not None
        assert "immutable" in file.cache_control


def test_what_an_older_page_asks_for_is_there_but_not_kept() -> None:
    old = page("/dashboard/0123456789abcdef/js/app.js")
    assert old is not None
    assert old.cache_control == "no-cache"
    assert old.body == (FOLDER / "js" / "app.js").read_bytes()


def test_a_file_is_sent_packed_plain_or_not_at_all() -> None:
    script = page("/dashboard/js/app.js")
    assert script is not None
    status, headers, body = script.answer(accept_encoding="br, gzip;q=0.5")
    assert (status, headers["Content-Encoding"], gzip.decompress(body)) == (200, "gzip", script.body)
    assert script.answer(accept_encoding="gzip;q=0, br") == (200, script.headers, script.body)
    assert script.answer(if_none_match=f'"other", {script.etag}') == (304, script.headers, b"")
    assert script.answer(if_none_match='"other"')[0] == 200


def test_every_answer_tells_the_browser_the_policy() -> None:
    index = page("/")
    assert index is not None
    assert index.headers["Content-Security-Policy"] == CONTENT_SECURITY_POLICY
    assert "unsafe" not in CONTENT_SECURITY_POLICY
    assert b" style=" not in index.body
    assert not re.search(rb"<script(?![^>]* src=)|\son\w+=|https?://", index.body)


def test_no_script_makes_html_of_text() -> None:
    """Text becomes part of a page only as text; and nothing is asked of another host."""
    files = list((FOLDER / "js").rglob("*.js"))  # type: ignore[attr-defined]
    assert files
    for file in files:
        code = file.read_text()
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", code), (
            file
        )
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", code), file


def test_vendored_code_has_its_licence_and_version_beside_it() -> None:
    uplot = FOLDER / "vendor" / "uplot"
    assert "Leon Sorokin" in (uplot / "LICENSE").read_text()
    told = re.search(r"uPlot ([\d.]+)", (uplot / "VERSION").read_text())
    assert told is not None
    assert f"(v{told[1]})" in (uplot / "uPlot.iife.min.js").read_text()[:100]


@given(
    st.lists(st.sampled_from(["..", ".", "", "js", "css", "app.js", "pages.py", "0123456789abcdef", "%2e%2e", "\\"]))
)
def test_whatever_is_asked_for_only_files_of_the_folder_are_served(parts: list[str]) -> None:
    found = page("/dashboard/" + "/".join(parts))
    assert (found is not None) == (parts in (["js", "app.js"], ["0123456789abcdef", "js", "app.js"]))
