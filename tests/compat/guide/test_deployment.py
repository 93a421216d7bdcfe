"""Files for production, and the choice of a database."""

from __future__ import annotations

import ast
import itertools
import json
from html.parser import HTMLParser
from pathlib import Path

import pytest
import yaml

import memwell
from memwell.compat.guide.conversations import ConversationMemory
from memwell.compat.guide.deployment import ProductionDeployment, VectorDatabaseComparison
from memwell.errors import Conflict, FileError, InvalidInput, NotFound
from memwell.runtime.metrics import Metrics


def test_nothing_but_the_application_is_reachable_and_no_password_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    assert "docker-compose.yml" in ProductionDeployment.create_docker_compose()
    compose = yaml.safe_load((tmp_path / "docker-compose.yml").read_text(encoding="utf-8"))
    services = compose["services"]
    named = {one.split(":")[0] for service in services.values() for one in service["volumes"]}
    assert named == set(compose["volumes"])
    assert set(services["app"]["depends_on"]) == {name for name, one in services.items() if "healthcheck" in one}
    assert {name: one.get("ports") for name, one in services.items()} == {
        "app": ["127.0.0.1:8000:8000"],
        "db": None,
        "redis": None,
    }
    assert services["db"]["environment"]["POSTGRES_PASSWORD"].startswith("${")


def test_a_file_of_somebody_else_is_not_written_over(tmp_path: Path):
    path = tmp_path / "docker-compose.yml"
    path.write_text("services: {}\n", encoding="utf-8")
    with pytest.raises(Conflict, match="there already"):
        ProductionDeployment.create_docker_compose(path)
    assert path.read_text(encoding="utf-8") == "services: {}\n"
    path.unlink()
    ProductionDeployment.create_docker_compose(path)
    assert ProductionDeployment.create_docker_compose(path), "its own is written again"
    with pytest.raises(FileError):
        ProductionDeployment.create_docker_compose(tmp_path / "nowhere" / "compose.yml")


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)


@pytest.mark.parametrize(("language", "word"), [("zh", "知识库文档"), ("en", "documents")])
def test_the_dashboard_has_the_figures_of_the_service(tmp_path: Path, language: str, word: str):
    store, path = tmp_path / "app.db", tmp_path / "dashboard.html"
    with memwell.open(store, embedder=None) as m:
        m.remember("Ann likes green tea.")
        m.thread("chat").add_human("hello")
        ProductionDeployment.create_monitoring_dashboard(str(store), path, language=language)
        assert path.read_text(encoding="utf-8").count("–") == 4, "what was not counted is not made up"
        metrics = Metrics(m.backend)
        metrics.observe("recall", "recall", 0.05, status=200, space=m.space)
        metrics.flush()
    said = ProductionDeployment.create_monitoring_dashboard(str(store), path, language=language)
    written = path.read_text(encoding="utf-8")
    assert str(path) in said
    assert f"<th>{word}</th>" in written
    assert "100.00%" in written
    reader = _Tags()
    reader.feed(written)
    assert {"script", "img", "link", "iframe"}.isdisjoint(reader.tags)
    with pytest.raises(InvalidInput, match="not 'fr'"):
        ProductionDeployment.create_monitoring_dashboard(str(store), path, language="fr")


def test_the_dashboard_counts_every_conversation_and_what_is_not_indexed_yet(tmp_path: Path):
    store, path = tmp_path / "talk.db", tmp_path / "page.html"
    with ConversationMemory(store) as memory:
        for number, (session, user) in enumerate(
            [("s1", "u1"), ("s1", "u1"), ("s1", "u1"), ("s2", "u1"), ("s1", "u2")]
        ):
            memory.store_conversation(session, user, f"Question {number}?", f"Answer {number}.")
        ProductionDeployment.create_monitoring_dashboard(str(store), path, language="en")
    written = path.read_text(encoding="utf-8")
    counts = (("sessions", 3), ("conversations", 5), ("messages", 10), ("memories", 10), ("active users, 7 days", 2))
    for label, count in counts:
        assert f"<th>{label}</th><td>{count}</td>" in written, label


def test_looking_makes_no_store(tmp_path: Path):
    with pytest.raises(NotFound, match="no store"):
        ProductionDeployment.create_monitoring_dashboard(str(tmp_path / "none.db"), tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []


USES = ("原型开发", "生产环境", "企业应用", "实时应用", "边缘设备", "Production", "enterprise", "edge")
SCALES = ("小", "中", "大", "small", "Medium", "large")


def test_every_use_and_scale_has_a_database_with_details_reason_and_guide():
    comparison = VectorDatabaseComparison()
    for use, scale in itertools.product(USES, SCALES):
        found = comparison.get_recommendation(use, scale)
        assert found["details"] == comparison.databases[found["database"]], (use, scale)
        assert found["reason"], (use, scale)
        assert found["alternatives"], (use, scale)
        assert found["database"] not in found["alternatives"], (use, scale)
        assert set(found["alternatives"]) <= set(comparison.databases), (use, scale)
        assert json.loads(json.dumps(found, ensure_ascii=False)) == found, (use, scale)
    assert comparison.get_recommendation("production", "medium") == comparison.get_recommendation("生产环境", "中")


@pytest.mark.parametrize(("use", "scale"), [("写诗", "中"), ("生产环境", "巨大"), ("", ""), (None, "中")])
def test_what_is_not_known_is_an_error_and_not_a_guess(use: str, scale: str):
    with pytest.raises(InvalidInput, match="known: "):
        VectorDatabaseComparison().get_recommendation(use, scale)


def test_every_database_has_a_guide_and_the_python_of_it_is_python():
    comparison = VectorDatabaseComparison()
    for name in comparison.databases:
        guide = comparison.get_setup_guide(name)
        assert "pip install" in guide
        if "CREATE" not in guide:
            assert ast.parse(guide).body, name
    with pytest.raises(InvalidInput, match="no set-up guide for 'Nobody'"):
        comparison.get_setup_guide("Nobody")
