"""DOCX: structure by styles, and zips that explode."""

from __future__ import annotations

import io
import zipfile

import docx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import UnreadableDocument
from memwell.knowledge.documents import Parsed
from memwell.knowledge.reading import word
from memwell.knowledge.reading.word import heading_level, read_word

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def packed(body: str, **parts: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", f"<w:document {W}><w:body>{body}</w:body></w:document>")
        for name, content in parts.items():
            archive.writestr(f"word/{name}.xml", content)
    return stream.getvalue()


def run(text: str) -> str:
    return f"<w:r><w:t>{text}</w:t></w:r>"


def kinds(parsed: Parsed) -> list[tuple[str, int, str]]:
    return [(block.kind, block.level, parsed.text[block.start : block.end]) for block in parsed.blocks]


def test_what_a_real_writer_writes():
    made = docx.Document()
    made.core_properties.title, made.core_properties.author = "手册", "Ada"
    made.add_heading("Leave", 1)
    made.add_paragraph("员工每年有十天年假。")
    for item in ("one", "two"):
        made.add_paragraph(item, style="List Bullet")
    table = made.add_table(2, 2)
    for place, text in enumerate(["kind", "days", "sick", "30"]):
        table.cell(place // 2, place % 2).text = text
    made.add_heading("Pay", 2)
    made.add_paragraph("Monthly.")
    stream = io.BytesIO()
    made.save(stream)
    parsed = read_word(stream.getvalue())
    assert kinds(parsed) == [
        ("heading", 1, "Leave"), ("paragraph", 0, "员工每年有十天年假。"), ("list", 0, "- one\n- two"),
        ("table", 0, "kind | days\nsick | 30"), ("heading", 2, "Pay"), ("paragraph", 0, "Monthly."),
    ]  # fmt: skip
    assert parsed.title == "手册"
    assert parsed.metadata["author"] == "Ada"


def test_styles_are_known_by_name_and_by_what_they_are_based_on():
    styles = (
        f'<w:styles {W}><w:style w:styleId="2"><w:name w:val="heading 2"/></w:style>'
        '<w:style w:styleId="mine"><w:name w:val="Mine"/><w:basedOn w:val="2"/></w:style>'
        '<w:style w:styleId="loop"><w:basedOn w:val="loop"/></w:style></w:styles>'
    )
    body = "".join(
        f'<w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr>{run(style)}</w:p>' for style in ("2", "mine", "loop")
    )
    assert kinds(read_word(packed(body, styles=styles))) == [
        ("heading", 2, "2"),
        ("heading", 2, "mine"),
        ("paragraph", 0, "loop"),
    ]
    assert [heading_level(name) for name in ("heading 3", "标题 1", "Title", "Normal")] == [3, 1, 1, 0]


def test_what_was_deleted_or_stands_twice_is_left_out():
    body = (
        f"<w:p>{run('kept')}<w:del>{run('gone')}</w:del><w:r><w:tab/><w:t>tab</w:t><w:br/><w:t>line</w:t></w:r></w:p>"
        "<w:p><mc:AlternateContent xmlns:mc='x'><mc:Choice><w:txbxContent>"
        f"<w:p>{run('box')}</w:p></w:txbxContent></mc:Choice>"
        f"<mc:Fallback><w:p>{run('box')}</w:p></mc:Fallback></mc:AlternateContent>{run('around')}</w:p>"
    )
    notes = f"<w:footnotes {W}><w:footnote><w:p>{run('a note')}</w:p></w:footnote></w:footnotes>"
    texts = [text for _, _, text in kinds(read_word(packed(body, footnotes=notes)))]
    assert texts == ["kept\ttab\nline", "box", "around", "a note"]


def test_a_bomb_is_not_unpacked(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(word, "MOST_UNPACKED", 1_000_000)
    data = packed(f"<w:p>{run('a' * 20_000_000)}</w:p>")
    assert len(data) < 100_000
    with pytest.raises(UnreadableDocument, match="1,000,000") as refused:
        read_word(data)
    assert refused.value.reason == "too-large"


@pytest.mark.parametrize(
    "xml",
    [
        '<!DOCTYPE a [<!ENTITY x "ha">]><w:document xmlns:w="w"><w:p><w:r><w:t>&x;</w:t></w:r></w:p></w:document>',
        "<w:document xmlns:w='w'>" + "<w:p>" * 100_000,
        "<w:document",
        "",
    ],
)
def test_bad_xml_is_refused(xml: str):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("word/document.xml", xml)
    with pytest.raises(UnreadableDocument):
        read_word(stream.getvalue())


@given(cut=st.floats(0.0, 1.0), flips=st.lists(st.tuples(st.floats(0.0, 0.999), st.integers(0, 255)), max_size=6))
def test_damage_is_refused_or_read_around(cut: float, flips: list[tuple[float, int]]):
    data = bytearray(packed(f"<w:p>{run('hello')}</w:p>"))
    for place, value in flips:
        data[int(place * len(data))] = value
    try:
        outcome = "read" if read_word(bytes(data[: int(cut * len(data))])).blocks else "nothing"
    except UnreadableDocument as refused:
        outcome = refused.reason
    assert outcome in {"read", "broken", "no-text", "encrypted"}
