"""``make release``: the packages of this clone in ``dist/``, tried in empty environments, with their bill of materials.

Nothing is uploaded. ``docs/releasing.md`` says what a release is made of.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import uuid
import zipfile
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
SUPPORTED = ("3.11", "3.12", "3.13", "3.14")
SERVED = "mcp,server,otel,postgres,redis"
"""The extras in the image (``deploy/Dockerfile``)."""

TRIED = """
import memwell
with memwell.open("app.db") as m:
    m.remember("Ann is allergic to peanuts.")
    assert m.recall("What must Ann not eat?")[0].text == "Ann is allergic to peanuts."
    assert memwell.__version__ == "{version}", memwell.__version__
"""


def project() -> dict[str, Any]:
    """What ``pyproject.toml`` says of the project."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def pythons() -> dict[str, Path | None]:
    """An interpreter of each supported version: one on the path, else one that pyenv has."""
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found: dict[str, Path | None] = {}
    for version in SUPPORTED:
        named = [f"python{version}", *sorted(versions.glob(f"{version}*/bin/python{version}"))]
        found[version] = next(filter(None, map(_started, named)), None)
    return found


def _started(python: str | Path) -> Path | None:
    """The path of an interpreter that can make environments. What pyenv puts on the path may start none."""
    asked = [python, "-c", "import ensurepip, sys, venv; print(sys.executable)"]
    try:
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return None if done.returncode else Path(done.stdout.strip())


def run(*command: str | Path, cwd: Path | None = None, wheels: Path | None = None, **env: str) -> str:
    """Run a command; with ``wheels`` its pip installs from that folder alone. Raises ``SystemExit`` with what it said."""
    kept = {name: value for name, value in os.environ.items() if wheels is None or not name.startswith("PIP_")}
    if wheels is not None:
        kept |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "PIP_CONFIG_FILE": os.devnull}
    kept |= {"PIP_DISABLE_PIP_VERSION_CHECK": "1", **env}
    done = subprocess.run(list(map(str, command)), cwd=cwd, env=kept, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout


def fetch(folder: Path) -> None:
    """Download what the tests install without an index: what each interpreter that is here needs, and the build backend."""
    needed = project()["dependencies"]
    extras = [one for extra in SERVED.split(",") for one in project()["optional-dependencies"][extra]]
    backend = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]["requires"]
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    download = ["download", "--quiet", "--only-binary=:all:", "--dest", str(folder)]
    subprocess.run([*pip, *download, *needed, *extras, *backend], check=True)
    for python in filter(None, pythons().values()):
        subprocess.run([*pip, "--python", str(python), *download, *needed], check=True)


def build(source: Path, target: Path, *, epoch: int, wheels: Path | None = None) -> tuple[Path, Path]:
    """The wheel and the sdist that it was built from. The same files and the same epoch give the same bytes."""
    command = (sys.executable, "-m", "build", "--outdir", target, source)
    run(*command, wheels=wheels, SOURCE_DATE_EPOCH=str(epoch), PYTHONHASHSEED="0")
    return next(target.glob("*.whl")), next(target.glob("*.tar.gz"))


def install(python: str | Path, folder: Path, package: Path, *, extras: str = "", wheels: Path | None = None) -> Path:
    """A new environment with the package and what it needs; its interpreter."""
    run(python, "-m", "venv", folder)
    inside = folder / "bin" / "python"
    wanted = f"{package}[{extras}]" if extras else str(package)
    run(inside, "-m", "pip", "install", "--quiet", "--no-compile", wanted, wheels=wheels)
    return inside


def attempt(inside: Path, folder: Path) -> None:
    """Use what was installed, as a library and as a command, in an empty folder."""
    run(inside, "-I", "-c", TRIED.format(version=project()["version"]), cwd=folder)
    run(inside.with_name("memwell"), "doctor", "--store", "app.db", cwd=folder)


# The bill of materials: CycloneDX 1.6


def bill(wheel: Path, inside: Path, *, epoch: int) -> dict[str, Any]:
    """What a wheel brings, and what was installed with it in an environment."""
    site = run(inside, "-I", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    found = {
        canonicalize_name(one.name): one
        for one in distributions(path=[site])
        if canonicalize_name(one.name) not in ("pip", "setuptools")
    }
    own = found.pop("memwell")
    parts = {name: _component(one) for name, one in sorted(found.items())}
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    itself = {**_component(own), "hashes": _hashes(digest), "components": list(_weights(wheel))}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, digest)}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(epoch, UTC).isoformat(),
            "component": itself,
        },
        "components": list(parts.values()),
        "dependencies": [
            {"ref": _purl(one), "dependsOn": sorted(_purl(found[name]) for name in _required(one) if name in found)}
            for one in [own, *found.values()]
        ],
    }


def _purl(one: Distribution) -> str:
    return f"pkg:pypi/{canonicalize_name(one.name)}@{one.version}"


def _hashes(digest: str) -> list[dict[str, str]]:
    return [{"alg": "SHA-256", "content": digest}]


def _component(one: Distribution) -> dict[str, Any]:
    purl = _purl(one)
    known = {"type": "library", "bom-ref": purl, "name": one.name, "version": one.version, "purl": purl}
    expression = one.metadata.get("License-Expression")
    if expression:
        return {**known, "licenses": [{"expression": expression}]}
    names = [
        name.rpartition(" :: ")[2] for name in one.metadata.get_all("Classifier", []) if name.startswith("License ::")
    ]
    # The field is a name in some packages and the whole text in others.
    names = names or [line for line in [one.metadata.get("License", "").strip()] if 0 < len(line) < 60]
    return {**known, "licenses": [{"license": {"name": name}} for name in names]} if names else known


def _required(one: Distribution) -> set[str]:
    required = map(Requirement, one.requires or ())
    return {
        canonicalize_name(need.name) for need in required if need.marker is None or need.marker.evaluate({"extra": ""})
    }


def _weights(wheel: Path) -> Iterator[dict[str, Any]]:
    """The weights and word pieces in the wheel: ours, and Google's vocabulary, under the same licence."""
    with zipfile.ZipFile(wheel) as packed:
        for name in sorted(packed.namelist()):
            if name.endswith((".npz", "/vocabulary.txt")):
                yield {
                    "type": "machine-learning-model" if name.endswith(".npz") else "data",
                    "bom-ref": name,
                    "name": name,
                    "hashes": _hashes(hashlib.sha256(packed.read(name)).hexdigest()),
                    "licenses": [{"expression": "Apache-2.0"}],
                }


# The note, the digests and the signature


def note(changelog: str, version: str) -> str:
    """The section of a version in the changelog. Raises ``SystemExit`` where it has none."""
    found = re.search(rf"^## {re.escape(version)}(?![\w.]).*?(?=^## |\Z)", changelog, re.M | re.S)
    if found is None:
        raise SystemExit(f"CHANGELOG.md has no section '## {version}': rename the one called Unreleased")
    return found[0]


def write_digests(dist: Path, version: str, files: Iterable[Path]) -> Path:
    """The list of the SHA-256 of all files of a release, in the form that ``sha256sum --check`` reads."""
    lines = [f"{hashlib.sha256(one.read_bytes()).hexdigest()}  {one.name}\n" for one in sorted(files)]
    listed = dist / f"memwell-{version}.sha256"
    listed.write_text("".join(lines), encoding="utf-8")
    return listed


def sign(listed: Path, key: Path, version: str, repository: Path) -> None:
    """Sign the list with an SSH key, and tag the commit with the note, signed with the same key."""
    listed.with_suffix(".sha256.sig").unlink(missing_ok=True)
    run("ssh-keygen", "-q", "-Y", "sign", "-f", key, "-n", "memwell", listed)
    with_key = ("-c", "gpg.format=ssh", "-c", f"user.signingkey={key}")
    text = listed.with_name(f"memwell-{version}-notes.md").resolve()
    run("git", *with_key, "tag", "-s", f"v{version}", "--cleanup=verbatim", "-F", text, cwd=repository)


def release(dist: Path, key: Path | None) -> None:
    """All of a release but its upload."""
    version = project()["version"]
    told = note((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version)
    if run("git", "status", "--porcelain", cwd=ROOT):
        raise SystemExit("commit your changes first: a release is built from a commit")
    epoch = int(run("git", "log", "-1", "--format=%ct", cwd=ROOT))
    dist.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="memwell-release-") as scratch:
        built = [build(ROOT, Path(scratch) / str(number), epoch=epoch) for number in range(2)]
        for first, second in zip(*built, strict=True):
            if first.read_bytes() != second.read_bytes():
                raise SystemExit(f"two builds of {first.name} differ")
        wheel, sdist = (Path(shutil.move(one, dist / one.name)) for one in built[0])
        print(f"built {wheel.name} and {sdist.name}, twice, with the same bytes")
        for name, python in pythons().items():
            if python is None:
                print(f"Python {name} is not here: not tried")
                continue
            folder = Path(scratch) / name
            inside = install(python, folder, wheel)
            attempt(inside, folder)
            print(f"Python {name}: installed and tried")
        materials = dist / f"memwell-{version}.cdx.json"
        inside = install(sys.executable, Path(scratch) / "bill", wheel)
        materials.write_text(json.dumps(bill(wheel, inside, epoch=epoch), indent=1) + "\n", encoding="utf-8")
    text = dist / f"memwell-{version}-notes.md"
    text.write_text(told, encoding="utf-8")
    listed = write_digests(dist, version, [wheel, sdist, materials, text])
    if key is None:
        print("not signed: make release KEY=release-key signs and tags")
    else:
        sign(listed, key, version, ROOT)
    print(f"ready to be published: {dist.name}/*{version}*")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m deploy.release", description=__doc__)
    parser.add_argument("--key", type=Path, help="the SSH key to sign and tag with")
    parser.add_argument("--fetch", type=Path, metavar="FOLDER", help="only download what the tests install")
    given = parser.parse_args()
    if given.fetch:
        fetch(given.fetch)
    else:
        release(ROOT / "dist", given.key)


if __name__ == "__main__":
    main()
