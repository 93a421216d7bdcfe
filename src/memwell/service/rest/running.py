"""Handlers for the service itself: keys, figures, the audit log, health, jobs, exports and imports."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from memwell._version import VERSION
from memwell.errors import Busy, FileError, InvalidInput
from memwell.longterm.base import utc_now
from memwell.records import Page, Space
from memwell.runtime.engine import Engine
from memwell.runtime.metrics import exposition, figures_of
from memwell.runtime.transfer import FORMATS, Imported, detect
from memwell.runtime.wire import running
from memwell.runtime.wire.operations import ADMIN
from memwell.runtime.wire.running import ServiceFigures
from memwell.service.call import Call, Events, File, handles
from memwell.service.jobs import Made, Report, Work, repeated
from memwell.values import shown

_LONGEST_DAYS = 366_000
"""The longest life of a key: a thousand years."""


@handles("me")
def _me(call: Call) -> running.Me:
    embedder, chat = call.memory.embedder, call.memory.chat
    return running.Me(
        key=call.key,
        version=VERSION,
        embedder="" if embedder is None else embedder.name,
        chat="" if chat is None else chat.name,
        language=call.service.settings.language,
    )


@handles("figures")
def _figures(call: Call, asked: running.AskFigures) -> ServiceFigures:
    service = call.service
    more: dict[str, Any] = {}
    if asked.whole:
        # Activity of other spaces, and costs, are for the operator only.
        call.allow(ADMIN)
        more.update(whole=True, jobs=service.jobs.busy, ledger=service.ledger)
    return figures_of(service.metrics, call.memory, span=asked.span, **more)


@handles("metrics")
def _metrics(call: Call) -> File:
    service = call.service
    text, media_type = exposition(
        service.metrics, service.engine, version=VERSION, jobs=service.jobs.busy, ledger=service.ledger
    )
    return File(content=text, media_type=media_type)


# Keys


@handles("keys")
def _keys(call: Call, asked: running.ListKeys) -> running.KeyList:
    return running.KeyList(keys=call.service.keys.all(None if asked.space is None else Space(*asked.space)))


@handles("create_key")
def _create_key(call: Call, asked: running.CreateKey) -> running.NewKey:
    expires, space = _in_days(asked.expires_days), Space(*asked.space)
    made, token = call.service.keys.create(
        asked.name, space=space, scopes=asked.scopes, expires=expires, rate=asked.rate
    )
    call.log(made.id, made.space.encoded(), scopes=" ".join(made.scopes))
    return running.NewKey(key=made, token=token)


def _in_days(days: float | None) -> datetime | None:
    if days is None:
        return None
    if not 0 < days <= _LONGEST_DAYS:
        raise InvalidInput(f"expires_days must be above 0 and at most {_LONGEST_DAYS:,}, not {shown(days)}")
    return utc_now() + timedelta(days=days)


@handles("rotate_key")
def _rotate_key(call: Call, asked: running.RotateKey) -> running.NewKey:
    rotated, token = call.service.keys.rotate(call.path["id"], grace=timedelta(minutes=asked.grace_minutes))
    call.log(rotated.id, grace_s=round(asked.grace_minutes * 60))
    return running.NewKey(key=rotated, token=token)


@handles("revoke_key")
def _revoke_key(call: Call) -> running.Key:
    revoked = call.service.keys.revoke(call.path["id"])
    call.log(revoked.id)
    return revoked


# The audit log, and health, which needs no key and says nothing of what is stored


@handles("log")
def _log(call: Call, asked: running.ListLog) -> Page[running.LogEntry]:
    return call.service.log.entries(limit=asked.limit, cursor=asked.cursor)


@handles("verify_log")
def _verify_log(call: Call) -> running.Verified:
    return call.service.log.verify()


@handles("live")
def _live(call: Call) -> running.Health:
    return running.Health(status="ok", version=VERSION)


@handles("ready")
def _ready(call: Call) -> running.Health:
    if call.service.stopping:
        raise Busy("the service is stopping", code="stopping")
    call.service.readiness.check()
    if call.service.models == "loading":
        raise Busy("the models are being loaded", code="loading", retry_after=2)
    return running.Health(status="ok", version=VERSION, checks={"store": "ok", "models": call.service.models})


# Uploads

_ENDINGS = {"jsonl": ".jsonl", "markdown": ".md"}
_MEDIA_TYPES = {
    ".jsonl": "application/jsonl",
    ".md": "text/markdown; charset=utf-8",
    ".json": "application/json",
}
_LONGEST_LABEL = 255
_LONGEST_FILE_NAME = 100
# Control characters, line ends, surrogates and changes of direction: with these a name looks like another.
_STRANGE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_DRIVE = re.compile("[A-Za-z]:")
_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,10}")


def label_of(name: str) -> str:
    """The name of an uploaded file: the last part of a path, in NFC.

    Raises ``InvalidInput`` when it is empty, over 255 characters long, or has control characters.
    """
    if _STRANGE.search(name):
        raise InvalidInput(f"the name of a file must not hold control characters: {shown(name)}")
    label = unicodedata.normalize("NFC", name.replace("\\", "/").rpartition("/")[2])
    label = (label[2:] if _DRIVE.match(label) else label).strip()
    if not label.strip(". "):
        raise InvalidInput(f"{shown(name)} is no name of a file")
    if len(label) > _LONGEST_LABEL:
        raise InvalidInput(f"the name of a file is at most {_LONGEST_LABEL} characters: {shown(label)}")
    return label


@contextmanager
def taken_upload(call: Call, name: str, *, unnamed: str | None = None) -> Generator[tuple[Path, str]]:
    """The uploaded file and its name, for a job. It is removed when the block raises.

    A file without a name is called ``unnamed``. Raises ``InvalidInput`` when there is no file, or its name breaks a rule.
    """
    path = call.take_upload()
    try:
        label = label_of(name) if name or unnamed is None else unnamed
        path = _with_ending(path, label)
        yield path, label
    except BaseException:
        path.unlink(missing_ok=True)
        raise


@handles("export")
def _export(call: Call, asked: running.Export) -> running.Job:
    if asked.format not in _ENDINGS:
        raise InvalidInput(f"unknown format {shown(asked.format)}; known: {', '.join(_ENDINGS)}")
    if asked.vectors and asked.format != "jsonl":
        raise InvalidInput("only jsonl holds vectors; leave 'vectors' out")
    job = call.service.jobs.repeat(call.memory, "export", asked)
    call.log(job.id, format=asked.format)
    return job


@repeated("export", running.Export)
def _exporting(memory: Engine, asked: running.Export) -> Work:
    ending = _ENDINGS[asked.format]

    def work(report: Report) -> Made:
        path = report.path(ending)
        count = memory.export(path, vectors=asked.vectors, progress=report.stage("writing"))
        return Made(path=path, name=_file_name(memory.space, memory.clock(), ending), result={"written": count})

    return work


@handles("import")
def _import(call: Call, asked: running.Import) -> running.Job:
    memory = call.memory
    with taken_upload(call, asked.name, unnamed="the file") as (path, label), _called(label, path):
        if asked.format is not None and asked.format not in FORMATS:
            raise InvalidInput(f"unknown format {shown(asked.format)}; known: {', '.join(FORMATS)}")
        found = asked.format or detect(path)

        def work(report: Report) -> Imported:
            with _called(label, path):
                return memory.import_file(path, format=found, user=asked.user, progress=report.stage("reading"))

        job = call.service.jobs.start(call.space, "import", work, owned=path)
    call.log(job.id, format=found)
    return job


@handles("jobs")
def _jobs(call: Call) -> running.JobList:
    return running.JobList(jobs=call.service.jobs.all(call.space))


@handles("job")
def _job(call: Call) -> running.Job:
    return call.service.jobs.get(call.space, call.path["id"])


@handles("cancel_job")
def _cancel_job(call: Call) -> running.Job:
    found = call.service.jobs.cancel(call.space, call.path["id"])
    call.log(found.id)
    return found


@handles("job_events")
def _job_events(call: Call) -> Events:
    return Events(call.service.jobs.watch(call.space, call.path["id"]))


@handles("job_file")
def _job_file(call: Call) -> File:
    path, name = call.service.jobs.file(call.space, call.path["id"])
    return File(content=path, media_type=_MEDIA_TYPES.get(path.suffix, "application/octet-stream"), name=name)


def _file_name(space: Space, now: datetime, ending: str) -> str:
    """The file name of an export for a browser: letters, digits and dashes only."""
    said = re.sub(r"[^\w-]+", "-", "-".join(space)).strip("-_")[:_LONGEST_FILE_NAME]
    return f"memwell-{said or 'space'}-{now:%Y-%m-%d}{ending}"


def _with_ending(path: Path, label: str) -> Path:
    """The file with the ending of its name: some formats are recognised by that alone."""
    suffix = Path(label).suffix.lower()
    return path.rename(path.with_name(path.name + suffix)) if _SUFFIX.fullmatch(suffix) else path


@contextmanager
def _called(label: str, path: Path) -> Generator[None]:
    """Errors name the file by its label, not by its path on this machine."""
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(_renamed(str(error), path, label)) from None
    except FileError as error:
        raise FileError(_renamed(str(error), path, label)) from None


def _renamed(message: str, path: Path, label: str) -> str:
    return message.replace(repr(str(path)), repr(label)).replace(str(path), label)
