"""A release of this clone: built twice, installed into empty environments without an index, and listed in full.

``make test`` downloads what the packages need into ``.venv/wheels`` before.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tarfile
import time
import tomllib
import zipfile
from email import message_from_bytes
from http.client import HTTPConnection
from pathlib import Path
from typing import NamedTuple

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from deploy import release

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
VERSION = PROJECT["project"]["version"]
pytestmark = pytest.mark.timeout(600)  # Packages are built and installed.
EPOCH = 1_700_000_000


class Built(NamedTuple):
    wheel: Path
    sdist: Path


def source(folder: Path) -> Path:
    """A copy of what the packages are built from, in the order and with the rights of another file system."""
    names = ["pyproject.toml", "README.md", "LICENSE", ".gitignore"]
    names += [name.strip("/") for name in PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]]
    for name in reversed(names):
        path = ROOT / name
        if path.is_dir():
            shutil.copytree(path, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.db*"))
        else:
            folder.mkdir(exist_ok=True)
            shutil.copyfile(path, folder / name)
    return folder


@pytest.fixture(scope="session")
def wheels() -> Path:
    folder = Path(os.environ.get("MEMWELL_TEST_WHEELS", ROOT / ".venv" / "wheels"))
    if not folder.is_dir():
        pytest.skip("the packages that memwell needs were not downloaded: make test does it")
    return folder


@pytest.fixture(scope="session")
def built(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("built")
    return Built(*release.build(source(folder / "source"), folder / "dist", epoch=EPOCH, wheels=wheels))


@pytest.fixture(scope="session")
def environment(built: Built, wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with the wheel and what it needs."""
    return release.install(sys.executable, tmp_path_factory.mktemp("environment"), built.wheel, wheels=wheels)


def test_two_builds_are_the_same_bytes(
    built: Built, wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = source(tmp_path / "elsewhere")
    for path in again.rglob("*"):
        path.chmod(path.stat().st_mode & 0o700)
        os.utime(path, (1, 1))
    monkeypatch.setenv("TZ", "Asia/Shanghai")
    monkeypatch.setenv("LC_ALL", "C")
    other = Built(*release.build(again, tmp_path / "dist", epoch=EPOCH, wheels=wheels))
    assert [one.name for one in other] == [one.name for one in built]
    assert other.wheel.read_bytes() == built.wheel.read_bytes()
    assert other.sdist.read_bytes() == built.sdist.read_bytes()


def test_the_packages_hold_what_they_must_and_nothing_else(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as packed:
        names = packed.namelist()
        metadata = message_from_bytes(packed.read(f"memwell-{VERSION}.dist-info/METADATA"))
    assert "memwell/py.typed" in names
    assert {name.partition("/")[0] for name in names} == {"memwell", f"memwell-{VERSION}.dist-info"}
    licences = metadata.get_all("License-File", [])
    assert [Path(name).name for name in licences] == ["LICENSE", "vocabulary.LICENSE.txt", "vocabulary.NOTICE.txt"]
    assert {f"memwell-{VERSION}.dist-info/licenses/{name}" for name in licences} <= set(names)
    assert metadata["License-Expression"] == "Apache-2.0"
    with tarfile.open(built.sdist) as packed:
        top = {name.split("/")[1] for name in packed.getnames()}
    assert {"src", "tests", "docs", "deploy", "LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml"} <= top
    assert not {".git", ".venv", "dist", "benchmarks"} & top


def test_the_wheel_works_in_an_empty_environment(environment: Path, tmp_path: Path) -> None:
    # ``make release`` tries it with every version of Python that is there.
    release.attempt(environment, tmp_path)
    assert (tmp_path / "app.db").is_file()


def test_the_sdist_works_in_an_empty_environment(built: Built, wheels: Path, tmp_path: Path) -> None:
    inside = release.install(sys.executable, tmp_path / "environment", built.sdist, wheels=wheels)
    release.attempt(inside, tmp_path)
    assert (tmp_path / "app.db").is_file()


def test_what_does_not_work_is_no_release(environment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release, "project", lambda: {"version": "9.9.9"})
    with pytest.raises(SystemExit, match=f"AssertionError: {re.escape(VERSION)}"):
        release.attempt(environment, tmp_path)


def test_the_bill_of_materials_names_all_that_is_installed(built: Built, environment: Path) -> None:
    bill = release.bill(built.wheel, environment, epoch=EPOCH)
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(bill)) is None
    frozen = subprocess.run(
        [environment, "-I", "-m", "pip", "list", "--format=json"], capture_output=True, text=True, check=True
    )
    installed = {one["name"].lower(): one["version"] for one in json.loads(frozen.stdout)}
    itself, others = bill["metadata"]["component"], bill["components"]
    named = {one["name"].lower(): one["version"] for one in [itself, *others]}
    assert named == {name: version for name, version in installed.items() if name not in ("pip", "setuptools")}
    assert itself["hashes"][0]["content"] == hashlib.sha256(built.wheel.read_bytes()).hexdigest()
    weights = {Path(one["name"]).name for one in itself["components"]}
    assert weights == {
        "encoder.npz",
        "questions.npz",
        "reader.npz",
        "reader_zh.npz",
        "superseding.npz",
        "vocabulary.txt",
    }
    assert [one["name"] for one in others if "licenses" not in one] == []
    needed = {one["ref"]: one["dependsOn"] for one in bill["dependencies"]}
    assert len(needed[itself["purl"]]) == len(
        [one for one in PROJECT["project"]["dependencies"] if "3.14" not in one or "<" in one.partition(";")[2]]
    )


def test_a_version_has_a_note() -> None:
    changelog = "# Changelog\n\n## 0.2.0 (2026-11-18)\n\n- Walls.\n\n## 0.1.0\n\n- The first.\n"
    assert release.note(changelog, "0.2.0") == "## 0.2.0 (2026-11-18)\n\n- Walls.\n\n"
    assert release.note(changelog, "0.1.0") == "## 0.1.0\n\n- The first.\n"
    with pytest.raises(SystemExit, match=r"no section '## 0\.2'"):
        release.note(changelog, "0.2")


def test_the_image_s_steps_work_without_a_container(wheels: Path, built: Built, tmp_path: Path) -> None:
    """No engine for containers runs here: the commands of the Dockerfile are, in a folder instead of a root."""
    text = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    text = text.replace("${VERSION}", VERSION)
    (copied,) = re.findall(r"^COPY (dist/\S+) /wheels/$", text, re.M)
    assert copied == f"dist/{built.wheel.name}"
    (tmp_path / "wheels").mkdir()
    shutil.copyfile(built.wheel, tmp_path / "wheels" / built.wheel.name)
    (first, _) = re.findall(r"^RUN (.*)$", text, re.M)
    first = re.sub(r"(?<![\w.])/(opt|wheels)\b", rf"{tmp_path}/\1", first).replace(
        "python -m venv", f"{sys.executable} -m venv"
    )
    (tmp_path / "opt").mkdir()
    release.run("bash", "-euc", first, wheels=wheels)
    (command,) = re.findall(r"^CMD (\[\"serve.*\])$", text, re.M)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    arguments = [one.replace("/data", str(tmp_path)).replace("0.0.0.0", "127.0.0.1") for one in json.loads(command)]
    serving = subprocess.Popen(
        [tmp_path / "opt" / "memwell" / "bin" / "memwell", *arguments, "--port", port],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        ready = is_ready(int(port), serving)
    finally:
        serving.terminate()
        _, said = serving.communicate(timeout=60)
    assert ready, said


def is_ready(port: int, serving: subprocess.Popen[str]) -> bool:
    """Ask what the check in the Dockerfile asks, until the answer is yes or the service ends."""
    while serving.poll() is None:
        with contextlib.suppress(OSError), contextlib.closing(HTTPConnection("127.0.0.1", port, timeout=4)) as asked:
            asked.request("GET", "/health/ready")
            if asked.getresponse().status == 200:
                return True
        time.sleep(0.1)
    return False
