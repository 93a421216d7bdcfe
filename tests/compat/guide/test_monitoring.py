from __future__ import annotations

from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser

import pytest
from msgspec.structs import replace

import memwell
from memwell.compat.guide.monitoring import measure, page
from memwell.errors import InvalidInput


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory):
    with memwell.open(tmp_path_factory.mktemp("store") / "app.db", work=False) as m:
        now = datetime.now(UTC)
        for user, ages in {"ann": (0, 1, 1), "bo": (9,), "cleo": (40,)}.items():
            for number, age in enumerate(ages):
                text = f"{user} planted {('roses', 'tulips', 'herbs')[number]} beside the garden wall"
                m.at(user).remember(text, time=now - timedelta(days=age))
            m.at(user).thread("chat").add_human("hello")
            m.at(user).flush()
        m.at("ann").knowledge.add("Water the roses in the evening.", title="Roses")
        yield m


def test_the_figures_are_those_of_the_store(engine: memwell.Engine):
    found = measure(engine)
    assert (found.users, found.active_users, found.active_before) == (3, 1, 1)
    assert (found.memories, found.conversations, found.documents) == (5, 3, 1)
    assert sum(count for _, count in found.days) == 3
    assert len(found.days) == 7
    assert found.days[-1][1] == 1
    assert found.problems == ()


def test_times_and_quality_are_measured(engine: memwell.Engine):
    found = measure(engine)
    assert found.asked == len(found.recall_ms) == 2
    assert found.found == 2
    assert found.p50_ms is not None
    assert found.p95_ms is not None
    assert 0 < found.p50_ms <= found.p95_ms <= max(found.recall_ms)


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_page_stands_alone_and_nothing_in_it_is_markup(engine: memwell.Engine, language: str):
    figures = replace(measure(engine), problems=("<script>alert(1)</script>",), recall_ms=(), asked=0, found=0)
    written = page(figures, language)
    reader = _Tags()
    reader.feed(written)
    assert {"script", "img", "link", "iframe"}.isdisjoint(reader.tags)
    assert reader.tags.count("rect") == 7
    assert "http" not in written.replace("http-equiv", "")
    assert "–" in written, "what was not measured is not made up"


def test_another_language_is_refused(engine: memwell.Engine):
    with pytest.raises(InvalidInput):
        page(measure(engine), "fr")
