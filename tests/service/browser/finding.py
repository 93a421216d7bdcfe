"""A browser for the tests: the one that is installed, or one unpacked into the virtual environment without root.

``python -m tests.service.browser.finding`` says which there is; with ``--fetch FOLDER`` it gets one where there is none.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FOLDER = Path(sys.prefix) / "chromium"
"""Where a browser is unpacked unless it is told otherwise."""

_UNPACKED = ("usr/lib/chromium/chromium", "usr/lib/chromium-browser/chromium-browser")
_PATIENCE_S = 600


class NoBrowser(Exception):
    """There is no browser, and why none could be had."""


def find(folder: Path = FOLDER) -> tuple[Path, dict[str, str]]:
    """The program, and what its environment needs beside the usual. Raises ``NoBrowser``."""
    for name in PROGRAMS:
        found = shutil.which(name)
        if found is not None:
            return Path(found), {}
    for place in _UNPACKED:
        if (folder / place).is_file():
            return folder / place, {"LD_LIBRARY_PATH": os.pathsep.join(map(str, _libraries(folder)))}
    raise NoBrowser(f"none of {', '.join(PROGRAMS)} is on PATH, and none is unpacked in {folder.name}")


def fetch(folder: Path = FOLDER) -> Path:
    """Unpack Debian's Chromium, with the libraries that this machine lacks, into a folder. Raises ``NoBrowser``."""
    if shutil.which("apt-get") is None or shutil.which("dpkg") is None:
        raise NoBrowser("apt-get and dpkg are needed to unpack a browser without root")
    # apt takes a relative folder for one of its own.
    folder = folder.absolute()
    packages = folder / "packages"
    packages.mkdir(parents=True, exist_ok=True)
    try:
        options = _own_lists(folder)
        _run("apt-get", *options, "download", *_missing(options), cwd=packages)
        for package in sorted(packages.glob("*.deb")):
            _run("dpkg", "-x", str(package), str(folder))
    finally:
        shutil.rmtree(packages)
        shutil.rmtree(folder / "apt", ignore_errors=True)
    return find(folder)[0]


def _own_lists(folder: Path) -> list[str]:
    """Options that let apt keep its lists in our folder: those of the machine need root, and may be missing."""
    state = folder / "apt"
    for part in ("lists/partial", "cache/archives/partial"):
        (state / part).mkdir(parents=True, exist_ok=True)
    options = ["-q", "-o", f"Dir::State::lists={state / 'lists'}", "-o", f"Dir::Cache={state / 'cache'}"]
    options += ["-o", "APT::Sandbox::User=", "-o", "Debug::NoLocking=1"]
    _run("apt-get", *options, "update")
    return options


def _missing(options: list[str]) -> list[str]:
    """Chromium and what it would bring that is not installed, as apt would install it."""
    planned = _run("apt-get", *options, "--simulate", "--no-install-recommends", "install", "chromium")
    return [line.split()[1] for line in planned.splitlines() if line.startswith("Inst ")]


def _run(*command: str, cwd: Path | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=_PATIENCE_S, check=False)
    if done.returncode:
        raise NoBrowser(f"{command[0]} failed: {done.stderr.strip()[-300:]}")
    return done.stdout


def _libraries(folder: Path) -> list[Path]:
    return sorted({library.parent for top in ("usr/lib", "lib") for library in (folder / top).rglob("*.so*")})


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Find a browser for the tests, or fetch one.")
    parser.add_argument(
        "--fetch", type=Path, nargs="?", const=FOLDER, metavar="FOLDER", help="unpack one if there is none"
    )
    asked = parser.parse_args()
    try:
        print(find(asked.fetch or FOLDER)[0])
    except NoBrowser as missing:
        if asked.fetch is None:
            print(missing, file=sys.stderr)
            return 1
        try:
            print(fetch(asked.fetch))
        except NoBrowser as failed:
            print(f"no browser here: {failed}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
