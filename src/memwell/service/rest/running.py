"""The service itself over REST: who asks, figures, keys, the audit log, and whether it is up."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

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
from memwell.service import keys as own
from memwell.service.call import Call, Events, File, handles
from memwell.service.jobs import Made, Report, Work, repeated
from memwell.values import shown

_LONGEST_DAYS = 366_000
"""A thousand years: a key that lasts longer has no end."""


@handles("me")
def me(call: Call) -> running.Me:
    """Who asks, and what the service is."""
    embedder, chat = call.memory.embedder, call.memory.chat
    return running.Me(
        key=_key(call.key),
        version=VERSION,
        embedder="" if embedder is None else embedder.name,
        chat="" if chat is None else chat.name,
        language=call.service.settings.language,
    )


@handles("figures")
def figures(call: Call, asked: running.AskFigures) -> ServiceFigures:
    """The figures of the key's space; those of the whole service are for its operator."""
    if asked.whole:
        call.allow(ADMIN)
    service = call.service
    # What other spaces do, and what it costs, is for the operator alone.
    if not asked.whole:
        return figures_of(service.metrics, call.memory, span=asked.span)
    return figures_of(
        service.metrics, call.memory, span=asked.span, whole=True, jobs=service.jobs.busy, ledger=service.ledger
    )


@handles("metrics")
def metrics(call: Call) -> File:
    """The figures of the whole for Prometheus."""
    service = call.service
    text, media_type = exposition(
        service.metrics, service.engine, version=VERSION, jobs=service.jobs.busy, ledger=service.ledger
    )
    return File(content=text, media_type=media_type)


# Keys


@handles("keys")
def list_keys(call: Call, asked: running.ListKeys) -> running.KeyList:
    """All keys, or those of one space."""
    space = None if asked.space is None else Space(*asked.space)
    return running.KeyList(keys=[_key(one) for one in call.service.keys.all(space)])


@handles("create_key")
def create_key(call: Call, asked: running.CreateKey) -> running.NewKey:
    """Make a key for any space but memwell's own. Its token is told this once."""
    made, token = call.service.keys.create(
        asked.name,
        space=Space(*asked.space),
        scopes=asked.scopes,
        expires=_in_days(asked.expires_days),
        rate=asked.rate,
    )
    call.log(made.id, made.space.encoded(), scopes=" ".join(made.scopes))
    return running.NewKey(key=_key(made), token=token)


def _in_days(days: float | None) -> datetime | None:
    if days is None:
        return None
    if not 0 < days <= _LONGEST_DAYS:
        raise InvalidInput(f"expires_days must be above 0 and at most {_LONGEST_DAYS:,}, not {shown(days)}")
    return utc_now() + timedelta(days=days)


@handles("rotate_key")
def rotate_key(call: Call, asked: running.RotateKey) -> running.NewKey:
    """Give a key another secret, also the one that asks. Raises ``NotFound``."""
    turned, token = call.service.keys.rotate(call.path["id"], grace=timedelta(minutes=asked.grace_minutes))
    call.log(turned.id, grace_s=round(asked.grace_minutes * 60))
    return running.NewKey(key=_key(turned), token=token)


@handles("revoke_key")
def revoke_key(call: Call) -> running.Key:
    """End a key at once and for good, also the one that asks. Raises ``NotFound``."""
    revoked = call.service.keys.revoke(call.path["id"])
    call.log(revoked.id)
    return _key(revoked)


def _key(key: own.Key | running.Key) -> running.Key:
    """A key for an answer: without its secret."""
    return running.Key(**msgspec.structs.asdict(key))


# The log


@handles("log")
def log(call: Call, asked: running.ListLog) -> Page[running.LogEntry]:
    """One page of the audit log, newest first."""
    return call.service.log.entries(limit=asked.limit, cursor=asked.cursor)


@handles("verify_log")
def verify_log(call: Call) -> running.Verified:
    """Whether the log is as it was written. It reads all of it."""
    return call.service.log.verify()


# Health, which needs no key and says nothing of what is stored


@handles("live")
def live(call: Call) -> running.Health:
    """The process answers."""
    return running.Health(status="ok", version=VERSION)


@handles("ready")
def ready(call: Call) -> running.Health:
    """The service can do its work. Raises ``Busy`` while it stops, and within a second what the store raises."""
    if call.service.stopping:
        raise Busy("the service is stopping", code="stopping")
    call.service.readiness.check()
    if call.service.models == "loading":
        raise Busy("the models are being loaded", code="loading", retry_after=2)
    return running.Health(status="ok", version=VERSION, checks={"store": "ok", "models": call.service.models})


# Jobs over REST: exports and imports are begun here, and every job is followed here.


_ENDINGS = {"jsonl": ".jsonl", "markdown": ".md"}
_MEDIA_TYPES = {
    ".jsonl": "application/jsonl",
    ".md": "text/markdown; charset=utf-8",
    ".json": "application/json",
}
_LONGEST_LABEL = 255
_LONGEST_FILE_NAME = 100
# Control characters, ends of lines, halves of characters, and what turns the direction of writing around: a name with
# these is shown as another than it is.
_STRANGE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_DRIVE = re.compile("[A-Za-z]:")
_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,10}")


def label_of(name: str) -> str:
    """The name that a file was sent under, as a label: the last part of a path, composed alike on every system.

    Raises ``InvalidInput`` when nothing is left of it, it is over 255 characters, or has characters that no name should.
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
    """The file that was sent and its label, to be handed to a job. When none begins the file is removed.

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
def export(call: Call, asked: running.Export) -> running.Job:
    """Write the whole space to a file, as a job. Raises ``InvalidInput`` for an unknown format."""
    if asked.format not in _ENDINGS:
        raise InvalidInput(f"unknown format {shown(asked.format)}; known: {', '.join(_ENDINGS)}")
    if asked.vectors and asked.format != "jsonl":
        raise InvalidInput("only jsonl holds vectors; leave 'vectors' out")
    job = call.service.jobs.repeat(call.memory, "export", asked)
    call.log(job.id, format=asked.format)
    return job


@repeated("export", running.Export)
def _export(memory: Engine, asked: running.Export) -> Work:
    ending = _ENDINGS[asked.format]

    def work(report: Report) -> Made:
        path = report.path(ending)
        count = memory.export(path, vectors=asked.vectors, progress=report.stage("writing"))
        return Made(path=path, name=_file_name(memory.space, memory.clock(), ending), result={"written": count})

    return work


@handles("import")
def bring(call: Call, asked: running.Import) -> running.Job:
    """Take in a file, as a job. Raises ``InvalidInput`` for a file of no known format, before there is a job."""
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
def jobs(call: Call) -> running.JobList:
    """The jobs of the key's space, newest first."""
    return running.JobList(jobs=call.service.jobs.all(call.space))


@handles("job")
def job(call: Call) -> running.Job:
    """One job. Raises ``NotFound``, for one of another space too."""
    return call.service.jobs.get(call.space, call.path["id"])


@handles("cancel_job")
def cancel_job(call: Call) -> running.Job:
    """End a job: at once while it waits, at its next step while it runs. What it has stored stays. Raises ``NotFound``."""
    found = call.service.jobs.cancel(call.space, call.path["id"])
    call.log(found.id)
    return found


@handles("job_events")
def job_events(call: Call) -> Events:
    """A job whenever it has changed, until it has ended. Raises ``NotFound``."""
    return Events(call.service.jobs.watch(call.space, call.path["id"]))


@handles("job_file")
def job_file(call: Call) -> File:
    """The file that a job has made. Raises ``NotFound`` when there is none, or no longer."""
    path, name = call.service.jobs.file(call.space, call.path["id"])
    return File(content=path, media_type=_MEDIA_TYPES.get(path.suffix, "application/octet-stream"), name=name)


def _file_name(space: Space, now: datetime, ending: str) -> str:
    """What a browser saves an export as: letters, digits and dashes, whatever the space is called."""
    said = re.sub(r"[^\w-]+", "-", "-".join(space)).strip("-_")[:_LONGEST_FILE_NAME]
    return f"memwell-{said or 'space'}-{now:%Y-%m-%d}{ending}"


def _with_ending(path: Path, label: str) -> Path:
    """The file under a name that ends as the one it was sent under: some formats are known by nothing else."""
    suffix = Path(label).suffix.lower()
    return path.rename(path.with_name(path.name + suffix)) if _SUFFIX.fullmatch(suffix) else path


@contextmanager
def _called(label: str, path: Path) -> Generator[None]:
    """Errors name the file as its sender does, and not where it lies on this machine."""
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(_renamed(str(error), path, label)) from None
    except FileError as error:
        raise FileError(_renamed(str(error), path, label)) from None


def _renamed(message: str, path: Path, label: str) -> str:
    return message.replace(repr(str(path)), repr(label)).replace(str(path), label)
