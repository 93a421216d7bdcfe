from __future__ import annotations

from pathlib import Path

import pytest

from tests.examples.running import Printed


@pytest.mark.parametrize(
    ("language", "alert", "cause", "count"),
    [
        ("en", "ALERT 2025-03-14", "outage", "Alerts in two weeks: 1"),
        ("zh", "警报 2025-03-14", "系统故障", "两周内的警报：1 次"),
    ],
)
def test_the_surge_raises_one_alert_that_names_its_cause(
    tmp_path: Path, printed: Printed, language: str, alert: str, cause: str, count: str
):
    said = printed("opinion_monitoring.py", tmp_path, "--language", language)
    assert list(tmp_path.iterdir()) == [], "it leaves nothing behind"
    assert said.count("  ! ") == 1
    told = said.partition("  ! ")[2].splitlines()
    assert told[0].startswith(alert)
    assert cause in told[1]
    assert any(cause in line for line in told[3:6]), "the evidence speaks of it"
    assert count in said
