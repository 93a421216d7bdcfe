from __future__ import annotations

from pathlib import Path

import pytest
import yaml

import memwell
from memwell.compat.guide.deployment import ProductionDeployment
from memwell.errors import Conflict, FileError, NotFound


def test_the_compose_file_is_sound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    said = ProductionDeployment.create_docker_compose()
    assert "docker-compose.yml" in said
    compose = yaml.safe_load((tmp_path / "docker-compose.yml").read_text(encoding="utf-8"))
    services = compose["services"]
    assert set(services) == {"app", "db", "redis"}
    named = {one.split(":")[0] for service in services.values() for one in service["volumes"]}
    assert named == set(compose["volumes"])
    assert set(services["app"]["depends_on"]) == {name for name, one in services.items() if "healthcheck" in one}


def test_nothing_but_the_application_is_reachable_and_no_password_is_written(tmp_path: Path):
    path = tmp_path / "compose.yml"
    ProductionDeployment.create_docker_compose(path)
    services = yaml.safe_load(path.read_text(encoding="utf-8"))["services"]
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


@pytest.mark.parametrize(("language", "word"), [("zh", "知识库文档"), ("en", "documents")])
def test_the_dashboard_shows_the_store(tmp_path: Path, language: str, word: str):
    store = tmp_path / "app.db"
    with memwell.open(store) as m:
        m.remember("Ann likes green tea.")
    path = tmp_path / "dashboard.html"
    said = ProductionDeployment.create_monitoring_dashboard(str(store), path, language=language)
    assert str(path) in said
    assert word in path.read_text(encoding="utf-8")


def test_looking_makes_no_store(tmp_path: Path):
    with pytest.raises(NotFound, match="no store"):
        ProductionDeployment.create_monitoring_dashboard(str(tmp_path / "none.db"), tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []
