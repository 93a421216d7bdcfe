"""The overview: what was learnt, what was asked and how well it was answered, and what needs attention."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from memwell.errors import FileError
from memwell.longterm.base import utc_now
from memwell.records import Space
from memwell.service.jobs import Report
from tests.service.browser.conftest import House, Visit
from tests.service.waiting import until

Begin = Callable[..., Visit]
SPACE = Space("acme", "seen")


@pytest.fixture(scope="module")
def seen(house: House) -> str:
    """The key of a space that was asked three times, once in vain, and holds a contradiction and a failed job."""
    memory = house.service.memory_of(SPACE)
    memory.remember("The printer is on the third floor.", speaker="Ann", id="printer")
    memory.remember("My birthday is on 3 May 1990.", speaker="Dora", id="third")
    memory.remember("My birthday is on 4 June 1991.", speaker="Dora", id="fourth")
    # Said long ago and learnt today.
    memory.remember("The lift is out of order.", time=utc_now() - timedelta(days=400))
    memory.flush()

    def fails(report: Report) -> None:
        raise FileError("the disk of the export is full")

    job = house.service.jobs.start(SPACE, "export", fails)
    assert until(lambda: house.service.jobs.get(SPACE, job.id).status == "failed")
    _, token = house.service.keys.create("seen", space=SPACE, scopes=["read", "write"])
    return token


def _asked(here: Visit, token: str) -> None:
    for query in ("where is the printer?", "when is Dora's birthday?", "hunter2"):
        answer = here.page.request.post(
            f"{here.house.address}/v1/recall", headers={"Authorization": f"Bearer {token}"}, data={"query": query}
        )
        assert answer.ok


def test_the_overview_answers_three_questions(visit: Begin, seen: str) -> None:
    here = visit()
    _asked(here, seen)
    here.enter("/overview", key=seen)
    here.settle()
    assert here.page.locator(".question > h2").all_inner_texts() == [
        "What was learnt?", "What was asked, and how well was it answered?", "What needs attention?",
    ]  # fmt: skip
    assert "The printer is on the third floor." in here.page.inner_text("[data-part=learnt]")
    assert "4 stored in this time" in here.page.inner_text("[data-part=learnt]")
    tiles = dict(
        zip(
            here.page.locator("[data-part=asked] dt").all_inner_texts(),
            here.page.locator("[data-part=asked] dd:nth-child(2)").all_inner_texts(),
            strict=True,
        )
    )
    assert tiles["Empty answers"] == "33.3%"
    assert tiles["Recalls"] == "3"
    assert 0 < int(tiles["Relevance"].rstrip("%")) <= 100


def test_a_contradiction_and_a_failed_job_are_told_in_words(visit: Begin, seen: str) -> None:
    """With the texts of both sides, not their ids."""
    here = visit()
    here.enter("/overview", key=seen)
    clash = here.page.locator("[data-need=contradictions] li", has_text="4 June 1991")
    clash.get_by_text("“My birthday is on 3 May 1990.”").wait_for()
    assert "Dora birthday" in clash.inner_text()
    assert clash.locator("strong").all_inner_texts() == ["4 June 1991", "3 May 1990"]
    assert "Export: the disk of the export is full" in here.page.inner_text("[data-need=jobs]")


def test_what_a_person_asks_on_the_page_is_not_counted_as_an_answer(visit: Begin, seen: str) -> None:
    here = visit()
    _asked(here, seen)
    figures = "key => fetch('v1/figures', { headers: { Authorization: `Bearer ${key}` } }).then(told => told.json())"
    here.enter("/overview", key=seen)
    before = here.page.evaluate(figures, seen)["answers"]["count"]
    here.go("/memories?q=printer")
    assert here.page.evaluate(figures, seen)["answers"]["count"] == before


def test_a_chart_joins_no_points_across_a_gap(visit: Begin) -> None:
    """Where nothing was measured there is no line, and a figure without a neighbour is a dot."""
    here = visit()
    here.enter("/overview")
    drawn = here.page.evaluate(
        """async () => {
          const { trend } = await import(document.querySelector('script[type=module]').src.replace('app.js', 'chart.js'));
          const stop = new AbortController();
          const made = trend({ title: 'x', quiet: '', signal: stop.signal });
          document.body.append(made.node);
          const values = [1, 2, 3, null, null, 4, null, 5, 6];
          const series = [{ name: 'a', colour: '--c1', write: String, values }];
          made.update({ span: '1h', times: values.map((_, at) => 1e9 + 60 * at), series });
          const lines = [...made.node.querySelectorAll('[data-series] path')]
            .map(path => path.getAttribute('d').match(/[ML]/g).length);
          const dots = made.node.querySelectorAll('[data-series] circle').length;
          stop.abort();
          made.node.remove();
          return [lines, dots];
        }"""
    )
    assert drawn == [[3, 2], 1]


def test_the_steps_of_a_chart_are_round_and_no_share_is_above_the_whole(visit: Begin) -> None:
    here = visit()
    here.enter("/overview")
    steps = here.page.evaluate(
        """async () => {
          const { trend } = await import(document.querySelector('script[type=module]').src.replace('app.js', 'chart.js'));
          const stop = new AbortController();
          const shown = (values, more) => {
            const made = trend({ title: 'x', quiet: '', signal: stop.signal });
            document.body.append(made.node);
            const series = [{ name: 'a', colour: '--c1', write: String, values, ...more }];
            made.update({ span: '1h', times: values.map((_, at) => 1e9 + 60 * at), series });
            const told = [...made.node.querySelectorAll('.tick[text-anchor=end]')].map(tick => Number(tick.textContent));
            made.node.remove();
            return told;
          };
          const counts = { bars: 1, told: 'sum' };
          const shares = { limit: 1 };
          return [...[[1, 0], [8, 3], [17]].map(few => shown(few, counts)), shown([1, 0.4], shares), shown([0.93], shares)];
        }"""
    )
    assert steps == [[0, 1, 2, 3, 4], [0, 5, 10], [0, 5, 10, 15, 20], [0, 0.5, 1], [0, 0.5, 1]]
