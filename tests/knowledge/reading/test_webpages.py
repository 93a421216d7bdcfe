"""HTML pages: what a reader reads."""

from __future__ import annotations

import pytest

from memwell.errors import UnreadableDocument
from memwell.knowledge.reading.webpages import declared_encoding, read_webpage

PAGE = """<!doctype html><html lang="zh-CN"><head><title>员工 &amp; 手册</title>
<meta name="author" content="人事部"><meta property="og:description" content="About leave"><style>p{}</style></head>
<body><nav><ul><li><a href="/">Home</a></ul></nav><div role="banner">Logo</div><div hidden>secret</div>
<h1>休假 <small>2024</small></h1><p>员工每年
享有<b>十</b>天年假。<br>Second line.</p>
<ul><li>one<ul><li>inner</ul><li>two</ul><ol><li>first<li>second</ol>
<table><tr><th>kind<th>days</tr><tr><td>sick<td>30</table>
<pre>  a = 1
    b</pre>tail<script>x < y</script><footer>© us</footer></body></html>"""


def kinds(page: str) -> list[tuple[str, int, str]]:
    parsed = read_webpage(page)
    return [(block.kind, block.level, parsed.text[block.start : block.end]) for block in parsed.blocks]


def test_a_page_with_everything():
    assert kinds(PAGE) == [
        ("heading", 1, "休假 2024"),
        ("paragraph", 0, "员工每年享有十天年假。\nSecond line."),
        ("list", 0, "- one\n  - inner\n- two"),
        ("list", 0, "1. first\n2. second"),
        ("table", 0, "kind | days\nsick | 30"),
        ("code", 0, "  a = 1\n    b"),
        ("paragraph", 0, "tail"),
    ]
    parsed = read_webpage(PAGE)
    assert parsed.title == "员工 & 手册"
    assert parsed.metadata == {"language": "zh-CN", "author": "人事部", "description": "About leave"}


def test_the_main_part_is_enough_when_there_is_one():
    text = "The rule is long enough to be the page. " * 6
    assert read_webpage(f"<div>Cookies!</div><main><p>{text}</p></main>").text == text.strip()
    assert "Cookies" in read_webpage("<div>Cookies!</div><main><p>Short.</p></main>").text


def test_a_menu_that_never_ends_does_not_swallow_the_page():
    assert "the text" in read_webpage("<nav><a>Home</a><p>the text").text
    assert read_webpage("<nav>only a menu</nav>").text == "only a menu"


def test_nested_menus_end_where_they_end():
    assert read_webpage("<nav><div><nav>a</nav></div>b</nav><p>kept").text == "kept"


def test_tables_for_layout_are_text():
    page = "<table><tr><td>left<td><table><tr><td>k<td>v<tr><td>1<td>2</table></table>"
    assert [kind for kind, _, _ in kinds(page)] == ["paragraph", "table"]


@pytest.mark.parametrize("tag", ["div", "ul", "table", "pre", "b", "h1", "main", "li", "td", "title"])
def test_depth_is_no_danger(tag: str):
    depth = 100_000 if tag == "div" else 5_000
    page = f"<{tag}>" * depth + "<p>deep</p>" + f"</{tag}>" * depth + "<p>after"
    if tag == "title":
        page = page.replace("<p>deep</p>", "</title><p>deep</p>", 1)
    assert "deep" in read_webpage(page).text


def test_a_page_that_a_script_makes_says_so():
    with pytest.raises(UnreadableDocument, match="script"):
        read_webpage("<div id=root></div><script src=app.js></script>")


def test_a_page_says_its_encoding():
    assert declared_encoding(b'<meta charset="GBK">') == "GBK"
    assert declared_encoding(b'<meta http-equiv=Content-Type content="text/html; charset=big5">') == "big5"
    assert declared_encoding(b"<p>charset=x") is None
