"""HTML pages: what a reader reads."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import UnreadableDocument
from memwell.knowledge.reading.webpages import declared_encoding, read_webpage, tags_and_texts

# HTML in tags and texts, whatever is wrong with it.


N = 20_000


def told(page: str) -> list[str]:
    return [token if isinstance(token, str) else f"<{'/' * token.end}{token.name}>" for token in tags_and_texts(page)]


def test_scripts_are_no_markup():
    assert told("<script>if (a<b) '<p>'</script>x<title>a<b</title>") == [
        "<script>", "</script>", "x", "<title>", "a<b", "</title>",
    ]  # fmt: skip
    assert told("<style>never closed <p>") == ["<style>"]


@given(st.text(alphabet="<>/!-=\"' ab&#;x1", max_size=60))
def test_texts_come_in_order_and_nothing_is_made_up(page: str):
    at = 0
    for token in tags_and_texts(page):
        if isinstance(token, str) and "&" not in token and "&" not in page:
            at = page.index(token, at) + len(token)
    assert at <= len(page)


@pytest.mark.parametrize(
    "page",
    [
        "<a " * N, "<" * N, "<!" * N, "<!--" * N, "<a b=\"x' " * N, "<a b='\">" * N, "<title>" * N, "<script>a</script" * N,
        "</" * N, '<a b="' * N + ">",
    ],
)  # fmt: skip
def test_broken_pages_take_no_longer_than_whole_ones(page: str):
    assert len(list(tags_and_texts(page))) <= len(page)


# What of a page nobody comes to read.


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
        ("heading", 1, "休假 2024"), ("paragraph", 0, "员工每年享有十天年假。\nSecond line."),
        ("list", 0, "- one\n  - inner\n- two"), ("list", 0, "1. first\n2. second"),
        ("table", 0, "kind | days\nsick | 30"), ("code", 0, "  a = 1\n    b"), ("paragraph", 0, "tail"),
    ]  # fmt: skip
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


@pytest.mark.parametrize(
    "tag",
    [
        'div style="display:none"', "p style='color: red; Display : NONE !important'", "span style=visibility:hidden",
        "button", 'div role="Search"', 'div role="navigation"', 'div role="dialog"', 'div role="contentinfo"',
    ],
)  # fmt: skip
def test_what_no_reader_reads_is_left_out(tag: str):
    name = tag.partition(" ")[0]
    noise = f"<{tag}>Noise <b>here</b></{name}>"
    assert read_webpage(f"<body>{noise}<h1>Leave</h1><p>Ten days.</p></body>").text == "Leave\n\nTen days."
    assert "Noise" in read_webpage(f"<body>{noise}</body>").text, "too much is better than nothing"


@pytest.mark.parametrize(
    "tag",
    [
        'h2 id="cookie"', 'div class="has-sidebar"', 'div id="menu"', 'main class="menu"', 'article role="banner"',
        'p style="display:block"',
    ],
)  # fmt: skip
def test_what_only_looks_like_it_stays(tag: str):
    name = tag.partition(" ")[0]
    assert (
        "Ten days." in read_webpage(f"<p>Leave is given to all who have worked here.</p><{tag}>Ten days.</{name}>").text
    )


def test_the_header_of_a_site_goes_and_that_of_an_article_stays():
    inner = "<article><header><h1>Leave</h1></header><p>Ten days.</p></article>"
    site = "<header><a>Our logo</a></header>"
    assert read_webpage(f"{site}<main>{inner}</main>").text == "Leave\n\nTen days."
    assert read_webpage(f"{site}{inner}").text == "Our logo\n\nLeave\n\nTen days."
    assert read_webpage(f"{site}<main></main>").text == "Our logo"
    assert "Ten days." in read_webpage("<header>logo<main><p>Short.</p></main><p>Ten days.</p>").text
    own = read_webpage('<main><article><header class="banner"><h1>Leave</h1></header><p>Ten.</p></article></main>')
    assert own.text == "Leave\n\nTen."


def test_a_question_that_is_pressed_to_see_its_answer_stays():
    page = "<h3><button>How many days?</button></h3><p>Ten days.</p><button>Send</button>"
    assert read_webpage(page).text == "How many days?\n\nTen days."
    assert read_webpage("<p>All in <button>Copy</button> one line.").text == "All in one line."


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
